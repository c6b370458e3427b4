"""A column that seems to number persons with several rows: a plan protects rows until it names that column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import encode
from anonto.io.toml import as_pair
from anonto.profile.column_profile import ColumnProfile
from anonto.profile.numbering import A_HOUSEHOLD, A_PERSON, ANYBODY, clue_in_name
from anonto.profile.vocabulary import OTHER_PERSONS, PERSON_IN_HOUSEHOLD
from anonto.wording import clip, count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from anonto.encoding.columns import Column
    from anonto.profile.column_profile import OpenTable


@dataclass(frozen=True, slots=True)
class PersonColumn:
    """A column that may say whose rows these are."""

    name: str
    n_persons: int
    """Its distinct values."""
    n_rows: int
    """The rows that have one."""
    varying: tuple[str, ...]
    """The columns that differ between rows with the same value."""

    @property
    def sentence(self) -> str:
        """The observation, and what to do about it."""
        sets = ""
        if self.varying:
            verb = "differs" if len(self.varying) == 1 else "differ"
            names = list_names([repr(clip(name)) for name in self.varying])
            sets = f'; {names} {verb} between rows of one value and must then be sets (kind = "set"), or dropped'
        return (
            f"{clip(self.name)!r} seems to number persons, {count_of(self.n_persons, 'value')} in "
            f"{count_of(self.n_rows, 'row')}: rows are protected, not persons, unless the section [table] of the plan "
            f"names it as person{sets}."
        )

    @property
    def proposed(self) -> str:
        """The line of a plan that makes each person one record."""
        return as_pair("person", self.name)

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain data."""
        return {"column": self.name, "persons": self.n_persons, "rows": self.n_rows, "varying": list(self.varying)}


def notice_persons(table: OpenTable, identifiers: Collection[str]) -> PersonColumn | None:
    """The column of a table that seems to number persons with several rows each; None if there is none.

    Args:
        table: The table.
        identifiers: Columns that are dropped, which may differ between the rows of a person.
    """
    clues = {name: _whose(name) for name in table.names}
    households = [encode(table.series(name)) for name, whose in clues.items() if whose == A_HOUSEHOLD]
    found: dict[str, Column] = {}
    for name in (name for name, whose in clues.items() if whose in {A_PERSON, ANYBODY}):
        column = encode(table.series(name))
        repeats = 1 < len(column.values) < len(column) - column.n_missing
        if repeats and not any(_is_within(column, household) for household in households):
            found[name] = column
    if not found:
        return None
    name = max(found, key=lambda one: (*_preference(one, clues), len(found[one].values)))
    column = found[name]
    others = [other for other in table.names if other != name and other not in identifiers]
    varying = tuple(other for other in others if _varies(encode(table.series(other)), column))
    return PersonColumn(name, len(column.values), len(column) - column.n_missing, varying)


def _whose(name: str) -> str:
    """Whose number a column may be, judged by its name alone; empty for other columns."""
    bare = ColumnProfile(name, (), np.zeros(0, dtype=np.int64), 0)
    clue = None if not PERSON_IN_HOUSEHOLD.isdisjoint(bare.terms) else clue_in_name(bare)
    return "" if clue is None else clue.whose


def _preference(name: str, clues: Mapping[str, str]) -> tuple[bool, bool]:
    """Patients before those who treat them, and both before numbers of something that the name does not say."""
    words = ColumnProfile(name, (), np.zeros(0, dtype=np.int64), 0).words
    return clues[name] == A_PERSON, OTHER_PERSONS.isdisjoint(words)


def _is_within(person: Column, household: Column) -> bool:
    """Whether the same number occurs in several households, so that it does not tell persons apart."""
    return len(household.values) > 1 and _varies(household, person)


def _varies(column: Column, person: Column) -> bool:
    """Whether a column has different cells in rows of one person."""
    known = person.codes >= 0
    persons, codes = person.codes[known], column.codes[known]
    first = np.empty(len(person.values), dtype=codes.dtype)
    first[persons] = codes
    return bool((first[persons] != codes).any())
