r"""Minimal sample uniques (SUDA): the smallest sets of columns that make a record unique.

A set of columns is a minimal sample unique of a record if no other record has the same values in all of them, and this
is true of none of its subsets. Sets are visited so that all subsets come first; a record that is unique in a set
leaves the search of all larger ones, because it can no longer be minimal there, nor equal to another record.

A minimal unique of m of d columns has the score $\prod_{i=m}^{M-1} (d - i)$, where M is the largest size searched;
the score of a record is their sum. The share of the risk of a column is that of the scores of the sets it belongs to;
shares of several columns add up to more than 1. DIS, the chance that a unique match is right, is
$U π / (U π + P (1 - π))$ for U unique records and P records in pairs; DIS-SUDA spreads it over the records by their
score s: $1 / (1 + U (1/\mathrm{DIS} - 1) / (s^q A))$, where $q = 1 + (8 - d)/20$ and A is the sum of $s^{-q}$.

References: Elliot, Manning and Ford, Int. J. Uncertainty, Fuzziness and Knowledge-Based Systems 10 (2002); Manning,
Haglin and Keane, Data Mining and Knowledge Discovery 16 (2008); Skinner and Elliot, J. Royal Statistical Society B 64
(2002); Elliot, Manning, Mayes, Gurd and Bane, UNECE work session (2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.records import count_records, distinct_rows

if TYPE_CHECKING:
    from anonto.arrays import Bytes, Codes, Floats, Longs

MOST_SETS = 4_096
"""Sets of columns that are searched; of many columns only small sets."""
MOST_CELLS = 40_000_000
"""Records times sets; beyond it only smaller sets are searched."""
FRACTION = 0.01
"""The sampling fraction of DIS where none is known."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MinimalUniques:
    """The minimal sample uniques of the records of a table."""

    n_columns: int
    largest: int
    """Columns of the largest sets that were searched."""
    by_size: Longs
    """How many minimal uniques have 1, 2, … columns."""
    by_set: dict[tuple[int, ...], int]
    """How many records each set makes unique as a minimal one; sets that make none are left out."""
    scores: Floats
    """The score of each distinct record."""
    in_column: Floats
    """Distinct records × columns: the part of the score from sets with this column."""

    @property
    def shares(self) -> Floats:
        """The share of the risk of each column."""
        total = float(self.scores.sum())
        return np.asarray(self.in_column.sum(axis=0) / total) if total else np.zeros(self.n_columns)

    def shares_of_values(self, codes: Codes, column: int, n_values: int) -> Floats:
        """The share of each value, and last of a missing one, in the risk of a column."""
        found = np.zeros(n_values + 1)
        np.add.at(found, codes[:, column], self.in_column[:, column])
        total = float(found.sum())
        return found / total if total else found


def minimal_uniques(codes: Codes, counts: Longs, largest: int | None = None) -> MinimalUniques:
    """Find all minimal sample uniques.

    Args:
        codes: Distinct records × columns; −1 for a missing cell, which is a value of its own.
        counts: How many records of the table each is.
        largest: The most columns of a set; by default as many as can be searched.
    """
    n_records, n_columns = codes.shape
    size = largest_size(n_columns, n_records) if largest is None else min(largest, n_columns)
    search = _UniquesSearch(codes, counts, size)
    search.run()
    return MinimalUniques(n_columns, size, search.by_size, search.by_set, search.scores, search.in_column)


def largest_size(n_columns: int, n_records: int) -> int:
    """The most columns of a set that can be searched, at least 1."""
    most = min(MOST_SETS, MOST_CELLS // max(n_records, 1))
    sizes = range(1, n_columns + 1)
    return max((size for size in sizes if sum(math.comb(n_columns, m) for m in range(1, size + 1)) <= most), default=1)


def score_of(size: int, n_columns: int, largest: int) -> float:
    """The score of a minimal unique of a size."""
    return float(math.prod(n_columns - i for i in range(size, largest)))


def disclosure_by_intrusion(counts: Longs, fraction: float = FRACTION) -> float:
    """DIS: the chance that a record that matches a unique one is of the same person, from the sizes of classes."""
    alone, in_pairs = int(np.count_nonzero(counts == 1)), 2 * int(np.count_nonzero(counts == 2))
    right, wrong = alone * fraction, in_pairs * (1.0 - fraction)
    return right / (right + wrong) if right else 0.0


def dis_suda(found: MinimalUniques, counts: Longs, fraction: float = FRACTION) -> Floats:
    """DIS-SUDA of each distinct record: 0 without a minimal unique."""
    risk, alone = disclosure_by_intrusion(counts, fraction), int(np.count_nonzero(counts == 1))
    is_risky = found.scores > 0
    out = np.zeros(found.scores.size)
    if not risk or not is_risky.any():
        return out
    powers = found.scores[is_risky] ** (1.0 + (8.0 - found.n_columns) / 20.0)
    out[is_risky] = 1.0 / (1.0 + alone * (1.0 / risk - 1.0) / (powers * float((1.0 / powers).sum())))
    return out


class _UniquesSearch:
    """The search over sets of columns, as bits of a number: all subsets of a set are smaller numbers."""

    def __init__(self, codes: Codes, counts: Longs, largest: int) -> None:
        self._n_columns = codes.shape[1]
        self._columns = [np.asarray(column, dtype=np.int64) + 1 for column in codes.T]
        self._widths = [int(column.max(initial=0)) + 1 for column in self._columns]
        self._counts, self._largest = counts, largest
        self._unique: dict[int, Bytes] = {0: np.zeros((counts.size + 7) // 8, dtype=np.uint8)}
        self.by_size = np.zeros(largest, dtype=np.int64)
        self.by_set: dict[tuple[int, ...], int] = {}
        self.scores = np.zeros(counts.size)
        self.in_column = np.zeros((counts.size, self._n_columns))

    def run(self) -> None:
        """Visit all sets."""
        everyone = np.arange(self._counts.size)
        self._extend(0, self._n_columns, everyone, np.zeros(everyone.size, dtype=np.int64))

    def _extend(self, members: int, below: int, rows: Longs, number: Longs) -> None:
        """Visit the sets that have further columns below those of a set.

        Args:
            members: The set.
            below: Its smallest column.
            rows: The distinct records that are not unique in it.
            number: The numbers of their values in it.
        """
        for column in range(below):
            together = members | 1 << column
            keys, sizes = _number(number * self._widths[column] + self._columns[column][rows], self._counts[rows])
            is_alone = sizes[keys] == 1
            self._note(together, rows[is_alone], self._unique[members])
            if together.bit_count() < self._largest:
                self._extend(together, column, rows[~is_alone], keys[~is_alone])

    def _note(self, members: int, alone: Longs, before: Bytes) -> None:
        """Note the records that are unique in a set and were not without its last column."""
        flags = before.copy()
        np.bitwise_or.at(flags, alone >> 3, (1 << (alone & 7)).astype(np.uint8))
        self._unique[members] = flags
        is_minimal = np.ones(alone.size, dtype=np.bool_)
        columns = [column for column in range(self._n_columns) if members >> column & 1]
        for column in columns:
            smaller = self._unique[members & ~(1 << column)]
            is_minimal &= (smaller[alone >> 3] >> (alone & 7).astype(np.uint8) & 1) == 0
        records = alone[is_minimal]
        if not records.size:
            return
        size = len(columns)
        score = score_of(size, self._n_columns, self._largest)
        self.by_size[size - 1] += records.size
        self.by_set[tuple(columns)] = int(records.size)
        self.scores[records] += score
        self.in_column[records[:, None], np.array(columns)] += score


def _number(keys: Longs, counts: Longs) -> tuple[Longs, Longs]:
    """Keys as numbers from 0, and the records of each."""
    _, number = np.unique(keys, return_inverse=True)
    sizes = np.bincount(number, weights=counts).astype(np.int64) if number.size else np.zeros(0, dtype=np.int64)
    return number, sizes


def unique_without(codes: Codes, counts: Longs) -> list[int]:
    """For each column, the records that are still unique without it."""
    return [_n_unique(np.delete(codes, column, axis=1), counts) for column in range(codes.shape[1])]


def _n_unique(codes: Codes, counts: Longs) -> int:
    """How many records are unique in some columns."""
    if not codes.shape[1]:
        return int(counts.sum() == 1)
    distinct, record_of = distinct_rows(list(codes.T))
    return int(np.count_nonzero(count_records(record_of, distinct.shape[0], counts) == 1))
