"""Composition: an intruder has two releases of one source, each masked independently.

The rows of the two releases are not aligned, but columns that neither release masks have the same cells in both: a row
of one release and a row of the other can be the same person's only if these cells are equal. So a released record
remains a candidate for a person if it may be hers, and if the other release has a record with the same unmasked cells
that may be hers too. The intruder takes the candidate whose squared distance, plus that of the nearest such record of
the other release, is least. Both releases are linked in this way, and the one with the higher rate counts.

Steps that do not swap exclude no record; only their distances count. The guarantee of a method covers one release, not
two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.composition import Composition
from anonto.attacks.compute.candidates import FoundCandidates, Targets
from anonto.attacks.compute.constraints import number_texts
from anonto.attacks.compute.kernels import TIE
from anonto.attacks.compute.method_aware_linkage import count_candidates, fewer_persons, link, search_candidates
from anonto.attacks.rate import Risk
from anonto.encoding.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.attacks.comparison import Comparison
    from anonto.attacks.compute.candidates import CandidateRecords


WARNING = (
    "Guarantees of masking methods hold for one release: anyone who has two releases of the same records knows more "
    "than either reveals."
)


def composition(
    names: Sequence[str], first: Comparison, second: Comparison, rng: np.random.Generator, rows: Longs | None = None
) -> Risk:
    """Link persons to the candidates that two releases leave together.

    Args:
        names: The columns that the intruder knows of a person; both releases have them.
        first: One release.
        second: The other.
        rng: For the choice of persons in a large table.
        rows: The persons that are attacked, by their rows in the source; None for all that are in both releases.
    """
    sides = (first, second)
    shared = np.intersect1d(first.rows, second.rows)
    persons = shared if rows is None else np.intersect1d(shared, rows)
    linking = sorted(set(first.as_is) & set(second.as_is))
    classes = _classes(sides, linking)
    known = [[side.columns[name] for name in names] for side in sides]
    for columns in known:
        persons = fewer_persons(columns, persons, rng)
    searched = [
        search_candidates(columns, side.swaps, side.as_is, np.searchsorted(side.rows, persons), classes=of_row)
        for columns, side, of_row in zip(known, sides, classes, strict=True)
    ]
    released = [candidates for candidates, _, _ in searched]
    targets = _join_targets([each for _, each, _ in searched])
    alone = [_measure_alone(candidates, each, found) for candidates, each, found in searched]
    both = [_link_both(released[at], released[1 - at], targets[at], targets[1 - at]) for at in (0, 1)]
    at = int(np.argmax([hits.sum() for hits, _ in both]))
    hits, sizes = both[at]
    return Risk.of_links(
        hits,
        sides[at].rows.size,
        attack=Composition.name,
        knowledge="the original values of one person in these columns; two releases of the same records, and how each "
        f"was masked{_describe_all_known(first, second, names)}{_describe_linking(linking)}",
        columns=names,
        details={
            **count_candidates(sizes),
            "linked_release": ("first", "second")[at],
            "linking_columns": linking,
            "first_release": alone[0],
            "second_release": alone[1],
            "warning": WARNING,
        },
    )


def _describe_all_known(first: Comparison, second: Comparison, names: Sequence[str]) -> str:
    """The columns that must be known of everybody, to compute groups and neighbours."""
    swaps = [step for step in (*first.swaps, *second.swaps) if step.method.together and set(step.names) & set(names)]
    columns = dict.fromkeys(name for step in swaps for name in step.names)
    return f"; the original values of all persons in {', '.join(columns)}" if columns else ""


def _describe_linking(linking: Sequence[str]) -> str:
    """How rows of the two releases are brought together."""
    if not linking:
        return "; no column is released as it is in both, so this attack does not bring their rows together"
    return f"; rows of both that agree in {', '.join(linking)} may be the same person's"


def _classes(sides: Sequence[Comparison], linking: Sequence[str]) -> list[Codes]:
    """Number the rows of each release: rows of both that agree in all linking columns have the same number."""
    n_first = sides[0].rows.size
    parts = [np.concatenate(number_texts(*(side.as_is[name].masked for side in sides))) for name in linking]
    n_rows = n_first + sides[1].rows.size
    number = distinct_rows(parts)[1] if parts else np.zeros(n_rows, dtype=np.int32)
    return [number[:n_first], number[n_first:]]


def _join_targets(targets: Sequence[Targets]) -> list[Targets]:
    """Targets for both releases with the same numbers: persons are one target if they are in either."""
    pairs, of_person = distinct_rows([each.of_person for each in targets])
    return [
        Targets.of(np.ascontiguousarray(each.codes[own]), each.numbers[own], of_person, each.rows)
        for each, own in zip(targets, pairs.T, strict=True)
    ]


def _measure_alone(candidates: CandidateRecords, targets: Targets, found: FoundCandidates) -> dict[str, Any]:
    """Linkage with one release alone."""
    hits = link(candidates, targets, found)
    sizes = found.nearest.n_candidates[targets.of_person]
    return {"rate": float(hits.mean()) if hits.size else 0.0, **count_candidates(sizes)}


def _link_both(
    one: CandidateRecords, other: CandidateRecords, targets: Targets, others: Targets
) -> tuple[Floats, Longs]:
    """The probability that the record of one release taken for a person's is hers, and how many remain, by person."""
    found = FoundCandidates.room_for(targets)
    n_classes = max(one.n_classes, other.n_classes)
    own = one.own_distances(targets)
    own_classes = one.released.classes[one.record_of_row[targets.rows]]

    def search(part: slice) -> None:
        further = np.full((part.stop - part.start, n_classes), np.inf)
        further[:, : other.n_classes] = other.least_by_class(others, part)
        one.search_part(targets, part, one.allowed_rows(targets, part), further, found)
        here = targets.persons_of(part)
        own[here] += further[targets.of_person[here] - part.start, own_classes[here]]

    wider = one if one.width + one.n_classes > other.width + other.n_classes else other
    wider.in_parts(search, targets)
    is_nearest = own <= found.nearest.least[targets.of_person] * (1.0 + TIE)
    hits = np.where(is_nearest, 1.0 / np.maximum(found.nearest.n_least[targets.of_person], 1), 0.0)
    return hits, found.nearest.n_candidates[targets.of_person]
