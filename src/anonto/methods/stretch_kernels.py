"""Compiled loops that give the records of a stretch of rows their targets."""

from __future__ import annotations

import numpy as np
from numba import njit

from anonto.methods.kernels import FlowArrays, Ints, Longs, stretches_per_place
from anonto.rng_kernels import Permutations, permute_stretch


@njit(cache=True, nogil=True)
def apply_by_value(codes: Ints, before: Longs, flows: FlowArrays, permutations: Permutations) -> Ints:
    """Give each record of a stretch its target, value by value, as the positions of a value follow each other.

    Args:
        codes: The values; −1 stays.
        before: How many records of each value stand before the stretch.
        flows: The targets of each value.
        permutations: Where each value sends its positions.
    """
    sizes, offsets, targets, ends, guides = flows
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
        places = room[: own.size]
        permute_stretch(permutations, value, before[value], places)
        per_place = stretches_per_place(last - first, sizes[value])
        for i in range(own.size):
            target = first + guides[first + np.int64(places[i] * per_place)]
            while places[i] >= ends[target]:
                target += 1
            out[own[i]] = targets[target]
    return out


@njit(cache=True, nogil=True)
def rows_by_value(codes: Ints, n_values: int) -> tuple[Ints, Longs]:
    """The rows of each value in their order, one value behind the other, and where each value begins."""
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
