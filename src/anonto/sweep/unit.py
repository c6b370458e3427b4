"""One plan with one seed: mask, attack, measure. The same in this process and in any other."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from anonto.assessment.assess import assess_in_order
from anonto.attacks.findings import counts_as_risk
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.series import as_text_series
from anonto.engine.run import mask
from anonto.errors import InputError
from anonto.masking.plan_sections import Step
from anonto.masking.weights import weights_of
from anonto.methods.loss_bound import without_bounds
from anonto.methods.registry import AT_RANDOM, method_of
from anonto.runtime.shared import Shared, sharing
from anonto.utility.score import lost_at_random, utility_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from anonto.attacks.rate import Risk
    from anonto.encoding.prepare import Opener
    from anonto.masking.plan import Plan
    from anonto.masking.release import Release
    from anonto.taxonomy.taxonomy import Taxonomy
    from anonto.utility.score import AtRandom

THE_TABLE_ITSELF = "Masking would only reorder the records: the release would be the original table."
DIGITS = 9
"""Significant digits that are kept: results must not depend on the number of threads of a library."""


NO_SECRET = 1 << 127
"""The seed of a table that is thrown away."""


@dataclass(frozen=True, slots=True, eq=False)
class SweepInput:
    """The input that all units of a sweep share."""

    frame: pl.DataFrame
    plan: Plan
    """The columns, with their ontologies opened; without steps."""
    at_random: AtRandom
    is_whole: bool
    """True if the release would have no other columns than these."""
    screening: bool = True
    """Whether the costly attacks are left out."""
    shared: Shared = field(default_factory=Shared)
    """Results that all runs of a process share, such as the distances of sets."""


def measure_random_swap(frame: pl.DataFrame, plan: Plan, masked: tuple[str, ...], open_once: Opener) -> AtRandom:
    """The loss by swapping at random, of the records that stay; tables that `mask` refuses are refused here."""
    step = Step(method_of(AT_RANDOM, {}), masked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = mask(frame, replace(plan, steps=(step,)), seed=NO_SECRET).rows
    before = frame if rows is None else frame[rows]
    weights = weights_of(FrameAdapter(before), plan)
    columns = {
        name: compare_column(
            name, BothCells.of(before[name], before[name]), plan.description(name), open_once, weights=weights
        )
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

    @classmethod
    def of(cls, steps: tuple[Step, ...], seed: int, marks: Mapping[str, str]) -> Unit:
        """A unit whose key follows from its steps, its seed, the marks of its table, and the version of the program."""
        described = json.dumps([version("anonto"), marks, steps_as_data(steps), seed], sort_keys=True)
        return cls(steps, seed, hashlib.sha256(described.encode()).hexdigest())


def marks_of(frame: pl.DataFrame, n_records: int, plan: Plan) -> dict[str, str]:
    """Hashes that identify results: of the cells that are masked or attacked, and of their description in the plan."""
    cells = hashlib.sha256(str(n_records).encode())
    for name in frame.columns:
        texts = as_text_series(frame[name]).to_list()
        cells.update(json.dumps([name, texts], ensure_ascii=False).encode("utf-8", "surrogatepass"))
    columns: dict[str, Any] = {name: one.to_mapping() for name, one in plan.columns.items()}
    about = columns if plan.weight is None else {"columns": columns, "weight": plan.weight}
    described = json.dumps(about, default=_ontology_mark, sort_keys=True)
    return {"table": cells.hexdigest(), "plan": hashlib.sha256(described.encode()).hexdigest()}


def _ontology_mark(ontology: Taxonomy) -> list[Any]:
    return [ontology.provenance.sha256, ontology.provenance.restricted_to, len(ontology)]


def run_unit(job: SweepInput, unit: Unit) -> dict[str, Any]:
    """The result of a unit as plain data; for a plan that cannot be carried out on this table, why not."""
    plan = replace(job.plan, steps=unit.steps)
    with warnings.catch_warnings(), without_bounds(), sharing(job.shared):
        warnings.simplefilter("ignore")
        try:
            release = mask(job.frame, plan, seed=_seed_of(unit))
        except InputError as error:
            return {"skipped": str(error)}
        if job.is_whole and _holds_the_same_records(job.frame, release):
            return {"skipped": THE_TABLE_ITSELF}
        found = assess_in_order(job.frame, release.table, plan, screening=job.screening)
    reached = [one for one in found.risk if counts_as_risk(one)]
    worst = max(reached, key=lambda one: (one.rate, one.high), default=None)
    result = {
        "worst": None if worst is None else {**_summarise(worst), "knowledge": worst.knowledge},
        "upper": max((one.high for one in reached), default=1.0),
        "attacks": [_summarise(one) for one in found.risk],
        "losses": utility_of(found.utility, job.at_random, plan.masked),
        "guarantees": [_guarantee(step) for step in release.evidence["steps"]],
        "hardly_changed": [name for step in release.evidence["steps"] for name in step["hardly_changed"]],
    }
    rounded: dict[str, Any] = _round_numbers(result)
    return rounded


def _holds_the_same_records(frame: pl.DataFrame, release: Release) -> bool:
    """Return whether masking only reordered the records: without other columns, nothing is hidden."""
    before = frame if release.rows is None else frame[release.rows]
    both = [
        sorted(zip(*(as_text_series(one[name]).to_list() for name in release.table.columns), strict=True), key=repr)
        for one in (before, release.table)
    ]
    return both[0] == both[1]


def _seed_of(unit: Unit) -> int:
    """A seed of its own, of full length, that follows from the unit: what it masks is thrown away, never released."""
    return 1 << 127 | int.from_bytes(hashlib.blake2b(f"sweep {unit.key}".encode(), digest_size=15).digest(), "little")


def _summarise(one: Risk) -> dict[str, Any]:
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
    return {
        name: given[name] for name in ("kind", "k", "epsilon", "average_risk", "proved") if given.get(name) is not None
    }


def _round_numbers(plain: Any) -> Any:
    if isinstance(plain, float):
        return float(f"{plain:.{DIGITS}g}")
    if isinstance(plain, dict):
        return {name: _round_numbers(one) for name, one in plain.items()}
    return [_round_numbers(one) for one in plain] if isinstance(plain, list) else plain


def steps_as_data(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Steps as a plan file has them."""
    return [step.to_dict() for step in steps]
