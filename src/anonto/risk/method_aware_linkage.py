"""Method-aware linkage: the intruder knows which swap was done, and what it could not have done.

Methods and their parameters are published, or guessed. A swap also publishes the frequencies of its columns exactly, so
whoever knows a person's values can compute what could have come into their place: the candidates are the released
records whose every known value could have. One candidate alone is a proven link. Otherwise the nearest candidate is
taken for hers; and many persons are matched at once, each with one of her candidates.

References: Nin, Herranz, Torra, Data & Knowledge Engineering 64 (2008).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.errors import ImpossibleCellsError
from anonto.risk.attacks.method_aware_linkage import MethodAwareLinkage
from anonto.risk.candidates import Candidates
from anonto.risk.global_linkage import (
    NEAREST_ROWS,
    blocks_to_match,
    found_by,
    match_records,
    whom_matched,
)
from anonto.risk.kernels import TIE
from anonto.risk.rate import Risk, wilson_interval
from anonto.risk.relations import equal_cells, relations_of
from anonto.risk.space import Space
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.risk.candidates import Found, Targets
    from anonto.risk.relations import Relation
    from anonto.risk.seen_step import SeenStep
    from anonto.table.comparison import BothCells, ComparedColumn

    Cells = Mapping[str, BothCells]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

MOST_PAIRS = 400_000_000
"""Above so many pairs of a person and a distinct released record fewer persons are attacked."""
FEWEST_PERSONS = 1_000


def method_aware_linkage(
    columns: Sequence[ComparedColumn],
    steps: Sequence[SeenStep],
    cells: Cells,
    rng: np.random.Generator,
    rows: Longs | None = None,
) -> list[Risk]:
    """Link persons to their nearest candidates, one by one and many at once.

    Args:
        columns: What the intruder knows of a person.
        steps: All steps of the plan that swap.
        cells: For each column that no step masks the cells of the original and of the release, row by row.
        rng: For the choice of persons in a large table, and of one of several equally good matchings.
        rows: The persons that are attacked; None for all. In a table too large to match all persons at once these are
            attacked one by one, and blocks of neighbours are matched, whoever they are.
    """
    n_rows, n_persons = columns[0].n_rows, columns[0].n_persons
    if not n_rows:
        return [_risk(columns, steps, "nearest", np.empty(0), 0, counted(np.empty(0, dtype=np.int64)))]
    persons = fewer_persons(columns, np.arange(n_persons) if rows is None else rows, rng)
    blocks = blocks_to_match(columns, Space.of(columns), most_persons(columns), rng)
    searched = np.unique(np.concatenate([persons, *(block.persons for block in blocks)]))
    candidates, targets, (found, listed, distances) = search_candidates(
        columns, steps, cells, searched, wanted=NEAREST_ROWS
    )
    place_of = np.full(n_persons, -1, dtype=np.int64)
    place_of[searched] = np.arange(searched.size)
    at_once = np.full(n_persons, np.nan)
    rows_of = candidates.record_of_row if columns[0].amounts.row_by_row else None
    for block in blocks:
        of_person = targets.of_person[place_of[block.persons]]
        match = match_records(listed[of_person], distances[of_person], candidates.amounts, rows_of, rng)
        counts = block.persons[: block.n_counted]
        at_once[counts] = found_by(match[: block.n_counted], candidates.record_of_row[counts], candidates.amounts)
    counts = persons if blocks[0].n_counted == n_persons else np.flatnonzero(~np.isnan(at_once))
    whom = whom_matched(columns, blocks)
    hits = link(candidates, targets, found)[place_of[persons]]
    sizes = found.n_candidates[targets.of_person[place_of[persons]]]
    return [
        _risk(columns, steps, "nearest", hits, n_rows, counted(sizes)),
        _risk(columns, steps, "global", at_once[counts], n_rows, {}, whom),
    ]


def search_candidates(
    columns: Sequence[ComparedColumn],
    steps: Sequence[SeenStep],
    cells: Cells,
    persons: Longs,
    *,
    wanted: int = 0,
    classes: NDArray[np.int32] | None = None,
) -> tuple[Candidates, Targets, tuple[Found, NDArray[np.int32], Floats]]:
    """The candidates of persons, what is known of these, and what a search finds.

    A release in which records stayed that the method moves, such as the original itself, is searched as if all could
    have stayed; one with cells that the plan could not have put where they are is refused.
    """
    names = [column.name for column in columns]
    for may_stay in (False, True):
        candidates = Candidates.of(columns, known_relations(names, steps, cells, may_stay=may_stay), classes)
        targets = candidates.targets(persons)
        found = candidates.search(targets, wanted)
        foreign = int(np.count_nonzero(~found[0].has_own))
        if not foreign:
            break
    else:
        raise ImpossibleCellsError(names, foreign, persons.size)
    return candidates, targets, found


def known_relations(
    names: Sequence[str], steps: Sequence[SeenStep], cells: Cells, *, may_stay: bool = False
) -> list[Relation]:
    """What the known columns allow: those that no step masks are equal, swapped ones are within reach."""
    relations: list[Relation] = [equal_cells(cells[name]) for name in names if name in cells]
    for step in steps:
        if set(step.names) & set(names):
            relations += relations_of(step, names, may_stay=may_stay)
    return relations


def fewer_persons(columns: Sequence[ComparedColumn], persons: Longs, rng: np.random.Generator) -> Longs:
    """The persons, or as many of them as can be compared with all released records in reasonable time."""
    most = most_persons(columns)
    return persons if persons.size <= most else np.sort(rng.choice(persons, most, replace=False))


def most_persons(columns: Sequence[ComparedColumn]) -> int:
    """How many persons can be compared with all released records in reasonable time."""
    n_released = distinct_rows([column.masked for column in columns])[0].shape[0]
    return max(FEWEST_PERSONS, MOST_PAIRS // max(1, int(n_released)))


def link(candidates: Candidates, targets: Targets, found: Found) -> Floats:
    """For each person the probability that the nearest candidate is hers."""
    of_person = targets.of_person
    own = candidates.codes[candidates.record_of_row[targets.rows]]
    distance = candidates.space.between(targets.codes[of_person], own)
    is_nearest = found.has_own & (distance <= found.least[of_person] * (1.0 + TIE))
    return np.where(is_nearest, 1.0 / np.maximum(found.n_least[of_person], 1), 0.0)


def counted(sizes: Longs) -> dict[str, Any]:
    """How many candidates persons have."""
    return {
        "least_candidates": int(sizes.min(initial=np.iinfo(np.int64).max)) if sizes.size else 0,
        "mean_candidates": float(sizes.mean()) if sizes.size else 0.0,
        "proven_share": float(np.mean(sizes == 1)) if sizes.size else 0.0,
    }


def knowledge_of(steps: Sequence[SeenStep], names: Sequence[str]) -> str:
    """What the intruder knows besides a person's values."""
    swaps = [step for step in steps if set(step.names) & set(names)]
    methods = ", ".join(dict.fromkeys(step.method.name for step in swaps))
    told = f"that {methods} was done, and its parameters"
    if any(step.method.together for step in swaps):
        of_all = ", ".join(dict.fromkeys(name for step in swaps if step.method.together for name in step.names))
        told += f"; the original values of all persons in {of_all}, from which groups and neighbours are computed"
    return told


def _risk(
    columns: Sequence[ComparedColumn],
    steps: Sequence[SeenStep],
    matching: str,
    hits: Floats,
    n_rows: int,
    details: Mapping[str, Any],
    whom: str = "one person",
) -> Risk:
    names = tuple(column.name for column in columns)
    low, high = wilson_interval(float(hits.sum()), hits.size)
    return Risk(
        attack=MethodAwareLinkage.name,
        knowledge=f"the original values of {whom} in these columns; {knowledge_of(steps, names)}",
        columns=names,
        rate=float(hits.mean()) if hits.size else 0.0,
        low=low,
        high=high,
        baseline=1.0 / n_rows if n_rows else 0.0,
        n=int(hits.size),
        details={"matching": matching, **details},
    )
