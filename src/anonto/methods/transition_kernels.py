"""Compiled loops of transitions: which records of a value become which target.

The targets of a value have consecutive places 0 … Nₐ − 1; a keyed permutation sends each of its records to a place. The
*guides* of a value cut its places into as many equal intervals as it has targets, so that the target of a place is
found in a step or two.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from anonto.arrays import Ints, Longs, Shorts
from anonto.random.kernels import Permutations, permute_range

TransitionArrays = tuple[Longs, Longs, Ints, Longs, Ints]
"""Sizes, offsets, targets, ends and guides of transitions."""

PLACES_AT_ONCE = 1 << 12


@njit(cache=True, nogil=True)
def guides(sizes: Longs, offsets: Longs, ends: Longs) -> Ints:
    """The target in which each interval of a value begins, by value."""
    out = np.empty(ends.size, np.int32)
    for value in range(sizes.size):
        first, last = offsets[value], offsets[value + 1]
        per_place = intervals_per_place(last - first, sizes[value])
        target = first
        for interval in range(last - first):
            # The first place that `apply_by_value` computes this interval for, whatever the division rounds to.
            place = np.int64(interval / per_place)
            while place > 0 and np.int64((place - 1) * per_place) >= interval:
                place -= 1
            while np.int64(place * per_place) < interval:
                place += 1
            # The target that this place belongs to.
            while target < last - 1 and place >= ends[target]:
                target += 1
            out[first + interval] = target - first
    return out


@njit(cache=True, nogil=True)
def intervals_per_place(n_targets: int, size: int) -> float:
    """The share of an interval that one place of a value makes up; at least one record is assumed."""
    return np.float64(n_targets) / np.float64(max(size, 1))


@njit(cache=True, nogil=True)
def apply_by_value(codes: Ints, before: Longs, transitions: TransitionArrays, permutations: Permutations) -> Ints:
    """Give each record of a batch its target, value by value, because the positions of a value are consecutive.

    Args:
        codes: The values; −1 stays.
        before: How many records of each value stand before the batch.
        transitions: The targets of each value.
        permutations: Where each value sends its positions.
    """
    sizes, offsets, targets, ends, guides = transitions
    out = np.full(codes.size, -1, np.int32)
    rows, begins = rows_by_value(codes, sizes.size)
    room = np.empty(codes.size, np.int64)
    for value in range(sizes.size):
        if begins[value] == begins[value + 1]:
            continue
        own = rows[begins[value] : begins[value + 1]]
        first, last = offsets[value], offsets[value + 1]
        if last - first == 1:
            for row in own:
                out[row] = targets[first]
            continue
        # The keyed permutation gives each position its place, and the guide the target of that place.
        places = room[: own.size]
        permute_range(permutations, value, before[value], places)
        per_place = intervals_per_place(last - first, sizes[value])
        for i in range(own.size):
            target = first + guides[first + np.int64(places[i] * per_place)]
            while places[i] >= ends[target]:
                target += 1
            out[own[i]] = targets[target]
    return out


@njit(cache=True, nogil=True)
def rows_by_value(codes: Ints, n_values: int) -> tuple[Ints, Longs]:
    """The rows of each value in their order, one value behind the other, and where each value begins."""
    # A counting sort: how many rows each value has, where they begin, then the rows themselves.
    begins = np.zeros(n_values + 1, np.int64)
    for code in codes:
        if code >= 0:
            begins[code + 1] += 1
    for value in range(n_values):
        begins[value + 1] += begins[value]
    filled = begins.copy()
    rows = np.empty(begins[-1], np.int32)
    for i in range(codes.size):
        if codes[i] >= 0:
            rows[filled[codes[i]]] = i
            filled[codes[i]] += 1
    return rows, begins


@njit(cache=True, nogil=True)
def assign_targets(
    transitions: TransitionArrays,
    permutations: Permutations,
    begins: Longs,
    first: int,
    last: int,
    assigned: Ints | Shorts,
) -> None:
    """List the targets of all records of the values first … last − 1, value by value in the order of the records."""
    sizes, offsets, targets, ends, _ = transitions
    places = np.empty(PLACES_AT_ONCE, np.int64)
    by_place = np.empty(max(1, sizes[first:last].max()), assigned.dtype)
    for value in range(first, last):
        own = assigned[begins[value] : begins[value] + sizes[value]]
        # The target of each place.
        place = 0
        for at in range(offsets[value], offsets[value + 1]):
            by_place[place : ends[at]] = targets[at]
            place = ends[at]
        # The place of each position, by the permutation of the value.
        for start in range(0, own.size, PLACES_AT_ONCE):
            part = places[: min(PLACES_AT_ONCE, own.size - start)]
            permute_range(permutations, value, start, part)
            for each in range(part.size):
                own[start + each] = by_place[part[each]]


@njit(cache=True, nogil=True)
def take_targets(codes: Ints, next_of: Longs, assigned: Ints | Shorts) -> Ints:
    """Give each record of a batch its target from the list of `deal`; ``next_of`` moves on for each value."""
    out = np.empty(codes.size, np.int32)
    for i in range(codes.size):
        value = codes[i]
        if value < 0:
            out[i] = value
            continue
        out[i] = assigned[next_of[value]]
        next_of[value] += 1
    return out


@njit(cache=True, nogil=True)
def count_pairs(left: Ints, right: Ints, n_right: int, counted: Ints | Longs) -> None:
    """Count each pair at left · n_right + right; pairs with a missing left value are skipped."""
    for row in range(left.size):
        if left[row] >= 0:
            counted[np.int64(left[row]) * n_right + right[row]] += 1
