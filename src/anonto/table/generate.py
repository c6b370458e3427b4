"""Made-up columns over a taxonomy: skewed, related, with rare values and missing cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonto.taxonomy.taxonomy import Taxonomy

SHARE_MISSING = 0.02
SHARE_RELATED = 0.6
N_COMMON = 300


def related_columns(taxonomy: Taxonomy, n_records: int, *, seed: int) -> tuple[list[str | None], list[str | None]]:
    """Two columns of leaves; in most records the second comes from the same branch as the first.

    A few hundred leaves are common, with frequencies that fall as 1/rank; one record in fifty has any leaf at all.
    """
    rng = np.random.default_rng(seed)
    leaves = np.flatnonzero(np.diff(taxonomy.child_offsets) == 0)
    common = rng.permutation(leaves)[:N_COMMON]
    weights = 1.0 / np.arange(1, common.size + 1)
    first = rng.choice(common, n_records, p=weights / weights.sum())
    rare = rng.random(n_records) < 0.02
    first[rare] = rng.choice(leaves, int(rare.sum()))
    second = rng.choice(common, n_records, p=weights / weights.sum())
    branch = _branch(taxonomy)
    by_branch = np.argsort(branch[leaves], kind="stable")
    starts = np.searchsorted(branch[leaves][by_branch], branch[first], side="left")
    ends = np.searchsorted(branch[leaves][by_branch], branch[first], side="right")
    neighbours = leaves[by_branch][starts + (rng.random(n_records) * np.minimum(ends - starts, 12)).astype(np.int64)]
    related = rng.random(n_records) < SHARE_RELATED
    second = np.where(related, neighbours, second)
    return _named(taxonomy, first, rng), _named(taxonomy, second, rng)


def _branch(taxonomy: Taxonomy) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each concept the ancestor at depth three (or itself above it), following one parent each."""
    branch = np.arange(len(taxonomy))
    for concept in taxonomy.order:
        if taxonomy.depths[concept] > 3:
            branch[concept] = branch[taxonomy.parent_indices[taxonomy.parent_offsets[concept]]]
    return branch


def _named(
    taxonomy: Taxonomy, concepts: np.ndarray[tuple[int], np.dtype[np.int64]], rng: np.random.Generator
) -> list[str | None]:
    missing = rng.random(concepts.size) < SHARE_MISSING
    return [None if gone else taxonomy.ids[c] for c, gone in zip(concepts.tolist(), missing.tolist(), strict=True)]
