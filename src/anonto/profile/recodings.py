"""Recodings to propose, with the reasons: dates are cut or shifted, ages end at 90, postcodes keep three characters.

What is proposed follows HIPAA Safe Harbor where it says how: 45 CFR 164.514(b)(2)(i)(B) and (C).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from anonto.encoding.description import NEVER_MASKED
from anonto.encoding.recode import Recode
from anonto.io.notation import numbers_of
from anonto.profile.column_profile import word_set
from anonto.profile.numbering import clue_in_name
from anonto.profile.safe_harbor import BY_WORD, POSTCODE
from anonto.profile.shapes import NEARLY_UNIQUE, are_postcodes
from anonto.profile.vocabulary import QUASI_WORDS
from anonto.wording import clip, count_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.encoding.description import ColumnDescription
    from anonto.profile.column_profile import ColumnProfile, OpenTable
    from anonto.profile.guess import Guess
    from anonto.profile.persons import PersonColumn

OLDEST = 90
"""The age that all older ones become."""
NOBODY_IS_OLDER = 130
"""Larger numbers are no ages in years."""
DAYS = 180
"""The most days that dates of a person are shifted by."""
FIRST_SIGNS = 3
"""The signs of a postcode that stay."""
PEOPLE_OF_AN_AREA = 20_000
AGE = "age"
OTHER_UNITS = word_set("month months mon mo week weeks day days hour hours monate wochen tage meses semanas dias mois")
IN_MONTHS = frozenset(("ridagemn",))
BIRTH = word_set("birth birthday birthdate born dob naissance nacimiento geburt geburtsdatum geburtstag nascimento")
BIRTH_BEGINNINGS = ("birth", "geburt")


@dataclass(frozen=True, slots=True)
class Looked:
    """What is known of a table when recodings are proposed."""

    table: OpenTable
    present: Mapping[str, ColumnProfile]
    """The columns without their missing texts."""
    guesses: Mapping[str, Guess]
    person: PersonColumn | None

    def recoded(self, name: str, description: ColumnDescription) -> tuple[ColumnDescription, tuple[str, ...]]:
        """The description of a column with the recoding that is proposed for it, and the reason, if there is one."""
        column = self.present[name]
        if description.role in NEVER_MASKED:
            return description, ()
        found: tuple[Recode | None, str] | None = None
        if description.kind == "date" and self.guesses[name].has_calendar:
            found = self._of_dates(column)
        elif description.kind == "numeric" and _is_age(column):
            found = _of_ages(column)
        elif not description.ontologies and _is_postcode(column):
            found = self._of_postcodes(column, description.kind)
        if found is None:
            return description, ()
        recode, reason = found
        return replace(description, recode=recode), (f"recode: {reason}",)

    def _of_dates(self, column: ColumnProfile) -> tuple[Recode, str]:
        """Dates of birth become years; others are shifted where it is known whose they are, else cut to months."""
        if not BIRTH.isdisjoint(column.terms) or any(one.startswith(BIRTH_BEGINNINGS) for one in column.terms):
            return Recode(to="year"), "of a date of birth only the year stays, as HIPAA Safe Harbor demands"
        if self.person is None:
            return Recode(to="month"), "only month and year stay; HIPAA Safe Harbor demands to = 'year'"
        whose = repr(clip(self.person.name))
        if self.person.n_rows < self.table.n_records:
            reason = f"only month and year stay; rows without {whose} prevent a shift by person"
            return Recode(to="month"), reason
        reason = (
            f"all dates with the same {whose} are shifted by the same secret number of days, so the days between them "
            "stay before a step masks them; HIPAA Safe Harbor demands to = 'year' instead"
        )
        return Recode(shift="person", days=DAYS, person=self.person.name), reason

    def _of_postcodes(self, column: ColumnProfile, kind: str) -> tuple[Recode | None, str] | None:
        """Texts of the form of postcodes are cut; numbers have lost their zeros and are not."""
        dtype = self.table.series(column.name).dtype
        if dtype != pl.String and not isinstance(dtype, pl.Categorical | pl.Enum):
            return None, "none is proposed, because postcodes stored as numbers have lost leading zeros: store texts"
        if kind != "nominal" or not are_postcodes(column):
            return None
        reason = (
            f"the first {FIRST_SIGNS} characters stay; with population = 'a CSV file of codes and people' and "
            f"at_least = {PEOPLE_OF_AN_AREA} smaller areas become '000', as HIPAA Safe Harbor demands"
        )
        return Recode(prefix=FIRST_SIGNS), reason


# ------------------------------------------------------------------------------------------------ ages and postcodes


def _is_age(column: ColumnProfile) -> bool:
    """Return whether the name tells an age in years."""
    terms = set(column.terms)
    is_named_so = any(QUASI_WORDS.get(term) == AGE for term in terms)
    return is_named_so and terms.isdisjoint(OTHER_UNITS | IN_MONTHS)


def _of_ages(column: ColumnProfile) -> tuple[Recode, str] | None:
    """Ages above 89 share one value; also where nobody is so old yet."""
    ages = numbers_of(column.values)
    if ages.size and float(ages.max()) > NOBODY_IS_OLDER:
        return None
    n_old = int(column.counts[ages >= OLDEST].sum())
    now = (
        f"{count_of(n_old, 'cell')} {'is' if n_old == 1 else 'are'} {OLDEST} or more" if n_old else "none is so old now"
    )
    return Recode(top=OLDEST), f"ages above {OLDEST} become {OLDEST}, as HIPAA Safe Harbor demands; {now}"


def _is_postcode(column: ColumnProfile) -> bool:
    return not BY_WORD[POSTCODE].isdisjoint(column.terms)


# ------------------------------------------------------------------------------------------------ numbers that link


def links(present: Mapping[str, ColumnProfile], dropped: Mapping[str, str], person: str | None) -> dict[str, str]:
    """For each dropped number that links rows, what could be released instead.

    Args:
        present: The columns without their missing texts.
        dropped: The role of each column that is dropped.
        person: The column that seems to number persons, for which the section about the table is.
    """
    numbers = {
        name: present[name]
        for name, role in dropped.items()
        if role == "identifier" and name != person and (clue := clue_in_name(present[name])) is not None and clue.whose
    }
    found: dict[str, str] = {}
    for name, column in numbers.items():
        others = [other for other, one in numbers.items() if other != name and _is_within(column, one)]
        repeats = 1 < len(column.values) < column.n_present
        if not repeats and not others:
            continue
        where = f"repeat in {count_of(column.n_present, 'cell')}" if repeats else f"occur in {clip(others[0])!r}, too"
        found[name] = (
            f"its {count_of(len(column.values), 'value')} {where}: to keep rows linked by it, role = 'pseudonym' "
            "releases a pseudonym for each, which then shows which rows belong together"
        )
    return found


def _is_within(column: ColumnProfile, other: ColumnProfile) -> bool:
    """Whether almost all values of a column are values of another one."""
    if not column.values or len(other.values) < NEARLY_UNIQUE * len(column.values):
        return False
    known = set(other.values)
    return sum(value in known for value in column.values) >= NEARLY_UNIQUE * len(column.values)
