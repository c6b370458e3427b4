"""An original table and its release, row by row, in one space of values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute
from anonto.table.columns import Column, encode
from anonto.table.missing_codes import NULL, missing_codes
from anonto.table.prepare import prepare
from anonto.table.records import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Amounts:
    """How many rows of two tables the rows of columns stand for: each for itself, or for all that are like it.

    Where the rows are not those of the tables, persons, of whom both records are known, come first; they stand for no
    row. Then come the distinct records of one table, and then those of the other: each stands for all rows that have it
    there, and in the other table, where it repeats any record, for none.
    """

    original: Longs
    masked: Longs
    n_persons: int
    """Rows of which the original and the released record are known: they are the first ones."""
    row_by_row: bool = False
    """Whether the rows are those of the tables: each stands for itself in both."""

    @classmethod
    def of_rows(cls, n_original: int, n_masked: int) -> Amounts:
        """Rows that stand for themselves; the ones take no memory."""
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
        """Whether every row has the same text before and after."""
        return self.original.values == self.masked.values and np.array_equal(self.original.codes, self.masked.codes)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparedColumn:
    """A column before and after: codes of the same values."""

    name: str
    description: ColumnDescription
    attribute: Attribute
    """The values of both tables; differences of numbers are divided by the range of the original."""
    original: Codes
    """The value of each row; −1 for none."""
    masked: Codes
    amounts: Amounts
    """What the rows stand for."""
    values: tuple[str, ...] = ()
    """The text of each code."""
    cells: tuple[Codes, Codes] | None = None
    """Before and after: a number for each cell as it is written, so that codes of missing cells and values without a
    concept are told apart; −1 for a null. None where the values tell all."""

    def written(self, which: str) -> Codes:
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
        """Rows of which the original and the released record are known: they are the first ones."""
        return self.amounts.n_persons

    def counts(self, which: str) -> Longs:
        """How many rows of the original, or of the masked table, have each value; and last how many have none."""
        codes, amounts = self.side(which)
        return np.roll(counted(codes + np.int32(1), self.n_values + 1, amounts), -1)

    def side(self, which: str) -> tuple[Codes, Longs]:
        """The codes of one table, and how many of its rows each stands for."""
        amounts = self.amounts
        return (self.original, amounts.original) if which == "original" else (self.masked, amounts.masked)

    @property
    def n_values(self) -> int:
        """Distinct values of both tables."""
        return int(self.attribute.counts.size)

    def meanings(self) -> Codes:
        """For each code a number that all ways to write its value share, and −1 behind them for no value."""
        attribute = self.attribute
        keys: Sequence[Any] = range(self.n_values)
        if isinstance(attribute, NumericAttribute):
            keys = attribute.numbers.tolist()
        elif isinstance(attribute, NominalAttribute):
            keys = attribute.concepts
        elif isinstance(attribute, MeanAttribute):
            keys = list(zip(*(part.concepts for part in attribute.parts), strict=True))
        number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        return np.array([*(number[key] for key in keys), -1], dtype=np.int32)

    def same(self) -> NDArray[np.bool_]:
        """Which rows mean the same before and after, or have no value twice."""
        meanings = self.meanings()
        return np.asarray(meanings[self.original] == meanings[self.masked])

    def taken(self, rows: NDArray[np.integer]) -> ComparedColumn:
        """The same column for some persons only."""
        cells = None if self.cells is None else (self.cells[0][rows], self.cells[1][rows])
        amounts = Amounts.of_rows(rows.size, rows.size)
        return replace(self, original=self.original[rows], masked=self.masked[rows], amounts=amounts, cells=cells)


def compared_column(
    name: str,
    cells: BothCells,
    description: ColumnDescription,
    open_once: Opener,
    amounts: Amounts | None = None,
) -> ComparedColumn:
    """Place the values of a column of both tables together in the space that the plan describes.

    Args:
        name: Of the column.
        cells: Of both tables.
        description: What the plan says of it.
        open_once: Opens ontologies.
        amounts: What the rows stand for; without them each for itself.
    """
    amounts = Amounts.of_rows(len(cells.original), len(cells.masked)) if amounts is None else amounts
    encoded = cells.original, cells.masked
    numbers = _numbers_of_cells(encoded, cells.written)
    before, after = (_with_missing(column, description) for column in encoded)
    values = tuple(sorted({*before.values, *after.values}))
    place = {value: code for code, value in enumerate(values)}
    both = Column(
        values,
        np.concatenate([_renumbered(column, place) for column in (before, after)]),
        amounts=None if amounts.row_by_row else np.concatenate([amounts.original, amounts.masked]),
    )
    tolerant = replace(description, missing="keep", unmatched=_tolerant(description.unmatched))
    prepared = prepare(name, both, tolerant, open_once)
    codes = prepared.column.codes
    first, second = codes[: len(before)], codes[len(before) :]
    attribute = prepared.attribute
    if isinstance(attribute, NumericAttribute):
        own = attribute.numbers[np.unique(first[first >= 0])]
        attribute = replace(attribute, extent=float(np.ptp(own)) if own.size else 0.0)
    return ComparedColumn(name, description, attribute, first, second, amounts, prepared.column.values, numbers)


def _numbers_of_cells(encoded: tuple[Column, Column], cells: tuple[pl.Series, pl.Series]) -> tuple[Codes, Codes]:
    """For the cells of two tables numbers: the same for the same; −1 for a null."""
    texts = sorted({*encoded[0].values, *encoded[1].values})
    place = {text: number for number, text in enumerate(texts)}
    missing = [missing_codes(own, column.codes < 0) for own, column in zip(cells, encoded, strict=True)]
    further = sorted({code for one in missing for code in one.codes if code != NULL})
    number_of = {code: len(texts) + number for number, code in enumerate(further)} | {NULL: -1}
    out = []
    for column, own in zip(encoded, missing, strict=True):
        of_code = np.array([*(number_of[code] for code in own.codes), -1], dtype=np.int32)
        out.append(np.where(own.of_records >= 0, of_code[own.of_records], _renumbered(column, place)))
    return out[0], out[1]


def _tolerant(unmatched: str) -> str:
    """Cells without a concept that a run refused or dropped are not there any more; others stay apart."""
    return "keep" if unmatched in {"refuse", "drop"} else unmatched


def _with_missing(column: Column, description: ColumnDescription) -> Column:
    if not description.na:
        return column
    return column.without(np.array([*(value in description.na for value in column.values), False]))


def _renumbered(column: Column, place: dict[str, int]) -> Codes:
    new = np.array([*(place[value] for value in column.values), -1], dtype=np.int32)
    return np.asarray(new[column.codes])
