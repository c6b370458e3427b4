"""Simulation linkage: the intruder masks the original again and again, and matches all persons at once by likelihood.

She counts how often her own runs of the method make each value of each other one: these are the likelihoods of a swap.
Noise and the exponential mechanism need no runs, as their distribution is known. Then all persons are matched with all
released rows; where cells are exchanged in pairs, what is found about one of the two tells about the other. So whoever
has the originals of all persons finds far more than whoever looks for one.

- A known column that no step masks must be equal; what a swap cannot have made is excluded.
- A known column that is masked in another way is not used.
- In a table too large to match all persons at once, blocks of neighbours are matched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute import likelihood_kernels
from anonto.attacks.compute.global_linkage import blocks_to_match, describe_matched
from anonto.attacks.compute.likelihood_linkage import KnownLikelihoods, first_rows
from anonto.attacks.compute.method_aware_linkage import most_persons
from anonto.attacks.compute.simulation import FLOOR, known_transitions
from anonto.attacks.compute.soft_matching import Exchanges, PossibleLinks, match_softly
from anonto.attacks.compute.space import LinkageSpace
from anonto.attacks.rate import Risk
from anonto.attacks.simulation_linkage import SimulationLinkage
from anonto.encoding.records import count_records
from anonto.runtime.threads import in_threads
from anonto.wording import list_names

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.attacks.compute.likelihood import StepLikelihood
    from anonto.attacks.compute.simulation import KnownTransitions, Simulation
    from anonto.encoding.comparison import ComparedColumn

MOST_PAIRS, FEWEST_PAIRS = 4_000_000, 32
"""Pairs of all persons, and of one, that are kept: the likeliest."""
SPAN = 14.0
"""A record whose likelihood is smaller than the largest by this logarithm is left out."""
TIE = 1e-6
"""Probabilities that differ by less, relatively, are the same."""


def simulation_linkage(
    known: Sequence[ComparedColumn],
    steps: Sequence[StepLikelihood],
    simulations: Sequence[Simulation],
    masked: Collection[str],
    swaps: Sequence[EncodedStep],
    rng: np.random.Generator,
) -> Risk | None:
    """Match persons with released rows by likelihood; None where no known column has one.

    Args:
        known: The columns that the intruder knows of all persons.
        steps: The steps of the plan whose likelihood is known.
        simulations: Several maskings of the steps that swap.
        masked: The columns that some step masks.
        swaps: All steps of the plan that swap.
        rng: For the choice of the blocks in a large table.
    """
    persons = np.arange(known[0].n_persons)
    likelihoods = KnownLikelihoods.of(known, steps, masked, swaps, persons)
    of_steps = {name for part in likelihoods.parts for name in part.step.names}
    used = [one for one in simulations if not of_steps & set(one.step.names)]
    transitions = [found for one in used for found in known_transitions(one, known)]
    if not persons.size or not (likelihoods.parts or transitions):
        return None
    most = min(most_persons(known), likelihoods.affordable(persons, rng).size)
    blocks = blocks_to_match(known, LinkageSpace.of(known), most, rng)
    hits = [
        _hits(likelihoods, transitions, block.persons, are_all=block.persons.size == persons.size)[: block.n_counted]
        for block in blocks
    ]
    return Risk.of_links(
        np.concatenate(hits),
        known[0].n_rows,
        attack=SimulationLinkage.name,
        knowledge=f"the original values of {describe_matched(known, blocks)} in these columns; "
        + _describe_methods(likelihoods, used, known),
        columns=(column.name for column in known),
        details={"runs": max((one.n_runs for one in used), default=0)},
    )


def _describe_methods(
    likelihoods: KnownLikelihoods, used: Sequence[Simulation], known: Sequence[ComparedColumn]
) -> str:
    names = {column.name for column in known}
    swapped = [one.step.method.name for one in used if names & {column.name for column in one.columns}]
    drawn = [part.step.method.name for part in likelihoods.parts]
    methods = list_names(list(dict.fromkeys([*swapped, *drawn])))
    return f"that {methods} was done, and its parameters, but not the seed"


@dataclass(frozen=True, slots=True, eq=False)
class _Likeliest:
    """The pairs of some targets that are kept."""

    targets: Longs
    records: Longs
    weights: Floats


def _hits(
    likelihoods: KnownLikelihoods, transitions: Sequence[KnownTransitions], persons: Longs, *, are_all: bool
) -> Floats:
    """The probability that each of some persons, who are matched at once, is linked."""
    keys = [*likelihoods.keys(), *(one.sources for one in transitions)]
    rows, target_of = first_rows([codes[persons] for codes in keys])
    rows = persons[rows]
    released, record_of = first_rows([*likelihoods.released_keys(), *(one.values for one in transitions)])
    likeliest = _find_likeliest(likelihoods, transitions, rows, released)
    pairs = PossibleLinks(
        likeliest.targets,
        likeliest.records,
        likeliest.weights,
        np.bincount(target_of, minlength=rows.size).astype(np.float64),
        count_records(record_of, released.size).astype(np.float64),
    )
    reciprocal = [one for one in transitions if one.is_reciprocal]
    exchanges = [_exchanges(one, pairs, rows, released) for one in reciprocal]
    found = match_softly(pairs, exchanges, are_all=are_all)
    return _links(pairs, found, target_of, record_of[persons])


def _find_likeliest(
    likelihoods: KnownLikelihoods, transitions: Sequence[KnownTransitions], rows: Longs, released: Longs
) -> _Likeliest:
    """The likeliest records of all targets, given a row of each target and of each record."""
    order, parts = likelihoods.split(rows, released.size)
    most = max(FEWEST_PAIRS, MOST_PAIRS // rows.size)
    found: dict[int, _Likeliest] = {}

    def score(part: slice) -> None:
        some = rows[order[part]]
        scores = likelihoods.scores(some, released)
        for one in transitions:
            logarithms = np.log(np.maximum(one.probabilities(one.sources[some]), np.finfo(np.float64).tiny))
            likelihood_kernels.add_cells(scores, logarithms, one.values[released], 1.0)
        best = scores.max(axis=1, keepdims=True)
        least = np.where(np.isfinite(best), best - SPAN, np.inf)
        for place in np.flatnonzero((scores > least).sum(axis=1) > most):
            others = np.argpartition(scores[place], -most)[:-most]
            scores[place, others] = -np.inf
        kept, records = np.nonzero(scores > least)
        found[part.start] = _Likeliest(order[part][kept], records, np.exp(scores[kept, records] - best[kept, 0]))

    in_threads(score, parts)
    joined = [found[part.start] for part in parts]
    return _Likeliest(
        np.concatenate([one.targets for one in joined]),
        np.concatenate([one.records for one in joined]),
        np.concatenate([one.weights for one in joined]),
    )


def _exchanges(transitions: KnownTransitions, pairs: PossibleLinks, rows: Longs, released: Longs) -> Exchanges:
    """The moves of the cells of all pairs, and how many opposite ones the simulations let expect."""
    own, values, n_values = transitions.own, transitions.values, transitions.shares.size
    sources = transitions.sources[rows]
    keys = own[sources[pairs.targets]] * n_values + values[released[pairs.records]]
    moves, place = np.unique(keys, return_inverse=True)
    opposite = moves % n_values * n_values + moves // n_values
    # What simulations let expect, from the sources of these persons …
    n_persons = np.bincount(sources, weights=pairs.n_persons, minlength=own.size)
    table = transitions.table.tocoo()
    simulated, at = np.unique(own[table.row] * n_values + table.col, return_inverse=True)
    numbers = np.bincount(at, weights=n_persons[table.row] * table.data)
    found = _place_in(simulated, opposite)
    expected = (1.0 - FLOOR) * np.where(found >= 0, numbers[found], 0.0)
    # … and from the share that each value has in what no run showed.
    of_value = np.bincount(own, weights=n_persons, minlength=n_values)
    expected += FLOOR * of_value[moves % n_values] * transitions.shares[moves // n_values]
    return Exchanges(place, _place_in(moves, opposite), expected)


def _place_in(keys: Longs, wanted: Longs) -> Longs:
    """The place of each wanted key among sorted ones; −1 where it is not among them."""
    places = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[places] == wanted, places, -1)


def _links(pairs: PossibleLinks, found: Floats, target_of: Codes, own: Codes) -> Floats:
    """The probability that the likeliest row of each person, or one of several, is hers."""
    best = np.zeros(pairs.n_persons.size)
    np.maximum.at(best, pairs.targets, found)
    is_best = found >= best[pairs.targets] * (1.0 - TIE)
    n_best = np.bincount(pairs.targets, weights=is_best * pairs.n_rows[pairs.records], minlength=best.size)
    n_records = pairs.n_rows.size
    taken = np.sort((pairs.targets * n_records + pairs.records)[is_best])
    is_own = _place_in(taken, target_of.astype(np.int64) * n_records + own) >= 0 if taken.size else False
    return np.where(is_own, 1.0 / np.maximum(n_best, 1.0)[target_of], 0.0)
