"""Sampling weights: how many people of the population each record of a table stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.series import as_series, as_text_series
from anonto.errors import ColumnError
from anonto.io.notation import numbers_of
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from anonto.arrays import Bools, Floats

LARGEST = 1e12
"""A weight above it would be of more people than there are; and sums of weights stay far from overflowing."""


def read_weights(values: Any, name: str | None = None, na: Sequence[str] = (), decimal: str | None = None) -> Floats:
    """The weights of records as numbers; refused unless each is a number of 0 or more, and one is above 0.

    Args:
        values: One weight for each record: numbers, or texts of numbers.
        name: The name of their column, for errors.
        na: Texts that mean missing.
        decimal: The decimal sign of texts; by default it is detected.
    """
    series = as_series(values, name)
    if series.dtype.is_numeric() and not na:
        numbers = _floats(series)
        missing, others = np.isnan(numbers), np.zeros(numbers.size, dtype=np.bool_)
    else:
        numbers, missing, others = _from_texts(series, na, decimal)
    _require_usable(numbers, missing, others, name)
    return numbers


def _floats(series: pl.Series) -> Floats:
    import polars as pl

    return series.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _from_texts(series: pl.Series, na: Sequence[str], decimal: str | None) -> tuple[Floats, Bools, Bools]:
    """Numbers, and which cells are missing and which are other texts."""
    import polars as pl

    texts = as_text_series(series).cast(pl.String).str.strip_chars()
    texts = texts.set(texts.is_in([*na, ""]), None)
    distinct = texts.unique().drop_nulls().to_list()
    numbers = _floats(texts.replace_strict(distinct, numbers_of(distinct, decimal), return_dtype=pl.Float64))
    missing = texts.is_null().to_numpy()
    return numbers, missing, np.isnan(numbers) & ~missing


def _require_usable(numbers: Floats, missing: Bools, others: Bools, name: str | None) -> None:
    faults = {
        "has no weight": missing,
        "has a weight that is no number": others,
        "has a weight below 0": numbers < 0,
        f"has a weight above {LARGEST:,.0f}": numbers > LARGEST,
    }
    for fault, records in faults.items():
        if records.any():
            raise unusable_weights(name, int(np.count_nonzero(records)), fault)
    if numbers.size and not numbers.any():
        raise nobody_represented(name, numbers.size)


def unusable_weights(column: str | None, n_records: int, fault: str) -> ColumnError:
    """Weights that no record can have."""
    where = f" in {column!r}" if column else ""
    verb = fault if n_records == 1 else fault.replace("has", "have", 1)
    return ColumnError(
        f"{count_of(n_records, 'record')} {verb}{where}; a weight says how many people a record stands for: give each "
        "record a number of 0 or more, or leave out these records.",
        settings=("weight",),
    )


def nobody_represented(column: str | None, n_records: int) -> ColumnError:
    """Weights that are all 0."""
    where = f" in {column!r}" if column else ""
    records = f"All {n_records:,} records have" if n_records > 1 else "The only record has"
    return ColumnError(
        f"{records} the weight 0{where}; give the column that says how many people a record stands for, or no weights.",
        settings=("weight",),
    )
