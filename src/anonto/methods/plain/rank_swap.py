r"""Rank swapping with an interval of its own for each reference, row by row: as `anonto.methods.rank_swap`.

$$I(r) = \text{the } k \text{ rows nearest to } r, \qquad r' = \arg\max_{i \text{ free}} sd(x_i, x_r)$$

The compiled loops count the rows of a value and draw from rings of equal distance, so their random numbers are others.
What is equal: which exchanges are possible, and how likely each is. Without ties and with k = 1 nothing is drawn, and
the exchanges are the same.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), Algorithm 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import matrix_product
from anonto.methods.plain.intervals import farthest_row, most_distant_value, nearest_rows
from anonto.methods.transitions import transitions_of_pairs

if TYPE_CHECKING:
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.transitions import Transitions


def rank_swap(column: ValueSpace, k: int, interval: str, rng: np.random.Generator) -> Transitions:
    """Exchange reference by reference.

    Args:
        column: The values with their counts and distances; at least one row.
        k: Rows of an interval.
        interval: ``"all"``: the k nearest of all rows; ``"unswapped"``: of the rows that are still free.
        rng: For all draws.
    """
    counts, distances = column.counts, np.round(column.distances(), 12)
    value_of = np.repeat(np.arange(counts.size), counts)
    all_rows = np.arange(value_of.size)
    free = np.ones(value_of.size, dtype=np.bool_)
    left, right, alone = [], [], 0
    # Step 1: the first reference has the value whose distances to all rows have the largest sum (Definition 4).
    first = most_distant_value(matrix_product(column.distances(), counts / counts.sum()), counts, rng)
    reference = int(np.flatnonzero(value_of == first)[0])
    while True:
        away = distances[value_of[reference], value_of]
        # Step 2: the interval has the k rows nearest to the reference, without itself (Definition 5).
        others = all_rows[all_rows != reference] if interval == "all" else all_rows[free & (all_rows != reference)]
        near = nearest_rows(others, away, k, rng)
        # Step 3: exchange with a random row of the interval that is still free; without one the value stays.
        candidates = near[free[near]]
        free[reference] = False
        if candidates.size:
            partner = int(candidates[rng.integers(0, candidates.size)])
            free[partner] = False
            left.append(value_of[reference])
            right.append(value_of[partner])
        else:
            alone += 1
        # Step 4: go on with the free row farthest from this reference (Definition 6), until no row is free.
        if not free.any():
            return transitions_of_pairs(np.array(left, dtype=np.int32), np.array(right, dtype=np.int32), counts, alone)
        reference = farthest_row(np.flatnonzero(free), away, rng)
