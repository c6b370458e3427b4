"""What a method for several columns returns: which record each distinct record becomes, and how often.

Released records need not be among the original ones, as columns may move apart. ``apply`` is that of `Flows`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import InternalError
from anonto.methods import kernels
from anonto.methods.flows import Flows, Moves, flows_of_moves
from anonto.table.records import distinct_rows
from anonto.threads import slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.table.attributes import Attribute
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]
    Bytes = NDArray[np.uint8]

FLOWS_AT_ONCE = 1 << 18


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
        n_targets = int(self.released[:, column].max(initial=0)) + 2
        keys, amounts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        for part in slices(0, self.flows.targets.size, max(FLOWS_AT_ONCE, self.flows.targets.size // 8)):
            moves = self.flows.some_moves(part)
            sources, targets = records.codes[moves.sources, column], self.released[moves.targets, column]
            present = sources >= 0
            own = sources[present].astype(np.int64) * n_targets + targets[present] + 1
            keys, place = np.unique(np.concatenate([keys, own]), return_inverse=True)
            both = np.concatenate([amounts, moves.amounts[present]])
            amounts = np.bincount(place, weights=both, minlength=keys.size).astype(np.int64)
        return Moves((keys // n_targets).astype(np.int32), (keys % n_targets - 1).astype(np.int32), amounts)


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


@dataclass(frozen=True, slots=True, eq=False)
class PackedFlows:
    """Flows from the records that have a value, with released records in few bytes."""

    there: Longs
    """The records that have a value in any column."""
    offsets: Longs
    """Where the flows of each of these begin, and the end of all."""
    ends: Longs
    """For each flow the row behind its last one, counted within its record."""
    released: Bytes
    """Flows × bytes: the codes, each with 1 added and its highest byte first; those of a record in order."""
    columns: Longs
    """Where the bytes of a column begin there, and the end of all."""


def record_flows_of_packed(
    records: Records, packed: PackedFlows, untouched: Sequence[int], facts: Mapping[str, Any]
) -> RecordFlows:
    """From all flows, which are held once; records without any value stay as they are."""
    released, targets = _numbered(packed)
    offsets, ends, counts = packed.offsets, packed.ends, records.counts
    if (ends[offsets[1:] - 1] != counts[packed.there]).any():
        raise InternalError("The flows do not cover every record once.")
    others = np.delete(np.arange(counts.size), packed.there)
    if others.size:
        at = offsets[np.searchsorted(packed.there, others)]
        sizes = np.ones(counts.size, dtype=np.int64)
        sizes[packed.there] = np.diff(offsets)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        targets, ends = np.insert(targets + np.int32(1), at, 0), np.insert(ends, at, counts[others])
        released = np.concatenate([np.full((1, released.shape[1]), -1, dtype=np.int32), released])
    flows = Flows(counts, offsets, targets, ends, kernels.guides(counts, offsets, ends), 0)
    return RecordFlows(flows, released, tuple(untouched), dict(facts))


def _numbered(packed: PackedFlows) -> tuple[Codes, Codes]:
    """The different released records in the order of their codes, and for each flow which one it has."""
    n_flows, width = packed.released.shape
    flows = packed.released.view(f"S{width}").ravel()
    in_order = np.sort(flows)
    is_first = np.ones(n_flows, dtype=np.bool_)
    np.not_equal(in_order[1:], in_order[:-1], out=is_first[1:])
    different = in_order[is_first]
    del in_order, is_first
    targets = np.empty(n_flows, dtype=np.int32)
    for part in slices(0, n_flows, FLOWS_AT_ONCE):
        targets[part] = np.searchsorted(different, flows[part])
    return unpacked(different.view(np.uint8).reshape(-1, width), packed.columns), targets


def unpacked(released: Bytes, columns: Longs) -> Codes:
    """The codes of packed records."""
    codes = np.zeros((len(released), columns.size - 1), dtype=np.int32)
    for column, (begin, end) in enumerate(pairwise(columns.tolist())):
        for place in range(begin, end):
            codes[:, column] <<= 8
            codes[:, column] |= released[:, place]
    codes -= 1
    return codes
