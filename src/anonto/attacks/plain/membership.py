r"""Membership, pair by pair: the same areas and rates as `anonto.attacks.compute.membership`.

$$AUC = P(s_{member} > s_{stranger}) + \tfrac12 P(s_{member} = s_{stranger}), \qquad
\Lambda(x) = \frac1n \sum_j \frac{f(y_j \mid x)}{p(y_j)}$$

References: Hanley, McNeil, Radiology 143 (1982); Carlini et al., IEEE S&P 2022.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonto.arrays import Floats


def area(members: Floats, strangers: Floats) -> float:
    """The share of pairs of a member and a stranger in which the member's score is higher; ties count half."""
    wins = 0.0
    for one in members.tolist():
        for other in strangers.tolist():
            wins += 1.0 if one > other else 0.5 if one == other else 0.0
    return wins / (members.size * strangers.size)


def true_positives(members: Floats, strangers: Floats, false_positives: float) -> float:
    """The share of members who are recognised where this share of strangers is taken for members."""
    left, recognised = false_positives * strangers.size, 0.0
    for score in sorted({*members.tolist(), *strangers.tolist()}, reverse=True):
        # Step 1: everybody with the highest score that is left is taken for a member, or as many as are allowed.
        n_members, n_strangers = int(np.sum(members == score)), int(np.sum(strangers == score))
        share = 1.0 if n_strangers <= left else left / n_strangers
        recognised += share * n_members
        # Step 2: the strangers among them count against the allowance.
        left -= n_strangers
        if left < 0:
            break
    return recognised / members.size


def likelihood_ratios(persons: Floats, others: Floats) -> Floats:
    """How much likelier a release is with each person than without her.

    Args:
        persons: Persons × released records: the probability that the method makes the record of the person.
        others: The same for persons who were not masked.
    """
    out = np.zeros(persons.shape[0])
    for place in range(persons.shape[1]):
        # Step 1: how likely the record is of anybody: of the others, and of one more whom it fits as well as anybody.
        likeliest = max(*persons[:, place].tolist(), *others[:, place].tolist())
        before = (float(others[:, place].sum()) + likeliest) / (others.shape[0] + 1)
        # Step 2: how much likelier it is of the person.
        if before > 0:
            out += persons[:, place] / before
    return np.asarray(out / persons.shape[1])
