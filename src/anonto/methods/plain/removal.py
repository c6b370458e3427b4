r"""Groups within a budget of risk, by removing centres: the same groups as `anonto.methods.removal`.

Of all divisions into at most $g$ groups of $k$ persons or more, with equal records together, one is looked for with a
small loss

$$L = \sum_j \sqrt{\frac{1}{n} \sum_G \sum_{x \in G} d_j^2(x, c_G)}$$

where $j$ are the columns and $c_G$ is the centre of group G. Whoever knows all but who is who links a person of G with
a chance of $1/|G|$, on average over the $n$ persons $g/n$. Nothing is random.

No paper has these steps; the numbers are those of this file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.grouping.mdav import RecordGroups
from anonto.methods.plain.record_distances import distances_to, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.methods.removal import CentreColumn
    from anonto.search.space import GroupingSpace

NEAR, RECENTRE_EVERY, LEFT_BY_PHASE, MOST_WEIGHT = 32, 10, 0.8, 1.25
ROUNDS, MOVES, WORTH_A_ROUND, WORTH_IT = 12, 20, 1e-4, 1e-9


def groups_by_removal(
    space: GroupingSpace, columns: Sequence[CentreColumn], counts: Longs, k: int, n_groups: int, *, refine: bool
) -> RecordGroups:
    """At most so many groups of k persons or more; the records of the space are all different."""
    # Step 1: every record is the centre of a group.
    groups = Groups(space, columns, counts, k)
    target = max(1, min(n_groups, int(counts.sum()) // k))
    # Step 2: centres go until there are few enough groups, and none that is too small.
    looked = np.inf
    while len(groups.members) > target or min(map(groups.persons, groups.members)) < k:
        left = len(groups.members)
        if left <= looked / 2 or left <= target:
            groups.look_around()
            looked = left
        groups.remove_centres(max(target, int(left * LEFT_BY_PHASE)), target)
        # Step 4: the columns are weighed anew.
        groups.weigh_columns()
    if refine:
        improve(groups, target)
    order = sorted(groups.members)
    rows = [np.repeat(part, counts[part]) for part in (np.sort(groups.members[slot]) for slot in order)]
    ends = np.cumsum([0, *(part.size for part in rows)])
    return RecordGroups(np.concatenate(rows).astype(np.int32), ends.astype(np.int64))


class Groups:
    """Groups by slot: their records, the latest first, and their centres."""

    def __init__(self, space: GroupingSpace, columns: Sequence[CentreColumn], counts: Longs, k: int) -> None:
        self.space, self.columns, self.counts, self.k = space, columns, counts, k
        self.weights = np.ones(len(columns))
        self.members = {slot: [slot] for slot in range(counts.size)}
        self.near: dict[int, list[int]] = {}
        self.changed: set[int] = set()
        self.centres: dict[int, list[float]] = {slot: self.centre_at(slot) for slot in self.members}

    # ---------------------------------------------------------------------------------------- costs

    def persons(self, slot: int) -> int:
        """How many persons a group has."""
        return int(self.counts[self.members[slot]].sum())

    def centre_at(self, number: int) -> list[float]:
        """The centre that a record itself would be."""
        return [
            float(one.units[number])
            if one.units is not None
            else float(one.codes[number] if one.own is None else one.own[one.codes[number]])  # type: ignore[index]
            for one in self.columns
        ]

    def parts(self, number: int, centre: Sequence[float]) -> Floats:
        """Share of each column in a record's squared distance from a centre, before it is weighed."""
        out = np.empty(len(self.columns))
        for column, (one, place) in enumerate(zip(self.columns, centre, strict=True)):
            if one.codes is None:
                out[column] = (one.units[number] - place) ** 2  # type: ignore[index]
            elif one.squares is None:
                out[column] = one.weight * (one.codes[number] != int(place))
            else:
                out[column] = one.squares[one.codes[number], int(place)]
        return out

    def cost(self, number: int, centre: Sequence[float]) -> float:
        """The squared distance of a record from a centre."""
        return float((self.weights * self.parts(number, centre)).sum())

    def loss(self) -> float:
        """Loss of all persons at the centres of their groups."""
        return float(sum(self.counts[one] * self.cost(one, self.centres[slot]) for one, slot in self.slots().items()))

    def weigh_columns(self) -> None:
        """Step 4: divide the squares of a column by their root mean; a weight is from 1/1.25 to 1.25."""
        slot_of = self.slots()
        lost = sum(self.counts[one] * self.parts(one, self.centres[slot]) for one, slot in slot_of.items())
        roots = np.sqrt(lost / self.counts.sum())
        if roots.any():
            with np.errstate(divide="ignore"):
                self.weights = np.clip(roots.mean() / roots, 1 / MOST_WEIGHT, MOST_WEIGHT)

    # ---------------------------------------------------------------------------------------- groups

    def slots(self) -> dict[int, int]:
        """The slot of each record."""
        return {one: slot for slot in sorted(self.members) for one in self.members[slot]}

    def move(self, number: int, source: int, target: int) -> None:
        """Put a record at the head of another group."""
        self.members[source].remove(number)
        self.members.setdefault(target, []).insert(0, number)
        self.changed |= {source, target}

    def recentre(self) -> None:
        """Step 3: the centre of each group that has changed: means, and candidates with the least sum of squares."""
        for slot in self.changed & set(self.members):
            own = np.array(self.members[slot])
            self.centres[slot] = []
            for column in self.columns:
                if column.codes is None:
                    centre = np.average(column.units[own], weights=self.counts[own])  # type: ignore[index]
                elif column.squares is None:
                    centre = np.bincount(column.codes[own], self.counts[own]).argmax()
                else:
                    sums = self.counts[own] @ column.squares[column.codes[own]]
                    centre = np.argmax(sums <= sums.min() + 1e-12 * self.counts[own].sum())
                self.centres[slot].append(float(centre))
        self.changed = set()

    def look_around(self) -> None:
        """Find the groups near each: those whose most central record is the nearest."""
        slots = sorted(self.members)
        costs = [
            {self.cost(one, self.centres[slot]): one for one in sorted(self.members[slot])[::-1]} for slot in slots
        ]
        central = np.array([own[min(own)] for own in costs])
        for place, slot in enumerate(slots):
            away = distances_to(self.space, record(self.space, int(central[place])))[central]
            self.near[slot] = [int(central[at]) for at in np.argsort(away, kind="stable") if at != place][:NEAR]

    def others(self, slot: int) -> list[int]:
        """The near groups: those that the records found near belong to now."""
        slot_of = self.slots()
        return [one for one in dict.fromkeys(slot_of[number] for number in self.near.get(slot, [])) if one != slot]

    def nearest(self, number: int, slots: Sequence[int]) -> tuple[int, float]:
        """The group at whose centre a record loses least, and that."""
        costs = [self.cost(number, self.centres[slot]) for slot in slots]
        return (slots[int(np.argmin(costs))], min(costs)) if slots else (-1, np.inf)

    def cost_of_removal(self, slot: int) -> float:
        """Loss if each record of a group goes to the nearest of the near centres."""
        others = self.others(slot)
        own = self.members[slot]
        lost = (self.counts[one] * (self.nearest(one, others)[1] - self.cost(one, self.centres[slot])) for one in own)
        return round(float(sum(lost)), 9) if others else np.inf

    def dissolve(self, slot: int) -> None:
        """Let each record of a group go to the nearest of the near centres."""
        others = self.others(slot)
        for one in self.members[slot].copy():
            self.move(one, slot, self.nearest(one, others)[0])
        del self.members[slot]

    def remove_centres(self, until: int, target: int) -> None:
        """Step 2: remove the centre whose removal costs least; its cost is found again before it goes.

        With the last of them also those of groups that are too small.
        """
        costs = {slot: self.cost_of_removal(slot) for slot in self.members}
        removed, least = 0, self.k if until == target else 0
        while costs and len(self.members) > 1:
            slot = min(costs, key=lambda one: (costs[one], one))
            if len(self.members) <= until and self.persons(slot) >= least:
                del costs[slot]
            elif (cost := self.cost_of_removal(slot)) > costs[slot] + WORTH_IT:
                costs[slot] = cost
            else:
                del costs[slot]
                if np.isfinite(cost):
                    self.dissolve(slot)
                    removed += 1
                    if removed % RECENTRE_EVERY == 0:
                        self.recentre()
        self.recentre()


# ------------------------------------------------------------------------------------------------ local search


def improve(groups: Groups, target: int) -> None:
    """Steps 5 and 6, again and again while that lowers the loss."""
    best, at_most, kept = np.inf, max(1, target // 4), keep(groups)
    for _ in range(ROUNDS):
        for _ in range(MOVES):
            moved = move_records(groups)
            groups.recentre()
            if not moved:
                break
        lost = groups.loss()
        if lost >= best * (1 - WORTH_A_ROUND):
            if at_most == 1:
                break
            at_most = max(1, at_most // 4)
        if lost < best:
            best, kept = lost, keep(groups)
        else:
            groups.members, groups.centres = keep(groups, *kept)
        groups.look_around()
        if not exchange_centres(groups, target, at_most):
            break
    if groups.loss() > best:
        groups.members, groups.centres = kept


def keep(groups: Groups, *kept: dict) -> tuple[dict[int, list[int]], dict[int, list[float]]]:  # type: ignore[type-arg]
    """A copy of the groups and their centres, or of those kept before."""
    members, centres = kept or (groups.members, groups.centres)
    return {slot: list(own) for slot, own in members.items()}, dict(centres)


def move_records(groups: Groups) -> int:
    """Step 5: records go to the near centre where they lose least, or change places with a record of that group."""
    counts, k, changes = groups.counts, groups.k, 0
    for one in range(counts.size):
        here = groups.slots()[one]
        there, cost = groups.nearest(one, groups.others(here))
        gain = counts[one] * (groups.cost(one, groups.centres[here]) - cost)
        if there == -1 or gain <= WORTH_IT:
            continue
        back = []
        if groups.persons(here) - counts[one] < k:
            # The group would be too small, unless a record of the other one comes for it: the one that loses least.
            fits = [
                other
                for other in groups.members[there]
                if groups.persons(here) - counts[one] + counts[other] >= k
                and groups.persons(there) + counts[one] - counts[other] >= k
            ]
            lost = {
                other: counts[other]
                * (groups.cost(other, groups.centres[here]) - groups.cost(other, groups.centres[there]))
                for other in fits
            }
            back = [other for other in fits if lost[other] == min(lost.values()) and lost[other] < gain - WORTH_IT][:1]
            if not back:
                continue
        groups.move(one, here, there)
        for other in back:
            groups.move(other, there, here)
        changes += 1
    return changes


def takes_of(groups: Groups, new: int) -> tuple[float, list[int]]:
    """Step 6: what a record would win as a new centre, and the records that would go to it.

    Those go that are nearer to it than to their own centre, as long as their group stays large enough. If they are too
    few, further ones of the record's own group go, those first that lose least.
    """
    counts, k, centre = groups.counts, groups.k, groups.centre_at(new)
    own = groups.slots()[new]
    takes, gain, left = [], 0.0, {}
    for slot in [own, *groups.others(own)]:
        left[slot] = groups.persons(slot)
        for one in groups.members[slot]:
            won = groups.cost(one, groups.centres[slot]) - groups.cost(one, centre)
            if won > 0 and left[slot] - counts[one] >= k:
                left[slot] -= counts[one]
                takes.append(one)
                gain += counts[one] * won
    lost = {one: groups.cost(one, centre) - groups.cost(one, groups.centres[own]) for one in groups.members[own]}
    further = [one for one in groups.members[own] if one not in takes and lost[one] >= 0]
    further.sort(key=lambda one: counts[one] * lost[one])
    while counts[takes].sum() < k if takes else True:
        if not further or left[own] - counts[further[0]] < k:
            return -np.inf, []
        one = further.pop(0)
        left[own] -= counts[one]
        gain -= counts[one] * lost[one]
        takes.append(one)
    return round(gain, 9), takes


def exchange_centres(groups: Groups, target: int, at_most: int) -> int:
    """Step 6: split a group at a new centre, and merge another one with those near it, while that wins.

    The largest gain and the least loss go first; a group that has changed does not change again.
    """
    gains = [takes_of(groups, one)[0] for one in range(groups.counts.size)]
    costs = {slot: groups.cost_of_removal(slot) for slot in sorted(groups.members)}
    going = sorted(costs, key=lambda slot: (costs[slot], slot))
    spare = max(0, target - len(groups.members))
    touched: set[int] = set()
    made = 0
    for new in np.argsort(-np.array(gains), kind="stable").tolist():
        if made == at_most or gains[new] <= WORTH_IT:
            break
        slot_of = groups.slots()
        gain, takes = takes_of(groups, new)
        givers = {slot_of[one] for one in takes}
        if not takes or touched & {slot_of[new], *givers}:
            continue
        if spare:
            slot = min(set(range(groups.counts.size)) - set(groups.members))
            spare -= 1
        else:
            going = [one for one in going if one not in touched]
            if not going or costs[going[0]] >= gain - WORTH_IT:
                break
            slot = going[0]
            others = groups.others(slot)
            if not others or slot in {slot_of[new], *givers}:
                continue
            touched |= set(others)
            groups.dissolve(slot)
        for one in takes:
            groups.move(one, slot_of[one], slot)
        touched |= {slot, *givers}
        groups.near[slot] = groups.near[slot_of[new]]
        made += 1
    groups.recentre()
    return made
