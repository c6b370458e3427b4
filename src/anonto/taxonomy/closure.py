"""Ancestor closures of a selection of concepts: the only input of a distance between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.taxonomy import kernels

if TYPE_CHECKING:
    from anonto.arrays import Bools, Ints, Longs
    from anonto.taxonomy.taxonomy import Taxonomy

    ClosureRows = tuple[Longs, Ints, Ints]
    InvertedClosure = tuple[Ints, Ints, Ints, Ints, Ints]


@dataclass(frozen=True, slots=True)
class Closure:
    """The ancestors of each selected concept, itself first, with the shortest way up to each in edges."""

    offsets: Longs
    ancestors: Ints
    paths: Ints

    def rows(self, first: int, last: int) -> ClosureRows:
        """The closure of the selected concepts first … last − 1, as the kernels take it; nothing is copied."""
        return self.offsets[first : last + 1], self.ancestors, self.paths

    def invert(self, n_ancestors: int) -> InvertedClosure:
        """The selected concepts below each of the ancestors, as the kernels take it."""
        inverted: InvertedClosure = kernels.invert_closure(self.offsets, self.ancestors, self.paths, n_ancestors)
        return inverted

    @property
    def sizes(self) -> Longs:
        """How many ancestors each selected concept has, itself included."""
        return np.diff(self.offsets)


def closure(taxonomy: Taxonomy, selection: Ints) -> Closure:
    """The ancestors of each selected concept, by their number in the taxonomy."""
    return Closure(*kernels.ancestor_closure(selection, taxonomy.parent_offsets, taxonomy.parent_indices))


def renumber_ancestors(n_concepts: int, *closures: Closure) -> tuple[Longs, list[Closure]]:
    """Number the ancestors that occur 0, 1, …: the concept of each new number, and the renumbered closures.

    Scratch arrays over ancestors then fit the processor's cache, however large the taxonomy is.
    """
    used = np.zeros(n_concepts, dtype=np.bool_)
    for one in closures:
        used[one.ancestors] = True
    new_number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(used), [Closure(c.offsets, new_number[c.ancestors], c.paths) for c in closures]


def ancestors_at(taxonomy: Taxonomy, numbers: Ints, wanted: Bools) -> Longs:
    """The ancestor of each concept among the wanted ones, of several that with the smallest id; itself without one."""
    above = closure(taxonomy, numbers)
    value = np.repeat(np.arange(numbers.size), above.sizes)
    ancestor = above.ancestors[: int(above.offsets[-1])]
    is_wanted = wanted[ancestor]
    value, ancestor = value[is_wanted], ancestor[is_wanted]
    candidates = np.array(sorted(np.unique(ancestor).tolist(), key=lambda number: taxonomy.ids[number]), dtype=np.int64)
    rank = np.full(len(taxonomy), candidates.size)
    rank[candidates] = np.arange(candidates.size)
    smallest = np.full(numbers.size, candidates.size)
    np.minimum.at(smallest, value, rank[ancestor])
    found = smallest < candidates.size
    chosen = numbers.astype(np.int64)
    chosen[found] = candidates[smallest[found]]
    return chosen
