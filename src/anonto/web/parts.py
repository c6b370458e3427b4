"""Building blocks of pages: native controls, each with a label, and texts that are never read as markup.

Markup is built by `tag`, which escapes every text that goes into it; nothing else writes markup.
"""

from __future__ import annotations

from contextlib import contextmanager
from html import escape
from inspect import iscoroutine
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from anonto.errors import AnontoError
from anonto.web.words import TERMS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from nicegui import Client
    from nicegui.element import Element
    from nicegui.events import GenericEventArguments

    Handler = Callable[[Any], Awaitable[None] | None]
    Action = Callable[[], Awaitable[None] | None]

NO_NUMBER = "something else"
"""Sent by a number field if the typed text is not a number; the browser does not reveal that text."""
_numbers = count(1)
_refusals: WeakKeyDictionary[Client, Callable[[AnontoError], None]] = WeakKeyDictionary()
"""The handler of refusals of each page."""


class Markup(str):
    """A piece of markup whose texts are escaped."""

    __slots__ = ()


def tag(name: str, *content: str | Markup, **attributes: str | None) -> Markup:
    """An element of markup; plain texts in it are escaped. Underscores in attribute names become hyphens."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(one if isinstance(one, Markup) else escape(str(one)) for one in content)
    return Markup(f"<{name}{given}>{inner}</{name}>")


def join(*content: str | Markup) -> Markup:
    """Concatenated pieces; plain texts are escaped."""
    return Markup("".join(one if isinstance(one, Markup) else escape(str(one)) for one in content))


def show(markup: Markup, classes: str = "") -> ui.html:
    """Put markup on the page."""
    return ui.html(markup, sanitize=False).classes(classes)


def term(word: str, key: str | None = None) -> Markup:
    """A word with its explanation as a tooltip, shown on hover and on keyboard focus."""
    return tooltip(word, TERMS[key or word])


def tooltip(word: str, why: str) -> Markup:
    """A word with an explanation of its own."""
    name = f"tip-{next(_numbers)}"
    explanation = tag("span", why, class_="tip", role="tooltip", id=name)
    return tag("span", word, explanation, class_="term", tabindex="0", aria_describedby=name)


def with_terms(words: str, *known: str) -> Markup:
    """A text in which the first of the known terms that occurs is explained."""
    for word in known:
        before, found, after = words.partition(word)
        if found:
            return join(before, term(word), after)
    return join(words)


def table(
    caption: str, header: Sequence[str | Markup], rows: Iterable[Sequence[str | Markup]], *, numbers: Iterable[int] = ()
) -> ui.html:
    """A table; the first cell of a row is its heading, and columns of numbers are right-aligned."""
    right = set(numbers)

    def css(place: int) -> str | None:
        return "number" if place in right else None

    head = join(*(tag("th", cell, scope="col", class_=css(place)) for place, cell in enumerate(header)))
    body = join(
        *(
            tag(
                "tr",
                *(
                    tag("th", cell, scope="row") if place == 0 else tag("td", cell, class_=css(place))
                    for place, cell in enumerate(row)
                ),
            )
            for row in rows
        )
    )
    whole = tag("table", tag("caption", caption), tag("thead", tag("tr", head)), tag("tbody", body))
    return show(tag("div", whole, class_="scroll", role="region", tabindex="0", aria_label=caption), "wide")


# ------------------------------------------------------------------------------------------------ elements


def box(classes: str = "", element: str = "div", /, **attributes: str) -> ui.element:
    """A container."""
    made = ui.element(element).classes(classes)
    for key, value in attributes.items():
        made.props[key.rstrip("_").replace("_", "-")] = value
    return made


def text(words: str, name: str = "p", classes: str = "") -> TextElement:
    """A plain text."""
    return TextElement(tag=name, text=words).classes(classes)


def heading(words: str, level: int = 2) -> TextElement:
    """A heading."""
    return text(words, f"h{level}")


def button(label: str, action: Action, *, classes: str = "", name: str | None = None) -> TextElement:
    """A button; with an accessible name if the label alone is ambiguous."""
    element = TextElement(tag="button", text=label).classes(f"button {classes}")
    element.props["type"] = "button"
    if name is not None:
        element.props["aria-label"] = name
    hear(element, "click", action)
    return element


def enable(control: ui.element, *, is_enabled: bool) -> None:
    """Enable or disable a control."""
    if is_enabled:
        control.props.pop("disabled", None)
    else:
        control.props["disabled"] = "disabled"
    control.update()


def link(
    label: str, target: str, *, classes: str = "", download: str | None = None, name: str | None = None
) -> TextElement:
    """A link to a page of the app, or to a download."""
    element = TextElement(tag="a", text=label).classes(classes)
    element.props["href"] = target
    if download is not None:
        element.props["download"] = download
    if name is not None:
        element.props["aria-label"] = name
    return element


def choice(
    label: str,
    options: Mapping[str, str],
    value: str,
    on_change: Handler,
    *,
    explained: str | None = None,
    of: str | None = None,
) -> ui.element:
    """A select control; in a table row the label is hidden and names the row."""
    with _field(label, TERMS[explained] if explained else None, of=of) as name:
        control = box("control", "select", id=name)
        with control:
            for key, words in options.items():
                option = text(words, "option", "")
                option.props["value"] = key
                if key == value:
                    option.props["^selected"] = "selected"
        hear(control, "change", on_change, "value")
    return control


def number_field(
    label: str,
    value: float | None,
    on_change: Handler,
    *,
    low: float | None = None,
    high: float | None = None,
    step: float | None = None,
    explanation: str | None = None,
) -> ui.element:
    """A number field that may be empty; text that is not a number is sent as `NO_NUMBER`, not as empty."""
    with _field(label, explanation) as name:
        control = box("control", "input", id=name, type="number", inputmode="decimal")
        for key, given in (("^value", value), ("min", low), ("max", high), ("step", step or "any")):
            if given is not None:
                control.props[key] = f"{given:g}" if isinstance(given, float) else str(given)
        hear(control, "change", on_change, f"validity.badInput ? '{NO_NUMBER}' : e.target.value")
    return control


def text_field(
    label: str,
    value: str,
    on_change: Handler,
    *,
    explained: str | None = None,
    event: str = "change",
    lines: int = 1,
    of: str | None = None,
) -> ui.element:
    """A text field of one or several lines; in a table row the label is a placeholder and names the row."""
    with _field(label, TERMS[explained] if explained else None, of=of) as name:
        control: ui.element
        if lines > 1:
            control = text(value, "textarea", "control")
            control.props.update({"id": name, "rows": str(lines)})
        else:
            control = box("control", "input", id=name, type="text", autocomplete="off", spellcheck="false")
            control.props["^value"] = value
        if of:
            control.props["placeholder"] = label
        hear(control, event, on_change, "value")
    return control


def checkbox(label: str, value: bool, on_change: Handler, *, explanation: str | None = None) -> ui.element:
    """A checkbox."""
    name = f"field-{next(_numbers)}"
    with box("check"):
        control = box("", "input", id=name, type="checkbox")
        if value:
            control.props["^checked"] = "checked"
        shown = text(label, "label")
        shown.props["for"] = name
        if explanation:
            _question_mark(explanation)
    hear(control, "change", on_change, "checked")
    return control


def message(sentence: str, kind: str = "info") -> ui.html:
    """A highlighted message: ``info``, ``good``, ``warning`` or ``error``."""
    role = "alert" if kind == "error" else "status"
    return show(tag("div", sentence, class_=f"message {kind}", role=role))


def messages(sentences: Sequence[str], kind: str = "info", begun: str = "") -> None:
    """Several messages in one box, under their common prefix; nothing if there are none."""
    if len(sentences) == 1:
        message(f"{begun} {sentences[0]}".strip(), kind)
    elif sentences:
        items = tag("ul", *(tag("li", one) for one in sentences))
        show(tag("div", *([begun] if begun else []), items, class_=f"message {kind}", role="status"))


def key_figures(pairs: Sequence[tuple[str | Markup, str | Markup]]) -> ui.html:
    """Large numbers with labels."""
    items = [tag("div", tag("dd", value), tag("dt", name)) for name, value in pairs]
    return show(tag("dl", *items, class_="facts"))


@contextmanager
def _field(label: str, explanation: str | None, *, of: str | None = None) -> Iterator[str]:
    """A control below its label; yields the id that the control must have."""
    name = f"field-{next(_numbers)}"
    with box("field"):
        with box("label-row in-row" if of else "label-row"):
            with text(label, "label") as shown:
                shown.props["for"] = name
                if of:
                    text(f" of {of}", "span", "unseen")
            if explanation:
                _question_mark(explanation)
        yield name


def _question_mark(explanation: str) -> None:
    name = f"tip-{next(_numbers)}"
    tip = tag("span", explanation, class_="tip", role="tooltip", id=name)
    mark = tag("span", "?", tip, class_="term mark", tabindex="0", role="note", aria_label=explanation)
    show(mark, "inline")


def hear(control: Element, event: str, action: Callable[..., Awaitable[None] | None], what: str | None = None) -> None:
    """Handle an event, in order (see events.js), with one property of the control if it is named.

    Values are set as attributes in the browser, so that no update of the page overwrites typed text.
    """
    given = f", e.target.{what}" if what else ""

    def handle(event: GenericEventArguments) -> Awaitable[None] | None:
        return _act(action, event.args) if what else _act(action)

    control.on(event, handle, js_handler=f"(e) => inOrder(emit{given})")


def on_refusal(handler: Callable[[AnontoError], None]) -> None:
    """Register the handler of a page for refused actions."""
    _refusals[ui.context.client] = handler


def _act(action: Callable[..., Awaitable[None] | None], *given: Any) -> Awaitable[None] | None:
    """Run the user's action, and report a refusal to the page."""
    refuse = _refusals[ui.context.client]
    try:
        result = action(*given)
    except AnontoError as error:
        refuse(error)
        return None
    return _finish(result, refuse) if iscoroutine(result) else None


async def _finish(result: Awaitable[None], refuse: Callable[[AnontoError], None]) -> None:
    try:
        await result
    except AnontoError as error:
        refuse(error)
