r"""Local search that refines groups: the same groups as `anonto.methods.grouping.refine`.

Members move to a near group, or change places with one of its members, while that lowers the loss

$$L = \sum_G \frac{1}{|G|} \sum_{\{x, y\} \subseteq G} c(x, y)$$

Nothing is random. The compiled loop updates its sums of costs where this file adds them up anew, so results are the
same as long as sums are exact; otherwise two changes of equal gain may be told apart by a rounding error.

No paper has these steps; the numbers are those of this file.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.grouping.refine import NEAR, ROUNDS
from anonto.methods.grouping.refine_kernels import MOST_CHANGES, WORTH_IT
from anonto.methods.plain.mdav import as_groups
from anonto.methods.plain.record_distances import contributions, distances_to, record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.methods.grouping.mdav import Groups
    from anonto.methods.grouping.refine import PairCost
    from anonto.methods.grouping.space import Space

    Floats = NDArray[np.float64]
    Group = list[int]


def refined(space: Space, groups: Groups, k: int, *, pair_cost: PairCost) -> Groups:
    """The groups with records moved and exchanged while that lowers the loss.

    Args:
        space: The records.
        groups: Of sizes between k and 2k − 1.
        k: The least size of a group.
        pair_cost: What two records of a group add to its loss: the ``"sum"`` of what their columns contribute to their
            distance, or the sum of the ``"squares"`` of that.
    """
    costs = np.array([_costs(space, one, pair_cost) for one in range(space.n_records)])
    members = [part.tolist() for part in np.split(groups.members, groups.offsets[1:-1])]
    # Step 1: the groups near each group are those whose medoids are nearest to its own.
    near = _near(space, members, costs)
    # Step 2: go through all pairs of near groups, until a round changes nothing.
    for _ in range(ROUNDS):
        changes = 0
        for a, others in enumerate(near):
            for b in others:
                if not (b < a and a in near[b]):
                    changes += _refine_pair(members[a], members[b], costs, k)
        if not changes:
            break
    return as_groups([np.array(group, dtype=np.int64) for group in members])


def _costs(space: Space, one: int, pair_cost: PairCost) -> Floats:
    """What a record and each other one add to the loss of their group."""
    parts = contributions(space, record(space, one))
    return np.asarray((parts**2 if pair_cost == "squares" else parts).sum(axis=0))


def _near(space: Space, members: list[Group], costs: Floats) -> list[Group]:
    """For each group the others in the order of their distance; a medoid has the least costs to its group."""
    medoids = []
    for group in members:
        sums = np.round(costs[np.ix_(group, group)].sum(axis=1), 9)
        medoids.append(min(one for one, total in zip(group, sums, strict=True) if total == sums.min()))
    near = []
    for number, medoid in enumerate(medoids):
        away = distances_to(space, record(space, medoid))[medoids]
        by_distance = np.argsort(away, kind="stable").tolist()
        near.append([other for other in by_distance if other != number][:NEAR])
    return near


def _refine_pair(a: Group, b: Group, costs: Floats, k: int) -> int:
    """Make the change between two groups that lowers the loss most, again and again; how many there were."""
    for made in range(MOST_CHANGES * (2 * k - 1)):
        # Step 3: of all exchanges, moves from a to b and moves from b to a, take the one with the largest gain.
        possible: list[tuple[float, int | None, int | None]] = [_best_exchange(a, b, costs)]
        if len(a) > k and len(b) < 2 * k - 1:
            possible.append((*_best_move(a, b, costs), None))
        if len(b) > k and len(a) < 2 * k - 1:
            after, place = _best_move(b, a, costs)
            possible.append((after, None, place))
        change, place_a, place_b = min(possible, key=lambda one: one[0])
        if change >= -WORTH_IT:
            return made
        if place_a is not None and place_b is not None:
            a[place_a], b[place_b] = b[place_b], a[place_a]
        elif place_a is not None:
            move(a, b, place_a)
        elif place_b is not None:
            move(b, a, place_b)
    return MOST_CHANGES * (2 * k - 1)


def _best_exchange(a: Group, b: Group, costs: Floats) -> tuple[float, int | None, int | None]:
    """What the loss changes by when two members change places, and their places; of equal changes the first.

    Members are tried in the order of what the loss would change by if they went alone.
    """
    share_a, share_b = 1.0 / len(a), 1.0 / len(b)
    between = costs[np.ix_(a, b)]
    alone_a = between.sum(axis=1) * share_b - costs[np.ix_(a, a)].sum(axis=1) * share_a
    alone_b = between.sum(axis=0) * share_a - costs[np.ix_(b, b)].sum(axis=1) * share_b
    best: tuple[float, int | None, int | None] = (0.0, None, None)
    for i, j in product(np.argsort(alone_a, kind="stable").tolist(), np.argsort(alone_b, kind="stable").tolist()):
        change = float(alone_a[i] + alone_b[j] - between[i, j] * (share_a + share_b))
        if change < best[0]:
            best = (change, i, j)
    return best


def _best_move(a: Group, b: Group, costs: Floats) -> tuple[float, int]:
    """What the loss changes by when a member of a moves to b, and its place; of equal changes the first."""
    within_a, to_b = costs[np.ix_(a, a)].sum(axis=1), costs[np.ix_(a, b)].sum(axis=1)
    pairs_a, pairs_b = within_a.sum() / 2, costs[np.ix_(b, b)].sum(axis=1).sum() / 2
    without = (pairs_a - within_a) / (len(a) - 1) - pairs_a / len(a)
    changes = without + (pairs_b + to_b) / (len(b) + 1) - pairs_b / len(b)
    place = int(np.argmin(changes))
    return float(changes[place]), place


def move(source: Group, target: Group, place: int) -> None:
    """Put a member behind those of another group; the last of its own takes its place."""
    target.append(source[place])
    source[place] = source[-1]
    source.pop()
