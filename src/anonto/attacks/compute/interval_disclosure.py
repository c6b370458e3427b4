"""Interval disclosure: even where a link fails, the released value may lie close to the original one.

For a column with an ontology: the share of cells that stay in the same branch below the root, the same one a level
deeper, and within a distance; for other columns within a distance alone. The baseline is the same for two cells picked
at random, one of the original and one of the release. A value with several ancestors on a level is in all of their
branches, and two values stay together where they share one. Where an ontology has several roots, these are the branches
below a virtual root.

Reference: Mateo-Sanz, Sebé, Domingo-Ferrer, PSD 2004 (intervals of numbers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from anonto.attacks.interval_disclosure import IntervalDisclosure
from anonto.attacks.rate import Risk
from anonto.encoding.records import count_records
from anonto.encoding.value_space import NominalSpace, NumericSpace
from anonto.runtime.threads import slices
from anonto.utility.cells import Ancestry

if TYPE_CHECKING:
    from anonto.arrays import Bools, Codes, Floats, Integers, Longs
    from anonto.encoding.comparison import ComparedColumn


NEAR = 0.1
"""Cells within this distance of the original count as disclosed."""
BRANCHES = {"the same branch below the root": 1, "the same branch two levels below the root": 2}
"""How many levels below the root, or below a virtual root above several roots."""
SETS_AT_ONCE = 256
"""Sets of branches that are compared with all others together."""


def interval_disclosure(column: ComparedColumn) -> list[Risk]:
    """How often the released cell of a row is close to the original one."""
    pairs = _PresentCells.of(column)
    found = [_within_distance(column, pairs)]
    for part in getattr(column.value_space, "parts", (column.value_space,))[:1]:
        if isinstance(part, NominalSpace):
            found += [_same_branch(column, part, what, level, pairs) for what, level in BRANCHES.items()]
    return found


@dataclass(frozen=True, slots=True)
class _PresentCells:
    """Cells that have a value before and after."""

    before: Codes
    after: Codes
    amounts: Longs
    """How many cells each represents."""

    @classmethod
    def of(cls, column: ComparedColumn) -> _PresentCells:
        present = (column.original >= 0) & (column.masked >= 0)
        return cls(column.original[present], column.masked[present], column.amounts.masked[present])

    def shares(self, before: Integers, after: Integers, n_numbers: int) -> tuple[Floats, Floats]:
        """The shares of the numbers of cells before and after."""
        counts = [count_records(numbers, n_numbers, self.amounts) for numbers in (before, after)]
        return counts[0] / max(counts[0].sum(), 1), counts[1] / max(counts[1].sum(), 1)


def _within_distance(column: ComparedColumn, pairs: _PresentCells) -> Risk:
    near = column.value_space.pair_distances(pairs.before, pairs.after) <= NEAR + 1e-12
    what = f"whether a cell lies within distance {NEAR} of the original one"
    return _risk(column, f"distance {NEAR}", what, (near, pairs.amounts), _near(column, pairs))


def _near(column: ComparedColumn, pairs: _PresentCells) -> float:
    """How often two cells picked at random are near."""
    shares = pairs.shares(pairs.before, pairs.after, column.n_values)
    value_space = column.value_space
    if isinstance(value_space, NumericSpace):
        order = np.argsort(value_space.numbers, kind="stable")
        numbers, running = value_space.numbers[order], np.concatenate([[0.0], np.cumsum(shares[1][order])])
        half_width = NEAR * value_space.scale + 1e-12
        above = np.searchsorted(numbers, numbers + half_width, side="right")
        below = np.searchsorted(numbers, numbers - half_width, side="left")
        return float(shares[0][order] @ (running[above] - running[below]))
    return float(shares[0] @ (value_space.distances() <= NEAR + 1e-12) @ shares[1])


def _same_branch(column: ComparedColumn, part: NominalSpace, what: str, level: int, cells: _PresentCells) -> Risk:
    sets, set_of = _sets_of_branches(part, level)
    first, second = set_of[cells.before], set_of[cells.after]
    pairs, pair_of = np.unique(first * max(sets.shape[0], 1) + second, return_inverse=True)
    one, other = np.divmod(pairs, max(sets.shape[0], 1))
    shared = np.asarray(sets[one].multiply(sets[other]).sum(axis=1)).ravel() > 0
    shares = cells.shares(first, second, sets.shape[0])
    hits = shared[pair_of], cells.amounts
    return _risk(column, what, f"whether a cell stays in {what}", hits, _rate_of_sharing(sets, *shares))


def _sets_of_branches(part: NominalSpace, level: int) -> tuple[sparse.csr_array, Longs]:
    """The distinct sets of branches, a row each with a 1 for each branch, and for each value which set it is in.

    The branches of a value are all its ancestors on the level; a value above it is a branch of its own.
    """
    taxonomy = part.domain
    depth = level if len(taxonomy.roots) > 1 else level + 1
    values, branches = Ancestry.of(part).at_level(depth)
    ends = np.cumsum(np.bincount(values, minlength=len(part.concepts)))
    of_value = [tuple(np.sort(each).tolist()) for each in np.split(branches, ends[:-1])]
    place = {each: number for number, each in enumerate(dict.fromkeys(of_value))}
    row = np.repeat(np.arange(len(place)), [len(each) for each in place])
    branch = np.array([one for each in place for one in each], dtype=np.int64)
    sets = sparse.csr_array((np.ones(row.size), (row, branch)), shape=(len(place), len(taxonomy)))
    return sets, np.array([place[each] for each in of_value], dtype=np.int64)


def _rate_of_sharing(sets: sparse.csr_array, before: Floats, after: Floats) -> float:
    """How often two cells picked at random share a branch, from the shares of the sets."""
    total = 0.0
    for part in slices(0, sets.shape[0], SETS_AT_ONCE):
        in_common = sets[part] @ sets.T
        in_common.data[:] = in_common.data > 0
        total += float(before[part] @ (in_common @ after))
    return total


def _risk(column: ComparedColumn, within: str, what: str, found: tuple[Bools, Longs], baseline: float) -> Risk:
    hits, amounts = found
    return Risk.of_hits(
        float(amounts[hits].sum()),
        int(amounts.sum()),
        attack=IntervalDisclosure.name,
        knowledge=f"which released cell is whose; the rate says {what}",
        columns=(column.name,),
        baseline=baseline,
        details={"within": within},
    )
