"""Column: its description, its match with an ontology, unmatched values, and the tree of concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.encoding.description import KINDS_OF_CONCEPTS
from anonto.web.drafts import references
from anonto.web.frame import onward, whole_number
from anonto.web.pages.columns import KindAndOntology, change_role, offered_ontologies, roles_of
from anonto.web.pages.units import name_field
from anonto.web.parts import (
    Markup,
    box,
    button,
    choice,
    heading,
    hear,
    join,
    key_figures,
    message,
    show,
    table,
    tag,
    term,
    text,
    text_field,
)
from anonto.web.units import sources_of
from anonto.web.words import MEASURES, MISSING, SET_DISTANCES, UNMATCHED
from anonto.wording import clip, count_of

if TYPE_CHECKING:
    from anonto.web.frame import Frame

ROOTS = {"ontology": "The whole ontology", "lcs": "The smallest branch with all values"}
LIKE_ENOUGH = 90
FIRST_SHOWN = 12


def column_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of one column."""
    names = list(frame.session.plan["columns"])
    name = names[min(whole_number(asked, "number"), len(names) - 1)]
    with frame.page(name, "The description of this column, and how its values match an ontology."):
        with box("card"):
            heading("Description")
            fields = box("fields")
            details = box("stack")

            async def fill() -> None:
                offered = await offered_ontologies(frame)
                fields.clear()
                with fields:
                    _Fields(frame, name, offered, details).draw()
                await _show_details(frame, name, details)

            frame.soon(fields, "Reading the column", fill)
        onward(("All columns", "/columns"), ("Risk before", "/risk"))


class _Fields(KindAndOntology):
    """The controls that describe a column on its own page."""

    def __init__(self, frame: Frame, name: str, offered: dict[str, str], details: Any) -> None:
        super().__init__(frame, name, offered, in_row=False)
        self.details = details

    def draw(self) -> None:
        """All controls."""
        self.kind = box()
        choice(
            "Role",
            roles_of(self.frame.session.plan, self.name),
            self.description["role"],
            lambda value: change_role(self.frame, self.name, value),
            explained="role",
        )
        self.ontology = box()
        self.placing = box("contents")
        self._choice("missing", "Missing values", MISSING, "keep")
        self.draw_kind()
        self.draw_ontology()
        self._draw_placing()

    async def refresh(self) -> None:
        """Show the controls for matching and the details again."""
        self._draw_placing()
        await _show_details(self.frame, self.name, self.details)

    def _draw_placing(self) -> None:
        """Controls of a set, and for matching values with the ontology, if there is one."""
        self.placing.clear()
        if self.description["kind"] == "set":
            with self.placing:
                if self.description.get("from"):
                    name_field(self.frame, self.name)
                else:
                    text_field(
                        "Sign between elements",
                        self.description.get("separator", ""),
                        self._set_separator,
                        explained="separator",
                    )
                self._choice("set_distance", "Distance of two sets", SET_DISTANCES, "matching")
        if self.description["kind"] not in KINDS_OF_CONCEPTS or not references(self.description):
            return
        with self.placing:
            self._choice("measure", "Measure", MEASURES, "wu-palmer")
            root = self.description.get("root", "ontology")
            self._choice("root", "Root", ROOTS if root in ROOTS else {**ROOTS, root: root}, "ontology")
            now = self.description.get("unmatched", "refuse")
            choice("Unknown values", UNMATCHED, now, self._set_unmatched, explained="unmatched")

    def _choice(self, key: str, label: str, options: dict[str, str], standard: str) -> None:
        now = self.description.get(key, standard)
        choice(label, options, now, lambda value: self._set(key, value, options), explained=key)

    def _set(self, key: str, value: str, allowed: dict[str, str]) -> None:
        if value in allowed:
            with self.frame.change(f"{key} of {self.name}".capitalize()) as draft:
                draft["plan"]["columns"][self.name][key] = value

    async def _set_separator(self, value: Any) -> None:
        with self.frame.change(f"Sign between elements of {self.name}") as draft:
            description = draft["plan"]["columns"][self.name]
            description.pop("separator", None)
            if str(value).strip():
                description["separator"] = str(value).strip()
        await _show_details(self.frame, self.name, self.details)

    async def _set_unmatched(self, value: Any) -> None:
        self._set("unmatched", value, UNMATCHED)
        await _show_details(self.frame, self.name, self.details)


async def _show_details(frame: Frame, name: str, place: Any) -> None:
    """Show the details of a description: the order of values, or the match with the ontology."""
    description = frame.session.plan["columns"][name]
    if description["kind"] == "ordinal":
        frame.clear(place)
        with place:
            _order(frame, name, place)
    elif description["kind"] in KINDS_OF_CONCEPTS and references(description):

        async def content() -> None:
            asked = {"column": name, "description": frame.session.task_input()["plan"]["columns"][name]}
            asked["ontology"] = references(asked["description"])[0]
            found = await frame.ask("match", **asked)
            place.clear()
            with place:
                _fit(frame, asked, found, place)
                _tree(frame, asked)

        await frame.fill(place, "Matching the values with the ontology", content)
    else:
        frame.clear(place)
        with place:
            _missing_texts(frame, name)


def _order(frame: Frame, name: str, place: Any) -> None:
    async def change(value: Any) -> None:
        lines = [line.strip() for line in str(value).splitlines() if line.strip()]
        if not lines:
            frame.say(f"The order of {name} needs its values, one per line.", "error")
            await _show_details(frame, name, place)
            return
        with frame.change(f"Order of {name}") as draft:
            draft["plan"]["columns"][name]["order"] = list(dict.fromkeys(lines))

    order = frame.session.plan["columns"][name].get("order", [])
    text_field("Order, lowest first, one per line", "\n".join(order), change, lines=min(max(len(order), 3), 12))


def _missing_texts(frame: Frame, name: str) -> None:
    def change(value: Any) -> None:
        texts = [part.strip() for part in str(value).split(",") if part.strip()]
        with frame.change(f"Missing texts of {name}") as draft:
            draft["plan"]["columns"][name]["na"] = texts

    given = frame.session.plan["columns"][name].get("na", [])
    text_field("Texts that mean missing, separated by commas", ", ".join(given), change, explained="missing cells")


# ------------------------------------------------------------------------------------------------ the fit


def _fit(frame: Frame, asked: dict[str, Any], found: dict[str, Any], place: Any) -> None:
    name, share = asked["column"], found["coverage"]
    heading("Match with the ontology", 2)
    key_figures(
        [
            (term("of the cells matched", "coverage"), f"{int(share['cells'] * 1000) / 10:.1f} %"),
            ("of the distinct values matched", f"{int(share['distinct'] * 1000) / 10:.1f} %"),
            ("values not matched", f"{found['unmatched']['distinct']:,}"),
            ("cells not matched", f"{found['unmatched']['cells']:,}"),
        ]
    )
    show(tag("div", tag("i", style=f"width: {100 * share['cells']:.1f}%"), class_="meter", aria_hidden="true"))
    if found["rules"]:
        rows = [[rule, f"{one['distinct']:,}", f"{one['cells']:,}"] for rule, one in found["rules"].items()]
        table("How they were matched", ["By", "Values", "Cells"], rows, numbers=(1, 2))
    _missing_texts(frame, name)
    if found["values"]:
        _show_unmatched(frame, asked, found, place)
    elif not found["unmatched"]["distinct"]:
        message("Every value is in the ontology.", "good")


def _show_unmatched(frame: Frame, asked: dict[str, Any], found: dict[str, Any], place: Any) -> None:
    name = asked["column"]

    async def repair(repairs: dict[str, str]) -> None:
        with frame.change(f"Repair codes of {name}") as draft:
            for source in sources_of(draft["plan"], name):
                draft["repairs"].setdefault(source, {}).update(repairs)
        await _show_details(frame, name, place)

    async def mark_missing(value: str) -> None:
        with frame.change(f"Missing texts of {name}") as draft:
            description = draft["plan"]["columns"][name]
            description["na"] = [*description.get("na", []), value]
        await _show_details(frame, name, place)

    async def use_typed(value: str, words: str, answer: Any) -> None:
        """Repair a value with the typed concept; if there is no such concept, say so beside it."""
        answer.clear()
        if not words:
            return
        named = await frame.call("concept", {"ontology": asked["ontology"], "text": words})
        if named["concept"] is not None:
            await repair({value: named["concept"]})
            return
        with answer:
            message(no_such_concept(words, named), "error")

    heading("Unmatched values", 2)
    certain = {
        one["value"]: one["suggestions"][0]["concept"]
        for one in found["values"]
        if one["suggestions"] and one["suggestions"][0]["likeness"] >= LIKE_ENOUGH
    }
    with box("row middle"):
        text(
            "Accept the suggestion, type a code or a label of the ontology, mark the value as missing, "
            "or leave it to “Unknown values” above.",
            "span",
        )
        if len(certain) > 1:
            button(f"Accept {len(certain)} likely ones", lambda: repair(certain), classes="slim")
    rows = box("columns")
    with rows:
        for one in found["values"][:FIRST_SHOWN]:
            _show_unmatched_row(one, repair, use_typed, mark_missing)
    rest = found["unmatched"]["distinct"] - FIRST_SHOWN
    if rest > 0:
        text(f"… and {rest:,} less frequent ones.", "p", "small")


def no_such_concept(words: str, named: dict[str, Any]) -> str:
    """Message that a typed text names no concept, or several, with suggestions."""
    sentence = f"“{clip(words)}” is not the code or the label of one concept of {named['ontology']}"
    likely = [f"{one['concept']} {one['label']}".strip() for one in named["suggestions"]]
    return f"{sentence}; did you mean {', or '.join(likely)}?" if likely else f"{sentence}; find one in the tree below."


def _show_unmatched_row(one: dict[str, Any], repair: Any, use_typed: Any, mark_missing: Any) -> None:
    value, suggestions = one["value"], one["suggestions"]
    state = {"concept": suggestions[0]["concept"] if suggestions else "", "typed": ""}
    with box("row middle unmatched"):
        cells = count_of(one["cells"], "cell")
        show(tag("div", tag("strong", value), tag("span", f" {cells}", class_="small")), "column-name")
        if suggestions:
            choice(
                "Meaning",
                {each["concept"]: f"{each['concept']} {each['label']}".strip() for each in suggestions},
                state["concept"],
                lambda given: state.update(concept=str(given)),
                of=value,
            )
            button(
                "Accept",
                lambda: repair({value: state["concept"]}),
                classes="slim",
                name=f"Accept the suggestion for {value}",
            )
        text_field("Code or label", "", lambda given: state.update(typed=str(given).strip()), of=value)
        button(
            "Use it",
            lambda: use_typed(value, state["typed"], answer),
            classes="slim",
            name=f"Use what is typed for {value}",
        )
        button("Means missing", lambda: mark_missing(value), classes="slim", name=f"{value} means missing")
    answer = box()


# ------------------------------------------------------------------------------------------------ the tree


def _tree(frame: Frame, asked: dict[str, Any]) -> None:
    heading("The ontology", 2)
    text("The number counts the records with this concept or one below it.", "p", "small")
    results = box("stack")

    async def search(value: Any) -> None:
        words = str(value).strip()
        results.clear()
        if len(words) < 2:
            return
        with frame.show_errors():
            found = await frame.call("search", {**frame.session.task_input(), **asked, "text": words})
            results.clear()
            with results:
                rows = [
                    [_concept(node), ", ".join(node["above"]) or "–", f"{node['records']:,}"] for node in found["nodes"]
                ]
                if rows:
                    caption = f"{found['found']:,} concepts found" + (
                        ", the first shown" if found["found"] > len(rows) else ""
                    )
                    table(caption, ["Concept", "Below", "Records"], rows, numbers=(2,))
                else:
                    message("No concept has this text in its code or label.")

    text_field("Find a concept by code or label", "", search)
    results.move(target_index=-1)
    place = box("tree", role="group", aria_label="The tree of concepts", tabindex="0")
    _branch(frame, asked, place, None)


def _branch(frame: Frame, asked: dict[str, Any], place: Any, concept: str | None) -> None:
    async def content() -> None:
        found = await frame.call("tree", {**frame.session.task_input(), **asked, "concept": concept})
        place.clear()
        with place:
            for node in found["nodes"]:
                _node(frame, asked, node, is_open=concept is None and len(found["nodes"]) == 1)
            if found["further"]:
                text(f"… and {found['further']:,} more", "div", "leaf small")

    frame.soon(place, "Opening", content)


def _node(frame: Frame, asked: dict[str, Any], node: dict[str, Any], *, is_open: bool) -> None:
    css = "" if node["records"] else "none"
    if not node["children"]:
        show(_concept(node, with_count=True), f"leaf {css}")
        return
    with box(css, "details") as details:
        with box("", "summary"):
            show(_concept(node, with_count=True), "inline")
        below = box()
    if is_open:
        details.props["open"] = "open"
        _branch(frame, asked, below, node["id"])

    def toggle(is_open: bool) -> None:
        if is_open and not below.default_slot.children:
            _branch(frame, asked, below, node["id"])

    hear(details, "toggle", toggle, "open")


def _concept(node: dict[str, Any], *, with_count: bool = False) -> Markup:
    label = node["label"] if node["label"] not in {"", node["id"]} else ""
    number = tag("span", f" {node['records']:,}", class_="count") if with_count else Markup("")
    return tag("span", join(tag("span", node["id"], class_="code"), f" {label}"), number)
