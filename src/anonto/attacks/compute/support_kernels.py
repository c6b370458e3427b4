"""Compiled loops over sets of codes: how many records have some codes, and which codes tell most.

The codes of set s are ``members[starts[s]:starts[s + 1]]``, in ascending order; ``counts[s]`` records have this set.
The sets with code c are ``holders[holder_starts[c]:holder_starts[c + 1]]``. The *support* of some codes is the number
of records that have all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Ints, Longs

NONE = -1
"""In the place of a code that is not known."""


class SetsOfCodes(NamedTuple):
    """The distinct sets of a table, and for each code the sets that have it."""

    starts: Longs
    members: Ints
    counts: Longs
    holder_starts: Longs
    holders: Ints
    supports: Longs
    """Number of records that have each code."""


@njit(cache=True, nogil=True)
def has_code(sets: SetsOfCodes, one: int, code: int) -> bool:
    """Whether a set has a code."""
    low, high = sets.starts[one], sets.starts[one + 1]
    while low < high:
        middle = (low + high) // 2
        if sets.members[middle] < code:
            low = middle + 1
        else:
            high = middle
    return bool(low < sets.starts[one + 1] and sets.members[low] == code)


@njit(cache=True, nogil=True)
def find_holders(sets: SetsOfCodes, known: Ints, support: Longs, last: Longs) -> None:
    """Fill in the support of the first known code of each person, of the first two, and so on, and a set with all.

    Args:
        sets: The sets of a table.
        known: Persons × codes, `NONE` where fewer are known; the first code of a person is always known.
        support: Persons × codes, filled with the number of records that have all codes up to this one.
        last: Persons × codes, filled with a set that has them; -1 if none has.
    """
    for person in range(known.shape[0]):
        support[person], last[person] = 0, -1
        # One known code: its support is counted already, and any holder will do.
        first = known[person, 0]
        support[person, 0] = sets.supports[first]
        if support[person, 0]:
            last[person, 0] = sets.holders[sets.holder_starts[first]]
        n_known = 1
        while n_known < known.shape[1] and known[person, n_known] != NONE:
            n_known += 1
        if n_known > 1:
            # Several: go through the sets with the rarer of the first two, and follow each as far as it has the codes.
            rarer, other = first, known[person, 1]
            if sets.supports[other] < sets.supports[first]:
                rarer, other = other, first
            for one in sets.holders[sets.holder_starts[rarer] : sets.holder_starts[rarer + 1]]:
                if not has_code(sets, one, other):
                    continue
                support[person, 1] += sets.counts[one]
                last[person, 1] = one
                for place in range(2, n_known):
                    if not has_code(sets, one, known[person, place]):
                        break
                    support[person, place] += sets.counts[one]
                    last[person, place] = one
        # Beyond the known codes nothing changes.
        for place in range(n_known, known.shape[1]):
            support[person, place], last[person, place] = support[person, n_known - 1], last[person, n_known - 1]


@njit(cache=True, nogil=True)
def choose_worst(sets: SetsOfCodes, starts: Longs, codes: Ints, known: Ints) -> None:
    """Choose the codes of each person that leave the fewest records, one after the other.

    The first is the rarest of her codes that a record has; each further one is, of her other codes, the one that leaves
    the fewest records, and at least one. Equal ones are taken in the order of the codes.

    Args:
        sets: The sets of a table.
        starts: Where the codes of each person start, and behind the last one where they end.
        codes: The codes of all persons, in ascending order for each.
        known: Persons × codes, filled with `NONE` before; the codes are put here.
    """
    support = np.zeros(sets.supports.size, dtype=np.int64)
    left = np.empty(sets.counts.size, dtype=np.int64)
    for person in range(known.shape[0]):
        own = codes[starts[person] : starts[person + 1]]
        n_left = 0
        for step in range(min(known.shape[1], own.size)):
            # Count the codes of the records that are left.
            for one in left[:n_left]:
                support[sets.members[sets.starts[one] : sets.starts[one + 1]]] += sets.counts[one]
            # Of the person's other codes take the rarest among them; the first one is the rarest in the table.
            best, least = NONE, np.int64(0)
            for code in own:
                n = support[code] if step else sets.supports[code]
                if n > 0 and (best == NONE or n < least) and not (known[person, :step] == code).any():
                    best, least = code, n
            for one in left[:n_left]:
                support[sets.members[sets.starts[one] : sets.starts[one + 1]]] = 0
            if best == NONE:
                break
            known[person, step] = best
            # Keep the records that have it.
            if step:
                n_kept = 0
                for one in left[:n_left]:
                    if has_code(sets, one, best):
                        left[n_kept] = one
                        n_kept += 1
                n_left = n_kept
            else:
                n_left = sets.holder_starts[best + 1] - sets.holder_starts[best]
                left[:n_left] = sets.holders[sets.holder_starts[best] : sets.holder_starts[best + 1]]


@njit(cache=True, nogil=True)
def least_pair_support(sets: SetsOfCodes, least: Longs) -> None:
    """Fill in the smallest support of two codes of each set: the rows of XᵀX, one after the other.

    X is the matrix of records × codes, and a set of one code keeps what ``least`` had.
    """
    support = np.zeros(sets.supports.size, dtype=np.int64)
    for code in range(support.size):
        holders = sets.holders[sets.holder_starts[code] : sets.holder_starts[code + 1]]
        # One row of XᵀX: the support of this code with each other.
        for one in holders:
            support[sets.members[sets.starts[one] : sets.starts[one + 1]]] += sets.counts[one]
        for one in holders:
            for other in sets.members[sets.starts[one] : sets.starts[one + 1]]:
                if other != code and support[other] < least[one]:
                    least[one] = support[other]
        for one in holders:
            support[sets.members[sets.starts[one] : sets.starts[one + 1]]] = 0


@njit(cache=True, nogil=True)
def count_read(
    starts: Longs, codes: Ints, known: Ints, sets: SetsOfCodes, found: Longs, right: Longs, every: Longs
) -> None:
    """Count the codes besides the known ones that a person and the set found for her share, and those that either has.

    Args:
        starts: Where the codes of each person start, and behind the last one where they end.
        codes: The codes of all persons, in ascending order for each.
        known: Persons × codes that are known, `NONE` where fewer are.
        sets: The sets of a table.
        found: For each person the set; -1 for none.
        right: Filled with the number of shared codes.
        every: Filled with the number of codes that she or the set has.
    """
    for person in range(found.size):
        right[person] = every[person] = 0
        if found[person] < 0:
            continue
        own, end = starts[person], starts[person + 1]
        other, other_end = sets.starts[found[person]], sets.starts[found[person] + 1]
        # Merge the two ascending lists of codes.
        while own < end or other < other_end:
            if other == other_end or (own < end and codes[own] < sets.members[other]):
                code, is_shared = codes[own], False
                own += 1
            elif own == end or sets.members[other] < codes[own]:
                code, is_shared = sets.members[other], False
                other += 1
            else:
                code, is_shared = codes[own], True
                own, other = own + 1, other + 1
            if not (known[person] == code).any():
                every[person] += 1
                right[person] += is_shared
