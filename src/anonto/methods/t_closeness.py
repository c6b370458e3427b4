"""t-closeness: no group's distribution of a confidential column is farther than t from that of the whole table.

The distance of two distributions is the earth mover's distance over the column's own distances. While a group is too
far, the farthest is merged with the group whose centre is nearest in the masked columns. In the end at the latest,
when all records are in one group, the distance is 0. Records without a confidential value do not count in either
distribution.

Reference: Soria-Comas, Domingo-Ferrer, Sánchez, Martínez, t-Closeness through microaggregation, IEEE TKDE 27 (2015),
Algorithm 1.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.value_space import NominalSpace, NumericSpace, TextSpace
from anonto.methods import microaggregation_kernels as kernels
from anonto.methods.aggregation import DIGITS, value_sets
from anonto.methods.grouping import RecordGroups
from anonto.methods.refusals import not_close
from anonto.stats.earth_mover import earth_movers_distance
from anonto.stats.ties import TOLERANCE
from anonto.stats.transport_kernels import distance_on_a_line

if TYPE_CHECKING:
    from anonto.arrays import Bools, Codes, Floats, Integers, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.diversity import Diversity
    from anonto.methods.grouping import GroupingSpace


NO_LIMIT = 1.5
"""In place of t where only diversity is asked for: no distance is above 1."""
NOT_DIVERSE = 2.0
"""In place of the distance of a group whose values are not diverse enough."""


class Confidential:
    """The distribution of a confidential column in the whole table, and how far others are from it."""

    def __init__(self, name: str, value_space: ValueSpace, codes: Codes, diversity: Diversity | None = None) -> None:
        self.name, self.diversity = name, diversity
        self.codes: Codes = np.append(_same_meaning(value_space), np.int32(-1))[codes]
        """The value of each record, one code for all its spellings; −1 for none."""
        self.shares: Floats = value_space.counts / max(int(value_space.counts.sum()), 1)
        self.line = _line(value_space, self.shares) if isinstance(value_space, NumericSpace) else None
        has_distances = not isinstance(value_space, NumericSpace | TextSpace)
        self.distances: Floats | None = value_space.distances() if has_distances else None

    def _values_of(self, members: Integers) -> tuple[Codes, Longs]:
        """The values of some rows and how often each occurs."""
        cells = self.codes[members]
        values, counts = np.unique(cells[cells >= 0], return_counts=True)
        return values, counts.astype(np.int64)

    def distance(self, members: Integers, t: float) -> float:
        """How far the values of some rows are from those of the table; above t any number that it is at least.

        Rounded, so that ties are exact. Values that are not diverse enough are farther than any t.
        """
        values, counts = self._values_of(members)
        if self.diversity is not None and not self.diversity.is_met(counts):
            return NOT_DIVERSE
        if t >= NO_LIMIT:
            return 0.0
        return round(self._distance(values, counts, t), DIGITS) if values.size else 0.0

    def is_good(self, records: Longs, counts: Longs, t: float) -> bool:
        """Return whether records, each with so many rows, are diverse and close enough."""
        cells = self.codes[records]
        there = cells >= 0
        values, place = np.unique(cells[there], return_inverse=True)
        rows = np.bincount(place, weights=counts[records][there], minlength=values.size).astype(np.int64)
        if self.diversity is not None and not self.diversity.is_met(rows):
            return False
        return t >= NO_LIMIT or not values.size or round(self._distance(values, rows, t), DIGITS) <= t + TOLERANCE

    def _distance(self, values: Codes, counts: Longs, t: float) -> float:
        if self.line is not None:
            return self.line.distance(values, counts)
        own = np.zeros(self.shares.size)
        own[values] = counts / counts.sum()
        if self.distances is not None:
            at_least = dot(self.shares, self.distances[values].min(axis=0))
            if at_least > t + TOLERANCE:
                return at_least
        return earth_movers_distance(own, self.shares, self.distances)


def _same_meaning(value_space: ValueSpace) -> Codes:
    """For each value the first that means the same: ``5.0`` is no other number than ``5``."""
    if isinstance(value_space, NumericSpace):
        return value_space.codes_of(value_space.numbers)[1]
    if isinstance(value_space, NominalSpace):
        first: dict[str, int] = {}
        codes = [first.setdefault(concept, code) for code, concept in enumerate(value_space.concepts)]
        return np.array(codes, dtype=np.int32)
    return np.arange(value_space.counts.size, dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class _SortedNumbers:
    """A column of numbers in their order, with the areas under their cumulated shares."""

    rank: Longs
    """Where each value stands."""
    numbers: Floats
    below: Floats
    areas: Floats

    def distance(self, values: Codes, counts: Longs) -> float:
        extent = float(self.numbers[-1] - self.numbers[0])
        if not extent:
            return 0.0
        places = self.rank[values]
        order = np.argsort(places, kind="stable")
        area = distance_on_a_line(places[order], counts[order], self.numbers, self.below, self.areas)
        return max(float(area) / extent, 0.0)


def _line(value_space: NumericSpace, shares: Floats) -> _SortedNumbers:
    numbers, rank = np.unique(value_space.numbers, return_inverse=True)
    below = np.cumsum(np.bincount(rank, weights=shares, minlength=numbers.size), dtype=np.float64)
    areas = np.concatenate([[0.0], np.cumsum(below[:-1] * np.diff(numbers))])
    return _SortedNumbers(rank, numbers, below, areas)


@dataclass(frozen=True, slots=True, eq=False)
class Close:
    """Groups none of which is farther than t from the table."""

    groups: RecordGroups
    farthest: float
    """The distance of the farthest group."""
    n_merged: int
    """How often two groups were merged."""


def close_groups(
    space: GroupingSpace | None, groups: RecordGroups, confidential: Confidential, records: Longs, t: float
) -> Close:
    """Merge groups until none is too far.

    Args:
        space: The records that were grouped; None where they are all in one group.
        groups: Groups of these records.
        confidential: The confidential column of all records.
        records: Which of all records those of the space are.
        t: The largest distance.
    """
    centres = _Centres(space, groups) if space is not None else None
    parts: list[Codes] = np.split(groups.members, groups.offsets[1:-1])
    alive = np.ones(groups.n_groups, dtype=np.bool_)
    waiting = [(-confidential.distance(records[part], t), n) for n, part in enumerate(parts)]
    distance_of = {n: -far for far, n in waiting}
    heapq.heapify(waiting)
    while waiting and -waiting[0][0] > t + TOLERANCE:
        far, group = heapq.heappop(waiting)
        if not alive[group] or -far != distance_of[group]:
            continue
        other = centres.nearest(group, alive) if centres is not None else -1
        if centres is None or other < 0:
            raise not_close(confidential.name, int(parts[group].size), None if -far == NOT_DIVERSE else -far, t)
        parts[group] = np.concatenate([parts[group], parts[other]])
        alive[other] = False
        centres.move(group, parts[group])
        distance_of[group] = confidential.distance(records[parts[group]], t)
        heapq.heappush(waiting, (-distance_of[group], group))
    kept = [parts[n] for n in np.flatnonzero(alive).tolist()]
    offsets = np.concatenate([[0], np.cumsum([part.size for part in kept])]).astype(np.int64)
    farthest = max((distance_of[n] for n in np.flatnonzero(alive).tolist()), default=0.0)
    return Close(RecordGroups(np.concatenate(kept), offsets), farthest, groups.n_groups - len(kept))


class _Centres:
    """The centre of each group: the mean of numbers, and the value with the least summed distance to the others."""

    def __init__(self, space: GroupingSpace, groups: RecordGroups) -> None:
        self.records = space.arrays
        self.centres = self.records._replace(
            numbers=np.empty((groups.n_groups, self.records.numbers.shape[1])),
            codes=np.empty((groups.n_groups, self.records.widths.size), dtype=np.int32),
        )
        self._fill(groups, slice(None))

    def nearest(self, group: int, alive: Bools) -> int:
        """The group whose centre is nearest to that of one, the lowest of equals; −1 for none."""
        away = kernels.distances_to(self.centres, self.centres.numbers[group], self.centres.codes[group])
        away[~alive] = np.inf
        away[group] = np.inf
        nearest = int(np.argmin(away))
        return nearest if np.isfinite(away[nearest]) else -1

    def move(self, group: int, members: Codes) -> None:
        """Find the centre of a group that has other members now."""
        self._fill(RecordGroups(members, np.array([0, members.size], dtype=np.int64)), slice(group, group + 1))

    def _fill(self, groups: RecordGroups, rows: slice) -> None:
        records, centres = self.records, self.centres
        for column in range(records.numbers.shape[1]):
            numbers = records.numbers[groups.members, column]
            centres.numbers[rows, column] = np.add.reduceat(numbers, groups.offsets[:-1]) / groups.sizes
        for column, (start, width) in enumerate(zip(records.starts.tolist(), records.widths.tolist(), strict=True)):
            sets = value_sets(groups, records.codes[:, column], width)
            if start < 0:
                chosen = kernels.most_frequent(sets.offsets, sets.values, sets.counts)
            else:
                table = records.tables[start : start + width**2].reshape(width, width)
                chosen = kernels.least_of_own(sets.offsets, sets.values, sets.counts, table, False)
            centres.codes[rows, column] = chosen
