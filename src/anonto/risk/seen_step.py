"""A step as its method saw it: the cells of the original, and those of the release in the same codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonto.table.attributes import NumericAttribute
from anonto.table.missing_codes import missing_codes
from anonto.table.notation import numbers_of
from anonto.table.prepare import codes_with_missing, described, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.methods.method import Method
    from anonto.table.attributes import Attribute
    from anonto.table.columns import Column
    from anonto.table.comparison import BothCells
    from anonto.table.description import ColumnDescription
    from anonto.table.missing_codes import MissingCodes
    from anonto.table.prepare import Opener, PreparedColumn

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

UNKNOWN = -2
"""The code of a released value that the original does not have."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SeenColumn:
    """A column of a step before and after, in the codes of its method."""

    name: str
    attribute: Attribute
    original: Codes
    """The value of each row; −1 for a cell that takes no part."""
    masked: Codes
    aside: tuple[Codes, Codes]
    """Before and after: which text stands in a cell that takes no part; 0 in all others."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SeenStep:
    """A method and the columns it masked."""

    method: Method
    columns: tuple[SeenColumn, ...]
    amounts: Longs
    """How many rows of the original each row stands for."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(column.name for column in self.columns)


def seen_step(
    method: Method,
    names: Sequence[str],
    cells: Mapping[str, BothCells],
    description_of: Callable[[str], ColumnDescription],
    open_once: Opener,
    amounts: Longs,
) -> SeenStep:
    """The columns of a step in the codes of masking, and the released cells in the same codes.

    Args:
        method: What masked them.
        names: Of the columns, in the order of the step.
        cells: For each column those of the original and of the release, row by row.
        description_of: What the plan says of a column.
        open_once: Opens ontologies.
        amounts: How many rows of the original each row stands for.
    """
    moves_missing = method.moves_missing
    seen = []
    for name in names:
        both, description = cells[name], description_of(name)
        encoded = described(name, replace(both.original, amounts=amounts), description)
        prepared = prepare(name, encoded, description, open_once)
        apart = moves_missing or description.missing_codes == "keep"
        missing = missing_codes(both.written[0], encoded.codes < 0) if apart else None
        attribute, original = codes_with_missing(prepared, encoded, missing)
        masked = _in_codes_of(prepared, encoded, both.masked, original, description.na)
        if missing is not None:
            masked = _with_codes(masked, len(encoded.values), both.written[1], missing)
        if moves_missing:
            nothing = np.zeros(original.size, dtype=np.int32)
            seen.append(SeenColumn(name, attribute, original, masked, (nothing, nothing)))
            continue
        n_values = prepared.attribute.counts.size
        aside = [np.where(codes >= n_values, codes - np.int32(n_values - 1), 0) for codes in (original, masked)]
        before_codes, after_codes = (np.where(codes >= n_values, np.int32(-1), codes) for codes in (original, masked))
        seen.append(SeenColumn(name, prepared.attribute, before_codes, after_codes, (aside[0], aside[1])))
    return SeenStep(method, tuple(seen), amounts)


def _with_codes(masked: Codes, first: int, cells: pl.Series, missing: MissingCodes) -> Codes:
    """Released codes in which a missing cell has the value of its own code, from the first on."""
    released = missing_codes(cells, masked == first)
    place_of = {code: first + place for place, code in enumerate(missing.codes)}
    values = np.array([*(place_of.get(code, UNKNOWN) for code in released.codes), 0], dtype=np.int32)
    return np.where(released.of_records >= 0, values[released.of_records], masked)


def _in_codes_of(
    prepared: PreparedColumn, encoded: Column, released: Column, original: Codes, na: Sequence[str]
) -> Codes:
    """Released cells in the codes of the original ones: by their text, or else by their number."""
    missing = len(encoded.values)
    code_of = np.full(len(encoded.values) + 1, missing, dtype=np.int32)
    code_of[encoded.codes] = original
    of_text = dict(zip(encoded.values, code_of[:-1].tolist(), strict=True))
    new_code = [missing if value in na else of_text.get(value, UNKNOWN) for value in released.values]
    attribute = prepared.attribute
    if UNKNOWN in new_code and isinstance(attribute, NumericAttribute):
        of_number = dict(zip(attribute.numbers.tolist(), range(attribute.numbers.size), strict=True))
        numbers = numbers_of(released.values, prepared.notation.decimal)
        new_code = [
            of_number.get(number, UNKNOWN) if code == UNKNOWN else code
            for code, number in zip(new_code, numbers.tolist(), strict=True)
        ]
    return np.array([*new_code, missing], dtype=np.int32)[released.codes]
