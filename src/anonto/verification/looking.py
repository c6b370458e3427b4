"""A person's own record, and how the released cells compare with hers, column by column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.errors import MissingCellsError, NotOneRecordError, NotUnicodeError, UnmatchedValuesError, is_unicode
from anonto.table.attributes import NumericAttribute
from anonto.table.comparison import BothCells, compared_column
from anonto.table.door import Door
from anonto.table.reading import read_table
from anonto.table.series import as_text_series

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.plan import Plan
    from anonto.table.comparison import ComparedColumn
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]


def own_record(record: Any, plan: Plan) -> Door:
    """A table with one row, from whatever the person has."""
    if isinstance(record, Mapping):
        for cell in record.values():
            if isinstance(cell, list | tuple | dict | set):
                raise NotOneRecordError(None)
        texts = {str(name): None if cell is None else str(cell) for name, cell in record.items()}
        n_broken = sum(not (is_unicode(name) and is_unicode(text or "")) for name, text in texts.items())
        if n_broken:
            raise NotUnicodeError(n_broken)
        return Door(pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)))
    door = opened(record, plan)
    if len(door) != 1:
        raise NotOneRecordError(len(door))
    return door


def opened(table: Any, plan: Plan) -> Door:
    """A table in memory, or the file at a path."""
    if not isinstance(table, str | os.PathLike):
        return Door(table)
    read = read_table(table, **plan.reading)
    return Door(read.frame, origin=read.origin)


@dataclass(frozen=True, slots=True, eq=False)
class LookedAt:
    """A masked column: her cell, and how the released ones compare with it."""

    name: str
    compared: ComparedColumn
    is_equal: Bools
    """Which released cells have her value."""
    distances: Floats
    """From her cell to each released one."""
    shifts: Floats
    """How many places in rank each released cell is from hers; infinite where one of the two has no value."""
    same_text: Bools
    """Which released cells read like hers, missing ones included."""
    is_dropped: bool
    has_unmatched: bool
    """Whether her cell or a released one has no concept, and so took no part."""

    @property
    def occurs(self) -> bool:
        """Whether anybody in the release has her value."""
        return bool(self.is_equal.any())


def looked_at(name: str, own: Door, released: Door, description: ColumnDescription, open_once: Opener) -> LookedAt:
    """Compare a person's cell with the released ones."""
    cell, cells = own.series(name), released.series(name)
    text, texts = as_text_series(cell).cast(pl.String), as_text_series(cells).cast(pl.String)
    if description.na:
        text, texts = (one.set(one.is_in(list(description.na)), None) for one in (text, texts))
    compared = compared_column(name, BothCells.of(text, texts), description, open_once)
    is_missing = bool(text.is_null()[0])
    is_unmatched = not is_missing and compared.original[0] < 0
    _require_allowed(name, description, open_once, text, is_missing=is_missing, is_unmatched=is_unmatched)
    same_text = texts.is_null().to_numpy() if is_missing else (texts == text[0]).fill_null(value=False).to_numpy()
    compared = _on_scale_of_release(compared)
    codes = compared.masked
    has_unmatched = is_unmatched or bool(((codes < 0) & ~texts.is_null().to_numpy()).any())
    if compared.original[0] < 0:
        return LookedAt(
            name,
            compared,
            same_text,
            np.where(same_text, 0.0, 1.0),
            np.where(codes < 0, 0.0, np.inf),
            same_text,
            (is_missing and description.missing == "drop") or (is_unmatched and description.unmatched == "drop"),
            has_unmatched,
        )
    meant = compared.meanings()
    is_equal = meant[codes] == meant[compared.original[0]]
    from_own = np.minimum(compared.attribute.distances_from(compared.original)[0], 1.0)
    if isinstance(compared.attribute, NumericAttribute) and not compared.attribute.scale:
        # All released numbers are the same: one that differs is as far as can be, not at no distance.
        from_own = np.where(meant[:-1] == meant[compared.original[0]], 0.0, 1.0)
    return LookedAt(
        name,
        compared,
        is_equal,
        np.where(is_equal, 0.0, np.append(from_own, 1.0)[codes]),
        _shifts(compared, from_own),
        same_text,
        is_dropped=False,
        has_unmatched=has_unmatched,
    )


def _shifts(column: ComparedColumn, from_own: Floats) -> Floats:
    """Differences of mid-ranks among the released cells; nominal values are ranked by their distance from hers."""
    is_numeric = isinstance(column.attribute, NumericAttribute)
    keys = column.attribute.numbers if is_numeric else np.round(from_own, 12)  # type: ignore[attr-defined]
    distinct, place = np.unique(keys, return_inverse=True)
    counts = np.bincount(column.masked[column.masked >= 0], minlength=column.n_values)
    at_key = np.bincount(place, weights=counts, minlength=distinct.size)
    ranks = (np.cumsum(at_key) - at_key + (at_key + 1.0) / 2.0)[place]
    return np.asarray(np.append(np.abs(ranks - ranks[column.original[0]]), np.inf)[column.masked])


def _require_allowed(
    name: str,
    description: ColumnDescription,
    open_once: Opener,
    text: pl.Series,
    *,
    is_missing: bool,
    is_unmatched: bool,
) -> None:
    if is_missing and description.missing == "refuse":
        raise MissingCellsError(name, 1)
    if is_unmatched and description.unmatched in {"refuse", "nearest-ancestor"}:
        raise UnmatchedValuesError([str(text[0])], 1, open_once(description.ontologies[0]).name, name)


def _on_scale_of_release(column: ComparedColumn) -> ComparedColumn:
    """Differences of numbers are divided by the range of the release: of the original there is one number only."""
    attribute = column.attribute
    if not isinstance(attribute, NumericAttribute):
        return column
    numbers = attribute.numbers[np.unique(column.masked[column.masked >= 0])]
    return replace(column, attribute=replace(attribute, extent=float(np.ptp(numbers)) if numbers.size else 0.0))
