r"""Moves of records to nearer centres: the same as the compiled loop of `anonto.methods.refine_centroids`.

With $c_G$ the centre of group G and d² the sum of the weighted squared distances of the columns, records move to near
groups, or change places with their records, while

$$\sum_G \sum_{x \in G} d^2(x, c_G)$$

falls; the centres stay. Nothing is random. Where two changes gain the same, a rounding error may tell them apart in the
compiled loop, which updates its sums.

No paper has these steps; the numbers are those of this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.plain.refine import move

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats
    from anonto.methods.microaggregation_kernels import Centres

    Group = list[int]


def move_to_centres(
    centres: Centres, groups: list[Group], near: Sequence[Sequence[int]], k: int, worth_it: float
) -> int:
    """Move members to near groups, or let them change places, while they lose less there; how many changes there were.

    Args:
        centres: Centres of the groups.
        groups: The records of each group; changed. Sizes stay between k and 2k − 1.
        near: For each group others whose members may come or go.
        k: The least size of a group.
        worth_it: What a change must gain.
    """
    costs = costs_at(centres)
    changes = 0
    for one, others in enumerate(near):
        for other in others:
            here, there = groups[one], groups[other]
            while True:
                # Step 1: who of each group gains most at the centre of the other.
                gains, gains_back = costs[here, one] - costs[here, other], costs[there, other] - costs[there, one]
                goes, comes = int(np.argmax(gains)), int(np.argmax(gains_back))
                # Step 2: both change places, or one of them moves where the sizes allow it.
                both = gains[goes] + gains_back[comes]
                alone = gains[goes] if len(here) > k and len(there) < 2 * k - 1 else -np.inf
                back = gains_back[comes] if len(there) > k and len(here) < 2 * k - 1 else -np.inf
                most = max(both, alone, back)
                if most <= worth_it:
                    break
                changes += 1
                if most == both:
                    here[goes], there[comes] = there[comes], here[goes]
                elif most == alone:
                    move(here, there, goes)
                else:
                    move(there, here, comes)
    return changes


def costs_at(centres: Centres) -> Floats:
    """Records × groups: what a record loses at the centre of a group."""
    units, means, codes, places, squares, starts, widths, weights = centres
    costs = ((units[:, None, :] - means[None, :, :]) ** 2).sum(axis=2)
    for column in range(codes.shape[1]):
        own, centre = codes[:, column], places[:, column]
        if starts[column] >= 0:
            costs += squares[starts[column] + own[:, None] * widths[column] + centre]
        else:
            costs += weights[column] * (own[:, None] != centre)
    return np.asarray(costs)
