"""Compiled loops of bins of equal depth: farthest pairs and nearest records while records leave.

Distances are squared and rounded to 12 decimals, so that ties are exact; they are compared as whole numbers of 10⁻¹²,
called keys. A bound of a distance is computed by the same operations as the distance itself, each of which is monotone
in floating point too, so no rounding can make a bound fail.

The steps named below are those of the plain version, `anonto.methods.plain.equi_depth_swap`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Whole = int | np.integer[Any]

Space = tuple[Floats, Ints, Floats, Longs, Longs, Floats, Longs]
"""Where the records are.

Their numbers; their codes; the squared distances of all pairs of codes, column after column; where each column begins
there; how many codes it has, 0 for a column where all codes are equally far apart; the largest squared distance of each
code and, behind them, of the whole column, column after column; and where each column begins there, and the last ends.
"""

Tree = tuple[Ints, Ints, Longs, Longs, Floats, Floats, Longs, Ints]
"""Records in boxes of boxes; a record is alive while some of its rows are in no bin.

The records in the order of the tree; the leaf of each; for each node where its records begin and end in that order, the
lower and the upper corner of the box of the live ones, how many these are, and the smallest of them. The children of
node i are 2i + 1 and 2i + 2, and the last level has the leaves.
"""

Bounds = tuple[Floats, Ints, Floats, Ints, Ints]
"""How far from any other the records of each node can be at most, which record gave this bound (−1 for none); the same
for each record, exact as long as the record that gave it is alive; and room for a list of nodes.

As records only leave, a bound stays a bound.
"""

LEAF = 8
"""Records of a leaf, at most."""
STACK = 128
"""Nodes that wait in a search: two on each level at most, and there are fewer than 64 levels."""
STEPS = 1e12
"""Keys of a squared distance of one."""
NO_RECORD = np.int32(2147483647)


@njit(cache=True, nogil=True)
def equi_depth(space: Space, counts: Longs, k: int) -> tuple[Ints, Longs]:
    """Rows in bins of k around the two ends of the farthest pair, again and again; the rest is one bin.

    Returns the record of each row, bin after bin, and where each bin begins.
    """
    n_rows = np.int64(counts.sum())
    members = np.empty(n_rows, np.int32)
    offsets = np.zeros(n_rows // k + 2, np.int64)
    live = counts.copy()
    tree = _tree(space, live)
    bounds = _no_bounds(tree)
    filled, n_bins = np.int64(0), 0
    while n_rows - filled >= 2 * k:
        # Step 1: the two records that are farthest apart.
        one, other = _farthest_pair(space, tree, live, bounds)
        # Step 2: one of them with the k − 1 rows nearest to it is a bin.
        _take(space, tree, live, one, 1, members, filled)
        rows_of_other = live[other]
        _take_nearest(space, tree, live, one, k - 1, members, filled + 1)
        if live[other] < rows_of_other:  # All others were as far from the one, and the other went into its bin.
            other = np.int64(tree[7][0])
        # Step 3: so is the other, with the nearest of the rest.
        _take(space, tree, live, other, 1, members, filled + k)
        _take_nearest(space, tree, live, other, k - 1, members, filled + k + 1)
        offsets[n_bins + 1], offsets[n_bins + 2] = filled + k, filled + 2 * k
        n_bins += 2
        filled += 2 * k
    if filled < n_rows:
        for record in range(live.size):
            members[filled : filled + live[record]] = record
            filled += live[record]
        n_bins += 1
        offsets[n_bins] = n_rows
    return members, offsets[: n_bins + 1].copy()


# ------------------------------------------------------------------------------------------------ keys and their bounds


@njit(cache=True, nogil=True)
def _key(space: Space, a: Whole, b: Whole) -> float:
    """The squared distance of two records."""
    points, codes, tables, begins, widths, _, _ = space
    total = 0.0
    for c in range(points.shape[1]):
        difference = points[a, c] - points[b, c]
        total += difference * difference
    for c in range(codes.shape[1]):
        if widths[c] > 0:
            total += tables[begins[c] + codes[a, c] * widths[c] + codes[b, c]]
        elif codes[a, c] != codes[b, c]:
            total += tables[begins[c]]
    key: float = np.rint(total * STEPS)
    return key


@njit(cache=True, nogil=True)
def _most(space: Space, a: Whole, low: Floats, high: Floats) -> float:
    """The largest squared distance that a record can have to one in a box."""
    points, codes, _, _, _, largest, begins = space
    total = 0.0
    for c in range(points.shape[1]):
        difference = max(points[a, c] - low[c], high[c] - points[a, c])
        total += difference * difference
    for c in range(codes.shape[1]):
        total += largest[begins[c] + codes[a, c]]
    key: float = np.rint(total * STEPS)
    return key


@njit(cache=True, nogil=True)
def _least(space: Space, a: Whole, low: Floats, high: Floats) -> float:
    """The smallest squared distance that a record can have to one in a box."""
    points = space[0]
    total = 0.0
    for c in range(points.shape[1]):
        difference = max(0.0, low[c] - points[a, c], points[a, c] - high[c])
        total += difference * difference
    key: float = np.rint(total * STEPS)
    return key


@njit(cache=True, nogil=True)
def _most_of_boxes(space: Space, low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> float:
    """The largest squared distance that records of two boxes can have."""
    points, codes, _, _, _, largest, begins = space
    total = 0.0
    for c in range(points.shape[1]):
        difference = max(high[c] - other_low[c], other_high[c] - low[c])
        total += difference * difference
    for c in range(codes.shape[1]):
        total += largest[begins[c + 1] - 1]
    key: float = np.rint(total * STEPS)
    return key


# ------------------------------------------------------------------------------------------------ the tree


@njit(cache=True, nogil=True)
def _tree(space: Space, live: Longs) -> Tree:
    """A tree over the numbers, halved at the median of the widest column; where there are none, by record number."""
    points = space[0]
    n, n_columns = points.shape
    n_leaves = 1
    while n > LEAF * n_leaves:
        n_leaves *= 2
    n_nodes = 2 * n_leaves - 1
    order, leaf_of = np.arange(n).astype(np.int32), np.zeros(n, np.int32)
    starts, ends = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    low, high = np.zeros((n_nodes, n_columns)), np.zeros((n_nodes, n_columns))
    alive, firsts = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int32)
    tree = order, leaf_of, starts, ends, low, high, alive, firsts
    ends[0] = n
    for node in range(n_nodes):
        start, end = starts[node], ends[node]
        alive[node] = end - start
        _look_at(points, tree, live, node)
        if node >= n_leaves - 1:
            leaf_of[order[start:end]] = node
            continue
        widest, width = -1, 0.0
        for c in range(n_columns):
            if high[node, c] - low[node, c] > width:
                widest, width = c, high[node, c] - low[node, c]
        middle = (start + end) // 2
        if widest >= 0:
            _halve(points, order, start, end - 1, middle, widest)
        starts[2 * node + 1], ends[2 * node + 1] = start, middle
        starts[2 * node + 2], ends[2 * node + 2] = middle, end
    return tree


@njit(cache=True, nogil=True)
def _halve(points: Floats, order: Ints, first: Whole, last: Whole, middle: Whole, column: int) -> None:
    """Put the records first … last in such an order that none before the middle has a larger number than one behind."""
    while first < last:
        pivot = points[order[(first + last) // 2], column]
        left, right = first, last
        while left <= right:
            while points[order[left], column] < pivot:
                left += 1
            while points[order[right], column] > pivot:
                right -= 1
            if left <= right:
                order[left], order[right] = order[right], order[left]
                left += 1
                right -= 1
        if middle <= right:
            last = right
        elif middle >= left:
            first = left
        else:
            return


@njit(cache=True, nogil=True)
def _look_at(points: Floats, tree: Tree, live: Longs, node: Whole) -> None:
    """Find the box and the first of the live records of a node."""
    order, _, starts, ends, low, high, _, firsts = tree
    low[node], high[node], firsts[node] = np.inf, -np.inf, NO_RECORD
    for place in range(starts[node], ends[node]):
        record = order[place]
        if live[record] == 0:
            continue
        firsts[node] = min(firsts[node], record)
        for c in range(points.shape[1]):
            low[node, c] = min(low[node, c], points[record, c])
            high[node, c] = max(high[node, c], points[record, c])


@njit(cache=True, nogil=True)
def _take(space: Space, tree: Tree, live: Longs, record: Whole, n_rows: Whole, members: Ints, place: Whole) -> None:
    """Put rows of a record into a bin; a record without rows leaves the tree, and the boxes above it shrink."""
    members[place : place + n_rows] = record
    live[record] -= n_rows
    if live[record] > 0:
        return
    _, leaf_of, _, _, low, high, alive, firsts = tree
    node = np.int64(leaf_of[record])
    alive[node] -= 1
    _look_at(space[0], tree, live, node)
    while node > 0:
        node = (node - 1) // 2
        left, right = 2 * node + 1, 2 * node + 2
        alive[node] -= 1
        firsts[node] = min(firsts[left], firsts[right])
        for c in range(low.shape[1]):
            low[node, c] = min(low[left, c], low[right, c])
            high[node, c] = max(high[left, c], high[right, c])


# ------------------------------------------------------------------------------------------------ the farthest pair


@njit(cache=True, nogil=True)
def _no_bounds(tree: Tree) -> Bounds:
    """Nothing known yet."""
    n_records, n_nodes = tree[0].size, tree[2].size
    of_nodes, nodes_from = np.full(n_nodes, np.inf), np.full(n_nodes, -1, np.int32)
    of_records, records_from = np.full(n_records, np.inf), np.full(n_records, -1, np.int32)
    return of_nodes, nodes_from, of_records, records_from, np.empty(n_nodes, np.int32)


@njit(cache=True, nogil=True)
def _farthest_pair(space: Space, tree: Tree, live: Longs, bounds: Bounds) -> tuple[np.int64, np.int64]:
    """The two live records that are farthest apart, of several pairs the first.

    Nodes are visited from the root down, the more promising child first, unless their bound says that no record of
    theirs is farther from any other than the best so far, or as far and before it.
    """
    _, _, starts, _, _, _, alive, firsts = tree
    of_nodes, nodes_from, _, records_from, visited = bounds
    best_key, best = -1.0, np.int64(0)
    stack, height, n_visited = np.zeros(STACK, np.int64), 1, 0
    while height > 0:
        height -= 1
        node = stack[height]
        if not _promises(of_nodes[node], firsts[node], best_key, best):
            continue
        visited[n_visited] = node
        n_visited += 1
        if nodes_from[node] < 0 or live[nodes_from[node]] == 0:
            bound, nodes_from[node] = _farthest_of_box(space, tree, live, node)
            of_nodes[node] = min(of_nodes[node], bound)
            if not _promises(of_nodes[node], firsts[node], best_key, best):
                continue
        if node >= starts.size // 2:
            best_key, best = _farthest_of_leaf(space, tree, live, bounds, node, best_key, best)
            continue
        first, second = 2 * node + 1, 2 * node + 2
        if _promises(of_nodes[second], firsts[second], of_nodes[first], firsts[first]):
            first, second = second, first
        for child in (second, first):
            if alive[child] > 0:
                stack[height] = child
                height += 1
    for at in range(n_visited - 1, -1, -1):
        _tighten(tree, live, bounds, visited[at])
    return best, np.int64(records_from[best])


@njit(cache=True, nogil=True)
def _promises(bound: float, first: Whole, best_key: float, best: Whole) -> bool:
    """Whether a bound leaves room for a farther record, or for one as far and before the best."""
    return bound > best_key or (bound == best_key and bool(first < best))


@njit(cache=True, nogil=True)
def _farthest_of_leaf(
    space: Space, tree: Tree, live: Longs, bounds: Bounds, leaf: Whole, best_key: float, best: np.int64
) -> tuple[float, np.int64]:
    """The record that is farthest from any other: the best so far, or one of a leaf."""
    order, _, starts, ends, _, _, _, _ = tree
    _, _, of_records, records_from, _ = bounds
    for place in range(starts[leaf], ends[leaf]):
        record = np.int64(order[place])
        if live[record] == 0 or not _promises(of_records[record], record, best_key, best):
            continue
        partner = np.int64(records_from[record])
        if partner < 0 or live[partner] <= (1 if partner == record else 0):
            of_records[record], records_from[record] = _farthest(space, tree, live, record)
        if _promises(of_records[record], record, best_key, best):
            best_key, best = of_records[record], record
    return best_key, best


@njit(cache=True, nogil=True)
def _tighten(tree: Tree, live: Longs, bounds: Bounds, node: Whole) -> None:
    """Bring the bound of a node down to those of its parts."""
    order, _, starts, ends, _, _, alive, _ = tree
    of_nodes, _, of_records, _, _ = bounds
    most = -1.0
    if node < starts.size // 2:
        for child in (2 * node + 1, 2 * node + 2):
            if alive[child] > 0:
                most = max(most, of_nodes[child])
    else:
        for place in range(starts[node], ends[node]):
            if live[order[place]] > 0:
                most = max(most, of_records[order[place]])
    of_nodes[node] = min(of_nodes[node], most)


@njit(cache=True, nogil=True)
def _farthest(space: Space, tree: Tree, live: Longs, record: Whole) -> tuple[float, Whole]:
    """The largest key of a record to a live one, and the first that has it; itself counts if it has another row."""
    order, _, starts, ends, low, high, alive, firsts = tree
    best_key, best = (0.0, record) if live[record] > 1 else (-1.0, np.int64(-1))
    stack, keys, height = np.zeros(STACK, np.int64), np.full(STACK, np.inf), 1
    while height > 0:
        height -= 1
        node = stack[height]
        if not _promises(keys[height], firsts[node], best_key, best):
            continue
        if node < starts.size // 2:
            before = height
            for child in (2 * node + 1, 2 * node + 2):
                if alive[child] > 0:
                    stack[height], keys[height] = child, _most(space, record, low[child], high[child])
                    height += 1
            _larger_last(stack, keys, before, height)
            continue
        for place in range(starts[node], ends[node]):
            other = np.int64(order[place])
            if live[other] > 0 and other != record:
                key = _key(space, record, other)
                if _promises(key, other, best_key, best):
                    best_key, best = key, other
    return best_key, best


@njit(cache=True, nogil=True)
def _farthest_of_box(space: Space, tree: Tree, live: Longs, box: Whole) -> tuple[float, Whole]:
    """A bound of the key from any record of a node's box to any live record, and the record that gives it."""
    points = space[0]
    order, _, starts, ends, low, high, alive, _ = tree
    best_key, best = -1.0, np.int64(-1)
    stack, keys, height = np.zeros(STACK, np.int64), np.full(STACK, np.inf), 1
    while height > 0:
        height -= 1
        node = stack[height]
        if keys[height] <= best_key:
            continue
        if node < starts.size // 2:
            before = height
            for child in (2 * node + 1, 2 * node + 2):
                if alive[child] > 0:
                    stack[height] = child
                    keys[height] = _most_of_boxes(space, low[box], high[box], low[child], high[child])
                    height += 1
            _larger_last(stack, keys, before, height)
            continue
        for place in range(starts[node], ends[node]):
            other = np.int64(order[place])
            if live[other] > 0:
                key = _most_of_boxes(space, low[box], high[box], points[other], points[other])
                if key > best_key:
                    best_key, best = key, other
    return best_key, best


@njit(cache=True, nogil=True)
def _larger_last(stack: Longs, keys: Floats, before: int, height: int) -> None:
    """Put the node with the larger key on top of its sibling, if that is there too."""
    if height - before == 2 and keys[before] > keys[before + 1]:
        stack[before], stack[before + 1] = stack[before + 1], stack[before]
        keys[before], keys[before + 1] = keys[before + 1], keys[before]


# ------------------------------------------------------------------------------------------------ nearest records


@njit(cache=True, nogil=True)
def _take_nearest(
    space: Space, tree: Tree, live: Longs, record: Whole, n_rows: int, members: Ints, place: Whole
) -> None:
    """Put the rows nearest to a record into a bin, of equally near ones the first; its own further rows count."""
    if n_rows == 0:
        return
    found, size = _nearest(space, tree, live, record, n_rows)
    # All but the farthest, which is on top of the heap, are taken whole.
    left = np.int64(n_rows)
    for at in range(size - 1, -1, -1):
        taken = min(left, live[found[at]])
        _take(space, tree, live, found[at], taken, members, place)
        place += taken
        left -= taken


@njit(cache=True, nogil=True)
def _nearest(space: Space, tree: Tree, live: Longs, record: Whole, n_rows: int) -> tuple[Longs, int]:
    """The live records nearest to a record that together have so many rows, as a heap with the farthest on top.

    The top goes as soon as the others have rows enough.
    """
    order, _, starts, ends, low, high, alive, firsts = tree
    found, found_keys = np.empty(min(n_rows, order.size) + 1, np.int64), np.empty(min(n_rows, order.size) + 1)
    size, rows_found = 0, np.int64(0)
    stack, keys, height = np.zeros(STACK, np.int64), np.zeros(STACK), 1
    while height > 0:
        height -= 1
        node = stack[height]
        if rows_found >= n_rows and not _is_nearer(keys[height], firsts[node], found_keys[0], found[0]):
            continue
        if node < starts.size // 2:
            before = height
            for child in (2 * node + 1, 2 * node + 2):
                if alive[child] > 0:
                    stack[height], keys[height] = child, -_least(space, record, low[child], high[child])
                    height += 1
            _larger_last(stack, keys, before, height)
            keys[before:height] *= -1.0
            continue
        for at in range(starts[node], ends[node]):
            other = np.int64(order[at])
            if live[other] == 0:
                continue
            key = _key(space, record, other)
            if rows_found >= n_rows and not _is_nearer(key, other, found_keys[0], found[0]):
                continue
            size = _add(found, found_keys, size, other, key)
            rows_found += live[other]
            while rows_found - live[found[0]] >= n_rows:
                rows_found -= live[found[0]]
                size = _drop(found, found_keys, size)
    return found, size


@njit(cache=True, nogil=True)
def _is_nearer(key: float, record: Whole, other_key: float, other: Whole) -> bool:
    return key < other_key or (key == other_key and bool(record < other))


@njit(cache=True, nogil=True)
def _add(found: Longs, keys: Floats, size: int, record: Whole, key: float) -> int:
    """A record more in the heap of those found; its new size."""
    at = size
    while at > 0 and _is_nearer(keys[(at - 1) // 2], found[(at - 1) // 2], key, record):
        found[at], keys[at] = found[(at - 1) // 2], keys[(at - 1) // 2]
        at = (at - 1) // 2
    found[at], keys[at] = record, key
    return size + 1


@njit(cache=True, nogil=True)
def _drop(found: Longs, keys: Floats, size: int) -> int:
    """The heap of those found without the farthest; its new size."""
    size -= 1
    record, key = found[size], keys[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _is_nearer(keys[child], found[child], keys[child + 1], found[child + 1]):
            child += 1
        if not _is_nearer(key, record, keys[child], found[child]):
            break
        found[at], keys[at] = found[child], keys[child]
        at = child
    found[at], keys[at] = record, key
    return size
