"""Counting pairs of values: the only pass over the records that a dependence needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs
    from anonto.encoding.columns import Column

DENSE_CELLS = 1 << 24
"""Contingency tables of up to this many cells are counted densely."""
CHUNK = 1 << 22
SPARSE_IF_FEWER = 30
"""A table is kept sparse when fewer than one cell in this many can be filled: a product then skips the empty ones."""


def joint_shares(a: Column, b: Column) -> Floats | Any:
    """The share of the records that each pair of values has, as a dense or a sparse table (values of a × of b)."""
    shape = (len(a.values), len(b.values))
    counts = np.broadcast_to(np.int64(1), len(a)) if a.amounts is None else a.amounts
    return shares_of_counts(a.codes, b.codes, counts, shape)


def shares_of_counts(a: Ints, b: Ints, counts: Longs | Floats, shape: tuple[int, int]) -> Floats | Any:
    """The shares of pairs, from those that occur and how many records, or people, each has.

    Pairs are counted in chunks: the numbers of all at once would be larger than the columns themselves.
    """
    n_records, cells = counts.sum(), shape[0] * shape[1]
    n_pairs = n_records if counts.dtype.kind == "i" else counts.size
    if cells <= DENSE_CELLS and n_pairs * SPARSE_IF_FEWER > cells:
        dense, chunk = np.zeros(cells), max(CHUNK, cells)
        for start in range(0, a.size, chunk):
            part = slice(start, start + chunk)
            pair = a[part].astype(np.int64) * shape[1] + b[part]
            dense += np.bincount(pair, counts[part], minlength=cells)
        return dense.reshape(shape) / n_records
    from scipy.sparse import coo_array

    table: Any = 0
    for start in range(0, a.size, CHUNK):
        part = slice(start, start + CHUNK)
        here = coo_array((counts[part].astype(np.float64), (a[part], b[part])), shape=shape).tocsr()
        table = table + here if start else here
    return table / n_records
