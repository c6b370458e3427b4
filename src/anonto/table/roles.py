"""The role of a column: what others may know of a person is masked, and so is everything that nothing is known of.

A clear clue is a word of the name with one meaning, or values of one form. Where there is none, the role is the safe
one, and somebody must confirm it: a quasi-identifier; an identifier if the values may number persons; confidential
only if they are clearly amounts. A word for money or an outcome is no such clue by itself: its values must be amounts
too, and an outcome of few categories must be confirmed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.errors import counted
from anonto.table.numbering import ASK_WHAT, clue_in_name
from anonto.table.shapes import (
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
from anonto.table.vocabulary import (
    CONFIDENTIAL_ENDINGS,
    CONFIDENTIAL_WORDS,
    OUTCOME,
    QUASI_BEGINNINGS,
    QUASI_WORDS,
    TEXT_WORDS,
)
from anonto.table.weights import sampling_weight

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from anonto.table.facts import Facts

UNLESS_KNOWN = "if somebody may know its values of a person, make it a quasi-identifier"


@dataclass(frozen=True, slots=True)
class RoleGuess:
    """The role of a column, why, and whether somebody must confirm it."""

    role: str
    reason: str
    review: bool = False
    is_default: bool = False
    """Whether neither name nor form of the values spoke, so that an ontology that knows them may decide."""


def role_of(facts: Facts, kind: str, beside: AbstractSet[str] = frozenset()) -> RoleGuess:
    """The role of a column whose missing texts are taken out.

    Args:
        facts: The column.
        kind: Its kind.
        beside: The words of the names of all columns of the table.
    """
    if facts.n_records and not facts.values:
        return RoleGuess("identifier", "no record has a value, so that nothing is lost without it")
    return _by_name(facts, beside) or _by_form(facts, kind) or _by_word(facts, kind) or _by_values(facts, kind)


def _by_name(facts: Facts, beside: AbstractSet[str]) -> RoleGuess | None:
    """Weights and identifiers."""
    if word := sampling_weight(facts, beside):
        reason = (
            f"it seems to be a sampling weight, by the word {word!r}; a weight can tell strata and single persons "
            "apart: to release it, check that it does not, and set role = 'confidential'"
        )
        return RoleGuess("identifier", reason, review=True)
    if clue := clue_in_name(facts):
        return RoleGuess("identifier", clue.why, review=clue.review)
    return None


def _by_form(facts: Facts, kind: str) -> RoleGuess | None:
    """What the form of the values says, whatever the name."""
    if len(facts.values) == 1:
        return RoleGuess("quasi-identifier", "all records with a value have the same one")
    if are_dates(facts):
        return RoleGuess("quasi-identifier", "its values are dates or times")
    if kind != "nominal":
        return None
    if are_references(facts):
        return RoleGuess("identifier", f"its values are made to number records or persons: {ASK_WHAT}", review=True)
    if named := what_they_name(facts):
        return RoleGuess("identifier", f"its values are {named}")
    return _of_free_text(facts)


def _of_free_text(facts: Facts) -> RoleGuess | None:
    is_named_so = not TEXT_WORDS.isdisjoint(facts.terms) and (differ_often(facts) or not facts.n_records)
    if not is_named_so and not is_free_text(facts):
        return None
    return RoleGuess("identifier", "it seems to hold free text, in which a person may be named", review=True)


def _by_word(facts: Facts, kind: str) -> RoleGuess | None:
    """The last word of the name that speaks for a role; one for money or an outcome only where the values agree."""
    role, meaning, reason = _word(facts)
    if role == "quasi-identifier" or (role and kind == "numeric" and are_amounts(facts)):
        return RoleGuess(role, reason)
    if meaning == OUTCOME and 0 < len(facts.values) <= FEW_VALUES:
        return RoleGuess(role, f"{reason}; {UNLESS_KNOWN}", review=True)
    return None


def _word(facts: Facts) -> tuple[str, str, str]:
    """The role that the name speaks for, the meaning of its word, and a reason that names it; empty without one."""
    for term in facts.terms:
        endings = (one for end, one in CONFIDENTIAL_ENDINGS.items() if term in facts.words and term.endswith(end))
        beginnings = (one for start, one in QUASI_BEGINNINGS.items() if term in facts.words and term.startswith(start))
        secret = CONFIDENTIAL_WORDS.get(term) or next(endings, "")
        known = QUASI_WORDS.get(term) or next(beginnings, "")
        if secret or known:
            meaning = secret or known
            reason = f"its name has the word {term!r}" + (f" ({meaning})" if term != meaning else "")
            return "confidential" if secret else "quasi-identifier", meaning, reason
    return "", "", ""


def _by_values(facts: Facts, kind: str) -> RoleGuess:
    """The safe role of a column whose name says nothing, or something that its values do not bear out."""
    if kind == "nominal" and looks_like_names(facts):
        return _unknown("identifier", "it holds texts of several words that mostly differ, as names do")
    if kind == "numeric" and are_amounts(facts):
        return _unknown(
            "confidential",
            f"its name says nothing, and its values are amounts or measurements; {UNLESS_KNOWN}",
        )
    named = _word(facts)[2]
    if may_number(facts, kind):
        n, distinct = counted(facts.n_present, "cell"), counted(len(facts.values), "distinct value")
        reason = f"its cells differ as numbers of persons do ({distinct} in {n}): {ASK_WHAT}"
        or_amounts = f"; {named}: if its values are amounts that nobody knows of a person, make it confidential"
        return _unknown("identifier", reason + or_amounts * bool(named))
    says = f"{named}, but its values are not clearly amounts" if named else "its name says nothing"
    return _unknown("quasi-identifier", f"{says}, so that it counts as known to an intruder")


def _unknown(role: str, reason: str) -> RoleGuess:
    return RoleGuess(role, reason, review=True, is_default=True)
