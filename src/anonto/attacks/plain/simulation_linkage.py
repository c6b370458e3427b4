r"""Simulation linkage, person by person: the same hits as `anonto.attacks.compute.simulation_linkage` without noise.

$$q_{ij} = u_i v_j \prod_{columns} P(x'_j \mid x_i)\, \frac{n(x'_j \to x_i)}{E[n(x'_j \to x_i)]}, \qquad
\text{link to } \arg\max_j q_{ij}$$

with the probabilities P of own runs, factors u and v with which the rows and the columns of q have the sum 1, and, for
columns whose cells were exchanged in pairs, the number n of opposite moves as the last round believed it.

Reference: Sinkhorn, Annals of Mathematical Statistics 35 (1964).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute.soft_matching import PASSES, ROUNDS, SMALL
from anonto.attacks.plain.method_aware_linkage import candidates_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Floats
    from anonto.attacks.compute.constraints import Constraint
    from anonto.attacks.compute.simulation import KnownTransitions

TIE = 1e-6


def link(constraints: Sequence[Constraint], transitions: Sequence[KnownTransitions]) -> Floats:
    """The probability that the row taken for each person's is hers.

    Args:
        constraints: Constraints of the columns that the intruder knows of everybody.
        transitions: What her own runs made of the values of these columns.
    """
    n_persons = transitions[0].sources.size
    # Step 1: the likelihood of each released row for each person, 0 where a constraint excludes it.
    likelihoods = np.ones((n_persons, n_persons))
    for person in range(n_persons):
        could_be: Bools = candidates_of(constraints, person)
        for one in transitions:
            likelihoods[person] *= one.probabilities(one.sources[[person]])[0][one.values] * could_be
    reciprocal = [one for one in transitions if one.is_reciprocal]
    weights, of_rows = likelihoods, np.ones(n_persons)
    for _ in range(ROUNDS if reciprocal else 2):
        # Step 2: scale persons and rows in turn, until each has the sum 1.
        for _ in range(PASSES):
            found = weights * of_rows
            found = found / found.sum(axis=1, keepdims=True)
            of_rows = of_rows / found.sum(axis=0)
        # Step 3: where cells were exchanged, the opposite moves tell how probable a move is.
        weights = likelihoods
        for one in reciprocal:
            weights = weights * _factors(one, found)
    hits = []
    for person in range(n_persons):
        # Step 4: the likeliest row, or one of several at random, is taken for the person's.
        likeliest = found[person] >= found[person].max() * (1.0 - TIE)
        hits.append(likeliest[person] / likeliest.sum())
    return np.array(hits, dtype=np.float64)


def _factors(one: KnownTransitions, found: Floats) -> Floats:
    """Persons × rows: the believed number of moves in the opposite direction, divided by the expected one."""
    n_persons = one.sources.size
    before = [int(one.own[source]) for source in one.sources]
    after = [int(value) for value in one.values]
    believed: Counter[tuple[int, int]] = Counter()
    expected: Counter[tuple[int, int]] = Counter()
    for person in range(n_persons):
        chances = one.probabilities(one.sources[[person]])[0]
        for value, chance in enumerate(chances):
            expected[before[person], value] += chance
        for row in range(n_persons):
            believed[before[person], after[row]] += found[person, row]
    opposite = [[(after[row], before[person]) for row in range(n_persons)] for person in range(n_persons)]
    return np.array([[(believed[move] + SMALL) / (expected[move] + SMALL) for move in row] for row in opposite])
