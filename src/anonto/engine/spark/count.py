"""Counting on a cluster: for each row group the values of columns and the records of several of them, merged in order.

Tasks number the texts that they meet as they come; the driver numbers them anew in the order of the rows, so the same
table gives the same numbers however it was cut.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.spark.rows import pieces
from anonto.errors import TableChangedError
from anonto.masking.fit import dropping
from anonto.table.counted import Learner, merged
from anonto.table.record_counts import CountedRecords, RecordCounter
from anonto.table.records import distinct_rows
from anonto.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.engine.spark.rows import Piece, RowGroups
    from anonto.engine.spark.table import SparkTable
    from anonto.table.counted import LearntColumn
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Dropping, Opener

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]

MANY_ROWS = 1 << 20
"""That a column may have: worth to make its texts ready to be looked up fast."""


class Reader:
    """Numbers the cells of columns as the driver did, having seen all of them."""

    def __init__(self, columns: Mapping[str, LearntColumn]) -> None:
        self._n_known = {name: len(column.texts) for name, column in columns.items()}
        self._learners = {
            name: Learner(name, column.cells.dtype, MANY_ROWS, column) for name, column in columns.items()
        }

    def raw_codes(self, name: str, cells: pl.Series) -> Codes:
        """The raw codes of some cells; one that nobody had seen is refused."""
        learner = self._learners[name]
        codes = learner.learn(cells)
        if codes.max(initial=-1) >= self._n_known[name]:
            raise TableChangedError
        return codes


@dataclass(frozen=True, slots=True, eq=False)
class StayingRows:
    """Tells which rows stay."""

    dropping: Dropping
    columns: Mapping[str, LearntColumn]
    """Those that drop rows."""

    def ready(self) -> Callable[[Any], Flags]:
        """A function from a pyarrow table to which of its rows stay."""
        reader = Reader(self.columns)

        def stays(cells: Any) -> Flags:
            return self.dropping.stays({name: reader.raw_codes(name, as_polars(cells, name)) for name in self.columns})

        return stays


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """What one row group has."""

    group: int
    partition: int
    n_rows: int
    n_kept: int
    columns: Mapping[str, LearntColumn]
    records: tuple[CountedRecords, ...]
    """For each set of columns its distinct records, by the raw codes of this row group."""


@dataclass(frozen=True, slots=True, eq=False)
class CountingTask:
    """Counts the rows of a task."""

    row_groups: RowGroups
    columns: tuple[str, ...]
    together: tuple[tuple[str, ...], ...] = ()
    """Sets of columns of which whole records are counted."""
    staying: StayingRows | None = None
    """None where all rows stay."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to one row for each row group."""
        import pyarrow as pa
        from pyspark import TaskContext

        stay_alone()
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        staying = None if self.staying is None else self.staying.ready()
        for group, parts in groupby(pieces(batches, self.row_groups), key=lambda piece: piece.group):
            content = pickle.dumps(self._counted(group, partition, parts, staying), protocol=5)
            yield pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], names=["content"])

    def _counted(
        self, group: int, partition: int, parts: Iterable[Piece], staying: Callable[[Any], Flags] | None
    ) -> GroupCounts:
        n_rows = n_kept = 0
        learners: dict[str, Learner] = {}
        found = [RecordCounter(len(names)) for names in self.together]
        for piece in parts:
            cells = piece.cells
            stays = None if staying is None else staying(cells)
            kept = cells if stays is None else cells.filter(stays)
            n_rows, n_kept = n_rows + cells.num_rows, n_kept + kept.num_rows
            codes: dict[str, Codes] = {}
            for name in self.columns:
                series = as_polars(kept, name)
                learner = learners.setdefault(name, Learner(name, series.dtype, MANY_ROWS))
                codes[name] = learner.learn(series)
            for own, names in zip(found, self.together, strict=True):
                own.add(CountedRecords.of([codes[name] for name in names]))
        columns = {name: learner.learnt() for name, learner in learners.items()}
        return GroupCounts(group, partition, n_rows, n_kept, columns, tuple(own.counted() for own in found))


def as_polars(cells: Any, name: str) -> pl.Series:
    """One column of a pyarrow table; points in time as they are in Greenwich, wherever the session is."""
    import polars as pl

    series = pl.Series(name, pl.from_arrow(cells.column(name)))
    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        return series.dt.convert_time_zone("UTC")
    return series


# ------------------------------------------------------------------------------------------------ on the driver


@dataclass(frozen=True, slots=True, eq=False)
class CountsByGroup:
    """How many rows of each row group have each of some numbers: only those that occur."""

    offsets: Longs
    """For each row group where its entries begin, and behind them where the last ends."""
    codes: Codes
    counts: Longs

    @classmethod
    def of(cls, parts: Mapping[int, tuple[Codes, Longs]], n_groups: int) -> CountsByGroup:
        """From the entries of the row groups that have some; those of −1 are left out."""
        entries = []
        for group in range(n_groups):
            codes, counts = parts.get(group, (np.empty(0, np.int32), np.empty(0, np.int64)))
            present = codes >= 0
            entries.append((codes[present], counts[present]))
        sizes = [codes.size for codes, _ in entries]
        return cls(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([np.empty(0, np.int32), *(codes for codes, _ in entries)]).astype(np.int32),
            np.concatenate([np.empty(0, np.int64), *(counts for _, counts in entries)]).astype(np.int64),
        )

    def renumbered(self, new: Codes) -> CountsByGroup:
        """With other numbers for the same things; −1 leaves them out."""
        codes = new[self.codes]
        present = codes >= 0
        running = np.concatenate([[0], np.cumsum(present)])
        return CountsByGroup(running[self.offsets].astype(np.int64), codes[present], self.counts[present])

    def before(self, group: int, n_numbers: int) -> Longs:
        """How many rows of all earlier row groups have each number."""
        return self._sums(0, int(self.offsets[group]), n_numbers)

    def within(self, group: int, n_numbers: int) -> Longs:
        """How many rows of a row group have each number."""
        return self._sums(int(self.offsets[group]), int(self.offsets[group + 1]), n_numbers)

    def totals(self, n_numbers: int) -> Longs:
        """How many rows have each number."""
        return self._sums(0, self.codes.size, n_numbers)

    def _sums(self, first: int, last: int, n_numbers: int) -> Longs:
        sums = np.bincount(self.codes[first:last], weights=self.counts[first:last], minlength=n_numbers)
        return np.asarray(sums, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What all row groups have, in the order of the rows."""

    n_rows: int
    n_kept: int
    rows_before: Longs
    """For each row group the rows before it."""
    kept_before: Longs
    """For each row group the rows before it that stay."""
    kept_in: Longs
    partitions: Mapping[int, list[int]]
    """For each partition of Spark its row groups, as they came."""
    columns: Mapping[str, LearntColumn]
    by_group: Mapping[str, CountsByGroup]
    """For each column the counts of its raw codes."""
    together: tuple[tuple[str, ...], ...]
    """The sets of columns of which records were counted."""
    records: tuple[Codes, ...]
    """For each set of columns its distinct records, by raw codes."""
    records_by_group: tuple[CountsByGroup, ...]


def counted(contents: Iterable[bytes], task: CountingTask, types: Mapping[str, pl.DataType]) -> Counted:
    """Merge what the tasks handed over."""
    arrived = [pickle.loads(content) for content in contents]  # noqa: S301 - our own tasks wrote it
    parts = sorted(arrived, key=lambda one: one.group)
    n_groups = len(task.row_groups)
    rows, kept = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    partitions: dict[int, list[int]] = {}
    for one in arrived:
        rows[one.group], kept[one.group] = one.n_rows, one.n_kept
        partitions.setdefault(one.partition, []).append(one.group)
    columns: dict[str, LearntColumn] = {}
    by_group: dict[str, CountsByGroup] = {}
    raw: dict[str, dict[int, Codes]] = {}
    for name in task.columns:
        own = [one.columns[name] for one in parts]
        columns[name] = merged(own) if own else Learner(name, types[name]).learnt()
        raw[name] = {one.group: _numbered(columns[name], one.columns[name]) for one in parts}
        by_group[name] = CountsByGroup.of(
            {one.group: (raw[name][one.group][:-1], one.columns[name].counts) for one in parts}, n_groups
        )
    records, records_by_group = [], []
    for place, names in enumerate(task.together):
        all_records, of_groups = _merged_records(parts, place, names, raw, n_groups)
        records.append(all_records)
        records_by_group.append(of_groups)
    return Counted(
        int(rows.sum()),
        int(kept.sum()),
        np.cumsum(rows) - rows,
        np.cumsum(kept) - kept,
        kept,
        partitions,
        columns,
        by_group,
        task.together,
        tuple(records),
        tuple(records_by_group),
    )


def follow_each_other(partitions: Mapping[int, Sequence[int]]) -> bool:
    """Whether the partitions of Spark, one behind the other in some order, have the row groups in theirs."""
    ascending = all(list(groups) == sorted(groups) for groups in partitions.values())
    ends = sorted((min(groups), max(groups)) for groups in partitions.values())
    return ascending and all(before[1] < after[0] for before, after in pairwise(ends))


def _numbered(whole: LearntColumn, part: LearntColumn) -> Codes:
    """For each raw code of a row group, and behind them for a null, its raw code in the whole column."""
    return np.append(whole.codes_of(part.cells), np.int32(-1)).astype(np.int32)


def _merged_records(
    parts: Sequence[GroupCounts],
    place: int,
    names: Sequence[str],
    raw: Mapping[str, Mapping[int, Codes]],
    n_groups: int,
) -> tuple[Codes, CountsByGroup]:
    own = [
        np.stack([raw[name][one.group][one.records[place].codes[:, k]] for k, name in enumerate(names)], axis=1)
        for one in parts
    ]
    everything = np.concatenate([np.empty((0, len(names)), np.int32), *own])
    codes, record_of = distinct_rows(list(everything.T))
    cuts = np.cumsum([0, *(one.shape[0] for one in own)])
    entries = {one.group: (record_of[cuts[n] : cuts[n + 1]], one.records[place].counts) for n, one in enumerate(parts)}
    return codes, CountsByGroup.of(entries, n_groups)


def rows_that_stay(
    table: SparkTable, names: Sequence[str], descriptions: Mapping[str, ColumnDescription], open_once: Opener
) -> StayingRows | None:
    """Count some columns and see what their policies refuse and drop; None where all rows stay."""
    if not names:
        return None
    task = CountingTask(table.row_groups, tuple(names))
    contents = table.gathered(task, names, "Counting the columns that can drop records")
    learnt = counted(contents, task, table.types(names)).columns
    found = dropping(learnt, descriptions, open_once)
    if found is None:
        return None
    return StayingRows(found, {name: learnt[name].bare() for name in found.by_column})
