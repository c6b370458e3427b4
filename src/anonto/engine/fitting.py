"""Fitting of steps within a limit to memory: at once where that fits, in parts where a method allows it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from anonto.methods.memory import Budget
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from anonto.engine.room import Room
    from anonto.methods.flows import Flows
    from anonto.methods.method import ColumnMethod, Method, RecordMethod
    from anonto.methods.record_flows import RecordFlows
    from anonto.table.prepare import PreparedColumn
    from anonto.table.records import Records


@dataclass(frozen=True, slots=True)
class Fitting:
    """Fits methods within a room."""

    room: Room

    def columns(
        self, method: ColumnMethod, columns: Sequence[PreparedColumn], rngs: Sequence[np.random.Generator]
    ) -> list[Flows]:
        """A method for one column: all columns at once if there is room, else one after the other."""
        needed = [method.bytes_per_row(1) * len(one.column) for one in columns]
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
        """A method for whole records: at once if there is room, else in parts."""
        names = records.names[: len(records.names) - len(method.also_needs)]
        budget = Budget(self.room.of_step, partial(self.room.too_small, method.name, names))
        return method.fit_within(records, rng, budget)

    def require(self, method: Method, names: Sequence[str], needed: int, what: str) -> None:
        """Refuse what takes more bytes than a step may."""
        if needed > self.room.of_step:
            raise self.room.too_small(method.name, names, needed, what)
