"""Compiled loops of bins of equal depth (MEDS): farthest pairs and nearest records while records leave.

Records are searched in the tree of `anonto.search.tree`, split by their numbers alone. The searches are special.
Squared distances are rounded to 12 decimals and compared as whole numbers of 10⁻¹², called keys. A farthest pair needs
bounds between boxes. And a bin draws its pairs in the order in which the heap of nearest records was filled, so another
search would release other records for the same seed. A bound is computed by the same operations as the distance itself,
each of which is monotone in floating point too, so no rounding can make a bound fail.

The steps named below are those of the plain version, `anonto.methods.plain.equi_depth_swap` (Li, Shen, Algorithm 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from anonto.search.search_kernels import least_of_numbers, most_of_numbers, start_query, sum_contributions
from anonto.search.tree_kernels import remove

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs
    from anonto.search.arrays import SearchTree

Whole = int | np.integer[Any]

STACK = 128
"""Nodes that wait in a search: two on each level at most, and there are fewer than 64 levels."""
STEPS = 1e12
"""Keys of a squared distance of one."""


class DepthSearch(NamedTuple):
    """The records that are left, in the order of their tree."""

    tree: SearchTree
    live: Longs
    """The rows of each record that are in no bin."""
    largest: Floats
    """The largest squared distance of each value, and after them of the whole column, column by column."""
    begins: Longs
    """Where each column begins there, and where the last ends."""


class FarBounds(NamedTuple):
    """Upper bounds of the key from any record of a node to any live one. As records only leave, they stay bounds."""

    of_nodes: Floats
    nodes_from: Ints
    """The record that gave the bound; −1 for none."""
    of_records: Floats
    """The same for each record: exact while the record that gave it is live."""
    records_from: Ints
    visited: Ints
    """Room for a list of nodes."""


@njit(cache=True, nogil=True)
def equi_depth(tree: SearchTree, counts: Longs, largest: Floats, begins: Longs, k: int) -> tuple[Ints, Longs]:
    """Rows in bins of k around the two ends of the farthest pair, again and again; the rest is one bin.

    Args:
        tree: Over the records.
        counts: Rows of each record.
        largest: The largest squared distance of each value and, after them, of the column, column by column.
        begins: Where each column begins there, and where the last ends.
        k: Rows of a bin.

    Returns:
        The record of each row, bin by bin, and where each bin begins.
    """
    records = tree.nodes.records
    n_rows = np.int64(counts.sum())
    members = np.empty(n_rows, np.int32)
    offsets = np.zeros(n_rows // k + 2, np.int64)
    place_of = np.empty(records.size, np.int64)
    for place in range(records.size):
        place_of[records[place]] = place
    search = DepthSearch(tree, counts[records], largest, begins)
    live = search.live
    bounds = _start_bounds(tree)
    filled, n_bins = np.int64(0), 0
    while n_rows - filled >= 2 * k:
        # Step 1: the two records that are farthest apart.
        one, other = _farthest_pair(search, bounds)
        # Step 2: one of them with the k − 1 rows nearest to it is a bin.
        _take(search, one, 1, members, filled)
        rows_of_other = live[other]
        _take_nearest(search, one, k - 1, members, filled + 1)
        if live[other] < rows_of_other:  # All others were as far from the one, and the other went into its bin.
            other = place_of[tree.nodes.least[0]]
        # Step 3: so is the other, with the nearest of the rest.
        _take(search, other, 1, members, filled + k)
        _take_nearest(search, other, k - 1, members, filled + k + 1)
        offsets[n_bins + 1], offsets[n_bins + 2] = filled + k, filled + 2 * k
        n_bins += 2
        filled += 2 * k
    # The rows that are left, fewer than 2k, are the last bin.
    if filled < n_rows:
        for record in range(live.size):
            n_left = live[place_of[record]]
            members[filled : filled + n_left] = record
            filled += n_left
        n_bins += 1
        offsets[n_bins] = n_rows
    return members, offsets[: n_bins + 1].copy()


@njit(cache=True, nogil=True)
def _take(search: DepthSearch, place: Whole, n_rows: Whole, members: Ints, start: Whole) -> None:
    """Put rows of a record into a bin; a record without rows leaves the tree."""
    members[start : start + n_rows] = search.tree.nodes.records[place]
    search.live[place] -= n_rows
    if search.live[place] == 0:
        remove(search.tree.nodes, search.tree.space.numbers, search.live, np.array([place], np.int32), 1)


# ------------------------------------------------------------------------------------------------ keys and their bounds


@njit(cache=True, nogil=True, inline="always")
def _largest_key(search: DepthSearch, place: Whole, node: int) -> float:
    """An upper bound of the key of a record to those of a node."""
    space, nodes, codes = search.tree.space, search.tree.nodes, search.tree.space.codes
    total = most_of_numbers(nodes.low, nodes.high, nodes.holes, node, space.numbers[place], space.gaps, True)
    for c in range(codes.shape[1]):
        total += search.largest[search.begins[c] + codes[place, c]]
    key: float = np.rint(total * STEPS)
    return key


@njit(cache=True, nogil=True, inline="always")
def _largest_key_of_boxes(
    search: DepthSearch, low: Floats, high: Floats, other_low: Floats, other_high: Floats
) -> float:
    """An upper bound of the key of any two records of two boxes."""
    total = 0.0
    for c in range(low.size):
        difference = max(high[c] - other_low[c], other_high[c] - low[c])
        total += difference * difference
    for c in range(search.begins.size - 1):
        total += search.largest[search.begins[c + 1] - 1]
    key: float = np.rint(total * STEPS)
    return key


# ------------------------------------------------------------------------------------------------ the farthest pair


@njit(cache=True, nogil=True)
def _start_bounds(tree: SearchTree) -> FarBounds:
    """Bounds before anything is known."""
    n_records, n_nodes = tree.nodes.records.size, tree.nodes.begin.size
    return FarBounds(
        np.full(n_nodes, np.inf),
        np.full(n_nodes, -1, np.int32),
        np.full(n_records, np.inf),
        np.full(n_records, -1, np.int32),
        np.empty(n_nodes, np.int32),
    )


@njit(cache=True, nogil=True)
def _farthest_pair(search: DepthSearch, bounds: FarBounds) -> tuple[np.int64, np.int64]:
    """The two live records that are farthest apart, of several pairs the first.

    Nodes are visited from the root down, the more promising child first, unless their bound says that no record of
    theirs is farther from any other than the best so far, or as far and before it.
    """
    nodes, live = search.tree.nodes, search.live
    child, alive, least = nodes.child, nodes.alive, nodes.least
    of_nodes, nodes_from, _, records_from, visited = bounds
    best_key, best = -1.0, np.int64(-1)
    best_record = np.int64(0)
    stack, height, n_visited = np.zeros(STACK, np.int64), 1, 0
    while height > 0:
        height -= 1
        node = stack[height]
        if not _promises(of_nodes[node], least[node], best_key, best_record):
            continue
        visited[n_visited] = node
        n_visited += 1
        # A bound is computed again only when the record that gave it has left.
        if nodes_from[node] < 0 or live[nodes_from[node]] == 0:
            bound, nodes_from[node] = _farthest_from_box(search, node)
            of_nodes[node] = min(of_nodes[node], bound)
            if not _promises(of_nodes[node], least[node], best_key, best_record):
                continue
        if child[node] < 0:
            best_key, best, best_record = _farthest_in_leaf(search, bounds, node, best_key, best, best_record)
            continue
        first, second = child[node], child[node] + 1
        if _promises(of_nodes[second], least[second], of_nodes[first], least[first]):
            first, second = second, first
        for half in (second, first):
            if alive[half] > 0:
                stack[height] = half
                height += 1
    for at in range(n_visited - 1, -1, -1):
        _tighten(search, bounds, visited[at])
    return best, np.int64(records_from[best])


@njit(cache=True, nogil=True)
def _promises(bound: float, first: Whole, best_key: float, best: Whole) -> bool:
    """Return whether a bound leaves room for a farther record, or for one as far and before the best."""
    return bound > best_key or (bound == best_key and bool(first < best))


@njit(cache=True, nogil=True, inline="always")
def _farthest_in_leaf(
    search: DepthSearch, bounds: FarBounds, leaf: Whole, best_key: float, best: np.int64, best_record: np.int64
) -> tuple[float, np.int64, np.int64]:
    """The record that is farthest from any other: the best so far, or one of a leaf. Key, place and record."""
    nodes, live = search.tree.nodes, search.live
    _, _, of_records, records_from, _ = bounds
    for place in range(nodes.begin[leaf], nodes.end[leaf]):
        record = np.int64(nodes.records[place])
        if live[place] == 0 or not _promises(of_records[place], record, best_key, best_record):
            continue
        partner = records_from[place]
        if partner < 0 or live[partner] <= (1 if partner == place else 0):
            of_records[place], records_from[place] = _farthest_from(search, place)
        if _promises(of_records[place], record, best_key, best_record):
            best_key, best, best_record = of_records[place], np.int64(place), record
    return best_key, best, best_record


@njit(cache=True, nogil=True, inline="always")
def _tighten(search: DepthSearch, bounds: FarBounds, node: Whole) -> None:
    """Lower the bound of a node to those of its children or records."""
    nodes, live = search.tree.nodes, search.live
    of_nodes, _, of_records, _, _ = bounds
    most, child = -1.0, nodes.child[node]
    if child >= 0:
        for half in range(child, child + 2):
            if nodes.alive[half] > 0:
                most = max(most, of_nodes[half])
    else:
        for place in range(nodes.begin[node], nodes.end[node]):
            if live[place] > 0:
                most = max(most, of_records[place])
    of_nodes[node] = min(of_nodes[node], most)


@njit(cache=True, nogil=True)
def _farthest_from(search: DepthSearch, own: Whole) -> tuple[float, Whole]:
    """The largest key of a record to a live one, and the first that has it; itself counts if it has another row."""
    space, nodes, live = search.tree.space, search.tree.nodes, search.live
    query = start_query(space, space.numbers[own], space.codes[own])
    # Branch and bound for step 1: the best so far is a second row of the record itself, if it has one.
    best_key, best, best_record = -1.0, np.int64(-1), np.int64(-1)
    if live[own] > 1:
        best_key, best, best_record = 0.0, np.int64(own), np.int64(nodes.records[own])
    stack, keys, height = np.zeros(STACK, np.int64), np.full(STACK, np.inf), 1
    while height > 0:
        height -= 1
        node = stack[height]
        if not _promises(keys[height], nodes.least[node], best_key, best_record):
            continue
        # Push both halves with their upper bounds, the larger one on top.
        child = nodes.child[node]
        if child >= 0:
            before = height
            for half in range(child, child + 2):
                if nodes.alive[half] > 0:
                    stack[height], keys[height] = half, _largest_key(search, own, half)
                    height += 1
            _larger_last(stack, keys, before, height)
            continue
        # In a leaf, measure every other live record.
        for place in range(nodes.begin[node], nodes.end[node]):
            if live[place] > 0 and place != own:
                key = np.rint(sum_contributions(space, place, query) * STEPS)
                if _promises(key, nodes.records[place], best_key, best_record):
                    best_key, best, best_record = key, np.int64(place), np.int64(nodes.records[place])
    return best_key, best


@njit(cache=True, nogil=True)
def _farthest_from_box(search: DepthSearch, box: Whole) -> tuple[float, Whole]:
    """An upper bound of the key from any record of a node's box to any live record, and the record that gives it."""
    numbers, nodes = search.tree.space.numbers, search.tree.nodes
    low, high = nodes.low, nodes.high
    best_key, best = -1.0, np.int64(-1)
    stack, keys, height = np.zeros(STACK, np.int64), np.full(STACK, np.inf), 1
    while height > 0:
        height -= 1
        node = stack[height]
        # Skip a node that cannot raise the bound.
        if keys[height] <= best_key:
            continue
        # Push both halves with their upper bounds, the larger one on top.
        child = nodes.child[node]
        if child >= 0:
            before = height
            for half in range(child, child + 2):
                if nodes.alive[half] > 0:
                    stack[height] = half
                    keys[height] = _largest_key_of_boxes(search, low[box], high[box], low[half], high[half])
                    height += 1
            _larger_last(stack, keys, before, height)
            continue
        # In a leaf, the box against each live record, which is a box without extent.
        for place in range(nodes.begin[node], nodes.end[node]):
            if search.live[place] > 0:
                key = _largest_key_of_boxes(search, low[box], high[box], numbers[place], numbers[place])
                if key > best_key:
                    best_key, best = key, np.int64(place)
    return best_key, best


@njit(cache=True, nogil=True)
def _larger_last(stack: Longs, keys: Floats, before: int, height: int) -> None:
    """Put the node with the larger key on top of its sibling, if both are on the stack."""
    if height - before == 2 and keys[before] > keys[before + 1]:
        stack[before], stack[before + 1] = stack[before + 1], stack[before]
        keys[before], keys[before + 1] = keys[before + 1], keys[before]


# ------------------------------------------------------------------------------------------------ nearest records


@njit(cache=True, nogil=True)
def _take_nearest(search: DepthSearch, own: Whole, n_rows: int, members: Ints, start: Whole) -> None:
    """Put the rows nearest to a record into a bin, of equally near ones the first; its own further rows count."""
    if n_rows == 0:
        return
    found, size = _nearest(search, own, n_rows)
    # All but the farthest, which is on top of the heap, are taken whole.
    left = np.int64(n_rows)
    for at in range(size - 1, -1, -1):
        taken = min(left, search.live[found[at]])
        _take(search, found[at], taken, members, start)
        start += taken
        left -= taken


@njit(cache=True, nogil=True)
def _nearest(search: DepthSearch, own: Whole, n_rows: int) -> tuple[Longs, int]:
    """The live records nearest to a record that together have enough rows, as a heap with the farthest on top.

    The top is dropped as soon as the others have enough.
    """
    space, nodes, live = search.tree.space, search.tree.nodes, search.live
    records, point = nodes.records, space.numbers[own]
    query = start_query(space, point, space.codes[own])
    most = min(n_rows, records.size) + 1
    found, found_keys, size, rows_found = np.empty(most, np.int64), np.empty(most), 0, np.int64(0)
    stack, keys, height = np.zeros(STACK, np.int64), np.zeros(STACK), 1
    while height > 0:
        height -= 1
        node = stack[height]
        # Branch and bound for steps 2 and 3: skip a node that is no nearer than the farthest record found.
        if rows_found >= n_rows and not _is_nearer(keys[height], nodes.least[node], found_keys[0], records[found[0]]):
            continue
        # Push both halves with their lower bounds, the smaller one on top: negative keys until they are sorted.
        child = nodes.child[node]
        if child >= 0:
            before = height
            for half in range(child, child + 2):
                if nodes.alive[half] > 0:
                    least = least_of_numbers(nodes.low, nodes.high, nodes.holes, half, point, space.gaps, True)
                    stack[height], keys[height] = half, -np.rint(least * STEPS)
                    height += 1
            _larger_last(stack, keys, before, height)
            keys[before:height] *= -1.0
            continue
        # In a leaf, put the live records that are near enough on the heap.
        for place in range(nodes.begin[node], nodes.end[node]):
            if live[place] == 0:
                continue
            key = np.rint(sum_contributions(space, place, query) * STEPS)
            if rows_found >= n_rows and not _is_nearer(key, records[place], found_keys[0], records[found[0]]):
                continue
            size = _add(records, found, found_keys, size, place, key)
            rows_found += live[place]
            # Drop the farthest ones that are no longer needed.
            while rows_found - live[found[0]] >= n_rows:
                rows_found -= live[found[0]]
                size = _drop_top(records, found, found_keys, size)
    return found, size


@njit(cache=True, nogil=True)
def _is_nearer(key: float, record: Whole, other_key: float, other: Whole) -> bool:
    return key < other_key or (key == other_key and bool(record < other))


@njit(cache=True, nogil=True)
def _add(records: Ints, found: Longs, keys: Floats, size: int, place: Whole, key: float) -> int:
    """Add a record to the heap of those found; return its new size."""
    at = size
    while at > 0 and _is_nearer(keys[(at - 1) // 2], records[found[(at - 1) // 2]], key, records[place]):
        found[at], keys[at] = found[(at - 1) // 2], keys[(at - 1) // 2]
        at = (at - 1) // 2
    found[at], keys[at] = place, key
    return size + 1


@njit(cache=True, nogil=True)
def _drop_top(records: Ints, found: Longs, keys: Floats, size: int) -> int:
    """Drop the farthest record from the heap of those found; return its new size."""
    size -= 1
    place, key = found[size], keys[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _is_nearer(
            keys[child], records[found[child]], keys[child + 1], records[found[child + 1]]
        ):
            child += 1
        if not _is_nearer(key, records[place], keys[child], records[found[child]]):
            break
        found[at], keys[at] = found[child], keys[child]
        at = child
    found[at], keys[at] = place, key
    return size
