"""Values that stand for several values of a column: intervals of numbers or ranks, ``*``, and cells without a value.

A generalised number lies, as every reader may take it, in the middle of its interval inside the range of the column;
``*`` says nothing, and is at distance 1 to every value, as a missing cell is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.generalised_cells import read_intervals
from anonto.encoding.value_space import NominalSpace, NumericSpace
from anonto.io.notation import EXACT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonto.arrays import Bools, Floats, Integers, Ints, Longs
    from anonto.encoding.value_space import ValueSpace

Interval = tuple[float, float]
"""The numbers or ranks from one on and below another; from −∞ to ∞ it is every value of a column of any kind."""
EVERYTHING: Interval = (-math.inf, math.inf)
STAR = "*"
"""The cell that stands for every value of its column."""
OPENS_INTERVAL = ("[", "{")
"""What a released cell for several values begins with."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GeneralisedSpace:
    """A column of numbers, ranks or texts, followed by cells that stand for several of its values."""

    base: ValueSpace
    """The column itself."""
    intervals: tuple[Interval, ...] = ()
    """What the further cells stand for."""

    @property
    def counts(self) -> Longs:
        """How many records have each distinct value."""
        return np.concatenate([self.base.counts, np.zeros(len(self.intervals), dtype=np.int64)])

    @property
    def texts(self) -> tuple[str, ...]:
        """The further cells as they are released."""
        order = self.base.order if isinstance(self.base, NumericSpace) else ()
        return tuple(text_of_interval(one, order) for one in self.intervals)

    def codes_of(self, intervals: Sequence[Interval]) -> tuple[GeneralisedSpace, Ints]:
        """The codes of the cells for some intervals, and this space with new ones appended."""
        n_own = self.base.counts.size
        code_of = {one: n_own + place for place, one in enumerate(self.intervals)}
        further = [one for one in dict.fromkeys(intervals) if one not in code_of]
        code_of |= {one: n_own + len(self.intervals) + place for place, one in enumerate(further)}
        codes = np.array([code_of[one] for one in intervals], dtype=np.int32)
        return replace(self, intervals=(*self.intervals, *further)), codes

    def distances(self) -> Floats:
        """Distances of all pairs of distinct values."""
        everything = np.arange(self.counts.size)
        return self.distance_tables()(everything, everything)

    def pair_distances(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs of distinct values."""
        out = np.asarray(a != b, dtype=np.float64)
        if self._numeric is not None:
            known = self._says_something[a] & self._says_something[b]
            out[known] = self._numeric.pair_distances(a[known], b[known])
        return out

    def distances_from(self, codes: Integers) -> Floats:
        """Distances of some distinct values, a row each, to all distinct values."""
        return self.distance_tables()(codes, np.arange(self.counts.size))

    def distance_tables(self) -> Callable[[Integers, Integers], Floats]:
        """A function from some distinct values, a row each, and others to their distances."""
        numeric, says_something = self._numeric, self._says_something

        def table(a: Integers, b: Integers) -> Floats:
            out = np.not_equal.outer(a, b).astype(np.float64)
            if numeric is not None:
                rows, columns = np.flatnonzero(says_something[a]), np.flatnonzero(says_something[b])
                out[np.ix_(rows, columns)] = numeric.distance_tables()(a[rows], b[columns])
            return out

        return table

    def restrict(self, codes: Integers, counts: Longs) -> ValueSpace:
        """The space of some values of the column itself with other counts."""
        return self.base.restrict(codes, counts)

    @property
    def _says_something(self) -> Bools:
        """A flag for each value and each further cell: it is not ``*``."""
        return np.array([True] * self.base.counts.size + [one != EVERYTHING for one in self.intervals], dtype=np.bool_)

    @property
    def _numeric(self) -> NumericSpace | None:
        """Numbers followed by the middles of the intervals; None for texts, which are equal or not."""
        if not isinstance(self.base, NumericSpace):
            return None
        low, high = np.array(self.intervals, dtype=np.float64).reshape(-1, 2).T
        return self.base.with_numbers(middle_of(low, high - bool(self.base.order), self.base.numbers))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmptiedSpace:
    """A column some of whose cells lose their value: the last code, which is released as missing, at distance 1."""

    base: ValueSpace

    @property
    def code(self) -> int:
        """The code of a cell that lost its value."""
        return int(self.base.counts.size)

    @property
    def counts(self) -> Longs:
        """How many records have each distinct value."""
        return np.append(self.base.counts, 0)

    def distances(self) -> Floats:
        """Distances of all pairs of distinct values."""
        everything = np.arange(self.code + 1)
        return self.distance_tables()(everything, everything)

    def pair_distances(self, a: Integers, b: Integers) -> Floats:
        """Distances of some pairs of distinct values."""
        out = np.asarray(a != b, dtype=np.float64)
        known = (a < self.code) & (b < self.code)
        out[known] = self.base.pair_distances(a[known], b[known])
        return out

    def distances_from(self, codes: Integers) -> Floats:
        """Distances of some distinct values, a row each, to all distinct values."""
        return self.distance_tables()(codes, np.arange(self.code + 1))

    def distance_tables(self) -> Callable[[Integers, Integers], Floats]:
        """A function from some distinct values, a row each, and others to their distances."""
        of_known = self.base.distance_tables()

        def table(a: Integers, b: Integers) -> Floats:
            out = np.not_equal.outer(a, b).astype(np.float64)
            rows, columns = np.flatnonzero(a < self.code), np.flatnonzero(b < self.code)
            out[np.ix_(rows, columns)] = of_known(a[rows], b[columns])
            return out

        return table

    def restrict(self, codes: Integers, counts: Longs) -> ValueSpace:
        """The space of some values of the column itself with other counts."""
        return self.base.restrict(codes, counts)


def with_intervals(value_space: ValueSpace) -> GeneralisedSpace:
    """A column of numbers or texts, to be followed by cells that stand for several values."""
    return value_space if isinstance(value_space, GeneralisedSpace) else GeneralisedSpace(value_space)


def never_empty(value_space: ValueSpace) -> ValueSpace:
    """The column without the code of cells that lost their value."""
    return value_space.base if isinstance(value_space, EmptiedSpace) else value_space


def first_codes(value_space: ValueSpace) -> Ints | None:
    """The first code of the same concept for each code, and last −1: see `NominalSpace.first_codes`."""
    if isinstance(value_space, EmptiedSpace):
        known = first_codes(value_space.base)
        return None if known is None else np.array([*known[:-1], value_space.code, -1], dtype=np.int32)
    return value_space.first_codes() if isinstance(value_space, NominalSpace) else None


# ------------------------------------------------------------------------------------------------ cells


def text_of_interval(interval: Interval, order: Sequence[str] = ()) -> str:
    """How an interval is released: ``*``, ``[30, 40)``, or the ranks that it lists as ``{low, mid}``."""
    if interval == EVERYTHING:
        return STAR
    low, high = interval
    if order:
        return "{" + ", ".join(order[max(int(low), 0) : int(high)]) + "}"
    return f"[{_text_of_bound(low)}, {_text_of_bound(high)})"


def _text_of_bound(bound: float) -> str:
    return str(int(bound)) if bound.is_integer() and abs(bound) < EXACT else repr(bound)


def middle_of(low: Floats, high: Floats, numbers: Floats) -> Floats:
    """The middle of intervals inside the range of some numbers."""
    least, most = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
    return np.asarray(np.clip(low, least, most) / 2.0 + np.clip(high, least, most) / 2.0)


def read_middles(texts: Sequence[str], numbers: Floats, order: Sequence[str] = ()) -> Floats:
    """The middle of each text that a release has for several of some numbers or ranks; NaN for any other text."""
    if order:
        interval_of = {
            text_of_interval((first, last), order): (first, last - 1)
            for first in range(len(order))
            for last in range(first + 1, len(order) + 1)
        }
        low, high = np.array([interval_of.get(text, (np.nan, np.nan)) for text in texts]).reshape(-1, 2).T
    else:
        read = read_intervals(texts)
        # The end of a released interval is left out by the smallest step there is; its middle is that of its bounds.
        low, high = read.low, read.high
    return np.where(np.isnan(low), np.nan, middle_of(low, high, numbers))
