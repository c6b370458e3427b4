r"""Bins of equal depth (MEDS), row by row: the same bins as `anonto.methods.equi_depth_swap`.

$$(r, s) = \arg\max_{i, j \in R} \lVert x_i - x_j \rVert, \qquad
b_r = \{r\} \cup \text{its } k - 1 \text{ nearest in } R$$

and then $b_s$ of the rest. Nothing is random: of equal distances, whose squares are rounded to 12 decimals, the lowest
record counts. Inside a bin the compiled loop has another order of rows. `pair_swap` is the exchange that follows.

Reference: Li, Shen, Multivariate equi-width data swapping, PAKDD 2010, Algorithm 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.value_space import NumericSpace
from anonto.methods.bins import Bins, join_bins, strata

if TYPE_CHECKING:
    from anonto.arrays import Floats, Longs
    from anonto.encoding.records import Records


def equi_depth_bins(records: Records, k: int, *, standardise: bool = True) -> Bins:
    """Bins of k rows, one pattern of missing cells after the other.

    Args:
        records: The distinct records.
        k: Rows of a bin.
        standardise: Whether squared distances of each column are divided by its variance.
    """
    distances = squared_distances(records, standardise=standardise)
    parts = []
    for stratum in strata(records, min(k, 2)):
        rows = np.repeat(stratum, records.counts[stratum])
        present = np.flatnonzero(records.codes[stratum[0]] >= 0)
        value_space = records.value_spaces[present[0]]
        if present.size == 1 and isinstance(value_space, NumericSpace):
            parts += consecutive(rows, value_space.numbers[records.codes[rows, present[0]]], k)
        else:
            parts += around_farthest_pairs(rows, distances, k)
    return join_bins([Bins(part.astype(np.int32), np.array([0, part.size])) for part in parts])


def around_farthest_pairs(rest: Longs, distances: Floats, k: int) -> list[Longs]:
    """Bins of k rows around the two ends of the farthest pair, again and again."""
    bins = []
    while rest.size >= 2 * k:
        # Step 1: r and s are the two rows that are farthest apart; of several pairs the first.
        between = distances[np.ix_(rest, rest)]
        np.fill_diagonal(between, -1.0)
        r, s = (int(place) for place in np.unravel_index(np.argmax(between), between.shape))
        # Step 2: r and the k − 1 rows nearest to it are a bin.
        record_of_s = rest[s]
        around_r, rest = around(rest, r, distances, k)
        # Step 3: so are s and the k − 1 rows nearest to it of the rest. Where all rows are as far from r as s, that may
        # be in the bin of r; then all before it are there too, and the first row of the rest takes its place.
        around_s, rest = around(rest, int(np.searchsorted(rest, record_of_s)), distances, k)
        bins += [around_r, around_s]
    # The paper forgets the rows that are left, fewer than 2k: they are the last bin.
    return [*bins, rest] if rest.size else bins


def around(rest: Longs, place: int, distances: Floats, k: int) -> tuple[Longs, Longs]:
    """A row with the k − 1 rows nearest to it, and the rows that are left."""
    others = np.delete(rest, place)
    by_distance = np.argsort(distances[rest[place], others], kind="stable")
    return np.append(rest[place], others[by_distance[: k - 1]]), np.sort(others[by_distance[k - 1 :]])


def consecutive(rows: Longs, numbers: Floats, k: int) -> list[Longs]:
    """One column of numbers: bins of k rows in their order, of which the last takes the rows that are left."""
    in_order = rows[np.argsort(numbers, kind="stable")]
    return np.split(in_order, np.arange(1, max(1, rows.size // k)) * k)


def squared_distances(records: Records, *, standardise: bool) -> Floats:
    """All pairs of records: the weighted sum of the squared distances of their values; the largest weight is 1."""
    tables = [value_space.distances() ** 2 for value_space in records.value_spaces]
    if standardise:
        shares = [value_space.counts / max(value_space.counts.sum(), 1) for value_space in records.value_spaces]
        variances = np.array([share @ table @ share / 2 for share, table in zip(shares, tables, strict=True)])
        weights = np.divide(1.0, variances, out=np.zeros(variances.size), where=variances > 0)
    else:
        ranges = [one.scale if isinstance(one, NumericSpace) else 1.0 for one in records.value_spaces]
        weights = np.array(ranges) ** 2
    total = np.zeros((records.counts.size,) * 2)
    for table, weight, codes in zip(tables, weights / (weights.max() or 1.0), records.codes.T, strict=True):
        total += weight * np.pad(table, (0, 1))[np.ix_(codes, codes)]
    return np.asarray(np.rint(total * 1e12))
