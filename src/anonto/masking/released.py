"""What comes out of masking a stretch of rows: cells, and tallies of what became of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import InternalError
from anonto.methods.flows import Moves
from anonto.table.attributes import TextAttribute
from anonto.table.columns import MISSING, Column
from anonto.table.description import ColumnDescription
from anonto.table.door import gathered, longer_polars
from anonto.table.new_cells import new_cells
from anonto.table.prepare import PreparedColumn
from anonto.table.record_counts import CountedRecords, RecordCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute, NumericAttribute
    from anonto.table.missing_codes import Recoded
    from anonto.table.new_cells import NewCells

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OutColumn:
    """A masked column: how released codes become cells."""

    prepared: PreparedColumn
    attribute: Attribute
    """The values with those that may be released behind."""
    own: Codes
    """For each raw code, and behind them for a null, its code in the attribute; −1 for a cell that stays."""
    palette: pl.Series
    """The cells that may be released: those of the raw codes, and behind them new ones."""
    in_palette: Codes
    """For each code of the attribute its cell; −1 for a null."""
    alike: Codes | None = None
    """For each code of the attribute the first that means the same; None where each is its own."""
    staying: Codes | None = None
    """For each raw code, and behind them for a null, the cell that is released where it stays; None for itself."""
    recoded: Recoded | None = None
    """Missing cells that are released with another code, if there are any."""
    further: NewCells | None = None
    """The cells of the palette that no raw code has, behind those of the raw codes."""
    raw_are_codes: bool = False
    """Whether `own` changes nothing, so that no row needs to be looked up in it."""
    codes_are_places: bool = False
    """Whether `in_palette` changes nothing."""

    @property
    def name(self) -> str:
        """Of the column."""
        return self.prepared.name

    def codes(self, raw: Codes) -> Codes:
        """Raw codes as codes of the attribute; −1 for a cell that stays."""
        return raw if self.raw_are_codes else np.asarray(self.own[raw])

    def meant(self, codes: Codes) -> Codes:
        """Codes of the attribute, with one for each released concept and the values that mean it."""
        return codes if self.alike is None else self.alike[codes]

    def placed(self, raw: Codes, released: Codes) -> Codes:
        """Released codes as places in the palette; a cell that stays is that of its raw code."""
        places = released if self.codes_are_places else self.in_palette[released]
        return np.where(released >= 0, places, self.stays(raw))

    def stays(self, raw: Codes) -> Codes:
        """Where in the palette cells are that stay."""
        return raw if self.staying is None else np.asarray(self.staying[raw])

    @property
    def merged(self) -> int | None:
        """Where in the palette the one cell is that all missing cells are released as; None where they keep theirs."""
        if self.staying is None:
            return None
        changed = np.flatnonzero(self.staying != np.append(np.arange(self.staying.size - 1), MISSING))
        return int(self.staying[changed[0]])

    def slim(self) -> OutColumn:
        """Without its ontology: what masks rows in another process."""
        nothing = TextAttribute(np.empty(0, dtype=np.int64))
        bare = PreparedColumn(self.name, ColumnDescription(), Column((), np.empty(0, np.int32)), nothing, 0, 0)
        return replace(self, prepared=bare, attribute=nothing)

    def cells(self, places: Codes, numbers: Floats | None = None) -> pl.Series:
        """The cells at places of the palette; where that is `NEW_NUMBER`, new numbers."""
        if numbers is not None:
            raise InternalError("A column of codes has no new numbers.")
        return gathered(self.palette, places).alias(self.name)


NEW_NUMBER = -2
"""Instead of a place in the palette: the cell is a number that the column did not have."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NumberColumn(OutColumn):
    """A masked column of numbers or ranks that may become any number."""

    numeric: NumericAttribute = field(kw_only=True)
    are_whole: bool = False
    """Whether all new numbers of the table are whole."""

    def slim(self) -> NumberColumn:
        """As it is: it has no ontology, and new numbers are spelt by its values."""
        return self

    def split(self, raw: Codes, released: Floats) -> tuple[Codes, Floats]:
        """Places in the palette for numbers that the column has, and the numbers that it has not."""
        before = self.codes(raw)
        there = np.flatnonzero(before >= 0)
        _, found = self.numeric.codes_of(released[there])
        same = self.numeric.numbers[before[there]] == released[there]
        codes = np.full(raw.size, MISSING, dtype=np.int32)
        codes[there] = np.where(same, before[there], found)
        is_new = codes >= self.numeric.numbers.size
        places = self.placed(raw, np.where(is_new, np.int32(MISSING), codes))
        return np.where(is_new, np.int32(NEW_NUMBER), places), np.where(is_new, released, 0.0)

    def holding(self, further: Floats) -> NumberColumn:
        """The column with a type that holds new numbers, of which the least and the largest suffice."""
        cells = self.spelt_as_new(further) if further.size else None
        if cells is None:
            return self
        dtype = longer_polars(self.palette, cells).dtype
        return replace(self, palette=self.palette.cast(dtype), are_whole=cells.are_whole)

    def spelt_as_new(self, distinct: Floats) -> NewCells | None:
        """Numbers as cells that the column did not have."""
        return new_cells(self.prepared, self.numeric.with_numbers(distinct))

    def cells(self, places: Codes, numbers: Floats | None = None) -> pl.Series:
        """The cells of a stretch."""
        all_places, further = self.with_new_numbers(places, numbers)
        if further is None:
            return gathered(self.palette, places).alias(self.name)
        if further.numbers is not None:
            further = replace(further, are_whole=self.are_whole)
        return gathered(longer_polars(self.palette, further).cast(self.palette.dtype), all_places).alias(self.name)

    def with_new_numbers(self, places: Codes, numbers: Floats | None) -> tuple[Codes, NewCells | None]:
        """Places for new numbers too, behind the palette, and these as cells; None where there are none."""
        is_new = places == NEW_NUMBER
        if numbers is None or not is_new.any():
            return places, None
        distinct, which = np.unique(numbers[is_new], return_inverse=True)
        further = self.spelt_as_new(distinct)
        if further is None:
            raise InternalError("A new number is none.")
        all_places = places.copy()
        all_places[is_new] = len(self.palette) + which
        return all_places, further


@dataclass(slots=True, eq=False, repr=False)
class ColumnTally:
    """What became of the cells of a column that is masked row by row."""

    moved: RecordCounter | None = None
    """How many cells with a code became one with another."""
    n_same: int = 0
    squares: float = 0.0
    """The sum of the squared distances that numbers moved."""
    farthest: float = 0.0
    further: Floats = field(default_factory=lambda: np.empty(0))
    """The least and the largest new number, or all of them where the type of the column is a list of its cells."""

    @classmethod
    def of(cls, moves: Moves) -> ColumnTally:
        """Of cells of which each became one with another code, or with its own."""
        moved = RecordCounter(2)
        moved.add(CountedRecords(np.stack([moves.sources, moves.targets], axis=1), moves.amounts))
        return cls(moved)

    @property
    def moves(self) -> Moves | None:
        """What became what."""
        if self.moved is None:
            return None
        counted = self.moved.counted()
        return Moves(counted.codes[:, 0].copy(), counted.codes[:, 1].copy(), counted.counts)

    def add(self, other: ColumnTally) -> None:
        """Take what became of other cells."""
        if self.moved is None:
            self.moved = other.moved
        elif other.moved is not None:
            self.moved.add_all(other.moved)
        self.n_same += other.n_same
        self.squares += other.squares
        self.farthest = max(self.farthest, other.farthest)
        self.further = np.unique(np.concatenate([self.further, other.further]))


@dataclass(slots=True, eq=False, repr=False)
class StepTally:
    """What became of the rows of a stretch, or of all, in one step."""

    unchanged_records: int = 0
    columns: dict[str, ColumnTally] = field(default_factory=dict)
    """Of columns that are masked row by row; of others the flows tell all."""
    counts: Longs | None = None
    """What the masker of the rows counted of them, if it counts anything."""
    equal: CountedRecords | None = None
    """How many rows are released alike, where that is asked."""

    def add(self, other: StepTally) -> None:
        """Take another stretch; what is counted by record is left to a `RecordCounter`."""
        self.unchanged_records += other.unchanged_records
        self.counts = added(self.counts, other.counts)
        for name, one in other.columns.items():
            self.columns.setdefault(name, ColumnTally()).add(one)


def added(one: Longs | None, other: Longs | None) -> Longs | None:
    """The counts of two batches together; None for those of nothing."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


class Tallies:
    """What became of all rows, step by step, as batches of them come."""

    def __init__(self, n_columns: Sequence[int | None]) -> None:
        """For each step the number of its columns if it is asked how many rows are released alike; None if not."""
        self.steps = [StepTally() for _ in n_columns]
        self._alike = [None if n is None else RecordCounter(n) for n in n_columns]

    def add(self, found: Sequence[StepTally]) -> None:
        """Take what became of further rows in each step."""
        for number, one in enumerate(found):
            self.add_to(number, one)

    def add_to(self, number: int, found: StepTally) -> None:
        """Take what became of further rows in one step."""
        self.steps[number].add(found)
        alike = self._alike[number]
        if alike is not None and found.equal is not None:
            alike.add(found.equal)

    def real_k(self, n_records: int) -> list[int | None]:
        """For each step that is asked how many rows at least are released alike."""
        return [None if one is None else int(one.counted().counts.min(initial=n_records)) for one in self._alike]
