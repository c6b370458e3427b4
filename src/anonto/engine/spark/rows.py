"""The numbers of rows on a cluster: from the file that a row is in and its place there, never from a partition.

Rows are numbered file by file, files in the order of their paths. Spark hands a row group of a Parquet file to one
task as a whole and in order, however it cuts the table. So what is counted by row group is the same on any number of
machines, in any order, and again after one of them was lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import RowsOutOfOrderError, TableChangedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

FILE, ROW = "anonto: file", "anonto: row"
"""Columns beside those of the table, on the way through a task: the hash of the file's path, and the row in it."""
ROWS_AT_ONCE = 1 << 17
"""Rows that a task gathers before it works on them."""


@dataclass(frozen=True, slots=True, eq=False)
class RowGroups:
    """The row groups of all files, in the order of the rows."""

    paths: tuple[str, ...]
    """Of the files, as Spark spells them, in order."""
    number_of_file: Mapping[int, int] = field(repr=False)
    """By the hash of its path."""
    offsets: Longs
    """For each file its first row group, and behind them how many there are."""
    begins: Longs
    """For each row group its first row in its file."""

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def of_rows(self, file: int, rows: Longs) -> Longs:
        """The row groups of some rows of a file, which is given by the hash of its path."""
        number = self.number_of_file.get(file)
        if number is None:
            raise TableChangedError
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
    for gathered in together(batches, rows_at_once):
        for piece in _cut(gathered, row_groups):
            again = piece.group != here and piece.group in reached
            if again or piece.rows[0] <= reached.get(piece.group, -1) or (np.diff(piece.rows) <= 0).any():
                raise RowsOutOfOrderError
            here, reached[piece.group] = piece.group, int(piece.rows[-1])
            yield piece


def together(batches: Iterable[Any], rows_at_once: int = ROWS_AT_ONCE) -> Iterator[list[Any]]:
    """Batches together, until there are enough rows."""
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
    for start, stop in _runs(files):
        numbers[start:stop] = row_groups.of_rows(int(files[start]), rows[start:stop])
    for start, stop in _runs(numbers):
        yield Piece(int(numbers[start]), rows[start:stop], cells.slice(start, stop - start))


def _runs(numbers: Longs) -> list[tuple[int, int]]:
    """Where equal numbers that stand together begin and end."""
    cuts = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return list(zip([0, *cuts.tolist()], [*cuts.tolist(), numbers.size], strict=True))


# ------------------------------------------------------------------------------------------------ on the driver


def has_row_numbers(frame: Any) -> bool:
    """Whether a DataFrame is Parquet files, with columns and rows left out or changed one by one, and nothing else."""
    node = frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - asking by a query logs an error
    if not frame._jdf.queryExecution().analyzed().deterministic():  # noqa: SLF001
        return False
    while node.getClass().getSimpleName() in {"Project", "Filter"}:
        node = node.children().head()
    if node.getClass().getSimpleName() != "LogicalRelation":
        return False
    attributes = node.metadataOutput()
    kinds = [attributes.apply(place).dataType() for place in range(attributes.length())]
    return any("row_index" in kind.simpleString() for kind in kinds)


def with_row_numbers(frame: Any, columns: Sequence[str]) -> Any:
    """Some columns of a DataFrame, and beside them where each row is stored; under names that Spark always takes."""
    from pyspark.sql import functions

    found = [functions.col(quoted(name)) for name in columns]
    stored = [functions.xxhash64("_metadata.file_path"), functions.col("_metadata.row_index")]
    return frame.select(*(one.alias(f"c{place}") for place, one in enumerate([*found, *stored])))


def with_own_names(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[Any]:
    """What a task is given of such a DataFrame, with the names of its columns."""
    for batch in batches:
        yield batch.rename_columns([*columns, FILE, ROW])


def quoted(name: str) -> str:
    """The name of a column as Spark takes it, whatever signs are in it."""
    return "`" + name.replace("`", "``") + "`"


def file_hashes(session: Any, paths: Sequence[str]) -> list[int]:
    """The hashes of paths, as Spark makes them."""
    from pyspark.sql import functions

    hashes = functions.array(*(functions.xxhash64(functions.lit(path)) for path in paths))
    one = session.range(1).select(hashes.alias("hashes"))
    return [int(number) for number in one.head()["hashes"]]
