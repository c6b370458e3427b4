"""A masked table on a cluster: a map over the rows, as a DataFrame or as a folder of Parquet files.

Rows are only moved between workers to shuffle them, or to exchange them in the cells of equi-width swapping: see
`anonto.engine.spark.cells`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anonto.engine.refusals import no_private_place, only_parquet
from anonto.engine.spark.apply import PLACE, MaskingTask, RowMasking, only_columns
from anonto.engine.spark.cells import cell_masker_of, put_exchanged
from anonto.engine.spark.released_frames import remember_rows
from anonto.engine.spark.session import jobs
from anonto.engine.spark.storage import Storage, local_path, write_parquet
from anonto.engine.spark.table import put_parts_in_order, write_at_places
from anonto.errors import ClusterError
from anonto.masking.private_record import PrivateRecord

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from anonto.engine.spark.cells import CellMasker
    from anonto.engine.spark.numbered_frame import NumberedFrame
    from anonto.io.atomic_write import PendingFiles
    from anonto.io.table import Origin
    from anonto.masking.fitted import FittedStep
    from anonto.masking.released import ReleasedColumn
    from anonto.random.streams import RowOrder


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MaskedFrame:
    """A table on a cluster, with everything needed to mask its rows."""

    source: NumberedFrame
    n_records: int
    steps: tuple[FittedStep, ...]
    columns: dict[str, ReleasedColumn]
    partitions: Mapping[int, tuple[int, int]]
    """The first row group of each partition of Spark, and how many of its rows stay."""
    keeps_order: bool
    """True if partitions have consecutive rows in their order."""
    masking: RowMasking = field(repr=False)
    """All steps except those that exchange rows in cells."""

    @property
    def _cell_maskers(self) -> list[tuple[FittedStep, CellMasker]]:
        return [(step, masker) for step in self.steps if (masker := cell_masker_of(step)) is not None]

    @property
    def is_placed(self) -> bool:
        """True if rows come in the order of their destinations."""
        return bool(self._cell_maskers)

    def frame(self, dropped: Sequence[str], order: RowOrder | None, *, numbered: bool = False) -> Any:
        """The masked rows as a DataFrame, with an extra column of their places in an order, or of their numbers."""
        from pyspark.sql.types import LongType, StructField, StructType

        names = [name for name in self.source.table.frame.columns if name not in dropped]
        kinds = {name: kind for name, column in self.columns.items() if (kind := self._new_kind(column)) is not None}
        fields = [StructField(name, self._spark_type(name, kinds)) for name in names]
        place = StructField(PLACE, LongType())
        exchanged = self._cell_maskers
        elsewhere = {column.name for step, _ in exchanged for column in step.columns}
        columns = {
            name: column for name, column in self.columns.items() if name not in elsewhere or column.staying is not None
        }
        is_numbered, within = numbered or bool(exchanged), self.masking.fitted.within
        task = MaskingTask(self.masking, tuple(names), columns, kinds, order, numbered=is_numbered, within=within)
        looked_at = dict.fromkeys([*names, *self.masking.needed_columns])
        with_place = StructType([*fields, place])
        placed = order is not None or task.numbered
        masked = self.source.table.map_rows(task, [*looked_at], with_place if placed else StructType(fields))
        if not exchanged:
            return masked
        steps = [
            (masker.step, only_columns(self.masking, masker.step.names), step.columns) for step, masker in exchanged
        ]
        schema = with_place if numbered else StructType(fields)
        return put_exchanged(self.source.table, masked, names, steps, self.n_records, order, schema, numbered=numbered)

    def _new_kind(self, column: ReleasedColumn) -> Any:
        """The pyarrow type of a column whose new cells its own type cannot hold; None for the others."""
        import polars as pl

        if column.palette.dtype == self.masking.columns[column.name].cells.dtype:
            return None
        import pyarrow as pa

        return pa.string() if column.palette.dtype == pl.String else column.palette.to_arrow().type

    def _spark_type(self, name: str, kinds: Mapping[str, Any]) -> Any:
        from pyspark.sql.pandas.types import from_arrow_type

        kind = from_arrow_type(kinds[name]) if name in kinds else self.source.table.schema[name].dataType
        return without_metadata(kind)

    # ------------------------------------------------------------------------------------------ what a release asks

    @property
    def kept(self) -> None:
        """None: only the cluster knows which rows stay."""

    @property
    def origin(self) -> Origin | None:
        """The masked source, for the private record."""
        return self.source.origin

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """The masked table as a DataFrame, which is computed when it is used."""
        del scales
        frame = self.frame(dropped, None)
        remember_rows(frame, self, self.source)
        return frame

    def record_path(self, path: str | os.PathLike[str]) -> Path:
        """The default place of the private record, for an output on this machine."""
        found = local_path(str(self._storage.path(str(path)).toUri().toString()))
        if found is None:
            raise no_private_place(str(path))
        return PrivateRecord.path_for(found)

    def require_apart(self, path: str | os.PathLike[str] | None, further: Sequence[Path], read: Sequence[Path]) -> None:
        """Refuse an output, or files written with it, that would replace an input."""
        if path is None:
            self.source.read.require_apart(None, further, read)
            return
        target = _parquet_folder(path)
        self.source.read.require_apart((target, self._storage.place(target)), further, read)

    @contextmanager
    def place_for(self, path: str | os.PathLike[str], files: PendingFiles, *, force: bool) -> Iterator[str]:
        """A folder beside the output, put in place when it is whole, right after the files beside it."""
        with (
            jobs(self._session, "Putting the masked table in place"),
            self._storage.atomic_write(_parquet_folder(path), force=force, then=files.keep) as folder,
        ):
            yield folder
            files.commit()

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
            raise order_not_kept()
        with jobs(self._session, "Masking the rows"), table.own_splits():
            frame = self.frame(dropped, order)
            if order is None or self.is_placed:
                write_parquet(frame, place)
            else:
                write_at_places(frame, place, self.n_records)
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
        raise only_parquet(target)
    return target


def without_metadata(kind: Any) -> Any:
    """A Spark type without the metadata of its fields, which Spark would write into the files."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(kind, StructType):
        return StructType([StructField(one.name, without_metadata(one.dataType), one.nullable) for one in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(without_metadata(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(without_metadata(kind.keyType), without_metadata(kind.valueType), kind.valueContainsNull)
    return kind


def order_not_kept() -> ClusterError:
    """Rows to be kept in their order, which Spark's tasks receive in another."""
    return ClusterError(
        "Spark gives its tasks rows from several places of the table at once, so their order cannot be kept; save "
        "them shuffled, or write the table to Parquet files and mask those."
    )
