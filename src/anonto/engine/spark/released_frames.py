"""Remembers which rows a released DataFrame was made of, as long as the DataFrame exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from anonto.engine.spark.sink import MaskedFrame

_ROWS: WeakKeyDictionary[Any, tuple[MaskedFrame | None, tuple[Any, ...]]] = WeakKeyDictionary()


def remember_rows(frame: Any, rows: MaskedFrame | None, *needed: Any) -> None:
    """Remember the rows that a DataFrame was made of, if they are its own, and keep what they need as long as it."""
    _ROWS[frame] = rows, needed


def rows_of(frame: Any) -> MaskedFrame | None:
    """The rows that a DataFrame was made of; None if it is not the table of a release."""
    found = _ROWS.get(frame)
    return None if found is None else found[0]
