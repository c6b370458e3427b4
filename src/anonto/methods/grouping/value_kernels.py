"""Compiled loops over the values of nominal columns: nested blocks of values, and how near and far each block is.

The values of a column are split in two again and again, near ones together. For each block with several values and
for each value the distances to the nearest and the farthest value of the block are kept; they bound the distance to any
record of the block, whatever the table: it need not be a metric.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anonto.methods.grouping.tree_kernels import partition_at

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

Blocks = tuple[Ints, Ints, Ints, Ints, Ints, Ints]
"""The place of each value; and for each block its first, cut and last place and its two halves."""

SMALLEST_SHARE = 8
"""Neither half of a block has less than one such part of its values."""
OUTWARD = 1e-6
"""Bounds are kept in single precision and moved outward by this share, so that they stay bounds."""


@njit(cache=True, nogil=True)
def nested_blocks(table: Floats, n_values: int) -> Blocks:
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
    """Order the values of a stretch by whether they are nearer to one far value or to another; where to cut it."""
    size, nearer = end - begin, 0
    one = farthest_value(table, n_values, order, begin, end, order[begin])
    other = farthest_value(table, n_values, order, begin, end, one)
    for i in range(begin, end):
        value = order[i]
        leaning[value, 0] = table[one * n_values + value] - table[other * n_values + value]
        if leaning[value, 0] < 0.0:
            nearer += 1
    least = max(size // SMALLEST_SHARE, 1)
    cut = begin + min(max(nearer, least), size - least)
    partition_at(leaning, order, begin, end, 0, cut)
    return cut


@njit(cache=True, nogil=True)
def farthest_value(table: Floats, n_values: int, order: Ints, begin: int, end: int, value: int) -> int:
    """The value of a stretch that is farthest from a value."""
    best = int(order[begin])
    for i in range(begin, end):
        if table[value * n_values + order[i]] > table[value * n_values + best]:
            best = int(order[i])
    return best


@njit(cache=True, nogil=True)
def block_bounds(
    table: Floats, n_values: int, blocks: Blocks, kept: Ints, n_kept: int, nearest: Singles, farthest: Singles
) -> Floats:
    """Fill for each value the distances to the nearest and farthest value of each kept block; diameters of all blocks.

    ``kept`` has for each block its number among those whose bounds are kept, or that of the smallest one around it.
    """
    places, first, _, last, left, right = blocks
    n_blocks = first.size
    near = np.empty(n_blocks)
    far = np.empty(n_blocks)
    diameters = np.zeros(n_blocks)
    for value in range(n_values):
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
    """Number the blocks whose bounds are kept: the first and all large ones; others have the number of that around."""
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
