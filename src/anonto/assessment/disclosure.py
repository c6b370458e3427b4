"""What singles people out, and their risk in the population, in an original and in its release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonto.assessment.key_classes import classes_of, named_key
from anonto.assessment.population_risk import K, risk_of_key, risk_of_key_if_known
from anonto.encoding.columns import Column
from anonto.stats.singling import describe_key

if TYPE_CHECKING:
    from anonto.attacks.comparison import Comparison
    from anonto.masking.plan import Plan

SIDES = ("original", "release")


def describe_disclosure(compared: Comparison, plan: Plan) -> dict[str, Any]:
    """Facts for a report, by side: ``key`` about unique records, ``population`` where its size is known.

    The release is taken at its word: its records are classes like those of the original, although swapped ones are of
    nobody.
    """
    names = [name for name in named_key(plan) if name in compared.cells]
    if not (names and compared.n_records):
        return {}
    amounts = compared.amounts
    counts = (None, None) if amounts.row_by_row else (amounts.original, amounts.masked)
    weights = next((one.weights for one in compared.columns.values()), None) if amounts.row_by_row else None
    before = classes_of({name: _original(compared, name) for name in names}, plan, weights, counts[0])
    after = classes_of({name: compared.cells[name].masked for name in names}, plan, None, counts[1])
    pairs = zip(SIDES, (before, after), strict=True)
    found: dict[str, Any] = {"key": {side: describe_key(one.names, one.codes, one.counts) for side, one in pairs}}
    risk = risk_of_key_if_known(before, plan)
    if risk is not None:
        fraction = min(risk.classes.fraction, 1.0)
        later = risk_of_key(after, _without_population(plan), (fraction, None), K, 0)
        found["population"] = dict(zip(SIDES, (risk.to_dict(), later.to_dict()), strict=True))
    return found


def _original(compared: Comparison, name: str) -> Column:
    """A column as it was before anything was recoded."""
    before = compared.before_recoding.get(name)
    return compared.cells[name].original if before is None else Column(before.values, before.original)


def _without_population(plan: Plan) -> Plan:
    """A plan that says nothing of the population, which the release does not have."""
    table = {key: value for key, value in plan.without_weight().table.items() if key != "population"}
    return replace(plan.without_weight(), table=table)
