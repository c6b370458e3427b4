"""Recognition of single cells by their text: dates, and words for a missing value."""

from __future__ import annotations

import re

from anonto.ontology.matching import words

MISSING_SIGNS = frozenset(("", "?", "??", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "null", "-", "--", "."))
UNKNOWN_WORDS = frozenset(
    ("unknown", "unk", "not known", "not stated", "not available", "not recorded", "not applicable", "missing")
)
UNKNOWN_STARTS = frozenset("uUnNmM")
DATE = re.compile(
    r"\d{4}-\d{1,2}(-\d{1,2}([T ].*)?)?"
    r"|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})( .*)?"
    r"|\d{4}[./]\d{1,2}[./]\d{1,2}( .*)?"
    r"|(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
    r"|\d{1,2}[ -]?[A-Za-z]{3,9}[ -]?(\d{4}|\d{2})(:.*)?"
    r"|\d{1,2}:\d\d(:\d\d(\.\d+)?)?"
)


def is_date(text: str) -> bool:
    """Return whether a text is a date or a time of day."""
    return DATE.fullmatch(text.strip()) is not None


def says_unknown(value: str) -> bool:
    """Return whether a text is a word for unknown."""
    return value.strip()[:1] in UNKNOWN_STARTS and words(value.replace("_", " ")) in UNKNOWN_WORDS
