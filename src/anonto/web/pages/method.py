"""Method: the steps with their columns and parameters, and an estimate on a sample."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.encoding.description import NEVER_MASKED
from anonto.errors import ParameterError
from anonto.methods.parameters import STEP_KEYS
from anonto.methods.registry import FIRST_CHOICE
from anonto.web.frame import onward, whole_number
from anonto.web.pages.by_risk import by_risk
from anonto.web.pages.estimate import EstimatePane
from anonto.web.pages.parameters import NUMBERS, first_parameters, listed_value, value_of
from anonto.web.pages.strata import StrataCard
from anonto.web.parts import (
    box,
    button,
    checkbox,
    choice,
    heading,
    hear,
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
from anonto.web.units import order_of, sets_of
from anonto.web.words import NOTHING
from anonto.wording import list_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.web.frame import Frame

EXPLAINED = ("k-anonymity", "ε-differential privacy", "ε")
NO_SETS = "It masks no sets, and a column of this step is one."
NO_ORDER = "It makes new sets, which have no order, and the rows of a person have one."
FIRST = 6
"""Number of methods shown first; a click shows the others."""


def method_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of methods."""
    session = frame.session
    steps = session.plan["steps"]
    number = min(whole_number(asked, "step"), max(len(steps) - 1, 0))
    with frame.page(
        "How to mask",
        "Choose a method for the columns that could identify someone. The estimate beside it is updated at once.",
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
                page.estimate = EstimatePane(frame, box("stack", aria_live="polite"))
        frame.soon(page.left, "Reading the methods", page.fill)
        onward(("Risk before", "/risk"), ("Run", "/run"))


class _MethodPage:
    """The steps, one of which is open, and the estimate."""

    left: Any
    estimate: EstimatePane

    def __init__(self, frame: Frame, number: int) -> None:
        self.frame, self.number = frame, number
        self.steps: Any = None
        self.methods: Any = None
        self.parameters: Any = None
        self.columns: Any = None
        self.strata: Any = None
        self.refused: Any = None
        self.known: dict[str, dict[str, Any]] = {}

    @property
    def step(self) -> dict[str, Any] | None:
        """The step that is open."""
        steps = self.frame.session.plan["steps"]
        return steps[self.number] if steps else None

    async def fill(self) -> None:
        """Show the steps."""
        self.known = await self.frame.methods()
        self.left.clear()
        with self.left:
            self.steps = box("stack")
            self._fill_steps()
            if self.step is not None:
                self.methods = box("stack")
                self._fill_methods()
                with box("card"):
                    heading("Parameters")
                    self.refused = box(aria_live="polite")
                    self.parameters = box("fields")
                    self._fill_parameters()
                with box("card"):
                    heading("Columns of this step")
                    self.columns = box("checks", "div", role="group", aria_label="Columns of this step")
                    self._fill_columns()
                self.strata = StrataCard(self.frame, self.number, self._after_strata)
                by_risk(self.frame)
        await self.estimate.refresh()

    # ------------------------------------------------------------------------------------------ steps

    def _fill_steps(self) -> None:
        self.steps.clear()
        with self.steps:
            self._steps()

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
            within = {name for step in steps for name in step.get("within", [])}
            free = [name for name in left if name not in within]
            if free:
                button("Add a step", lambda: self._add(free), classes="slim")
            if len(steps) > 1:
                button("Remove this step", self._remove, classes="slim danger")
        if left:
            message(f"In no step, released unchanged: {', '.join(left)}.", "warning")

    def _add(self, columns: list[str]) -> None:
        with self.frame.change("Add a step") as draft:
            draft["plan"]["steps"].append({**FIRST_CHOICE, "columns": columns})
        ui.navigate.to(f"/method?step={len(self.frame.session.plan['steps']) - 1}")

    def _remove(self) -> None:
        with self.frame.change("Remove a step") as draft:
            del draft["plan"]["steps"][self.number]
        ui.navigate.to("/method")

    # ------------------------------------------------------------------------------------------ methods

    def _fill_methods(self) -> None:
        self.methods.clear()
        with self.methods:
            self._methods()

    def _methods(self) -> None:
        heading("Method")
        sets = sets_of(self.frame.session.plan, self.step or {"columns": []})
        if sets:
            able = [name for name in self.known if self._can_mask(name, sets)]
            what = "sets" if order_of(self.frame.session.plan) is None else "sets with an order"
            message(f"{list_names(sets)}: {what} can be masked by {list_names(able)}.")
        names = sorted(self.known, key=lambda name: not self._can_mask(name, sets))
        current = (self.step or {}).get("method", "")
        first = names[:FIRST] if current in names[:FIRST] else [current, *(one for one in names[:FIRST])][:FIRST]
        with box("methods", "div", role="radiogroup", aria_label="Method"):
            for name in first:
                self._card(name, current, can_mask=self._can_mask(name, sets))
        with box("reasons stack", "details"):
            text(f"{len(names) - len(first)} more methods", "summary")
            with box("methods", "div", role="radiogroup", aria_label="More methods"):
                for name in names:
                    if name not in first:
                        self._card(name, current, can_mask=self._can_mask(name, sets))

    def _can_mask(self, name: str, sets: Sequence[str]) -> bool:
        """Whether a method can mask a step with these sets."""
        key = "takes_sets" if order_of(self.frame.session.plan) is None else "keeps_order"
        return not sets or bool(self.known[name][key])

    def _card(self, name: str, current: str, *, can_mask: bool) -> None:
        card = self.known[name]
        is_proved = bool(card["proved"])
        with box("method", "label"):
            control = box("", "input", type="radio", name="method", value=name, aria_label=f"{card['title']}: {name}")
            if name == current:
                control.props["^checked"] = "checked"
            if not can_mask:
                control.props["disabled"] = "disabled"
            badge = tag(
                "span", "proved" if is_proved else "measured only", class_=f"badge {'proved' if is_proved else 'open'}"
            )
            show(
                tag(
                    "div",
                    tag("strong", card["title"]),
                    tag("span", name, class_="code"),
                    tag("p", card["does"]),
                    tag("p", card["keeps"]),
                    tag("p", badge, " ", with_terms(card["proved"] or NOTHING, *EXPLAINED)),
                    *([] if can_mask else [tag("p", self._why_not(name), class_="small")]),
                )
            )

        hear(control, "change", lambda: self._choose(name))

    def _why_not(self, name: str) -> str:
        return NO_ORDER if self.known[name]["takes_sets"] else NO_SETS

    async def _choose(self, name: str) -> None:
        with self.frame.change(f"Method {name}") as draft:
            step = draft["plan"]["steps"][self.number]
            kept = {key: step[key] for key in STEP_KEYS if key in step and key != "method"}
            given = {"method": name, **kept, **first_parameters(self.known[name], step)}
            draft["plan"]["steps"][self.number] = given
        self._fill_steps()
        self._fill_parameters()
        await self.estimate.refresh()

    # ------------------------------------------------------------------------------------------ parameters and columns

    def _fill_parameters(self) -> None:
        step = self.step or {}
        self.refused.clear()
        self.parameters.clear()
        with self.parameters:
            known = self.known[step["method"]]["parameters"]
            if not known:
                text("This method has no parameters.", "p", "small")
            for one in known:
                self._parameter(one, step)

    def _parameter(self, one: dict[str, Any], step: dict[str, Any]) -> None:
        name, label = one["name"], one["label"]

        async def change(value: Any) -> None:
            self.refused.clear()
            try:
                taken = value_of(value, one)
            except ParameterError as error:
                self._refuse(error, name)
                return
            await self._set(name, taken)

        if one["kind"] == "choice":
            options = {each: each for each in one["choices"]}
            choice(label, options, step.get(name, one["default"]), change)
        elif one["kind"] == "flag":
            checkbox(label, bool(step.get(name, one["default"])), change, explanation=one["why"])
        elif one["kind"] == "column":
            columns = self.frame.session.plan["columns"]
            secrets = {each: each for each, is_ in columns.items() if is_["role"] == "confidential"}
            choice(label, {"": "none", **secrets}, step.get(name) or "", change)
        elif one["kind"] in NUMBERS and one["lists"] != "only":
            low, high, by = one["offered"]
            given = step.get(name)
            shown = given if isinstance(given, int | float) else None
            number_field(
                label,
                shown,
                change,
                low=low,
                high=high,
                step=1 if one["kind"] == "whole number" else by,
                explanation=one["why"],
            )
        else:
            text_field(label, listed_value(step.get(name) or []), change)

    def _refuse(self, error: ParameterError, name: str) -> None:
        """Show why a parameter was rejected, and restore the value in the plan."""
        self._fill_parameters()
        now = (self.step or {}).get(name)
        with self.refused:
            message(f"{error} {'It stays empty.' if now is None else f'It stays {listed_value(now)}.'}", "error")

    async def _set(self, name: str, value: Any) -> None:
        one_of = self.known[(self.step or {})["method"]]["one_of"]
        with self.frame.change(f"{name} of {(self.step or {})['method']}") as draft:
            step = draft["plan"]["steps"][self.number]
            if value is None:
                step.pop(name, None)
            else:
                step[name] = value
                for other in one_of:
                    if name in one_of and other != name:
                        step.pop(other, None)
        if name in one_of:
            self._fill_parameters()
        await self.estimate.refresh()

    def _fill_columns(self) -> None:
        self.columns.clear()
        with self.columns:
            self._columns()

    def _columns(self) -> None:
        plan = self.frame.session.plan
        names = [name for name, one in plan["columns"].items() if one["role"] not in NEVER_MASKED]
        names.sort(key=lambda name: plan["columns"][name]["role"] != "quasi-identifier")
        used = {name for step in plan["steps"] for name in step.get("within", [])}
        used |= {name for place, step in enumerate(plan["steps"]) if place != self.number for name in step["columns"]}
        chosen = (self.step or {})["columns"]

        async def change(name: str, is_in: Any) -> None:
            with self.frame.change(f"Columns of step {self.number + 1}") as draft:
                step = draft["plan"]["steps"][self.number]
                step["columns"] = [
                    one for one in names if (one in step["columns"] and one != name) or (one == name and is_in)
                ]
            self._fill_steps()
            if plan["columns"][name]["kind"] == "set":
                self._fill_methods()
            self.strata.draw()
            await self.estimate.refresh()

        for name in names:
            if name not in used:
                checkbox(name, name in chosen, partial(change, name))

    async def _after_strata(self) -> None:
        self._fill_columns()
        await self.estimate.refresh()
