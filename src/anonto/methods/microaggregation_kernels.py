"""The compiled loops of microaggregation: centres of groups, V-MDAV, moves to centres.

The steps named below are those of the plain versions: `anonto.methods.plain.v_mdav` for groups of varying size, and
`anonto.methods.plain.refine_centroids` for moves towards centres.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.search.search_kernels import nearest, start_query, sum_contributions, to_steps
from anonto.search.tree_kernels import remove
from anonto.stats.ties import TOLERANCE

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs
    from anonto.search.arrays import SearchTree, SpaceArrays


# ------------------------------------------------------------------------------------------------ centres


@njit(cache=True, nogil=True)
def least_of_own(offsets: Longs, values: Ints, counts: Longs, distances: Floats, squares: bool) -> Ints:
    """The value of each group with the least sum of (squared) distances to all; the first of equals, −1 for none.

    Args:
        offsets: Where the distinct values of each group start.
        values: Of each group, in the order in which they are preferred.
        counts: How often each occurs in its group.
        distances: All pairs of values.
        squares: Whether squared distances are summed.
    """
    n_groups = offsets.size - 1
    best = np.full(n_groups, -1, np.int32)
    for group in range(n_groups):
        begin, end = offsets[group], offsets[group + 1]
        if end == begin:
            continue
        # The sum of the (squared) distances of each value of the group to all its rows.
        sums = np.zeros(end - begin)
        n = 0
        for i in range(begin, end):
            n += counts[i]
            row = distances[values[i]]
            for j in range(begin, end):
                distance = row[values[j]]
                sums[i - begin] += counts[j] * (distance * distance if squares else distance)
        # The first value whose sum is the least, apart from rounding errors.
        allowed = sums.min() + TOLERANCE * n
        place = 0
        while sums[place] > allowed:
            place += 1
        best[group] = values[begin + place]
    return best


@njit(cache=True, nogil=True)
def most_frequent(offsets: Longs, values: Ints, counts: Longs) -> Ints:
    """The most frequent value of each group; the first of equals, −1 for none."""
    n_groups = offsets.size - 1
    best = np.full(n_groups, -1, np.int32)
    for group in range(n_groups):
        most = 0
        for i in range(offsets[group], offsets[group + 1]):
            if counts[i] > most:
                most, best[group] = counts[i], values[i]
    return best


@njit(cache=True, nogil=True)
def look_for_less(
    offsets: Longs, values: Ints, counts: Longs, squares: Floats, first: int, best: Ints, sums: Floats
) -> None:
    """Give groups a candidate whose sum of squared distances is less than that of the best one so far.

    Groups with a single value are skipped: nothing is nearer.

    Args:
        offsets: Where the distinct values of each group start.
        values: Of each group.
        counts: How often each occurs in its group.
        squares: Values × some candidates: the squared distances.
        first: The number of the first of these candidates.
        best: The number of each group's best candidate.
        sums: Its sum.
    """
    total = np.empty(squares.shape[1])
    for group in range(offsets.size - 1):
        begin, end = offsets[group], offsets[group + 1]
        if end - begin < 2:
            continue
        # The sum of the squared distances of each candidate to all rows of the group.
        total[:] = 0.0
        n = 0
        for i in range(begin, end):
            n += counts[i]
            row, count = squares[values[i]], float(counts[i])
            for candidate in range(total.size):
                total[candidate] += count * row[candidate]
        # Take the first candidate that is better by more than rounding errors.
        least = sums[group]
        enough = TOLERANCE * n
        for candidate in range(total.size):
            if total[candidate] < least - enough:
                least = total[candidate]
                best[group] = first + candidate
        sums[group] = least


# ------------------------------------------------------------------------------------------------ towards centres


class Centres(NamedTuple):
    """The centre of each group, and what it costs to put a record with some value there."""

    units: Floats
    """Records × number columns."""
    means: Floats
    """Groups × number columns."""
    codes: Ints
    """Records × nominal columns."""
    places: Ints
    """Groups × nominal columns: which candidate is the centre."""
    squares: Floats
    """The weighted squared distances of the values of all nominal columns to their candidates."""
    starts: Longs
    """Where those of each column start; −1 where two values are equal or not."""
    widths: Longs
    """Candidates of each column."""
    weights: Floats
    """The cost of two different values of a column without distances."""


@njit(cache=True, nogil=True, inline="always")
def cost_at(centres: Centres, record: int, group: int) -> float:
    """The squared distance of a record to the centre of a group."""
    units, means, codes, places, squares, starts, widths, weights = centres
    total = 0.0
    for column in range(units.shape[1]):
        difference = units[record, column] - means[group, column]
        total += difference * difference
    for column in range(codes.shape[1]):
        value, place = codes[record, column], places[group, column]
        if starts[column] >= 0:
            total += squares[starts[column] + value * widths[column] + place]
        elif value != place:
            total += weights[column]
    return total


@njit(cache=True, nogil=True)
def nearest_members(centres: Centres, members: Ints, offsets: Longs) -> tuple[Ints, float]:
    """The member of each group that loses least at its centre, the lowest of equals; and what all members lose."""
    out, lost = np.empty(offsets.size - 1, np.int32), 0.0
    for group in range(out.size):
        least = np.inf
        for i in range(offsets[group], offsets[group + 1]):
            record = members[i]
            cost = cost_at(centres, record, group)
            lost += cost
            if cost < least - TOLERANCE or (cost <= least + TOLERANCE and record < out[group]):
                least, out[group] = cost, record
    return out, lost


@njit(cache=True, nogil=True)
def move_to_centres(centres: Centres, members: Ints, sizes: Longs, near: Ints, k: int, worth_it: float) -> int:
    """Move members to near groups, or let them change places, while they lose less there; how many changes there were.

    Args:
        centres: Of the groups; they stay where they are.
        members: RecordGroups × places; changed.
        sizes: Of the groups, which stay between k and 2k − 1; changed.
        near: For each group others whose members may come or go.
        k: The least size of a group.
        worth_it: What a change must gain.
    """
    largest = members.shape[1]
    losses = np.empty(members.shape)
    for group in range(sizes.size):
        for i in range(sizes[group]):
            record = members[group, i]
            losses[group, i] = cost_at(centres, record, group)
    gains, other_gains = np.empty(largest), np.empty(largest)
    changes = 0
    for group in range(sizes.size):
        for neighbour in range(near.shape[1]):
            other = int(near[group, neighbour])
            # Step 1: what each member of the two groups gains at the centre of the other.
            for side in range(2):
                here = group if side == 0 else other
                there = other if side == 0 else group
                out = gains if side == 0 else other_gains
                for i in range(sizes[here]):
                    record = members[here, i]
                    lost = cost_at(centres, record, there)
                    out[i] = losses[here, i] - lost
            while True:
                goes, comes = int(np.argmax(gains[: sizes[group]])), int(np.argmax(other_gains[: sizes[other]]))
                alone = gains[goes] if sizes[group] > k and sizes[other] < largest else -np.inf
                back = other_gains[comes] if sizes[other] > k and sizes[group] < largest else -np.inf
                both = gains[goes] + other_gains[comes]
                most = max(alone, back, both)
                if most <= worth_it:
                    break
                # Step 2: both change places, or one of them moves where the sizes allow it.
                changes += 1
                if most == both:
                    change_places(members, losses, gains, other_gains, group, other, goes, comes)
                elif most == alone:
                    hand_over(members, losses, sizes, gains, other_gains, group, other, goes)
                else:
                    hand_over(members, losses, sizes, other_gains, gains, other, group, comes)
    return changes


@njit(cache=True, nogil=True)
def change_places(
    members: Ints, losses: Floats, gains: Floats, other_gains: Floats, group: int, other: int, goes: int, comes: int
) -> None:
    """Exchange a member of one group and one of another."""
    members[group, goes], members[other, comes] = members[other, comes], members[group, goes]
    here, there = losses[other, comes] - other_gains[comes], losses[group, goes] - gains[goes]
    losses[group, goes], losses[other, comes] = here, there
    gains[goes], other_gains[comes] = -other_gains[comes], -gains[goes]


@njit(cache=True, nogil=True)
def hand_over(
    members: Ints,
    losses: Floats,
    sizes: Longs,
    gains: Floats,
    other_gains: Floats,
    group: int,
    other: int,
    place: int,
) -> None:
    """Move a member from one group to another."""
    last, at = sizes[group] - 1, sizes[other]
    members[other, at], other_gains[at] = members[group, place], -gains[place]
    losses[other, at] = losses[group, place] - gains[place]
    members[group, place], gains[place], losses[group, place] = members[group, last], gains[last], losses[group, last]
    sizes[other] += 1
    sizes[group] -= 1


# ------------------------------------------------------------------------------------------------ V-MDAV


@njit(cache=True, nogil=True)
def distances_to(space: SpaceArrays, point: Floats, values: Ints) -> Floats:
    """The distance of each record to a point, in rounding steps."""
    query = start_query(space, point, values)
    out = np.empty(space.codes.shape[0])
    for place in range(out.size):
        out[place] = to_steps(sum_contributions(space, place, query), space.squared)
    return out


@njit(cache=True, nogil=True)
def steps_between(space: SpaceArrays, a: int, b: int) -> float:
    """The distance of two records, in rounding steps."""
    query = start_query(space, space.numbers[b], space.codes[b])
    return to_steps(sum_contributions(space, a, query), space.squared)


@njit(cache=True, nogil=True)
def v_mdav(tree: SearchTree, order: Ints, live: Longs, k: int, gain: float) -> tuple[Ints, Longs, Ints]:
    """V-MDAV: the places of each group's rows, group by group, where each starts, and the rows that are left over.

    Args:
        tree: Over the records.
        order: The places of all records, the farthest from the average record first.
        live: The rows of each record; at least k in all. Used up.
        k: The least size of a group.
        gain: γ: a row joins a group if it is nearer to it than γ times its distance to the other rows that are left.
    """
    numbers, codes = tree.space.numbers, tree.space.codes
    left = live.sum()
    members, offsets = np.empty(left, np.int32), np.zeros(left // k + 1, np.int64)
    found = np.empty(k + 1, np.int32)
    n_members, n_groups, upcoming = 0, 0, 0
    while left >= k:
        # Step 2: the row farthest from the average record, with the k − 1 rows nearest to it, is a group.
        while live[order[upcoming]] == 0:
            upcoming += 1
        begin = n_members
        seed = order[upcoming]
        take(tree, live, seed)
        members[n_members] = seed
        n_members += 1
        if k > 1:
            n_found = nearest(tree, live, numbers[seed], codes[seed], k - 1, found)
            for place in found[:n_found]:
                while live[place] > 0 and n_members - begin < k:
                    take(tree, live, place)
                    members[n_members] = place
                    n_members += 1
        # Step 3: the group is extended.
        n_members = extend(tree, live, members, begin, n_members, left - k, k, gain)
        left -= n_members - begin
        n_groups += 1
        offsets[n_groups] = n_members
    return members[:n_members].copy(), offsets[: n_groups + 1].copy(), np.repeat(np.arange(live.size), live)


@njit(cache=True, nogil=True)
def take(tree: SearchTree, live: Longs, place: int) -> None:
    """Remove one row of a record."""
    live[place] -= 1
    if live[place] == 0:
        remove(tree.nodes, tree.space.numbers, live, np.array([place], np.int32), 1)


@njit(cache=True, nogil=True)
def extend(tree: SearchTree, live: Longs, members: Ints, begin: int, end: int, left: int, k: int, gain: float) -> int:
    """Add rows to a group while they are much nearer to it than to others that are left; return where it ends then.

    ``left`` is the number of rows in no group.
    """
    numbers, codes, records = tree.space.numbers, tree.space.codes, tree.nodes.records
    closest, steps, found = np.full(2 * k, -1, np.int32), np.empty(2 * k), np.empty(2, np.int32)
    while end - begin < 2 * k - 1 and left > 0:
        # The row nearest to any member; of equally near ones the lowest record.
        best = -1
        for i in range(end - begin):
            if closest[i] < 0 or live[closest[i]] == 0:
                place = members[begin + i]
                nearest(tree, live, numbers[place], codes[place], 1, found)
                closest[i], steps[i] = found[0], steps_between(tree.space, found[0], place)
            if (
                best < 0
                or steps[i] < steps[best]
                or (steps[i] == steps[best] and records[closest[i]] < records[closest[best]])
            ):
                best = i
        # Its distance to the nearest of the other rows that are left: 0 if it has a copy, infinite if it is the last.
        joining = closest[best]
        outside = np.inf
        if live[joining] > 1:
            outside = 0.0
        elif left > 1:
            live[joining] = 0
            nearest(tree, live, numbers[joining], codes[joining], 1, found)
            live[joining] = 1
            outside = steps_between(tree.space, found[0], joining)
        if not steps[best] < gain * outside:
            break
        take(tree, live, joining)
        members[end] = joining
        end += 1
        left -= 1
    return end
