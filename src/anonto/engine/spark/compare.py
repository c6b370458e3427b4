"""Compares an original and its release on a cluster by counts: only distinct records and pairs reach the driver.

1. The distinct cells of the columns are counted in both tables; policies select the rows of the original that stay.
2. With a seed the original is masked again, to check whether the release is that of the seed, and in which order.
3. The rows of both tables meet by their numbers, and are counted there: see `anonto.engine.spark.pairs`.
4. The size of the counts is checked before they are collected.
"""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.dictionary_encoder import BYTES_PER_VALUE, DictionaryEncoder
from anonto.encoding.record_counts import CountedRecords
from anonto.engine.refusals import shuffled_rows, too_large_to_assess, wrong_row_count
from anonto.engine.spark.apply import RowMasking
from anonto.engine.spark.count import MANY_ROWS, CountingTask, find_staying_rows, merge_counts
from anonto.engine.spark.digest import is_shuffled, numbers_of_texts, texts_of
from anonto.engine.spark.pairs import (
    AFTER,
    BEFORE,
    CONTENT,
    COUNTED,
    FIRST_PAIRS,
    SEEN,
    SIZE,
    CodingTask,
    PairingTask,
    PairQuery,
    RowParts,
    count_pairs,
)
from anonto.engine.spark.rows import quote_name
from anonto.engine.spark.session import jobs
from anonto.engine.spark.table import collect_rows
from anonto.masking.fitted import changed_table
from anonto.wording import count_of as with_noun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.arrays import Codes, Longs
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.encoding.prepare import Opener
    from anonto.engine.spark.count import ClusterCounts, RowFilter
    from anonto.engine.spark.pairs import PartSummary
    from anonto.engine.spark.sink import MaskedFrame
    from anonto.engine.spark.table import SparkTable
    from anonto.masking.plan import Plan
    from anonto.methods.guarantee import Setting
    from anonto.random.streams import RowOrder


BYTES_PER_CELL = 90
"""About how many bytes a cell of a distinct record, or of a pair, takes on the driver."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedComparison:
    """An original and its release, as counts."""

    n_before: int
    """The rows of the original."""
    n_records: int
    """The rows that stay, which are the rows of the release."""
    names: tuple[str, ...]
    """The columns that are counted, in the order of the original."""
    others: tuple[str, ...]
    """The columns that are only compared: no step masks them, and they are the same in every row."""
    identifiers: tuple[str, ...]
    cells: Mapping[str, tuple[pl.Series, pl.Series]]
    """The distinct cells of each column, no null among them, in the rows of the original that stay and in the release.

    Cells are distinguished by their texts; all NaN cells count as one.
    """
    originals: tuple[Codes, Longs]
    """Distinct records of the original × columns, as places among the cells, −1 for a null; and the rows of each."""
    released: tuple[Codes, Longs]
    """The same of the release."""
    persons: tuple[Codes, Codes]
    """Drawn persons × columns: their original records, and their released ones."""
    witnesses: Codes
    """Drawn persons × two numbers for each of the other columns: different for different texts."""
    pairs: Mapping[str, tuple[Codes, Codes, Longs]]
    """The pairs of values of each masked column: places before, places after, and how many rows."""
    unchanged: tuple[int, ...]
    """The number of rows in which all columns of a step are as they were, by step."""
    settings: tuple[Setting, ...] | None
    """The settings that the guarantees rest on, if the original was masked again."""
    shuffled: bool
    """True if the rows are in the order of a seed, and not in that of the original."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedTables:
    """The distinct cells of both tables, and the maskings without steps that encode their rows."""

    before: ClusterCounts
    after: ClusterCounts
    coding: tuple[RowMasking, RowMasking]

    @property
    def n_records(self) -> int:
        """The rows of the release."""
        return self.before.n_kept

    def cells(self, name: str) -> tuple[pl.Series, pl.Series]:
        """The distinct cells of a column in both tables, no null among them."""
        return self.before.columns[name].cells, self.after.columns[name].cells


@dataclass(frozen=True, slots=True, eq=False)
class RemaskedRelease:
    """The release that a plan and a seed make of the original."""

    rows: MaskedFrame
    settings: tuple[Setting, ...]
    """Settings of its guarantees."""
    order: RowOrder
    """The order that its rows are saved in."""


def choose_counted(
    before: SparkTable, after: SparkTable, names: tuple[str, ...], others: tuple[str, ...], allowed: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns to count and columns only to compare: the others are counted too if they fit into the driver's memory.

    Whoever knows a column that no step masks finds people by it, so it is attacked if it can be. A free text with a
    value of its own in each row is not brought here: as many distinct records as rows would not fit.

    Args:
        before: The original.
        after: The release.
        names: The columns that are counted in any case.
        others: Those that no step masks and that have no role.
        allowed: What may be taken on this machine, in bytes.
    """
    from pyspark.sql import functions

    if not others:
        return names, others
    together = tuple(name for name in before.frame.columns if name in {*names, *others})
    cells = [quote_name(name) for name in together]
    about = [functions.approx_count_distinct(one).alias(f"c{n}") for n, one in enumerate(cells)]
    records = functions.approx_count_distinct(functions.xxhash64(*cells)).alias("records")
    with jobs(before.session, "Estimating how many different records there are"):
        rows = [table.frame.agg(*about, records).head() for table in (before, after)]
    n_records = sum(int(row["records"]) for row in rows)
    n_values = sum(int(row[place]) for row in rows for place in range(len(together)))
    fits = BYTES_PER_VALUE * n_values + BYTES_PER_CELL * n_records * len(together) <= allowed
    return (together, ()) if fits else (names, others)


@dataclass(slots=True, eq=False)
class ClusterComparison:
    """Counts two tables on a cluster and compares their rows."""

    before: SparkTable
    after: SparkTable
    names: tuple[str, ...]
    """The columns that are counted."""
    others: tuple[str, ...]
    """Those that are only compared."""
    identifiers: tuple[str, ...]
    plan: Plan
    open_once: Opener
    allowed: int
    """Memory that may be used on this machine, in bytes."""

    def count(self) -> CountedTables:
        """Count the values of both tables; the release must have as many rows as stay of the original."""
        self._require_room_for_values()
        dropping = self.plan.dropping_columns([*self.names, *self.others])
        staying = find_staying_rows(self.before, dropping, self.plan, self.open_once)
        before, after = self._count_table(self.before, staying), self._count_table(self.after, None)
        if before.n_kept != after.n_rows:
            raise wrong_row_count(after.n_rows, before.n_kept)
        coding = self._masking(self.before, before, staying), self._masking(self.after, after, None)
        return CountedTables(before, after, coding)

    def compare(
        self,
        counts: CountedTables,
        alike: Mapping[str, tuple[Codes, Codes]],
        drawn: Longs,
        release: RemaskedRelease | None,
    ) -> CountedComparison:
        """Join the rows of both tables, and count them.

        Args:
            counts: What `count` returned.
            alike: For each masked column numbers for its distinct cells before and after: two cells are the same if
                they have the same; −1 is that of a null.
            drawn: The rows of the persons whose records are wanted.
            release: The repeated release, if its seed is known: it must equal this one.
        """
        before, after, coding = counts.before, counts.after, counts.coding
        order = None if release is None else self._order(coding[AFTER], release)
        records, seen = self._count_pairs(coding, order, self._query(before, after, alike, drawn), before.n_kept)
        for table in (self.before, self.after):
            table.require_unchanged()
        persons = self._persons(seen, drawn)
        return CountedComparison(
            n_before=before.n_rows,
            n_records=before.n_kept,
            names=self.names,
            others=self.others,
            identifiers=self.identifiers,
            cells={name: counts.cells(name) for name in self.names},
            originals=(records[BEFORE].codes, records[BEFORE].counts),
            released=(records[AFTER].codes, records[AFTER].counts),
            persons=(persons[0], persons[1]),
            witnesses=persons[2],
            pairs={
                name: (*np.ascontiguousarray(found.codes.T), found.counts)
                for name, found in zip(self._masked, records[FIRST_PAIRS:], strict=True)
            },
            unchanged=tuple(sum(one.unchanged[step] for one in seen) for step in range(len(self.plan.steps))),
            settings=None if release is None else release.settings,
            shuffled=order is not None,
        )

    @property
    def _masked(self) -> list[str]:
        return [name for name in self.names if name in self.plan.masked]

    # ------------------------------------------------------------------------------------------ each table

    def _require_room_for_values(self) -> None:
        """Refuse columns with more distinct values than fit into memory, before they are collected."""
        from pyspark.sql import functions

        if not self.names:
            return
        about = [functions.approx_count_distinct(quote_name(name)).alias(f"c{n}") for n, name in enumerate(self.names)]
        with jobs(self.before.session, "Estimating how many different values there are"):
            rows = [table.frame.agg(*about).head() for table in (self.before, self.after)]
        n_values = {name: sum(int(row[place]) for row in rows) for place, name in enumerate(self.names)}
        needed = BYTES_PER_VALUE * sum(n_values.values())
        if needed > self.allowed:
            most = max(n_values, key=lambda name: n_values[name])
            what = f"different values of {with_noun(len(self.names), 'column')}, most of them in {most!r},"
            raise too_large_to_assess(sum(n_values.values()), what, needed, self.allowed)

    def _count_table(self, table: SparkTable, staying: RowFilter | None) -> ClusterCounts:
        task = CountingTask(table.row_groups, self.names, (), staying)
        contents = table.collect_results(task, self.names, "Counting the values")
        return merge_counts(contents, task, table.types(self.names))

    def _masking(self, table: SparkTable, found: ClusterCounts, staying: RowFilter | None) -> RowMasking:
        return RowMasking.without_steps(table.row_groups, staying, found, self.names)

    def _order(self, coding: RowMasking, release: RemaskedRelease) -> RowOrder | None:
        """The order of the rows of the release; None where it is their own."""
        is_other = self.names and is_shuffled(self.after, coding, release.rows, release.order)
        return release.order if is_other else None

    # ------------------------------------------------------------------------------------------ both together

    def _query(
        self, before: ClusterCounts, after: ClusterCounts, alike: Mapping[str, tuple[Codes, Codes]], drawn: Longs
    ) -> PairQuery:
        place_of = {name: place for place, name in enumerate(self.names)}
        masked = self._masked
        return PairQuery(
            n_columns=len(self.names),
            masked=tuple(place_of[name] for name in masked),
            steps=tuple(tuple(place_of[name] for name in step.columns) for step in self.plan.steps),
            alike={place_of[name]: _with_null(*alike[name]) for name in masked},
            texts={
                place: _text_numbers(before.columns[name], after.columns[name])
                for name, place in place_of.items()
                if name not in masked
            },
            persons=drawn,
        )

    def _count_pairs(
        self, coding: tuple[RowMasking, RowMasking], order: RowOrder | None, asked: PairQuery, n_records: int
    ) -> tuple[list[CountedRecords], list[PartSummary]]:
        """All counts: the records of both sides and the pairs of masked columns; and the summaries of the ranges."""
        widths = [len(self.names), len(self.names), *(2 for _ in asked.masked)]
        if not self.names:
            all_alike = np.array([n_records] if n_records else [], dtype=np.int64)
            return [CountedRecords(np.empty((all_alike.size, 0), np.int32), all_alike) for _ in widths], []
        cut = RowParts.of(n_records, len(self.names) + 2 * len(self.others))
        tasks = (
            CodingTask(coding[BEFORE], BEFORE, None, cut, self.others),
            CodingTask(coding[AFTER], AFTER, order, cut, self.others),
        )
        with jobs(self.before.session, "Comparing the rows"), self.before.own_splits():
            frame = count_pairs((self.before, self.after), tasks, PairingTask(asked, cut)).persist()
            try:
                sizes: Counter[int] = Counter()
                for row in collect_rows(frame.select(COUNTED, SIZE)):
                    sizes[row[COUNTED]] += row[SIZE]
                seen = self._summaries(frame, n_records)
                self._require_room(sizes)
                return _collect_counts(frame, widths), seen
            finally:
                frame.unpersist()

    def _summaries(self, frame: Any, n_records: int) -> list[PartSummary]:
        """The summaries of all ranges; columns that no step masks must be unchanged in every row."""
        found = collect_rows(frame.where(f"{COUNTED} = {SEEN}").select(CONTENT))
        seen: list[PartSummary] = [pickle.loads(row[CONTENT]) for row in found]  # noqa: S301 - our own tasks wrote it
        if sum(one.n_rows for one in seen) != n_records:
            raise changed_table()
        differing = sorted({column for one in seen for column in one.differing})
        if differing:
            raise shuffled_rows((*self.names, *self.others)[differing[0]])
        return seen

    def _require_room(self, sizes: Mapping[int, int]) -> None:
        """Refuse counts that do not fit into memory."""
        n_distinct = sizes[BEFORE] + sizes[AFTER]
        needed = BYTES_PER_CELL * n_distinct * len(self.names)
        if needed > self.allowed:
            what = f"distinct records of {with_noun(len(self.names), 'column')}"
            raise too_large_to_assess(n_distinct, what, needed, self.allowed)
        n_pairs = sum(n for what, n in sizes.items() if what >= FIRST_PAIRS)
        needed += BYTES_PER_CELL * 2 * n_pairs
        if needed > self.allowed:
            what = f"distinct pairs of cells before and after in {with_noun(len(self._masked), 'column')}"
            raise too_large_to_assess(n_pairs, what, needed, self.allowed)

    def _persons(self, seen: Sequence[PartSummary], drawn: Longs) -> tuple[Codes, Codes, Codes]:
        """The records of the drawn persons before and after, in the order of the rows; and hashes of other columns."""
        n_names = len(self.names)
        empty = np.empty((n_names + 2 * len(self.others), 0), np.int32)
        numbers = np.concatenate([np.empty(0, np.int64), *(one.persons for one in seen)])
        in_order = np.argsort(numbers)
        if self.names and not np.array_equal(numbers[in_order], drawn):
            raise changed_table()
        before = np.concatenate([empty, *(one.before for one in seen)], axis=1)[:, in_order]
        after = np.concatenate([empty, *(one.after for one in seen)], axis=1)[:, in_order]
        parts = before[:n_names], after[:n_names], before[n_names:]
        records, released, witnesses = (np.ascontiguousarray(one.T) for one in parts)
        return records, released, witnesses


def draw_rows(n_records: int, n_persons: int, rng: np.random.Generator) -> Longs:
    """The rows of persons drawn at random, in order; all rows if there are no more."""
    if n_records <= n_persons:
        return np.arange(n_records)
    return np.sort(rng.choice(n_records, n_persons, replace=False, shuffle=False))


def _with_null(before: Codes, after: Codes) -> tuple[Codes, Codes]:
    """Numbers of cells, and last the number of a null."""
    return np.append(before, np.int32(-1)), np.append(after, np.int32(-1))


def _text_numbers(before: ValueDictionary, after: ValueDictionary) -> tuple[Codes, Codes]:
    """Numbers for the texts of a column in both tables: equal for equal texts."""
    known = texts_of(before)
    encoder = DictionaryEncoder(known.name, known.cells.dtype, MANY_ROWS, known)
    return numbers_of_texts(before), np.append(encoder.encode(after.texts), np.int32(-1))


def _collect_counts(frame: Any, widths: Sequence[int]) -> list[CountedRecords]:
    """All counts in the order of the records, fetched a partition at a time because Java may have little memory."""
    found = [[CountedRecords(np.empty((0, width), np.int32), np.empty(0, np.int64))] for width in widths]
    for row in frame.where(f"{COUNTED} <> {SEEN}").select(COUNTED, CONTENT).toLocalIterator():
        found[row[COUNTED]].append(pickle.loads(bytes(row[CONTENT])))  # noqa: S301 - our own tasks wrote it
    return [CountedRecords.together(parts) for parts in found]
