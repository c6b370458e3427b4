r"""Distance covariance, variance and correlation of nominal columns.

With centred distances δ between the records,

$$sdCov(A, B) = \sqrt{\frac{1}{n^2} \sum_{ij} \delta^A_{ij}\,\delta^B_{ij}}$$

which is, multiplied out, the mean product of the distances, plus the product of their means, minus twice the mean
product of the records' mean distances. From the shares P of the pairs of values (values of A × values of B) and the
distances D of the distinct values the first of these is

$$\frac{1}{n^2} \sum_{ij} d^A_{ij}\,d^B_{ij} = \sum \bigl(D^A P\bigr) \circ \bigl(P D^B\bigr)$$

so that the cost depends on the distinct values alone. With weights the shares are those of the weights, which is as if
each record were there as often as its weight says. This is the V-statistic of the papers: it is above 0 also for
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

from anonto.arithmetic import dot, matrix_product
from anonto.encoding.columns import encode_present, encode_together
from anonto.encoding.value_space import nominal_space
from anonto.errors import AnontoWarning, TooFewRecordsError
from anonto.runtime.threads import in_threads
from anonto.stats import kernels
from anonto.stats.contingency import joint_shares
from anonto.taxonomy.matrix import BAND, bands

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs
    from anonto.encoding.value_space import NominalSpace
    from anonto.taxonomy.taxonomy import Taxonomy


RELATIVE_ROUNDING = 1e-14
"""A difference of sums this much smaller than they are is 0."""


def distance_covariance(
    a: Any,
    b: Any,
    tax_a: Taxonomy,
    tax_b: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    weights: Any = None,
    information_content: str = "sanchez",
) -> float:
    """Covariance of the distances between records in one column with those in another (sdCov).

    Args:
        a: Concept ids, one per record; None is missing. Records that lack either value are left out.
        b: Concept ids of the same records.
        tax_a: The taxonomy of ``a``.
        tax_b: The taxonomy of ``b``.
        measure: One of `anonto.MEASURES`, for both.
        root: ``"ontology"``, ``"lcs"`` (of the values) or a concept id.
        weights: How many people each record stands for; without them each counts once.
        information_content: For lin, resnik and jiang-conrath: ``"sanchez"``, ``"seco"`` or ``"data"``.

    Warns:
        AnontoWarning: With the number, when the squared covariance is below 0 and was set to 0.
    """
    found = _dependence(a, b, tax_a, tax_b, measure, root, information_content, weights)
    return found.covariance.root("distance covariance")


def distance_variance(
    a: Any,
    tax_a: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    weights: Any = None,
    information_content: str = "sanchez",
) -> float:
    """The distance covariance of a column with itself (sdVar); not squared. 0 for a constant column."""
    column = encode_present(a, weights=weights)
    column = column.keep_records(column.codes >= 0) if column.n_missing else column
    value_space = nominal_space(column, tax_a, measure=measure, root=root, information_content=information_content)
    return spread(value_space).variance().root("distance variance")


def distance_correlation(
    a: Any,
    b: Any,
    tax_a: Taxonomy,
    tax_b: Taxonomy,
    measure: str = "wu-palmer",
    root: str = "ontology",
    *,
    weights: Any = None,
    information_content: str = "sanchez",
) -> float:
    """The distance covariance divided by the root of both distance variances (sdCor), from 0 to 1.

    0 when a column is constant. The arguments are those of `distance_covariance`.
    """
    found = _dependence(a, b, tax_a, tax_b, measure, root, information_content, weights)
    variances = [one.root("distance variance") for one in (found.variance_a, found.variance_b)]
    if 0.0 in variances:
        return 0.0
    return min(1.0, found.covariance.root("distance covariance") / math.sqrt(variances[0] * variances[1]))


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

    It estimates the square of `distance_correlation`, from four records on. The arguments are the same, without
    weights: the bias depends on how many records were drawn, not on how many people they stand for.
    """
    found = _dependence(a, b, tax_a, tax_b, measure, root, information_content)
    if found.n_records < 4:
        raise too_few_pairs("The bias-corrected distance correlation", 4, found.n_records)
    scale = unbiased_scale(found.variance_a, found.variance_b)
    return found.covariance.unbiased / scale if scale else 0.0


# ------------------------------------------------------------------------------------------------ from counts


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """The sums over records that centring the distances of a column needs."""

    shares: Floats
    row_means: Floats
    """The mean distance of each value to all records."""
    mean_square: float
    n_records: float

    @property
    def mean(self) -> float:
        """The mean distance of two records, a record and itself included."""
        return dot(self.shares, self.row_means)

    def variance(self) -> Squared:
        """The squared distance variance."""
        of_rows = dot(self.shares, self.row_means**2)
        return Squared.of_means(self.mean_square, self.mean**2, of_rows, self.n_records)


@dataclass(frozen=True, slots=True, eq=False)
class Spread(Means):
    """The means of a column together with the distances of its distinct values."""

    distances: Floats

    @classmethod
    def of(cls, distances: Floats, shares: Floats, n_records: float) -> Spread:
        """From the distances of the distinct values and the share of the records that each has."""
        return cls(shares, *kernels.weigh_rows(distances, shares), n_records, distances)


@dataclass(frozen=True, slots=True)
class Squared:
    """A squared distance covariance, as it is (V) and without its bias (U)."""

    plain: float
    unbiased: float
    """NaN for fewer than four records."""
    rounding: float
    """Size below which a value may be rounding error."""

    @classmethod
    def of_means(cls, product: float, of_means: float, of_rows: float, n: float) -> Squared:
        """From the mean product of two distances, the product of both means, and the mean product of row means.

        Centring and multiplying out leaves these three; the weights without bias are those of Székely and Rizzo.
        """
        plain = product + of_means - 2.0 * of_rows
        rounding = RELATIVE_ROUNDING * (product + of_means + 2.0 * of_rows)
        if n < 4:
            return cls(plain, math.nan, rounding)
        weighted = product + of_means * (n / (n - 1)) * (n / (n - 2)) - 2.0 * of_rows * (n / (n - 2))
        return cls(plain, weighted * (n / (n - 3)), rounding)

    def root(self, what: str) -> float:
        """The square root; below 0 it is set to 0 with a warning."""
        if self.plain < -self.rounding:
            warnings.warn(negative_radicand(what, self.plain), stacklevel=3)
        return math.sqrt(self.plain) if self.plain > self.rounding else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TwoColumns:
    """Two columns of the same records, with the shares of their pairs of values."""

    a: Spread
    b: Spread
    shares: Any
    """Dense or sparse: values of a × values of b."""

    @property
    def n_records(self) -> float:
        """Records that have both values, or the sum of their weights."""
        return self.a.n_records

    def covariance(self, shares: Any = None) -> Squared:
        """The squared distance covariance, also of another table with the same margins."""
        table = self.shares if shares is None else shares
        return _covariance(self.a, self.b, table, _mean_product(self.a.distances, self.b.distances, table))

    def unbiased_scale(self) -> float:
        """Divisor of the unbiased covariance; 0 when a column is constant."""
        return unbiased_scale(self.a.variance(), self.b.variance())


def spread(value_space: NominalSpace) -> Spread:
    """Look up the distances of a column's distinct values and sum them over its records."""
    return Spread.of(value_space.distances(), value_space.shares, value_space.n_records)


def two_columns(
    a: Any, b: Any, tax_a: Taxonomy, tax_b: Taxonomy, measure: str, root: str, information_content: str
) -> TwoColumns:
    """Encode, place and count two columns of the same records, and look up their distances."""
    of_a, of_b, shares = _place_columns(a, b, tax_a, tax_b, measure, root, information_content)
    return TwoColumns(spread(of_a), spread(of_b), shares)


def unbiased_scale(variance_a: Squared, variance_b: Squared) -> float:
    """Divisor of the unbiased covariance of two columns; 0 when one is constant."""
    if variance_a.plain <= variance_a.rounding or variance_b.plain <= variance_b.rounding:
        return 0.0
    return math.sqrt(max(variance_a.unbiased, 0.0) * max(variance_b.unbiased, 0.0))


def mean_differences(numbers: Floats, shares: Floats) -> Floats:
    """The mean difference of each of some ascending numbers to all of them, each with its share."""
    below, sums = np.cumsum(shares), np.cumsum(shares * numbers)
    return np.asarray(numbers * (2.0 * below - below[-1]) - 2.0 * sums + sums[-1])


def _place_columns(
    a: Any,
    b: Any,
    tax_a: Taxonomy,
    tax_b: Taxonomy,
    measure: str,
    root: str,
    information_content: str,
    weights: Any = None,
) -> tuple[NominalSpace, NominalSpace, Any]:
    columns = encode_together(a, b, weights=weights)
    of_a, of_b = (
        nominal_space(column, tax, measure=measure, root=root, information_content=information_content)
        for column, tax in zip(columns, (tax_a, tax_b), strict=True)
    )
    return of_a, of_b, joint_shares(*columns)


@dataclass(frozen=True, slots=True)
class _Dependence:
    """Covariance and variances of a correlation."""

    covariance: Squared
    variance_a: Squared
    variance_b: Squared
    n_records: float


def _dependence(
    a: Any,
    b: Any,
    tax_a: Taxonomy,
    tax_b: Taxonomy,
    measure: str,
    root: str,
    information_content: str,
    weights: Any = None,
) -> _Dependence:
    of_a, of_b, shares = _place_columns(a, b, tax_a, tax_b, measure, root, information_content, weights)
    if isinstance(shares, np.ndarray):
        both = TwoColumns(spread(of_a), spread(of_b), shares)
        return _Dependence(both.covariance(), both.a.variance(), both.b.variance(), both.n_records)
    if of_a.counts.size > of_b.counts.size:
        covariance, variance_b, variance_a = _in_bands(of_b, of_a, shares.T)
    else:
        covariance, variance_a, variance_b = _in_bands(of_a, of_b, shares)
    return _Dependence(covariance, variance_a, variance_b, of_a.n_records)


def _in_bands(few: NominalSpace, many: NominalSpace, shares: Any) -> tuple[Squared, Squared, Squared]:
    """The covariance and both variances; the distances of the column of many values are never all there at once."""
    of_few, pairs, weights = spread(few), _by_column(shares), many.shares
    n_bands = len(bands(weights.size))
    products, squares = np.empty(n_bands), np.empty(n_bands)
    means: list[tuple[Longs, Floats]] = [(np.empty(0, np.int64), np.empty(0))] * n_bands

    def add(row: slice, values: Longs, band: Floats) -> None:
        place, of_values = row.start // BAND, np.zeros(values.size)
        squares[place] = kernels.weigh_band(band, weights[values], of_values)
        means[place] = values, of_values
        products[place] = kernels.mean_product(of_few.distances, band, 0, values, *pairs)

    many.distance_bands(add)
    row_means = np.zeros(weights.size)
    for values, of_values in means:
        row_means[values] += of_values
    of_many = Means(weights, row_means, float(squares.sum()), many.n_records)
    return _covariance(of_few, of_many, shares, float(products.sum())), of_few.variance(), of_many.variance()


def _covariance(a: Means, b: Means, shares: Any, product: float) -> Squared:
    """From the mean product of the distances of two records in both columns."""
    of_rows = dot(
        a.row_means, matrix_product(shares, b.row_means) if isinstance(shares, np.ndarray) else shares @ b.row_means
    )
    return Squared.of_means(product, a.mean * b.mean, of_rows, a.n_records)


def _mean_product(of_a: Floats, of_b: Floats, shares: Any) -> float:
    """Σ (Dᴬ P) ∘ (P Dᴮ): the mean product of the distances of two records in both columns."""
    if isinstance(shares, np.ndarray):
        left, right = matrix_product(shares.T, of_a), matrix_product(shares, of_b)
        return dot(left.T.ravel(), right.ravel())
    if of_a.shape[0] > of_b.shape[0]:
        of_a, of_b, shares = of_b, of_a, shares.T
    pairs, values = _by_column(shares), np.arange(of_b.shape[0])
    rows = bands(values.size)
    parts = np.empty(len(rows))

    def add(row: slice) -> None:
        parts[row.start // BAND] = kernels.mean_product(of_a, of_b[row], row.start, values[row.start :], *pairs)

    in_threads(add, rows)
    return float(parts.sum())


def _by_column(shares: Any) -> tuple[Ints, Ints, Floats]:
    """A sparse table by its columns: where each starts, and the row and the number of each filled cell."""
    table = shares.tocsc()
    return table.indptr.astype(np.int32, copy=False), table.indices.astype(np.int32, copy=False), table.data


def too_few_pairs(what: str, needed: int, found: float) -> TooFewRecordsError:
    """A statistic that is not defined for this number of records."""
    return TooFewRecordsError(f"{what} needs at least {needed:,} records with both values; there are {found:,}.")


def negative_radicand(what: str, radicand: float) -> AnontoWarning:
    """A squared distance covariance below zero: the distance is not of negative type on this data."""
    return AnontoWarning(
        f"The squared {what} is {radicand:.6g} and was set to 0: the distance is not of negative type on these "
        "values (possible for sets, and on a taxonomy where concepts have several parents); the measure 'ancestor' of "
        "single concepts always is."
    )
