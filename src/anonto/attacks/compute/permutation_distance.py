"""Permutation distance: how far in rank a person's record is from the closest released record.

Any masking can be seen as a permutation of the original ranks plus a little noise. The distance of a person with record
x is the least, over released records y, of the largest difference in rank over the columns. The rank of a number is its
mid-rank among the released numbers; that of a nominal value is its mid-rank in the order of distance from the person's
own value. A person can check her own record.

References: Domingo-Ferrer, Muralidhar, Information Sciences 337–338 (2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute import kernels
from anonto.attacks.permutation_distance import PermutationDistance
from anonto.attacks.rate import Risk
from anonto.encoding.records import distinct_rows
from anonto.encoding.value_space import NumericSpace
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.encoding.comparison import ComparedColumn


PERSONS_AT_ONCE = 64
ROWS_AT_ONCE = 256
"""Rows of a table of ranks that are computed together."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def permutation_distance(columns: Sequence[ComparedColumn], rows: Longs | None = None) -> Risk:
    """The distribution of the permutation distances of persons, as shares of the number of records.

    Args:
        columns: The columns to compare.
        rows: The persons; None for all.
    """
    n_rows = max(columns[0].n_rows, 1)
    # If no released record lacks the same cells, the distance is the largest possible one.
    shifts = np.minimum(permutation_distances(columns, rows), n_rows)
    quantiles = np.quantile(shifts, QUANTILES) if shifts.size else np.zeros(len(QUANTILES))
    return Risk.of_hits(
        float(np.count_nonzero(shifts == 0)),
        int(shifts.size),
        attack=PermutationDistance.name,
        knowledge="the original values of one person in these columns; the rate is the share of persons of whom a "
        "released record has exactly the ranks",
        columns=(column.name for column in columns),
        baseline=_rate_of_random_records(columns, rows),
        details={
            "quantiles": {f"{q:g}": float(shift) for q, shift in zip(QUANTILES, quantiles, strict=True)},
            "quantiles_of_records": {
                f"{q:g}": float(shift / n_rows) for q, shift in zip(QUANTILES, quantiles, strict=True)
            },
        },
    )


def permutation_distances(columns: Sequence[ComparedColumn], rows: Longs | None = None) -> Floats:
    """The permutation distance of each person, in ranks."""
    chosen = columns if rows is None else [column.take_rows(rows) for column in columns]
    targets, number = distinct_rows([column.original for column in chosen])
    released, _ = distinct_rows([column.masked for column in columns])
    tables, widths = [], []
    own, row_of_target = np.zeros(targets.shape), targets.copy()
    ranks = np.zeros(released.shape)
    for place, column in enumerate(columns):
        counts = column.counts("masked")[:-1]
        if isinstance(column.value_space, NumericSpace):
            mid = np.append(_mid_ranks(column.value_space.numbers, counts), 0.0)
            own[:, place], ranks[:, place] = mid[targets[:, place]], mid[released[:, place]]
            tables.append(np.empty(0))
            widths.append(0)
            continue
        values = np.unique(targets[targets[:, place] >= 0, place])
        table = np.empty((values.size, column.n_values))
        for part in slices(0, values.size, ROWS_AT_ONCE):
            distances = np.round(column.value_space.distances_from(values[part]), 12)
            table[part] = np.array([_mid_ranks(row, counts) for row in distances])
        row_of = np.full(column.n_values + 1, -1, dtype=np.int32)
        row_of[values] = np.arange(values.size, dtype=np.int32)
        row_of_target[:, place] = row_of[targets[:, place]]
        own[:, place] = np.append(table[np.arange(values.size), values], 0.0)[row_of_target[:, place]]
        tables.append(table.ravel())
        widths.append(column.n_values)
    sizes = np.array([table.size for table in tables], dtype=np.int64)
    all_ranks = kernels.DistanceTables(
        np.concatenate(tables), np.cumsum(sizes) - sizes, np.array(widths, dtype=np.int64)
    )
    ranked = kernels.RecordArrays(released, ranks)
    out = np.empty(targets.shape[0])

    def search(part: slice) -> None:
        kernels.least_largest_shift(row_of_target[part], own[part], ranked, all_ranks, out[part])

    in_threads(search, slices(0, targets.shape[0], PERSONS_AT_ONCE))
    return out[number]


def _mid_ranks(keys: Floats, counts: Longs) -> Floats:
    """The mean rank of the rows with each value's key."""
    distinct, place = np.unique(keys, return_inverse=True)
    at_key = np.bincount(place, weights=counts, minlength=distinct.size)
    before = np.cumsum(at_key) - at_key
    return np.asarray((before + (at_key + 1.0) / 2.0)[place])


def _rate_of_random_records(columns: Sequence[ComparedColumn], rows: Longs | None) -> float:
    """How often a released record has exactly a person's values when every column is shuffled at random.

    A missing cell is a value too: it equals another missing cell and nothing else.
    """
    n_rows = columns[0].n_rows
    if not n_rows:
        return 0.0
    shares = []
    for column in columns:
        original = column.original if rows is None else column.original[rows]
        shares.append(column.counts("masked")[original] / n_rows)
    of_record = np.prod(shares, axis=0)
    with np.errstate(divide="ignore"):
        return float(np.mean(-np.expm1(n_rows * np.log1p(-of_record)))) if of_record.size else 0.0
