r"""Likelihood linkage, person by person: the same hits as `anonto.attacks.compute.likelihood_linkage`.

$$\text{link to } \arg\max_j \prod_{columns} P(x'_j \mid x_i)$$

with the probability that the method replaces a value of the person by a released one. It attacks methods that mask
every cell with a draw of its own; where the noise of columns is correlated, the compiled way follows the correlation.

Reference: Fuller, Journal of Official Statistics 9 (1993).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats
    from anonto.attacks.compute.likelihood import StepLikelihood

TIE = 1e-9
"""Logarithms that differ by less are the same."""


def link(steps: Sequence[StepLikelihood]) -> Floats:
    """The probability that the row taken for each person's is hers.

    Args:
        steps: The steps that mask all known columns, each with the probabilities of its method.
    """
    hits = []
    for person in range(steps[0].codes[0].size):
        scores = np.zeros(steps[0].released[0].size)
        for step in steps:
            for place in range(len(step.names)):
                # Step 1: the logarithm of the probability of every released cell, given the person's cell.
                scores += _logarithms(step, place, person)[step.released[place]]
        # Step 2: the intruder takes the likeliest row, or one of several at random.
        likeliest = scores >= scores.max() - TIE if np.isfinite(scores.max()) else np.ones(scores.size, dtype=np.bool_)
        # Step 3: a hit if it is the person's own row, whose number is the same in both tables.
        hits.append(likeliest[person] / likeliest.sum())
    return np.array(hits, dtype=np.float64)


def _logarithms(step: StepLikelihood, place: int, person: int) -> Floats:
    """The logarithm of the probability of each released value, and last that of a missing cell."""
    chances = np.zeros(step.n_released[place] + 1)
    if step.codes[place][person] < 0:
        chances[-1] = 1.0  # a missing cell stays missing
    else:
        chances[:-1] = step.probabilities(place, np.array([person]))[0]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(chances))
