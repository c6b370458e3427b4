"""Interval disclosure: even where a link fails, the released value may lie close to the original one.

For a column with an ontology: the share of cells that stay in the same branch below the root, the same one a level
deeper, and within a distance; for other columns within a distance alone. The baseline is the same for two cells picked
at random, one of the original and one of the release. A value with several ancestors on a level is in all of their
branches, and two values stay together where they share one. Where an ontology has several roots, these are the branches
below a root that is not written down.

Reference: Mateo-Sanz, Sebé, Domingo-Ferrer, PSD 2004 (intervals of numbers).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from anonto.risk.attacks.interval_disclosure import IntervalDisclosure
from anonto.risk.rate import Risk, wilson_interval
from anonto.table.attributes import NominalAttribute, NumericAttribute
from anonto.table.records import counted
from anonto.taxonomy.closure import closure
from anonto.threads import slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

NEAR = 0.1
"""Cells within this distance of the original count as disclosed."""
BRANCHES = {"the same branch below the root": 1, "the same branch two levels below the root": 2}
"""How many levels below the root, or below the one that is imagined above several roots."""
SETS_AT_ONCE = 256
"""Sets of branches that are compared with all others together."""


def interval_disclosure(column: ComparedColumn) -> list[Risk]:
    """How much of a column's meaning the release leaves in its row."""
    pairs = _Pairs.of(column)
    found = [_within_distance(column, pairs)]
    for part in getattr(column.attribute, "parts", (column.attribute,))[:1]:
        if isinstance(part, NominalAttribute):
            found += [_same_branch(column, part, what, level, pairs) for what, level in BRANCHES.items()]
    return found


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Cells that have a value before and after."""

    before: Codes
    after: Codes
    amounts: Longs
    """How many cells each stands for."""

    @classmethod
    def of(cls, column: ComparedColumn) -> _Pairs:
        present = (column.original >= 0) & (column.masked >= 0)
        return cls(column.original[present], column.masked[present], column.amounts.masked[present])

    def shares(self, before: NDArray[np.integer], after: NDArray[np.integer], n_numbers: int) -> tuple[Floats, Floats]:
        """The shares of the numbers of cells before and after."""
        counts = [counted(numbers, n_numbers, self.amounts) for numbers in (before, after)]
        return counts[0] / max(counts[0].sum(), 1), counts[1] / max(counts[1].sum(), 1)


def _within_distance(column: ComparedColumn, pairs: _Pairs) -> Risk:
    near = column.attribute.pair_distances(pairs.before, pairs.after) <= NEAR + 1e-12
    what = f"whether a cell lies within distance {NEAR} of the original one"
    return _risk(column, f"distance {NEAR}", what, (near, pairs.amounts), _near(column, pairs))


def _near(column: ComparedColumn, pairs: _Pairs) -> float:
    """How often two cells picked at random are near."""
    shares = pairs.shares(pairs.before, pairs.after, column.n_values)
    attribute = column.attribute
    if isinstance(attribute, NumericAttribute):
        order = np.argsort(attribute.numbers, kind="stable")
        numbers, running = attribute.numbers[order], np.concatenate([[0.0], np.cumsum(shares[1][order])])
        reach = NEAR * attribute.scale + 1e-12
        above = np.searchsorted(numbers, numbers + reach, side="right")
        below = np.searchsorted(numbers, numbers - reach, side="left")
        return float(shares[0][order] @ (running[above] - running[below]))
    return float(shares[0] @ (attribute.distances() <= NEAR + 1e-12) @ shares[1])


def _same_branch(column: ComparedColumn, part: NominalAttribute, what: str, level: int, cells: _Pairs) -> Risk:
    sets, set_of = _sets_of_branches(part, level)
    first, second = set_of[cells.before], set_of[cells.after]
    pairs, pair_of = np.unique(first * max(sets.shape[0], 1) + second, return_inverse=True)
    one, other = np.divmod(pairs, max(sets.shape[0], 1))
    shared = np.asarray(sets[one].multiply(sets[other]).sum(axis=1)).ravel() > 0
    shares = cells.shares(first, second, sets.shape[0])
    hits = shared[pair_of], cells.amounts
    return _risk(column, what, f"whether a cell stays in {what}", hits, _sharing(sets, *shares))


def _sets_of_branches(part: NominalAttribute, level: int) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """The distinct sets of branches, a row each with a 1 for each branch, and for each value which set it is in.

    The branches of a value are all its ancestors on the level; a value above it is a branch of its own.
    """
    taxonomy = part.domain
    depth = level if len(taxonomy.roots) > 1 else level + 1
    numbers = taxonomy.numbers(part.concepts)
    above = closure(taxonomy, numbers)
    value = np.repeat(np.arange(numbers.size), above.sizes)
    ancestor = above.ancestors[: value.size]
    depth_of, is_own = taxonomy.depths[ancestor], numbers[value] == ancestor
    is_branch = (depth_of == depth) | (is_own & (depth_of < depth))
    ends = np.cumsum(np.bincount(value[is_branch], minlength=numbers.size))
    of_value = [tuple(np.sort(each).tolist()) for each in np.split(ancestor[is_branch], ends[:-1])]
    place = {each: number for number, each in enumerate(dict.fromkeys(of_value))}
    row = np.repeat(np.arange(len(place)), [len(each) for each in place])
    branch = np.array([one for each in place for one in each], dtype=np.int64)
    sets = sparse.csr_array((np.ones(row.size), (row, branch)), shape=(len(place), len(taxonomy)))
    return sets, np.array([place[each] for each in of_value], dtype=np.int64)


def _sharing(sets: sparse.csr_array, before: Floats, after: Floats) -> float:
    """How often two cells picked at random share a branch, from the shares of the sets."""
    total = 0.0
    for part in slices(0, sets.shape[0], SETS_AT_ONCE):
        in_common = sets[part] @ sets.T
        in_common.data[:] = in_common.data > 0
        total += float(before[part] @ (in_common @ after))
    return total


def _risk(
    column: ComparedColumn, within: str, what: str, found: tuple[NDArray[np.bool_], Longs], baseline: float
) -> Risk:
    hits, amounts = found
    n_hits, n = float(amounts[hits].sum()), int(amounts.sum())
    low, high = wilson_interval(n_hits, n)
    return Risk(
        attack=IntervalDisclosure.name,
        knowledge=f"which released cell is whose; the rate says {what}",
        columns=(column.name,),
        rate=n_hits / n if n else 0.0,
        low=low,
        high=high,
        baseline=baseline,
        n=n,
        details={"within": within},
    )
