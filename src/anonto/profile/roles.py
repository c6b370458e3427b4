"""The role of a column: columns that an intruder may know are masked, and so are columns of unknown meaning.

A clear clue is a word of the name with one meaning, or values of one form. Without a clue the role is the safe one, and
a person must confirm it: quasi-identifier; identifier if the values may number persons; free-text if they are
sentences; confidential only if they are clearly amounts. A word for money or an outcome is not a sufficient clue: the
values must be amounts, too, and an outcome with few categories must be confirmed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.profile.numbering import ASK_WHAT, clue_in_name
from anonto.profile.shapes import (
    FEW_VALUES,
    are_amounts,
    are_dates,
    are_references,
    differ_often,
    is_free_text,
    looks_like_names,
    may_number,
    what_they_name,
)
from anonto.profile.vocabulary import (
    CONFIDENTIAL_ENDINGS,
    CONFIDENTIAL_WORDS,
    OUTCOME,
    QUASI_BEGINNINGS,
    QUASI_WORDS,
    TEXT_WORDS,
)
from anonto.profile.weights import sampling_weight
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from anonto.profile.column_profile import ColumnProfile

UNLESS_KNOWN = "if others may know the value of a person, make it a quasi-identifier"


@dataclass(frozen=True, slots=True)
class RoleGuess:
    """The role of a column, its reason, and whether a person must confirm it."""

    role: str
    reason: str
    review: bool = False
    is_default: bool = False
    """True if there was no clue in the name or the values, so that an ontology of the values may decide."""


def role_of(column: ColumnProfile, kind: str, all_words: AbstractSet[str] = frozenset()) -> RoleGuess:
    """The role of a column without its missing texts; ``all_words`` has the words of the names of all columns."""
    if column.n_records and not column.values:
        return RoleGuess("identifier", "no record has a value, so nothing is lost without it")
    return _by_name(column, all_words) or _by_form(column, kind) or _by_word(column, kind) or _by_values(column, kind)


def _by_name(column: ColumnProfile, all_words: AbstractSet[str]) -> RoleGuess | None:
    """Weights and identifiers."""
    if word := sampling_weight(column, all_words):
        reason = (
            f"it seems to be a sampling weight, by the word {word!r}; weights can identify strata and single "
            "persons: before you release them, check that they do not, and set role = 'confidential'"
        )
        return RoleGuess("identifier", reason, review=True)
    if clue := clue_in_name(column):
        return RoleGuess("identifier", clue.why, review=clue.review)
    return None


def _by_form(column: ColumnProfile, kind: str) -> RoleGuess | None:
    """The role by the form of the values, whatever the name."""
    if len(column.values) == 1:
        return RoleGuess("quasi-identifier", "all records with a value have the same one")
    if kind == "date" or are_dates(column):
        return RoleGuess("quasi-identifier", "its values are dates or times")
    if kind != "nominal":
        return None
    if are_references(column):
        return RoleGuess(
            "identifier", f"its values look like generated ids of records or persons: {ASK_WHAT}", review=True
        )
    if named := what_they_name(column):
        return RoleGuess("identifier", f"its values are {named}")
    return _of_free_text(column)


def _of_free_text(column: ColumnProfile) -> RoleGuess | None:
    is_named_so = not TEXT_WORDS.isdisjoint(column.terms) and (differ_often(column) or not column.n_records)
    if not is_named_so and not is_free_text(column):
        return None
    return RoleGuess("free-text", "it seems to hold free text, in which a person may be named", review=True)


def _by_word(column: ColumnProfile, kind: str) -> RoleGuess | None:
    """The role by the last word of the name that suggests one; a word for money or an outcome needs suitable values."""
    role, meaning, reason = _word(column)
    if role == "quasi-identifier" or (role and kind == "numeric" and are_amounts(column)):
        return RoleGuess(role, reason)
    if meaning == OUTCOME and 0 < len(column.values) <= FEW_VALUES:
        return RoleGuess(role, f"{reason}; {UNLESS_KNOWN}", review=True)
    return None


def _word(column: ColumnProfile) -> tuple[str, str, str]:
    """The role that the name suggests, the meaning of the word, and a reason; empty if there is none."""
    for term in column.terms:
        endings = (one for end, one in CONFIDENTIAL_ENDINGS.items() if term in column.words and term.endswith(end))
        beginnings = (one for start, one in QUASI_BEGINNINGS.items() if term in column.words and term.startswith(start))
        secret = CONFIDENTIAL_WORDS.get(term) or next(endings, "")
        known = QUASI_WORDS.get(term) or next(beginnings, "")
        if secret or known:
            meaning = secret or known
            reason = f"its name has the word {term!r}" + (f" ({meaning})" if term != meaning else "")
            return "confidential" if secret else "quasi-identifier", meaning, reason
    return "", "", ""


def _by_values(column: ColumnProfile, kind: str) -> RoleGuess:
    """The safe role of a column whose name suggests nothing, or nothing that its values confirm."""
    if kind == "nominal" and looks_like_names(column):
        return _unknown("identifier", "it holds texts of several words that mostly differ, as names do")
    if kind == "numeric" and are_amounts(column):
        return _unknown(
            "confidential",
            f"its name suggests nothing, and its values are amounts or measurements; {UNLESS_KNOWN}",
        )
    named = _word(column)[2]
    if may_number(column, kind):
        n, distinct = count_of(column.n_present, "cell"), count_of(len(column.values), "distinct value")
        reason = f"its cells differ as much as person numbers do ({distinct} in {n}): {ASK_WHAT}"
        or_amounts = f"; {named}: if its values are amounts that nobody knows of a person, make it confidential"
        return _unknown("identifier", reason + or_amounts * bool(named))
    says = f"{named}, but its values are not clearly amounts" if named else "its name suggests nothing"
    return _unknown("quasi-identifier", f"{says}, so an intruder may know it")


def _unknown(role: str, reason: str) -> RoleGuess:
    return RoleGuess(role, reason, review=True, is_default=True)
