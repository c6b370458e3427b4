r"""Whose is each released row? The probabilities of all pairs, when every row belongs to one person.

A person i becomes a row j with likelihood w_ij. If all persons are looked for at once, no row belongs to two of them.
Factors u and v are sought, one for each person and one for each row, such that

$$q_{ij} = w_{ij}\, u_i v_j, \qquad \sum_j q_{ij} = 1, \qquad \sum_i q_{ij} = 1,$$

by scaling rows and columns in turn (Sinkhorn): the distribution over one-to-one assignments with these likelihoods has
about these probabilities. To take the likeliest row for each person finds more of them than the one likeliest
assignment does.

If cells were exchanged in pairs, the number of a that became b is the number of b that became a. After each round, what
is believed of the one number is used for the other: pairs of a person with a and a row with b get the factor

$$\frac{n_{ba} \text{ by the probabilities of this round}}{n_{ba} \text{ by the likelihoods alone}}$$

for the number of b that became a.

Reference: Sinkhorn, Annals of Mathematical Statistics 35 (1964).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs

ROUNDS, PASSES = 8, 10
"""How often the exchanges are followed, and rows and columns scaled in each round."""
SMALL = 1e-3
"""A number of exchanges that makes no difference."""
LARGEST_FACTOR, TINY = 1e8, 1e-100


@dataclass(frozen=True, slots=True, eq=False)
class PossibleLinks:
    """Persons, taken together where they are alike, and the released records that may be theirs."""

    targets: Longs
    """The persons of each pair."""
    records: Longs
    """The record of each pair."""
    weights: Floats
    """The likelihood of each pair."""
    n_persons: Floats
    """How many persons each target has."""
    n_rows: Floats
    """How many rows each record has."""


@dataclass(frozen=True, slots=True, eq=False)
class Exchanges:
    """Moves from value to value, of which as many go back."""

    moves: Longs
    """The move of each pair of a person and a record."""
    reverse: Longs
    """The opposite of each move; −1 where no pair has it."""
    expected: Floats
    """The number of opposite moves that the likelihoods let expect."""

    def factors(self, numbers: Floats) -> Floats:
        """A factor for each pair, from how many cells are believed to move with it."""
        moved = np.bincount(self.moves, weights=numbers, minlength=self.reverse.size)
        back = np.where(self.reverse >= 0, moved[self.reverse], 0.0)
        factors = np.clip((back + SMALL) / (self.expected + SMALL), 1.0 / LARGEST_FACTOR, LARGEST_FACTOR)
        return np.asarray(factors[self.moves])


def match_softly(pairs: PossibleLinks, exchanges: Sequence[Exchanges], *, are_all: bool) -> Floats:
    """The probability that a row of the record of each pair belongs to one of its persons.

    Args:
        pairs: All pairs that are possible.
        exchanges: What is known of the cells of these pairs, by column.
        are_all: Whether the persons are all whose rows were released; otherwise a row may belong to somebody else.
    """
    weights, n_persons, n_rows = pairs.weights, pairs.n_persons[pairs.targets], pairs.n_rows[pairs.records]
    of_records = np.ones(pairs.n_rows.size)
    found = weights
    for _ in range(ROUNDS if exchanges else 2):
        for _ in range(PASSES):
            found = weights * of_records[pairs.records]
            sums = np.bincount(pairs.targets, weights=found * n_rows, minlength=pairs.n_persons.size)
            found /= np.maximum(sums, TINY)[pairs.targets]
            wanted = np.bincount(pairs.records, weights=found * n_persons, minlength=of_records.size)
            np.divide(of_records, wanted, out=of_records, where=wanted > TINY)
            np.minimum(of_records, LARGEST_FACTOR if are_all else 1.0, out=of_records)
        numbers = found * n_persons * n_rows
        weights = pairs.weights
        for one in exchanges:
            weights = weights * one.factors(numbers)
    return found
