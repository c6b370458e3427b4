"""Compiled loop of the exponential mechanism: the concept that each cell becomes.

The step named below is that of the plain version, `anonto.methods.plain.taxonomy_exponential`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.methods.noise_kernels import draw_below

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, LongWords
    from anonto.methods.level_kernels import Levels


@njit(cache=True, nogil=True)
def draw_level(
    first: LongWords,
    second: LongWords,
    picks: LongWords,
    codes: Ints,
    levels: Levels,
    cumulated: Floats,
    released: Ints,
    out: Ints,
) -> None:
    """Draw a candidate for each value: a level by its probability, and any candidate of it.

    Args:
        first: For each cell 64 random bits, the upper ones of 128.
        second: The lower ones.
        picks: For each cell 64 further bits.
        codes: The values; −1 stays −1.
        levels: The candidates of each value by their distance.
        cumulated: For each level the probability of the levels that are farther, its own included: the small ones
            are summed first, and a uniform number with 128 bits resolves them.
        released: For each candidate the code that it is released as.
        out: Receives these codes.
    """
    offsets, _, bounds, members = levels
    for i in range(codes.size):
        value = np.int64(codes[i])
        out[i] = -1
        if value < 0:
            continue
        begin, end = offsets[value], offsets[value + 1] - 1
        # Step 3: a uniform number of 128 bits chooses the level, by bisection of the cumulated probabilities …
        uniform = (float(first[i]) + float(second[i]) * 2.0**-64) * 2.0**-64
        low, high = begin, end - 1
        while low < high:
            middle = (low + high + 1) // 2
            if cumulated[middle] > uniform:
                low = middle
            else:
                high = middle - 1
        # … and further bits choose one of its concepts.
        place = bounds[low, 0] + draw_below(picks[i], 0, bounds[low, 3] - bounds[low, 0])
        out[i] = released[members[value, place]]
