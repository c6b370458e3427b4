"""Puts recoded cells into the rows of a task as it reads them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.spark.apply import in_type
from anonto.engine.spark.count import as_polars
from anonto.engine.spark.rows import FILE, ROW, runs
from anonto.masking.recoding import CellRecoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    from anonto.arrays import Longs
    from anonto.engine.spark.rows import RowGroups
    from anonto.masking.recoding import RecodedColumn


@dataclass(frozen=True, slots=True, eq=False)
class RecodedRows:
    """The recoded columns of a table, and what tells the numbers of its rows."""

    columns: Mapping[str, RecodedColumn]
    row_groups: RowGroups
    rows_before: Longs
    """The rows before each row group."""

    @property
    def kinds(self) -> dict[str, Any]:
        """The pyarrow types of columns that do not keep theirs."""
        return {
            name: arrow_type(one.palette)
            for name, one in self.columns.items()
            if one.palette.dtype != one.counted.cells.dtype
        }

    def of_columns(self, names: Sequence[str]) -> RecodedRows | None:
        """For some columns only; None if none of these is recoded."""
        columns = {name: one for name, one in self.columns.items() if name in names}
        return RecodedRows(columns, self.row_groups, self.rows_before) if columns else None

    @property
    def persons(self) -> list[str]:
        """The columns that say whose dates are in others."""
        return [*dict.fromkeys(one.person for one in self.columns.values() if one.person is not None)]

    def recode(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Batches in which these columns have their recoded cells."""
        recoder, kinds, seen = CellRecoder(self.columns), self.kinds, Counter[int]()
        for batch in batches:
            rows, new = self._numbers(batch, seen), batch
            for name, one in self.columns.items():
                place = batch.schema.get_field_index(name)
                persons = None if one.person is None else as_polars(batch, one.person)
                cells = recoder.cells(name, as_polars(batch, name), persons, rows)
                kind = kinds.get(name, batch.schema.field(place).type)
                new = new.set_column(place, name, in_type(cells, kind))
            yield new

    def _numbers(self, batch: Any, seen: Counter[int]) -> Longs:
        """The numbers of the rows in the table; ``seen`` counts the rows of each row group."""
        files, rows = (batch.column(name).to_numpy() for name in (FILE, ROW))
        groups = np.empty(rows.size, dtype=np.int64)
        for start, stop in runs(files):
            groups[start:stop] = self.row_groups.of_rows(int(files[start]), rows[start:stop])
        numbers = np.empty(rows.size, dtype=np.int64)
        for start, stop in runs(groups):
            group = int(groups[start])
            first = int(self.rows_before[group]) + seen[group]
            numbers[start:stop] = np.arange(first, first + stop - start)
            seen[group] += stop - start
        return numbers


def arrow_type(cells: pl.Series) -> Any:
    """The pyarrow type of cells that a column of Spark can have."""
    import polars as pl
    import pyarrow as pa

    return pa.string() if cells.dtype == pl.String else cells.to_arrow().type
