"""Recognising sampling weights: by the words of a name, and by values and neighbours where the name may mean bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.table.kinds import are_numbers
from anonto.table.notation import numbers_of
from anonto.table.vocabulary import (
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

    from anonto.table.facts import Facts

LEAST_MEAN = 0.95
"""A weight says how many persons a record stands for; weights that were scaled have the mean 1."""


def sampling_weight(facts: Facts, beside: AbstractSet[str] = frozenset()) -> str:
    """The word by which a column is one of sampling weights; nothing if it is none.

    Args:
        facts: The column, without its missing texts.
        beside: The words of the names of all columns of the table.
    """
    terms = frozenset(facts.terms)
    if terms & BODY_WEIGHTS or terms & BODY_WORDS or (facts.n_records and not _are_numbers(facts)):
        return ""
    either = [word for word in facts.words if word in WEIGHT_WORDS or word.endswith("weight") or facts.terms == ("w",)]
    short = [word for word in facts.words if word.endswith(SHORT_FOR_WEIGHT) and word not in either]
    clear: list[str] = [*(terms & SAMPLING_WEIGHTS), *short, *(either if terms & SAMPLING_WORDS else ())]
    if clear:
        return min(clear)
    if not either or not facts.n_records or not BODY_MEASURES.isdisjoint(beside) or not _are_plausible(facts):
        return ""
    return either[0]


def _are_numbers(facts: Facts) -> bool:
    return bool(facts.values) and are_numbers(facts.values)


def _are_plausible(facts: Facts) -> bool:
    """Whether numbers can be weights: none below zero, one or more on average."""
    numbers = numbers_of(facts.values)
    return bool(numbers.min() >= 0 and np.average(numbers, weights=facts.counts) >= LEAST_MEAN)
