"""Counts on a cluster the values of columns and the records of several columns, by row group.

Tasks number the texts as they come; the driver renumbers them in the order of the rows, so that a table gets the same
numbers however Spark splits it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.dictionary_encoder import DictionaryEncoder, merge_columns
from anonto.encoding.record_counts import CountedRecords, RecordCounter
from anonto.encoding.records import distinct_rows
from anonto.engine.spark.rows import pack, pieces
from anonto.masking.fit import rows_to_drop
from anonto.masking.fitted import changed_table
from anonto.runtime.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from anonto.arrays import Bools, Codes, Longs
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.encoding.prepare import Dropping, Opener
    from anonto.engine.spark.rows import Piece, RowGroups
    from anonto.engine.spark.table import SparkTable
    from anonto.masking.plan import Plan


MANY_ROWS = 1 << 20
"""The expected number of rows of a column: enough to prepare its texts for fast lookups."""


class CellEncoder:
    """Encodes cells with the numbers that the driver gave to all cells of the table."""

    def __init__(self, columns: Mapping[str, ValueDictionary]) -> None:
        self._n_known = {name: len(column.texts) for name, column in columns.items()}
        self._encoders = {
            name: DictionaryEncoder(name, column.cells.dtype, MANY_ROWS, column) for name, column in columns.items()
        }

    def raw_codes(self, name: str, cells: pl.Series) -> Codes:
        """The raw codes of some cells; an unknown cell means that the table changed."""
        encoder = self._encoders[name]
        codes = encoder.encode(cells)
        if codes.max(initial=-1) >= self._n_known[name]:
            raise changed_table()
        return codes


@dataclass(frozen=True, slots=True, eq=False)
class RowFilter:
    """Decides which rows stay."""

    dropping: Dropping
    columns: Mapping[str, ValueDictionary]
    """The columns that drop rows."""

    def row_filter(self) -> Callable[[Any], Bools]:
        """A function from a pyarrow table to which of its rows stay."""
        reader = CellEncoder(self.columns)

        def stays(cells: Any) -> Bools:
            return self.dropping.stays({name: reader.raw_codes(name, as_polars(cells, name)) for name in self.columns})

        return stays


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """The contents of one row group."""

    group: int
    partition: int
    n_rows: int
    n_kept: int
    columns: Mapping[str, ValueDictionary]
    records: tuple[CountedRecords, ...]
    """The distinct records of each set of columns, by the raw codes of this row group."""


@dataclass(frozen=True, slots=True, eq=False)
class CountingTask:
    """Counts the rows of a task."""

    row_groups: RowGroups
    columns: tuple[str, ...]
    together: tuple[tuple[str, ...], ...] = ()
    """Sets of columns of which whole records are counted."""
    staying: RowFilter | None = None
    """None where all rows stay."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to one row for each row group."""
        from pyspark import TaskContext

        stay_alone()
        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        staying = None if self.staying is None else self.staying.row_filter()
        for group, parts in groupby(pieces(batches, self.row_groups), key=lambda piece: piece.group):
            yield pack(self._count_group(group, partition, parts, staying))

    def _count_group(
        self, group: int, partition: int, parts: Iterable[Piece], staying: Callable[[Any], Bools] | None
    ) -> GroupCounts:
        n_rows = n_kept = 0
        encoders: dict[str, DictionaryEncoder] = {}
        found = [RecordCounter(len(names)) for names in self.together]
        for piece in parts:
            cells = piece.cells
            stays = None if staying is None else staying(cells)
            kept = cells if stays is None else cells.filter(stays)
            n_rows, n_kept = n_rows + cells.num_rows, n_kept + kept.num_rows
            codes: dict[str, Codes] = {}
            for name in self.columns:
                series = as_polars(kept, name)
                encoder = encoders.setdefault(name, DictionaryEncoder(name, series.dtype, MANY_ROWS))
                codes[name] = encoder.encode(series)
            for own, names in zip(found, self.together, strict=True):
                own.add(CountedRecords.of([codes[name] for name in names]))
        columns = {name: encoder.dictionary() for name, encoder in encoders.items()}
        return GroupCounts(group, partition, n_rows, n_kept, columns, tuple(own.totals() for own in found))


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
    """How many rows of each row group have each number, for the numbers that occur."""

    offsets: Longs
    """Where the entries of each row group begin, and last where they all end."""
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

    def renumber(self, new: Codes) -> CountsByGroup:
        """The same counts under other numbers; −1 leaves entries out."""
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
class ClusterCounts:
    """The contents of all row groups, in the order of the rows."""

    n_rows: int
    n_kept: int
    rows_before: Longs
    """The rows before each row group."""
    kept_before: Longs
    """The rows before each row group that stay."""
    kept_in: Longs
    partitions: Mapping[int, list[int]]
    """The row groups of each partition of Spark, as they came."""
    columns: Mapping[str, ValueDictionary]
    by_group: Mapping[str, CountsByGroup]
    """The counts of the raw codes of each column."""
    together: tuple[tuple[str, ...], ...]
    """The sets of columns of which records were counted."""
    records: tuple[Codes, ...]
    """The distinct records of each set of columns, by raw codes."""
    records_by_group: tuple[CountsByGroup, ...]


def merge_counts(arrived: Sequence[GroupCounts], task: CountingTask, types: Mapping[str, pl.DataType]) -> ClusterCounts:
    """Merge the counts of the row groups."""
    parts = sorted(arrived, key=lambda one: one.group)
    n_groups = len(task.row_groups)
    rows, kept = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    partitions: dict[int, list[int]] = {}
    for one in arrived:
        rows[one.group], kept[one.group] = one.n_rows, one.n_kept
        partitions.setdefault(one.partition, []).append(one.group)
    columns: dict[str, ValueDictionary] = {}
    by_group: dict[str, CountsByGroup] = {}
    raw: dict[str, dict[int, Codes]] = {}
    for name in task.columns:
        own = [one.columns[name] for one in parts]
        columns[name] = merge_columns(own) if own else DictionaryEncoder(name, types[name]).dictionary()
        raw[name] = {one.group: _raw_codes_in(columns[name], one.columns[name]) for one in parts}
        by_group[name] = CountsByGroup.of(
            {one.group: (raw[name][one.group][:-1], one.columns[name].counts) for one in parts}, n_groups
        )
    records, records_by_group = [], []
    for place, names in enumerate(task.together):
        all_records, of_groups = _merge_records(parts, place, names, raw, n_groups)
        records.append(all_records)
        records_by_group.append(of_groups)
    return ClusterCounts(
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
    """Return whether Spark's partitions, put in some order, have all row groups in their order."""
    ascending = all(list(groups) == sorted(groups) for groups in partitions.values())
    ends = sorted((min(groups), max(groups)) for groups in partitions.values())
    return ascending and all(before[1] < after[0] for before, after in pairwise(ends))


def _raw_codes_in(whole: ValueDictionary, part: ValueDictionary) -> Codes:
    """The raw code in the whole column of each raw code of a row group, and last of a null."""
    return np.append(whole.codes_of(part.cells), np.int32(-1)).astype(np.int32)


def _merge_records(
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


def find_staying_rows(table: SparkTable, names: Sequence[str], plan: Plan, open_once: Opener) -> RowFilter | None:
    """Count some columns to find the rows that their policies drop; None where all rows stay."""
    if not names:
        return None
    task = CountingTask(table.row_groups, tuple(names))
    contents = table.collect_results(task, names, "Counting the columns that can drop records")
    columns = merge_counts(contents, task, table.types(names)).columns
    found = rows_to_drop(columns, plan, open_once)
    if found is None:
        return None
    return RowFilter(found, {name: columns[name].bare() for name in found.by_column})
