"""Checks of parameters, with the sentence that a wrong one deserves."""

from __future__ import annotations

import warnings

from anonto.errors import ParameterError, WindowWarning


def require_k(k: object) -> None:
    """K must be a whole number, 1 or more."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError("k", "a whole number, 1 or more", k)


def within_table(k: int, n_records: int) -> int:
    """K, or one less than the number of records with a warning when it reaches past them."""
    if k < n_records or n_records < 2:
        return k
    warnings.warn(WindowWarning(k, n_records), stacklevel=4)
    return n_records - 1
