"""Distinct records: the combinations of values that occur in some columns, and how often.

What a method for several columns sees. Its cost grows with the distinct records; each row of the table only has the
number of its record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

DENSE_COMBINATIONS = 1 << 24
"""Up to this many possible combinations are numbered by a table of all of them, more by sorting those that occur."""


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
    names: Sequence[str], attributes: Sequence[Attribute], columns: Sequence[Codes]
) -> tuple[Records, Codes]:
    """The distinct records of some columns in the order of their codes, and for each row the number of its record."""
    codes, record_of = distinct_rows(columns)
    counts = np.bincount(record_of, minlength=codes.shape[0]).astype(np.int64)
    return Records(tuple(names), tuple(attributes), codes, counts), record_of


def distinct_rows(columns: Sequence[Codes]) -> tuple[Codes, Codes]:
    """The distinct combinations of codes (−1 allowed) in their order, and for each row which one it has."""
    number = _compressed(columns[0].astype(np.int64) + 1)
    for column in columns[1:]:
        width = int(column.max(initial=-1)) + 2
        number = _compressed(number.astype(np.int64) * width + (column + np.int64(1)))
    firsts = _firsts(number)
    return np.stack([column[firsts] for column in columns], axis=1).astype(np.int32), number


def _compressed(keys: Longs) -> Codes:
    """The keys numbered 0, 1, … in their order."""
    largest = int(keys.max(initial=-1))
    if largest < max(DENSE_COMBINATIONS, keys.size):
        present = np.zeros(largest + 1, dtype=np.bool_)
        present[keys] = True
        number = np.cumsum(present, dtype=np.int32) - np.int32(1)
        return np.asarray(number[keys])
    return np.unique(keys, return_inverse=True)[1].astype(np.int32)


def _firsts(record_of: Codes) -> Longs:
    """For each record a row that has it."""
    firsts = np.zeros(int(record_of.max(initial=-1)) + 1, dtype=np.int64)
    firsts[record_of[::-1]] = np.arange(record_of.size - 1, -1, -1)
    return firsts
