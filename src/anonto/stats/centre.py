"""Semantic mean and variance of a nominal column.

The mean is the concept of the domain that is closest to all records; it need not occur among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.columns import encode_present
from anonto.encoding.value_space import nominal_space
from anonto.stats.ties import TOLERANCE

if TYPE_CHECKING:
    from anonto.encoding.value_space import NominalSpace
    from anonto.taxonomy.taxonomy import Taxonomy


def semantic_mean(
    values: Any,
    tax: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    weights: Any = None,
    information_content: str = "sanchez",
) -> str:
    r"""The concept with the least sum of distances to all values.

    $$s\mu(X) = \arg\min_{c \in \tau} \sum_i sd(c, x_i)$$

    Ties go to a concept that occurs in the data, then to the more frequent one, then to the smaller id.

    Args:
        values: Concept ids, one per record; None is missing.
        tax: The taxonomy of the values.
        measure: One of `anonto.MEASURES`.
        root: ``"ontology"``, ``"lcs"`` (of the values) or a concept id: the domain of the mean.
        weights: How many people each record stands for; without them each counts once.
        information_content: For lin, resnik and jiang-conrath: ``"sanchez"``, ``"seco"`` or ``"data"``.

    Returns:
        A concept id.

    References: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), eq. 13.
    """
    column = encode_present(values, weights=weights)
    return mean_of(nominal_space(column, tax, measure=measure, root=root, information_content=information_content))


def semantic_variance(
    values: Any,
    tax: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    weights: Any = None,
    information_content: str = "sanchez",
) -> float:
    r"""The mean squared distance of the values to their semantic mean.

    $$s\sigma^2(X) = \frac{1}{n} \sum_i sd(x_i, s\mu(X))^2$$

    The arguments are those of `semantic_mean`.

    References: Rodriguez-Garcia, Sánchez, Batet, PSD 2016, eq. 8.
    """
    column = encode_present(values, weights=weights)
    value_space = nominal_space(column, tax, measure=measure, root=root, information_content=information_content)
    to_mean = value_space.distances_to(mean_of(value_space))
    return dot(value_space.shares, to_mean**2)


def mean_of(value_space: NominalSpace) -> str:
    """The semantic mean of a column that is placed in its taxonomy."""
    means = value_space.mean_distances_of_domain()
    closest = np.flatnonzero(means <= means.min() + TOLERANCE)
    frequency = dict(zip(value_space.column.values, value_space.counts.tolist(), strict=True))
    ids = value_space.domain.ids
    return min((ids[n] for n in closest.tolist()), key=lambda concept: (-frequency.get(concept, 0), concept))
