r"""Local search that refines groups: the same groups as `anonto.methods.grouping.refine`.

Members move to a near group, or change places with one of its members, while that lowers the loss

$$L = \sum_G \frac{1}{|G|} \sum_{\{x, y\} \subseteq G} c(x, y)$$

Nothing is random. The compiled loop updates its sums of costs where this file recomputes them, so results are the
same as long as sums are exact; otherwise two changes of equal gain may be told apart by a rounding error.

No paper has these steps; the numbers are those of this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.plain.mdav import as_groups
from anonto.methods.plain.record_distances import contributions, distances_to, record

if TYPE_CHECKING:
    from anonto.arrays import Floats
    from anonto.methods.grouping.mdav import RecordGroups
    from anonto.methods.grouping.refine import PairCost
    from anonto.search.space import GroupingSpace

    Group = list[int]

NEAR, ROUNDS = 32, 5
"""How many groups are near to one, and how often all are gone through at most."""
MOST_CHANGES, WORTH_IT = 4, 1e-9
"""Changes of two groups at once, for each row that a group may have, and what a change must gain."""


def refine_groups(space: GroupingSpace, groups: RecordGroups, k: int, *, pair_cost: PairCost) -> RecordGroups:
    """The groups with records moved and exchanged while that lowers the loss; sizes stay between k and 2k − 1.

    Two records cost what their columns contribute to their distance: the ``"sum"``, or the sum of the ``"squares"``.
    """
    parts = [contributions(space, record(space, one)) for one in range(space.n_records)]
    costs = np.array([(part**2 if pair_cost == "squares" else part).sum(axis=0) for part in parts])
    members = [part.tolist() for part in np.split(groups.members, groups.offsets[1:-1])]
    # Step 1: the groups near each group are those whose medoids are nearest to its own.
    near = _near(space, members, costs)
    # Step 2: go through all pairs of near groups, until a round changes nothing.
    pairs = [(a, b) for a, others in enumerate(near) for b in others if not (b < a and a in near[b])]
    for _ in range(ROUNDS):
        if not sum(_refine_pair(members[a], members[b], costs, k) for a, b in pairs):
            break
    return as_groups([np.array(group, dtype=np.int64) for group in members])


def _near(space: GroupingSpace, members: list[Group], costs: Floats) -> list[Group]:
    """The other groups of each group in the order of their distance; a medoid has the least costs to its group."""
    sums = [np.round(costs[np.ix_(group, group)].sum(axis=1), 9) for group in members]
    medoids = [min(np.array(group)[own == own.min()]) for group, own in zip(members, sums, strict=True)]
    away = [distances_to(space, record(space, medoid))[medoids] for medoid in medoids]
    by_distance = [np.argsort(own, kind="stable").tolist() for own in away]
    return [[other for other in own if other != number][:NEAR] for number, own in enumerate(by_distance)]


def _refine_pair(a: Group, b: Group, costs: Floats, k: int) -> bool:
    """Make the change between two groups that lowers the loss most, again and again; whether there was any."""
    for made in range(MOST_CHANGES * (2 * k - 1)):
        # Step 3: of all exchanges, moves from a to b and moves from b to a, take the one with the largest gain.
        possible = [_best_exchange(a, b, costs)]
        if len(a) > k and len(b) < 2 * k - 1:
            possible.append(_best_move(a, b, costs))
        if len(b) > k and len(a) < 2 * k - 1:
            change, after_b, after_a = _best_move(b, a, costs)
            possible.append((change, after_a, after_b))
        change, after_a, after_b = min(possible, key=lambda one: one[0])
        if change >= -WORTH_IT:
            return made > 0
        a[:], b[:] = after_a, after_b
    return True


def _best_exchange(a: Group, b: Group, costs: Floats) -> tuple[float, Group, Group]:
    """Best change of the loss when two members change places, and the groups then.

    Members are tried in the order of what the loss would change by if they went alone; of equal changes the first.
    """
    share_a, share_b = 1.0 / len(a), 1.0 / len(b)
    between = costs[np.ix_(a, b)]
    alone_a = between.sum(axis=1) * share_b - costs[np.ix_(a, a)].sum(axis=1) * share_a
    alone_b = between.sum(axis=0) * share_a - costs[np.ix_(b, b)].sum(axis=1) * share_b
    changes = alone_a[:, None] + alone_b - between * (share_a + share_b)
    pairs = [(i, j) for i in np.argsort(alone_a, kind="stable") for j in np.argsort(alone_b, kind="stable")]
    i, j = min(pairs, key=changes.__getitem__)
    after_a, after_b = a.copy(), b.copy()
    after_a[i], after_b[j] = b[j], a[i]
    return float(changes[i, j]), after_a, after_b


def _best_move(a: Group, b: Group, costs: Floats) -> tuple[float, Group, Group]:
    """The same when one member moves from the first group to the second."""
    within_a, to_b = costs[np.ix_(a, a)].sum(axis=1), costs[np.ix_(a, b)].sum(axis=1)
    pairs_a, pairs_b = within_a.sum() / 2, costs[np.ix_(b, b)].sum(axis=1).sum() / 2
    without = (pairs_a - within_a) / (len(a) - 1) - pairs_a / len(a)
    changes = without + (pairs_b + to_b) / (len(b) + 1) - pairs_b / len(b)
    place, after_a, after_b = int(np.argmin(changes)), a.copy(), b.copy()
    move(after_a, after_b, place)
    return float(changes[place]), after_a, after_b


def move(source: Group, target: Group, place: int) -> None:
    """Put a member behind those of another group; the last of its own takes its place."""
    target.append(source[place])
    source[place] = source[-1]
    source.pop()
