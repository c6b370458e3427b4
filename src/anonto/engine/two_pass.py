"""Masking in two passes over rows that may live anywhere: in files of this machine, or on a cluster.

Nothing here knows where rows are. An engine

1. lets a `Learner` (`anonto.table.counted`) meet each stretch of the columns that are looked at, or one learner each
   where stretches are far apart, whose results `merged` puts together; asks `dropping` which rows leave, and counts the
   values of the others anew if there are any (`LearntColumn.counting`);
2. hands the counts to `fit_step`, step by step. Methods that look at whole records ask back for the distinct records:
   `CountedRecords.of` for each stretch, `CountedRecords.together` for all;
3. masks stretches of rows in any order with `FittedPlan.apply`. What it must say of a stretch is the number of its rows
   in the whole table, and how many records of each group stand before it: `FittedPlan.groups` has the groups of each
   row, and the counts of earlier stretches (`count_groups`) added up are what stands before;
4. turns what comes out into cells with `OutColumn.cells`, and adds up the tallies for the evidence.

All of it can be pickled, and the order of the stretches matters only for what stands before.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from anonto.arithmetic import dot
from anonto.engine.released import NEW_NUMBER, ColumnTally, NumberColumn, OutColumn, StepTally
from anonto.errors import InternalError, MoreMemoryError, TooWideRangeError
from anonto.methods.cells import drawn_key
from anonto.methods.row_masking import moves_between
from anonto.rng import Key, keyed_permutations
from anonto.table.attributes import ExtendedAttribute, NumericAttribute, first_codes
from anonto.table.columns import MISSING
from anonto.table.door import longer_polars
from anonto.table.missing_codes import Recoded, by_name, code_of, released_code
from anonto.table.new_cells import new_cells, settled
from anonto.table.prepare import described, prepare, values_to_drop
from anonto.table.record_counts import CountedRecords, RecordIndex
from anonto.table.records import Records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.equi_width_swap import EquiWidthSwap
    from anonto.methods.flows import Flows, Moves
    from anonto.methods.method import ColumnMethod, Method, RecordMethod, RowMethod
    from anonto.methods.record_flows import RecordFlows
    from anonto.methods.row_masking import RowMasker
    from anonto.rng import KeyedPermutations, Seed
    from anonto.table.attributes import Attribute
    from anonto.table.counted import CountedColumn, LearntColumn
    from anonto.table.description import ColumnDescription
    from anonto.table.missing_codes import Code
    from anonto.table.prepare import Opener, PreparedColumn

    Codes = NDArray[np.int32]
    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]
    RawCodes = Mapping[str, Codes]
    """For each column that is looked at the raw codes of some rows."""


class StepLike(Protocol):
    """What is asked of a step of a plan."""

    @property
    def method(self) -> Method:
        """The method with its parameters."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """What it masks."""
        ...

    @property
    def also_needs(self) -> Sequence[str]:
        """What it looks at besides."""
        ...


# ------------------------------------------------------------------------------------------------ rows that stay


@dataclass(frozen=True, slots=True, eq=False)
class Dropping:
    """Which rows a policy drops."""

    by_column: Mapping[str, Flags]
    """For each column that drops rows, by raw code, and behind them for a null."""

    def stays(self, raw: RawCodes) -> Flags:
        """Which rows stay."""
        leaves = [flags[raw[name]] for name, flags in self.by_column.items()]
        return np.asarray(~np.logical_or.reduce(leaves))


def dropping(
    learnt: Mapping[str, LearntColumn], descriptions: Mapping[str, ColumnDescription], open_once: Opener
) -> Dropping | None:
    """What the policies of all columns drop; None where all rows stay. Cells that are refused are refused here."""
    by_column = {}
    for name, column in learnt.items():
        counted = described(name, column.column(), descriptions[name])
        values = values_to_drop(counted, descriptions[name], open_once)
        flags = values[column.places_in(counted.values)]
        n_null = column.n_rows - int(column.counts.sum())
        if (column.counts[flags[:-1]] > 0).any() or (flags[-1] and n_null):
            by_column[name] = flags
    return Dropping(by_column) if by_column else None


# ------------------------------------------------------------------------------------------------ steps


@dataclass(frozen=True, slots=True, eq=False)
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
        codes = [own[raw[name]] for name, own in zip(self.seen, self.maps, strict=True)]
        return codes[0] if self.index is None else self.index.numbers(codes)

    def apply(self, groups: Codes, before: Longs) -> list[Codes]:
        """For each column the released codes."""
        targets = self.flows.apply(groups, self.permutations, before)
        if self.released is None:
            return [targets]
        return [np.asarray(self.released[targets, place]) for place in range(len(self.columns))]


@dataclass(frozen=True, slots=True, eq=False)
class RowPart:
    """Columns that are masked by draws of each row."""

    columns: tuple[OutColumn, ...]
    masker: RowMasker
    key: Key

    def apply(self, raw: RawCodes, rows: Longs) -> list[Codes | Floats]:
        """For each column the released codes, or numbers as the column can hold them."""
        before = [column.own[raw[column.name]] for column in self.columns]
        after = self.masker.apply(before, rows, self.key)
        return [
            settled(column.prepared, released) if isinstance(column, NumberColumn) else released.astype(np.int32)
            for column, released in zip(self.columns, after, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class FittedStep:
    """A step that has seen what it needs, and masks rows."""

    method: Method
    flow_parts: tuple[FlowPart, ...]
    row_part: RowPart | None
    moves: Mapping[str, Moves]
    untouched: Mapping[str, int]
    facts: Mapping[str, Any]
    counts_equal: bool
    """Whether it is asked how many rows are released alike."""
    as_they_are: Mapping[str, Codes]
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
    ) -> tuple[dict[str, tuple[Codes, Floats | None]], StepTally]:
        """Mask a stretch: for each column places in its palette, and new numbers if it may have any."""
        released: list[Codes | Floats] = []
        for part, own, first in zip(self.flow_parts, groups, before, strict=True):
            released.extend(part.apply(own, first))
        if self.row_part is not None:
            released.extend(self.row_part.apply(raw, rows))
        tally = StepTally()
        same = np.ones(rows.size, dtype=np.bool_)
        out: dict[str, tuple[Codes, Floats | None]] = {}
        for column, codes in zip(self.columns, released, strict=True):
            own = raw[column.name]
            if isinstance(column, NumberColumn):
                places, numbers = column.split(own, codes.astype(np.float64, copy=False))
                out[column.name] = places, numbers
                same &= self._tally_numbers(column, own, codes, places, tally)
                if column.staying is not None:
                    same &= (column.own[own] >= 0) | (places == own)
                continue
            as_codes = codes.astype(np.int32, copy=False)
            out[column.name] = column.placed(own, as_codes), None
            before_it = column.own[own]
            same &= column.meant(before_it) == column.meant(as_codes)
            if column.staying is not None:
                same &= (as_codes >= 0) | (column.stays(own) == own)
            if self.row_part is not None:
                tally.columns[column.name] = ColumnTally(moves=moves_between(before_it, as_codes))
        tally.unchanged_records = int(np.count_nonzero(same))
        if self.counts_equal:
            tally.equal = CountedRecords.of(
                [self._alike(column, raw, codes) for column, codes in zip(self.columns, released, strict=True)]
            )
        return out, tally

    @staticmethod
    def _tally_numbers(column: NumberColumn, raw: Codes, released: Any, places: Codes, tally: StepTally) -> Flags:
        """Sum up how far numbers moved; which are the same."""
        import polars as pl

        before = column.own[raw]
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


class Scattering(Protocol):
    """Rows that are exchanged bin by bin, somewhere else than in memory."""

    @property
    def untouched(self) -> Sequence[int]:
        """For each column the cells with a value that had no partner, when all is done."""
        ...

    def masker(self, key: Key, name: str) -> RowMasker:
        """Exchange all rows; files, if there are any, begin with a name."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What an engine gives to the fitting of a step."""

    learnt: Mapping[str, LearntColumn]
    """The columns that are looked at, counted in the rows that stay."""
    descriptions: Mapping[str, ColumnDescription]
    seed: Seed
    open_once: Opener
    count_records: Callable[[Sequence[str], Sequence[Codes]], CountedRecords]
    """Counts the distinct records of some columns, each with the code of each raw code."""
    fit_records: Callable[[RecordMethod, Records, np.random.Generator], RecordFlows] = lambda method, records, rng: (
        method.fit(records, rng)
    )
    """How a method for whole records is fitted: at once, or in parts."""
    scatter: Callable[[EquiWidthSwap, Sequence[OutColumn]], Scattering] | None = None
    """Where rows may be exchanged elsewhere, bin by bin: begins that, for columns with the code of each raw code."""
    scatters_all: bool = False
    """Whether they always are, and not only where they do not fit into memory."""
    fit_columns: Callable[[ColumnMethod, Sequence[PreparedColumn], Sequence[np.random.Generator]], list[Flows]] = (
        lambda method, columns, rngs: [method.fit(one.attribute, rng) for one, rng in zip(columns, rngs, strict=True)]
    )
    """How a method for one column is fitted to several: one after the other, or at once."""
    require: Callable[[Method, Sequence[str], int, str], None] = lambda *_: None
    """Told how many bytes a method is going to take, and for what; may refuse."""

    def encoded(self, name: str) -> CountedColumn:
        """A column with the texts that mean missing as missing."""
        column: Any = described(name, self.learnt[name].column(), self.descriptions[name])
        return column  # type: ignore[no-any-return]

    def prepared(self, name: str) -> PreparedColumn:
        """A column ready for a method."""
        one = prepare(name, self.encoded(name), self.descriptions[name], self.open_once)
        require_range(one)
        return one

    def out_column(self, prepared: PreparedColumn, attribute: Attribute) -> OutColumn:
        """A column whose released codes are those of an attribute, with its new cells in the palette."""
        learnt = self.learnt[prepared.name]
        values = prepared.column.values
        raw_of = _raw_of(learnt, values)
        further = new_cells(prepared, attribute)
        n_new = 0 if further is None else len(further)
        palette = learnt.cells if further is None else longer_polars(learnt.cells, further)
        new = len(learnt.cells) + np.arange(n_new, dtype=np.int32)
        in_palette = np.concatenate([raw_of, new])
        alike = first_codes(attribute)
        plain = OutColumn(prepared, attribute, learnt.places_in(values), palette, in_palette, alike)
        return self._with_one_code(plain)

    def _with_one_code(self, column: OutColumn) -> OutColumn:
        """A column whose missing cells stay, with one code for all where its plan merges them."""
        description, learnt = column.prepared.description, self.learnt[column.name]
        missing = self._missing_codes(column.name)
        if description.missing_codes == "keep" or not missing:
            return column
        cell = released_code(learnt.cells.dtype, description.na)
        palette, place = column.palette, missing.get(code_of(cell))
        if list(missing.values()) == [place]:
            return column
        if place is None:
            palette = palette if cell is None else longer_polars(palette, cell)
            place = MISSING if cell is None else len(palette) - 1
        staying = np.append(np.arange(len(learnt.cells)), MISSING).astype(np.int32)
        staying[list(missing.values())] = place
        replaced = {code: learnt.count_of(raw) for code, raw in missing.items() if raw != place}
        recoded = Recoded(by_name(replaced, None, column.name), np.empty(0, dtype=np.bool_))
        return replace(column, palette=palette, staying=staying, recoded=recoded)

    def differ_where_they_stay(self, column: OutColumn) -> bool:
        """Whether cells that stay are released as different ones: without a concept, or with several missing codes."""
        if column.prepared.n_unmatched:
            return True
        return column.staying is None and len(self._missing_codes(column.name)) > 1

    def as_they_are(self, column: OutColumn) -> Codes:
        """For each raw code, and behind them for a null, a number for its cell where it stays, above all values."""
        raw = np.append(np.arange(len(self.learnt[column.name].cells)), MISSING).astype(np.int32)
        return column.stays(raw) + np.int32(column.attribute.counts.size + 1)

    def _missing_codes(self, name: str) -> dict[Code, int]:
        return self.learnt[name].missing_codes(self.encoded(name).values)

    def with_missing(self, prepared: PreparedColumn) -> OutColumn:
        """A column whose cells without a value are moved like values: see `with_missing_as_value`."""
        learnt, encoded = self.learnt[prepared.name], self.encoded(prepared.name)
        known = set(prepared.column.values)
        further = [value for value in encoded.values if value not in known]
        all_values = (*prepared.column.values, *further)
        own = learnt.places_in(all_values, otherwise=len(all_values))
        counts = dict(zip(encoded.values, encoded.counts.tolist(), strict=True))
        missing = list(learnt.missing_codes(encoded.values).values())
        own[missing] += np.arange(len(missing), dtype=np.int32)
        of_missing = [learnt.count_of(raw) for raw in missing] or [0]
        of_further = np.array([*(counts[value] for value in further), *of_missing], dtype=np.int64)
        in_palette = np.append(_raw_of(learnt, all_values), missing or [MISSING])
        attribute = ExtendedAttribute(prepared.attribute, of_further, len(of_missing))
        return OutColumn(prepared, attribute, own, learnt.cells, in_palette.astype(np.int32))


def _raw_of(learnt: LearntColumn, values: Sequence[str]) -> Codes:
    raw = {text: code for code, text in enumerate(learnt.texts.to_list()) if text is not None}
    return np.array([raw[value] for value in values], dtype=np.int32)


def fit_step(number: int, step: StepLike, given: Surroundings) -> FittedStep:
    """Fit a step of a plan from counts."""
    method = step.method
    prepared = [given.prepared(name) for name in step.columns]
    if not method.together:
        return _fit_columns(number, method, prepared, given)
    if method.by_row:
        return _fit_rows(number, method, prepared, given)
    beside = [given.prepared(name) for name in step.also_needs]
    if given.scatter is None or not method.exchanged_in_cells:
        return _fit_records(number, method, prepared, beside, given)
    if not given.scatters_all:
        with suppress(MoreMemoryError):
            return _fit_records(number, method, prepared, beside, given)
    return _fit_elsewhere(number, cast("EquiWidthSwap", method), prepared, given)


def _fit_columns(
    number: int, method: ColumnMethod, prepared: Sequence[PreparedColumn], given: Surroundings
) -> FittedStep:
    parts = []
    streams = [given.seed.stream("fit", number, one.name) for one in prepared]
    for one, flows in zip(prepared, given.fit_columns(method, prepared, streams), strict=True):
        permutations = keyed_permutations(given.seed, f"apply {number} {one.name}", flows.sizes)
        column = given.out_column(one, one.attribute)
        parts.append(FlowPart((column,), (one.name,), (column.own,), None, flows, permutations, None))
    return FittedStep(
        method,
        tuple(parts),
        None,
        {part.seen[0]: part.flows.moves for part in parts},
        {part.seen[0]: part.flows.untouched for part in parts},
        {},
        counts_equal=False,
        as_they_are={},
    )


def _fit_records(
    number: int,
    method: RecordMethod,
    prepared: Sequence[PreparedColumn],
    beside: Sequence[PreparedColumn],
    given: Surroundings,
) -> FittedStep:
    moving = [given.with_missing(one) for one in prepared] if method.moves_missing else None
    attributes = [with_settling(one) for one in prepared] if moving is None else [one.attribute for one in moving]
    maps = [given.learnt[one.name].places_in(one.column.values) for one in (*prepared, *beside)]
    if moving is not None:
        maps[: len(moving)] = [one.own for one in moving]
    names = tuple(one.name for one in (*prepared, *beside))
    counted = given.count_records(names, maps)
    records = Records(names, (*attributes, *(one.attribute for one in beside)), counted.codes, counted.counts)
    fitted = given.fit_records(method, records, given.seed.stream("fit", number))
    permutations = keyed_permutations(given.seed, f"apply {number}", fitted.flows.permuted)
    released = fitted.attributes or records.attributes
    columns = (
        tuple(given.out_column(one, attribute) for one, attribute in zip(prepared, released, strict=False))
        if moving is None
        else tuple(moving)
    )
    index = RecordIndex.of(records.codes)
    part = FlowPart(columns, names, tuple(maps), index, fitted.flows, permutations, fitted.released)
    counts_equal = method.makes_equal
    apart = [column for column in columns if counts_equal and given.differ_where_they_stay(column)]
    return FittedStep(
        method,
        (part,),
        None,
        {column.name: fitted.moves(records, place) for place, column in enumerate(columns)},
        {column.name: fitted.untouched[place] for place, column in enumerate(columns)},
        fitted.facts,
        counts_equal=counts_equal,
        as_they_are={column.name: given.as_they_are(column) for column in apart},
    )


def _fit_elsewhere(
    number: int, method: EquiWidthSwap, prepared: Sequence[PreparedColumn], given: Surroundings
) -> FittedStep:
    if given.scatter is None:
        raise InternalError("Nothing is scattered here.")
    names = tuple(one.name for one in prepared)
    columns = tuple(given.out_column(one, one.attribute) for one in prepared)
    bins = given.scatter(method, columns)
    masker = bins.masker(drawn_key(given.seed.stream("fit", number)), f"becomes-{number}")
    part = RowPart(columns, masker, Key(bytes(32)))
    untouched = dict(zip(names, bins.untouched, strict=True))
    return FittedStep(method, (), part, {}, untouched, {}, counts_equal=False, as_they_are={})


def _fit_rows(number: int, method: RowMethod, prepared: Sequence[PreparedColumn], given: Surroundings) -> FittedStep:
    names = tuple(one.name for one in prepared)
    maps = [given.learnt[one.name].places_in(one.column.values) for one in prepared]
    if method.needs_records:
        counted = given.count_records(names, maps)
    else:
        n_rows = given.learnt[names[0]].n_rows
        counted = CountedRecords(np.zeros((1, len(names)), dtype=np.int32), np.array([n_rows], dtype=np.int64))
    records = Records(names, tuple(one.attribute for one in prepared), counted.codes, counted.counts)
    given.require(method, names, method.bytes_to_fit(records), "all concepts that their values may become")
    masker = method.fit(records, given.seed.stream("fit", number))
    columns: list[OutColumn] = []
    for one, attribute in zip(prepared, masker.attributes, strict=True):
        if isinstance(attribute, NumericAttribute):
            plain = given.out_column(one, one.attribute)
            columns.append(
                NumberColumn(
                    one,
                    attribute,
                    plain.own,
                    plain.palette,
                    plain.in_palette,
                    staying=plain.staying,
                    recoded=plain.recoded,
                    numeric=attribute,
                )
            )
        else:
            columns.append(given.out_column(one, attribute))
    part = RowPart(tuple(columns), masker, given.seed.key("apply", number))
    return FittedStep(method, (), part, {}, dict.fromkeys(names, 0), {}, counts_equal=False, as_they_are={})


def with_settling(prepared: PreparedColumn) -> Attribute:
    """A column's attribute, which knows what numbers the column can hold."""
    attribute = prepared.attribute
    if not isinstance(attribute, NumericAttribute):
        return attribute
    return replace(attribute, settle=partial(settled, prepared))


def require_range(prepared: PreparedColumn) -> None:
    """Refuse numbers so far apart that their distances would be none."""
    if isinstance(prepared.attribute, NumericAttribute) and prepared.attribute.numbers.size:
        numbers = prepared.attribute.numbers
        if numbers.max() / 2 - numbers.min() / 2 > sys.float_info.max / 2:
            raise TooWideRangeError(prepared.name)
