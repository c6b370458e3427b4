"""Columns by name out of whatever table the caller has in hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from anonto.errors import DuplicateColumnError, ParameterError


def columns_of(table: Any) -> dict[str, Any]:
    """All columns by name, in the caller's own library."""
    if isinstance(table, Mapping):
        names, columns = list(table), list(table.values())
    else:
        frame = _frame(table)
        names, columns = frame.columns, [column.to_native() for column in frame.iter_columns()]
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        raise DuplicateColumnError(_repeated(texts))
    return dict(zip(texts, columns, strict=True))


def _frame(table: Any) -> Any:
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise DuplicateColumnError(_repeated([str(name) for name in table.columns])) from None
    if not isinstance(frame, nw.DataFrame):
        must = "a pandas, polars or pyarrow table, or a mapping of names to columns"
        raise ParameterError("table", must, type(table).__name__)
    return frame


def _repeated(names: list[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
