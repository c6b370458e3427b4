"""An original and its release on a cluster, compared from counts: no more of them than what differs reaches the driver.

1. The distinct cells of the columns are counted in both tables; policies tell the rows of the original that stay.
2. With a seed the original is masked anew, to tell whether the release is that of the seed, and in which order.
3. The rows of both tables meet by their numbers, and are counted there: see `anonto.engine.spark.pairs`.
4. How much was counted is looked at before it is brought here.
"""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.spark.apply import RowMasking
from anonto.engine.spark.count import MANY_ROWS, CountingTask, counted, rows_that_stay
from anonto.engine.spark.digest import is_shuffled, numbers_of_texts, texts_of
from anonto.engine.spark.pairs import (
    AFTER,
    BEFORE,
    CONTENT,
    COUNTED,
    FIRST_PAIRS,
    SEEN,
    SIZE,
    Asked,
    CodingTask,
    Cut,
    PairingTask,
    counted_pairs,
)
from anonto.engine.spark.rows import quoted
from anonto.engine.spark.session import jobs
from anonto.engine.spark.table import brought_here
from anonto.errors import (
    ForeignReleaseError,
    MissingColumnError,
    ReleaseShapeError,
    ShuffledRowsError,
    TableChangedError,
    TooLargeToAssessError,
)
from anonto.errors import counted as with_noun
from anonto.table.counted import BYTES_PER_VALUE, Learner
from anonto.table.record_counts import CountedRecords

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.engine.spark.count import Counted, StayingRows
    from anonto.engine.spark.pairs import Seen
    from anonto.engine.spark.sink import MaskedFrame
    from anonto.engine.spark.table import SparkTable
    from anonto.methods.guarantee import Setting
    from anonto.rng import RowOrder
    from anonto.table.counted import LearntColumn
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

BYTES_PER_CELL = 90
"""About what a cell of a distinct record, or of a pair, takes on this machine while it is brought here and compared."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedComparison:
    """An original and its release, as counts."""

    n_before: int
    """The rows of the original."""
    n_records: int
    """Those that stay: the rows of the release."""
    names: tuple[str, ...]
    """The columns that are counted, in the order of the original."""
    others: tuple[str, ...]
    """Those that are only compared: no step masks them, and they are the same in every row."""
    identifiers: tuple[str, ...]
    cells: Mapping[str, tuple[pl.Series, pl.Series]]
    """For each column its distinct cells, no null among them, in the rows of the original that stay and in the release.

    Cells are told apart by their texts; of numbers that are none there is one cell.
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
    """For each masked column what became of what: places before, places after, and how many rows."""
    unchanged: tuple[int, ...]
    """For each step in how many rows all its columns are as they were."""
    settings: tuple[Setting, ...] | None
    """What the guarantees of the release made anew rest on, if it was made."""
    shuffled: bool
    """Whether the rows are in the order of a seed, and not in that of the original."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedTables:
    """The distinct cells of both tables, and what codes their rows."""

    before: Counted
    after: Counted
    coding: tuple[RowMasking, RowMasking]

    @property
    def n_records(self) -> int:
        """The rows of the release."""
        return self.before.n_kept

    def cells(self, name: str) -> tuple[pl.Series, pl.Series]:
        """The distinct cells of a column in both tables, no null among them."""
        return self.before.columns[name].cells, self.after.columns[name].cells


@dataclass(frozen=True, slots=True, eq=False)
class MadeAnew:
    """The release that a plan and a seed make of the original."""

    rows: MaskedFrame
    settings: tuple[Setting, ...]
    """What its guarantees rest on."""
    order: RowOrder
    """The order that its rows are saved in."""


def compared_names(
    before: Sequence[str], after: Sequence[str], masked: Sequence[str], named: Iterable[str], identifiers: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of an original that are looked at, and its identifiers; the release must have just the former.

    Args:
        before: The columns of the original.
        after: The columns of the release.
        masked: Those that a step masks.
        named: Those that are looked at: others may be in either table.
        identifiers: Those among them that are dropped.
    """
    looked_at, dropped = set(named), set(identifiers)
    present, released = ([name for name in names if name in looked_at] for names in (before, after))
    expected = [name for name in present if name not in dropped]
    for name in masked:
        if name not in present:
            raise MissingColumnError(name, present)
    if set(released) != set(expected):
        raise ForeignReleaseError(
            [name for name in expected if name not in released], [name for name in released if name not in expected]
        )
    return tuple(expected), tuple(name for name in present if name in dropped)


def with_room_for(
    before: SparkTable, after: SparkTable, names: tuple[str, ...], others: tuple[str, ...], allowed: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that are counted and those that are only compared: the others are counted too where they fit here.

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
    cells = [quoted(name) for name in together]
    about = [functions.approx_count_distinct(one).alias(f"c{n}") for n, one in enumerate(cells)]
    records = functions.approx_count_distinct(functions.xxhash64(*cells)).alias("records")
    with jobs(before.session, "Estimating how many different records there are"):
        rows = [table.frame.agg(*about, records).head() for table in (before, after)]
    n_records = sum(int(row["records"]) for row in rows)
    n_values = sum(int(row[place]) for row in rows for place in range(len(together)))
    fits = BYTES_PER_VALUE * n_values + BYTES_PER_CELL * n_records * len(together) <= allowed
    return (together, ()) if fits else (names, others)


@dataclass(slots=True, eq=False)
class Comparing:
    """A comparison in the making."""

    before: SparkTable
    after: SparkTable
    names: tuple[str, ...]
    """The columns that are counted."""
    others: tuple[str, ...]
    """Those that are only compared."""
    identifiers: tuple[str, ...]
    steps: Sequence[Sequence[str]]
    """For each step the columns that it masks."""
    descriptions: Mapping[str, ColumnDescription]
    open_once: Opener
    allowed: int
    """What may be taken on this machine, in bytes."""

    def counted(self) -> CountedTables:
        """Count the values of both tables; the release must have as many rows as stay of the original."""
        self._require_room_for_values()
        staying = self._rows_that_stay()
        before, after = self._counted(self.before, staying), self._counted(self.after, None)
        if before.n_kept != after.n_rows:
            raise ReleaseShapeError(after.n_rows, before.n_kept)
        coding = self._masking(self.before, before, staying), self._masking(self.after, after, None)
        return CountedTables(before, after, coding)

    def compared(
        self,
        counts: CountedTables,
        alike: Mapping[str, tuple[Codes, Codes]],
        drawn: Longs,
        release: MadeAnew | None,
    ) -> CountedComparison:
        """Bring the rows of both tables together, and count again.

        Args:
            counts: What `counted` found.
            alike: For each masked column numbers for its distinct cells before and after: two cells are the same if
                they have the same; −1 is that of a null.
            drawn: The rows of the persons whose records are wanted.
            release: The release made anew, if its seed is known: it must be this one.
        """
        before, after, coding = counts.before, counts.after, counts.coding
        order = None if release is None else self._order(coding[AFTER], release)
        records, seen = self._paired(coding, order, self._asked(before, after, alike, drawn), before.n_kept)
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
            unchanged=tuple(sum(one.unchanged[step] for one in seen) for step in range(len(self.steps))),
            settings=None if release is None else release.settings,
            shuffled=order is not None,
        )

    @property
    def _masked(self) -> list[str]:
        masked = {name for step in self.steps for name in step}
        return [name for name in self.names if name in masked]

    # ------------------------------------------------------------------------------------------ each table

    def _rows_that_stay(self) -> StayingRows | None:
        described = ((name, self.descriptions[name]) for name in (*self.names, *self.others))
        names = [name for name, one in described if "drop" in (one.missing, one.unmatched)]
        return rows_that_stay(self.before, names, self.descriptions, self.open_once)

    def _require_room_for_values(self) -> None:
        """Refuse columns with more different values than fit here, before they are brought here."""
        from pyspark.sql import functions

        if not self.names:
            return
        about = [functions.approx_count_distinct(quoted(name)).alias(f"c{n}") for n, name in enumerate(self.names)]
        with jobs(self.before.session, "Estimating how many different values there are"):
            rows = [table.frame.agg(*about).head() for table in (self.before, self.after)]
        n_values = {name: sum(int(row[place]) for row in rows) for place, name in enumerate(self.names)}
        needed = BYTES_PER_VALUE * sum(n_values.values())
        if needed > self.allowed:
            most = max(n_values, key=lambda name: n_values[name])
            what = f"different values of {with_noun(len(self.names), 'column')}, most of them in {most!r},"
            raise TooLargeToAssessError(sum(n_values.values()), what, needed, self.allowed)

    def _counted(self, table: SparkTable, staying: StayingRows | None) -> Counted:
        task = CountingTask(table.row_groups, self.names, (), staying)
        contents = table.gathered(task, self.names, "Counting the values")
        return counted(contents, task, table.types(self.names))

    def _masking(self, table: SparkTable, found: Counted, staying: StayingRows | None) -> RowMasking:
        return RowMasking.of_no_step(table.row_groups, staying, found, self.names)

    def _order(self, coding: RowMasking, release: MadeAnew) -> RowOrder | None:
        """The order of the rows of the release; None where it is their own."""
        is_other = self.names and is_shuffled(self.after, coding, release.rows, release.order)
        return release.order if is_other else None

    # ------------------------------------------------------------------------------------------ both together

    def _asked(self, before: Counted, after: Counted, alike: Mapping[str, tuple[Codes, Codes]], drawn: Longs) -> Asked:
        place_of = {name: place for place, name in enumerate(self.names)}
        masked = self._masked
        return Asked(
            n_columns=len(self.names),
            masked=tuple(place_of[name] for name in masked),
            steps=tuple(tuple(place_of[name] for name in step) for step in self.steps),
            alike={place_of[name]: _with_null(*alike[name]) for name in masked},
            texts={
                place: _text_numbers(before.columns[name], after.columns[name])
                for name, place in place_of.items()
                if name not in masked
            },
            persons=drawn,
        )

    def _paired(
        self, coding: tuple[RowMasking, RowMasking], order: RowOrder | None, asked: Asked, n_records: int
    ) -> tuple[list[CountedRecords], list[Seen]]:
        """All that was counted: the records of both sides and the pairs of masked columns; and what else was seen."""
        widths = [len(self.names), len(self.names), *(2 for _ in asked.masked)]
        if not self.names:
            all_alike = np.array([n_records] if n_records else [], dtype=np.int64)
            return [CountedRecords(np.empty((all_alike.size, 0), np.int32), all_alike) for _ in widths], []
        cut = Cut.of(n_records, len(self.names) + 2 * len(self.others))
        tasks = (
            CodingTask(coding[BEFORE], BEFORE, None, cut, self.others),
            CodingTask(coding[AFTER], AFTER, order, cut, self.others),
        )
        with jobs(self.before.session, "Comparing the rows"), self.before.own_splits():
            frame = counted_pairs((self.before, self.after), tasks, PairingTask(asked, cut)).persist()
            try:
                sizes: Counter[int] = Counter()
                for row in brought_here(frame.select(COUNTED, SIZE)):
                    sizes[row[COUNTED]] += row[SIZE]
                seen = self._seen(frame, n_records)
                self._require_room(sizes)
                return _brought_here(frame, widths), seen
            finally:
                frame.unpersist()

    def _seen(self, frame: Any, n_records: int) -> list[Seen]:
        """What was seen of the rows; columns that no step masks must be as they were in each."""
        found = brought_here(frame.where(f"{COUNTED} = {SEEN}").select(CONTENT))
        seen: list[Seen] = [pickle.loads(row[CONTENT]) for row in found]  # noqa: S301 - our own tasks wrote it
        if sum(one.n_rows for one in seen) != n_records:
            raise TableChangedError
        differing = sorted({column for one in seen for column in one.differing})
        if differing:
            raise ShuffledRowsError((*self.names, *self.others)[differing[0]])
        return seen

    def _require_room(self, sizes: Mapping[int, int]) -> None:
        """Refuse to bring here what does not fit."""
        n_distinct = sizes[BEFORE] + sizes[AFTER]
        needed = BYTES_PER_CELL * n_distinct * len(self.names)
        if needed > self.allowed:
            what = f"distinct records of {with_noun(len(self.names), 'column')}"
            raise TooLargeToAssessError(n_distinct, what, needed, self.allowed)
        n_pairs = sum(n for what, n in sizes.items() if what >= FIRST_PAIRS)
        needed += BYTES_PER_CELL * 2 * n_pairs
        if needed > self.allowed:
            what = f"distinct pairs of cells before and after in {with_noun(len(self._masked), 'column')}"
            raise TooLargeToAssessError(n_pairs, what, needed, self.allowed)

    def _persons(self, seen: Sequence[Seen], drawn: Longs) -> tuple[Codes, Codes, Codes]:
        """The records of the drawn persons before and after, in the order of their rows; and hashes of others."""
        n_names = len(self.names)
        empty = np.empty((n_names + 2 * len(self.others), 0), np.int32)
        numbers = np.concatenate([np.empty(0, np.int64), *(one.persons for one in seen)])
        in_order = np.argsort(numbers)
        if self.names and not np.array_equal(numbers[in_order], drawn):
            raise TableChangedError
        before = np.concatenate([empty, *(one.before for one in seen)], axis=1)[:, in_order]
        after = np.concatenate([empty, *(one.after for one in seen)], axis=1)[:, in_order]
        parts = before[:n_names], after[:n_names], before[n_names:]
        records, released, witnesses = (np.ascontiguousarray(one.T) for one in parts)
        return records, released, witnesses


def drawn_rows(n_records: int, n_persons: int, rng: np.random.Generator) -> Longs:
    """The rows of so many persons in their order, drawn at random; all if there are no more."""
    if n_records <= n_persons:
        return np.arange(n_records)
    return np.sort(rng.choice(n_records, n_persons, replace=False, shuffle=False))


def _with_null(before: Codes, after: Codes) -> tuple[Codes, Codes]:
    """Numbers of cells, and behind them that of a null."""
    return np.append(before, np.int32(-1)), np.append(after, np.int32(-1))


def _text_numbers(before: LearntColumn, after: LearntColumn) -> tuple[Codes, Codes]:
    """Numbers for the texts of a column in both tables: the same for the same."""
    known = texts_of(before)
    learner = Learner(known.name, known.cells.dtype, MANY_ROWS, known)
    return numbers_of_texts(before), np.append(learner.learn(after.texts), np.int32(-1))


def _brought_here(frame: Any, widths: Sequence[int]) -> list[CountedRecords]:
    """All that was counted, in the order of the records; a partition at a time, as Java may have little memory here."""
    found = [[CountedRecords(np.empty((0, width), np.int32), np.empty(0, np.int64))] for width in widths]
    for row in frame.where(f"{COUNTED} <> {SEEN}").select(COUNTED, CONTENT).toLocalIterator():
        found[row[COUNTED]].append(pickle.loads(bytes(row[CONTENT])))  # noqa: S301 - our own tasks wrote it
    return [CountedRecords.together(parts) for parts in found]
