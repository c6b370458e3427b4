"""Risk of being identified, by what the intruder knows and wants: prosecutor, journalist, marketer, and k-map.

The prosecutor knows that a person is in the sample and looks for her: her risk is 1/f in a class of f sampled persons.
The journalist looks for anybody, with a register of the population: the risk is 1/F. The marketer links all records
with the register, and the share of right links counts. Where F is not known, 1/F and the chance of F < k come from
Pitman's sampling formula, at its bounds from Ewens' formula, or from the certainty that sampled uniques are unique in
the population (see `anonto.population.individual`); their intervals are analytic, for chance in F alone.

Reference: El Emam, Guide to the De-Identification of Personal Health Information (2013), ch. 16; Sweeney, k-map (2002).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.rate import Z_95
from anonto.population.individual import chance_below, individual_risk
from anonto.population.superpopulation import fit_pitman

if TYPE_CHECKING:
    from anonto.arrays import Floats
    from anonto.population.classes import SampleClasses

IN_SAMPLE = "the intruder knows that the person is in the sample"
BY_PITMAN = "the classes of the population came about by Pitman's sampling formula"
ALL_STAY_UNIQUE = "who is unique in the sample is unique in the population, because hardly anybody is not"
ALMOST_ONE = 1 - 1e-9
FROM_TABLE = "the table of the population is complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntruderRisk:
    """The risk from one kind of intruder; 0 is safe, 1 is disclosed."""

    intruder: str
    mean: float
    """Over all sampled persons, with its 95 % interval."""
    low: float
    high: float
    highest: float | None
    """The risk of the person with the highest; None where only the mean has a meaning."""
    at_risk: float | None
    """The share of sampled persons whose own risk is above 1/k."""
    interval: str
    assumption: str

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def intruder_risks(classes: SampleClasses, k: int) -> tuple[IntruderRisk, ...]:
    """The risk from each intruder.

    Args:
        classes: The classes of the sample.
        k: Persons at risk are those in classes of fewer than k.
    """
    sizes, n = classes.sizes, classes.n_persons
    is_exact = classes.known is not None or classes.fraction >= 1
    assumed, discount, assumption = (classes, 0.0, FROM_TABLE) if is_exact else _model_of(classes)
    individual, interval = individual_risk(assumed, discount), "exact" if is_exact else "analytic"
    mean = float(sizes @ individual) / n
    # 1/F is at most 1/f, which bounds its variance.
    margin = 0.0 if is_exact else _margin(sizes, np.maximum(individual / sizes - individual**2, 0.0))
    at_risk = float(sizes[individual > 1 / k].sum()) / n
    below = chance_below(assumed, k, discount)
    k_map = float(sizes @ below) / n
    of_map = 0.0 if is_exact else _margin(sizes, below * (1 - below))
    linked = IntruderRisk(
        intruder="marketer",
        **_with_margin(mean, margin),
        highest=None,
        at_risk=None,
        interval=interval,
        assumption=assumption,
    )
    return (
        IntruderRisk(
            intruder="prosecutor",
            mean=classes.n_classes / n,
            low=classes.n_classes / n,
            high=classes.n_classes / n,
            highest=1 / int(sizes.min()),
            at_risk=float(sizes[sizes < k].sum()) / n,
            interval="exact",
            assumption=IN_SAMPLE,
        ),
        replace(linked, intruder="journalist", highest=float(individual.max()), at_risk=at_risk),
        linked,
        replace(linked, intruder="k-map", **_with_margin(k_map, of_map), at_risk=k_map),
    )


def _model_of(classes: SampleClasses) -> tuple[SampleClasses, float, str]:
    """The classes with Pitman's fractions, his α, and the assumption; at the bounds of α, the limit of the formula."""
    found = fit_pitman(classes.histogram)
    if found.alpha == 1:
        return classes, ALMOST_ONE, ALL_STAY_UNIQUE
    fraction = (classes.n_persons + found.theta) / (classes.n_population + found.theta)
    fractions = np.minimum(classes.fractions * (fraction / classes.fraction), 1.0)
    return replace(classes, fractions=fractions), found.alpha, BY_PITMAN


def _margin(sizes: Any, variances: Floats) -> float:
    """Half the interval of a mean over persons, from the variance of what is true of each class."""
    return Z_95 * math.sqrt(float((sizes.astype(np.float64) ** 2) @ variances)) / float(sizes.sum())


def _with_margin(mean: float, margin: float) -> dict[str, Any]:
    return {"mean": mean, "low": max(0.0, mean - margin), "high": min(1.0, mean + margin)}
