"""Tasks that mask and attack: the raw table, an estimate on a sample, a run, a sweep; and what is taken away."""

from __future__ import annotations

import time
import warnings
from codecs import BOM_UTF8
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anonto.assessment import Assessment, assess
from anonto.errors import InputError, ReleasedAsIsWarning, WorkRefusedError
from anonto.plan import Plan
from anonto.report.attacks import attack_row
from anonto.report.gate import Gate
from anonto.risk.findings import counts_as_risk
from anonto.run import mask
from anonto.stats.profile import profile
from anonto.sweeping import pareto_front
from anonto.sweeping import sweep as sweep_plans
from anonto.table.csv_files import TAB_ENDINGS
from anonto.table.headers import CONFIRMED
from anonto.table.reading import read_table
from anonto.table.writing import output_format, write_table
from anonto.utility.score import AtRandom, utility_of
from anonto.web.opening import ENDINGS, opened_plan, path_of, table_of
from anonto.web.words import refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from anonto.table.table import Origin

    Report = Callable[[dict[str, Any]], None]

SAMPLE = 300
COMBINATIONS_SHOWN = 12
IN_ORDER, ROWS = "in-order.parquet", "rows.npy"
_warm: set[frozenset[Any]] = set()
"""Methods and columns that were masked and attacked here before, so that the time they take can be measured."""


def risk_before(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """What the raw table gives away: combinations that single people out, and attacks on it as if it were released."""
    plan = opened_plan({**given, "plan": {**given["plan"], "steps": []}})
    report({"phase": "profile"})
    found = profile(table_of(given), plan)
    report({"phase": "attack"})
    raw = Plan(plan.columns, (), plan.table, plan.folder)
    quasi = [name for name, one in plan.columns.items() if one.role == "quasi-identifier"]
    attacked = None
    frame = table_of(given).frame
    if quasi and frame.height:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReleasedAsIsWarning)  # that nothing is masked is the point
            released = mask(frame, raw)
        attacked = assess(frame, released.table, raw).to_dict()
    return {
        "n_records": found["n_records"],
        "columns": found["columns"],
        "combinations": found["combinations"][:COMBINATIONS_SHOWN],
        "quasi": quasi,
        "assessment": attacked,
    }


def estimate(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """Mask and attack a sample, to see what a plan would do, and how long the whole table would take."""
    del report
    plan = opened_plan(given)
    frame = table_of(given).frame
    sample = frame.sample(min(SAMPLE, frame.height), seed=0, shuffle=False)
    try:
        return _estimated(sample, plan, frame.height)
    except InputError as error:
        raise WorkRefusedError(refusal(error, sample.height if sample.height < frame.height else None)) from None


def _estimated(sample: pl.DataFrame, plan: Plan, n_records: int) -> dict[str, Any]:
    kinds = frozenset((step.method.name, step.columns) for step in plan.steps)
    if kinds not in _warm and n_records > sample.height:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they come again
            assess(sample, mask(sample, plan).table, plan)  # the first time compiles and opens, which says nothing
        _warm.add(kinds)
    started = time.monotonic()
    release = mask(sample, plan)
    masked_at = time.monotonic()
    found = assess(sample, release.table, plan)
    ended = time.monotonic()
    growth = n_records / max(sample.height, 1)
    return {
        "sample": sample.height,
        "n_records": n_records,
        **_headline(found),
        "utility": _utility(plan, found)["utility"],
        "steps": [_of_step(step, release.evidence["n_records"]) for step in release.evidence["steps"]],
        "expected": {
            "reading": 0.5 + 1e-5 * n_records,
            "masking": 0.5 + (masked_at - started) * growth**0.95,
            "writing": 0.5 + 2e-5 * n_records,
            "attacking": 1.0 + (ended - masked_at) * growth**0.75,
        },
    }


def _of_step(step: dict[str, Any], n_records: int) -> dict[str, Any]:
    cells = max(n_records * len(step["columns"]) - sum(step["missing"].values()), 1)
    return {
        "method": step["method"],
        "unchanged": sum(step["unchanged"].values()) / cells,
        "rmse": float(np.mean(list(step["rmse"].values()))) if step["rmse"] else 0.0,
        "guarantee": step["guarantee"],
    }


def run(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """Mask the table, write the release with its report and its private record, and attack it."""
    folder = Path(given["folder"])
    folder.mkdir(mode=0o700)
    report({"phase": "reading"})
    plan = opened_plan(given)
    path = path_of(given, folder)
    ending = given.get("ending") or ENDINGS[table_of(given).origin.format]
    report({"phase": "masking"})
    release = mask(path, plan)
    report({"phase": "writing"})
    release.save(folder / f"masked{ending}", private=folder / "private.json")
    release.table.write_parquet(folder / IN_ORDER)
    if release.rows is not None:
        np.save(folder / ROWS, release.rows)
    report({"phase": "attacking"})
    found = assess(path, release.table, plan, private=folder / "private.json")
    report({"phase": "reporting"})
    losses = _utility(plan, found)
    found.to_html(folder / "report.html", edition="public")
    found.to_html(folder / "report-internal.html", edition="internal")
    return {
        "evidence": release.evidence,
        "assessment": found.to_dict(),
        "readings": [attack_row(one, Gate("internal"))["reading"] for one in found.risk],
        "ending": ending,
        "dialect": _dialect_of(table_of(given).origin, ending),
        **_headline(found),
        "utility": losses["utility"],
        "losses": losses,
    }


def _headline(found: Assessment) -> dict[str, Any]:
    """The worst linkage, that of declared quasi-identifiers, what is read off whole rows, and what a map shows."""
    partial = found.partial
    told = {
        "worst": found.worst,
        "declared": found.worst_declared,
        "whole_rows": partial if partial is not None and partial.details["whole_rows"] else None,
        "reached": max(filter(counts_as_risk, found.risk), key=lambda one: one.rate, default=None),
    }
    return {name: None if one is None else one.to_dict() for name, one in told.items()}


def _dialect_of(origin: Origin, ending: str) -> dict[str, str]:
    """How a masked CSV file is spelled, for those who read it again: as the original, if that is CSV too."""
    if origin.dialect is None or output_format(f"masked{ending}") != "csv":
        return {}
    delimiter = "\t" if ending.startswith(TAB_ENDINGS) else origin.dialect.delimiter
    return {"delimiter": delimiter, "encoding": origin.dialect.encoding}


def _utility(plan: Plan, found: Assessment) -> dict[str, float | None]:
    """What an analyst keeps, and the losses it is made of, measured as a sweep does."""
    return utility_of(found.utility, AtRandom(**found.facts["pictures"]["at_random"]), plan.masked)


def sweep(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """Try a grid of parameters: risk and utility of each plan, and which no other beats."""
    report({"phase": "trying", "share": 0.0})
    found = sweep_plans(
        table_of(given).frame,
        opened_plan(given),
        given["grid"],
        seeds=1,
        progress=lambda done, of: report({"phase": "trying", "share": done / max(of, 1)}),
    )
    return {
        "points": [
            {
                "plan": {**given["plan"], "steps": [step.to_dict() for step in one.plan.steps]},
                "label": one.label,
                "worst": one.worst,
                "utility": one.utility,
                "losses": one.losses,
            }
            for one in found.points
            if not one.is_given
        ],
        "skipped": [f"{one.label}: {one.reason}" for one in found.skipped],
        "sample": found.n_sampled,
    }


def front(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """Which of some pairs of risk and utility no other beats in both."""
    del report
    points = [
        SimpleNamespace(number=place, risk=risk, utility=utility)
        for place, (risk, utility) in enumerate(given["points"])
    ]
    return {"front": [one.number for one in pareto_front(cast("Any", points))]}  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------ taking away


def export(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """The masked table in another format; ``dialect`` as the run told it."""
    del report
    masked, target = Path(given["masked"]), Path(given["target"])
    dialect = dict(given.get("dialect", {}))
    with masked.open("rb") as file:
        if file.read(len(BOM_UTF8)) == BOM_UTF8:  # written so where a cell did not fit the original's encoding
            dialect.pop("encoding", None)
    write_table(read_table(masked, **dialect, header=CONFIRMED), target, force=True)
    return {}


def plan_text(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """The plan as a file, with ontologies by the names that the reader will know them by."""
    del report
    plan = dict(given["plan"])
    names: dict[str, str] = given.get("names", {})
    plan["columns"] = {name: _renamed(one, names) for name, one in plan["columns"].items()}
    comments = {"": f"{given['heading']}\n", **given.get("comments", {})}
    return {"text": Plan.from_dict(plan).to_toml(comments)}


def _renamed(description: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    ontology = description.get("ontology")
    if ontology is None:
        return description
    if isinstance(ontology, list):
        return {**description, "ontology": [names.get(one, one) for one in ontology]}
    return {**description, "ontology": names.get(ontology, ontology)}
