"""Rows of two tables on a cluster brought together by their numbers, of which only counts go on.

1. Each task codes its rows, and hands them on in stretches: one for each part of the numbers that it has rows of.
2. The stretches of a part meet in one task. It puts every row at its number, in both tables, and counts: records, what
   values become, rows in which nothing changed. The few rows of drawn persons go on as they are.
3. What was counted in different parts is added up, records that are alike in one task.

Only codes and numbers travel, packed in arrays; Spark never handles a row of its own.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.engine.spark.count import as_polars
from anonto.engine.spark.table import ROWS_OF_A_TASK, as_function
from anonto.errors import TableChangedError
from anonto.rng_kernels import mixed
from anonto.table.record_counts import CountedRecords, RecordCounter
from anonto.table.series import as_text_series
from anonto.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.engine.spark.apply import MaskedPiece, RowMasking
    from anonto.engine.spark.table import SparkTable
    from anonto.rng import RowOrder

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]
    LongWords = NDArray[np.uint64]

BEFORE, AFTER = 0, 1
"""The two sides: the original, and its release."""
PART, COUNTED, SIZE, CONTENT = "part", "counted", "size", "content"
"""Columns on the way: where something is brought together, what of it was counted, how much there is, and itself."""
SEEN, FIRST_PAIRS = -1, 2
"""What is counted: records of the two sides by their numbers, then the pairs of each masked column; and what a task saw
besides."""
CELLS_OF_A_PART = 1 << 23
"""About so many cells of each table come together in a task."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The numbers of rows in parts that follow each other."""

    n_records: int
    n_parts: int

    @classmethod
    def of(cls, n_records: int, n_columns: int) -> Cut:
        """In parts that a task can hold."""
        rows = min(ROWS_OF_A_TASK, CELLS_OF_A_PART // n_columns + 1)
        return cls(n_records, max(1, -(-n_records // rows)))

    def parts(self, numbers: Longs) -> Longs:
        """The parts of some rows."""
        return numbers * self.n_parts // self.n_records

    def first(self, part: int) -> int:
        """The first number of a part."""
        return -(-part * self.n_records // self.n_parts)


def stretches(groups: Longs) -> Iterator[tuple[int, Longs]]:
    """For each group that occurs the rows that are in it, in their order."""
    by_group = np.argsort(groups, kind="stable")
    found, begins = np.unique(groups[by_group], return_index=True)
    if groups.size:
        yield from zip(found.tolist(), np.split(by_group, begins[1:]), strict=True)


# ------------------------------------------------------------------------------------------------ tasks


@dataclass(frozen=True, slots=True, eq=False)
class CodingTask:
    """Codes the rows of a task, and tells where they meet those of the other table."""

    masking: RowMasking
    """Of no step: it tells the rows that stay, and their numbers."""
    side: int
    order: RowOrder | None
    """How rows were shuffled: the row of the original at each place; None where they have their own numbers."""
    cut: Cut
    others: tuple[str, ...] = ()
    """Columns that are only compared: hashes of their texts go along, two codes each."""

    @property
    def looked_at(self) -> list[str]:
        """Columns that tasks must see."""
        return [*dict.fromkeys([*self.masking.looked_at, *self.others])]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to the parts that its rows are in."""
        import pyarrow as pa

        for _, pieces in self.masking.groups(batches):
            for piece in pieces:
                found = dict(self._contents(piece))
                parts, contents = pa.array([*found], pa.int32()), pa.array([*found.values()], pa.binary())
                yield pa.RecordBatch.from_arrays([parts, contents], names=[PART, CONTENT])

    def _contents(self, piece: MaskedPiece) -> Iterator[tuple[int, bytes]]:
        hashes = (_hashes(piece.cells, name) for name in self.others)
        codes = np.stack(
            [*(piece.raw[name] for name in self.masking.columns), *(half for one in hashes for half in one)]
        )
        last = piece.first + codes.shape[1]
        numbers = np.arange(piece.first, last) if self.order is None else self.order.part(piece.first, last)
        numbers = numbers.astype(np.int64)
        for part, rows in stretches(self.cut.parts(numbers)):
            yield part, pickle.dumps((self.side, numbers[rows], codes[:, rows]), protocol=5)


def _hashes(cells: Any, name: str) -> Codes:
    """For the texts of a column 64 bits each, as two rows of codes."""
    texts = as_text_series(as_polars(cells, name)).cast(pl.String)
    return np.ascontiguousarray(texts.hash().to_numpy().view(np.int32).reshape(-1, 2).T)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What is asked of rows before and after masking; columns are given by their places."""

    n_columns: int
    """So many are counted; behind them are the hashes of those that are only compared."""
    masked: tuple[int, ...]
    """Columns whose pairs of values are counted."""
    steps: tuple[tuple[int, ...], ...]
    """Sets of columns that may be unchanged in a row."""
    alike: Mapping[int, tuple[Codes, Codes]]
    """For each masked column numbers for its codes before and after, and last for a null: the same for the same."""
    texts: Mapping[int, tuple[Codes, Codes]]
    """For each column that must not change numbers for the texts of its codes, likewise."""
    persons: Longs
    """The rows that go on as they are, in order."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What was seen in a part."""

    n_rows: int
    unchanged: tuple[int, ...]
    """For each step in how many rows all its columns are as they were."""
    differing: tuple[int, ...]
    """Columns that must not change and did."""
    persons: Longs
    before: Codes
    """Columns, and behind them hashes of others, × persons."""
    after: Codes


class PartOfRows:
    """The rows of a part as they arrive."""

    def __init__(self, first: int, size: int, n_columns: int) -> None:
        self.first = first
        self.codes = np.empty((2, n_columns, size), dtype=np.int32)
        """Sides × columns × rows."""
        self._met = np.zeros((2, size), dtype=np.bool_)
        self._n_left = 2 * size

    def put(self, side: int, numbers: Longs, codes: Codes) -> bool:
        """Take rows of one side; whether all are there now. None may come twice."""
        places = numbers - self.first
        if numbers.size > self._n_left or self._met[side, places].any():
            raise TableChangedError
        self._met[side, places] = True
        self.codes[side][:, places] = codes
        self._n_left -= numbers.size
        if not self._n_left and not self._met.all():
            raise TableChangedError
        return not self._n_left


@dataclass(frozen=True, slots=True, eq=False)
class PairingTask:
    """Puts the rows of both tables together, and counts."""

    asked: Asked
    cut: Cut

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the stretches of some parts to what was counted in them, and where it is added up."""
        stay_alone()
        waiting: dict[int, PartOfRows] = {}
        for batch in batches:
            for part, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                side, numbers, codes = pickle.loads(content.as_buffer())  # noqa: S301 - our own tasks wrote it
                if part not in waiting:
                    first, end = self.cut.first(part), self.cut.first(part + 1)
                    waiting[part] = PartOfRows(first, end - first, codes.shape[0])
                if waiting[part].put(side, numbers, codes):
                    yield from self._counted(part, waiting.pop(part))
        if waiting:
            raise TableChangedError

    def _counted(self, part: int, rows: PartOfRows) -> Iterator[Any]:
        before, after = rows.codes
        yield _batch([(part, SEEN, self._seen(rows))])
        yield self._parted(BEFORE, before[: self.asked.n_columns])
        yield self._parted(AFTER, after[: self.asked.n_columns])
        for place, column in enumerate(self.asked.masked):
            yield self._parted(FIRST_PAIRS + place, (before[column], after[column]))

    def _parted(self, what: int, columns: Sequence[Codes] | Codes) -> Any:
        """Distinct records, cut so that those that are alike meet."""
        found = CountedRecords.of([*columns])
        spread = stretches(_spread(found.codes, self.cut.n_parts))
        return _batch([(part, what, CountedRecords(found.codes[rows], found.counts[rows])) for part, rows in spread])

    def _seen(self, rows: PartOfRows) -> Seen:
        asked = self.asked
        before, after = rows.codes
        same = {column: own[before[column]] == new[after[column]] for column, (own, new) in asked.alike.items()}
        here = slice(*np.searchsorted(asked.persons, [rows.first, rows.first + before.shape[1]]))
        persons = asked.persons[here] - rows.first
        return Seen(
            n_rows=before.shape[1],
            unchanged=tuple(
                int(np.count_nonzero(np.logical_and.reduce([same[column] for column in step]))) for step in asked.steps
            ),
            differing=(
                *(
                    column
                    for column, (own, new) in asked.texts.items()
                    if (own[before[column]] != new[after[column]]).any()
                ),
                *(
                    asked.n_columns + place // 2
                    for place, (own, new) in enumerate(
                        zip(before[asked.n_columns :], after[asked.n_columns :], strict=True)
                    )
                    if (own != new).any()
                ),
            ),
            persons=asked.persons[here],
            before=before[:, persons],
            after=after[:, persons],
        )


@dataclass(frozen=True, slots=True, eq=False)
class AddingTask:
    """Adds up what was counted in several parts."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From what was counted to each thing once, with its size."""
        import pyarrow as pa

        stay_alone()
        counters: dict[int, RecordCounter] = {}
        found: list[tuple[int, int, bytes]] = []
        for batch in batches:
            for what, content in zip(batch.column(1).to_pylist(), batch.column(2), strict=True):
                if what == SEEN:
                    found.append((what, 0, content.as_py()))
                    continue
                records = pickle.loads(content.as_buffer())  # noqa: S301 - our own tasks wrote it
                counters.setdefault(what, RecordCounter(records.codes.shape[1])).add(records)
        for what in sorted(counters):
            records = counters.pop(what).counted()
            found.append((what, records.counts.size, pickle.dumps(records, protocol=5)))
        for what, size, content in found:
            columns = [pa.array([what], pa.int32()), pa.array([size], pa.int64()), pa.array([content], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=[COUNTED, SIZE, CONTENT])


def _batch(rows: Sequence[tuple[int, int, Any]]) -> Any:
    import pyarrow as pa

    parts, what, found = zip(*rows, strict=True)
    contents = [pickle.dumps(one, protocol=5) for one in found]
    columns = [pa.array(parts, pa.int32()), pa.array(what, pa.int32()), pa.array(contents, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=[PART, COUNTED, CONTENT])


def _spread(records: Codes, n_parts: int) -> Longs:
    """For each record a part that depends on its codes alone."""
    return (hashed([*records.T], np.uint64(0)) % np.uint64(n_parts)).astype(np.int64)


def hashed(columns: Sequence[Codes], key: np.uint64) -> LongWords:
    """For each row 64 bits that depend on its codes and on a key alone, on every machine."""
    found = np.full(columns[0].size, key, dtype=np.uint64)
    for codes in columns:
        found = mixed_words(found + np.uint64(1)) ^ codes.astype(np.int64).view(np.uint64)
    return mixed_words(found)


def mixed_words(words: LongWords) -> LongWords:
    """Words of 64 bits, each mixed."""
    of_arrays: Any = mixed.py_func
    return np.asarray(of_arrays(words))


# ------------------------------------------------------------------------------------------------ on the driver


def counted_pairs(
    tables: tuple[SparkTable, SparkTable], tasks: tuple[CodingTask, CodingTask], pairing: PairingTask
) -> Any:
    """A DataFrame of what was counted: see `AddingTask`."""
    schema = f"{PART} int, {CONTENT} binary"
    before, after = (table.mapped(task, task.looked_at, schema) for table, task in zip(tables, tasks, strict=True))
    n_parts = pairing.cut.n_parts
    paired = _brought_together(before.unionByName(after), n_parts).mapInArrow(
        as_function(pairing), f"{PART} int, {COUNTED} int, {CONTENT} binary"
    )
    return _brought_together(paired, n_parts).mapInArrow(
        as_function(AddingTask()), f"{COUNTED} int, {SIZE} long, {CONTENT} binary"
    )


def _brought_together(frame: Any, n_parts: int) -> Any:
    """What belongs to a part in one task."""
    from pyspark.sql import functions

    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(n_parts, functions.col(PART))
    return frame.repartition(n_parts, PART)
