"""Distances of many concepts at once, tile by tile in threads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.arithmetic import matrix_product
from anonto.errors import ParameterError
from anonto.runtime.threads import in_threads, slices
from anonto.taxonomy import kernels
from anonto.taxonomy.distance import FUNCTIONS, MEASURES, USE_CONTENT
from anonto.taxonomy.information import CONTENTS
from anonto.taxonomy.information import information_content as content_of
from anonto.taxonomy.pairs import pairs_between
from anonto.taxonomy.refusals import unknown_measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import DTypeLike, NDArray

    from anonto.arrays import Floats, Ints, Longs
    from anonto.taxonomy.pairs import Pairs
    from anonto.taxonomy.taxonomy import Taxonomy


TILE = 240
"""Rows and columns of a tile: its distances fit a processor's cache, and a power of two would crowd a part of it."""

BAND = 96
"""Rows of a band."""


def distance_matrix(
    taxonomy: Taxonomy,
    rows: Ints,
    columns: Ints | None,
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
    chosen = _measure(taxonomy, measure, information_content, counts)
    pairs = chosen.pairs(taxonomy, rows[row_places], ordered)
    out = np.empty((rows.size, n_columns), dtype=dtype)

    def put(row: slice, column: slice, below: Pairs) -> None:
        mirrored = columns is None and column.start > row.start
        tile = chosen.function(below.of_rows(row))
        kernels.put_in_place(tile, row_places[row], column_places[column], mirrored, out)

    row_tiles, column_tiles = slices(0, rows.size, TILE), slices(0, n_columns, TILE)
    if len(column_tiles) < len(row_tiles):
        below_all = [pairs.of_columns(column) for column in column_tiles]

        def fill_row(row: slice) -> None:
            for column, below in zip(column_tiles, below_all, strict=True):
                put(row, column, below)

        in_threads(fill_row, row_tiles)
        return out

    def fill_column(column: slice) -> None:
        below = pairs.of_columns(column)
        for row in row_tiles if columns is not None else row_tiles[: column.start // TILE + 1]:
            put(row, column, below)

    in_threads(fill_column, column_tiles[::-1])
    return out


def _neighbours_together(taxonomy: Taxonomy, concepts: Ints) -> Longs:
    """An order of the concepts in which those of one branch stand together."""
    rank = taxonomy.compute_once(
        "preorder", lambda: kernels.preorder(taxonomy.order, taxonomy.parent_offsets, taxonomy.parent_indices)
    )
    return np.argsort(rank[concepts], kind="stable")


def distance_bands(
    taxonomy: Taxonomy,
    concepts: Ints,
    measure: str,
    use: Callable[[slice, Longs, Floats], None],
    *,
    information_content: str = "sanchez",
    counts: Mapping[str, int] | None = None,
) -> None:
    """Use the distances of all pairs of some concepts, each pair once, band by band in threads; no table is made.

    Args:
        taxonomy: Where the concepts are.
        concepts: By number.
        measure: One of `anonto.MEASURES`.
        use: Is called with a band, the places of some of the concepts, and the distances of the first of these, a row
            each, to all of them: first those of the band's own rows, then those of the following bands.
        information_content: For lin, resnik and jiang-conrath: ``"sanchez"``, ``"seco"`` or ``"data"``.
        counts: Records per concept, for ``information_content="data"``.
    """
    order = _neighbours_together(taxonomy, concepts)
    chosen = _measure(taxonomy, measure, information_content, counts)
    pairs = chosen.pairs(taxonomy, concepts[order], None)

    def fill(row: slice) -> None:
        use(row, order[row.start :], chosen.function(pairs.of_columns(slice(row.start, order.size)).of_rows(row)))

    in_threads(fill, bands(order.size))


def bands(n: int) -> list[slice]:
    """The bands of n rows, the same on every machine."""
    return slices(0, n, BAND)


def weighted_sums(
    taxonomy: Taxonomy,
    rows: Ints,
    columns: Ints,
    weights: Floats,
    measure: str,
    *,
    information_content: str = "sanchez",
    counts: Mapping[str, int] | None = None,
) -> Floats:
    """The sum of the distances of each row to the columns, each with its weight; no table of all pairs is kept."""
    out = np.zeros(rows.size)
    chosen = _measure(taxonomy, measure, information_content, counts)
    places = _neighbours_together(taxonomy, columns)
    columns, weights = columns[places], weights[places]

    def fill(row: slice) -> None:
        pairs = chosen.pairs(taxonomy, rows[row], columns)
        for column in slices(0, columns.size, 2 * TILE):
            out[row] += matrix_product(chosen.function(pairs.of_columns(column)), weights[column])

    in_threads(fill, slices(0, rows.size, 16 * TILE))
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Measure:
    """A measure with the facts about the whole taxonomy that it needs, found once for all tiles."""

    function: Callable[[Pairs], Floats]
    content: Floats | None
    facts: dict[str, float]

    def pairs(self, taxonomy: Taxonomy, rows: Ints, columns: Ints | None) -> Pairs:
        """The pairs of all rows and columns, as the measure takes them; closures are found once for all tiles."""
        return replace(pairs_between(taxonomy, rows, columns, self.content), facts=self.facts)


def _measure(taxonomy: Taxonomy, name: str, information_content: str, counts: Mapping[str, int] | None) -> _Measure:
    function = FUNCTIONS.get(name) if isinstance(name, str) else None
    if function is None:
        raise unknown_measure(name, MEASURES)
    if information_content not in CONTENTS:
        raise ParameterError("information_content", f"one of {', '.join(CONTENTS)}", information_content)
    if name not in USE_CONTENT:
        return _Measure(function, None, {})
    content = content_of(taxonomy, information_content, counts)
    remembered = information_content != "data"
    facts: dict[str, float] = taxonomy.compute_once(("facts of", information_content), dict) if remembered else {}
    return _Measure(function, content, facts)
