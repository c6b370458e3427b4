"""Recoding of a table before it is masked: the columns whose plan says `recode`, and what their values become.

An engine counts these columns, `fit_recoding` recodes their distinct values, and the engine then reads the table with
the new cells: all else works on this table, with the plan that `Recoding.plan` is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.encoding.columns import MISSING, encode
from anonto.encoding.dictionary_encoder import DictionaryEncoder
from anonto.encoding.frame_adapter import gather_values, longer_polars
from anonto.encoding.new_cells import NewCells, range_of
from anonto.encoding.prepare import apply_missing_policy
from anonto.encoding.pseudonyms import pseudonyms_of, read_or_make_key
from anonto.encoding.recoded_dates import DateShift, ShiftedDates
from anonto.encoding.recoded_values import RecodedValues, recode_values, require_texts
from anonto.encoding.refusals import beyond_calendar, persons_without_key
from anonto.errors import InternalError
from anonto.io.date_notation import DAY
from anonto.masking.fitted import changed_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from anonto.arrays import Codes, Longs
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.encoding.prepare import Opener
    from anonto.masking.plan import Plan
    from anonto.masking.release import Release
    from anonto.random.streams import Seed

MANY_ROWS = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class RecodedColumn:
    """A column whose cells become others."""

    name: str
    given: ColumnDescription
    """Its description in the plan."""
    counted: ValueDictionary
    """Its distinct cells, without counts."""
    recoded: RecodedValues
    places: Codes
    """The new cell of each raw code, and last of a null; −1 for a cell that stays."""
    shifted: ShiftedDates | None = None
    """Dates that are shifted row by row; None for cells that only depend on their value."""
    shift: DateShift | None = None
    """How far; None where nothing is to be shifted, because an intruder does not know it."""
    person: str | None = None
    """The column that says whose dates these are, where the shift is of a person."""
    repeats: bool = False
    """True for pseudonyms of which one stands in several rows."""

    @classmethod
    def of(
        cls, given: ColumnDescription, counted: ValueDictionary, recoded: RecodedValues, **of_rows: Any
    ) -> RecodedColumn:
        """A column of a table, and what its values become."""
        if recoded.dates is not None:
            raw, (notation, moments) = counted.raw_of(recoded.values), recoded.dates
            of_codes, is_date = (np.zeros(len(counted.texts) + 1, dtype=np.int64) for _ in range(2))
            of_codes[raw], is_date[raw] = moments, 1
            of_rows["shifted"] = ShiftedDates(notation, of_codes, is_date.astype(np.int32))
        places = np.append(np.full(len(counted.texts), MISSING, dtype=np.int32), np.int32(MISSING))
        places[counted.raw_of(recoded.values)] = recoded.places
        return cls(counted.name, given, counted.bare(), recoded, places, **of_rows)

    @cached_property
    def palette(self) -> pl.Series:
        """The cells of the table and the new ones."""
        return longer_polars(self.counted.cells, self.recoded.cells) if len(self.recoded.cells) else self.counted.cells

    @cached_property
    def in_palette(self) -> Codes:
        """The released cell of each raw code, and last of a null."""
        n_raw = len(self.counted.cells)
        own = np.append(np.arange(n_raw, dtype=np.int32), np.int32(MISSING))
        return np.where(self.places >= 0, np.int32(n_raw) + self.places, own)

    def shift_rows(self, raw: Codes, persons: pl.Series | None, rows: Longs) -> tuple[NewCells, Codes]:
        """The new dates of some rows, and for each row which of them it gets; −1 for a cell that stays.

        Args:
            raw: The raw codes of the rows.
            persons: Whose they are; None where the shift is of a record.
            rows: Their numbers in the table.
        """
        if self.shifted is None or self.shift is None:
            raise InternalError("A column without a shift was shifted.")
        if persons is None:
            return self.shifted.shift(raw, self.shift.of_rows(rows))
        keys = encode(persons)
        nobody = int(np.count_nonzero((keys.codes < 0) & (self.shifted.is_date[raw] == 1)))
        if nobody:
            raise persons_without_key(self.name, str(self.person), nobody)
        days = np.append(self.shift.of_persons(keys.values), 0)
        return self.shifted.shift(raw, days[keys.codes])

    @property
    def words(self) -> str:
        """What is done to the cells, in plain words."""
        if self.given.recode is not None:
            return self.given.recode.words
        how = "random in every release" if self.given.key_file is None else "the same in all releases with this key"
        return f"each value is replaced by a pseudonym, {how}"

    def slim(self) -> RecodedColumn:
        """The column without ontologies, which no row needs."""
        after = replace(self.recoded.description, ontology=None)
        return replace(self, given=after, recoded=replace(self.recoded, description=after))


class CellRecoder:
    """Recodes batches of a table, one after the other."""

    def __init__(self, columns: Mapping[str, RecodedColumn]) -> None:
        self._columns = columns
        self._encoders = {
            name: DictionaryEncoder(name, one.counted.cells.dtype, MANY_ROWS, one.counted)
            for name, one in columns.items()
        }

    def cells(self, name: str, cells: pl.Series, persons: pl.Series | None, rows: Longs) -> pl.Series:
        """The recoded cells of a column; an unknown cell means that the table changed.

        Args:
            name: The column.
            cells: Of some rows.
            persons: The cells of the column that says whose dates these are, where the column needs it.
            rows: The numbers of the rows in the table.
        """
        column = self._columns[name]
        raw = self._encoders[name].encode(cells)
        if raw.max(initial=MISSING) >= len(column.counted.cells):
            raise changed_table()
        if column.shift is None:
            return gather_values(column.palette, column.in_palette[raw]).alias(name)
        new, places = column.shift_rows(raw, persons, rows)
        n_raw = len(column.palette)
        palette = longer_polars(column.palette, new) if len(new) else column.palette
        return gather_values(palette, np.where(places >= 0, np.int32(n_raw) + places, raw)).alias(name)


@dataclass(frozen=True, eq=False, repr=False)
class Recoding:
    """The recoded columns of a table."""

    given: Plan
    columns: Mapping[str, RecodedColumn]

    @property
    def plan(self) -> Plan:
        """The plan of the recoded table."""
        after = {name: one.recoded.description for name, one in self.columns.items()}
        columns = MappingProxyType({**self.given.columns, **after})
        return replace(self.given, columns=columns, made_from=self.given, shifted=self.shifted, linked=self.linked)

    @property
    def evidence(self) -> dict[str, Any]:
        """How the cells of each column were recoded."""
        return {name: {"how": one.words, **one.recoded.evidence} for name, one in self.columns.items()}

    @property
    def linked(self) -> tuple[str, ...]:
        """Columns that say which rows are of one person: pseudonyms that repeat, and whose dates are shifted."""
        repeating = [name for name, one in self.columns.items() if one.repeats]
        recodes = (one.recode for one in self.given.columns.values() if one.recode is not None)
        persons = [one.person for one in recodes if one.shift == "person" and one.person is not None]
        return tuple(dict.fromkeys([*repeating, *persons]))

    @property
    def shifted(self) -> tuple[str, ...]:
        """The columns whose dates are shifted by a secret number of days."""
        return tuple(name for name, one in self.columns.items() if one.shifted is not None)

    def complete(self, release: Release) -> Release:
        """A release of the recoded table, with the evidence of the recoding."""
        evidence = release.evidence
        evidence["released_as_is"] = [name for name in evidence["released_as_is"] if name not in self.columns]
        evidence["recoded"] = self.evidence
        return release


def _pseudonyms(counted: ValueDictionary, plan: Plan, seed: Seed | None) -> RecodedColumn:
    """A column whose values are replaced by pseudonyms; without the seed it is left out, like an identifier."""
    name, given = counted.name, plan.description(counted.name)
    column = apply_missing_policy(name, counted.column(), replace(given, missing="keep"))
    n_values = len(column.values) if seed is not None else 0
    texts: tuple[str, ...] = ()
    if seed is not None:
        key = seed.key("pseudonyms of a release")
        if given.key_file is not None:
            key = read_or_make_key(plan.folder / given.key_file if plan.folder is not None else Path(given.key_file))
        texts = pseudonyms_of(name, column.values, key)
    # Nobody knows a pseudonym beforehand, so it is like a confidential column for what a step promises.
    after = replace(given, role="confidential" if seed is not None else "identifier", key_file=None)
    recoded = RecodedValues(
        column.values[:n_values],
        column.counts[:n_values],
        NewCells(texts=texts),
        np.arange(n_values, dtype=np.int32),
        np.ones(n_values, dtype=np.bool_),
        np.ones(n_values),
        after,
    )
    return RecodedColumn.of(given, counted, recoded, repeats=bool((column.counts > 1).any()))


def _require_room(name: str, counted: ValueDictionary, recoded: RecodedValues, days: int) -> None:
    """Refuse dates so near to an end of the calendar that a shift would be cut off there, and so be known."""
    if recoded.dates is None:
        return
    low, high = range_of(counted.cells.dtype)
    moments = recoded.dates[1]
    out = int(np.count_nonzero((moments < low + days * DAY) | (moments > high - days * DAY)))
    if out:
        raise beyond_calendar(name, out, days)


def fit_recoding(
    counted: Mapping[str, ValueDictionary],
    plan: Plan,
    open_once: Opener,
    seed: Seed | None,
    to_shift: Collection[str] | None = None,
) -> Recoding:
    """Recode the distinct values of the columns whose plan says so.

    Args:
        counted: These columns.
        plan: The plan.
        open_once: Opens ontologies.
        seed: Without it, no date is shifted.
        to_shift: The columns whose dates are shifted, where an original is only compared and gets no pseudonyms; None
            for all that the plan shifts.
    """
    columns = {}
    for name, one in counted.items():
        description = plan.description(name)
        if plan.has_pseudonyms(name):
            columns[name] = _pseudonyms(one, plan, seed if to_shift is None else None)
            continue
        if description.recode is not None:
            is_text = one.cells.dtype == pl.String or isinstance(one.cells.dtype, pl.Categorical | pl.Enum)
            require_texts(name, is_text=is_text, recode=description.recode)
        values = apply_missing_policy(name, one.column(), replace(description, missing="keep"))
        recoded = recode_values(name, values, description, open_once, plan.folder)
        of_rows: dict[str, Any] = {}
        is_shifted = recoded.dates is not None and (to_shift is None or name in to_shift)
        if is_shifted and description.recode is not None and seed is not None:
            _require_room(name, one, recoded, description.recode.days or 0)
            of_rows["shift"] = DateShift.of(seed.key("shift of dates"), description.recode)
            of_rows["person"] = plan.person_of_dates(name)
        columns[name] = RecodedColumn.of(description, one, recoded, **of_rows)
    return Recoding(plan, columns)
