"""Fitting of steps within a limit to memory: at once where that fits, in parts where a method allows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.errors import MoreMemoryError
from anonto.methods.blocks import equi_width_in_parts, fit_in_blocks
from anonto.methods.equi_depth_swap import EquiDepthSwap
from anonto.methods.equi_width_swap import EquiWidthSwap
from anonto.methods.group_swap import GroupSwap
from anonto.methods.microaggregate import Microaggregate
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from anonto.engine.memory import Room
    from anonto.methods.flows import Flows
    from anonto.methods.record_flows import RecordFlows
    from anonto.methods.registry import ColumnMethod, RecordMethod
    from anonto.table.prepare import PreparedColumn
    from anonto.table.records import Records

BYTES_PER_ROW = {"rank-swap": 9, "rank-swap-fixed": 10, "frequency-swap": 10, "equi-width-swap": 40}
"""What a row takes while a method is fitted; of methods that list rows with all their columns it is more."""
OF_OTHERS = 128
OF_COLUMN = 16
BYTES_PER_RECORD = 150
"""What a distinct record takes, its flows and its permutation included."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """Fits methods within a room."""

    room: Room

    def columns(
        self, method: ColumnMethod, columns: Sequence[PreparedColumn], rngs: Sequence[np.random.Generator]
    ) -> list[Flows]:
        """A method for one column: all columns at once if there is room, else one after the other."""
        needed = [BYTES_PER_ROW.get(method.name, 0) * len(one.column) for one in columns]
        for one, own in zip(columns, needed, strict=True):
            if own > self.room.of_step:
                raise MoreMemoryError(method.name, [one.name], own, self.room.memory, "so many records")
        fitted: dict[int, Flows] = {}

        def fit(part: slice) -> None:
            for place in range(part.start, part.stop):
                fitted[place] = method.fit(columns[place].attribute, rngs[place])

        in_threads(fit, slices(0, len(columns), 1 if sum(needed) <= self.room.of_step else len(columns)))
        return [fitted[place] for place in range(len(columns))]

    def records(self, method: RecordMethod, records: Records, rng: np.random.Generator) -> RecordFlows:
        """A method for whole records: at once if there is room, else in parts that give the same, or in blocks."""
        n_columns = len(records.names) - len(getattr(method, "also_needs", ()))
        per_row = BYTES_PER_ROW.get(method.name, OF_OTHERS + OF_COLUMN * n_columns)
        for_rows = self.room.of_step - BYTES_PER_RECORD * records.counts.size
        most_rows = max(1, for_rows // per_row)
        if records.n_rows <= most_rows:
            return method.fit(records, rng)
        if isinstance(method, EquiWidthSwap) and for_rows > 0:
            return equi_width_in_parts(method, records, rng, most_rows)
        if isinstance(method, GroupSwap | Microaggregate | EquiDepthSwap) and for_rows > 0:
            return fit_in_blocks(method.fit, records, rng, most_rows=most_rows // 2, k=method.k, n_columns=n_columns)
        needed = records.n_rows * per_row + BYTES_PER_RECORD * records.counts.size
        raise MoreMemoryError(method.name, records.names, needed, self.room.memory, "so many records")
