r"""Distance covariance, variance and correlation of nominal columns.

With centred distances δ between the records,

$$sdCov(A, B) = \sqrt{\frac{1}{n^2} \sum_{ij} \delta^A_{ij}\,\delta^B_{ij}}$$

and, from the contingency table N of values of A × values of B with the distances of distinct values centred by the
record counts,

$$\sum_{ij} \delta^A_{ij}\,\delta^B_{ij} = \sum \bigl(\delta^A N\bigr) \circ \bigl(N \delta^B\bigr)$$

so that the cost depends on the distinct values alone. This is the V-statistic of the papers: it is above 0 also for
independent columns. `bias_corrected_distance_correlation` is not.

References: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), eq. 14 and 15; Székely, Rizzo, Bakirov,
Annals of Statistics 35 (2007); Székely, Rizzo, Journal of Multivariate Analysis 117 (2013).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import NegativeRadicandWarning, TooFewRecordsError
from anonto.stats.contingency import joint_shares
from anonto.table.attributes import nominal_attribute
from anonto.table.columns import encode_present, encode_together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.table.attributes import NominalAttribute
    from anonto.taxonomy.taxonomy import Taxonomy

    Floats = NDArray[np.float64]

ROUNDING = 1e-15
"""A squared covariance this close to 0 is 0: the distances are at most 1."""


def distance_covariance(
    a: Any,
    b: Any,
    tax_a: Taxonomy,
    tax_b: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    information_content: str = "sanchez",
) -> float:
    """How the distances between records in one column go with those in another (sdCov).

    Args:
        a: Concept ids, one per record; None is missing. Records that lack either value are left out.
        b: Concept ids of the same records.
        tax_a: The taxonomy of ``a``.
        tax_b: The taxonomy of ``b``.
        measure: One of `anonto.MEASURES`, for both.
        root: ``"ontology"``, ``"lcs"`` (of the values) or a concept id.
        information_content: For lin, resnik and jiang-conrath: ``"sanchez"``, ``"seco"`` or ``"data"``.

    Warns:
        NegativeRadicandWarning: With the number, when the squared covariance is below 0 and was set to 0.
    """
    both = both_centred(a, b, tax_a, tax_b, measure, root, information_content)
    return _root(both.covariance(), "distance covariance")


def distance_variance(
    a: Any,
    tax_a: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    information_content: str = "sanchez",
) -> float:
    """The distance covariance of a column with itself (sdVar); not squared. 0 for a constant column."""
    column = encode_present(a)
    column = column.kept(column.codes >= 0) if column.n_missing else column
    attribute = nominal_attribute(column, tax_a, measure=measure, root=root, information_content=information_content)
    return _root(centred(attribute).variance(), "distance variance")


def distance_correlation(
    a: Any,
    b: Any,
    tax_a: Taxonomy,
    tax_b: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    information_content: str = "sanchez",
) -> float:
    """The distance covariance divided by the root of both distance variances (sdCor), from 0 to 1.

    0 when a column is constant. The arguments are those of `distance_covariance`.
    """
    both = both_centred(a, b, tax_a, tax_b, measure, root, information_content)
    variances = both.a.variance() * both.b.variance()
    if variances <= ROUNDING**2:
        return 0.0
    covariance = _root(both.covariance(), "distance covariance")
    return min(1.0, covariance / math.sqrt(math.sqrt(variances)))


def bias_corrected_distance_correlation(
    a: Any,
    b: Any,
    tax_a: Taxonomy,
    tax_b: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    information_content: str = "sanchez",
) -> float:
    """The squared distance correlation without its bias: its mean is 0 for independent columns; it can be negative.

    It estimates the square of `distance_correlation`, from four records on. The arguments are the same.
    """
    both = both_centred(a, b, tax_a, tax_b, measure, root, information_content)
    if both.n_records < 4:
        raise TooFewRecordsError("The bias-corrected distance correlation", 4, both.n_records)
    scale = math.sqrt(max(both.a.unbiased_variance(), 0.0) * max(both.b.unbiased_variance(), 0.0))
    return both.unbiased_covariance() / scale if scale > ROUNDING else 0.0


# ------------------------------------------------------------------------------------------------ centred distances


@dataclass(frozen=True, slots=True, eq=False)
class Centred:
    """The distances of a column's distinct values, centred by its record counts, in both ways."""

    shares: Floats
    plain: Floats
    """δ of the V-statistic."""
    unbiased: Floats
    """U-centred: δ̃ of the bias-corrected statistic, for records i ≠ j."""
    n_records: int

    def variance(self) -> float:
        """The squared distance variance."""
        return float(self.shares @ self.plain**2 @ self.shares)

    def unbiased_variance(self) -> float:
        """The unbiased estimate of the squared distance variance."""
        n = self.n_records
        all_pairs = float(self.shares @ self.unbiased**2 @ self.shares)
        same_record = float(self.shares @ self.unbiased.diagonal() ** 2)
        return (all_pairs - same_record / n) * n / (n - 3)


@dataclass(frozen=True, slots=True, eq=False)
class Both:
    """Two columns, centred, with the shares of their pairs of values."""

    a: Centred
    b: Centred
    shares: Any
    """Dense or sparse: values of a × values of b."""

    @property
    def n_records(self) -> int:
        """Records that have both values."""
        return self.a.n_records

    def covariance(self) -> float:
        """The squared distance covariance."""
        return _paired(self.a.plain, self.b.plain, self.shares)

    def unbiased_covariance(self, shares: Any = None) -> float:
        """The unbiased estimate of the squared distance covariance, also of another table with the same margins."""
        table = self.shares if shares is None else shares
        n = self.n_records
        same_record = float(self.a.unbiased.diagonal() @ (table @ self.b.unbiased.diagonal()))
        return (_paired(self.a.unbiased, self.b.unbiased, table) - same_record / n) * n / (n - 3)


def centred(attribute: NominalAttribute) -> Centred:
    """Centre the distances of a column's distinct values."""
    distances = attribute.distances()
    shares = attribute.shares
    n = attribute.n_records
    row_means = distances @ shares
    grand_mean = float(shares @ row_means)
    sums = np.add.outer(row_means, row_means)
    plain = distances - sums + grand_mean
    if n < 4:
        return Centred(shares, plain, plain, n)
    unbiased = distances - sums * (n / (n - 2)) + grand_mean * (n / (n - 1)) * (n / (n - 2))
    return Centred(shares, plain, unbiased, n)


def both_centred(
    a: Any, b: Any, tax_a: Taxonomy, tax_b: Taxonomy, measure: str, root: str, information_content: str
) -> Both:
    """Encode, place, centre and count two columns of the same records."""
    columns = encode_together(a, b)
    of_a, of_b = (
        centred(nominal_attribute(column, tax, measure=measure, root=root, information_content=information_content))
        for column, tax in zip(columns, (tax_a, tax_b), strict=True)
    )
    return Both(of_a, of_b, joint_shares(*columns))


def _paired(of_a: Floats, of_b: Floats, shares: Any) -> float:
    """Σ (δᴬ P) ∘ (P δᴮ)."""
    left = (shares.T @ of_a).T if not isinstance(shares, np.ndarray) else of_a @ shares
    return float(np.einsum("ij,ij->", left, shares @ of_b))


def _root(squared: float, what: str) -> float:
    if squared < -ROUNDING:
        warnings.warn(NegativeRadicandWarning(what, squared), stacklevel=3)
    return math.sqrt(squared) if squared > ROUNDING else 0.0
