"""Distances of many concepts at once, tile by tile in threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import ParameterError, UnknownMeasureError
from anonto.taxonomy.distance import FUNCTIONS, MEASURES, USE_CONTENT
from anonto.taxonomy.information import information_content as content_of
from anonto.taxonomy.pairs import pairs_between

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import DTypeLike, NDArray

    from anonto.taxonomy.taxonomy import Taxonomy

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int32]

TILE = 512


def distance_matrix(
    taxonomy: Taxonomy,
    rows: Numbers,
    columns: Numbers | None,
    measure: str,
    *,
    information_content: str = "sanchez",
    counts: Mapping[str, int] | None = None,
    dtype: DTypeLike = np.float64,
) -> NDArray[Any]:
    """Distances of rows to columns (or of all pairs of rows), concepts given by number, tile by tile in threads."""
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ParameterError("dtype", "float32 or float64", str(np.dtype(dtype)))
    tiles = _tiler(taxonomy, rows, columns, measure, information_content, counts)
    n_columns = rows.size if columns is None else columns.size
    out = np.empty((rows.size, n_columns), dtype=dtype)

    def fill(row: slice) -> None:
        first = row.start if columns is None else 0
        for column in _slices(first, n_columns):
            block = tiles(row, column)
            out[row, column] = block
            if columns is None and column.start > row.start:
                out[column, row] = block.T

    _in_threads(fill, _slices(0, rows.size))
    return out


def weighted_sums(
    taxonomy: Taxonomy,
    rows: Numbers,
    columns: Numbers,
    weights: Floats,
    measure: str,
    *,
    information_content: str = "sanchez",
    counts: Mapping[str, int] | None = None,
) -> Floats:
    """For each row the sum of its distances to the columns, each with its weight; no table of all pairs is kept."""
    out = np.zeros(rows.size)

    def fill(row: slice) -> None:
        tiles = _tiler(taxonomy, rows[row], columns, measure, information_content, counts)
        for column in _slices(0, columns.size):
            out[row] += tiles(slice(0, row.stop - row.start), column) @ weights[column]

    _in_threads(fill, _slices(0, rows.size, 8 * TILE))
    return out


def _tiler(
    taxonomy: Taxonomy,
    rows: Numbers,
    columns: Numbers | None,
    measure: str,
    information_content: str,
    counts: Mapping[str, int] | None,
) -> Callable[[slice, slice], Floats]:
    """A function from a slice of rows and one of columns to their distances; the closures are found once."""
    function = FUNCTIONS.get(measure)
    if function is None:
        raise UnknownMeasureError(measure, MEASURES)
    content = content_of(taxonomy, information_content, counts) if measure in USE_CONTENT else None
    pairs = pairs_between(taxonomy, rows, columns, content)
    if information_content != "data":
        pairs = replace(pairs, facts=taxonomy.remembered(("facts of", information_content), dict))
    return lambda row, column: function(pairs.tile(row, column))


def _slices(first: int, last: int, size: int = TILE) -> list[slice]:
    return [slice(start, min(start + size, last)) for start in range(first, last, size)]


def _in_threads(fill: Callable[[slice], None], slices: list[slice]) -> None:
    if len(slices) < 2:
        for one in slices:
            fill(one)
        return
    n_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(fill, slices):
            pass
