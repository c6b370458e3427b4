"""A release that another tool made: no plan, no row of which it is known whose it is, cells that may be generalised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Longs

MISSING = -1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ForeignNumbers:
    """A column of numbers; NaN is a missing one."""

    name: str
    original: Floats
    held_out: Floats
    low: Floats
    high: Floats
    """The numbers that each released cell may stand for; both NaN where it is missing."""
    extent: float
    """The range of the original."""

    is_numeric = True

    @property
    def points(self) -> Floats:
        """The middle of each released cell, inside the range of the original; NaN where it is suppressed or missing."""
        least, most = _range(self.original)
        middle = (np.clip(self.low, least, most) + np.clip(self.high, least, most)) / 2.0
        suppressed = np.isinf(self.low) & np.isinf(self.high)
        own = np.where(self.low == self.high, self.low, middle)
        return np.where(suppressed, np.nan, own)

    @property
    def is_exact(self) -> Bools:
        """Mask of the released cells that stand for one number."""
        return np.asarray(self.low == self.high)

    def distances(self, persons: Floats, rows: slice) -> Floats:
        """Distances of persons to some released cells: to the middle, and inside an interval half its width."""
        least, most = _range(self.original)
        low, high = np.clip(self.low[rows], least, most), np.clip(self.high[rows], least, most)
        exact = self.is_exact[rows]
        low, high = np.where(exact, self.low[rows], low), np.where(exact, self.high[rows], high)
        x = persons[:, None]
        apart = (np.abs(x - low) + np.abs(x - high)) / 2.0
        out = apart / self.extent if self.extent else np.where(apart > 0, 1.0, 0.0)
        missing, none = np.isnan(x), np.isnan(low)
        return np.asarray(np.where(missing | none, np.where(missing & none, 0.0, 1.0), np.minimum(out, 1.0)))

    def is_right(self, persons: Floats, rows: Longs, close: float) -> Bools:
        """Whether released cells are within a share of the range of the persons' own numbers."""
        return np.asarray(np.abs(self.points[rows] - persons) <= close * self.extent + 1e-12)

    def has_value(self, which: str) -> Bools:
        """Mask of the persons who have a number."""
        return ~np.isnan(self.side(which))

    def covers(self, persons: Floats, row: int) -> Bools:
        """Whether a released cell may stand for each person's number."""
        return np.asarray((self.low[row] <= persons) & (persons <= self.high[row]))

    def side(self, which: str) -> Floats:
        """The cells of persons."""
        return self.original if which == "original" else self.held_out


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ForeignTexts:
    """A column of texts, as codes of all texts of the tables; −1 is a missing one."""

    name: str
    original: Longs
    held_out: Longs
    released: Longs
    """The number of each released cell; −1 is a missing one."""
    covered: Bools
    """Numbers of released cells × all texts: what each may stand for."""

    is_numeric = False

    @property
    def is_exact(self) -> Bools:
        """Mask of the released cells that stand for one text."""
        return np.asarray((self.covered.sum(axis=1) == 1)[self.released] & (self.released >= 0))

    def distances(self, persons: Longs, rows: slice) -> Floats:
        """Distances of persons to some released cells: 1 less one over how many texts a cell may stand for."""
        texts, place = np.unique(self.released[rows], return_inverse=True)
        covered = (
            np.where(texts[:, None] >= 0, self.covered[texts], False)
            if self.covered.size
            else np.zeros((texts.size, 1))
        )
        times = np.maximum(covered.sum(axis=1), 1)
        table = np.where(covered, 1.0 - 1.0 / times[:, None], 1.0)
        known = np.where(persons[:, None] >= 0, table.T[persons], texts[None, :] >= 0)
        return np.asarray(known[:, place], dtype=np.float64)

    def is_right(self, persons: Longs, rows: Longs, close: float) -> Bools:
        """Whether released cells are the persons' own texts."""
        del close
        cells = self.released[rows]
        if not self.covered.size:
            return np.zeros(rows.size, dtype=np.bool_)
        is_one = self.covered[cells, np.maximum(persons, 0)] & (self.covered.sum(axis=1) == 1)[cells]
        return np.asarray(is_one & (cells >= 0) & (persons >= 0))

    def has_value(self, which: str) -> Bools:
        """Mask of the persons who have a text."""
        return np.asarray(self.side(which) >= 0)

    def covers(self, persons: Longs, row: int) -> Bools:
        """Whether a released cell may stand for each person's text."""
        own = int(self.released[row])
        if own < 0:
            return np.asarray(persons < 0)
        return np.asarray(np.append(self.covered[own], False)[persons])

    def side(self, which: str) -> Longs:
        """The cells of persons."""
        return self.original if which == "original" else self.held_out


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ForeignRelease:
    """Two tables, or three with persons held out, and the columns that they share."""

    columns: tuple[ForeignNumbers | ForeignTexts, ...]
    n_original: int
    n_released: int
    n_held_out: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(one.name for one in self.columns)


def _range(numbers: Floats) -> tuple[float, float]:
    present = numbers[~np.isnan(numbers)]
    return (float(present.min()), float(present.max())) if present.size else (0.0, 0.0)
