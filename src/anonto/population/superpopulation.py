r"""Uniqueness in the population, estimated from the class sizes of a sample by models of how class sizes come about.

Notation: n sampled persons in u classes, of which $s_i$ have i persons; π is the sampling fraction and N = n/π.

- **Pitman** (Hoshino 2001): class sizes follow Pitman's sampling formula. θ and 0 < α < 1 maximise

  $$\sum_{i=1}^{u-1} \log(\theta + i\alpha) - \sum_{i=1}^{n-1} \log(\theta + i)
  + \sum_i s_i \sum_{j=1}^{i-1} \log(j - α),$$

  and $N^{\alpha}\,\Gamma(\theta + 1) / \Gamma(\theta + \alpha)$ people are unique.
- **Zayatz** (1991): if population classes had the sizes of the sample's, a class of one sampled person would be unique
  in the population with probability $p = s_1 h_1 / \sum_i s_i h_i$, where $h_i$ is the probability that a sample of n
  of N has one of i persons; $p\,s_1/π$ people are unique.
- **SNB**, slide negative binomial (Chen and Keller-McNulty 1998): the K classes of the population have 1 + X people,
  X negative binomial with α and β. Both are found from the expected numbers of classes with one and two sampled
  persons, K by Shlosser's estimator (1981); $Kβ^α$ people are unique.

**Choice** (Dankar et al. 2012): Pitman up to π = 0.1, or Zayatz where Pitman has no solution; above, the smaller of
SNB and Zayatz.

References: Hoshino, J. Official Statistics 17 (2001); Zayatz, US Bureau of the Census (1991); Chen and Keller-McNulty,
J. Official Statistics 14 (1998); Shlosser, Engineering Cybernetics 19 (1981); Dankar, El Emam, Neisa and Roffey, BMC
Medical Informatics and Decision Making 12 (2012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Floats
    from anonto.population.classes import SizeCounts

    Model = Callable[[SizeCounts, float, Floats | None], "Solution | None"]

FEW = 0.1
"""Up to this sampling fraction Pitman's model is chosen."""
INSIDE = 1e-6
"""A parameter this close to its bound has no maximum inside."""
_STARTS = tuple((a, b) for a in (0.0, -2.0, -4.0, 2.0) for b in (0.0, -3.0, -6.0, 3.0))
_ACCURATE = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The share of the population that is unique, and the parameters of the model, where others may start."""

    share: float
    point: Floats | None = None


def pitman(classes: SizeCounts, fraction: float, near: Floats | None = None) -> Solution | None:
    """By Pitman's sampling formula; None without a solution."""
    from scipy.special import gammaln

    found = fit_pitman(classes, near)
    if not found.is_inside or found.point is None:
        return None
    theta, alpha = found.theta, found.alpha
    with np.errstate(all="ignore"):
        n_population = classes.n_persons / fraction
        share = math.exp(gammaln(theta + 1) - gammaln(theta + alpha) + (alpha - 1) * math.log(n_population))
    return Solution(min(share, 1.0), found.point)


@dataclass(frozen=True, slots=True, eq=False)
class PitmanFit:
    """The most likely parameters of Pitman's sampling formula."""

    theta: float
    alpha: float
    """At its bound of 1 hardly any class has two persons; at 0 the formula is that of Ewens."""
    is_inside: bool
    """False where the likelihood has no maximum between the bounds of α."""
    point: Floats | None = None
    """Where others may start to search."""


def fit_pitman(classes: SizeCounts, near: Floats | None = None) -> PitmanFit:
    """The parameters of Pitman's sampling formula for class sizes, from a point near them if one is known."""
    from scipy.optimize import minimize
    from scipy.special import expit

    sizes, counts, n, u = classes.sizes, classes.counts, classes.n_persons, classes.n_classes
    if u < 2 or u == n:
        return PitmanFit(0.0, float(u == n), is_inside=False)
    start = np.array([math.log(max(u / math.log(n + 1.0), 1.0)), 0.0]) if near is None else near
    with np.errstate(all="ignore"):
        found = minimize(_pitman_loss, start, (sizes, counts, n, u), method="BFGS", jac=True, options={"gtol": 1e-9})
        alpha = float(expit(found.x[1]))
        theta = float(np.exp(found.x[0])) - alpha
        is_solved = math.isfinite(found.fun) and np.abs(found.jac).max() <= _ACCURATE
    if is_solved and INSIDE < alpha < 1 - INSIDE:
        return PitmanFit(theta, alpha, is_inside=True, point=found.x)
    return PitmanFit(0.0, 1.0, is_inside=False) if alpha > 1 / 2 else PitmanFit(theta, 0.0, is_inside=False)


def _pitman_loss(point: Floats, sizes: Floats, counts: Floats, n: float, u: float) -> tuple[float, Floats]:
    """The negative log-likelihood per person at (log(θ + α), logit α), and its gradient there."""
    from scipy.special import digamma, expit, gammaln

    alpha, sum_of_both = expit(point[1]), np.exp(point[0])
    theta = sum_of_both - alpha
    ratio = theta / alpha
    value = (
        (u - 1) * np.log(alpha)
        + gammaln(ratio + u)
        - gammaln(ratio + 1)
        - gammaln(theta + n)
        + gammaln(theta + 1)
        + counts @ (gammaln(sizes - alpha) - gammaln(1 - alpha))
    )
    in_ratio = digamma(ratio + u) - digamma(ratio + 1)
    by_theta = in_ratio / alpha - digamma(theta + n) + digamma(theta + 1)
    by_alpha = (u - 1) / alpha - in_ratio * ratio / alpha - counts @ (digamma(sizes - alpha) - digamma(1 - alpha))
    gradient = np.array([by_theta * sum_of_both, (by_alpha - by_theta) * alpha * (1 - alpha)])
    return -float(value) / n, -gradient / n


def zayatz(classes: SizeCounts, fraction: float, near: Floats | None = None) -> Solution:
    """If the classes of the population had the sizes of the sample's."""
    del near
    alone = classes.of_size(1)
    if not alone:
        return Solution(0.0)
    chances = _chance_of_one(classes, fraction)
    among = float(classes.counts @ chances)
    return Solution(alone * alone * chances[classes.sizes == 1].item() / (among * classes.n_persons))


def _chance_of_one(classes: SizeCounts, fraction: float) -> Floats:
    """For each class size, the hypergeometric probability that one of its people is in the sample."""
    n, n_population = classes.n_persons, classes.n_persons / fraction
    earlier = np.arange(max(float(classes.sizes.max()) - 1.0, 0.0))
    with np.errstate(divide="ignore"):
        missed = np.log(np.maximum(n_population - n - earlier, 0.0)) - np.log(n_population - 1.0 - earlier)
    all_missed = np.exp(np.concatenate([[0.0], np.cumsum(missed)]))
    return np.asarray(classes.sizes * fraction * all_missed[classes.sizes.astype(np.int64) - 1])


def snb(classes: SizeCounts, fraction: float, near: Floats | None = None) -> Solution | None:
    """By the slide negative binomial model; None without a solution.

    Of several solutions, the one is taken whose classes have the most nearly as many people as the population.
    """
    from scipy.optimize import root
    from scipy.special import expit

    alone, pairs = classes.of_size(1), classes.of_size(2)
    if not alone or not pairs:
        return None if alone else Solution(0.0)
    n_classes, n_population = population_classes(classes, fraction), classes.n_persons / fraction
    best: Solution | None = None
    nearest = math.inf
    for start in _STARTS if near is None else (near,):
        with np.errstate(all="ignore"):
            found = root(_snb_misses, start, (n_classes, fraction, alone, pairs))
            if not found.success or np.abs(found.fun).max() > _ACCURATE:
                continue
            alpha, beta = float(np.exp(found.x[0])), float(expit(found.x[1]))
            people = n_classes * (1 + alpha * (1 - beta) / beta) if beta else math.inf
        share = n_classes * beta**alpha / n_population
        if share <= 1 and abs(people - n_population) < nearest:
            best, nearest = Solution(share, found.x), abs(people - n_population)
    return best


def _snb_misses(point: Floats, n_classes: float, fraction: float, alone: float, pairs: float) -> list[float]:
    """How far, in relation, the expected numbers of classes of one and of two sampled persons are from the true ones.

    The number F of people of a class has the generating function x (β / (1 − (1 − β) x))^α, that of its sampled people
    the same function of 1 − π + π x; the first two derivatives at x = 0 give the two probabilities.
    """
    from scipy.special import expit

    alpha, beta = np.exp(point[0]), expit(point[1])
    rest = (1 - fraction) * (1 - beta)
    left = 1 - rest
    common = n_classes * (beta / left) ** alpha
    one = common * fraction * (alpha * rest / left + 1)
    two = common * alpha * fraction**2 * (1 - beta) * (2 - (1 - alpha) * rest) / (2 * left**2)
    return [one / alone - 1, two / pairs - 1]


def population_classes(classes: SizeCounts, fraction: float) -> float:
    """Shlosser's estimate of the number of classes in the population."""
    sizes, counts = classes.sizes, classes.counts
    missed = (1 - fraction) ** sizes @ counts
    one = sizes * fraction * (1 - fraction) ** (sizes - 1) @ counts
    return float(classes.n_classes + classes.of_size(1) * missed / one)


MODELS: dict[str, Model] = {"pitman": pitman, "zayatz": zayatz, "snb": snb}


def choose(estimates: dict[str, float | None], fraction: float) -> str:
    """The model that Dankar's rule chooses from estimates by model."""
    if fraction <= FEW:
        return "zayatz" if estimates["pitman"] is None else "pitman"
    by_zayatz, by_snb = estimates["zayatz"], estimates["snb"]
    return "snb" if by_snb is not None and by_zayatz is not None and by_snb <= by_zayatz else "zayatz"
