"""Compiled sums over tables of distances: arrays in, numbers out, nothing as large as the tables is made on the way."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def weighted_rows(distances: Floats, shares: Floats) -> tuple[Floats, float]:
    """The mean of each row, and the mean square of all distances."""
    means = np.empty(distances.shape[0], np.float64)
    square = 0.0
    for i in range(distances.shape[0]):
        row = distances[i]
        of_row = 0.0
        square_of_row = 0.0
        for j in range(row.size):
            weighted = row[j] * shares[j]
            of_row += weighted
            square_of_row += weighted * row[j]
        means[i] = of_row
        square += square_of_row * shares[i]
    return means, square


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def weighted_band(band: Floats, shares: Floats, means: Floats) -> float:
    """The part of some rows in the mean square of all distances, and in the mean of each row, which is added to.

    The first columns of the band are its rows; the distances to the other columns count both ways.
    """
    n_rows = band.shape[0]
    other_shares, other_means = shares[n_rows:], means[n_rows:]
    square = 0.0
    for i in range(n_rows):
        own, others, share = band[i, :n_rows], band[i, n_rows:], shares[i]
        of_row = 0.0
        of_own = 0.0
        for j in range(own.size):
            weighted = own[j] * shares[j]
            of_row += weighted
            of_own += weighted * own[j]
        of_others = 0.0
        for j in range(others.size):
            weighted = others[j] * other_shares[j]
            of_row += weighted
            of_others += weighted * others[j]
        for j in range(others.size):
            other_means[j] += share * others[j]
        means[i] += of_row
        square += (of_own + 2.0 * of_others) * share
    return square


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def mean_product(
    of_a: Floats, band: Floats, first_column: int, values: Longs, starts: Ints, pair_a: Ints, shares: Floats
) -> float:
    """The part of some values of b in Σ (Dᴬ P) ∘ (P Dᴮ), over the pairs of values that occur.

    Args:
        of_a: Distances of the values of a.
        band: Distances of the first of the values of b, a row each.
        first_column: Where in the band the distances to the values of b begin.
        values: Values of b: those of the rows, then those whose distances to them count both ways.
        starts: The first pair of each value of b.
        pair_a: The value of a of each pair.
        shares: The share of the records that each pair has.
    """
    n_a, n_rows = of_a.shape[0], band.shape[0]
    left = np.zeros((n_rows, n_a), np.float64)
    for t in range(n_rows):
        line = left[t]
        for pair in range(starts[values[t]], starts[values[t] + 1]):
            distances, share = of_a[pair_a[pair]], shares[pair]
            for i in range(n_a):
                line[i] += share * distances[i]
    by_a = np.empty((n_a, n_rows), np.float64)
    for i in range(n_a):
        for t in range(n_rows):
            by_a[i, t] = left[t, i]
    of_value = np.empty(n_rows, np.float64)
    own = 0.0
    both_ways = 0.0
    for j in range(values.size):
        of_value[:] = 0.0
        for pair in range(starts[values[j]], starts[values[j] + 1]):
            one, share = by_a[pair_a[pair]], shares[pair]
            for t in range(n_rows):
                of_value[t] += share * one[t]
        product = 0.0
        for t in range(n_rows):
            product += of_value[t] * band[t, first_column + j]
        if j < n_rows:
            own += product
        else:
            both_ways += product
    return own + 2.0 * both_ways
