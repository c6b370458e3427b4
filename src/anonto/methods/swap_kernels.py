"""Compiled loops of the naive swaps: partners in a window of one order, and random meetings of two halves.

The steps named in `swap_in_windows` are those of its plain version, `anonto.methods.plain.rank_swap_fixed`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Ints, Longs

LOG_FACTORIALS = np.array([math.lgamma(n + 1.0) for n in range(256)])
HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)

TRIES = 16
"""Random looks into a window before its free places are listed."""


@njit(cache=True, nogil=True)
def swap_in_windows(ordered: Ints, k: int, generator: np.random.Generator) -> tuple[Ints, Ints, int]:
    """Exchange the value of each place that is still free with that of a random free one of the next k places.

    Returns the exchanged values, left and right, and how many places found no free one.
    """
    n = ordered.size
    free = np.ones(n, np.bool_)
    left = np.empty(n // 2, np.int32)
    right = np.empty(n // 2, np.int32)
    listed = np.empty(min(k, max(n, 1)), np.int64)
    pairs = 0
    alone = 0
    for i in range(n):
        if not free[i]:
            continue
        # Step 3: the interval has the next k places; one that is still free is drawn from it, at first by random looks.
        width = min(k, n - 1 - i)
        chosen = np.int64(-1)
        for _ in range(TRIES if width > 0 else 0):
            candidate = i + 1 + generator.integers(0, width)
            if free[candidate]:
                chosen = candidate
                break
        # Where the looks found none, the free places are listed and one of them is drawn.
        if chosen < 0:
            found = 0
            for behind in range(i + 1, i + 1 + width):
                if free[behind]:
                    listed[found] = behind
                    found += 1
            if found > 0:
                chosen = listed[generator.integers(0, found)]
        # The exchange; without a free place in the interval the value stays.
        free[i] = False
        if chosen < 0:
            alone += 1
            continue
        free[chosen] = False
        left[pairs] = ordered[i]
        right[pairs] = ordered[chosen]
        pairs += 1
    return left[:pairs], right[:pairs], alone


@njit(cache=True, nogil=True)
def meet(left: Longs, pool: Longs, generator: np.random.Generator, met: Longs) -> None:
    """Draw partners for the records of each value on the left from a pool, without replacement.

    A multivariate hypergeometric draw for each value on the left, one value of the pool after the other.

    Args:
        left: How many records each value has; together as many as the pool.
        pool: How many records of each value there are to draw; empty afterwards.
        generator: Where the draws come from.
        met: Receives how many each value on the left drew of each in the pool.
    """
    total = pool.sum()
    for value in range(left.size):
        wanted, behind = left[value], total
        for other in range(pool.size):
            if wanted == 0:
                break
            # Of the records still wanted, those of this value against all that come later in the pool.
            behind -= pool[other]
            drawn = hypergeometric(pool[other], behind, wanted, generator)
            met[value, other] = drawn
            pool[other] -= drawn
            wanted -= drawn
        total -= left[value]


@njit(cache=True, nogil=True)
def hypergeometric(good: int, bad: int, n_drawn: int, generator: np.random.Generator) -> int:
    """The number of good ones among some drawn without replacement: by inversion, outwards from the mode."""
    least, most = max(0, n_drawn - bad), min(good, n_drawn)
    if least == most:
        return least
    likeliest = min(max(int((n_drawn + 1.0) * (good + 1.0) / (good + bad + 2.0)), least), most)
    density = math.exp(
        _log_choices(good, likeliest) + _log_choices(bad, n_drawn - likeliest) - _log_choices(good + bad, n_drawn)
    )
    # Inversion: probabilities of the numbers above and below the mode, in turn, until they exceed the uniform number.
    left_over = generator.random() - density
    below, above = likeliest, likeliest
    density_below, density_above = density, density
    while left_over > 0.0 and (below > least or above < most):
        if above < most:
            density_above *= np.float64(good - above) * (n_drawn - above)
            above += 1
            density_above /= np.float64(above) * (bad - n_drawn + above)
            left_over -= density_above
            if left_over <= 0.0:
                return above
        if below > least:
            density_below *= np.float64(below) * (bad - n_drawn + below)
            density_below /= np.float64(good - below + 1) * (n_drawn - below + 1)
            below -= 1
            left_over -= density_below
            if left_over <= 0.0:
                return below
    return likeliest


@njit(cache=True, nogil=True)
def _log_choices(n: int, k: int) -> float:
    return _log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)


@njit(cache=True, nogil=True)
def _log_factorial(n: int) -> float:
    """Exact for few, by Stirling's series beyond, to the last digits of a double."""
    if n < LOG_FACTORIALS.size:
        return float(LOG_FACTORIALS[n])
    inverse = 1.0 / n
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
    return (n + 0.5) * math.log(n) - n + HALF_LOG_TAU + series
