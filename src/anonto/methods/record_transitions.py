"""Result of a method for several columns: which record each distinct record becomes, and how often.

Released records need not be among the original ones, as columns may move apart. ``apply`` is that of `Transitions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.records import distinct_rows
from anonto.errors import InternalError
from anonto.methods import transition_kernels
from anonto.methods.transitions import Moves, Transitions, transitions_of_moves
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Bytes, Codes, Integers, Longs
    from anonto.encoding.records import Records
    from anonto.encoding.value_space import ValueSpace


TRANSITIONS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class RecordTransitions:
    """Transitions from distinct records to released ones."""

    transitions: Transitions
    """Their targets are rows of ``released``."""
    released: Codes
    """Released records × columns: the code of each value; −1 for a cell without one."""
    untouched: tuple[int, ...]
    """The cells of each column with a value that had no partner."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further evidence about the step: plain numbers by name."""
    value_spaces: tuple[ValueSpace, ...] | None = None
    """The columns with new released values after their own; None if there are none."""

    def moves(self, records: Records, column: int) -> Moves:
        """Moves of the cells of one column."""
        n_targets = int(self.released[:, column].max(initial=0)) + 2
        keys, amounts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        n_transitions = self.transitions.targets.size
        for part in slices(0, n_transitions, max(TRANSITIONS_AT_ONCE, n_transitions // 8)):
            moves = self.transitions.some_moves(part)
            sources, targets = records.codes[moves.sources, column], self.released[moves.targets, column]
            present = sources >= 0
            own = sources[present].astype(np.int64) * n_targets + targets[present] + 1
            keys, place = np.unique(np.concatenate([keys, own]), return_inverse=True)
            both = np.concatenate([amounts, moves.amounts[present]])
            amounts = np.bincount(place, weights=both, minlength=keys.size).astype(np.int64)
        return Moves((keys // n_targets).astype(np.int32), (keys % n_targets - 1).astype(np.int32), amounts)


def record_transitions(
    records: Records,
    sources: Integers,
    released: Codes,
    amounts: Longs | None,
    untouched: Sequence[int],
    facts: Mapping[str, Any] | None = None,
    value_spaces: tuple[ValueSpace, ...] | None = None,
) -> RecordTransitions:
    """From moves, one for each row or with an amount each, that together cover every row once.

    Args:
        records: The distinct records.
        sources: The distinct record that each move leaves.
        released: Moves × columns: what it becomes.
        amounts: How many rows each move has; None for one each.
        untouched: For each column the cells with a value that had no partner.
        facts: Further evidence.
        value_spaces: The columns with new released values after their own; None if there are none.
    """
    unique, place = distinct_rows(list(released.T))
    transitions = transitions_of_moves(np.asarray(sources), place, amounts, records.counts, unique.shape[0])
    return RecordTransitions(transitions, unique, tuple(untouched), dict(facts or {}), value_spaces)


@dataclass(frozen=True, slots=True, eq=False)
class PackedTransitions:
    """Transitions from the records that have a value, with released records in few bytes."""

    there: Longs
    """The records that have a value in any column."""
    offsets: Longs
    """Where the transitions of each of these begin, and the end of all."""
    ends: Longs
    """The row after the last one of each transition, counted within its record."""
    released: Bytes
    """Transitions × bytes: the codes, each with 1 added and its highest byte first; those of a record in order."""
    columns: Longs
    """Where the bytes of a column begin there, and the end of all."""


def record_transitions_of_packed(
    records: Records, packed: PackedTransitions, untouched: Sequence[int], facts: Mapping[str, Any]
) -> RecordTransitions:
    """Transitions from packed ones; records without any value stay as they are."""
    released, targets = _number_released(packed)
    offsets, ends, counts = packed.offsets, packed.ends, records.counts
    if (ends[offsets[1:] - 1] != counts[packed.there]).any():
        raise InternalError("The transitions do not cover every record once.")
    others = np.delete(np.arange(counts.size), packed.there)
    if others.size:
        at = offsets[np.searchsorted(packed.there, others)]
        sizes = np.ones(counts.size, dtype=np.int64)
        sizes[packed.there] = np.diff(offsets)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        targets, ends = np.insert(targets + np.int32(1), at, 0), np.insert(ends, at, counts[others])
        released = np.concatenate([np.full((1, released.shape[1]), -1, dtype=np.int32), released])
    transitions = Transitions(counts, offsets, targets, ends, transition_kernels.guides(counts, offsets, ends), 0)
    return RecordTransitions(transitions, released, tuple(untouched), dict(facts))


def _number_released(packed: PackedTransitions) -> tuple[Codes, Codes]:
    """The distinct released records in the order of their codes, and for each transition the number of its record."""
    n_transitions, width = packed.released.shape
    transitions = packed.released.view(f"S{width}").ravel()
    in_order = np.sort(transitions)
    is_first = np.ones(n_transitions, dtype=np.bool_)
    np.not_equal(in_order[1:], in_order[:-1], out=is_first[1:])
    different = in_order[is_first]
    del in_order, is_first
    targets = np.empty(n_transitions, dtype=np.int32)
    for part in slices(0, n_transitions, TRANSITIONS_AT_ONCE):
        targets[part] = np.searchsorted(different, transitions[part])
    return unpack_codes(different.view(np.uint8).reshape(-1, width), packed.columns), targets


def unpack_codes(released: Bytes, columns: Longs) -> Codes:
    """The codes of packed records."""
    codes = np.zeros((len(released), columns.size - 1), dtype=np.int32)
    for column, (begin, end) in enumerate(pairwise(columns.tolist())):
        for place in range(begin, end):
            codes[:, column] <<= 8
            codes[:, column] |= released[:, place]
    codes -= 1
    return codes
