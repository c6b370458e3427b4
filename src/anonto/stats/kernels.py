"""Compiled sums over tables of distances: arrays in, numbers out, nothing as large as the tables is made on the way."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


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


BLOCK = 8
"""Values of b done at once: as many numbers as a cache line holds."""


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def mean_product(
    of_a: Floats, of_b: Floats, pair_a: Ints, pair_b: Ints, shares: Floats, by_b: NDArray[np.int64]
) -> float:
    """Σ (Dᴬ P) ∘ (P Dᴮ) over the pairs of values that occur, with their shares, sorted by the value of a.

    Args:
        of_a: Distances of the values of a.
        of_b: Distances of the values of b.
        pair_a: The value of a of each pair.
        pair_b: The value of b of each pair.
        shares: The share of the records that each pair has.
        by_b: The numbers of the pairs in order of their value of b.
    """
    n_a, n_b = of_a.shape[0], of_b.shape[0]
    left = np.empty((BLOCK, n_a), np.float64)
    packed_left = np.empty((n_a, BLOCK), np.float64)
    packed_right = np.empty((n_b, BLOCK), np.float64)
    sums = np.zeros(BLOCK, np.float64)
    place = 0
    for first in range(0, n_b, BLOCK):
        width = min(BLOCK, n_b - first)
        left[:] = 0.0
        while place < by_b.size and pair_b[by_b[place]] < first + width:
            pair = by_b[place]
            line, row, share = left[pair_b[pair] - first], of_a[pair_a[pair]], shares[pair]
            for i in range(n_a):
                line[i] += share * row[i]
            place += 1
        for i in range(n_a):
            for t in range(BLOCK):
                packed_left[i, t] = left[t, i]
        for j in range(n_b):
            for t in range(BLOCK):
                packed_right[j, t] = of_b[first + t, j] if t < width else 0.0
        for pair in range(pair_a.size):
            one, other, share = packed_left[pair_a[pair]], packed_right[pair_b[pair]], shares[pair]
            for t in range(BLOCK):
                sums[t] += share * one[t] * other[t]
    total: float = sums.sum()
    return total
