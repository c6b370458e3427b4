"""The numbers of rows on a cluster: from the file that a row is in and its place there, never from a partition.

Rows are numbered file by file, files in the order of their paths. Spark hands a row group of a Parquet file to one
task as a whole and in order, however it cuts the table. So what is counted by row group is the same on any number of
machines, in any order, and again after one of them was lost.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import InternalError
from anonto.masking.fitted import changed_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonto.arrays import Longs


FILE, ROW = "anonto: file", "anonto: row"
"""Extra columns inside a task: the hash of the file's path, and the row in the file."""
CONTENT = "content"
"""The only column of what tasks hand to the driver."""
ROWS_AT_ONCE = 1 << 17
"""Rows that a task gathers before it works on them."""


@dataclass(frozen=True, slots=True, eq=False)
class RowGroups:
    """The row groups of all files, in the order of the rows."""

    paths: tuple[str, ...]
    """Paths of the files as Spark spells them, in order."""
    number_of_file: Mapping[int, int] = field(repr=False)
    """The number of each file, by the hash of its path."""
    offsets: Longs
    """The first row group of each file, and last the number of row groups."""
    begins: Longs
    """The first row of each row group in its file."""

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def of_rows(self, file: int, rows: Longs) -> Longs:
        """The row groups of some rows of a file, which is given by the hash of its path."""
        number = self.number_of_file.get(file)
        if number is None:
            raise changed_table()
        first = int(self.offsets[number])
        own = self.begins[first : int(self.offsets[number + 1])]
        return first + np.searchsorted(own, rows, side="right") - 1


def row_groups_of(paths: Sequence[str], hashes: Sequence[int], row_groups: Sequence[Sequence[int]]) -> RowGroups:
    """From the files in order, the hashes of their paths, and the rows of their row groups."""
    sizes = [np.asarray(rows, dtype=np.int64) for rows in row_groups]
    begins = [np.cumsum(one) - one for one in sizes]
    return RowGroups(
        tuple(paths),
        {number: place for place, number in enumerate(hashes)},
        np.concatenate([[0], np.cumsum([one.size for one in sizes])]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *begins]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Consecutive rows of one row group, as a task meets them."""

    group: int
    rows: Longs
    """Their places in the file."""
    cells: Any
    """A pyarrow table."""


def pieces(batches: Iterable[Any], row_groups: RowGroups, rows_at_once: int = ROWS_AT_ONCE) -> Iterator[Piece]:
    """The rows of a task, cut where row groups begin; rows that are not in the order of their file are refused."""
    reached: dict[int, int] = {}
    here = -1
    for gathered in gather_batches(batches, rows_at_once):
        for piece in _cut(gathered, row_groups):
            again = piece.group != here and piece.group in reached
            if again or piece.rows[0] <= reached.get(piece.group, -1) or (np.diff(piece.rows) <= 0).any():
                raise InternalError("The rows of a file reached a task out of order.")
            here, reached[piece.group] = piece.group, int(piece.rows[-1])
            yield piece


def pack(result: Any) -> Any:
    """The result of a task as one row for the driver, which unpacks it: see `anonto.engine.spark.table.unpack`."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(result, protocol=5)], pa.binary())], names=[CONTENT])


def gather_batches(batches: Iterable[Any], rows_at_once: int = ROWS_AT_ONCE) -> Iterator[list[Any]]:
    """Lists of batches with enough rows each."""
    waiting: list[Any] = []
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
        if sum(one.num_rows for one in waiting) >= rows_at_once:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _cut(batches: Sequence[Any], row_groups: RowGroups) -> Iterator[Piece]:
    import pyarrow as pa

    table = pa.Table.from_batches(batches)
    files, rows = (table.column(name).to_numpy() for name in (FILE, ROW))
    cells = table.drop_columns([FILE, ROW])
    numbers = np.empty(rows.size, dtype=np.int64)
    for start, stop in runs(files):
        numbers[start:stop] = row_groups.of_rows(int(files[start]), rows[start:stop])
    for start, stop in runs(numbers):
        yield Piece(int(numbers[start]), rows[start:stop], cells.slice(start, stop - start))


def runs(numbers: Longs) -> list[tuple[int, int]]:
    """Begins and ends of runs of equal numbers."""
    cuts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return list(zip([0, *cuts.tolist()], [*cuts.tolist(), numbers.size], strict=True))


# ------------------------------------------------------------------------------------------------ on the driver


def has_row_numbers(frame: Any) -> bool:
    """Return whether a DataFrame only reads Parquet files and then filters rows or computes columns row by row."""
    node = frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - asking by a query logs an error
    if not frame._jdf.queryExecution().analyzed().deterministic():  # noqa: SLF001
        return False
    while node.getClass().getSimpleName() in {"Project", "Filter"}:
        node = node.children().head()
    if node.getClass().getSimpleName() != "LogicalRelation":
        return False
    value_spaces = node.metadataOutput()
    kinds = [value_spaces.apply(place).dataType() for place in range(value_spaces.length())]
    return any("row_index" in kind.simpleString() for kind in kinds)


def with_row_numbers(frame: Any, columns: Sequence[str]) -> Any:
    """Some columns of a DataFrame and the position of each row, under names that Spark always accepts."""
    from pyspark.sql import functions

    found = [functions.col(quote_name(name)) for name in columns]
    stored = [functions.xxhash64("_metadata.file_path"), functions.col("_metadata.row_index")]
    return frame.select(*(one.alias(f"c{place}") for place, one in enumerate([*found, *stored])))


def with_own_names(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[Any]:
    """The batches of such a DataFrame with the names of its columns."""
    for batch in batches:
        yield batch.rename_columns([*columns, FILE, ROW])


def quote_name(name: str) -> str:
    """The name of a column in backquotes, for Spark."""
    return "`" + name.replace("`", "``") + "`"


def file_hashes(session: Any, paths: Sequence[str]) -> list[int]:
    """The hashes of paths, as Spark makes them."""
    from pyspark.sql import functions

    hashes = functions.array(*(functions.xxhash64(functions.lit(path)) for path in paths))
    one = session.range(1).select(hashes.alias("hashes"))
    return [int(number) for number in one.head()["hashes"]]
