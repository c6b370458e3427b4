"""An ontology's is-a hierarchy as frozen arrays.

Concepts are numbered in the order of their file; the public methods speak of ids, the arrays of numbers. A taxonomy
is a directed acyclic graph without shortcuts. It may have several roots: the virtual root above them is in no
depth, no ancestor set and no length.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from anonto.taxonomy import kernels
from anonto.taxonomy.refusals import absent_root, not_a_column, unknown_concepts, values_outside_root

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

    from anonto.arrays import Bools, Integers, Ints, Longs

log = logging.getLogger(__name__)

Fact = TypeVar("Fact")

ROOT_POLICIES = ("ontology", "lcs")
"""Root policies that `Taxonomy.rooted` takes other than a concept id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of a taxonomy and what its reader did to it."""

    source: str
    """Name of the file or folder, without its path."""
    format: str
    sha256: str
    version: str = ""
    relations: tuple[str, ...] = ("is-a",)
    edges_read: int = 0
    duplicate_edges: int = 0
    redundant_edges: int = 0
    """Shortcuts to an ancestor of another parent, removed because they change shortest paths."""
    dangling_edges: int = 0
    """Edges from or to a concept that the source does not declare, and to one that it declares obsolete."""
    orphaned_edges: int = 0
    """Dangling edges from a concept that the source does not declare."""
    relabelled_concepts: int = 0
    """Concepts that the source gives several labels for the same place; the first was kept."""
    isolated_concepts: int = 0
    """Concepts with neither parent nor child that were dropped."""
    virtual_root: bool = False
    restricted_to: str | None = None
    """The concept whose descendants alone were kept."""

    @property
    def edges_dropped(self) -> int:
        """All edges that were read and are not in the taxonomy."""
        return self.duplicate_edges + self.redundant_edges + self.dangling_edges


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Taxonomy:
    """Concepts, their labels and their is-a relations. Build one with `anonto.read_ontology`."""

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    parent_offsets: Longs
    parent_indices: Ints
    child_offsets: Longs
    child_indices: Ints
    depths: Ints
    """Nodes on the longest way to a root; a root has 1."""
    order: Ints
    """All concepts, parents before children."""
    synonym_offsets: Longs
    synonym_texts: tuple[str, ...]
    alternative_ids: Mapping[str, str] = field(default_factory=dict)
    """Other ids of a concept → its id."""
    obsolete: Mapping[str, str | None] = field(default_factory=dict)
    """Ids that are no longer used → the id that replaces them, if one does."""
    provenance: Provenance

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            getattr(self, name).setflags(write=False)
        for name in _MAPPINGS:
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what was computed from them is computed again, and views cannot be pickled."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {name: dict(state[name]) for name in _MAPPINGS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    # ------------------------------------------------------------------------------------------ what it is

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, concept: object) -> bool:
        return concept in self.index

    def __repr__(self) -> str:
        several = int(np.count_nonzero(np.diff(self.parent_offsets) > 1))
        return (
            f"<Taxonomy {self.name!r}: {len(self):,} concepts, {len(self.roots):,} root(s), "
            f"depth {self.max_depth}, {several:,} with several parents>"
        )

    @property
    def name(self) -> str:
        """The name of its source."""
        return self.provenance.source

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Concept id → its number in the arrays."""
        return MappingProxyType({concept: number for number, concept in enumerate(self.ids)})

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Concepts without a parent."""
        return self._names(np.flatnonzero(np.diff(self.parent_offsets) == 0))

    @cached_property
    def max_depth(self) -> int:
        """Nodes on the longest way from a concept to a root."""
        return int(self.depths.max())

    @cached_property
    def is_tree(self) -> bool:
        """True if no concept has several parents."""
        return bool((np.diff(self.parent_offsets) <= 1).all())

    def number(self, concept: str) -> int:
        """The number of a concept in the arrays."""
        found = self.index.get(concept)
        if found is None:
            raise unknown_concepts([concept], self.name)
        return found

    def numbers(self, concepts: Iterable[str]) -> Ints:
        """The numbers of several concepts in the arrays."""
        index = self.index
        wanted = _plain_ids(concepts)
        found = [index.get(concept, -1) for concept in wanted]
        if -1 in found:
            raise unknown_concepts([c for c, n in zip(wanted, found, strict=True) if n < 0], self.name)
        return np.array(found, dtype=np.int32)

    # ------------------------------------------------------------------------------------------ one concept

    def label(self, concept: str) -> str:
        """The preferred label of a concept."""
        return self.labels[self.number(concept)]

    def synonyms(self, concept: str) -> tuple[str, ...]:
        """The other labels of a concept."""
        n = self.number(concept)
        return self.synonym_texts[self.synonym_offsets[n] : self.synonym_offsets[n + 1]]

    def parents(self, concept: str) -> tuple[str, ...]:
        """The concepts one step above."""
        n = self.number(concept)
        return self._names(self.parent_indices[self.parent_offsets[n] : self.parent_offsets[n + 1]])

    def children(self, concept: str) -> tuple[str, ...]:
        """The concepts one step below."""
        n = self.number(concept)
        return self._names(self.child_indices[self.child_offsets[n] : self.child_offsets[n + 1]])

    def ancestors(self, concept: str) -> frozenset[str]:
        """The concept and all concepts above it."""
        selection = np.array([self.number(concept)], dtype=np.int32)
        _, above, _ = kernels.ancestor_closure(selection, self.parent_offsets, self.parent_indices)
        return frozenset(self._names(above))

    def descendants(self, concept: str) -> frozenset[str]:
        """The concept and all concepts below it."""
        return frozenset(self._names(np.flatnonzero(self._below(self.number(concept)))))

    def replacement(self, concept: str) -> str | None:
        """The concept that replaces an obsolete id.

        Replacements are followed until one is in use; a chain that ends or runs in a circle gives None.
        """
        seen: set[str] = set()
        current: str | None = concept
        while current is not None and current in self.obsolete and current not in seen:
            seen.add(current)
            current = self.obsolete[current]
        if not seen or current is None or current in seen:
            return None
        return current if current in self else self.alternative_ids.get(current)

    def depth(self, concept: str) -> int:
        """Nodes on the longest way to a root; a root has 1."""
        return int(self.depths[self.number(concept)])

    # ------------------------------------------------------------------------------------------ several concepts

    def least_common_subsumer(self, a: str, b: str, *others: str) -> str | None:
        """The most specific concept that subsumes all those given; None if they share nothing.

        Of several minimal common subsumers the deepest is taken; then the one with fewest descendants; then the
        smallest id: the definition of Rodriguez-Garcia, Batet and Sánchez (2019) has no answer in that case.
        """
        return self._subsumer(self.numbers({a, b, *others}))

    def distance(self, a: str, b: str, measure: str = "wu-palmer", **options: Any) -> float:
        """The semantic distance of two concepts, 0 for equal ones and at most 1.

        Options are those of `distances`.
        """
        return float(self.distances([a], [b], measure, **options)[0, 0])

    def distances(
        self,
        ids: Sequence[str],
        others: Sequence[str] | None = None,
        measure: str = "wu-palmer",
        *,
        information_content: str = "sanchez",
        counts: Mapping[str, int] | None = None,
        dtype: DTypeLike = np.float64,
    ) -> NDArray[Any]:
        """Semantic distances of each of ``ids`` to each of ``others`` (by default of all pairs of ``ids``).

        Args:
            ids: Concept ids, one per row.
            others: Concept ids, one per column.
            measure: One of `anonto.MEASURES`.
            information_content: For lin, resnik and jiang-conrath: ``"sanchez"``, ``"seco"`` or ``"data"``.
            counts: Records per concept, for ``information_content="data"``.
            dtype: ``float64`` or ``float32``.

        Returns:
            A matrix with a row for each of ``ids``.
        """
        from anonto.taxonomy.matrix import distance_matrix

        rows = self.numbers(ids)
        columns = None if others is None else self.numbers(others)
        return distance_matrix(
            self, rows, columns, measure, information_content=information_content, counts=counts, dtype=dtype
        )

    # ------------------------------------------------------------------------------------------ a part of it

    def below(self, concept: str) -> Taxonomy:
        """The taxonomy of a concept and all its descendants, with the concept as its root."""
        if concept not in self:
            raise absent_root(self.name, self.roots)
        if self.roots == (concept,):
            return self
        return self._restrict(self._below(self.number(concept)), concept)

    def rooted(self, root: str, values: Iterable[str] = ()) -> Taxonomy:
        """The taxonomy that a root policy asks for.

        Args:
            root: ``"ontology"`` (all of it), ``"lcs"`` (the least common subsumer of the values and all below it)
                or a concept id (the declared domain).
            values: The concepts in use; all must lie below a declared root.
        """
        if root == "ontology":
            return self
        concepts = set(_plain_ids(values))
        if root == "lcs":
            subsumer = self._subsumer(self.numbers(concepts))
            return self if subsumer is None else self.below(subsumer)
        if root not in self:
            raise absent_root(self.name, self.roots, ROOT_POLICIES)
        part = self.below(root)
        outside = sorted(concept for concept in concepts if concept not in part)
        if outside:
            self.numbers(outside)
            raise values_outside_root(outside, root)
        return part

    # ------------------------------------------------------------------------------------------ inside

    def compute_once(self, key: Hashable, compute: Callable[[], Fact]) -> Fact:
        """A fact that follows from the arrays alone, computed once."""
        if key not in self._memory:
            self._memory[key] = compute()
        fact: Fact = self._memory[key]
        return fact

    @cached_property
    def _memory(self) -> dict[Hashable, Any]:
        return {}

    def _names(self, numbers: Integers) -> tuple[str, ...]:
        ids = self.ids
        return tuple(ids[n] for n in numbers.tolist())

    def _below(self, number: int) -> Bools:
        below: Bools = kernels.descendants_of(number, self.child_offsets, self.child_indices)
        return below

    def _subsumer(self, numbers: Ints) -> str | None:
        if numbers.size == 1:
            return self.ids[int(numbers[0])]
        _, above, _ = kernels.ancestor_closure(numbers, self.parent_offsets, self.parent_indices)
        common = np.bincount(above, minlength=len(self)) == numbers.size
        candidates = np.flatnonzero(common)
        if candidates.size == 0:
            return None
        minimal = [n for n in candidates.tolist() if not common[self._children_of(n)].any()]
        if len(minimal) > 1:
            log.info("%d minimal common subsumers; took the deepest, narrowest, smallest id", len(minimal))
        return self.ids[min(minimal, key=self._specificity)]

    @cached_property
    def specificity(self) -> Ints:
        """The place of each concept in the order by depth, then fewest descendants, then smallest id; last is best.

        Among the common ancestors of some concepts, the last in this order is their least common subsumer.
        """
        ones = np.ones(len(self))
        n_below, _ = kernels.sums_over_ancestors(self.parent_offsets, self.parent_indices, ones)
        alphabetical = np.empty(len(self), dtype=np.int64)
        alphabetical[sorted(range(len(self)), key=self.ids.__getitem__)] = np.arange(len(self))
        places = np.empty(len(self), dtype=np.int32)
        places[np.lexsort((-alphabetical, -n_below, self.depths))] = np.arange(len(self), dtype=np.int32)
        return places

    def _specificity(self, number: int) -> tuple[int, int, str]:
        return (-int(self.depths[number]), int(np.count_nonzero(self._below(number))), self.ids[number])

    def _children_of(self, number: int) -> Ints:
        return self.child_indices[self.child_offsets[number] : self.child_offsets[number + 1]]

    def _restrict(self, kept: Bools, concept: str) -> Taxonomy:
        from anonto.taxonomy.build import restrict

        return restrict(self, kept, concept)


def _plain_ids(concepts: Iterable[Any]) -> list[Any]:
    """The ids as plain texts: the cells of an Arrow column are wrapped, and a single text is refused."""
    if isinstance(concepts, str | bytes):
        raise not_a_column(type(concepts).__name__)
    return [concept.as_py() if hasattr(concept, "as_py") else concept for concept in concepts]


_MAPPINGS = ("alternative_ids", "obsolete")
_ARRAYS = (
    "parent_offsets",
    "parent_indices",
    "child_offsets",
    "child_indices",
    "depths",
    "order",
    "synonym_offsets",
)
