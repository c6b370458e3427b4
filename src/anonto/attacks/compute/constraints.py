"""Constraints: which released cells may have come from a person's cells.

A constraint is about some known columns. It numbers the combinations of cells that persons have there, and those that
released rows have, and gives a table of persons' numbers × numbers of released rows: which are allowed. It has one
block for each part of the row that is looked up separately. A released row is a candidate for a person if all
constraints allow all its parts.

- A column that no step masks: the cells are equal.
- A column swapped on its own: each value is in the support of the other.
- Columns swapped inside groups: the person is in a group that holds the released record, or, where columns move apart,
  a value of each of its columns. A record that is alone in the group leaves its place if the method moves all.
- Columns swapped jointly: each released value is that of a record near the person's.
- Columns swapped within strata: the same inside the strata that have the person's known cells.

Cells that take no part in a step stay where they are: they are equal, too.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from anonto.attacks.compute import candidate_kernels as kernels
from anonto.attacks.compute.strata import WithinStrata, support_in_strata
from anonto.encoding.records import distinct_records, distinct_rows
from anonto.methods.support import Partition
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Codes, Integers, Longs
    from anonto.attacks.compute.encoded_step import EncodedStep, EncodedStepColumn
    from anonto.encoding.columns import Column
    from anonto.encoding.comparison import BothCells
    from anonto.encoding.records import Records
    from anonto.methods.support import CellSupport, ValueSupport

PERSONS_AT_ONCE = 128


class Constraint(Protocol):
    """Constraint on original and released cells in some columns."""

    @property
    def persons(self) -> Codes:
        """The number of the cells of each row of the original."""
        ...

    @property
    def released(self) -> tuple[Codes, ...]:
        """The number of the cells of each released row, by part."""
        ...

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of numbers in each part."""
        ...

    def allowed_rows(self, persons: Codes) -> Bools:
        """The numbers of released rows that are allowed for some numbers of persons, part by part."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EqualCells:
    """Cells that stay as they are."""

    persons: Codes
    released: tuple[Codes]

    @property
    def widths(self) -> tuple[int]:
        """All numbers of both sides."""
        return (1 + max(int(self.persons.max(initial=0)), int(self.released[0].max(initial=0))),)

    def allowed_rows(self, persons: Codes) -> Bools:
        """The same."""
        return np.equal.outer(persons, np.arange(self.widths[0]))


def equal_cells(cells: BothCells) -> EqualCells:
    """Constraint of a column that no step masks, by the texts of its cells."""
    original, masked = number_texts(cells.original, cells.masked)
    return EqualCells(original, (masked,))


def number_texts(*columns: Column) -> list[Codes]:
    """The number of each cell, by column: the same for equal texts, 0 for a missing cell."""
    texts = dict.fromkeys(text for column in columns for text in column.values)
    number = {text: place for place, text in enumerate(texts, start=1)}
    return [np.array([*map(number.__getitem__, one.values), 0], dtype=np.int32)[one.codes] for one in columns]


@dataclass(frozen=True, slots=True, eq=False)
class WithinSupport:
    """Values of a column in the support of each other; a cell that takes no part goes with such a cell."""

    persons: Codes
    released: tuple[Codes]
    support: ValueSupport
    n_values: int
    may_stay: bool
    """True if a value may stay even where the method moves every record."""

    @classmethod
    def of(cls, column: EncodedStepColumn, support: ValueSupport, *, may_stay: bool) -> WithinSupport:
        """From a column of a step."""
        n_values = column.value_space.counts.size
        one, other = (
            np.where(codes < 0, np.int32(n_values - 1) - codes, codes) for codes in (column.original, column.masked)
        )
        return cls(one, (other,), support, n_values, may_stay)

    @property
    def widths(self) -> tuple[int]:
        """The values, then the cell that takes no part, then the value that the original does not have."""
        return (self.n_values + 2,)

    def allowed_rows(self, persons: Codes) -> Bools:
        """Released values in the support."""
        out = np.zeros((persons.size, self.n_values + 2), dtype=np.bool_)
        takes_part = persons < self.n_values
        out[takes_part, : self.n_values] = self.support.partners(persons[takes_part])
        out[~takes_part, self.n_values] = True
        if self.may_stay:
            out[np.arange(persons.size), persons] = True
        return out


@dataclass(frozen=True, slots=True, eq=False)
class SameGroup:
    """Records of a group that take each other's place."""

    persons: Codes
    released: tuple[Codes]
    n_released: int
    group_starts: Longs
    groups: Codes
    """The groups of each person's number."""
    stays: Bools
    """Whether the same record may have come from each of these again."""
    starts: Longs
    members: Codes
    """The numbers of released rows that may have come from each group."""

    @property
    def widths(self) -> tuple[int]:
        """Combinations of known cells."""
        return (self.n_released,)

    def allowed_rows(self, persons: Codes) -> Bools:
        """Released rows that may have come from the person's groups."""
        out = np.zeros((persons.size, self.n_released), dtype=np.bool_)
        kernels.mark_groups(persons, self.group_starts, self.groups, self.stays, self.starts, self.members, out)
        return out


@dataclass(frozen=True, slots=True, eq=False)
class NearbyCells:
    """Cells of records in the support of each other."""

    persons: Codes
    released: tuple[Codes, ...]
    support: CellSupport
    known: tuple[int, ...]
    """The known columns of the step."""
    n_values: tuple[int, ...]
    """The number of values of each column of the step."""
    starts: Longs
    records: Codes
    """The records that have each person's number."""
    codes: Codes
    """Values of all records."""

    @property
    def widths(self) -> tuple[int, ...]:
        """The values, then the cell that takes no part, then the value that the original does not have."""
        return tuple(self.n_values[place] + 2 for place in self.known)

    def allowed_rows(self, persons: Codes) -> Bools:
        """The values of records in the support."""
        sizes = self.starts[persons + 1] - self.starts[persons]
        rows = np.repeat(np.arange(persons.size, dtype=np.int32), sizes)
        within = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        records = self.records[self.starts[persons[rows]] + within]
        near = np.zeros((persons.size, sum(self.n_values)), dtype=np.bool_)
        self.support.partners(records, rows, near)
        begins = np.cumsum([0, *self.n_values])
        blocks = []
        for place in self.known:
            block = np.zeros((persons.size, self.n_values[place] + 2), dtype=np.bool_)
            own = self.codes[records, place]
            block[:, : self.n_values[place]] = near[:, begins[place] : begins[place + 1]]
            block[rows, np.where(own < 0, self.n_values[place], own)] = True
            blocks.append(block)
        return np.concatenate(blocks, axis=1)


# ------------------------------------------------------------------------------------------------ from a step


def constraints_of(step: EncodedStep, known: Sequence[str], *, may_stay: bool) -> list[Constraint]:
    """Constraints of the known columns of a swapping step.

    Args:
        step: The step.
        known: The columns that the intruder knows.
        may_stay: Whether every record may have stayed as it was, even where the method moves all of them.
    """
    chosen = [column for column in step.columns if column.name in known]
    staying: list[Constraint] = [
        EqualCells(column.aside[0], (column.aside[1],)) for column in chosen if any(each.any() for each in column.aside)
    ]
    strata = step.known_strata(known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if step.within and not step.method.together:
            return staying + [WithinStrata.of(step, column, strata, may_stay=may_stay) for column in chosen]
        if not step.method.together:
            supports = [step.method.support(column.value_space) for column in chosen]
            pairs = zip(chosen, supports, strict=True)
            return staying + [WithinSupport.of(column, support, may_stay=may_stay) for column, support in pairs]
        if step.within:
            support, records, record_of = support_in_strata(step)
        else:
            records, record_of = distinct_records(
                step.names,
                [column.value_space for column in step.columns],
                [column.original for column in step.columns],
                step.amounts,
            )
            support = step.method.support(records)
    if isinstance(support, Partition):
        if may_stay:
            support = replace(support, stays=np.ones_like(support.stays))
        return [*staying, _same_group(support, records, record_of, [*chosen, *strata])]
    return [*staying, _near_records(support, records, record_of, step.columns, known, strata)]


def _same_group(
    partition: Partition, records: Records, record_of: Codes, chosen: Sequence[EncodedStepColumn]
) -> SameGroup:
    n_rows = record_of.size
    # Codes start at −2 here, but at −1 in `distinct_rows`.
    cells = [np.concatenate([column.original, column.masked]) + np.int32(1) for column in chosen]
    numbers, number_of = distinct_rows(cells)
    persons, released = number_of[:n_rows], number_of[n_rows:]
    number_of_record = np.zeros(records.counts.size, dtype=np.int32)
    number_of_record[record_of] = persons
    members, groups, stays = _add_ungrouped(partition, records.counts.size)
    n_groups = stays.size
    of_member = number_of_record[members]
    group_starts, groups_of_number = list_targets(of_member, groups, numbers.shape[0], n_groups)
    starts, numbers_of_group = list_targets(groups, of_member, n_groups, numbers.shape[0])
    if partition.apart:
        starts, numbers_of_group = kernels.values_by_group(
            starts, numbers_of_group, np.ascontiguousarray(numbers), np.unique(released)
        )
    # A row that must leave its place may get its own record again where another row of the group has it too.
    _, n_alike = np.unique(of_member.astype(np.int64) * n_groups + groups, return_counts=True)
    return SameGroup(
        persons,
        (released,),
        numbers.shape[0],
        group_starts,
        groups_of_number,
        stays[groups_of_number] | (n_alike > 1),
        starts,
        numbers_of_group,
    )


def _add_ungrouped(partition: Partition, n_records: int) -> tuple[Codes, Longs, Bools]:
    """The record of each row, its group, and which groups may leave a row as it is; an ungrouped record is a group."""
    is_grouped = np.zeros(n_records, dtype=np.bool_)
    is_grouped[partition.members] = True
    alone = np.flatnonzero(~is_grouped)
    n_groups = partition.offsets.size - 1
    return (
        np.concatenate([partition.members, alone]).astype(np.int32),
        np.concatenate([partition.groups, n_groups + np.arange(alone.size)]),
        np.concatenate([partition.stays, np.ones(alone.size, dtype=np.bool_)]),
    )


def list_targets(sources: Integers, targets: Integers, n_sources: int, n_targets: int) -> tuple[Longs, Codes]:
    """The distinct targets of each source: where they begin, and the targets."""
    keys = np.unique(sources.astype(np.int64) * max(n_targets, 1) + targets)
    starts = np.searchsorted(keys, np.arange(n_sources + 1, dtype=np.int64) * max(n_targets, 1))
    return starts.astype(np.int64), (keys % max(n_targets, 1)).astype(np.int32)


def _near_records(
    support: CellSupport,
    records: Records,
    record_of: Codes,
    columns: Sequence[EncodedStepColumn],
    known: Sequence[str],
    strata: Sequence[EncodedStepColumn] = (),
) -> NearbyCells:
    places = tuple(place for place, column in enumerate(columns) if column.name in known)
    numbers, persons = distinct_rows(
        [*(columns[place].original for place in places), *(one.original for one in strata)]
    )
    starts, of_number = list_targets(persons, record_of, numbers.shape[0], records.counts.size)
    n_values = tuple(column.value_space.counts.size for column in columns)
    released = tuple(
        np.where((codes := columns[place].masked) < 0, np.int32(n_values[place] - 1) - codes, codes) for place in places
    )
    return NearbyCells(persons, released, support, places, n_values, starts, of_number, records.codes)


# ------------------------------------------------------------------------------------------------ from several steps


def support_constraints(names: Sequence[str], swaps: Sequence[EncodedStep], persons: Longs) -> list[Constraint]:
    """Constraints of the swaps of known columns, except of a swap that some person's own record contradicts."""
    out: list[Constraint] = []
    for step in swaps:
        if not set(step.names) & set(names):
            continue
        for may_stay in (False, True):
            constraints = constraints_of(step, names, may_stay=may_stay)
            if all(_holds(constraint, persons) for constraint in constraints):
                out += constraints
                break
    return out


def _holds(constraint: Constraint, persons: Longs) -> bool:
    """Return whether a constraint allows all persons their own records."""
    for part in slices(0, persons.size, PERSONS_AT_ONCE):
        rows = persons[part]
        allowed = constraint.allowed_rows(constraint.persons[rows])
        if not all(allowed[np.arange(rows.size), numbers[rows]].all() for numbers in part_numbers(constraint)):
            return False
    return True


def part_numbers(constraint: Constraint) -> list[Longs]:
    """The places where each released row is looked up in a row of what is allowed, by part of a constraint."""
    begins = np.cumsum([0, *constraint.widths])
    return [begin + numbers for begin, numbers in zip(begins, constraint.released, strict=False)]
