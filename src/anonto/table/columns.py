"""Encoding of a column: its distinct values in order, and for each record the number of its value.

A column may be a list, a tuple, a numpy array, or a pandas, polars or pyarrow column. None, NaN and the libraries' own
missing values are missing; nothing else is. Whole numbers become their digits, so that ids stored as numbers match.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import AllMissingError, ColumnTypeError, LengthError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

MISSING = -1


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column as codes: ``values[codes[i]]`` is the value of record i; a code of −1 is a missing cell."""

    values: tuple[str, ...]
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return int(self.codes.size)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each distinct value occurs."""
        present = self.codes if self.codes.size == 0 or self.codes.min() >= 0 else self.codes[self.codes >= 0]
        return np.bincount(present, minlength=len(self.values))

    @property
    def n_missing(self) -> int:
        """How many cells are missing."""
        return int(np.count_nonzero(self.codes < 0))

    def first_positions(self) -> NDArray[np.int64]:
        """For each distinct value, the first record that has it."""
        first = np.full(len(self.values) + 1, len(self), dtype=np.int64)
        first[self.codes[::-1]] = np.arange(len(self) - 1, -1, -1)
        return first[:-1]

    def kept(self, records: NDArray[np.bool_]) -> Column:
        """The column of some records only, without values that no longer occur."""
        codes = self.codes[records]
        used = np.zeros(len(self.values) + 1, dtype=np.bool_)
        used[codes] = True
        new_code = np.cumsum(used, dtype=np.int32) - np.int32(1)
        new_code[-1] = MISSING
        values = tuple(value for value, is_used in zip(self.values, used[:-1], strict=True) if is_used)
        return Column(values, new_code[codes])


def encode(values: Any) -> Column:
    """Encode a column; the distinct values come sorted, so that the order of records does not matter."""
    series = as_text_series(values)
    import polars as pl

    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        return _from_categories(series)
    distinct = series.unique().drop_nulls().sort()
    codes = series.cast(pl.Enum(distinct)).to_physical().cast(pl.Int32).fill_null(MISSING)
    return Column(tuple(distinct.to_list()), codes.to_numpy())


def encode_present(values: Any, name: str | None = None) -> Column:
    """Encode a column that must have at least one value."""
    column = encode(values)
    if not column.values:
        raise AllMissingError(len(column), name)
    return column


def encode_together(*columns: Any) -> list[Column]:
    """Encode columns of the same records, keeping the records that have all values."""
    encoded = [encode(values) for values in columns]
    require_equal_lengths([len(column) for column in encoded])
    complete = np.logical_and.reduce([column.codes >= 0 for column in encoded])
    if not complete.all():
        encoded = [column.kept(complete) for column in encoded]
    if not complete.any():
        raise AllMissingError(complete.size)
    return encoded


def require_equal_lengths(lengths: list[int]) -> None:
    """Raise unless all columns have as many cells."""
    if len(set(lengths)) > 1:
        raise LengthError(lengths)


def as_text_series(values: Any) -> pl.Series:
    """Any kind of column as a polars Series of text (or of categories), missing cells as nulls."""
    return _texts(_as_series(values))


def _as_series(values: Any) -> pl.Series:
    import polars as pl

    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ColumnTypeError(f"{values.ndim}-dimensional array")
        return _from_cells(values.tolist()) if values.dtype.kind == "O" else pl.Series(values)
    native = _from_other_library(values)
    if native is not None:
        return native
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ColumnTypeError(type(values).__name__)
    return _from_cells(list(values))


def _from_other_library(values: Any) -> pl.Series | None:
    """Pandas and pyarrow columns, through narwhals; None for anything else."""
    import narwhals as nw

    if type(values).__module__.startswith("pyarrow") and hasattr(values, "to_pylist"):
        import pyarrow as pa

        values = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    series = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None
    if series.dtype == nw.Object:
        return _from_cells(series.to_list())
    return series.to_polars()


def _texts(series: pl.Series) -> pl.Series:
    import polars as pl

    dtype = series.dtype
    if dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum):
        return series
    if dtype.is_float():
        series = series.fill_nan(None)
        if series.drop_nulls().is_finite().all() and (series.drop_nulls() == series.drop_nulls().round(0)).all():
            series = series.cast(pl.Int64)
        return series.cast(pl.String)
    if dtype.is_nested() or dtype == pl.Object:
        return _from_cells(series.to_list())
    return series.cast(pl.String)


def _from_cells(cells: list[Any]) -> pl.Series:
    import polars as pl

    try:
        return pl.Series(cells, dtype=pl.String, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series([_text(cell) for cell in cells], dtype=pl.String)


def _text(cell: Any) -> str | None:
    """One cell as text; the missing values of pandas are told by their type, without importing pandas."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(cell, float | np.floating):
        number = float(cell)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else repr(number)
    return str(cell)


def _from_categories(series: pl.Series) -> Column:
    """Categories are codes already: only they are sorted, the records are looked up."""
    import polars as pl

    distinct = series.unique().drop_nulls()
    physical = distinct.to_physical().to_numpy().astype(np.int64)
    names = distinct.cast(pl.String).to_list()
    by_name = sorted(range(len(names)), key=names.__getitem__)
    new_code = np.full(int(physical.max()) + 2 if physical.size else 1, MISSING, dtype=np.int32)
    new_code[physical[by_name]] = np.arange(len(names), dtype=np.int32)
    old_code = series.to_physical().cast(pl.Int64).fill_null(MISSING).to_numpy()
    return Column(tuple(names[i] for i in by_name), new_code[old_code])
