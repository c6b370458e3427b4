"""Compiled searches in the search tree: the live records nearest to a point and farthest from it.

A node has the range of its live records in each number column and a block of values in each nominal one. So it bounds
their distance to any point from below and above, and whole branches are skipped. Distances are compared after rounding
to 1e-9, and equal ones by the number of the record, exactly as a loop over all records would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.search.arrays import BOTH, MISSING_ONLY, NUMBERS_ONLY

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs, SignedBytes, Singles
    from anonto.search.arrays import SearchTree, SpaceArrays, ValueArrays

DIGITS = 1e9
"""Rounding steps of a distance of one."""
SLACK = 1e-12
"""The share by which bounds are widened, because sums in another order differ in their last bits."""


# ------------------------------------------------------------------------------------------------ distances


class PointQuery(NamedTuple):
    """A point that distances are measured from."""

    point: Floats
    """Its numbers; NaN for a missing one."""
    values: Ints
    """Its nominal values."""
    rows: Longs
    """Where the distances of each value start in the tables; −1 without a table."""


@njit(cache=True, nogil=True)
def start_query(space: SpaceArrays, point: Floats, values: Ints) -> PointQuery:
    """A query for a point."""
    rows = np.empty(values.size, np.int64)
    for column in range(values.size):
        start = space.starts[column]
        rows[column] = start + values[column] * space.widths[column] if start >= 0 else -1
    return PointQuery(point, values, rows)


@njit(cache=True, nogil=True, inline="always")
def sum_contributions(space: SpaceArrays, place: int, query: PointQuery) -> float:
    """The sum over the columns of what they contribute to the distance of a record to a point."""
    numbers, gaps, codes, tables, _, _, weights, squared = space
    point, values, rows = query
    total = 0.0
    # Number columns: a difference, or the gap between a number and a missing one.
    for column in range(point.size):
        difference = numbers[place, column] - point[column]
        if np.isnan(difference):
            if np.isnan(point[column]) != np.isnan(numbers[place, column]):
                total += gaps[column]
        elif squared:
            total += difference * difference
        else:
            total += abs(difference)
    # Nominal columns: a distance of the table, or the weight of two different values.
    for column in range(values.size):
        if rows[column] >= 0:
            total += tables[rows[column] + codes[place, column]]
        elif codes[place, column] != values[column]:
            total += weights[column]
    return total


@njit(cache=True, nogil=True)
def to_steps(total: float, squared: bool) -> float:
    """A sum of contributions as a distance, in whole rounding steps."""
    return float(np.rint((np.sqrt(total) if squared else total) * DIGITS))


@njit(cache=True, nogil=True)
def from_steps(steps: float, squared: bool) -> float:
    """The sum of contributions that gives a distance of some rounding steps."""
    distance = max(steps, 0.0) / DIGITS
    return distance * distance if squared else distance


@njit(cache=True, nogil=True)
def bound_rows(values: Ints, starts: Longs, bounds: ValueArrays) -> Longs:
    """Where the bounds of each value of a point start."""
    rows = np.empty(values.size, np.int64)
    for column in range(values.size):
        rows[column] = (
            bounds.bound_starts[column] + values[column] * bounds.n_kept[column] if starts[column] >= 0 else 0
        )
    return rows


@njit(cache=True, nogil=True, inline="always")
def least_of_numbers(
    low: Floats, high: Floats, holes: SignedBytes, node: int, point: Floats, gaps: Floats, squared: bool
) -> float:
    """A lower bound of what the number columns contribute to the distance of a point to a node's live records."""
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


@njit(cache=True, nogil=True, inline="always")
def most_of_numbers(
    low: Floats, high: Floats, holes: SignedBytes, node: int, point: Floats, gaps: Floats, squared: bool
) -> float:
    """An upper bound of the same."""
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


@njit(cache=True, nogil=True, inline="always")
def bound_of_values(
    slots: Ints,
    node: int,
    query: PointQuery,
    tables: Floats,
    weights: Floats,
    bounds: Singles,
    rows_of_bounds: Longs,
    first: Ints,
    last: Ints,
    nearest: bool,
) -> float:
    """A lower or upper bound of what the nominal columns contribute to the distance of a point to a node's records."""
    _, values, rows = query
    total = 0.0
    for column in range(values.size):
        # A slot of 0 or more is the only value of the node; below 0 it numbers the bounds of a block of values.
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
def farthest(tree: SearchTree, live: Longs, point: Floats, values: Ints) -> tuple[int, int]:
    """The place of the live record farthest from a point, of equally far ones the lowest; and the nodes visited."""
    space, bounds, nodes = tree
    _, gaps, _, tables, starts, _, weights, squared = space
    records, _, begin, end, child, _, least, slots, alive, low, high, holes, depth = nodes
    first, last, most_of_blocks = bounds.first, bounds.last, bounds.farthest
    query, rows_of_bounds = start_query(space, point, values), bound_rows(values, starts, bounds)
    stack = np.empty(2 * depth + 2, np.int32)
    limits = np.empty(2 * depth + 2)
    stack[0], limits[0], waiting = 0, np.inf, 1
    best, best_record, best_place = -1.0, records.size, -1
    no_better, no_worse = -1.0, -1.0
    visited = 0
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        # Skip a node whose records are all nearer than the best, or as far at most and with higher numbers.
        if limits[waiting] < no_worse or (limits[waiting] < no_better and least[node] > best_record):
            continue
        visited += 1
        # In a leaf, measure every live record.
        if child[node] < 0:
            for place in range(begin[node], end[node]):
                if live[place] > 0:
                    total = sum_contributions(space, place, query)
                    steps = to_steps(total, squared)
                    if steps > best or (steps == best and records[place] < best_record):
                        best, best_record, best_place = steps, records[place], place
                        no_worse = from_steps(best - 0.5, squared) * (1.0 - SLACK)
                        no_better = from_steps(best + 0.5, squared) * (1.0 - SLACK)
            continue
        # Push both halves, the more promising one last, so that it is opened first.
        pushed = waiting
        for half in range(child[node], child[node] + 2):
            if alive[half] > 0:
                total = most_of_numbers(low, high, holes, half, point, gaps, squared) + bound_of_values(
                    slots, half, query, tables, weights, most_of_blocks, rows_of_bounds, first, last, False
                )
                stack[waiting], limits[waiting] = half, total
                waiting += 1
        if waiting - pushed == 2 and (
            limits[pushed] > limits[pushed + 1]
            or (limits[pushed] == limits[pushed + 1] and least[stack[pushed]] < least[stack[pushed + 1]])
        ):
            stack[pushed], stack[pushed + 1] = stack[pushed + 1], stack[pushed]
            limits[pushed], limits[pushed + 1] = limits[pushed + 1], limits[pushed]
    return best_place, visited


@njit(cache=True, nogil=True)
def nearest(tree: SearchTree, live: Longs, point: Floats, values: Ints, wanted: int, found: Ints) -> int:
    """Fill in the places of the nearest live records that together have the wanted rows, from near to far.

    Of equally near ones the lowest come first. Returns how many records there are.
    """
    space, bounds, nodes = tree
    _, gaps, _, tables, starts, _, weights, squared = space
    records, _, begin, end, child, _, least, slots, alive, low, high, holes, depth = nodes
    first, last, least_of_blocks = bounds.first, bounds.last, bounds.nearest
    query, rows_of_bounds = start_query(space, point, values), bound_rows(values, starts, bounds)
    stack = np.empty(2 * depth + 2, np.int32)
    limits = np.empty(2 * depth + 2)
    stack[0], limits[0], waiting = 0, 0.0, 1
    steps_of = np.empty(wanted + 1)
    n_found, n_rows = 0, 0
    too_far, as_far = np.inf, np.inf
    last_record = records.size
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        # Skip a node whose records are all farther than those found, or as far at least and with higher numbers.
        if limits[waiting] > too_far or (limits[waiting] > as_far and least[node] > last_record):
            continue
        # In a leaf, measure every live record.
        if child[node] < 0:
            for place in range(begin[node], end[node]):
                if live[place] == 0:
                    continue
                total = sum_contributions(space, place, query)
                if total > too_far:
                    continue
                steps = to_steps(total, squared)
                n_found, n_rows = insert(records, live, found, steps_of, n_found, n_rows, wanted, place, steps)
                if n_rows >= wanted:
                    farthest_found = steps_of[n_found - 1]
                    last_record = records[found[n_found - 1]]
                    too_far = from_steps(farthest_found + 0.5, squared) * (1.0 + SLACK)
                    as_far = from_steps(farthest_found - 0.5, squared) * (1.0 + SLACK) if farthest_found > 0 else -1.0
            continue
        # Push both halves, the more promising one last, so that it is opened first.
        pushed = waiting
        for half in range(child[node], child[node] + 2):
            if alive[half] > 0:
                total = least_of_numbers(low, high, holes, half, point, gaps, squared) + bound_of_values(
                    slots, half, query, tables, weights, least_of_blocks, rows_of_bounds, first, last, True
                )
                stack[waiting], limits[waiting] = half, total
                waiting += 1
        if waiting - pushed == 2 and (
            limits[pushed] < limits[pushed + 1]
            or (limits[pushed] == limits[pushed + 1] and least[stack[pushed]] < least[stack[pushed + 1]])
        ):
            stack[pushed], stack[pushed + 1] = stack[pushed + 1], stack[pushed]
            limits[pushed], limits[pushed + 1] = limits[pushed + 1], limits[pushed]
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
    """Insert a record among those found, sorted by distance and number, and drop the last ones no longer needed.

    Returns how many records and rows are left.
    """
    # Insertion sort: the place of the record among those found.
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
    # Drop the farthest records while the others have enough rows.
    while n_rows - live[found[n_found - 1]] >= wanted:
        n_found -= 1
        n_rows -= live[found[n_found]]
    return n_found, n_rows
