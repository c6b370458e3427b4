"""The first row of a table without types: does it hold names of columns, or is it a record?

A record in the first row would be lost, and messages would show its cells as names. A cell counts as a value if it is a
number among numbers of its size, a date among dates, a code of its column's form, a text that its column repeats, or a
sentence among sentences that is not a question. A text above numbers, dates or codes counts as a name, and so do years
and consecutive numbers. Words and names of persons that occur once cannot be distinguished from names of columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import ParameterError, UnclearHeaderError
from anonto.io.cell_texts import MISSING_SIGNS, is_date, says_unknown
from anonto.io.notation import numbers_of
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import polars as pl

    from anonto.arrays import Floats

CONFIRMED = "names"
"""The value of the plan's key `header` for a first row of names that looks like a record."""
RECORDS_LOOKED_AT = 1_000
CELLS_LOOKED_AT = 200_000
FEWEST_RECORDS = 50
ALMOST_ALL = 0.95
COMMON_FORM = 0.2
SHORTEST_CODE = 3
SHORTEST_SENTENCE = 5
"""In words."""
MOST = 0.8
SOME_SORTED = 4
SOME_YEARS = 3
YEARS = (1900, 2100)

_COUNTED = re.compile(r"([^\W\d]+)(\d{1,9})")
_ASKING = ("?", ":")
"""How the question of a survey ends."""
_CAPITAL, _SMALL, _DIGIT = re.compile(r"[^\W\d_a-z]"), re.compile(r"[a-z]"), re.compile(r"\d")


def refuse_record_as_header(
    header: Sequence[str | None],
    records: pl.DataFrame,
    file_name: str,
    *,
    confirmed: str | None = None,
    names: Collection[str] = (),
) -> None:
    """Refuse a table whose first row is a record rather than the names of its columns.

    Args:
        header: The cells of the first row.
        records: The rows below it, or the first of them, as text.
        file_name: The table's file.
        confirmed: ``"names"`` if the user confirmed that the first row holds names.
        names: Known names of columns; a first row with one of them holds names.
    """
    require_known_header(confirmed)
    if confirmed is not None or not set(names).isdisjoint(header):
        return
    n_columns = len(header)
    n_records = min(RECORDS_LOOKED_AT, max(FEWEST_RECORDS, CELLS_LOOKED_AT // max(n_columns, 1)))
    sample = records.head(n_records)
    columns = [_HeaderCell.of(name, cells) for name, cells in zip(header, sample.iter_columns(), strict=True)]
    _take_numbers_for_names(columns)
    _take_counted_codes_for_names(columns)
    found = [one.evidence() for one in columns]
    values = found.count(VALUE) + found.count(PERHAPS_VALUE)
    are_enough = 4 * values >= n_columns if VALUE in found else 2 * values > n_columns
    if are_enough and values >= 4 * found.count(NAME):
        raise record_as_header(file_name, values, n_columns)


def require_known_header(asked: str | None) -> None:
    """Refuse anything else than ``"names"``."""
    if asked not in {None, CONFIRMED}:
        raise ParameterError("header of the table", f"{CONFIRMED!r} or left out", "something else")


VALUE, PERHAPS_VALUE, NAME, UNKNOWN = "value", "perhaps a value", "name", "unknown"


@dataclass(slots=True)
class _HeaderCell:
    """A cell of the first row with the cells below it."""

    name: str
    values: list[str]
    """The distinct values below it that are not missing."""
    number: float
    """The cell of the first row as a number, or NaN."""
    numbers: Floats
    is_name: bool = False

    @classmethod
    def of(cls, name: str | None, cells: pl.Series) -> _HeaderCell:
        name = (name or "").strip()
        texts = (text.strip() for text in cells.drop_nulls().unique(maintain_order=True))
        values = [text for text in dict.fromkeys(texts) if not _is_missing(text)]
        read = numbers_of([name, *values])
        return cls(name, values, float(read[0]), read[1:])

    @property
    def is_numeric(self) -> bool:
        return bool(self.values) and float(np.isfinite(self.numbers).mean()) >= ALMOST_ALL

    @property
    def is_year_alone(self) -> bool:
        """True if the name is a year and some value below it is not."""
        below = self.numbers[np.isfinite(self.numbers)]
        return _is_year(self.number) and not (below.size and all(map(_is_year, below.tolist())))

    def evidence(self) -> str:
        if _is_missing(self.name) or self.is_name:
            return UNKNOWN
        if np.isfinite(self.number):
            return self._of_a_number()
        if is_date(self.name):
            return self._of_a_date()
        return self._of_a_text()

    def _of_a_number(self) -> str:
        if self.is_year_alone:
            return UNKNOWN
        if not self.values or self.name in self.values:
            return VALUE
        if not self.is_numeric:
            return UNKNOWN
        below = self.numbers[np.isfinite(self.numbers)]
        width = below.max() - below.min()
        return VALUE if below.min() - width <= self.number <= below.max() + width else UNKNOWN

    def _of_a_date(self) -> str:
        if not self.values or _share(self.values, is_date) >= ALMOST_ALL:
            return VALUE
        return NAME if self.is_numeric else UNKNOWN

    def _of_a_text(self) -> str:
        if self.is_numeric or (self.values and _share(self.values, is_date) >= ALMOST_ALL):
            return NAME
        is_code = _has_digit(self.name) and len(self.name) >= SHORTEST_CODE
        if self.values == [self.name]:
            return UNKNOWN  # a ticked box, as surveys export it
        if self.name in self.values or self._is_sentence_among_such():
            return VALUE if is_code and self.name in self.values else PERHAPS_VALUE
        form = _form(self.name)
        if is_code and self.values and _share(self.values, lambda value: _form(value) == form) >= COMMON_FORM:
            return VALUE
        if self.values and not _has_digit(self.name) and _share(self.values, _has_digit) >= ALMOST_ALL:
            return NAME
        return UNKNOWN

    def _is_sentence_among_such(self) -> bool:
        is_statement = _is_sentence(self.name) and not self.name.endswith(_ASKING)
        return is_statement and _share(self.values, _is_sentence) >= MOST


def _take_numbers_for_names(columns: Sequence[_HeaderCell]) -> None:
    """Mark numbers that name columns: 0 or 1, 2, 3, …; years in order; or numbers in order that no value equals."""
    named = [one for one in columns if np.isfinite(one.number)]
    steps = {after.number - before.number for before, after in pairwise(named)}
    is_counted = steps == {1.0} and named[0].number in {0.0, 1.0}
    is_sorted = bool(steps) and (min(steps) > 0 or max(steps) < 0)
    are_years = len(named) >= SOME_YEARS and all(_is_year(one.number) for one in named)
    are_apart = len(named) >= SOME_SORTED and not any(one.number in one.numbers for one in named)
    if is_counted or (is_sorted and (are_years or are_apart)):
        for one in named:
            one.is_name = True


def _take_counted_codes_for_names(columns: Sequence[_HeaderCell]) -> None:
    """Mark codes that number columns: ``Q10``, ``Q11``, or the wells ``A01``, ``A02`` of a plate."""
    series: dict[str, list[tuple[int, _HeaderCell]]] = {}
    for one in columns:
        if found := _COUNTED.fullmatch(one.name):
            series.setdefault(found[1], []).append((int(found[2]), one))
    for counted in series.values():
        if len(counted) > 1 and all(before < after for (before, _), (after, _) in pairwise(counted)):
            for _, one in counted:
                one.is_name = True


def _is_year(number: float) -> bool:
    return YEARS[0] <= number <= YEARS[1] and number.is_integer()


def _is_missing(text: str) -> bool:
    return not text or text.casefold() in MISSING_SIGNS or says_unknown(text)


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


def _is_sentence(text: str) -> bool:
    return len(text.split()) >= SHORTEST_SENTENCE


def _form(text: str) -> str:
    """A text with one sign for each kind of character: ``E11.9`` is ``A99.9``."""
    return _DIGIT.sub("9", _SMALL.sub("a", _CAPITAL.sub("A", text)))


def _share(values: Sequence[str], holds: Callable[[str], bool]) -> float:
    return sum(map(holds, values)) / max(len(values), 1)


def record_as_header(name: str, n_values: int, n_columns: int) -> UnclearHeaderError:
    """A table whose first row looks like a record."""
    found = count_of(n_values, "cell looks like a value", "cells look like values")
    return UnclearHeaderError(
        f"The first row of {name!r} seems to be a record, not the names of its columns: {found} "
        f"(of {count_of(n_columns, 'column')}); put a row of names above it or, if these are the names, say so with "
        "`anonto init --header` or header = 'names' in the section [table] of the plan."
    )
