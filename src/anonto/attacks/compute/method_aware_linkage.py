"""Method-aware linkage: the intruder knows which swap was done, and excludes what it could not have done.

Methods and their parameters are published, or guessed. A swap also publishes the frequencies of its columns exactly, so
an intruder who knows a person's values can compute which values may have replaced them: the candidates are the released
records whose known columns all have such values. A single candidate is a proved link. Otherwise the nearest candidate
is taken for hers; and many persons are matched at once, each with one of her candidates.

References: Nin, Herranz, Torra, Data & Knowledge Engineering 64 (2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.compute.candidates import CandidateRecords
from anonto.attacks.compute.constraints import constraints_of, equal_cells
from anonto.attacks.compute.global_linkage import (
    NEAREST_ROWS,
    blocks_to_match,
    describe_matched,
    find_probabilities,
    match_records,
)
from anonto.attacks.compute.kernels import TIE
from anonto.attacks.compute.space import LinkageSpace
from anonto.attacks.method_aware_linkage import MethodAwareLinkage
from anonto.attacks.rate import Risk
from anonto.encoding.records import distinct_rows
from anonto.errors import ReleaseError
from anonto.wording import clip, count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.attacks.compute.candidates import FoundCandidates, Targets
    from anonto.attacks.compute.constraints import Constraint
    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.encoding.comparison import BothCells, ComparedColumn

    Cells = Mapping[str, BothCells]
    Search = Callable[[Longs], tuple[CandidateRecords, Targets, FoundCandidates]]

MOST_PAIRS = 400_000_000
"""Fewer persons are attacked where there are more pairs of a person and a distinct released record."""
FEWEST_PERSONS = 1_000


def method_aware_linkage(
    columns: Sequence[ComparedColumn],
    steps: Sequence[EncodedStep],
    cells: Cells,
    rng: np.random.Generator,
    rows: Longs | None = None,
) -> list[Risk]:
    """Link persons to their nearest candidates, one by one and many at once.

    Args:
        columns: The columns that the intruder knows of a person.
        steps: All steps of the plan that swap.
        cells: For each column that no step masks the cells of the original and of the release, row by row.
        rng: For the choice of persons in a large table, and of one of several equally good matchings.
        rows: The persons that are attacked; None for all. In a table too large to match all persons at once these are
            attacked one by one, and blocks of neighbours are matched, whoever they are.
    """
    n_rows = columns[0].n_rows
    if not n_rows:
        return [_risk(columns, steps, "nearest", np.empty(0), 0, count_candidates(np.empty(0, dtype=np.int64)))]
    linked = link_at_once(
        columns, lambda persons: search_candidates(columns, steps, cells, persons, wanted=NEAREST_ROWS), rng, rows
    )
    return [
        _risk(columns, steps, "nearest", linked.one_by_one, n_rows, count_candidates(linked.n_candidates)),
        _risk(columns, steps, "global", linked.at_once, n_rows, {}, linked.whom),
    ]


@dataclass(frozen=True, slots=True, eq=False)
class LinkedPersons:
    """The probabilities that persons are linked to their own record, one by one and all at once."""

    one_by_one: Floats
    n_candidates: Longs
    """How many rows could be each of these persons'."""
    at_once: Floats
    """For all persons who were matched."""
    whom: str
    """Who was matched, and how."""


def link_at_once(
    columns: Sequence[ComparedColumn], search: Search, rng: np.random.Generator, rows: Longs | None
) -> LinkedPersons:
    """Link persons to their nearest candidates, one by one and many at once.

    Args:
        columns: The columns that the intruder knows of a person.
        search: Finds the candidates of persons, listed until they have `NEAREST_ROWS` rows.
        rng: For the choice of persons in a large table, and of one of several equally good matchings.
        rows: The persons that are attacked one by one; None for all.
    """
    n_persons = columns[0].n_persons
    persons = fewer_persons(columns, np.arange(n_persons) if rows is None else rows, rng)
    blocks = blocks_to_match(columns, LinkageSpace.of(columns), most_persons(columns), rng)
    searched = np.unique(np.concatenate([persons, *(block.persons for block in blocks)]))
    candidates, targets, found = search(searched)
    amounts = candidates.released.amounts
    place_of = np.full(n_persons, -1, dtype=np.int64)
    place_of[searched] = np.arange(searched.size)
    at_once = np.full(n_persons, np.nan)
    rows_of = candidates.record_of_row if columns[0].amounts.row_by_row else None
    for block in blocks:
        of_person = targets.of_person[place_of[block.persons]]
        match = match_records(found.listed[of_person], found.distances[of_person], amounts, rows_of, rng)
        core = block.persons[: block.n_counted]
        at_once[core] = find_probabilities(match[: block.n_counted], candidates.record_of_row[core], amounts)
    counted = persons if blocks[0].n_counted == n_persons else np.flatnonzero(~np.isnan(at_once))
    return LinkedPersons(
        link(candidates, targets, found)[place_of[persons]],
        found.nearest.n_candidates[targets.of_person[place_of[persons]]],
        at_once[counted],
        describe_matched(columns, blocks),
    )


def search_candidates(
    columns: Sequence[ComparedColumn],
    steps: Sequence[EncodedStep],
    cells: Cells,
    persons: Longs,
    *,
    wanted: int = 0,
    classes: Codes | None = None,
) -> tuple[CandidateRecords, Targets, FoundCandidates]:
    """The candidates of persons, the persons as targets, and the result of the search.

    If records stayed that the method moves, as in the original itself, all are assumed to be able to stay. A release
    with cells that the plan cannot have put where they are is refused.
    """
    names = [column.name for column in columns]
    for may_stay in (False, True):
        candidates = CandidateRecords.of(columns, known_constraints(names, steps, cells, may_stay=may_stay), classes)
        targets = candidates.targets(persons)
        found = candidates.search(targets, wanted)
        foreign = int(np.count_nonzero(~found.has_own))
        if not foreign:
            break
    else:
        raise impossible_cells(names, foreign, persons.size)
    return candidates, targets, found


def known_constraints(
    names: Sequence[str], steps: Sequence[EncodedStep], cells: Cells, *, may_stay: bool = False
) -> list[Constraint]:
    """Constraints of the known columns: equality where no step masks, the support of the method where one swaps."""
    constraints: list[Constraint] = [equal_cells(cells[name]) for name in names if name in cells]
    for step in steps:
        if set(step.names) & set(names):
            constraints += constraints_of(step, names, may_stay=may_stay)
    return constraints


def fewer_persons(columns: Sequence[ComparedColumn], persons: Longs, rng: np.random.Generator) -> Longs:
    """The persons, or as many of them as can be compared with all released records in reasonable time."""
    most = most_persons(columns)
    return persons if persons.size <= most else np.sort(rng.choice(persons, most, replace=False))


def most_persons(columns: Sequence[ComparedColumn]) -> int:
    """How many persons can be compared with all released records in reasonable time."""
    n_released = distinct_rows([column.masked for column in columns])[0].shape[0]
    return max(FEWEST_PERSONS, MOST_PAIRS // max(1, int(n_released)))


def link(candidates: CandidateRecords, targets: Targets, found: FoundCandidates) -> Floats:
    """The probability that each person's nearest candidate is hers."""
    of_person, nearest = targets.of_person, found.nearest
    is_nearest = found.has_own & (candidates.own_distances(targets) <= nearest.least[of_person] * (1.0 + TIE))
    return np.where(is_nearest, 1.0 / np.maximum(nearest.n_least[of_person], 1), 0.0)


def count_candidates(sizes: Longs) -> dict[str, Any]:
    """How many candidates persons have."""
    return {
        "least_candidates": int(sizes.min()) if sizes.size else 0,
        "mean_candidates": float(sizes.mean()) if sizes.size else 0.0,
        "proven_share": float(np.mean(sizes == 1)) if sizes.size else 0.0,
    }


def describe_knowledge(steps: Sequence[EncodedStep], names: Sequence[str]) -> str:
    """The intruder's knowledge other than a person's values."""
    swaps = [step for step in steps if set(step.names) & set(names)]
    methods = ", ".join(dict.fromkeys(step.method.name for step in swaps))
    told = f"that {methods} was done, and its parameters"
    if any(step.method.together for step in swaps):
        of_all = ", ".join(dict.fromkeys(name for step in swaps if step.method.together for name in step.names))
        told += f"; the original values of all persons in {of_all}, from which groups and neighbours are computed"
    return told


def _risk(
    columns: Sequence[ComparedColumn],
    steps: Sequence[EncodedStep],
    matching: str,
    hits: Floats,
    n_rows: int,
    details: Mapping[str, Any],
    whom: str = "one person",
) -> Risk:
    names = tuple(column.name for column in columns)
    return Risk.of_links(
        hits,
        n_rows,
        attack=MethodAwareLinkage.name,
        knowledge=f"the original values of {whom} in these columns; {describe_knowledge(steps, names)}",
        columns=names,
        details={"matching": matching, **details},
    )


def impossible_cells(columns: Sequence[str], rows: int, of: int) -> ReleaseError:
    """A release with cells that no run of the plan could have produced there."""
    return ReleaseError(
        f"In {count_of(rows, 'row')} of {of:,} the masked table has cells in {list_names(map(clip, columns))} that "
        "this plan could not have put there; give the plan it was masked with, with block_rows if it was masked in "
        "blocks, and its rows in the order of the original or its private record."
    )
