"""Local search that refines groups: records move to a near group, or change places with one, while that pays.

The loss of a group is the sum of the costs of its pairs divided by its size. With squared distances as costs that is
half of what a uniform permutation inside the groups is expected to add up to in squared distances, and for numbers the
sum of the squared distances to the mean of the group. Sizes stay between k and 2k − 1. Nothing is random.

Step by step: `anonto.methods.plain.refine`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from anonto.methods.grouping import refine_kernels
from anonto.methods.grouping.mdav import RecordGroups
from anonto.runtime.shared import digest_of, share
from anonto.search.tree import tree_of
from anonto.stats.ties import DECIMALS

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs
    from anonto.search.space import GroupingSpace


ROUNDS = 5
"""How often all groups are gone through at most; more would gain less than one part in a hundred."""
NEAR = 32
"""The number of other groups that members may change places with, those with the nearest medoids."""
FEWEST_NEAR = 4
COSTS_PER_ROUND = 2e9
"""About so many costs of pairs may be computed in a round; with larger groups fewer near ones are tried."""
LARGEST_GROUPS = 5_000
"""Groups of more rows are left as they are: their pairs are too many."""

PairCost = Literal["sum", "squares"]
"""The cost of two records: the sum of what their columns contribute to their distance, or of the squares of that."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Refined:
    """Groups after the local search, with the loss before and after."""

    groups: RecordGroups
    loss_before: float
    loss: float


def refine_groups(space: GroupingSpace, groups: RecordGroups, k: int, *, pair_cost: PairCost) -> Refined | None:
    """The groups with records moved and exchanged while that lowers the loss; None where they are too large for it.

    Args:
        space: The records.
        groups: Of sizes between k and 2k − 1.
        k: The least size of a group.
        pair_cost: What two records of a group add to its loss.
    """
    if 2 * k - 1 > LARGEST_GROUPS:
        return None

    def digest() -> bytes:
        return digest_of(space.digest(), groups.members, groups.offsets, k, pair_cost)

    return share("refined groups", digest, groups.members.nbytes, lambda: _refine(space, groups, k, pair_cost))


def _refine(space: GroupingSpace, groups: RecordGroups, k: int, pair_cost: PairCost) -> Refined:
    squares = pair_cost == "squares"
    members, sizes = groups.pad(2 * k - 1), groups.sizes
    sums = refine_kernels.all_sums(space.arrays, squares, members, sizes)
    before = _loss(sums, sizes)
    near = _near(space, members, sizes, sums)
    refine_kernels.refine(space.arrays, squares, members, sizes, sums, near, k, ROUNDS)
    return Refined(RecordGroups.from_padded(members, sizes), before, _loss(sums, sizes))


def _loss(sums: Floats, sizes: Longs) -> float:
    """The sum over all groups of the costs of their pairs divided by their size."""
    within = np.where(np.arange(sums.shape[1]) < sizes[:, None], sums, 0.0).sum(axis=1)
    return float((within / (2 * np.maximum(sizes, 1))).sum())


def _near(space: GroupingSpace, members: Ints, sizes: Longs, sums: Floats) -> Ints:
    """The groups whose medoid is nearest to each group's own: the member with the least costs to the others."""
    n_groups, largest = members.shape
    affordable = int(COSTS_PER_ROUND / max(float(n_groups) * largest**2, 1.0))
    wanted = min(max(affordable, FEWEST_NEAR), NEAR, n_groups - 1)
    if wanted < 1:
        return np.empty((n_groups, 0), dtype=np.int32)
    costs = np.where(np.arange(largest) < sizes[:, None], np.round(sums, DECIMALS), np.inf)
    least = costs == costs.min(axis=1, keepdims=True)
    medoids = np.where(least, members, np.iinfo(np.int32).max).min(axis=1)
    tree = tree_of(space.of(medoids))
    near: Ints = refine_kernels.near_groups(tree, wanted)
    return near
