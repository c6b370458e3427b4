"""A table whose records are persons, or have sets: records are made from its rows, masked, and made rows again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.frame_adapter import FrameAdapter
from anonto.io.reading import read_table
from anonto.io.stat_files import released_origin
from anonto.io.table import Table
from anonto.io.writing import write_to
from anonto.masking.masked_records import MaskedRecords
from anonto.masking.units import Units
from anonto.random.streams import Seed, row_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.arrays import Longs
    from anonto.io.table import Origin
    from anonto.masking.plan import Plan
    from anonto.masking.protocol import MaskedRows
    from anonto.random.streams import RowOrder


FOR_LOOKING = Seed(1 << 127)
"""Draws the rows of a person where nothing is released."""


def units_of(table: Any, plan: Plan, seed: Seed) -> Units:
    """The records of a table, or of a file, as a plan says whose rows these are; the seed draws those that are used."""
    units = Units(adapter_of(table, plan), plan)
    return units if plan.at_most is None else units.with_at_most(plan.at_most, seed)


def adapter_of(table: Any, plan: Plan) -> FrameAdapter:
    """A table, or a file that is read as a plan says."""
    if isinstance(table, FrameAdapter):
        return table
    if not isinstance(table, str | os.PathLike):
        return FrameAdapter(table)
    read = read_table(table, **plan.reading)
    return FrameAdapter(read.frame, origin=read.origin)


@dataclass(frozen=True, eq=False, repr=False)
class MaskedUnits(MaskedRecords):
    """Masked records that are released as rows."""

    units: Units
    masked: MaskedRows
    """Its records."""
    seed: Seed

    @property
    def kept(self) -> Longs | None:
        """The rows of the input whose record was not dropped; None for all."""
        kept = self.masked.kept
        return None if kept is None else self.units.rows_of(kept)

    @property
    def origin(self) -> Origin | None:
        """The masked file, if the input was one."""
        return self.units.rows.origin

    @cached_property
    def n_rows(self) -> int:
        """The number of released rows."""
        plan = self.units.plan
        return self._rows(plan.identifiers(self.units.records.columns), plan.scales).height

    def records(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> pl.DataFrame:
        """The masked records in their order."""
        frame: pl.DataFrame = self.masked.table(dropped, scales)
        return frame

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """The masked rows, of the kind that was given (polars for a file): record by record."""
        rows = self._rows(dropped, scales)
        library = self.units.rows.library
        return rows if library == "polars" else rows.to_pandas() if library == "pandas" else rows.to_arrow()

    def _rows(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> pl.DataFrame:
        records, pseudonyms = self.records(dropped, scales), None
        if self.units.given.pseudonym is not None:
            pseudonyms = 1 + row_order(self.seed, "pseudonyms", records.height).part(0, records.height)
        return self.units.row_maker.to_rows(records, pseudonyms)

    def write(
        self,
        place: Path,
        path: str | os.PathLike[str],
        dropped: Sequence[str],
        order: RowOrder | None,
        scales: Mapping[str, Sequence[str]],
    ) -> None:
        """Write the masked rows to a place; in random order, so that nothing shows which belong to one person."""
        rows = self._rows(dropped, scales)
        if order is not None:
            rows = rows[np.asarray(row_order(self.seed, "order of rows", rows.height).part(0, rows.height))]
        write_to(place, Table(rows, released_origin(self.origin, rows)), Path(path).name)
