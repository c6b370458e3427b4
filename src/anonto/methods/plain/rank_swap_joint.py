r"""Rank swapping of several columns together, row by row: as `anonto.methods.rank_swap_joint`.

$$d(r, s) = \frac{\sum_j w_j\, sd_j(x_{rj}, x_{sj})}{\sum_j w_j} \quad \text{over the columns that both rows have}$$

The compiled loops look for rows in a tree and draw them by their place there, so their random numbers are others. What
is equal: which exchanges are possible, and how likely each is. Without ties and with k = 1 nothing is drawn, and the
exchanges are the same.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), Algorithm 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import matrix_product
from anonto.methods.plain.intervals import farthest_row, nearest_rows
from anonto.methods.record_transitions import record_transitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats
    from anonto.encoding.records import Records
    from anonto.methods.record_transitions import RecordTransitions


def rank_swap_joint(
    records: Records, k: int, interval: str, weights: Sequence[float], rng: np.random.Generator
) -> RecordTransitions:
    """Exchange the cells of one reference after the other.

    Args:
        records: The distinct records.
        k: Rows of an interval.
        interval: ``"all"``: the k nearest of all rows; ``"unswapped"``: of those that have a free cell.
        weights: How much each column counts in the distance.
        rng: For all draws.
    """
    record_of = np.repeat(np.arange(records.counts.size), records.counts)
    original = records.codes[record_of]
    released, free = original.copy(), original >= 0
    rows = np.flatnonzero(free.any(axis=1))
    distances = record_distances(records, weights)[np.ix_(record_of, record_of)]
    untouched, turns, without_partner = [0] * original.shape[1], 0, 0
    # Step 1: the first reference is the row whose distances to all rows have the largest sum (Definition 8).
    means = matrix_product(distances[np.ix_(rows, rows)], np.full(rows.size, 1.0 / max(rows.size, 1)))
    farthest = rows[means >= means.max(initial=0.0) - 1e-12]
    reference = int(farthest[rng.integers(0, farthest.size)]) if farthest.size else -1
    while reference >= 0:
        away = distances[reference]
        # Step 2: the interval has the k rows nearest to the reference, without itself (Definition 9).
        near = nearest_rows(rows[rows != reference], away, k, rng)
        # Step 3: each free cell of the reference goes to a row of the interval whose cell there is free too.
        met = False
        for column in np.flatnonzero(free[reference]).tolist():
            candidates = near[free[near, column]]
            free[reference, column] = False
            if not candidates.size:
                untouched[column] += 1
                continue
            met = True
            partner = int(candidates[rng.integers(0, candidates.size)])
            free[partner, column] = False
            released[[reference, partner], column] = original[[partner, reference], column]
        turns, without_partner = turns + 1, without_partner + (not met)
        # Step 4: go on with the farthest row that has a free cell (Definition 10), until no cell is free.
        live = np.flatnonzero(free.any(axis=1))
        rows = live if interval == "unswapped" else rows
        reference = farthest_row(live, away, rng) if live.size else -1
    facts = {"references": turns, "references_without_partner": without_partner}
    return record_transitions(records, record_of, released, None, untouched, facts)


def record_distances(records: Records, weights: Sequence[float]) -> Floats:
    """The weighted mean over the columns that two records have; 1 where there is none (Definition 7)."""
    n = records.counts.size
    total, common = np.zeros((n, n)), np.zeros((n, n))
    for value_space, codes, weight in zip(records.value_spaces, records.codes.T, weights, strict=True):
        has = codes >= 0
        both = np.outer(has, has) * weight
        total += both * np.pad(value_space.distances(), (0, 1))[np.ix_(codes, codes)]
        common += both
    mean = np.divide(total, common, out=np.ones((n, n)), where=common > 0)
    return np.asarray(np.round(mean, 12), dtype=np.float64)
