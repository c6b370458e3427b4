"""Released columns: how released codes become cells; and tallies of what became of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import MISSING
from anonto.encoding.frame_adapter import gather_values, longer_polars
from anonto.encoding.new_cells import new_cells
from anonto.encoding.record_counts import CountedRecords, RecordCounter
from anonto.errors import InternalError
from anonto.methods.transitions import Moves

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.missing_codes import MergedCodes
    from anonto.encoding.new_cells import NewCells
    from anonto.encoding.prepare import PreparedColumn
    from anonto.encoding.value_space import NumericSpace


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReleasedColumn:
    """A masked column: how released codes become cells."""

    name: str
    own: Codes
    """The code among the values of each raw code, and last of a null; −1 for a cell that stays."""
    palette: pl.Series
    """The cells that may be released: those of the raw codes, then new ones."""
    in_palette: Codes
    """The cell in the palette of each value's code; −1 for a null."""
    alike: Codes | None = None
    """The first code that means the same as each value's code; None where all differ."""
    staying: Codes | None = None
    """The released cell of each raw code, and last of a null, where it stays; None for itself."""
    merged_codes: MergedCodes | None = None
    """Missing cells that are released with another code, if there are any."""
    further: NewCells | None = None
    """The new cells at the end of the palette."""
    raw_are_codes: bool = False
    """True if `own` changes nothing, so that no row needs to be looked up in it."""
    codes_are_places: bool = False
    """True if `in_palette` changes nothing."""
    emptied: int | None = None
    """The code of cells that lose their value; None if none does."""

    def codes(self, raw: Codes) -> Codes:
        """Raw codes as codes of values; −1 for a cell that stays."""
        return raw if self.raw_are_codes else np.asarray(self.own[raw])

    def meanings_of(self, codes: Codes) -> Codes:
        """Codes of values, with the same code for all values that mean the same."""
        return codes if self.alike is None else self.alike[codes]

    def places_of(self, raw: Codes, released: Codes) -> Codes:
        """Released codes as places in the palette; a cell that stays is that of its raw code."""
        places = released if self.codes_are_places else self.in_palette[released]
        return np.where(released >= 0, places, self.stays(raw))

    def stays(self, raw: Codes) -> Codes:
        """Places in the palette of cells that stay."""
        return raw if self.staying is None else np.asarray(self.staying[raw])

    @property
    def merged(self) -> int | None:
        """The place in the palette of the one cell for all missing cells; None where they keep their own."""
        if self.staying is None:
            return None
        changed = np.flatnonzero(self.staying != np.append(np.arange(self.staying.size - 1), MISSING))
        return int(self.staying[changed[0]])

    def cells(self, places: Codes, numbers: Floats | None = None) -> pl.Series:
        """The cells at places of the palette; where that is `NEW_NUMBER`, new numbers."""
        if numbers is not None:
            raise InternalError("A column of codes has no new numbers.")
        return gather_values(self.palette, places).alias(self.name)


NEW_NUMBER = -2
"""Instead of a place in the palette: the cell is a number that the column did not have."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NumberColumn(ReleasedColumn):
    """A masked column of numbers or ranks that may become any number."""

    prepared: PreparedColumn = field(kw_only=True)
    """New numbers are written like its values."""
    numeric: NumericSpace = field(kw_only=True)
    are_whole: bool = False
    """True if all new numbers of the table are whole."""

    def split_numbers(self, raw: Codes, released: Floats) -> tuple[Codes, Floats]:
        """Places in the palette for numbers of the column, and all other numbers."""
        before = self.codes(raw)
        there = np.flatnonzero(before >= 0)
        _, found = self.numeric.codes_of(released[there])
        same = self.numeric.numbers[before[there]] == released[there]
        codes = np.full(raw.size, MISSING, dtype=np.int32)
        codes[there] = np.where(same, before[there], found)
        is_new = codes >= self.numeric.numbers.size
        places = self.places_of(raw, np.where(is_new, np.int32(MISSING), codes))
        return np.where(is_new, np.int32(NEW_NUMBER), places), np.where(is_new, released, 0.0)

    def widen(self, further: Floats) -> NumberColumn:
        """The column with a type that holds new numbers; the least and the largest are enough."""
        cells = self.spell_new(further) if further.size else None
        if cells is None:
            return self
        dtype = longer_polars(self.palette, cells).dtype
        return replace(self, palette=self.palette.cast(dtype), are_whole=cells.are_whole)

    def spell_new(self, distinct: Floats) -> NewCells | None:
        """Numbers as cells that the column did not have."""
        return new_cells(self.prepared, self.numeric.with_numbers(distinct))

    def cells(self, places: Codes, numbers: Floats | None = None) -> pl.Series:
        """The cells of a batch."""
        all_places, further = self.with_new_numbers(places, numbers)
        if further is None:
            return gather_values(self.palette, places).alias(self.name)
        if further.numbers is not None:
            further = replace(further, are_whole=self.are_whole)
        return gather_values(longer_polars(self.palette, further).cast(self.palette.dtype), all_places).alias(self.name)

    def with_new_numbers(self, places: Codes, numbers: Floats | None) -> tuple[Codes, NewCells | None]:
        """Places for new numbers too, behind the palette, and these as cells; None where there are none."""
        is_new = places == NEW_NUMBER
        if numbers is None or not is_new.any():
            return places, None
        distinct, which = np.unique(numbers[is_new], return_inverse=True)
        further = self.spell_new(distinct)
        if further is None:
            raise InternalError("A new number is none.")
        all_places = places.copy()
        all_places[is_new] = len(self.palette) + which
        return all_places, further


@dataclass(slots=True, eq=False, repr=False)
class ColumnTally:
    """Tally of the cells of a column that is masked row by row."""

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
        """Tally of cells by their codes before and after."""
        moved = RecordCounter(2)
        moved.add(CountedRecords(np.stack([moves.sources, moves.targets], axis=1), moves.amounts))
        return cls(moved)

    @property
    def moves(self) -> Moves:
        """The moves between values."""
        counted = (RecordCounter(2) if self.moved is None else self.moved).totals()
        return Moves(counted.codes[:, 0].copy(), counted.codes[:, 1].copy(), counted.counts)

    def add(self, other: ColumnTally) -> None:
        """Add the tally of other cells."""
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
    """Tally of the rows of a batch, or of all rows, in one step."""

    unchanged_records: int = 0
    columns: dict[str, ColumnTally] = field(default_factory=dict)
    """Tallies of columns that are masked row by row; for others the transitions suffice."""
    counts: Longs | None = None
    """Counts by the masker of the rows, if it counts anything."""
    equal: CountedRecords | None = None
    """How many rows are released with the same values, if the step counts that."""

    def add(self, other: StepTally) -> None:
        """Add another batch; `Tallies` counts the equal records."""
        self.unchanged_records += other.unchanged_records
        self.counts = add_counts(self.counts, other.counts)
        for name, one in other.columns.items():
            self.columns.setdefault(name, ColumnTally()).add(one)


def add_counts(one: Longs | None, other: Longs | None) -> Longs | None:
    """The counts of two batches together; None for those of nothing."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


class Tallies:
    """Running tallies of all rows, step by step, batch by batch."""

    def __init__(self, n_columns: Sequence[int | None]) -> None:
        """The number of columns of each step that counts rows that are released with the same values; else None."""
        self.steps = [StepTally() for _ in n_columns]
        self._alike = [None if n is None else RecordCounter(n) for n in n_columns]

    def add(self, found: Sequence[StepTally]) -> None:
        """Add the tallies of further rows, step by step."""
        for number, one in enumerate(found):
            self.add_to(number, one)

    def add_to(self, number: int, found: StepTally) -> None:
        """Add the tally of further rows in one step."""
        self.steps[number].add(found)
        alike = self._alike[number]
        if alike is not None and found.equal is not None:
            alike.add(found.equal)

    def real_groups(self) -> list[int | None]:
        """How many different combinations of values were released, for each step that counts them."""
        return [None if one is None else int(one.totals().counts.size) for one in self._alike]

    def real_k(self, n_records: int) -> list[int | None]:
        """The least number of rows released with the same values, for each step that counts them."""
        return [None if one is None else int(one.totals().counts.min(initial=n_records)) for one in self._alike]
