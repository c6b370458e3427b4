"""One column closely: its description, how its values fit an ontology, what did not match, and the tree of concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.errors import clipped, counted
from anonto.web.drafts import references
from anonto.web.frame import onward
from anonto.web.pages.columns import offered_ontologies, options_of, set_kind, set_ontology, set_role
from anonto.web.parts import (
    Markup,
    box,
    button,
    choice,
    facts,
    heading,
    hear,
    joined,
    message,
    show,
    table,
    tag,
    term,
    text,
    text_field,
)
from anonto.web.words import KINDS, MEASURES, MISSING, ROLES, UNMATCHED

if TYPE_CHECKING:
    from anonto.web.frame import Frame

ROOTS = {"ontology": "The whole ontology", "lcs": "The smallest branch with all values"}
LIKE_ENOUGH = 90
FIRST_SHOWN = 12


def column_page(frame: Frame, asked: dict[str, str]) -> None:
    """The page of one column."""
    names = list(frame.session.plan["columns"])
    asked_for = asked.get("number", "0")
    number = int(asked_for) if asked_for.isdigit() and len(asked_for) < 9 else 0
    name = names[min(number, len(names) - 1)]
    with frame.page(name, "What this column is, and how its values are placed in an ontology."):
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

            frame.soon(fields, "Looking at the column", fill)
        onward(("All columns", "/columns"), ("Risk before", "/risk"))


class _Fields:
    """What can be said of the column; a control that another one changes is drawn anew."""

    def __init__(self, frame: Frame, name: str, offered: dict[str, str], details: Any) -> None:
        self.frame, self.name, self.offered, self.details = frame, name, offered, details

    @property
    def description(self) -> dict[str, Any]:
        """What the plan says of the column."""
        found: dict[str, Any] = self.frame.session.plan["columns"][self.name]
        return found

    def draw(self) -> None:
        """All controls."""
        self.kind = box()
        choice("Role", ROLES, self.description["role"], self._set_role, explained="role")
        self.ontology = box()
        self.placing = box("contents")
        self._choice("missing", "Missing values", MISSING, "keep")
        self._draw_kind()
        self._draw_ontology()
        self._draw_placing()

    def _draw_kind(self) -> None:
        self.kind.clear()
        with self.kind:
            choice("Kind", KINDS, self.description["kind"], self._set_kind, explained="kind")

    def _draw_ontology(self) -> None:
        self.ontology.clear()
        with self.ontology:
            options, chosen = options_of(self.frame, self.description, self.offered)
            choice("Ontology", options, chosen, self._set_ontology, explained="ontology")

    def _draw_placing(self) -> None:
        """How values are placed in the ontology, where there is one."""
        self.placing.clear()
        if self.description["kind"] != "nominal" or not references(self.description):
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
            with self.frame.changing(f"{key} of {self.name}".capitalize()) as draft:
                draft["plan"]["columns"][self.name][key] = value

    def _set_role(self, value: Any) -> None:
        set_role(self.frame, self.name, value)

    async def _set_kind(self, value: Any) -> None:
        is_set = False
        try:
            is_set = await set_kind(self.frame, self.name, value)
        finally:
            (self._draw_ontology if is_set else self._draw_kind)()
        self._draw_placing()
        await _show_details(self.frame, self.name, self.details)

    async def _set_ontology(self, value: Any) -> None:
        await set_ontology(self.frame, self.name, value)
        self._draw_kind()
        self._draw_placing()
        await _show_details(self.frame, self.name, self.details)

    async def _set_unmatched(self, value: Any) -> None:
        self._set("unmatched", value, UNMATCHED)
        await _show_details(self.frame, self.name, self.details)


async def _show_details(frame: Frame, name: str, place: Any) -> None:
    """What follows from the description: the order of steps, or the fit of the ontology."""
    description = frame.session.plan["columns"][name]
    if description["kind"] == "ordinal":
        frame.clear(place)
        with place:
            _order(frame, name, place)
    elif description["kind"] == "nominal" and references(description):

        async def content() -> None:
            asked = {"column": name, "description": frame.session.given()["plan"]["columns"][name]}
            asked["ontology"] = references(asked["description"])[0]
            found = await frame.ask("match", **asked)
            place.clear()
            with place:
                _fit(frame, asked, found, place)
                _tree(frame, asked)

        await frame.fill(place, "Placing the values in the ontology", content)
    else:
        frame.clear(place)
        with place:
            _missing_texts(frame, name)


def _order(frame: Frame, name: str, place: Any) -> None:
    async def changed(value: Any) -> None:
        lines = [line.strip() for line in str(value).splitlines() if line.strip()]
        if not lines:
            frame.say(f"The order of {name} needs its values, one on each line.", "error")
            await _show_details(frame, name, place)
            return
        with frame.changing(f"Order of {name}") as draft:
            draft["plan"]["columns"][name]["order"] = list(dict.fromkeys(lines))

    order = frame.session.plan["columns"][name].get("order", [])
    text_field("Order, lowest first, one on each line", "\n".join(order), changed, lines=min(max(len(order), 3), 12))


def _missing_texts(frame: Frame, name: str) -> None:
    def changed(value: Any) -> None:
        texts = [part.strip() for part in str(value).split(",") if part.strip()]
        with frame.changing(f"Missing texts of {name}") as draft:
            draft["plan"]["columns"][name]["na"] = texts

    given = frame.session.plan["columns"][name].get("na", [])
    text_field(
        "Texts that mean missing, with commas between them", ", ".join(given), changed, explained="missing cells"
    )


# ------------------------------------------------------------------------------------------------ the fit


def _fit(frame: Frame, asked: dict[str, Any], found: dict[str, Any], place: Any) -> None:
    name, share = asked["column"], found["coverage"]
    heading("How the values fit", 2)
    facts(
        [
            (term("of the cells are known", "coverage"), f"{int(share['cells'] * 1000) / 10:.1f} %"),
            ("of the distinct values", f"{int(share['distinct'] * 1000) / 10:.1f} %"),
            ("values not known", f"{found['unmatched']['distinct']:,}"),
            ("cells not known", f"{found['unmatched']['cells']:,}"),
        ]
    )
    show(tag("div", tag("i", style=f"width: {100 * share['cells']:.1f}%"), class_="meter", aria_hidden="true"))
    if found["rules"]:
        rows = [[rule, f"{one['distinct']:,}", f"{one['cells']:,}"] for rule, one in found["rules"].items()]
        table("How they were recognised", ["By", "Values", "Cells"], rows, numbers=(1, 2))
    _missing_texts(frame, name)
    if found["values"]:
        _unmatched(frame, asked, found, place)
    elif not found["unmatched"]["distinct"]:
        message("Every value is known to the ontology.", "good")


def _unmatched(frame: Frame, asked: dict[str, Any], found: dict[str, Any], place: Any) -> None:
    name = asked["column"]

    async def repaired(repairs: dict[str, str]) -> None:
        with frame.changing(f"Repair codes of {name}") as draft:
            draft["repairs"].setdefault(name, {}).update(repairs)
        await _show_details(frame, name, place)

    async def means_missing(value: str) -> None:
        with frame.changing(f"Missing texts of {name}") as draft:
            description = draft["plan"]["columns"][name]
            description["na"] = [*description.get("na", []), value]
        await _show_details(frame, name, place)

    async def typed(value: str, words: str, told: Any) -> None:
        """Repair a value with the concept that was typed, if it is one; else say so beside it."""
        told.clear()
        if not words:
            return
        named = await frame.call("concept", {"ontology": asked["ontology"], "text": words})
        if named["concept"] is not None:
            await repaired({value: named["concept"]})
            return
        with told:
            message(no_such_concept(words, named), "error")

    heading("What did not match", 2)
    certain = {
        one["value"]: one["suggestions"][0]["concept"]
        for one in found["values"]
        if one["suggestions"] and one["suggestions"][0]["likeness"] >= LIKE_ENOUGH
    }
    with box("row middle"):
        text(
            "Accept what the value may have meant, type a code or a label of the ontology, say that it means missing, "
            "or leave it to “Unknown values” above.",
            "span",
        )
        if len(certain) > 1:
            button(f"Accept {len(certain)} likely ones", lambda: repaired(certain), classes="slim")
    rows = box("columns")
    with rows:
        for one in found["values"][:FIRST_SHOWN]:
            _unmatched_row(one, repaired, typed, means_missing)
    rest = found["unmatched"]["distinct"] - FIRST_SHOWN
    if rest > 0:
        text(f"… and {rest:,} less frequent ones.", "p", "small")


def no_such_concept(words: str, named: dict[str, Any]) -> str:
    """That a typed text names no concept, or not one alone, and what it may have meant."""
    sentence = f"“{clipped(words)}” is not the code or the label of one concept of {named['ontology']}"
    likely = [f"{one['concept']} {one['label']}".strip() for one in named["suggestions"]]
    return f"{sentence}; did you mean {', or '.join(likely)}?" if likely else f"{sentence}; find one in the tree below."


def _unmatched_row(one: dict[str, Any], repaired: Any, typed: Any, means_missing: Any) -> None:
    value, suggestions = one["value"], one["suggestions"]
    state = {"concept": suggestions[0]["concept"] if suggestions else "", "typed": ""}
    with box("row middle unmatched"):
        cells = counted(one["cells"], "cell")
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
                lambda: repaired({value: state["concept"]}),
                classes="slim",
                name=f"Accept the suggestion for {value}",
            )
        text_field("Code or label", "", lambda given: state.update(typed=str(given).strip()), of=value)
        button(
            "Use it", lambda: typed(value, state["typed"], told), classes="slim", name=f"Use what is typed for {value}"
        )
        button("Means missing", lambda: means_missing(value), classes="slim", name=f"{value} means missing")
    told = box()


# ------------------------------------------------------------------------------------------------ the tree


def _tree(frame: Frame, asked: dict[str, Any]) -> None:
    heading("The ontology", 2)
    text("The number is how many records have this concept or one below it.", "p", "small")
    results = box("stack")

    async def search(value: Any) -> None:
        words = str(value).strip()
        results.clear()
        if len(words) < 2:
            return
        with frame.refusing():
            found = await frame.call("search", {**frame.session.given(), **asked, "text": words})
            results.clear()
            with results:
                rows = [
                    [_named(node), ", ".join(node["above"]) or "–", f"{node['records']:,}"] for node in found["nodes"]
                ]
                if rows:
                    caption = f"{found['found']:,} concepts found" + (
                        ", the first shown" if found["found"] > len(rows) else ""
                    )
                    table(caption, ["Concept", "Below", "Records"], rows, numbers=(2,))
                else:
                    message("No concept has this in its code or label.")

    text_field("Find a concept by code or label", "", search)
    results.move(target_index=-1)
    place = box("tree", role="group", aria_label="The tree of concepts", tabindex="0")
    _branch(frame, asked, place, None)


def _branch(frame: Frame, asked: dict[str, Any], place: Any, concept: str | None) -> None:
    async def content() -> None:
        found = await frame.call("tree", {**frame.session.given(), **asked, "concept": concept})
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
        show(_named(node, with_count=True), f"leaf {css}")
        return
    with box(css, "details") as details:
        with box("", "summary"):
            show(_named(node, with_count=True), "inline")
        below = box()
    if is_open:
        details.props["open"] = "open"
        _branch(frame, asked, below, node["id"])

    def opened(is_open: bool) -> None:
        if is_open and not below.default_slot.children:
            _branch(frame, asked, below, node["id"])

    hear(details, "toggle", opened, "open")


def _named(node: dict[str, Any], *, with_count: bool = False) -> Markup:
    label = node["label"] if node["label"] not in {"", node["id"]} else ""
    number = tag("span", f" {node['records']:,}", class_="count") if with_count else Markup("")
    return tag("span", joined(tag("span", node["id"], class_="code"), f" {label}"), number)
