"""The largest value over all pairs of concepts, found without looking at all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.taxonomy import kernels
from anonto.taxonomy.pairs import Pairs, pairs_between

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from anonto.taxonomy.taxonomy import Taxonomy

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int32]

BLOCK = 256
ROUNDING = 1e-12
MANY_ROOTS = 64


def largest_between(reach: Floats, values: Callable[[Numbers, Numbers], Floats]) -> float:
    """The largest value of any pair, when a pair's value is at most the sum of its two reaches.

    Pairs are visited from the largest sum down, block by block; once no remaining sum exceeds the best value found by
    more than rounding, the rest need not be looked at. In a hierarchy the deepest concepts of two branches usually
    settle it at once.
    """
    order = np.argsort(-reach, kind="stable").astype(np.int32)
    best = 0.0
    for i in range(0, order.size, BLOCK):
        if 2.0 * reach[order[i]] <= best * (1.0 + ROUNDING):
            break
        for j in range(i, order.size, BLOCK):
            if reach[order[i]] + reach[order[j]] <= best * (1.0 + ROUNDING):
                break
            best = max(best, float(values(order[i : i + BLOCK], order[j : j + BLOCK]).max()))
    return best


def longest_way(taxonomy: Taxonomy) -> float:
    """Edges on the longest of all shortest ways over a common ancestor."""
    return taxonomy.remembered("longest way", lambda: _find_longest_way(taxonomy))


def most_apart(pairs: Pairs) -> float:
    """The largest IC(x) + IC(y) − 2 IC(a) of two concepts that share an ancestor, a the most informative one."""
    if "most apart" not in pairs.facts:
        pairs.facts["most apart"] = _find_most_apart(pairs.taxonomy, pairs.contents_of_all())
    return pairs.facts["most apart"]


def _find_most_apart(taxonomy: Taxonomy, content: Floats) -> float:
    if taxonomy.is_tree:
        return _largest_in_forest(taxonomy, content)
    return largest_between(
        _reach_of_content(taxonomy, content),
        lambda rows, columns: _apart(pairs_between(taxonomy, rows, columns, content)),
    )


def _find_longest_way(taxonomy: Taxonomy) -> float:
    if taxonomy.is_tree:
        return _largest_in_forest(taxonomy, taxonomy.depths.astype(np.float64))
    return largest_between(
        _reach_of_ways(taxonomy), lambda rows, columns: pairs_between(taxonomy, rows, columns, None).ways()
    )


def _largest_in_forest(taxonomy: Taxonomy, height: Floats) -> float:
    arrays = (taxonomy.order, taxonomy.parent_offsets, taxonomy.parent_indices)
    return float(kernels.largest_in_forest(*arrays, height))


def _apart(pairs: Pairs) -> Floats:
    common, row_content, column_content = pairs.contents()
    return np.where(common < 0, 0.0, row_content + column_content - 2.0 * common)


def _reach_of_ways(taxonomy: Taxonomy) -> Floats:
    """For each concept its way to the junction of the root that is farthest: no pair needs a longer way than that."""
    if len(taxonomy.roots) > MANY_ROOTS:
        return np.asarray(taxonomy.depths - 1, dtype=np.float64)
    reach = np.zeros(len(taxonomy))
    for _, junction, ways in _below_roots(taxonomy):
        to_junction = np.abs(ways - ways[junction])
        reach = np.where(ways >= 0, np.maximum(reach, to_junction), reach)
    return reach


def _reach_of_content(taxonomy: Taxonomy, content: Floats) -> Floats:
    """For each concept the information beyond the junction of the root where that is most."""
    if len(taxonomy.roots) > MANY_ROOTS:
        return content
    reach = np.zeros(len(taxonomy))
    for _, junction, ways in _below_roots(taxonomy):
        beyond = np.abs(content - content[junction])
        reach = np.where(ways >= 0, np.maximum(reach, beyond), reach)
    return reach


def _below_roots(taxonomy: Taxonomy) -> Iterator[tuple[int, int, Floats]]:
    """For each root its junction, and every concept's way down from the root (−1 if not below).

    The junction is the first concept from the root down with other than one child: two concepts below the root either
    share it or one of them stands on the way to it.
    """
    for root in taxonomy.numbers(taxonomy.roots).tolist():
        junction = root
        while taxonomy.child_offsets[junction + 1] - taxonomy.child_offsets[junction] == 1:
            junction = int(taxonomy.child_indices[taxonomy.child_offsets[junction]])
        ways = kernels.ways_down(root, taxonomy.order, taxonomy.child_offsets, taxonomy.child_indices)
        yield root, junction, ways.astype(np.float64)
