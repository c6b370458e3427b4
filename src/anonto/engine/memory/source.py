"""A table of pandas, polars or pyarrow, or a file that is read whole, as an engine."""

from __future__ import annotations

import os
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.memory.apply import apply_to_rows
from anonto.engine.memory.count import encode_column
from anonto.engine.memory.sink import MaskedInMemory
from anonto.masking.fit import Counted, dropping
from anonto.table.columns import changes_nothing
from anonto.table.door import Door
from anonto.table.reading import read_table
from anonto.table.record_counts import CountedRecords
from anonto.table.records import counted as counted_rows
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from anonto.masking.fit import Exchanging
    from anonto.masking.fitted import FittedSteps
    from anonto.masking.released import OutColumn, Tallies
    from anonto.methods.equi_width_swap import EquiWidthSwap
    from anonto.methods.flows import Flows
    from anonto.methods.method import ColumnMethod, Method, RecordMethod
    from anonto.methods.record_flows import RecordFlows
    from anonto.plan import Plan
    from anonto.table.prepare import Opener, PreparedColumn
    from anonto.table.records import Records
    from anonto.table.table import Origin, TextBatches

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


class Unlimited:
    """Fits methods at once: all that they need is here."""

    @staticmethod
    def columns(
        method: ColumnMethod, columns: Sequence[PreparedColumn], rngs: Sequence[np.random.Generator]
    ) -> list[Flows]:
        """A method for one column, one column after the other."""
        return [method.fit(one.attribute, rng) for one, rng in zip(columns, rngs, strict=True)]

    @staticmethod
    def records(method: RecordMethod, records: Records, rng: np.random.Generator) -> RecordFlows:
        """A method for whole records."""
        return method.fit(records, rng)

    @staticmethod
    def require(method: Method, names: Sequence[str], needed: int, what: str) -> None:
        """Nothing is refused."""


class InMemory:
    """A table in memory."""

    def __init__(self, table: Any, plan: Plan, *, first_row: int = 0) -> None:
        """Take a table of a caller, or read a file; columns of text that are masked may stay in it until encoded.

        Args:
            table: The table, one that is open already, or the path of a file.
            plan: What is going to be done to it.
            first_row: The number of its first row, where it is a batch of a larger table.
        """
        is_path = isinstance(table, str | os.PathLike)
        read = read_table(table, **plan.reading, apart=plan.masked) if is_path else None
        n_rows = next((column.n_rows for column in read.apart.values()), None) if read else None
        if read is not None:
            self.door = Door(read.frame, read.names or None, n_rows, read.origin)
        else:
            self.door = copy(table) if isinstance(table, Door) else Door(table)
        self.door.hold_as_text(plan.released_as_text)
        self.fitting = Unlimited()
        self._apart: Mapping[str, TextBatches] = {} if read is None else read.apart
        self._is_ours = read is not None
        self._first_row = first_row
        self._raw: dict[str | tuple[str, ...], Codes] = {}
        self._first_rows: dict[str, Longs] = {}
        self._rows: Longs | None = None
        plan.require_columns(self.door.names)

    @property
    def names(self) -> list[str]:
        """All columns."""
        return self.door.names

    @property
    def origin(self) -> Origin | None:
        """The file that was read, if one was."""
        return self.door.origin

    def cells(self, name: str) -> pl.Series:
        """One column, with what its file declares as missing as missing."""
        import polars as pl

        return pl.concat(list(self._apart[name].read())) if name in self._apart else self.door.series(name)

    def count(self, plan: Plan, open_once: Opener) -> Counted:
        """Encode every column that a step or a policy looks at, in the rows that stay."""
        columns = {}
        for name in plan.looked_at(self.names):
            columns[name], self._raw[name] = encode_column(
                self.door, name, self._apart.get(name), tell_missing_apart=name in plan.masked
            )
        found = dropping(columns, {name: plan.description(name) for name in columns}, open_once)
        if found is not None:
            stays = found.stays(self._raw)
            self._rows = np.flatnonzero(stays)
            self._raw = {name: codes[stays] for name, codes in self._raw.items()}
        counted = {
            name: column.counted_in(self._raw[name], self._rows, self._own_cells(name))
            for name, column in columns.items()
        }
        self._first_rows = {name: column.first_rows for name, column in counted.items()}
        if self._is_ours:  # Nobody else holds the table: the cells of masked columns are known by their codes.
            for name in plan.masked:
                if name not in self._apart:
                    self.door.forget(name)
        n_rows = len(self.door)
        return Counted(counted, found, n_rows, n_rows if self._rows is None else int(self._rows.size))

    def _own_cells(self, name: str) -> pl.Series | None:
        """A column in its own type; None where it was left in its file, as text."""
        if name in self._apart:
            return None
        return self.door.table[name] if self.door.library == "polars" else self.door.series(name)

    def count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        """The distinct records of some columns; which record each row has is known from here on."""
        own = [
            self._raw[name] if changes_nothing(new_codes) else new_codes[self._raw[name]]
            for name, new_codes in zip(names, maps, strict=True)
        ]
        codes, record_of = distinct_rows(own)
        self._raw[tuple(names)] = record_of
        return CountedRecords(codes, counted_rows(record_of, codes.shape[0]))

    @staticmethod
    def exchange(method: EquiWidthSwap, columns: Sequence[OutColumn], *, fits: bool) -> Exchanging | None:
        """Nothing: rows are exchanged by whole records."""
        del method, columns, fits
        return None

    def apply(self, fitted: FittedSteps) -> tuple[MaskedInMemory, Tallies]:
        """Mask all rows, and tell what became of them."""
        places, numbers, tallies = apply_to_rows(fitted, self._raw, self._rows, self._first_row)
        self._raw = {}
        columns = fitted.columns_holding(tallies)
        first_rows = {name: self._first_rows[name] for name in columns}
        masked = MaskedInMemory(self.door, self._rows, fitted.n_records, columns, places, numbers, first_rows)
        return masked, tallies
