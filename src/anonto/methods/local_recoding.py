"""Local recoding: each class of records gets levels of its own, as in Mondrian, along the levels of each column.

- **Top down.** A class is split in the column, and to the next lower level, that lowers its loss most. Parts of k rows
  become classes of the lower level; the others stay together at the level of the class. If they are fewer than k, the
  smallest part stays with them, or they are suppressed, whichever loses less. A class then takes the lowest levels at
  which its records are still equal.
- **Twice.** That begins once with all records as one class, and once with the classes of the best global levels; the
  better result is kept, so that local recoding never loses more than global recoding.
- **Improved.** Records then move to classes that cover them at a lower loss, as long as the class that they leave keeps
  k rows or all its records leave; classes that lost records may take lower levels again.

The order of all choices is fixed by the losses and by the order of columns and records, so nothing is drawn.

Reference: LeFevre, DeWitt, Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006. Departures: columns are
split along their levels, and by what a split saves in meaning.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.records import distinct_rows
from anonto.methods.lattice import DIGITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.methods.lattice import Asked, Leveled

MOST_SIGNATURES = 1_000
"""Classes with different levels that records may move to."""
MOST_PASSES = 10
"""How often records may move."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LocalClass:
    """Records that become equal."""

    records: Longs
    levels: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Recoded:
    """All records in classes."""

    classes: Codes
    """The class of each record; −1 for one that is suppressed."""
    levels: Codes
    """Records × columns: the level of each cell; −1 for one that is suppressed."""
    loss: float
    """The sum of the squared distances of all rows."""


def recode_locally(
    columns: Sequence[Leveled], counts: Longs, asked: Asked, start: Sequence[LocalClass], suppressed: Longs
) -> Recoded:
    """Split classes as far as that lowers the loss, and let records move.

    Args:
        columns: The columns at their levels.
        counts: Rows of each record.
        asked: What classes must keep to.
        start: Classes that keep to it.
        suppressed: Records in none of them.
    """
    splitter = _Splitter(columns, counts, asked)
    found = splitter.split_all(start, suppressed)
    if found is None:  # fewer than k records were suppressed, which would be told apart by that
        found = _Splitter(columns, counts, replace(asked, budget=0)).split_all(start, suppressed)
    classes = list(start) if found is None else found
    if asked.is_good is None:
        classes = _improve(splitter, classes)
    return splitter.as_recoded(classes)


class _Splitter:
    """Splits classes along the levels of the columns."""

    def __init__(self, columns: Sequence[Leveled], counts: Longs, asked: Asked) -> None:
        self.columns, self.counts, self.asked = columns, counts, asked
        self.n_suppressed = 0

    def split_all(self, start: Sequence[LocalClass], suppressed: Longs) -> list[LocalClass] | None:
        """The classes of all records that are not suppressed; None if those that are would be too few for a class."""
        lost, done = [suppressed], []
        self.n_suppressed = int(self.counts[suppressed].sum())
        waiting = [self.lowered(one) for one in reversed(start)]
        while waiting:
            one = waiting.pop()
            found = self._best_split(one)
            if found is None:
                done.append(one)
                continue
            parts, gone = found
            waiting.extend(self.lowered(part) for part in reversed(parts))
            if gone.size:
                lost.append(gone)
                self.n_suppressed += int(self.counts[gone].sum())
        gone = np.sort(np.concatenate(lost))
        if 0 < self.n_suppressed < self.asked.k or not self._is_good(gone):
            return None
        return done

    def lowered(self, one: LocalClass) -> LocalClass:
        """The class at the lowest levels at which its records are equal."""
        levels = list(one.levels)
        for place, column in enumerate(self.columns):
            while levels[place]:
                own = column.groups[levels[place] - 1][one.records]
                if (own != own[0]).any():
                    break
                levels[place] -= 1
        return LocalClass(one.records, tuple(levels))

    def _best_split(self, one: LocalClass) -> tuple[list[LocalClass], Longs] | None:
        """The parts of the split that saves most, and the records that are suppressed by it; None if there is none."""
        best, saved = None, -np.inf
        if int(self.counts[one.records].sum()) < self.asked.k + 1:
            return None
        for place in range(len(self.columns)):
            if one.levels[place] and (found := self._split(one, place)) is not None and found[0] > saved:
                saved, best = found[0], found[1]
        return best

    def _split(self, one: LocalClass, place: int) -> tuple[float, tuple[list[LocalClass], Longs]] | None:
        """What splitting a class in a column saves, its parts, and the records that are suppressed; None if it cannot.

        Parts that cannot be classes stay together at the level of the class.
        """
        column, level = self.columns[place], one.levels[place]
        groups, which = np.unique(column.groups[level - 1][one.records], return_inverse=True)
        sizes = np.bincount(which, weights=self.counts[one.records]).astype(np.int64)
        good = sizes >= self.asked.k
        if self.asked.is_good is not None:
            good &= [self._is_good(one.records[which == group]) for group in range(groups.size)]
        if not good.any():
            return None
        ways = []
        rest = one.records[~good[which]]
        if self._is_good(rest):
            ways.append(self._way(one, place, which, good))
        else:
            smaller = good.copy()
            smaller[np.flatnonzero(good)[np.argmin(sizes[good])]] = False
            if smaller.any() and self._is_good(one.records[~smaller[which]]):
                ways.append(self._way(one, place, which, smaller))
            if self.n_suppressed + int(self.counts[rest].sum()) <= self.asked.budget:
                ways.append(self._way(one, place, which, good, loses_rest=True))
        return max((way for way in ways if way[0] >= 0.0), key=lambda way: way[0], default=None)

    def _way(
        self, one: LocalClass, place: int, which: Longs, good: Bools, *, loses_rest: bool = False
    ) -> tuple[float, tuple[list[LocalClass], Longs]]:
        """One way to split: some parts become classes, the rest stays together or is suppressed."""
        column, level, records = self.columns[place], one.levels[place], one.records
        lower = (*one.levels[:place], level - 1, *one.levels[place + 1 :])
        is_in = good[which]
        inside, rest = records[is_in], records[~is_in]
        saving = dot(self.counts[inside], column.losses[level][inside] - column.losses[level - 1][inside])
        parts = [LocalClass(records[which == group], lower) for group in np.flatnonzero(good).tolist()]
        if loses_rest:
            saving -= self._cost_of_suppressing(rest, one.levels)
            return round(saving, DIGITS), (parts, rest)
        if rest.size:
            parts.append(LocalClass(rest, one.levels))
        return round(saving, DIGITS), (parts, rest[:0])

    def _cost_of_suppressing(self, records: Longs, levels: Sequence[int]) -> float:
        """What some records lose in addition if they are suppressed."""
        return sum(
            dot(self.counts[records], column.present[records] - column.losses[level][records])
            for column, level in zip(self.columns, levels, strict=True)
        )

    def _is_good(self, records: Longs) -> bool:
        """Return whether some records could be a class; no records are none, which is good."""
        n_rows = int(self.counts[records].sum())
        if not n_rows:
            return True
        if n_rows < self.asked.k:
            return False
        return self.asked.is_good is None or self.asked.is_good(records)

    def as_recoded(self, classes: Sequence[LocalClass]) -> Recoded:
        """The class and the levels of each record."""
        numbers = np.full(self.counts.size, -1, dtype=np.int32)
        levels = np.full((self.counts.size, len(self.columns)), -1, dtype=np.int32)
        for number, one in enumerate(classes):
            numbers[one.records] = number
            levels[one.records] = one.levels
        loss = 0.0
        for place, column in enumerate(self.columns):
            of_cells = column.present.copy()
            for level, own in enumerate(column.losses):
                there = levels[:, place] == level
                of_cells[there] = own[there]
            loss += dot(self.counts, of_cells)
        return Recoded(numbers, levels, round(loss, DIGITS))


def _improve(splitter: _Splitter, classes: Sequence[LocalClass]) -> list[LocalClass]:
    """Let records move to classes that cover them at a lower loss, until none can."""
    counts, k = splitter.counts, splitter.asked.k
    found = [one for one in classes if one.records.size]
    for _ in range(MOST_PASSES):
        better, target = _better_classes(splitter, found)
        class_of = np.full(counts.size, -1, dtype=np.int64)
        for number, one in enumerate(found):
            class_of[one.records] = number
        sizes = np.array([int(counts[one.records].sum()) for one in found], dtype=np.int64)
        movable = np.flatnonzero(better > 0.0)
        leaving = np.bincount(class_of[movable], weights=counts[movable], minlength=sizes.size).astype(np.int64)
        all_leave = leaving == sizes
        moved = False
        for record in movable[np.lexsort((movable, -np.round(better[movable] * counts[movable], DIGITS)))].tolist():
            source, goal, n = int(class_of[record]), int(target[record]), int(counts[record])
            if sizes[goal] and sizes[source] - n >= k:
                class_of[record], moved = goal, True
                sizes[source] -= n
                sizes[goal] += n
        for source in np.flatnonzero(all_leave).tolist():
            own = np.flatnonzero(class_of == source)
            goals = target[own]
            if own.size and (better[own] > 0.0).all() and (sizes[goals] > 0).all() and (goals != source).all():
                class_of[own], moved = goals, True
                np.add.at(sizes, goals, counts[own])
                sizes[source] = 0
        if not moved:
            return found
        order = np.argsort(class_of, kind="stable")
        order = order[class_of[order] >= 0]
        starts = np.searchsorted(class_of[order], np.arange(len(found) + 1))
        found = [
            splitter.lowered(LocalClass(order[begin:end], one.levels))
            for one, begin, end in zip(found, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
            if end > begin
        ]
    return found


def _better_classes(splitter: _Splitter, classes: Sequence[LocalClass]) -> tuple[Floats, Longs]:
    """How much less each record would lose in the class that covers it at the least loss, and which class that is."""
    columns = splitter.columns
    n_records = splitter.counts.size
    by_levels: dict[tuple[int, ...], list[int]] = {}
    for number, one in enumerate(classes):
        by_levels.setdefault(one.levels, []).append(number)
    now, least = np.zeros(n_records), np.full(n_records, np.inf)
    target = np.full(n_records, -1, dtype=np.int64)
    for levels, numbers in sorted(by_levels.items(), key=lambda one: (-len(one[1]), one[0]))[:MOST_SIGNATURES]:
        groups = [column.groups[level] for column, level in zip(columns, levels, strict=True)]
        losses = np.sum([column.losses[level] for column, level in zip(columns, levels, strict=True)], axis=0)
        label = _labels(groups)
        ordered = sorted(numbers, key=lambda one: int(label[classes[one].records[0]]))
        own = np.array([int(label[classes[one].records[0]]) for one in ordered])
        for number in numbers:
            now[classes[number].records] = losses[classes[number].records]
        place = np.minimum(np.searchsorted(own, label), own.size - 1)
        goal = np.where(own[place] == label, np.array(ordered)[place], -1)
        is_better = (goal >= 0) & (losses < least - 10.0**-DIGITS)
        least[is_better], target[is_better] = losses[is_better], goal[is_better]
    inside = np.zeros(n_records, dtype=np.bool_)
    for one in classes:
        inside[one.records] = True
    saving = np.where(inside & (target >= 0), now - least, 0.0)
    return np.where(saving > 10.0**-DIGITS, saving, 0.0), target


def _labels(groups: Sequence[Codes]) -> Longs:
    """A number for each record, the same for those with the same groups."""
    radix = [int(own.max(initial=0)) + 1 for own in groups]
    if math.prod(radix) > 2**62:
        return distinct_rows([np.ascontiguousarray(own, dtype=np.int32) for own in groups])[1].astype(np.int64)
    label = np.zeros(groups[0].size, dtype=np.int64)
    for own, n_groups in zip(groups, radix, strict=True):
        label = label * n_groups + own
    return label
