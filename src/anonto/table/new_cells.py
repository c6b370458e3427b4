"""Values that no cell had before, in the spelling of their column: means, concepts of the ontology, noisy numbers.

Numbers are rounded to as many decimals as the column has, so that whole numbers stay whole. A concept is spelt as the
plan says: by its id, by its id without dots, or by its label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import InternalError
from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute
from anonto.table.notation import EXACT, PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute
    from anonto.table.notation import Notation
    from anonto.table.prepare import PreparedColumn


@dataclass(frozen=True, slots=True, eq=False)
class NewCells:
    """New values of a column, in order."""

    numbers: NDArray[np.float64] | None = None
    """Rounded; for a column of numbers."""
    are_whole: bool = False
    notation: Notation = PLAIN
    texts: tuple[str, ...] = ()
    """For a column of anything else."""

    def __len__(self) -> int:
        return len(self.texts) if self.numbers is None else int(self.numbers.size)

    def plain(self) -> NDArray[Any] | list[str]:
        """Whole numbers, numbers or texts."""
        if self.numbers is None:
            return list(self.texts)
        return self.numbers.astype(np.int64) if self.are_whole else self.numbers

    def spelt(self) -> pl.Series:
        """As texts."""
        import polars as pl

        if self.numbers is None or not len(self):
            return pl.Series(self.texts, dtype=pl.String)
        return self.notation.written(pl.Series(self.plain()))


def new_cells(prepared: PreparedColumn, attribute: Attribute) -> NewCells | None:
    """The values of an attribute behind those of its column; None when there are none."""
    n_own = len(prepared.column.values)
    if attribute.counts.size == n_own:
        return None
    if isinstance(attribute, NumericAttribute):
        further = attribute.numbers[n_own:]
        if prepared.description.kind == "ordinal":
            return NewCells(texts=_ranks(further, prepared.description.order))
        return _numbers(further, prepared.notation)
    if isinstance(attribute, MeanAttribute):
        attribute = attribute.parts[0]
    if isinstance(attribute, NominalAttribute):
        return NewCells(texts=attribute.further_texts)
    raise InternalError("A column without an ontology has no new values.")


def settled(prepared: PreparedColumn, numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as their column can hold them: with its decimals, or ranks that it has; and no 0 has a sign."""
    if prepared.description.kind == "ordinal":
        return np.asarray(np.clip(np.rint(numbers), 0, len(prepared.description.order) - 1), dtype=np.float64)
    return prepared.notation.rounded(np.asarray(numbers, dtype=np.float64))


def grain(prepared: PreparedColumn) -> float:
    """What the numbers of a column are rounded to when they are settled: 1 for ranks."""
    attribute = prepared.attribute
    if prepared.description.kind == "ordinal" or not isinstance(attribute, NumericAttribute):
        return 1.0
    # The largest number may have fewer decimals than the column, for want of digits.
    coarsest = 4.0 * float(np.spacing(np.abs(attribute.numbers).max(initial=0.0)))
    return max(float(10.0**-prepared.notation.decimals), coarsest)


def _ranks(ranks: NDArray[np.float64], order: Sequence[str]) -> tuple[str, ...]:
    nearest = np.clip(np.rint(ranks), 0, len(order) - 1).astype(np.int64)
    return tuple(order[rank] for rank in nearest.tolist())


def _numbers(further: NDArray[np.float64], notation: Notation) -> NewCells:
    rounded = notation.rounded(further)
    whole = notation.decimals == 0 and bool((np.abs(rounded) < EXACT).all())
    return NewCells(numbers=rounded, are_whole=whole, notation=notation)
