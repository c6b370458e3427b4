"""Compiled sums over tables of distances: arrays in, numbers out, nothing as large as the tables is made on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.arithmetic import sum_of_products

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs


@njit(cache=True, nogil=True)
def weigh_rows(distances: Floats, shares: Floats) -> tuple[Floats, float]:
    """The mean of each row, and the mean square of all distances, of a symmetric table.

    Rows are added to each other, so that a processor adds several columns at once without changing the order of a sum.
    """
    means = np.zeros(distances.shape[0], np.float64)
    squares = np.zeros(distances.shape[0], np.float64)
    for i in range(distances.shape[0]):
        _add_row(distances[i], shares[i], means, squares)
    return means, sum_of_products(squares, shares)


@njit(cache=True, nogil=True)
def _add_row(row: Floats, share: float, means: Floats, squares: Floats) -> None:
    for j in range(row.size):
        weighted = share * row[j]
        means[j] += weighted
        squares[j] += weighted * row[j]


@njit(cache=True, nogil=True)
def weigh_band(band: Floats, shares: Floats, means: Floats) -> float:
    """The share of some rows in the mean square of all distances; their share in the row means is added to ``means``.

    The first columns of the band are its rows; the distances to the other columns count both ways.
    """
    n_rows = band.shape[0]
    squares = np.zeros(band.shape[1], np.float64)
    for i in range(n_rows):
        _add_row(band[i], shares[i], means, squares)
    # The distances to the other columns, seen from the rows.
    for i in range(n_rows):
        means[i] += sum_of_products(band[i, n_rows:], shares[n_rows:])
    own = sum_of_products(squares[:n_rows], shares[:n_rows])
    return own + 2.0 * sum_of_products(squares[n_rows:], shares[n_rows:])


@njit(cache=True, nogil=True)
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
    # Dᴬ P, a row for each value of b that is a row of the band.
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
    # Each value of b: its column of Pᵀ Dᴬ P times its distances to the rows; columns that are not rows count twice.
    of_value = np.empty(n_rows, np.float64)
    own = 0.0
    both_ways = 0.0
    for j in range(values.size):
        of_value[:] = 0.0
        for pair in range(starts[values[j]], starts[values[j] + 1]):
            one, share = by_a[pair_a[pair]], shares[pair]
            for t in range(n_rows):
                of_value[t] += share * one[t]
        product = sum_of_products(of_value, band[:, first_column + j])
        if j < n_rows:
            own += product
        else:
            both_ways += product
    return own + 2.0 * both_ways
