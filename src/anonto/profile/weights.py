"""Sampling weights: recognised by name, or by values and other columns if the name may mean body weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.io.notation import numbers_of
from anonto.profile.kinds import are_numbers
from anonto.profile.vocabulary import (
    BODY_MEASURES,
    BODY_WEIGHTS,
    BODY_WORDS,
    SAMPLING_WEIGHTS,
    SAMPLING_WORDS,
    SHORT_FOR_WEIGHT,
    WEIGHT_WORDS,
)

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from anonto.profile.column_profile import ColumnProfile

LEAST_MEAN = 0.95
"""A weight is the number of persons that a record represents; scaled weights have mean 1."""


def sampling_weight(column: ColumnProfile, all_words: AbstractSet[str] = frozenset()) -> str:
    """The word that makes a column a sampling weight, or an empty text.

    The column is without its missing texts; ``all_words`` has the words of the names of all columns.
    """
    terms = frozenset(column.terms)
    if terms & BODY_WEIGHTS or terms & BODY_WORDS or (column.n_records and not _are_numbers(column)):
        return ""
    either = [
        word for word in column.words if word in WEIGHT_WORDS or word.endswith("weight") or column.terms == ("w",)
    ]
    short = [word for word in column.words if word.endswith(SHORT_FOR_WEIGHT) and word not in either]
    clear: list[str] = [*(terms & SAMPLING_WEIGHTS), *short, *(either if terms & SAMPLING_WORDS else ())]
    if clear:
        return min(clear)
    if not either or not column.n_records or not BODY_MEASURES.isdisjoint(all_words) or not _are_plausible(column):
        return ""
    return either[0]


def _are_numbers(column: ColumnProfile) -> bool:
    return bool(column.values) and are_numbers(column.values)


def _are_plausible(column: ColumnProfile) -> bool:
    """Return whether numbers can be weights: none negative, and about 1 or more on average."""
    numbers = numbers_of(column.values)
    return bool(numbers.min() >= 0 and np.average(numbers, weights=column.counts) >= LEAST_MEAN)
