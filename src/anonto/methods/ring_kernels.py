"""Compiled loops of rank swapping by rings, for values that have distances and no order.

A *ring* is the set of all values at one distance from a reference value. Rings lie in a pool, with their members in
order and running sums of their records; values that have the same ring share it. So that more of them can, a ring may
have too many members, and its *hole* is the ring of these. The first rings of a pool have one value each, in order;
the next one is empty.

A function that is called in every turn of a loop has no branch in which one of its arrays is unused: the compiler would
count references there, which costs more than all the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anonto.methods.rank_kernels import (
    FREE,
    INNER,
    NOBODY,
    PHASE,
    RANK,
    REFERENCE,
    SHORT,
    Generator,
    Tally,
    first_free,
    none_drawn,
    note_exchange,
)

if TYPE_CHECKING:
    from anonto.arrays import Bools, Ints, Longs

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

UNKNOWN = -1
DONE, NEAR_WANTED, FAR_WANTED = 0, 1, 2
"""Results of a loop: it is done, or it needs the near or the far rings of its reference."""
MOST_LOOKS = 256
"""Random looks into a ring before its free records are counted; fewer into shorter ones."""


# ------------------------------------------------------------------------------------------------ draws from a ring


@njit(cache=True, nogil=True)
def find_place(record: int, guess: int, start: int, members: Members) -> int:
    """The place of the member that a record of a ring belongs to, searched for from a guess."""
    place = guess
    while members[place].sum <= record:
        place += 1
    while place > start and members[place - 1].sum > record:
        place -= 1
    return place


@njit(cache=True, nogil=True)
def draw_at_once(ring: int, free: Longs, rings: Rings, members: Members, chance: float) -> int:
    """The value of the record that a uniform number from 0 to 1 chooses, or −1 if that record is no longer free.

    The last records of a member are the free ones.
    """
    start, length = rings[ring].start, rings[ring].length
    record = int(chance * members[start + length - 1].sum)
    place = find_place(record, start + members[start + int(chance * length)].guide, start, members)
    value = members[place].value
    return int(value) if members[place].sum - record <= free[value] else -1


@njit(cache=True, nogil=True)
def on_ring(ring: int, value: int, rings: Rings, members: Members) -> bool:
    """Return whether a value is a member."""
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
    # The guides: for each equal share of the sum, the member that it begins in.
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
def draw_from(ring: int, hole: int, free: Longs, rings: Rings, members: Members, generator: Generator) -> int:
    """The value of a random free record on a ring, or −1 if there is none.

    Running sums may be too high, as they are not updated with every exchange: a record that is no longer free is drawn
    again. When half as many draws have failed as the ring has members, the sums are renewed.
    """
    while True:
        value = draw_at_once(ring, free, rings, members, generator.random())
        if value >= 0 and not on_ring(hole, value, rings, members):
            return value
        rings[ring].fails += 1
        if rings[ring].fails * 2 > rings[ring].length:
            thin_out(ring, free, rings, members)
            rest = free_on(ring, free, rings, members) - free_on(hole, free, rings, members)
            if rest == 0:
                return -1
            return nth_free(ring, hole, int(generator.random() * rest), free, rings, members)


# ------------------------------------------------------------------------------------------------ swapping


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
    """Exchange each reference with a free record of its interval among all records (Algorithm 2, ``interval = "all"``).

    Returns that it is done, or which rings of the reference it needs to continue.
    """
    free, within, left, right = tally
    near_rings, near_members = near
    far_rings, far_members = far
    seen = np.empty(MOST_LOOKS, np.int64)
    value = state[REFERENCE]
    while True:
        if state[PHASE] == NEAR_WANTED:
            own = intervals[value]
            # Step 2: the interval of the reference, found by the caller when it is needed.
            if own.inner == UNKNOWN:
                state[REFERENCE] = value
                return NEAR_WANTED
            # Step 3: exchange with a random free record of the interval; without one the value stays.
            free[value] -= 1
            state[FREE] -= 1
            if own.last == value:
                alone = none_drawn(own.population, free[value], own.wanted, generator.random())
                partner = -1 if alone else value
            else:
                partner = partner_among_all(value, free, own, near_rings, near_members, seen, generator)
            note_exchange(value, partner, state, free, within, left, right)
            state[PHASE] = FAR_WANTED
        if state[FREE] == 0:
            return DONE
        # Step 4: the next reference is the free record farthest from this one. Mostly the farthest ring still has one,
        # and one draw finds it; inside `farthest` that draw would cost a tenth of the whole run.
        following = -1
        place = walks[value].at
        if place < walks[value].end and place != walks[value].hollow:
            following = draw_at_once(steps[place], free, far_rings, far_members, generator.random())
        if following < 0:
            following = farthest(value, free, walks, steps, far_rings, far_members, generator)
        if following < 0:
            state[REFERENCE] = value
            return FAR_WANTED
        value = following
        state[PHASE] = NEAR_WANTED


@njit(cache=True, nogil=True)
def farthest(
    value: int, free: Longs, walks: Walks, steps: Ints, rings: Rings, members: Members, generator: Generator
) -> int:
    """Step 4: the value of a random one of the free records farthest from a reference; −1 if no known ring has any."""
    # Walk inwards, ring by ring, past those without free records.
    while walks[value].at < walks[value].end:
        hole = walks[value].hole if walks[value].at == walks[value].hollow else free.size
        found = draw_from(steps[walks[value].at], hole, free, rings, members, generator)
        if found >= 0:
            return found
        walks[value].at += 1
    return -1


@njit(cache=True, nogil=True)
def partner_among_all(
    value: int, free: Longs, interval: Any, rings: Rings, members: Members, seen: Longs, generator: Generator
) -> int:
    """The value of a random free record of an interval, or −1 (step 3).

    The reference itself is no longer counted as free. A long last ring is sampled some times before its free records
    are counted: the last records of each value are the free ones, and the one before them is the reference if that has
    this value. Records ``seen`` are not looked at again.
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
        # A look at a record inside the interval.
        if look < inside:
            if look < free_inside:
                return nth_free(inner, free.size, int(look), free, rings, members)
            inside -= 1
            continue
        # A look at a record of the last ring: not the reference, none of the hole, none seen before.
        while True:
            chance = generator.random()
            record = int(chance * members[start + length - 1].sum)
            place = find_place(record, start + members[start + int(chance * length)].guide, start, members)
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
    # After that the free records are counted, and the rest is drawn from the counts.
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
    """Exchange each reference with one of the k nearest free records (Algorithm 2, ``interval = "unswapped"``).

    The rank of the partner is drawn; the records of the ring on which that rank lies are equally likely. Returns that
    it is done, or which rings of the reference it needs to continue.
    """
    free, within, left, right = tally
    near_rings, near_members = near
    far_rings, far_members = far
    value = state[REFERENCE]
    while True:
        if state[PHASE] == NEAR_WANTED:
            # Step 2: the interval has the k nearest free records; the rank of one of them is drawn.
            if state[RANK] == 0:
                free[value] -= 1
                state[FREE] -= 1
                state[RANK] = 1 + int(generator.random() * min(k, state[FREE]))
            # Step 3: exchange with a record of that rank; the records of the same value are the nearest.
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
                partner = draw_from(near_steps[place], hole, free, near_rings, near_members, generator)
            note_exchange(value, partner, state, free, within, left, right)
            state[RANK] = 0
            state[PHASE] = FAR_WANTED
        if state[FREE] == 0:
            return DONE
        # Step 4: the next reference is the free record farthest from this one. Mostly the farthest ring still has one,
        # and one draw finds it; inside `farthest` that draw would cost a tenth of the whole run.
        following = -1
        place = walks[value].at
        if place < walks[value].end and place != walks[value].hollow:
            following = draw_at_once(steps[place], free, far_rings, far_members, generator.random())
        if following < 0:
            following = farthest(value, free, walks, steps, far_rings, far_members, generator)
        if following < 0:
            state[REFERENCE] = value
            return FAR_WANTED
        value = following
        state[PHASE] = NEAR_WANTED


@njit(cache=True, nogil=True)
def step_of_rank(rank: int, walk: Any, free: Longs, steps: Ints, rings: Rings, members: Members) -> int:
    """The ring of a walk from near to far that has the free record of a rank; −1 if there are too few records."""
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
def find_exhausted(rank: int, free: Longs, walks: Walks, steps: Ints, rings: Rings, members: Members) -> Bools:
    """Mark the values with free records whose known rings have no free record of a rank."""
    out = np.zeros(free.size, np.bool_)
    for value in range(free.size):
        if free[value] > 0:
            out[value] = step_of_rank(rank, walks[value], free, steps, rings, members) < 0
    return out
