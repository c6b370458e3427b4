"""Columns: kind, role and ontology of each, proposed from its name and values, for the user to correct."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.encoding.description import KINDS_OF_CONCEPTS
from anonto.encoding.recode import Recode
from anonto.errors import SessionChangedError
from anonto.ontology.readers import file_endings
from anonto.web.app import take_proposal
from anonto.web.drafts import references
from anonto.web.dropzone import Dropzone
from anonto.web.frame import onward, whole_number
from anonto.web.pages.units import PersonsCard, join_card, joined_from
from anonto.web.parts import box, button, choice, heading, link, show, tag, term, text, tooltip
from anonto.web.units import become_set, person_of, set_role, stop_being_set
from anonto.web.words import KINDS, PERSON_ROLES, ROLES

if TYPE_CHECKING:
    from anonto.web.frame import Frame

ON_A_PAGE = 40
NO_ONTOLOGY = ""


def columns_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of all columns."""
    session = frame.session
    names = list(session.plan["columns"])
    first = min(whole_number(asked, "from"), max(len(names) - 1, 0)) // ON_A_PAGE * ON_A_PAGE
    with frame.page(
        "Describe the columns",
        "Proposed from names and values; please check. Columns that could help to identify someone are masked, "
        "those that name someone are dropped. Where a role is uncertain, confirm it or choose another: "
        "until then no guarantee is proved.",
    ):
        persons = PersonsCard(frame)
        with box("card"):
            _pager(len(names), first)
            rows = box("columns")

            async def fill() -> None:
                offered = await offered_ontologies(frame)
                rows.clear()
                with rows:
                    _head()
                    shown = names[first : first + ON_A_PAGE]
                    drawn = [_Row(frame, name, first + place, offered, persons) for place, name in enumerate(shown)]
                await _show_coverage(frame, drawn)

            frame.soon(rows, "Reading the proposal", fill)
        with box("grid"):
            _add_ontology(frame)
            join_card(frame)
            _propose_again(frame)
        onward(("Open", "/"), ("Risk before", "/risk"))


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
    """The available ontologies, by reference."""
    app, session = frame.app, frame.session
    if "listed" not in app.cache:
        app.cache["listed"] = (await session.desk.call("ontologies", {}))["listed"]
    frame.check()
    listed = {one["name"]: one["title"] for one in app.cache["listed"]}
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


class KindAndOntology:
    """The controls for kind and ontology of a column; each may change the other, which is then redrawn."""

    def __init__(self, frame: Frame, name: str, offered: dict[str, str], *, in_row: bool) -> None:
        self.frame, self.name, self.offered, self.in_row = frame, name, offered, in_row
        self.kind: Any = None
        self.ontology: Any = None

    @property
    def description(self) -> dict[str, Any]:
        """The column's description in the plan."""
        found: dict[str, Any] = self.frame.session.plan["columns"][self.name]
        return found

    def draw_kind(self) -> None:
        """Show the kind in the plan."""
        self.kind.clear()
        with self.kind:
            kinds = {"set": KINDS["set"]} if self.description.get("from") else KINDS
            choice("Kind", kinds, self.description["kind"], self._set_kind, **self._labels("kind"))

    def draw_ontology(self) -> None:
        """Show the ontology in the plan."""
        self.ontology.clear()
        with self.ontology:
            options, chosen = options_of(self.frame, self.description, self.offered)
            choice("Ontology", options, chosen, self._set_ontology, **self._labels("ontology"))

    async def refresh(self) -> None:
        """Show again what depends on kind and ontology."""
        raise NotImplementedError

    def _labels(self, key: str) -> dict[str, str]:
        return {"of": self.name} if self.in_row else {"explained": key}

    async def _set_kind(self, value: Any) -> None:
        is_set = False
        try:
            is_set = await set_kind(self.frame, self.name, value)
        finally:
            (self.draw_ontology if is_set else self.draw_kind)()
        await self.refresh()

    async def _set_ontology(self, value: Any) -> None:
        await set_ontology(self.frame, self.name, value)
        self.draw_kind()
        await self.refresh()


class _Row(KindAndOntology):
    """A column and its controls in the list of columns."""

    def __init__(self, frame: Frame, name: str, place: int, offered: dict[str, str], persons: PersonsCard) -> None:
        super().__init__(frame, name, offered, in_row=True)
        self.persons = persons
        with box("column-row"):
            said = frame.session.draft["reasons"].get(name, [])
            with box():
                text(name, "div", "column-name")
                if said:
                    with box("reasons", "details"):
                        text("Why?", "summary").props["aria-label"] = f"Why this proposal for {name}?"
                        for reason in said:
                            text(reason, "p", "small")
                if self.description.get("from"):
                    joined_from(frame, name)
                self.recode = box()
                self.review = box()
            self.kind = box()
            choice("Role", roles_of(frame.session.plan, name), self.description["role"], self._set_role, of=name)
            self.ontology = box()
            self.coverage = box("number")
            link("Look closer", f"/column?number={place}", classes="button slim", name=f"Look closer at {name}")
        self.draw_review()
        self.draw_recode()
        self.draw_kind()
        self.draw_ontology()

    async def refresh(self) -> None:
        """Show the coverage and the recoding again."""
        self.draw_recode()
        self.coverage.clear()
        await _show_coverage(self.frame, [self])
        await self.persons.refresh()

    def draw_review(self) -> None:
        """Ask the user to confirm a role that was only guessed."""
        self.review.clear()
        if self.description.get("review"):
            with self.review:
                text("The role is uncertain.", "p", "small")
                button("Confirm", self._confirm, classes="slim", name=f"Confirm {self.name}")

    def draw_recode(self) -> None:
        """Say how the column is recoded before it is masked; the plan file can change it."""
        self.recode.clear()
        if given := self.description.get("recode"):
            with self.recode:
                text(f"First {Recode.from_mapping(self.name, given).words}.", "p", "small")

    def draw_coverage(self, found: dict[str, Any]) -> None:
        """Show the coverage of the ontology, or why it cannot be computed."""
        self.coverage.clear()
        with self.coverage:
            if self.name in found["coverage"]:
                _coverage(found["coverage"][self.name])
            elif self.name in found["unread"]:
                why = self.frame.session.readable(found["unread"][self.name])
                show(tooltip("cannot be read", why))

    async def _set_role(self, value: Any) -> None:
        change_role(self.frame, self.name, value)
        self.draw_review()
        self.draw_recode()
        await self.persons.refresh()

    def _confirm(self) -> None:
        confirm(self.frame, self.name)
        self.draw_review()


def roles_of(plan: dict[str, Any], name: str) -> dict[str, str]:
    """The roles that a column can have."""
    return PERSON_ROLES if person_of(plan) == name else ROLES


def options_of(frame: Frame, description: dict[str, Any], offered: dict[str, str]) -> tuple[dict[str, str], str]:
    """The ontologies a column can have, and the one it has, which may no longer be available."""
    chosen = (references(description) or [NO_ONTOLOGY])[0]
    if chosen in offered:
        return offered, chosen
    name = frame.session.name_of(chosen)
    return {
        **offered,
        chosen: name if frame.session.is_here(chosen) else f"{name} (not available: upload it again)",
    }, chosen


async def _show_coverage(frame: Frame, rows: list[_Row]) -> None:
    """Show the coverage of the ontologies; the rows stay even if that fails."""
    while True:
        with frame.show_errors():
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
    # Rounded down: 100 % means that every cell is matched.
    text(f"{int(share * 1000) / 10:.1f} %", "span")
    if share < 1:
        show(tag("span", "some not matched", class_="small"))


# ------------------------------------------------------------------------------------------------ changes


async def set_kind(frame: Frame, name: str, value: Any) -> bool:
    """Change the kind of a column, and return whether it changed; ordinal columns start in alphabetical order."""
    if value not in KINDS:
        return False
    order: list[str] = []
    since = frame.version
    if value == "ordinal":
        found = await frame.call("values", {**frame.session.task_input(), "column": name})
        order = found["values"]
        if not order:
            frame.say(f"{name} has no values to put in order.", "error")
            return False
        if found["distinct"] > len(order):
            frame.say(
                f"{name} has {found['distinct']:,} different values; at most {len(order):,} can be ordered.", "error"
            )
            return False
    with frame.change(f"Kind of {name}", since) as draft:
        description = draft["plan"]["columns"][name]
        if description["kind"] != value:
            description.pop("recode", None)
        description["kind"] = value
        description.pop("order", None)
        if order:
            description["order"] = order
        if value == "set":
            become_set(draft["plan"], name)
        else:
            stop_being_set(draft["plan"], name)
        if value not in KINDS_OF_CONCEPTS:
            description.pop("ontology", None)
    if order:
        frame.say(f"Check the order of {name}: press “Look closer”.", "info")
    return True


def confirm(frame: Frame, name: str) -> None:
    """Mark a column's description as confirmed by the user."""
    with frame.change(f"Confirm {name}") as draft:
        draft["plan"]["columns"][name].pop("review", None)


def change_role(frame: Frame, name: str, value: Any) -> None:
    """Change the role of a column."""
    with frame.change(f"Role of {name}") as draft:
        if value in roles_of(draft["plan"], name):
            set_role(draft["plan"], name, value)


async def set_ontology(frame: Frame, name: str, value: Any) -> None:
    """Change the ontology of a column, which becomes nominal or stays a set; values not in the ontology are kept."""
    since = frame.version
    if value not in await offered_ontologies(frame):
        return
    with frame.change(f"Ontology of {name}", since) as draft:
        description = draft["plan"]["columns"][name]
        description.pop("ontology", None)
        if value != NO_ONTOLOGY or description["kind"] in KINDS_OF_CONCEPTS:
            description.pop("recode", None)
        if value != NO_ONTOLOGY:
            kind = "set" if description["kind"] == "set" else "nominal"
            description.update(ontology=value, kind=kind)
            description.setdefault("unmatched", "keep")
            description.pop("order", None)


# ------------------------------------------------------------------------------------------------ ontologies


def _add_ontology(frame: Frame) -> None:
    app, session = frame.app, frame.session

    def add(path: str, name: str, card: dict[str, Any]) -> None:
        with frame.add(f"Add the ontology {name}") as draft:
            draft["ontologies"][session.reference(path)] = name
        frame.say(
            f"{name}: {card['concepts']:,} concepts, {card['depth']} levels deep. It can now be chosen for any column.",
            "good",
        )
        ui.timer(1.2, lambda: ui.navigate.to("/columns"), once=True)

    async def take_upload(stored: str, given: str) -> None:
        with frame.show_errors():
            name = given.replace("\\", "/").rpartition("/")[2][:120]
            path, card = await app.read_dropped_ontology(session, stored, name)
            add(path, name, card)

    with box("card"):
        heading("Add an ontology")
        show(
            tag(
                "p",
                "Is there a hierarchy for your codes? CSV (id, parent, label), OBO, OWL, SKOS or MeSH. An ",
                term("ontology"),
                " defines which values have similar meanings.",
            )
        )
        Dropzone("Drop an ontology file, or choose one", app.max_upload, take_upload, frame.report_upload)
        files = app.files(file_endings())
        if files:
            state = {"file": files[0]}
            choice(
                "Or choose from the folder",
                {file: file for file in files[:300]},
                files[0],
                lambda value: state.update(file=str(value)),
            )

            async def use_picked() -> None:
                path = app.file(state["file"])
                add(str(path), path.name, await app.read_ontology(session, str(path), path.name))

            button("Use this ontology", use_picked, classes="slim")


def _propose_again(frame: Frame) -> None:
    app, session = frame.app, frame.session

    async def propose() -> None:
        frame.check()
        since = frame.version
        frame.say("Reading the columns again …")
        await app.ready(session)
        found = await app.propose(session, session.draft)
        with frame.change("Propose again", since) as draft:
            take_proposal(draft, found)
        ui.navigate.to("/columns")

    with box("card"):
        heading("Propose again")
        text("Propose all columns again, using the ontologies added since. Corrections are lost; undo restores them.")
        button("Propose again", propose)
