"""The compiled local search that refines groups: records move to a near group, or change places with one of it.

The loss of a group is the sum of the costs of all its pairs, divided by its size. For every member the sum of its costs
to the others of its group is stored, so the gain of a move or an exchange takes a few additions.

The steps named below are those of the plain version, `anonto.methods.plain.refine`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.search.search_kernels import nearest

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs
    from anonto.search.arrays import SearchTree, SpaceArrays

WORTH_IT = 1e-9
"""A change must lower the loss by more than this, so that the search ends."""
MOST_CHANGES = 4
"""Largest number of changes between two groups, for each place in one."""
STAYS = -1


@njit(cache=True, nogil=True)
def near_groups(tree: SearchTree, wanted: int) -> Ints:
    """Step 1: for each record of a tree, which represents a group, the wanted number of others nearest to it."""
    numbers, codes, records = tree.space.numbers, tree.space.codes, tree.nodes.records
    n = codes.shape[0]
    live = np.ones(n, np.int64)
    found = np.empty(wanted + 1, np.int32)
    out = np.empty((n, wanted), np.int32)
    for place in range(n):
        live[place] = 0
        nearest(tree, live, numbers[place], codes[place], wanted, found)
        live[place] = 1
        for i in range(wanted):
            out[records[place], i] = records[found[i]]
    return out


@njit(cache=True, nogil=True, inline="always")
def cost(space: SpaceArrays, squares: bool, a: int, b: int) -> float:
    """The sum of what the columns of two records contribute to their distance, or of its squares."""
    numbers, gaps, codes, tables, starts, widths, weights, squared = space
    total = 0.0
    # Number columns: a difference, or the gap between a number and a missing one.
    for column in range(numbers.shape[1]):
        difference = numbers[a, column] - numbers[b, column]
        if np.isnan(difference):
            both = np.isnan(numbers[a, column]) and np.isnan(numbers[b, column])
            part = 0.0 if both else gaps[column]
        elif squared:
            part = difference * difference
        else:
            part = abs(difference)
        total += part * part if squares else part
    # Nominal columns: a distance of the table, or the weight of two different values.
    for column in range(codes.shape[1]):
        if starts[column] >= 0:
            part = tables[starts[column] + codes[a, column] * widths[column] + codes[b, column]]
        else:
            part = weights[column] if codes[a, column] != codes[b, column] else 0.0
        total += part * part if squares else part
    return total


@njit(cache=True, nogil=True)
def sums_between(
    space: SpaceArrays, squares: bool, members: Ints, others: Ints, sums: Floats, sums_of_others: Floats
) -> float:
    """Fill in the summed costs of each member of two groups to the other group; return the largest single cost."""
    largest = 0.0
    sums_of_others[: others.size] = 0.0
    for i in range(members.size):
        total = 0.0
        for j in range(others.size):
            part = cost(space, squares, members[i], others[j])
            total += part
            sums_of_others[j] += part
            largest = max(largest, part)
        sums[i] = total
    return largest


@njit(cache=True, nogil=True)
def add_costs(space: SpaceArrays, squares: bool, members: Ints, sums: Floats, joined: int, left: int) -> float:
    """Add to the sum of each member its cost to a record that joined a group, and subtract that to one that left.

    −1 means none. Returns the largest of these costs.
    """
    largest = 0.0
    for i in range(members.size):
        for record, sign in ((joined, 1.0), (left, -1.0)):
            if record != STAYS:
                part = cost(space, squares, members[i], record)
                sums[i] += sign * part
                largest = max(largest, part)
    return largest


@njit(cache=True, nogil=True)
def all_sums(space: SpaceArrays, squares: bool, members: Ints, sizes: Longs) -> Floats:
    """The summed costs of each member of each group to the others of its group."""
    sums, again = np.zeros(members.shape), np.empty(members.shape[1])
    for group in range(sizes.size):
        own = members[group, : sizes[group]]
        sums_between(space, squares, own, own, sums[group], again)
    return sums


@njit(cache=True, nogil=True)
def refine(
    space: SpaceArrays, squares: bool, members: Ints, sizes: Longs, sums: Floats, near: Ints, k: int, rounds: int
) -> int:
    """Move and exchange members between near groups while that lowers the loss; return the number of changes.

    Args:
        space: The records.
        squares: Whether the cost of a pair is the sum of the squares of what its columns contribute.
        members: RecordGroups × places: the records of each group's rows; changed in place, like the sizes and sums.
        sizes: Rows of each group.
        sums: The summed costs of each member to the others of its group.
        near: The groups near each group.
        k: The least size of a group; the largest is 2k − 1.
        rounds: Largest number of passes over all groups.
    """
    n_groups = sizes.size
    changed = np.zeros(n_groups, np.int64)
    looked = np.full(near.shape, -1)
    clock, changes = 0, 0
    to_b, to_a = np.empty(members.shape[1]), np.empty(members.shape[1])
    # Step 2: go through all pairs of near groups, until a round changes nothing.
    for _ in range(rounds):
        before = changes
        for a in range(n_groups):
            for at in range(near.shape[1]):
                # A pair is tried once a round, and only if one of the two changed since it was last tried.
                b = int(near[a, at])
                if (b < a and (near[b] == a).any()) or max(changed[a], changed[b]) <= looked[a, at]:
                    continue
                made = refine_pair(space, squares, members, sizes, sums, a, b, k, to_b, to_a)
                if made > 0:
                    clock += 1
                    changes += made
                    changed[a], changed[b] = clock, clock
                looked[a, at] = clock
        if changes == before:
            break
    return changes


@njit(cache=True, nogil=True)
def refine_pair(
    space: SpaceArrays,
    squares: bool,
    members: Ints,
    sizes: Longs,
    sums: Floats,
    a: int,
    b: int,
    k: int,
    to_b: Floats,
    to_a: Floats,
) -> int:
    """Make the best change between two groups again and again; return the number of changes.

    ``to_b`` and ``to_a`` are arrays for the summed costs of each member of one group to the other.
    """
    largest = sums_between(space, squares, members[a, : sizes[a]], members[b, : sizes[b]], to_b, to_a)
    # Step 3: of all exchanges and moves make the one with the largest gain, again and again.
    for made in range(MOST_CHANGES * members.shape[1]):
        gain, of_a, of_b = best_exchange(space, squares, members, sizes, sums, a, b, to_b, to_a, largest)
        if sizes[a] > k and sizes[b] < 2 * k - 1:
            better, mover = best_move(sizes, sums, a, b, to_b)
            if better < gain:
                gain, of_a, of_b = better, mover, STAYS
        if sizes[b] > k and sizes[a] < 2 * k - 1:
            better, mover = best_move(sizes, sums, b, a, to_a)
            if better < gain:
                gain, of_a, of_b = better, STAYS, mover
        if gain >= -WORTH_IT:
            return made
        largest = max(largest, change(space, squares, members, sizes, sums, (a, b, of_a, of_b), to_b, to_a))
    return MOST_CHANGES * int(members.shape[1])


@njit(cache=True, nogil=True)
def best_exchange(
    space: SpaceArrays,
    squares: bool,
    members: Ints,
    sizes: Longs,
    sums: Floats,
    a: int,
    b: int,
    to_b: Floats,
    to_a: Floats,
    largest: float,
) -> tuple[float, int, int]:
    """The exchange of a member of a with one of b that lowers the loss most, and the change of the loss.

    The change is that of the one going alone, plus that of the other, less a multiple of their cost. Members are tried
    in the order of the first two terms, while the largest cost of all could still make them the best.
    """
    # Step 3, exchanges: how the loss changes if one member goes alone, and the most that the cost of a pair saves.
    share_a, share_b = 1.0 / sizes[a], 1.0 / sizes[b]
    alone_a = to_b[: sizes[a]] * share_b - sums[a, : sizes[a]] * share_a
    alone_b = to_a[: sizes[b]] * share_a - sums[b, : sizes[b]] * share_b
    most = largest * (share_a + share_b)
    best, of_a, of_b = 0.0, STAYS, STAYS
    # No exchange of these groups can lower the loss.
    if alone_a.min() + alone_b.min() - most >= best:
        return best, of_a, of_b
    # Try pairs, the most promising first, until no further one can be the best.
    order_a, order_b = np.argsort(alone_a, kind="mergesort"), np.argsort(alone_b, kind="mergesort")
    for i in order_a:
        if alone_a[i] + alone_b[order_b[0]] - most >= best:
            break
        for j in order_b:
            if alone_a[i] + alone_b[j] - most >= best:
                break
            apart = cost(space, squares, members[a, i], members[b, j])
            found = alone_a[i] + alone_b[j] - apart * (share_a + share_b)
            if found < best:
                best, of_a, of_b = found, i, j
    return best, of_a, of_b


@njit(cache=True, nogil=True)
def best_move(sizes: Longs, sums: Floats, a: int, b: int, to_b: Floats) -> tuple[float, int]:
    """The member of a that lowers the loss most by moving to b, and the change of the loss."""
    pairs_a, pairs_b = sums[a, : sizes[a]].sum() / 2, sums[b, : sizes[b]].sum() / 2
    best, mover = 0.0, STAYS
    for i in range(sizes[a]):
        without = (pairs_a - sums[a, i]) / (sizes[a] - 1) - pairs_a / sizes[a]
        found = without + (pairs_b + to_b[i]) / (sizes[b] + 1) - pairs_b / sizes[b]
        if found < best:
            best, mover = found, i
    return best, mover


@njit(cache=True, nogil=True)
def change(
    space: SpaceArrays,
    squares: bool,
    members: Ints,
    sizes: Longs,
    sums: Floats,
    pair: tuple[int, int, int, int],
    to_b: Floats,
    to_a: Floats,
) -> float:
    """Move a member of a to b and one of b to a, −1 for none, and update all sums.

    ``pair``: a and b, and the places of the two members. Returns the largest cost of any member to one that came.
    """
    a, b, of_a, of_b = pair
    from_a = int(members[a, of_a]) if of_a != STAYS else STAYS
    from_b = int(members[b, of_b]) if of_b != STAYS else STAYS
    largest = add_costs(space, squares, members[a, : sizes[a]], sums[a], from_b, from_a)
    largest = max(largest, add_costs(space, squares, members[b, : sizes[b]], sums[b], from_a, from_b))
    add_costs(space, squares, members[a, : sizes[a]], to_b, from_a, from_b)
    add_costs(space, squares, members[b, : sizes[b]], to_a, from_b, from_a)
    # The sums to the own and to the other group change their roles for those that go.
    if STAYS not in (of_a, of_b):
        members[a, of_a], members[b, of_b] = from_b, from_a
        swapped = (sums[a, of_a], to_b[of_a])
        sums[a, of_a], to_b[of_a] = to_a[of_b], sums[b, of_b]
        to_a[of_b], sums[b, of_b] = swapped
    elif of_a != STAYS:
        hand_over(members, sizes, sums, a, b, of_a, to_b, to_a)
    else:
        hand_over(members, sizes, sums, b, a, of_b, to_a, to_b)
    return largest


@njit(cache=True, nogil=True)
def hand_over(members: Ints, sizes: Longs, sums: Floats, a: int, b: int, of_a: int, to_b: Floats, to_a: Floats) -> None:
    """Append a member of a to b; the last of a takes its place. Its two sums change their roles."""
    end = sizes[b]
    members[b, end] = members[a, of_a]
    sums[b, end], to_a[end] = to_b[of_a], sums[a, of_a]
    sizes[b] += 1
    sizes[a] -= 1
    last = sizes[a]
    members[a, of_a], sums[a, of_a], to_b[of_a] = members[a, last], sums[a, last], to_b[last]
