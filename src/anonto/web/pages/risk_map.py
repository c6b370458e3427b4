"""The risk-utility map of the runs of a table, and a form to try several parameter values at once."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.web.charts import chart, risk_utility
from anonto.web.drafts import are_about_the_same
from anonto.web.pages.parameters import NUMBERS, part_numbers
from anonto.web.parts import (
    Markup,
    box,
    button,
    choice,
    enable,
    heading,
    link,
    message,
    show,
    tag,
    term,
    text,
    text_field,
)

if TYPE_CHECKING:
    from anonto.web.frame import Frame

ROWS_SHOWN = 30
MOST_TRIED = 20


async def show_map(frame: Frame, run: dict[str, Any], place: Any) -> None:
    """The runs of the same table as a run."""
    runs = [one for one in frame.session.runs if are_about_the_same(one["draft"]["table"], run["draft"]["table"])]
    points = points_of(runs)
    for group in dict.fromkeys(one["sample"] for one in points):
        alike = [one for one in points if one["sample"] == group]
        asked = {"points": [[one["risk"], one["utility"]] for one in alike]}
        for number in (await frame.session.desk.call("front", asked))["front"]:
            alike[number]["on_front"] = True
    place.clear()
    with place:
        _show_points(frame, run, points)
        _show_outcome(frame, run)


def points_of(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Risk and utility of each assessed run, and the sample size if it was run on a sample.

    A sample errs in both directions, so runs on a sample are only compared with each other.
    """
    return [
        {
            "number": run["number"],
            "label": run["label"],
            "risk": (run.get("reached") or run["worst"])["rate"],
            "utility": run["utility"],
            "sample": _sample(run),
            "n_records": run["draft"]["table"]["n_records"],
            "on_front": False,
        }
        for run in runs
        if run.get("worst") is not None
    ]


def _sample(run: dict[str, Any]) -> int | None:
    """Number of records that a plan was tried on; None if all of them."""
    sample: int | None = run.get("sample")
    return sample if sample is not None and sample < run["draft"]["table"]["n_records"] else None


def _show_points(frame: Frame, run: dict[str, Any], points: list[dict[str, Any]]) -> None:
    if not points:
        text("No linkage attack was tried, so there is no map.")
        return

    def open_run(event: Any) -> None:
        value = event.value
        if isinstance(value, list) and len(value) == 3:
            ui.navigate.to(f"/result?run={int(value[2])}")

    chart(risk_utility(points, run["number"]), "Risk and utility of each run", "tall", open_run)
    points.sort(key=lambda one: (not one["on_front"], one["risk"]))
    heads = ("Plan", term("Risk", "risk"), term("Utility", "utility"), "", "")
    show(
        tag(
            "div",
            *(tag("span", head, class_="number" if 0 < at < 3 else None) for at, head in enumerate(heads)),
            class_="run-row head",
        )
    )
    for one in points[:ROWS_SHOWN]:
        with box("run-row"):
            with box("column-name"):
                text(f"{one['number']}. {one['label']}", "strong")
                if one["sample"]:
                    text(f"tried on {one['sample']:,} of {one['n_records']:,} records", "div", "small")
            text(f"{one['risk']:.1%}", "span", "number")
            text(f"{one['utility']:.1%}", "span", "number")
            show(_badge(one))
            with box("row"):
                link("See", f"/result?run={one['number']}", classes="button slim", name=f"See run {one['number']}")
                button(
                    "Load this plan",
                    partial(_load, frame, one["number"]),
                    classes="slim",
                    name=f"Load the plan of run {one['number']}",
                )
    if any(one["sample"] for one in points):
        text(
            "Plans that were tried on a sample are only compared with each other (dashed). A sample errs in both "
            "directions: groups look riskier in it than in the whole table, swaps within k places look safer. Load a "
            "plan and run it to see.",
            "p",
            "small",
        )


def _badge(point: dict[str, Any]) -> Markup:
    if not point["on_front"]:
        return Markup("")
    if point["sample"]:
        return tag("span", "sample front", class_="badge open")
    return tag("span", "on the front", class_="badge proved")


def _show_outcome(frame: Frame, run: dict[str, Any]) -> None:
    """Plans that the last sweep could not try, or why it chose one."""
    job = frame.session.job
    if job is None or not are_about_the_same(job.draft["table"], run["draft"]["table"]):
        return
    if job.skipped:
        message(f"Not tried. {frame.session.readable(job.why_skipped)}", "warning")
    if job.why:
        message(" ".join(job.why), "info")


def _load(frame: Frame, number: int) -> None:
    run = frame.session.run_of(number)
    if run is not None:
        with frame.change(f"Load the plan of run {number}") as draft:
            brought = draft["ontologies"]
            draft.update(copy.deepcopy(run["draft"]))
            draft["ontologies"] = {**brought, **draft["ontologies"]}
        ui.navigate.to("/method")


# ------------------------------------------------------------------------------------------------ several values


async def sweep_form(frame: Frame, where: Any) -> None:
    """Several values of a parameter at once."""
    known = await frame.methods()
    steps = frame.session.plan["steps"]
    offered = {
        f"{place}.{one['name']}": f"Step {place + 1}, {step['method']}: {one['label']}"
        for place, step in enumerate(steps)
        if step["method"] in known
        for one in sorted(known[step["method"]]["parameters"], key=lambda one: one["kind"] != "whole number")
        if one["is_needed"] or one["name"] in known[step["method"]]["one_of"]
        if one["kind"] in NUMBERS and isinstance(step.get(one["name"]), int | float)
    }
    where.clear()
    if offered:
        with where:
            _form(frame, steps, offered)


def _form(frame: Frame, steps: list[dict[str, Any]], offered: dict[str, str]) -> None:
    state = {"what": next(iter(offered)), "values": ""}
    heading("Try several values", 3)
    with box("fields"):
        choice("Parameter", offered, state["what"], lambda value: choose(str(value)))
        values = box()

    def choose(what: str) -> None:
        if what in offered:
            state.update(what=what, values=_some_values(steps, what))
            values.clear()
            with values:
                text_field(
                    "Values, separated by commas", state["values"], lambda value: state.update(values=str(value))
                )

    async def start() -> None:
        numbers = part_numbers(state["values"])[:MOST_TRIED]
        if not numbers:
            frame.say("Enter numbers separated by commas, such as 5, 10, 20.", "error")
            return
        place, key = state["what"].split(".", 1)
        grid = [
            [{**step, key: number} if at == int(place) else step for at, step in enumerate(steps)] for number in numbers
        ]
        seconds = 4.0 * len(numbers) + (frame.session.table or {})["n_records"] / 1000 * len(numbers)
        enable(trying, is_enabled=False)
        try:
            await frame.app.start(
                frame.session, "sweep", {"trying": seconds}, version=frame.version, asked={"grid": grid}
            )
        finally:
            enable(trying, is_enabled=True)
        ui.navigate.to("/run")

    choose(state["what"])
    trying = button("Try them", start)


def _some_values(steps: list[dict[str, Any]], what: str) -> str:
    place, key = what.split(".", 1)
    now = steps[int(place)][key]
    factors = (0.5, 1, 2, 4)
    values = [now * factor for factor in factors]
    if isinstance(now, int):
        values = [max(2, round(value)) for value in values]
    return ", ".join(f"{value:g}" for value in dict.fromkeys(values))
