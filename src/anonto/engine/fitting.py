"""Fitting of steps within a limit to memory: at once where that fits, in parts where a method allows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from anonto.engine.released import BYTES_PER_MOVE
from anonto.errors import InternalError
from anonto.methods.blocks import fit_in_blocks, is_cut
from anonto.methods.equi_depth_swap import EquiDepthSwap
from anonto.methods.equi_width_swap import EquiWidthSwap
from anonto.methods.group_swap import GroupSwap
from anonto.methods.microaggregate import Microaggregate
from anonto.methods.noise import NoiseParameters
from anonto.methods.parameters import LEAST_PER_K
from anonto.methods.rank_swap_joint import RankSwapJoint, most_bytes_per_row
from anonto.methods.taxonomy_exponential import TaxonomyExponential
from anonto.table.attributes import MeanAttribute, NominalAttribute
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

BYTES_PER_ROW = {"rank-swap": 9, "rank-swap-fixed": 10, "frequency-swap": 10, "equi-width-swap": 30}
"""What a row takes while a method is fitted; of methods that list rows with all their columns it is more."""
OF_OTHERS = 128
OF_COLUMN = 16
BYTES_PER_RECORD = 150
"""What a distinct record takes, one flow from it and its permutation included."""
BYTES_PER_FLOW = 16
"""What each further flow takes."""


BYTES_PER_DISTANCE = 80
"""What a pair of concepts takes in methods that hold the distances of all of them: these, their squares, and copies."""


def has_tables(method: Method) -> bool:
    """Whether a method is fitted with distances of all concepts, of which no number of rows tells what they take."""
    return isinstance(method, GroupSwap | Microaggregate | EquiDepthSwap | NoiseParameters | TaxonomyExponential)


def bytes_of_tables(records: Records) -> int:
    """What the distances of all pairs of concepts of each column take."""
    nominal = (one for one in records.attributes if isinstance(one, NominalAttribute | MeanAttribute))
    return sum(BYTES_PER_DISTANCE * one.counts.size**2 for one in nominal)


def bytes_per_row(method: Method, n_columns: int) -> int:
    """What a row takes while a method sees all of them, each of which may be a record of its own."""
    if not method.together:
        return BYTES_PER_ROW.get(method.name, 0)
    if isinstance(method, RankSwapJoint):
        return most_bytes_per_row(n_columns)
    if isinstance(method, EquiWidthSwap):
        return BYTES_PER_ROW[method.name] + BYTES_PER_MOVE * n_columns + BYTES_PER_RECORD
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
                raise self.room.too_small(method.name, [one.name], own, "so many records")
        fitted: dict[int, Flows] = {}

        def fit(part: slice) -> None:
            for place in range(part.start, part.stop):
                fitted[place] = method.fit(columns[place].attribute, rngs[place])

        in_threads(fit, slices(0, len(columns), 1 if sum(needed) <= self.room.of_step else len(columns)))
        return [fitted[place] for place in range(len(columns))]

    def records(self, method: RecordMethod, records: Records, rng: np.random.Generator) -> RecordFlows:
        """A method for whole records: at once if there is room, else in blocks."""
        if isinstance(method, RankSwapJoint):
            return method.fit(records, rng, partial(self.require, method, records.names))
        if isinstance(method, EquiWidthSwap):
            n_rows = records.n_rows
            n_moves = sum(min(n_rows, attribute.counts.size**2) for attribute in records.attributes)
            needed = BYTES_PER_ROW[method.name] * n_rows + BYTES_PER_RECORD * records.counts.size
            self.require(method, records.names, needed + BYTES_PER_MOVE * n_moves, f"{n_rows:,} records")
            return method.fit(records, rng)
        n_columns = len(records.names) - len(getattr(method, "also_needs", ()))
        per_row = bytes_per_row(method, n_columns) - BYTES_PER_RECORD
        of_tables = bytes_of_tables(records) if has_tables(method) else 0
        self.require(method, records.names[:n_columns], of_tables, "the distances of their values")
        for_rows = self.room.of_step - of_tables - BYTES_PER_RECORD * records.counts.size
        most_rows = max(1, for_rows // per_row)
        if records.n_rows <= most_rows:
            return method.fit(records, rng)

        def require(n_rows: int, what: str, n_flows: int = 0) -> None:
            further = BYTES_PER_FLOW * max(0, n_flows - records.counts.size)
            if per_row * n_rows + further > for_rows:
                needed = self.room.of_step - for_rows + per_row * n_rows + further
                raise self.room.too_small(method.name, records.names[:n_columns], needed, what)

        if isinstance(method, GroupSwap | Microaggregate | EquiDepthSwap):
            if method.block_rows is None:
                method = replace(method, block_rows=max(most_rows // 2, LEAST_PER_K * method.k))
            if is_cut(method, records):
                return fit_in_blocks(method, records, rng, require)
        require(records.n_rows, "so many records")
        raise InternalError("Records that fit were not fitted.")

    def require(self, method: Method, names: Sequence[str], needed: int, what: str) -> None:
        """Refuse what takes more bytes than a step may."""
        if needed > self.room.of_step:
            raise self.room.too_small(method.name, names, needed, what)
