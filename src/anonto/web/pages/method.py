"""Method: which one masks which columns, with its parameters, and at once an estimate on a sample."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.errors import AnontoError
from anonto.web.frame import onward
from anonto.web.house import plan_label
from anonto.web.parts import (
    Markup,
    box,
    button,
    checkbox,
    choice,
    facts,
    heading,
    link,
    message,
    number_field,
    show,
    tag,
    term,
    text,
    text_field,
    with_terms,
)
from anonto.web.words import CARDS, EITHER, PARAMETERS, Parameter

if TYPE_CHECKING:
    from anonto.web.frame import Frame

EXPLAINED = ("k-anonymity", "ε-differential privacy", "ε")
FIRST = 6
"""Cards shown at once; the others are a click away."""


def method_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of methods."""
    session = frame.session
    steps = session.plan["steps"]
    wanted = asked.get("step", "0")
    number = min(int(wanted) if wanted.isdigit() and len(wanted) < 6 else 0, max(len(steps) - 1, 0))
    with frame.page(
        "How to mask",
        "Choose what is done to the columns that could identify someone. The estimate on the side follows at once.",
    ):
        if not session.quasi_identifiers:
            message(
                "No column is a quasi-identifier: nothing would be masked. Give one this role on the page “Columns”.",
                "warning",
            )
            onward(("Columns", "/columns"), None)
            return
        with box("two"):
            page = _MethodPage(frame, number)
            with box("stack"):
                page.left = box("stack")
            with box("card sticky", "aside", aria_label="Estimate"):
                show(tag("h2", "Estimate on a ", term("sample")))
                page.estimate = box("stack", aria_live="polite")
        frame.soon(page.left, "Reading the methods", page.fill)
        onward(("Risk before", "/risk"), ("Run", "/run"))


class _MethodPage:
    """The steps, one of which is open, and the estimate."""

    left: Any
    estimate: Any

    def __init__(self, frame: Frame, number: int) -> None:
        self.frame, self.number = frame, number
        self.parameters: Any = None
        self.known: dict[str, list[dict[str, Any]]] = {}
        self._is_estimating = False
        self._is_outdated = False

    @property
    def step(self) -> dict[str, Any] | None:
        """The step that is open."""
        steps = self.frame.session.plan["steps"]
        return steps[self.number] if steps else None

    async def fill(self) -> None:
        """Show the steps."""
        house, session = self.frame.house, self.frame.session
        if "methods" not in house.cache:
            house.cache["methods"] = (await session.desk.call("methods", {}))["methods"]
        self.known = house.cache["methods"]
        self.left.clear()
        with self.left:
            self._steps()
            if self.step is not None:
                self._methods()
                with box("card"):
                    heading("Parameters")
                    self.parameters = box("fields")
                    self._fill_parameters()
                with box("card"):
                    heading("Columns of this step")
                    self._columns()
        await self.refresh()

    # ------------------------------------------------------------------------------------------ steps

    def _steps(self) -> None:
        session = self.frame.session
        steps = session.plan["steps"]
        left = [name for name in session.quasi_identifiers if not any(name in step["columns"] for step in steps)]
        with box("row middle"):
            for place, step in enumerate(steps):
                css = "button slim primary" if place == self.number else "button slim"
                shown = link(f"Step {place + 1}: {step['method']}", f"/method?step={place}", classes=css)
                if place == self.number:
                    shown.props["aria-current"] = "true"
            if left:
                button("Add a step", lambda: self._add(left), classes="slim")
            if len(steps) > 1:
                button("Remove this step", self._remove, classes="slim danger")
        if left:
            message(f"In no step, and released as they are: {', '.join(left)}.", "warning")

    def _add(self, columns: list[str]) -> None:
        with self.frame.changing("Add a step") as draft:
            draft["plan"]["steps"].append({"method": "group-swap", "columns": columns, "k": 10})
        ui.navigate.to(f"/method?step={len(self.frame.session.plan['steps']) - 1}")

    def _remove(self) -> None:
        with self.frame.changing("Remove a step") as draft:
            del draft["plan"]["steps"][self.number]
        ui.navigate.to("/method")

    # ------------------------------------------------------------------------------------------ methods

    def _methods(self) -> None:
        heading("Method")
        names = [name for name in CARDS if name in self.known]
        current = (self.step or {}).get("method", "")
        first = names[:FIRST] if current in names[:FIRST] else [current, *(one for one in names[:FIRST])][:FIRST]
        with box("methods", "div", role="radiogroup", aria_label="Method"):
            for name in first:
                self._card(name, current)
        with box("reasons stack", "details"):
            text(f"{len(names) - len(first)} more methods", "summary")
            with box("methods", "div", role="radiogroup", aria_label="More methods"):
                for name in names:
                    if name not in first:
                        self._card(name, current)

    def _card(self, name: str, current: str) -> None:
        card = CARDS[name]
        is_proved = card.proved.startswith("Proved")
        with box("method", "label"):
            control = box("", "input", type="radio", name="method", value=name, aria_label=f"{card.title}: {name}")
            if name == current:
                control.props["^checked"] = "checked"
            badge = tag(
                "span", "proved" if is_proved else "measured only", class_=f"badge {'proved' if is_proved else 'open'}"
            )
            show(
                tag(
                    "div",
                    tag("strong", card.title),
                    tag("span", name, class_="code"),
                    tag("p", card.does),
                    tag("p", card.keeps),
                    tag("p", badge, " ", with_terms(card.proved.removeprefix("Proved: "), *EXPLAINED)),
                )
            )

        async def chosen() -> None:
            await self._choose(name)

        control.on("change", chosen)

    async def _choose(self, name: str) -> None:
        with self.frame.changing(f"Method {name}") as draft:
            step = draft["plan"]["steps"][self.number]
            given = {"method": name, "columns": step["columns"], **first_parameters(self.known[name], step)}
            draft["plan"]["steps"][self.number] = given
        self._fill_parameters()
        await self.refresh()

    # ------------------------------------------------------------------------------------------ parameters and columns

    def _fill_parameters(self) -> None:
        step = self.step or {}
        self.parameters.clear()
        with self.parameters:
            known = self.known[step["method"]]
            if not known:
                text("This method has none.", "p", "small")
            for one in known:
                self._parameter(one, step)

    def _parameter(self, one: dict[str, Any], step: dict[str, Any]) -> None:
        name = one["name"]
        asked = PARAMETERS.get(name, Parameter(name, name))

        async def changed(value: Any) -> None:
            await self._set(name, _value(value, one))

        if one["kind"] == "choice":
            options = {each: each for each in one["choices"]}
            choice(asked.label, options, step.get(name, one["default"]), changed)
        elif one["kind"] == "flag":
            checkbox(asked.label, bool(step.get(name, one["default"])), changed, explanation=asked.why)
        elif name == "confidential":
            columns = self.frame.session.plan["columns"]
            secrets = {each: each for each, is_ in columns.items() if is_["role"] == "confidential"}
            choice(asked.label, {"": "none", **secrets}, step.get(name) or "", changed)
        elif one["kind"] == "number":
            given = step.get(name)
            shown = given if isinstance(given, int | float) else None
            number_field(
                asked.label,
                shown,
                changed,
                low=asked.low,
                high=asked.high,
                step=1 if one["is_whole"] else asked.step,
                explanation=asked.why,
            )
        else:
            given = step.get(name) or []
            text_field(asked.label, ", ".join(map(str, given)), changed)

    async def _set(self, name: str, value: Any) -> None:
        with self.frame.changing(f"{name} of {(self.step or {})['method']}") as draft:
            step = draft["plan"]["steps"][self.number]
            if value is None:
                step.pop(name, None)
            else:
                step[name] = value
                for one, other in EITHER.items():
                    if name == one:
                        step.pop(other, None)
                    elif name == other:
                        step.pop(one, None)
        if name in EITHER or name in EITHER.values():
            self._fill_parameters()
        await self.refresh()

    def _columns(self) -> None:
        session = self.frame.session
        names = [name for name, one in session.plan["columns"].items() if one["role"] != "identifier"]
        names.sort(key=lambda name: session.plan["columns"][name]["role"] != "quasi-identifier")
        masked = {
            name for place, step in enumerate(session.plan["steps"]) if place != self.number for name in step["columns"]
        }
        chosen = (self.step or {})["columns"]

        async def changed(name: str, is_in: Any) -> None:
            with self.frame.changing(f"Columns of step {self.number + 1}") as draft:
                step = draft["plan"]["steps"][self.number]
                step["columns"] = [
                    one for one in names if (one in step["columns"] and one != name) or (one == name and is_in)
                ]
            await self.refresh()

        with box("checks", "div", role="group", aria_label="Columns of this step"):
            for name in names:
                if name not in masked:
                    checkbox(name, name in chosen, partial(changed, name))

    # ------------------------------------------------------------------------------------------ the estimate

    async def refresh(self) -> None:
        """Estimate again; while one is on its way, another is made after it."""
        if self._is_estimating:
            self._is_outdated = True
            return
        self._is_estimating = True
        try:
            while True:
                self._is_outdated = False
                await self._estimate_once()
                if not self._is_outdated:
                    break
        finally:
            self._is_estimating = False

    async def _estimate_once(self) -> None:
        self.estimate.clear()
        with self.estimate:
            show(tag("div", "Masking and attacking a sample …", class_="busy", role="status"))
        session = self.frame.session
        try:
            if not any(step["columns"] for step in session.plan["steps"]):
                found = None
            else:
                found = await self.frame.house.ask(session, "estimate")
        except AnontoError as error:
            self.estimate.clear()
            with self.estimate:
                message(session.readable(str(error)), "error")
            return
        self.estimate.clear()
        with self.estimate:
            if found is None:
                message("No column is in a step.", "warning")
            else:
                _show_estimate(found, plan_label(session.plan))


def first_parameters(known: list[dict[str, Any]], before: dict[str, Any]) -> dict[str, Any]:
    """What a method starts with: numbers of the step before that it takes too, and what it cannot do without."""
    names = [one["name"] for one in known]
    numbers = [one["name"] for one in known if one["kind"] == "number"]
    given = {name: before[name] for name in numbers if isinstance(before.get(name), int | float)}
    needed = {one["name"] for one in known if one["is_needed"]} | ({"k", "bins"} & set(names))
    for name in names:
        start = PARAMETERS[name].start if name in PARAMETERS else None
        if name in needed and name not in given and start is not None:
            given[name] = start
    for instead, of in (("percent", "k"), ("width", "bins"), ("width", "k")):
        if instead in given and of in given:
            del given[instead]
    return {name: given[name] for name in names if name in given}


def _value(given: Any, one: dict[str, Any]) -> Any:
    """What the browser sent, as the plan wants it; None for nothing or nonsense."""
    words = str(given).strip()
    if one["kind"] == "flag":
        return bool(given)
    if one["kind"] == "choice":
        return words if words in one["choices"] else None
    try:
        if one["kind"] == "number":
            number = float(words)
            return int(number) if one["is_whole"] or number == int(number) else number
        return (
            [float(part) for part in words.split(",") if part.strip()] or None
            if one["name"] == "weights"
            else words or None
        )
    except (ValueError, OverflowError):
        return None


def _show_estimate(found: dict[str, Any], label: str) -> None:
    worst = found["worst"]
    shown: list[tuple[str | Markup, str]] = []
    if worst is not None:
        shown.append((term("would be recognised", "risk"), f"{worst['rate']:.1%}"))
        shown.append((term("by guessing", "baseline"), f"{worst['baseline']:.1%}"))
    shown.append((term("utility"), f"{found['utility']:.1%}"))
    facts(shown)
    for step in found["steps"]:
        guarantee = step["guarantee"]
        words = f"{step['unchanged']:.0%} of the cells stay as they are."
        text(f"{step['method']}: {words}", "p", "small")
        if guarantee["proved"]:
            numbers = [f"{key} = {guarantee[key]}" for key in ("k", "epsilon") if guarantee.get(key) is not None]
            show(tag("p", tag("span", "proved", class_="badge proved"), f" {guarantee['kind']} {', '.join(numbers)}"))
    seconds = sum(found["expected"].values())
    text(
        f"From {found['sample']:,} of {found['n_records']:,} records, with {label}. The whole table takes about "
        f"{_duration(seconds)}.",
        "p",
        "small",
    )
    for warning in found["warnings"]:
        message(warning, "warning")


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
