"""Slow and plain versions of what the package computes, written straight from the definitions.

A hierarchy is a networkx graph with edges child → parent. Records are looked at one by one, pair by pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

Distance = Callable[[str, str], float]


def graph_of(parents: Mapping[str, Iterable[str]]) -> nx.DiGraph:
    """The hierarchy without shortcuts."""
    graph = nx.DiGraph()
    graph.add_nodes_from(parents)
    graph.add_edges_from((child, parent) for child, above in parents.items() for parent in above)
    return nx.transitive_reduction(graph)


def ancestors(graph: nx.DiGraph, concept: str) -> set[str]:
    """T(c): the concept and all above it."""
    return {concept, *nx.descendants(graph, concept)}


def descendants(graph: nx.DiGraph, concept: str) -> set[str]:
    return {concept, *nx.ancestors(graph, concept)}


def depth(graph: nx.DiGraph, concept: str) -> int:
    """Nodes on the longest way to a root."""
    return 1 + max((depth(graph, parent) for parent in graph.successors(concept)), default=0)


def path(graph: nx.DiGraph, concept: str, above: str) -> int:
    """Edges on the shortest way up."""
    return int(nx.shortest_path_length(graph, concept, above))


def common(graph: nx.DiGraph, a: str, b: str) -> set[str]:
    return ancestors(graph, a) & ancestors(graph, b)


def least_common_subsumer(graph: nx.DiGraph, concepts: Sequence[str]) -> str | None:
    """Minimal common subsumer; of several the deepest, then fewest descendants, then the smallest id."""
    shared = set.intersection(*(ancestors(graph, c) for c in concepts))
    minimal = [c for c in shared if not (descendants(graph, c) - {c}) & shared]
    if not minimal:
        return None
    return min(minimal, key=lambda c: (-depth(graph, c), len(descendants(graph, c)), c))


def wu_palmer(graph: nx.DiGraph, a: str, b: str) -> float:
    shared = common(graph, a, b)
    if not shared:
        return 1.0
    return 1 - max(2 * depth(graph, c) / (2 * depth(graph, c) + path(graph, a, c) + path(graph, b, c)) for c in shared)


def ancestor(graph: nx.DiGraph, a: str, b: str) -> float:
    above_a, above_b = ancestors(graph, a), ancestors(graph, b)
    union, shared = len(above_a | above_b), len(above_a & above_b)
    return math.log2(1 + (union - shared) / union)


def jaccard(graph: nx.DiGraph, a: str, b: str) -> float:
    above_a, above_b = ancestors(graph, a), ancestors(graph, b)
    return 1 - len(above_a & above_b) / len(above_a | above_b)


def dice(graph: nx.DiGraph, a: str, b: str) -> float:
    above_a, above_b = ancestors(graph, a), ancestors(graph, b)
    return 1 - 2 * len(above_a & above_b) / (len(above_a) + len(above_b))


def way(graph: nx.DiGraph, a: str, b: str) -> int | None:
    return min((path(graph, a, c) + path(graph, b, c) for c in common(graph, a, b)), default=None)


def rada(graph: nx.DiGraph, a: str, b: str) -> float:
    ways = [w for x in graph for y in graph if (w := way(graph, x, y)) is not None]
    own = way(graph, a, b)
    if own is None:
        return 1.0
    return own / max(ways) if max(ways) else 0.0


def leacock_chodorow(graph: nx.DiGraph, a: str, b: str) -> float:
    own = way(graph, a, b)
    if own is None:
        return 1.0
    deepest = max(depth(graph, c) for c in graph)
    similarity = -math.log((own + 1) / (2 * deepest))
    return 1 - similarity / math.log(2 * deepest)


def content_seco(graph: nx.DiGraph, concept: str) -> float:
    if len(graph) == 1:
        return 0.0
    return 1 - math.log(len(descendants(graph, concept))) / math.log(len(graph))


def content_sanchez(graph: nx.DiGraph, concept: str) -> float:
    leaves = {c for c in graph if graph.in_degree(c) == 0}
    below = len(leaves & descendants(graph, concept))
    return -math.log((below / len(ancestors(graph, concept)) + 1) / (len(leaves) + 1))


def content_of_data(graph: nx.DiGraph, concept: str, counts: Mapping[str, int]) -> float:
    below = descendants(graph, concept)
    records = sum(counts.get(c, 0) for c in below) + len(below) / len(graph)
    return -math.log(records / (sum(counts.values()) + 1))


def resnik(graph: nx.DiGraph, a: str, b: str, content: Callable[[str], float]) -> float:
    if a == b:
        return 0.0
    most = max(content(c) for c in graph)
    return 1 - max((content(c) for c in common(graph, a, b)), default=0.0) / most


def lin(graph: nx.DiGraph, a: str, b: str, content: Callable[[str], float]) -> float:
    if a == b:
        return 0.0
    shared = common(graph, a, b)
    if not shared:
        return 1.0
    return 1 - 2 * max(content(c) for c in shared) / (content(a) + content(b))


def jiang_conrath(graph: nx.DiGraph, a: str, b: str, content: Callable[[str], float]) -> float:
    def apart(x: str, y: str) -> float | None:
        shared = common(graph, x, y)
        return content(x) + content(y) - 2 * max(content(c) for c in shared) if shared else None

    own = apart(a, b)
    if own is None:
        return 1.0
    most = max(d for x in graph for y in graph if (d := apart(x, y)) is not None)
    return own / most if most and a != b else 0.0


# ------------------------------------------------------------------------------------------------ statistics


def semantic_mean(values: Sequence[str], candidates: Iterable[str], distance: Distance) -> str:
    """Eq. 13; ties: occurs in the data, then more frequent, then smaller id."""
    sums = {c: sum(distance(c, x) for x in values) for c in candidates}
    least = min(sums.values())
    tied = [c for c, total in sums.items() if total <= least + 1e-9]
    return min(tied, key=lambda c: (-values.count(c), c))


def marginality(values: Sequence[str], distance: Distance) -> list[float]:
    """Eq. 2."""
    return [sum(distance(other, value) for o, other in enumerate(values) if o != v) for v, value in enumerate(values)]


def centred(values: Sequence[str], distance: Distance) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Eq. 15, record by record."""
    table = np.array([[distance(x, y) for y in values] for x in values])
    return np.asarray(table - table.mean(axis=0)[None, :] - table.mean(axis=1)[:, None] + table.mean())


def squared_distance_covariance(
    a: Sequence[str], b: Sequence[str], distance_a: Distance, distance_b: Distance
) -> float:
    """Eq. 14 without the root."""
    return float((centred(a, distance_a) * centred(b, distance_b)).mean())


def record_distance(
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    nominal: Mapping[str, Distance],
    scale: str,
) -> float:
    """Def. 4 of the marginality paper for complete records; columns that are not nominal are numbers."""
    total = 0.0
    for column in x:
        values = [record[column] for record in records]
        if column in nominal:
            variance = sum(marginality(values, nominal[column])) / len(values)
            if scale == "mean":
                variance /= len(values) - 1
            pair = nominal[column](x[column], y[column])
        else:
            variance = float(np.var(values, ddof=1))
            pair = (x[column] - y[column]) ** 2 / 2
        total += pair / variance if variance else 0.0
    return math.sqrt(total)


# ------------------------------------------------------------------------------------------------ swapping


def swap_value(
    interval: Sequence[int],
    ref: int,
    original: Sequence[int],
    masked: list[int],
    unswapped: list[bool],
    rng: np.random.Generator,
) -> None:
    """Lines 14–25 of Algorithm 1: exchange with a random unswapped record of the interval, if there is one."""
    candidates = [j for j in interval if unswapped[j]]
    if candidates:
        j = candidates[int(rng.integers(len(candidates)))]
        masked[ref], masked[j] = original[j], original[ref]
        unswapped[j] = False
    unswapped[ref] = False


def window_swap(original: Sequence[int], order: Sequence[int], k: int, rng: np.random.Generator) -> list[int]:
    """The loop of Algorithm 1 over records in a given order."""
    n = len(original)
    masked, unswapped = list(original), [True] * n
    for i in range(n):
        if unswapped[order[i]]:
            swap_value(
                [order[j] for j in range(i + 1, min(i + k, n - 1) + 1)], order[i], original, masked, unswapped, rng
            )
    return masked


def random_swap(original: Sequence[int], rng: np.random.Generator) -> list[int]:
    """A random perfect matching of the records; with an odd number one stays."""
    masked = list(original)
    rows = [int(row) for row in rng.permutation(len(original))]
    for a, b in zip(rows[0::2], rows[1::2], strict=False):
        masked[a], masked[b] = original[b], original[a]
    return masked


def frequency_swap(original: Sequence[int], k: int, rng: np.random.Generator) -> list[int]:
    """Order by the frequency of the value, equal values together, groups of equal frequency in random order."""
    tie = {value: float(rng.random()) for value in sorted(set(original))}
    order = sorted(range(len(original)), key=lambda i: (original.count(original[i]), tie[original[i]], i))
    return window_swap(original, order, k, rng)
