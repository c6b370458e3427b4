"""Columns: what each one is, as proposed from its name and its values, to be corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.errors import SessionChangedError
from anonto.ontology.readers import file_endings
from anonto.web.drafts import references
from anonto.web.dropzone import Dropzone
from anonto.web.frame import onward
from anonto.web.house import take_proposal
from anonto.web.parts import box, button, choice, explained, heading, link, show, tag, term, text
from anonto.web.words import KINDS, ROLES

if TYPE_CHECKING:
    from anonto.web.frame import Frame

ON_A_PAGE = 40
NO_ONTOLOGY = ""


def columns_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of all columns."""
    session = frame.session
    names = list(session.plan["columns"])
    first = min(max(_whole(asked.get("from", "0")), 0), max(len(names) - 1, 0)) // ON_A_PAGE * ON_A_PAGE
    with frame.page(
        "What the columns are",
        "Proposed from names and values; read it through. Columns that could help to identify someone are masked, "
        "those that name someone are dropped. Where a role is uncertain, confirm it or choose another: "
        "nothing is proved before.",
    ):
        with box("card"):
            _pager(len(names), first)
            rows = box("columns")

            async def fill() -> None:
                offered = await offered_ontologies(frame)
                rows.clear()
                with rows:
                    _head()
                    shown = names[first : first + ON_A_PAGE]
                    drawn = [_Row(frame, name, first + place, offered) for place, name in enumerate(shown)]
                await _show_coverage(frame, drawn)

            frame.soon(rows, "Reading the proposal", fill)
        with box("grid"):
            _bring(frame)
            _again(frame)
        onward(("Open", "/"), ("Risk before", "/risk"))


def _whole(text_: str) -> int:
    return int(text_) if text_.isdigit() and len(text_) < 9 else 0


def _pager(n_columns: int, first: int) -> None:
    if n_columns <= ON_A_PAGE:
        return
    with box("row middle", "nav", aria_label="Pages of columns"):
        text(f"Columns {first + 1:,} to {min(first + ON_A_PAGE, n_columns):,} of {n_columns:,}", "span")
        if first:
            link("← Previous", f"/columns?from={first - ON_A_PAGE}", classes="button slim")
        if first + ON_A_PAGE < n_columns:
            link("Next →", f"/columns?from={first + ON_A_PAGE}", classes="button slim")


async def offered_ontologies(frame: Frame) -> dict[str, str]:
    """The ontologies that can be chosen, by reference."""
    house, session = frame.house, frame.session
    if "listed" not in house.cache:
        house.cache["listed"] = (await session.desk.call("ontologies", {}))["listed"]
    frame.check()
    listed = {one["name"]: one["title"] for one in house.cache["listed"]}
    own = {ref: name for ref, name in session.draft["ontologies"].items() if session.is_here(ref)}
    return {NO_ONTOLOGY: "none", **own, **listed}


def _head() -> None:
    heads = [
        tag("span", "Column"),
        tag("span", term("Kind", "kind")),
        tag("span", term("Role", "role")),
        tag("span", term("Ontology", "ontology")),
        tag("span", term("Coverage", "coverage"), class_="number"),
        tag("span", ""),
    ]
    show(tag("div", *heads, class_="column-row head"))


class _Row:
    """A column with what can be changed about it; a control that another one changes is drawn anew."""

    def __init__(self, frame: Frame, name: str, place: int, offered: dict[str, str]) -> None:
        self.frame, self.name, self.offered = frame, name, offered
        with box("column-row"):
            said = frame.session.draft["reasons"].get(name, [])
            with box():
                text(name, "div", "column-name")
                if said:
                    with box("reasons", "details"):
                        text("Why?", "summary").props["aria-label"] = f"Why is {name} proposed so?"
                        for reason in said:
                            text(reason, "p", "small")
                self.review = box()
            self.kind = box()
            choice("Role", ROLES, self.description["role"], self._set_role, of=name)
            self.ontology = box()
            self.coverage = box("number")
            link("Look closer", f"/column?number={place}", classes="button slim", name=f"Look closer at {name}")
        self.draw_review()
        self.draw_kind()
        self.draw_ontology()

    @property
    def description(self) -> dict[str, Any]:
        """What the plan says of the column."""
        found: dict[str, Any] = self.frame.session.plan["columns"][self.name]
        return found

    def draw_review(self) -> None:
        """Ask for a role to be confirmed, where it was only guessed."""
        self.review.clear()
        if self.description.get("review"):
            with self.review:
                text("The role is uncertain.", "p", "small")
                button("Confirm", self._confirm, classes="slim", name=f"Confirm {self.name}")

    def draw_kind(self) -> None:
        """Show the kind as the plan has it."""
        self.kind.clear()
        with self.kind:
            choice("Kind", KINDS, self.description["kind"], self._set_kind, of=self.name)

    def draw_ontology(self) -> None:
        """Show the ontology as the plan has it."""
        self.ontology.clear()
        with self.ontology:
            options, chosen = options_of(self.frame, self.description, self.offered)
            choice("Ontology", options, chosen, self._set_ontology, of=self.name)

    def draw_coverage(self, found: dict[str, Any]) -> None:
        """Show how much the ontology knows, or why that cannot be said."""
        self.coverage.clear()
        with self.coverage:
            if self.name in found["coverage"]:
                _coverage(found["coverage"][self.name])
            elif self.name in found["unread"]:
                why = self.frame.session.readable(found["unread"][self.name])
                show(explained("cannot be read", why))

    def _set_role(self, value: Any) -> None:
        set_role(self.frame, self.name, value)
        self.draw_review()

    def _confirm(self) -> None:
        confirm(self.frame, self.name)
        self.draw_review()

    async def _set_kind(self, value: Any) -> None:
        is_set = False
        try:
            is_set = await set_kind(self.frame, self.name, value)
        finally:
            (self.draw_ontology if is_set else self.draw_kind)()
        self.coverage.clear()
        await _show_coverage(self.frame, [self])

    async def _set_ontology(self, value: Any) -> None:
        await set_ontology(self.frame, self.name, value)
        self.draw_kind()
        self.coverage.clear()
        await _show_coverage(self.frame, [self])


def options_of(frame: Frame, description: dict[str, Any], offered: dict[str, str]) -> tuple[dict[str, str], str]:
    """The ontologies that a column can have, and the one that it has, which may be here no longer."""
    chosen = (references(description) or [NO_ONTOLOGY])[0]
    if chosen in offered:
        return offered, chosen
    name = frame.session.name_of(chosen)
    return {**offered, chosen: name if frame.session.is_here(chosen) else f"{name} (not here: drop it again)"}, chosen


async def _show_coverage(frame: Frame, rows: list[_Row]) -> None:
    """Show how much the ontologies know; the rows stay, whatever goes wrong."""
    while True:
        with frame.refusing():
            try:
                found = await frame.ask("coverage")
            except SessionChangedError:
                if frame.is_outdated:
                    raise
                continue
            for row in rows:
                row.draw_coverage(found)
        return


def _coverage(share: float) -> None:
    # Rounded down: 100 % is said only of what is wholly known.
    text(f"{int(share * 1000) / 10:.1f} %", "span")
    if share < 1:
        show(tag("span", "some not known", class_="small"))


# ------------------------------------------------------------------------------------------------ changes


async def set_kind(frame: Frame, name: str, value: Any) -> bool:
    """Change the kind of a column, and say whether it was changed; steps need an order, at first that of the texts."""
    if value not in KINDS:
        return False
    order: list[str] = []
    since = frame.version
    if value == "ordinal":
        found = await frame.call("values", {**frame.session.given(), "column": name})
        order = found["values"]
        if not order:
            frame.say(f"{name} has no value that could be put in an order.", "error")
            return False
        if found["distinct"] > len(order):
            frame.say(
                f"{name} has {found['distinct']:,} different values; at most {len(order):,} can be put in an order.",
                "error",
            )
            return False
    with frame.changing(f"Kind of {name}", since) as draft:
        description = draft["plan"]["columns"][name]
        description["kind"] = value
        description.pop("order", None)
        if order:
            description["order"] = order
        if value != "nominal":
            description.pop("ontology", None)
    if order:
        frame.say(f"Check the order of {name}: look closer at the column.", "info")
    return True


def confirm(frame: Frame, name: str) -> None:
    """Say that a person has confirmed what the plan says of a column."""
    with frame.changing(f"Confirm {name}") as draft:
        draft["plan"]["columns"][name].pop("review", None)


def set_role(frame: Frame, name: str, value: Any) -> None:
    """Change the role of a column, and with it whether a step masks it; that confirms what the plan says of it."""
    if value not in ROLES:
        return
    with frame.changing(f"Role of {name}") as draft:
        draft["plan"]["columns"][name]["role"] = value
        draft["plan"]["columns"][name].pop("review", None)
        steps = draft["plan"]["steps"]
        for step in steps:
            step["columns"] = [one for one in step["columns"] if one != name or value == "quasi-identifier"]
        is_masked = any(name in step["columns"] for step in steps)
        if value == "quasi-identifier" and not is_masked and steps:
            steps[0]["columns"] = [*steps[0]["columns"], name]
        draft["plan"]["steps"] = [step for step in steps if step["columns"]]


async def set_ontology(frame: Frame, name: str, value: Any) -> None:
    """Change the ontology of a column; its values are names then, and those that it does not know stay."""
    since = frame.version
    if value not in await offered_ontologies(frame):
        return
    with frame.changing(f"Ontology of {name}", since) as draft:
        description = draft["plan"]["columns"][name]
        description.pop("ontology", None)
        if value != NO_ONTOLOGY:
            description.update(ontology=value, kind="nominal")
            description.setdefault("unmatched", "keep")
            description.pop("order", None)


# ------------------------------------------------------------------------------------------------ ontologies


def _bring(frame: Frame) -> None:
    house, session = frame.house, frame.session

    def taken(path: str, name: str, card: dict[str, Any]) -> None:
        with frame.adding(f"Bring the ontology {name}") as draft:
            draft["ontologies"][session.reference(path)] = name
        frame.say(
            f"{name}: {card['concepts']:,} concepts, {card['depth']} levels deep. Any column can have it now.",
            "good",
        )
        ui.timer(1.2, lambda: ui.navigate.to("/columns"), once=True)

    async def dropped(stored: str, given: str) -> None:
        with frame.refusing():
            name = given.replace("\\", "/").rpartition("/")[2][:120]
            path, card = await house.read_dropped_ontology(session, stored, name)
            taken(path, name, card)

    with box("card"):
        heading("Bring an ontology")
        show(
            tag(
                "p",
                "Is there a hierarchy for your codes? CSV (id, parent, label), OBO, OWL, SKOS or MeSH. An ",
                term("ontology"),
                " says which values mean something similar.",
            )
        )
        Dropzone(
            "Drop an ontology file, or choose one",
            house.max_upload,
            dropped,
            frame.not_sent,
        )
        files = house.files(file_endings())
        if files:
            state = {"file": files[0]}
            choice(
                "Or one of the folder",
                {file: file for file in files[:300]},
                files[0],
                lambda value: state.update(file=str(value)),
            )

            async def picked() -> None:
                path = house.file(state["file"])
                taken(str(path), path.name, await house.read_ontology(session, str(path), path.name))

            button("Use this ontology", picked, classes="slim")


def _again(frame: Frame) -> None:
    house, session = frame.house, frame.session

    async def propose() -> None:
        frame.check()
        since = frame.version
        frame.say("Looking at the columns again …")
        await house.ready(session)
        found = await house.propose(session, session.draft)
        with frame.changing("Propose again", since) as draft:
            take_proposal(draft, found)
        ui.navigate.to("/columns")

    with box("card"):
        heading("Propose again")
        text("Guess all columns anew, with the ontologies brought since. Corrections are lost; undo brings them back.")
        button("Propose again", propose)
