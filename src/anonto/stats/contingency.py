"""Counting pairs of values: the only pass over the records that a dependence needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.table.columns import Column

DENSE_CELLS = 1 << 24
"""Contingency tables of up to this many cells are counted densely."""
CHUNK = 1 << 22
SPARSE_IF_FEWER = 30
"""A table is kept sparse when fewer than one cell in this many can be filled: a product then skips the empty ones."""


def joint_shares(a: Column, b: Column) -> NDArray[np.float64] | Any:
    """The share of the records that each pair of values has, as a dense or a sparse table (values of a × of b)."""
    shape = (len(a.values), len(b.values))
    cells = shape[0] * shape[1]
    if cells <= DENSE_CELLS and len(a) * SPARSE_IF_FEWER > cells:
        return _dense(a.codes, b.codes, shape) / len(a)
    from scipy.sparse import coo_array

    table: Any = 0
    for start in range(0, len(a), CHUNK):
        part = (a.codes[start : start + CHUNK], b.codes[start : start + CHUNK])
        counts = coo_array((np.ones(part[0].size), part), shape=shape).tocsr()
        table = table + counts if start else counts
    return table / len(a)


def shares_of_counts(
    a: NDArray[np.int32], b: NDArray[np.int32], counts: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.float64] | Any:
    """The same from the pairs that occur, each once, and how many records have each."""
    from scipy.sparse import coo_array

    n_records, cells = int(counts.sum()), shape[0] * shape[1]
    table = coo_array((counts.astype(np.float64), (a, b)), shape=shape).tocsr() / n_records
    return table.toarray() if cells <= DENSE_CELLS and n_records * SPARSE_IF_FEWER > cells else table


def _dense(a: NDArray[np.int32], b: NDArray[np.int32], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Count in chunks: the pair numbers of all records at once would be larger than the columns themselves."""
    counts = np.zeros(shape[0] * shape[1], dtype=np.int64)
    chunk = max(CHUNK, counts.size)
    for start in range(0, a.size, chunk):
        pair = a[start : start + chunk].astype(np.int64)
        pair *= shape[1]
        pair += b[start : start + chunk]
        counts += np.bincount(pair, minlength=counts.size)
    return counts.reshape(shape)
