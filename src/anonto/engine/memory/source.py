"""A table of pandas, polars or pyarrow, or a file that is read whole, as an engine."""

from __future__ import annotations

import os
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.columns import changes_nothing
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.record_counts import CountedRecords
from anonto.encoding.records import count_records as count_rows
from anonto.encoding.records import distinct_rows
from anonto.engine.memory.apply import apply_to_rows
from anonto.engine.memory.count import encode_column
from anonto.engine.memory.sink import MaskedInMemory
from anonto.io.reading import read_table
from anonto.masking.fit import rows_to_drop
from anonto.masking.fitted import TableCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.arrays import Codes, Longs
    from anonto.encoding.prepare import Opener
    from anonto.encoding.value_space import ValueSpace
    from anonto.io.table import Origin, TextBatches
    from anonto.masking.fitted import FittedPlan
    from anonto.masking.plan import Plan
    from anonto.masking.released import ReleasedColumn, Tallies
    from anonto.methods.grid_swap import CellMethod


class InMemory:
    """A table in memory."""

    limit = None

    def __init__(self, table: Any, plan: Plan, *, first_row: int = 0) -> None:
        """Take a table, or read a file; masked columns of text are only read when they are encoded.

        Args:
            table: The table, one that is open already, or the path of a file.
            plan: Its plan.
            first_row: The number of its first row, where it is a batch of a larger table.
        """
        is_path = isinstance(table, str | os.PathLike)
        read = read_table(table, **plan.reading, apart=plan.masked) if is_path else None
        n_rows = next((column.n_rows for column in read.apart.values()), None) if read else None
        if read is not None:
            self.adapter = FrameAdapter(read.frame, read.names or None, n_rows, read.origin)
        else:
            self.adapter = copy(table) if isinstance(table, FrameAdapter) else FrameAdapter(table)
        self.adapter.hold_as_text(plan.released_as_text)
        self.adapter.hold_plain_floats(plan.within)  # the bits of equal cells must not tell the rows of a stratum apart
        self._apart: Mapping[str, TextBatches] = {} if read is None else read.apart
        self._is_ours = read is not None
        self._first_row = first_row
        self._raw: dict[str | tuple[str, ...], Codes] = {}
        self._first_rows: dict[str, Longs] = {}
        self._rows: Longs | None = None
        plan.require_columns(self.adapter.names)

    @property
    def names(self) -> list[str]:
        """All columns."""
        return self.adapter.names

    @property
    def origin(self) -> Origin | None:
        """The file that was read, if one was."""
        return self.adapter.origin

    def cells(self, name: str) -> pl.Series:
        """One column, with the codes that its file declares missing as missing."""
        import polars as pl

        return pl.concat(list(self._apart[name].read())) if name in self._apart else self.adapter.series(name)

    def count(self, plan: Plan, open_once: Opener) -> TableCounts:
        """Encode every column that a step or a policy looks at, in the rows that stay."""
        columns = {}
        for name in plan.needed_columns(self.names):
            columns[name], self._raw[name] = encode_column(
                self.adapter, name, self._apart.get(name), tell_missing_apart=name in (*plan.masked, *plan.within)
            )
        dropping = rows_to_drop(columns, plan, open_once)
        if dropping is not None:
            stays = dropping.stays(self._raw)
            self._rows = np.flatnonzero(stays)
            self._raw = {name: codes[stays] for name, codes in self._raw.items()}
        counted = {
            name: column.count_in(self._raw[name], self._rows, self._own_cells(name))
            for name, column in columns.items()
        }
        self._first_rows = {name: column.first_rows for name, column in counted.items()}
        if self._is_ours:  # The table is not the caller's: masked columns are not needed once they are encoded.
            for name in plan.masked:
                if name not in self._apart:
                    self.adapter.forget(name)
        n_rows = len(self.adapter)
        return TableCounts(counted, n_rows, n_rows if self._rows is None else int(self._rows.size))

    def _own_cells(self, name: str) -> pl.Series | None:
        """A column in its own type; None where it was left in its file, as text."""
        if name in self._apart:
            return None
        return self.adapter.table[name] if self.adapter.library == "polars" else self.adapter.series(name)

    def count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        """The distinct records of some columns; which record each row has is known from here on."""
        own = [
            self._raw[name] if changes_nothing(new_codes) else new_codes[self._raw[name]]
            for name, new_codes in zip(names, maps, strict=True)
        ]
        codes, record_of = distinct_rows(own)
        self._raw[tuple(names)] = record_of
        return CountedRecords(codes, count_rows(record_of, codes.shape[0]))

    @staticmethod
    def exchange(
        method: CellMethod, columns: Sequence[ReleasedColumn], value_spaces: Sequence[ValueSpace], *, fits: bool
    ) -> None:
        """Nothing: whole records fit into memory."""

    def apply(self, fitted: FittedPlan) -> tuple[MaskedInMemory, Tallies]:
        """Mask all rows and return their tallies."""
        places, numbers, tallies = apply_to_rows(fitted, self._raw, self._rows, self._first_row)
        self._raw = {}
        columns = fitted.widen_columns(tallies)
        first_rows = {name: self._first_rows[name] for name in columns}
        masked = MaskedInMemory(self.adapter, self._rows, fitted.counts.n_records, columns, places, numbers, first_rows)
        return masked, tallies
