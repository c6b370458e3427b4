r"""Refinement: which members can a group have had? The intruder knows how groups were formed, and narrows them down.

A method that gives the records of a group the same values forms groups by an optimiser, and draws nothing. That tells
which group a person was in, in two steps:

- **The centres, as the optimiser sees them.** It minimises the sum of the squared distances of records to the centre of
  their group, each column divided by what two records differ in it on average. In this scale the nearest centre is
  hers more often than in that of `distance-linkage`. Here the scale is that of the released records. Then everybody is
  matched at once: a centre has only as many rows as its group had members.
- **The groups, formed again.** Who knows the original values of everybody runs the method once more and gets the same
  groups. The released class of a group is the one to which its members have the least sum of squared distances: the
  centre was computed so. The candidates of a person are then the rows of her own group, among which the intruder takes
  those that agree in all other columns that she knows. No attack on the columns of the step alone can reach more: with
  nothing else known, the rate is the number of groups divided by the number of persons.

A row of a group of g equal ones still counts 1/g. Records that are equal in the columns of the step may be in several
groups; a person who has such a record may be in each of them. A table that the memory cut into blocks, and a release
made by another version, may have other groups than those formed again: then the attack reaches less, and says nothing
wrong about any person.

References: Cohen, Attacks on deidentification's defenses, USENIX Security (2022), whose downcoding uses the minimality
of a generalisation; combinatorial refinement, arXiv 2509.03350.

Step by step: `anonto.attacks.plain.refinement`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.compute.candidates import CandidateRecords
from anonto.attacks.compute.constraints import SameGroup, equal_cells, list_targets, support_constraints
from anonto.attacks.compute.distance_linkage import link
from anonto.attacks.compute.global_linkage import NEAREST_ROWS, match_all
from anonto.attacks.compute.kernels import TIE
from anonto.attacks.compute.method_aware_linkage import count_candidates, link_at_once
from anonto.attacks.compute.space import LinkageSpace, ReleasedRecords
from anonto.attacks.compute.strata import records_in_strata
from anonto.attacks.known import APART
from anonto.attacks.rate import Risk
from anonto.attacks.refinement import Refinement
from anonto.encoding.comparison import ComparedColumn
from anonto.encoding.description import ColumnDescription
from anonto.encoding.records import distinct_records, distinct_rows
from anonto.encoding.value_space import NumericSpace
from anonto.errors import AnontoError
from anonto.methods.blocks import part_of
from anonto.methods.loss_bound import without_bounds
from anonto.methods.strata import Stratum
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.arrays import Codes, Floats, Integers, Longs
    from anonto.attacks.compute.candidates import FoundCandidates, Targets
    from anonto.attacks.compute.constraints import Constraint
    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.encoding.comparison import Amounts, BothCells

    Cells = Mapping[str, BothCells]

VALUES_AT_ONCE = 256
NEAR_CLASSES = 4
"""The released class of a group is among so many nearest to one of its members."""


def refinement(
    columns: Sequence[ComparedColumn],
    all_columns: Mapping[str, ComparedColumn],
    steps: Sequence[EncodedStep],
    swaps: Sequence[EncodedStep],
    cells: Cells,
    rng: np.random.Generator,
    rows: Longs | None = None,
) -> list[Risk]:
    """Link persons to the centre of their group, one by one and all at once; then to the rows of their own group.

    Args:
        columns: The columns that the intruder knows of a person.
        all_columns: All columns by name, with their distances.
        steps: The steps of the plan that give the records of groups the same values.
        swaps: The steps that swap.
        cells: For each column that no step masks the cells of the original and of the release, row by row.
        rng: For the choice of persons in a large table, and of one of several equally good matchings.
        rows: The persons that are attacked; None for all.
    """
    n_rows, names = columns[0].n_rows, [column.name for column in columns]
    own = [step for step in steps if set(step.names) & set(names)]
    methods = ", ".join(dict.fromkeys(step.method.name for step in own))
    told = f"that {methods} was done, and how it compares records"

    def risk(matching: str, hits: Floats, whom: str, knows: str = told, **details: Any) -> Risk:
        return Risk.of_links(
            hits,
            n_rows,
            attack=Refinement.name,
            knowledge=f"the original values of {whom} in these columns; {knows}",
            columns=names,
            details={"matching": matching, **details},
        )

    if not n_rows:
        return [risk("nearest", np.empty(0), "one person")]
    space = space_of_methods(columns, cells)
    at_once, whom = match_all(columns, space, rng)
    found = [
        risk("nearest", link(columns, space, ReleasedRecords.of(columns, space), rows), "one person"),
        risk("global", at_once, whom),
    ]
    repeated = [one for one in (repeat_groups(step, all_columns, names) for step in own) if one is not None]
    if repeated:
        persons = np.arange(columns[0].n_persons)
        further: list[Constraint] = [equal_cells(cells[name]) for name in names if name in cells]
        further += support_constraints(names, swaps, persons)

        def search(searched: Longs) -> tuple[CandidateRecords, Targets, FoundCandidates]:
            candidates = CandidateRecords.of(columns, [*further, *repeated])
            targets = candidates.targets(searched)
            return candidates, targets, candidates.search(targets, NEAREST_ROWS)

        linked = link_at_once(columns, search, rng, rows)
        counts = count_candidates(linked.n_candidates)
        del counts["proven_share"]  # the same version of the method must have formed the groups
        of_all = ", ".join(dict.fromkeys(name for step in own for name in step.names))
        knows = (
            f"that {methods} was done, and its parameters; the original values of all persons in {of_all}, from "
            "which the groups are formed again"
        )
        found.append(risk("repeated", linked.at_once, linked.whom, knows, **counts))
    return found


# ------------------------------------------------------------------------------------------------ the method's scale


def space_of_methods(columns: Sequence[ComparedColumn], cells: Cells) -> LinkageSpace:
    """Space in which two released records are at a squared distance of 1 on average in each column that is masked.

    Args:
        columns: The columns that the intruder knows.
        cells: The columns that no step masks, whose distances stay.
    """
    space = LinkageSpace.of(columns)
    flat, starts = space.tables.flat.copy(), [*space.tables.offsets.tolist(), space.tables.flat.size]
    for place, column in enumerate(columns):
        mean = 0.0 if column.name in cells else mean_squared_distance(column)
        if mean > 0:
            is_numeric = isinstance(column.value_space, NumericSpace)
            flat[starts[place] : starts[place + 1]] /= np.sqrt(mean) if is_numeric else mean
    return replace(space, tables=space.tables._replace(flat=flat))


def mean_squared_distance(column: ComparedColumn) -> float:
    """The mean squared distance of the cells of two released rows, in the units of `LinkageSpace`."""
    counts, value_space = column.counts("masked")[:-1], column.value_space
    present = np.flatnonzero(counts)
    shares = counts[present] / max(int(counts.sum()), 1)
    if isinstance(value_space, NumericSpace):
        numbers = value_space.numbers[present] / value_space.scale if value_space.scale else np.zeros(present.size)
        mean = float(shares @ numbers)
        return 2.0 * float(shares @ (numbers - mean) ** 2)
    return sum(
        float(shares[part] @ (value_space.distances_from(present[part].astype(np.int32))[:, present] ** 2) @ shares)
        for part in slices(0, present.size, VALUES_AT_ONCE)
    )


# ------------------------------------------------------------------------------------------------ the groups, again


@dataclass(frozen=True, slots=True, eq=False)
class FormedGroups:
    """The groups that a method forms of the original: one entry for each distinct record in each of its groups."""

    record_of: Codes
    """The record of each row of the original."""
    begins: Longs
    """Where the entries of each record begin, and the end of all."""
    rows: Longs
    """A row that has the record, by entry."""
    groups: Longs
    amounts: Longs
    """How many rows with the record are in the group."""
    n_groups: int


def repeat_groups(step: EncodedStep, columns: Mapping[str, ComparedColumn], known: Sequence[str]) -> SameGroup | None:
    """Constraint that a person's row is in the released class of her group; None if the method refuses the original.

    Args:
        step: A step whose method gives the records of a group the same values.
        columns: All columns by name, with their distances.
        known: The columns that the intruder knows.
    """
    formed = form_groups(step)
    if formed is None:
        return None
    masked = [columns[name] for name in step.names if name not in step.method.also_needs]
    group, row = rows_of_groups([*masked, *_strata_of(step, masked[0].amounts)], formed)
    # The groups of all persons who are the same in the known columns, and what is seen there of the released classes.
    chosen = [column for column in masked if column.name in known]
    numbers, persons = distinct_rows([column.original for column in chosen])
    seen, released = distinct_rows([column.masked for column in chosen])
    which, entries = entries_of(formed.begins, formed.record_of)
    group_starts, groups = list_targets(persons[which], formed.groups[entries], len(numbers), formed.n_groups)
    starts, members = list_targets(group, released[row], formed.n_groups, len(seen))
    stays = np.ones(groups.size, dtype=np.bool_)
    return SameGroup(persons, (released,), len(seen), group_starts, groups, stays, starts, members)


def form_groups(step: EncodedStep) -> FormedGroups | None:
    """The groups that the method of a step forms of the original; None if it refuses the original."""
    method: Any = step.method
    n_columns = len(step.names) - len(method.also_needs)
    if step.within:
        records, record_of, _, of_strata = records_in_strata(step)
    else:
        spaces, codes = zip(*((column.value_space, column.original) for column in step.columns), strict=True)
        records, record_of = distinct_records(step.names, spaces, codes, step.amounts)
        of_strata = [np.arange(records.counts.size)]
    entries, n_groups = [np.empty((0, 3), dtype=np.int64)], 0
    with warnings.catch_warnings(), without_bounds():
        warnings.simplefilter("ignore")
        try:
            for some in of_strata:
                present = some[records.counts[some] > 0]
                own = Stratum.of(records, present, n_columns).records if step.within else part_of(records, present)
                fitted = method.fit(own, np.random.default_rng(0))
                moves = fitted.transitions.moves
                entries.append(np.stack([present[moves.sources], n_groups + moves.targets, moves.amounts], axis=1))
                n_groups += fitted.released.shape[0]
        except AnontoError:
            return None
    found = np.concatenate(entries)
    source, group, amount = found[np.argsort(found[:, 0], kind="stable")].T
    first = np.zeros(records.counts.size, dtype=np.int64)
    first[record_of[::-1]] = np.arange(record_of.size - 1, -1, -1)
    begins = np.searchsorted(source, np.arange(records.counts.size + 1))
    return FormedGroups(record_of, begins, first[source], group, amount, n_groups)


def _strata_of(step: EncodedStep, amounts: Amounts) -> list[ComparedColumn]:
    """The number of the stratum as a column in which different numbers are far apart; none without strata."""
    if step.strata is None:
        return []
    # Its codes start at −2.
    before, after = step.strata.original + np.int32(2), step.strata.masked + np.int32(2)
    counts = np.bincount(np.concatenate([before, after]))
    numbers = NumericSpace(np.arange(counts.size, dtype=np.float64), counts, APART)
    return [ComparedColumn("strata", ColumnDescription(kind="numeric"), numbers, before, after, amounts)]


def entries_of(begins: Longs, keys: Integers) -> tuple[Longs, Longs]:
    """The entries of each of some keys: the place of the key, and the entry."""
    sizes = begins[keys + 1] - begins[keys]
    which = np.repeat(np.arange(keys.size), sizes)
    within = np.arange(which.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return which, begins[keys][which] + within


def rows_of_groups(columns: Sequence[ComparedColumn], formed: FormedGroups) -> tuple[Longs, Longs]:
    """Pairs of a group and a row of its released class: that with the least sum of squared distances to its members.

    Args:
        columns: The masked columns of the step, and its strata.
        formed: The groups.
    """
    space = LinkageSpace.of(columns)
    released = ReleasedRecords.of(columns, space)
    codes, record = distinct_rows([column.original[formed.rows] for column in columns])
    each_once = replace(released, amounts=np.ones_like(released.amounts))
    near = space.nearest_some(codes, each_once, NEAR_CLASSES)[0][record]
    # A pair for each group and each class that is near to one of its members …
    n_classes = released.amounts.size
    pairs = np.unique((formed.groups[:, None] * n_classes + near)[near >= 0])
    of_group, of_class = pairs // n_classes, pairs % n_classes
    # … and the sum of the squared distances of all members to it.
    member, pair = entries_of(np.searchsorted(of_group, np.arange(formed.n_groups + 1)), formed.groups)
    squared = space.between(codes[record[member]], released.codes[of_class[pair]])
    sums = np.bincount(pair, weights=squared * formed.amounts[member], minlength=pairs.size)
    least = np.full(formed.n_groups, np.inf)
    np.minimum.at(least, of_group, sums)
    best = sums <= least[of_group] * (1.0 + TIE)
    row_of_class = np.empty(n_classes, dtype=np.int64)
    row_of_class[released.record_of_row] = np.arange(released.record_of_row.size)
    return of_group[best], row_of_class[of_class[best]]
