"""Membership: was a person in the table? Persons who were masked against persons who were not.

The intruder knows a person's values, the release, and some persons who were certainly not in the table: a random half
of those held out. The other half are the strangers whom she must tell from members. She has several scores:

- *distance*: how near the nearest released record comes.
- *calibrated distance*: how much nearer it comes than the nearest of the persons whom she knows not to be in it, so
  that somebody unlike everybody is not taken for a stranger: the difference, and the difference as a share of the sum.
- *candidates*: a person without a released record that could be hers was not in the table, for certain; the others by
  calibrated distance.
- *likelihood*: where noise was drawn, the mean over released records of f(y | x) / p(y): how much likelier the release
  is with her than without her, if its other records are drawn like those held out. The noise of several columns is
  taken as independent.

The rate is the share of members who are recognised where 1 % of strangers are taken for members.

References: Shokri et al., IEEE S&P 2017; Carlini et al., IEEE S&P 2022; Chen et al., CCS 2020, on calibration.

Step by step: `anonto.attacks.plain.membership`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.compute.foreign_search import distances_to_persons
from anonto.attacks.compute.member_likelihood import likelihood_ratios
from anonto.attacks.compute.plausible_records import SearchedPersons, codes_held_out, count_plausible
from anonto.attacks.compute.roc import FALSE_POSITIVES, area, area_interval, true_positives
from anonto.attacks.compute.space import LinkageSpace, ReleasedRecords
from anonto.attacks.known import AS_ONE, join_columns
from anonto.attacks.membership import Membership
from anonto.attacks.rate import Risk, wilson_interval
from anonto.encoding.comparison import Amounts
from anonto.encoding.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.attacks.comparison import Comparison
    from anonto.attacks.foreign_situation import ForeignSituation
    from anonto.encoding.comparison import ComparedColumn

MOST_STRANGERS = 2_000
MOST_REFERENCES = 1_000
"""For likelihoods, which take longest."""
KNOWLEDGE = {
    "distance": "the nearest released record",
    "calibrated distance": "the nearest released record, against the nearest of persons who were not masked",
    "candidates": "whether a released record could be the person’s, given the release and the method; then the "
    "calibrated distance",
    "likelihood": "how much likelier the release is with the person than without, given the method and its parameters",
}


def membership(
    compared: Comparison, known: Sequence[ComparedColumn], rows: Longs | None, rng: np.random.Generator
) -> list[Risk]:
    """Tell members from strangers by each score.

    Args:
        compared: The original and its release, with persons held out.
        known: The columns that the intruder knows of a person.
        rows: The members who are attacked; None for all.
        rng: Draws the persons held out whom the intruder has.
    """
    held_out = compared.held_out
    members = np.arange(compared.rows.size) if rows is None else rows
    if held_out is None or held_out.n_records < 2 or not members.size:
        return []
    order = rng.permutation(held_out.n_records)
    half = held_out.n_records // 2
    reference, strangers = np.sort(order[half:]), np.sort(order[:half][:MOST_STRANGERS])
    searched = SearchedPersons(members, strangers)
    columns = [_shared(compared, column) for column in known]
    targets = np.stack([searched.pick(one.original, codes_held_out(one)) for one in columns], axis=1)
    nearest = distances(columns, targets, [one.masked for one in columns])
    further = distances(columns, targets, [codes_held_out(one)[reference] for one in columns])
    counts = count_plausible(compared, columns, searched)
    calibrated = calibrate(nearest, further)
    scores = {
        "distance": -nearest,
        "calibrated distance": calibrated,
        "candidates": np.where(counts > 0, calibrated, -np.inf),
    }
    likely = likelihood_ratios(compared, columns, searched, reference[:MOST_REFERENCES])
    if likely is not None:
        scores["likelihood"] = likely
    if not compared.swaps and not any(one.name == AS_ONE for one in columns):
        del scores["candidates"]
    n_known = int(reference.size)
    names = [one.name for one in columns]
    return [_risk(name, score, counts, members.size, n_known, names) for name, score in scores.items()]


def foreign_membership(situation: ForeignSituation) -> list[Risk]:
    """Tell members from strangers by distance, in a release that another tool made."""
    others, release = situation.of_strangers, situation.release
    if others is None or not situation.reference.size:
        return []
    n_members = situation.members.size
    nearest = np.concatenate([situation.of_members.distance, others.distance])
    further = np.concatenate(
        [
            distances_to_persons(release, which, persons, situation.reference)
            for which, persons in (("original", situation.members), ("held_out", situation.strangers))
        ]
    )
    scores = {"distance": -nearest, "calibrated distance": calibrate(nearest, further)}
    counts, n_known = np.ones(nearest.size, dtype=np.int64), int(situation.reference.size)
    return [_risk(name, score, counts, n_members, n_known, release.names) for name, score in scores.items()]


def _risk(score: str, scores: Floats, counts: Longs, n_members: int, n_known: int, names: Sequence[str]) -> Risk:
    """The result of one score."""
    members, strangers = scores[:n_members], scores[n_members:]
    rate, low, high = true_positives(members, strangers)
    found = area(members, strangers)
    auc_low, auc_high = area_interval(found, members.size, strangers.size)
    details: dict[str, Any] = {"score": score, "auc": found, "auc_low": auc_low, "auc_high": auc_high}
    if score == "candidates":
        excluded = int(np.count_nonzero(counts[n_members:] == 0))
        lowest, highest = wilson_interval(excluded, strangers.size)
        details["strangers_excluded"] = excluded / strangers.size
        details |= {"excluded_low": lowest, "excluded_high": highest}
        details["members_excluded"] = float(np.mean(counts[:n_members] == 0))
    return Risk(
        attack=Membership.name,
        knowledge=f"the original values of a person in these columns, and {n_known:,} persons who were not masked; "
        f"{KNOWLEDGE[score]}",
        columns=tuple(names),
        rate=rate,
        low=low,
        high=high,
        baseline=FALSE_POSITIVES,
        n=int(members.size),
        details={**details, "strangers": int(strangers.size)},
    )


def _shared(compared: Comparison, column: ComparedColumn) -> ComparedColumn:
    """A known column, in values that the persons held out share."""
    held_out = compared.held_out
    if held_out is None:
        return column
    if column.name != AS_ONE:
        return held_out.columns[column.name]
    names = [name for name in compared.as_is if name not in compared.confidential]
    others = [held_out.cells[name] for name in names]
    return join_columns([compared.as_is[name] for name in names], compared.amounts, others)


def calibrate(nearest: Floats, further: Floats) -> Floats:
    """The distance to others less that to the release, and the same as a share of their sum, added.

    The share puts first whom the release has exactly, and the difference orders those: who is unlike all others is
    hardly there by chance.
    """
    both = nearest + further
    share = np.divide(further - nearest, both, out=np.zeros_like(both), where=both > 0)
    return np.asarray(share + further - nearest)


def distances(columns: Sequence[ComparedColumn], targets: Codes, records: Sequence[Codes]) -> Floats:
    """The distance of each target to the nearest record; unequal cells that no step masks are as far as all others.

    Args:
        columns: The known columns.
        targets: Codes of persons, a row each.
        records: Codes of the records, by column.
    """
    distinct, number = distinct_rows(list(targets.T))
    amounts = Amounts.of_rows(distinct.shape[0], records[0].size)
    sides = [
        replace(one, original=np.ascontiguousarray(distinct[:, place]), masked=records[place], amounts=amounts)
        for place, one in enumerate(columns)
    ]
    space = LinkageSpace.of(sides)
    least, _ = space.nearest(distinct, ReleasedRecords.of(sides, space))
    return np.asarray(np.minimum(np.sqrt(least), np.sqrt(len(columns) + 1.0))[number])
