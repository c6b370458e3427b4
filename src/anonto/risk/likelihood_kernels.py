"""Compiled loops of likelihood linkage: logarithms of likelihoods, targets × released records, summed up by columns.

A released record has for each column the number of its value, and the number behind the last for a missing cell.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anonto.methods.law_kernels import Stretches, pair_probability
from anonto.risk.kernels import TIE, squared_distance

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]

SURE = 1e-9
"""Shares below this are lost in rounding."""
EQUALLY_LIKELY = 1e-9
"""Likelihoods whose logarithms differ by less are equal."""


@njit(cache=True, nogil=True)
def add_cells(scores: Floats, rows: Floats, released: Ints, times: float) -> None:
    """Add the logarithms of one column; what is impossible stays so.

    Args:
        scores: Targets × released records.
        rows: Targets × values.
        released: For each released record its value.
        times: What the logarithms are multiplied by.
    """
    for t in range(scores.shape[0]):
        for r in range(released.size):
            found = rows[t, released[r]]
            if found == -np.inf:
                scores[t, r] = -np.inf
            else:
                scores[t, r] += times * found


@njit(cache=True, nogil=True)
def add_equal(scores: Floats, targets: Ints, released: Ints) -> None:
    """Make records impossible whose value differs from that of the target."""
    for t in range(scores.shape[0]):
        for r in range(released.size):
            if targets[t] != released[r]:
                scores[t, r] = -np.inf


@njit(cache=True, nogil=True)
def pair_tables(
    of_a: Stretches, of_b: Stretches, correlation: float, roots: Floats, shares: Floats, out: Floats
) -> None:
    """The logarithms for all pairs of classes of two columns: targets × classes × classes."""
    for t in range(out.shape[0]):
        for a in range(out.shape[1]):
            for b in range(out.shape[2]):
                found = pair_probability(of_a, of_b, t, a, b, correlation, roots, shares)
                out[t, a, b] = math.log(found) if found > 0.0 else -np.inf


@njit(cache=True, nogil=True)
def add_from_tables(
    scores: Floats, tables: Floats, classes_a: Ints, classes_b: Ints, released_a: Ints, released_b: Ints
) -> None:
    """Add the logarithms of two columns together from tables of their classes."""
    for t in range(scores.shape[0]):
        for r in range(released_a.size):
            a, b = classes_a[t, released_a[r]], classes_b[t, released_b[r]]
            scores[t, r] = scores[t, r] + tables[t, a, b] if a >= 0 and b >= 0 else -np.inf


@njit(cache=True, nogil=True)
def add_pairs(
    scores: Floats,
    of_a: Stretches,
    of_b: Stretches,
    classes_a: Ints,
    classes_b: Ints,
    released_a: Ints,
    released_b: Ints,
    correlation: float,
    roots: Floats,
    shares: Floats,
) -> None:
    """Add the logarithms of two columns together, computed record by record."""
    for t in range(scores.shape[0]):
        for r in range(released_a.size):
            a, b = classes_a[t, released_a[r]], classes_b[t, released_b[r]]
            if scores[t, r] == -np.inf:
                continue
            if a < 0 or b < 0:
                scores[t, r] = -np.inf
                continue
            found = pair_probability(of_a, of_b, t, a, b, correlation, roots, shares)
            scores[t, r] = scores[t, r] + math.log(found) if found > 0.0 else -np.inf


@njit(cache=True, nogil=True)
def link(
    scores: Floats,
    amounts: Longs,
    persons: Longs,
    own: Ints,
    targets: Ints,
    target_numbers: Floats,
    released: Ints,
    released_numbers: Floats,
    tables: Floats,
    offsets: Longs,
    widths: Longs,
    hits: Floats,
) -> None:
    """For each person the probability that the record taken for hers is hers.

    Args:
        scores: Targets × released records.
        amounts: How many rows have each released record.
        persons: For each person the row of her target in ``scores``.
        own: For each person the number of her own released record.
        targets: Codes in columns that decide between equally likely records by their distance; there may be none.
        target_numbers: See `anonto.risk.kernels`, as for all that follow.
        released: See there.
        released_numbers: See there.
        tables: See there.
        offsets: See there.
        widths: See there.
        hits: For the answer.
    """
    n_targets, n_records = scores.shape
    best, least, ties = np.full(n_targets, -np.inf), np.full(n_targets, np.inf), np.zeros(n_targets, np.int64)
    by_distance = targets.shape[1] > 0
    for t in range(n_targets):
        for r in range(n_records):
            best[t] = max(best[t], scores[t, r])
        for r in range(n_records):
            if scores[t, r] >= best[t] - EQUALLY_LIKELY:
                distance = 0.0
                if by_distance:
                    distance = squared_distance(
                        targets[t], released[r], target_numbers[t], released_numbers[r], tables, offsets, widths
                    )
                if distance < least[t] * (1.0 - TIE):
                    least[t], ties[t] = distance, amounts[r]
                elif distance <= least[t] * (1.0 + TIE):
                    ties[t] += amounts[r]
    for i in range(persons.size):
        t, r = persons[i], own[i]
        hits[i] = 0.0
        if scores[t, r] < best[t] - EQUALLY_LIKELY:
            continue
        distance = 0.0
        if by_distance:
            distance = squared_distance(
                targets[t], released[r], target_numbers[t], released_numbers[r], tables, offsets, widths
            )
        if distance <= least[t] * (1.0 + TIE):
            hits[i] = 1.0 / ties[t]


@njit(cache=True, nogil=True)
def sum_by_group(rows: Floats, weights: Floats, is_last: Bools, sums: Floats, total: Floats, best: Floats) -> None:
    """Add up weighted rows, one group after the other, and keep the largest sum of a group.

    Args:
        rows: What is added.
        weights: For each row.
        is_last: For each row whether its group ends with it.
        sums: Of the group that is not whole yet.
        total: Of all groups.
        best: The largest of a group.
    """
    for i in range(rows.shape[0]):
        for y in range(rows.shape[1]):
            sums[y] += weights[i] * rows[i, y]
        if is_last[i]:
            for y in range(rows.shape[1]):
                total[y] += sums[y]
                best[y] = max(best[y], sums[y])
                sums[y] = 0.0


@njit(cache=True, nogil=True)
def largest_odds(rows: Floats, weights: Floats, is_last: Bools, sums: Floats, total: Floats, prior: Floats) -> float:
    """By how much a released value raises the odds of a group at most, as a logarithm.

    Args:
        rows: As in `sum_by_group`, as are weights (which sum up to 1), is_last and sums.
        weights: See there.
        is_last: See there.
        sums: See there.
        total: Of all groups, as found there.
        prior: One number: the weight of the group that is not whole yet.
    """
    found = 0.0
    for i in range(rows.shape[0]):
        prior[0] += weights[i]
        for y in range(rows.shape[1]):
            sums[y] += weights[i] * rows[i, y]
        if is_last[i]:
            others = 1.0 - prior[0]
            for y in range(rows.shape[1]):
                rest = total[y] - sums[y]
                if sums[y] > 0.0 and rest > SURE * total[y] and others > SURE:
                    found = max(found, math.log(sums[y] / rest * others / prior[0]))
                sums[y] = 0.0
            prior[0] = 0.0
    return found
