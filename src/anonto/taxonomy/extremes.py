"""The largest value over all pairs of concepts, found without looking at all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.taxonomy.closure import closure
from anonto.taxonomy.pairs import Pairs, pairs_between

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonto.taxonomy.taxonomy import Taxonomy

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int32]

BLOCK = 256


def largest_between(reach: Floats, values: Callable[[Numbers, Numbers], Floats]) -> float:
    """The largest value of any pair, exact, when a pair's value is at most the sum of its two reaches.

    Pairs are visited from the largest sum down, block by block; once no remaining sum exceeds the best value found,
    the rest need not be looked at. In a hierarchy the deepest concepts of two branches usually settle it at once.
    """
    order = np.argsort(-reach, kind="stable").astype(np.int32)
    starts = range(0, order.size, BLOCK)
    best = 0.0
    for i in starts:
        if 2.0 * reach[order[i]] <= best:
            break
        for j in range(i, order.size, BLOCK):
            if reach[order[i]] + reach[order[j]] <= best:
                break
            best = max(best, float(values(order[i : i + BLOCK], order[j : j + BLOCK]).max()))
    return best


def longest_way(taxonomy: Taxonomy) -> float:
    """Edges on the longest of all shortest ways over a common ancestor."""
    return taxonomy.remembered("longest way", lambda: _find_longest_way(taxonomy))


def most_apart(pairs: Pairs) -> float:
    """The largest IC(x) + IC(y) − 2 IC(a) of two concepts that share an ancestor, a the most informative one."""
    if "most apart" not in pairs.facts:
        content = pairs.contents_of_all()
        pairs.facts["most apart"] = largest_between(
            content, lambda rows, columns: _apart(pairs_between(pairs.taxonomy, rows, columns, content))
        )
    return pairs.facts["most apart"]


def _find_longest_way(taxonomy: Taxonomy) -> float:
    """The way between two concepts is at most the sum of their ways to the root they share."""
    whole = closure(taxonomy, np.arange(len(taxonomy), dtype=np.int32))
    is_root = np.diff(taxonomy.parent_offsets) == 0
    to_root = np.where(is_root[whole.ancestors], whole.paths, 0)
    farthest_root = np.maximum.reduceat(to_root, whole.offsets[:-1]).astype(np.float64)
    return largest_between(farthest_root, lambda rows, columns: pairs_between(taxonomy, rows, columns, None).ways())


def _apart(pairs: Pairs) -> Floats:
    common, row_content, column_content = pairs.contents()
    return np.where(common < 0, 0.0, row_content + column_content - 2.0 * common)
