"""Synthetic taxonomies, columns and releases of any size, generated from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.taxonomy.build import Draft
from anonto.taxonomy.taxonomy import Provenance, Taxonomy

if TYPE_CHECKING:
    from anonto.arrays import Longs

BRANCHES = 3
NEAR = 9
"""How far the numbers of two parents of a concept may lie apart."""


def random_edges(
    n_concepts: int, several_parents: float, rng: np.random.Generator, *, most_parents: int = 2
) -> tuple[Longs, Longs]:
    """Child and parent numbers of a hierarchy with root 0.

    Concepts have three children on average, which gives depths of 10 for 20,000 concepts, as in real ontologies; a
    share of them has from two to ``most_parents`` parents, near each other, so that they share ancestors.
    """
    children = np.arange(1, n_concepts)
    first = _earlier((children - 1) // BRANCHES + rng.integers(-BRANCHES, BRANCHES + 1, children.size), children)
    several = np.flatnonzero(rng.random(children.size) < several_parents)
    several = np.repeat(several, rng.integers(1, most_parents, several.size))
    again = children[several]
    other = _earlier(first[several] + rng.integers(-NEAR, NEAR + 1, again.size), again)
    return np.concatenate([children, again]), np.concatenate([first, other])


def _earlier(parents: Longs, children: Longs) -> Longs:
    return np.clip(parents, 0, children - 1)


def generated_taxonomy(n_concepts: int, *, several_parents: float = 0.2, seed: int = 1) -> Taxonomy:
    """A taxonomy of concepts ``C0`` … with one root."""
    children, parents = random_edges(n_concepts, several_parents, np.random.default_rng(seed))
    draft = Draft()
    for number in range(n_concepts):
        draft.concept(f"C{number}", f"concept {number}")
    for child, parent in zip(children.tolist(), parents.tolist(), strict=True):
        draft.edge(f"C{child}", f"C{parent}")
    return draft.finish(Provenance(source="generated", format="generated", sha256=""))


def some_concepts(taxonomy: Taxonomy, n: int, seed: int = 2) -> list[str]:
    """Different concepts of a taxonomy, drawn at random."""
    chosen = np.random.default_rng(seed).choice(len(taxonomy), n, replace=False)
    return [taxonomy.ids[number] for number in chosen.tolist()]


def dependent_codes(n_records: int, n_a: int, n_b: int, seed: int = 3) -> tuple[Longs, Longs]:
    """Two columns of codes, every code in use; half of the records' second code follows from the first."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, n_a, n_records)
    follows = rng.random(n_records) < 0.5
    b = np.where(follows, a % n_b, rng.integers(0, n_b, n_records))
    a[:n_a] = np.arange(min(n_a, n_records))
    b[:n_b] = np.arange(min(n_b, n_records))
    return a, b
