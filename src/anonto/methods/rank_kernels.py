"""Compiled loops of rank swapping: arrays and a generator in, arrays out.

Records of one value are alike, so the loops count them: how many of each value are *free*, that is not exchanged yet.
Distances are compared as whole numbers of steps of 10⁻¹², so that ties are exact.

A *ring* is the set of all values at one distance from a reference value. Rings lie in a pool, with their members in
order and running sums of their records; values that have the same ring share it. So that more of them can, a ring may
have members too many, and its *hole* is the ring of these. The first rings of a pool have one value each, in order;
behind them stands an empty one.

What is called in every turn of a loop has no branch that an array is not needed in: the compiler would count references
there, which costs more than all the rest.

The steps named below are those of the plain version, `anonto.methods.plain.rank_swap`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Generator = np.random.Generator

RING = np.dtype([("start", np.int64), ("length", np.int64), ("fails", np.int64)])
"""Where the members of a ring are, and how many draws failed since its sums were renewed."""
MEMBER = np.dtype([("value", np.int32), ("guide", np.int32), ("sum", np.int64)])
"""A member, the running sum of the records up to it, and where to begin to look for an equal share of the sum."""
WALK = np.dtype([("at", np.int64), ("end", np.int64), ("hollow", np.int64), ("hole", np.int64)])
"""At which of its rings a value is and where these end; which of them has a hole, and that."""
INTERVAL = np.dtype(
    [(name, np.int32) for name in ("inner", "last", "hole")]
    + [(name, np.int64) for name in ("inside", "wanted", "population")]
)
"""The ring of all values wholly inside an interval, its last ring with its hole; the records inside, those wanted of
the last ring, and all on it, in each case without the reference itself."""
Rings = NDArray[np.void]
Members = NDArray[np.void]
Walks = NDArray[np.void]
Intervals = NDArray[np.void]
Pool = tuple[Rings, Members]
Tally = tuple[Longs, Longs, Ints, Ints]
"""Free records of each value, exchanges within each value, and the values of the other exchanges."""

STEPS = 1e12
"""Distances are rounded to this part of 1."""
BELOW_ALL = -(1 << 62)
UNKNOWN = -1
DONE, NEAR_WANTED, FAR_WANTED = 0, 1, 2
REFERENCE, PHASE, RANK, FREE, UNTOUCHED, PAIRS = 0, 1, 2, 3, 4, 5
"""Places in the state that a loop leaves behind when it is interrupted."""
NOBODY, INNER, LAST = 0, 1, 2
SHORT = 32
"""Rings and windows of up to this many values are counted whole rather than looked into."""
MOST_LOOKS = 256
"""Random looks into a ring before its free records are counted; fewer into shorter ones."""


# ------------------------------------------------------------------------------------------------ chance


@njit(cache=True, nogil=True)
def none_drawn(population: int, marked: int, drawn: int, chance: float) -> bool:
    """Whether none of the marked is among those drawn without replacement; chance is uniform from 0 to 1."""
    if marked == 0 or drawn == 0:
        return True
    if marked + drawn > population:
        return False
    few, many = min(marked, drawn), max(marked, drawn)
    bound, power, left = 1.0, 1.0 - many / population, few
    while left > 0:
        if left & 1:
            bound *= power
        power *= power
        left >>= 1
    if chance >= bound:
        return False
    product = 1.0
    for i in range(few):
        product *= (population - many - i) / (population - i)
        if chance >= product:
            return False
    return True


@njit(cache=True, nogil=True)
def first_free(
    inside: int, free_inside: int, wanted: int, population: int, free_on_ring: int, generator: Generator
) -> int:
    """Where the partner is: the first free record when those of an interval are looked at in random order.

    The interval has some records inside and some that are wanted of the population of its last ring.
    """
    if free_inside == 0:
        return NOBODY if none_drawn(population, free_on_ring, wanted, generator.random()) else LAST
    if free_on_ring == 0 or wanted == 0:
        return INNER
    while True:
        look = generator.random() * (inside + wanted)
        if look < inside:
            if look < free_inside:
                return INNER
            inside -= 1
        else:
            if (look - inside) * population < free_on_ring * wanted:
                return LAST
            wanted -= 1
            population -= 1
            if wanted == 0:
                return INNER


# ------------------------------------------------------------------------------------------------ rings


@njit(cache=True, nogil=True)
def place_of(record: int, guess: int, start: int, members: Members) -> int:
    """The place of the member that a record of a ring belongs to, looked for from a guess."""
    place = guess
    while members[place].sum <= record:
        place += 1
    while place > start and members[place - 1].sum > record:
        place -= 1
    return place


@njit(cache=True, nogil=True)
def drawn_at_once(ring: int, free: Longs, rings: Rings, members: Members, chance: float) -> int:
    """The value of the record that a uniform number from 0 to 1 stands for, or −1 if it is not free any more.

    Of the records of a member the last ones are free.
    """
    start, length = rings[ring].start, rings[ring].length
    record = int(chance * members[start + length - 1].sum)
    place = place_of(record, start + members[start + int(chance * length)].guide, start, members)
    value = members[place].value
    return int(value) if members[place].sum - record <= free[value] else -1


@njit(cache=True, nogil=True)
def on_ring(ring: int, value: int, rings: Rings, members: Members) -> bool:
    """Whether a value is a member."""
    first, last = rings[ring].start, rings[ring].start + rings[ring].length
    found = False
    while first < last:
        middle = (first + last) >> 1
        found |= members[middle].value == value
        if members[middle].value < value:
            first = middle + 1
        else:
            last = middle
    return found


@njit(cache=True, nogil=True)
def free_on(ring: int, free: Longs, rings: Rings, members: Members) -> int:
    """Free records on a ring, its hole included."""
    total = 0
    for place in range(rings[ring].start, rings[ring].start + rings[ring].length):
        total += free[members[place].value]
    return total


@njit(cache=True, nogil=True)
def nth_free(ring: int, hole: int, nth: int, free: Longs, rings: Rings, members: Members) -> int:
    """The value of the nth free record on a ring, counted from 0."""
    for place in range(rings[ring].start, rings[ring].start + rings[ring].length):
        value = members[place].value
        if free[value] > 0 and not on_ring(hole, value, rings, members):
            nth -= free[value]
            if nth < 0:
                return int(value)
    return -1


@njit(cache=True, nogil=True)
def thin_out(ring: int, free: Longs, rings: Rings, members: Members) -> None:
    """Drop the members of a ring that have no free record, all but the last, and renew its running sums."""
    start, end = rings[ring].start, rings[ring].start + rings[ring].length
    length = total = 0
    for place in range(start, end):
        value = members[place].value
        if free[value] > 0 or (place + 1 == end and length == 0):
            total += max(free[value], 1)
            members[start + length].value = value
            members[start + length].sum = total
            length += 1
    rings[ring].length = length
    rings[ring].fails = 0
    member = 0
    share = total / max(length, 1)
    for i in range(length):
        while members[start + member].sum <= int(i * share):
            member += 1
        members[start + i].guide = member


@njit(cache=True, nogil=True)
def weigh(first: int, last: int, weights: Longs, rings: Rings, members: Members) -> None:
    """Set the running sums of some new rings."""
    for ring in range(first, last):
        thin_out(ring, weights, rings, members)


@njit(cache=True, nogil=True)
def drawn_from(ring: int, hole: int, free: Longs, rings: Rings, members: Members, generator: Generator) -> int:
    """The value of a random free record on a ring, or −1 if there is none.

    Running sums may be out of date, too high; so records are drawn by them until one is still free. When half as many
    draws have failed as the ring has members, the sums are renewed.
    """
    while True:
        value = drawn_at_once(ring, free, rings, members, generator.random())
        if value >= 0 and not on_ring(hole, value, rings, members):
            return value
        rings[ring].fails += 1
        if rings[ring].fails * 2 > rings[ring].length:
            thin_out(ring, free, rings, members)
            rest = free_on(ring, free, rings, members) - free_on(hole, free, rings, members)
            if rest == 0:
                return -1
            return nth_free(ring, hole, int(generator.random() * rest), free, rings, members)


# ------------------------------------------------------------------------------------------------ finding rings


@njit(cache=True, nogil=True)
def weighted_threshold(keys: Longs, weights: Longs, wanted: int) -> int:
    """The smallest key up to which the weights reach what is wanted, or the largest of all; reorders both arrays."""
    first, last = 0, keys.size
    while True:
        pivot = _middle(keys[first], keys[(first + last) >> 1], keys[last - 1])
        below, above, i = first, last, first
        weight_below = weight_equal = 0
        while i < above:
            key, weight = keys[i], weights[i]
            if key < pivot:
                weight_below += weight
                keys[i], weights[i] = keys[below], weights[below]
                keys[below], weights[below] = key, weight
                below += 1
                i += 1
            elif key > pivot:
                above -= 1
                keys[i], weights[i] = keys[above], weights[above]
                keys[above], weights[above] = key, weight
            else:
                weight_equal += weight
                i += 1
        if weight_below >= wanted and below > first:
            last = below
        elif weight_below + weight_equal >= wanted or above == last:
            return pivot
        else:
            wanted -= weight_below + weight_equal
            first = above


@njit(cache=True, nogil=True)
def _middle(a: int, b: int, c: int) -> int:
    return max(min(a, b), min(max(a, b), c))


@njit(cache=True, nogil=True)
def find_edges(
    distances: Floats,
    sign: int,
    weights: Longs,
    enough: tuple[int, int],
    first: int,
    last: int,
    edges: Longs,
    sizes: Longs,
) -> None:
    """For each row how far its part reaches: to the ring with which it has enough weight and enough values.

    Args:
        distances: Of some values, a row each, to all values that are there.
        sign: 1 to begin with the nearest, −1 with the farthest.
        weights: Of the columns.
        enough: Weight and number of values.
        first: The first row.
        last: The row behind the last.
        edges: Set to the distance of the last ring in steps, with the sign.
        sizes: Set to the number of values.
    """
    weight_wanted, values_wanted = enough
    keys = np.empty(weights.size, np.int64)
    amounts = np.empty(weights.size, np.int64)
    for row in range(first, last):
        for column in range(weights.size):
            keys[column] = sign * int(np.rint(distances[row, column] * STEPS))
        edge = BELOW_ALL
        if weight_wanted > 0:
            amounts[:] = weights
            edge = weighted_threshold(keys, amounts, weight_wanted)
        if values_wanted > 0:
            amounts[:] = 1
            edge = max(edge, weighted_threshold(keys, amounts, values_wanted))
        edges[row] = edge
        sizes[row] = np.count_nonzero(keys <= edge)


@njit(cache=True, nogil=True)
def gather_rings(
    distances: Floats,
    sign: int,
    values: Ints,
    apart: bool,
    first: int,
    last: int,
    edges: Longs,
    offsets: Longs,
    members: Ints,
    closes: Flags,
) -> None:
    """List the values of each row up to its edge, ring by ring, and mark the last member of each ring.

    Unless they are wanted apart, the rings before the last one are put together.
    """
    keys = np.empty(values.size, np.int64)
    inner = np.empty(values.size, np.int32)
    for row in range(first, last):
        size = on_edge = 0
        start, end = offsets[row], offsets[row + 1]
        for column in range(values.size):
            key = sign * int(np.rint(distances[row, column] * STEPS))
            if key < edges[row]:
                keys[size] = key
                inner[size] = values[column]
                size += 1
            elif key == edges[row]:
                members[start + on_edge] = values[column]
                on_edge += 1
        members[start + size : end] = members[start : start + on_edge].copy()
        closes[start:end] = False
        closes[end - 1] = True
        if apart:
            order = np.argsort(keys[:size], kind="mergesort")
            for i in range(size):
                members[start + i] = inner[order[i]]
                closes[start + i] = i + 1 == size or keys[order[i]] != keys[order[i + 1]]
        elif size > 0:
            members[start : start + size] = inner[:size]
            closes[start + size - 1] = True


# ------------------------------------------------------------------------------------------------ swapping by rings


@njit(cache=True, nogil=True)
def swap_among_all(
    state: Longs,
    tally: Tally,
    intervals: Intervals,
    near: Pool,
    walks: Walks,
    steps: Ints,
    far: Pool,
    generator: Generator,
) -> int:
    """Exchange each reference with a free record of its interval, which is one among all records.

    Returns what is wanted to go on, or that it is done.
    """
    free, within, left, right = tally
    near_rings, near_members = near
    far_rings, far_members = far
    seen = np.empty(MOST_LOOKS, np.int64)
    value = state[REFERENCE]
    while True:
        if state[PHASE] == NEAR_WANTED:
            own = intervals[value]
            if own.inner == UNKNOWN:
                state[REFERENCE] = value
                return NEAR_WANTED
            # Steps 2 and 3: a random free record of the interval; without one the value stays.
            free[value] -= 1
            state[FREE] -= 1
            if own.last == value:
                alone = none_drawn(own.population, free[value], own.wanted, generator.random())
                partner = -1 if alone else value
            else:
                partner = partner_among_all(value, free, own, near_rings, near_members, seen, generator)
            note(value, partner, state, free, within, left, right)
            state[PHASE] = FAR_WANTED
        if state[FREE] == 0:
            return DONE
        # Step 4: the next reference is the free record farthest from this one.
        following = -1
        place = walks[value].at
        if place < walks[value].end and place != walks[value].hollow:
            following = drawn_at_once(steps[place], free, far_rings, far_members, generator.random())
        if following < 0:
            following = farthest(value, free, walks, steps, far_rings, far_members, generator)
        if following < 0:
            state[REFERENCE] = value
            return FAR_WANTED
        value = following
        state[PHASE] = NEAR_WANTED


@njit(cache=True, nogil=True)
def note(value: int, partner: int, state: Longs, free: Longs, within: Longs, left: Ints, right: Ints) -> None:
    """Count an exchange, or that there was none; the lists of exchanges have a place to spare."""
    found, own, place = partner >= 0, partner == value, state[PAIRS]
    free[max(partner, 0)] -= found
    state[FREE] -= found
    state[UNTOUCHED] += not found
    within[value] += own
    left[place] = value
    right[place] = partner
    state[PAIRS] += found and not own


@njit(cache=True, nogil=True)
def farthest(
    value: int, free: Longs, walks: Walks, steps: Ints, rings: Rings, members: Members, generator: Generator
) -> int:
    """The value of a random one of the farthest free records; −1 if no ring that is known has any."""
    while walks[value].at < walks[value].end:
        hole = walks[value].hole if walks[value].at == walks[value].hollow else free.size
        found = drawn_from(steps[walks[value].at], hole, free, rings, members, generator)
        if found >= 0:
            return found
        walks[value].at += 1
    return -1


@njit(cache=True, nogil=True)
def partner_among_all(
    value: int, free: Longs, interval: Any, rings: Rings, members: Members, seen: Longs, generator: Generator
) -> int:
    """The value of a random free record of an interval, or −1.

    The reference itself is no longer counted as free. Into a long last ring some random looks are taken before its free
    records are counted: the last records of each value are the free ones, and the one before is the reference if it is
    its. Records ``seen`` are not looked at again.
    """
    inner, last, hole = interval.inner, interval.last, interval.hole
    inside, wanted, population = interval.inside, interval.wanted, interval.population
    free_inside = free_on(inner, free, rings, members)
    start, length = rings[last].start, rings[last].length
    n_seen = 0
    for _ in range(min(length // SHORT, MOST_LOOKS)):
        if inside + wanted == 0:
            return -1
        look = generator.random() * (inside + wanted)
        if look < inside:
            if look < free_inside:
                return nth_free(inner, free.size, int(look), free, rings, members)
            inside -= 1
            continue
        while True:
            chance = generator.random()
            record = int(chance * members[start + length - 1].sum)
            place = place_of(record, start + members[start + int(chance * length)].guide, start, members)
            found = int(members[place].value)
            rest = members[place].sum - record
            refused = (found == value and rest == free[value] + 1) or on_ring(hole, found, rings, members)
            for i in range(n_seen):
                refused |= seen[i] == record
            if not refused:
                break
        if rest <= free[found]:
            return found
        seen[n_seen] = record
        n_seen += 1
        wanted -= 1
        population -= 1
    free_on_last = free_on(last, free, rings, members) - free_on(hole, free, rings, members)
    where = first_free(inside, free_inside, wanted, population, free_on_last, generator)
    if where == NOBODY:
        return -1
    if where == INNER:
        return nth_free(inner, free.size, int(generator.random() * free_inside), free, rings, members)
    return nth_free(last, hole, int(generator.random() * free_on_last), free, rings, members)


@njit(cache=True, nogil=True)
def swap_among_free(
    k: int,
    state: Longs,
    tally: Tally,
    near_walks: Walks,
    near_steps: Ints,
    near: Pool,
    walks: Walks,
    steps: Ints,
    far: Pool,
    generator: Generator,
) -> int:
    """Exchange each reference with one of the k nearest free records.

    Which one is drawn by its rank; the records of the ring on which that rank lies are equally likely. Returns what is
    wanted to go on, or that it is done.
    """
    free, within, left, right = tally
    near_rings, near_members = near
    far_rings, far_members = far
    value = state[REFERENCE]
    while True:
        if state[PHASE] == NEAR_WANTED:
            # Steps 2 and 3: the interval has the k nearest free records, of which one is drawn by its rank.
            if state[RANK] == 0:
                free[value] -= 1
                state[FREE] -= 1
                state[RANK] = 1 + int(generator.random() * min(k, state[FREE]))
            partner = -1
            walk = near_walks[value]
            if walk.at < walk.end and near_steps[walk.at] == value and free[value] >= state[RANK]:
                partner = value
            elif state[FREE] > 0:
                place = step_of_rank(state[RANK], walk, free, near_steps, near_rings, near_members)
                if place < 0:
                    state[REFERENCE] = value
                    return NEAR_WANTED
                hole = walk.hole if place == walk.hollow else free.size
                partner = drawn_from(near_steps[place], hole, free, near_rings, near_members, generator)
            note(value, partner, state, free, within, left, right)
            state[RANK] = 0
            state[PHASE] = FAR_WANTED
        if state[FREE] == 0:
            return DONE
        # Step 4: the next reference is the free record farthest from this one.
        following = -1
        place = walks[value].at
        if place < walks[value].end and place != walks[value].hollow:
            following = drawn_at_once(steps[place], free, far_rings, far_members, generator.random())
        if following < 0:
            following = farthest(value, free, walks, steps, far_rings, far_members, generator)
        if following < 0:
            state[REFERENCE] = value
            return FAR_WANTED
        value = following
        state[PHASE] = NEAR_WANTED


@njit(cache=True, nogil=True)
def step_of_rank(rank: int, walk: Any, free: Longs, steps: Ints, rings: Rings, members: Members) -> int:
    """Which of the rings of a walk from near to far has the free record of a rank; −1 if they have too few."""
    for place in range(walk.at, walk.end):
        ring = steps[place]
        in_hole = free_on(walk.hole, free, rings, members) if place == walk.hollow else 0
        found = idle = 0
        for member in range(rings[ring].start, rings[ring].start + rings[ring].length):
            found += free[members[member].value]
            idle += free[members[member].value] == 0
            if found >= rank + in_hole:
                break
        if idle > SHORT:
            thin_out(ring, free, rings, members)
        rank -= found - in_hole
        if rank <= 0:
            return place
    return -1


@njit(cache=True, nogil=True)
def run_out(rank: int, free: Longs, walks: Walks, steps: Ints, rings: Rings, members: Members) -> Flags:
    """Which values with free records have fewer than some free records on the rings that they know."""
    out = np.zeros(free.size, np.bool_)
    for value in range(free.size):
        if free[value] > 0:
            out[value] = step_of_rank(rank, walks[value], free, steps, rings, members) < 0
    return out


# ------------------------------------------------------------------------------------------------ numbers in order


@njit(cache=True, nogil=True)
def apart(numbers: Floats, extent: float, a: int, b: int) -> float:
    """The distance of two places in steps."""
    return float(np.rint(abs(numbers[a] - numbers[b]) / extent * STEPS))


@njit(cache=True, nogil=True)
def is_apart(numbers: Floats, extent: float, place: int) -> bool:
    """Whether a place has no other at distance 0."""
    before, behind = max(place - 1, 0), min(place + 1, numbers.size - 1)
    alone_before = before == place or apart(numbers, extent, place, before) > 0
    return alone_before and (behind == place or apart(numbers, extent, place, behind) > 0)


@njit(cache=True, nogil=True)
def first_nearer(numbers: Floats, extent: float, centre: int, limit: float, first: int) -> int:
    """The first place from ``first`` up to the centre that is nearer to it than a limit; the one behind it if none."""
    last = centre + 1
    while first < last:
        middle = (first + last) >> 1
        if apart(numbers, extent, centre, middle) < limit:
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
        if apart(numbers, extent, centre, middle) < limit:
            first = middle
        else:
            last = middle - 1
    return first


@njit(cache=True, nogil=True)
def find_windows(numbers: Floats, extent: float, counts: Longs, k: int) -> Longs:
    """For each place the outer and the inner window of its k nearest records.

    The places of the outer window that are not in the inner one are those at the distance of the k-th. A row has
    the first outer, first inner, last inner and last outer place.
    """
    out = np.empty((numbers.size, 4), np.int64)
    low = high = 0
    records = counts[0]
    for centre in range(numbers.size):
        while high < centre:
            high += 1
            records += counts[high]
        while True:
            beyond_low = apart(numbers, extent, centre, low - 1) if low > 0 else np.inf
            beyond_high = apart(numbers, extent, centre, high + 1) if high + 1 < numbers.size else np.inf
            at_low, at_high = apart(numbers, extent, centre, low), apart(numbers, extent, centre, high)
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
        radius = max(at_low, at_high)
        out[centre, 0] = first_nearer(numbers, extent, centre, radius + 0.5, 0)
        out[centre, 1] = first_nearer(numbers, extent, centre, radius, out[centre, 0])
        out[centre, 3] = last_nearer(numbers, extent, centre, radius + 0.5, numbers.size - 1)
        out[centre, 2] = last_nearer(numbers, extent, centre, radius, out[centre, 3])
    return out


@njit(cache=True, nogil=True)
def tree_of(free: Longs) -> Longs:
    """A binary indexed tree: sums of ranges that can be changed and searched in logarithmic time."""
    tree = np.zeros(free.size + 1, np.int64)
    for place in range(1, tree.size):
        tree[place] += free[place - 1]
        parent = place + (place & -place)
        if parent < tree.size:
            tree[parent] += tree[place]
    return tree


@njit(cache=True, nogil=True)
def lower(place: int, tree: Longs) -> None:
    """Take one free record off a place of the tree; an empty tree stays empty."""
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
def drawn_between(low: int, before: int, behind: int, high: int, free: Longs, tree: Longs, generator: Generator) -> int:
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
def drawn_at(
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
    before, behind = low - 1, high + 1
    if low <= centre and apart(numbers, extent, centre, low) >= distance:
        before = low
        if low < centre and apart(numbers, extent, centre, low + 1) >= distance:
            before = min(first_nearer(numbers, extent, centre, distance, low) - 1, high)
    if high >= centre and apart(numbers, extent, centre, high) >= distance:
        behind = high
        if high > centre and apart(numbers, extent, centre, high - 1) >= distance:
            behind = max(last_nearer(numbers, extent, centre, distance, high) + 1, low)
    if behind <= before:
        before, behind = high, high + 1
    return int(drawn_between(low, before, behind, high, free, tree, generator))


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
    """Exchange each reference with a free record of its window among all records; the state at the end.

    The tree of free records may be empty if all windows are narrow.
    """
    free, within, left, right = tally
    state = np.zeros(PAIRS + 1, np.int64)
    running = np.cumsum(counts)
    state[FREE] = running[-1]
    low, high = 0, int(numbers.size - 1)
    place = int(start)
    while True:
        free[place] -= 1
        lower(place, tree)
        state[FREE] -= 1
        # Steps 2 and 3: a random free record of the window; without one the number stays.
        first, inner, outer, last = windows[place]
        partner = place
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
                partner = int(drawn_between(first, inner - 1, outer + 1, last, free, tree, generator))
        if partner >= 0:
            lower(partner, tree)
        note(place, partner, state, free, within, left, right)
        if state[FREE] == 0:
            return state
        # Step 4: the next reference is the free record farthest from this one.
        while free[low] == 0:
            low += 1
        while free[high] == 0:
            high -= 1
        reach = max(apart(numbers, extent, place, low), apart(numbers, extent, place, high))
        place = drawn_at(reach, place, low, high, numbers, extent, free, tree, generator)


@njit(cache=True, nogil=True)
def swap_numbers_among_free(
    start: int, k: int, numbers: Floats, extent: float, tree: Longs, tally: Tally, generator: Generator
) -> Longs:
    """Exchange each reference with one of the k nearest free records, drawn by its rank; the state at the end."""
    free, within, left, right = tally
    state = np.zeros(PAIRS + 1, np.int64)
    state[FREE] = free_before(free.size, tree)
    low, high = 0, int(numbers.size - 1)
    place = int(start)
    while True:
        free[place] -= 1
        lower(place, tree)
        state[FREE] -= 1
        # Steps 2 and 3: the interval has the k nearest free records, of which one is drawn by its rank.
        partner = -1
        if state[FREE] > 0:
            rank = 1 + int(generator.random() * min(k, state[FREE]))
            if rank <= free[place] and is_apart(numbers, extent, place):
                partner = place
            else:
                distance = distance_of_rank(rank, place, state[FREE], numbers, extent, free, tree)
                first = first_nearer(numbers, extent, place, distance + 0.5, 0)
                last = last_nearer(numbers, extent, place, distance + 0.5, numbers.size - 1)
                partner = drawn_at(distance, place, first, last, numbers, extent, free, tree, generator)
            lower(partner, tree)
        note(place, partner, state, free, within, left, right)
        if state[FREE] == 0:
            return state
        # Step 4: the next reference is the free record farthest from this one.
        while free[low] == 0:
            low += 1
        while free[high] == 0:
            high -= 1
        reach = max(apart(numbers, extent, place, low), apart(numbers, extent, place, high))
        place = drawn_at(reach, place, low, high, numbers, extent, free, tree, generator)


@njit(cache=True, nogil=True)
def distance_of_rank(
    rank: int, centre: int, n_free: int, numbers: Floats, extent: float, free: Longs, tree: Longs
) -> float:
    """The distance of the free record of a rank from near to far.

    How many of the nearer ones lie left of the centre is found by halving.
    """
    below = free_before(centre, tree)
    behind = below + free[centre]
    others = rank - free[centre]
    if others <= 0:
        return 0.0
    few, many = max(0, others - (n_free - behind)), min(others, below)
    while few < many:
        middle = (few + many) >> 1
        next_left = place_of_free(below - 1 - middle, tree)
        last_right = place_of_free(behind + others - middle - 1, tree)
        if apart(numbers, extent, centre, next_left) < apart(numbers, extent, centre, last_right):
            few = middle + 1
        else:
            many = middle
    distance = 0.0
    if few > 0:
        distance = apart(numbers, extent, centre, place_of_free(below - few, tree))
    if few < others:
        distance = max(distance, apart(numbers, extent, centre, place_of_free(behind + others - few - 1, tree)))
    return distance
