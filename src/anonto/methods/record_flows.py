"""What a method for several columns returns: which record each distinct record becomes, and how often.

Released records need not be among the original ones, as columns may move apart. ``apply`` is that of `Flows`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.methods.flows import Moves, flows_of_moves
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.flows import Flows
    from anonto.table.attributes import Attribute
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class RecordFlows:
    """Flows from distinct records to released ones."""

    flows: Flows
    """Their targets are rows of ``released``."""
    released: Codes
    """Released records × columns: the code of each value; −1 for a cell without one."""
    untouched: tuple[int, ...]
    """For each column the cells with a value that had no partner."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else the evidence says of the step: plain numbers by name."""
    attributes: tuple[Attribute, ...] | None = None
    """The columns with released values that they did not have, behind their own; None where there are none."""

    def moves(self, records: Records, column: int) -> Moves:
        """What became of the cells of one column."""
        sources = records.codes[self.flows.sources, column]
        targets = self.released[self.flows.targets, column]
        present = sources >= 0
        n_targets = int(targets.max(initial=0)) + 2
        keys = sources[present].astype(np.int64) * n_targets + targets[present] + 1
        unique, place = np.unique(keys, return_inverse=True)
        amounts = np.bincount(place, weights=self.flows.amounts[present], minlength=unique.size).astype(np.int64)
        return Moves((unique // n_targets).astype(np.int32), (unique % n_targets - 1).astype(np.int32), amounts)


def record_flows(
    records: Records,
    sources: NDArray[np.integer],
    released: Codes,
    amounts: Longs | None,
    untouched: Sequence[int],
    facts: Mapping[str, Any] | None = None,
    attributes: tuple[Attribute, ...] | None = None,
) -> RecordFlows:
    """From moves, one for each row or with an amount each, that together cover every row once.

    Args:
        records: The distinct records.
        sources: The distinct record that each move leaves.
        released: Moves × columns: what it becomes.
        amounts: How many rows each move has; None for one each.
        untouched: For each column the cells with a value that had no partner.
        facts: Further evidence.
        attributes: The columns with the new values that released codes stand for; None where there are none.
    """
    unique, place = distinct_rows(list(released.T))
    flows = flows_of_moves(np.asarray(sources), place, amounts, records.counts, unique.shape[0])
    return RecordFlows(flows, unique, tuple(untouched), dict(facts or {}), attributes)
