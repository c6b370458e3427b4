"""Which released cells could have come from a person's cells, step by step.

A relation speaks of some known columns. It numbers what a person may have there, and what a released row may have, and
says which go together: as a table of a few persons' numbers × all numbers of released rows, one block for each part of
the row that is looked at on its own. A released row is a candidate for a person if all relations allow all its parts.

- A column that no step masks: the cells are equal.
- A column swapped on its own: one value is within the reach of the other.
- Columns swapped inside groups: the person is in a group that holds the released record, or, where columns move apart,
  a value of each of its columns. A record that nobody else of the group has leaves its place if the method moves all.
- Columns swapped jointly: each released value is that of a record near to the person's.

Cells that take no part in a step stay where they are: there, too, the cells are equal.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from anonto.methods.reach import Partition
from anonto.risk import candidate_kernels as kernels
from anonto.table.records import distinct_records, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.methods.reach import CellReach, ValueReach
    from anonto.risk.seen_step import SeenColumn, SeenStep
    from anonto.table.comparison import BothCells
    from anonto.table.records import Records

    Bools = NDArray[np.bool_]
    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


class Relation(Protocol):
    """What could have become what, in some columns."""

    @property
    def persons(self) -> Codes:
        """For each row of the original the number of what a person has there."""
        ...

    @property
    def released(self) -> tuple[Codes, ...]:
        """For each part the number of what each released row has there."""
        ...

    @property
    def widths(self) -> tuple[int, ...]:
        """For each part how many numbers there are."""
        ...

    def allowed(self, persons: Codes) -> Bools:
        """For some numbers of persons which numbers of released rows go with them, part behind part."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Equal:
    """Cells that stay as they are."""

    persons: Codes
    released: tuple[Codes]

    @property
    def widths(self) -> tuple[int]:
        """All numbers of both sides."""
        return (1 + max(int(self.persons.max(initial=0)), int(self.released[0].max(initial=0))),)

    def allowed(self, persons: Codes) -> Bools:
        """The same."""
        return np.equal.outer(persons, np.arange(self.widths[0]))


def equal_cells(cells: BothCells) -> Equal:
    """Of a column that no step masks, by the texts of its cells."""
    before, after = cells.original, cells.masked
    number = {text: place for place, text in enumerate(dict.fromkeys((*before.values, *after.values)), start=1)}
    one, other = (
        np.array([*(number[text] for text in column.values), 0], dtype=np.int32)[column.codes]
        for column in (before, after)
    )
    return Equal(one, (other,))


@dataclass(frozen=True, slots=True, eq=False)
class Swapped:
    """Values of a column within reach of each other; a cell that takes no part goes with such a cell."""

    persons: Codes
    released: tuple[Codes]
    reach: ValueReach
    n_values: int
    may_stay: bool
    """Whether a value is within its own reach even where the method moves every record."""

    @classmethod
    def of(cls, column: SeenColumn, reach: ValueReach, *, may_stay: bool) -> Swapped:
        """From a column of a step."""
        n_values = column.attribute.counts.size
        one, other = (
            np.where(codes < 0, np.int32(n_values - 1) - codes, codes) for codes in (column.original, column.masked)
        )
        return cls(one, (other,), reach, n_values, may_stay)

    @property
    def widths(self) -> tuple[int]:
        """The values, then the cell that takes no part, then the value that the original does not have."""
        return (self.n_values + 2,)

    def allowed(self, persons: Codes) -> Bools:
        """What is within reach."""
        out = np.zeros((persons.size, self.n_values + 2), dtype=np.bool_)
        takes_part = persons < self.n_values
        out[takes_part, : self.n_values] = self.reach.partners(persons[takes_part])
        out[~takes_part, self.n_values] = True
        if self.may_stay:
            out[np.arange(persons.size), persons] = True
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Records of a group that take each other's place."""

    persons: Codes
    released: tuple[Codes]
    n_released: int
    group_starts: Longs
    groups: Codes
    """The groups of each person's number."""
    stays: Bools
    """For each of these whether the same could have come out of it again."""
    starts: Longs
    members: Codes
    """The numbers of released rows that could have come out of each group."""

    @property
    def widths(self) -> tuple[int]:
        """Combinations of known cells."""
        return (self.n_released,)

    def allowed(self, persons: Codes) -> Bools:
        """What could have come out of the person's groups."""
        out = np.zeros((persons.size, self.n_released), dtype=np.bool_)
        kernels.mark_groups(persons, self.group_starts, self.groups, self.stays, self.starts, self.members, out)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Cells of records within reach of each other."""

    persons: Codes
    released: tuple[Codes, ...]
    reach: CellReach
    known: tuple[int, ...]
    """Which columns of the step are known."""
    n_values: tuple[int, ...]
    """Of all columns of the step."""
    starts: Longs
    records: Codes
    """The records that have each person's number."""
    codes: Codes
    """Of all records."""

    @property
    def widths(self) -> tuple[int, ...]:
        """The values, then the cell that takes no part, then the value that the original does not have."""
        return tuple(self.n_values[place] + 2 for place in self.known)

    def allowed(self, persons: Codes) -> Bools:
        """The values of records within reach."""
        sizes = self.starts[persons + 1] - self.starts[persons]
        rows = np.repeat(np.arange(persons.size, dtype=np.int32), sizes)
        within = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        records = self.records[self.starts[persons[rows]] + within]
        near = np.zeros((persons.size, sum(self.n_values)), dtype=np.bool_)
        self.reach.partners(records, rows, near)
        begins = np.cumsum([0, *self.n_values])
        blocks = []
        for place in self.known:
            block = np.zeros((persons.size, self.n_values[place] + 2), dtype=np.bool_)
            own = self.codes[records, place]
            block[:, : self.n_values[place]] = near[:, begins[place] : begins[place + 1]]
            block[rows, np.where(own < 0, self.n_values[place], own)] = True
            blocks.append(block)
        return np.concatenate(blocks, axis=1)


# ------------------------------------------------------------------------------------------------ of a step


def relations_of(step: SeenStep, known: Sequence[str], *, may_stay: bool) -> list[Relation]:
    """What the known columns of a swapping step allow.

    Args:
        step: The step.
        known: What the intruder knows.
        may_stay: Whether every record may have stayed as it was, even where the method moves all of them.
    """
    chosen = [column for column in step.columns if column.name in known]
    staying: list[Relation] = [
        Equal(column.aside[0], (column.aside[1],)) for column in chosen if any(each.any() for each in column.aside)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not step.method.together:
            reaches = [step.method.reach(column.attribute) for column in chosen]
            pairs = zip(chosen, reaches, strict=True)
            return staying + [Swapped.of(column, reach, may_stay=may_stay) for column, reach in pairs]
        records, record_of = distinct_records(
            step.names,
            [column.attribute for column in step.columns],
            [column.original for column in step.columns],
            step.amounts,
        )
        reach = step.method.reach(records)
    if isinstance(reach, Partition):
        if may_stay:
            reach = replace(reach, stays=np.ones_like(reach.stays))
        return [*staying, _grouped(reach, records, record_of, step.columns, known)]
    return [*staying, _near(reach, records, record_of, step.columns, known)]


def _grouped(
    partition: Partition, records: Records, record_of: Codes, columns: Sequence[SeenColumn], known: Sequence[str]
) -> Grouped:
    chosen = [column for column in columns if column.name in known]
    n_rows = record_of.size
    # Codes start at −2 here, and at −1 in `distinct_rows`.
    cells = [np.concatenate([column.original, column.masked]) + np.int32(1) for column in chosen]
    numbers, number_of = distinct_rows(cells)
    persons, released = number_of[:n_rows], number_of[n_rows:]
    number_of_record = np.zeros(records.counts.size, dtype=np.int32)
    number_of_record[record_of] = persons
    members, groups, stays = _with_those_that_stay(partition, records.counts.size)
    n_groups = stays.size
    of_member = number_of_record[members]
    group_starts, groups_of_number = _listed(of_member, groups, numbers.shape[0], n_groups)
    starts, numbers_of_group = _listed(groups, of_member, n_groups, numbers.shape[0])
    if partition.apart:
        starts, numbers_of_group = kernels.values_by_group(
            starts, numbers_of_group, np.ascontiguousarray(numbers), np.unique(released)
        )
    # A row that must leave its place can come upon its own record again where another row of the group has it too.
    _, n_alike = np.unique(of_member.astype(np.int64) * n_groups + groups, return_counts=True)
    return Grouped(
        persons,
        (released,),
        numbers.shape[0],
        group_starts,
        groups_of_number,
        stays[groups_of_number] | (n_alike > 1),
        starts,
        numbers_of_group,
    )


def _with_those_that_stay(partition: Partition, n_records: int) -> tuple[Codes, Longs, Bools]:
    """The record of each row, its group, and which groups may leave a row as it is; a record in none is one alone."""
    is_grouped = np.zeros(n_records, dtype=np.bool_)
    is_grouped[partition.members] = True
    alone = np.flatnonzero(~is_grouped)
    n_groups = partition.offsets.size - 1
    return (
        np.concatenate([partition.members, alone]).astype(np.int32),
        np.concatenate([partition.groups, n_groups + np.arange(alone.size)]),
        np.concatenate([partition.stays, np.ones(alone.size, dtype=np.bool_)]),
    )


def _listed(
    sources: NDArray[np.integer], targets: NDArray[np.integer], n_sources: int, n_targets: int
) -> tuple[Longs, Codes]:
    """For each source its targets, each once: where they begin, and they themselves."""
    keys = np.unique(sources.astype(np.int64) * max(n_targets, 1) + targets)
    starts = np.searchsorted(keys, np.arange(n_sources + 1, dtype=np.int64) * max(n_targets, 1))
    return starts.astype(np.int64), (keys % max(n_targets, 1)).astype(np.int32)


def _near(
    reach: CellReach, records: Records, record_of: Codes, columns: Sequence[SeenColumn], known: Sequence[str]
) -> Near:
    places = tuple(place for place, column in enumerate(columns) if column.name in known)
    numbers, persons = distinct_rows([columns[place].original for place in places])
    starts, of_number = _listed(persons, record_of, numbers.shape[0], records.counts.size)
    n_values = tuple(column.attribute.counts.size for column in columns)
    released = tuple(
        np.where((codes := columns[place].masked) < 0, np.int32(n_values[place] - 1) - codes, codes) for place in places
    )
    return Near(persons, released, reach, places, n_values, starts, of_number, records.codes)
