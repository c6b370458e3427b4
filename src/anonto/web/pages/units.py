"""Parts of the page of columns about its records: whose rows these are, and columns that are joined into one set."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.web.parts import box, button, checkbox, choice, heading, message, show, tag, term, text, text_field
from anonto.web.units import (
    become_set,
    is_taken,
    join_columns,
    joinable,
    name_for,
    order_of,
    orders_offered,
    person_of,
    rename_set,
    series_of,
    set_order,
    set_person,
    set_role,
    sources_of,
    take_apart,
)
from anonto.web.words import PERSON_ROLES
from anonto.wording import count_of, list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonto.web.frame import Frame

NOBODY = ""
MOST_SHOWN = 12
"""Columns or series of columns that are listed one by one."""


class PersonsCard:
    """Which column says whose rows these are, how many persons there are, and what differs within a person."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        with box("card"):
            heading("Whose rows are these?")
            show(
                tag(
                    "p",
                    "If a person can have several rows, choose the ",
                    term("person column", "person"),
                    ": then persons are masked and counted, not rows.",
                )
            )
            self.fields = box("fields")
            self.place = box("stack", aria_live="polite")
        self._draw_fields()
        if person_of(frame.session.plan) is not None:
            frame.soon(self.place, "Counting persons", self._count)
        else:
            ui.timer(0.01, self._ask, once=True)

    async def refresh(self) -> None:
        """Count again, after a column has changed."""
        if person_of(self.frame.session.plan) is not None:
            self._draw_fields()
            await self.frame.fill(self.place, "Counting persons", self._count)

    def _draw_fields(self) -> None:
        """Draw the choice of columns, which depends on the plan."""
        plan = self.frame.session.plan
        person = person_of(plan)
        columns = {name: name for name, one in plan["columns"].items() if not one.get("from")}
        self.fields.clear()
        with self.fields:
            choice("Person column", {NOBODY: "None: each row by itself", **columns}, person or NOBODY, self._set_person)
            if person is None:
                return
            choice("In the release", PERSON_ROLES, plan["columns"][person]["role"], self._set_role)
            orders = {NOBODY: "None: as a set", **{name: f"By {name}" for name in orders_offered(plan)}}
            choice("Order of the rows", orders, order_of(plan) or NOBODY, self._set_order, explained="order")

    async def _count(self) -> None:
        found = await self.frame.ask("persons")
        self.place.clear()
        with self.place:
            persons, rows = count_of(found["persons"], "person"), count_of(found["rows"], "row")
            message(f"{persons} in {rows}; no person has more than {found['most']:,}.", "good")
            self._tell_order(found)
            varying = found["varying"]
            if not varying:
                return
            text(
                "Some columns differ between the rows of a person. Make each a set, which is masked as a whole, or "
                "drop it."
            )
            for name, n_persons in list(varying.items())[:MOST_SHOWN]:
                with box("row middle"):
                    text(f"{name} differs for {count_of(n_persons, 'person')}.", "span")
                    act = partial(self._become_sets, [name])
                    button("Make it a set", act, classes="slim", name=f"Make {name} a set")
                    button("Drop it", partial(self._drop, name), classes="slim", name=f"Drop {name}")
            if len(varying) > 1:
                whom = f"Make all {len(varying)} columns sets"
                button(whom, partial(self._become_sets, list(varying)), classes="slim")

    def _tell_order(self, found: dict[str, Any]) -> None:
        """Show the effect of the order of a person's rows, and what is missing for it."""
        order = order_of(self.frame.session.plan)
        if order is None:
            return
        if found["unordered"]:
            rows = count_of(found["unordered"], "row has", "rows have")
            message(
                f"{rows} neither a number nor a date such as 2005-12-31 in {order}; "
                "fill it in, or leave these rows out.",
                "error",
            )
            return
        text(f"Each row leaves with its place, 1, 2, 3, and so on, instead of {order}.")
        if not any(one["kind"] == "set" for one in self.frame.session.plan["columns"].values()):
            message(f"{order} orders nothing yet: make the columns that differ sets.", "warning")
        elif self.frame.session.plan["columns"][str(person_of(self.frame.session.plan))]["role"] != "pseudonym":
            message("Choose a random number for each person, so that the rows of one person can be put in order.")

    async def _ask(self) -> None:
        """Ask about a column that may say whose rows these are; nothing if there is none, or if it cannot be found."""
        frame = self.frame
        with frame.show_errors():
            found = await frame.ask("persons")
            self.place.clear()
            with self.place:
                for name in found["likely"][:1]:
                    text(f"{name} seems to be the number of a person, and it repeats.")
                    button(f"{name} says whose rows these are", partial(self._set_person, name), classes="slim")

    def _set_person(self, value: Any) -> None:
        if value == NOBODY or value in self.frame.session.plan["columns"]:
            what = f"Person column {value}" if value else "No person column"
            _change_columns(self.frame, what, lambda plan: set_person(plan, value or None))

    def _set_order(self, value: Any) -> None:
        if value == NOBODY or value in orders_offered(self.frame.session.plan):
            what = f"Rows in the order of {value}" if value else "Rows without an order"
            _change_columns(self.frame, what, lambda plan: set_order(plan, value or None))

    def _set_role(self, value: Any) -> None:
        person = person_of(self.frame.session.plan)
        if value in PERSON_ROLES and person is not None:
            _change_columns(self.frame, f"Role of {person}", lambda plan: set_role(plan, person, value))

    def _become_sets(self, names: Sequence[str]) -> None:
        def change(plan: dict[str, Any]) -> None:
            for name in names:
                become_set(plan, name)

        _change_columns(self.frame, f"Make {list_names(names)} a set", change)

    def _drop(self, name: str) -> None:
        _change_columns(self.frame, f"Role of {name}", lambda plan: set_role(plan, name, "identifier"))


def join_card(frame: Frame) -> None:
    """Join several columns into one set."""
    offered = joinable(frame.session.plan)
    if len(offered) < 2:
        return
    state: dict[str, Any] = {"chosen": set(), "name": ""}

    def tick(name: str, is_in: Any) -> None:
        (state["chosen"].add if is_in else state["chosen"].discard)(name)

    def join_chosen() -> None:
        sources = [name for name in offered if name in state["chosen"]]
        if len(sources) < 2:
            frame.say("Tick at least two columns to join.", "error")
        else:
            _join(frame, sources, state["name"].strip())

    with box("card"):
        heading("Join columns into one set")
        show(
            tag(
                "p",
                "Columns with the same kind of code, such as the diagnoses dx1, dx2 and dx3, can be one ",
                term("set", "set"),
                " with one ontology.",
            )
        )
        for series in series_of(offered)[:MOST_SHOWN]:
            names = f"{series[0]} and {series[1]}" if len(series) == 2 else f"{series[0]} to {series[-1]}"
            button(f"Join {names} ({len(series)} columns)", partial(_join, frame, series, ""), classes="slim")
        with box("reasons stack", "details"):
            text("Choose the columns", "summary")
            with box("checks", "div", role="group", aria_label="Columns to join"):
                for name in offered:
                    checkbox(name, False, partial(tick, name))
            text_field("Name of the set", "", lambda value: state.update(name=str(value)))
            button("Join these columns", join_chosen, classes="slim")


def _join(frame: Frame, sources: Sequence[str], given: str) -> None:
    name = given or name_for(frame.session.plan, sources)
    if is_taken(frame.session.plan, name, sources):
        frame.say(f"There is another column {name}: give the set another name.", "error")
        return

    def change(plan: dict[str, Any]) -> None:
        join_columns(plan, sources, name)

    _change_columns(frame, f"Join {list_names(sources, 3)} into {name}", change)


def joined_from(frame: Frame, name: str) -> None:
    """The columns that a set is joined from, and a button to take it apart."""
    sources = sources_of(frame.session.plan, name)
    text(f"Set of {list_names(sources)}.", "p", "small")

    def change(plan: dict[str, Any]) -> None:
        take_apart(plan, name)

    button(
        "Take apart",
        lambda: _change_columns(frame, f"Take {name} apart", change),
        classes="slim",
        name=f"Take {name} apart",
    )


def name_field(frame: Frame, name: str) -> None:
    """The name of a set that is joined from columns."""

    def change(value: Any) -> None:
        new = str(value).strip()
        plan = frame.session.plan
        if new == name:
            return
        if not new or is_taken(plan, new, sources_of(plan, name)):
            frame.say(f"A set needs a name that no other column has; this one stays {name}.", "error")
            return
        _change_columns(frame, f"Name of {name}", lambda plan: rename_set(plan, name, new), frame.path)

    text_field("Name of the set", name, change)


def _change_columns(frame: Frame, what: str, change: Callable[[dict[str, Any]], None], page: str = "/columns") -> None:
    """Change which columns there are or what may be chosen of them, and show them anew."""
    with frame.change(what) as draft:
        change(draft["plan"])
    ui.navigate.to(page)
