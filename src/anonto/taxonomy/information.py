"""Information content: how much one learns from a value being this concept.

Three estimates, all 0 for the only root and growing downwards:

- ``"seco"``: one minus the log of the number of descendants, scaled to 1 for a leaf.
- ``"sanchez"``: leaves below against ancestors above, so that depth and inheritance count too.
- ``"data"``: minus the log of the share of records at the concept or below it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import logs
from anonto.errors import ParameterError
from anonto.taxonomy import kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonto.arrays import Floats, Ints
    from anonto.taxonomy.taxonomy import Taxonomy


def information_content(taxonomy: Taxonomy, kind: str = "sanchez", counts: Mapping[str, int] | None = None) -> Floats:
    """The information content of every concept, in the order of ``taxonomy.ids``.

    Args:
        taxonomy: The hierarchy.
        kind: ``"sanchez"``, ``"seco"`` or ``"data"``.
        counts: Records per concept id; only for ``"data"``.
    """
    if kind == "data":
        if counts is None:
            raise ParameterError("counts", "given (records per concept) with information_content = 'data'", None)
        return content_of_data(taxonomy, counts)
    if kind not in INTRINSIC:
        raise ParameterError("information_content", f"one of {', '.join(CONTENTS)}", kind)
    compute = INTRINSIC[kind]
    return taxonomy.compute_once(("information content", kind), lambda: compute(taxonomy))


def content_by_seco(taxonomy: Taxonomy) -> Floats:
    r"""Intrinsic information content of Seco.

    $$IC(c) = 1 - \log |D(c)| / \log |C|$$

    with D(c) the concept and its descendants, C all concepts. Range [0, 1]; 1 for a leaf.

    References: Seco, Veale, Hayes, ECAI 2004.
    """
    below, _ = _below(taxonomy, np.ones(len(taxonomy)))
    if len(taxonomy) == 1:
        return np.zeros(1)
    return np.asarray(1.0 - logs(below) / math.log(len(taxonomy)))


def content_by_sanchez(taxonomy: Taxonomy) -> Floats:
    r"""Intrinsic information content of Sánchez.

    $$IC(c) = -\log \frac{|L(c)| / |T(c)| + 1}{|L| + 1}$$

    with L(c) the leaves at or below c (a leaf counts itself), T(c) its ancestors including c, L all leaves.
    Range [0, log(|L| + 1)).

    References: Sánchez, Batet, Isern, Knowledge-Based Systems 24 (2011).
    """
    is_leaf = np.diff(taxonomy.child_offsets) == 0
    leaves, above = _below(taxonomy, is_leaf.astype(np.float64))
    content = math.log(np.count_nonzero(is_leaf) + 1) - logs(leaves / above + 1)
    return np.asarray(np.maximum(content, 0.0))


def content_of_data(taxonomy: Taxonomy, counts: Mapping[str, int]) -> Floats:
    r"""Information content from the records of a column.

    $$IC(c) = -\log \frac{N(c) + |D(c)| / |C|}{N + 1}$$

    with N(c) the records at c or below, each counted once however many ways lead up. One record's worth is spread
    evenly over all concepts, so that a concept nobody has is very informative instead of infinitely so.

    References: Resnik, IJCAI 1995; the smoothing is ours.
    """
    records = np.zeros(len(taxonomy))
    records[taxonomy.numbers(counts)] = np.fromiter(counts.values(), np.float64, len(counts))
    if not np.isfinite(records).all() or (records < 0).any():
        raise ParameterError("counts", "numbers of records, 0 or more", "something else")
    below, _ = _below(taxonomy, records)
    concepts_below, _ = _below(taxonomy, np.ones(len(taxonomy)))
    return np.asarray(np.maximum(math.log(records.sum() + 1.0) - logs(below + concepts_below / len(taxonomy)), 0.0))


def _below(taxonomy: Taxonomy, weights: Floats) -> tuple[Floats, Ints]:
    below, above = kernels.sums_over_ancestors(taxonomy.parent_offsets, taxonomy.parent_indices, weights)
    return below, above


INTRINSIC: dict[str, Callable[[Taxonomy], Floats]] = {"sanchez": content_by_sanchez, "seco": content_by_seco}
CONTENTS = (*INTRINSIC, "data")
"""The kinds of information content."""
