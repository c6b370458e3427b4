"""Contribution of a column to the squared S-distance of two records: variance of the pair over that of the column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import dot, matrix_product

if TYPE_CHECKING:
    from anonto.arrays import Floats, Longs


SCALES = ("mean", "paper")


def numbers_in_pair_units(numbers: Floats, counts: Longs) -> Floats:
    """Numbers in units in which a squared difference is (x − y)²/2 over the sample variance; all 0 without variance.

    Args:
        numbers: The distinct numbers of a column.
        counts: How many records have each.
    """
    largest = float(np.abs(numbers).max(initial=0.0))
    units = numbers / largest if largest > 0 else numbers
    n = int(counts.sum())
    centred = units - dot(counts, units) / max(n, 1)
    variance = dot(counts, centred**2) / (n - 1) if n > 1 else 0.0
    return np.asarray(centred / np.sqrt(2.0 * variance) if variance > 0 else np.zeros_like(centred))


def weight_of_pairs(distances: Floats | None, counts: Longs, scale: str) -> float:
    """Factor of the distance of two values: one over the marginality variance; 0 without variance.

    Args:
        distances: Of all pairs of the distinct values of a column; None where two values are equal or not.
        counts: How many records have each value.
        scale: ``"paper"``, or ``"mean"`` for the variance divided by n − 1: the mean distance of two records.
    """
    n = int(counts.sum())
    if n < 2:
        return 0.0
    variance = n - dot(counts, counts) / n if distances is None else dot(matrix_product(distances, counts), counts) / n
    if scale == "mean":
        variance /= n - 1
    return 1.0 / variance if variance > 0 else 0.0
