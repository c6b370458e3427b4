"""Cells to suppress, so that k records are equal in each of some combinations of columns.

A suppressed cell is like one that was missing before, and missing is a value of its own: in each combination every
record must be equal to k − 1 others, missing cells included.

- **Bound.** Consider a record that has all cells of a combination and fewer than k rows equal to it there. If it kept
  all of them, only records that were equal to it could be equal to it afterwards, and these are too few. So it loses a
  cell of the combination, and its cheapest cells that meet all such combinations are a bound. It adds up over the
  records.
- **Greedy.** One combination after the other, the column is suppressed that saves most rows of too small classes for
  its cost, in these rows. Where no column saves any, the cheapest one is suppressed in all small classes, and where all
  cells of a combination are gone, as many records of the largest class follow as are lacking.
- **Improved.** Cells come back, first those of records that are equal in all that is left, then one record after the
  other, the most expensive first, as long as all combinations keep to k.
- **Exact.** With up to `MOST_CELLS` cells all sets of cells are tried whose cost is below the best so far.

Records that are equal lose the same cells. Where few distinct records stand for many rows, a suppression that takes a
cell of only some of them could cost less; neither the search nor the bound is about such ones.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations as subsets
from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs

    Combinations = Sequence[tuple[int, ...]]

MISSING = -1
MOST_CELLS = 12
"""So many cells of distinct records are searched exactly."""
MOST_TRIES = 100_000
"""Cells of distinct records that may come back one by one."""
DIGITS = 9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Task:
    """Records, and what they must keep to."""

    codes: Codes
    counts: Longs
    combinations: Combinations
    k: int
    importance: Floats
    """What a suppressed cell of each column costs."""

    def sizes(self, released: Codes, combination: Sequence[int]) -> Longs:
        """How many rows are equal to each record in a combination."""
        _, number = distinct_rows([np.ascontiguousarray(released[:, place]) for place in combination])
        return np.bincount(number, weights=self.counts).astype(np.int64)[number]

    def is_kept(self, released: Codes) -> bool:
        """Return whether all combinations keep to k."""
        return all(bool((self.sizes(released, one) >= self.k).all()) for one in self.combinations)

    def cost(self, released: Codes) -> float:
        """What the suppressed cells cost."""
        gone = (released != self.codes) * self.counts[:, None]
        return round(dot(gone.sum(axis=0).astype(np.float64), self.importance), DIGITS)


def suppress_cells(task: Task) -> tuple[Codes, float]:
    """The records without the suppressed cells, and a cost that none can stay below if equal records stay equal."""
    bound = least_cost(task)
    found = _restore(task, _greedy(task))
    if task.cost(found) > bound and task.codes.size <= MOST_CELLS:
        found = _best(task, found)
        bound = task.cost(found)
    return found, bound


def least_cost(task: Task) -> float:
    """A cost that no suppression stays below."""
    n_records = task.counts.size
    too_small = np.zeros((n_records, len(task.combinations)), dtype=np.bool_)
    for place, one in enumerate(task.combinations):
        whole = (task.codes[:, list(one)] >= 0).all(axis=1)
        too_small[:, place] = whole & (task.sizes(task.codes, one) < task.k)
    patterns, which = np.unique(too_small, axis=0, return_inverse=True)
    rows = np.bincount(which.ravel(), weights=task.counts, minlength=len(patterns))
    return round(sum(float(n) * _cheapest(task, pattern) for n, pattern in zip(rows, patterns, strict=True)), DIGITS)


def _cheapest(task: Task, pattern: Bools) -> float:
    """The cost of the cheapest columns that meet some combinations; a bound where there are many columns."""
    wanted = [frozenset(task.combinations[place]) for place in np.flatnonzero(pattern).tolist()]
    if not wanted:
        return 0.0
    columns = sorted(frozenset().union(*wanted))
    if len(columns) > MOST_CELLS:  # Combinations without a common column add up.
        total, used = 0.0, frozenset[int]()
        for one in wanted:
            if not one & used:
                total += min(float(task.importance[place]) for place in one)
                used |= one
        return total
    chosen = (some for size in range(1, len(columns) + 1) for some in subsets(columns, size))
    meeting = (some for some in chosen if all(not one.isdisjoint(some) for one in wanted))
    return min(sum(float(task.importance[place]) for place in some) for some in meeting)


# ------------------------------------------------------------------------------------------------ greedy


def _greedy(task: Task) -> Codes:
    """Suppress cells, one combination after the other, until all keep to k."""
    released = task.codes.copy()
    is_done = False
    while not is_done:
        is_done = True
        for one in task.combinations:
            small = task.sizes(released, one) < task.k
            if not small.any():
                continue
            is_done = False
            (rows, _), place, records = max((_way(task, released, one, small, place) for place in one), key=_first)
            if rows:
                released[records, place] = MISSING
            else:
                _force(task, released, one, small)
    return released


def _first(way: tuple[tuple[float, int], int, Bools]) -> tuple[float, int]:
    return way[0]


def _way(
    task: Task, released: Codes, combination: Sequence[int], small: Bools, place: int
) -> tuple[tuple[float, int], int, Bools]:
    """How many rows one column saves per cost, and the records in which it is suppressed."""
    there = small & (released[:, place] >= 0)
    if not there.any():
        return (0.0, -place), place, there
    after = released.copy()
    after[there, place] = MISSING
    saved = there & (task.sizes(after, combination) >= task.k)
    rows = float(task.counts[saved].sum())
    return (round(rows / float(task.importance[place]), DIGITS), -place), place, saved


def _force(task: Task, released: Codes, combination: Sequence[int], small: Bools) -> None:
    """Suppress the cheapest column in all small classes; where they have no cell left, also in the next class."""
    order = sorted(combination, key=lambda place: (float(task.importance[place]), place))
    for place in order:
        there = small & (released[:, place] >= 0)
        if there.any():
            released[there, place] = MISSING
            return
    sizes = task.sizes(released, combination)
    needed = task.k - int(task.counts[small].sum())
    _, number = distinct_rows([np.ascontiguousarray(released[:, place]) for place in combination])
    largest = int(np.argmax(sizes))
    spare = int(sizes[largest]) - task.k
    chosen = []
    for record in np.flatnonzero(number == number[largest])[::-1].tolist():
        if needed > 0 and task.counts[record] <= spare:
            chosen.append(record)
            spare -= int(task.counts[record])
            needed -= int(task.counts[record])
    if needed > 0:  # no class can spare as many rows
        others = np.flatnonzero(~small)
        chosen = np.flatnonzero(number == number[others[np.argmin(sizes[others])]]).tolist()
    released[np.ix_(chosen, list(combination))] = MISSING


# ------------------------------------------------------------------------------------------------ back again


class _Classes:
    """How many rows each class of each combination has, while cells come back."""

    def __init__(self, task: Task, released: Codes) -> None:
        self.task = task
        self.codes, self.counts = task.codes.tolist(), task.counts.tolist()
        self.left = released.tolist()
        self.rows: list[Counter[tuple[int, ...]]] = [Counter() for _ in task.combinations]
        self.of_column = [
            [number for number, one in enumerate(task.combinations) if place in one]
            for place in range(task.codes.shape[1])
        ]
        for number, one in enumerate(task.combinations):
            for key, count in zip(map(tuple, released[:, list(one)].tolist()), self.counts, strict=True):
                self.rows[number][key] += count

    def bring_back(self, records: Sequence[int], place: int) -> bool:
        """Bring a cell of some records back, if all combinations then keep to k."""
        k, touched = self.task.k, []
        for number in self.of_column[place]:
            columns, rows = self.task.combinations[number], self.rows[number]
            at = columns.index(place)
            for record in records:
                row, n = self.left[record], self.counts[record]
                key = tuple(row[column] for column in columns)
                new = (*key[:at], self.codes[record][place], *key[at + 1 :])
                rows[key] -= n
                rows[new] += n
                touched.append((rows, key, new, n))
        if any(0 < rows[one] < k for rows, key, new, _ in touched for one in (key, new)):
            for rows, key, new, n in reversed(touched):
                rows[key] += n
                rows[new] -= n
            return False
        for record in records:
            self.left[record][place] = self.codes[record][place]
        return True


def _restore(task: Task, released: Codes) -> Codes:
    """Bring cells back as long as all combinations keep to k."""
    classes = _Classes(task, released)
    dearest = sorted(range(task.codes.shape[1]), key=lambda place: (-float(task.importance[place]), place))
    n_tries = 0
    while True:
        n_back = 0
        for place in dearest:
            left = np.array(classes.left, dtype=np.int32)
            gone = np.flatnonzero(left[:, place] != task.codes[:, place])
            if not gone.size:
                continue
            goal = left[gone]
            goal[:, place] = task.codes[gone, place]
            _, number = distinct_rows([np.ascontiguousarray(column) for column in goal.T])
            together = [gone[number == one].tolist() for one in range(int(number.max()) + 1)]
            batches = [one for one in together if len(one) > 1] + [[one] for one in gone.tolist()]
            for batch in batches:
                is_gone = all(classes.left[one][place] != classes.codes[one][place] for one in batch)
                n_tries += 1
                if is_gone and n_tries <= MOST_TRIES and classes.bring_back(batch, place):
                    n_back += len(batch)
        if not n_back or n_tries > MOST_TRIES:
            return np.array(classes.left, dtype=np.int32)


# ------------------------------------------------------------------------------------------------ exact


def _best(task: Task, found: Codes) -> Codes:
    """The cheapest suppression of a few cells, of equally cheap ones the first."""
    cells = np.argwhere(task.codes >= 0)
    costs = task.importance[cells[:, 1]] * task.counts[cells[:, 0]]
    best, least = found, task.cost(found)
    for number in range(1 << len(cells)):
        chosen = np.flatnonzero([(number >> bit) & 1 for bit in range(len(cells))])
        if round(float(sum(costs[chosen].tolist())), DIGITS) >= least:
            continue
        released = task.codes.copy()
        released[cells[chosen, 0], cells[chosen, 1]] = MISSING
        if task.is_kept(released):
            best, least = released, task.cost(released)
    return best
