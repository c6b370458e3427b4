"""From concepts and edges, as a reader found them, to a checked and reduced `Taxonomy`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import FileError, OntologyError
from anonto.taxonomy import kernels
from anonto.taxonomy.taxonomy import Provenance, Taxonomy
from anonto.wording import clip, count_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Bools, Integers, Ints, Longs

    CompressedRows = tuple[Longs, Ints]

MAX_CYCLES_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Parts of a taxonomy, with concepts addressed by their number."""

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    children: Longs
    """The number of the child of each edge."""
    parents: Longs
    """The number of the parent of each edge; −1 if the source does not declare it."""
    synonym_of: Longs = field(default_factory=lambda: np.empty(0, np.int64))
    """The number of the concept of each synonym."""
    synonyms: tuple[str, ...] = ()
    alternative_ids: Mapping[str, str] = field(default_factory=dict)
    obsolete: Mapping[str, str | None] = field(default_factory=dict)
    repeated_edges: int = 0
    """Edges that were read again and are not among the children and parents."""
    orphaned_edges: int = 0
    """Edges from a child that the source does not declare; they are not among the children and parents."""


class Draft:
    """Collects concepts and edges by id while a text format is read, in any order."""

    def __init__(self) -> None:
        self._labels: dict[str, str] = {}
        self._relabelled: set[str] = set()
        self._edges: dict[tuple[str, str], None] = {}
        self._repeated_edges = 0
        self._synonyms: dict[str, dict[str, None]] = {}
        self._alternative_ids: dict[str, str] = {}
        self._contested_ids: set[str] = set()
        self._obsolete: dict[str, str | None] = {}

    def __contains__(self, concept: object) -> bool:
        return concept in self._labels

    def concept(self, concept: str, label: str = "") -> None:
        """Declare a concept; the first label that is not empty stays."""
        known = self._labels.get(concept)
        if not known:
            self._labels[concept] = label
        elif label and label != known:
            self._relabelled.add(concept)

    def edge(self, child: str, parent: str, times: int = 1) -> None:
        """Declare that the child is a kind of the parent; repetitions are only counted."""
        known = len(self._edges)
        self._edges[child, parent] = None
        self._repeated_edges += times - (len(self._edges) - known)

    def synonym(self, concept: str, text: str) -> None:
        """Give a concept another label."""
        if text:
            self._synonyms.setdefault(concept, {})[text] = None

    def alternative(self, other: str, concept: str) -> None:
        """Give a concept another id; the first concept that claims it keeps it."""
        if self._alternative_ids.setdefault(other, concept) != concept:
            self._contested_ids.add(other)

    def obsolete(self, concept: str, replacement: str | None = None) -> None:
        """Declare an id as no longer used."""
        self._obsolete[concept] = replacement or self._obsolete.get(concept)

    def finish(self, provenance: Provenance) -> Taxonomy:
        """Number the concepts and build the taxonomy; obsolete ids are left out."""
        ids = tuple(c for c in self._labels if c not in self._obsolete)
        number = {concept: n for n, concept in enumerate(ids)}
        edges = [(number[c], self._number_above(c, p, number)) for c, p in self._edges if c in number]
        endpoints = np.array(edges, dtype=np.int64).reshape(-1, 2)
        synonyms = [
            (n, text)
            for n, concept in enumerate(ids)
            for text in self._synonyms.get(concept, ())
            if text != self._labels[concept]
        ]
        parts = Parts(
            ids=ids,
            labels=tuple(self._labels[concept] for concept in ids),
            children=endpoints[:, 0],
            parents=endpoints[:, 1],
            synonym_of=np.array([n for n, _ in synonyms], dtype=np.int64),
            synonyms=tuple(text for _, text in synonyms),
            alternative_ids={o: c for o, c in self._alternative_ids.items() if c in number and o not in number},
            obsolete=self._obsolete,
            repeated_edges=self._repeated_edges,
            orphaned_edges=sum(c not in self._labels and c not in self._obsolete for c, _ in self._edges),
        )
        relabelled = sum(concept in number for concept in self._relabelled)
        return build(parts, replace(provenance, relabelled_concepts=relabelled))

    def _number_above(self, child: str, parent: str, number: Mapping[str, int]) -> int:
        """The number of a parent, also under another id that is its alone; −1 if there is none."""
        found = number.get(parent)
        if found is None and parent not in self._contested_ids and parent not in self._obsolete:
            concept = self._alternative_ids.get(parent)
            found = number.get(concept) if concept is not None and concept != child else None
        return -1 if found is None else found


def build(parts: Parts, provenance: Provenance) -> Taxonomy:
    """Check, reduce and freeze.

    Edges from or to undeclared concepts and repeated edges are kept out and counted; a cycle is refused; shortcuts past
    another parent are removed.
    """
    n = len(parts.ids)
    if n == 0:
        raise no_concepts(provenance.source)
    declared = parts.parents >= 0
    pairs = np.sort(parts.children[declared] * n + parts.parents[declared])
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    children, parents = pairs // n, pairs % n
    parent_rows = _compress(children, parents, n)
    child_rows = _compress(parents, children, n)
    _, order = kernels.topological_depths(parent_rows[0], *child_rows)
    if order.size < n:
        raise _cycle_error(parts.ids, children, parents, provenance.source)
    redundant = kernels.redundant_edges(*parent_rows)
    if redundant.any():
        children, parents = children[~redundant], parents[~redundant]
        parent_rows = _compress(children, parents, n)
        child_rows = _compress(parents, children, n)
    depths, order = kernels.topological_depths(parent_rows[0], *child_rows)
    synonym_order = np.argsort(parts.synonym_of, kind="stable")
    n_roots = int(np.count_nonzero(np.diff(parent_rows[0]) == 0))
    return Taxonomy(
        ids=parts.ids,
        labels=parts.labels,
        parent_offsets=parent_rows[0],
        parent_indices=parent_rows[1],
        child_offsets=child_rows[0],
        child_indices=child_rows[1],
        depths=depths,
        order=order,
        synonym_offsets=_offsets(parts.synonym_of, n),
        synonym_texts=_take(parts.synonyms, synonym_order),
        alternative_ids=parts.alternative_ids,
        obsolete=parts.obsolete,
        provenance=replace(
            provenance,
            edges_read=int(parts.children.size) + parts.repeated_edges + parts.orphaned_edges,
            dangling_edges=int(np.count_nonzero(~declared)) + parts.orphaned_edges,
            duplicate_edges=int(np.count_nonzero(declared) - pairs.size) + parts.repeated_edges,
            orphaned_edges=parts.orphaned_edges,
            redundant_edges=int(np.count_nonzero(redundant)),
            virtual_root=n_roots > 1,
        ),
    )


def restrict(taxonomy: Taxonomy, kept: Bools, root: str) -> Taxonomy:
    """The part of a taxonomy below one concept; what its reader reported is kept."""
    numbers = np.flatnonzero(kept)
    new_number = np.full(len(taxonomy), -1, dtype=np.int64)
    new_number[numbers] = np.arange(numbers.size)
    children = np.repeat(np.arange(len(taxonomy)), np.diff(taxonomy.parent_offsets))
    inside = kept[children] & kept[taxonomy.parent_indices]
    synonym_of = np.repeat(np.arange(len(taxonomy)), np.diff(taxonomy.synonym_offsets))
    kept_synonyms = np.flatnonzero(kept[synonym_of])
    ids = _take(taxonomy.ids, numbers)
    inside_ids = frozenset(ids)
    parts = Parts(
        ids=ids,
        labels=_take(taxonomy.labels, numbers),
        children=new_number[children[inside]],
        parents=new_number[taxonomy.parent_indices[inside]],
        synonym_of=new_number[synonym_of[kept_synonyms]],
        synonyms=_take(taxonomy.synonym_texts, kept_synonyms),
        alternative_ids={o: c for o, c in taxonomy.alternative_ids.items() if c in inside_ids},
        obsolete={o: c for o in taxonomy.obsolete if (c := taxonomy.replacement(o)) in inside_ids},
    )
    part = build(parts, taxonomy.provenance)
    provenance = replace(taxonomy.provenance, restricted_to=root, virtual_root=False)
    return replace(part, provenance=provenance)


def _take(texts: tuple[str, ...], numbers: Integers) -> tuple[str, ...]:
    return tuple(texts[n] for n in numbers.tolist())


def _offsets(groups: Longs, n: int) -> Longs:
    offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(groups, minlength=n), out=offsets[1:])
    return offsets


def _compress(groups: Longs, members: Longs, n: int) -> CompressedRows:
    by_group = np.argsort(groups, kind="stable")
    return _offsets(groups, n), members[by_group].astype(np.int32)


def _cycle_error(ids: tuple[str, ...], children: Longs, parents: Longs, source: str) -> OntologyError:
    """Name up to five cycles, one in each strongly connected component."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(ids)
    graph = csr_array((np.ones(children.size, np.int8), (children, parents)), shape=(n, n))
    _, component = connected_components(graph, directed=True, connection="strong")
    inside = component[children] == component[parents]
    on_cycle = np.unique(children[inside])
    one_parent = {int(c): int(p) for c, p in zip(children[inside], parents[inside], strict=True)}
    starts = _first_of_each(component[on_cycle], on_cycle)[:MAX_CYCLES_SHOWN]
    cycles = [[ids[c] for c in _walk(start, one_parent)] for start in starts]
    return cyclic_relations(source, cycles, int(on_cycle.size))


def _first_of_each(groups: Integers, members: Longs) -> list[int]:
    _, first = np.unique(groups, return_index=True)
    return [int(members[f]) for f in sorted(first)]


def _walk(start: int, one_parent: Mapping[int, int]) -> list[int]:
    """Follow one parent each until a concept comes again; the walk from there on is a cycle."""
    seen: dict[int, int] = {}
    node = start
    while node not in seen:
        seen[node] = len(seen)
        node = one_parent[node]
    return list(seen)[seen[node] :]


def no_concepts(name: str) -> FileError:
    """A file that is well formed and describes no concept."""
    return FileError(f"{name!r} describes no concept; check that it is the right file.")


def cyclic_relations(name: str, cycles: Sequence[Sequence[str]], total_nodes: int) -> OntologyError:
    """Concepts that are their own ancestors. The cycles are on ``values``."""
    shown = "; ".join(_show_cycle(cycle) for cycle in cycles)
    return OntologyError(
        f"The is-a relations of {name!r} form a cycle through {count_of(total_nodes, 'concept')}: {shown}; "
        "remove one edge of each cycle.",
        values=[tuple(cycle) for cycle in cycles],
    )


def _show_cycle(cycle: Sequence[str], limit: int = 12) -> str:
    """'a → b → a': a cycle, with the number of concepts that are not shown."""
    more = len(cycle) - limit
    left_out = [f"… ({more:,} more)"] if more > 0 else []
    return " → ".join([*(clip(concept) for concept in cycle[:limit]), *left_out, clip(cycle[0])])
