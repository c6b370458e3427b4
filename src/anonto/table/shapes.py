"""Clues in the values of a column: dates, addresses, free text, names, amounts, numbers that number something."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from anonto.table.cell_texts import DATE
from anonto.table.notation import numbers_of

if TYPE_CHECKING:
    from anonto.table.facts import Facts

ENOUGH_RECORDS = 20
"""Below this many cells a column's values may all differ by chance."""
NEARLY_UNIQUE = 0.95
MOSTLY_DIFFERENT = 0.5
OFTEN_DIFFERENT = 0.2
MANY_VALUES = 100
"""More distinct values than ages or years have."""
FEW_VALUES = 20
"""At most as many distinct values as a usual list of categories."""
CONTINUOUS = 0.1
FEW_NAMES = 4
WORDS_OF_A_SENTENCE = 6
LOOKED_AT = 400

_NAMING = {
    "e-mail addresses": re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"),
    "web addresses": re.compile(r"(https?://|www\.)\S+"),
    "telephone numbers": re.compile(r"(\+\d[\d ()/.-]{6,}|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})"),
    "numbers of an authority": re.compile(r"\d{3}-\d{2}-\d{4}|[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){3,7}( ?[A-Z0-9]{1,3})?"),
}
_NUMBERING = re.compile(
    r"([A-Za-z]+/|urn:uuid:)?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[A-Z][A-Za-z]+[/?]\S+"
)


def are_dates(facts: Facts) -> bool:
    """Whether the values are dates or times of day."""
    return _all_match(facts, DATE)


def what_they_name(facts: Facts) -> str:
    """The kind of address or official number that the values are; nothing if they are none."""
    return next((kind for kind, pattern in _NAMING.items() if _all_match(facts, pattern)), "")


def are_references(facts: Facts) -> bool:
    """Whether the values are made to be unique, as UUIDs and references of FHIR are."""
    return _all_match(facts, _NUMBERING)


def _all_match(facts: Facts, pattern: re.Pattern[str]) -> bool:
    """Whether almost all of some values from all over the column have a form."""
    some = facts.values[:: max(1, len(facts.values) // LOOKED_AT)]
    if not some or (pattern.fullmatch(some[0].strip()) is None and pattern.fullmatch(some[-1].strip()) is None):
        return False
    return sum(pattern.fullmatch(value.strip()) is not None for value in some) >= NEARLY_UNIQUE * len(some)


def is_free_text(facts: Facts) -> bool:
    """Whether the values are sentences that mostly differ."""
    if facts.n_present < FEW_NAMES or facts.distinct_share < MOSTLY_DIFFERENT:
        return False
    return sum(len(value.split()) for value in facts.values) >= WORDS_OF_A_SENTENCE * len(facts.values)


def looks_like_names(facts: Facts) -> bool:
    """Most texts have several words and few stand twice; a short list of wordy categories has more repeats."""
    if facts.n_present < FEW_NAMES or facts.distinct_share < MOSTLY_DIFFERENT:
        return False
    wordy = sum(len(value.split()) > 1 and any(c.isalpha() for c in value) for value in facts.values)
    return wordy >= 0.5 * len(facts.values)


def differ_often(facts: Facts) -> bool:
    """Whether the cells differ as numbers of records do; few records may differ in a category too."""
    if facts.n_present < ENOUGH_RECORDS:
        return facts.distinct_share >= NEARLY_UNIQUE
    return facts.distinct_share >= (OFTEN_DIFFERENT if len(facts.values) > FEW_VALUES else MOSTLY_DIFFERENT)


def may_number(facts: Facts, kind: str) -> bool:
    """Whether values without a telling name may number persons or records: almost all differ, or very many do.

    Whole numbers repeat as ages do before they are many; a text that mostly differs may be a name.
    """
    if facts.n_present < ENOUGH_RECORDS or kind == "ordinal":
        return False
    least = NEARLY_UNIQUE if kind == "numeric" else MOSTLY_DIFFERENT
    is_many = len(facts.values) >= MANY_VALUES and facts.distinct_share >= OFTEN_DIFFERENT
    return facts.distinct_share >= least or is_many


def are_amounts(facts: Facts) -> bool:
    """Whether numbers are clearly amounts or measurements: many different ones, and such as number nothing.

    These have decimals; or, being whole, are far from lying side by side, and some are below zero, or zero is the
    usual one, or more than chance are round. The most frequent value, often zero, does not count as a repeat.
    """
    if len(facts.values) < ENOUGH_RECORDS:
        return False
    numbers, most = numbers_of(facts.values), int(facts.counts.argmax())
    others = facts.n_present - int(facts.counts[most])
    if len(facts.values) - 1 < CONTINUOUS * others:
        return False
    if np.count_nonzero(numbers % 1) >= CONTINUOUS * numbers.size:
        return True
    if numbers.size > 0.5 * (numbers.max() - numbers.min() + 1):
        return False
    is_round = (numbers % 10 == 0) & (numbers != 0)
    share_round = float(facts.counts[is_round].sum()) / max(1, others)
    return bool(numbers.min() < 0 or (numbers[most] == 0 and others < facts.n_present - 1) or 0.2 <= share_round <= 0.9)
