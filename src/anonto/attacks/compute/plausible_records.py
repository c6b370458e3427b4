"""How many released records could be a person's, from the release alone, for many persons: what `verify` says of one.

Swaps publish their values, and those that move records as a whole their records. So a person whose value, or whole
record, nobody in the release has was not in the table; nor was one whose own released record none could be. The persons
may be members or strangers; what the method could do with their cells is looked up where a member has the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute.constraints import number_texts, part_numbers, support_constraints
from anonto.attacks.known import AS_ONE
from anonto.encoding.records import count_records, distinct_rows
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Codes, Longs
    from anonto.attacks.comparison import Comparison
    from anonto.attacks.compute.constraints import Constraint
    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.attacks.held_out import HeldOut
    from anonto.encoding.comparison import ComparedColumn

PERSONS_AT_ONCE = 32


@dataclass(frozen=True, slots=True, eq=False)
class SearchedPersons:
    """Members, by their rows in the original, and then strangers, by their places among the persons held out."""

    members: Longs
    strangers: Longs

    def pick(self, of_members: Codes, of_strangers: Codes) -> Codes:
        """The known values of each."""
        return np.concatenate([of_members[self.members], of_strangers[self.strangers]])


@dataclass(frozen=True, slots=True, eq=False)
class _PartOfStep:
    """Constraint on the released cells in some columns, looked up by what members have there."""

    constraint: Constraint
    of_person: Codes
    """The number of each person's known cells."""
    starts: Longs
    """For each number where the constraint's numbers of the members with these cells begin; none for other cells."""
    numbers: Longs

    def allowed(self, persons: Longs, looked_up: Sequence[Longs]) -> Bools:
        """The released records that are allowed for some persons, by where they are looked up."""
        own = self.of_person[persons]
        sizes = self.starts[own + 1] - self.starts[own]
        ends = np.cumsum(sizes)
        within = np.arange(int(ends[-1])) - np.repeat(ends - sizes, sizes)
        table = self.constraint.allowed_rows(self.numbers[np.repeat(self.starts[own], sizes) + within])
        out = np.zeros((persons.size, looked_up[0].size), dtype=np.bool_)
        if within.size:
            each = np.logical_and.reduce([table[:, places] for places in looked_up])
            has_any = np.flatnonzero(sizes)
            out[has_any] = np.logical_or.reduceat(each, (ends - sizes)[has_any], axis=0)
        return out


def count_plausible(compared: Comparison, known: Sequence[ComparedColumn], searched: SearchedPersons) -> Longs:
    """How many released records could be each person's.

    Args:
        compared: The original and its release.
        known: The known columns, in values that the persons held out share.
        searched: The persons.
    """
    held_out = compared.held_out
    if held_out is None:
        return np.zeros(0, dtype=np.int64)
    occurs = np.ones(searched.members.size + searched.strangers.size, dtype=np.bool_)
    equal: list[tuple[Codes, Codes]] = []
    for column in known:
        persons = searched.pick(column.original, codes_held_out(column))
        if column.name == AS_ONE:
            equal.append((persons, column.masked))
    parts: list[_PartOfStep] = []
    names = [column.name for column in known]
    of_name = {column.name: column for column in known}
    for step in compared.swaps:
        chosen = [name for name in step.names if name in of_name]
        for name in chosen:
            occurs &= _occurs(of_name[name], searched)
        strata = [column.name for column in step.within if column.name in names or AS_ONE in names]
        for group in _groups(step, chosen):
            parts += _parts_of_step(compared, held_out, step, [*group, *strata], searched)
    return _count(occurs, equal, parts, compared.amounts.masked)


def codes_held_out(column: ComparedColumn) -> Codes:
    """The codes of persons held out in a column."""
    return np.empty(0, dtype=np.int32) if column.held_out is None else column.held_out


def _occurs(column: ComparedColumn, searched: SearchedPersons) -> Bools:
    """Whether somebody in the release has each person's value; a missing cell tells nothing here."""
    meanings = column.meanings()
    persons = meanings[searched.pick(column.original, codes_held_out(column))]
    return np.asarray((persons < 0) | np.isin(persons, np.unique(meanings[column.masked])))


def _groups(step: EncodedStep, chosen: Sequence[str]) -> list[list[str]]:
    """The columns whose released cells the release lets one judge together; none if it takes the original."""
    if not step.method.together:
        return [[name] for name in chosen]
    return [list(chosen)] if chosen and step.method.moves_whole_records else []


def _parts_of_step(
    compared: Comparison, held_out: HeldOut, step: EncodedStep, names: Sequence[str], searched: SearchedPersons
) -> list[_PartOfStep]:
    """The constraints of a step on some columns."""
    of_members, of_strangers = [], []
    for name in names:
        if name in held_out.columns:
            column = held_out.columns[name]
            meanings = column.meanings()
            pair = meanings[column.original], meanings[codes_held_out(column)]
        else:
            first, second = number_texts(compared.cells[name].original, held_out.cells[name])
            pair = first, second
        of_members.append(pair[0])
        of_strangers.append(pair[1])
    n_members = of_members[0].size
    cells, number = distinct_rows([np.concatenate(pair) for pair in zip(of_members, of_strangers, strict=True)])
    of_person = searched.pick(number[:n_members], number[n_members:])
    found = []
    for constraint in support_constraints(names, [step], searched.members):
        width = int(constraint.persons.max(initial=0)) + 1
        keys = np.unique(number[:n_members].astype(np.int64) * width + constraint.persons)
        starts = np.searchsorted(keys, np.arange(cells.shape[0] + 1, dtype=np.int64) * width).astype(np.int64)
        found.append(_PartOfStep(constraint, of_person, starts, keys % width))
    return found


def _count(occurs: Bools, equal: Sequence[tuple[Codes, Codes]], parts: Sequence[_PartOfStep], amounts: Longs) -> Longs:
    """Count the released records that all tests allow each person whose values occur."""
    looked_up = [part_numbers(part.constraint) for part in parts]
    flat = [places.astype(np.int32) for each in looked_up for places in each]
    of_rows = [*(released for _, released in equal), *flat]
    if not of_rows:
        return np.where(occurs, int(amounts.sum()), 0)
    records, record_of = distinct_rows(of_rows)
    n_of_record = count_records(record_of, records.shape[0], amounts)
    columns = iter(records[:, len(equal) :].T)
    places = [[next(columns).astype(np.int64) for _ in each] for each in looked_up]
    searched, counts = np.flatnonzero(occurs), np.zeros(occurs.size, dtype=np.int64)

    def count(part: slice) -> None:
        persons = searched[part]
        allowed = np.ones((persons.size, records.shape[0]), dtype=np.bool_)
        for place, (own, _) in enumerate(equal):
            allowed &= own[persons][:, None] == records[None, :, place]
        for one, each in zip(parts, places, strict=True):
            allowed &= one.allowed(persons, each)
        counts[persons] = allowed @ n_of_record

    in_threads(count, slices(0, searched.size, PERSONS_AT_ONCE))
    return counts
