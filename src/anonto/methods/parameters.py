"""Checks of parameters, with the sentence that a wrong one deserves."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from anonto.errors import ParameterError, WindowWarning

if TYPE_CHECKING:
    from collections.abc import Sequence


def require_k(k: object) -> None:
    """K must be a whole number, 1 or more."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError("k", "a whole number, 1 or more", k)


LEAST_PER_K = 100
"""A block has at least this many times k rows."""


def require_block_rows(block_rows: object, k: int) -> None:
    """Rows of a block, where they are given, must leave room for many groups."""
    least = LEAST_PER_K * k
    if block_rows is None:
        return
    if isinstance(block_rows, bool) or not isinstance(block_rows, int) or block_rows < least:
        raise ParameterError("block_rows", f"a whole number, {least:,} or more with k = {k:,}", block_rows)


def require_k_or_percent(k: object, percent: object) -> None:
    """Exactly one of k and percent must be given; percent is above 0 and at most 100."""
    if k is None and percent is None:
        raise ParameterError("k", "given, or percent instead of it", None)
    if k is not None and percent is not None:
        raise ParameterError("percent", "left out where k is given", percent)
    if percent is None:
        require_k(k)
    elif isinstance(percent, bool) or not isinstance(percent, int | float) or not 0 < percent <= 100:
        raise ParameterError("percent", "a number above 0 and at most 100", percent)


def k_for(k: int | None, percent: float | None, n_records: int) -> int:
    """K as given, or as a share of the records; at least 1."""
    return k if k is not None else max(1, round((percent or 0) * n_records / 100))


def require_choice(name: str, choice: object, choices: Sequence[str]) -> None:
    """A parameter must be one of some words."""
    if choice not in choices:
        raise ParameterError(name, f"one of {', '.join(choices)}", choice)


def require_one_given(**parameters: object) -> None:
    """Exactly one of some parameters must be given."""
    given = [name for name, value in parameters.items() if value is not None]
    first, *others = parameters
    if not given:
        raise ParameterError(first, f"given, or {' or '.join(others)} instead of it", None)
    if len(given) > 1:
        raise ParameterError(given[1], f"left out where {given[0]} is given", parameters[given[1]])


def within_table(k: int, n_records: int) -> int:
    """K, or one less than the number of records with a warning when it reaches past them."""
    if k < n_records or n_records < 2:
        return k
    warnings.warn(WindowWarning(k, n_records), stacklevel=4)
    return n_records - 1
