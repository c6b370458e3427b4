"""Compiled searches in a tree over records that counts its live ones: the nearest and the farthest of a point.

A node knows between which numbers its live records lie and to which block of values they belong in each nominal column;
so it bounds their distance to any point from below and above, and whole branches are passed by. Distances are compared
after rounding to 1e-9, and equal ones by the number of the record, exactly as a walk through all records would.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from anonto.methods.grouping.arrays import (
    BOTH,
    MISSING_ONLY,
    NUMBERS_ONLY,
    Bytes,
    Floats,
    Ints,
    Longs,
    Singles,
    SpaceArrays,
    TreeArrays,
    ValueArrays,
)

DIGITS = 1e9
"""Distances are compared after rounding to one part of this."""
SLACK = 1e-12
"""The share by which bounds are widened, because sums in another order differ in their last bits."""


# ------------------------------------------------------------------------------------------------ distances


@njit(cache=True, nogil=True)
def summed(
    numbers: Floats,
    codes: Ints,
    place: int,
    point: Floats,
    values: Ints,
    gaps: Floats,
    squared: bool,
    tables: Floats,
    rows: Longs,
    weights: Floats,
) -> float:
    """What the columns of a record contribute against a point; ``rows`` is where each value's distances start."""
    total = 0.0
    for column in range(point.size):
        difference = numbers[place, column] - point[column]
        if np.isnan(difference):
            if np.isnan(point[column]) != np.isnan(numbers[place, column]):
                total += gaps[column]
        elif squared:
            total += difference * difference
        else:
            total += abs(difference)
    for column in range(values.size):
        if rows[column] >= 0:
            total += tables[rows[column] + codes[place, column]]
        elif codes[place, column] != values[column]:
            total += weights[column]
    return total


@njit(cache=True, nogil=True)
def rounded(total: float, squared: bool) -> float:
    """The distance that a sum of contributions stands for, as a whole number of rounding steps."""
    return float(np.rint((np.sqrt(total) if squared else total) * DIGITS))


@njit(cache=True, nogil=True)
def contribution(steps: float, squared: bool) -> float:
    """The sum of contributions that a number of rounding steps stands for."""
    distance = max(steps, 0.0) / DIGITS
    return distance * distance if squared else distance


@njit(cache=True, nogil=True)
def table_rows(values: Ints, starts: Longs, widths: Longs) -> Longs:
    """Where the distances of each value of a point start in the tables; −1 without a table."""
    rows = np.empty(values.size, np.int64)
    for column in range(values.size):
        rows[column] = starts[column] + values[column] * widths[column] if starts[column] >= 0 else -1
    return rows


@njit(cache=True, nogil=True)
def bound_rows(values: Ints, starts: Longs, bounds: ValueArrays) -> Longs:
    """Where the bounds of each value of a point start."""
    rows = np.empty(values.size, np.int64)
    for column in range(values.size):
        rows[column] = (
            bounds.bound_starts[column] + values[column] * bounds.n_kept[column] if starts[column] >= 0 else 0
        )
    return rows


@njit(cache=True, nogil=True)
def least_of_numbers(
    low: Floats, high: Floats, holes: Bytes, node: int, point: Floats, gaps: Floats, squared: bool
) -> float:
    """The least that the number columns of a node's live records can contribute against a point."""
    total = 0.0
    for column in range(point.size):
        number = point[column]
        away = max(low[node, column] - number, number - high[node, column], 0.0)
        least = away * away if squared else away
        if holes.shape[1] > 0:
            hole = holes[node, column]
            if np.isnan(number):
                least = gaps[column] if hole == NUMBERS_ONLY else 0.0
            elif hole == MISSING_ONLY:
                least = gaps[column]
            elif hole == BOTH:
                least = min(least, gaps[column])
        total += least
    return total


@njit(cache=True, nogil=True)
def most_of_numbers(
    low: Floats, high: Floats, holes: Bytes, node: int, point: Floats, gaps: Floats, squared: bool
) -> float:
    """The most that the number columns of a node's live records can contribute against a point."""
    total = 0.0
    for column in range(point.size):
        number = point[column]
        away = max(high[node, column] - number, number - low[node, column])
        most = away * away if squared else away
        if holes.shape[1] > 0:
            hole = holes[node, column]
            if np.isnan(number):
                most = 0.0 if hole == MISSING_ONLY else gaps[column]
            elif hole == MISSING_ONLY:
                most = gaps[column]
            elif hole == BOTH:
                most = max(most, gaps[column])
        total += most
    return total


@njit(cache=True, nogil=True)
def bound_of_values(
    slots: Ints,
    node: int,
    values: Ints,
    tables: Floats,
    rows: Longs,
    weights: Floats,
    bounds: Singles,
    rows_of_bounds: Longs,
    first: Ints,
    last: Ints,
    nearest: bool,
) -> float:
    """The least or the most that the nominal columns of a node's records can contribute against a point."""
    total = 0.0
    for column in range(values.size):
        slot = slots[node, column]
        if rows[column] >= 0:
            total += tables[rows[column] + slot] if slot >= 0 else bounds[rows_of_bounds[column] - 1 - slot]
        elif slot >= 0:
            total += weights[column] if slot != values[column] else 0.0
        elif not nearest or not first[-1 - slot] <= values[column] < last[-1 - slot]:
            total += weights[column]
    return total


# ------------------------------------------------------------------------------------------------ searching


@njit(cache=True, nogil=True)
def farthest(
    space: SpaceArrays, bounds: ValueArrays, tree: TreeArrays, live: Longs, point: Floats, values: Ints
) -> tuple[int, int]:
    """The place of the live record farthest from a point, of equally far ones the lowest; and how many nodes it took.

    The numbers and codes of the space are in the order of the tree.
    """
    numbers, gaps, codes, tables, starts, widths, weights, squared = space
    records, _, begin, end, child, _, least, slots, alive, low, high, holes, depth = tree
    first, last, most_of_blocks = bounds.first, bounds.last, bounds.farthest
    rows, rows_of_bounds = table_rows(values, starts, widths), bound_rows(values, starts, bounds)
    stack = np.empty(2 * depth + 2, np.int32)
    reach = np.empty(2 * depth + 2)
    stack[0], reach[0], waiting = 0, np.inf, 1
    best, best_record, best_place = -1.0, records.size, -1
    no_better, no_worse = -1.0, -1.0
    visited = 0
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        if reach[waiting] < no_worse or (reach[waiting] < no_better and least[node] > best_record):
            continue
        visited += 1
        if child[node] < 0:
            for place in range(begin[node], end[node]):
                if live[place] > 0:
                    total = summed(numbers, codes, place, point, values, gaps, squared, tables, rows, weights)
                    steps = rounded(total, squared)
                    if steps > best or (steps == best and records[place] < best_record):
                        best, best_record, best_place = steps, records[place], place
                        no_worse = contribution(best - 0.5, squared) * (1.0 - SLACK)
                        no_better = contribution(best + 0.5, squared) * (1.0 - SLACK)
            continue
        pushed = waiting
        for half in range(child[node], child[node] + 2):
            if alive[half] > 0:
                total = most_of_numbers(low, high, holes, half, point, gaps, squared) + bound_of_values(
                    slots, half, values, tables, rows, weights, most_of_blocks, rows_of_bounds, first, last, False
                )
                stack[waiting], reach[waiting] = half, total
                waiting += 1
        if waiting - pushed == 2 and (
            reach[pushed] > reach[pushed + 1]
            or (reach[pushed] == reach[pushed + 1] and least[stack[pushed]] < least[stack[pushed + 1]])
        ):
            stack[pushed], stack[pushed + 1] = stack[pushed + 1], stack[pushed]
            reach[pushed], reach[pushed + 1] = reach[pushed + 1], reach[pushed]
    return best_place, visited


@njit(cache=True, nogil=True)
def nearest(
    space: SpaceArrays,
    bounds: ValueArrays,
    tree: TreeArrays,
    live: Longs,
    point: Floats,
    values: Ints,
    wanted: int,
    found: Ints,
) -> int:
    """The places of the nearest live records that together have the wanted number of rows, from near to far.

    Of equally near ones the lowest come first. How many records there are; their places are in ``found``.
    """
    numbers, gaps, codes, tables, starts, widths, weights, squared = space
    records, _, begin, end, child, _, least, slots, alive, low, high, holes, depth = tree
    first, last, least_of_blocks = bounds.first, bounds.last, bounds.nearest
    rows, rows_of_bounds = table_rows(values, starts, widths), bound_rows(values, starts, bounds)
    stack = np.empty(2 * depth + 2, np.int32)
    reach = np.empty(2 * depth + 2)
    stack[0], reach[0], waiting = 0, 0.0, 1
    steps_of = np.empty(wanted + 1)
    n_found, n_rows = 0, 0
    too_far, as_far = np.inf, np.inf
    last_record = records.size
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        if reach[waiting] > too_far or (reach[waiting] > as_far and least[node] > last_record):
            continue
        if child[node] < 0:
            for place in range(begin[node], end[node]):
                if live[place] == 0:
                    continue
                total = summed(numbers, codes, place, point, values, gaps, squared, tables, rows, weights)
                if total > too_far:
                    continue
                steps = rounded(total, squared)
                n_found, n_rows = insert(records, live, found, steps_of, n_found, n_rows, wanted, place, steps)
                if n_rows >= wanted:
                    farthest_found = steps_of[n_found - 1]
                    last_record = records[found[n_found - 1]]
                    too_far = contribution(farthest_found + 0.5, squared) * (1.0 + SLACK)
                    as_far = contribution(farthest_found - 0.5, squared) * (1.0 + SLACK) if farthest_found > 0 else -1.0
            continue
        pushed = waiting
        for half in range(child[node], child[node] + 2):
            if alive[half] > 0:
                total = least_of_numbers(low, high, holes, half, point, gaps, squared) + bound_of_values(
                    slots, half, values, tables, rows, weights, least_of_blocks, rows_of_bounds, first, last, True
                )
                stack[waiting], reach[waiting] = half, total
                waiting += 1
        if waiting - pushed == 2 and (
            reach[pushed] < reach[pushed + 1]
            or (reach[pushed] == reach[pushed + 1] and least[stack[pushed]] < least[stack[pushed + 1]])
        ):
            stack[pushed], stack[pushed + 1] = stack[pushed + 1], stack[pushed]
            reach[pushed], reach[pushed + 1] = reach[pushed + 1], reach[pushed]
    return n_found


@njit(cache=True, nogil=True)
def insert(
    records: Ints,
    live: Longs,
    found: Ints,
    steps_of: Floats,
    n_found: int,
    n_rows: int,
    wanted: int,
    place: int,
    steps: float,
) -> tuple[int, int]:
    """Put a record among those found so far, and drop the last ones that are no longer wanted; how many that leaves.

    Records and rows, in the order of their distance and then of their number.
    """
    record = records[place]
    at = n_found
    while at > 0 and (steps < steps_of[at - 1] or (steps == steps_of[at - 1] and record < records[found[at - 1]])):
        at -= 1
    if at == n_found and n_rows >= wanted:
        return n_found, n_rows
    for later in range(n_found, at, -1):
        found[later], steps_of[later] = found[later - 1], steps_of[later - 1]
    found[at], steps_of[at] = place, steps
    n_found += 1
    n_rows += live[place]
    while n_rows - live[found[n_found - 1]] >= wanted:
        n_found -= 1
        n_rows -= live[found[n_found]]
    return n_found, n_rows
