"""Compiled loops of the attacks: codes and flat tables of squared distances in, arrays out.

All tables of a space lie in one flat array: the squared distance of values a and b of column j is
``tables[offsets[j] + a * widths[j] + b]``. A column of numbers has width 0 and one entry, ``tables[offsets[j]]``: what
the difference of two numbers is multiplied by before it is squared. Numbers themselves are never scaled, so that equal
differences stay equal, and a squared distance is 0 only where the numbers are the same. A missing cell is at squared
distance 1 to a value and 0 to another missing cell.

The steps named in `nearest` are those of its plain version, `anonto.risk.plain.distance_linkage`.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

TIE = 1e-9
"""Distances are the same if they differ by no more than this share of them; so nothing but 0 is the same as 0."""
ROUNDING = 1e-12
"""What a difference that is compared with a fixed bound may be above it."""


@njit(cache=True, nogil=True)
def squared_distance(
    x: Ints, y: Ints, x_numbers: Floats, y_numbers: Floats, tables: Floats, offsets: Longs, widths: Longs
) -> float:
    """Of two records."""
    total = 0.0
    for j in range(x.size):
        if x[j] < 0 or y[j] < 0:
            total += 0.0 if x[j] == y[j] else 1.0
        elif widths[j] > 0:
            total += tables[offsets[j] + x[j] * widths[j] + y[j]]
        else:
            difference = (x_numbers[j] - y_numbers[j]) * tables[offsets[j]]
            total += difference * difference
    return total


@njit(cache=True, nogil=True)
def nearest(
    targets: Ints,
    target_numbers: Floats,
    released: Ints,
    released_numbers: Floats,
    amounts: Longs,
    tables: Floats,
    offsets: Longs,
    widths: Longs,
    lead_bounds: Floats,
    lead_order: Ints,
    lead_starts: Longs,
    lead_of_target: Ints,
    least: Floats,
    n_least: Longs,
) -> None:
    """For each target the least squared distance to a released record, and how many rows are at it.

    Released records are sorted by their group in a leading column; the groups are walked in order of their distance to
    the target's own group there, and the walk ends when that distance alone exceeds the best.

    Args:
        targets: Codes of the targets.
        target_numbers: Numbers of the targets, in the columns that have them.
        released: Codes of the distinct released records, sorted by group.
        released_numbers: Their numbers.
        amounts: How many rows have each.
        tables: As above.
        offsets: As above.
        widths: As above.
        lead_bounds: Groups × groups: the least squared distance of any two of their values in the leading column.
        lead_order: For each group all groups, nearest first.
        lead_starts: The first released record of each group.
        lead_of_target: The group of each target.
        least: For the answer.
        n_least: For the answer.
    """
    for i in range(targets.shape[0]):
        # Steps 1 and 2: the least squared distance to any released row, and how many rows are at it.
        best = np.inf
        n_best = 0
        group = lead_of_target[i]
        for step in range(lead_order.shape[1]):
            other = lead_order[group, step]
            if lead_bounds[group, other] > best * (1.0 + TIE):
                break
            for r in range(lead_starts[other], lead_starts[other + 1]):
                distance = squared_distance(
                    targets[i], released[r], target_numbers[i], released_numbers[r], tables, offsets, widths
                )
                if distance < best * (1.0 - TIE):
                    best = distance
                    n_best = amounts[r]
                elif distance <= best * (1.0 + TIE):
                    n_best += amounts[r]
        least[i] = best
        n_least[i] = n_best


@njit(cache=True, nogil=True)
def squared_distances(
    a: Ints,
    b: Ints,
    a_numbers: Floats,
    b_numbers: Floats,
    tables: Floats,
    offsets: Longs,
    widths: Longs,
    out: Floats,
) -> None:
    """Of pairs of records, one by one."""
    for i in range(a.shape[0]):
        out[i] = squared_distance(a[i], b[i], a_numbers[i], b_numbers[i], tables, offsets, widths)


@njit(cache=True, nogil=True)
def infer(
    targets: Ints,
    target_numbers: Floats,
    truth: Floats,
    own: Longs,
    released: Ints,
    released_numbers: Floats,
    amounts: Longs,
    told: Floats,
    close: float,
    tables: Floats,
    offsets: Longs,
    widths: Longs,
    right: Floats,
    control: Floats,
) -> None:
    """How often the nearest released rows tell a person's secret; and the same without the person's own row.

    Args:
        targets: Persons, as rows of the tables of distances.
        target_numbers: Their numbers.
        truth: Their secrets.
        own: The released record of each.
        released: The distinct released records.
        released_numbers: Their numbers.
        amounts: How many rows have each.
        told: The secret that each tells.
        close: Secrets no further apart are the same.
        tables: Squared distances of values, flat.
        offsets: Where the table of each column begins.
        widths: How wide it is; 0 for numbers.
        right: For the answer.
        control: For the answer without the own row.
    """
    for i in range(targets.shape[0]):
        secret = truth[i]
        best, n_best, n_right = np.inf, 0, 0
        best_other, n_other, n_right_other = np.inf, 0, 0
        for r in range(released.shape[0]):
            distance = squared_distance(
                targets[i], released[r], target_numbers[i], released_numbers[r], tables, offsets, widths
            )
            tells = abs(told[r] - secret) <= close + ROUNDING
            if distance < best * (1.0 - TIE):
                best, n_best, n_right = distance, 0, 0
            if distance <= best * (1.0 + TIE):
                n_best += amounts[r]
                n_right += amounts[r] * tells
            others = amounts[r] - (r == own[i])
            if others == 0:
                continue
            if distance < best_other * (1.0 - TIE):
                best_other, n_other, n_right_other = distance, 0, 0
            if distance <= best_other * (1.0 + TIE):
                n_other += others
                n_right_other += others * tells
        right[i] = n_right / max(n_best, 1)
        control[i] = n_right_other / max(n_other, 1)


@njit(cache=True, nogil=True)
def least_largest_shift(
    targets: Ints,
    own_ranks: Floats,
    released: Ints,
    number_ranks: Floats,
    tables: Floats,
    offsets: Longs,
    widths: Longs,
    out: Floats,
) -> None:
    """For each target the least, over released records, of the largest difference in rank over the columns.

    Args:
        targets: Codes of the targets.
        own_ranks: Their rank in each column.
        released: Codes of the distinct released records.
        number_ranks: Their rank in the columns of numbers.
        tables: For each nominal column, flat, the rank of each value in the order of distance from each value.
        offsets: As above.
        widths: As above.
        out: For the answer.
    """
    for i in range(targets.shape[0]):
        best = np.inf
        for r in range(released.shape[0]):
            largest = 0.0
            for j in range(targets.shape[1]):
                x, y = targets[i, j], released[r, j]
                if x < 0 or y < 0:
                    shift = 0.0 if x == y else np.inf
                elif widths[j] > 0:
                    shift = abs(tables[offsets[j] + x * widths[j] + y] - own_ranks[i, j])
                else:
                    shift = abs(number_ranks[r, j] - own_ranks[i, j])
                largest = max(largest, shift)
                if largest >= best:
                    break
            best = min(best, largest)
            if best == 0.0:
                break
        out[i] = best


@njit(cache=True, nogil=True)
def keep_nearest(
    record: int,
    distance: float,
    amounts: Longs,
    wanted: int,
    n_found: int,
    n_rows: int,
    found: Ints,
    distances: Floats,
) -> tuple[int, int]:
    """Put a record into the list of the nearest ones if it is one of them; how many these are, and how many rows.

    Args:
        record: The number of the record.
        distance: How far it is.
        amounts: How many rows have each record.
        wanted: So many rows are enough.
        n_found: How many records are in the list.
        n_rows: How many rows they have.
        found: The list, nearest first.
        distances: How far they are.
    """
    most = found.size
    if n_rows >= wanted and distance >= distances[n_found - 1]:
        return n_found, n_rows
    place = min(n_found, most - 1)
    if n_found == most and distance >= distances[place]:
        return n_found, n_rows
    if n_found == most:
        n_rows -= amounts[found[place]]
    else:
        n_found += 1
    while place > 0 and distances[place - 1] > distance:
        distances[place] = distances[place - 1]
        found[place] = found[place - 1]
        place -= 1
    distances[place] = distance
    found[place] = record
    n_rows += amounts[record]
    while n_found > 1 and n_rows - amounts[found[n_found - 1]] >= wanted:
        n_found -= 1
        n_rows -= amounts[found[n_found]]
    return n_found, n_rows


@njit(cache=True, nogil=True)
def nearest_some(
    targets: Ints,
    target_numbers: Floats,
    released: Ints,
    released_numbers: Floats,
    amounts: Longs,
    tables: Floats,
    offsets: Longs,
    widths: Longs,
    lead_bounds: Floats,
    lead_order: Ints,
    lead_starts: Longs,
    lead_of_target: Ints,
    wanted: int,
    found: Ints,
    distances: Floats,
) -> None:
    """For each target the nearest released records, nearest first, until so many rows are wanted; −1 behind them.

    The arguments are those of `nearest`.
    """
    most = found.shape[1]
    for i in range(targets.shape[0]):
        n_found = 0
        n_rows = 0
        group = lead_of_target[i]
        for step in range(lead_order.shape[1]):
            other = lead_order[group, step]
            if n_rows >= wanted and lead_bounds[group, other] > distances[i, n_found - 1]:
                break
            for r in range(lead_starts[other], lead_starts[other + 1]):
                distance = squared_distance(
                    targets[i], released[r], target_numbers[i], released_numbers[r], tables, offsets, widths
                )
                n_found, n_rows = keep_nearest(r, distance, amounts, wanted, n_found, n_rows, found[i], distances[i])
        for place in range(n_found, most):
            found[i, place] = -1
