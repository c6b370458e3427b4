"""Joins the rows of two tables on a cluster by their numbers, and counts them.

1. Each task encodes its rows and sends them on in batches, one for each range of row numbers.
2. One task gets all batches of a range. It puts the rows of both tables side by side and counts records, pairs of
   values, and unchanged rows. Only the rows of the drawn persons are sent on themselves.
3. The counts of all ranges are added up; equal records meet in one task.

Only codes and numbers travel, packed in arrays; Spark never handles single rows.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.encoding.record_counts import CountedRecords, RecordCounter
from anonto.encoding.series import as_text_series
from anonto.engine.spark.count import as_polars
from anonto.engine.spark.table import ROWS_OF_A_TASK, as_function
from anonto.masking.fitted import changed_table
from anonto.random.kernels import mix_bits
from anonto.runtime.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonto.arrays import Codes, Longs, LongWords
    from anonto.engine.spark.apply import MaskedPiece, RowMasking
    from anonto.engine.spark.table import SparkTable
    from anonto.random.streams import RowOrder


BEFORE, AFTER = 0, 1
"""The two sides: the original, and its release."""
PART, COUNTED, SIZE, CONTENT = "part", "counted", "size", "content"
"""Columns between tasks: the range or partition, the kind of count, its size, and the packed content."""
SEEN, FIRST_PAIRS = -1, 2
"""Kinds of counts: records of the two sides have the numbers of the sides, the pairs of masked columns come after them;
and the other facts that a task saw."""
CELLS_OF_A_PART = 1 << 23
"""About how many cells of each table a task gets."""


@dataclass(frozen=True, slots=True)
class RowParts:
    """Ranges of row numbers."""

    n_records: int
    n_parts: int

    @classmethod
    def of(cls, n_records: int, n_columns: int) -> RowParts:
        """In parts that a task can hold."""
        rows = min(ROWS_OF_A_TASK, CELLS_OF_A_PART // n_columns + 1)
        return cls(n_records, max(1, -(-n_records // rows)))

    def parts(self, numbers: Longs) -> Longs:
        """The parts of some rows."""
        return numbers * self.n_parts // self.n_records

    def first(self, part: int) -> int:
        """The first number of a part."""
        return -(-part * self.n_records // self.n_parts)


def rows_by_group(groups: Longs) -> Iterator[tuple[int, Longs]]:
    """The rows of each group that occurs, in their order."""
    by_group = np.argsort(groups, kind="stable")
    found, begins = np.unique(groups[by_group], return_index=True)
    if groups.size:
        yield from zip(found.tolist(), np.split(by_group, begins[1:]), strict=True)


# ------------------------------------------------------------------------------------------------ tasks


@dataclass(frozen=True, slots=True, eq=False)
class CodingTask:
    """Encodes the rows of a task, and sends them to the ranges of their numbers."""

    masking: RowMasking
    """Masking without a step: it selects the rows that stay, and numbers them."""
    side: int
    order: RowOrder | None
    """How rows were shuffled: the row of the original at each place; None where they have their own numbers."""
    cut: RowParts
    others: tuple[str, ...] = ()
    """Columns that are only compared: the hash of each text is sent as two codes."""

    @property
    def needed_columns(self) -> list[str]:
        """Columns that tasks must see."""
        return [*dict.fromkeys([*self.masking.needed_columns, *self.others])]

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
        for part, rows in rows_by_group(self.cut.parts(numbers)):
            yield part, pickle.dumps((self.side, numbers[rows], codes[:, rows]), protocol=5)


def _hashes(cells: Any, name: str) -> Codes:
    """Hash the texts of a column: 64 bits each, as two rows of codes."""
    texts = as_text_series(as_polars(cells, name)).cast(pl.String)
    return np.ascontiguousarray(texts.hash().to_numpy().view(np.int32).reshape(-1, 2).T)


@dataclass(frozen=True, slots=True, eq=False)
class PairQuery:
    """The counts to make from rows before and after masking; columns are given by position."""

    n_columns: int
    """The number of counted columns; the hashes of those that are only compared follow."""
    masked: tuple[int, ...]
    """Columns whose pairs of values are counted."""
    steps: tuple[tuple[int, ...], ...]
    """Sets of columns that may be unchanged in a row."""
    alike: Mapping[int, tuple[Codes, Codes]]
    """Numbers for the codes of each masked column before and after, the last for a null; equal for equal values."""
    texts: Mapping[int, tuple[Codes, Codes]]
    """The same for the texts of each column that must not change."""
    persons: Longs
    """The rows of the drawn persons, in order."""


@dataclass(frozen=True, slots=True, eq=False)
class PartSummary:
    """Summary of the rows of one range."""

    n_rows: int
    unchanged: tuple[int, ...]
    """The number of rows in which all columns of a step are as they were, by step."""
    differing: tuple[int, ...]
    """Columns that must not change and did."""
    persons: Longs
    before: Codes
    """Columns, then hashes of other columns, × persons."""
    after: Codes


class RowsOfPart:
    """The rows of a part as they arrive."""

    def __init__(self, first: int, size: int, n_columns: int) -> None:
        self.first = first
        self.codes = np.empty((2, n_columns, size), dtype=np.int32)
        """Sides × columns × rows."""
        self._met = np.zeros((2, size), dtype=np.bool_)
        self._n_left = 2 * size

    def put(self, side: int, numbers: Longs, codes: Codes) -> bool:
        """Add rows of one side, and return whether all are there; none may come twice."""
        places = numbers - self.first
        if numbers.size > self._n_left or self._met[side, places].any():
            raise changed_table()
        self._met[side, places] = True
        self.codes[side][:, places] = codes
        self._n_left -= numbers.size
        if not self._n_left and not self._met.all():
            raise changed_table()
        return not self._n_left


@dataclass(frozen=True, slots=True, eq=False)
class PairingTask:
    """Puts the rows of both tables together, and counts."""

    asked: PairQuery
    cut: RowParts

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the batches of some ranges to their counts, with the partitions that add them up."""
        stay_alone()
        waiting: dict[int, RowsOfPart] = {}
        for batch in batches:
            for part, content in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
                side, numbers, codes = pickle.loads(content.as_buffer())  # noqa: S301 - our own tasks wrote it
                if part not in waiting:
                    first, end = self.cut.first(part), self.cut.first(part + 1)
                    waiting[part] = RowsOfPart(first, end - first, codes.shape[0])
                if waiting[part].put(side, numbers, codes):
                    yield from self._count_part(part, waiting.pop(part))
        if waiting:
            raise changed_table()

    def _count_part(self, part: int, rows: RowsOfPart) -> Iterator[Any]:
        before, after = rows.codes
        yield _batch([(part, SEEN, self._summarise(rows))])
        yield self._spread_records(BEFORE, before[: self.asked.n_columns])
        yield self._spread_records(AFTER, after[: self.asked.n_columns])
        for place, column in enumerate(self.asked.masked):
            yield self._spread_records(FIRST_PAIRS + place, (before[column], after[column]))

    def _spread_records(self, what: int, columns: Sequence[Codes] | Codes) -> Any:
        """Distinct records, partitioned so that equal ones meet."""
        found = CountedRecords.of([*columns])
        spread = rows_by_group(_spread(found.codes, self.cut.n_parts))
        return _batch([(part, what, CountedRecords(found.codes[rows], found.counts[rows])) for part, rows in spread])

    def _summarise(self, rows: RowsOfPart) -> PartSummary:
        asked = self.asked
        before, after = rows.codes
        same = {column: own[before[column]] == new[after[column]] for column, (own, new) in asked.alike.items()}
        here = slice(*np.searchsorted(asked.persons, [rows.first, rows.first + before.shape[1]]))
        persons = asked.persons[here] - rows.first
        return PartSummary(
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
    """Adds up the counts of several ranges."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From counts to one sum of each kind, with its size."""
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
            records = counters.pop(what).totals()
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
    """A part for each record that depends on its codes alone."""
    return (hash_rows([*records.T], np.uint64(0)) % np.uint64(n_parts)).astype(np.int64)


def hash_rows(columns: Sequence[Codes], key: np.uint64) -> LongWords:
    """Hash each row: 64 bits that depend on its codes and on a key alone, on every machine."""
    found = np.full(columns[0].size, key, dtype=np.uint64)
    for codes in columns:
        found = mix_words(found + np.uint64(1)) ^ codes.astype(np.int64).view(np.uint64)
    return mix_words(found)


def mix_words(words: LongWords) -> LongWords:
    """Words of 64 bits, each mixed."""
    of_arrays: Any = mix_bits.py_func
    return np.asarray(of_arrays(words))


# ------------------------------------------------------------------------------------------------ on the driver


def count_pairs(
    tables: tuple[SparkTable, SparkTable], tasks: tuple[CodingTask, CodingTask], pairing: PairingTask
) -> Any:
    """A DataFrame of all counts: see `AddingTask`."""
    schema = f"{PART} int, {CONTENT} binary"
    before, after = (
        table.map_rows(task, task.needed_columns, schema) for table, task in zip(tables, tasks, strict=True)
    )
    n_parts = pairing.cut.n_parts
    paired = _repartition(before.unionByName(after), n_parts).mapInArrow(
        as_function(pairing), f"{PART} int, {COUNTED} int, {CONTENT} binary"
    )
    return _repartition(paired, n_parts).mapInArrow(
        as_function(AddingTask()), f"{COUNTED} int, {SIZE} long, {CONTENT} binary"
    )


def _repartition(frame: Any, n_parts: int) -> Any:
    """Repartition a frame so that one task gets all rows of a part."""
    from pyspark.sql import functions

    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(n_parts, functions.col(PART))
    return frame.repartition(n_parts, PART)
