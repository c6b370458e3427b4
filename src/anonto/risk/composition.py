"""Composition: two releases of one source, each masked on its own, in the hands of one intruder.

The rows of the two releases are not aligned, but columns that neither release masks have the same cells in both: a row
of one release and a row of the other can be the same person's only if these cells are equal. So a released record
remains a candidate for a person if she could have become it, and if the other release has a record with the same
unmasked cells that she could have become too. Of those that remain the one is taken whose squared distance, together
with that of the nearest such record of the other release, is least. Both releases are linked in this way, and the one
with the higher rate counts.

Steps that do not swap exclude no record; they count by their distances alone. A guarantee of a method is that of one
release, and says nothing of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.risk import candidate_kernels as kernels
from anonto.risk.attacks.composition import Composition
from anonto.risk.candidates import Targets, room_for
from anonto.risk.kernels import TIE
from anonto.risk.method_aware_linkage import counted, fewer_persons, link, search_candidates
from anonto.risk.rate import Risk, wilson_interval
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.risk.candidates import Candidates, Found
    from anonto.risk.comparison import Comparison

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]

WARNING = (
    "Guarantees of masking methods hold for one release: whoever has two releases of the same records knows more than "
    "either tells."
)


def composition(
    names: Sequence[str], first: Comparison, second: Comparison, rng: np.random.Generator, rows: Longs | None = None
) -> Risk:
    """Link persons to the candidates that two releases leave together.

    Args:
        names: What the intruder knows of a person: columns of both releases.
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
    targets = _together([each for _, each, _ in searched])
    alone = [_alone(candidates, each, found) for candidates, each, (found, _, _) in searched]
    both = [_both(released[at], released[1 - at], targets[at], targets[1 - at]) for at in (0, 1)]
    at = int(np.argmax([hits.sum() for hits, _ in both]))
    hits, sizes = both[at]
    low, high = wilson_interval(float(hits.sum()), hits.size)
    n_rows = sides[at].rows.size
    return Risk(
        attack=Composition.name,
        knowledge="the original values of one person in these columns; two releases of the same records, and how each "
        f"was masked{_of_all(first, second, names)}{_linked_by(linking)}",
        columns=tuple(names),
        rate=float(hits.mean()) if hits.size else 0.0,
        low=low,
        high=high,
        baseline=1.0 / n_rows if n_rows else 0.0,
        n=int(hits.size),
        details={
            **counted(sizes),
            "linked_release": ("first", "second")[at],
            "linking_columns": linking,
            "first_release": alone[0],
            "second_release": alone[1],
            "warning": WARNING,
        },
    )


def _of_all(first: Comparison, second: Comparison, names: Sequence[str]) -> str:
    """Which columns must be known of everybody, to compute groups and neighbours."""
    swaps = [step for step in (*first.swaps, *second.swaps) if step.method.together and set(step.names) & set(names)]
    columns = dict.fromkeys(name for step in swaps for name in step.names)
    return f"; the original values of all persons in {', '.join(columns)}" if columns else ""


def _linked_by(linking: Sequence[str]) -> str:
    if not linking:
        return "; no column is released as it is in both, so this attack does not bring their rows together"
    return f"; rows of both that agree in {', '.join(linking)} may be the same person's"


def _classes(sides: Sequence[Comparison], linking: Sequence[str]) -> list[Codes]:
    """For the rows of each release a number, the same for rows of both that agree in all linking columns."""
    n_first = sides[0].rows.size
    parts = []
    for name in linking:
        columns = [side.as_is[name].masked for side in sides]
        number = {text: place for place, text in enumerate(dict.fromkeys((*columns[0].values, *columns[1].values)))}
        parts.append(
            np.concatenate(
                [
                    np.array([*(number[text] for text in column.values), -1], dtype=np.int32)[column.codes]
                    for column in columns
                ]
            )
        )
    n_rows = n_first + sides[1].rows.size
    together = distinct_rows(parts)[1] if parts else np.zeros(n_rows, dtype=np.int32)
    return [together[:n_first], together[n_first:]]


def _together(targets: Sequence[Targets]) -> list[Targets]:
    """Targets of the same persons in two releases, made the same: those that differ in neither."""
    pairs, of_person = distinct_rows([each.of_person for each in targets])
    order = np.argsort(of_person, kind="stable")
    ends = np.searchsorted(of_person[order], np.arange(pairs.shape[0] + 1))
    return [
        Targets(
            np.ascontiguousarray(each.codes[pairs[:, at]]),
            each.numbers[pairs[:, at]],
            of_person,
            each.rows,
            order,
            ends,
        )
        for at, each in enumerate(targets)
    ]


def _alone(candidates: Candidates, targets: Targets, found: Found) -> dict[str, Any]:
    """What one release alone tells."""
    hits = link(candidates, targets, found)
    return {"rate": float(hits.mean()) if hits.size else 0.0, **counted(found.n_candidates[targets.of_person])}


def _both(one: Candidates, other: Candidates, targets: Targets, others: Targets) -> tuple[Floats, Longs]:
    """For each person the probability that the record of one release taken for hers is hers, and how many remain."""
    found: Found = room_for(targets)
    n_classes = max(one.n_classes, other.n_classes)
    own = np.full(targets.rows.size, np.inf)
    own_records = one.record_of_row[targets.rows]
    target_rows = one.space.rows_of(targets.codes)
    target_numbers, numbers = one.space.numbers_of(targets.codes), one.space.numbers_of(one.codes)
    distance = one.space.between(targets.codes[targets.of_person], one.codes[own_records])

    def look(part: slice) -> None:
        further = np.full((part.stop - part.start, n_classes), np.inf)
        further[:, : other.n_classes] = other.least_by_class(others, part)
        kernels.search_both(
            target_rows[part],
            target_numbers[part],
            one.allowed(targets, part),
            one.codes,
            numbers,
            one.parts,
            one.classes,
            one.amounts,
            one.space.tables,
            one.space.offsets,
            one.space.widths,
            further,
            found.least[part],
            found.n_least[part],
            found.n_candidates[part],
        )
        here = targets.persons_of(part)
        own[here] = distance[here] + further[targets.of_person[here] - part.start, one.classes[own_records[here]]]

    wider = one if one.width + one.n_classes > other.width + other.n_classes else other
    wider.for_all(look, targets)
    is_nearest = own <= found.least[targets.of_person] * (1.0 + TIE)
    hits = np.where(is_nearest, 1.0 / np.maximum(found.n_least[targets.of_person], 1), 0.0)
    return hits, found.n_candidates[targets.of_person]
