"""How many people of the population are unique: every estimate, with its interval, its assumption and the choice.

The intervals of Pitman, Zayatz and SNB come from a bootstrap over the class sizes: each number of classes of a size is
drawn from a Poisson distribution with the observed number as its mean, and the model is fitted again. That of the
log-linear model is analytic: chance in who is unique in the population and who is sampled. None includes the error of
a model that is wrong.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.rate import Z_95
from anonto.population.log_linear import MOST_CELLS, fit_log_linear, n_cells
from anonto.population.superpopulation import MODELS, Solution, choose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.arrays import Codes
    from anonto.population.classes import SampleClasses
    from anonto.random.streams import Seed

BOOTSTRAPS = 200
LEAST_SOLVED = 0.5
"""The share of bootstraps that must have a solution for an interval."""
OBSERVED = "observed"
COUNTED = "counted"
LOG_LINEAR = "log-linear"
ASSUMPTIONS = {
    OBSERVED: "the sample is the population",
    COUNTED: "the table of the population is complete",
    "pitman": "the classes of the population came about by Pitman's sampling formula",
    "zayatz": "the classes of the population have the sizes of those of the sample",
    "snb": "the classes of the population have one person and a negative binomial number of others",
    LOG_LINEAR: "the people of each cell are Poisson, and only pairs of columns interact",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareEstimate:
    """An estimated share with its 95 % interval."""

    model: str
    value: float | None
    """None where the model has no solution for these classes."""
    low: float | None
    high: float | None
    interval: str
    """How the interval was found: ``bootstrap``, ``analytic``, or ``exact`` where nothing is estimated."""
    assumption: str
    """The assumption of the model, in one sentence without a stop."""

    @classmethod
    def exactly(cls, model: str, value: float) -> ShareEstimate:
        """A share that was counted."""
        return cls(model=model, value=value, low=value, high=value, interval="exact", assumption=ASSUMPTIONS[model])

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PopulationUniqueness:
    """Every estimate of the share of the population that is unique."""

    estimates: tuple[ShareEstimate, ...]
    chosen: str
    """The model of the best estimate: what was counted, or the choice of Dankar's rule."""
    by_rule: str
    """The choice of Dankar's rule."""
    log_linear: Mapping[str, Any]
    """The chosen log-linear model, or why there is none."""


def estimate_uniqueness(classes: SampleClasses, codes: Codes, seed: Seed) -> PopulationUniqueness:
    """Estimate the share of the population that is unique.

    Args:
        classes: The classes of the sample.
        codes: Their values: classes × columns.
        seed: For the bootstrap.
    """
    observed = ShareEstimate.exactly(OBSERVED, classes.n_unique / classes.n_persons)
    if classes.fraction >= 1:
        return PopulationUniqueness((observed,), OBSERVED, OBSERVED, {"left_out": "the sample is the population"})
    found = {model: _estimate(model, classes, seed) for model in MODELS}
    by_rule = chosen = choose({model: one.value for model, one in found.items()}, classes.fraction)
    estimates = [observed, *found.values()]
    by_cells, told = _by_cells(classes, codes)
    estimates += [by_cells] if by_cells is not None else []
    if classes.known_unique is not None:
        estimates.append(ShareEstimate.exactly(COUNTED, classes.known_unique / classes.n_population))
        chosen = COUNTED
    return PopulationUniqueness(tuple(estimates), chosen, by_rule, told)


def _estimate(model: str, classes: SampleClasses, seed: Seed) -> ShareEstimate:
    """The estimate of a superpopulation model."""
    solution = MODELS[model](classes.histogram, classes.fraction, None) if classes.n_unique else Solution(0.0)
    low, high = None, None
    if solution is not None:
        low, high = _bootstrap(model, classes, solution, seed)
    return ShareEstimate(
        model=model,
        value=None if solution is None else solution.share,
        low=low,
        high=high,
        interval="bootstrap",
        assumption=ASSUMPTIONS[model],
    )


def _bootstrap(model: str, classes: SampleClasses, solution: Solution, seed: Seed) -> tuple[float | None, float | None]:
    """The middle 95 % of the estimates for class sizes drawn again; None where too few have one."""
    rng = seed.stream("population", model)
    drawn = [one for _ in range(BOOTSTRAPS) if (one := classes.histogram.resampled(rng)).n_classes]
    found = [MODELS[model](one, classes.fraction, solution.point) for one in drawn]
    shares = [one.share for one in found if one is not None]
    if len(shares) < LEAST_SOLVED * BOOTSTRAPS:
        return None, None
    low, high = np.quantile(shares, [0.025, 0.975])
    return min(float(low), solution.share), max(float(high), solution.share)


def _by_cells(classes: SampleClasses, codes: Codes) -> tuple[ShareEstimate | None, dict[str, Any]]:
    """The estimate of the log-linear model, and what it is; None if its table would be too large."""
    if codes.shape[1] == 1:
        return None, {"left_out": "there is one quasi-identifier, and a model of it would be the sample itself"}
    cells = n_cells(codes)
    if cells > MOST_CELLS:
        return None, {"left_out": f"the table of the quasi-identifiers has {cells:,} cells, more than {MOST_CELLS:,}"}
    if not classes.n_unique:
        return None, {"left_out": "nobody is unique in the sample"}
    found = fit_log_linear(codes, classes.sizes, classes.fraction)
    value = found.alone / classes.n_persons
    margin = Z_95 * found.deviation / classes.n_population
    estimate = ShareEstimate(
        model=LOG_LINEAR,
        value=value,
        low=max(0.0, value - margin),
        high=min(1.0, value + margin),
        interval="analytic",
        assumption=ASSUMPTIONS[LOG_LINEAR],
    )
    told = {
        "interactions": [list(pair) for pair in found.interactions],
        "criterion": found.criterion,
        "unique_in_both": found.alone,
        "uniques_linked": found.matched,
    }
    return estimate, told
