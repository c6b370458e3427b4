"""The values of a column that have no place in the kind that a plan gives it, with the row where each comes first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anonto.errors import UnmatchedValuesError, UnplacedValuesError
from anonto.table.prepare import encode_described, prepare

if TYPE_CHECKING:
    from anonto.table.columns import Column
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value without a place, how many cells have it, and the first row that does, from 1."""

    value: str
    cells: int
    row: int


def misfits(
    name: str, values: Any, description: ColumnDescription, open_once: Opener
) -> tuple[Column, tuple[Misfit, ...]]:
    """A column encoded, and what of it does not fit its description: the most frequent first.

    Numbers that cannot be read or reckoned with, values that an order does not list, values without a concept.
    """
    unmatched = "nearest-ancestor" if description.unmatched == "nearest-ancestor" else "refuse"
    strict = replace(description, missing="keep", unmatched=unmatched)
    column = encode_described(name, values, strict)
    try:
        prepare(name, column, strict, open_once)
    except (UnplacedValuesError, UnmatchedValuesError) as error:
        code_of = {value: code for code, value in enumerate(column.values)}
        counts, first = column.counts, column.first_positions()
        codes = [code_of[str(value)] for value in error.values]
        found = [Misfit(column.values[code], int(counts[code]), int(first[code]) + 1) for code in codes]
        return column, tuple(sorted(found, key=lambda one: (-one.cells, one.row)))
    return column, ()
