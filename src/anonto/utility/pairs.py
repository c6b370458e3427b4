"""Information loss of pairs of columns: how their dependence changed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import Column
from anonto.encoding.description import KINDS_OF_NUMBERS
from anonto.encoding.records import count_records
from anonto.encoding.value_space import NumericSpace
from anonto.stats.contingency import shares_of_counts
from anonto.stats.dependence import Spread, TwoColumns

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.comparison import ComparedColumn
    from anonto.utility.sampling import Sampling


MOST_VALUES = 3_000
MOST_ROWS_OF_LARGE = 2_000
"""Number of rows on which dependence is measured where a nominal column has more values than `MOST_VALUES`."""
LEVELS_OF_NUMBERS = 2_000
"""Number of levels of equal width to which numbers with more values than `MOST_VALUES` are rounded first."""


def pair_losses(
    columns: Sequence[ComparedColumn], sampling: Sampling, about: Collection[str] | None = None
) -> list[dict[str, Any]]:
    """The distance correlation of each pair of columns before and after, and the statistics that apply to its kinds.

    The figures of the original are those of the original alone: another release of it has the same. Where rows have
    weights, all figures but ``n`` are about the people that they stand for.

    Args:
        columns: All columns that have distances.
        sampling: For the rows on which nominal columns of very many values are measured.
        about: Names of columns; pairs without any of them are left out.
    """
    sample = sampling.some("pairs of columns", columns[0].n_persons if columns else 0, MOST_ROWS_OF_LARGE)
    tables = {column.name: _distances(column) for column in columns}
    pairs = [(a, b) for a, b in combinations(columns, 2) if about is None or a.name in about or b.name in about]
    return [_losses(a, b, tables, sample) for a, b in pairs]


def _distances(column: ComparedColumn) -> Floats | None:
    """Distances of all pairs of values; None for numbers and for too many values, if possible by the original alone."""
    n_original = int(np.count_nonzero(column.counts("original")[:-1]))
    too_many = n_original > MOST_VALUES or column.n_values > 2 * MOST_VALUES
    return None if too_many or isinstance(column.value_space, NumericSpace) else column.value_space.distances()


def _losses(a: ComparedColumn, b: ComparedColumn, tables: Mapping[str, Floats | None], sample: Longs) -> dict[str, Any]:
    correlations, n_records = {}, {}
    for which in ("original", "masked"):
        is_large = any(tables[one.name] is None and not isinstance(one.value_space, NumericSpace) for one in (a, b))
        cells = _Both.of(a.take_rows(sample), b.take_rows(sample), which) if is_large else _Both.of(a, b, which)
        n_records[which] = cells.n_rows
        correlations[which] = _distance_correlation(a, b, cells, tables)
    found: dict[str, Any] = {
        "columns": [a.name, b.name],
        "distance_correlation": correlations,
        "n": n_records["original"],
        **_others(a, b),
    }
    return found


@dataclass(frozen=True, slots=True)
class _Both:
    """The rows of a table that have a value in both of two columns."""

    a: Codes
    b: Codes
    amounts: Any
    """How many rows each represents, or how many people it stands for."""
    n_rows: int
    """Rows of the table."""

    @classmethod
    def of(cls, a: ComparedColumn, b: ComparedColumn, which: str) -> _Both:
        (codes_a, rows), (codes_b, _), amounts = a.side(which), b.side(which), a.weighed(which)
        both = (codes_a >= 0) & (codes_b >= 0)
        counted = both & (amounts > 0)
        return cls(codes_a[counted], codes_b[counted], amounts[counted], int(rows[both].sum()))

    @property
    def n(self) -> float:
        """The sum of all amounts."""
        return float(self.amounts.sum())


def _distance_correlation(
    a: ComparedColumn, b: ComparedColumn, cells: _Both, tables: Mapping[str, Floats | None]
) -> float:
    if cells.n_rows < 2 or not cells.n:
        return 0.0
    (of_a, new_a), (of_b, new_b) = _spread(a, cells.a, cells, tables), _spread(b, cells.b, cells, tables)
    shape = len(new_a.values), len(new_b.values)
    shares = shares_of_counts(new_a.codes, new_b.codes, cells.amounts, shape)
    variances = of_a.variance(), of_b.variance()
    scale = math.sqrt(max(variances[0].plain, 0.0) * max(variances[1].plain, 0.0))
    if any(one.plain <= one.rounding for one in variances) or not scale:
        return 0.0
    covariance = TwoColumns(of_a, of_b, shares).covariance()
    return min(1.0, math.sqrt(max(covariance.plain, 0.0) / scale))


def _spread(
    column: ComparedColumn, codes: Codes, cells: _Both, tables: Mapping[str, Floats | None]
) -> tuple[Spread, Column]:
    """The distances of the values that occur, with their shares, and the column in those values alone."""
    present, new = np.unique(codes, return_inverse=True)
    table = tables[column.name]
    if isinstance(column.value_space, NumericSpace):
        numbers = column.value_space.numbers[present]
        if present.size > MOST_VALUES:
            numbers, level_of = _levels(numbers)
            new = level_of[new]
        distances = replace(column.value_space, numbers=numbers, extent=column.value_space.scale).distances()
    elif table is not None:
        distances = np.ascontiguousarray(table[np.ix_(present, present)])
    else:
        grid = np.meshgrid(present, present, indexing="ij")
        pairs = column.value_space.pair_distances(grid[0].ravel(), grid[1].ravel())
        distances = pairs.reshape(present.size, present.size)
    n_values = distances.shape[0]
    shares = count_records(new, n_values, cells.amounts) / cells.n
    return Spread.of(distances, shares, cells.n), Column(tuple(map(str, range(n_values))), new.astype(np.int32))


def _levels(numbers: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Numbers brought to levels of equal width: the levels that occur, and which one each number has."""
    least, halves = numbers.min(), numbers / 2.0 - numbers.min() / 2.0
    step = halves.max() / LEVELS_OF_NUMBERS
    levels, level_of = np.unique(np.rint(halves / step), return_inverse=True)
    return np.asarray(least + levels * step * 2.0), level_of


def _others(a: ComparedColumn, b: ComparedColumn) -> dict[str, Any]:
    """Pearson's correlation for numbers and ranks; Cramér's V and the change of the cross table for all but numbers."""
    found: dict[str, Any] = {}
    if all(isinstance(one.value_space, NumericSpace) for one in (a, b)):
        found["pearson"] = {which: _pearson(a, b, which) for which in ("original", "masked")}
    if all(one.description.kind not in KINDS_OF_NUMBERS for one in (a, b)):
        found["cramers_v"] = {which: _cramers_v(a, b, which) for which in ("original", "masked")}
        found["cross_table_bias"] = _cross_table_bias(a, b)
    return found


def _pearson(a: ComparedColumn, b: ComparedColumn, which: str) -> float:
    cells = _Both.of(a, b, which)
    x, y = _between_0_and_1(a, cells.a), _between_0_and_1(b, cells.b)
    if x.size < 2 or not np.ptp(x) or not np.ptp(y):
        return 0.0
    x, y = x - np.average(x, weights=cells.amounts), y - np.average(y, weights=cells.amounts)
    u, v = x * cells.amounts, y * cells.amounts
    return float(np.clip(u @ y / math.sqrt(float(u @ x) * float(v @ y)), -1.0, 1.0))


def _between_0_and_1(column: ComparedColumn, codes: Codes) -> Floats:
    """Numbers moved and divided by their range: correlations stay, and no sum of squares overflows."""
    numbers: Floats = column.value_space.numbers[codes]  # type: ignore[attr-defined]
    if not numbers.size:
        return numbers
    halves = numbers / 2.0 - numbers.min() / 2.0
    return np.asarray(halves / (halves.max() or 1.0))


def _cramers_v(a: ComparedColumn, b: ComparedColumn, which: str) -> float:
    """Bergsma's bias-corrected form is not used: both tables have the same bias, and the plain one is better known."""
    cells = _Both.of(a, b, which)
    n = cells.n
    if not n:
        return 0.0
    keys, place = np.unique(cells.a.astype(np.int64) * b.n_values + cells.b, return_inverse=True)
    counts = count_records(place, keys.size, cells.amounts)
    margin_a, margin_b = (
        count_records(codes, one.n_values, cells.amounts) for one, codes in ((a, cells.a), (b, cells.b))
    )
    smaller = min(np.count_nonzero(margin_a), np.count_nonzero(margin_b)) - 1
    if smaller < 1:
        return 0.0
    expected = margin_a[keys // b.n_values] / n * margin_b[keys % b.n_values]
    squared = float((counts.astype(np.float64) ** 2 / expected).sum()) - n
    return math.sqrt(max(0.0, squared) / (n * smaller))


def _cross_table_bias(a: ComparedColumn, b: ComparedColumn) -> float:
    """Half the sum of the absolute differences of the shares of all pairs of values: 0 for none, 1 for all."""
    keys = [
        (column_a.astype(np.int64) + 1) * (b.n_values + 1) + column_b + 1
        for column_a, column_b in ((a.original, b.original), (a.masked, b.masked))
    ]
    amounts = a.weighed("original"), a.weighed("masked")
    total = float(amounts[1].sum())
    if not total:
        return 0.0
    unique, place = np.unique(np.concatenate(keys), return_inverse=True)
    sides = place[: keys[0].size], place[keys[0].size :]
    change = np.subtract(*(count_records(one, unique.size, each) for one, each in zip(sides, amounts, strict=True)))
    return float(np.abs(change).sum()) / (2.0 * total)
