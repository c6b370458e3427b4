"""Tasks that mask and attack: the raw table, an estimate on a sample, a run, a sweep; and exports."""

from __future__ import annotations

import time
import warnings
from codecs import BOM_UTF8
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anonto.assessment.assess import Assessment, assess, risks_in_order
from anonto.attacks.findings import counts_as_risk
from anonto.engine.memory.units import FOR_LOOKING, units_of
from anonto.engine.run import mask
from anonto.errors import InputError, ReleasedAsIsWarning
from anonto.io.csv_files import TAB_ENDINGS
from anonto.io.headers import CONFIRMED
from anonto.io.reading import read_table
from anonto.io.writing import output_format, write_table
from anonto.masking.plan import Plan
from anonto.methods.loss_bound import without_bounds
from anonto.profile.profile import profile
from anonto.report.assessed import assessed_data
from anonto.report.attacks import attack_row
from anonto.report.data import from_json, to_json
from anonto.report.foreign import foreign_data
from anonto.report.frames.registry import frames, frames_named
from anonto.report.gate import Gate
from anonto.report.page import assessed_html
from anonto.sweep import pareto_front
from anonto.sweep import sweep as sweep_plans
from anonto.sweep.recommend import recommend
from anonto.utility.score import AtRandom, utility_of
from anonto.web.drafts import with_ontologies
from anonto.web.inputs import ENDINGS, open_plan, path_of, table_of
from anonto.web.words import refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from anonto.io.table import Origin
    from anonto.sweep import Point
    from anonto.web.inputs import Report

SAMPLE = 300
COMBINATIONS_SHOWN = 12
IN_ORDER, ROWS = "in-order.parquet", "rows.npy"
REPORTS = {"public": "report.html", "internal": "report-internal.html"}
_warm: set[frozenset[Any]] = set()
"""Methods and columns that this process has run before, so that timings exclude compilation."""


def risk_before(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """Disclosure risk of the raw table: unique combinations, and attacks on it as if it were released."""
    plan = open_plan({**given, "plan": {**given["plan"], "steps": []}}).without_recoding()
    report({"phase": "profile"})
    found = profile(table_of(given), plan)
    report({"phase": "attack"})
    frame, raw = _records_of(given, plan)
    quasi = [name for name, one in plan.columns.items() if one.role == "quasi-identifier"]
    attacked = None
    if quasi and frame.height:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReleasedAsIsWarning)  # nothing is masked on purpose
            released = mask(frame, raw)
        attacked = {"risk": [one.to_dict() for one in risks_in_order(frame, released.table, raw)]}
    return {
        "n_records": found["n_records"],
        "n_rows": found["rows"]["before"] if plan.person is not None else None,
        "columns": found["columns"],
        "combinations": found["combinations"][:COMBINATIONS_SHOWN],
        "key": found["key"],
        "quasi": quasi,
        "assessment": attacked,
    }


def _records_of(given: dict[str, Any], plan: Plan) -> tuple[pl.DataFrame, Plan]:
    """The records to mask, and their plan: rows of a table, or persons where the plan says whose rows these are."""
    frame = table_of(given).frame
    if not plan.has_units:
        return frame, plan
    units = units_of(frame, plan, FOR_LOOKING)
    return units.records, units.plan


def estimate(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Mask and attack a sample, to estimate the effect of a plan and the time for the whole table."""
    frame, plan = _records_of(given, open_plan(given))
    sample = frame.sample(min(SAMPLE, frame.height), seed=0, shuffle=False)
    try:
        return _estimate_from(sample, plan, frame.height)
    except InputError as error:
        raise InputError(refusal(error, sample.height if sample.height < frame.height else None)) from None


def _estimate_from(sample: pl.DataFrame, plan: Plan, n_records: int) -> dict[str, Any]:
    kinds = frozenset((step.method.name, step.columns) for step in plan.steps)
    if kinds not in _warm and n_records > sample.height:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are raised again below
            with without_bounds():
                assess(sample, mask(sample, plan).table, plan)  # the first run includes compiling and opening
        _warm.add(kinds)
    started = time.monotonic()
    with without_bounds():
        release = mask(sample, plan)
    masked_at = time.monotonic()
    found = assess(sample, release.table, plan)
    ended = time.monotonic()
    growth = n_records / max(sample.height, 1)
    return {
        "sample": sample.height,
        "n_records": n_records,
        "is_of_persons": plan.by_person,
        **_headline(found),
        "utility": _utility(plan, found)["utility"],
        "steps": [_step_summary(step, release.evidence["n_records"]) for step in release.evidence["steps"]],
        "expected": {
            "reading": 0.5 + 1e-5 * n_records,
            "masking": 0.5 + (masked_at - started) * growth**0.95,
            "writing": 0.5 + 2e-5 * n_records,
            "attacking": 1.0 + (ended - masked_at) * growth**0.75,
        },
    }


def _step_summary(step: dict[str, Any], n_records: int) -> dict[str, Any]:
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
    plan = open_plan(given)
    path = path_of(given, folder)
    ending = given.get("ending") or ENDINGS[table_of(given).origin.format]
    report({"phase": "masking"})
    release = mask(path, plan)
    report({"phase": "writing"})
    release.save(folder / f"masked{ending}", private=folder / "private.json")
    release.table.write_parquet(folder / IN_ORDER)
    if release.rows is not None and not plan.has_units:
        np.save(folder / ROWS, release.rows)
    report({"phase": "attacking"})
    found = assess(
        path,
        release.table,
        plan,
        private=folder / "private.json",
        held_out=_held_out(given, folder),
        progress=lambda _done, _of, now: report({"phase": "attacking", "now": now}),
    )
    report({"phase": "reporting"})
    losses = _utility(plan, found)
    for edition, name in REPORTS.items():
        data = assessed_data(found, edition, frames=list(frames()))
        (folder / name).with_suffix(".json").write_text(to_json(data), encoding="utf-8")
        (folder / name).write_text(assessed_html({**data, "frames": []}), encoding="utf-8")
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


def _held_out(given: dict[str, Any], folder: Path) -> Path | None:
    """The file of the persons held out, with the codes repaired that are repaired in the table; None without one."""
    if given.get("held_out") is None:
        return None
    return path_of({**given, "table": {**given["table"], "path": given["held_out"]}}, folder, "repaired-held-out")


def assess_foreign(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Attack a release that another tool made, and write both editions of its report."""
    folder = Path(given["folder"])
    folder.mkdir(mode=0o700, exist_ok=True)
    found = assess(given["original"], given["release"], held_out=given.get("held_out"))
    for edition, name in REPORTS.items():
        found.to_html(folder / name, edition=edition)
    return {"report": foreign_data(found)}


def _headline(found: Assessment) -> dict[str, Any]:
    """The worst linkage, linkage by declared quasi-identifiers, disclosure by whole rows, and the map's numbers."""
    partial = found.partial
    headline = {
        "worst": found.worst,
        "declared": found.worst_declared,
        "whole_rows": partial if partial is not None and partial.details["whole_rows"] else None,
        "reached": max(filter(counts_as_risk, found.risk), key=lambda one: one.rate, default=None),
    }
    return {name: None if one is None else one.to_dict() for name, one in headline.items()}


def _dialect_of(origin: Origin, ending: str) -> dict[str, str]:
    """The CSV dialect of the masked file: that of the original, if it is CSV too."""
    if origin.dialect is None or output_format(f"masked{ending}") != "csv":
        return {}
    delimiter = "\t" if ending.startswith(TAB_ENDINGS) else origin.dialect.delimiter
    return {"delimiter": delimiter, "encoding": origin.dialect.encoding}


def _utility(plan: Plan, found: Assessment) -> dict[str, float | None]:
    """Utility and its components of information loss, measured as in a sweep."""
    return utility_of(found.utility, AtRandom(**found.facts["pictures"]["at_random"]), plan.masked)


def sweep(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """Try a grid of parameters: risk and utility of each plan."""
    progress = _report_trying(report)
    found = sweep_plans(table_of(given).frame, open_plan(given), given["grid"], seeds=1, progress=progress)
    return {
        "points": [_point(given, one) for one in found.points if not one.is_given],
        "skipped": [f"{one.label}: {one.reason}" for one in found.skipped],
        "sample": found.n_sampled,
    }


def best_plan(given: dict[str, Any], report: Report) -> dict[str, Any]:
    """Try every method: the plan that keeps most under a risk, measured on the whole table, and why."""
    progress = _report_trying(report)
    choice = recommend(table_of(given).frame, open_plan(given), given["max_risk"], progress=progress)
    again = None if choice.on_all is None else choice.on_all.point
    return {"points": [] if again is None else [_point(given, again)], "why": choice.why, "skipped": [], "sample": None}


def _report_trying(report: Report) -> Callable[[int, int], None]:
    report({"phase": "trying", "share": 0.0})
    return lambda done, of: report({"phase": "trying", "share": done / max(of, 1)})


def _point(given: dict[str, Any], one: Point) -> dict[str, Any]:
    return {
        "plan": {**given["plan"], "steps": [step.to_dict() for step in one.plan.steps]},
        "label": one.label,
        "worst": one.worst,
        "utility": one.utility,
        "losses": one.losses,
    }


def front(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Flag the pairs of risk and utility on the Pareto front."""
    points = [
        SimpleNamespace(number=place, risk=risk, utility=utility)
        for place, (risk, utility) in enumerate(given["points"])
    ]
    return {"front": [one.number for one in pareto_front(cast("Any", points))]}  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------ taking away


def export(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """The masked table in another format; ``dialect`` as reported by the run."""
    masked, target = Path(given["masked"]), Path(given["target"])
    dialect = dict(given.get("dialect", {}))
    with masked.open("rb") as file:
        if file.read(len(BOM_UTF8)) == BOM_UTF8:  # written in UTF-8 if a cell did not fit the original's encoding
            dialect.pop("encoding", None)
    write_table(read_table(masked, **dialect, header=CONFIRMED), target, force=True)
    return {}


def evidence(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """Both reports of a run with the evidence for the laws and guidelines that the user chose."""
    folder, chosen = Path(given["folder"]), [one.name for one in frames_named(given["frames"])]
    for name in map(Path, REPORTS.values()):
        data = from_json((folder / name.with_suffix(".json")).read_text(encoding="utf-8"))
        shown = [one for one in data["frames"] if one["name"] in chosen]
        page = assessed_html({**data, "frames": shown})
        (folder / f"{name.stem}-evidence.html").write_text(page, encoding="utf-8")
    return {}


def plan_text(given: dict[str, Any], _: Report) -> dict[str, Any]:
    """The text of the plan file, with the user's names of ontologies."""
    names: dict[str, str] = given.get("names", {})
    plan = with_ontologies(given["plan"], lambda reference: names.get(reference, reference))
    return {"text": Plan.from_dict(plan).to_toml({"": f"{given['heading']}\n"})}
