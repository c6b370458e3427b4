"""Compiled searches of joint rank swapping in a tree over distinct records (Algorithm 3, Definitions 8 to 10).

Each node bounds the distances of its records from both sides, so a node is never opened if it is too far, too near, or
all at one distance, as is common where distances come from a taxonomy. Results are blocks: nodes, and records r as
−1 − r, so that a large interval is never listed row by row.

The innermost functions take array by array: in records the arrays cost about 1.3 × the processor time (benchmark of
joint swapping, three kinds of columns, small kernels inlined).

Distances are whole numbers of 10⁻¹², so that ties are ties. All operations on them keep their order in floating point
too, so the bounds hold exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numba import njit

from anonto.search.record_tree_kernels import LEVELS, NUMBER, TABLE

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs, Shorts, SignedBytes
    from anonto.search.record_tree_kernels import CountedTree, Metric, Points, ValueDistances

PER_UNIT = 1e12
NOTHING_IN_COMMON = 1_000_000_000_000
"""Two records that share no column are at distance 1."""
BEYOND_ALL = 1 << 62


class RecordQuery(NamedTuple):
    """The record that distances are measured from."""

    rows: Longs
    """Where the distances of each column's value begin in the pool; −1 where it has no value."""
    point: Floats
    """Its places."""


# ------------------------------------------------------------------------------------------------ distances


@njit(cache=True, nogil=True)
def start_query(record: int, points: Points, metric: Metric, query: RecordQuery) -> bool:
    """Fill a query with a record; False if the distances of one of its values are not in the pool."""
    for j in range(query.rows.size):
        code = points.codes[record, j]
        query.point[j] = points.places[record, j]
        if code < 0:
            query.rows[j] = -1
        elif metric.distances.kinds[j] < NUMBER:
            slot = metric.slots[metric.first_slots[j] + code]
            if slot < 0:
                return False
            query.rows[j] = metric.starts[j] + slot * metric.widths[j]
        else:
            query.rows[j] = 0
    return True


@njit(cache=True, nogil=True)
def _mean_distance(total: float, weight: float) -> int:
    """The weighted mean of the columns that both records have, in whole steps (Definition 7)."""
    if weight == 0.0:
        return NOTHING_IN_COMMON
    return int(total / weight * PER_UNIT + 0.5)


@njit(cache=True, nogil=True)
def _least_distance(
    node: int,
    rows: Longs,
    point: Floats,
    kinds: SignedBytes,
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
    """A lower bound of the distance from the query to the records of a node."""
    total, weight = 0.0, 0.0
    for j in range(rows.size):
        # Definition 7: a column counts if both sides have a value in it.
        if rows[j] < 0 or index[node, j] < 0:
            continue
        # The least distance of its values: from the bounds of a block, to the nearer end of a range, or 0 inside it.
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
    return _mean_distance(total, weight)


@njit(cache=True, nogil=True)
def _largest_distance(
    node: int,
    rows: Longs,
    point: Floats,
    kinds: SignedBytes,
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
    """An upper bound of the distance from the query to the records of a node."""
    total, weight = 0.0, 0.0
    for j in range(rows.size):
        # Definition 7: a column counts if both sides have a value in it.
        if rows[j] < 0 or index[node, j] < 0:
            continue
        # The largest distance of its values: from the bounds of a block, to the farther end of a range, or 1.
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
    return _mean_distance(total, weight)


@njit(cache=True, nogil=True)
def _distance(
    record: int,
    rows: Longs,
    point: Floats,
    kinds: SignedBytes,
    weights: Floats,
    extents: Floats,
    levels: Floats,
    first_levels: Longs,
    coded: Shorts,
    plain: Floats,
    codes: Ints,
    places: Floats,
) -> int:
    """The distance from the query to a record."""
    total, weight = 0.0, 0.0
    for j in range(rows.size):
        code = codes[record, j]
        # Definition 7: a column counts if both records have a value in it.
        if rows[j] < 0 or code < 0:
            continue
        # The distance of its values: from a table, a share of the range of numbers, or equal or not.
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
    return _mean_distance(total, weight)


@njit(cache=True, nogil=True)
def distance_to(record: int, query: RecordQuery, points: Points, distances: ValueDistances) -> int:
    """The distance from the query to a record."""
    rows, point = query
    kinds, weights, extents, levels, first_levels, coded, plain = distances
    return _distance(
        record, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, points.codes, points.places
    )


# ------------------------------------------------------------------------------------------------ the farthest


@njit(cache=True, nogil=True)
def farthest_blocks(  # noqa: PLR0912
    query: RecordQuery, points: Points, distances: ValueDistances, counted: CountedTree, stack: Longs, blocks: Longs
) -> int:
    """Fill in the blocks of the rows that are farthest away; return how many there are (Definition 10)."""
    rows, point = query
    codes, places = points
    kinds, weights, extents, levels, first_levels, coded, plain = distances
    tree, of_node, of_record = counted
    low_index, high_index, low, high = tree.boxes
    lefts, rights, begins, ends, order = tree.lefts, tree.rights, tree.begins, tree.ends, tree.order
    best = -1
    n_blocks, n_waiting = 0, 0
    for root in range(tree.n_roots):
        if of_node[root] > 0:
            n_waiting = _push(
                stack,
                n_waiting,
                root,
                _largest_distance(
                    root,
                    rows,
                    point,
                    kinds,
                    weights,
                    extents,
                    levels,
                    first_levels,
                    coded,
                    plain,
                    high_index,
                    low,
                    high,
                ),
            )
    while n_waiting > 0:
        n_waiting -= 1
        node, most = stack[2 * n_waiting], stack[2 * n_waiting + 1]
        # Skip nodes that are nearer than the farthest rows so far; take those at one distance as a whole.
        if most < best:
            continue
        least = _least_distance(
            node, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, low_index, low, high
        )
        if least > best:
            best, n_blocks = least, 0
        if least == most:
            n_blocks = _append(blocks, n_blocks, node, of_node[node])
            continue
        left, right = lefts[node], rights[node]
        # In a leaf, measure every record.
        if left < 0:
            for place in range(begins[node], ends[node]):
                record = order[place]
                if of_record[record] == 0:
                    continue
                apart = _distance(
                    record, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, codes, places
                )
                if apart > best:
                    best, n_blocks = apart, 0
                if apart == best:
                    n_blocks = _append(blocks, n_blocks, -1 - record, of_record[record])
            continue
        # Otherwise open the half that may be farther first: it is pushed last.
        of_left = (
            _largest_distance(
                left, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, high_index, low, high
            )
            if of_node[left] > 0
            else -1
        )
        of_right = (
            _largest_distance(
                right, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, high_index, low, high
            )
            if of_node[right] > 0
            else -1
        )
        if of_left > of_right:
            left, right, of_left, of_right = right, left, of_right, of_left
        if of_left >= max(best, 0):
            n_waiting = _push(stack, n_waiting, left, of_left)
        if of_right >= best:
            n_waiting = _push(stack, n_waiting, right, of_right)
    return n_blocks


# ------------------------------------------------------------------------------------------------ the k nearest


@njit(cache=True, nogil=True)
def kth_distance(  # noqa: PLR0912
    own: int,
    k: int,
    query: RecordQuery,
    points: Points,
    distances: ValueDistances,
    counted: CountedTree,
    stack: Longs,
    heap: Longs,
) -> int:
    """The distance of the k-th nearest row to a record, one row of its own left out (Definition 9).

    `BEYOND_ALL` if there are fewer rows.
    """
    rows, point = query
    codes, places = points
    kinds, weights, extents, levels, first_levels, coded, plain = distances
    tree, of_node, of_record = counted
    low_index, high_index, low, high = tree.boxes
    lefts, rights, begins, ends, order = tree.lefts, tree.rights, tree.begins, tree.ends, tree.order
    own_place = tree.positions[own]
    kth = BEYOND_ALL
    size, total, n_waiting = 0, 0, 0
    for root in range(tree.n_roots):
        if of_node[root] > 0:
            n_waiting = _push(
                stack,
                n_waiting,
                root,
                _least_distance(
                    root, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, low_index, low, high
                ),
            )
    while n_waiting > 0:
        n_waiting -= 1
        node, least = stack[2 * n_waiting], stack[2 * n_waiting + 1]
        if least >= kth:
            continue
        left, right = lefts[node], rights[node]
        # Count the rows of a node at one distance together.
        if least == _largest_distance(
            node, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, high_index, low, high
        ):
            found = of_node[node] - (begins[node] <= own_place < ends[node])
            if found > 0:
                size, total = _add_to_heap(least, found, k, heap, size, total)
        # In a leaf, measure every record.
        elif left < 0:
            for place in range(begins[node], ends[node]):
                record = order[place]
                found = of_record[record] - (record == own)
                if found > 0:
                    apart = _distance(
                        record, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, codes, places
                    )
                    if apart < kth:
                        size, total = _add_to_heap(apart, found, k, heap, size, total)
                        kth = int(heap[0]) if total >= k else kth
        # Otherwise open the half that may be nearer first: it is pushed last.
        else:
            of_left = (
                _least_distance(
                    left, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, low_index, low, high
                )
                if of_node[left] > 0
                else BEYOND_ALL
            )
            of_right = (
                _least_distance(
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
                if of_node[right] > 0
                else BEYOND_ALL
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
def _push(stack: Longs, size: int, node: int, bound: int) -> int:
    """Push a node and its bound on a stack; return its new size."""
    stack[2 * size], stack[2 * size + 1] = node, bound
    return size + 1


@njit(cache=True, nogil=True)
def _add_to_heap(distance: int, rows: int, k: int, heap: Longs, size: int, total: int) -> tuple[int, int]:
    """Put rows at a distance on a heap with the farthest on top, and remove those that k rows do not need."""
    place = size
    size += 1
    while place > 0 and heap[2 * ((place - 1) // 2)] < distance:
        above = (place - 1) // 2
        heap[2 * place], heap[2 * place + 1] = heap[2 * above], heap[2 * above + 1]
        place = above
    heap[2 * place], heap[2 * place + 1] = distance, rows
    total += rows
    while total - heap[1] >= k:
        total -= heap[1]
        size -= 1
        _sink_from_top(heap[2 * size], heap[2 * size + 1], heap, size)
    return size, total


@njit(cache=True, nogil=True)
def _sink_from_top(distance: int, rows: int, heap: Longs, size: int) -> None:
    """Put an entry on the top of a heap, which is free, and let it sink."""
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and heap[2 * below + 2] > heap[2 * below]:
            below += 1
        if heap[2 * below] <= distance:
            break
        heap[2 * place], heap[2 * place + 1] = heap[2 * below], heap[2 * below + 1]
        place = below
    heap[2 * place], heap[2 * place + 1] = distance, rows


@njit(cache=True, nogil=True)
def blocks_within(
    limit: int,
    query: RecordQuery,
    points: Points,
    distances: ValueDistances,
    counted: CountedTree,
    stack: Longs,
    inside: Longs,
    tied: Longs,
) -> tuple[int, int]:
    """Fill in the blocks of the rows nearer than a distance, and of those exactly at it; return how many there are."""
    rows, point = query
    codes, places = points
    kinds, weights, extents, levels, first_levels, coded, plain = distances
    tree, of_node, of_record = counted
    low_index, high_index, low, high = tree.boxes
    lefts, rights, begins, ends, order = tree.lefts, tree.rights, tree.begins, tree.ends, tree.order
    n_inside, n_tied = 0, 0
    n_waiting = tree.n_roots
    for root in range(n_waiting):
        stack[root] = root
    while n_waiting > 0:
        n_waiting -= 1
        node = stack[n_waiting]
        if of_node[node] == 0:
            continue
        # A node wholly beyond, within or at the distance is decided as a whole.
        least = _least_distance(
            node, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, low_index, low, high
        )
        if least > limit:
            continue
        most = _largest_distance(
            node, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, high_index, low, high
        )
        if most < limit:
            n_inside = _append(inside, n_inside, node, of_node[node])
        elif least == most:
            n_tied = _append(tied, n_tied, node, of_node[node])
        elif lefts[node] >= 0:
            stack[n_waiting], stack[n_waiting + 1] = rights[node], lefts[node]
            n_waiting += 2
        # In a leaf, measure every record.
        else:
            for place in range(begins[node], ends[node]):
                record = order[place]
                if of_record[record] == 0:
                    continue
                apart = _distance(
                    record, rows, point, kinds, weights, extents, levels, first_levels, coded, plain, codes, places
                )
                if apart < limit:
                    n_inside = _append(inside, n_inside, -1 - record, of_record[record])
                elif apart == limit:
                    n_tied = _append(tied, n_tied, -1 - record, of_record[record])
    return n_inside, n_tied


@njit(cache=True, nogil=True)
def _append(blocks: Longs, size: int, block: int, rows: int) -> int:
    """Add a block and the number of rows up to its end; return the number of blocks."""
    blocks[2 * size] = block
    blocks[2 * size + 1] = rows + (blocks[2 * size - 1] if size > 0 else 0)
    return size + 1
