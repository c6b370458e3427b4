"""The population of a sample: from a sampling fraction, a number of people, weights, or a table that is counted."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.assessment.key_classes import count_key
from anonto.encoding.records import count_records, distinct_rows
from anonto.errors import ParameterError, PlanError
from anonto.masking.plan_sections import reading_options
from anonto.population.classes import SampleClasses
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Longs
    from anonto.assessment.key_classes import KeyClasses
    from anonto.masking.plan import Plan

FROM_FRACTION = "the sampling fraction"
FROM_SIZE = "the number that was given"
FROM_TABLE = "a table of the population"
FROM_WEIGHTS = "the sampling weights"


def population_of(
    key: KeyClasses, plan: Plan, sampling_fraction: float | None, population: Any
) -> tuple[SampleClasses, str]:
    """The classes of a sample with the population, and where its size comes from."""
    if sampling_fraction is not None and population is not None:
        raise two_populations()
    n = int(key.counts.sum())
    if sampling_fraction is not None:
        return _sampled(key, n / _require_fraction(sampling_fraction)), FROM_FRACTION
    given = plan.population if population is None else population
    if given is None and key.people is not None:
        total = float(key.people.sum())
        _require_size(total, n)
        fractions = np.minimum(key.counts / np.maximum(key.people, key.counts), 1.0)
        return SampleClasses(key.counts, fractions, total), FROM_WEIGHTS
    if given is None:
        raise unknown_population()
    if isinstance(given, int | float | np.number) and not isinstance(given, bool):
        _require_size(float(given), n)
        return _sampled(key, float(given)), FROM_SIZE
    return _counted(key, _in_folder(given, plan), plan), FROM_TABLE


def _sampled(key: KeyClasses, n_population: float) -> SampleClasses:
    """Every person was sampled with the same probability."""
    fraction = float(key.counts.sum()) / n_population
    return SampleClasses(key.counts, np.full(key.counts.size, fraction), n_population)


def _require_fraction(given: Any) -> float:
    is_number = isinstance(given, int | float | np.number) and not isinstance(given, bool)
    if not is_number or not 0 < given <= 1:
        raise ParameterError("sampling_fraction", "a number above 0 and at most 1", given)
    return float(given)


def _require_size(n_people: float, n_persons: int) -> None:
    if math.isnan(n_people) or n_people < n_persons:
        raise population_below_sample(n_people, n_persons)


def _in_folder(given: Any, plan: Plan) -> Any:
    """A path of a plan file starts at its folder."""
    if isinstance(given, str | os.PathLike) and plan.folder is not None:
        inside = plan.folder / given
        return inside if inside.exists() else Path(given)
    return given


def _counted(key: KeyClasses, table: Any, plan: Plan) -> SampleClasses:
    """The people of each class, from a table of the population."""
    others = count_key(table, _plan_of_key(plan, key.names))
    n_population = int(others.counts.sum())
    _require_size(float(n_population), int(key.counts.sum()))
    known = _match(key, others)
    absent = int(key.counts[known < key.counts].sum())
    if absent:
        raise not_in_population(absent)
    return SampleClasses(
        key.counts, key.counts / known, float(n_population), known, int(np.count_nonzero(others.counts == 1))
    )


def _plan_of_key(plan: Plan, names: Sequence[str]) -> Plan:
    """The plan of a table with one row for each of the people, of which the quasi-identifiers alone are needed."""
    table = reading_options(plan.table)
    return replace(plan, columns={name: plan.description(name) for name in names}, steps=(), table=table)


def _match(key: KeyClasses, others: KeyClasses) -> Longs:
    """The people of each class of the sample; 0 where the population has none."""
    n_own, both = key.codes.shape[0], []
    for place, (own, other) in enumerate(zip(key.values, others.values, strict=True)):
        numbers = {text: number for number, text in enumerate(own)}
        new = np.array([*(numbers.setdefault(text, len(numbers)) for text in other), -1], dtype=np.int32)
        both.append(np.concatenate([key.codes[:, place], new[others.codes[:, place]]]))
    codes, class_of = distinct_rows(both)
    people = _sum_of(class_of[n_own:], codes, others.counts)
    return np.asarray(people[class_of[:n_own]])


def _sum_of(class_of: Codes, codes: Codes, counts: Longs) -> Longs:
    return np.asarray(count_records(class_of, codes.shape[0], counts))


def unknown_population() -> PlanError:
    """A risk in the population without a population."""
    return PlanError(
        "The size of the population is not known: give the sampling fraction, the number of people or a table of "
        "them, or name it in the plan's table section, as population or by a weight."
    )


def two_populations() -> ParameterError:
    """A sampling fraction and a population."""
    return ParameterError("population", "left out where the sampling fraction is given", "both")


def population_below_sample(n_people: float, n_persons: int) -> ParameterError:
    """A population with fewer people than the sample."""
    return ParameterError(
        "population", f"at least as large as the sample, {count_of(n_persons, 'person')}", round(n_people, 2)
    )


def not_in_population(n_persons: int) -> PlanError:
    """Persons of the sample that the population does not have."""
    return PlanError(
        f"{count_of(n_persons, 'person')} of the sample {'is' if n_persons == 1 else 'are'} in classes of which the "
        "table of the population has fewer people; give the population that the sample was drawn from, with its "
        "quasi-identifiers written as in the sample."
    )
