"""Columns by name out of whatever table the caller has in hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonto.errors import ColumnTypeError


def column_names(table: Any) -> list[str]:
    """The names of a table's columns."""
    if isinstance(table, Mapping):
        return [str(name) for name in table]
    return list(_frame(table).columns)


def column_of(table: Any, name: str) -> Any:
    """One column, in the caller's own library."""
    if isinstance(table, Mapping):
        return table[name]
    return _frame(table)[name].to_native()


def _frame(table: Any) -> Any:
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise ColumnTypeError(type(table).__name__)
    return frame
