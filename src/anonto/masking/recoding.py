"""Recoding of a table before it is masked: the columns whose plan says `recode`, and what their values become.

An engine counts these columns, `fit_recoding` recodes their distinct values, and the engine then reads the table with
the new cells: all else works on this table, with the plan that `Recoding.plan` is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.encoding.columns import MISSING
from anonto.encoding.dictionary_encoder import DictionaryEncoder
from anonto.encoding.frame_adapter import gather_values, longer_polars
from anonto.encoding.prepare import apply_missing_policy
from anonto.encoding.recoded_values import recode_values, require_texts
from anonto.masking.fitted import changed_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.arrays import Codes
    from anonto.encoding.description import ColumnDescription
    from anonto.encoding.dictionary_encoder import ValueDictionary
    from anonto.encoding.prepare import Opener
    from anonto.encoding.recoded_values import RecodedValues
    from anonto.masking.plan import Plan
    from anonto.masking.release import Release

MANY_ROWS = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class RecodedColumn:
    """A column whose cells become others."""

    name: str
    given: ColumnDescription
    """What the plan says of it."""
    counted: ValueDictionary
    """Its distinct cells, without counts."""
    recoded: RecodedValues
    places: Codes
    """The new cell of each raw code, and last of a null; −1 for a cell that stays."""

    @classmethod
    def of(cls, given: ColumnDescription, counted: ValueDictionary, recoded: RecodedValues) -> RecodedColumn:
        """A column of a table, and what its values become."""
        places = np.append(np.full(len(counted.texts), MISSING, dtype=np.int32), np.int32(MISSING))
        places[counted.raw_of(recoded.values)] = recoded.places
        return cls(counted.name, given, counted.bare(), recoded, places)

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

    def cells(self, name: str, cells: pl.Series) -> pl.Series:
        """The recoded cells of a column; an unknown cell means that the table changed."""
        column = self._columns[name]
        raw = self._encoders[name].encode(cells)
        if raw.max(initial=MISSING) >= len(column.counted.cells):
            raise changed_table()
        return gather_values(column.palette, column.in_palette[raw]).alias(name)


@dataclass(frozen=True, eq=False, repr=False)
class Recoding:
    """The recoded columns of a table."""

    given: Plan
    columns: Mapping[str, RecodedColumn]

    @property
    def plan(self) -> Plan:
        """The plan of the recoded table."""
        after = {name: one.recoded.description for name, one in self.columns.items()}
        return replace(self.given, columns=MappingProxyType({**self.given.columns, **after}), made_from=self.given)

    @property
    def evidence(self) -> dict[str, Any]:
        """What became of the cells of each column."""
        return {
            name: {"how": "" if one.given.recode is None else one.given.recode.words, **one.recoded.evidence}
            for name, one in self.columns.items()
        }

    def complete(self, release: Release) -> Release:
        """A release of the recoded table, with the evidence of the recoding."""
        evidence = release.evidence
        evidence["released_as_is"] = [name for name in evidence["released_as_is"] if name not in self.columns]
        evidence["recoded"] = self.evidence
        return release


def fit_recoding(counted: Mapping[str, ValueDictionary], plan: Plan, open_once: Opener) -> Recoding:
    """Recode the distinct values of the columns whose plan says so."""
    columns = {}
    for name, one in counted.items():
        description = plan.description(name)
        if description.recode is not None:
            is_text = one.cells.dtype == pl.String or isinstance(one.cells.dtype, pl.Categorical | pl.Enum)
            require_texts(name, is_text=is_text, recode=description.recode)
        values = apply_missing_policy(name, one.column(), replace(description, missing="keep"))
        columns[name] = RecodedColumn.of(
            description, one, recode_values(name, values, description, open_once, plan.folder)
        )
    return Recoding(plan, columns)
