"""Equi-width swapping of more rows than can be listed at once: some bins after the other, with the same outcome.

Bins are gone through in the same order with the same generator, and every record is in one bin. What becomes of the
rows is kept as flows where these are few. Where almost every row has a flow of its own it is dealt out bin by bin to
the rows, in the order in which the rows of each record stand, which takes a third of the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.methods import bin_kernels
from anonto.methods.bins import Bins, exchanged_in_pairs, strata
from anonto.methods.blocks import all_facts, joined, no_limit, part_of
from anonto.methods.equi_width_swap import bin_numbers, places_of
from anonto.methods.flows import Dealt, Flows, Moves
from anonto.methods.record_flows import RecordFlows
from anonto.table.record_counts import CountedRecords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.blocks import Require
    from anonto.methods.equi_width_swap import EquiWidthSwap
    from anonto.rng import KeyedPermutations
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


TIMES_MERGED = 4
"""What becomes of values is held as often while that of another part is added."""


@dataclass(frozen=True, slots=True, eq=False)
class BinParts:
    """The records of some bins each."""

    records: Records
    numbers: Longs
    """The bin of each record; 0 for none."""
    members: list[Longs]
    """The records of each part, in their order."""

    @classmethod
    def of(cls, method: EquiWidthSwap, records: Records, most_rows: int) -> BinParts:
        """Parts of at most so many rows; but a bin is never cut."""
        places = places_of(records, width=method.width, bins=method.bins)
        strata(records, 2)
        numbers, n_numbers = bin_numbers(records, places)
        rows_of_bin = np.bincount(numbers, weights=records.counts, minlength=n_numbers).astype(np.int64)
        part_of_record = parts_of_bins(rows_of_bin, most_rows)[numbers]
        by_part = np.argsort(part_of_record, kind="stable")
        members = np.split(by_part, np.flatnonzero(np.diff(part_of_record[by_part])) + 1)
        return cls(records, numbers, members)

    @property
    def largest(self) -> int:
        """Rows of the largest part."""
        return max(int(self.records.counts[part].sum()) for part in self.members)

    @property
    def most_flows(self) -> int:
        """How many flows there are at most: of a record as many as its bin has records, and no more than its rows."""
        records_of_bin = np.bincount(self.numbers)
        return int(np.minimum(self.records.counts, records_of_bin[self.numbers]).sum())

    def fitted(self, method: EquiWidthSwap, rng: np.random.Generator) -> Iterator[RecordFlows]:
        """The flows inside each part, from its records to its records."""
        for part in self.members:
            yield exchanged_in_bins(method, part_of(self.records, part), self.numbers[part], rng)


def exchanged_in_bins(method: EquiWidthSwap, own: Records, numbers: Longs, rng: np.random.Generator) -> RecordFlows:
    """The flows among the records of whole bins, given the number of the bin of each; 0 for none."""
    bins = np.unique(numbers, return_inverse=True)[1] + (numbers.min(initial=1) > 0)
    listed = Bins(*bin_kernels.rows_by_bin(bins, own.counts, int(bins.max(initial=0)) + 1))
    return exchanged_in_pairs(own, listed, method.odd, rng)


def parts_of_bins(rows_of_bin: Longs, most_rows: int) -> Longs:
    """For each bin its part: consecutive bins that together have at most so many rows, or one that has more alone.

    The first bin, of records without any value, is a part of its own.
    """
    part_of_bin = np.zeros(rows_of_bin.size, dtype=np.int64)
    ends = np.cumsum(rows_of_bin)
    part, first = 1, 1
    while first < rows_of_bin.size:
        last = max(first + 1, int(np.searchsorted(ends, ends[first - 1] + most_rows, side="right")))
        part_of_bin[first:last] = part
        part, first = part + 1, last
    return part_of_bin


def facts_of_parts(facts: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """What is known of all bins, from what is known of those of each part."""
    told = [one for one in facts if one["bins"]] or facts[:1]
    return all_facts(told, [1] * len(told))


# ------------------------------------------------------------------------------------------------ flows


def equi_width_in_parts(
    method: EquiWidthSwap, parts: BinParts, rng: np.random.Generator, require: Require = no_limit
) -> RecordFlows:
    """What `EquiWidthSwap.fit` gives; ``require`` is told of the flows after each part."""
    largest, fitted, n_flows = parts.largest, [], 0
    require(largest, f"bins of {largest:,} records", 0)
    for one in parts.fitted(method, rng):
        fitted.append(one)
        n_flows += one.flows.targets.size
        require(largest, f"bins of {largest:,} records and what becomes of all", n_flows)
    require(0, "what becomes of so many records", 2 * n_flows)
    return joined(parts.records, parts.members, fitted, facts_of_parts([one.facts for one in fitted]))


# ------------------------------------------------------------------------------------------------ dealt out


@dataclass(frozen=True, slots=True, eq=False)
class DealtFlows(Flows):
    """What becomes of each row of each record, instead of flows: there are none."""

    by_row: Dealt

    def apply(
        self,
        codes: Codes,
        permutations: KeyedPermutations,  # noqa: ARG002 - by which it was dealt
        before: Longs | None = None,
    ) -> Codes:
        """The masked records of a chunk."""
        return self.by_row.apply(codes, np.zeros(self.sizes.size, np.int64) if before is None else before)


@dataclass(frozen=True, slots=True, eq=False)
class DealtRecordFlows(RecordFlows):
    """What `RecordFlows` says of rows that were dealt out."""

    moved: tuple[Moves, ...] = ()

    def moves(self, records: Records, column: int) -> Moves:  # noqa: ARG002 - counted when they were dealt
        """What became of the cells of one column."""
        return self.moved[column]


def equi_width_dealt(
    method: EquiWidthSwap,
    parts: BinParts,
    rng: np.random.Generator,
    permutations: KeyedPermutations,
    require: Require = no_limit,
) -> RecordFlows:
    """What `EquiWidthSwap.fit` and then `Flows.apply` with these permutations give.

    ``require`` is told, as of flows, of the pairs of values of which one became the other.
    """
    records = parts.records
    begins = np.concatenate([[0], np.cumsum(records.counts)])
    targets = np.empty(int(begins[-1]), dtype=np.int32)
    n_columns = records.codes.shape[1]
    moved: list[Moves | None] = [None] * n_columns
    told: list[RecordFlows] = []
    nothing = np.zeros(records.counts.size + 1, dtype=np.int64)
    none = Flows(records.counts, nothing, np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32), 0)
    for members, one in zip(parts.members, parts.fitted(method, rng), strict=True):
        _deal(records, members, one.flows, permutations, begins, targets)
        for column in range(n_columns):
            moved[column] = _together(moved[column], one.moves(part_of(records, members), column))
        n_moves = sum(each.amounts.size for each in moved if each is not None)
        require(parts.largest, "what becomes of their values", TIMES_MERGED * n_moves)
        told.append(RecordFlows(none, records.codes, one.untouched, one.facts))
    dealt = DealtFlows(*none.arrays, 0, Dealt(begins[:-1], targets))
    untouched = tuple(sum(one.untouched[column] for one in told) for column in range(n_columns))
    every = tuple(one for one in moved if one is not None)
    return DealtRecordFlows(dealt, records.codes, untouched, facts_of_parts([one.facts for one in told]), None, every)


def _deal(
    records: Records, members: Longs, own: Flows, permutations: KeyedPermutations, begins: Longs, targets: Codes
) -> None:
    """Deal the rows of some records out to these records."""
    n_flows = np.zeros(records.counts.size + 1, dtype=np.int64)
    n_flows[members + 1] = np.diff(own.offsets)
    to = members[own.targets].astype(np.int32)
    flows = Flows(records.counts, np.cumsum(n_flows), to, own.ends, own.guides, 0)
    sizes = records.counts[members]
    dealt = flows.apply(np.repeat(members, sizes).astype(np.int32), permutations)
    places = np.repeat(begins[members] - (np.cumsum(sizes) - sizes), sizes)
    places += np.arange(places.size)
    targets[places] = dealt


def _together(one: Moves | None, other: Moves) -> Moves:
    if one is None:
        return other
    stacked = [CountedRecords(np.stack([each.sources, each.targets], axis=1), each.amounts) for each in (one, other)]
    counted = CountedRecords.together(stacked)
    return Moves(counted.codes[:, 0].copy(), counted.codes[:, 1].copy(), counted.counts)
