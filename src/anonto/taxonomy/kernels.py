"""Compiled loops over a taxonomy's arrays: arrays in, arrays out.

Parents and children come as compressed rows: the parents of concept ``c`` are
``parent_indices[parent_offsets[c]:parent_offsets[c + 1]]``. A *closure* has, for each selected concept, its
ancestors with the concept itself first, and for each the length in edges of the shortest way up to it.

The pair kernels take a closure of rows and an inverted one of columns, whose ancestors have the same numbers.
For each ancestor of a row they visit the columns below it: one step for each common ancestor. They release the
interpreter's lock and share no array that they write to, so that tiles may run in threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Ints, Longs, Reals


@njit(cache=True, nogil=True)
def topological_depths(parent_offsets: Longs, child_offsets: Longs, child_indices: Ints) -> tuple[Ints, Ints]:
    """Longest depth in nodes (roots 1) and an order with parents first; concepts on or below a cycle keep depth 0."""
    # Kahn's algorithm (1962): a concept follows once all its parents are in the order; roots come first.
    n = parent_offsets.size - 1
    waiting = np.empty(n, np.int32)
    depths = np.zeros(n, np.int32)
    order = np.empty(n, np.int32)
    filled = 0
    for c in range(n):
        waiting[c] = parent_offsets[c + 1] - parent_offsets[c]
        if waiting[c] == 0:
            depths[c] = 1
            order[filled] = c
            filled += 1
    longest = depths.copy()
    done = 0
    while done < filled:
        c = order[done]
        done += 1
        # The longest way to a child is one more than that to its deepest parent.
        for e in range(child_offsets[c], child_offsets[c + 1]):
            child = child_indices[e]
            longest[child] = max(longest[child], longest[c] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                depths[child] = longest[child]
                order[filled] = child
                filled += 1
    return depths, order[:filled]


@njit(cache=True, nogil=True)
def redundant_edges(parent_offsets: Longs, parent_indices: Ints) -> Bools:
    """Flag the edges child → parent that are shortcuts: another parent of the child has that ancestor too."""
    n = parent_offsets.size - 1
    redundant = np.zeros(parent_indices.size, np.bool_)
    stamp = np.full(n, -1, np.int32)
    stack = np.empty(n, np.int32)
    for c in range(n):
        first, last = parent_offsets[c], parent_offsets[c + 1]
        if last - first < 2:
            continue
        # Mark all proper ancestors of the parents, by a depth-first walk from the grandparents.
        height = 0
        for e in range(first, last):
            parent = parent_indices[e]
            for f in range(parent_offsets[parent], parent_offsets[parent + 1]):
                above = parent_indices[f]
                if stamp[above] != c:
                    stamp[above] = c
                    stack[height] = above
                    height += 1
        while height > 0:
            height -= 1
            node = stack[height]
            for f in range(parent_offsets[node], parent_offsets[node + 1]):
                above = parent_indices[f]
                if stamp[above] != c:
                    stamp[above] = c
                    stack[height] = above
                    height += 1
        # A parent that is marked is also reached through another parent.
        for e in range(first, last):
            redundant[e] = stamp[parent_indices[e]] == c
    return redundant


@njit(cache=True, nogil=True)
def ancestor_closure(selection: Ints, parent_offsets: Longs, parent_indices: Ints) -> tuple[Longs, Ints, Ints]:
    """Ancestors of each selected concept, nearest first, with the shortest way up in edges."""
    n = parent_offsets.size - 1
    offsets = np.zeros(selection.size + 1, np.int64)
    ancestors = np.empty(max(16, selection.size * 8), np.int32)
    paths = np.empty(ancestors.size, np.int32)
    stamp = np.full(n, -1, np.int64)
    filled = 0
    for i in range(selection.size):
        # Room for all concepts, as no closure has more.
        if filled + n > ancestors.size:
            room = max(2 * ancestors.size, filled + n)
            grown = np.empty(room, np.int32)
            grown[:filled] = ancestors[:filled]
            ancestors = grown
            grown = np.empty(room, np.int32)
            grown[:filled] = paths[:filled]
            paths = grown
        # A breadth-first walk upwards: the first visit to an ancestor is by a shortest way.
        done = filled
        ancestors[filled] = selection[i]
        paths[filled] = 0
        stamp[selection[i]] = i
        filled += 1
        while done < filled:
            node = ancestors[done]
            for e in range(parent_offsets[node], parent_offsets[node + 1]):
                above = parent_indices[e]
                if stamp[above] != i:
                    stamp[above] = i
                    ancestors[filled] = above
                    paths[filled] = paths[done] + 1
                    filled += 1
            done += 1
        offsets[i + 1] = filled
    return offsets, ancestors[:filled].copy(), paths[:filled].copy()


@njit(cache=True, nogil=True)
def sums_over_ancestors(parent_offsets: Longs, parent_indices: Ints, weights: Floats) -> tuple[Floats, Ints]:
    """The weights of each concept and all below it, each counted once, and how many ancestors it has."""
    n = parent_offsets.size - 1
    below = np.zeros(n, np.float64)
    ancestor_counts = np.zeros(n, np.int32)
    stamp = np.full(n, -1, np.int32)
    queue = np.empty(n, np.int32)
    # Each concept adds its weight to all its ancestors, each of which it visits once.
    for c in range(n):
        queue[0] = c
        stamp[c] = c
        filled = 1
        done = 0
        while done < filled:
            node = queue[done]
            done += 1
            below[node] += weights[c]
            for e in range(parent_offsets[node], parent_offsets[node + 1]):
                above = parent_indices[e]
                if stamp[above] != c:
                    stamp[above] = c
                    queue[filled] = above
                    filled += 1
        ancestor_counts[c] = filled
    return below, ancestor_counts


@njit(cache=True, nogil=True)
def descendants_of(start: int, child_offsets: Longs, child_indices: Ints) -> Bools:
    """Flag the concepts that are the start or below it."""
    n = child_offsets.size - 1
    below = np.zeros(n, np.bool_)
    stack = np.empty(n, np.int32)
    stack[0] = start
    below[start] = True
    height = 1
    while height > 0:
        height -= 1
        node = stack[height]
        for e in range(child_offsets[node], child_offsets[node + 1]):
            child = child_indices[e]
            if not below[child]:
                below[child] = True
                stack[height] = child
                height += 1
    return below


@njit(cache=True, nogil=True)
def ways_down(root: int, order: Ints, child_offsets: Longs, child_indices: Ints) -> Ints:
    """The edges on the shortest way down from a root to each concept; −1 if it is not below."""
    ways = np.full(order.size, -1, np.int32)
    ways[root] = 0
    # Parents come first in the order, so that the way to a concept is final before it is passed on.
    for place in range(order.size):
        node = order[place]
        if ways[node] < 0:
            continue
        for e in range(child_offsets[node], child_offsets[node + 1]):
            child = child_indices[e]
            if ways[child] < 0 or ways[node] + 1 < ways[child]:
                ways[child] = ways[node] + 1
    return ways


@njit(cache=True, nogil=True)
def largest_in_forest(order: Ints, parent_offsets: Longs, parent_indices: Ints, height: Floats) -> float:
    """The largest height(x) + height(y) − 2 height(their lowest common ancestor), if no concept has two parents.

    Heights must grow downwards. Each concept hands the best of its subtree up to its parent, which adds the best two of
    different children, or of a child and itself.
    """
    best_below = height.copy()
    largest = 0.0
    for place in range(order.size - 1, -1, -1):
        node = order[place]
        if parent_offsets[node + 1] == parent_offsets[node]:
            continue
        parent = parent_indices[parent_offsets[node]]
        largest = max(largest, best_below[node] + best_below[parent] - 2.0 * height[parent])
        best_below[parent] = max(best_below[parent], best_below[node])
    return largest


# ------------------------------------------------------------------------------------------------ pairs of concepts


@njit(cache=True, nogil=True)
def _runs(starts: Ints, members: Ints) -> tuple[Ints, Ints]:
    """Cut the columns below each ancestor into runs of neighbours: where each begins, and each ancestor's first."""
    begins = np.empty(members.size + 1, np.int32)
    of_ancestor = np.empty(starts.size, np.int32)
    filled = 0
    for a in range(starts.size - 1):
        of_ancestor[a] = filled
        for e in range(starts[a], starts[a + 1]):
            if e == starts[a] or members[e] != members[e - 1] + 1:
                begins[filled] = e
                filled += 1
    of_ancestor[starts.size - 1] = filled
    begins[filled] = members.size
    return begins[: filled + 1], of_ancestor


@njit(cache=True, nogil=True)
def invert_closure(
    offsets: Longs, ancestors: Ints, paths: Ints, n_ancestors: int
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Invert a closure: for each ancestor the columns below it and their ways up to it.

    Returns:
        Where the columns of each ancestor start; the columns; their ways; where each run of neighbours among the
        columns of an ancestor begins; the first run of each ancestor.
    """
    # A counting sort by ancestor.
    first, last = offsets[0], offsets[-1]
    starts = np.zeros(n_ancestors + 1, np.int32)
    for t in range(first, last):
        starts[ancestors[t] + 1] += 1
    for a in range(n_ancestors):
        starts[a + 1] += starts[a]
    free = starts[:-1].copy()
    members = np.empty(last - first, np.int32)
    ways = np.empty(last - first, np.int32)
    for j in range(offsets.size - 1):
        for t in range(offsets[j], offsets[j + 1]):
            place = free[ancestors[t]]
            members[place] = j
            ways[place] = paths[t]
            free[ancestors[t]] = place + 1
    begins, of_ancestor = _runs(starts, members)
    return starts, members, ways, begins, of_ancestor


@njit(cache=True, nogil=True)
def preorder(order: Ints, parent_offsets: Longs, parent_indices: Ints) -> Ints:
    """Numbers for all concepts so that those below a concept follow it closely, each below its first parent.

    Args:
        order: All concepts, parents first.
        parent_offsets: As above.
        parent_indices: As above.
    """
    # The size of each subtree, children before parents.
    n = order.size
    below = np.ones(n, np.int32)
    for place in range(n - 1, -1, -1):
        node = order[place]
        if parent_offsets[node + 1] > parent_offsets[node]:
            below[parent_indices[parent_offsets[node]]] += below[node]
    # Each concept takes the next free stretch of its first parent, as long as its subtree.
    rank = np.empty(n, np.int32)
    free = np.empty(n, np.int32)
    free_root = 0
    for place in range(n):
        node = order[place]
        if parent_offsets[node + 1] > parent_offsets[node]:
            parent = parent_indices[parent_offsets[node]]
            rank[node] = free[parent]
            free[parent] += below[node]
        else:
            rank[node] = free_root
            free_root += below[node]
        free[node] = rank[node] + 1
    return rank


LONG_RUN = 8
"""Runs of at least this length are worth a vector loop."""


@njit(cache=True, nogil=True)
def _nearer(up: int, depth: int, ways: Ints, best_way: Ints, best_depth: Ints) -> None:
    """Take an ancestor for the columns of a run for which it is the better one."""
    for t in range(ways.size):
        way = np.int32(up + ways[t])
        is_nearer = way * best_depth[t] < best_way[t] * depth
        best_way[t] = way if is_nearer else best_way[t]
        best_depth[t] = depth if is_nearer else best_depth[t]


@njit(cache=True, nogil=True)
def closest_by_depth(
    rows: tuple[Longs, Ints, Ints], columns: tuple[Ints, Ints, Ints, Ints, Ints], depths: Ints, out: Reals
) -> None:
    """Wu-Palmer: 1 − max over common ancestors a of 2·depth(a) / (2·depth(a) + path + path'); 1 where none is common.

    The best ancestor has the least way : depth; it is found in whole numbers, so equal distances are equal floats.
    Columns that are neighbours in the taxonomy should come as neighbours: ancestors then are compared for whole runs.
    """
    row_offsets, row_ancestors, row_paths = rows
    starts, members, ways, begins, of_ancestor = columns
    n = out.shape[1]
    best_way = np.empty(n, np.int32)
    best_depth = np.empty(n, np.int32)
    for i in range(row_offsets.size - 1):
        best_way[:] = 1
        best_depth[:] = 0
        # Every ancestor of the row is common with the columns below it: compare way : depth with the best so far.
        for t in range(row_offsets[i + 1] - 1, row_offsets[i] - 1, -1):
            above, up = row_ancestors[t], row_paths[t]
            depth = depths[above]
            for run in range(of_ancestor[above], of_ancestor[above + 1]):
                first, last = begins[run], min(begins[run + 1], starts[above + 1])
                j = members[first]
                if last - first >= LONG_RUN:
                    end = j + last - first
                    _nearer(up, depth, ways[first:last], best_way[j:end], best_depth[j:end])
                    continue
                for e in range(first, last):
                    way = up + ways[e]
                    if way * best_depth[j] < best_way[j] * depth:
                        best_way[j] = way
                        best_depth[j] = depth
                    j += 1
        # Wu and Palmer 1994: 1 − 2·depth / (2·depth + way) = way / (2·depth + way).
        line = out[i]
        for j in range(n):
            line[j] = best_way[j] / (2.0 * best_depth[j] + best_way[j])


@njit(cache=True, nogil=True)
def closest_by_subsumer(
    rows: tuple[Longs, Ints, Ints],
    columns: tuple[Ints, Ints, Ints, Ints, Ints],
    ranks: Ints,
    depths: Ints,
    out: Reals,
) -> None:
    """1 − 2·depth(s) / (2·depth(s) + path + path') for the common ancestor s of the highest rank; 1 without one."""
    starts, members, ways, _, _ = columns
    n = out.shape[1]
    best_rank = np.empty(n, np.int32)
    best_way = np.empty(n, np.int32)
    best_depth = np.empty(n, np.int32)
    for i in range(rows[0].size - 1):
        # The least common subsumer is the common ancestor of the highest rank (`Taxonomy.specificity`).
        best_rank[:] = -1
        best_way[:] = 1
        best_depth[:] = 0
        for t in range(rows[0][i], rows[0][i + 1]):
            above, up = rows[1][t], rows[2][t]
            for e in range(starts[above], starts[above + 1]):
                j = members[e]
                if ranks[above] > best_rank[j]:
                    best_rank[j] = ranks[above]
                    best_way[j] = up + ways[e]
                    best_depth[j] = depths[above]
        for j in range(n):
            out[i, j] = best_way[j] / (2.0 * best_depth[j] + best_way[j])


@njit(cache=True, nogil=True)
def shortest_way(rows: tuple[Longs, Ints, Ints], columns: tuple[Ints, Ints, Ints, Ints, Ints], out: Reals) -> None:
    """Edges on the shortest way over a common ancestor; −1 where none is common."""
    starts, members, ways, _, _ = columns
    n = out.shape[1]
    far = np.iinfo(np.int32).max
    best = np.empty(n, np.int32)
    for i in range(rows[0].size - 1):
        best[:] = far
        for t in range(rows[0][i], rows[0][i + 1]):
            above, up = rows[1][t], rows[2][t]
            for e in range(starts[above], starts[above + 1]):
                j = members[e]
                best[j] = min(best[j], up + ways[e])
        for j in range(n):
            out[i, j] = best[j] if best[j] != far else -1


@njit(cache=True, nogil=True)
def common_ancestors(rows: tuple[Longs, Ints, Ints], columns: tuple[Ints, Ints, Ints, Ints, Ints], out: Reals) -> None:
    """How many ancestors two concepts share, themselves included."""
    starts, members, _, _, _ = columns
    for i in range(rows[0].size - 1):
        out[i, :] = 0
        for t in range(rows[0][i], rows[0][i + 1]):
            above = rows[1][t]
            for e in range(starts[above], starts[above + 1]):
                out[i, members[e]] += 1


@njit(cache=True, nogil=True)
def highest_common(
    rows: tuple[Longs, Ints, Ints], columns: tuple[Ints, Ints, Ints, Ints, Ints], worth: Floats, out: Reals
) -> None:
    """The largest worth of a common ancestor; −1 where none is common."""
    starts, members, _, _, _ = columns
    for i in range(rows[0].size - 1):
        out[i, :] = -1.0
        for t in range(rows[0][i], rows[0][i + 1]):
            above = rows[1][t]
            for e in range(starts[above], starts[above + 1]):
                j = members[e]
                out[i, j] = max(out[i, j], worth[above])


@njit(cache=True, nogil=True)
def put_in_place(block: Floats, rows: Longs, columns: Longs, mirrored: bool, out: Reals) -> None:
    """Write a block of distances to its rows and columns, and if it is mirrored also the other way round."""
    for i in range(rows.size):
        line = out[rows[i]]
        for j in range(columns.size):
            line[columns[j]] = block[i, j]
    if mirrored:
        for j in range(columns.size):
            line = out[columns[j]]
            for i in range(rows.size):
                line[rows[i]] = block[i, j]
