"""One plan with one seed: mask, attack, measure. The same in this process and in any other."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonto.assessment import measured
from anonto.errors import InputError
from anonto.methods.registry import AT_RANDOM, method_of
from anonto.plan import Plan, Step
from anonto.risk.findings import counts_as_risk
from anonto.run import mask
from anonto.table.comparison import BothCells, compared_column
from anonto.table.series import as_text_series
from anonto.utility.score import lost_at_random, utility_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.release import Release
    from anonto.risk.rate import Risk
    from anonto.table.prepare import Opener
    from anonto.utility.score import AtRandom

THE_TABLE_ITSELF = (
    "The records would leave as they are, only in other rows, and no column stays behind to hide them from: the "
    "release would be the table itself."
)
DIGITS = 9
"""Numbers are kept to so many digits: how many threads a library adds with must not show."""


NO_SECRET = 1 << 127
"""The seed of a table that is thrown away."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What all units of a sweep share."""

    frame: pl.DataFrame
    plan: Plan
    """The columns, with their ontologies opened; without steps."""
    at_random: AtRandom
    is_whole: bool
    """Whether the release would have no other columns than these."""


def at_random_of(frame: pl.DataFrame, plan: Plan, masked: tuple[str, ...], open_once: Opener) -> AtRandom:
    """What swapping at random loses of the records that stay; what masking refuses is refused here."""
    step = Step(method_of(AT_RANDOM, {}), masked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = mask(frame, Plan(plan.columns, (step,)), seed=NO_SECRET).rows
    before = frame if rows is None else frame[rows]
    columns = {
        name: compared_column(name, BothCells.of(before[name], before[name]), plan.description(name), open_once)
        for name in frame.columns
        if name in masked or (name in plan.columns and plan.description(name).role != "other")
    }
    return lost_at_random(columns, masked)


@dataclass(frozen=True, slots=True)
class Unit:
    """A plan's steps, which of its seeds, and the key under which the result is kept."""

    steps: tuple[Step, ...]
    seed: int
    key: str


def done(job: Job, unit: Unit) -> dict[str, Any]:
    """The result of a unit as plain data; for a plan that cannot be carried out on this table, why not."""
    plan = Plan(job.plan.columns, unit.steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            release = mask(job.frame, plan, seed=_seed_of(unit))
        except InputError as error:
            return {"skipped": str(error)}
        if job.is_whole and _holds_the_same_records(job.frame, release):
            return {"skipped": THE_TABLE_ITSELF}
        found = measured(job.frame, release.table, plan)
    reached = [one for one in found.risk if counts_as_risk(one)]
    worst = max(reached, key=lambda one: (one.rate, one.high), default=None)
    result = {
        "worst": None if worst is None else {**_told(worst), "knowledge": worst.knowledge},
        "upper": max((one.high for one in reached), default=1.0),
        "attacks": [_told(one) for one in found.risk],
        "losses": utility_of(found.utility, job.at_random, plan.masked),
        "guarantees": [_guarantee(step) for step in release.evidence["steps"]],
        "hardly_changed": [name for step in release.evidence["steps"] for name in step["hardly_changed"]],
    }
    rounded: dict[str, Any] = _rounded(result)
    return rounded


def _holds_the_same_records(frame: pl.DataFrame, release: Release) -> bool:
    """Whether masking only put the records into other rows: with nothing beside them, nothing is hidden."""
    before = frame if release.rows is None else frame[release.rows]
    both = [
        sorted(zip(*(as_text_series(one[name]).to_list() for name in frame.columns), strict=True), key=repr)
        for one in (before, release.table)
    ]
    return both[0] == both[1]


def _seed_of(unit: Unit) -> int:
    """A seed of its own, of full length, that follows from the unit: what it masks is thrown away, never released."""
    return 1 << 127 | int.from_bytes(hashlib.blake2b(f"sweep {unit.key}".encode(), digest_size=15).digest(), "little")


def _told(one: Risk) -> dict[str, Any]:
    told: dict[str, Any] = {
        "attack": one.attack,
        "columns": list(one.columns),
        "rate": one.rate,
        "low": one.low,
        "high": one.high,
        "baseline": one.baseline,
        "n": one.n,
    }
    about = one.details.get("inferred") or one.details.get("within")
    return {**told, "about": str(about)} if about else told


def _guarantee(step: Mapping[str, Any]) -> dict[str, Any]:
    given = step["guarantee"]
    return {name: given[name] for name in ("kind", "k", "epsilon", "proved") if given.get(name) is not None}


def _rounded(plain: Any) -> Any:
    if isinstance(plain, float):
        return float(f"{plain:.{DIGITS}g}")
    if isinstance(plain, dict):
        return {name: _rounded(one) for name, one in plain.items()}
    return [_rounded(one) for one in plain] if isinstance(plain, list) else plain


def steps_as_data(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Steps as a plan file has them."""
    return [step.to_dict() for step in steps]
