r"""Rank swapping in one fixed order, row by row: the same exchanges as `anonto.methods.rank_swap_fixed`.

With $o_1, o_2, \dots$ the rows in the order of their distance to the reference, row $o_i$ exchanges with a row of

$$I(o_i) = \{o_{i+1}, \dots, o_{i+k}\}$$

The random numbers are drawn as in the compiled loop, so the exchanges are the same for the same generator.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), Algorithm 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import matrix_product
from anonto.methods.plain.intervals import most_distant_value
from anonto.methods.transitions import transitions_of_pairs

if TYPE_CHECKING:
    from anonto.arrays import Bools
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.transitions import Transitions

LOOKS = 16
"""Random looks into an interval before its free rows are listed."""


def rank_swap_fixed(column: ValueSpace, k: int, rng: np.random.Generator) -> Transitions:
    """Exchange each row with one of the next k.

    Args:
        column: The values with their counts and distances; at least one row.
        k: How many rows further on a partner may stand.
        rng: For all draws.
    """
    counts, distances = column.counts, np.round(column.distances(), 12)
    # Step 1: the reference is the value whose distances to all rows have the largest sum (Definition 4).
    reference = most_distant_value(matrix_product(column.distances(), counts / counts.sum()), counts, rng)
    # Step 2: rank the rows once, by their distance to the reference, which comes first itself (Definition 3). Rows of
    # one value stand together; values at the same distance are in random order.
    keys = distances[reference].copy()
    keys[reference] = -1.0
    order = np.lexsort((rng.permutation(counts.size), keys))
    rows = np.repeat(order, counts[order]).astype(np.int32)
    # Step 3: every row that is still free exchanges with a free row of its interval, the next k rows (Definition 5).
    free = np.ones(rows.size, dtype=np.bool_)
    left, right, alone = [], [], 0
    for place in range(rows.size):
        if not free[place]:
            continue
        partner = _free_place(free, place + 1, min(place + k, rows.size - 1), rng)
        free[place] = False
        if partner is None:
            alone += 1
            continue
        free[partner] = False
        left.append(rows[place])
        right.append(rows[partner])
    return transitions_of_pairs(np.array(left, dtype=np.int32), np.array(right, dtype=np.int32), counts, alone)


def _free_place(free: Bools, first: int, last: int, rng: np.random.Generator) -> int | None:
    """A random free place from first to last; None if there is none.

    Some looks at random places come first, as in the compiled loop: most intervals have many free places.
    """
    for _ in range(LOOKS if last >= first else 0):
        place = first + int(rng.integers(0, last - first + 1))
        if free[place]:
            return place
    listed = first + np.flatnonzero(free[first : last + 1])
    return int(listed[rng.integers(0, listed.size)]) if listed.size else None
