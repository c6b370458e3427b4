"""Distances between sets of concepts, such as all diagnoses of one person."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import MISSING, encode
from anonto.encoding.value_space import nominal_space
from anonto.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from anonto.arrays import Floats
    from anonto.taxonomy.taxonomy import Taxonomy

UNMATCHED = 1.0
"""The cost of an element without a partner: the largest distance that two concepts can have."""


def set_distance(
    a: Collection[Any],
    b: Collection[Any],
    tax: Taxonomy,
    measure: str = "wu-palmer",
    kind: str = "matching",
    *,
    root: str = "ontology",
    information_content: str = "sanchez",
) -> float:
    r"""The distance of two sets of concepts, from 0 (equal) to 1.

    ``"matching"`` pairs each element of the smaller set with one of the larger, so that the sum of their distances is
    least, and counts 1 for every element that is left over:

    $$d(A, B) = \frac{1}{|B|} \Bigl( \min_{\pi} \sum_{a \in A} sd(a, \pi(a)) + |B| - |A| \Bigr),
    \qquad |A| \le |B|, \quad \pi : A \to B \text{ injective}$$

    It is a metric on sets wherever the measure is one on concepts (the OSPA metric of order 1 with cut-off 1).

    ``"best-match-average"`` takes for each element of both sets the nearest one of the other set, and the mean of these
    distances. Several elements may share a partner, so sizes count less, and the triangle inequality may fail:

    $$d(A, B) = \frac{1}{|A| + |B|} \Bigl( \sum_{a \in A} \min_{b \in B} sd(a, b)
    + \sum_{b \in B} \min_{a \in A} sd(a, b) \Bigr)$$

    Both are the distance of the two concepts if each set has one element. The empty set is at distance 0 to itself and
    1 to every other set.

    Args:
        a: Concept ids; order and repetition do not matter, None is left out.
        b: Concept ids of the other set.
        tax: The taxonomy of the concepts.
        measure: One of `anonto.MEASURES`.
        kind: ``"matching"`` or ``"best-match-average"``.
        root: ``"ontology"``, ``"lcs"`` (of all elements) or a concept id.
        information_content: For lin, resnik and jiang-conrath: ``"sanchez"``, ``"seco"`` or ``"data"``.

    Returns:
        A number from 0 to 1.

    References: Schuhmacher, Vo, Vo, *A consistent metric for performance evaluation of multi-object filters*, IEEE
    Transactions on Signal Processing 56 (2008); Pesquita et al., *Semantic similarity in biomedical ontologies*, PLoS
    Computational Biology 5 (2009).

    Examples:
        >>> import anonto
        >>> ills = anonto.read_ontology("illnesses")
        >>> anonto.stats.set_distance(["flu", "burn"], ["burn", "flu"], ills)
        0.0
        >>> anonto.stats.set_distance(["flu", "burn"], ["flu"], ills)
        0.5
    """
    if kind not in KINDS:
        raise ParameterError("kind", " or ".join(map(repr, KINDS)), kind)
    for name, given in (("a", a), ("b", b)):
        if isinstance(given, str | bytes):
            raise ParameterError(name, "a collection of concept ids", type(given).__name__)
    first = list(a)
    column = encode([*first, *b])
    if not column.values:
        return 0.0
    placed = nominal_space(column, tax, measure=measure, root=root, information_content=information_content)
    in_a, in_b = (np.unique(part[part != MISSING]) for part in np.split(column.codes, [len(first)]))
    if not in_a.size or not in_b.size:
        return 1.0
    return KINDS[kind](placed.distance_tables()(in_a, in_b))


def matching_distance(distances: Floats) -> float:
    """The distance of two sets by the cheapest matching, from the distances of their elements."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(distances)
    n_a, n_b = distances.shape
    cost: float = fsum(distances[rows, columns]) + UNMATCHED * abs(n_a - n_b)
    return cost / max(int(n_a), int(n_b))


def best_match_average(distances: Floats) -> float:
    """The mean distance of each element of two sets to the nearest one of the other set."""
    nearest = np.concatenate([distances.min(axis=1), distances.min(axis=0)])
    return fsum(nearest) / nearest.size


KINDS: Mapping[str, Callable[[Floats], float]] = {
    "matching": matching_distance,
    "best-match-average": best_match_average,
}
"""The function from the distances of elements to that of their sets, by kind of distance between sets."""
