"""An original table and its release, row by row, in one value space."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import Column, encode
from anonto.encoding.generalised_space import OPENS_INTERVAL, STAR, middle_of, read_middles
from anonto.encoding.missing_codes import NULL, missing_codes
from anonto.encoding.prepare import prepare
from anonto.encoding.records import count_records
from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import MeanSpace, NominalSpace, NumericSpace

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import polars as pl

    from anonto.arrays import Bools, Codes, Floats, Integers, Longs
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.prepare import Opener, PreparedColumn
    from anonto.encoding.value_space import ValueSpace


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Amounts:
    """How many rows of two tables each row of a column counts for: one, or all rows with the same record.

    If rows are not those of the tables, the first ones are persons whose two records are both known; they count for no
    row. The distinct records of one table follow, then those of the other: each counts for all rows with this record in
    its own table, and for none in the other.
    """

    original: Longs
    masked: Longs
    n_persons: int
    """The number of rows, the first ones, whose original and released record are both known."""
    row_by_row: bool = False
    """True if the rows are those of the tables, each counting once."""

    @classmethod
    def of_rows(cls, n_original: int, n_masked: int) -> Amounts:
        """Rows that count once each; the array of ones takes no memory."""
        one = np.int64(1)
        return cls(np.broadcast_to(one, n_original), np.broadcast_to(one, n_masked), n_original, row_by_row=True)

    @property
    def n_rows(self) -> int:
        """Rows of the release."""
        return int(self.masked.size if self.row_by_row else self.masked.sum())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BothCells:
    """The cells of a column in an original and in its release, row by row, each table's encoded once."""

    original: Column
    masked: Column
    written: tuple[pl.Series, pl.Series]
    """The same cells with the codes that mean missing."""

    @classmethod
    def of(cls, original: pl.Series, masked: pl.Series) -> BothCells:
        """Encode both."""
        return cls(encode(original), encode(masked), (original, masked))

    @property
    def are_same(self) -> bool:
        """True if every row has the same text before and after."""
        return self.original.values == self.masked.values and np.array_equal(self.original.codes, self.masked.codes)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparedColumn:
    """A column before and after: codes of the same values."""

    name: str
    description: ColumnDescription
    value_space: ValueSpace
    """The values of both tables; differences of numbers are divided by the range of the original."""
    original: Codes
    """The code of each row; −1 for no value."""
    masked: Codes
    amounts: Amounts
    """How many rows of the tables each row counts for."""
    values: tuple[str, ...] = ()
    """The text of each code."""
    cells: tuple[Codes, Codes] | None = None
    """Before and after: a number for each cell as it is written, so that codes of missing cells and values without a
    concept are distinguished; −1 for a null. None where the values suffice."""
    weights: Floats | None = None
    """How many people of the population each row stands for, in both tables; None where rows are counted."""
    held_out: Codes | None = None
    """The code of each person held out, for whom no row counts; None where there are none."""
    n_exact: int | None = None
    """How many of the values, the first ones, are no intervals of a release; None where no value is one."""

    def written_codes(self, which: str) -> Codes:
        """Numbers for the cells of one table as they are written."""
        if self.cells is None:
            return self.side(which)[0]
        return self.cells[0] if which == "original" else self.cells[1]

    @property
    def n_rows(self) -> int:
        """Rows of the release."""
        return self.amounts.n_rows

    @property
    def n_persons(self) -> int:
        """The number of rows, the first ones, whose original and released record are both known."""
        return self.amounts.n_persons

    def counts(self, which: str) -> Longs:
        """How many rows of one table have each value; the last entry counts those without a value."""
        codes, amounts = self.side(which)
        counts: Longs = np.roll(count_records(codes + np.int32(1), self.n_values + 1, amounts), -1)
        return counts

    def weighed(self, which: str) -> Any:
        """How many people each row of one table stands for, or how many rows where they have no weights."""
        return self.side(which)[1] if self.weights is None else self.weights

    def frequencies(self, which: str) -> Any:
        """`counts` of people: the sum of the weights of the rows with each value; the last entry is of no value."""
        codes = self.side(which)[0]
        return np.roll(count_records(codes + np.int32(1), self.n_values + 1, self.weighed(which)), -1)

    def side(self, which: str) -> tuple[Codes, Longs]:
        """The codes of one table, and how many of its rows each code counts for."""
        amounts = self.amounts
        return (self.original, amounts.original) if which == "original" else (self.masked, amounts.masked)

    @property
    def n_values(self) -> int:
        """Distinct values of both tables."""
        return int(self.value_space.counts.size)

    def meanings(self) -> Codes:
        """A number for each code, shared by all spellings of its value; the last entry, −1, is for no value."""
        value_space = self.value_space
        keys: Sequence[Any] = range(self.n_values)
        if isinstance(value_space, NumericSpace):
            keys = value_space.numbers.tolist()
            if self.n_exact is not None:  # An interval means something else than the number in its middle.
                keys = [*keys[: self.n_exact], *self.values[self.n_exact :]]
        elif isinstance(value_space, NominalSpace):
            keys = value_space.concepts
        elif isinstance(value_space, SetSpace):
            keys = value_space.keys()
        elif isinstance(value_space, MeanSpace):
            keys = list(zip(*(part.concepts for part in value_space.parts), strict=True))
        number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        return np.array([*(number[key] for key in keys), -1], dtype=np.int32)

    def same(self) -> Bools:
        """Mask of the rows that mean the same before and after, or are missing in both."""
        meanings = self.meanings()
        return np.asarray(meanings[self.original] == meanings[self.masked])

    def take_rows(self, rows: Integers) -> ComparedColumn:
        """The same column for some persons only."""
        cells = None if self.cells is None else (self.cells[0][rows], self.cells[1][rows])
        amounts = Amounts.of_rows(rows.size, rows.size)
        weights = None if self.weights is None else self.weights[rows]
        before, after = self.original[rows], self.masked[rows]
        return replace(self, original=before, masked=after, amounts=amounts, cells=cells, weights=weights)


def compare_column(
    name: str,
    cells: BothCells,
    description: ColumnDescription,
    open_once: Opener,
    amounts: Amounts | None = None,
    weights: Floats | None = None,
    held_out: Column | None = None,
) -> ComparedColumn:
    """Place the values that a column has in both tables in the value space that the plan describes.

    Args:
        name: The column.
        cells: Its cells in both tables.
        description: What the plan says of it.
        open_once: Opens its ontologies.
        amounts: How many rows each row counts for; without it every row counts once.
        weights: How many people each row stands for.
        held_out: Its cells in a table of persons who were not masked; their values are in the same space, uncounted.
    """
    amounts = Amounts.of_rows(len(cells.original), len(cells.masked)) if amounts is None else amounts
    encoded = cells.original, cells.masked
    numbers = _numbers_of_cells(encoded, cells.written)
    tables = [_with_missing(column, description) for column in (*encoded, *([] if held_out is None else [held_out]))]
    values = tuple(sorted({value for column in tables for value in column.values}))
    place = {value: code for code, value in enumerate(values)}
    further = () if held_out is None else (np.zeros(len(held_out), dtype=np.int64),)
    all_tables = Column(
        values,
        np.concatenate([_renumber(column, place) for column in tables]),
        amounts=None
        if amounts.row_by_row and held_out is None
        else np.concatenate([amounts.original, amounts.masked, *further]),
    )
    tolerant = replace(description, missing="keep", unmatched=_tolerant(description.unmatched))
    prepared, n_exact = _prepare_with_intervals(name, all_tables, set(tables[0].values), tolerant, open_once)
    first, second, *others = np.split(prepared.column.codes, np.cumsum([len(column) for column in tables[:-1]]))
    value_space = prepared.value_space
    if isinstance(value_space, NumericSpace):
        before = value_space.numbers[np.unique(first[first >= 0])]
        value_space = replace(value_space, extent=float(np.ptp(before)) if before.size else 0.0)
    texts = prepared.column.values
    own = others[0] if others else None
    return ComparedColumn(name, description, value_space, first, second, amounts, texts, numbers, weights, own, n_exact)


def _prepare_with_intervals(
    name: str, column: Column, before: Collection[str], description: ColumnDescription, open_once: Opener
) -> tuple[PreparedColumn, int | None]:
    """A column whose released intervals of numbers or ranks, placed in their middle, follow all other values.

    A cell that stands for every number is one without a value.

    Args:
        name: The column.
        column: The cells of both tables.
        before: The texts of the original: what stands there is no interval.
        description: What the plan says of it.
        open_once: Opens its ontologies.

    Returns:
        The column, and how many of its values are no intervals; None where all are.
    """
    if description.kind not in {"numeric", "ordinal", "date"} or len(before) == len(column.values):
        return prepare(name, column, description, open_once), None
    stars = np.array([*(text == STAR and text not in before for text in column.values), False])
    column = column.without(stars) if stars.any() else column  # ``*`` says nothing about a number or a rank
    texts = column.values
    could_be = np.array([text not in before and text[:1] in OPENS_INTERVAL for text in texts])
    if not could_be.any():
        return prepare(name, column, description, open_once), None
    plain = column.without(np.append(could_be, np.False_))
    prepared = prepare(name, plain, description, open_once)
    numeric = prepared.value_space
    released = [text for text, is_one in zip(texts, could_be.tolist(), strict=True) if is_one]
    if not isinstance(numeric, NumericSpace):
        return prepare(name, column, description, open_once), None
    middles = _middles(prepared, numeric, released)
    if np.isnan(middles).any():
        return prepare(name, column, description, open_once), None
    n_exact = numeric.numbers.size
    place_of = {text: code for code, text in enumerate((*plain.values, *released))}
    both = Column(tuple(place_of), _renumber(column, place_of), amounts=column.amounts)
    value_space = replace(numeric, numbers=np.concatenate([numeric.numbers, middles]), counts=both.counts)
    return replace(prepared, column=both, value_space=value_space), n_exact


def _middles(prepared: PreparedColumn, numeric: NumericSpace, released: Sequence[str]) -> Floats:
    """The middle of each released interval; NaN for a text that is none."""
    if prepared.dates is None:
        return read_middles(released, numeric.numbers, prepared.description.order)
    bounds = [text[1:-1].split(", ") for text in released]
    if any(len(one) != 2 for one in bounds):
        return np.full(len(released), np.nan)
    low, high = (prepared.numbers_of([one[end] for one in bounds]) for end in (0, 1))
    return middle_of(low, high, numeric.numbers)


def _numbers_of_cells(encoded: tuple[Column, Column], cells: tuple[pl.Series, pl.Series]) -> tuple[Codes, Codes]:
    """Numbers for the cells of two tables: equal for equal cells; −1 for a null."""
    texts = sorted({*encoded[0].values, *encoded[1].values})
    place = {text: number for number, text in enumerate(texts)}
    missing = [missing_codes(own, column.codes < 0) for own, column in zip(cells, encoded, strict=True)]
    further = sorted({code for one in missing for code in one.codes if code != NULL})
    number_of = {code: len(texts) + number for number, code in enumerate(further)} | {NULL: -1}
    out = []
    for column, own in zip(encoded, missing, strict=True):
        of_code = np.array([*(number_of[code] for code in own.codes), -1], dtype=np.int32)
        out.append(np.where(own.of_records >= 0, of_code[own.of_records], _renumber(column, place)))
    return out[0], out[1]


def _tolerant(unmatched: str) -> str:
    """The policy for a release: a run that refuses or drops cells without a concept has left none to refuse."""
    return "keep" if unmatched in {"refuse", "drop"} else unmatched


def _with_missing(column: Column, description: ColumnDescription) -> Column:
    if not description.na:
        return column
    return column.without(np.array([*(value in description.na for value in column.values), False]))


def _renumber(column: Column, place: dict[str, int]) -> Codes:
    new = np.array([*(place[value] for value in column.values), -1], dtype=np.int32)
    return np.asarray(new[column.codes])
