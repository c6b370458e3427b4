r"""Groups within a budget of risk: as many as an average chance of a right link allows, of any size from k on.

Whoever knows all about a group of g persons but who is who is right about one of them with a chance of 1/g. The average
of that over all persons is the number of groups divided by the number of persons, however large each group is. So where
many are alike a group can be small, and where they differ large. Records that are equal are always in one group.

Every distinct record starts as the centre of a group. Then the centre goes whose removal costs least, its records
joining the nearest of the other groups, until there are few enough, and until each has k persons. After every ten
removals the centres of the groups that have changed are found again, numbers by their mean and concepts on the
taxonomy. Each time the groups have become fewer by a fifth, the columns are weighed anew: the squared distances of a
column are divided by its root mean squared distance, so that what falls is the sum of these roots over the columns, and
not that of the squares. A weight is at least 1/1.25 and at most 1.25.

Then a local search: records move to a nearer centre or change places with a record of its group, a group is split at a
new centre, and another one is merged with those near it. Centres and near groups are found again after each round. Only
near groups are looked at, so the time is nearly proportional to the number of distinct records. Nothing is random.

Step by step: `anonto.methods.plain.removal`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.records import distinct_rows
from anonto.encoding.value_space import MeanSpace, NominalSpace
from anonto.methods import microaggregation_kernels, removal_kernels
from anonto.methods.aggregation import candidates_of
from anonto.methods.grouping import RecordGroups
from anonto.methods.grouping.refine_kernels import near_groups
from anonto.search.space import NumberPart, joint_part
from anonto.search.tree import tree_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.records import Records
    from anonto.methods.grouping import GroupingSpace
    from anonto.methods.microaggregation_kernels import Centres
    from anonto.methods.s_space import ScaledColumn

NEAR = 32
"""The number of other groups that the records of a group may go to."""
LEFT_BY_PHASE = 0.8
"""The share of the centres that are left when columns are weighed anew."""
MOST_WEIGHT = 1.25
"""The largest change of a column's weight."""
ROUNDS, MOVES = 12, 20
"""Most rounds of the local search, and how often records may move in each."""
WORTH_A_ROUND = 1e-4
"""A round that gains a smaller share of the loss is the last one of its kind."""
MOST_TAKEN = 4096
"""The most records of a new group."""
MOST_DISTANCES = 1 << 25
"""With more distances of values to candidates, only values of the column are candidates for its centres."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CentreColumn:
    """A column of some records, and what it costs to put each of its values at a centre."""

    units: Floats | None = None
    """The number of each record; None for a nominal column."""
    codes: Codes | None = None
    """The value of each record; None for numbers."""
    squares: Floats | None = None
    """Values × candidates: the weighted squared distances; None where two values are equal or not."""
    own: Codes | None = None
    """The candidate that each value is itself; None where the values are the candidates."""
    weight: float = 1.0
    """The cost of two different values of a column without distances."""

    def of(self, records: Longs) -> CentreColumn:
        """The column of some of the records."""
        units = None if self.units is None else self.units[records]
        return replace(self, units=units, codes=None if self.codes is None else self.codes[records])


def scaled_centres(columns: Sequence[ScaledColumn], codes: Codes, *, from_taxonomy: bool) -> list[CentreColumn]:
    """Columns in the scale of the S-distance; with candidates from the taxonomy where they are not too many."""
    out = []
    for place, column in enumerate(columns):
        own = np.ascontiguousarray(codes[:, place])
        value_space, weight = column.value_space, column.weight_of_squares
        if column.units is not None:
            out.append(CentreColumn(units=column.units[own]))
        elif column.distances is None:
            out.append(CentreColumn(codes=own, weight=weight))
        else:
            candidates = None
            if from_taxonomy and isinstance(value_space, NominalSpace | MeanSpace):
                candidates = candidates_of(value_space)
            if candidates is None or candidates.size * value_space.counts.size > MOST_DISTANCES:
                out.append(CentreColumn(codes=own, squares=column.distances**2 * weight))
            else:
                squares = candidates.squares(0, candidates.size) * weight
                out.append(CentreColumn(codes=own, squares=squares, own=candidates.own))
    return out


def joint_centres(records: Records) -> list[CentreColumn]:
    """Columns of the joint distance, squared; a missing number counts as the middle one, and as different."""
    out = []
    share = 1.0 / max(len(records.value_spaces), 1)
    for column, value_space in enumerate(records.value_spaces):
        part = joint_part(value_space, records.codes[:, column], share)
        if isinstance(part, NumberPart):
            missing = np.isnan(part.numbers)
            middle = np.median(part.numbers[~missing]) if not missing.all() else 0.0
            out.append(CentreColumn(units=np.where(missing, middle, part.numbers)))
            if missing.any():
                out.append(CentreColumn(codes=missing.astype(np.int32), weight=part.gap**2))
        elif part.distances is None:
            out.append(CentreColumn(codes=part.codes, weight=part.weight**2))
        else:
            out.append(CentreColumn(codes=part.codes, squares=(part.distances * part.weight) ** 2))
    return out


def groups_by_removal(
    space: GroupingSpace, columns: Sequence[CentreColumn], counts: Longs, k: int, n_groups: int, *, refine: bool
) -> RecordGroups:
    """At most so many groups, each of k persons or more, and each with all persons of its records.

    Args:
        space: The distinct records, in which near groups are looked for.
        columns: Their columns.
        counts: Persons of each record; at least k in all.
        k: The least size of a group.
        n_groups: How many groups there may be.
        refine: Whether the local search follows.
    """
    # Records that are equal in these columns, and differ in others, stay together.
    kinds, of_record = _equal_records(columns)
    persons = np.bincount(of_record, weights=counts, minlength=kinds.size).astype(np.int64)
    # Step 1: every record is the centre of a group.
    removal = _Removal(space.of(kinds), [column.of(kinds) for column in columns], persons)
    target = max(1, min(n_groups, int(counts.sum()) // k))
    removal.remove(target, k)
    if refine:
        removal.improve(target, k)
    return removal.groups(of_record, counts)


def _equal_records(columns: Sequence[CentreColumn]) -> tuple[Longs, Longs]:
    """The first record of each kind, in their order, and the kind of each record."""
    numbers = [np.unique(one.units, return_inverse=True)[1] for one in columns if one.units is not None]
    cells = [*numbers, *(one.codes for one in columns if one.codes is not None)]
    _, of_record = distinct_rows([np.asarray(one, dtype=np.int32) for one in cells])
    firsts = np.unique(of_record, return_index=True)[1]
    rank = np.empty(firsts.size, dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(firsts.size)
    return np.sort(firsts), rank[of_record]


class _Removal:
    """Groups that become fewer and better."""

    def __init__(self, space: GroupingSpace, columns: Sequence[CentreColumn], counts: Longs) -> None:
        n = counts.size
        self.space, self.counts = space, counts.astype(np.int64)
        self.centres, own = _every_record(columns, n)
        everyone, nothing = np.arange(n, dtype=np.int32), np.full(n, -1, dtype=np.int32)
        self.draft = removal_kernels.GroupDraft(
            group_of=everyone.copy(),
            first=everyone.copy(),
            after=nothing.copy(),
            before=nothing.copy(),
            sizes=self.counts.copy(),
            counts=self.counts,
            own=own,
            near=np.empty((n, 0), dtype=np.int32),
            changed=np.zeros(n, dtype=np.bool_),
        )
        self.weights = np.ones(self.centres.units.shape[1] + self.centres.codes.shape[1])

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return int(np.count_nonzero(self.draft.first >= 0))

    def groups(self, of_record: Longs, counts: Longs) -> RecordGroups:
        """The groups, person by person.

        Args:
            of_record: Which of the records here each of some records equals.
            counts: Persons of each of those.
        """
        order, starts = _in_groups(self.draft.group_of[of_record])
        persons = np.concatenate([[0], np.cumsum(counts[order])])
        offsets = persons[np.append(starts, order.size)]
        return RecordGroups(np.repeat(order, counts[order]), offsets.astype(np.int64))

    def remove(self, target: int, k: int) -> None:
        """Remove centres until there are few enough, and all groups large enough."""
        looked = np.inf
        while (left := self.n_groups) > target or self.draft.sizes[self.draft.first >= 0].min() < k:
            if left <= looked / 2 or left <= target:
                self.look_around()
                looked = left
            until = max(target, int(left * LEFT_BY_PHASE))
            found = removal_kernels.remove_centres(self.centres, self.draft, left, until, k if until == target else 0)
            if found == left:
                looked = np.inf
            self.weigh_columns()

    def look_around(self) -> None:
        """Find the groups near each one: those whose most central records are the nearest."""
        order, starts = _in_groups(self.draft.group_of)
        slots = self.draft.group_of[order[starts]]
        centres = self.centres._replace(means=self.centres.means[slots], places=self.centres.places[slots])
        offsets = np.append(starts, order.size)
        central, _ = microaggregation_kernels.nearest_members(centres, order, offsets)
        wanted = min(NEAR, slots.size - 1)
        near = np.zeros((self.draft.first.size, wanted), dtype=np.int32)
        near[slots] = central[near_groups(tree_of(self.space.of(central)), wanted)] if wanted else 0
        self.draft = self.draft._replace(near=near)

    def weigh_columns(self) -> None:
        """Step 4: divide the squared distances of each column by their root mean square."""
        centres, n = self.centres, int(self.counts.sum())
        group = self.draft.group_of
        n_numbers = centres.units.shape[1]
        lost = [(centres.units[:, column] - centres.means[group, column]) ** 2 for column in range(n_numbers)]
        for column in range(centres.codes.shape[1]):
            own, place = centres.codes[:, column], centres.places[group, column]
            start, width = int(centres.starts[column]), int(centres.widths[column])
            lost.append(
                centres.squares[start + own.astype(np.int64) * width + place]
                if start >= 0
                else centres.weights[column] * (own != place)
            )
        means = np.array([dot(self.counts, one) / n for one in lost]) / self.weights
        if not means.any():
            return
        roots = np.sqrt(means)
        wanted = np.clip(dot(roots, np.ones(roots.size)) / roots.size, roots / MOST_WEIGHT, roots * MOST_WEIGHT)
        wanted = np.where(roots > 0.0, wanted / np.where(roots > 0.0, roots, 1.0), MOST_WEIGHT)
        ratio, self.weights = wanted / self.weights, wanted
        for column in range(n_numbers):
            for numbers in (centres.units, centres.means):
                numbers[:, column] *= np.sqrt(ratio[column])
        for column in range(centres.codes.shape[1]):
            start = int(centres.starts[column])
            if start >= 0:
                later = centres.starts[column + 1 :]
                end = int(later[later >= 0][0]) if (later >= 0).any() else centres.squares.size
                centres.squares[start:end] *= ratio[n_numbers + column]
            centres.weights[column] *= ratio[n_numbers + column]

    def improve(self, target: int, k: int) -> None:
        """Move records, and split and merge groups, while that lowers the loss."""
        best, at_most = np.inf, max(1, target // 4)
        takes = np.empty(min(MOST_TAKEN, self.counts.size), dtype=np.int32)
        kept = self._copy()
        for _ in range(ROUNDS):
            for _ in range(MOVES):
                moved = removal_kernels.move_records(self.centres, self.draft, k)
                removal_kernels.recentre(self.centres, self.draft)
                if not moved:
                    break
            lost = removal_kernels.loss(self.centres, self.draft)
            # A round that gains little was too bold, or the last one.
            if lost >= best * (1.0 - WORTH_A_ROUND):
                if at_most == 1:
                    break
                at_most = max(1, at_most // 4)
            if lost < best:
                best, kept = lost, self._copy()
            else:
                self._restore(kept)
            self.look_around()
            if not self._exchange(target, k, at_most, takes):
                break
        if removal_kernels.loss(self.centres, self.draft) > best:
            self._restore(kept)

    def _exchange(self, target: int, k: int, at_most: int, takes: Codes) -> int:
        """Split some groups and merge others; how many."""
        gains = removal_kernels.gains_of_centres(self.centres, self.draft, k, takes)
        costs = removal_kernels.costs_of_removals(self.centres, self.draft)
        added, removed = np.argsort(-gains, kind="stable"), np.argsort(costs, kind="stable")
        offers = removal_kernels.Offers(added, gains[added], removed, costs[removed])
        spare = max(0, target - self.n_groups)
        made = removal_kernels.exchange_centres(self.centres, self.draft, offers, spare, k, at_most, takes)
        removal_kernels.recentre(self.centres, self.draft)
        return int(made)

    def _copy(self) -> list[NDArray[Any]]:
        centres, draft = self.centres, self.draft
        changing = (centres.means, centres.places, draft.group_of, draft.first, draft.after, draft.before, draft.sizes)
        return [one.copy() for one in changing]

    def _restore(self, kept: list[NDArray[Any]]) -> None:
        centres, draft = self.centres, self.draft
        means, places, group_of, first, after, before, sizes = (one.copy() for one in kept)
        self.centres = centres._replace(means=means, places=places)
        self.draft = draft._replace(group_of=group_of, first=first, after=after, before=before, sizes=sizes)
        self.draft.changed[:] = False


def _in_groups(group_of: Codes) -> tuple[Codes, Longs]:
    """The records group by group, and where each group starts."""
    order = np.argsort(group_of, kind="stable").astype(np.int32)
    slots = group_of[order]
    return order, np.flatnonzero(np.r_[True, slots[1:] != slots[:-1]])


def _every_record(columns: Sequence[CentreColumn], n: int) -> tuple[Centres, Codes]:
    """Every record as a centre, and the candidates that its values are themselves."""
    numeric = [one.units for one in columns if one.units is not None]
    nominal = [(one, one.codes) for one in columns if one.codes is not None]
    units = np.column_stack([np.empty((n, 0)), *numeric])
    codes, own = (np.empty((n, len(nominal)), dtype=np.int32) for _ in range(2))
    for place, (one, values) in enumerate(nominal):
        codes[:, place] = values
        own[:, place] = values if one.own is None else one.own[values]
    tables = [np.empty((0, 0)) if one.squares is None else one.squares for one, _ in nominal]
    ends = np.cumsum([table.size for table in tables]).astype(np.int64)
    starts = [-1 if not table.size else end - table.size for table, end in zip(tables, ends.tolist(), strict=True)]
    widths = [table.shape[1] or int(codes[:, place].max(initial=0)) + 1 for place, table in enumerate(tables)]
    centres = microaggregation_kernels.Centres(
        units=np.ascontiguousarray(units),
        means=units.copy(),
        codes=codes,
        places=own.copy(),
        squares=np.concatenate([np.empty(0), *(table.ravel() for table in tables)]),
        starts=np.array(starts, dtype=np.int64),
        widths=np.array(widths, dtype=np.int64),
        weights=np.array([one.weight for one, _ in nominal], dtype=np.float64),
    )
    return centres, own
