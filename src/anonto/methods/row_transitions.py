"""Target of each row of each record, for methods that assign rows themselves instead of leaving that to transitions.

The i-th row of a record, in the order of the table, gets the i-th target from where the targets of its record begin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import InternalError
from anonto.methods import bin_kernels
from anonto.methods.record_transitions import RecordTransitions
from anonto.methods.transitions import FEW_PAIRS, AssignedTargets, Moves, Transitions, count_pairs, count_pairs_in_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonto.arrays import Codes, Longs
    from anonto.encoding.records import Records
    from anonto.random.streams import KeyedPermutations


ROWS_AT_ONCE = 1 << 20
"""Rows whose values are listed before they are counted; a record is never cut."""


@dataclass(frozen=True, slots=True, eq=False)
class RowTransitions(Transitions):
    """Rows that are already assigned to their targets, so that no permutation is needed."""

    by_row: AssignedTargets

    @classmethod
    def of(cls, sizes: Longs, by_row: AssignedTargets) -> RowTransitions:
        """From the rows of each record."""
        nowhere, nothing = np.broadcast_to(np.int64(0), sizes.size + 1), np.empty(0, dtype=np.int32)
        return cls(sizes, nowhere, nothing, np.empty(0, dtype=np.int64), nothing, 0, by_row)

    @property
    def permuted_sizes(self) -> Longs:
        """Empty: no group is permuted."""
        return self.sizes[:0]

    @property
    def sources(self) -> Codes:
        """Unavailable: rows are assigned one by one."""
        raise InternalError("Rows that are assigned one by one have no transitions by value.")

    @property
    def amounts(self) -> Longs:
        """Unavailable: rows are assigned one by one."""
        raise InternalError("Rows that are assigned one by one have no transitions by value.")

    @property
    def moves(self) -> Moves:
        """Moves of the records."""
        rows = np.repeat(np.arange(self.sizes.size, dtype=np.int32), self.sizes)
        taken = self.by_row.apply(rows, np.zeros(self.sizes.size, dtype=np.int64))
        return _count_moves(rows, taken, self.sizes.size)

    def apply(
        self,
        codes: Codes,
        permutations: KeyedPermutations,  # noqa: ARG002 - transitions need them
        before: Longs | None = None,
    ) -> Codes:
        """The masked records of a batch."""
        return self.by_row.apply(codes, np.zeros(self.sizes.size, np.int64) if before is None else before)

    def assign_targets(self, permutations: KeyedPermutations) -> AssignedTargets:  # noqa: ARG002 - transitions need them
        """The assignment itself."""
        return self.by_row


@dataclass(frozen=True, slots=True, eq=False)
class AssignedRecordTransitions(RecordTransitions):
    """`RecordTransitions` for rows that were assigned to existing records."""

    assigned: AssignedTargets = field(kw_only=True)

    def moves(self, records: Records, column: int) -> Moves:
        """Moves of the cells of one column."""
        own, n_values = np.ascontiguousarray(records.codes[:, column]), records.value_spaces[column].counts.size
        n_rows = records.n_rows
        if n_values**2 > max(FEW_PAIRS, 2 * n_rows):
            after = bin_kernels.values_taken(own, records.counts, self.assigned.begins, self.assigned.targets)
            return _count_moves(np.repeat(own, records.counts), after, n_values)
        return _moves(*count_pairs_in_table(self._pairs(own, records.counts), n_values, n_values**2, n_rows), n_values)

    def _pairs(self, own: Codes, counts: Longs) -> Iterator[tuple[Codes, Codes]]:
        """Original and assigned codes, batch by batch of records, so that not all rows are held at once."""
        ends = np.cumsum(counts)
        first = 0
        while first < counts.size:
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + ROWS_AT_ONCE, side="right")))
            begins = self.assigned.begins[first:last]
            taken = bin_kernels.values_taken(own, counts[first:last], begins, self.assigned.targets)
            yield np.repeat(own[first:last], counts[first:last]), taken
            first = last


def _count_moves(before: Codes, after: Codes, n_values: int) -> Moves:
    return _moves(*count_pairs(before, after, n_values), n_values)


def _moves(keys: Longs, amounts: Longs, n_values: int) -> Moves:
    return Moves((keys // max(n_values, 1)).astype(np.int32), (keys % max(n_values, 1)).astype(np.int32), amounts)
