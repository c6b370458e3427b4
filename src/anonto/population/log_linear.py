r"""Uniqueness in the population by a log-linear model of the whole table of the quasi-identifiers.

The people of a cell are Poisson with mean $λ/π$, the sampled ones with mean λ, which a log-linear model smooths: main
effects alone, or with interactions of two columns. Of a person who is alone in the sample, $h_1(λ) = \exp(-λ(1-π)/π)$
is the chance to be alone in the population, and $h_2(λ) = (1 - h_1)/(-\log h_1)$ the mean of 1/F.

A model with too few interactions overstates the risk, one with too many understates it. Skinner and Shlomo's criterion
is the estimated error that the model makes in the sum of $h_1$ over the sampled uniques, which are expected to be
$g(λ) = λe^{-λ}$ of a cell. To the second order in the error of λ, whose estimates are $f - \hatλ$ and
$(f - \hatλ)^2 - f$, it is

$$\hat B = \sum_k a_k (f_k - \hatλ_k) + b_k \left((f_k - \hatλ_k)^2 - f_k\right), \quad a = -g h_1', \quad
b = -g'h_1' - \tfrac12 g h_1'',$$

and its variance, if the model is right, $\hat v = \sum_k a_k^2 \hatλ_k + 2 b_k^2 \hatλ_k^2$. Interactions are added one
by one, those of the most dependent columns first, until $\hat B/\sqrt{\hat v}$ shows no more overstatement: it is 1.96
at most. Models are fitted by iterative proportional fitting.

Reference: Skinner and Shlomo, J. American Statistical Association 103 (2008).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.rate import Z_95

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs

    Pairs = tuple[tuple[int, int], ...]

MOST_CELLS = 1_000_000
"""Cells of the largest table of quasi-identifiers that is fitted."""
MOST_ROUNDS = 100
FITTED = 1e-4
"""Margins are fitted when none is further from the sample than this share of a person, or of one in 10,000."""


@dataclass(frozen=True, slots=True)
class LogLinear:
    """The model that was chosen, and its estimates for the persons who are alone in the sample."""

    interactions: Pairs
    """The pairs of columns, by number, whose interaction the model has."""
    criterion: float
    """Estimated error of the model in standard deviations: above 1.96 it overstates the risk."""
    alone: float
    """How many of those who are alone in the sample are expected to be alone in the population."""
    matched: float
    """How many of them somebody would link rightly who picks one of the people with equal values at random."""
    deviation: float
    """The standard deviation of the number of people who are alone in the population, if the model is right."""


def n_cells(codes: Codes) -> int:
    """The cells of the whole table of some columns: every combination of values that occur."""
    return math.prod(np.unique(column).size for column in codes.T)


def fit_log_linear(codes: Codes, sizes: Longs, fraction: float) -> LogLinear:
    """The log-linear model that fits the risk best.

    Args:
        codes: Classes × columns, two at least; −1 for no value, which counts as a value.
        sizes: Sampled persons of each class.
        fraction: The sampling fraction, below 1.
    """
    table, cells = _table(codes, sizes)
    fitted = _independent(table)
    ranked = _by_dependence(table, fitted) if table.ndim > 2 else []  # of two columns it would be the sample itself
    found = _judge(table, fitted, cells, fraction, ())
    for number in range(1, len(ranked) + 1):
        if found.criterion <= Z_95:
            break
        fitted = _fit(table, fitted, ranked[:number])
        found = _judge(table, fitted, cells, fraction, tuple(ranked[:number]))
    return found


def _table(codes: Codes, sizes: Longs) -> tuple[Floats, tuple[Longs, ...]]:
    """The sampled persons of every cell, and the cell of each person who is alone."""
    places = [np.unique(column, return_inverse=True) for column in codes.T]
    table = np.zeros(tuple(values.size for values, _ in places))
    cells = tuple(place.ravel() for _, place in places)
    table[cells] = sizes
    return table, tuple(place[sizes == 1] for place in cells)


def _margin(table: Floats, kept: Sequence[int]) -> Floats:
    """The sums over all other columns, in a shape that can be multiplied with the table."""
    return np.asarray(table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in kept), keepdims=True))


def _independent(table: Floats) -> Floats:
    """The model of main effects alone."""
    fitted = np.full(table.shape, table.sum())
    for axis in range(table.ndim):
        fitted *= _margin(table, [axis]) / table.sum()
    return fitted


def _by_dependence(table: Floats, fitted: Floats) -> list[tuple[int, int]]:
    """The pairs of columns, those first whose table is least likely if they were independent."""

    def unlikely(pair: tuple[int, int]) -> float:
        own, expected = _margin(table, pair), _margin(fitted, pair)
        seen = own > 0
        degrees = (table.shape[pair[0]] - 1) * (table.shape[pair[1]] - 1)
        return float((2 * (own[seen] * np.log(own[seen] / expected[seen])).sum() - degrees) / math.sqrt(2 * degrees))

    pairs = [pair for pair in combinations(range(table.ndim), 2) if min(table.shape[axis] for axis in pair) > 1]
    return sorted(pairs, key=lambda pair: (-unlikely(pair), pair))


def _fit(table: Floats, start: Floats, interactions: Sequence[tuple[int, int]]) -> Floats:
    """The model with some interactions, from a model that has no others."""
    fitted = start.copy()
    alone = [(axis,) for axis in range(table.ndim) if all(axis not in pair for pair in interactions)]
    margins = [(kept, _margin(table, kept)) for kept in (*interactions, *alone)]
    for _ in range(MOST_ROUNDS):
        farthest = 0.0
        for kept, wanted in margins:
            own = _margin(fitted, kept)
            farthest = max(farthest, float((np.abs(own - wanted) / (1.0 + wanted * FITTED)).max()))
            fitted *= np.divide(wanted, own, out=np.zeros_like(own), where=own > 0)
        if farthest < FITTED:
            break
    return fitted


def _judge(table: Floats, fitted: Floats, alone: tuple[Longs, ...], fraction: float, interactions: Pairs) -> LogLinear:
    """A model with its criterion and its estimates."""
    missed = (1 - fraction) / fraction
    h = np.exp(-missed * fitted)
    with_one, slope = fitted * np.exp(-fitted), (1 - fitted) * np.exp(-fitted)
    first, second = -missed * h, missed**2 * h
    of_error, of_square = -with_one * first, -slope * first - with_one * second / 2
    off = table - fitted
    error = float((of_error * off + of_square * (off**2 - table)).sum())
    variance = float((of_error**2 * fitted + 2 * of_square**2 * fitted**2).sum())
    means = missed * fitted[alone]
    chances = np.exp(-means)
    matched = np.divide(-np.expm1(-means), means, out=np.ones_like(means), where=means > 0)
    expected = float(chances.sum())
    deviation = math.sqrt(float((chances * (1 - chances)).sum()) + expected * (1 - fraction)) / fraction
    criterion = error / math.sqrt(variance) if variance > 0 else 0.0
    return LogLinear(interactions, criterion, expected, float(matched.sum()), deviation)
