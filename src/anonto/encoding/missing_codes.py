"""The codes of a column that mean missing, and the one code that its missing cells are released with.

A cell may be missing in several ways: as a null, as NaN, as one of the texts of ``na``, or as a code that its file
declares. In a released column these are different cells, which distinguish records from each other. The common code is
fixed by the plan and the file format, never by the cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from anonto.encoding.new_cells import NewCells
from anonto.encoding.series import EXACT, as_text_series
from anonto.io.stat_files import MISSING_LETTERS, missing_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.arrays import Bools, Codes
    from anonto.io.table import Origin


Code: TypeAlias = tuple[int, str]
"""Rank and name of a code. Texts come first, then cells such as NaN and NaT, then nulls."""
NAN: Code = (1, "NaN")
NAT: Code = (1, "NaT")
NULL: Code = (2, "null")


def text_code(text: str | None) -> Code:
    """The code of a cell that is not null, by its text; without a text it is NaN."""
    return NAN if text is None else (0, text)


@dataclass(frozen=True, slots=True, eq=False)
class MissingCodes:
    """The missing cells of a column by code."""

    codes: tuple[Code, ...]
    """The codes that occur, sorted."""
    of_records: Codes
    """The place of each record's code in ``codes``; −1 for a cell with a value."""


@dataclass(frozen=True, slots=True, eq=False)
class MergedCodes:
    """Missing cells that are released with a different code."""

    counts: Mapping[str, int]
    """How many cells had each code that was replaced."""
    cell: NewCells | None
    """The code in the release; None for a null."""


def missing_codes(cells: pl.Series, is_missing: Bools) -> MissingCodes:
    """The codes of the missing cells of a column; ``is_missing`` flags these cells."""
    import polars as pl

    of_records = np.full(is_missing.size, -1, dtype=np.int32)
    if cells.dtype != pl.Object:
        codes, places = _of_series(cells.filter(pl.Series(is_missing)))
    else:
        found = [object_code(cell) for cell, missing in zip(cells, is_missing, strict=True) if missing]
        codes = sorted(set(found))
        place_of = {code: place for place, code in enumerate(codes)}
        places = np.array([place_of[code] for code in found], dtype=np.int32)
    of_records[is_missing] = places
    return MissingCodes(tuple(codes), of_records)


def _of_series(cells: pl.Series) -> tuple[list[Code], Codes]:
    """The codes of missing cells, and for each cell the place of its code."""
    import polars as pl

    if cells.null_count() == len(cells):
        return ([NULL] if len(cells) else []), np.zeros(len(cells), dtype=np.int32)
    if isinstance(cells.dtype, pl.Categorical | pl.Enum):
        cells = cells.cast(pl.String)
    flags = {}
    if cells.null_count():
        flags[NULL] = cells.is_null()
    others = cells.drop_nulls()
    if cells.dtype.is_float() and others.is_nan().any():
        flags[NAN] = cells.is_nan().fill_null(value=False)
        others = others.drop_nans()
    for cell in others.unique():
        flags[_of_value(cell, cells.dtype)] = (cells == cell).fill_null(value=False)
    codes = sorted(flags)
    places = np.zeros(len(cells), dtype=np.int32)
    for place, code in enumerate(codes):
        places[flags[code].to_numpy()] = place
    return codes, places


def _of_value(cell: Any, dtype: pl.DataType) -> Code:
    import polars as pl

    if isinstance(cell, float) and abs(cell) >= EXACT:
        return 0, repr(cell)
    return text_code(as_text_series(pl.Series([cell], dtype=dtype))[0])


def object_code(cell: Any) -> Code:
    """The code of a Python object; missing values of pandas are recognised by type, without importing pandas."""
    if cell is None:
        return NULL
    kind = type(cell).__name__
    if kind in {"NAType", "NaTType", "datetime64", "timedelta64"}:
        return (1, "<NA>") if kind == "NAType" else NAT
    if cell.is_nan() if isinstance(cell, Decimal) else isinstance(cell, float | np.floating) and math.isnan(cell):
        return NAN
    return text_code(as_text_series([cell])[0])


# ------------------------------------------------------------------------------------------------ one code for all


def declared_codes(origin: Origin | None, name: str) -> tuple[str, ...]:
    """The texts of the codes that an SPSS file declares as missing in a column; in Stata's files a null is the code."""
    if origin is None or origin.format != "spss":
        return ()
    return tuple(code if isinstance(code, str) else f"{code:.17g}" for code in origin.missing_codes.get(name, ()))


def released_code(dtype: pl.DataType, na: Sequence[str], declared: Sequence[str] = ()) -> NewCells | None:
    """The common code of all missing cells in the release; None for a null.

    It is the first text of ``na`` that the column's type can hold; without ``na`` the first code that its file
    declares.
    """
    return next((cell for text in na or declared if (cell := _as_cell(text, dtype)) is not None), None)


def _as_cell(text: str, dtype: pl.DataType) -> NewCells | None:
    """A text as a cell of a type; None if the type cannot hold it."""
    import polars as pl

    if isinstance(dtype, pl.Enum):
        return NewCells(texts=(text,)) if text in dtype.categories else None
    if dtype == pl.String or isinstance(dtype, pl.Categorical):
        return NewCells(texts=(text,))
    if not dtype.is_numeric():
        return None
    cell = pl.Series([text]).cast(dtype, strict=False)[0]
    if cell is None or not math.isfinite(cell):
        return None
    number = float(cell)
    if as_text_series(pl.Series([cell], dtype=dtype))[0] != text:
        return None  # cells mean missing by their texts: this one would be a value
    return NewCells(numbers=np.array([number]), are_whole=number.is_integer() and abs(number) < EXACT)


def code_of(cell: NewCells | None) -> Code:
    """The code of the common cell of all missing cells."""
    if cell is None:
        return NULL
    return text_code(cell.texts[0] if cell.numbers is None else as_text_series(cell.numbers)[0])


def code_label(code: Code, origin: Origin | None, name: str) -> str:
    """The name of a code in the evidence: a letter of Stata, a range declared by SPSS, or its text."""
    text = code[1]
    if code[0] or origin is None or origin.labels is None:
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    if origin.format == "stata":
        for letter in MISSING_LETTERS:
            if number in {missing_code(letter, is_whole=True), missing_code(letter, is_whole=False)}:
                return f".{letter}"
    if number not in origin.missing_codes.get(name, ()):
        for low, high in origin.missing_ranges.get(name, ()):
            if low <= number <= high:
                return f"{low:g} to {high:g}"
    return text


def count_by_label(codes: Mapping[Code, int], origin: Origin | None, name: str) -> dict[str, int]:
    """How many cells have each code, by its name in the evidence."""
    counts: dict[str, int] = {}
    for code, count in sorted(codes.items()):
        spoken = code_label(code, origin, name)
        counts[spoken] = counts.get(spoken, 0) + count
    return counts
