"""Columns: what each one is, as proposed from its name and its values, to be corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.web.dropzone import Dropzone
from anonto.web.frame import onward
from anonto.web.house import ONTOLOGY_ENDINGS, references
from anonto.web.parts import box, button, choice, heading, link, show, tag, term, text
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
        "those that name someone are dropped.",
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
                    places = {name: _row(frame, name, first + place, offered) for place, name in enumerate(shown)}
                await _show_coverage(frame, places)

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
    listed = {one["name"]: one["title"] for one in house.cache["listed"]}
    return {NO_ONTOLOGY: "none", **session.draft["ontologies"], **listed}


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


def _row(frame: Frame, name: str, place: int, offered: dict[str, str]) -> Any:
    session = frame.session
    description = session.plan["columns"][name]
    with box("column-row"):
        said = session.draft["reasons"].get(name, [])
        with box():
            text(name, "div", "column-name")
            if said:
                with box("reasons", "details"):
                    text("Why?", "summary").props["aria-label"] = f"Why is {name} proposed so?"
                    for reason in said:
                        text(reason, "p", "small")
        choice("Kind", KINDS, description["kind"], lambda value: set_kind(frame, name, value), of=name)
        choice("Role", ROLES, description["role"], lambda value: set_role(frame, name, value), of=name)
        chosen = (references(description) or [NO_ONTOLOGY])[0]
        options = offered if chosen in offered else {**offered, chosen: chosen.rpartition("/")[2]}
        choice("Ontology", options, chosen, lambda value: set_ontology(frame, name, value, covered), of=name)
        covered = box("number")
        link("Look closer", f"/column?number={place}", classes="button slim", name=f"Look closer at {name}")
    return covered


async def _show_coverage(frame: Frame, places: dict[str, Any]) -> None:
    found = (await frame.house.ask(frame.session, "coverage"))["coverage"]
    for name, share in found.items():
        if name in places:
            places[name].clear()
            with places[name]:
                _coverage(share)


def _coverage(share: float) -> None:
    # Rounded down: 100 % is said only of what is wholly known.
    text(f"{int(share * 1000) / 10:.1f} %", "span")
    if share < 1:
        show(tag("span", "some not known", class_="small"))


# ------------------------------------------------------------------------------------------------ changes


async def set_kind(frame: Frame, name: str, value: Any) -> None:
    """Change the kind of a column; ordered steps need an order, which is at first that of the texts."""
    if value not in KINDS:
        return
    order: list[str] = []
    with frame.refusing():
        if value == "ordinal":
            found = await frame.session.desk.call("values", {**frame.session.given(), "column": name})
            order = found["values"]
            frame.say(f"Check the order of {name}: look closer at the column.", "info")
        with frame.changing(f"Kind of {name}") as draft:
            description = draft["plan"]["columns"][name]
            description["kind"] = value
            description.pop("order", None)
            if order:
                description["order"] = order
            if value != "nominal":
                description.pop("ontology", None)


def set_role(frame: Frame, name: str, value: Any) -> None:
    """Change the role of a column, and with it whether a step masks it."""
    if value not in ROLES:
        return
    with frame.changing(f"Role of {name}") as draft:
        draft["plan"]["columns"][name]["role"] = value
        steps = draft["plan"]["steps"]
        for step in steps:
            step["columns"] = [one for one in step["columns"] if one != name or value == "quasi-identifier"]
        is_masked = any(name in step["columns"] for step in steps)
        if value == "quasi-identifier" and not is_masked and steps:
            steps[0]["columns"] = [*steps[0]["columns"], name]
        draft["plan"]["steps"] = [step for step in steps if step["columns"]]


async def set_ontology(frame: Frame, name: str, value: Any, covered: Any = None) -> None:
    """Change the ontology of a column, and show how much it knows."""
    offered = await offered_ontologies(frame)
    if value not in offered:
        return
    with frame.refusing():
        with frame.changing(f"Ontology of {name}") as draft:
            description = draft["plan"]["columns"][name]
            description.pop("ontology", None)
            if value != NO_ONTOLOGY:
                description.update(ontology=value, kind="nominal")
                description.setdefault("unmatched", "keep")
                description.pop("order", None)
        if covered is not None:
            covered.clear()
            if value != NO_ONTOLOGY:
                await _show_coverage(frame, {name: covered})


# ------------------------------------------------------------------------------------------------ ontologies


def _bring(frame: Frame) -> None:
    house, session = frame.house, frame.session

    async def taken(path: str, name: str) -> None:
        with frame.refusing():
            card = await house.add_ontology(session, path, name)
            frame.say(
                f"{name}: {card['concepts']:,} concepts, {card['depth']} levels deep. Any column can have it now.",
                "good",
            )
            ui.timer(1.2, lambda: ui.navigate.to("/columns"), once=True)

    async def dropped(stored: str, name: str) -> None:
        path = session.upload(stored)
        if path is not None:
            await taken(str(path), name.replace("\\", "/").rpartition("/")[2][:120])

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
            lambda _: frame.say("Too large.", "error"),
        )
        files = house.files(ONTOLOGY_ENDINGS)
        if files:
            state = {"file": files[0]}
            choice(
                "Or one of the folder",
                {file: file for file in files[:300]},
                files[0],
                lambda value: state.update(file=str(value)),
            )

            async def picked() -> None:
                with frame.refusing():
                    path = house.file(state["file"])
                    await taken(str(path), path.name)

            button("Use this ontology", picked, classes="slim")


def _again(frame: Frame) -> None:
    house, session = frame.house, frame.session

    async def propose() -> None:
        with frame.refusing():
            frame.say("Looking at the columns again …")
            await house.ready(session)
            own = [session.path(ref) for ref in session.draft["ontologies"]]
            found = await session.desk.call("propose", {**session.given(), "ontologies": own})
            kept = {"table": session.plan["table"]} if session.plan.get("table") else {}
            with frame.changing("Propose again") as draft:
                draft["plan"] = {**session.take_plan(found["plan"]), **kept}
                draft["reasons"] = found["reasons"]
            ui.navigate.to("/columns")

    with box("card"):
        heading("Propose again")
        text("Guess all columns anew, with the ontologies brought since. Corrections are lost; undo brings them back.")
        button("Propose again", propose)
