"""Fitting of steps within a limit to memory: at once where that fits, in parts where a method allows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from anonto.errors import InternalError, MoreMemoryError
from anonto.methods.blocks import fit_in_blocks, is_cut
from anonto.methods.equi_depth_swap import EquiDepthSwap
from anonto.methods.group_swap import GroupSwap
from anonto.methods.microaggregate import Microaggregate
from anonto.methods.parameters import LEAST_PER_K
from anonto.methods.rank_swap_joint import RankSwapJoint, most_bytes_per_row
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from anonto.engine.memory import Room
    from anonto.methods.flows import Flows
    from anonto.methods.record_flows import RecordFlows
    from anonto.methods.registry import ColumnMethod, Method, RecordMethod
    from anonto.table.prepare import PreparedColumn
    from anonto.table.records import Records

BYTES_PER_ROW = {"rank-swap": 9, "rank-swap-fixed": 10, "frequency-swap": 10, "equi-width-swap": 24}
"""What a row takes while a method is fitted; of methods that list rows with all their columns it is more."""
OF_OTHERS = 128
OF_COLUMN = 16
BYTES_PER_RECORD = 150
"""What a distinct record takes, one flow from it and its permutation included."""
BYTES_PER_FLOW = 16
"""What each further flow takes."""


def bytes_per_row(method: Method, n_columns: int) -> int:
    """What a row takes while a method sees all of them, each of which may be a record of its own."""
    if not method.together:
        return BYTES_PER_ROW.get(method.name, 0)
    if isinstance(method, RankSwapJoint):
        return most_bytes_per_row(n_columns)
    return BYTES_PER_ROW.get(method.name, OF_OTHERS + OF_COLUMN * n_columns) + BYTES_PER_RECORD


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
        """A method for whole records: at once if there is room, else in blocks."""
        if isinstance(method, RankSwapJoint):
            return method.fit(records, rng, partial(self._require, method, records))
        n_columns = len(records.names) - len(getattr(method, "also_needs", ()))
        per_row = bytes_per_row(method, n_columns) - BYTES_PER_RECORD
        for_rows = self.room.of_step - BYTES_PER_RECORD * records.counts.size
        most_rows = max(1, for_rows // per_row)
        if records.n_rows <= most_rows:
            return method.fit(records, rng)

        def require(n_rows: int, what: str, n_flows: int = 0) -> None:
            further = BYTES_PER_FLOW * max(0, n_flows - records.counts.size)
            if per_row * n_rows + further > for_rows:
                needed = self.room.of_step - for_rows + per_row * n_rows + further
                raise MoreMemoryError(method.name, records.names[:n_columns], needed, self.room.memory, what)

        if isinstance(method, GroupSwap | Microaggregate | EquiDepthSwap):
            if method.block_rows is None:
                method = replace(method, block_rows=max(most_rows // 2, LEAST_PER_K * method.k))
            if is_cut(method, records):
                return fit_in_blocks(method, records, rng, require)
        require(records.n_rows, "so many records")
        raise InternalError("Records that fit were not fitted.")

    def _require(self, method: RecordMethod, records: Records, needed: int, what: str) -> None:
        if needed > self.room.of_step:
            raise MoreMemoryError(method.name, records.names, needed, self.room.memory, what)
