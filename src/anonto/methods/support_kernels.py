"""Compiled loops that find which records a joint swap could have brought together.

The rows nearest to a record are blocks of a tree over the records: a node, or a record r as −1 − r.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.search.record_search_kernels import RecordQuery, blocks_within, kth_distance, start_query
from anonto.search.record_tree_kernels import places_of_block

if TYPE_CHECKING:
    from anonto.arrays import Bools, Ints, Longs
    from anonto.search.record_tree_kernels import CountedTree, Metric, Points, RecordTree


@njit(cache=True, nogil=True)
def near_blocks(
    first: int, last: int, k: int, points: Points, metric: Metric, counted: CountedTree, sizes: Longs
) -> tuple[int, Ints]:
    """The blocks of the k rows nearest to each of some records, with all rows tied for the last place.

    Args:
        first: The first record.
        last: The record after the last.
        k: How many rows are near.
        points: Records × the columns that count.
        metric: Their distances.
        counted: The tree.
        sizes: Set to the number of blocks of each record.

    Returns:
        The record whose distances must be looked up before the loop can continue, or the last; and the blocks.
    """
    n_records, n_counting = points.codes.shape
    query = RecordQuery(np.empty(n_counting, np.int64), np.empty(n_counting, np.float64))
    stack, heap = np.empty(4 * n_records + 8, np.int64), np.empty(2 * k + 4, np.int64)
    inside, tied = np.empty(2 * n_records, np.int64), np.empty(2 * n_records, np.int64)
    out = np.empty(1024, np.int32)
    n_out = 0
    for record in range(first, last):
        sizes[record] = 0
        if counted.of_record[record] == 0:
            continue
        if not start_query(record, points, metric, query):
            return record, out[:n_out].copy()
        # The distance of the k-th nearest row (step 2 of joint rank swapping), and one step of rounding, as the same
        # distance may be rounded differently from both sides.
        limit = kth_distance(record, k, query, points, metric.distances, counted, stack, heap) + 1
        n_inside, n_tied = blocks_within(limit, query, points, metric.distances, counted, stack, inside, tied)
        # All blocks within that distance, ties included.
        sizes[record] = n_inside + n_tied
        while n_out + n_inside + n_tied > out.size:
            larger = np.empty(2 * out.size, np.int32)
            larger[:n_out] = out[:n_out]
            out = larger
        for blocks, n_blocks in ((inside, n_inside), (tied, n_tied)):
            for block in range(n_blocks):
                out[n_out] = blocks[2 * block]
                n_out += 1
    return last, out[:n_out].copy()


@njit(cache=True, nogil=True)
def mark_near(
    records: Ints,
    rows: Ints,
    tree: RecordTree,
    starts: Longs,
    blocks: Ints,
    holder_starts: Longs,
    holders: Ints,
    codes: Ints,
    begins: Longs,
    allowed: Bools,
) -> None:
    """Mark the values of all records that are near to some records, or to which these are near.

    Args:
        records: Numbers of records.
        rows: For each of them the row to mark in.
        tree: Over the records.
        starts: Where the blocks of each record begin.
        blocks: Of the rows nearest to each record.
        holder_starts: Where the holders of each block begin: first the nodes, then the records.
        holders: Records that have a block among theirs.
        codes: Records × columns.
        begins: Where the values of each column begin in a row.
        allowed: Rows × the values of all columns.
    """
    n_nodes = tree.begins.size
    for i in range(records.size):
        record, row = records[i], allowed[rows[i]]
        # The records that are near to this one.
        for at in range(starts[record], starts[record + 1]):
            begin, end = places_of_block(blocks[at], tree)
            for place in range(begin, end):
                _mark(record, tree.order[place], codes, begins, row)
        # The records that this one is near to: as a block of its own, or inside a node of theirs.
        for at in range(holder_starts[n_nodes + record], holder_starts[n_nodes + record + 1]):
            _mark(record, holders[at], codes, begins, row)
        node = tree.leaf_of[record] if tree.positions[record] >= 0 else -1
        while node >= 0:
            for at in range(holder_starts[node], holder_starts[node + 1]):
                _mark(record, holders[at], codes, begins, row)
            node = tree.parents[node]


@njit(cache=True, nogil=True)
def _mark(record: int, other: int, codes: Ints, begins: Longs, row: Bools) -> None:
    """Mark the values of another record, in the columns in which both have one."""
    for column in range(codes.shape[1]):
        if codes[record, column] >= 0 and codes[other, column] >= 0:
            row[begins[column] + codes[other, column]] = True
