"""A plan fitted to a table: all that the fate of its rows depends on, small, frozen and picklable.

`anonto.masking.fit` makes it from counts. It masks batches of rows in any order: what must be said of a batch is the
number of each of its rows in the whole table, and how many records of each group stand before it. `groups` has the
group of each row, and the counts of earlier batches (`count_groups`) added up are what stands before. Evidence is added
up from the tallies that come with the masked rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from anonto.arithmetic import dot
from anonto.errors import TableChangedError
from anonto.masking.released import NEW_NUMBER, ColumnTally, NumberColumn, OutColumn, StepTally, Tallies, added
from anonto.methods.dealt_flows import DealtFlows
from anonto.methods.row_masking import moves_between
from anonto.table.new_cells import settled
from anonto.table.record_counts import CountedRecords, RecordIndex
from anonto.threads import in_threads, n_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.flows import Flows, Moves
    from anonto.methods.method import Method
    from anonto.methods.row_masking import RowMasker
    from anonto.rng import Key, KeyedPermutations
    from anonto.table.counted import LearntColumn
    from anonto.table.prepare import Dropping

    Codes = NDArray[np.int32]
    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]
    RawCodes = Mapping[Any, Codes]
    """For each column that is looked at the raw codes of some rows; for several columns, where it is known, the number
    of each row's record."""
    Released = dict[str, tuple[Codes, Floats | None]]
    """For each column places in its palette, and new numbers if it may have any."""
    Groups = Sequence[Sequence[Longs]]
    """For each step, and each of its parts with flows, how many rows of each group there are."""

Batch = TypeVar("Batch")
DRAWN_AT_ONCE = 1 << 17
"""Rows with draws of their own, which take many times the memory of a code."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FlowPart:
    """Columns that are masked by flows from values, or from whole records, to others."""

    columns: tuple[OutColumn, ...]
    seen: tuple[str, ...]
    maps: tuple[Codes, ...]
    """For each column that is seen the code of each raw code."""
    index: RecordIndex | None
    """Of the records; None for one column, whose codes are the groups."""
    flows: Flows
    permutations: KeyedPermutations
    released: Codes | None
    """Targets × columns; None where targets are codes."""

    def groups(self, raw: RawCodes) -> Codes:
        """The value, or the record, of each row."""
        if self.index is None:
            return self.columns[0].codes(raw[self.seen[0]])
        if self.seen in raw:
            return raw[self.seen]
        return self.index.numbers([own[raw[name]] for name, own in zip(self.seen, self.maps, strict=True)])

    def dealt(self) -> FlowPart:
        """The same with the targets of all records at hand: faster where all records are here."""
        dealt = self.flows.dealt(self.permutations)
        return replace(self, flows=DealtFlows.of(self.flows.sizes, dealt))

    def apply(self, groups: Codes, before: Longs) -> list[Codes]:
        """For each column the released codes."""
        return self.codes_of(self.flows.apply(groups, self.permutations, before))

    def codes_of(self, targets: Codes) -> list[Codes]:
        """For each column the released codes that some targets stand for."""
        if self.released is None:
            return [targets]
        return [np.asarray(self.released[targets, place]) for place in range(len(self.columns))]

    def slim(self) -> FlowPart:
        """Without the ontologies."""
        return replace(self, columns=tuple(column.slim() for column in self.columns))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowPart:
    """Columns that are masked by draws of each row."""

    columns: tuple[OutColumn, ...]
    masker: RowMasker
    key: Key

    def apply(self, raw: RawCodes, rows: Longs) -> tuple[list[Codes | Floats], Longs | None]:
        """For each column the released codes, or numbers as the column can hold them; and what the masker counted."""
        parts = slices(0, rows.size, max(rows.size, 1) if self.masker.shares_work else DRAWN_AT_ONCE)
        own = {column.name: raw[column.name] for column in self.columns}
        found = [
            self._drawn({name: codes[part] for name, codes in own.items()}, rows[part])
            for part in parts or [slice(0, 0)]
        ]
        if len(found) == 1:
            return found[0]
        drawn, counts = zip(*found, strict=True)
        return [np.concatenate(of_column) for of_column in zip(*drawn, strict=True)], reduce(added, counts)

    def _drawn(self, raw: Mapping[Any, Codes], rows: Longs) -> tuple[list[Codes | Floats], Longs | None]:
        before = [column.codes(raw[column.name]) for column in self.columns]
        after, counts = self.masker.apply_and_count(before, rows, self.key)
        return [
            settled(column.prepared, released)
            if isinstance(column, NumberColumn)
            else released.astype(np.int32, copy=False)
            for column, released in zip(self.columns, after, strict=True)
        ], counts

    def slim(self) -> RowPart:
        """Without the ontologies."""
        return replace(self, columns=tuple(column.slim() for column in self.columns), masker=self.masker.slim())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FittedStep:
    """A step that has seen what it needs, and masks rows."""

    method: Method
    flow_parts: tuple[FlowPart, ...] = ()
    row_part: RowPart | None = None
    moves: Mapping[str, Moves] = field(default_factory=dict)
    untouched: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    counts_equal: bool = False
    """Whether it is asked how many rows are released alike."""
    as_they_are: Mapping[str, Codes] = field(default_factory=dict)
    """For counting these: what cells that stay count as, by raw code, in columns that have some."""

    @property
    def columns(self) -> tuple[OutColumn, ...]:
        """All columns that it masks, in the order of the step."""
        of_rows = () if self.row_part is None else self.row_part.columns
        return (*(column for part in self.flow_parts for column in part.columns), *of_rows)

    def groups(self, raw: RawCodes) -> list[Codes]:
        """For each part with flows the group of each row."""
        return [part.groups(raw) for part in self.flow_parts]

    def count_groups(self, groups: Sequence[Codes]) -> list[Longs]:
        """How many rows of each group a stretch has."""
        return [part.flows.records_of(own) for part, own in zip(self.flow_parts, groups, strict=True)]

    def nothing_before(self) -> list[Longs]:
        """What stands before the first stretch."""
        return [np.zeros(part.flows.sizes.size, dtype=np.int64) for part in self.flow_parts]

    def apply(
        self, raw: RawCodes, groups: Sequence[Codes], before: Sequence[Longs], rows: Longs
    ) -> tuple[Released, StepTally]:
        """Mask a batch of rows."""
        released: list[Codes | Floats] = []
        counts = None
        for part, own, first in zip(self.flow_parts, groups, before, strict=True):
            released.extend(part.apply(own, first))
        if self.row_part is not None:
            drawn, counts = self.row_part.apply(raw, rows)
            released.extend(drawn)
        out, tally = self._became(raw, released)
        tally.counts = counts
        return out, tally

    def tally_of_flows(self, raw: RawCodes, n_records: int) -> StepTally:
        """What becomes of all rows, from the flows of the only part of a step: nothing is masked.

        Cells that stay must all be released as they are.

        Args:
            raw: The raw codes of some rows, one of each group at least.
            n_records: How many rows there are in all: those of no group stay.
        """
        (part,) = self.flow_parts
        flows, groups = part.flows, part.groups(raw)
        one_of = np.zeros(flows.sizes.size, dtype=np.int64)
        one_of[groups[groups >= 0]] = np.flatnonzero(groups >= 0)
        rows = one_of[flows.sources]
        _, tally = self._became(
            {name: raw[name][rows] for name in part.seen}, part.codes_of(flows.targets), flows.amounts
        )
        tally.unchanged_records += n_records - int(flows.sizes.sum())
        return tally

    def _became(
        self, raw: RawCodes, released: Sequence[Codes | Floats], amounts: Longs | None = None
    ) -> tuple[Released, StepTally]:
        """Places and new numbers for what was released, and what became of the rows; each may stand for several."""
        tally = StepTally()
        same = np.ones(released[0].size, dtype=np.bool_)
        out: Released = {}
        for column, codes in zip(self.columns, released, strict=True):
            own = raw[column.name]
            if isinstance(column, NumberColumn):
                places, numbers = column.split(own, codes.astype(np.float64, copy=False))
                out[column.name] = places, numbers
                same &= self._tally_numbers(column, own, codes, places, tally)
                if column.staying is not None:
                    same &= (column.codes(own) >= 0) | (places == own)
                continue
            as_codes = codes.astype(np.int32, copy=False)
            out[column.name] = column.placed(own, as_codes), None
            before_it = column.codes(own)
            same &= column.meant(before_it) == column.meant(as_codes)
            if column.staying is not None:
                same &= (as_codes >= 0) | (column.stays(own) == own)
            if self.row_part is not None:
                tally.columns[column.name] = ColumnTally.of(moves_between(before_it, as_codes))
        tally.unchanged_records = int(np.count_nonzero(same) if amounts is None else amounts[same].sum())
        if self.counts_equal:
            alike = [self._alike(column, raw, codes) for column, codes in zip(self.columns, released, strict=True)]
            tally.equal = CountedRecords.of(alike, amounts)
        return out, tally

    def slim(self) -> FittedStep:
        """What masks rows, without what only evidence needs: ontologies, moves, facts."""
        return replace(
            self,
            flow_parts=tuple(part.slim() for part in self.flow_parts),
            row_part=None if self.row_part is None else self.row_part.slim(),
            moves={},
            untouched={},
            facts={},
        )

    def counted_facts(self, tally: StepTally) -> Mapping[str, Any]:
        """What the evidence says of the step from what was counted of all rows."""
        return {} if self.row_part is None else self.row_part.masker.counted_facts(tally.counts)

    @staticmethod
    def _tally_numbers(column: NumberColumn, raw: Codes, released: Any, places: Codes, tally: StepTally) -> Flags:
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

    def _alike(self, column: OutColumn, raw: RawCodes, released: Any) -> Codes:
        codes: Codes = released
        if column.name not in self.as_they_are:
            return codes
        return np.where(codes >= 0, codes, self.as_they_are[column.name][raw[column.name]])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FittedSteps:
    """All steps of a plan, fitted to the counts of a table."""

    steps: tuple[FittedStep, ...]
    counted: Mapping[str, LearntColumn]
    """The columns that a step or a policy looks at, counted in the rows that stay."""
    dropping: Dropping | None
    """Which rows leave, by raw codes; None where all stay."""
    n_rows: int
    n_records: int
    """Rows that stay."""

    @property
    def columns(self) -> dict[str, OutColumn]:
        """The columns that are masked."""
        return {column.name: column for step in self.steps for column in step.columns}

    @property
    def numbers(self) -> list[str]:
        """The columns of which any cell may become a new number."""
        return [name for name, column in self.columns.items() if isinstance(column, NumberColumn)]

    def tallies(self) -> Tallies:
        """To add up what becomes of the rows."""
        return Tallies([len(step.columns) if step.counts_equal else None for step in self.steps])

    def columns_holding(self, tallies: Tallies) -> dict[str, OutColumn]:
        """The masked columns, with types that hold the new numbers that all rows together have."""
        columns = self.columns
        for tally in tallies.steps:
            for name, of_column in tally.columns.items():
                column = columns[name]
                if isinstance(column, NumberColumn):
                    columns[name] = column.holding(of_column.further)
        return columns

    def dealt(self) -> FittedSteps:
        """The same with the targets of all records at hand: faster where all records are here."""
        steps = (replace(step, flow_parts=tuple(part.dealt() for part in step.flow_parts)) for step in self.steps)
        return replace(self, steps=tuple(steps))

    def slim(self) -> FittedSteps:
        """What masks rows, without what only evidence needs: what goes to another process."""
        counted = {name: column.bare() for name, column in self.counted.items()}
        return replace(self, steps=tuple(step.slim() for step in self.steps), counted=counted)

    def groups(self, raw: RawCodes) -> list[list[Codes]]:
        """For each step, and each of its parts with flows, the group of each row."""
        return [step.groups(raw) for step in self.steps]

    def count_groups(self, groups: Sequence[Sequence[Codes]]) -> list[list[Longs]]:
        """How many rows of each group a batch has."""
        return [step.count_groups(own) for step, own in zip(self.steps, groups, strict=True)]

    def nothing_before(self) -> list[list[Longs]]:
        """What stands before the first batch."""
        return [step.nothing_before() for step in self.steps]

    def apply(
        self, raw: RawCodes, groups: Sequence[Sequence[Codes]], before: Sequence[Sequence[Longs]], rows: Longs
    ) -> tuple[Released, list[StepTally]]:
        """Mask a batch of rows.

        Args:
            raw: The raw codes of its rows that stay.
            groups: Their groups.
            before: How many rows of each group stand before the batch.
            rows: Their numbers in the whole table.
        """
        out: Released = {}
        tallies = []
        for step, own, first in zip(self.steps, groups, before, strict=True):
            columns, tally = step.apply(raw, own, first, rows)
            out |= columns
            tallies.append(tally)
        return out, tallies

    def apply_all(
        self,
        batches: Iterable[Batch],
        read: Callable[[Batch], tuple[RawCodes, Longs]],
        before: Groups | None = None,
        behind: Groups | None = None,
    ) -> Iterator[tuple[Batch, Released, list[StepTally], Longs]]:
        """Mask consecutive batches of a table, as many at once as there are threads; they come out in order.

        Args:
            batches: What tells batches apart, in the order of their rows.
            read: Gives the raw codes of the rows of a batch that stay, and their numbers.
            before: How many rows of each group stand before the first batch; None for none.
            behind: The same behind the last one, where that is known: other rows are refused before they are masked.
        """
        passed: Groups = self.nothing_before() if before is None else before
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
                passed = _added(passed, counts)
                if behind is not None and not _none_above(passed, behind):
                    raise TableChangedError
            in_threads(mask, places)
            for place, batch in enumerate(together):
                yield (batch, *done.pop(place))
        if behind is not None and not _none_above(behind, passed):
            raise TableChangedError


def _added(before: Groups, counts: Groups) -> Groups:
    """What stands behind a batch; one with groups that nobody had seen is refused."""
    if any(old.size != new.size for old, new in _pairs(before, counts)):
        raise TableChangedError
    return [[old + new for old, new in zip(*both, strict=True)] for both in zip(before, counts, strict=True)]


def _none_above(some: Groups, others: Groups) -> bool:
    """Whether there are at most as many rows of each group as others have."""
    return not any((one > other).any() for one, other in _pairs(some, others))


def _pairs(some: Groups, others: Groups) -> Iterator[tuple[Longs, Longs]]:
    for both in zip(some, others, strict=True):
        yield from zip(*both, strict=True)
