"""Types that polars and the file formats can hold: columns are converted to them, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.io.refusals import unsupported_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

LARGEST_EXACT = 2**53
"""Integers up to this are exact in the doubles of Excel and of the statistical packages."""
MOST_DIGITS = 38
"""Maximum digits of a decimal in polars; pyarrow and Parquet have wider ones, on which polars panics."""
FIRST_DAY, LAST_DAY = -96_465_291, 95_026_235
"""Polars' calendar in days since 1970, less one day at each end, so that a time zone cannot leave it."""
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def flat_columns(frame: pl.DataFrame, name: str, format_name: str) -> pl.DataFrame:
    """The frame with categories as text; nested columns and bytes are refused."""
    import polars as pl

    held = (pl.Binary, pl.Object)
    nested = [column for column, dtype in frame.schema.items() if dtype.is_nested() or dtype in held]
    if nested:
        raise unsupported_columns(name, format_name, nested, "lists, structs or bytes")
    categories = [n for n, dtype in frame.schema.items() if isinstance(dtype, pl.Categorical | pl.Enum)]
    return frame.with_columns(pl.col(categories).cast(pl.String)) if categories else frame


def double_columns(frame: pl.DataFrame, name: str, format_name: str) -> pl.DataFrame:
    """The frame for a format whose numbers are doubles and whose datetimes have no time zone."""
    import polars as pl

    frame = flat_columns(frame, name, format_name)
    inexact = [c.name for c in frame.iter_columns() if c.dtype.is_integer() and _exceeds(c, LARGEST_EXACT)]
    if inexact:
        raise unsupported_columns(name, format_name, inexact, f"whole numbers beyond {LARGEST_EXACT:,}")
    changes = []
    for column, dtype in frame.schema.items():
        if dtype.is_decimal():
            changes.append(pl.col(column).cast(pl.Float64))
        elif isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
            changes.append(pl.col(column).dt.replace_time_zone(None))
        elif dtype == pl.Null:
            changes.append(pl.col(column).cast(pl.String))
    return frame.with_columns(changes) if changes else frame


def _exceeds(column: pl.Series, bound: int) -> bool:
    low, high = column.min(), column.max()
    return isinstance(low, int) and isinstance(high, int) and max(abs(low), abs(high)) > bound


def is_within_calendar(column: pl.Series) -> bool:
    """Return whether every date and datetime of a column can be written as text."""
    import polars as pl

    if isinstance(column.dtype, pl.Date):
        per_day = 1
    elif isinstance(column.dtype, pl.Datetime):
        per_day = _PER_DAY[column.dtype.time_unit]
    else:
        return True
    numbers = column.to_physical()
    least, most = numbers.min(), numbers.max()
    if not isinstance(least, int) or not isinstance(most, int):
        return True  # no cell has a value
    return least >= FIRST_DAY * per_day and most < (LAST_DAY + 1) * per_day


def wide_decimals(schema: Mapping[str, pl.DataType]) -> list[str]:
    """The columns of decimals with too many digits."""
    return [column for column, dtype in schema.items() if (getattr(dtype, "precision", 0) or 0) > MOST_DIGITS]
