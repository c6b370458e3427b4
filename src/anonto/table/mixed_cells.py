"""Columns of Python objects in which cells of different types are spelt alike, such as 1 and "1"."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.table.series import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence


def ambiguous_values(column: Any) -> int:
    """How many texts stand for cells of more than one type, in a column of a table; 0 for one that has a type."""
    cells = _objects(column)
    if len({_kind(type(cell)) for cell in cells}) < 2:
        return 0
    kinds: dict[str, set[str]] = {}
    for cell in cells:
        text = text_of(cell)
        if text is not None:
            kinds.setdefault(text, set()).add(_kind(type(cell)))
    return sum(len(of) > 1 for of in kinds.values())


def _objects(column: Any) -> Sequence[Any]:
    """The cells, or the categories, of a column without a type of its own."""
    library = type(column).__module__.partition(".")[0]
    if library == "polars":
        import polars as pl

        return column.to_list() if column.dtype == pl.Object else ()
    if library != "pandas":
        return ()
    import pandas as pd

    cells = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    return cells.tolist() if cells.dtype == object else ()


def _kind(of: type) -> str:
    """Numbers of all types are one kind, as they are equal where they are spelt alike."""
    if issubclass(of, bool | np.bool_):
        return "truth value"
    if issubclass(of, int | float | np.number | Decimal):
        return "number"
    return "text" if issubclass(of, str) else of.__name__
