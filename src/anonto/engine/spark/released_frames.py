"""DataFrames that are tables of releases, with the rows that they were made of; forgotten with the DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from anonto.engine.spark.sink import MaskedFrame

_ROWS: WeakKeyDictionary[Any, tuple[MaskedFrame, tuple[Any, ...]]] = WeakKeyDictionary()


def remember_rows(frame: Any, rows: MaskedFrame, *needed: Any) -> None:
    """Remember the rows that a DataFrame was made of, and keep what they need as long as the DataFrame."""
    _ROWS[frame] = rows, needed


def rows_of(frame: Any) -> MaskedFrame | None:
    """The rows that a DataFrame was made of, in their order; None where it is no table of a release."""
    found = _ROWS.get(frame)
    return None if found is None else found[0]
