"""A release attacked in every way: what all attacks find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.risk.attribute_inference import attribute_inference
from anonto.risk.classes import real_k, uniqueness
from anonto.risk.composition import composition
from anonto.risk.distance_linkage import distance_linkage
from anonto.risk.global_linkage import global_linkage
from anonto.risk.interval_disclosure import interval_disclosure
from anonto.risk.known import scenarios
from anonto.risk.likelihood_linkage import likelihood_linkage
from anonto.risk.method_aware_linkage import method_aware_linkage
from anonto.risk.partial_knowledge import NAME as PARTIAL_KNOWLEDGE
from anonto.risk.partial_knowledge import partial_knowledge
from anonto.risk.permutation_distance import permutation_distance
from anonto.risk.row_order import row_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.risk.comparison import Comparison
    from anonto.risk.known import Known
    from anonto.risk.rate import Risk
    from anonto.rng import Seed
    from anonto.table.comparison import ComparedColumn

PERSONS_LINKED = 20_000
PERSONS_INFERRED = 1_000
PERSONS_COMPOSED = 5_000
"""Of larger tables as many persons, chosen at random, are attacked."""


def attacked(compared: Comparison, rng: np.random.Generator, seed: Seed) -> tuple[Risk, ...]:
    """What all attacks find.

    Args:
        compared: The original and its release.
        rng: For the choice of persons.
        seed: For a choice that must not depend on what was drawn before.
    """
    found: list[Risk] = []
    for one in compared.known:
        found += [one.told(risk) for risk in _of_knowledge(one, compared, rng)]
    by_rows = partial_knowledge(
        compared.cells,
        compared.columns,
        compared.names_by_step,
        compared.confidential,
        compared.amounts,
        seed.stream(PARTIAL_KNOWLEDGE),
    )
    found += [by_rows] if by_rows is not None else []
    for name in compared.masked:
        if name in compared.columns:
            found += interval_disclosure(compared.pairs[name])
    if compared.second is not None:
        found += _composed(compared, compared.second, rng)
    return (*found, *([row_order(compared.n_records)] if compared.facts["kept_order"] else []))


def _of_knowledge(who: Known, compared: Comparison, rng: np.random.Generator) -> list[Risk]:
    """What all attacks find that compare what an intruder knows with released records.

    Where everybody is linked already, no further linkage is tried: none can reach more.
    """
    known, names, swaps = who.columns, who.names, compared.swaps
    linked, fewer = (_some_persons(known[0], most, rng) for most in (PERSONS_LINKED, PERSONS_INFERRED))
    described = compared.columns.values()
    secrets = [one for one in described if one.description.role == "confidential" and one.name not in names]
    found = [distance_linkage(known, linked)]
    is_all = who.is_worst and found[0].rate == 1.0
    found += [] if is_all else [global_linkage(known, rng)]
    found += [permutation_distance(known, fewer)] if not who.is_worst else []
    found += [real_k(known), uniqueness(known, secrets)]
    if not is_all and any(set(step.names) & set(names) for step in swaps):
        found += method_aware_linkage(known, swaps, who.cells, rng.spawn(1)[0], linked)
    if not is_all:
        by_likelihood = likelihood_linkage(known, compared.laws, compared.masked, rng.spawn(1)[0], linked, swaps)
        found += [by_likelihood] if by_likelihood is not None else []
    return [*found, *(attribute_inference(known, secret, fewer) for secret in secrets)]


def _some_persons(column: ComparedColumn, most: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Persons to be attacked; None for all rows."""
    if column.n_persons > most:
        return np.sort(rng.choice(column.n_persons, most, replace=False))
    return None if column.amounts.row_by_row else np.arange(column.n_persons)


def _composed(first: Comparison, second: Comparison, rng: np.random.Generator) -> list[Risk]:
    """Both releases attacked together, in all scenarios of either that concern both."""
    sides = (first, second)
    known = dict.fromkeys(names for side in sides for names in scenarios(side.names_by_step, side.columns))
    in_both = [names for names in known if all(set(names) <= set(side.columns) for side in sides)]
    rows = first.rows
    if rows.size > PERSONS_COMPOSED:
        rows = np.sort(rng.choice(rows, PERSONS_COMPOSED, replace=False))
    return [composition(names, *sides, rng.spawn(1)[0], rows) for names in in_both]
