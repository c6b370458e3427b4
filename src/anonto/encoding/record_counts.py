"""Distinct records counted a batch of rows at a time, and looked up by their codes.

The records are sorted by their codes, as `distinct_records` returns them for all rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.records import DENSE_COMBINATIONS, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Longs


LARGEST_KEY = 1 << 62
PENDING_AT_LEAST = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class CountedRecords:
    """Distinct records × columns, and how many rows have each."""

    codes: Codes
    counts: Longs

    @classmethod
    def of(cls, columns: Sequence[Codes], amounts: Longs | None = None) -> CountedRecords:
        """Counts of some rows, each of which may count for several."""
        codes, record_of = distinct_rows(columns)
        return cls(codes, np.bincount(record_of, weights=amounts, minlength=codes.shape[0]).astype(np.int64))

    @classmethod
    def together(cls, parts: Sequence[CountedRecords]) -> CountedRecords:
        """Counts of the rows of all parts."""
        stacked = np.concatenate([part.codes for part in parts])
        return cls.of(list(stacked.T), np.concatenate([part.counts for part in parts]))

    @property
    def n_bytes(self) -> int:
        """Bytes that the counts take in memory."""
        return self.codes.nbytes + self.counts.nbytes


class RecordCounter:
    """Counts the records of batches as they come."""

    def __init__(self, n_columns: int) -> None:
        self._known = CountedRecords(np.empty((0, n_columns), dtype=np.int32), np.empty(0, dtype=np.int64))
        self._pending: list[CountedRecords] = []
        self._n_pending = 0

    def add(self, part: CountedRecords) -> None:
        """Add the records of a batch."""
        self._pending.append(part)
        self._n_pending += part.counts.size
        if self._n_pending > max(PENDING_AT_LEAST, self._known.counts.size):
            self._settle()

    def add_all(self, other: RecordCounter) -> None:
        """Add the records of another counter."""
        for part in (other._known, *other._pending):
            self.add(part)

    def _settle(self) -> None:
        if self._pending:
            self._known = CountedRecords.together([self._known, *self._pending])
            self._pending, self._n_pending = [], 0

    @property
    def n_held(self) -> int:
        """Upper bound on the number of distinct records."""
        return int(self._known.counts.size) + self._n_pending

    @property
    def n_known(self) -> int:
        """Lower bound on the number of distinct records."""
        return int(self._known.counts.size)

    def totals(self) -> CountedRecords:
        """All records so far."""
        self._settle()
        return self._known


@dataclass(frozen=True, slots=True, eq=False)
class RecordIndex:
    """Finds the number of a record by its codes, several columns at a time if one integer can hold their codes."""

    levels: tuple[tuple[int, tuple[int, ...], Longs], ...]
    """The number of columns of each level, their numbers of possible codes, and the keys that occur, sorted."""
    table: Codes | None
    """The number of each key, if there are few possible keys."""

    @classmethod
    def of(cls, codes: Codes) -> RecordIndex:
        """Index distinct records, given in sorted order."""
        n_columns = codes.shape[1]
        widths = [int(codes[:, place].max(initial=-1)) + 2 for place in range(n_columns)]
        levels: list[tuple[int, tuple[int, ...], Longs]] = []
        number = np.zeros(codes.shape[0], dtype=np.int64)
        place = 0
        while place < n_columns:
            possible = int(number.max(initial=0)) + 1
            taken: list[int] = []
            while place < n_columns and (not taken or possible * widths[place] < LARGEST_KEY):
                possible *= widths[place]
                taken.append(widths[place])
                place += 1
            keys = _keys(number, [codes[:, place - len(taken) + i] for i in range(len(taken))], taken)
            distinct, number = np.unique(keys, return_inverse=True)
            levels.append((len(taken), tuple(taken), distinct))
        largest = int(levels[0][2].max(initial=-1)) if len(levels) == 1 else DENSE_COMBINATIONS
        if largest >= DENSE_COMBINATIONS:
            return cls(tuple(levels), None)
        table = np.full(largest + 1, -1, dtype=np.int32)
        table[levels[0][2]] = np.arange(levels[0][2].size, dtype=np.int32)
        return cls(tuple(levels), table)

    def numbers(self, columns: Sequence[Codes]) -> Codes:
        """The record numbers of some rows; all records must be known."""
        number = np.zeros(columns[0].size, dtype=np.int64)
        place = 0
        for n_taken, widths, distinct in self.levels:
            keys = _keys(number, columns[place : place + n_taken], widths)
            if self.table is not None:
                return np.asarray(self.table[keys])
            own, which = np.unique(keys, return_inverse=True)
            number = np.searchsorted(distinct, own)[which]
            place += n_taken
        return number.astype(np.int32)


def _keys(number: Longs, columns: Sequence[Codes], widths: Sequence[int]) -> Longs:
    keys = number
    for column, width in zip(columns, widths, strict=True):
        keys = keys * width + (column + np.int64(1))
    return keys
