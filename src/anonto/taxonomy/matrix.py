"""Distances of many concepts at once, tile by tile in threads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import ParameterError, UnknownMeasureError
from anonto.taxonomy import kernels
from anonto.taxonomy.distance import FUNCTIONS, MEASURES, USE_CONTENT
from anonto.taxonomy.information import CONTENTS
from anonto.taxonomy.information import information_content as content_of
from anonto.taxonomy.pairs import pairs_between
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import DTypeLike, NDArray

    from anonto.taxonomy.pairs import Pairs
    from anonto.taxonomy.taxonomy import Taxonomy

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int32]

TILE = 240
"""Rows and columns of a tile: its distances fit a processor's cache, and a power of two would crowd a part of it."""


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
    row_places = _neighbours_together(taxonomy, rows)
    column_places = row_places if columns is None else _neighbours_together(taxonomy, columns)
    n_columns = column_places.size
    ordered = None if columns is None else columns[column_places]
    tiles = _measure(taxonomy, measure, information_content, counts).tiles(taxonomy, rows[row_places], ordered)
    out = np.empty((rows.size, n_columns), dtype=dtype)

    def fill(row: slice) -> None:
        first = row.start if columns is None else 0
        for column in slices(first, n_columns, TILE):
            mirrored = columns is None and column.start > row.start
            kernels.put_in_place(tiles(row, column), row_places[row], column_places[column], mirrored, out)

    in_threads(fill, slices(0, rows.size, TILE))
    return out


def _neighbours_together(taxonomy: Taxonomy, concepts: Numbers) -> NDArray[np.int64]:
    """An order of the concepts in which those of one branch stand together."""
    rank = taxonomy.remembered(
        "preorder", lambda: kernels.preorder(taxonomy.order, taxonomy.parent_offsets, taxonomy.parent_indices)
    )
    return np.argsort(rank[concepts], kind="stable")


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
    chosen = _measure(taxonomy, measure, information_content, counts)
    places = _neighbours_together(taxonomy, columns)
    columns, weights = columns[places], weights[places]

    def fill(row: slice) -> None:
        tiles = chosen.tiles(taxonomy, rows[row], columns)
        for column in slices(0, columns.size, 2 * TILE):
            out[row] += tiles(slice(0, row.stop - row.start), column) @ weights[column]

    in_threads(fill, slices(0, rows.size, 16 * TILE))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Measure:
    """A measure with what it needs of the whole taxonomy, found once for all tiles."""

    function: Callable[[Pairs], Floats]
    content: Floats | None
    facts: dict[str, float]

    def tiles(self, taxonomy: Taxonomy, rows: Numbers, columns: Numbers | None) -> Callable[[slice, slice], Floats]:
        """A function from a slice of rows and one of columns to their distances; the closures are found once."""
        pairs = replace(pairs_between(taxonomy, rows, columns, self.content), facts=self.facts)
        return lambda row, column: self.function(pairs.tile(row, column))


def _measure(taxonomy: Taxonomy, name: str, information_content: str, counts: Mapping[str, int] | None) -> _Measure:
    function = FUNCTIONS.get(name) if isinstance(name, str) else None
    if function is None:
        raise UnknownMeasureError(name, MEASURES)
    if information_content not in CONTENTS:
        raise ParameterError("information_content", f"one of {', '.join(CONTENTS)}", information_content)
    if name not in USE_CONTENT:
        return _Measure(function, None, {})
    content = content_of(taxonomy, information_content, counts)
    remembered = information_content != "data"
    facts: dict[str, float] = taxonomy.remembered(("facts of", information_content), dict) if remembered else {}
    return _Measure(function, content, facts)
