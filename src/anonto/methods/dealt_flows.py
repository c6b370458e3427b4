"""What becomes of each row of each record, where a method deals the rows out itself instead of leaving that to flows.

The i-th row of a record, in the order of the table, becomes what stands i places behind where its record begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import InternalError
from anonto.methods import bin_kernels
from anonto.methods.flows import FEW_PAIRS, Dealt, Flows, Moves, counted_in_a_table, counted_pairs
from anonto.methods.record_flows import RecordFlows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from anonto.rng import KeyedPermutations
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


ROWS_AT_ONCE = 1 << 20
"""Rows whose values are listed before they are counted; a record is never cut."""


@dataclass(frozen=True, slots=True, eq=False)
class DealtFlows(Flows):
    """Rows that are dealt out already: there are no flows, and no permutation is asked."""

    by_row: Dealt

    @classmethod
    def of(cls, sizes: Longs, by_row: Dealt) -> DealtFlows:
        """From the rows of each record."""
        nowhere, nothing = np.broadcast_to(np.int64(0), sizes.size + 1), np.empty(0, dtype=np.int32)
        return cls(sizes, nowhere, nothing, np.empty(0, dtype=np.int64), nothing, 0, by_row)

    @property
    def permuted(self) -> Longs:
        """None."""
        return self.sizes[:0]

    @property
    def sources(self) -> Codes:
        """None: rows are dealt out one by one."""
        raise InternalError("Rows that are dealt out have no flows.")

    @property
    def amounts(self) -> Longs:
        """None either."""
        raise InternalError("Rows that are dealt out have no flows.")

    @property
    def moves(self) -> Moves:
        """What became of the records."""
        rows = np.repeat(np.arange(self.sizes.size, dtype=np.int32), self.sizes)
        taken = self.by_row.apply(rows, np.zeros(self.sizes.size, dtype=np.int64))
        return _counted(rows, taken, self.sizes.size)

    def apply(
        self,
        codes: Codes,
        permutations: KeyedPermutations,  # noqa: ARG002 - flows need them
        before: Longs | None = None,
    ) -> Codes:
        """The masked records of a chunk."""
        return self.by_row.apply(codes, np.zeros(self.sizes.size, np.int64) if before is None else before)

    def dealt(self, permutations: KeyedPermutations) -> Dealt:  # noqa: ARG002 - flows need them
        """As it was dealt."""
        return self.by_row


@dataclass(frozen=True, slots=True, eq=False)
class DealtRecordFlows(RecordFlows):
    """What `RecordFlows` says of rows that were dealt out to records that occur."""

    dealt: Dealt = field(kw_only=True)

    def moves(self, records: Records, column: int) -> Moves:
        """What became of the cells of one column."""
        own, n_values = np.ascontiguousarray(records.codes[:, column]), records.attributes[column].counts.size
        n_rows = records.n_rows
        if n_values**2 > max(FEW_PAIRS, 2 * n_rows):
            after = bin_kernels.values_taken(own, records.counts, self.dealt.begins, self.dealt.targets)
            return _counted(np.repeat(own, records.counts), after, n_values)
        return _moves(*counted_in_a_table(self._pairs(own, records.counts), n_values, n_values**2, n_rows), n_values)

    def _pairs(self, own: Codes, counts: Longs) -> Iterator[tuple[Codes, Codes]]:
        """What the rows of some records after the other had and took, so that they are never held of all."""
        ends = np.cumsum(counts)
        first = 0
        while first < counts.size:
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + ROWS_AT_ONCE, side="right")))
            begins = self.dealt.begins[first:last]
            taken = bin_kernels.values_taken(own, counts[first:last], begins, self.dealt.targets)
            yield np.repeat(own[first:last], counts[first:last]), taken
            first = last


def _counted(before: Codes, after: Codes, n_values: int) -> Moves:
    return _moves(*counted_pairs(before, after, n_values), n_values)


def _moves(keys: Longs, amounts: Longs, n_values: int) -> Moves:
    return Moves((keys // max(n_values, 1)).astype(np.int32), (keys % max(n_values, 1)).astype(np.int32), amounts)
