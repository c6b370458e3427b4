"""Values that no cell had before, in the spelling of their column: means, concepts of the ontology, noisy numbers.

Numbers are rounded to as many decimals as the column has, so that whole numbers stay whole. A concept is spelt as most
values of the column are: by its id, by its id without dots, or by its label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import InternalError
from anonto.table.attributes import MeanAttribute, NominalAttribute, NumericAttribute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    import polars as pl
    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute
    from anonto.table.prepare import PreparedColumn

MOST_DECIMALS = 15


@dataclass(frozen=True, slots=True, eq=False)
class NewCells:
    """New values of a column, in order."""

    numbers: NDArray[np.float64] | None = None
    """Rounded; for a column of numbers."""
    are_whole: bool = False
    has_decimal_comma: bool = False
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

        cells = pl.Series(self.plain()) if len(self) else pl.Series([], dtype=pl.String)
        spelt = cells.cast(pl.String)
        return spelt.str.replace(".", ",", literal=True) if self.has_decimal_comma else spelt


def new_cells(prepared: PreparedColumn, attribute: Attribute) -> NewCells | None:
    """The values of an attribute behind those of its column; None when there are none."""
    n_own = len(prepared.column.values)
    if attribute.counts.size == n_own:
        return None
    if isinstance(attribute, NumericAttribute):
        further = attribute.numbers[n_own:]
        if prepared.description.kind == "ordinal":
            return NewCells(texts=_ranks(further, prepared.description.order))
        return _numbers(further, prepared.column.values)
    if isinstance(attribute, MeanAttribute):
        attribute = attribute.parts[0]
    if isinstance(attribute, NominalAttribute):
        return NewCells(texts=spelt_further(attribute, prepared.column.values))
    raise InternalError("A column without an ontology has no new values.")


def settled(prepared: PreparedColumn, numbers: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers as their column can hold them: with its decimals, or ranks that it has; and no 0 has a sign."""
    if prepared.description.kind == "ordinal":
        return np.asarray(np.clip(np.rint(numbers), 0, len(prepared.description.order) - 1), dtype=np.float64)
    own = prepared.column.values
    return np.asarray(np.round(numbers, _most_decimals(own, has_comma=_has_decimal_comma(own))) + 0.0)


def grain(prepared: PreparedColumn) -> float:
    """What the numbers of a column are rounded to when they are settled: 1 for ranks."""
    if prepared.description.kind == "ordinal":
        return 1.0
    own = prepared.column.values
    return float(10.0 ** -_most_decimals(own, has_comma=_has_decimal_comma(own)))


def _ranks(ranks: NDArray[np.float64], order: Sequence[str]) -> tuple[str, ...]:
    nearest = np.clip(np.rint(ranks), 0, len(order) - 1).astype(np.int64)
    return tuple(order[rank] for rank in nearest.tolist())


def _has_decimal_comma(own: Sequence[str]) -> bool:
    return any("," in text for text in own) and not any("." in text for text in own)


def _most_decimals(own: Sequence[str], *, has_comma: bool) -> int:
    return max((_decimals(text.replace(",", ".") if has_comma else text) for text in own), default=0)


def _numbers(further: NDArray[np.float64], own: Sequence[str]) -> NewCells:
    has_comma = _has_decimal_comma(own)
    decimals = _most_decimals(own, has_comma=has_comma)
    rounded = np.round(further, decimals)
    whole = decimals == 0 and bool((np.abs(rounded) < 2.0**53).all())
    return NewCells(numbers=rounded, are_whole=whole, has_decimal_comma=has_comma)


def _decimals(text: str) -> int:
    """Digits behind the point that are not all 0, with an exponent taken into account."""
    digits, _, exponent = text.strip().lower().partition("e")
    behind = digits.partition(".")[2].rstrip("0")
    shift = int(exponent) if exponent.lstrip("+-").isdigit() else 0
    return min(MOST_DECIMALS, max(0, len(behind) - shift))


def spelt_further(attribute: NominalAttribute, own: Sequence[str]) -> tuple[str, ...]:
    """The concepts of an attribute behind those of its own values, spelt as most of these are."""
    taxonomy = attribute.space
    spellings: dict[str, Callable[[str], str]] = {
        "id": lambda concept: concept,
        "id without dots": lambda concept: concept.replace(".", ""),
        "label": lambda concept: taxonomy.label(concept) or concept,
    }
    weights = attribute.counts[: len(own)]
    placed = list(zip(own, attribute.concepts, weights.tolist(), strict=False))
    so_spelt = {
        name: sum(weight for value, concept, weight in placed if spell(concept).casefold() == value.casefold())
        for name, spell in spellings.items()
    }
    chosen = spellings[max(spellings, key=so_spelt.__getitem__)]
    return tuple(chosen(concept) for concept in attribute.concepts[len(own) :])
