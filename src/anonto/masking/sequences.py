"""The order of a person's rows: her sets are sequences, and each of her rows leaves with its place instead of a date.

A column of numbers or of dates says the order (``order`` in the table section). Rows with equal cells there are in the
order of what they hold, never of the table, which would say something about the person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anonto.encoding.series import as_text_series
from anonto.encoding.set_space import ELEMENT
from anonto.errors import ColumnError
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBER, TEXT = (f"{ELEMENT}order by {name}" for name in ("number", "text"))
DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?)?$"
"""Dates, alone or with a time, whose texts are in the order of what they mean."""


def order_of_rows(cells: pl.Series, na: Sequence[str]) -> tuple[pl.DataFrame, int]:
    """Columns to sort rows by, and how many rows have neither a number nor a date."""
    texts = as_text_series(cells).cast(pl.String).str.strip_chars().replace(list(na), None)
    numbers = texts.cast(pl.Float64, strict=False)
    numbers = numbers.set(~numbers.is_finite().fill_null(value=False), None)
    usable = numbers.is_not_null() | texts.str.contains(DATE).fill_null(value=False)
    by = pl.DataFrame({NUMBER: numbers, TEXT: texts.str.replace("T", " ", literal=True)})
    return by, int((~usable).sum())


def number_rows_of_records(n_rows: pl.Series) -> pl.Series:
    """1, 2, 3, … for the rows of each record, one record after the other."""
    return n_rows.to_frame("n").select(pl.int_ranges(1, pl.col("n") + 1)).to_series().explode()


def rows_without_place(column: str, n_rows: int) -> ColumnError:
    """An order with cells that say none."""
    return ColumnError(
        f"{count_of(n_rows, 'row has', 'rows have')} neither a number nor a date such as 2005-12-31 in {column!r}, "
        "which says the order of a person's rows (order); fill it in, or leave these rows out.",
        settings=("order",),
    )
