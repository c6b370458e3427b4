"""Cells of a grid whose rows exchange their records: each cell for itself, on any machine and in any order.

The rows of a cell are listed by their records, in the order of the codes, and the rows of a record by their numbers in
the table. A key and the places of the cell on the grid give them a random order, in which neighbours exchange. So what
becomes of a row depends on the key and on the rows of its cell, and on nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.methods import bin_kernels
from anonto.methods.bins import Bins
from anonto.methods.blocks import all_facts
from anonto.methods.dealt_flows import DealtFlows, DealtRecordFlows
from anonto.methods.flows import Dealt
from anonto.methods.method import RecordMethod
from anonto.rng import Key
from anonto.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.methods.bins import Odd
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]
    Words = NDArray[np.uint64]

PARTS = 16
"""Cells are cut into so many parts of about as many rows, which threads share."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Where the values of columns are."""

    columns: tuple[Codes, ...]
    """For each column the place of each of its values, from 0."""
    places: Codes
    """The same, column after column."""
    begins: Longs
    """Where each column begins there."""

    @classmethod
    def of(cls, columns: Sequence[Codes]) -> Grid:
        """From the places of the values of each column."""
        begins = np.cumsum([0, *(one.size for one in columns)])[:-1]
        return cls(tuple(columns), np.concatenate(columns), begins)

    def identities(self, codes: Codes, records: Codes | None = None) -> Words:
        """For each record, or for some of them, 64 bits that stand for its cell, whatever other cells there are."""
        which = np.arange(codes.shape[0], dtype=np.int32) if records is None else records
        found: Words = bin_kernels.identities(codes, which, self.places, self.begins)
        return found


class CellMethod(RecordMethod):
    """A method that exchanges rows inside cells of a grid: an engine may do that cell by cell, with rows anywhere."""

    __slots__ = ()
    exchanged_in_cells: ClassVar[bool] = True

    @abstractmethod
    def grid(self, records: Records) -> Grid:
        """Where the values of the columns are, which the columns alone tell."""

    @abstractmethod
    def exchanged(self, records: Records, grid: Grid, key: Key) -> DealtRecordFlows:
        """Exchange the records of whole cells, in the order of their codes."""


def drawn_key(rng: np.random.Generator) -> Key:
    """The key of a step, from its generator."""
    return Key(rng.bytes(32))


def exchanged_in_cells(
    records: Records, numbers: Longs, n_numbers: int, grid: Grid, odd: Odd, key: Key
) -> DealtRecordFlows:
    """Random pairs of rows of each cell exchange their records.

    Args:
        records: The distinct records of whole cells, in the order of their codes.
        numbers: The cell of each record, in any numbering from 1 on; 0 for a record without any value.
        n_numbers: Behind the largest of them.
        grid: What tells cells apart.
        odd: What becomes of the row that is left.
        key: The secret of the step.
    """
    members, offsets = bin_kernels.rows_by_bin(numbers, records.counts, n_numbers)
    bins = Bins(members, offsets)
    in_none = np.flatnonzero(numbers == 0)
    is_short = records.counts.size <= 1 << 16
    taken = np.empty(records.n_rows, np.uint16) if is_short else np.empty(records.n_rows, np.int32)
    begins = bin_kernels.first_rows(members, records.counts.size)
    taken[members.size :] = np.repeat(in_none, records.counts[in_none])
    begins[in_none] = members.size + np.cumsum(records.counts[in_none]) - records.counts[in_none]
    n_bins = offsets.size - 1
    alone = np.full(n_bins, -1, dtype=np.int32)
    identities = grid.identities(records.codes, members[offsets[:-1]])
    words = key.words

    def exchange(part: slice) -> None:
        bin_kernels.exchange_in_cells(
            members, offsets, part.start, part.stop, identities, words, odd == "cycle3", taken, alone
        )

    in_threads(exchange, _of_about_equal_work(offsets))
    left = alone[alone >= 0]
    untouched = tuple(int(np.count_nonzero(own[left] >= 0)) for own in records.codes.T)
    dealt = Dealt(begins, taken)
    return DealtRecordFlows(
        DealtFlows.of(records.counts, dealt), records.codes, untouched, bins.facts(), None, dealt=dealt
    )


def facts_of_parts(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the evidence says of all cells, from what it says of those of each part."""
    told = [one for one in facts if one["bins"]] or facts[:1]
    return all_facts(told, [1] * len(told)) if told else Bins(np.empty(0, np.int32), np.zeros(1, np.int64)).facts()


def _of_about_equal_work(offsets: Longs) -> list[slice]:
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], PARTS + 1))
    cuts[0], cuts[-1] = 0, offsets.size - 1
    return [slice(int(a), int(b)) for a, b in pairwise(np.unique(cuts))]
