"""Compiled loops that grow the tree of joint rank swapping over distinct records.

Each node of the tree has a box: in every column a cluster of values or an interval of numbers. The distances between a
value and all clusters of its column are in a table, so a box bounds the distances of its records from both sides.

There are two trees, this one and `anonto.search.tree`, because each is faster at some of its own work. Processor time
of 3,000 searches in one, relative to the other (medians of five on two cores, records of the benchmarks, about 50,000
distinct ones):

- joint swapping in the other tree: farthest record 1.3 to 1.9 ×, the 1,000 nearest 1.0 × (two nominal columns) to 2.6 ×
  (a nominal column and two of numbers), the 10 nearest 0.4 to 0.6 ×. A reference needs one search of each kind, so the
  other tree is slower for large k and faster for k = 10; but it finds one farthest record and just the wanted rows,
  where joint swapping needs all that are equally far;
- grouping in this tree: the 9 nearest of four columns of numbers 2.8 ×, the farthest 1.1 ×.

Partners are drawn by their place in the order of this tree, so another order would release other rows for a seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.search.tree_kernels import partition_at

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs, Shorts, SignedBytes

LEVELS, TABLE, NUMBER, EQUALITY = range(4)
"""How the distance of a column is found: in a table of levels or of distances, as a difference divided by the range, or
as 0 or 1."""

MOST_LEVELS = 1 << 16


class ValueDistances(NamedTuple):
    """Distances of values in the columns with a weight."""

    kinds: SignedBytes
    weights: Floats
    extents: Floats
    """The range of a column of numbers; for equality the number of values."""
    levels: Floats
    """The different distances of each column that has few of them."""
    first_levels: Longs
    coded: Shorts
    """Rows of tables, as numbers of levels: from a value to all values, then the least and largest to each cluster."""
    plain: Floats
    """Rows of tables with the distances themselves, for columns with many different ones."""


class Metric(NamedTuple):
    """Distances of values, and where in their pool those of each value are."""

    distances: ValueDistances
    starts: Longs
    """Where the rows of a column begin in its pool."""
    widths: Longs
    """The length of these rows."""
    slots: Ints
    """The row of each value; −1 while it has none."""
    first_slots: Longs
    """Where the values of a column begin there."""


class Points(NamedTuple):
    """Distinct records × the columns with a weight."""

    codes: Ints
    """−1 where a record has no value."""
    places: Floats
    """The number itself, or a place such that clusters are intervals; NaN where a record has no value."""


class Clusters(NamedTuple):
    """The clusters of values of all columns that have a table, column by column."""

    firsts: Longs
    """Where those of a column begin."""
    value_firsts: Longs
    value_at: Ints
    """The value at each place."""
    splits: Ints
    """The place where the second half of a cluster begins; −1 for a cluster that is not split."""
    lefts: Ints
    """The cluster of the first half, counted within the column; −1 for a single value."""
    rights: Ints
    gaps: Floats
    """The average difference between the two bounds of a cluster."""


class Boxes(NamedTuple):
    """Nodes × columns: the cluster of values or the interval of numbers that encloses the records."""

    low_index: Ints
    """Where the lower bound is in the row of a table; −1 where the records have no value."""
    high_index: Ints
    low: Floats
    high: Floats


class RecordTree(NamedTuple):
    """Nodes over records; a parent comes before its children."""

    order: Ints
    """The records, node by node."""
    positions: Ints
    """The place of each record in the order; −1 where it is not in the tree."""
    leaf_of: Ints
    begins: Ints
    ends: Ints
    lefts: Ints
    """−1 for a leaf."""
    rights: Ints
    parents: Ints
    n_roots: int
    """The first nodes; each has the records with values in the same columns."""
    boxes: Boxes


class CountedTree(NamedTuple):
    """A tree with the number of rows of its nodes and records; searches ignore those without rows."""

    tree: RecordTree
    of_node: Longs
    of_record: Longs


@njit(cache=True, nogil=True)
def fill_bounds(
    rows: Floats, value_at: Ints, begins: Ints, ends: Ints, splits: Ints, lefts: Ints, rights: Ints
) -> None:
    """After the distances of values to all values, write the smallest and the largest to each cluster.

    The clusters are those of one column, halves after wholes.
    """
    n_values, n_clusters = value_at.size, begins.size
    for i in range(rows.shape[0]):
        row = rows[i]
        for cluster in range(n_clusters - 1, -1, -1):
            smallest, largest = np.inf, -np.inf
            # A cluster that is not split is bounded by its values, any other by its halves.
            if splits[cluster] < 0:
                for place in range(begins[cluster], ends[cluster]):
                    smallest = min(smallest, row[value_at[place]])
                    largest = max(largest, row[value_at[place]])
            else:
                for half, place in ((lefts[cluster], begins[cluster]), (rights[cluster], splits[cluster])):
                    lowest = value_at[place] if half < 0 else n_values + half
                    highest = value_at[place] if half < 0 else n_values + n_clusters + half
                    smallest = min(smallest, row[lowest])
                    largest = max(largest, row[highest])
            row[n_values + cluster] = smallest
            row[n_values + n_clusters + cluster] = largest


@njit(cache=True, nogil=True)
def number_levels(bits: Longs, heads: Ints, levels: Longs, n_levels: int, out: Shorts) -> int:
    """Number different distances, given by their bits, as they come; return how many there are, −1 for too many.

    ``heads`` is a hash table of the numbers, its size a power of two, and −1 where there is none.
    """
    for i in range(bits.size):
        # Probe from the hash of the bits on, until the distance or a free place is found.
        place = (bits[i] ^ (bits[i] >> 29) ^ (bits[i] >> 47)) & (heads.size - 1)
        while heads[place] >= 0 and levels[heads[place]] != bits[i]:
            place = (place + 1) & (heads.size - 1)
        if heads[place] < 0:
            if n_levels == MOST_LEVELS:
                return -1
            heads[place] = n_levels
            levels[n_levels] = bits[i]
            n_levels += 1
        out[i] = heads[place]
    return n_levels


@njit(cache=True, nogil=True)
def grow(order: Ints, group_begins: Ints, leaf: int, points: Points, metric: Metric, clusters: Clusters) -> RecordTree:
    """A tree over some records, given in groups that have values in the same columns; the order is changed.

    A node of ``leaf`` records or fewer is not split.
    """
    places = points.places
    n_records, n_columns = places.shape
    most = 2 * order.size + 1
    begins, ends = np.empty(most, np.int32), np.empty(most, np.int32)
    lefts, rights = np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    parents = np.full(most, -1, np.int32)
    boxes = Boxes(
        np.empty((most, n_columns), np.int32),
        np.empty((most, n_columns), np.int32),
        np.empty((most, n_columns), np.float64),
        np.empty((most, n_columns), np.float64),
    )
    # One root for each pattern of missing cells.
    n_roots = group_begins.size - 1
    begins[:n_roots], ends[:n_roots] = group_begins[:-1], group_begins[1:]
    node, n_nodes = 0, n_roots
    while node < n_nodes:
        begin, end = begins[node], ends[node]
        column, threshold = _enclose(node, order[begin:end], places, metric.distances, clusters, boxes)
        if column >= 0 and end - begin > leaf:
            middle = begin + _part(order[begin:end], places, column, threshold)
            lefts[node], rights[node] = n_nodes, n_nodes + 1
            parents[n_nodes : n_nodes + 2] = node
            begins[n_nodes], ends[n_nodes] = begin, middle
            begins[n_nodes + 1], ends[n_nodes + 1] = middle, end
            n_nodes += 2
        node += 1
    positions, leaf_of = np.full(n_records, -1, np.int32), np.full(n_records, -1, np.int32)
    for node in range(n_nodes):
        if lefts[node] < 0:
            for place in range(begins[node], ends[node]):
                positions[order[place]] = place
                leaf_of[order[place]] = node
    return RecordTree(
        order,
        positions,
        leaf_of,
        begins[:n_nodes].copy(),
        ends[:n_nodes].copy(),
        lefts[:n_nodes].copy(),
        rights[:n_nodes].copy(),
        parents[:n_nodes].copy(),
        n_roots,
        Boxes(
            boxes.low_index[:n_nodes].copy(),
            boxes.high_index[:n_nodes].copy(),
            boxes.low[:n_nodes].copy(),
            boxes.high[:n_nodes].copy(),
        ),
    )


@njit(cache=True, nogil=True)
def _enclose(
    node: int, records: Ints, places: Floats, distances: ValueDistances, clusters: Clusters, boxes: Boxes
) -> tuple[int, float]:
    """Fill in the box of a node; return the column to split, −1 for none, and the place where the second half begins.

    The column is the one whose bounds are farthest apart.
    """
    widest, column, threshold = 0.0, -1, 0.0
    for j in range(places.shape[1]):
        first, last = np.inf, -np.inf
        for record in records:
            first = min(first, places[record, j])
            last = max(last, places[record, j])
        boxes.low[node, j], boxes.high[node, j] = first, last
        if np.isnan(places[records[0], j]):
            boxes.low_index[node, j], boxes.high_index[node, j] = -1, -1
            continue
        if distances.kinds[j] >= NUMBER:
            boxes.low_index[node, j], boxes.high_index[node, j] = 0, 0
            gap = distances.weights[j] * (last - first) / distances.extents[j]
            if gap > widest:
                widest, column = gap, j
            continue
        split, gap = _cover(node, j, first, last, clusters, boxes)
        if distances.weights[j] * gap > widest:
            widest, column, threshold = distances.weights[j] * gap, j, np.float64(split)
    # Numbers are split at their median, values between the halves of their cluster.
    if column >= 0 and distances.kinds[column] >= NUMBER:
        threshold = _middle(records, places, column, boxes.low[node, column])
    return column, threshold


@njit(cache=True, nogil=True)
def _cover(node: int, j: int, first: float, last: float, clusters: Clusters, boxes: Boxes) -> tuple[int, float]:
    """Find the smallest cluster around an interval of places; return where it is split and how loose it is."""
    first_value, first_cluster = clusters.value_firsts[j], clusters.firsts[j]
    if first == last:
        value = clusters.value_at[first_value + int(first)]
        boxes.low_index[node, j], boxes.high_index[node, j] = value, value
        return -1, 0.0
    cluster = 0
    split = clusters.splits[first_cluster]
    while split >= 0 and (last < split or first >= split):
        halves = clusters.lefts if last < split else clusters.rights
        cluster = halves[first_cluster + cluster]
        split = clusters.splits[first_cluster + cluster]
    n_values = clusters.value_firsts[j + 1] - first_value
    boxes.low_index[node, j] = n_values + cluster
    boxes.high_index[node, j] = n_values + clusters.firsts[j + 1] - first_cluster + cluster
    return split, clusters.gaps[first_cluster + cluster] if split >= 0 else 0.0


@njit(cache=True, nogil=True)
def _middle(records: Ints, places: Floats, column: int, smallest: float) -> float:
    """A number that about half of the records are below, and at least one."""
    by_number = records.copy()
    partition_at(places, by_number, 0, records.size, column, records.size // 2)
    middle = float(places[by_number[records.size // 2], column])
    if middle > smallest:
        return middle
    above = np.inf
    for record in records:
        if places[record, column] > middle:
            above = min(above, places[record, column])
    return above


@njit(cache=True, nogil=True)
def _part(records: Ints, places: Floats, column: int, threshold: float) -> int:
    """Put the records below the threshold first; return how many there are."""
    first, last = 0, records.size - 1
    while first <= last:
        if places[records[first], column] < threshold:
            first += 1
        else:
            records[first], records[last] = records[last], records[first]
            last -= 1
    return first


@njit(cache=True, nogil=True)
def rows_of_nodes(tree: RecordTree, of_record: Longs) -> Longs:
    """The number of rows of each node, from the leaves up."""
    lefts, rights, begins, ends, order = tree.lefts, tree.rights, tree.begins, tree.ends, tree.order
    out = np.zeros(begins.size, np.int64)
    for node in range(out.size - 1, -1, -1):
        if lefts[node] >= 0:
            out[node] = out[lefts[node]] + out[rights[node]]
        else:
            for place in range(begins[node], ends[node]):
                out[node] += of_record[order[place]]
    return out


@njit(cache=True, nogil=True)
def record_at(place: int, blocks: Longs, n_blocks: int, counted: CountedTree) -> tuple[int, int]:
    """The record of the row at a place among the rows of all blocks, and which of its rows that is."""
    tree, of_node, of_record = counted
    # Find the block by bisection.
    first, last = 0, n_blocks - 1
    while first < last:
        middle = (first + last) // 2
        if place < blocks[2 * middle + 1]:
            last = middle
        else:
            first = middle + 1
    if first > 0:
        place -= blocks[2 * first - 1]
    node = blocks[2 * first]
    if node < 0:
        return -1 - node, place
    # Go down to the leaf, then along its records.
    while tree.lefts[node] >= 0:
        of_left = of_node[tree.lefts[node]]
        if place < of_left:
            node = tree.lefts[node]
        else:
            place -= of_left
            node = tree.rights[node]
    position = tree.begins[node]
    while place >= of_record[tree.order[position]]:
        place -= of_record[tree.order[position]]
        position += 1
    return tree.order[position], place


@njit(cache=True, nogil=True)
def places_of_block(block: int, tree: RecordTree) -> tuple[int, int]:
    """Where the records of a block begin and end in the order of the tree."""
    if block < 0:
        position = tree.positions[-1 - block]
        return position, position + 1
    return tree.begins[block], tree.ends[block]
