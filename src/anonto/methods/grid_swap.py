"""Cells of a grid whose rows exchange their records: each cell on its own, on any machine and in any order.

The rows of a cell are listed by their records, in the order of the codes, and the rows of a record by their numbers in
the table. A key and the places of the cell on the grid give them a random order, in which neighbours exchange. So the
result for a row depends on the key and on the rows of its cell, and on nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.records import Records, distinct_rows
from anonto.methods import bin_kernels
from anonto.methods.bins import Bins
from anonto.methods.blocks import all_facts
from anonto.methods.method import RecordMethod
from anonto.methods.row_transitions import AssignedRecordTransitions, RowTransitions
from anonto.methods.transitions import AssignedTargets
from anonto.random.streams import Key
from anonto.runtime.threads import in_threads, slices_of_equal_work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Longs, LongWords
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.bins import Odd


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Where the values of columns are."""

    columns: tuple[Codes, ...]
    """The place of each value, by column, from 0."""
    places: Codes
    """The same, column after column."""
    begins: Longs
    """Where each column begins there."""

    @classmethod
    def of(cls, columns: Sequence[Codes]) -> Grid:
        """From the places of the values of each column."""
        begins = np.cumsum([0, *(one.size for one in columns)])[:-1]
        return cls(tuple(columns), np.concatenate(columns), begins)

    def identities(self, codes: Codes, records: Codes | None = None) -> LongWords:
        """64 bits that identify the cell of each record, or of some, whatever other cells there are."""
        which = np.arange(codes.shape[0], dtype=np.int32) if records is None else records
        found: LongWords = bin_kernels.identities(codes, which, self.places, self.begins)
        return found


class CellMethod(RecordMethod):
    """A method that exchanges rows inside cells of a grid: an engine may do that cell by cell, with rows anywhere."""

    __slots__ = ()

    def by_cells(self) -> CellMethod:
        """This method."""
        return self

    @abstractmethod
    def grid(self, names: Sequence[str], value_spaces: Sequence[ValueSpace]) -> Grid:
        """Where the values of columns are, which does not depend on records."""

    @abstractmethod
    def exchange(self, records: Records, grid: Grid, key: Key) -> AssignedRecordTransitions:
        """Exchange the records of whole cells, in the order of their codes."""


def draw_key(rng: np.random.Generator) -> Key:
    """The key of a step, from its generator."""
    return Key(rng.bytes(32))


def exchange_in_cells(
    records: Records, numbers: Longs, n_numbers: int, grid: Grid, odd: Odd, key: Key
) -> AssignedRecordTransitions:
    """Random pairs of rows of each cell exchange their records.

    Args:
        records: The distinct records of whole cells, in the order of their codes.
        numbers: The cell of each record, in any numbering from 1 on; 0 for a record without any value.
        n_numbers: One more than the largest of them.
        grid: Defines the cells.
        odd: How the last row of an odd number is treated.
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

    in_threads(exchange, slices_of_equal_work(offsets))
    left = alone[alone >= 0]
    untouched = tuple(int(np.count_nonzero(own[left] >= 0)) for own in records.codes.T)
    assigned = AssignedTargets(begins, taken)
    return AssignedRecordTransitions(
        RowTransitions.of(records.counts, assigned), records.codes, untouched, bins.facts(), None, assigned=assigned
    )


@dataclass(frozen=True, slots=True, eq=False)
class ExchangedRows:
    """Rows of whole cells, and what became of them."""

    released: list[Codes]
    """The codes of the records that each column took."""
    untouched: tuple[int, ...]
    facts: Mapping[str, Any]


def exchange_rows(method: CellMethod, grid: Grid, key: Key, columns: Sequence[Codes]) -> ExchangedRows:
    """Exchange rows of whole cells; the rows of a cell come in the order of the table.

    Args:
        method: With its parameters.
        grid: Where the values of the columns are, which is all that an exchange needs to know about them.
        key: The secret of the step.
        columns: For each column the codes of the rows.
    """
    codes, record_of = distinct_rows(columns)
    records = Records((), (), codes, np.bincount(record_of, minlength=codes.shape[0]))
    done = method.exchange(records, grid, key)
    taken = done.assigned.apply(record_of, np.zeros(codes.shape[0], dtype=np.int64))
    return ExchangedRows([own[taken] for own in codes.T], done.untouched, done.facts)


def facts_of_parts(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Evidence about all cells, merged from that of each part."""
    told = [one for one in facts if one["bins"]] or facts[:1]
    return all_facts(told, [1] * len(told)) if told else Bins(np.empty(0, np.int32), np.zeros(1, np.int64)).facts()
