"""Distances of distinct records of any mix of columns, and a tree over the records for searches by them.

The distance of two records is the weighted mean of the distances of the columns that both have, and 1 where they have
none in common. A column with a taxonomy gets a hierarchy of clusters of its values: two values are alike when their
distances to a sample of values are, so that one pair of bounds serves a whole cluster, from near and from far.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.arithmetic import matrix_product
from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.runtime.threads import slices
from anonto.search import record_tree_kernels as kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.arrays import Codes, Floats, Integers, Longs, Shorts
    from anonto.encoding.value_space import ValueSpace


MOST_CLUSTERS = 1024
"""Clusters that the values of a column are cut into at most."""
SAMPLE = 256
"""Values to which values are compared."""
LEAF = 8
"""Records of a node of the tree that is not split further."""
POOL_BYTES = 600_000_000
"""Room for the distances of a column; of a column with more values the rows are found when they are needed."""
ROWS_AT_ONCE = 256
RECORDS_AT_ONCE = 1 << 16


class RecordSpace:
    """Distinct records and the distances between them."""

    def __init__(self, value_spaces: Sequence[ValueSpace], weights: Floats, codes: Codes, counts: Longs) -> None:
        counting = np.flatnonzero(weights > 0)
        self._columns = [_column_of(value_spaces[j]) for j in counting.tolist()]
        self._counts = counts
        self.metric = _metric_of(self._columns, weights[counting] / weights.max())
        self._clusters = _clusters_of(self._columns)
        chosen = np.ascontiguousarray(codes[:, counting])
        places = [np.append(column.places, np.nan)[chosen[:, j]] for j, column in enumerate(self._columns)]
        self.points = kernels.Points(chosen, np.stack(places, axis=1))
        self._patterns, pattern_of = np.unique(chosen >= 0, axis=0, return_inverse=True)
        self._pattern_of = pattern_of.ravel()

    @property
    def bytes_of_tables(self) -> int:
        """Bytes of the distances between values."""
        return self.metric.distances.coded.nbytes + self.metric.distances.plain.nbytes

    def tree(self, rows: Longs) -> kernels.CountedTree:
        """A tree over the records that have rows."""
        there = np.flatnonzero(rows)
        pattern = self._pattern_of[there]
        order = there[np.argsort(pattern, kind="stable")].astype(np.int32)
        sizes = np.bincount(pattern)
        begins = _firsts(sizes[sizes > 0]).astype(np.int32)
        tree = kernels.grow(order, begins, LEAF, self.points, self.metric, self._clusters)
        return kernels.CountedTree(tree, kernels.rows_of_nodes(tree, rows), rows)

    def look_up(self, record: int) -> None:
        """Bring the distances of a record's values into the pool, in the place of others."""
        for j, column in enumerate(self._columns):
            value = int(self.points.codes[record, j])
            if column.hierarchy is not None and value >= 0:
                column.hierarchy.look_up(value)

    def mean_distances(self) -> Floats:
        """The mean distance of each record to all rows.

        Records that lack the same columns are taken together, so the sum over all rows is one over values.
        """
        codes, weights, patterns = self.points.codes, self.metric.distances.weights, self._patterns
        common = matrix_product(patterns * weights, patterns.T)
        rows_of_pattern = np.bincount(self._pattern_of, weights=self._counts)
        sums = matrix_product(common == 0, rows_of_pattern)[self._pattern_of].astype(np.longdouble)
        for j, column in enumerate(self._columns):
            has = np.flatnonzero(codes[:, j] >= 0)
            values, pattern = codes[has, j], self._pattern_of[has]
            of_pattern = np.zeros((column.n_values, len(patterns)))
            np.add.at(of_pattern, (values, pattern), self._counts[has])
            shares = np.divide(weights[j], common, out=np.zeros_like(common), where=common > 0)
            summed = column.sum_distances(of_pattern)
            for part in slices(0, has.size, RECORDS_AT_ONCE):
                sums[has[part]] += (summed[values[part]] * shares[pattern[part]]).sum(axis=1)
        return np.asarray(sums / self._counts.sum(), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _WeightedColumn:
    """A column that counts."""

    kind: int
    n_values: int
    extent: float
    places: Floats
    """The place of each value on a line: the number itself, its code, or its place among the clusters."""
    hierarchy: _Hierarchy | None = None

    def sum_distances(self, weights: Floats) -> NDArray[np.longdouble]:
        """The sum of the distances of each value to all values; ``weights``: values × any number of weights."""
        if self.hierarchy is not None:
            return self.hierarchy.sum_distances(weights)
        if self.kind == kernels.EQUALITY:
            return np.asarray(weights.sum(axis=0) - weights, dtype=np.longdouble)
        order = np.argsort(self.places, kind="stable")
        numbers = ((self.places[order] - self.places[order[0]]) / self.extent)[:, None]
        sorted_weights = weights[order].astype(np.longdouble)
        below, moments = np.cumsum(sorted_weights, axis=0), np.cumsum(sorted_weights * numbers, axis=0)
        out = np.empty(weights.shape, dtype=np.longdouble)
        out[order] = numbers * (2 * below - below[-1]) - (2 * moments - moments[-1])
        return out


def _column_of(value_space: ValueSpace) -> _WeightedColumn:
    n_values = value_space.counts.size
    if isinstance(value_space, NumericSpace):
        extent = float(np.ptp(value_space.numbers)) or 1.0
        return _WeightedColumn(kernels.NUMBER, n_values, extent, value_space.numbers)
    if isinstance(value_space, TextSpace):
        return _WeightedColumn(kernels.EQUALITY, n_values, float(n_values), np.arange(n_values, dtype=np.float64))
    hierarchy = _Hierarchy(value_space)
    places = np.empty(n_values)
    places[hierarchy.order] = np.arange(n_values)
    return _WeightedColumn(kernels.LEVELS, n_values, 1.0, places, hierarchy)


class _Levels:
    """The different distances of a column, numbered as they come."""

    def __init__(self) -> None:
        self._bits = np.empty(kernels.MOST_LEVELS, dtype=np.int64)
        self._heads = np.full(4 * kernels.MOST_LEVELS, -1, dtype=np.int32)
        self._n = 0

    def encode_rows(self, rows: Floats) -> Shorts | None:
        """Rows with the numbers of their distances; None when there are too many different ones."""
        out = np.empty(rows.shape, dtype=np.uint16)
        self._n = kernels.number_levels(rows.view(np.int64).ravel(), self._heads, self._bits, self._n, out.ravel())
        return None if self._n < 0 else out

    @property
    def distances(self) -> Floats:
        """The distance behind each number."""
        return self._bits[: self._n].view(np.float64)


class _Hierarchy:
    """The values of a column in clusters of clusters, and their distances to values and clusters."""

    def __init__(self, value_space: ValueSpace) -> None:
        self._attribute = value_space
        self.n_values = value_space.counts.size
        self.order = np.arange(self.n_values, dtype=np.int32)
        """The values, those of a cluster standing together."""
        sample = np.unique(np.linspace(0, self.n_values - 1, SAMPLE).astype(np.int64))
        self._profiles = np.ascontiguousarray(value_space.distances_from(sample).T)
        self.begins, self.ends, self.splits, self.lefts, self.rights = self._halve()
        self.width = self.n_values + 2 * self.begins.size
        self.gaps = self._gaps(sample)
        self._next_slot = 0

    def n_slots(self, item_bytes: int) -> int:
        """How many rows there is room for."""
        return min(self.n_values, max(1, POOL_BYTES // (item_bytes * self.width)))

    def settle(self, pool: NDArray[Any], slots: Codes, levels: _Levels | None) -> bool:
        """Take a pool of rows and fill it if there is room for all; False if there are too many levels."""
        self._pool, self._slots, self.levels = pool.reshape(-1, self.width), slots, levels
        self._has_all = len(self._pool) == self.n_values
        for part in slices(0, self.n_values, ROWS_AT_ONCE):
            if levels is None and not self._has_all:
                break
            rows = self._encode_rows(np.arange(part.start, part.stop))
            if rows is None:
                return False
            if self._has_all:
                self._pool[part] = rows
        if self._has_all:
            self._slots[:] = np.arange(self.n_values)
        return True

    def look_up(self, value: int) -> None:
        """Put the row of a value into the pool, in the place of the one that came first."""
        if self._slots[value] < 0:
            self._slots[self._slots == self._next_slot] = -1
            self._slots[value] = self._next_slot
            self._pool[self._next_slot] = self._encode_rows(np.array([value]))
            self._next_slot = (self._next_slot + 1) % len(self._pool)

    def sum_distances(self, weights: Floats) -> NDArray[np.longdouble]:
        """The sum of the distances of each value to all values; ``weights``: values × any number of weights."""
        out = np.empty(weights.shape, dtype=np.longdouble)
        for part in slices(0, self.n_values, ROWS_AT_ONCE):
            if self._has_all:
                rows = self._pool[part, : self.n_values]
                distances = rows if self.levels is None else self.levels.distances[rows]
            else:
                distances = self._attribute.distances_from(np.arange(part.start, part.stop))
            out[part] = matrix_product(distances, weights)
        return out

    def _encode_rows(self, values: Longs) -> NDArray[Any] | None:
        rows = self._rows(values)
        return rows if self.levels is None else self.levels.encode_rows(rows)

    def _rows(self, values: Longs) -> Floats:
        """The distances of values to all values, and the smallest and the largest to each cluster."""
        out = np.empty((values.size, self.width))
        out[:, : self.n_values] = self._attribute.distances_from(values)
        kernels.fill_bounds(out, self.order, self.begins, self.ends, self.splits, self.lefts, self.rights)
        return out

    def _gaps(self, sample: Longs) -> Floats:
        rows, n_clusters = self._rows(sample), self.begins.size
        lowest, highest = np.split(rows[:, self.n_values :], [n_clusters], axis=1)
        return np.asarray((highest - lowest).mean(axis=0))

    def _halve(self) -> tuple[Codes, ...]:
        """Halve the largest cluster, again and again: where each begins and ends, and its halves."""
        clusters = [[0, self.n_values, -1, -1, -1]] if self.n_values > 1 else []
        waiting = [(-self.n_values, number) for number in range(len(clusters))]
        while waiting and len(clusters) < MOST_CLUSTERS:
            _, number = heappop(waiting)
            begin, end = clusters[number][:2]
            halves = self._halves(self.order[begin:end])
            if halves is None:
                continue
            self.order[begin:end] = np.concatenate(halves)
            split = begin + halves[0].size
            clusters[number][2] = split
            for side, first, last in ((3, begin, split), (4, split, end)):
                if last - first > 1:
                    clusters[number][side] = len(clusters)
                    heappush(waiting, (first - last, len(clusters)))
                    clusters.append([first, last, -1, -1, -1])
        return tuple(np.array(clusters, dtype=np.int32).reshape(-1, 5).T.copy())

    def _halves(self, values: Codes) -> tuple[Codes, Codes] | None:
        """Around two values that differ much; undecided ones go where fewer are. None where no two differ."""
        profiles = self._profiles[values]
        from_one = _differences(profiles, int(np.argmax(_differences(profiles, 0))))
        if not from_one.any():
            return None
        side = np.sign(from_one - _differences(profiles, int(np.argmax(from_one))))
        undecided = np.flatnonzero(side == 0)
        n_lacking = (undecided.size - int(side.sum())) // 2
        side[undecided] = np.where(np.arange(undecided.size) < undecided.size - n_lacking, -1, 1)
        return values[side < 0], values[side > 0]


def _differences(profiles: Floats, one: int) -> Floats:
    """How much profiles differ from one of them."""
    return np.asarray(np.round(np.abs(profiles - profiles[one]).mean(axis=1), 12))


def _metric_of(columns: Sequence[_WeightedColumn], weights: Floats) -> kernels.Metric:
    """Lay out the tables of all columns one behind the other, as levels where these are few enough."""
    hierarchies = [column.hierarchy for column in columns]
    first_slots = _firsts([0 if one is None else one.n_values for one in hierarchies])
    slots = np.full(first_slots[-1], -1, dtype=np.int32)
    kinds = np.array([column.kind for column in columns], dtype=np.int8)
    pools: dict[int, NDArray[Any]] = {}
    starts = np.zeros(len(columns), dtype=np.int64)
    for kind, dtype in ((kernels.LEVELS, np.dtype(np.uint16)), (kernels.TABLE, np.dtype(np.float64))):
        sizes = [
            0 if one is None or kinds[j] != kind else one.n_slots(dtype.itemsize) * one.width
            for j, one in enumerate(hierarchies)
        ]
        begins, pools[kind] = _firsts(sizes), np.empty(sum(sizes), dtype=dtype)
        for j, one in enumerate(hierarchies):
            if one is not None and kinds[j] == kind:
                starts[j] = begins[j]
                pool, own_slots = pools[kind][begins[j] : begins[j + 1]], slots[first_slots[j] : first_slots[j + 1]]
                if not one.settle(pool, own_slots, _Levels() if kind == kernels.LEVELS else None):
                    kinds[j] = kernels.TABLE
    levels = [np.empty(0) if one is None or one.levels is None else one.levels.distances for one in hierarchies]
    distances = kernels.ValueDistances(
        kinds=kinds,
        weights=weights,
        extents=np.array([column.extent for column in columns]),
        levels=np.concatenate(levels),
        first_levels=_firsts([len(one) for one in levels])[:-1],
        coded=pools[kernels.LEVELS],
        plain=pools[kernels.TABLE],
    )
    widths = np.array([0 if one is None else one.width for one in hierarchies], dtype=np.int64)
    return kernels.Metric(distances, starts, widths, slots, first_slots[:-1])


def _clusters_of(columns: Sequence[_WeightedColumn]) -> kernels.Clusters:
    hierarchies = [column.hierarchy for column in columns]
    there = [one for one in hierarchies if one is not None]
    none = np.empty(0, dtype=np.int32)
    return kernels.Clusters(
        firsts=_firsts([0 if one is None else one.begins.size for one in hierarchies]),
        value_firsts=_firsts([0 if one is None else one.n_values for one in hierarchies]),
        value_at=np.concatenate([none, *(one.order for one in there)]),
        splits=np.concatenate([none, *(one.splits for one in there)]),
        lefts=np.concatenate([none, *(one.lefts for one in there)]),
        rights=np.concatenate([none, *(one.rights for one in there)]),
        gaps=np.concatenate([np.empty(0), *(one.gaps for one in there)]),
    )


def _firsts(sizes: Sequence[int] | Integers) -> Longs:
    """Offsets of consecutive parts of these sizes, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
