"""From the counts of a table to a fitted plan: what a method draws for the whole table is drawn here.

Nothing here knows where rows are. An engine counts the columns that are looked at, in the rows that stay, and hands the
counts over; where a method looks at whole records, the engine is asked for the distinct ones.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from anonto.errors import MoreMemoryError, TooWideRangeError
from anonto.masking.fitted import FittedStep, FittedSteps, FlowPart, RowPart
from anonto.masking.released import NumberColumn, OutColumn
from anonto.methods.cells import drawn_key
from anonto.rng import Key, keyed_permutations
from anonto.table.attributes import NumericAttribute, first_codes
from anonto.table.columns import MISSING, changes_nothing
from anonto.table.door import longer_polars
from anonto.table.missing_codes import Recoded, by_name, code_of, declared_codes, released_code
from anonto.table.new_cells import new_cells, settled
from anonto.table.prepare import Dropping, described, prepare, values_to_drop, with_missing_as_value
from anonto.table.record_counts import CountedRecords, RecordIndex
from anonto.table.records import Records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.flows import Flows
    from anonto.methods.method import ColumnMethod, Method, RecordMethod, RowMethod
    from anonto.methods.record_flows import RecordFlows
    from anonto.methods.row_masking import RowMasker
    from anonto.plan import Plan
    from anonto.rng import Seed
    from anonto.table.attributes import Attribute
    from anonto.table.counted import CountedColumn, LearntColumn
    from anonto.table.description import ColumnDescription
    from anonto.table.missing_codes import Code
    from anonto.table.prepare import Opener, PreparedColumn
    from anonto.table.table import Origin

    Codes = NDArray[np.int32]


class Exchanging(Protocol):
    """Rows that are exchanged cell by cell where they are, instead of in memory."""

    @property
    def untouched(self) -> Sequence[int]:
        """For each column the cells with a value that had no partner, when all is done."""
        ...

    def masker(self, key: Key, name: str) -> RowMasker:
        """Exchange all rows; files, if there are any, begin with a name."""
        ...


class Fitting(Protocol):
    """Fits methods with the memory that there is."""

    def columns(
        self, method: ColumnMethod, columns: Sequence[PreparedColumn], rngs: Sequence[np.random.Generator]
    ) -> list[Flows]:
        """A method for one column, for several."""
        ...

    def records(self, method: RecordMethod, records: Records, rng: np.random.Generator) -> RecordFlows:
        """A method for whole records."""
        ...

    def require(self, method: Method, names: Sequence[str], needed: int, what: str) -> None:
        """Refuse what takes more bytes than a step may."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Counted:
    """What was counted of a table."""

    columns: Mapping[str, LearntColumn]
    """In the rows that stay."""
    dropping: Dropping | None
    """None where all rows stay."""
    n_rows: int
    n_records: int
    """Rows that stay."""


class CountingEngine(Protocol):
    """What fitting a plan asks of an engine."""

    @property
    def fitting(self) -> Fitting:
        """What fits methods."""
        ...

    @property
    def origin(self) -> Origin | None:
        """The file of the table, if there is one."""
        ...

    def count(self, plan: Plan, open_once: Opener) -> Counted:
        """Count the columns that a step or a policy looks at."""
        ...

    def count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        """Count the distinct records of some columns, each with the code of each raw code."""
        ...

    def exchange(self, method: Any, columns: Sequence[OutColumn], *, fits: bool) -> Exchanging | None:
        """Exchange rows cell by cell where they are; None to fit whole records instead, which fit or do not."""
        ...


def fit(engine: CountingEngine, plan: Plan, seed: Seed, open_once: Opener) -> FittedSteps:
    """Count a table and fit a plan to it."""
    counted = engine.count(plan, open_once)
    fitter = Fitter(engine, counted.columns, plan, seed, open_once)
    return fit_counted(counted, [fitter.fit_step(number) for number in range(len(plan.steps))])


def fit_counted(counted: Counted, steps: Sequence[FittedStep]) -> FittedSteps:
    """Steps with the table that they mask."""
    return FittedSteps(tuple(steps), counted.columns, counted.dropping, counted.n_rows, counted.n_records)


def dropping(
    learnt: Mapping[str, LearntColumn], descriptions: Mapping[str, ColumnDescription], open_once: Opener
) -> Dropping | None:
    """What the policies of all columns drop; None where all rows stay. Cells that are refused are refused here."""
    by_column = {}
    for name, column in learnt.items():
        counted = described(name, column.column(), descriptions[name])
        values = values_to_drop(counted, descriptions[name], open_once)
        if values is not None:
            by_column[name] = values[column.places_in(counted.values)]
    return Dropping(by_column) if by_column else None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fitter:
    """Fits the steps of a plan to what was counted."""

    engine: CountingEngine
    counted: Mapping[str, LearntColumn]
    plan: Plan
    seed: Seed
    open_once: Opener

    def fit_step(self, number: int) -> FittedStep:
        """Fit a step."""
        step = self.plan.steps[number]
        method = step.method
        prepared = [self.prepared(name) for name in step.columns]
        if not method.together:
            return self._fit_columns(number, method, prepared)
        if method.by_row:
            return self._fit_rows(number, method, prepared)
        beside = [self.prepared(name) for name in step.also_needs]
        if not method.exchanged_in_cells:
            return self._fit_records(number, method, prepared, beside)
        columns = tuple(self.out_column(one, one.attribute) for one in prepared)
        exchanging = self.engine.exchange(method, columns, fits=True)
        if exchanging is None:
            with suppress(MoreMemoryError):
                return self._fit_records(number, method, prepared, beside)
            exchanging = self.engine.exchange(method, columns, fits=False)
        if exchanging is None:
            return self._fit_records(number, method, prepared, beside)
        return self._exchanged(number, method, columns, exchanging)

    def _fit_columns(self, number: int, method: ColumnMethod, prepared: Sequence[PreparedColumn]) -> FittedStep:
        """A method that masks each column alone, by flows between its values."""
        parts = []
        streams = [self.seed.stream("fit", number, one.name) for one in prepared]
        for one, flows in zip(prepared, self.engine.fitting.columns(method, prepared, streams), strict=True):
            permutations = keyed_permutations(self.seed, f"apply {number} {one.name}", flows.sizes)
            column = self.out_column(one, one.attribute)
            parts.append(FlowPart((column,), (one.name,), (column.own,), None, flows, permutations, None))
        return FittedStep(
            method,
            tuple(parts),
            moves={part.seen[0]: part.flows.moves for part in parts},
            untouched={part.seen[0]: part.flows.untouched for part in parts},
        )

    def _fit_records(
        self,
        number: int,
        method: RecordMethod,
        prepared: Sequence[PreparedColumn],
        beside: Sequence[PreparedColumn],
    ) -> FittedStep:
        """A method that looks at whole records, by flows between them."""
        moving = [self.with_missing(one) for one in prepared] if method.moves_missing else None
        attributes = [with_settling(one) for one in prepared] if moving is None else [one.attribute for one in moving]
        maps = [self.counted[one.name].places_in(one.column.values) for one in (*prepared, *beside)]
        if moving is not None:
            maps[: len(moving)] = [one.own for one in moving]
        names = tuple(one.name for one in (*prepared, *beside))
        counted = self.engine.count_records(names, maps)
        records = Records(names, (*attributes, *(one.attribute for one in beside)), counted.codes, counted.counts)
        fitted = self.engine.fitting.records(method, records, self.seed.stream("fit", number))
        permutations = keyed_permutations(self.seed, f"apply {number}", fitted.flows.permuted)
        released = fitted.attributes or records.attributes
        columns = (
            tuple(self.out_column(one, attribute) for one, attribute in zip(prepared, released, strict=False))
            if moving is None
            else tuple(moving)
        )
        index = RecordIndex.of(records.codes)
        part = FlowPart(columns, names, tuple(maps), index, fitted.flows, permutations, fitted.released)
        apart = [column for column in columns if method.makes_equal and self._differ_where_they_stay(column)]
        return FittedStep(
            method,
            (part,),
            moves={column.name: fitted.moves(records, place) for place, column in enumerate(columns)},
            untouched={column.name: fitted.untouched[place] for place, column in enumerate(columns)},
            facts=fitted.facts,
            counts_equal=method.makes_equal,
            as_they_are={column.name: self._as_they_are(column) for column in apart},
        )

    def _exchanged(
        self, number: int, method: RecordMethod, columns: tuple[OutColumn, ...], exchanging: Exchanging
    ) -> FittedStep:
        """A method whose rows are exchanged where they are: each row is then told what it became."""
        masker = exchanging.masker(drawn_key(self.seed.stream("fit", number)), f"becomes-{number}")
        untouched = dict(zip((one.name for one in columns), exchanging.untouched, strict=True))
        part = RowPart(columns, masker, Key(bytes(32)))
        return FittedStep(method, row_part=part, untouched=untouched, facts=masker.facts())

    def _fit_rows(self, number: int, method: RowMethod, prepared: Sequence[PreparedColumn]) -> FittedStep:
        """A method that draws for each row."""
        names = tuple(one.name for one in prepared)
        maps = [self.counted[one.name].places_in(one.column.values) for one in prepared]
        if method.needs_records:
            counted = self.engine.count_records(names, maps)
        else:
            n_rows = self.counted[names[0]].n_rows
            counted = CountedRecords(np.zeros((1, len(names)), dtype=np.int32), np.array([n_rows], dtype=np.int64))
        records = Records(names, tuple(one.attribute for one in prepared), counted.codes, counted.counts)
        needed = method.bytes_to_fit(records)
        self.engine.fitting.require(method, names, needed, "all concepts that their values may become")
        masker = method.fit(records, self.seed.stream("fit", number))
        columns = [
            self._number_column(one, attribute)
            if isinstance(attribute, NumericAttribute)
            else self.out_column(one, attribute)
            for one, attribute in zip(prepared, masker.attributes, strict=True)
        ]
        part = RowPart(tuple(columns), masker, self.seed.key("apply", number))
        return FittedStep(method, row_part=part, untouched=dict.fromkeys(names, 0), facts=masker.facts())

    # ------------------------------------------------------------------------------------------ columns

    def encoded(self, name: str) -> CountedColumn:
        """A column with the texts that mean missing as missing."""
        column: Any = described(name, self.counted[name].column(), self.plan.description(name))
        return column  # type: ignore[no-any-return]

    def prepared(self, name: str) -> PreparedColumn:
        """A column ready for a method."""
        one = prepare(name, self.encoded(name), self.plan.description(name), self.open_once)
        require_range(one)
        return one

    def out_column(self, prepared: PreparedColumn, attribute: Attribute) -> OutColumn:
        """A column whose released codes are those of an attribute, with its new cells in the palette."""
        counted, values = self.counted[prepared.name], prepared.column.values
        further = new_cells(prepared, attribute)
        n_new = 0 if further is None else len(further)
        palette = counted.cells if further is None else longer_polars(counted.cells, further)
        in_palette = np.concatenate([counted.raw_of(values), len(counted.cells) + np.arange(n_new, dtype=np.int32)])
        own, alike = counted.places_in(values), first_codes(attribute)
        column = OutColumn(
            prepared,
            attribute,
            own,
            palette,
            in_palette,
            alike,
            further=further,
            raw_are_codes=changes_nothing(own),
            codes_are_places=changes_nothing(np.append(in_palette, MISSING)),
        )
        return self.with_one_code(column)

    def _number_column(self, prepared: PreparedColumn, attribute: NumericAttribute) -> NumberColumn:
        """A column of which any cell may become a new number."""
        plain = self.out_column(prepared, prepared.attribute)
        return NumberColumn(
            prepared,
            attribute,
            plain.own,
            plain.palette,
            plain.in_palette,
            staying=plain.staying,
            recoded=plain.recoded,
            raw_are_codes=plain.raw_are_codes,
            codes_are_places=plain.codes_are_places,
            numeric=attribute,
        )

    def with_one_code(self, column: OutColumn) -> OutColumn:
        """A column whose missing cells stay, with one code for all where its plan merges them."""
        description, counted = column.prepared.description, self.counted[column.name]
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
        recoded = Recoded(by_name(replaced, origin, column.name), cell)
        return replace(column, palette=palette, staying=staying, recoded=recoded)

    def _differ_where_they_stay(self, column: OutColumn) -> bool:
        """Whether cells that stay are released as different ones: without a concept, or with several missing codes."""
        if column.prepared.n_unmatched:
            return True
        return column.staying is None and len(self._missing_codes(column.name)) > 1

    def _as_they_are(self, column: OutColumn) -> Codes:
        """For each raw code, and behind them for a null, a number for its cell where it stays, above all values."""
        raw = np.append(np.arange(len(self.counted[column.name].cells)), MISSING).astype(np.int32)
        return column.stays(raw) + np.int32(column.attribute.counts.size + 1)

    def _missing_codes(self, name: str) -> dict[Code, int]:
        return self.counted[name].missing_codes(self.encoded(name).values)

    def with_missing(self, prepared: PreparedColumn) -> OutColumn:
        """A column whose cells without a value are moved like values: see `with_missing_as_value`."""
        counted, encoded = self.counted[prepared.name], self.encoded(prepared.name)
        missing = list(counted.missing_codes(encoded.values).values())
        attribute, values = with_missing_as_value(prepared, encoded, [counted.count_of(raw) for raw in missing])
        own = counted.places_in(values, otherwise=len(values))
        own[missing] += np.arange(len(missing), dtype=np.int32)
        in_palette = np.append(counted.raw_of(values), missing or [MISSING])
        return OutColumn(prepared, attribute, own, counted.cells, in_palette.astype(np.int32))


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
