"""FittedPlan: everything that the outcome of a row depends on, small, frozen and picklable.

`anonto.masking.fit` makes one from counts. It masks batches of rows in any order and on any machine, given the number
of each row in the whole table, and how many earlier rows each group has: `groups` finds the group of each row, and
`count_groups` counts the rows of a batch. Evidence is added up from the tallies that come with the masked rows.
`anonto.engine.later_records` masks tables that come later with the same object.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.new_cells import settle_numbers
from anonto.encoding.record_counts import CountedRecords, RecordIndex
from anonto.errors import ClusterError
from anonto.masking.released import (
    NEW_NUMBER,
    ColumnTally,
    NumberColumn,
    ReleasedColumn,
    StepTally,
    Tallies,
    add_counts,
)
from anonto.methods.row_masking import moves_between
from anonto.methods.row_transitions import RowTransitions
from anonto.runtime.threads import in_threads, n_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.encoding.prepare import PreparedColumn
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.method import Method
    from anonto.methods.row_masking import RowMasker
    from anonto.methods.strata import Strata
    from anonto.methods.transitions import Moves, Transitions
    from anonto.random.streams import Key, KeyedPermutations

    RawCodes = Mapping[Any, Codes]
    """The raw codes of some rows, by column; for columns counted together, the number of each row's record."""
    Released = dict[str, tuple[Codes, Floats | None]]
    """Places in the palette of each column, and new numbers if it may have any."""
    Groups = Sequence[Sequence[Longs]]
    """The number of rows of each group, by step and its parts with transitions."""

Batch = TypeVar("Batch")
DRAWN_AT_ONCE = 1 << 17
"""Rows with draws of their own, which take many times the memory of a code."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TransitionPart:
    """Columns that are masked by transitions from values, or from whole records, to others."""

    columns: tuple[ReleasedColumn, ...]
    seen: tuple[str, ...]
    maps: tuple[Codes, ...]
    """The code of each raw code, by column in `seen`."""
    index: RecordIndex | None
    """Index of the records; None for one column, whose codes are the groups."""
    transitions: Transitions
    permutations: KeyedPermutations
    released: Codes | None
    """Targets × columns; None where targets are codes."""
    merged: Codes | None = None
    """The record that was fitted for each record of the index; None for itself."""

    def groups(self, raw: RawCodes) -> Codes:
        """The value, or the record, of each row."""
        if self.index is None:
            return self.columns[0].codes(raw[self.seen[0]])
        if self.seen in raw:
            numbers = raw[self.seen]
        else:
            numbers = self.index.numbers([own[raw[name]] for name, own in zip(self.seen, self.maps, strict=True)])
        return numbers if self.merged is None else self.merged[numbers]

    def with_targets(self) -> TransitionPart:
        """The same part with the targets of all records listed."""
        assigned = self.transitions.assign_targets(self.permutations)
        return replace(self, transitions=RowTransitions.of(self.transitions.sizes, assigned))

    def apply(self, groups: Codes, before: Longs) -> list[Codes]:
        """The released codes of each column."""
        return self.codes_of(self.transitions.apply(groups, self.permutations, before))

    def codes_of(self, targets: Codes) -> list[Codes]:
        """The released codes of some targets, by column."""
        if self.released is None:
            return [targets]
        return [np.asarray(self.released[targets, place]) for place in range(len(self.columns))]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowPart:
    """Columns that are masked by draws of each row."""

    columns: tuple[ReleasedColumn, ...]
    masker: RowMasker
    key: Key
    strata: Strata | None = None
    """Finds the stratum of each row, which the masker then takes as one more column; None without strata."""

    def apply(self, raw: RawCodes, rows: Longs) -> tuple[list[Codes | Floats], Longs | None]:
        """The released codes of each column, or numbers as the column can hold them; and what the masker counted."""
        parts = slices(0, rows.size, max(rows.size, 1) if self.masker.shares_work else DRAWN_AT_ONCE)
        further = () if self.strata is None else self.strata.names
        own = {name: raw[name] for name in (*(column.name for column in self.columns), *further)}
        found = [
            self._draw({name: codes[part] for name, codes in own.items()}, rows[part])
            for part in parts or [slice(0, 0)]
        ]
        if len(found) == 1:
            return found[0]
        drawn, counts = zip(*found, strict=True)
        return [np.concatenate(of_column) for of_column in zip(*drawn, strict=True)], reduce(add_counts, counts)

    def _draw(self, raw: Mapping[Any, Codes], rows: Longs) -> tuple[list[Codes | Floats], Longs | None]:
        before = [column.codes(raw[column.name]) for column in self.columns]
        if self.strata is not None:
            before.append(self.strata.numbers(raw))
        after, counts = self.masker.apply_and_count(before, rows, self.key)
        return [
            settle_numbers(column.prepared, released)
            if isinstance(column, NumberColumn)
            else released.astype(np.int32, copy=False)
            for column, released in zip(self.columns, after, strict=True)
        ], counts


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FittedColumn:
    """The part of the evidence about a column that the fit already determines."""

    prepared: PreparedColumn
    value_space: ValueSpace
    """The values, followed by the further ones that may be released."""
    untouched: int
    """Cells that had no partner."""
    moves: Moves | None = None
    """How many cells of each value become each other value; None where only masking the rows shows it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FittedStep:
    """A step fitted to a table, which masks rows."""

    method: Method
    transition_parts: tuple[TransitionPart, ...] = ()
    row_part: RowPart | None = None
    fitted: Mapping[str, FittedColumn] = field(default_factory=dict)
    """Its columns by name, for evidence."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    counts_equal: bool = False
    """True to count how many rows are released with the same values."""
    as_they_are: Mapping[str, Codes] = field(default_factory=dict)
    """For this count: numbers of the cells that stay, by raw code, in columns where these differ."""
    strata: Strata | None = None
    """The strata that it was fitted in; None for none."""

    @property
    def columns(self) -> tuple[ReleasedColumn, ...]:
        """All columns that it masks, in the order of the step."""
        of_rows = () if self.row_part is None else self.row_part.columns
        return (*(column for part in self.transition_parts for column in part.columns), *of_rows)

    def apply(
        self, raw: RawCodes, groups: Sequence[Codes], before: Sequence[Longs], rows: Longs
    ) -> tuple[Released, StepTally]:
        """Mask a batch of rows."""
        released: list[Codes | Floats] = []
        counts = None
        for part, own, first in zip(self.transition_parts, groups, before, strict=True):
            released.extend(part.apply(own, first))
        if self.row_part is not None:
            drawn, counts = self.row_part.apply(raw, rows)
            released.extend(drawn)
        out, tally = self._release(raw, released)
        tally.counts = counts
        return out, tally

    def tally_transitions(self, raw: RawCodes, n_records: int) -> StepTally:
        """Tallies of all rows, from the transitions of the only part of a step: nothing is masked.

        Cells that stay must all be released as they are.

        Args:
            raw: The raw codes of some rows, one of each group at least.
            n_records: How many rows there are in all: those of no group stay.
        """
        (part,) = self.transition_parts
        transitions, groups = part.transitions, part.groups(raw)
        one_of = np.zeros(transitions.sizes.size, dtype=np.int64)
        one_of[groups[groups >= 0]] = np.flatnonzero(groups >= 0)
        rows = one_of[transitions.sources]
        _, tally = self._release(
            {name: raw[name][rows] for name in part.seen}, part.codes_of(transitions.targets), transitions.amounts
        )
        tally.unchanged_records += n_records - int(transitions.sizes.sum())
        return tally

    def _release(
        self, raw: RawCodes, released: Sequence[Codes | Floats], amounts: Longs | None = None
    ) -> tuple[Released, StepTally]:
        """Released codes as places and new numbers, with the tally of the rows; each row may count several times."""
        tally = StepTally()
        same = np.ones(released[0].size, dtype=np.bool_)
        out: Released = {}
        for column, codes in zip(self.columns, released, strict=True):
            own = raw[column.name]
            if isinstance(column, NumberColumn):
                places, numbers = column.split_numbers(own, codes.astype(np.float64, copy=False))
                out[column.name] = places, numbers
                same &= self._tally_numbers(column, own, codes, places, tally)
                if column.staying is not None:
                    same &= (column.codes(own) >= 0) | (places == own)
                continue
            as_codes = codes.astype(np.int32, copy=False)
            out[column.name] = column.places_of(own, as_codes), None
            before_it = column.codes(own)
            same &= column.meanings_of(before_it) == column.meanings_of(as_codes)
            if column.staying is not None:
                same &= (as_codes >= 0) | (column.stays(own) == own)
            if self.row_part is not None:
                tally.columns[column.name] = ColumnTally.of(moves_between(before_it, as_codes))
        tally.unchanged_records = int(np.count_nonzero(same) if amounts is None else amounts[same].sum())
        if self.counts_equal:
            equal: list[Any] = list(released)
            for place, column in enumerate(self.columns):
                if column.emptied is not None:
                    equal[place] = np.where(equal[place] == column.emptied, np.int32(-1), equal[place])
                if column.name in self.as_they_are:
                    own = raw[column.name]
                    if column.emptied is not None:  # They are released as the cell of one raw code, or as null.
                        own = np.where(released[place] == column.emptied, column.in_palette[column.emptied], own)
                    stays = self.as_they_are[column.name][own]
                    equal[place] = np.where(equal[place] >= 0, equal[place], stays)
            if self.strata is not None:
                equal.append(self.strata.numbers(raw))
            tally.equal = CountedRecords.of(equal, amounts)
        return out, tally

    def slim(self) -> FittedStep:
        """The part that masks rows, without data that only evidence needs: ontologies, moves, facts."""
        part = self.row_part
        return replace(
            self,
            row_part=None if part is None else replace(part, masker=part.masker.slim()),
            fitted={},
            facts={},
        )

    def counted_facts(self, counts: Longs | None) -> Mapping[str, Any]:
        """Evidence of the step, from what its masker counted in all rows."""
        return {} if self.row_part is None else self.row_part.masker.counted_facts(counts)

    @staticmethod
    def _tally_numbers(column: NumberColumn, raw: Codes, released: Any, places: Codes, tally: StepTally) -> Bools:
        """Sum up how far numbers moved; which are the same."""
        import polars as pl

        before = column.codes(raw)
        there = before >= 0
        own, new = column.numeric.numbers[before[there]], released[there]
        scale = column.numeric.scale
        moved = np.abs(own - new) / scale if scale else np.zeros(own.size)
        further = np.unique(released[places == NEW_NUMBER])
        wants_all = isinstance(column.palette.dtype, pl.Enum) or column.prepared.description.kind == "ordinal"
        tally.columns[column.name] = ColumnTally(
            n_same=int(np.count_nonzero(own == new)),
            squares=dot(moved, moved),
            farthest=float(moved.max(initial=0.0)),
            further=further if wants_all or further.size < 2 else further[[0, -1]],
        )
        same = np.ones(raw.size, dtype=np.bool_)
        same[there] = own == new
        return same


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableCounts:
    """The counts of a table in the rows that stay."""

    columns: Mapping[str, ValueDictionary]
    """The columns that a step or a policy looks at."""
    n_rows: int
    """All rows, dropped ones included."""
    n_records: int
    """Rows that stay."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FittedPlan:
    """A plan fitted to the counts of a table: masks rows, wherever they are."""

    steps: tuple[FittedStep, ...]
    counts: TableCounts
    """Counts of the table that they were fitted to."""
    within: tuple[str, ...] = ()
    """Columns of strata: their zeros, and their NaNs, are released with the same bits."""

    @property
    def columns(self) -> dict[str, ReleasedColumn]:
        """The columns that are masked."""
        return {column.name: column for step in self.steps for column in step.columns}

    @property
    def numbers(self) -> list[str]:
        """The columns in which any cell may become a new number."""
        return [name for name, column in self.columns.items() if isinstance(column, NumberColumn)]

    def tallies(self) -> Tallies:
        """Empty tallies, to add up what becomes of the rows."""
        sizes = (len(step.columns) + (step.strata is not None) if step.counts_equal else None for step in self.steps)
        return Tallies(list(sizes))

    def widen_columns(self, tallies: Tallies) -> dict[str, ReleasedColumn]:
        """The masked columns, with types that hold the new numbers of all rows together."""
        columns = self.columns
        for tally in tallies.steps:
            for name, of_column in tally.columns.items():
                column = columns[name]
                if isinstance(column, NumberColumn):
                    columns[name] = column.widen(of_column.further)
        return columns

    def with_targets(self) -> FittedPlan:
        """The same plan with the targets of all records listed: faster where all records are in memory."""
        steps = (
            replace(step, transition_parts=tuple(part.with_targets() for part in step.transition_parts))
            for step in self.steps
        )
        return replace(self, steps=tuple(steps))

    def slim(self) -> FittedPlan:
        """The same plan without data that only evidence needs, to send it to another process."""
        counted = {name: column.bare() for name, column in self.counts.columns.items()}
        return replace(
            self, steps=tuple(step.slim() for step in self.steps), counts=replace(self.counts, columns=counted)
        )

    def groups(self, raw: RawCodes) -> list[list[Codes]]:
        """The group of each row, by step and its parts with transitions."""
        return [[part.groups(raw) for part in step.transition_parts] for step in self.steps]

    def count_groups(self, groups: Sequence[Sequence[Codes]]) -> list[list[Longs]]:
        """How many rows of each group a batch has."""
        return [
            [part.transitions.records_of(own) for part, own in zip(step.transition_parts, of_step, strict=True)]
            for step, of_step in zip(self.steps, groups, strict=True)
        ]

    def no_rows(self) -> list[list[Longs]]:
        """The counts of groups before the first batch."""
        return [[np.zeros_like(part.transitions.sizes) for part in step.transition_parts] for step in self.steps]

    def apply(
        self, raw: RawCodes, groups: Sequence[Sequence[Codes]], before: Sequence[Sequence[Longs]], rows: Longs
    ) -> tuple[Released, list[StepTally]]:
        """Mask a batch of rows.

        Args:
            raw: The raw codes of its rows that stay.
            groups: Their groups.
            before: How many earlier rows each group has.
            rows: Their numbers in the whole table.
        """
        out: Released = {}
        tallies = []
        for step, own, first in zip(self.steps, groups, before, strict=True):
            columns, tally = step.apply(raw, own, first, rows)
            out |= columns
            tallies.append(tally)
        return out, tallies

    def apply_to_batches(
        self,
        batches: Iterable[Batch],
        read: Callable[[Batch], tuple[RawCodes, Longs]],
        before: Groups | None = None,
        behind: Groups | None = None,
    ) -> Iterator[tuple[Batch, Released, list[StepTally], Longs]]:
        """Mask consecutive batches of a table, as many at once as there are threads; they come out in order.

        Args:
            batches: Keys of the batches, in the order of their rows.
            read: Gives the raw codes of the rows of a batch that stay, and their numbers.
            before: How many rows each group has before the first batch; None for none.
            behind: The same after the last one, if it is known: a table that changed is refused before it is masked.
        """
        passed: Groups = self.no_rows() if before is None else before
        waiting = iter(batches)
        while together := list(islice(waiting, n_threads())):
            places = slices(0, len(together), 1)
            seen: dict[int, Any] = {}
            done: dict[int, Any] = {}

            def look(place: slice, together: Sequence[Batch] = together, seen: dict[int, Any] = seen) -> None:
                raw, rows = read(together[place.start])
                groups = self.groups(raw)
                seen[place.start] = raw, rows, groups, self.count_groups(groups)

            def mask(place: slice, seen: dict[int, Any] = seen, done: dict[int, Any] = done) -> None:
                raw, rows, groups, _, first = seen.pop(place.start)
                done[place.start] = (*self.apply(raw, groups, first, rows), rows)

            in_threads(look, places)
            for place in range(len(together)):
                counts = seen[place][3]
                seen[place] = (*seen[place], passed)
                passed = _add(passed, counts)
                if behind is not None and not _none_above(passed, behind):
                    raise changed_table()
            in_threads(mask, places)
            for place, batch in enumerate(together):
                yield (batch, *done.pop(place))
        if behind is not None and not _none_above(behind, passed):
            raise changed_table()


def _add(before: Groups, counts: Groups) -> Groups:
    """The state after a batch; a batch with unknown groups is refused."""
    if any(old.size != new.size for old, new in _pairs(before, counts)):
        raise changed_table()
    return [[old + new for old, new in zip(*both, strict=True)] for both in zip(before, counts, strict=True)]


def _none_above(some: Groups, others: Groups) -> bool:
    """Return whether no group has more rows than in the other counts."""
    return not any((one > other).any() for one, other in _pairs(some, others))


def _pairs(some: Groups, others: Groups) -> Iterator[tuple[Longs, Longs]]:
    for both in zip(some, others, strict=True):
        yield from zip(*both, strict=True)


def changed_table() -> ClusterError:
    """A table that is not the same when it is read again."""
    return ClusterError(
        "The table changed between two reads, so nothing was written; write it to Parquet files that do not change, "
        "and mask those."
    )
