"""Result: what the attacks reached, what was lost, columns before and after, and the map of all runs."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.web.charts import attacks, before_after, chart, heat, risk_utility
from anonto.web.frame import onward
from anonto.web.parts import (
    Markup,
    box,
    button,
    choice,
    facts,
    heading,
    link,
    message,
    show,
    table,
    tag,
    term,
    text,
    text_field,
)
from anonto.web.words import ATTACKS, PARAMETERS, attack_words

if TYPE_CHECKING:
    from anonto.web.frame import Frame

DEPTHS = {"2": "broad groups", "3": "narrower groups", "4": "narrow groups", "5": "narrowest groups"}
FRONT_TABLE = 30
CLOSE = "interval-disclosure"
SWEPT = ("k", "percent", "noise_level", "epsilon", "rate", "bins", "width")


def chosen_run(frame: Frame, asked: dict[str, str], *, with_files: bool = False) -> dict[str, Any]:
    """The run that a page is about: the one asked for, or the last one that was carried out."""
    runs = frame.session.runs
    done = [run for run in runs if not run.get("tried")]
    number = asked.get("run", "")
    found = frame.session.run_of(int(number)) if number.isdigit() and len(number) < 9 else None
    if found is not None and not (with_files and found.get("tried")):
        return found
    return (done or runs)[-1]


def result_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of results."""
    run = chosen_run(frame, asked)
    with frame.page("Result", f"Run {run['number']}: {run['label']}."):
        if run.get("tried"):
            message("This plan was only tried. Load it below and run it to see everything.", "info")
        else:
            _headline(run)
            with box("card"):
                heading("What the attacks reached")
                _attacks(run)
            _compare(frame, run)
        with box("card", "section", id="map"):
            show(tag("h2", "Risk and utility of all runs, and the ", term("Pareto front")))
            place = box("stack")
            frame.soon(place, "Drawing the map", lambda: _map(frame, run, place))
            _sweep(frame)
        onward(("Run", "/run"), ("Take away", f"/take-away?run={run['number']}") if not run.get("tried") else None)


# ------------------------------------------------------------------------------------------------ headline and attacks


def _headline(run: dict[str, Any]) -> None:
    evidence, worst = run["evidence"], run["worst"]
    with box("card"):
        heading("In short")
        shown: list[tuple[str | Markup, str]] = []
        if worst is not None:
            shown.append((term("persons recognised, at worst", "risk"), f"{worst['rate']:.1%}"))
            shown.append((term("by guessing", "baseline"), f"{worst['baseline']:.2%}"))
        shown.append((term("utility left", "utility"), f"{run['utility']:.1%}"))
        shown.append(("records released", f"{evidence['n_records']:,}"))
        if evidence["dropped_records"]:
            shown.append(("records dropped", f"{evidence['dropped_records']:,}"))
        facts(shown)
        for step in evidence["steps"]:
            guarantee = step["guarantee"]
            numbers = ", ".join(
                f"{key} = {guarantee[key]}" for key in ("k", "epsilon") if guarantee.get(key) is not None
            )
            if guarantee["proved"]:
                badge, words = (
                    tag("span", "proved", class_="badge proved"),
                    f"{guarantee['kind']} {numbers}, if {guarantee['conditions']}.",
                )
            else:
                badge, words = tag("span", "not proved", class_="badge open"), f"{guarantee['conditions']}."
            body = tag("p", words, class_="small")
            show(tag("details", tag("summary", tag("strong", step["method"]), " ", badge), body, class_="reasons"))
        for sentence in run["assessment"].get("findings", []):
            message(sentence, "warning")
        for warning in run.get("warnings", []):
            message(warning, "warning")


def _attacks(run: dict[str, Any]) -> None:
    risks = run["assessment"]["risk"]
    if not risks:
        text("There was nothing to attack.")
        return
    close = [one for one in risks if one["attack"] == CLOSE]
    others = [one for one in risks if one["attack"] != CLOSE]
    if others:
        chart(attacks(others), "What each attack reached, beside what guessing reaches")
        _attack_table("0 % is safe, 100 % is disclosed", others)
    if close:
        with box("reasons", "details"):
            text(f"How close the released cells are to the true ones ({len(close)} tries)", "summary")
            _attack_table("The share of cells that are right, or almost right, as they are released", close)
    explained = [Markup(tag("dt", name) + tag("dd", why)) for name, why in ATTACKS.values()]
    show(tag("details", tag("summary", "What the attacks do"), tag("dl", *explained), class_="reasons"))


def _attack_table(caption: str, risks: list[dict[str, Any]]) -> None:
    rows = []
    for one in risks:
        name, why = attack_words(one)
        known = ", ".join(one["columns"]) if len(one["columns"]) < 4 else f"{len(one['columns'])} columns"
        explained = tag("span", name, title=f"{why} The intruder knows {one['knowledge']}.".strip())
        interval = f"{one['low']:.1%} – {one['high']:.1%}"
        rows.append([explained, known, f"{one['rate']:.2%}", interval, f"{one['baseline']:.2%}", f"{one['n']:,}"])
    header = ["Attack", "Known of a person", "Reached", term("95 % interval", "interval")]
    table(caption, [*header, term("By guessing", "baseline"), "Tried on"], rows, numbers=(2, 3, 4, 5))


# ------------------------------------------------------------------------------------------------ before and after


def _compare(frame: Frame, run: dict[str, Any]) -> None:
    evidence = run["evidence"]
    columns = [name for step in evidence["steps"] for name in step["columns"]]
    others = [name for name in evidence["released_as_is"] if name not in columns]
    if not columns:
        return
    losses = run["assessment"]["utility"]["columns"]
    with box("card"):
        heading("A column before and after")
        if not run["files"]:
            message(
                "The masked table was wiped when the server ended. Load the plan below and run it again to compare.",
                "info",
            )
        else:
            _Columns(frame, run, columns).show()
        rows = [
            [
                name,
                f"{1 - step['unchanged'][name] / max(evidence['n_records'] - step['missing'][name], 1):.1%}",
                f"{step['rmse'][name]:.3f}",
                f"{losses[name]['hellinger']:.3f}" if "hellinger" in losses.get(name, {}) else "–",
            ]
            for step in evidence["steps"]
            for name in step["columns"]
        ]
        table(
            "What became of the cells",
            ["Column", "Changed", term("Distance moved", "distance"), term("Frequencies changed", "frequencies")],
            rows,
            numbers=(1, 2, 3),
        )
    if len(columns) + len(others) > 1:
        with box("card"):
            heading("A pair of columns before and after")
            if run["files"]:
                _Pairs(frame, run, [*columns, *others]).show()
            pairs = run["assessment"]["utility"]["pairs"]
            if pairs:
                shown = [
                    [
                        " × ".join(one["columns"]),
                        f"{one['distance_correlation']['original']:.3f}",
                        f"{one['distance_correlation']['masked']:.3f}",
                    ]
                    for one in pairs
                ]
                with box("reasons", "details"):
                    text(f"How strongly {len(pairs):,} pairs hang together", "summary")
                    table(
                        "How strongly pairs hang together",
                        ["Pair", term("Before", "distance correlation"), term("After", "distance correlation")],
                        shown[:40],
                        numbers=(1, 2),
                    )


class _Columns:
    """One column, chosen by the reader."""

    def __init__(self, frame: Frame, run: dict[str, Any], columns: list[str]) -> None:
        self.frame, self.run, self.columns = frame, run, columns
        self.asked: dict[str, Any] = {"column": columns[0], "depth": 2}

    def show(self) -> None:
        """The choice, and the chart."""
        with box("fields"):
            choice(
                "Column",
                {name: name for name in self.columns},
                self.columns[0],
                lambda value: self._set("column", value),
            )
            choice("Groups of the ontology", DEPTHS, "2", lambda value: self._set("depth", value))
        self.place = box()
        self.frame.soon(self.place, "Counting", self._draw)

    async def _set(self, key: str, value: Any) -> None:
        if key == "depth" and value in DEPTHS:
            self.asked["depth"] = int(value)
        elif key == "column" and value in self.columns:
            self.asked["column"] = value
        await self.frame.fill(self.place, "Counting", self._draw)

    async def _draw(self) -> None:
        found = await _ask(self.frame, self.run, "compare", self.asked)
        self.place.clear()
        with self.place:
            kind = self.run["draft"]["plan"]["columns"].get(self.asked["column"], {}).get("kind", "nominal")
            title = f"Records by group of {self.asked['column']}, before and after masking"
            chart(
                before_after(found["labels"], found["before"], found["after"], in_order=kind != "nominal"),
                title,
                "tall",
            )


class _Pairs:
    """Two columns, chosen by the reader."""

    def __init__(self, frame: Frame, run: dict[str, Any], columns: list[str]) -> None:
        self.frame, self.run, self.columns = frame, run, columns
        self.pair = [columns[0], columns[1]]

    def show(self) -> None:
        """The choices, and both tables."""
        with box("fields"):
            for place, label in enumerate(("First column", "Second column")):
                choice(
                    label,
                    {name: name for name in self.columns},
                    self.pair[place],
                    partial(self._set, place),
                )
        self.place = box()
        self.frame.soon(self.place, "Counting", self._draw)

    async def _set(self, place: int, value: Any) -> None:
        if value in self.columns:
            self.pair[place] = value
        await self.frame.fill(self.place, "Counting", self._draw)

    async def _draw(self) -> None:
        found = await _ask(self.frame, self.run, "compare_pair", {"columns": list(self.pair)})
        self.place.clear()
        most = max(max(map(max, found[when])) for when in ("before", "after"))
        with self.place, box("grid"):
            for when in ("before", "after"):
                with box():
                    heading(when.capitalize(), 3)
                    title = f"Records by {self.pair[0]} and {self.pair[1]}, {when} masking"
                    chart(heat(found["rows"], found["columns"], found[when], most), title)


async def _ask(frame: Frame, run: dict[str, Any], task: str, asked: dict[str, Any]) -> dict[str, Any]:
    session = frame.session
    folder = session.run_folder(run["number"])
    return await session.desk.call(task, {**session.given(run["draft"]), "folder": str(folder), **asked})


# ------------------------------------------------------------------------------------------------ the map


async def points_of(frame: Frame) -> list[dict[str, Any]]:
    """Risk and utility of each run, and whether no other run beats it in both."""
    known = [run for run in frame.session.runs if run.get("worst") is not None]
    points = [
        {"number": run["number"], "label": run["label"], "risk": run["worst"]["rate"], "utility": run["utility"]}
        for run in known
    ]
    asked = {"points": [[one["risk"], one["utility"]] for one in points]}
    front = set((await frame.session.desk.call("front", asked))["front"]) if points else set()
    return [{**one, "on_front": place in front} for place, one in enumerate(points)]


async def _map(frame: Frame, run: dict[str, Any], place: Any) -> None:
    points = await points_of(frame)
    place.clear()
    with place:
        _show_map(frame, run, points)


def _show_map(frame: Frame, run: dict[str, Any], points: list[dict[str, Any]]) -> None:
    if not points:
        text("No linkage was tried, so there is no map.")
        return

    def clicked(event: Any) -> None:
        value = event.value
        if isinstance(value, list) and len(value) == 3:
            ui.navigate.to(f"/result?run={int(value[2])}")

    chart(risk_utility(points, run["number"]), "Risk and utility of each run", "tall", clicked)
    points.sort(key=lambda one: (not one["on_front"], one["risk"]))
    heads = ("Plan", term("Risk", "risk"), term("Utility", "utility"), "", "")
    show(
        tag(
            "div",
            *(tag("span", head, class_="number" if 0 < at < 3 else None) for at, head in enumerate(heads)),
            class_="run-row head",
        )
    )
    for one in points[:FRONT_TABLE]:
        with box("run-row"):
            text(f"{one['number']}. {one['label']}", "strong", "column-name")
            text(f"{one['risk']:.1%}", "span", "number")
            text(f"{one['utility']:.1%}", "span", "number")
            show(tag("span", "on the front", class_="badge proved") if one["on_front"] else Markup(""))
            with box("row"):
                link("See", f"/result?run={one['number']}", classes="button slim", name=f"See run {one['number']}")
                button(
                    "Load this plan",
                    partial(_load, frame, one["number"]),
                    classes="slim",
                    name=f"Load the plan of run {one['number']}",
                )


def _load(frame: Frame, number: int) -> None:
    run = frame.session.run_of(number)
    if run is not None:
        with frame.changing(f"Load the plan of run {number}") as draft:
            draft.update(copy.deepcopy(run["draft"]))
        ui.navigate.to("/method")


def _sweep(frame: Frame) -> None:
    """Several values of a parameter at once."""
    steps = frame.session.plan["steps"]
    offered = {
        f"{place}.{key}": f"Step {place + 1}, {step['method']}: {PARAMETERS[key].label}"
        for place, step in enumerate(steps)
        for key in SWEPT
        if isinstance(step.get(key), int | float)
    }
    if not offered:
        return
    first = next(iter(offered))
    state = {"what": first, "values": _some_values(steps, first)}
    heading("Try several values", 3)
    with box("fields"):
        choice("Parameter", offered, first, lambda value: state.update(what=str(value)))
        text_field("Values, with commas between them", state["values"], lambda value: state.update(values=str(value)))

    async def start() -> None:
        with frame.refusing():
            numbers = _numbers(state["values"])
            if state["what"] not in offered or not numbers:
                frame.say("Write numbers with commas between them, such as 5, 10, 20.", "error")
                return
            place, key = state["what"].split(".", 1)
            grid = [
                [{**step, key: number} if at == int(place) else step for at, step in enumerate(steps)]
                for number in numbers
            ]
            seconds = 4.0 * len(numbers) + (frame.session.table or {})["n_records"] / 1000 * len(numbers)
            await frame.house.start(frame.session, "sweep", {"trying": seconds}, grid=grid)
            ui.navigate.to("/run")

    button("Try them", start)


def _some_values(steps: list[dict[str, Any]], what: str) -> str:
    place, key = what.split(".", 1)
    now = steps[int(place)][key]
    factors = (0.5, 1, 2, 4)
    values = [now * factor for factor in factors]
    if isinstance(now, int):
        values = [max(2, round(value)) for value in values]
    return ", ".join(f"{value:g}" for value in dict.fromkeys(values))


def _numbers(words: str) -> list[float]:
    try:
        values = [float(part) for part in words.split(",") if part.strip()]
    except ValueError:
        return []
    return [int(value) if value == int(value) else value for value in values][:20]
