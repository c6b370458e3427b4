"""Dates that were shifted together: what lies between them is released exactly, and an intruder compares that."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import MISSING
from anonto.encoding.value_space import NumericSpace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.arrays import Codes, Floats
    from anonto.encoding.comparison import ComparedColumn
    from anonto.masking.recoding import Recoding


def compare_intervals(columns: Mapping[str, ComparedColumn], recoding: Recoding) -> dict[str, ComparedColumn]:
    """The columns that were shifted by the same days, but the first, as the days since the first.

    A record without the first date has no such days.
    """
    first: dict[object, str] = {}
    found = {}
    for name in recoding.shifted:
        recode = recoding.columns[name].given.recode
        if name not in columns or recode is None or name in recoding.given.masked:
            continue
        key = recode.shift, recode.days, recode.keep, recoding.given.person_of_dates(name)
        earlier = first.setdefault(key, name)
        if earlier != name:
            found[name] = _interval(columns[name], columns[earlier])
    return found


def _interval(column: ComparedColumn, earlier: ComparedColumn) -> ComparedColumn:
    before = _numbers(column, column.original) - _numbers(earlier, earlier.original)
    after = _numbers(column, column.masked) - _numbers(earlier, earlier.masked)
    # A day is a whole number, but the time of day is not: differences are compared to the second.
    before, after = np.round(before, 5), np.round(after, 5)
    known = np.isfinite(before)
    distinct = np.unique(np.concatenate([before[known], after[np.isfinite(after)]]))
    codes, masked = _codes(before, distinct), _codes(after, distinct)
    counts = np.bincount(codes[codes >= 0], minlength=distinct.size) + np.bincount(
        masked[masked >= 0], minlength=distinct.size
    )
    space = NumericSpace(distinct, counts, float(np.ptp(before[known])) if known.any() else 0.0)
    texts = tuple(f"{number:g}" for number in distinct.tolist())
    return replace(column, value_space=space, original=codes, masked=masked, values=texts, cells=None)


def _numbers(column: ComparedColumn, codes: Codes) -> Floats:
    space = column.value_space
    numbers = space.numbers if isinstance(space, NumericSpace) else np.empty(0)
    return np.append(numbers, np.nan)[codes]


def _codes(numbers: Floats, distinct: Floats) -> Codes:
    known = np.isfinite(numbers)
    found = np.searchsorted(distinct, np.where(known, numbers, 0.0))
    return np.where(known, found, MISSING).astype(np.int32)
