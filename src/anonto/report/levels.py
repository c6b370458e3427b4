"""How often the concepts of an upper level of a taxonomy occur, before and after masking.

A record counts for every concept of the level that its value is or lies below; a value above the level counts for
itself. Where concepts have several parents, a record may count more than once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.report.counts import shown_parts
from anonto.table.attributes import ExtendedAttribute
from anonto.taxonomy.closure import closure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.methods.flows import Moves
    from anonto.table.attributes import Attribute, NominalAttribute
    from anonto.taxonomy.taxonomy import Taxonomy

    Longs = NDArray[np.int64]

UPPER, LOWER = 2, 3
"""Depths of the levels; the root has depth 1."""
UPPER_ROWS = 30
LOWER_ROWS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Records of each concept of a level."""

    concepts: Longs
    """By number in the taxonomy; those with the most records first."""
    before: Longs
    after: Longs

    def kept(self, rows: Any) -> Tally:
        """Some of the concepts."""
        return Tally(self.concepts[rows], self.before[rows], self.after[rows])

    def change(self) -> float:
        """Half the sum of the absolute differences of the shares: 0 when every concept is as frequent as before."""
        totals = [int(counts.sum()) for counts in (self.before, self.after)]
        if not all(totals):
            return 0.0 if totals[0] == totals[1] else 1.0
        return float(np.abs(self.before / totals[0] - self.after / totals[1]).sum() / 2)


def levels_of(attribute: Attribute, moves: Moves) -> list[dict[str, Any]]:
    """For each ontology of a column its upper levels as plain data; nothing for a column without one."""
    attribute = attribute.base if isinstance(attribute, ExtendedAttribute) else attribute
    n_values = attribute.counts.size
    return levels_between(attribute, moves.before(n_values), moves.after(n_values))


def levels_between(attribute: Attribute, before: Longs, after: Longs) -> list[dict[str, Any]]:
    """For each ontology of a column its upper levels, from how many records have each value before and after."""
    parts: Sequence[Any] = getattr(attribute, "parts", (attribute,))
    return [_levels(part, before, after) for part in parts if hasattr(part, "domain")]


def _levels(part: NominalAttribute, before: Longs, after: Longs) -> dict[str, Any]:
    taxonomy = part.domain
    upper, lower = (tally(part, depth, before, after) for depth in (UPPER, LOWER))
    listed = upper.kept(slice(UPPER_ROWS))
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


def tally(part: NominalAttribute, depth: int, before: Longs, after: Longs) -> Tally:
    """Count the records of each concept at a depth."""
    taxonomy = part.domain
    numbers = taxonomy.numbers(part.concepts)
    above = closure(taxonomy, numbers)
    n_ancestors = int(above.offsets[-1])
    value = np.repeat(np.arange(numbers.size), above.sizes)
    ancestor = above.ancestors[:n_ancestors]
    is_own = numbers[value] == ancestor
    at_level = (taxonomy.depths[ancestor] == depth) | (is_own & (taxonomy.depths[ancestor] < depth))
    counts = [
        np.bincount(ancestor[at_level], weights=of_value[value[at_level]], minlength=len(taxonomy)).astype(np.int64)
        for of_value in (before, after)
    ]
    present = np.flatnonzero(counts[0] + counts[1])
    order = present[np.argsort(-(counts[0] + counts[1])[present], kind="stable")]
    return Tally(order, counts[0][order], counts[1][order])


def _lower_rows(taxonomy: Taxonomy, lower: Tally, upper: Tally, open_above: set[int]) -> list[dict[str, Any]]:
    """The largest concepts of the lower level, without those whose concept above is hidden."""
    parent = np.array(
        [_parent_among(taxonomy, number, open_above) for number in lower.concepts.tolist()], dtype=np.int64
    )
    chosen = lower.kept(np.flatnonzero(parent >= 0)[:LOWER_ROWS])
    parent = parent[parent >= 0][:LOWER_ROWS]
    rows: list[dict[str, Any] | None] = [None] * parent.size
    for above in np.unique(parent):
        below = np.flatnonzero(parent == above)
        totals = upper.kept(upper.concepts == above)
        family = _rows(taxonomy, chosen.kept(below), int(totals.before[0]), int(totals.after[0]))
        for place, row in zip(below.tolist(), family, strict=True):
            rows[place] = row
    return [row for row in rows if row is not None]


def _parent_among(taxonomy: Taxonomy, number: int, candidates: set[int]) -> int:
    parents = taxonomy.parent_indices[taxonomy.parent_offsets[number] : taxonomy.parent_offsets[number + 1]].tolist()
    return next((parent for parent in parents if parent in candidates), -1)


def _rows(taxonomy: Taxonomy, counted: Tally, total_before: int, total_after: int) -> list[dict[str, Any]]:
    before = shown_parts(counted.before.tolist(), total_before)
    after = shown_parts(counted.after.tolist(), total_after)
    return [
        {"concept": taxonomy.ids[number], "label": taxonomy.labels[number], "before": one, "after": other}
        for number, one, other in zip(counted.concepts.tolist(), before, after, strict=True)
    ]
