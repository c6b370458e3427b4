"""Encoding of a column: its distinct values in order, and for each record the number of its value.

A column may be a list, a tuple, a numpy array, or a pandas, polars or pyarrow column. None, NaN and the libraries' own
missing values are missing; nothing else is. Whole numbers become their digits, so that ids stored as numbers match. The
text of a cell does not depend on the kind of column or on its other cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import (
    AllMissingError,
    AnontoError,
    ColumnTypeError,
    InexactNumbersError,
    LengthError,
    NotUnicodeError,
)
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import narwhals as nw
    import polars as pl
    from numpy.typing import NDArray

MISSING = -1
FIRST_LOOK = 1 << 17
ROWS_AT_ONCE = 1 << 20
CATEGORIES_AT_ONCE = 1 << 17
EXACT = 2.0**53
"""From here on neighbouring whole numbers have the same floating-point number."""
SMALL = 1e-4
"""Below this, numbers are written with an exponent."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """A column as codes: ``values[codes[i]]`` is the value of record i; a code of −1 is a missing cell."""

    values: tuple[str, ...]
    codes: NDArray[np.int32]

    def __repr__(self) -> str:
        return f"<Column: {len(self):,} cells, {len(self.values):,} distinct values, {self.n_missing:,} missing>"

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
        first = np.full(len(self.values), len(self), dtype=np.int64)
        for part in slices(0, len(self), ROWS_AT_ONCE):
            found, place = np.unique(self.codes[part], return_index=True)
            here = found[found >= 0]
            first[here] = np.minimum(first[here], part.start + place[found >= 0])
            if (first < len(self)).all():
                break
        return first

    def kept(self, records: NDArray[np.bool_]) -> Column:
        """The column of some records only, without values that no longer occur."""
        codes = self.codes[records]
        unused = np.ones(len(self.values) + 1, dtype=np.bool_)
        unused[codes] = False
        return Column(self.values, codes).without(unused)

    def blanked(self, records: NDArray[np.bool_]) -> Column:
        """The column with the cells of some records as missing."""
        codes = np.where(records, np.int32(MISSING), self.codes)
        unused = np.ones(len(self.values) + 1, dtype=np.bool_)
        unused[codes] = False
        return Column(self.values, codes).without(unused)

    def without(self, values: NDArray[np.bool_]) -> Column:
        """The column with some distinct values as missing; the last flag, for missing cells, says nothing."""
        staying = ~values
        new_code = np.cumsum(staying, dtype=np.int32) - np.int32(1)
        new_code[~staying] = MISSING
        new_code[-1] = MISSING
        names = tuple(value for value, stays in zip(self.values, staying[:-1], strict=True) if stays)
        return Column(names, new_code[self.codes])


def encode(values: Any) -> Column:
    """Encode a column; the distinct values come sorted, so that the order of records does not matter."""
    series = as_text_series(values)
    import polars as pl

    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        return _from_categories(series)
    return _from_texts(series)


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
    return complete_records(encoded)


def complete_records(encoded: Sequence[Column]) -> list[Column]:
    """Columns of the same records without the records that lack a value in one of them."""
    complete = np.logical_and.reduce([column.codes >= 0 for column in encoded])
    if not complete.any():
        raise AllMissingError(complete.size)
    return list(encoded) if complete.all() else [column.kept(complete) for column in encoded]


def require_equal_lengths(lengths: list[int]) -> None:
    """Raise unless all columns have as many cells."""
    if len(set(lengths)) > 1:
        raise LengthError(lengths)


def as_text_series(values: Any) -> pl.Series:
    """Any kind of column as a polars Series of text (or of categories), missing cells as nulls."""
    series = as_series(values)
    with _without_cells(values):
        return _texts(series)


def as_series(values: Any) -> pl.Series:
    """Any kind of column as a polars Series."""
    with _without_cells(values):
        return _series(values)


@contextmanager
def _without_cells(values: Any) -> Iterator[None]:
    """Turn what other libraries raise into our own error: their messages show cells."""
    import polars as pl

    try:
        yield
    except AnontoError:
        raise
    except (
        ArithmeticError,
        LookupError,
        NotImplementedError,
        TypeError,
        ValueError,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
    ):
        raise ColumnTypeError(f"{type(values).__name__} with cells that cannot become text") from None


def _series(values: Any) -> pl.Series:
    import polars as pl

    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ndarray):
        return _from_array(values)
    if isinstance(values, str | bytes | Mapping | set | frozenset):
        raise ColumnTypeError(type(values).__name__)
    native = _from_other_library(values)
    if native is not None:
        return native
    if not isinstance(values, Iterable):
        raise ColumnTypeError(type(values).__name__)
    return _from_cells(list(values))


def _from_array(values: NDArray[Any]) -> pl.Series:
    import polars as pl

    if values.ndim != 1:
        raise ColumnTypeError(f"{values.ndim}-dimensional array")
    if values.dtype.names is not None:
        raise ColumnTypeError("structured array")
    if values.dtype.kind == "O" or isinstance(values, np.ma.MaskedArray):
        return _from_cells(values.tolist())
    if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] in {"h", "m", "s"}:
        values = values.astype(f"{values.dtype.kind}8[ms]")
    try:
        return pl.Series(values)
    except ValueError:
        return _from_cells(list(values))


def _from_other_library(values: Any) -> pl.Series | None:
    """Pandas and pyarrow columns, through narwhals; None for anything else."""
    import narwhals as nw

    if type(values).__module__.partition(".")[0] == "pyarrow":
        values = _chunked(values)
    found: Any = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(found, nw.DataFrame | nw.LazyFrame):
        raise ColumnTypeError(type(values).__name__)
    if not isinstance(found, nw.Series):
        return None
    return _from_pandas(found) if found.implementation.is_pandas_like() else found.to_polars()


def _chunked(values: Any) -> Any:
    import pyarrow as pa

    if not isinstance(values, pa.Array | pa.ChunkedArray):
        raise ColumnTypeError(type(values).__name__)
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _from_pandas(series: nw.Series[Any]) -> pl.Series:
    """Through pyarrow where it is installed and knows the type; else through numpy or cell by cell."""
    import narwhals as nw

    native = series.to_native()
    if isinstance(series.dtype, nw.Categorical | nw.Enum):
        return _from_pandas_categories(native)
    if isinstance(native.dtype, np.dtype) and native.dtype.kind != "O":
        return _from_array(native.to_numpy())
    if isinstance(series.dtype, nw.Datetime):
        return _from_zoned(native)
    if not isinstance(series.dtype, nw.Object | nw.Unknown) and _has_pyarrow():
        with suppress(TypeError, ValueError):
            return series.to_polars()
    return _from_cells(native.to_numpy(dtype=object, na_value=None).tolist())


def _from_pandas_categories(native: Any) -> pl.Series:
    """Only the categories become text; two that have the same text become one."""
    import polars as pl

    texts = as_text_series(native.cat.categories.tolist())
    codes = pl.Series(native.cat.codes.to_numpy())
    places = codes.set(codes < 0, None).cast(pl.UInt32)
    return texts.cast(pl.Enum(texts.unique(maintain_order=True))).gather(places)


def _from_zoned(native: Any) -> pl.Series:
    zone = str(native.dt.tz)
    utc = native.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    return _from_array(utc).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)


@cache
def _has_pyarrow() -> bool:
    try:
        import pyarrow as pa
    except ImportError:
        return False
    return pa is not None


def _texts(series: pl.Series) -> pl.Series:
    import polars as pl

    dtype = series.dtype
    if dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum):
        return series
    if dtype.is_float():
        return _float_texts(series.fill_nan(None))
    if dtype.is_nested() or dtype == pl.Object:
        return _from_cells(series.to_list())
    return series.cast(pl.String)


def _float_texts(series: pl.Series) -> pl.Series:
    """Each number as `_float_text` writes it: whole ones as digits, small ones as Python does."""
    import polars as pl

    size = series.abs()
    finite = series.is_finite()
    _refuse_inexact(int(((size >= EXACT) & finite).sum()))
    whole = (series == series.round(0)) & finite
    digits = series.cast(pl.Int64, strict=False).cast(pl.String)
    if whole.all():
        return digits
    texts = digits.zip_with(whole.fill_null(value=True), series.cast(pl.String))
    small = ((size < SMALL) & ~whole).fill_null(value=False)
    if not small.any():
        return texts
    return texts.scatter(small.arg_true(), [_float_text(cell) for cell in series.filter(small).to_numpy()])


def _from_cells(cells: list[Any]) -> pl.Series:
    kinds = set(map(type, cells))
    if kinds <= {str, NoneType}:
        return _from_strings(cells)
    if any(issubclass(kind, float | np.floating) for kind in kinds):
        _refuse_inexact(sum(map(_is_inexact, cells)))
    return _from_strings([_text(cell) for cell in cells])


def _from_strings(texts: list[str | None]) -> pl.Series:
    import polars as pl

    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeError:
        broken = sum(1 for text in texts if text is not None and _LONE_SURROGATE.search(text))
        raise NotUnicodeError(broken) from None


def _text(cell: Any) -> str | None:
    """One cell as text; the missing values of pandas are told by their type, without importing pandas."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return None
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, float | np.floating):
        return None if math.isnan(cell) else _float_text(cell)
    if isinstance(cell, Decimal) and cell.is_nan():
        return None
    if isinstance(cell, np.datetime64 | np.timedelta64) and np.isnat(cell):
        return None
    return str(cell)


def _float_text(cell: float | np.floating[Any]) -> str:
    """A number in the fewest digits that tell it from others of its precision."""
    if cell.is_integer():
        return str(int(cell))
    if isinstance(cell, float) or np.isinf(cell):
        return repr(float(cell))
    number = np.float32(cell) if isinstance(cell, np.float16) else cell
    if abs(number) < SMALL:
        return np.format_float_scientific(number, trim="-", exp_digits=2)
    return np.format_float_positional(number, trim="-")


def _is_inexact(cell: Any) -> bool:
    return isinstance(cell, float | np.floating) and EXACT <= abs(float(cell)) < math.inf


def _refuse_inexact(cells: int) -> None:
    if cells:
        raise InexactNumbersError(cells)


def _from_texts(series: pl.Series) -> Column:
    """Collect the distinct values of the first records, look all records up in threads, and add what was not found."""
    import polars as pl

    distinct = series.head(FIRST_LOOK).unique().drop_nulls()
    codes = np.empty(len(series), dtype=np.int32)
    while True:
        distinct = distinct.sort()
        categories = pl.Enum(distinct)

        def look_up(part: slice, categories: pl.Enum = categories) -> None:
            found = series[part].cast(categories, strict=False).to_physical()
            codes[part] = found.cast(pl.Int32).fill_null(MISSING).to_numpy()

        in_threads(look_up, slices(0, len(series), ROWS_AT_ONCE))
        if np.count_nonzero(codes == MISSING) == series.null_count():
            return Column(tuple(distinct.to_list()), codes)
        unknown = series.filter(pl.Series(codes == MISSING) & series.is_not_null())
        distinct = distinct.append(unknown.unique())


def _from_categories(series: pl.Series) -> Column:
    """Categories are codes already: only they are sorted, the records are looked up."""
    import polars as pl

    distinct = series.unique().drop_nulls()
    physical = distinct.to_physical().to_numpy().astype(np.int64)
    names = distinct.cast(pl.String).to_list()
    by_name = sorted(range(len(names)), key=names.__getitem__)
    new_code = np.full(int(physical.max()) + 2 if physical.size else 1, MISSING, dtype=np.int32)
    new_code[physical[by_name]] = np.arange(len(names), dtype=np.int32)
    codes = np.empty(len(series), dtype=np.int32)

    def look_up(part: slice) -> None:
        codes[part] = new_code[series[part].to_physical().cast(pl.Int64).fill_null(MISSING).to_numpy()]

    in_threads(look_up, slices(0, len(series), CATEGORIES_AT_ONCE))
    return Column(tuple(names[i] for i in by_name), codes)
