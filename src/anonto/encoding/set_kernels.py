"""Compiled loops over sets of concepts: the distances of all pairs of some sets.

The elements of set s are ``elements[starts[s]:starts[s + 1]]``, numbers of distinct
concepts whose distances are the square ``table``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Floats, Integers, Ints, Longs

UNMATCHED = 1.0
"""The cost of an element without a partner: the largest distance that two concepts can have."""


class SetArrays(NamedTuple):
    """Sets by their elements, and the distances of the elements."""

    starts: Longs
    elements: Ints
    table: Floats
    """All pairs; empty where two elements are equal or not."""


class Workspace(NamedTuple):
    """Room for one matching: potentials of both sides, partners, and the path that is being grown."""

    of_row: Floats
    of_column: Floats
    partner: Longs
    came_from: Longs
    slack: Floats
    done: Longs


@njit(cache=True, nogil=True)
def new_workspace(most: int) -> Workspace:
    """Room for sets of at most so many elements."""
    return Workspace(
        np.zeros(most + 1),
        np.zeros(most + 1),
        np.zeros(most + 1, np.int64),
        np.zeros(most + 1, np.int64),
        np.zeros(most + 1),
        np.zeros(most + 1, np.int64),
    )


@njit(cache=True, nogil=True)
def apart(table: Floats, a: int, b: int) -> float:
    """The distance of two elements."""
    if table.size == 0:
        return 0.0 if a == b else 1.0
    return float(table[a, b])


@njit(cache=True, nogil=True)
def find_partner(sets: SetArrays, first_a: int, first_b: int, n_b: int, row: int, room: Workspace) -> None:
    """Add an element of the smaller set to the cheapest matching of those before it, and keep it the cheapest."""
    _, elements, table = sets
    of_row, of_column, partner, came_from, slack, done = room
    partner[0] = row
    at = 0
    for column in range(n_b + 1):
        slack[column] = np.inf
        done[column] = 0
    # Grow a tree of shortest alternating paths from this row until it meets a free column.
    while True:
        done[at] = 1
        via, step, following = partner[at], np.inf, 0
        own = elements[first_a + via - 1]
        for column in range(1, n_b + 1):
            if done[column] == 0:
                reduced = table[own, elements[first_b + column - 1]] - of_row[via] - of_column[column]
                if reduced < slack[column]:
                    slack[column] = reduced
                    came_from[column] = at
                if slack[column] < step:
                    step = slack[column]
                    following = column
        # Shift the potentials, so that the next column can be reached at no cost.
        for column in range(n_b + 1):
            if done[column] == 1:
                of_row[partner[column]] += step
                of_column[column] -= step
            else:
                slack[column] -= step
        at = following
        if partner[at] == 0:
            break
    # Turn the path round: each column on it gets the row of the one before.
    while at != 0:
        before = came_from[at]
        partner[at] = partner[before]
        at = before


@njit(cache=True, nogil=True)
def shared(elements: Ints, first_a: int, n_a: int, first_b: int, n_b: int) -> int:
    """How many elements two sets have in common; the elements of a set are in ascending order."""
    n_shared, i, j = 0, first_a, first_b
    while i < first_a + n_a and j < first_b + n_b:
        a, b = elements[i], elements[j]
        n_shared += a == b
        i += a <= b
        j += b <= a
    return n_shared


@njit(cache=True, nogil=True)
def sum_of_nearest(sets: SetArrays, first_a: int, n_a: int, first_b: int, n_b: int, room: Workspace) -> float:
    """The sum of the distances of each element to the nearest one of the other set, if these are all different.

    No matching can cost less, so it is the cheapest. −1 if two elements have the same nearest one.
    """
    _, elements, table = sets
    is_taken, total = room.done, 0.0
    for column in range(n_b):
        is_taken[column] = 0
    for row in range(n_a):
        nearest, at = np.inf, 0
        for column in range(n_b):
            apart = table[elements[first_a + row], elements[first_b + column]]
            # Of several that are equally near, one that is still free.
            if apart < nearest or (apart == nearest and is_taken[at] == 1):
                nearest, at = apart, column
        if is_taken[at] == 1:
            return -1.0
        is_taken[at] = 1
        total += nearest
    return float(total)


@njit(cache=True, nogil=True)
def matching(sets: SetArrays, a: int, b: int, room: Workspace) -> float:
    """The cheapest matching of two sets, unmatched elements included, divided by the larger size.

    Where elements are equal or not, it is counted; where the nearest partners are all different, they are the matching;
    otherwise Kuhn's Hungarian method with potentials, a shortest path for each element of the smaller set. Index 0 of
    the workspace is the free end of the path. Plain version: `anonto.stats.sets.matching_distance`.
    """
    starts, elements, table = sets
    # The smaller set is matched into the larger; of two equally large, the first one, so that d(a, b) = d(b, a).
    surplus = (starts[a + 1] - starts[a]) - (starts[b + 1] - starts[b])
    if surplus > 0 or (surplus == 0 and a > b):
        a, b = b, a
    first_a, first_b = starts[a], starts[b]
    n_a, n_b = starts[a + 1] - first_a, starts[b + 1] - first_b
    if n_b == 0:
        return 0.0
    if n_a == 0:
        return 1.0
    if table.size == 0:  # As many elements as the sets share can be matched at no cost.
        return float((n_b - shared(elements, first_a, n_a, first_b, n_b)) / n_b)
    nearest = sum_of_nearest(sets, first_a, n_a, first_b, n_b, room)
    total = UNMATCHED * (n_b - n_a)
    if nearest >= 0.0:
        return float((nearest + total) / n_b)
    partner = room.partner
    for column in range(n_b + 1):
        room.of_row[min(column, n_a)] = 0.0
        room.of_column[column] = 0.0
        partner[column] = 0
    for row in range(1, n_a + 1):
        find_partner(sets, first_a, first_b, n_b, row, room)
    for column in range(1, n_b + 1):
        if partner[column] > 0:
            total += table[elements[first_a + partner[column] - 1], elements[first_b + column - 1]]
    return float(total / n_b)


@njit(cache=True, nogil=True)
def best_match_average(sets: SetArrays, a: int, b: int) -> float:
    """The mean distance of each element of two sets to the nearest one of the other set."""
    starts, elements, table = sets
    a, b = min(a, b), max(a, b)  # sums are added in one order, so that d(a, b) = d(b, a)
    n_a, n_b = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
    if n_a == 0 or n_b == 0:
        return 0.0 if n_a == n_b else 1.0
    total = 0.0
    for side in range(2):
        one, other = (a, b) if side == 0 else (b, a)
        for i in range(starts[one], starts[one + 1]):
            nearest = np.inf
            for j in range(starts[other], starts[other + 1]):
                nearest = min(nearest, apart(table, elements[i], elements[j]))
            total += nearest
    return float(total / (n_a + n_b))


@njit(cache=True, nogil=True)
def set_distances(sets: SetArrays, rows: Integers, columns: Integers, by_matching: bool, out: Floats) -> None:
    """Distances of some sets, a row each, to others."""
    starts = sets.starts
    most = 0
    for s in range(starts.size - 1):
        most = max(most, starts[s + 1] - starts[s])
    room = new_workspace(most)
    for i in range(rows.size):
        for j in range(columns.size):
            if by_matching:
                out[i, j] = matching(sets, rows[i], columns[j], room)
            else:
                out[i, j] = best_match_average(sets, rows[i], columns[j])


@njit(cache=True, nogil=True)
def set_pair_distances(sets: SetArrays, a: Integers, b: Integers, by_matching: bool, out: Floats) -> None:
    """Distances of some pairs of sets."""
    starts = sets.starts
    most = 0
    for s in range(starts.size - 1):
        most = max(most, starts[s + 1] - starts[s])
    room = new_workspace(most)
    for i in range(a.size):
        out[i] = matching(sets, a[i], b[i], room) if by_matching else best_match_average(sets, a[i], b[i])
