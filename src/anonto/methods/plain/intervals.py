"""The choices of rank swapping: the first reference, the interval of a reference, and the reference that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonto.arrays import Floats, Longs


TIE = 1e-12
"""Means that differ by no more are equal."""


def most_distant_value(means: Floats, counts: Longs, rng: np.random.Generator) -> int:
    """The value with the largest mean distance to all rows; of several, that of a random row that has one of them."""
    present = np.flatnonzero(counts)
    tied = present[means[present] >= means[present].max() - TIE]
    rows = np.repeat(tied, counts[tied])
    return int(rows[rng.integers(rows.size)])


def nearest_rows(rows: Longs, away: Floats, k: int, rng: np.random.Generator) -> Longs:
    """The k nearest of some rows, or all if they are fewer; rows tied for the last places are drawn at random.

    Args:
        rows: The rows to choose from.
        away: The distance of every row of the table to the reference.
        k: How many are wanted.
        rng: For the ties.
    """
    if rows.size <= k:
        return rows
    limit = np.sort(away[rows])[k - 1]
    inside, tied = rows[away[rows] < limit], rows[away[rows] == limit]
    return np.concatenate([inside, rng.choice(tied, k - inside.size, replace=False)])


def farthest_row(rows: Longs, away: Floats, rng: np.random.Generator) -> int:
    """The farthest of some rows; one of several at random."""
    farthest = rows[away[rows] == away[rows].max()]
    return int(farthest[rng.integers(0, farthest.size)])
