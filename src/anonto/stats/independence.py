"""A permutation test of independence on the bias-corrected distance correlation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import ParameterError
from anonto.stats.dependence import too_few_pairs, two_columns

if TYPE_CHECKING:
    from anonto.taxonomy.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True)
class IndependenceTest:
    """Result of the test."""

    statistic: float
    """The bias-corrected squared distance correlation."""
    p_value: float
    """How often a random pairing of the same values is at least as dependent, the observed one counted in."""
    n_records: int
    permutations: int


def independence_test(
    a: Any,
    b: Any,
    tax_a: Taxonomy,
    tax_b: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    permutations: int = 999,
    seed: int | np.random.Generator | None = None,
    information_content: str = "sanchez",
) -> IndependenceTest:
    """Test whether two nominal columns are independent.

    Random pairings are drawn as contingency tables with the same margins, so that their cost does not grow with the
    number of records; it grows with |A|·|B|·(|A| + |B|), the distinct values of both: at 1,000 × 500 of them a pairing
    takes about a fifth of a second. On hierarchies with several parents prefer the measure ``"ancestor"``: independence
    is the only case of correlation 0 for distances of negative type.

    Args:
        a: Concept ids, one per record; None is missing. Records that lack either value are left out.
        b: Concept ids of the same records.
        tax_a: The taxonomy of ``a``.
        tax_b: The taxonomy of ``b``.
        measure: One of `anonto.MEASURES`.
        root: ``"ontology"``, ``"lcs"`` or a concept id.
        permutations: How many random pairings to draw.
        seed: For the same answer each time.
        information_content: ``"sanchez"``, ``"seco"`` or ``"data"``.

    References: Székely, Rizzo, Journal of Multivariate Analysis 117 (2013); tables with given margins: Patefield,
    Applied Statistics 30 (1981).
    """
    from scipy.stats import random_table

    if not _is_count(permutations):
        raise ParameterError("permutations", "a whole number, 1 or more", permutations)
    both = two_columns(a, b, tax_a, tax_b, measure, root, information_content)
    n = int(both.n_records)
    if n < 4:
        raise too_few_pairs("The test of independence", 4, n)
    scale = both.unbiased_scale()
    if not scale:
        return IndependenceTest(0.0, 1.0, n, int(permutations))
    observed = both.covariance()
    rng = np.random.default_rng(seed)
    margins = [np.rint(one.shares * n).astype(np.int64) for one in (both.a, both.b)]
    at_least = 1
    for _ in range(permutations):
        table = np.asarray(random_table.rvs(*margins, random_state=rng), dtype=np.float64) / n
        at_least += both.covariance(table).unbiased >= observed.unbiased - observed.rounding
    return IndependenceTest(observed.unbiased / scale, at_least / (permutations + 1), n, int(permutations))


def _is_count(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool) and int(number) >= 1
