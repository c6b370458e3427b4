"""A masked table on a cluster: a map over the rows, as a DataFrame or as a folder of Parquet files.

Nothing is shuffled, unless the rows are to be. Only for equi-width swapping the rows of a cell come together: see
`anonto.engine.spark.cells`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anonto.engine.spark.apply import PLACE, MaskingTask, RowMasking, of_columns
from anonto.engine.spark.cells import CellMasker, with_exchanged
from anonto.engine.spark.released_frames import remember_rows
from anonto.engine.spark.session import jobs
from anonto.engine.spark.storage import Storage, local_path, write_parquet
from anonto.engine.spark.table import put_parts_in_order, write_shuffled
from anonto.errors import OnlyParquetError, OrderNotKeptError, PrivatePlaceError
from anonto.private_record import PrivateRecord

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from anonto.engine.spark.source import Taken
    from anonto.masking.fitted import FittedStep
    from anonto.masking.released import OutColumn
    from anonto.rng import RowOrder
    from anonto.table.beside import FilesBeside
    from anonto.table.table import Origin


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaskedFrame:
    """A table on a cluster with all that is needed to mask its rows."""

    source: Taken
    n_records: int
    steps: tuple[FittedStep, ...]
    columns: dict[str, OutColumn]
    partitions: Mapping[int, tuple[int, int]]
    """For each partition of Spark its first row group, and how many of its rows stay."""
    keeps_order: bool
    """Whether partitions have consecutive rows in their order."""
    masking: RowMasking = field(repr=False)
    """By all steps but those whose rows come together in cells."""

    @property
    def _cell_maskers(self) -> list[tuple[FittedStep, CellMasker]]:
        found = ((step, None if step.row_part is None else step.row_part.masker) for step in self.steps)
        return [(step, masker) for step, masker in found if isinstance(masker, CellMasker)]

    @property
    def is_placed(self) -> bool:
        """Whether rows come in the order of where they go, in parts that follow each other."""
        return bool(self._cell_maskers)

    def frame(self, dropped: Sequence[str], order: RowOrder | None, *, numbered: bool = False) -> Any:
        """The masked rows as a DataFrame; with an order their places come with them, or if wanted their numbers."""
        from pyspark.sql.types import LongType, StructField, StructType

        names = [name for name in self.source.table.frame.columns if name not in dropped]
        kinds = {name: kind for name, column in self.columns.items() if (kind := self._new_kind(column)) is not None}
        fields = [StructField(name, self._spark_type(name, kinds)) for name in names]
        place = StructField(PLACE, LongType())
        exchanged = self._cell_maskers
        elsewhere = {column.name for step, _ in exchanged for column in step.columns}
        columns = {
            name: column.slim()
            for name, column in self.columns.items()
            if name not in elsewhere or column.staying is not None
        }
        task = MaskingTask(self.masking, tuple(names), columns, kinds, order, numbered=numbered or bool(exchanged))
        looked_at = dict.fromkeys([*names, *self.masking.looked_at])
        with_place = StructType([*fields, place])
        placed = order is not None or task.numbered
        masked = self.source.table.mapped(task, [*looked_at], with_place if placed else StructType(fields))
        if not exchanged:
            return masked
        steps = [(masker.step, of_columns(self.masking, masker.step.names), step.columns) for step, masker in exchanged]
        schema = with_place if numbered else StructType(fields)
        return with_exchanged(self.source.table, masked, names, steps, self.n_records, order, schema, numbered=numbered)

    def _new_kind(self, column: OutColumn) -> Any:
        """The pyarrow type of a column whose new cells its own type cannot hold; None for the others."""
        import polars as pl

        if column.palette.dtype == self.masking.columns[column.name].cells.dtype:
            return None
        import pyarrow as pa

        return pa.string() if column.palette.dtype == pl.String else column.palette.to_arrow().type

    def _spark_type(self, name: str, kinds: Mapping[str, Any]) -> Any:
        from pyspark.sql.pandas.types import from_arrow_type

        kind = from_arrow_type(kinds[name]) if name in kinds else self.source.table.frame.schema[name].dataType
        return without_metadata(kind)

    # ------------------------------------------------------------------------------------------ what a release asks

    @property
    def kept(self) -> None:
        """None: which rows stay is known on the cluster alone."""

    @property
    def origin(self) -> Origin | None:
        """What was masked, for the private record."""
        return self.source.origin

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """The masked table as a DataFrame, rows where they were; nothing is computed before it is asked for."""
        del scales
        frame = self.frame(dropped, None)
        remember_rows(frame, self, self.source)
        return frame

    def record_beside(self, path: str | os.PathLike[str]) -> Path:
        """Where the private record of an output on this machine lies."""
        found = local_path(str(self._storage.path(str(path)).toUri().toString()))
        if found is None:
            raise PrivatePlaceError(str(path))
        return PrivateRecord.beside(found)

    def require_apart(self, path: str | os.PathLike[str] | None, beside: Sequence[Path], read: Sequence[Path]) -> None:
        """Refuse an output, or files beside it, that would replace what was read."""
        if path is None:
            self.source.read.require_apart(None, beside, read)
            return
        target = _parquet_folder(path)
        self.source.read.require_apart((target, self._storage.place(target)), beside, read)

    @contextmanager
    def place_for(self, path: str | os.PathLike[str], files: FilesBeside, *, force: bool) -> Iterator[str]:
        """A folder beside the output, put in place when it is whole, right after the files beside it."""
        with (
            jobs(self._session, "Putting the masked table in place"),
            self._storage.written_beside(_parquet_folder(path), force=force, then=files.stay) as folder,
        ):
            yield folder
            files.put_in_place()

    def write(
        self,
        place: str,
        path: str | os.PathLike[str],
        dropped: Sequence[str],
        order: RowOrder | None,
        scales: Mapping[str, Sequence[str]],
    ) -> None:
        """Write the masked table to a folder, as Parquet files whose rows are in order when files are read by name."""
        del path, scales
        table = self.source.table
        if order is None and not self.keeps_order and not self.is_placed:
            raise OrderNotKeptError
        with jobs(self._session, "Masking the rows"), table.own_splits():
            frame = self.frame(dropped, order)
            if order is None or self.is_placed:
                write_parquet(frame, place)
            else:
                write_shuffled(frame, place, self.n_records)
            as_they_were = order is None and not self.is_placed
            put_parts_in_order(self._session, place, self.partitions if as_they_were else None, self.n_records)
            table.require_unchanged()

    def warn_of_changes(self, path: str | os.PathLike[str], dropped: Sequence[str]) -> None:
        """Nothing: Parquet on a cluster holds all types that Spark has."""

    @property
    def _session(self) -> Any:
        return self.source.table.session

    @property
    def _storage(self) -> Storage:
        return Storage(self._session)


def _parquet_folder(path: str | os.PathLike[str]) -> str:
    target = str(path)
    if not target.rstrip("/").endswith(".parquet"):
        raise OnlyParquetError(target)
    return target


def without_metadata(kind: Any) -> Any:
    """A type of Spark without what is noted of the fields it is made of: Spark writes that into the files."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(kind, StructType):
        return StructType([StructField(one.name, without_metadata(one.dataType), one.nullable) for one in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(without_metadata(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(without_metadata(kind.keyType), without_metadata(kind.valueType), kind.valueContainsNull)
    return kind
