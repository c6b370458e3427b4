"""Compiled loops of rank swapping of numbers, whose nearest and farthest records stand side by side in their order.

A *place* is that of a distinct number in ascending order. A *tree* (Fenwick 1994) has sums of the free records, so that
those of a window are counted, and the n-th of them is found, in logarithmic time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.methods.rank_kernels import (
    FREE,
    INNER,
    NOBODY,
    PAIRS,
    SHORT,
    STEPS,
    Generator,
    Tally,
    first_free,
    none_drawn,
    note_exchange,
)

if TYPE_CHECKING:
    from anonto.arrays import Floats, Longs

# ------------------------------------------------------------------------------------------------ windows


@njit(cache=True, nogil=True)
def steps_apart(numbers: Floats, extent: float, a: int, b: int) -> float:
    """The distance of two places, in steps of 10⁻¹²."""
    return float(np.rint(abs(numbers[a] - numbers[b]) / extent * STEPS))


@njit(cache=True, nogil=True)
def is_alone(numbers: Floats, extent: float, place: int) -> bool:
    """Return whether a place has no other at distance 0."""
    before, behind = max(place - 1, 0), min(place + 1, numbers.size - 1)
    alone_before = before == place or steps_apart(numbers, extent, place, before) > 0
    return alone_before and (behind == place or steps_apart(numbers, extent, place, behind) > 0)


@njit(cache=True, nogil=True)
def first_nearer(numbers: Floats, extent: float, centre: int, limit: float, first: int) -> int:
    """The first place from ``first`` up to the centre that is nearer to it than a limit; the one after it if none."""
    last = centre + 1
    while first < last:
        middle = (first + last) >> 1
        if steps_apart(numbers, extent, centre, middle) < limit:
            last = middle
        else:
            first = middle + 1
    return first


@njit(cache=True, nogil=True)
def last_nearer(numbers: Floats, extent: float, centre: int, limit: float, last: int) -> int:
    """The last place from the centre up to ``last`` that is nearer to it than a limit; the one before it if none."""
    first = centre - 1
    while first < last:
        middle = (first + last + 1) >> 1
        if steps_apart(numbers, extent, centre, middle) < limit:
            first = middle
        else:
            last = middle - 1
    return first


@njit(cache=True, nogil=True)
def find_windows(numbers: Floats, extent: float, counts: Longs, k: int) -> Longs:
    """Step 2 for every place: the outer and the inner window of its k nearest records.

    The places of the outer window that are not in the inner one are those at the distance of the k-th record. A row has
    the first outer, first inner, last inner and last outer place.
    """
    out = np.empty((numbers.size, 4), np.int64)
    low = high = 0
    records = counts[0]
    for centre in range(numbers.size):
        while high < centre:
            high += 1
            records += counts[high]
        # The window slides along with its centre: take the nearer neighbour, drop the farther end, until it fits.
        while True:
            beyond_low = steps_apart(numbers, extent, centre, low - 1) if low > 0 else np.inf
            beyond_high = steps_apart(numbers, extent, centre, high + 1) if high + 1 < numbers.size else np.inf
            at_low, at_high = steps_apart(numbers, extent, centre, low), steps_apart(numbers, extent, centre, high)
            if beyond_high < at_low or (records <= k and beyond_high <= beyond_low):
                high += 1
                records += counts[high]
            elif beyond_low < at_high or records <= k:
                low -= 1
                records += counts[low]
            elif low < centre and at_low >= at_high and records - counts[low] > k:
                records -= counts[low]
                low += 1
            elif high > centre and at_high >= at_low and records - counts[high] > k:
                records -= counts[high]
                high -= 1
            else:
                break
        # Ties at the radius belong to the outer window, whichever side they are on.
        radius = max(at_low, at_high)
        out[centre, 0] = first_nearer(numbers, extent, centre, radius + 0.5, 0)
        out[centre, 1] = first_nearer(numbers, extent, centre, radius, out[centre, 0])
        out[centre, 3] = last_nearer(numbers, extent, centre, radius + 0.5, numbers.size - 1)
        out[centre, 2] = last_nearer(numbers, extent, centre, radius, out[centre, 3])
    return out


# ------------------------------------------------------------------------------------------------ free records


@njit(cache=True, nogil=True)
def build_tree(free: Longs) -> Longs:
    """A Fenwick tree of the free records: sums of ranges that can be changed and searched in logarithmic time."""
    tree = np.zeros(free.size + 1, np.int64)
    for place in range(1, tree.size):
        tree[place] += free[place - 1]
        parent = place + (place & -place)
        if parent < tree.size:
            tree[parent] += tree[place]
    return tree


@njit(cache=True, nogil=True)
def remove_free(place: int, tree: Longs) -> None:
    """Remove one free record at a place from the tree; an empty tree stays empty."""
    node = place + 1
    while node < tree.size:
        tree[node] -= 1
        node += node & -node


@njit(cache=True, nogil=True)
def free_before(place: int, tree: Longs) -> int:
    """Free records at all places before one."""
    total = 0
    while place > 0:
        total += tree[place]
        place &= place - 1
    return total


@njit(cache=True, nogil=True)
def place_of_free(nth: int, tree: Longs) -> int:
    """The place of the nth free record of all, counted from 0."""
    place = 0
    step = 1
    while step * 2 < tree.size:
        step *= 2
    while step > 0:
        if place + step < tree.size and tree[place + step] <= nth:
            place += step
            nth -= tree[place]
        step >>= 1
    return place


@njit(cache=True, nogil=True)
def free_between(first: int, last: int, free: Longs, tree: Longs) -> int:
    """Free records from a place to another, both included."""
    if last - first >= SHORT and tree.size > 0:
        return free_before(last + 1, tree) - free_before(first, tree)
    total = 0
    for place in range(first, last + 1):
        total += free[place]
    return total


@njit(cache=True, nogil=True)
def nth_between(nth: int, first: int, last: int, free: Longs, tree: Longs) -> int:
    """The place of the nth free record from a place to another."""
    if last - first >= SHORT and tree.size > 0:
        return place_of_free(free_before(first, tree) + nth, tree)
    for place in range(first, last + 1):
        nth -= free[place]
        if nth < 0:
            return place
    return -1


@njit(cache=True, nogil=True)
def draw_between(low: int, before: int, behind: int, high: int, free: Longs, tree: Longs, generator: Generator) -> int:
    """The place of a random free record of those from low to before and from behind to high; −1 if there is none."""
    on_the_left = free_between(low, before, free, tree)
    total = on_the_left + free_between(behind, high, free, tree)
    if total == 0:
        return -1
    nth = int(generator.random() * total)
    if nth < on_the_left:
        return int(nth_between(nth, low, before, free, tree))
    return int(nth_between(nth - on_the_left, behind, high, free, tree))


@njit(cache=True, nogil=True)
def draw_at_distance(
    distance: float,
    centre: int,
    low: int,
    high: int,
    numbers: Floats,
    extent: float,
    free: Longs,
    tree: Longs,
    generator: Generator,
) -> int:
    """The place of a random free record at a distance to the centre, of those from low to high."""
    # The places at least that far lie at both ends of the window: up to ``before`` and from ``behind`` on.
    before, behind = low - 1, high + 1
    if low <= centre and steps_apart(numbers, extent, centre, low) >= distance:
        before = low
        if low < centre and steps_apart(numbers, extent, centre, low + 1) >= distance:
            before = min(first_nearer(numbers, extent, centre, distance, low) - 1, high)
    if high >= centre and steps_apart(numbers, extent, centre, high) >= distance:
        behind = high
        if high > centre and steps_apart(numbers, extent, centre, high - 1) >= distance:
            behind = max(last_nearer(numbers, extent, centre, distance, high) + 1, low)
    if behind <= before:
        before, behind = high, high + 1
    return int(draw_between(low, before, behind, high, free, tree, generator))


# ------------------------------------------------------------------------------------------------ swapping


@njit(cache=True, nogil=True)
def swap_numbers_among_all(
    start: int,
    k: int,
    numbers: Floats,
    extent: float,
    counts: Longs,
    windows: Longs,
    tree: Longs,
    tally: Tally,
    generator: Generator,
) -> Longs:
    """Exchange each reference with a free record of its window among all records (Algorithm 2, ``interval = "all"``).

    The tree of free records may be empty if all windows are narrow. Returns the state at the end.
    """
    free, within, left, right = tally
    state = np.zeros(PAIRS + 1, np.int64)
    running = np.cumsum(counts)
    state[FREE] = running[-1]
    low, high = 0, int(numbers.size - 1)
    place = int(start)
    while True:
        free[place] -= 1
        remove_free(place, tree)
        state[FREE] -= 1
        # Step 2: the interval is the inner window, and as many records of the outer one as make k.
        first, inner, outer, last = windows[place]
        partner = place
        # Step 3: exchange with a random free record of the interval; without one the number stays.
        if first == last:
            if none_drawn(counts[place] - 1, free[place], k, generator.random()):
                partner = -1
        else:
            inside = running[outer] - (running[inner - 1] if inner > 0 else 0) - 1 if inner <= outer else 0
            population = running[last] - (running[first - 1] if first > 0 else 0) - 1 - inside
            free_inside = free_between(inner, outer, free, tree)
            if inner > outer:
                inner, outer = last + 1, last
            free_around = free_between(first, inner - 1, free, tree) + free_between(outer + 1, last, free, tree)
            where = first_free(inside, free_inside, k - inside, population, free_around, generator)
            if where == NOBODY:
                partner = -1
            elif where == INNER:
                partner = int(nth_between(int(generator.random() * free_inside), inner, outer, free, tree))
            else:
                partner = int(draw_between(first, inner - 1, outer + 1, last, free, tree, generator))
        if partner >= 0:
            remove_free(partner, tree)
        note_exchange(place, partner, state, free, within, left, right)
        if state[FREE] == 0:
            return state
        # Step 4: the next reference is the free record farthest from this one, which stands at one of the two ends.
        while free[low] == 0:
            low += 1
        while free[high] == 0:
            high -= 1
        distance = max(steps_apart(numbers, extent, place, low), steps_apart(numbers, extent, place, high))
        place = draw_at_distance(distance, place, low, high, numbers, extent, free, tree, generator)


@njit(cache=True, nogil=True)
def swap_numbers_among_free(
    start: int, k: int, numbers: Floats, extent: float, tree: Longs, tally: Tally, generator: Generator
) -> Longs:
    """Exchange each reference with one of the k nearest free records (Algorithm 2, ``interval = "unswapped"``).

    The rank of the partner is drawn. Returns the state at the end.
    """
    free, within, left, right = tally
    state = np.zeros(PAIRS + 1, np.int64)
    state[FREE] = free_before(free.size, tree)
    low, high = 0, int(numbers.size - 1)
    place = int(start)
    while True:
        free[place] -= 1
        remove_free(place, tree)
        state[FREE] -= 1
        # Step 2: the interval has the k nearest free records; the rank of one of them is drawn.
        partner = -1
        if state[FREE] > 0:
            rank = 1 + int(generator.random() * min(k, state[FREE]))
            # Step 3: exchange with a record of that rank; the records of the same number are the nearest.
            if rank <= free[place] and is_alone(numbers, extent, place):
                partner = place
            else:
                distance = distance_of_rank(rank, place, state[FREE], numbers, extent, free, tree)
                first = first_nearer(numbers, extent, place, distance + 0.5, 0)
                last = last_nearer(numbers, extent, place, distance + 0.5, numbers.size - 1)
                partner = draw_at_distance(distance, place, first, last, numbers, extent, free, tree, generator)
            remove_free(partner, tree)
        note_exchange(place, partner, state, free, within, left, right)
        if state[FREE] == 0:
            return state
        # Step 4: the next reference is the free record farthest from this one, which stands at one of the two ends.
        while free[low] == 0:
            low += 1
        while free[high] == 0:
            high -= 1
        distance = max(steps_apart(numbers, extent, place, low), steps_apart(numbers, extent, place, high))
        place = draw_at_distance(distance, place, low, high, numbers, extent, free, tree, generator)


@njit(cache=True, nogil=True)
def distance_of_rank(
    rank: int, centre: int, n_free: int, numbers: Floats, extent: float, free: Longs, tree: Longs
) -> float:
    """The distance of the free record of a rank, counted from near to far.

    How many of the nearer ones lie left of the centre is found by bisection.
    """
    # Records with the number of the centre are the nearest.
    below = free_before(centre, tree)
    behind = below + free[centre]
    others = rank - free[centre]
    if others <= 0:
        return 0.0
    # Bisection: another one belongs left of the centre while the next there is nearer than the last one right of it.
    few, many = max(0, others - (n_free - behind)), min(others, below)
    while few < many:
        middle = (few + many) >> 1
        next_left = place_of_free(below - 1 - middle, tree)
        last_right = place_of_free(behind + others - middle - 1, tree)
        if steps_apart(numbers, extent, centre, next_left) < steps_apart(numbers, extent, centre, last_right):
            few = middle + 1
        else:
            many = middle
    # The record of the rank is the farther of the last ones on both sides.
    distance = 0.0
    if few > 0:
        distance = steps_apart(numbers, extent, centre, place_of_free(below - few, tree))
    if few < others:
        distance = max(distance, steps_apart(numbers, extent, centre, place_of_free(behind + others - few - 1, tree)))
    return distance
