"""An original table and its release, row by row, in one space of values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.table.attributes import NumericAttribute
from anonto.table.columns import Column, encode
from anonto.table.prepare import prepare

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener

    Codes = NDArray[np.int32]


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
    values: tuple[str, ...] = ()
    """The text of each code."""

    @property
    def n_values(self) -> int:
        """Distinct values of both tables."""
        return int(self.attribute.counts.size)

    def taken(self, rows: NDArray[np.integer]) -> ComparedColumn:
        """The same column for some rows only."""
        return replace(self, original=self.original[rows], masked=self.masked[rows])


def compared_column(
    name: str, original: pl.Series, masked: pl.Series, description: ColumnDescription, open_once: Opener
) -> ComparedColumn:
    """Encode a column of both tables together and place its values in the space that the plan describes."""
    before, after = (_with_missing(encode(cells), description) for cells in (original, masked))
    values = tuple(sorted({*before.values, *after.values}))
    place = {value: code for code, value in enumerate(values)}
    both = Column(values, np.concatenate([_renumbered(column, place) for column in (before, after)]))
    tolerant = replace(description, missing="keep", unmatched=_tolerant(description.unmatched))
    prepared = prepare(name, both, tolerant, open_once)
    codes = prepared.column.codes
    first, second = codes[: len(before)], codes[len(before) :]
    attribute = prepared.attribute
    if isinstance(attribute, NumericAttribute):
        own = attribute.numbers[np.unique(first[first >= 0])]
        attribute = replace(attribute, extent=float(np.ptp(own)) if own.size else 0.0)
    return ComparedColumn(name, description, attribute, first, second, prepared.column.values)


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
