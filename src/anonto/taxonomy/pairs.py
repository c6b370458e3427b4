"""A tile of concept pairs: the input of a measure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import InternalError
from anonto.taxonomy import kernels
from anonto.taxonomy.closure import Closure, closure, renumber_ancestors

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Bools, Floats, Ints, Longs
    from anonto.taxonomy.closure import InvertedClosure
    from anonto.taxonomy.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Some concepts against some others, with the ancestors of all of them numbered alike."""

    taxonomy: Taxonomy
    rows: Closure
    columns: Closure
    row_numbers: Ints
    column_numbers: Ints
    ancestors: Longs
    """The concept behind each ancestor number of the two closures."""
    content: Floats | None
    """Information content of every concept of the taxonomy; only for measures that use it."""
    facts: dict[str, float] = field(default_factory=dict)
    """Facts that hold for all tiles of the same pairs, computed once."""
    below: InvertedClosure | None = None
    """The closure of the columns turned round, where several tiles have these columns."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the tile."""
        return self.row_numbers.size, self.column_numbers.size

    @property
    def equal(self) -> Bools:
        """Flags for the pairs of the same concept."""
        return np.equal.outer(self.row_numbers, self.column_numbers)

    def run(self, kernel: Callable[..., None], *about_ancestors: object) -> Floats:
        """Call a pair kernel on the tile."""
        out = np.empty(self.shape)
        below = self.below or self.columns.invert(self.ancestors.size)
        kernel(self.rows.rows(0, self.row_numbers.size), below, *about_ancestors, out)
        return out

    def count_shared(self) -> Floats:
        """|T(c) ∩ T(c′)|."""
        return self.run(kernels.common_ancestors)

    def ways(self) -> Floats:
        """Edges on the shortest way over a common ancestor; −1 where none is common."""
        return self.run(kernels.shortest_way)

    def contents(self) -> tuple[Floats, Floats, Floats]:
        """IC of the most informative common ancestor (−1 where none is common), of the rows, of the columns."""
        content = self.contents_of_all()
        common = self.run(kernels.highest_common, content[self.ancestors])
        return common, content[self.row_numbers][:, None], content[self.column_numbers][None, :]

    def contents_of_all(self) -> Floats:
        """The information content of every concept of the taxonomy."""
        if self.content is None:
            raise InternalError("A measure of information was called without information content.")
        return self.content

    def of_columns(self, column: slice) -> Pairs:
        """The pairs of some columns; their closure is turned round once for all tiles of them."""
        columns = Closure(*self.columns.rows(column.start, column.stop))
        return replace(
            self,
            columns=columns,
            column_numbers=self.column_numbers[column],
            below=columns.invert(self.ancestors.size),
        )

    def of_rows(self, row: slice) -> Pairs:
        """The pairs of some rows; the closures are shared, not copied."""
        return replace(self, rows=Closure(*self.rows.rows(row.start, row.stop)), row_numbers=self.row_numbers[row])


def pairs_between(taxonomy: Taxonomy, rows: Ints, columns: Ints | None, content: Floats | None) -> Pairs:
    """All pairs of rows and columns (or of rows alone), concepts given by number."""
    selections = [rows] if columns is None else [rows, columns]
    ancestors, closures = renumber_ancestors(len(taxonomy), *(closure(taxonomy, selection) for selection in selections))
    return Pairs(
        taxonomy=taxonomy,
        rows=closures[0],
        columns=closures[-1],
        row_numbers=rows,
        column_numbers=selections[-1],
        ancestors=ancestors,
        content=content,
    )
