"""Columns whose name shows that they name persons or organisations, or number persons, households or records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anonto.profile.shapes import FEW_VALUES, differ_often
from anonto.profile.vocabulary import (
    BARE_NUMBERS,
    COARSE_PLACES,
    CODE_SYSTEM_WORDS,
    DIRECT_WORDS,
    HOUSEHOLD_NUMBERS,
    HOUSEHOLD_WORDS,
    NAME_WORDS,
    NOT_NUMBERING,
    NUMBERING_ENDINGS,
    NUMBERING_WORDS,
    OFFICIAL_NUMBERS,
    ORGANISATION_WORDS,
    PERSON_NUMBERS,
    PERSON_WORDS,
    QUASI_WORDS,
    RECORD_NUMBERS,
    RECORD_WORDS,
    SOURCE_WORDS,
)
from anonto.wording import count_of

if TYPE_CHECKING:
    from anonto.profile.column_profile import ColumnProfile

ASK_WHAT = (
    "does it identify a person, a household or an office? If it is the code of a category, make it a quasi-identifier"
)


A_PERSON, A_HOUSEHOLD, A_RECORD, ANYBODY = "a person", "a household", "a record", "anybody"
A_THING = "a thing"


@dataclass(frozen=True, slots=True)
class Clue:
    """Why a column is an identifier, and whether a person must confirm it."""

    why: str
    review: bool
    whose: str = ""
    """`A_PERSON`, `A_HOUSEHOLD`, `A_RECORD`, `A_THING` for a number of something else, or `ANYBODY` for a number of
    which the name says no more; empty for what is no number."""


def clue_in_name(column: ColumnProfile) -> Clue | None:
    """Why the name of a column makes it an identifier; the values decide if the name may mean a category."""
    telling = [term for term in column.terms if term in DIRECT_WORDS or term in COARSE_PLACES]
    if telling and telling[0] in DIRECT_WORDS:
        whose = A_PERSON if telling[0] in OFFICIAL_NUMBERS else ""
        return Clue(f"its name has the word {telling[0]!r}", review=False, whose=whose)
    return _names(column) or _numbers_of_a_list(column) or _numbers_by_words(column)


def _names(column: ColumnProfile) -> Clue | None:
    """Names of persons and organisations; names of other things only if their number or variety suggests persons."""
    stems = {term.removesuffix("name") for term in column.terms if term.endswith("name")}
    things = {*column.words, *stems} - {"name", "", column.terms[0]}
    if not stems and ("display" not in things or not things & (PERSON_WORDS | ORGANISATION_WORDS)):
        return None
    if things <= NAME_WORDS or things & PERSON_WORDS:
        return Clue("its name suggests names of persons", review=False)
    if things & ORGANISATION_WORDS:
        return Clue("its name suggests names of organisations", review=False)
    is_category = bool(things & QUASI_WORDS.keys()) or len(column.values) <= FEW_VALUES
    if is_category and not differ_often(column):
        return None
    return Clue("its name suggests names: do they name persons or organisations?", review=True)


def _numbers_of_a_list(column: ColumnProfile) -> Clue | None:
    """Names of person, household and record numbers in public surveys and registers."""
    lists = ((A_PERSON, PERSON_NUMBERS), (A_HOUSEHOLD, HOUSEHOLD_NUMBERS), (A_RECORD, RECORD_NUMBERS))
    for whose, known in lists:
        if not known.isdisjoint(column.terms):
            return _number_of(whose)
    return None


def _number_of(whose: str) -> Clue:
    return Clue(f"it seems to be the number of {whose}, by its name", review=True, whose=whose)


def _numbers_by_words(column: ColumnProfile) -> Clue | None:
    """Names such as ``person number``, or ``person`` alone if the cells differ."""
    words = [word for word in column.words if not word.isdigit() and word not in SOURCE_WORDS]
    if not words:
        return None
    if words[0] == "id":
        words = [*words[1:], "id"]
    last, stem = words[-1], _stem(words[-1])
    if last not in NUMBERING_WORDS and not stem:
        return _bare(column, frozenset(words))
    things = frozenset((*words[:-1], stem)) - NUMBERING_WORDS - {""}
    if things & CODE_SYSTEM_WORDS:
        return None
    if things and things <= HOUSEHOLD_WORDS:
        return _number_of(A_HOUSEHOLD)
    if things & PERSON_WORDS:
        return _number_of(A_PERSON)
    clue = _number_of_something(column, bool(things & QUASI_WORDS.keys()), last)
    return replace(clue, whose=ANYBODY) if clue is not None and not things and last in BARE_NUMBERS else clue


def _number_of_something(column: ColumnProfile, is_category: bool, last: str) -> Clue | None:
    """A number of records or of their group, unless it is the code of a category."""
    is_count = is_category and last == "num"
    is_category = is_category or 0 < len(column.values) <= FEW_VALUES
    if is_count or (is_category and not differ_often(column)):
        return None
    values = count_of(len(column.values), "distinct value")
    of_cells = f" ({values} in {count_of(column.n_present, 'cell')})" if column.n_records else ""
    return Clue(
        f"it seems to be an identifying number, by the word {last!r}{of_cells}: {ASK_WHAT}", review=True, whose=A_THING
    )


def _bare(column: ColumnProfile, words: frozenset[str]) -> Clue | None:
    """A name such as ``household`` or ``record``, if there are too many values for a category."""
    if column.n_records and not differ_often(column) and len(column.values) <= FEW_VALUES:
        return None
    words -= CODE_SYSTEM_WORDS
    for whose, known in ((A_HOUSEHOLD, HOUSEHOLD_WORDS), (A_PERSON, PERSON_WORDS), (A_RECORD, RECORD_WORDS)):
        if words and words <= known:
            return _number_of(whose)
    return None


def _stem(word: str) -> str:
    """``utility`` for a word such as ``utilityid``; empty for other words."""
    if word in NOT_NUMBERING:
        return ""
    return next((word.removesuffix(end) for end in NUMBERING_ENDINGS if word.endswith(end) and word != end), "")
