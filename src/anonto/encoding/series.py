"""Any kind of column as a polars Series: a list, a tuple, a numpy array, or a pandas, polars or pyarrow column.

None, NaN and the libraries' own missing values are missing; nothing else is. Integers become their digits, so that ids
stored as numbers match. The text of a cell depends neither on the kind of column nor on its other cells.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import AnontoError, ColumnError
from anonto.io.type_coercion import MOST_DIGITS, is_within_calendar
from anonto.taxonomy.refusals import not_a_column
from anonto.wording import clip, count_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import narwhals as nw
    import polars as pl
    from numpy.typing import NDArray

EXACT = 2.0**53
"""From here on, neighbouring integers share a floating-point number."""
SMALL = 1e-4
"""Below this, numbers are written with an exponent."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def as_text_series(values: Any, name: str | None = None) -> pl.Series:
    """Any kind of column as a polars Series of text (or of categories), missing cells as nulls."""
    series = as_series(values, name)
    with _without_cells(values, name):
        return _texts(series)


def as_series(values: Any, name: str | None = None) -> pl.Series:
    """Any kind of column as a polars Series; the name is for errors, if the column does not have its own."""
    with _without_cells(values, name):
        return _series(values, name)


@contextmanager
def _without_cells(values: Any, name: str | None) -> Iterator[None]:
    """Replace the errors of other libraries by our own: their messages show cells."""
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
        fault, hint = "its cells cannot become text", "convert it to text first"
        raise unusable_type(_kind(values), fault, hint, name or _name_of(values)) from None


def _name_of(column: Any) -> str | None:
    """The name of a column, if it has one."""
    name = getattr(column, "name", None)
    return name if isinstance(name, str) else None


def _kind(values: Any) -> str:
    """The name of a column's type in its library, without the categories that a type may list."""
    import polars as pl

    kind = values.dtype.base_type().__name__ if isinstance(values, pl.Series) else None
    found = kind or getattr(values, "type", None) or getattr(values, "dtype", None)
    return str(found) if found is not None else type(values).__name__


def _series(values: Any, name: str | None) -> pl.Series:
    import polars as pl

    if isinstance(values, pl.Series):
        return values
    if isinstance(values, np.ndarray):
        return _from_array(values)
    if isinstance(values, str | bytes | Mapping | set | frozenset):
        raise not_a_column(type(values).__name__)
    native = _from_other_library(values, name)
    if native is not None:
        return native
    if not isinstance(values, Iterable):
        raise not_a_column(type(values).__name__)
    return _from_cells(list(values))


def _from_array(values: NDArray[Any]) -> pl.Series:
    import polars as pl

    if values.ndim != 1:
        raise not_a_column(f"{values.ndim}-dimensional array")
    if values.dtype.names is not None:
        raise not_a_column("structured array")
    if values.dtype.kind == "O" or isinstance(values, np.ma.MaskedArray):
        return _from_cells(values.tolist())
    if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] in {"h", "m", "s"}:
        values = values.astype(f"{values.dtype.kind}8[ms]")
    try:
        return pl.Series(values)
    except ValueError:
        return _from_cells(list(values))


def _from_other_library(values: Any, name: str | None) -> pl.Series | None:
    """Pandas and pyarrow columns, through narwhals; None for anything else."""
    import narwhals as nw

    if type(values).__module__.partition(".")[0] == "pyarrow":
        values = _as_chunked_array(values, name)
    found: Any = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(found, nw.DataFrame | nw.LazyFrame):
        raise not_a_column(type(values).__name__)
    if not isinstance(found, nw.Series):
        return None
    return _from_pandas(found) if found.implementation.is_pandas_like() else found.to_polars()


def _as_chunked_array(values: Any, name: str | None) -> Any:
    import pyarrow as pa

    if not isinstance(values, pa.Array | pa.ChunkedArray):
        raise not_a_column(type(values).__name__)
    values = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    if not pa.types.is_decimal256(values.type):
        return values
    if values.type.precision > MOST_DIGITS:
        fault, hint = f"it has more than {MOST_DIGITS} digits", f"cast it to {MOST_DIGITS} digits or to text first"
        raise unusable_type(str(values.type), fault, hint, name)
    return values.cast(pa.decimal128(values.type.precision, values.type.scale))


def _from_pandas(series: nw.Series[Any]) -> pl.Series:
    """Convert with pyarrow if it is installed and knows the type, otherwise with numpy or cell by cell."""
    import narwhals as nw

    native = series.to_native()
    if isinstance(series.dtype, nw.Categorical | nw.Enum) and hasattr(native, "cat"):  # not so for those of Arrow
        return _from_pandas_categories(native)
    if isinstance(native.dtype, np.dtype) and native.dtype.kind != "O":
        return _from_array(native.to_numpy())
    if isinstance(series.dtype, nw.Datetime):
        return series.to_polars() if hasattr(native.dtype, "pyarrow_dtype") else _from_zoned(native)
    if not isinstance(series.dtype, nw.Object | nw.Unknown) and _has_pyarrow():
        with suppress(TypeError, ValueError):
            return series.to_polars()
    return _from_cells(native.to_numpy(dtype=object, na_value=None).tolist())


def _from_pandas_categories(native: Any) -> pl.Series:
    """Convert the categories only; two with the same text become one."""
    import polars as pl

    texts = as_text_series(native.cat.categories.tolist(), _name_of(native))
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
    if dtype in (pl.Duration, pl.Time):  # a cast drops the fractions of a second of a time
        return series.dt.to_string("iso" if dtype == pl.Duration else "%H:%M:%S%.f")
    if dtype == pl.Binary:
        return _from_bytes(series)
    if not is_within_calendar(series):
        fault, hint = "some of its dates are beyond the calendar", "make them missing or convert it to text first"
        raise unusable_type(_kind(series), fault, hint, series.name)
    return series.cast(pl.String)


def _from_bytes(series: pl.Series) -> pl.Series:
    """Bytes as text if all are UTF-8: old Parquet files store texts so."""
    import polars as pl

    try:
        return series.cast(pl.String)
    except pl.exceptions.PolarsError:
        fault, hint = "some of its cells are not text in UTF-8", "store them as hexadecimal text first"
        raise unusable_type("Binary", fault, hint, series.name) from None


def plain_floats(cells: pl.Series) -> pl.Series:
    """Numbers in which −0.0 is 0.0 and all NaNs have the same bits.

    All zeros have one text and all NaNs one missing code, so that a release may only have one of each.
    """
    return cells.set(cells == 0, 0.0).set(cells.is_nan(), math.nan) if cells.dtype.is_float() else cells


def number_text(text: str) -> str | None:
    """The text that a column of numbers has for the number in a text; None if the text is not a number."""
    try:
        number = float(text)
    except ValueError:
        return None
    return _float_text(number) if abs(number) < EXACT else None


def _float_texts(series: pl.Series) -> pl.Series:
    """Each number as `_float_text` writes it: integers as digits, small numbers as Python does."""
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
    return _from_strings([text_of(cell) for cell in cells])


def _from_strings(texts: list[str | None]) -> pl.Series:
    import polars as pl

    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeError:
        broken = sum(1 for text in texts if text is not None and _LONE_SURROGATE.search(text))
        raise not_unicode(broken) from None


def text_of(cell: Any) -> str | None:
    """One cell as text; None if it is missing."""
    if _is_missing(cell):
        return None
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, float | np.floating):
        return _float_text(cell)
    return _duration_text(cell) if isinstance(cell, dt.timedelta | np.timedelta64) else str(cell)


def _is_missing(cell: Any) -> bool:
    """Return whether a cell is missing; missing values of pandas are recognised by type, without importing pandas."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return True
    if isinstance(cell, Decimal):
        return cell.is_nan()
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    return isinstance(cell, float | np.floating) and math.isnan(cell)


def _duration_text(cell: dt.timedelta | np.timedelta64) -> str:
    """The text of a duration in a column of durations."""
    import polars as pl

    span = cell if isinstance(cell, dt.timedelta) else cell.astype("m8[us]").item()
    return str(pl.Series([span], dtype=pl.Duration("us")).dt.to_string("iso").item())


def _float_text(cell: float | np.floating[Any]) -> str:
    """A number in the fewest digits that identify it at its precision."""
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
        raise inexact_numbers(cells)


def unusable_type(kind: str, fault: str, hint: str, column: str | None = None) -> ColumnError:
    """A column of a type whose cells cannot be compared."""
    which = f"Column {clip(column)!r}" if column else "A column"
    return ColumnError(f"{which} of type {kind} cannot be masked or compared: {fault}; {hint}.")


def inexact_numbers(cells: int) -> ColumnError:
    """Floating-point numbers so large that each stands for several whole numbers."""
    what = count_of(cells, "cell contains a floating-point number", "cells contain floating-point numbers")
    return ColumnError(
        f"{what} of 2^53 or more, where whole numbers are no longer exact: ids would become other ids; "
        "read them as text.",
        cells=cells,
    )


def not_unicode(cells: int) -> ColumnError:
    """Text that no file can store."""
    what = count_of(cells, "cell contains", "cells contain")
    return ColumnError(
        f"{what} half of a character (a lone surrogate); read the table again with its right encoding.", cells=cells
    )


# ------------------------------------------------------------------------------------------------ mixed cells


def ambiguous_values(column: Any) -> int:
    """How many texts of a column belong to cells of different types, such as 1 and "1"; 0 for a typed column."""
    cells = _objects(column)
    if len({_kind_of_cell(type(cell)) for cell in cells}) < 2:
        return 0
    kinds: dict[str, set[str]] = {}
    for cell in cells:
        text = text_of(cell)
        if text is not None:
            kinds.setdefault(text, set()).add(_kind_of_cell(type(cell)))
    return sum(len(of) > 1 for of in kinds.values())


def _objects(column: Any) -> Sequence[Any]:
    """The cells, or the categories, of a column of Python objects."""
    library = type(column).__module__.partition(".")[0]
    if library == "polars":
        import polars as pl

        return column.to_list() if column.dtype == pl.Object else ()
    if library != "pandas":
        return ()
    import pandas as pd

    cells = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    return cells.tolist() if cells.dtype == object else ()


def _kind_of_cell(of: type) -> str:
    """The kind of a type; all numbers are one kind, because those with the same text are equal."""
    if issubclass(of, bool | np.bool_):
        return "truth value"
    if issubclass(of, int | float | np.number | Decimal):
        return "number"
    return "text" if issubclass(of, str) else of.__name__
