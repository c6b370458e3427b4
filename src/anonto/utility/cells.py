"""Distances of pairs of cells, and the ancestors of values by level: what several losses and attacks ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.taxonomy.closure import closure

if TYPE_CHECKING:
    from anonto.arrays import Bools, Codes, Floats, Integers, Longs
    from anonto.encoding.comparison import ComparedColumn
    from anonto.encoding.value_space import NominalSpace


def cell_distances(column: ComparedColumn, a: Codes, b: Codes) -> Floats:
    """Distances of pairs of cells: 1 where one of them is missing, 0 where both are."""
    both = (a >= 0) & (b >= 0)
    out = np.where((a < 0) == (b < 0), 0.0, 1.0)
    if both.any():
        out[both] = column.value_space.pair_distances(a[both], b[both])
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Ancestry:
    """The values of a nominal column, each with all its ancestors: one entry for each of them."""

    value: Longs
    ancestor: Integers
    depth: Integers
    """Depth of the ancestor."""
    is_own: Bools
    """Whether it is the value itself."""

    @classmethod
    def of(cls, part: NominalSpace) -> Ancestry:
        """Look the ancestors up."""
        taxonomy = part.domain
        numbers = taxonomy.numbers(part.concepts)
        above = closure(taxonomy, numbers)
        value = np.repeat(np.arange(numbers.size), above.sizes)
        ancestor = above.ancestors[: value.size]
        return cls(value, ancestor, taxonomy.depths[ancestor], numbers[value] == ancestor)

    def at_level(self, depth: int) -> tuple[Longs, Integers]:
        """Values and their ancestors at a depth; a value above it is its own."""
        chosen = (self.depth == depth) | (self.is_own & (self.depth < depth))
        return self.value[chosen], self.ancestor[chosen]
