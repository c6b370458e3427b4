r"""Risk of each sampled person: the chance to be the right one among the people of the population with equal values.

If f of the F people of a class were sampled, each with probability p, F has the distribution of the trials until the
f-th success, a negative binomial. Benedetti and Franconi's risk is the mean of 1/F,

$$r = \mathrm{E}[1/F \mid f] = \frac{p}{f}\,{}_2F_1(1, 1; f + 1; 1 - p)
= p \int_0^1 \frac{t^{f-1}}{p + (1 - p) t}\,dt.$$

For f = 1 it is p/(1 − p) · log(1/p), and for p = 1 it is 1/f. Where many people are unique in the population it is far
too low. Under Pitman's sampling formula, the others are negative binomial with f − α in place of f and
p = (n + θ)/(N + θ): the mean of 1/F is then $\frac{p}{f}\,{}_2F_1(1 + α, 1; f + 1; 1 - p)$, the former for α = 0.

The series has positive terms only, so that nothing is cancelled; where it would converge slowly, which is for small f
and p below 0.1, the integral is summed at nodes that follow the logarithm of $1 - (1 - p) t$.

References: Benedetti and Franconi, NTTS 1998; Franconi and Polettini, PSD 2004; Rinott, PSD 2003; Pitman, Combinatorial
Stochastic Processes (2006), ch. 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats
    from anonto.population.classes import SampleClasses

SMALL_SIZE = 20
SMALL_FRACTION = 0.1
NODES = 200
KINDS_AT_ONCE = 4_096
PRECISION = 1e-17
"""Terms of the series below this part of the sum are left out."""


def individual_risk(classes: SampleClasses, discount: float = 0.0) -> Floats:
    """The risk of each person of a class: 1/F where F is known, its mean where it is estimated.

    Args:
        classes: The classes.
        discount: Pitman's α; 0 for the risk of Benedetti and Franconi.
    """
    if classes.known is not None:
        return 1.0 / classes.known
    sizes, fractions, kind_of = classes.kinds
    return np.asarray(mean_inverse(sizes, fractions, discount)[kind_of])


def mean_inverse(sizes: Floats, fractions: Floats, discount: float = 0.0) -> Floats:
    """The mean of 1/F for classes of these sizes, of which these fractions were sampled."""
    found = np.empty(sizes.size)
    slow = np.flatnonzero((sizes < SMALL_SIZE) & (fractions < SMALL_FRACTION))
    fast = np.flatnonzero((sizes >= SMALL_SIZE) | (fractions >= SMALL_FRACTION))
    found[fast] = _series(sizes[fast], 1.0 - fractions[fast], discount) * fractions[fast] / sizes[fast]
    for first in range(0, slow.size, KINDS_AT_ONCE):
        some = slow[first : first + KINDS_AT_ONCE]
        found[some] = _integral(sizes[some, None], fractions[some, None], discount)
    return found


def _series(sizes: Floats, missed: Floats, discount: float) -> Floats:
    """The hypergeometric function ₂F₁(1 + α, 1; f + 1; q), term by term."""
    total, term = np.ones(sizes.size), np.ones(sizes.size)
    number = 0.0
    while np.any(term > PRECISION * total):
        term = term * missed * (number + 1.0 + discount) / (sizes + 1.0 + number)
        total += term
        number += 1.0
    return total


def _integral(sizes: Floats, fractions: Floats, discount: float) -> Floats:
    """The integral of t^(f − 1) (p/(1 − (1 − p) t))^(f − α), with 1 − (1 − p) t = p^v for v from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    v, logs = (nodes + 1) / 2, np.log(fractions)
    missed = 1.0 - fractions
    t = -np.expm1(v * logs) / missed
    values = t ** (sizes - 1) * np.exp(((1 - v) * (sizes - discount) + v) * logs) * (-logs / missed)
    return np.asarray(values @ weights / 2)


def chance_below(classes: SampleClasses, k: int, discount: float = 0.0) -> Floats:
    """The chance that a class has fewer than k people in the population: 0 or 1 where their number is known."""
    from scipy.special import betainc

    if classes.known is not None:
        return (classes.known < k).astype(np.float64)
    sizes, fractions, kind_of = classes.kinds
    small: Bools = sizes < k
    found = np.zeros(sizes.size)
    found[small] = betainc(sizes[small] - discount, k - sizes[small], fractions[small])
    return np.asarray(found[kind_of])
