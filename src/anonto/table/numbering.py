"""Names of columns that name persons and organisations, or number persons, households and records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.errors import counted
from anonto.table.shapes import FEW_VALUES, differ_often
from anonto.table.vocabulary import (
    COARSE_PLACES,
    CODE_SYSTEM_WORDS,
    DIRECT_WORDS,
    HOUSEHOLD_NUMBERS,
    HOUSEHOLD_WORDS,
    NAME_WORDS,
    NOT_NUMBERING,
    NUMBERING_ENDINGS,
    NUMBERING_WORDS,
    ORGANISATION_WORDS,
    PERSON_NUMBERS,
    PERSON_WORDS,
    QUASI_WORDS,
    RECORD_NUMBERS,
    RECORD_WORDS,
    SOURCE_WORDS,
)

if TYPE_CHECKING:
    from anonto.table.facts import Facts

ASK_WHAT = (
    "does a number stand for a person, a household or an office? If it is a code of a category, make it a "
    "quasi-identifier"
)


@dataclass(frozen=True, slots=True)
class Clue:
    """Why a column is an identifier, and whether somebody must confirm it."""

    why: str
    review: bool


def clue_in_name(facts: Facts) -> Clue | None:
    """Why the name of a column makes it an identifier, values deciding where the name may mean a category."""
    telling = [term for term in facts.terms if term in DIRECT_WORDS or term in COARSE_PLACES]
    if telling and telling[0] in DIRECT_WORDS:
        return Clue(f"its name has the word {telling[0]!r}", review=False)
    return _names(facts) or _numbers_of_a_list(facts) or _numbers_by_words(facts)


def _names(facts: Facts) -> Clue | None:
    """Names of persons and organisations; of other things only where they are too many or differ as those do."""
    stems = {term.removesuffix("name") for term in facts.terms if term.endswith("name")}
    things = {*facts.words, *stems} - {"name", "", facts.terms[0]}
    if not stems and ("display" not in things or not things & (PERSON_WORDS | ORGANISATION_WORDS)):
        return None
    if things <= NAME_WORDS or things & PERSON_WORDS:
        return Clue("it is named like one of names of persons", review=False)
    if things & ORGANISATION_WORDS:
        return Clue("it is named like one of names of organisations", review=False)
    is_category = bool(things & QUASI_WORDS.keys()) or len(facts.values) <= FEW_VALUES
    if is_category and not differ_often(facts):
        return None
    return Clue("it is named like one of names: do they name persons or organisations?", review=True)


def _numbers_of_a_list(facts: Facts) -> Clue | None:
    """Names that public surveys and registers give to the numbers of persons, households and records."""
    lists = (("a person", PERSON_NUMBERS), ("a household", HOUSEHOLD_NUMBERS), ("a record", RECORD_NUMBERS))
    for whose, known in lists:
        if not known.isdisjoint(facts.terms):
            return _number_of(whose)
    return None


def _number_of(whose: str) -> Clue:
    return Clue(f"it seems to be the number of {whose}, by its name", review=True)


def _numbers_by_words(facts: Facts) -> Clue | None:
    """Names made of a word for a thing and one for its number, or of the thing alone where the cells differ."""
    words = [word for word in facts.words if not word.isdigit() and word not in SOURCE_WORDS]
    if not words:
        return None
    if words[0] == "id":
        words = [*words[1:], "id"]
    last, stem = words[-1], _stem(words[-1])
    if last not in NUMBERING_WORDS and not stem:
        return _bare(facts, frozenset(words))
    things = frozenset((*words[:-1], stem)) - NUMBERING_WORDS - {""}
    if things & CODE_SYSTEM_WORDS:
        return None
    if things and things <= HOUSEHOLD_WORDS:
        return _number_of("a household")
    if things & PERSON_WORDS:
        return _number_of("a person")
    return _number_of_something(facts, bool(things & QUASI_WORDS.keys()), last)


def _number_of_something(facts: Facts, is_category: bool, last: str) -> Clue | None:
    """A number of records or of what they belong to, unless it is a code of a category."""
    is_count = is_category and last == "num"
    is_category = is_category or 0 < len(facts.values) <= FEW_VALUES
    if is_count or (is_category and not differ_often(facts)):
        return None
    values = counted(len(facts.values), "distinct value")
    of_cells = f" ({values} in {counted(facts.n_present, 'cell')})" if facts.n_records else ""
    return Clue(f"it seems to number something, by the word {last!r}{of_cells}: {ASK_WHAT}", review=True)


def _bare(facts: Facts, words: frozenset[str]) -> Clue | None:
    """A name such as ``household`` or ``record``, where the values are too many for a category."""
    if facts.n_records and not differ_often(facts) and len(facts.values) <= FEW_VALUES:
        return None
    words -= CODE_SYSTEM_WORDS
    for whose, known in (("a household", HOUSEHOLD_WORDS), ("a person", PERSON_WORDS), ("a record", RECORD_WORDS)):
        if words and words <= known:
            return _number_of(whose)
    return None


def _stem(word: str) -> str:
    """What a word such as ``utilityid`` numbers; nothing if it is no such word."""
    if word in NOT_NUMBERING:
        return ""
    return next((word.removesuffix(end) for end in NUMBERING_ENDINGS if word.endswith(end) and word != end), "")
