"""Guessing what a column is: which texts mean missing, its kind, its role, and a reason for each in words.

The reasons count and name words of the column's own name; they show no cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.errors import counted
from anonto.table.facts import word_set
from anonto.table.kinds import kind_of, missing_texts

if TYPE_CHECKING:
    from anonto.table.facts import Facts
    from anonto.table.kinds import KindGuess

DIRECT_WORDS = word_set(
    """ssn mrn nhs email mail phone telephone mobile fax address street surname firstname lastname forename fullname
    passport iban username login url"""
)
PERSON_WORDS = word_set(
    """patient person member subject client customer case participant respondent employee user first last full given
    family middle maiden doctor physician"""
)
NUMBERING_WORDS = word_set("id nr nbr no num number key uid uuid guid identifier pid")
QUASI_WORDS = word_set(
    """age sex gender race ethnic ethnicity region zip zipcode postcode postal county city town state country province
    district municipality marital civil occupation job profession employer workclass education degree school religion
    nationality citizenship native language birth birthday born dob date year month diag dx icd drg proc px adm
    admission admit discharge disposition dc payer payor insurance insurer specialty hospital ward department facility
    stay los height weight bmi relationship household children veteran disability disease illness condition"""
)
QUASI_BEGINNINGS = ("diagnos", "procedur", "operation", "admiss", "discharg", "occupat", "nation", "educat", "ethnic")
CONFIDENTIAL_WORDS = word_set(
    """charge charges cost costs income salary salaries wage wages earnings revenue debt balance capital price amount
    payment payments outcome outcomes result results readmitted readmission died death mortality savings expend
    expenditure taxes"""
)
CONFIDENTIAL_ENDINGS = ("result", "results", "outcome")
NEARLY_UNIQUE = 0.95
OFTEN_UNIQUE = 0.2
FEW_NAMES = 4
MOSTLY_DIFFERENT = 0.5
ENOUGH_RECORDS = 20
"""Below this many cells a column's values may all differ by chance."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What a column seems to be, and why."""

    kind: str
    role: str
    order: tuple[str, ...]
    na: tuple[str, ...]
    reasons: tuple[str, ...]
    is_maskable: bool
    """Whether it has at least two values, so that masking it changes something; or no record tells that it has not."""

    @property
    def may_have_an_ontology(self) -> bool:
        """Whether its values are names of something that recurs."""
        return self.kind == "nominal" and self.role != "identifier" and self.is_maskable


def guess_column(facts: Facts) -> Guess:
    """Guess missing texts, kind and role of a column."""
    na = missing_texts(facts)
    present = facts.without(na)
    kind = kind_of(present)
    role, why_role = role_of(present, kind)
    if role == "identifier":
        return Guess("nominal", role, (), na, (f"{role}: {why_role}",), is_maskable=True)
    reasons = [f"{kind.kind}: {kind.reason}", f"{role}: {why_role}"]
    if na:
        cells = counted(facts.cells_of(na), "cell")
        reasons.append(f"na: {counted(len(na), 'text')} in {cells} {'is' if len(na) == 1 else 'are'} taken for missing")
    return Guess(kind.kind, role, kind.order, na, tuple(reasons), is_maskable=_may_change(present))


def role_of(facts: Facts, kind: KindGuess) -> tuple[str, str]:
    """The role of a column and why."""
    if not _may_change(facts):
        return "other", "all records have the same value" if facts.values else "no record has a value"
    identifier = _why_an_identifier(facts)
    if identifier:
        return "identifier", identifier
    for word in reversed(facts.words):
        if role := _role_of_word(word):
            return role, f"its name has the word {word!r}"
    if _looks_like_names(facts, kind):
        return "identifier", "it holds texts of several words that mostly differ, as names do"
    if _is_unique(facts, kind):
        n, distinct = counted(facts.n_present, "cell"), counted(len(facts.values), "distinct value")
        return "identifier", f"almost every record has a value of its own ({distinct} in {n})"
    return "other", "released as it is, because nothing known speaks in its name or its values: check it"


def _may_change(facts: Facts) -> bool:
    """Whether masking would change something; of a table without records nobody knows, so that the name decides."""
    return len(facts.values) > 1 or not facts.n_records


def _role_of_word(word: str) -> str:
    """The role that a word of a column's name speaks for; nothing if it is silent."""
    if word in CONFIDENTIAL_WORDS or word.endswith(CONFIDENTIAL_ENDINGS):
        return "confidential"
    return "quasi-identifier" if word in QUASI_WORDS or word.startswith(QUASI_BEGINNINGS) else ""


def _why_an_identifier(facts: Facts) -> str:  # noqa: PLR0911 - one for each clue
    """Why the name of a column says that it tells records or persons apart; nothing if it does not."""
    words = set(facts.words)
    direct = sorted(words & DIRECT_WORDS)
    if direct:
        return f"its name has the word {direct[0]!r}"
    if "name" in words and (words - {"name"} <= PERSON_WORDS or facts.distinct_share >= OFTEN_UNIQUE):
        return "it is named like one of names"
    if words and words <= PERSON_WORDS and (facts.distinct_share >= OFTEN_UNIQUE or not facts.n_records):
        return "it is named like a person"
    if not facts.words or (facts.words[-1] not in NUMBERING_WORDS and facts.words[0] != "id"):
        return ""
    if words <= PERSON_WORDS | NUMBERING_WORDS and words & PERSON_WORDS:
        return "it is named like a person's number"
    is_count = facts.words[-1] == "num" and len(facts.words) > 1
    if not facts.n_records and not is_count and not any(map(_role_of_word, facts.words)):
        return "it is named like a number of records, and there is none to show that its cells are alike"
    if not is_count and facts.distinct_share >= OFTEN_UNIQUE:
        return f"it is named like a number of records, and {facts.distinct_share:.0%} of its cells differ"
    return ""


def _looks_like_names(facts: Facts, kind: KindGuess) -> bool:
    """Most texts have several words and few stand twice; a short list of wordy categories has more repeats."""
    if kind.kind != "nominal" or facts.n_present < FEW_NAMES or facts.distinct_share < MOSTLY_DIFFERENT:
        return False
    wordy = sum(len(value.split()) > 1 and any(c.isalpha() for c in value) for value in facts.values)
    return wordy >= 0.5 * len(facts.values)


def _is_unique(facts: Facts, kind: KindGuess) -> bool:
    """Texts may repeat a little; whole numbers must all differ, for amounts often do almost."""
    if facts.n_present < ENOUGH_RECORDS or kind.kind == "ordinal":
        return False
    if kind.kind == "numeric":
        return facts.distinct_share == 1.0 and all("." not in value and "," not in value for value in facts.values)
    return facts.distinct_share >= NEARLY_UNIQUE
