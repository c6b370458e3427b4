"""Compiled loops of a tree over distinct records: growing it, and the nearest and farthest records of any one.

Each node of the tree has a box: in every column a cluster of values or an interval of numbers. The distances between a
value and all clusters of its column stand in a table, so a box bounds the distances of its records from both sides. A
node whose bounds say enough is never opened: too far, too near, or all at one distance, as is common where distances
come from a taxonomy.

Distances are compared as whole numbers of 10⁻¹², so that ties are ties. All operations on them keep their order in
floating point too, so the bounds hold exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Kinds = NDArray[np.int8]
Shorts = NDArray[np.uint16]

LEVELS, TABLE, NUMBER, EQUALITY = range(4)
"""How the distance of a column is found: in a table of levels or of distances, as a difference divided by the range, or
as 0 or 1."""

MOST_LEVELS = 1 << 16

PER_UNIT = 1e12
NOTHING_IN_COMMON = 1_000_000_000_000
"""Two records that share no column are at distance 1."""
BEYOND_ALL = 1 << 62


class Metric(NamedTuple):
    """How far values are apart in the columns that count."""

    kinds: Kinds
    weights: Floats
    extents: Floats
    """The range of a column of numbers; for equality the number of values."""
    levels: Floats
    """For each column with few different distances all of them."""
    first_levels: Longs
    coded: Shorts
    """Rows of tables, as levels: of a value to all values, then the smallest and the largest to each cluster."""
    plain: Floats
    """Rows of tables with distances themselves, of columns with many different ones."""
    starts: Longs
    """Where the rows of a column begin in its pool."""
    widths: Longs
    """How long its rows are."""
    slots: Ints
    """For each value which row it has; −1 while it has none."""
    first_slots: Longs
    """Where the values of a column begin there."""


class Points(NamedTuple):
    """Distinct records × the columns that count."""

    codes: Ints
    """−1 where a record has no value."""
    places: Floats
    """The number itself, or a place such that clusters are intervals; NaN where a record has no value."""


class Clusters(NamedTuple):
    """The clusters of values of all columns that have a table; those of one column stand together."""

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
    """How far the two bounds of a cluster are apart on average."""


class Tree(NamedTuple):
    """Nodes over records; a parent comes before its children."""

    order: Ints
    """The records, those of a node standing together."""
    positions: Ints
    """For each record its place in the order; −1 where it is not in the tree."""
    leaf_of: Ints
    begins: Ints
    ends: Ints
    lefts: Ints
    """−1 for a leaf."""
    rights: Ints
    parents: Ints
    n_roots: int
    """The first nodes; each has the records with values in the same columns."""
    low_index: Ints
    """Nodes × columns: where the bound stands in the row of a table; −1 where the records have no value."""
    high_index: Ints
    low: Floats
    high: Floats


class Counted(NamedTuple):
    """A tree and how many rows its nodes and the records have; what has none is not there for a search."""

    tree: Tree
    of_node: Longs
    of_record: Longs


class Asked(NamedTuple):
    """Where the distances of one record's values stand in the pool (−1 for no value), and their places."""

    rows: Longs
    point: Floats


# ------------------------------------------------------------------------------------------------ growing


@njit(cache=True, nogil=True)
def fill_bounds(
    rows: Floats, value_at: Ints, begins: Ints, ends: Ints, splits: Ints, lefts: Ints, rights: Ints
) -> None:
    """Behind the distances of values to all values write the smallest and the largest to each cluster.

    The clusters are those of one column, halves after wholes.
    """
    n_values, n_clusters = value_at.size, begins.size
    for i in range(rows.shape[0]):
        row = rows[i]
        for cluster in range(n_clusters - 1, -1, -1):
            smallest, largest = np.inf, -np.inf
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
def code_levels(bits: Longs, heads: Ints, levels: Longs, n_levels: int, out: Shorts) -> int:
    """Number different distances, given by their bits, as they come; return how many there are, −1 for too many.

    ``heads`` is a hash table of the numbers, its size a power of two, and −1 where there is none.
    """
    for i in range(bits.size):
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
def grow(order: Ints, group_begins: Ints, leaf: int, points: Points, metric: Metric, clusters: Clusters) -> Tree:
    """A tree over some records, given in groups that have values in the same columns; the order is changed.

    A node of ``leaf`` records or fewer is not split.
    """
    places = points.places
    n_records, n_columns = places.shape
    most = 2 * order.size + 1
    begins, ends = np.empty(most, np.int32), np.empty(most, np.int32)
    lefts, rights = np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    parents = np.full(most, -1, np.int32)
    low_index, high_index = np.empty((most, n_columns), np.int32), np.empty((most, n_columns), np.int32)
    low, high = np.empty((most, n_columns), np.float64), np.empty((most, n_columns), np.float64)
    n_roots = group_begins.size - 1
    begins[:n_roots], ends[:n_roots] = group_begins[:-1], group_begins[1:]
    node, n_nodes = 0, n_roots
    while node < n_nodes:
        begin, end = begins[node], ends[node]
        column, threshold = _enclose(node, order[begin:end], places, metric, clusters, low_index, high_index, low, high)
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
    return Tree(
        order,
        positions,
        leaf_of,
        begins[:n_nodes].copy(),
        ends[:n_nodes].copy(),
        lefts[:n_nodes].copy(),
        rights[:n_nodes].copy(),
        parents[:n_nodes].copy(),
        n_roots,
        low_index[:n_nodes].copy(),
        high_index[:n_nodes].copy(),
        low[:n_nodes].copy(),
        high[:n_nodes].copy(),
    )


@njit(cache=True, nogil=True)
def _enclose(
    node: int,
    records: Ints,
    places: Floats,
    metric: Metric,
    clusters: Clusters,
    low_index: Ints,
    high_index: Ints,
    low: Floats,
    high: Floats,
) -> tuple[int, float]:
    """Give a node its box; return the column to split, −1 for none, and the place where the second half begins."""
    widest, column, threshold = 0.0, -1, 0.0
    for j in range(places.shape[1]):
        first, last = np.inf, -np.inf
        for record in records:
            first = min(first, places[record, j])
            last = max(last, places[record, j])
        low[node, j], high[node, j] = first, last
        if np.isnan(places[records[0], j]):
            low_index[node, j], high_index[node, j] = -1, -1
            continue
        if metric.kinds[j] >= NUMBER:
            low_index[node, j], high_index[node, j] = 0, 0
            gap = metric.weights[j] * (last - first) / metric.extents[j]
            if gap > widest:
                widest, column = gap, j
            continue
        split, gap = _cover(node, j, first, last, clusters, low_index, high_index)
        if metric.weights[j] * gap > widest:
            widest, column, threshold = metric.weights[j] * gap, j, np.float64(split)
    if column >= 0 and metric.kinds[column] >= NUMBER:
        threshold = _middle(records, places, column, low[node, column])
    return column, threshold


@njit(cache=True, nogil=True)
def _cover(
    node: int, j: int, first: float, last: float, clusters: Clusters, low_index: Ints, high_index: Ints
) -> tuple[int, float]:
    """Find the smallest cluster around an interval of places; return where it is split and how loose it is."""
    first_value, first_cluster = clusters.value_firsts[j], clusters.firsts[j]
    if first == last:
        value = clusters.value_at[first_value + int(first)]
        low_index[node, j], high_index[node, j] = value, value
        return -1, 0.0
    cluster = 0
    split = clusters.splits[first_cluster]
    while split >= 0 and (last < split or first >= split):
        halves = clusters.lefts if last < split else clusters.rights
        cluster = halves[first_cluster + cluster]
        split = clusters.splits[first_cluster + cluster]
    n_values = clusters.value_firsts[j + 1] - first_value
    low_index[node, j] = n_values + cluster
    high_index[node, j] = n_values + clusters.firsts[j + 1] - first_cluster + cluster
    return split, clusters.gaps[first_cluster + cluster] if split >= 0 else 0.0


@njit(cache=True, nogil=True)
def _middle(records: Ints, places: Floats, column: int, smallest: float) -> float:
    """A number that about half of the records are below, and at least one."""
    numbers = np.empty(records.size, np.float64)
    for i in range(records.size):
        numbers[i] = places[records[i], column]
    middle = _selected(numbers, numbers.size // 2)
    if middle > smallest:
        return middle
    above = np.inf
    for number in numbers:
        if number > middle:
            above = min(above, number)
    return above


@njit(cache=True, nogil=True)
def _selected(numbers: Floats, place: int) -> float:
    """The number that would stand at a place if they were sorted; they are put in another order."""
    first, last = 0, numbers.size - 1
    while first < last:
        pivot = numbers[(first + last) // 2]
        i, j = first, last
        while i <= j:
            while numbers[i] < pivot:
                i += 1
            while numbers[j] > pivot:
                j -= 1
            if i <= j:
                numbers[i], numbers[j] = numbers[j], numbers[i]
                i += 1
                j -= 1
        if place <= j:
            last = j
        elif place >= i:
            first = i
        else:
            break
    return float(numbers[place])


@njit(cache=True, nogil=True)
def _part(records: Ints, places: Floats, column: int, threshold: float) -> int:
    """Put the records below the threshold first; return how many they are."""
    first, last = 0, records.size - 1
    while first <= last:
        if places[records[first], column] < threshold:
            first += 1
        else:
            records[first], records[last] = records[last], records[first]
            last -= 1
    return first


@njit(cache=True, nogil=True)
def rows_of_nodes(tree: Tree, of_record: Longs) -> Longs:
    """How many rows the records of each node have."""
    lefts, rights, begins, ends, order = tree.lefts, tree.rights, tree.begins, tree.ends, tree.order
    out = np.zeros(begins.size, np.int64)
    for node in range(out.size - 1, -1, -1):
        if lefts[node] >= 0:
            out[node] = out[lefts[node]] + out[rights[node]]
        else:
            for place in range(begins[node], ends[node]):
                out[node] += of_record[order[place]]
    return out


# ------------------------------------------------------------------------------------------------ distances


@njit(cache=True, nogil=True)
def ask(record: int, points: Points, metric: Metric, asked: Asked) -> bool:
    """Note where the distances of a record's values stand; False when the row of one is not in the pool."""
    for j in range(asked.rows.size):
        code = points.codes[record, j]
        asked.point[j] = points.places[record, j]
        if code < 0:
            asked.rows[j] = -1
        elif metric.kinds[j] < NUMBER:
            slot = metric.slots[metric.first_slots[j] + code]
            if slot < 0:
                return False
            asked.rows[j] = metric.starts[j] + slot * metric.widths[j]
        else:
            asked.rows[j] = 0
    return True


@njit(cache=True, nogil=True)
def _key(total: float, weight: float) -> int:
    if weight == 0.0:
        return NOTHING_IN_COMMON
    return int(total / weight * PER_UNIT + 0.5)


@njit(cache=True, nogil=True)
def _least(
    node: int,
    rows: Longs,
    point: Floats,
    kinds: Kinds,
    weights: Floats,
    extents: Floats,
    levels: Floats,
    first_levels: Longs,
    coded: Shorts,
    plain: Floats,
    index: Ints,
    low: Floats,
    high: Floats,
) -> int:
    """No record of a node is nearer."""
    total, weight = 0.0, 0.0
    for j in range(rows.size):
        if rows[j] < 0 or index[node, j] < 0:
            continue
        if kinds[j] == LEVELS:
            apart = levels[first_levels[j] + coded[rows[j] + index[node, j]]]
        elif kinds[j] == TABLE:
            apart = plain[rows[j] + index[node, j]]
        elif kinds[j] == NUMBER:
            apart = max(low[node, j] - point[j], point[j] - high[node, j], 0.0) / extents[j]
        else:
            apart = 0.0 if low[node, j] <= point[j] <= high[node, j] else 1.0
        total += weights[j] * apart
        weight += weights[j]
    return _key(total, weight)


@njit(cache=True, nogil=True)
def _most(
    node: int,
    rows: Longs,
    point: Floats,
    kinds: Kinds,
    weights: Floats,
    extents: Floats,
    levels: Floats,
    first_levels: Longs,
    coded: Shorts,
    plain: Floats,
    index: Ints,
    low: Floats,
    high: Floats,
) -> int:
    """No record of a node is farther."""
    total, weight = 0.0, 0.0
    for j in range(rows.size):
        if rows[j] < 0 or index[node, j] < 0:
            continue
        if kinds[j] == LEVELS:
            apart = levels[first_levels[j] + coded[rows[j] + index[node, j]]]
        elif kinds[j] == TABLE:
            apart = plain[rows[j] + index[node, j]]
        elif kinds[j] == NUMBER:
            apart = max(abs(low[node, j] - point[j]), abs(high[node, j] - point[j])) / extents[j]
        else:
            apart = 0.0 if low[node, j] == point[j] == high[node, j] else 1.0
        total += weights[j] * apart
        weight += weights[j]
    return _key(total, weight)


@njit(cache=True, nogil=True)
def _apart(
    record: int,
    rows: Longs,
    point: Floats,
    kinds: Kinds,
    weights: Floats,
    extents: Floats,
    levels: Floats,
    first_levels: Longs,
    coded: Shorts,
    plain: Floats,
    codes: Ints,
    places: Floats,
) -> int:
    """How far a record is."""
    total, weight = 0.0, 0.0
    for j in range(rows.size):
        code = codes[record, j]
        if rows[j] < 0 or code < 0:
            continue
        if kinds[j] == LEVELS:
            apart = levels[first_levels[j] + coded[rows[j] + code]]
        elif kinds[j] == TABLE:
            apart = plain[rows[j] + code]
        elif kinds[j] == NUMBER:
            apart = abs(places[record, j] - point[j]) / extents[j]
        else:
            apart = 0.0 if places[record, j] == point[j] else 1.0
        total += weights[j] * apart
        weight += weights[j]
    return _key(total, weight)


@njit(cache=True, nogil=True)
def distance_to(record: int, asked: Asked, points: Points, metric: Metric) -> int:
    """How far a record is from the one that was asked for."""
    return _apart(
        record,
        asked.rows,
        asked.point,
        metric.kinds,
        metric.weights,
        metric.extents,
        metric.levels,
        metric.first_levels,
        metric.coded,
        metric.plain,
        points.codes,
        points.places,
    )


# ------------------------------------------------------------------------------------------------ searching


@njit(cache=True, nogil=True)
def _append(blocks: Longs, size: int, block: int, rows: int) -> int:
    """Add a node, or a record as −1 − record, and how many rows there are up to it; return the number of blocks."""
    blocks[2 * size] = block
    blocks[2 * size + 1] = rows + (blocks[2 * size - 1] if size > 0 else 0)
    return size + 1


@njit(cache=True, nogil=True)
def _push(stack: Longs, size: int, node: int, bound: int) -> int:
    stack[2 * size], stack[2 * size + 1] = node, bound
    return size + 1


@njit(cache=True, nogil=True)
def farthest(asked: Asked, points: Points, metric: Metric, counted: Counted, stack: Longs, blocks: Longs) -> int:  # noqa: PLR0912
    """Find the nodes and records that are farthest away; return how many blocks they are."""
    rows, point = asked.rows, asked.point
    kinds, weights, extents, plain = metric.kinds, metric.weights, metric.extents, metric.plain
    levels, first_levels, coded = metric.levels, metric.first_levels, metric.coded
    codes, places = points.codes, points.places
    tree, of_node, of_record = counted.tree, counted.of_node, counted.of_record
    lefts, rights, begins, ends, order = tree.lefts, tree.rights, tree.begins, tree.ends, tree.order
    low_index, high_index, low, high = tree.low_index, tree.high_index, tree.low, tree.high
    best = -1
    n_blocks, n_waiting = 0, 0
    for root in range(tree.n_roots):
        if of_node[root] > 0:
            most = _most(
                root, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, high_index, low, high
            )
            n_waiting = _push(stack, n_waiting, root, most)
    while n_waiting > 0:
        n_waiting -= 1
        node, most = stack[2 * n_waiting], stack[2 * n_waiting + 1]
        if most < best:
            continue
        least = _least(
            node, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, low_index, low, high
        )
        if least > best:
            best, n_blocks = least, 0
        if least == most:
            n_blocks = _append(blocks, n_blocks, node, of_node[node])
            continue
        left, right = lefts[node], rights[node]
        if left < 0:
            for place in range(begins[node], ends[node]):
                record = order[place]
                if of_record[record] == 0:
                    continue
                apart = _apart(
                    record, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, codes, places
                )
                if apart > best:
                    best, n_blocks = apart, 0
                if apart == best:
                    n_blocks = _append(blocks, n_blocks, -1 - record, of_record[record])
            continue
        of_left, of_right = -1, -1
        if of_node[left] > 0:
            of_left = _most(
                left, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, high_index, low, high
            )
        if of_node[right] > 0:
            of_right = _most(
                right, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, high_index, low, high
            )
        if of_left > of_right:
            left, right, of_left, of_right = right, left, of_right, of_left
        if of_left >= max(best, 0):
            n_waiting = _push(stack, n_waiting, left, of_left)
        if of_right >= best:
            n_waiting = _push(stack, n_waiting, right, of_right)
    return n_blocks


@njit(cache=True, nogil=True)
def reach(  # noqa: PLR0912
    asking: int, k: int, asked: Asked, points: Points, metric: Metric, counted: Counted, stack: Longs, heap: Longs
) -> int:
    """The distance of the k-th nearest row, one row of the asking record left out; beyond all where there are fewer."""
    rows, point = asked.rows, asked.point
    kinds, weights, extents, plain = metric.kinds, metric.weights, metric.extents, metric.plain
    levels, first_levels, coded = metric.levels, metric.first_levels, metric.coded
    codes, places = points.codes, points.places
    tree, of_node, of_record = counted.tree, counted.of_node, counted.of_record
    lefts, rights, begins, ends, order = tree.lefts, tree.rights, tree.begins, tree.ends, tree.order
    low_index, high_index, low, high = tree.low_index, tree.high_index, tree.low, tree.high
    own = tree.positions[asking]
    kth = BEYOND_ALL
    size, total, n_waiting = 0, 0, 0
    for root in range(tree.n_roots):
        if of_node[root] > 0:
            least = _least(
                root, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, low_index, low, high
            )
            n_waiting = _push(stack, n_waiting, root, least)
    while n_waiting > 0:
        n_waiting -= 1
        node, least = stack[2 * n_waiting], stack[2 * n_waiting + 1]
        if least >= kth:
            continue
        left, right = lefts[node], rights[node]
        most = _most(
            node, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, high_index, low, high
        )
        if least == most:
            found = of_node[node] - (begins[node] <= own < ends[node])
            if found > 0:
                size, total = _add(least, found, k, heap, size, total)
        elif left < 0:
            for place in range(begins[node], ends[node]):
                record = order[place]
                found = of_record[record] - (record == asking)
                if found > 0:
                    apart = _apart(
                        record, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, codes, places
                    )
                    if apart < kth:
                        size, total = _add(apart, found, k, heap, size, total)
                        kth = int(heap[0]) if total >= k else kth
        else:
            of_left, of_right = BEYOND_ALL, BEYOND_ALL
            if of_node[left] > 0:
                of_left = _least(
                    left, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, low_index, low, high
                )
            if of_node[right] > 0:
                of_right = _least(
                    right,
                    rows,
                    point,
                    kinds,
                    weights,
                    extents,
                    levels,
                    first_levels,
                    coded,
                    plain,
                    low_index,
                    low,
                    high,
                )
            if of_left < of_right:
                left, right, of_left, of_right = right, left, of_right, of_left
            if of_left < kth:
                n_waiting = _push(stack, n_waiting, left, of_left)
            if of_right < kth:
                n_waiting = _push(stack, n_waiting, right, of_right)
        kth = int(heap[0]) if total >= k else kth
    return kth


@njit(cache=True, nogil=True)
def _add(key: int, rows: int, k: int, heap: Longs, size: int, total: int) -> tuple[int, int]:
    """Put rows at a distance on a heap with the farthest on top, and take off what k rows do not need."""
    place = size
    size += 1
    while place > 0 and heap[2 * ((place - 1) // 2)] < key:
        above = (place - 1) // 2
        heap[2 * place], heap[2 * place + 1] = heap[2 * above], heap[2 * above + 1]
        place = above
    heap[2 * place], heap[2 * place + 1] = key, rows
    total += rows
    while total - heap[1] >= k:
        total -= heap[1]
        size -= 1
        _sift(heap[2 * size], heap[2 * size + 1], heap, size)
    return size, total


@njit(cache=True, nogil=True)
def _sift(key: int, rows: int, heap: Longs, size: int) -> None:
    """Put an entry on the top of a heap whose top is free, and let it sink."""
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and heap[2 * below + 2] > heap[2 * below]:
            below += 1
        if heap[2 * below] <= key:
            break
        heap[2 * place], heap[2 * place + 1] = heap[2 * below], heap[2 * below + 1]
        place = below
    heap[2 * place], heap[2 * place + 1] = key, rows


@njit(cache=True, nogil=True)
def within(
    limit: int,
    asked: Asked,
    points: Points,
    metric: Metric,
    counted: Counted,
    stack: Longs,
    inside: Longs,
    tied: Longs,
) -> tuple[int, int]:
    """Find the nodes and records that are nearer than a distance, and those at it; return how many blocks they are."""
    rows, point = asked.rows, asked.point
    kinds, weights, extents, plain = metric.kinds, metric.weights, metric.extents, metric.plain
    levels, first_levels, coded = metric.levels, metric.first_levels, metric.coded
    codes, places = points.codes, points.places
    tree, of_node, of_record = counted.tree, counted.of_node, counted.of_record
    lefts, rights, begins, ends, order = tree.lefts, tree.rights, tree.begins, tree.ends, tree.order
    low_index, high_index, low, high = tree.low_index, tree.high_index, tree.low, tree.high
    n_inside, n_tied = 0, 0
    n_waiting = tree.n_roots
    for root in range(n_waiting):
        stack[root] = root
    while n_waiting > 0:
        n_waiting -= 1
        node = stack[n_waiting]
        if of_node[node] == 0:
            continue
        least = _least(
            node, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, low_index, low, high
        )
        if least > limit:
            continue
        most = _most(
            node, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, high_index, low, high
        )
        if most < limit:
            n_inside = _append(inside, n_inside, node, of_node[node])
        elif least == most:
            n_tied = _append(tied, n_tied, node, of_node[node])
        elif lefts[node] >= 0:
            stack[n_waiting], stack[n_waiting + 1] = rights[node], lefts[node]
            n_waiting += 2
        else:
            for place in range(begins[node], ends[node]):
                record = order[place]
                if of_record[record] == 0:
                    continue
                apart = _apart(
                    record, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, codes, places
                )
                if apart < limit:
                    n_inside = _append(inside, n_inside, -1 - record, of_record[record])
                elif apart == limit:
                    n_tied = _append(tied, n_tied, -1 - record, of_record[record])
    return n_inside, n_tied


@njit(cache=True, nogil=True)
def record_at(place: int, blocks: Longs, n_blocks: int, counted: Counted) -> tuple[int, int]:
    """The record of the row at a place of blocks that follow each other, and which of its rows that is."""
    tree, of_node, of_record = counted.tree, counted.of_node, counted.of_record
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
def span(block: int, tree: Tree) -> tuple[int, int]:
    """Where the records of a block stand in the order of the tree."""
    if block < 0:
        position = tree.positions[-1 - block]
        return position, position + 1
    return tree.begins[block], tree.ends[block]
