"""Dates that are cut to the first day of a period, or shifted by a secret number of days."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import MISSING
from anonto.encoding.new_cells import new_dates
from anonto.encoding.recode import STEPS
from anonto.io.date_notation import DAY
from anonto.random.streams import row_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Longs, LongWords
    from anonto.encoding.new_cells import NewCells
    from anonto.encoding.recode import Recode
    from anonto.io.date_notation import DateNotation
    from anonto.random.streams import Key

SEASON_BEGINS = np.array([0, 0, 2, 2, 2, 5, 5, 5, 8, 8, 8, 11])
"""The month in which the season of each month begins in its own year, both from 0: spring begins in March."""
THURSDAY = 3
"""The weekday of 1970-01-01, from Monday, 0."""


def cut_dates(moments: Longs, to: str, keep: str | None) -> Longs:
    """The first moment of the period of each; on request of those in it with the same weekday, or of its season."""
    days = moments // DAY
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]").astype(np.int64)
    if to == "day":
        first = days
    elif to == "week":
        first = days - (days + THURSDAY) % 7
    else:
        length = {"month": 1, "quarter": 3, "year": 12}[to]
        begin = months - months % length
        if keep == "season":
            begin = begin + SEASON_BEGINS[months % 12]
        first = begin.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    if keep == "weekday":
        first = first + (days - first) % 7
    return np.asarray(first * DAY, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class DateShift:
    """A secret number of days for each person or each record: the same for all columns with the same `recode`."""

    key: Key = field(repr=False)
    step: int
    """Days; every shift is a multiple."""
    most: int
    """The most steps, back or forth; all from -most to most are equally likely."""

    @classmethod
    def of(cls, key: Key, recode: Recode) -> DateShift:
        """As a plan says."""
        step = STEPS[recode.keep]
        return cls(key, step, (recode.days or 0) // step)

    def of_persons(self, persons: Sequence[str]) -> Longs:
        """The days of each person, by the text of her key."""
        hashes = [hashlib.blake2b(one.encode(), key=self.key.secret, digest_size=8).digest() for one in persons]
        return self._days(np.frombuffer(b"".join(hashes), dtype="<u8").astype(np.uint64))

    def of_rows(self, rows: Longs) -> Longs:
        """The days of each row, by its number in the table."""
        return self._days(row_words(self.key, rows, "shift")[0])

    def _days(self, words: LongWords) -> Longs:
        shares = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return (np.floor(shares * (2 * self.most + 1)).astype(np.int64) - self.most) * self.step


@dataclass(frozen=True, slots=True, eq=False)
class ShiftedDates:
    """The dates of a column by raw code, and how they are written."""

    notation: DateNotation
    moments: Longs
    """Microseconds of each raw code, and last of a null."""
    is_date: Codes
    """1 for each raw code that is a date; 0 for missing cells, and last for a null."""

    def shift(self, raw: Codes, days: Longs) -> tuple[NewCells, Codes]:
        """The new dates, and for each row which of them it gets; -1 for a cell that stays."""
        moves = self.is_date[raw] == 1  # by 0 days too: a spelling that stays would tell
        moved = self.moments[raw][moves] + days[moves] * DAY
        distinct, which = np.unique(moved, return_inverse=True)
        places = np.full(raw.size, MISSING, dtype=np.int32)
        places[moves] = which
        return new_dates(self.notation, distinct), places
