"""Columns that hold what HIPAA Safe Harbor wants removed: names, dates, contacts, numbers, addresses, free text.

Each column is looked at by its name and by its distinct values. By content, a kind is found where most cells have its
form, or where some cells of a text contain an e-mail address, a URL, an IP address, a telephone or social security
number. What is found are hints, with the number of cells, never a cell: a person must confirm them, and nothing found
does not mean that nothing is there.

Reference: 45 CFR 164.514(b)(2)(i).
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from anonto.io.cell_texts import DATE
from anonto.profile.column_profile import open_table, word_set
from anonto.profile.shapes import are_references, is_free_text
from anonto.profile.vocabulary import COARSE_PLACES, NAME_WORDS, PERSON_NUMBERS, PERSON_WORDS, TEXT_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.profile.column_profile import ColumnProfile

MOST = 0.6
"""The share of cells with the form of a kind from which a column is of that kind."""

NAME, ADDRESS, DATES, PHONE = "name", "address", "date", "telephone number"
MAIL, OFFICIAL, RECORD, URL = "e-mail address", "social security number", "record number", "URL"
IP, TEXT, POSTCODE, AGE = "IP address", "free text", "postcode", "age over 89"
LETTERS = {
    NAME: "A",
    ADDRESS: "B",
    POSTCODE: "B",
    DATES: "C",
    AGE: "C",
    PHONE: "D, E",
    MAIL: "F",
    OFFICIAL: "G",
    RECORD: "H to M",
    URL: "N",
    IP: "O",
    TEXT: "R",
}
"""The kinds, each with the letters of the regulation's list."""

_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
EMBEDDED = {
    MAIL: re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    URL: re.compile(r"(?:https?://|www\.)[^\s,;]+", re.IGNORECASE),
    IP: re.compile(
        rf"(?<![\w.])(?:{_OCTET}\.){{3}}{_OCTET}(?![\w.])|(?<![\w:])(?:[0-9a-f]{{1,4}}:){{7}}[0-9a-f]{{1,4}}\b"
    ),
    OFFICIAL: re.compile(r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])"),
    PHONE: re.compile(r"(?<![\w.-])(?:\+\d{1,3}[ (.-]*\d[\d ().-]{6,}\d|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})(?![\w-])"),
}
"""Forms that tell a kind also inside a longer text."""
_STREETS = "street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|way|place|pl|square|terrace"
WHOLE = {
    DATES: DATE,
    ADDRESS: re.compile(
        rf"\d+[a-z]? (?:[\w.'-]+ ){{1,4}}(?:{_STREETS})\b.*|[\w.' -]+(?:stra(?:ss|ß)e|str\.|weg|platz|gasse) \d+.*"
        r"|(?:calle|rue|via|avenida) .+\d.*|p\.? ?o\.? box \d+.*",
        re.IGNORECASE,
    ),
    NAME: re.compile(
        r"(?:(?:mr|mrs|ms|dr|prof)\.? )?[A-ZÀ-Þ][\w'’-]+,? (?:[A-ZÀ-Þ][\w'’.-]* )?(?:(?:van|von|de|da|di|del|la) )*"
        r"[A-ZÀ-Þ][\w'’-]+"
    ),
}
"""Forms of a whole cell."""
BY_WORD = {
    NAME: word_set(
        "surname firstname lastname forename fullname familyname givenname nachname vorname apellido prenom"
    ),
    ADDRESS: word_set("address adresse direccion domicilio street strasse calle rue latitude longitude geohash"),
    POSTCODE: word_set("zip zipcode zcta postal postcode postalcode plz cp codigopostal"),
    DATES: word_set("date birthday birthdate dob dod datum fecha"),
    PHONE: word_set("phone telephone telefon telefono mobile cell fax telecom"),
    MAIL: word_set("email mail emailaddress"),
    OFFICIAL: word_set("ssn socialsecurity socialsecuritynumber"),
    RECORD: word_set("mrn passport iban account acct license licence vin plate imei serial policy certificate device"),
    URL: word_set("url website homepage web link"),
    IP: word_set("ip ipaddress ipv"),
    TEXT: TEXT_WORDS,
}
"""Words of names of columns."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A kind of identifier in a column."""

    column: str
    kind: str
    letters: str
    """Of the regulation's list."""
    by: str
    """``name``, ``content``, or both."""
    cells: int
    """Cells of its form; all cells with a value where only the name tells."""
    whole_column: bool
    """False if only some cells contain it."""


def safe_harbor(table: Any) -> dict[str, Any]:
    """Look for the identifiers of Safe Harbor in a table.

    Args:
        table: A pandas, polars or pyarrow table, a table that was read, or a path.

    Returns:
        Plain data without a cell: ``n_records``, ``columns`` (how many were looked at) and ``findings``.
    """
    opened = open_table(table)
    found = [one for name in opened.names for one in findings_of(opened.profile(name))]
    return {"n_records": opened.n_records, "columns": len(opened.names), "findings": [asdict(one) for one in found]}


def findings_of(column: ColumnProfile) -> list[Finding]:
    """The identifiers in one column, by its name and its values."""
    values, counts, total = column.values, column.counts.tolist(), column.n_present

    def cells(has: Callable[[str], object]) -> int:
        return sum(count for value, count in zip(values, counts, strict=True) if has(value.strip()))

    inside = {kind: n for kind, form in EMBEDDED.items() if (n := cells(form.search))}
    whole = {kind: n for kind, form in WHOLE.items() if (n := cells(form.fullmatch)) >= MOST * max(total, 1)}
    of_content = inside | whole
    if NAME in of_content and column.distinct_share < 1 / 3 and len(values) > 1:
        del of_content[NAME]  # categories of two words repeat
    if is_free_text(column):
        of_content[TEXT] = total
    elif are_references(column) and not of_content:
        of_content[RECORD] = total
    if AGE_WORDS & set(column.terms) and (old := cells(_is_above_89)):
        of_content[AGE] = old
    of_name = _by_name(column)
    if of_name is not None and values and not _is_plausible(of_name, column):
        of_name = None
    kinds = dict.fromkeys([*([of_name] if of_name else []), *of_content])
    return [_finding(column.name, kind, of_name, of_content, total) for kind in kinds]


def _finding(name: str, kind: str, of_name: str | None, of_content: dict[str, int], total: int) -> Finding:
    by = " and ".join(which for which, has in (("name", kind == of_name), ("content", kind in of_content)) if has)
    n = of_content.get(kind, total)
    return Finding(name, kind, LETTERS[kind], by, n, kind == of_name or n >= MOST * max(total, 1))


NUMBERS = frozenset(("id", "no", "nr", "nbr", "number", "key", "uuid", "guid"))
AGE_WORDS = frozenset(("age", "ages", "alter", "edad"))
_NUMBER = re.compile(r"\d{1,3}(?:\.0+)?")


def _is_above_89(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None and 89 < float(value) < 130


def _by_name(column: ColumnProfile) -> str | None:
    """The kind that the words of a name tell; a part of an address that many people share tells none."""
    terms = set(column.terms)
    for kind, words in BY_WORD.items():
        if terms & words and not (kind == ADDRESS and terms & COARSE_PLACES):
            return kind
    if "name" in terms and terms & (PERSON_WORDS | NAME_WORDS):
        return NAME
    return RECORD if terms & PERSON_NUMBERS or _numbers_something(column) else None


def _numbers_something(column: ColumnProfile) -> bool:
    """Whether the name says that a person or a record has a number, as in ``patient_id``."""
    words = column.words
    return bool(words) and words[-1] in NUMBERS and column.distinct_share > 1 / 3


def _is_plausible(kind: str, column: ColumnProfile) -> bool:
    """Whether values may be of the kind that the name tells: a few categories are none of these."""
    return kind in {POSTCODE, DATES, TEXT} or column.distinct_share > 0.1 or len(column.values) > 50
