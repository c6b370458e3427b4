"""Persons like those of the original who were not masked: attacks compare both, or learn from these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.encoding.columns import Column
    from anonto.encoding.comparison import ComparedColumn


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class HeldOut:
    """The records of persons held out, one for each; records that the plan drops are left out."""

    n_records: int
    cells: Mapping[str, Column]
    """Their cells in every column of `Comparison.cells`, with texts and codes of their own."""
    columns: Mapping[str, ComparedColumn]
    """The columns of `Comparison.columns`, in values that all three tables share: ``original``, ``masked`` and
    ``held_out``. Their codes differ from those of the comparison, and so may distances where the lowest common
    ancestor is the root."""
