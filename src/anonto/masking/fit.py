"""From the counts of a table to a `FittedPlan`: everything that is drawn once per table is drawn here.

This module does not know where the rows are. An engine counts the columns that the plan looks at, in the rows that
stay, and counts distinct records for the methods that look at whole records.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import MISSING, changes_nothing
from anonto.encoding.frame_adapter import longer_polars
from anonto.encoding.generalised_space import EmptiedSpace, first_codes
from anonto.encoding.missing_codes import MergedCodes, code_of, count_by_label, declared_codes, released_code
from anonto.encoding.new_cells import new_cells, settle_numbers
from anonto.encoding.prepare import Dropping, apply_missing_policy, prepare, with_missing_as_value
from anonto.encoding.record_counts import CountedRecords, RecordIndex
from anonto.encoding.records import Records
from anonto.encoding.value_space import NumericSpace
from anonto.errors import ColumnError, MemoryLimitError
from anonto.masking.find_strata import find_strata
from anonto.masking.fitted import FittedColumn, FittedPlan, FittedStep, RowPart, TransitionPart
from anonto.masking.released import NumberColumn, ReleasedColumn
from anonto.methods.grid_swap import draw_key
from anonto.methods.memory import Budget
from anonto.methods.strata import StratifiedRecords, fit_column, fit_in_strata
from anonto.methods.stratified_rows import StratifiedRows
from anonto.random.streams import Key, keyed_permutations
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Longs
    from anonto.encoding.columns import Column
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.encoding.missing_codes import Code
    from anonto.encoding.prepare import Opener, PreparedColumn
    from anonto.encoding.value_space import ValueSpace
    from anonto.masking.plan import Plan
    from anonto.masking.protocol import CountingEngine, RowExchange
    from anonto.methods.method import ColumnMethod, Method, RecordMethod, RowMethod
    from anonto.methods.record_transitions import RecordTransitions
    from anonto.methods.row_masking import RowMasker
    from anonto.methods.strata import Strata
    from anonto.methods.stratified_rows import StratifiedMasker
    from anonto.methods.transitions import Transitions
    from anonto.random.streams import Seed


def fit(engine: CountingEngine, plan: Plan, seed: Seed, open_once: Opener) -> FittedPlan:
    """Count a table and fit the steps of a plan to it."""
    counts = engine.count(plan, open_once)
    fitter = Fitter(engine, counts.columns, plan, seed, open_once)
    return FittedPlan(tuple(fitter.fit_step(number) for number in range(len(plan.steps))), counts, plan.within)


def rows_to_drop(columns: Mapping[str, ValueDictionary], plan: Plan, open_once: Opener) -> Dropping | None:
    """The rows that the policies of columns drop; None where all stay. Raises for cells that a policy refuses."""
    counted = {name: apply_missing_policy(name, one.column(), plan.description(name)) for name, one in columns.items()}
    found = Dropping.of(counted, plan.description, open_once)
    if found is None:
        return None
    return Dropping({name: own[columns[name].places_in(counted[name].values)] for name, own in found.by_column.items()})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fitter:
    """Fits the steps of a plan to the counts of a table."""

    engine: CountingEngine
    counted: Mapping[str, ValueDictionary]
    plan: Plan
    seed: Seed
    open_once: Opener

    def fit_step(self, number: int) -> FittedStep:
        """Fit a step."""
        step = self.plan.steps[number]
        method = step.method
        prepared = [self.prepare(name) for name in step.columns]
        strata = find_strata(self.engine, self.counted, step) if step.within else None
        if strata is not None and method.uses_other_rows:
            return self._fit_in_strata(number, method, prepared, strata)
        fitted = self._fit_whole_table(number, method, prepared)
        return fitted if strata is None else replace(fitted, facts={**fitted.facts, **strata.facts})

    def _fit_in_strata(
        self, number: int, method: Method, prepared: Sequence[PreparedColumn], strata: Strata
    ) -> FittedStep:
        """A step whose method is fitted to each stratum; nothing moves from one to another."""
        if not method.together:
            fitted = self._fit_columns_in_strata(number, method, prepared, strata)
        elif method.by_row:
            fitted = self._fit_rows(number, method, prepared, strata)
        else:
            also_needed = [self.prepare(name) for name in method.also_needs]
            fitted = self._fit_records(number, method, prepared, also_needed, strata)
        return replace(fitted, facts={**fitted.facts, **strata.facts}, strata=strata)

    def _fit_whole_table(self, number: int, method: Method, prepared: Sequence[PreparedColumn]) -> FittedStep:
        """A step whose method sees all rows."""
        if not method.together:
            return self._fit_columns(number, method, prepared)
        if method.by_row:
            return self._fit_rows(number, method, prepared)
        also_needed = [self.prepare(name) for name in method.also_needs]
        by_cells = method.by_cells()
        if by_cells is None:
            return self._fit_records(number, method, prepared, also_needed)
        columns = tuple(self.released_column(one, one.value_space) for one in prepared)
        value_spaces = [one.value_space for one in prepared]
        exchange = self.engine.exchange(by_cells, columns, value_spaces, fits=True)
        if exchange is None:
            with suppress(MemoryLimitError):
                return self._fit_records(number, method, prepared, also_needed)
            exchange = self.engine.exchange(by_cells, columns, value_spaces, fits=False)
        if exchange is None:
            return self._fit_records(number, method, prepared, also_needed)
        return self._exchange_rows(number, method, prepared, columns, exchange)

    def _fit_columns(self, number: int, method: ColumnMethod, prepared: Sequence[PreparedColumn]) -> FittedStep:
        """A method that masks each column alone, by transitions between its values."""
        parts, fitted = [], {}
        streams = [self.seed.stream("fit", number, one.name) for one in prepared]
        for one, transitions in zip(prepared, self._fit_each(method, prepared, streams), strict=True):
            permutations = keyed_permutations(self.seed, f"apply {number} {one.name}", transitions.sizes)
            column = self.released_column(one, one.value_space)
            parts.append(TransitionPart((column,), (one.name,), (column.own,), None, transitions, permutations, None))
            fitted[one.name] = FittedColumn(one, one.value_space, transitions.untouched, transitions.moves)
        return FittedStep(method, tuple(parts), fitted=fitted)

    def _fit_columns_in_strata(
        self, number: int, method: ColumnMethod, prepared: Sequence[PreparedColumn], strata: Strata
    ) -> FittedStep:
        """A method that masks each column alone, by transitions between the values of each stratum."""
        parts, fitted = [], {}
        for one in prepared:
            own = self.counted[one.name].places_in(one.column.values)
            names, maps = (one.name, *strata.names), (own, *strata.maps)
            counted = self.engine.count_records(names, maps)
            by_stratum = StratifiedRecords.of(counted, strata)
            records = Records(names[:1], (one.value_space,), by_stratum.codes, by_stratum.counts)
            rng, members = self.seed.stream("fit", number, one.name), by_stratum.members(strata.assigned.n_strata)
            found = fit_in_strata(records, members, 1, partial(fit_column, method), rng)
            sizes = found.transitions.permuted_sizes
            permutations = keyed_permutations(self.seed, f"apply {number} {one.name}", sizes)
            column = self.released_column(one, one.value_space)
            index = RecordIndex.of(counted.codes)
            part = TransitionPart(
                (column,), names, maps, index, found.transitions, permutations, found.released, by_stratum.merged
            )
            parts.append(part)
            fitted[one.name] = FittedColumn(one, one.value_space, found.untouched[0], found.moves(records, 0))
        return FittedStep(method, tuple(parts), fitted=fitted)

    def _fit_records(
        self,
        number: int,
        method: RecordMethod,
        prepared: Sequence[PreparedColumn],
        also_needed: Sequence[PreparedColumn],
        strata: Strata | None = None,
    ) -> FittedStep:
        """A method that looks at whole records, by transitions between them."""
        names = tuple(one.name for one in (*prepared, *also_needed))
        maps = [self.counted[one.name].places_in(one.column.values) for one in (*prepared, *also_needed)]
        moving = [self._with_missing(one) for one in prepared] if method.moves_missing else []
        maps[: len(moving)] = [column.own for column, _ in moving]
        value_spaces = [value_space for _, value_space in moving] or [with_settling(one) for one in prepared]
        spaces, rng = (*value_spaces, *(one.value_space for one in also_needed)), self.seed.stream("fit", number)
        merged = None
        if strata is None:
            counted = self.engine.count_records(names, maps)
            records = Records(names, spaces, counted.codes, counted.counts)
            fitted = self._fit_whole(method, records, rng)
        else:
            maps += strata.maps
            counted = self.engine.count_records((*names, *strata.names), maps)
            by_stratum = StratifiedRecords.of(counted, strata)
            merged, members = by_stratum.merged, by_stratum.members(strata.assigned.n_strata)
            records = Records(names, spaces, by_stratum.codes, by_stratum.counts)
            names = (*names, *strata.names)
            fitted = self._fit_each_stratum(number, method, records, members, len(prepared))
        permutations = keyed_permutations(self.seed, f"apply {number}", fitted.transitions.permuted_sizes)
        if not moving:
            released = fitted.value_spaces or records.value_spaces
            moving = [(self.released_column(one, own), own) for one, own in zip(prepared, released, strict=False)]
        columns = tuple(column for column, _ in moving)
        index = RecordIndex.of(counted.codes)
        part = TransitionPart(
            columns, names, tuple(maps), index, fitted.transitions, permutations, fitted.released, merged
        )
        of_columns = {
            one.name: FittedColumn(one, value_space, fitted.untouched[place], fitted.moves(records, place))
            for place, (one, (_, value_space)) in enumerate(zip(prepared, moving, strict=True))
        }
        as_they_are = {
            column.name: self._staying_codes(column, value_space)
            for one, (column, value_space) in zip(prepared, moving, strict=True)
            if method.makes_equal and self._stays_in_several_ways(one, column)
        }
        return FittedStep(
            method,
            (part,),
            fitted=of_columns,
            facts=fitted.facts,
            counts_equal=method.makes_equal,
            as_they_are=as_they_are,
        )

    def _exchange_rows(
        self,
        number: int,
        method: RecordMethod,
        prepared: Sequence[PreparedColumn],
        columns: tuple[ReleasedColumn, ...],
        exchange: RowExchange,
    ) -> FittedStep:
        """A method whose rows are exchanged where they are; the masker then knows the outcome of each row."""
        masker = exchange.masker(draw_key(self.seed.stream("fit", number)), f"becomes-{number}")
        fitted = {
            one.name: FittedColumn(one, one.value_space, untouched)
            for one, untouched in zip(prepared, exchange.untouched, strict=True)
        }
        part = RowPart(columns, masker, Key(bytes(32)))
        return FittedStep(method, row_part=part, fitted=fitted, facts=masker.facts())

    def _fit_rows(
        self, number: int, method: RowMethod, prepared: Sequence[PreparedColumn], strata: Strata | None = None
    ) -> FittedStep:
        """A method that draws for each row."""
        maps = [self.counted[one.name].places_in(one.column.values) for one in prepared]
        rng, untouched = self.seed.stream("fit", number), (0,) * len(prepared)
        if strata is None:
            masker = self._masker(method, prepared, maps, rng)
        else:
            masker = in_strata = self._masker_in_strata(method, prepared, maps, strata, rng)
            untouched = in_strata.untouched
        columns = [
            self._number_column(one, value_space)
            if isinstance(value_space, NumericSpace)
            else self.released_column(one, value_space)
            for one, value_space in zip(prepared, masker.value_spaces, strict=True)
        ]
        fitted = {
            one.name: FittedColumn(one, own, n)
            for one, own, n in zip(prepared, masker.value_spaces, untouched, strict=True)
        }
        part = RowPart(tuple(columns), masker, self.seed.key("apply", number), strata)
        return FittedStep(method, row_part=part, fitted=fitted, facts=masker.facts())

    def _masker(
        self, method: RowMethod, prepared: Sequence[PreparedColumn], maps: Sequence[Codes], rng: np.random.Generator
    ) -> RowMasker:
        """A method that draws for each row, fitted to all rows."""
        names = tuple(one.name for one in prepared)
        if method.needs_records:
            counted = self.engine.count_records(names, maps)
        else:
            n_rows = self.counted[names[0]].n_rows
            counted = CountedRecords(np.zeros((1, len(names)), dtype=np.int32), np.array([n_rows], dtype=np.int64))
        records = Records(names, tuple(one.value_space for one in prepared), counted.codes, counted.counts)
        self._require_room(method, names, method.bytes_to_fit(records))
        return method.fit(records, rng)

    def _masker_in_strata(
        self,
        method: RowMethod,
        prepared: Sequence[PreparedColumn],
        maps: Sequence[Codes],
        strata: Strata,
        rng: np.random.Generator,
    ) -> StratifiedMasker:
        """A method that draws for each row, fitted to each stratum."""
        names, spaces = tuple(one.name for one in prepared), tuple(one.value_space for one in prepared)
        sets = [names] if method.needs_records else [(name,) for name in names]
        own_maps = [list(maps)] if method.needs_records else [[own] for own in maps]
        counted = [
            StratifiedRecords.of(self.engine.count_records((*some, *strata.names), (*own, *strata.maps)), strata)
            for some, own in zip(sets, own_maps, strict=True)
        ]
        parts = StratifiedRows.of(names, spaces, counted, strata.assigned.n_strata)
        self._require_room(method, names, sum(method.bytes_to_fit(one.records) for one in parts.strata))
        return parts.fit(method, rng)

    # ------------------------------------------------------------------------------------------ within the memory

    def _require_room(self, method: RowMethod, names: Sequence[str], needed: int) -> None:
        """Refuse what does not fit into memory."""
        limit = self.engine.limit
        if limit is not None and needed > limit.for_step:
            raise limit.too_small(method.name, names, needed, "all concepts that their values may become")

    def _fit_each(
        self, method: ColumnMethod, columns: Sequence[PreparedColumn], rngs: Sequence[np.random.Generator]
    ) -> list[Transitions]:
        """Fit a method to each of several columns: all at the same time if they fit, else one after the other."""
        limit = self.engine.limit
        if limit is None:
            return [method.fit(one.value_space, rng) for one, rng in zip(columns, rngs, strict=True)]
        needed = [method.bytes_per_row(1) * len(one.column) for one in columns]
        for one, own in zip(columns, needed, strict=True):
            if own > limit.for_step:
                raise limit.too_small(method.name, [one.name], own, "so many records")
        fitted: dict[int, Transitions] = {}

        def fit_some(part: slice) -> None:
            for place in range(part.start, part.stop):
                fitted[place] = method.fit(columns[place].value_space, rngs[place])

        in_threads(fit_some, slices(0, len(columns), 1 if sum(needed) <= limit.for_step else len(columns)))
        return [fitted[place] for place in range(len(columns))]

    def _fit_whole(self, method: RecordMethod, records: Records, rng: np.random.Generator) -> RecordTransitions:
        """Fit a method to whole records: at once if they fit, else in parts."""
        limit = self.engine.limit
        if limit is None:
            return method.fit(records, rng)
        names = records.names[: len(records.names) - len(method.also_needs)]
        return method.fit_within(records, rng, Budget(limit.for_step, partial(limit.too_small, method.name, names)))

    def _fit_each_stratum(
        self, number: int, method: RecordMethod, records: Records, members: Sequence[Longs], n_columns: int
    ) -> RecordTransitions:
        """Fit a method to the records of each stratum.

        Where one must be cut into blocks to fit into memory, all are fitted again with blocks of one size, as if the
        plan had given it.
        """
        fit, rng = partial(self._fit_whole, method), self.seed.stream("fit", number)
        fitted = fit_in_strata(records, members, n_columns, fit, rng)
        block_rows = fitted.facts.get("block_rows")
        if block_rows is None or method.block_rows is not None:
            return fitted
        fit, rng = partial(self._fit_whole, method.in_blocks(block_rows)), self.seed.stream("fit", number)
        return fit_in_strata(records, members, n_columns, fit, rng)

    # ------------------------------------------------------------------------------------------ columns

    def values_of(self, name: str) -> Column:
        """The distinct values of a column; texts that mean missing are missing."""
        return apply_missing_policy(name, self.counted[name].column(), self.plan.description(name))

    def prepare(self, name: str) -> PreparedColumn:
        """A column ready for a method."""
        one = prepare(name, self.values_of(name), self.plan.description(name), self.open_once)
        require_range(one)
        return one

    def released_column(self, prepared: PreparedColumn, value_space: ValueSpace) -> ReleasedColumn:
        """A column whose released codes are those of a value space, whose new cells join the palette."""
        counted, values = self.counted[prepared.name], prepared.column.values
        further = new_cells(prepared, value_space)
        n_new = 0 if further is None else len(further)
        palette = counted.cells if further is None else longer_polars(counted.cells, further)
        in_palette = np.concatenate([counted.raw_of(values), len(counted.cells) + np.arange(n_new, dtype=np.int32)])
        emptied = value_space.code if isinstance(value_space, EmptiedSpace) else None
        if emptied is not None:
            in_palette = np.append(in_palette, np.int32(MISSING))
        own, alike = counted.places_in(values), first_codes(value_space)
        column = ReleasedColumn(
            prepared.name,
            own,
            palette,
            in_palette,
            alike,
            further=further,
            raw_are_codes=changes_nothing(own),
            codes_are_places=changes_nothing(np.append(in_palette, MISSING)),
            emptied=emptied,
        )
        return self._with_place_of_emptied(self.with_one_code(column))

    def _with_place_of_emptied(self, column: ReleasedColumn) -> ReleasedColumn:
        """A column whose cells that lose their value are released like its missing ones, where these are all alike."""
        if column.emptied is None:
            return column
        places = set(self._missing_codes(column.name).values()) if column.staying is None else {column.merged}
        place = places.pop() if len(places) == 1 else MISSING
        in_palette = column.in_palette.copy()
        in_palette[column.emptied] = MISSING if place is None else place
        return replace(column, in_palette=in_palette)

    def _number_column(self, prepared: PreparedColumn, value_space: NumericSpace) -> NumberColumn:
        """A column in which any cell may become a new number."""
        plain = self.released_column(prepared, prepared.value_space)
        return NumberColumn(
            prepared.name,
            plain.own,
            plain.palette,
            plain.in_palette,
            staying=plain.staying,
            merged_codes=plain.merged_codes,
            raw_are_codes=plain.raw_are_codes,
            codes_are_places=plain.codes_are_places,
            prepared=prepared,
            numeric=value_space,
        )

    def with_one_code(self, column: ReleasedColumn) -> ReleasedColumn:
        """A column whose missing cells stay, with one code for all of them where the plan merges them."""
        description, counted = self.plan.description(column.name), self.counted[column.name]
        missing = self._missing_codes(column.name)
        if description.missing_codes == "keep" or not missing:
            return column
        origin = self.engine.origin
        kind = counted.type_of_missing or counted.cells.dtype
        cell = released_code(kind, description.na, declared_codes(origin, column.name))
        palette, place = column.palette, missing.get(code_of(cell))
        if list(missing.values()) == [place]:
            return column
        if place is None:
            palette = palette if cell is None else longer_polars(palette, cell)
            place = MISSING if cell is None else len(palette) - 1
        staying = np.append(np.arange(len(counted.cells)), MISSING).astype(np.int32)
        staying[list(missing.values())] = place
        replaced = {code: counted.count_of(raw) for code, raw in missing.items() if raw != place}
        merged_codes = MergedCodes(count_by_label(replaced, origin, column.name), cell)
        return replace(column, palette=palette, staying=staying, merged_codes=merged_codes)

    def _stays_in_several_ways(self, prepared: PreparedColumn, column: ReleasedColumn) -> bool:
        """True if cells that stay differ when released: cells without a concept, or with several missing codes."""
        return prepared.n_unmatched > 0 or (column.staying is None and len(self._missing_codes(column.name)) > 1)

    def _staying_codes(self, column: ReleasedColumn, value_space: ValueSpace) -> Codes:
        """A number above all values for the cell of each raw code, and last of a null, where it stays."""
        raw = np.append(np.arange(len(self.counted[column.name].cells)), MISSING).astype(np.int32)
        return column.stays(raw) + np.int32(value_space.counts.size + 1)

    def _missing_codes(self, name: str) -> dict[Code, int]:
        return self.counted[name].missing_codes(self.values_of(name).values)

    def _with_missing(self, prepared: PreparedColumn) -> tuple[ReleasedColumn, ValueSpace]:
        """A column whose cells without a value move like values, and its values: see `with_missing_as_value`."""
        counted, missing = self.counted[prepared.name], list(self._missing_codes(prepared.name).values())
        counts = [counted.count_of(raw) for raw in missing]
        value_space, values = with_missing_as_value(prepared, self.values_of(prepared.name), counts)
        own = counted.places_in(values, otherwise=len(values))
        own[missing] += np.arange(len(missing), dtype=np.int32)
        in_palette = np.append(counted.raw_of(values), missing or [MISSING])
        return ReleasedColumn(prepared.name, own, counted.cells, in_palette.astype(np.int32)), value_space


def with_settling(prepared: PreparedColumn) -> ValueSpace:
    """A column's value space; a numeric one rounds new numbers to those that the column can hold."""
    value_space = prepared.value_space
    if not isinstance(value_space, NumericSpace):
        return value_space
    return replace(value_space, settle=partial(settle_numbers, prepared))


def require_range(prepared: PreparedColumn) -> None:
    """Refuse numbers so far apart that their distances are not finite."""
    if isinstance(prepared.value_space, NumericSpace) and prepared.value_space.numbers.size:
        numbers = prepared.value_space.numbers
        if numbers.max() / 2 - numbers.min() / 2 > sys.float_info.max / 2:
            raise too_wide_range(prepared.name)


def too_wide_range(column: str) -> ColumnError:
    """A column of numbers whose range overflows."""
    return ColumnError(f"The numbers of column {column!r} are too far apart to compute their range; scale them down.")
