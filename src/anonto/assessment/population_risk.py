"""``anonto.population_risk``: from a table and its plan to the risk of its persons in the population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.assessment.key_classes import count_key, named_key
from anonto.assessment.population import population_of
from anonto.errors import ParameterError, PlanError
from anonto.masking.plan import plan_of
from anonto.population.individual import individual_risk
from anonto.population.intruders import intruder_risks
from anonto.population.uniqueness import estimate_uniqueness
from anonto.random.streams import seed_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from anonto.arrays import Floats
    from anonto.assessment.key_classes import KeyClasses
    from anonto.masking.plan import Plan
    from anonto.population.classes import SampleClasses
    from anonto.population.intruders import IntruderRisk
    from anonto.population.uniqueness import PopulationUniqueness

K = 5
LEAST_WEIGHT = 1.05
"""A mean weight below it is that of scaled weights."""
DANKAR = "dankar"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PopulationRisk:
    """The risk of the persons of a sample in the population that it was drawn from."""

    columns: tuple[str, ...]
    """The quasi-identifiers."""
    classes: SampleClasses
    estimated_from: str
    """Where the size of the population comes from."""
    k: int
    estimated: PopulationUniqueness
    """Estimates of uniqueness with their intervals and assumptions."""
    intruders: tuple[IntruderRisk, ...]
    individual: Floats
    """Benedetti and Franconi's risk of each record, in the order of the records; on a cluster that of each class."""

    @property
    def chosen(self) -> str:
        """The model of the best estimate of uniqueness."""
        return self.estimated.chosen

    @property
    def uniqueness(self) -> dict[str, float | None]:
        """The share of the population that is unique, by model; under ``dankar`` by the one that his rule chooses."""
        found = {one.model: one.value for one in self.estimated.estimates}
        return {**found, DANKAR: found[self.estimated.by_rule]}

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the risk of single persons."""
        classes, log_linear = self.classes, dict(self.estimated.log_linear)
        if "interactions" in log_linear:
            log_linear["interactions"] = [[self.columns[one] for one in pair] for pair in log_linear["interactions"]]
        sizes, by_class = classes.sizes, individual_risk(classes)
        return {
            "columns": list(self.columns),
            "persons": classes.n_persons,
            "population": classes.n_population,
            "sampling_fraction": classes.fraction,
            "estimated_from": self.estimated_from,
            "classes": classes.n_classes,
            "unique_in_sample": classes.n_unique,
            "k": self.k,
            "below_k_in_sample": int(sizes[sizes < self.k].sum()),
            "chosen": self.chosen,
            "population_uniqueness": [one.to_dict() for one in self.estimated.estimates],
            "log_linear": log_linear,
            "intruders": [one.to_dict() for one in self.intruders],
            "individual": {"mean": float(sizes @ by_class) / classes.n_persons, "highest": float(by_class.max())},
        }


def population_risk(
    table: Any,
    plan: Plan | Mapping[str, Any] | str | os.PathLike[str],
    *,
    sampling_fraction: float | None = None,
    population: Any = None,
    k: int = K,
    seed: int = 0,
) -> PopulationRisk:
    """Estimate the risk of the persons of a sample in the population.

    Args:
        table: The sample: pandas, polars, pyarrow, a Spark DataFrame or a path.
        plan: Names the quasi-identifiers, and perhaps the persons, their weights and the population.
        sampling_fraction: The share of the population that was sampled, above 0 and at most 1.
        population: The number of people of the population, or a table of them with the quasi-identifiers. Without
            both, the plan's ``population`` is used, or the sum of its weights.
        k: Persons are at risk in classes of fewer than k people.
        seed: For the bootstrap of the intervals.

    Returns:
        ``.uniqueness`` by model, ``.individual`` with the risk of each record, ``.intruders`` and ``.to_dict()``.
    """
    chosen = plan_of(plan)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError("k", "a whole number, 1 or more", k)
    return risk_of_key(count_key(table, chosen), chosen, (sampling_fraction, population), int(k), seed)


def risk_if_known(table: Any, plan: Plan, *, k: int = K, **given: Any) -> PopulationRisk | None:
    """The risk where the caller or the plan says how large the population is; else None.

    Weights say so if they are numbers of people: scaled ones add up to the number of records.
    """
    is_told = plan.population is not None or any(one is not None for one in given.values())
    if is_told:
        return population_risk(table, plan, k=k, **given)
    if plan.weight is None or not named_key(plan):
        return None
    return risk_of_key_if_known(count_key(table, plan), plan, k=k)


def risk_of_key_if_known(key: KeyClasses, plan: Plan, *, k: int = K) -> PopulationRisk | None:
    """The risk of counted classes where the plan says how large the population is; else None."""
    if plan.population is None:
        people = 0.0 if key.people is None else float(key.people.sum())
        if people < LEAST_WEIGHT * key.counts.sum() or people < k:
            return None
    return risk_of_key(key, plan, (None, None), k, 0)


def risk_of_key(key: KeyClasses, plan: Plan, given: tuple[float | None, Any], k: int, seed: int) -> PopulationRisk:
    """The risk of counted classes; ``given`` has the sampling fraction and the population."""
    if not key.counts.size:
        raise no_persons()
    classes, source = population_of(key, plan, *given)
    if k > classes.n_population:
        raise k_above_population(k, int(classes.n_population))
    by_class = individual_risk(classes)
    return PopulationRisk(
        columns=key.names,
        classes=classes,
        estimated_from=source,
        k=k,
        estimated=estimate_uniqueness(classes, key.codes, seed_of(seed)),
        intruders=intruder_risks(classes, k),
        individual=by_class if key.class_of is None else by_class[key.class_of],
    )


def no_persons() -> PlanError:
    """A table without records."""
    return PlanError("The table has no record, so there is no risk to estimate; give a table with records.")


def k_above_population(k: int, n_people: int) -> ParameterError:
    """A k that no class can have."""
    return ParameterError("k", f"at most the number of people of the population, {n_people:,}", k)
