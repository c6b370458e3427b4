"""Compiled loops of likelihood linkage: logarithms of likelihoods, targets × released records, added column by column.

A released record has for each column the number of its value; for a missing cell the number after the last value.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.attacks.compute.kernels import TIE, squared_distance
from anonto.methods.likelihood_kernels import IntervalArrays, pair_probability

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Ints, Longs
    from anonto.attacks.compute.kernels import DistanceTables, RecordArrays

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
    of_a: IntervalArrays, of_b: IntervalArrays, correlation: float, sizes: tuple[Floats, Floats], out: Floats
) -> None:
    """The logarithms for all pairs of classes of two columns: targets × classes × classes."""
    roots, shares = sizes
    for t in range(out.shape[0]):
        for a in range(out.shape[1]):
            for b in range(out.shape[2]):
                found = pair_probability(of_a, of_b, t, a, b, correlation, roots, shares)
                out[t, a, b] = math.log(found) if found > 0.0 else -np.inf


@njit(cache=True, nogil=True)
def add_from_tables(scores: Floats, tables: Floats, classes: tuple[Ints, Ints], released: tuple[Ints, Ints]) -> None:
    """Add the logarithms of two columns together from tables of their classes."""
    classes_a, classes_b = classes
    released_a, released_b = released
    for t in range(scores.shape[0]):
        for r in range(released_a.size):
            a, b = classes_a[t, released_a[r]], classes_b[t, released_b[r]]
            scores[t, r] = scores[t, r] + tables[t, a, b] if a >= 0 and b >= 0 else -np.inf


@njit(cache=True, nogil=True)
def add_pairs(
    scores: Floats,
    of_a: IntervalArrays,
    of_b: IntervalArrays,
    classes: tuple[Ints, Ints],
    released: tuple[Ints, Ints],
    correlation: float,
    sizes: tuple[Floats, Floats],
) -> None:
    """Add the logarithms of two columns together, computed record by record.

    Args:
        scores: Targets × released records.
        of_a: Intervals of standard noise of the first column.
        of_b: The same for the second.
        classes: For each of the two, targets × values: the class of a value; −1 for an impossible one.
        released: For each of the two the value of each released record.
        correlation: Correlation of their noise.
        sizes: Sizes of the noise and their shares.
    """
    classes_a, classes_b = classes
    released_a, released_b = released
    roots, shares = sizes
    for t in range(scores.shape[0]):
        for r in range(released_a.size):
            a, b = classes_a[t, released_a[r]], classes_b[t, released_b[r]]
            # Integrals are costly: none for a record that is impossible already.
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
    targets: RecordArrays,
    released: RecordArrays,
    tables: DistanceTables,
    hits: Floats,
) -> None:
    """The probability that the record taken for each person's is hers.

    Args:
        scores: Targets × released records.
        amounts: How many rows have each released record.
        persons: For each person the row of her target in ``scores``.
        own: For each person the number of her own released record.
        targets: Cells in columns whose distances decide between equally likely records; there may be none.
        released: The same of the released records.
        tables: Distances of these cells.
        hits: Set to the probabilities.
    """
    n_targets, n_records = scores.shape
    best, least, ties = np.full(n_targets, -np.inf), np.full(n_targets, np.inf), np.zeros(n_targets, np.int64)
    for t in range(n_targets):
        # The likeliest record.
        for r in range(n_records):
            best[t] = max(best[t], scores[t, r])
        # Of the equally likely ones the nearest, or all that tie for it.
        for r in range(n_records):
            if scores[t, r] >= best[t] - EQUALLY_LIKELY:
                distance = squared_distance(targets, t, released, r, tables)
                if distance < least[t] * (1.0 - TIE):
                    least[t], ties[t] = distance, amounts[r]
                elif distance <= least[t] * (1.0 + TIE):
                    ties[t] += amounts[r]
    # A hit if the person's own record is one of them.
    for i in range(persons.size):
        t, r = persons[i], own[i]
        hits[i] = 0.0
        if scores[t, r] < best[t] - EQUALLY_LIKELY:
            continue
        if squared_distance(targets, t, released, r, tables) <= least[t] * (1.0 + TIE):
            hits[i] = 1.0 / ties[t]


@njit(cache=True, nogil=True)
def sum_by_group(rows: Floats, weights: Floats, is_last: Bools, sums: Floats, total: Floats, best: Floats) -> None:
    """Add up weighted rows, one group after the other, and keep the largest sum of a group.

    Args:
        rows: The rows to add.
        weights: Their weights.
        is_last: For each row whether its group ends with it.
        sums: Sums of the group that is not complete yet.
        total: Sums of all groups.
        best: The largest sums of a group.
    """
    for i in range(rows.shape[0]):
        for y in range(rows.shape[1]):
            sums[y] += weights[i] * rows[i, y]
        # The group is complete: add its sums to the total, and begin the next.
        if is_last[i]:
            for y in range(rows.shape[1]):
                total[y] += sums[y]
                best[y] = max(best[y], sums[y])
                sums[y] = 0.0


@njit(cache=True, nogil=True)
def largest_odds(rows: Floats, weights: Floats, is_last: Bools, sums: Floats, total: Floats, prior: Floats) -> float:
    """The most by which a released value raises the odds of a group, as a logarithm.

    Args:
        rows: As in `sum_by_group`, as are weights (which sum up to 1), is_last and sums.
        weights: See there.
        is_last: See there.
        sums: See there.
        total: Sums of all groups, as found there.
        prior: One number: the weight of the group that is not complete yet.
    """
    found = 0.0
    for i in range(rows.shape[0]):
        prior[0] += weights[i]
        for y in range(rows.shape[1]):
            sums[y] += weights[i] * rows[i, y]
        # The group is complete: its odds after a value, against all others, divided by its odds before.
        if is_last[i]:
            others = 1.0 - prior[0]
            for y in range(rows.shape[1]):
                rest = total[y] - sums[y]
                if sums[y] > 0.0 and rest > SURE * total[y] and others > SURE:
                    found = max(found, math.log(sums[y] / rest * others / prior[0]))
                sums[y] = 0.0
            prior[0] = 0.0
    return found
