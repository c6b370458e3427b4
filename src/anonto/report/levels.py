"""How often the concepts of an upper level of a taxonomy occur, before and after masking.

A record counts for every concept of the level that its value is or lies below; a value above the level counts for
itself. Where concepts have several parents, a record may count more than once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.value_space import ExtendedSpace, NominalSpace, parts_of
from anonto.report.counts import show_parts
from anonto.utility.cells import Ancestry

if TYPE_CHECKING:
    from anonto.arrays import Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.transitions import Moves
    from anonto.taxonomy.taxonomy import Taxonomy


UPPER, LOWER = 2, 3
"""Depths of the levels; the root has depth 1."""
UPPER_ROWS = 30
LOWER_ROWS = 10


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """Records of each concept of a level."""

    concepts: Longs
    """The concepts by number in the taxonomy; those with the most records first."""
    before: Longs
    after: Longs

    def select(self, rows: Any) -> LevelCounts:
        """Some of the concepts."""
        return LevelCounts(self.concepts[rows], self.before[rows], self.after[rows])

    def change(self) -> float:
        """Half the sum of the absolute differences of the shares: 0 when every concept is as frequent as before."""
        totals = [int(counts.sum()) for counts in (self.before, self.after)]
        if not all(totals):
            return 0.0 if totals[0] == totals[1] else 1.0
        return float(np.abs(self.before / totals[0] - self.after / totals[1]).sum() / 2)


def levels_of(value_space: ValueSpace, moves: Moves | None) -> list[dict[str, Any]]:
    """The upper levels of each ontology of a column as plain data; nothing for a column without one."""
    if moves is None:
        return []
    value_space = value_space.base if isinstance(value_space, ExtendedSpace) else value_space
    n_values = value_space.counts.size
    return levels_between(value_space, moves.before(n_values), moves.after(n_values))


def levels_between(value_space: ValueSpace, before: Longs, after: Longs) -> list[dict[str, Any]]:
    """The upper levels of each ontology of a column, from how many records have each value before and after."""
    return [_levels(part, before, after) for part in parts_of(value_space) if isinstance(part, NominalSpace)]


def _levels(part: NominalSpace, before: Longs, after: Longs) -> dict[str, Any]:
    taxonomy = part.domain
    upper, lower = (count_level(part, depth, before, after) for depth in (UPPER, LOWER))
    listed = upper.select(slice(UPPER_ROWS))
    upper_rows = _rows(taxonomy, listed, int(upper.before.sum()), int(upper.after.sum()))
    open_above = {
        int(number)
        for number, row in zip(listed.concepts, upper_rows, strict=True)
        if isinstance(row["before"], int) and isinstance(row["after"], int)
    }
    lower_rows = _lower_rows(taxonomy, lower, listed, open_above)
    levels: list[dict[str, Any]] = [
        {
            "depth": UPPER,
            "rows": upper_rows,
            "further": upper.concepts.size - len(upper_rows),
            "change": upper.change(),
        }
    ]
    if lower_rows:
        levels.append({"depth": LOWER, "rows": lower_rows, "further": 0, "change": lower.change()})
    occurring = {concept for concept, n in zip(part.concepts, (before + after).tolist(), strict=True) if n}
    for level in levels:
        for row in level["rows"]:
            row["is_value"] = row["concept"] in occurring
    return {"ontology": taxonomy.name, "levels": levels}


def count_level(part: NominalSpace, depth: int, before: Longs, after: Longs) -> LevelCounts:
    """Count the records of each concept at a depth."""
    values, ancestors = Ancestry.of(part).at_level(depth)
    counts = [
        np.bincount(ancestors, weights=of_value[values], minlength=len(part.domain)).astype(np.int64)
        for of_value in (before, after)
    ]
    present = np.flatnonzero(counts[0] + counts[1])
    order = present[np.argsort(-(counts[0] + counts[1])[present], kind="stable")]
    return LevelCounts(order, counts[0][order], counts[1][order])


def _lower_rows(
    taxonomy: Taxonomy, lower: LevelCounts, upper: LevelCounts, open_above: set[int]
) -> list[dict[str, Any]]:
    """The largest concepts of the lower level, without those whose concept above is hidden."""
    parent = np.array(
        [_parent_among(taxonomy, number, open_above) for number in lower.concepts.tolist()], dtype=np.int64
    )
    chosen = lower.select(np.flatnonzero(parent >= 0)[:LOWER_ROWS])
    parent = parent[parent >= 0][:LOWER_ROWS]
    rows: list[dict[str, Any] | None] = [None] * parent.size
    for above in np.unique(parent):
        below = np.flatnonzero(parent == above)
        totals = upper.select(upper.concepts == above)
        family = _rows(taxonomy, chosen.select(below), int(totals.before[0]), int(totals.after[0]))
        for place, row in zip(below.tolist(), family, strict=True):
            rows[place] = row
    return [row for row in rows if row is not None]


def _parent_among(taxonomy: Taxonomy, number: int, candidates: set[int]) -> int:
    parents = taxonomy.parent_indices[taxonomy.parent_offsets[number] : taxonomy.parent_offsets[number + 1]].tolist()
    return next((parent for parent in parents if parent in candidates), -1)


def _rows(taxonomy: Taxonomy, counted: LevelCounts, total_before: int, total_after: int) -> list[dict[str, Any]]:
    before = show_parts(counted.before.tolist(), total_before)
    after = show_parts(counted.after.tolist(), total_after)
    return [
        {"concept": taxonomy.ids[number], "label": taxonomy.labels[number], "before": one, "after": other}
        for number, one, other in zip(counted.concepts.tolist(), before, after, strict=True)
    ]
