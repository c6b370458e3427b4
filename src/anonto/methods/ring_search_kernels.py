"""Compiled loops that find the rings of a value: the values at one distance from it, from near to far or far to near.

They serve step 2 of rank swapping (the k nearest records, `anonto.methods.plain.rank_swap`) and step 4 (the farthest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.methods.rank_kernels import STEPS

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Ints, Longs

BELOW_ALL = -(1 << 62)


@njit(cache=True, nogil=True)
def find_threshold(keys: Longs, weights: Longs, wanted: int) -> int:
    """The smallest key up to which the weights add up to what is wanted, or the largest key; reorders both arrays.

    A quickselect by weight (Hoare 1961, with three-way partitions).
    """
    first, last = 0, keys.size
    while True:
        pivot = _middle(keys[first], keys[(first + last) >> 1], keys[last - 1])
        # Partition: keys below the pivot, equal ones, keys above it.
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
        # Go on in the part in which the weight is reached.
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
    """Find the last ring that each row needs to have enough weight and enough values.

    Args:
        distances: Some values, a row each, × all values that are present.
        sign: 1 to begin with the nearest, −1 with the farthest.
        weights: Weight of each column.
        enough: Weight and number of values.
        first: The first row.
        last: The row after the last.
        edges: Receives the distance of the last ring in steps, with the sign.
        sizes: Receives the number of values up to that ring.
    """
    weight_wanted, values_wanted = enough
    keys = np.empty(weights.size, np.int64)
    amounts = np.empty(weights.size, np.int64)
    for row in range(first, last):
        for column in range(weights.size):
            keys[column] = sign * int(np.rint(distances[row, column] * STEPS))
        # The k nearest records (with ties), or as many of the farthest values as are worth listing at once.
        edge = BELOW_ALL
        if weight_wanted > 0:
            amounts[:] = weights
            edge = find_threshold(keys, amounts, weight_wanted)
        if values_wanted > 0:
            amounts[:] = 1
            edge = max(edge, find_threshold(keys, amounts, values_wanted))
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
    closes: Bools,
) -> None:
    """List the values of each row up to its edge, ring by ring, and mark the last member of each ring.

    Unless they are wanted apart, the rings before the last one are merged.
    """
    keys = np.empty(values.size, np.int64)
    inner = np.empty(values.size, np.int32)
    for row in range(first, last):
        # Values inside the edge are set aside; those on it, the last ring, move behind them.
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
        # Rings inside the edge: sorted by distance, or all in one.
        if apart:
            order = np.argsort(keys[:size], kind="mergesort")
            for i in range(size):
                members[start + i] = inner[order[i]]
                closes[start + i] = i + 1 == size or keys[order[i]] != keys[order[i + 1]]
        elif size > 0:
            members[start : start + size] = inner[:size]
            closes[start + size - 1] = True
