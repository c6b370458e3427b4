"""The compiled search for the centre of some sets: one element is added, removed or replaced while that pays.

Plain version: `tests/oracles.py`, which tries all sets of concepts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.encoding.set_kernels import SetArrays, Workspace, best_match_average, matching, new_workspace

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs

NONE = -1
WORTH_IT = 1e-12
"""A change must lower the sum by more than this, so that the search ends."""


class Nearness(NamedTuple):
    """How near the elements of the sets and those of the centre are to each other."""

    of_candidate: Floats
    """Candidates × sets: the distance to the nearest element of the set."""
    nearest: Floats
    """For each element of all sets the distance to the nearest element of the centre."""
    who: Longs
    """The place of that element in the centre."""
    second: Floats
    """The distance to the next one."""
    to_centre: Floats
    """For each set the sum of the distances of the elements of the centre to the nearest one of the set."""


@njit(cache=True, nogil=True)
def look_around(sets: SetArrays, n_sets: int, centre: Ints, size: int, near: Nearness) -> None:
    """Find for each element of all sets the nearest two of the centre, and for each set the sum of the way back."""
    starts, elements, table = sets
    # From each element of a set to the centre: the nearest element, and the next if that one leaves.
    for i in range(starts[n_sets]):
        near.nearest[i], near.second[i], near.who[i] = np.inf, np.inf, NONE
        for place in range(size):
            away = table[centre[place], elements[i]]
            if away < near.nearest[i]:
                near.second[i], near.nearest[i], near.who[i] = near.nearest[i], away, place
            elif away < near.second[i]:
                near.second[i] = away
    # From the centre to each set.
    for s in range(n_sets):
        near.to_centre[s] = 0.0
        for place in range(size):
            near.to_centre[s] += near.of_candidate[centre[place], s]


@njit(cache=True, nogil=True)
def least_distance(
    sets: SetArrays, s: int, trial: tuple[int, int, int, int], by_matching: bool, near: Nearness
) -> float:
    """The distance of a set to a changed centre if several elements may share a partner: never above a matching.

    Args:
        sets: All sets.
        s: The set.
        trial: The size of the changed centre, the place that leaves it, the candidate there, and the one that comes.
        by_matching: Whether the smaller of both sets is matched; otherwise this is the best-match average itself.
        near: What is near to the centre as it is.
    """
    starts, elements, table = sets
    size, place, leaves, comes = trial
    n = starts[s + 1] - starts[s]
    if n == 0 or size == 0:
        return 0.0 if n == size else 1.0
    # From the centre to the set: the sum so far, without the element that leaves and with the one that comes.
    from_centre = near.to_centre[s]
    if leaves != NONE:
        from_centre -= near.of_candidate[leaves, s]
    if comes != NONE:
        from_centre += near.of_candidate[comes, s]
    if by_matching and size <= n:
        return float((n - size + from_centre) / n)
    # From the set to the centre: an element whose nearest one leaves takes the next.
    from_set = 0.0
    for i in range(starts[s], starts[s + 1]):
        away = near.second[i] if leaves != NONE and near.who[i] == place else near.nearest[i]
        if comes != NONE:
            away = min(away, table[comes, elements[i]])
        from_set += away
    if by_matching:
        return float((size - n + from_set) / size)
    return float((from_centre + from_set) / (n + size))


@njit(cache=True, nogil=True)
def squares_below(
    sets: SetArrays, weights: Floats, least: Floats, limit: float, by_matching: bool, room: Workspace
) -> float:
    """The sum of the squared distances of all sets to the last one, or infinity as soon as it cannot be below a limit.

    Args:
        sets: All sets, and behind them the one that is tried.
        weights: How often each set counts.
        least: For each set a distance that its own is not below.
        limit: The sum to be below.
        by_matching: Whether elements are matched.
        room: For the matching.
    """
    # Begin with the bounds of all sets, and replace them by distances one by one.
    bound, total = 0.0, 0.0
    for s in range(weights.size):
        bound += weights[s] * least[s] * least[s]
    for s in range(weights.size):
        if bound >= limit + WORTH_IT:
            return np.inf
        away = matching(sets, s, weights.size, room) if by_matching else best_match_average(sets, s, weights.size)
        bound += weights[s] * (away * away - least[s] * least[s])
        total += weights[s] * away * away
    return total if total < limit else np.inf


@njit(cache=True, nogil=True)
def put_trial(sets: SetArrays, n_sets: int, centre: Ints, size: int, place: int, comes: int) -> int:
    """Write the changed centre behind the sets: one element replaced, removed, or (at the end) added; its size."""
    starts, elements, _ = sets
    first, n = starts[n_sets], 0
    for i in range(size):
        if i != place:
            elements[first + n] = centre[i]
            n += 1
    if comes != NONE:
        elements[first + n] = comes
        n += 1
    starts[n_sets + 1] = first + n
    return n


@njit(cache=True, nogil=True)
def first_centre(
    sets: SetArrays, weights: Floats, most: int, by_matching: bool, room: Workspace, centre: Ints
) -> tuple[int, float]:
    """Step 1: put the set with the least sum, the first of equals, into the centre; its size and the sum.

    Where every set is too large, the centre is the empty one.
    """
    starts, elements, _ = sets
    nothing, size, best = np.zeros(weights.size), 0, np.inf
    for s in range(weights.size):
        own = elements[starts[s] : starts[s + 1]].copy()
        if own.size <= most:
            put_trial(sets, weights.size, own, own.size, NONE, NONE)
            total = squares_below(sets, weights, nothing, best - WORTH_IT, by_matching, room)
            if total < best:
                size, best = own.size, total
                centre[:size] = own
    if best == np.inf:
        put_trial(sets, weights.size, centre, 0, NONE, NONE)
        best = squares_below(sets, weights, nothing, np.inf, by_matching, room)
    return size, best


@njit(cache=True, nogil=True)
def bound_of_change(
    sets: SetArrays,
    weights: Floats,
    trial: tuple[int, int, int, int],
    limit: float,
    by_matching: bool,
    near: Nearness,
    least: Floats,
) -> float:
    """A sum that the squared distances to a changed centre are not below; added up only until it reaches a limit."""
    total = 0.0
    for s in range(weights.size):
        least[s] = least_distance(sets, s, trial, by_matching, near)
        total += weights[s] * least[s] * least[s]
        if total >= limit:
            break
    return total


@njit(cache=True, nogil=True)
def best_change(
    sets: SetArrays,
    weights: Floats,
    centre: Ints,
    sum_now: float,
    most: int,
    by_matching: bool,
    near: Nearness,
    room: Workspace,
) -> tuple[int, int, float]:
    """Step 2: of all changes of one element the one with the least sum: the place, what comes there, and the sum."""
    size, n_candidates = centre.size, sets.table.shape[0]
    is_in = np.zeros(n_candidates, np.bool_)
    is_in[centre] = True
    least = np.zeros(weights.size)
    found_place, found_comes, found = NONE, NONE, sum_now - WORTH_IT
    for place in range(size + 1):  # the last place is none: an element is added
        leaves = centre[place] if place < size else NONE
        for comes in range(NONE, n_candidates):
            n = size - (leaves != NONE) + (comes != NONE)
            if n > most or (comes != NONE and is_in[comes]) or (comes == NONE and leaves == NONE):
                continue
            # Measure only a change whose bound is below the best sum so far.
            limit = found + WORTH_IT
            if bound_of_change(sets, weights, (n, place, leaves, comes), limit, by_matching, near, least) >= limit:
                continue
            put_trial(sets, weights.size, centre, size, place, comes)
            total = squares_below(sets, weights, least, found, by_matching, room)
            if total < found:
                found_place, found_comes, found = place, comes, total
    return found_place, found_comes, found


@njit(cache=True, nogil=True)
def centre_of_sets(sets: SetArrays, weights: Floats, most: int, by_matching: bool) -> Ints:
    """The elements of a set with a small sum of squared distances to some sets.

    Args:
        sets: The sets by candidates, with room behind them for one set of all candidates; the table is of the
            candidates.
        weights: How often each set counts.
        most: The largest number of elements.
        by_matching: Whether elements are matched.
    """
    starts, elements, table = sets
    n_sets, n_candidates, n_elements = weights.size, table.shape[0], starts[weights.size]
    room, centre = new_workspace(n_candidates + 1), np.empty(n_candidates, np.int32)
    size, best = first_centre(sets, weights, most, by_matching, room, centre)
    near = Nearness(
        np.full((n_candidates, n_sets), np.inf),
        np.empty(n_elements),
        np.empty(n_elements, np.int64),
        np.empty(n_elements),
        np.empty(n_sets),
    )
    # The distance of each candidate to each set, once for the whole search.
    for candidate in range(n_candidates):
        for s in range(n_sets):
            for i in range(starts[s], starts[s + 1]):
                near.of_candidate[candidate, s] = min(near.of_candidate[candidate, s], table[candidate, elements[i]])
    # Step 3: make the best change until none lowers the sum.
    while True:
        look_around(sets, n_sets, centre, size, near)
        place, comes, total = best_change(sets, weights, centre[:size], best, most, by_matching, near, room)
        if place == NONE:
            return centre[:size].copy()
        size = put_trial(sets, n_sets, centre, size, place, comes)
        centre[:size] = elements[starts[n_sets] : starts[n_sets + 1]]
        best = total
