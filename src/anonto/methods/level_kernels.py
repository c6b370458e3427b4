"""Compiled loops that sort the candidates of a value by their distance.

A *level* is the set of candidates at one distance from a value. Candidates are numbered 0, 1, …; distances count as
equal when they are so after rounding to twelve decimals.

They prepare step 3 of `anonto.methods.plain.replacement` (the nearest candidate that is far enough) and steps 1 and 2
of `anonto.methods.plain.taxonomy_exponential` (distances, and how many concepts are at each).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from anonto.arrays import Floats, Integers, Ints, Longs

Whole = int | np.integer
"""A single number inside a loop."""

Levels = tuple[Longs, Floats, Ints, Integers]
"""The levels of each value: where they begin; their distances; four places of each level, where its candidates begin,
where those end that are closer to the first reference, where those begin that are farther from it, and where all end;
and the candidates by level. After the last level of a value comes one more with the distance ∞."""

DECIMALS = 1e12

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_BITS = 10


@njit(cache=True, nogil=True)
def rank_distances(distances: Floats, columns: Ints, ranks: Integers, found: Floats) -> Longs:
    """Number the distinct distances of each row in ascending order.

    Args:
        distances: Rows × concepts.
        columns: The concepts that are candidates.
        ranks: Receives rows × candidates: the number of each distance.
        found: Receives the distinct distances of each row in its first places.

    Returns:
        For each row how many distinct distances it has.
    """
    n_rows, n = ranks.shape
    n_found = np.zeros(n_rows, np.int64)
    keys = np.empty(n, np.int64)
    rank_of = np.empty(n, np.int32)
    bits = _FIRST_BITS
    slot_keys = np.empty(1 << bits, np.int64)
    slot_numbers = np.empty(1 << bits, np.int32)
    for row in range(n_rows):
        # A hash table numbers the distinct distances in the order in which they occur: there are few of them.
        count = 0
        slot_keys[:] = -1
        for c in range(n):
            key = np.int64(np.rint(distances[row, columns[c]] * DECIMALS))
            slot = _slot(key, bits)
            while slot_keys[slot] != key:
                if slot_keys[slot] < 0:
                    slot_keys[slot] = key
                    slot_numbers[slot] = count
                    keys[count] = key
                    count += 1
                    break
                slot = (slot + 1) & ((1 << bits) - 1)
            ranks[row, c] = slot_numbers[slot]
            # A table that is half full grows fourfold.
            if 2 * count > slot_keys.size:
                bits += 2
                slot_keys = np.full(1 << bits, -1, np.int64)
                slot_numbers = np.empty(1 << bits, np.int32)
                for number in range(count):
                    slot = _slot(keys[number], bits)
                    while slot_keys[slot] >= 0:
                        slot = (slot + 1) & ((1 << bits) - 1)
                    slot_keys[slot] = keys[number]
                    slot_numbers[slot] = number
        # Only the distinct distances are sorted; the numbers become ranks.
        order = np.argsort(keys[:count])
        for rank in range(count):
            rank_of[order[rank]] = rank
            found[row, rank] = keys[order[rank]] / DECIMALS
        for c in range(n):
            ranks[row, c] = rank_of[ranks[row, c]]
        n_found[row] = count
    return n_found


@njit(cache=True, nogil=True)
def _slot(key: Whole, bits: Whole) -> Whole:
    return np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def order_by_rank(
    ranks: Integers,
    n_ranks: Longs,
    from_reference: Integers,
    own_ranks: Integers,
    offsets: Longs,
    bounds: Ints,
    members: Integers,
) -> None:
    """Put the candidates of each row in the order of their ranks, and those of a rank by direction.

    Args:
        ranks: Rows × candidates.
        n_ranks: For each row how many distinct ranks it has.
        from_reference: For each candidate the rank of its distance to the first reference.
        own_ranks: For each row the rank of its own distance to it.
        offsets: For each row where its levels begin.
        bounds: Receives the four places of each level.
        members: Receives rows × candidates.
    """
    n_rows, n = ranks.shape
    for row in range(n_rows):
        begin, n_own = offsets[row], n_ranks[row]
        # A counting sort by rank and, within a rank, by side: closer to the reference, equally far, farther.
        places = np.zeros(3 * n_own + 1, np.int32)
        for c in range(n):
            places[3 * ranks[row, c] + _side(from_reference[c], own_ranks[row]) + 1] += 1
        for k in range(3 * n_own):
            places[k + 1] += places[k]
        for rank in range(n_own):
            for k in range(4):
                bounds[begin + rank, k] = places[3 * rank + k]
        bounds[begin + n_own] = n
        for c in range(n):
            k = 3 * ranks[row, c] + _side(from_reference[c], own_ranks[row])
            members[row, places[k]] = c
            places[k] += 1


@njit(cache=True, nogil=True)
def _side(rank: Whole, own_rank: Whole) -> Whole:
    """0 for closer to the reference, 1 for equally far, 2 for farther."""
    return np.int64(rank >= own_rank) + np.int64(rank > own_rank)
