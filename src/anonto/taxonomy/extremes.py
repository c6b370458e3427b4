"""The largest value over all pairs of concepts, found without looking at all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.taxonomy import kernels
from anonto.taxonomy.pairs import Pairs, pairs_between

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anonto.arrays import Floats, Ints
    from anonto.taxonomy.taxonomy import Taxonomy


BLOCK = 256
ROUNDING = 1e-12
MANY_ROOTS = 64


def largest_between(bounds: Floats, values: Callable[[Ints, Ints], Floats]) -> float:
    """The largest value of any pair, when a pair's value is at most the sum of the bounds of its two concepts.

    Pairs are visited from the largest sum down, block by block; once no remaining sum exceeds the best value found by
    more than rounding, the rest is skipped. In a hierarchy the deepest concepts of two branches usually
    settle it at once.
    """
    order = np.argsort(-bounds, kind="stable").astype(np.int32)
    best = 0.0
    for i in range(0, order.size, BLOCK):
        if 2.0 * bounds[order[i]] <= best * (1.0 + ROUNDING):
            break
        for j in range(i, order.size, BLOCK):
            if bounds[order[i]] + bounds[order[j]] <= best * (1.0 + ROUNDING):
                break
            best = max(best, float(values(order[i : i + BLOCK], order[j : j + BLOCK]).max()))
    return best


def longest_way(taxonomy: Taxonomy) -> float:
    """Edges on the longest of all shortest ways over a common ancestor."""
    return taxonomy.compute_once("longest way", lambda: _find_longest_way(taxonomy))


def most_apart(pairs: Pairs) -> float:
    """The largest IC(x) + IC(y) − 2 IC(a) of two concepts that share an ancestor, a the most informative one."""
    if "most apart" not in pairs.facts:
        pairs.facts["most apart"] = _find_most_apart(pairs.taxonomy, pairs.contents_of_all())
    return pairs.facts["most apart"]


def _find_most_apart(taxonomy: Taxonomy, content: Floats) -> float:
    if taxonomy.is_tree:
        return _largest_in_forest(taxonomy, content)
    return largest_between(
        _bounds(taxonomy, lambda _: content, content),
        lambda rows, columns: _apart(pairs_between(taxonomy, rows, columns, content)),
    )


def _find_longest_way(taxonomy: Taxonomy) -> float:
    if taxonomy.is_tree:
        return _largest_in_forest(taxonomy, taxonomy.depths.astype(np.float64))
    return largest_between(
        _bounds(taxonomy, lambda ways: ways, np.asarray(taxonomy.depths - 1, dtype=np.float64)),
        lambda rows, columns: pairs_between(taxonomy, rows, columns, None).ways(),
    )


def _largest_in_forest(taxonomy: Taxonomy, height: Floats) -> float:
    arrays = (taxonomy.order, taxonomy.parent_offsets, taxonomy.parent_indices)
    return float(kernels.largest_in_forest(*arrays, height))


def _apart(pairs: Pairs) -> Floats:
    common, row_content, column_content = pairs.contents()
    return np.where(common < 0, 0.0, row_content + column_content - 2.0 * common)


def _bounds(taxonomy: Taxonomy, of_way: Callable[[Floats], Floats], without_junctions: Floats) -> Floats:
    """The distance of each concept from the junction of the root where that is most: no pair is farther apart.

    Args:
        taxonomy: The hierarchy.
        of_way: The height of each concept, from its way down from a root.
        without_junctions: The bounds where there are too many roots to look at each.
    """
    if len(taxonomy.roots) > MANY_ROOTS:
        return without_junctions
    bounds = np.zeros(len(taxonomy))
    for junction, ways in _below_roots(taxonomy):
        height = of_way(ways)
        bounds = np.where(ways >= 0, np.maximum(bounds, np.abs(height - height[junction])), bounds)
    return bounds


def _below_roots(taxonomy: Taxonomy) -> Iterator[tuple[int, Floats]]:
    """The junction of each root, and every concept's way down from the root (−1 if not below).

    The junction is the first concept from the root down with other than one child: two concepts below the root either
    share it or one of them stands on the way to it.
    """
    for root in taxonomy.numbers(taxonomy.roots).tolist():
        junction = root
        while taxonomy.child_offsets[junction + 1] - taxonomy.child_offsets[junction] == 1:
            junction = int(taxonomy.child_indices[taxonomy.child_offsets[junction]])
        ways = kernels.ways_down(root, taxonomy.order, taxonomy.child_offsets, taxonomy.child_indices)
        yield junction, ways.astype(np.float64)
