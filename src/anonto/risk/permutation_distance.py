"""Permutation distance: how far in rank the released record that comes closest to a person is from hers.

Any masking can be seen as a permutation of the original ranks plus a little noise. For a person with record x it is the
least, over released records y, of the largest difference in rank over the columns. The rank of a number is its mid-rank
among the released numbers; that of a nominal value is its mid-rank in the order of distance from the person's own
value. A person can check her own record.

References: Domingo-Ferrer, Muralidhar, Information Sciences 337–338 (2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.risk import kernels
from anonto.risk.attacks.permutation_distance import PermutationDistance
from anonto.risk.rate import Risk, wilson_interval
from anonto.table.attributes import NumericAttribute
from anonto.table.records import distinct_rows
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Floats = NDArray[np.float64]

PERSONS_AT_ONCE = 64
ROWS_AT_ONCE = 256
"""Rows of a table of ranks that are found together."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def permutation_distance(columns: Sequence[ComparedColumn], rows: NDArray[np.int64] | None = None) -> Risk:
    """The distribution of the permutation distances of persons, as shares of the number of records.

    Args:
        columns: What is compared.
        rows: The persons; None for all.
    """
    n_rows = max(columns[0].n_rows, 1)
    # Where no released record lacks the same cells, the nearest is as far as ranks go.
    shifts = np.minimum(permutation_distances(columns, rows), n_rows)
    hits = float(np.count_nonzero(shifts == 0))
    low, high = wilson_interval(hits, shifts.size)
    quantiles = np.quantile(shifts, QUANTILES) if shifts.size else np.zeros(len(QUANTILES))
    return Risk(
        attack=PermutationDistance.name,
        knowledge="the original values of one person in these columns; the rate is the share of persons of whom a "
        "released record has exactly the ranks",
        columns=tuple(column.name for column in columns),
        rate=hits / shifts.size if shifts.size else 0.0,
        low=low,
        high=high,
        baseline=_of_random_records(columns, rows),
        n=int(shifts.size),
        details={
            "quantiles": {f"{q:g}": float(shift) for q, shift in zip(QUANTILES, quantiles, strict=True)},
            "quantiles_of_records": {
                f"{q:g}": float(shift / n_rows) for q, shift in zip(QUANTILES, quantiles, strict=True)
            },
        },
    )


def permutation_distances(columns: Sequence[ComparedColumn], rows: NDArray[np.int64] | None = None) -> Floats:
    """For each person the permutation distance, in ranks."""
    chosen = columns if rows is None else [column.taken(rows) for column in columns]
    targets, number = distinct_rows([column.original for column in chosen])
    released, _ = distinct_rows([column.masked for column in columns])
    tables, widths = [], []
    own, row_of_target = np.zeros(targets.shape), targets.copy()
    ranks = np.zeros(released.shape)
    for place, column in enumerate(columns):
        counts = column.counts("masked")[:-1]
        if isinstance(column.attribute, NumericAttribute):
            mid = np.append(_mid_ranks(column.attribute.numbers, counts), 0.0)
            own[:, place], ranks[:, place] = mid[targets[:, place]], mid[released[:, place]]
            tables.append(np.empty(0))
            widths.append(0)
            continue
        values = np.unique(targets[targets[:, place] >= 0, place])
        table = np.empty((values.size, column.n_values))
        for part in slices(0, values.size, ROWS_AT_ONCE):
            distances = np.round(column.attribute.distances_from(values[part]), 12)
            table[part] = np.array([_mid_ranks(row, counts) for row in distances])
        row_of = np.full(column.n_values + 1, -1, dtype=np.int32)
        row_of[values] = np.arange(values.size, dtype=np.int32)
        row_of_target[:, place] = row_of[targets[:, place]]
        own[:, place] = np.append(table[np.arange(values.size), values], 0.0)[row_of_target[:, place]]
        tables.append(table.ravel())
        widths.append(column.n_values)
    sizes = np.array([table.size for table in tables], dtype=np.int64)
    flat, offsets = np.concatenate(tables), np.cumsum(sizes) - sizes
    out = np.empty(targets.shape[0])

    def search(part: slice) -> None:
        kernels.least_largest_shift(
            row_of_target[part],
            own[part],
            released,
            ranks,
            flat,
            offsets,
            np.array(widths, dtype=np.int64),
            out[part],
        )

    in_threads(search, slices(0, targets.shape[0], PERSONS_AT_ONCE))
    return out[number]


def _mid_ranks(keys: Floats, counts: NDArray[np.int64]) -> Floats:
    """For each value the mean rank of the rows at its key; rows of equal keys share it."""
    distinct, place = np.unique(keys, return_inverse=True)
    at_key = np.bincount(place, weights=counts, minlength=distinct.size)
    before = np.cumsum(at_key) - at_key
    return np.asarray((before + (at_key + 1.0) / 2.0)[place])


def _of_random_records(columns: Sequence[ComparedColumn], rows: NDArray[np.int64] | None) -> float:
    """How often a released record has exactly a person's values when every column is dealt out at random.

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
