"""Compiled loops over the values of nominal columns: nested blocks of values, and how near and far each block is.

The values of a column are split in two again and again, so that near ones stay together. For each value and each block
of several values, the distances to the nearest and the farthest value of the block are stored. They bound the distance
to any record of the block, even if the table is not a metric.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from anonto.arrays import Floats, Ints, Singles
from anonto.search.tree_kernels import partition_at

Blocks = tuple[Ints, Ints, Ints, Ints, Ints, Ints]
"""The place of each value; and for each block its first, cut and last place and its two halves."""

SMALLEST_SHARE = 8
"""Each half of a block has at least 1 / this of its values."""
OUTWARD = 1e-6
"""Bounds are stored in single precision, moved outward by this share so that they stay bounds."""


@njit(cache=True, nogil=True)
def split_into_blocks(table: Floats, n_values: int) -> Blocks:
    """Split all values into halves down to single ones; an empty table splits them in their order.

    A half below ``n_values`` is a single value; above, it is the block of number half − ``n_values``. Blocks come
    before their halves.
    """
    n_blocks = max(n_values - 1, 0)
    order = np.arange(n_values).astype(np.int32)
    first = np.zeros(n_blocks, np.int32)
    cut = np.zeros(n_blocks, np.int32)
    last = np.zeros(n_blocks, np.int32)
    left = np.zeros(n_blocks, np.int32)
    right = np.zeros(n_blocks, np.int32)
    leaning = np.empty((n_values, 1))
    made = 0
    if n_blocks > 0:
        last[0] = n_values
        made = 1
    # Split block after block; its halves are appended, so blocks come before their halves.
    for block in range(n_blocks):
        begin, end = first[block], last[block]
        middle = (begin + end) // 2
        if table.size > 0:
            middle = split_values(table, n_values, order, begin, end, leaning)
        cut[block] = middle
        for half in range(2):
            start = begin if half == 0 else middle
            stop = middle if half == 0 else end
            if stop - start == 1:
                number = order[start]
            else:
                number = np.int32(n_values + made)
                first[made] = start
                last[made] = stop
                made += 1
            if half == 0:
                left[block] = number
            else:
                right[block] = number
    places = np.empty(n_values, np.int32)
    for place in range(n_values):
        places[order[place]] = place
    return places, first, cut, last, left, right


@njit(cache=True, nogil=True)
def split_values(table: Floats, n_values: int, order: Ints, begin: int, end: int, leaning: Floats) -> int:
    """Sort the values of a block by whether they are nearer to one of two far values; return where to cut."""
    # Two values far from each other: the farthest from any value, and the farthest from that.
    size, nearer = end - begin, 0
    one = farthest_value(table, n_values, order, begin, end, order[begin])
    other = farthest_value(table, n_values, order, begin, end, one)
    for i in range(begin, end):
        value = order[i]
        leaning[value, 0] = table[one * n_values + value] - table[other * n_values + value]
        if leaning[value, 0] < 0.0:
            nearer += 1
    # Cut between those nearer to the one and those nearer to the other, unless a half would be too small.
    least = max(size // SMALLEST_SHARE, 1)
    cut = begin + min(max(nearer, least), size - least)
    partition_at(leaning, order, begin, end, 0, cut)
    return cut


@njit(cache=True, nogil=True)
def farthest_value(table: Floats, n_values: int, order: Ints, begin: int, end: int, value: int) -> int:
    """The value of a block that is farthest from a value."""
    best = int(order[begin])
    for i in range(begin, end):
        if table[value * n_values + order[i]] > table[value * n_values + best]:
            best = int(order[i])
    return best


@njit(cache=True, nogil=True)
def block_bounds(
    table: Floats, n_values: int, blocks: Blocks, kept: Ints, n_kept: int, nearest: Singles, farthest: Singles
) -> Floats:
    """Fill in the distances of each value to the nearest and farthest of each kept block; return all diameters.

    ``kept`` has for each block its number among those whose bounds are kept, or that of the smallest one around it.
    """
    places, first, _, last, left, right = blocks
    n_blocks = first.size
    near = np.empty(n_blocks)
    far = np.empty(n_blocks)
    diameters = np.zeros(n_blocks)
    for value in range(n_values):
        # From the smallest blocks up: a half is a single value or a block that is done.
        row = value * n_values
        for block in range(n_blocks - 1, -1, -1):
            low, high = np.inf, -np.inf
            for half in (left[block], right[block]):
                if half < n_values:
                    low, high = min(low, table[row + half]), max(high, table[row + half])
                else:
                    low, high = min(low, near[half - n_values]), max(high, far[half - n_values])
            near[block] = low
            far[block] = high
            if first[block] <= places[value] < last[block]:
                diameters[block] = max(diameters[block], high)
        for block in range(n_blocks - 1, -1, -1):
            nearest[value * n_kept + kept[block]] = near[block] * (1.0 - OUTWARD)
            farthest[value * n_kept + kept[block]] = far[block] * (1.0 + OUTWARD)
    return diameters


@njit(cache=True, nogil=True)
def kept_blocks(blocks: Blocks, n_values: int, smallest: int) -> tuple[Ints, int]:
    """Number the blocks whose bounds are kept: the first and all large ones; others use those of the block around."""
    _, first, _, last, left, right = blocks
    kept = np.zeros(first.size, np.int32)
    n_kept = min(first.size, 1)
    for block in range(first.size):
        for half in (left[block], right[block]):
            if half >= n_values:
                inner = half - n_values
                kept[inner] = kept[block]
                if last[inner] - first[inner] >= smallest:
                    kept[inner] = n_kept
                    n_kept += 1
    return kept, n_kept
