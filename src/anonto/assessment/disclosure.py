"""What singles people out, and their risk in the population, in an original and in its release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonto.assessment.key_classes import count_key
from anonto.assessment.population_risk import population_risk, risk_if_known
from anonto.encoding.frame_adapter import is_spark_frame
from anonto.stats.singling import describe_key

if TYPE_CHECKING:
    from anonto.assessment.compare import GivenRelease
    from anonto.masking.plan import Plan

SIDES = ("original", "release")


def describe_disclosure(original: Any, release: GivenRelease) -> dict[str, Any]:
    """Facts for a report, by side: ``key`` about unique records, ``population`` where its size is known.

    The release is taken at its word: its records are classes like those of the original, although swapped ones are of
    nobody. Nothing is said of tables on a cluster.
    """
    plan = release.plan
    if is_spark_frame(original) or is_spark_frame(release.table) or not _has_key(plan):
        return {}
    bare = _without_population(plan)
    tables = (original, release.table)
    found: dict[str, Any] = {}
    counted = [count_key(table, bare) for table in tables]
    if all(one.counts.size for one in counted):
        pairs = zip(SIDES, counted, strict=True)
        found["key"] = {side: describe_key(one.names, one.codes, one.counts) for side, one in pairs}
        before = risk_if_known(original, plan)
        if before is not None:
            after = population_risk(release.table, bare, sampling_fraction=min(before.classes.fraction, 1.0))
            found["population"] = dict(zip(SIDES, (before.to_dict(), after.to_dict()), strict=True))
    return found


def _has_key(plan: Plan) -> bool:
    return any(plan.description(name).role == "quasi-identifier" for name in (*plan.columns, *plan.masked))


def _without_population(plan: Plan) -> Plan:
    """A plan that says nothing of the population, which the release does not have."""
    table = {key: value for key, value in plan.without_weight().table.items() if key != "population"}
    return replace(plan.without_weight(), table=table)
