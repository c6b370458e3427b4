"""Ancestor closures of a selection of concepts: all that a distance between them can depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.taxonomy import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.taxonomy.taxonomy import Taxonomy

    ClosureRows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]
    TurnedRound = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class Closure:
    """The ancestors of each selected concept, itself first, with the shortest way up to each in edges."""

    offsets: NDArray[np.int64]
    ancestors: NDArray[np.int32]
    paths: NDArray[np.int32]

    def rows(self, first: int, last: int) -> ClosureRows:
        """The closure of the selected concepts first … last − 1, as the kernels take it; nothing is copied."""
        return self.offsets[first : last + 1], self.ancestors, self.paths

    def turned_round(self, n_ancestors: int) -> TurnedRound:
        """For each of the ancestors the selected concepts below it, as the kernels take it."""
        turned: TurnedRound = kernels.turned_round(self.offsets, self.ancestors, self.paths, n_ancestors)
        return turned

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many ancestors each selected concept has, itself included."""
        return np.diff(self.offsets)


def closure(taxonomy: Taxonomy, selection: NDArray[np.int32]) -> Closure:
    """The ancestors of each selected concept, by their number in the taxonomy."""
    return Closure(*kernels.ancestor_closure(selection, taxonomy.parent_offsets, taxonomy.parent_indices))


def renumbered(n_concepts: int, *closures: Closure) -> tuple[NDArray[np.int64], list[Closure]]:
    """The same closures with the ancestors that occur numbered 0, 1, …, and the concept behind each new number.

    Scratch arrays over ancestors then fit the processor's cache, however large the taxonomy is.
    """
    used = np.zeros(n_concepts, dtype=np.bool_)
    for one in closures:
        used[one.ancestors] = True
    new_number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(used), [Closure(c.offsets, new_number[c.ancestors], c.paths) for c in closures]
