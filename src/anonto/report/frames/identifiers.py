"""The 18 identifiers that Safe Harbor wants removed, and the words of column names that suggest them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.report.frames.frame import ColumnFate


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifier:
    """One identifier of 45 CFR 164.514(b)(2)(i)."""

    letter: str
    what: str
    words: frozenset[str] = frozenset()
    """Words of a column's name that suggest it."""
    numbered: frozenset[str] = frozenset()
    """Words that suggest it beside a word for a number."""


PLACES, DATES, OTHERS = "B", "C", "R"
LEAST_PEOPLE = 20_000
DIGITS_OF_A_POSTCODE = 3
OLDEST = 90
"""All ages of at least so much are one."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGES = _words("age ages agep agey ageyr aage")
_NUMBERS = _words("id ids no nr nbr num number nummer numero code key uid uuid guid identifier serial")
_OF_PERSONS = _words("patient person member customer client subject first last full given family middle doctor")
_OF_CODES = _words("code codes concept class type category group status level")
_NO_PLACE = _words("email mail ip mac web url")
"""Words before ``address`` that make it no place."""


def _identifier(letter: str, what: str, words: str = "", numbered: str = "") -> Identifier:
    return Identifier(letter=letter, what=what, words=_words(words), numbered=_words(numbered))


IDENTIFIERS: Mapping[str, Identifier] = {
    one.letter: one
    for one in (
        _identifier(
            "A",
            "Names",
            "surname firstname lastname forename fullname familyname givenname maiden nachname vorname apellido prenom",
        ),
        _identifier(
            "B",
            "Geographic subdivisions smaller than a state",
            "address street city town county precinct zip zipcode zcta postcode postal plz geocode latitude longitude "
            "lat lon lng gps tract municipality village",
        ),
        _identifier(
            "C",
            "Dates other than the year, and ages above 89",
            "date dates datetime timestamp dob birthday birthdate dod day month admitted discharged",
        ),
        _identifier("D", "Telephone numbers", "phone telephone telefon tel mobile"),
        _identifier("E", "Fax numbers", "fax telefax"),
        _identifier("F", "E-mail addresses", "email mail"),
        _identifier("G", "Social Security numbers", "ssn socialsecurity"),
        _identifier("H", "Medical record numbers", "mrn", "patient medical hospital chart encounter visit"),
        _identifier(
            "I",
            "Health plan beneficiary numbers",
            "beneid desynpufid",
            "member beneficiary subscriber insurance plan policy",
        ),
        _identifier("J", "Account numbers", "iban account acct konto"),
        _identifier("K", "Certificate and licence numbers", "licence license certificate npi"),
        _identifier("L", "Vehicle identifiers and serial numbers", "vin plate numberplate", "vehicle car"),
        _identifier("M", "Device identifiers and serial numbers", "imei udi mac", "device implant serial"),
        _identifier("N", "Web addresses", "url website homepage"),
        _identifier("O", "IP addresses", "ip ipaddress ipv4 ipv6"),
        _identifier("P", "Biometric identifiers", "biometric fingerprint voiceprint retina iris"),
        _identifier("Q", "Full-face photographs and comparable images", "photo photograph picture image portrait"),
        _identifier(
            "R", "Any other unique identifying number, characteristic or code", "id ids uid uuid guid identifier pid"
        ),
    )
}


def words_of(name: str) -> frozenset[str]:
    """The words of a column's name, small, and each two neighbours as one."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = [one for one in re.split(r"[^a-z0-9]+", spaced.lower()) if one]
    return frozenset([*words, *(a + b for a, b in pairwise(words))])


def suggested_by_name(column: ColumnFate) -> tuple[str, ...]:
    """The letters that the name of a column suggests; one that the plan calls an identifier has at least the last."""
    words = words_of(column.name)
    found = [letter for letter, one in IDENTIFIERS.items() if words & one.words or _is_numbered(words, one)]
    if "name" in words and not words - _OF_PERSONS - {"name"} - {f"{one}name" for one in _OF_PERSONS}:
        found.insert(0, "A")
    if words & AGES or column.kind == "date":
        found.append(DATES)
    if words & _NO_PLACE and PLACES in found:
        found.remove(PLACES)
    if OTHERS in found and (len(found) > 1 or words & _OF_CODES):
        found.remove(OTHERS)
    if not found and (column.role == "identifier" or column.fate in {"dropped", "pseudonym"}):
        found.append(OTHERS)
    return tuple(dict.fromkeys(found))


def _is_numbered(words: frozenset[str], one: Identifier) -> bool:
    return bool(words & one.numbered and words & _NUMBERS)


def is_generalised(letter: str, column: ColumnFate) -> bool:
    """Return whether the plan makes a column as coarse as Safe Harbor demands of an identifier."""
    recode = column.recode
    if letter == PLACES:
        digits, people = recode.get("prefix"), recode.get("at_least")
        return bool(digits and digits <= DIGITS_OF_A_POSTCODE and people and people >= LEAST_PEOPLE)
    if letter != DATES:
        return False
    if words_of(column.name) & AGES:
        top, bands = recode.get("top"), recode.get("bands") or ()
        return bool((top and top <= OLDEST) or (bands and max(bands) <= OLDEST))
    return recode.get("to") == "year" and not recode.get("keep")
