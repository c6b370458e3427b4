"""Rows in bins, and records that change places inside them: shared by the equi-depth, equi-width and invariant swaps.

A bin holds rows that may take each other's place. Whole records are exchanged, all columns of the step together, so
that nothing changes in how these columns depend on each other. Records that lack the same cells form a stratum; bins
never reach across strata, so a missing cell stays in its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anonto.methods import bin_kernels, transition_kernels
from anonto.methods.record_transitions import RecordTransitions
from anonto.methods.refusals import small_strata
from anonto.methods.support import Partition
from anonto.methods.transitions import Transitions, count_pairs_in_table, transitions_of_counts, transitions_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonto.arrays import Codes, Longs
    from anonto.encoding.records import Records


Odd = Literal["stay", "cycle3"]
"""How a bin of odd size treats its last row: it stays, or the last three rows exchange in a cycle."""


ROWS_AT_ONCE = 1 << 20
"""Rows whose exchanges are listed before they are counted; a bin is never cut."""


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Rows by bin; rows without any value are in none."""

    members: Codes
    """The record of each row, bin after bin."""
    offsets: Longs
    """Where each bin begins, and behind them where the last ends. No bin is empty."""

    @property
    def sizes(self) -> Longs:
        """Rows of each bin."""
        return np.diff(self.offsets)

    def offsets_in_parts(self, most_rows: int) -> Iterator[Longs]:
        """The offsets of some bins after the other, together of at most so many rows, or of one that has more."""
        first, last = 0, self.offsets.size - 1
        while first < last:
            end = int(np.searchsorted(self.offsets, self.offsets[first] + most_rows, side="right")) - 1
            yield self.offsets[first : max(end, first + 1) + 1]
            first = max(end, first + 1)

    def support(self, odd: Odd | None = None) -> Partition:
        """Partition of rows that may take each other's place; ``odd`` decides whether a row may stay in place."""
        sizes = self.sizes
        stays = (sizes == 1) | (odd is None) | ((sizes % 2 == 1) & (odd == "stay"))
        return Partition(self.members, self.offsets, apart=False, stays=stays)

    def facts(self) -> dict[str, Any]:
        """Evidence about the bins."""
        sizes = self.sizes
        return {
            "bins": int(sizes.size),
            "singleton_bins": int(np.count_nonzero(sizes == 1)),
            "smallest_bin": int(sizes.min(initial=0 if not sizes.size else sizes[0])),
            "largest_bin": int(sizes.max(initial=0)),
        }


def join_bins(parts: list[Bins]) -> Bins:
    """The bins of several strata as one list."""
    members = np.concatenate([np.empty(0, np.int32), *(part.members for part in parts)])
    sizes = np.concatenate([np.empty(0, np.int64), *(part.sizes for part in parts)])
    return Bins(members, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def with_copies_together(bins: Bins) -> Bins:
    """Bins that share a distinct record made one, so that the value of a record alone determines its bin."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_bins = bins.sizes.size
    if not n_bins:
        return bins
    bin_of = np.repeat(np.arange(n_bins), bins.sizes)
    n_nodes = n_bins + int(bins.members.max()) + 1
    edges = coo_array((np.ones(bin_of.size), (bin_of, n_bins + bins.members)), shape=(n_nodes, n_nodes))
    _, component = connected_components(edges, directed=False)
    of_bin = np.unique(component[:n_bins], return_inverse=True)[1]
    order = np.argsort(of_bin[bin_of], kind="stable")
    sizes = np.bincount(of_bin, weights=bins.sizes).astype(np.int64)
    return Bins(bins.members[order], np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def strata(records: Records, least: int) -> list[Longs]:
    """The records of each pattern of missing cells; those without any value are in none.

    One stratum alone may have any number of rows; of several each must have ``least``, because rare values
    would otherwise hardly move.
    """
    if records.codes.size and records.codes.min() >= 0:
        return [np.arange(records.counts.size)]
    patterns = records.patterns()
    has_any = (records.codes >= 0).any(axis=1)
    parts = [np.flatnonzero(patterns == pattern) for pattern in np.unique(patterns[has_any])]
    rows = [int(records.counts[part].sum()) for part in parts]
    small = [n for n in rows if n < least]
    if len(parts) > 1 and small:
        raise small_strata(len(small), len(parts), sum(small), least)
    return parts


def exchange_in_pairs(records: Records, bins: Bins, odd: Odd, rng: np.random.Generator) -> RecordTransitions:
    """Random pairs of rows of each bin exchange their records; the members of the bins are put into another order."""
    facts, cycle = bins.facts(), odd == "cycle3"
    if not _fit_into_a_table(records, bins.members.size):
        taken, alone = bin_kernels.exchange_pairs(bins.members, bins.offsets, cycle, rng)
        return record_transitions_of_rows(records, bins.members, taken, alone, facts)
    found_none = [np.empty(0, dtype=np.int32)]

    def exchange_batches() -> Iterator[tuple[Codes, Codes]]:
        """Exchange batch by batch of bins, so that the result of all rows is never held at once."""
        for offsets in bins.offsets_in_parts(ROWS_AT_ONCE):
            taken, alone = bin_kernels.exchange_pairs(bins.members, offsets, cycle, rng)
            found_none.append(alone)
            yield bins.members[offsets[0] : offsets[-1]], taken

    n_records = records.counts.size
    keys, amounts = count_pairs_in_table(exchange_batches(), n_records, n_records**2, bins.members.size)
    transitions = transitions_of_counts(keys, amounts, records.counts)
    return _record_transitions(records, transitions, np.concatenate(found_none), facts)


def record_transitions_of_rows(
    records: Records, members: Codes, taken: Codes, alone: Codes, facts: Mapping[str, Any]
) -> RecordTransitions:
    """Transitions of whole records.

    Args:
        records: The distinct records.
        members: The record of each row that took part.
        taken: The record that it takes.
        alone: The records of the rows that had no partner.
        facts: Further evidence.
    """
    counts = records.counts
    if _fit_into_a_table(records, members.size):
        transitions = transitions_of_rows(members, taken, counts)
    else:
        offsets, targets, ends = bin_kernels.transitions_of_rows(members, taken, counts)
        transitions = Transitions(counts, offsets, targets, ends, transition_kernels.guides(counts, offsets, ends), 0)
    return _record_transitions(records, transitions, alone, facts)


def _fit_into_a_table(records: Records, n_rows: int) -> bool:
    """Return whether a count for each pair of records takes no more room than the rows before and after."""
    return records.counts.size**2 <= 2 * n_rows


def _record_transitions(
    records: Records, transitions: Transitions, alone: Codes, facts: Mapping[str, Any]
) -> RecordTransitions:
    untouched = [int(np.count_nonzero(records.codes[alone, column] >= 0)) for column in range(records.codes.shape[1])]
    return RecordTransitions(transitions, records.codes, tuple(untouched), facts)
