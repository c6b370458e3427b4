r"""Swapping in the cells of a grid (MEWS), row by row: the same exchanges as `anonto.methods.equi_width_swap`.

$$bin(x) = \min\Bigl(\Bigl\lfloor \frac{x - lo}{t} \Bigr\rfloor,\ \Bigl\lceil \frac{hi - lo}{t} \Bigr\rceil - 1\Bigr)$$

The random numbers of a cell come from the key of the step and the place of the cell on the grid, as in the compiled
loop, so the exchanges are the same for the same key.

Reference: Li, Shen, Multivariate equi-width data swapping, PAKDD 2010, Algorithm 2.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.plain.pair_swap import partners_of, shuffle
from anonto.random.chacha import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.arrays import Floats, Longs
    from anonto.encoding.records import Records
    from anonto.methods.grid_swap import Grid
    from anonto.random.streams import Key


ROUNDING = 1e-12
"""A number that is so little below a line of the grid counts as on it."""


def grid_places(numbers: Floats, width: float) -> list[int]:
    """Step 1: the bin of each number of a column; bins are closed on the left, and the last one on both sides."""
    low, extent = float(numbers.min()), float(np.ptp(numbers))
    last = max(math.ceil(extent / width - ROUNDING) - 1, 0)
    return [min(math.floor((number - low) / width + ROUNDING), last) for number in numbers.tolist()]


def exchange_in_cells(records: Records, grid: Grid, key: Key, *, cycle: bool) -> tuple[Longs, list[int]]:
    """Exchange the records of random pairs of rows of each cell.

    Args:
        records: The distinct records, in the order of their codes.
        grid: The place of each value of each column.
        key: The secret of the step.
        cycle: Whether the last three rows of an odd number pass theirs on in a circle.

    Returns:
        For each row, record by record, the record that it takes; and the records that had no partner.
    """
    record_of = np.repeat(np.arange(records.counts.size), records.counts)
    identities = grid.identities(records.codes)
    taken, alone = record_of.copy(), []
    # Step 2: rows whose values have the same places in all columns, or are missing in the same, are a bin.
    cells: dict[tuple[int, ...], list[int]] = {}
    for row, record in enumerate(record_of.tolist()):
        codes = records.codes[record].tolist()
        if max(codes) >= 0:
            cell = tuple(-1 if code < 0 else int(own[code]) for own, code in zip(grid.columns, codes, strict=True))
            cells.setdefault(cell, []).append(row)
    # Step 3: in every bin random pairs exchange their records.
    for in_order in cells.values():
        rows = np.array(in_order)
        words = _words(key, identities[record_of[rows[0]]])
        rows = rows[shuffle(rows.size, partial(_below, words))]
        partners, is_alone = partners_of(rows.size, cycle=cycle)
        taken[rows] = record_of[rows[partners]]
        alone += record_of[rows[is_alone]].tolist()
    return taken, alone


def _below(words: Iterator[int], n: int) -> int:
    """A number from 0 to n − 1 from the next word."""
    return next(words) * n >> 64


def _words(key: Key, identity: np.uint64) -> Iterator[int]:
    """The random words of 64 bits that belong to a cell, eight to a block of the cipher."""
    block, counter = np.empty((16, 1), dtype=np.uint32), 0
    while True:
        blocks(key.words, np.array([counter], dtype=np.uint64), np.array([identity], dtype=np.uint64), block)
        yield from np.ascontiguousarray(block.T).view(np.uint64)[0].tolist()
        counter += 1
