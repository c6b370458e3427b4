"""Distinct records: the combinations of values that occur in some columns, and how often.

What a method for several columns sees. Its cost grows with the distinct records; each row of the table only has the
number of its record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.table.columns import weighed
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

DENSE_COMBINATIONS = 1 << 24
"""Up to this many possible combinations are numbered by a table of all of them, more by sorting those that occur."""
ROWS_AT_ONCE = 1 << 19


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records:
    """The distinct records of some columns."""

    names: tuple[str, ...]
    """Of the columns."""
    attributes: tuple[Attribute, ...]
    codes: Codes
    """Distinct records × columns: the value of each, by its code in the attribute; −1 where there is none."""
    counts: Longs
    """How many rows have each record."""

    @property
    def n_rows(self) -> int:
        """All rows."""
        return int(self.counts.sum())

    def patterns(self) -> Codes:
        """For each record which columns have no value, as a number: equal for equal patterns."""
        return distinct_rows([np.asarray(column < 0, dtype=np.int32) for column in self.codes.T])[1]


def distinct_records(
    names: Sequence[str], attributes: Sequence[Attribute], columns: Sequence[Codes], amounts: Longs | None = None
) -> tuple[Records, Codes]:
    """The distinct records of some columns in the order of their codes, and for each row the number of its record.

    Args:
        names: Of the columns.
        attributes: Their values.
        columns: The code of each row.
        amounts: How many rows each row stands for; None where it stands for itself.
    """
    codes, record_of = distinct_rows(columns)
    return Records(tuple(names), tuple(attributes), codes, counted(record_of, codes.shape[0], amounts)), record_of


def distinct_rows(columns: Sequence[Codes]) -> tuple[Codes, Codes]:
    """The distinct combinations of codes (−1 allowed) in their order, and for each row which one it has."""
    number, n_numbers = _numbered(None, 1, columns[0])
    for column in columns[1:]:
        number, n_numbers = _numbered(number, n_numbers, column)
    firsts = _firsts(number, n_numbers)
    return np.stack([column[firsts] for column in columns], axis=1).astype(np.int32), number


def _numbered(number: Codes | None, n_numbers: int, column: Codes) -> tuple[Codes, int]:
    """The pairs of a number and a code numbered 0, 1, … in their order; and how many different ones there are."""
    width = int(column.max(initial=-1)) + 2
    n_possible = n_numbers * width
    if n_possible > min(max(DENSE_COMBINATIONS, column.size), np.iinfo(np.int32).max):
        keys = column.astype(np.int64) + 1
        if number is not None:
            keys += number.astype(np.int64) * width
        unique, place = np.unique(keys, return_inverse=True)
        return place.astype(np.int32), unique.size
    out = np.empty(column.size, dtype=np.int32)
    present = np.zeros(n_possible, dtype=np.bool_)

    def look(part: slice) -> None:
        own = out[part]
        np.add(column[part], np.int32(1), out=own)
        if number is not None:
            own += number[part] * np.int32(width)
        present[own] = True

    def renumber(part: slice) -> None:
        out[part] = new_number[out[part]]

    parts = slices(0, column.size, ROWS_AT_ONCE)
    in_threads(look, parts)
    new_number = np.cumsum(present, dtype=np.int32) - np.int32(1)
    in_threads(renumber, parts)
    return out, int(np.count_nonzero(present))


def _firsts(record_of: Codes, n_records: int) -> Longs:
    """For each record the first row that has it."""
    firsts = np.zeros(n_records, dtype=np.int64)
    for part in reversed(slices(0, record_of.size, ROWS_AT_ONCE)):
        firsts[record_of[part][::-1]] = np.arange(part.stop - 1, part.start - 1, -1)
    return firsts


def counted(record_of: NDArray[np.integer], n_records: int, amounts: Longs | None = None) -> Longs:
    """How many rows have each record; counted in parts, as each part is copied.

    Args:
        record_of: The record of each row.
        n_records: Distinct records.
        amounts: How many rows each row stands for; None where it stands for itself.
    """
    counts = np.zeros(n_records, dtype=np.int64)
    for part in slices(0, record_of.size, max(ROWS_AT_ONCE, n_records)):
        if amounts is None:
            counts += np.bincount(record_of[part], minlength=n_records)
        else:
            counts += weighed(record_of[part], n_records, amounts[part])
    return counts
