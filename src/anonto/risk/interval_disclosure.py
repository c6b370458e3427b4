"""Interval disclosure: even where a link fails, the released value may lie close to the original one.

For a column with an ontology: the share of cells that stay in the same branch below the root, the same one a level
deeper, and within a distance; for other columns within a distance alone. The baseline is the same for two cells picked
at random, one of the original and one of the release.

Reference: Mateo-Sanz, Sebé, Domingo-Ferrer, PSD 2004 (intervals of numbers).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.risk.rate import Risk, wilson_interval
from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute
from anonto.taxonomy.closure import closure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]

NAME = "interval-disclosure"
NEAR = 0.1
"""Cells within this distance of the original count as disclosed."""
BRANCHES = {"the same branch below the root": 2, "the same branch two levels below the root": 3}


def interval_disclosure(column: ComparedColumn) -> list[Risk]:
    """How much of a column's meaning the release leaves in its row."""
    present = (column.original >= 0) & (column.masked >= 0)
    before, after = column.original[present], column.masked[present]
    found = [_within_distance(column, before, after)]
    for part in getattr(column.attribute, "parts", (column.attribute,))[:1]:
        if isinstance(part, NominalAttribute):
            found += [_same_branch(column, part, what, depth, before, after) for what, depth in BRANCHES.items()]
    return found


def _within_distance(column: ComparedColumn, before: Codes, after: Codes) -> Risk:
    near = column.attribute.pair_distances(before, after) <= NEAR + 1e-12
    what = f"whether a cell lies within distance {NEAR} of the original one"
    return _risk(column, f"distance {NEAR}", what, near, _near(column, before, after))


def _near(column: ComparedColumn, before: Codes, after: Codes) -> float:
    """How often two cells picked at random are near."""
    shares = [np.bincount(codes, minlength=column.n_values) / max(codes.size, 1) for codes in (before, after)]
    attribute = column.attribute
    if isinstance(attribute, NumericAttribute):
        order = np.argsort(attribute.numbers, kind="stable")
        numbers, running = attribute.numbers[order], np.concatenate([[0.0], np.cumsum(shares[1][order])])
        reach = NEAR * attribute.scale + 1e-12
        above = np.searchsorted(numbers, numbers + reach, side="right")
        below = np.searchsorted(numbers, numbers - reach, side="left")
        return float(shares[0][order] @ (running[above] - running[below]))
    return float(shares[0] @ (attribute.distances() <= NEAR + 1e-12) @ shares[1])


def _same_branch(
    column: ComparedColumn, part: NominalAttribute, what: str, depth: int, before: Codes, after: Codes
) -> Risk:
    branch = branches(part, depth)
    same = branch[before] == branch[after]
    n_branches = int(branch.max(initial=-1)) + 1
    shares = [np.bincount(branch[codes], minlength=n_branches) / max(codes.size, 1) for codes in (before, after)]
    return _risk(column, what, f"whether a cell stays in {what}", same, float(shares[0] @ shares[1]))


def branches(part: NominalAttribute | MeanAttribute, depth: int) -> NDArray[np.int64]:
    """For each value the number of its ancestor at a depth, the first of several; its own if it lies above."""
    nominal = part.parts[0] if isinstance(part, MeanAttribute) else part
    taxonomy = nominal.domain
    numbers = taxonomy.numbers(nominal.concepts)
    above = closure(taxonomy, numbers)
    value = np.repeat(np.arange(numbers.size), above.sizes)
    at_depth = taxonomy.depths[above.ancestors] == depth
    found = numbers.astype(np.int64)
    found[value[at_depth][::-1]] = above.ancestors[at_depth][::-1]
    return np.unique(found, return_inverse=True)[1]


def _risk(column: ComparedColumn, within: str, what: str, hits: NDArray[np.bool_], baseline: float) -> Risk:
    n_hits = float(np.count_nonzero(hits))
    low, high = wilson_interval(n_hits, hits.size)
    return Risk(
        attack=NAME,
        knowledge=f"which released cell is whose; the rate says {what}",
        columns=(column.name,),
        rate=n_hits / hits.size if hits.size else 0.0,
        low=low,
        high=high,
        baseline=baseline,
        n=int(hits.size),
        details={"within": within},
    )
