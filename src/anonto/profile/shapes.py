"""Clues in the values of a column: dates, addresses, free text, names, amounts, record numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from anonto.io.cell_texts import DATE
from anonto.io.notation import numbers_of

if TYPE_CHECKING:
    from anonto.profile.column_profile import ColumnProfile

ENOUGH_RECORDS = 20
"""Below this many cells a column's values may all differ by chance."""
NEARLY_UNIQUE = 0.95
MOSTLY_DIFFERENT = 0.5
OFTEN_DIFFERENT = 0.2
MANY_VALUES = 100
"""More distinct values than ages or years have."""
FEW_VALUES = 20
"""A usual list of categories has at most this many values."""
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

_POSTCODE = re.compile(r"(?=.*\d)[A-Za-z0-9][A-Za-z0-9 -]{2,8}[A-Za-z0-9]")


def are_dates(column: ColumnProfile) -> bool:
    """Return whether the values are dates or times of day."""
    return _all_match(column, DATE)


def are_postcodes(column: ColumnProfile) -> bool:
    """Return whether the values have the form of postcodes: four to ten signs, some of them digits."""
    return _all_match(column, _POSTCODE)


def what_they_name(column: ColumnProfile) -> str:
    """The kind of address or official number of the values, or an empty text."""
    return next((kind for kind, pattern in _NAMING.items() if _all_match(column, pattern)), "")


def are_references(column: ColumnProfile) -> bool:
    """Return whether the values are unique by design, like UUIDs and references of FHIR."""
    return _all_match(column, _NUMBERING)


def _all_match(column: ColumnProfile, pattern: re.Pattern[str]) -> bool:
    """Return whether almost all values of a sample have a form."""
    some = column.values[:: max(1, len(column.values) // LOOKED_AT)]
    if not some or (pattern.fullmatch(some[0].strip()) is None and pattern.fullmatch(some[-1].strip()) is None):
        return False
    return sum(pattern.fullmatch(value.strip()) is not None for value in some) >= NEARLY_UNIQUE * len(some)


def is_free_text(column: ColumnProfile) -> bool:
    """Return whether the values are sentences that mostly differ."""
    if column.n_present < FEW_NAMES or column.distinct_share < MOSTLY_DIFFERENT:
        return False
    return sum(len(value.split()) for value in column.values) >= WORDS_OF_A_SENTENCE * len(column.values)


def looks_like_names(column: ColumnProfile) -> bool:
    """True if most texts have several words and few are repeated; categories of several words repeat more often."""
    if column.n_present < FEW_NAMES or column.distinct_share < MOSTLY_DIFFERENT:
        return False
    wordy = sum(len(value.split()) > 1 and any(c.isalpha() for c in value) for value in column.values)
    return wordy >= 0.5 * len(column.values)


def differ_often(column: ColumnProfile) -> bool:
    """Return whether the cells differ like record numbers; in a small table a category may, too."""
    if column.n_present < ENOUGH_RECORDS:
        return column.distinct_share >= NEARLY_UNIQUE
    return column.distinct_share >= (OFTEN_DIFFERENT if len(column.values) > FEW_VALUES else MOSTLY_DIFFERENT)


def may_number(column: ColumnProfile, kind: str) -> bool:
    """True if values may number persons or records, if the name does not tell: almost all differ, or very many do.

    Integers such as ages repeat before there are many; a text that mostly differs may be a name.
    """
    if column.n_present < ENOUGH_RECORDS or kind == "ordinal":
        return False
    least = NEARLY_UNIQUE if kind == "numeric" else MOSTLY_DIFFERENT
    is_many = len(column.values) >= MANY_VALUES and column.distinct_share >= OFTEN_DIFFERENT
    return column.distinct_share >= least or is_many


def are_amounts(column: ColumnProfile) -> bool:
    """Return whether numbers are clearly amounts or measurements: many different ones that cannot number anything.

    They have decimals; or they are integers with large gaps, and some are negative, or zero is the most frequent, or
    more are round than by chance. The most frequent value, often zero, does not count as a repeat.
    """
    if len(column.values) < ENOUGH_RECORDS:
        return False
    numbers, most = numbers_of(column.values), int(column.counts.argmax())
    others = column.n_present - int(column.counts[most])
    if len(column.values) - 1 < CONTINUOUS * others:
        return False
    if np.count_nonzero(numbers % 1) >= CONTINUOUS * numbers.size:
        return True
    if numbers.size > 0.5 * (numbers.max() - numbers.min() + 1):
        return False
    is_round = (numbers % 10 == 0) & (numbers != 0)
    share_round = float(column.counts[is_round].sum()) / max(1, others)
    return bool(
        numbers.min() < 0 or (numbers[most] == 0 and others < column.n_present - 1) or 0.2 <= share_round <= 0.9
    )
