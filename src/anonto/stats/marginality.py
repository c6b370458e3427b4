r"""Marginality: how far a value is from all the others, and the mean, variance and covariance built on it.

$$m(x_j) = \sum_{l \ne j} d(x_l, x_j)$$

A nominal column so gets numbers without an order being imposed on it. References: Domingo-Ferrer, Sánchez,
Rufian-Torrell, Information Sciences 242 (2013).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import LengthError, ParameterError
from anonto.stats.ties import TOLERANCE
from anonto.table.attributes import nominal_attribute
from anonto.table.columns import encode_present, encode_together
from anonto.taxonomy.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.columns import Column

    Floats = NDArray[np.float64]


def marginality(
    values: Any,
    tax: Taxonomy,
    measure: str = "ancestor",
    root: str = "ontology",
    *,
    information_content: str = "sanchez",
) -> Floats:
    """The sum of the distances of each value to all others (eq. 2).

    Args:
        values: Concept ids, one per record; None is missing.
        tax: The taxonomy of the values.
        measure: One of `anonto.MEASURES`.
        root: ``"ontology"``, ``"lcs"`` (of the values) or a concept id.
        information_content: For lin, resnik and jiang-conrath: ``"sanchez"``, ``"seco"`` or ``"data"``.

    Returns:
        One number per record, NaN where the value is missing.
    """
    column = encode_present(values)
    per_value = _of_distinct(column, tax, measure, root, information_content)
    return np.append(per_value, np.nan)[column.codes]


def marginality_mean(
    values: Any,
    tax: Taxonomy,
    measure: str = "ancestor",
    root: str = "ontology",
    *,
    information_content: str = "sanchez",
) -> str:
    """The value with the least marginality (Def. 1); of several the one that occurs first.

    Only values that occur are candidates. The arguments are those of `marginality`.
    """
    column = encode_present(values)
    per_value = _of_distinct(column, tax, measure, root, information_content)
    within = TOLERANCE * max(1, len(column) - column.n_missing)
    least = np.flatnonzero(per_value <= per_value.min() + within)
    return column.values[min(least.tolist(), key=column.first_positions().__getitem__)]


def marginality_variance(
    values: Any,
    tax: Taxonomy,
    measure: str = "ancestor",
    root: str = "ontology",
    *,
    information_content: str = "sanchez",
) -> float:
    r"""The mean marginality (Def. 2).

    $$Var_M(X) = \frac{1}{n} \sum_j m(x_j)$$

    It grows with the number of records: it is (n − 1) times the mean distance of two records. The arguments are those
    of `marginality`.
    """
    column = encode_present(values)
    per_value = _of_distinct(column, tax, measure, root, information_content)
    return float(column.counts @ per_value / column.counts.sum())


def marginality_covariance(
    a: Any,
    b: Any,
    tax_a: Taxonomy,
    tax_b: Taxonomy,
    measure: str = "ancestor",
    root: str = "ontology",
    *,
    form: str = "sqrt",
    information_content: str = "sanchez",
) -> float:
    r"""How far records are out in both columns at once (Def. 3).

    $$Covar_M(X, Y) = \frac{1}{n} \sum_j \sqrt{m(x_j)\,m(y_j)}$$

    With ``form="product"`` the root is left out. The root makes the covariance of a column with itself its variance,
    as the matrix of the paper needs. It is not centred: it is never negative, and independence does not make it 0.
    Records that lack either value are left out.
    """
    if form not in FORMS:
        raise ParameterError("form", "'sqrt' or 'product'", form)
    column_a, column_b = encode_together(a, b)
    options = (measure, root, information_content)
    of_a = _of_distinct(column_a, tax_a, *options)[column_a.codes]
    of_b = _of_distinct(column_b, tax_b, *options)[column_b.codes]
    products = of_a * of_b
    return float(np.mean(np.sqrt(products) if form == "sqrt" else products))


def marginality_covariance_matrix(
    columns: Mapping[str, Any] | Sequence[Any],
    taxonomies: Taxonomy | Sequence[Taxonomy],
    measure: str = "ancestor",
    root: str = "ontology",
    *,
    form: str = "sqrt",
    information_content: str = "sanchez",
) -> Floats:
    """Marginality covariances of all pairs of columns, variances on the diagonal.

    Args:
        columns: Several columns of the same records, by name or in order.
        taxonomies: One for all columns or one for each.
        measure: One of `anonto.MEASURES`.
        root: ``"ontology"``, ``"lcs"`` or a concept id.
        form: ``"sqrt"`` or ``"product"``; see `marginality_covariance`.
        information_content: ``"sanchez"``, ``"seco"`` or ``"data"``.

    Returns:
        A symmetric matrix. Each entry uses the records that have both values.
    """
    all_columns = list(columns.values()) if isinstance(columns, Mapping) else list(columns)
    each = [taxonomies] * len(all_columns) if isinstance(taxonomies, Taxonomy) else list(taxonomies)
    if len(each) != len(all_columns):
        raise LengthError([len(all_columns), len(each)])
    matrix = np.empty((len(all_columns), len(all_columns)))
    for i, (a, tax_a) in enumerate(zip(all_columns, each, strict=True)):
        for j, (b, tax_b) in enumerate(zip(all_columns[: i + 1], each[: i + 1], strict=True)):
            matrix[i, j] = matrix[j, i] = marginality_covariance(
                a, b, tax_a, tax_b, measure, root, form=form, information_content=information_content
            )
    return matrix


FORMS = ("sqrt", "product")


def _of_distinct(column: Column, tax: Taxonomy, measure: str, root: str, information_content: str) -> Floats:
    attribute = nominal_attribute(column, tax, measure=measure, root=root, information_content=information_content)
    return attribute.mean_distances() * attribute.n_records
