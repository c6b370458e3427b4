"""What formats other than Parquet can hold: columns changed to types they know, or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.errors import UnholdableColumnsError

if TYPE_CHECKING:
    import polars as pl

LARGEST_EXACT = 2**53
"""The whole numbers up to here are exact in the doubles of Excel and of the statistical packages."""


def flat_columns(frame: pl.DataFrame, name: str, format_name: str) -> pl.DataFrame:
    """The frame with categories as text; refused are columns that are no sequence of single cells."""
    import polars as pl

    held = (pl.Binary, pl.Object)
    nested = [column for column, dtype in frame.schema.items() if dtype.is_nested() or dtype in held]
    if nested:
        raise UnholdableColumnsError(name, format_name, nested, "lists, structs or bytes")
    categories = [n for n, dtype in frame.schema.items() if isinstance(dtype, pl.Categorical | pl.Enum)]
    return frame.with_columns(pl.col(categories).cast(pl.String)) if categories else frame


def double_columns(frame: pl.DataFrame, name: str, format_name: str) -> pl.DataFrame:
    """The frame for a format whose only numbers are doubles and whose moments have no time zone."""
    import polars as pl

    frame = flat_columns(frame, name, format_name)
    inexact = [c.name for c in frame.iter_columns() if c.dtype.is_integer() and _reaches(c, LARGEST_EXACT)]
    if inexact:
        raise UnholdableColumnsError(name, format_name, inexact, f"whole numbers beyond {LARGEST_EXACT:,}")
    changes = []
    for column, dtype in frame.schema.items():
        if dtype.is_decimal():
            changes.append(pl.col(column).cast(pl.Float64))
        elif isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
            changes.append(pl.col(column).dt.replace_time_zone(None))
        elif dtype == pl.Null:
            changes.append(pl.col(column).cast(pl.String))
    return frame.with_columns(changes) if changes else frame


def _reaches(column: pl.Series, bound: int) -> bool:
    low, high = column.min(), column.max()
    return isinstance(low, int) and isinstance(high, int) and max(abs(low), abs(high)) > bound
