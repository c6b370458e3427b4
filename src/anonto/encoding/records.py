"""Distinct records: the combinations of values that occur in some columns, and how often.

Methods for several columns work on these. Their cost grows with the number of distinct records; a row of the table only
has the number of its record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import count_weighted
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from anonto.arrays import Codes, Floats, Integers, Longs
    from anonto.encoding.value_space import ValueSpace


DENSE_COMBINATIONS = 1 << 24
"""Up to this many possible combinations are numbered in a table; more by sorting those that occur."""
ROWS_AT_ONCE = 1 << 19


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Records:
    """The distinct records of some columns."""

    names: tuple[str, ...]
    """Names of the columns."""
    value_spaces: tuple[ValueSpace, ...]
    codes: Codes
    """Distinct records × columns: codes in the value space; −1 for no value."""
    counts: Longs
    """How many rows have each record."""

    @property
    def n_rows(self) -> int:
        """All rows."""
        return int(self.counts.sum())

    def patterns(self) -> Codes:
        """The number of each record's pattern of missing values."""
        return distinct_rows([np.asarray(column < 0, dtype=np.int32) for column in self.codes.T])[1]


def distinct_records(
    names: Sequence[str], value_spaces: Sequence[ValueSpace], columns: Sequence[Codes], amounts: Longs | None = None
) -> tuple[Records, Codes]:
    """The distinct records of some columns, sorted by their codes, and for each row the number of its record.

    ``columns`` has the codes of each row; without ``amounts`` each row counts once.
    """
    codes, record_of = distinct_rows(columns)
    return Records(
        tuple(names), tuple(value_spaces), codes, count_records(record_of, codes.shape[0], amounts)
    ), record_of


def distinct_rows(columns: Sequence[Codes]) -> tuple[Codes, Codes]:
    """The distinct combinations of codes (−1 allowed), sorted, and for each row the number of its combination."""
    number, n_numbers = _number_pairs(None, 1, columns[0])
    for column in columns[1:]:
        number, n_numbers = _number_pairs(number, n_numbers, column)
    firsts = _firsts(number, n_numbers)
    return np.stack([column[firsts] for column in columns], axis=1).astype(np.int32), number


def _number_pairs(number: Codes | None, n_numbers: int, column: Codes) -> tuple[Codes, int]:
    """Number the distinct pairs of a number and a code 0, 1, … in sorted order; and how many there are."""
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
    """The first row that has each record."""
    firsts = np.zeros(n_records, dtype=np.int64)
    for part in reversed(slices(0, record_of.size, ROWS_AT_ONCE)):
        firsts[record_of[part][::-1]] = np.arange(part.stop - 1, part.start - 1, -1)
    return firsts


def count_records(record_of: Integers, n_records: int, amounts: Longs | Floats | None = None) -> Any:
    """How many rows have each record, or the sum of their weights; without ``amounts`` each row counts once.

    Rows are counted in parts because NumPy copies each part.
    """
    counts = np.zeros(n_records, dtype=np.int64 if amounts is None else amounts.dtype)
    for part in slices(0, record_of.size, max(ROWS_AT_ONCE, n_records)):
        if amounts is None:
            counts += np.bincount(record_of[part], minlength=n_records)
        else:
            counts += count_weighted(record_of[part], n_records, amounts[part])
    return counts
