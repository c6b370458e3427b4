r"""Marginality: how far a value is from all the others, and the mean, variance and covariance built on it.

$$m(x_j) = \sum_{l \ne j} d(x_l, x_j)$$

This gives a nominal column numbers without imposing an order on it. References: Domingo-Ferrer, Sánchez,
Rufian-Torrell, Information Sciences 242 (2013).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import complete_records, encode_present, encode_together, require_equal_lengths
from anonto.encoding.frame_adapter import columns_of
from anonto.encoding.value_space import nominal_space
from anonto.errors import ParameterError
from anonto.stats.contingency import joint_shares
from anonto.stats.ties import TOLERANCE
from anonto.wording import list_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats
    from anonto.encoding.columns import Column
    from anonto.taxonomy.taxonomy import Taxonomy


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
    weights: Any = None,
    information_content: str = "sanchez",
) -> str:
    """The value with the least marginality (Def. 1); of several the one that occurs first.

    Only values that occur are candidates. The arguments are those of `marginality`, and ``weights``: how many people
    each record stands for.
    """
    column = encode_present(values, weights=weights)
    per_value = _of_distinct(column, tax, measure, root, information_content)
    within = TOLERANCE * max(1, column.counts.sum())
    least = np.flatnonzero(per_value <= per_value.min() + within)
    return column.values[min(least.tolist(), key=column.first_positions().__getitem__)]


def marginality_numerical_mean(
    values: Any,
    tax: Taxonomy,
    measure: str = "ancestor",
    root: str = "ontology",
    *,
    weights: Any = None,
    information_content: str = "sanchez",
) -> float:
    r"""The numerical mean of a nominal column: the least marginality of its values (eq. 4).

    $$NumMean_M(X) = \min_j m(x_j)$$

    It is the marginality of `marginality_mean`, and grows with the number of records, or of the people that they stand
    for. The arguments are those of `marginality_mean`.
    """
    return float(_of_distinct(encode_present(values, weights=weights), tax, measure, root, information_content).min())


def marginality_variance(
    values: Any,
    tax: Taxonomy,
    measure: str = "ancestor",
    root: str = "ontology",
    *,
    weights: Any = None,
    information_content: str = "sanchez",
) -> float:
    r"""The mean marginality (Def. 2).

    $$Var_M(X) = \frac{1}{n} \sum_j m(x_j)$$

    It grows with the number of records: it is (n − 1) times the mean distance of two records. The arguments are those
    of `marginality_mean`; with weights, n is their sum.
    """
    column = encode_present(values, weights=weights)
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
    weights: Any = None,
    information_content: str = "sanchez",
) -> float:
    r"""Marginality covariance: how marginal records are in both columns at once (Def. 3).

    $$Covar_M(X, Y) = \frac{1}{n} \sum_j \sqrt{m(x_j)\,m(y_j)}$$

    With ``form="product"`` the root is left out. The root makes the covariance of a column with itself its variance,
    as the matrix of the paper needs. It is not centred: it is never negative, and independence does not make it 0.
    Records that lack either value are left out. With ``weights`` each record counts for as many people.
    """
    if form not in FORMS:
        raise ParameterError("form", "'sqrt' or 'product'", form)
    columns = encode_together(a, b, weights=weights)
    marginalities = [
        _of_distinct(column, tax, measure, root, information_content)
        for column, tax in zip(columns, (tax_a, tax_b), strict=True)
    ]
    return _covariance(columns, marginalities, form)


def marginality_covariance_matrix(
    columns: Any,
    taxonomies: Taxonomy | Sequence[Taxonomy] | Mapping[str, Taxonomy],
    measure: str = "ancestor",
    root: str = "ontology",
    *,
    form: str = "sqrt",
    information_content: str = "sanchez",
) -> Floats:
    """Marginality covariances of all pairs of columns, variances on the diagonal.

    Args:
        columns: A pandas, polars or pyarrow table, a mapping of names to columns, or a list of columns.
        taxonomies: One for all columns, one for each in their order, or a mapping of the columns' names to theirs.
        measure: One of `anonto.MEASURES`.
        root: ``"ontology"``, ``"lcs"`` or a concept id.
        form: ``"sqrt"`` or ``"product"``; see `marginality_covariance`.
        information_content: ``"sanchez"``, ``"seco"`` or ``"data"``.

    Returns:
        A symmetric matrix. Each entry uses the records that have both values.
    """
    if form not in FORMS:
        raise ParameterError("form", "'sqrt' or 'product'", form)
    named = _name_columns(columns)
    each = _one_for_each(taxonomies, list(named))
    encoded = [encode_present(values, name if isinstance(name, str) else None) for name, values in named.items()]
    require_equal_lengths([len(column) for column in encoded])
    options = (measure, root, information_content)
    whole = [_of_distinct(column, tax, *options) for column, tax in zip(encoded, each, strict=True)]
    matrix = np.empty((len(encoded), len(encoded)))
    for i, j in combinations_with_replacement(range(len(encoded)), 2):
        both = complete_records([encoded[i], encoded[j]])
        marginalities = [
            whole[place]
            if len(column) == len(encoded[place]) - encoded[place].n_missing
            else _of_distinct(column, each[place], *options)
            for place, column in zip((i, j), both, strict=True)
        ]
        matrix[i, j] = matrix[j, i] = _covariance(both, marginalities, form)
    return matrix


FORMS = ("sqrt", "product")


def _name_columns(columns: Any) -> Mapping[str | int, Any]:
    """Columns by name, or by place where they have none."""
    pairs = enumerate(columns) if isinstance(columns, list | tuple) else columns_of(columns).items()
    return dict(pairs)


def _one_for_each(taxonomies: Any, names: list[str | int]) -> list[Taxonomy]:
    if isinstance(taxonomies, Mapping):
        return _by_name(taxonomies, names)
    if not isinstance(taxonomies, list | tuple):
        return [taxonomies] * len(names)
    if len(taxonomies) != len(names):
        raise ParameterError(
            "taxonomies", f"one for all columns or one for each of the {len(names):,}", len(taxonomies)
        )
    return list(taxonomies)


def _by_name(taxonomies: Mapping[str, Taxonomy], names: list[str | int]) -> list[Taxonomy]:
    wrong = [str(name) for name in {*names} ^ {*taxonomies}]
    if wrong:
        must = "a mapping with the name of every column of the table and no other"
        raise ParameterError("taxonomies", must, f"a difference at {list_names(sorted(wrong))}")
    return [taxonomies[str(name)] for name in names]


def _covariance(columns: Sequence[Column], marginalities: Sequence[Floats], form: str) -> float:
    """From the shares of distinct pairs; rounding may have left a marginality just below 0."""
    a, b = (np.sqrt(np.maximum(m, 0.0)) if form == "sqrt" else m for m in marginalities)
    return float(a @ joint_shares(columns[0], columns[1]) @ b)


def _of_distinct(column: Column, tax: Taxonomy, measure: str, root: str, information_content: str) -> Floats:
    value_space = nominal_space(column, tax, measure=measure, root=root, information_content=information_content)
    return value_space.mean_distances() * value_space.n_records
