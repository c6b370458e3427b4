"""A table on a cluster: its numbered rows, tasks over all of them, and the order of written parts."""

from __future__ import annotations

import pickle
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from anonto.engine.spark.apply import PLACE
from anonto.engine.spark.rows import (
    CONTENT,
    FILE,
    ROW,
    file_hashes,
    quote_name,
    row_groups_of,
    with_own_names,
    with_row_numbers,
)
from anonto.engine.spark.session import jobs
from anonto.engine.spark.storage import Storage, write_parquet
from anonto.errors import InternalError
from anonto.masking.fitted import changed_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl

    from anonto.engine.spark.recoded_rows import RecodedRows
    from anonto.engine.spark.rows import RowGroups

    Task = Callable[[Iterator[Any]], Iterator[Any]]

ROWS_OF_A_TASK = 1 << 20
"""About how many rows a task gets, and how many shuffled rows a file."""
PACKED = f"{CONTENT} binary"
"""The schema of packed results."""
LARGEST_SPLIT, SMALLEST_SPLIT = 128 << 20, 1 << 16
_SPLITS = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
_MOST_PARTITIONS = "spark.sql.files.maxPartitionNum"
"""If there are more, Spark packs several parts of files into one, the largest first."""


@dataclass(frozen=True, slots=True, eq=False)
class SparkTable:
    """A DataFrame that is Parquet files, with columns and rows left out or changed one by one."""

    frame: Any
    row_groups: RowGroups
    split_bytes: int
    """How much of a file a task gets."""
    stamp: tuple[tuple[int, int], ...]
    """How long the files are, and when they were written."""
    n_stored: int
    """How many rows the files have; some may be left out."""
    recoded: RecodedRows | None = None
    """The columns whose cells become others when a task reads them."""

    @classmethod
    def of(cls, frame: Any) -> SparkTable:
        """Read the footers of the files, which have their numbers of rows."""
        session = frame.sparkSession
        storage = Storage(session)
        with jobs(session, "Looking at the files of a table"):
            uris = sorted({storage.uri_in_rows(uri) for uri in frame.inputFiles()}, key=by_name)
            groups = [storage.row_groups(uri) for uri in uris]
            stamp = storage.stamp(uris)
            row_groups = row_groups_of(uris, file_hashes(session, uris), groups)
        n_rows = sum(map(sum, groups))
        n_bytes = sum(length for length, _ in stamp)
        per_task = n_bytes // max(1, -(-n_rows // ROWS_OF_A_TASK))
        return cls(frame, row_groups, max(SMALLEST_SPLIT, min(LARGEST_SPLIT, per_task)), stamp, n_rows)

    @property
    def session(self) -> Any:
        """The Spark session."""
        return self.frame.sparkSession

    @property
    def schema(self) -> Any:
        """The columns with their Spark types, recoded ones with their new types."""
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        kinds = {} if self.recoded is None else self.recoded.kinds
        new = {name: from_arrow_type(kind) for name, kind in kinds.items()}
        fields = self.frame.schema.fields
        return StructType([StructField(one.name, new[one.name]) if one.name in new else one for one in fields])

    def types(self, names: Sequence[str]) -> dict[str, pl.DataType]:
        """The types of columns as polars has them."""
        import polars as pl
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_type
        from pyspark.sql.types import TimestampType

        def of_arrow(kind: Any) -> Any:
            return pa.timestamp("us", tz="UTC") if isinstance(kind, TimestampType) else to_arrow_type(kind)

        schema = self.schema
        return {name: pl.Series(pa.array([], of_arrow(schema[name].dataType))).dtype for name in names}

    def map_rows(self, task: Task, columns: Sequence[str], schema: Any) -> Any:
        """A DataFrame of the results of a task for its rows."""
        recoded = None if self.recoded is None else self.recoded.of_columns(columns)
        names = tuple(dict.fromkeys([*columns, *([] if recoded is None else recoded.persons)]))
        wanted = [*columns, FILE, ROW]

        def read(batches: Iterator[Any]) -> Iterator[Any]:
            named = with_own_names(batches, names)
            found = named if recoded is None else recoded.recode(named)
            return found if len(names) + 2 == len(wanted) else (batch.select(wanted) for batch in found)

        function = as_function(lambda batches: task(read(batches)))
        return with_row_numbers(self.frame, names).mapInArrow(function, schema)

    def collect_results(self, task: Task, columns: Sequence[str], what: str) -> list[Any]:
        """The results that tasks packed, collected on the driver."""
        with jobs(self.session, what), self.own_splits():
            return unpack(self.map_rows(task, columns, PACKED))

    @contextmanager
    def own_splits(self) -> Iterator[None]:
        """Make Spark split the files the same way on any cluster, with one part of a file per task."""
        settings = self.session.conf
        own = {**dict.fromkeys(_SPLITS, str(self.split_bytes)), _MOST_PARTITIONS: str((1 << 31) - 1)}
        before = {name: settings.get(name, None) for name in own}
        for name, value in own.items():
            settings.set(name, value)
        try:
            yield
        finally:
            for name, was in before.items():
                if was is None:
                    settings.unset(name)
                else:
                    settings.set(name, was)

    def require_unchanged(self) -> None:
        """Refuse files that changed since they were opened."""
        if Storage(self.session).stamp(self.row_groups.paths) != self.stamp:
            raise changed_table()


def collect_rows(frame: Any) -> list[dict[str, Any]]:
    """All rows of a DataFrame, or an error.

    If Java runs out of memory, `collect` would silently return only some of the rows.
    """
    batches = frame.toArrow().to_batches() if hasattr(frame, "toArrow") else frame._collect_as_arrow()  # noqa: SLF001
    return [row for batch in batches for row in batch.to_pylist()]


def unpack(frame: Any) -> list[Any]:
    """The results that tasks packed into the rows of a DataFrame."""
    return [pickle.loads(row[CONTENT]) for row in collect_rows(frame)]  # noqa: S301 - our own tasks wrote it


def by_name(uri: str) -> tuple[str, str]:
    """Sort key of files: their folders and names as people write them, not as URIs spell them."""
    folder, _, name = unquote(uri).rpartition("/")
    return folder, name


def as_function(task: Task) -> Task:
    """A task as a function, whose name Spark shows without any of its data."""

    def anonto(batches: Iterator[Any]) -> Iterator[Any]:
        yield from task(batches)

    return anonto


def n_parts_of(n_records: int) -> int:
    """The number of parts for a number of rows."""
    return max(1, -(-n_records // ROWS_OF_A_TASK))


def partition_by_place(frame: Any, place: str, n_records: int) -> Any:
    """Rows partitioned into consecutive ranges of a column that has the place of each."""
    from pyspark.sql import functions

    n_parts = n_parts_of(n_records)
    if hasattr(frame, "repartitionById"):
        part = functions.expr(f"cast({quote_name(place)} * {n_parts} div {max(n_records, 1)} as int)")
        return frame.repartitionById(n_parts, part)
    return frame.repartitionByRange(n_parts, quote_name(place))


def sort_by_place(frame: Any, n_records: int) -> Any:
    """Rows sorted by their places: one repartition, and each part is sorted."""
    return partition_by_place(frame, PLACE, n_records).sortWithinPartitions(quote_name(PLACE)).drop(PLACE)


def write_at_places(frame: Any, folder: str, n_records: int) -> None:
    """Write rows in the order of their places."""
    write_parquet(sort_by_place(frame, n_records), folder)


def put_parts_in_order(
    session: Any, folder: str, partitions: Mapping[int, tuple[int, int]] | None, n_records: int
) -> None:
    """Name the part files of a folder by the order of their rows, and check that none is missing.

    Args:
        session: Of Spark.
        folder: With the part files as Spark named them: by their partition.
        partitions: For each partition what tells its place among the others, and how many rows it has; None where they
            are in order already.
        n_records: How many rows there must be.
    """
    storage = Storage(session)
    parts = storage.parts(folder)
    rows = {uri: sum(storage.row_groups(uri)) for uri in parts}
    filled = [uri for uri in parts if rows[uri]] or parts[:1]
    for uri in set(parts) - set(filled):
        storage.delete_file(uri)
    expected = {partition: n for partition, (_, n) in (partitions or {}).items() if n}
    found: Counter[int] = Counter()
    for uri in filled:
        found[_partition(uri)] += rows[uri]
    if sum(rows.values()) != n_records or (partitions is not None and +found != +Counter(expected)):
        raise InternalError("Some rows of the masked table were not written, or not where they belong.")
    if partitions:
        filled.sort(key=lambda uri: (partitions.get(_partition(uri), (0, 0))[0], uri))
    for place, uri in enumerate(filled):
        storage.rename(uri, f"part-{place:05d}.zstd.parquet")


def _partition(uri: str) -> int:
    """The number that Spark put into the name of a part file."""
    return int(uri.rpartition("/")[2].split("-")[1])
