"""Limits of polars: decimals with too many digits and dates beyond its calendar, over which it panics or gives up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

MOST_DIGITS = 38
"""Digits of a decimal; pyarrow and Parquet have wider ones."""
FIRST_DAY, LAST_DAY = -96_465_291, 95_026_235
"""Days since 1970, one day inside the years −262,143 and 262,142, so that a time zone leads out of neither."""
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def is_within_calendar(column: pl.Series) -> bool:
    """Whether every date and moment of a column can be spelled."""
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
