"""The pieces that pages are made of: native controls with a label each, and texts that are never read as markup.

Markup is built by `tag`, which escapes every text that goes into it; nothing else writes markup.
"""

from __future__ import annotations

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
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from nicegui import Client
    from nicegui.element import Element
    from nicegui.events import GenericEventArguments

    Handler = Callable[[Any], Awaitable[None] | None]
    Action = Callable[[], Awaitable[None] | None]

NO_NUMBER = "something else"
"""What a field for numbers sends when something else is typed, which the browser does not tell."""
_numbers = count(1)
_refusals: WeakKeyDictionary[Client, Callable[[AnontoError], None]] = WeakKeyDictionary()
"""For each page, who is told of what is refused."""


class Markup(str):
    """A piece of markup whose texts are escaped."""

    __slots__ = ()


def tag(name: str, *content: str | Markup, **attributes: str | None) -> Markup:
    """An element of markup; plain texts in it are escaped. Underscores of a name are hyphens, but the last."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(one if isinstance(one, Markup) else escape(str(one)) for one in content)
    return Markup(f"<{name}{given}>{inner}</{name}>")


def joined(*content: str | Markup) -> Markup:
    """Pieces one after the other; plain texts are escaped."""
    return Markup("".join(one if isinstance(one, Markup) else escape(str(one)) for one in content))


def show(markup: Markup, classes: str = "") -> ui.html:
    """Markup on the page."""
    return ui.html(markup, sanitize=False).classes(classes)


def term(word: str, key: str | None = None) -> Markup:
    """A word with its explanation, which appears when it is pointed at or reached with the keyboard."""
    return explained(word, TERMS[key or word])


def explained(word: str, why: str) -> Markup:
    """A word with an explanation of its own."""
    name = f"tip-{next(_numbers)}"
    explanation = tag("span", why, class_="tip", role="tooltip", id=name)
    return tag("span", word, explanation, class_="term", tabindex="0", aria_describedby=name)


def with_terms(words: str, *known: str) -> Markup:
    """A text in which the first of some terms that it has is explained."""
    for word in known:
        before, found, after = words.partition(word)
        if found:
            return joined(before, term(word), after)
    return joined(words)


def table(
    caption: str, header: Sequence[str | Markup], rows: Iterable[Sequence[str | Markup]], *, numbers: Iterable[int] = ()
) -> ui.html:
    """A table; the first cell of a row is its heading, the columns that are numbers are aligned to the right."""
    right = set(numbers)

    def css(place: int) -> str | None:
        return "number" if place in right else None

    head = joined(*(tag("th", cell, scope="col", class_=css(place)) for place, cell in enumerate(header)))
    body = joined(
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
    """A text, as it is."""
    return TextElement(tag=name, text=words).classes(classes)


def heading(words: str, level: int = 2) -> TextElement:
    """A heading."""
    return text(words, f"h{level}")


def button(label: str, action: Action, *, classes: str = "", name: str | None = None) -> TextElement:
    """A button; with a name of its own where the label alone does not say what it is about."""
    element = TextElement(tag="button", text=label).classes(f"button {classes}")
    element.props["type"] = "button"
    if name is not None:
        element.props["aria-label"] = name
    hear(element, "click", action)
    return element


def enable(control: ui.element, *, is_enabled: bool) -> None:
    """Let a control be used, or not for a while."""
    if is_enabled:
        control.props.pop("disabled", None)
    else:
        control.props["disabled"] = "disabled"
    control.update()


def link(
    label: str, target: str, *, classes: str = "", download: str | None = None, name: str | None = None
) -> TextElement:
    """A link to a page of ours, or to a file that is downloaded."""
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
    """One of several options; in a row of a table the label is not seen, and says of what it is."""
    with _field(label, explained, of=of) as name:
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
    """A number, or nothing; what is typed and no number is sent as a sign that is none, and not as nothing."""
    with _field(label, None, explanation=explanation) as name:
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
    """A text of one or several lines; in a row of a table the label is inside, and says of what it is."""
    with _field(label, explained, of=of) as name:
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
    """Yes or no."""
    name = f"field-{next(_numbers)}"
    with box("check"):
        control = box("", "input", id=name, type="checkbox")
        if value:
            control.props["^checked"] = "checked"
        shown = text(label, "label")
        shown.props["for"] = name
        if explanation:
            _explain(explanation)
    hear(control, "change", on_change, "checked")
    return control


def message(sentence: str, kind: str = "info") -> ui.html:
    """A sentence that must not be overlooked: ``info``, ``good``, ``warning`` or ``error``."""
    role = "alert" if kind == "error" else "status"
    return show(tag("div", sentence, class_=f"message {kind}", role=role))


def messages(sentences: Sequence[str], kind: str = "info", begun: str = "") -> None:
    """Several sentences in one frame, with what they begin with in common; nothing where there are none."""
    if len(sentences) == 1:
        message(f"{begun} {sentences[0]}".strip(), kind)
    elif sentences:
        items = tag("ul", *(tag("li", one) for one in sentences))
        show(tag("div", *([begun] if begun else []), items, class_=f"message {kind}", role="status"))


def facts(pairs: Sequence[tuple[str | Markup, str | Markup]]) -> ui.html:
    """Large numbers with what they are."""
    items = [tag("div", tag("dd", value), tag("dt", name)) for name, value in pairs]
    return show(tag("dl", *items, class_="facts"))


class _field:  # noqa: N801 - used like a function
    """A control below its label; gives the id that the control must have."""

    def __init__(
        self, label: str, explained: str | None, *, of: str | None = None, explanation: str | None = None
    ) -> None:
        self._label, self._of = label, of
        self._explanation = explanation or (TERMS[explained] if explained else None)

    def __enter__(self) -> str:
        name = f"field-{next(_numbers)}"
        self._box = box("field")
        self._box.__enter__()
        with box("label-row in-row" if self._of else "label-row"):
            with text(self._label, "label") as shown:
                shown.props["for"] = name
                if self._of:
                    text(f" of {self._of}", "span", "unseen")
            if self._explanation:
                _explain(self._explanation)
        return name

    def __exit__(self, *_: object) -> None:
        self._box.__exit__()


def _explain(explanation: str) -> None:
    name = f"tip-{next(_numbers)}"
    tip = tag("span", explanation, class_="tip", role="tooltip", id=name)
    mark = tag("span", "?", tip, class_="term mark", tabindex="0", role="note", aria_label=explanation)
    show(mark, "inline")


def hear(control: Element, event: str, action: Callable[..., Awaitable[None] | None], what: str | None = None) -> None:
    """Do something at an event, in its turn (see events.js), with one property of the control where it is named.

    What the browser holds is given to it as attributes, so that no update of the page undoes typing.
    """
    given = f", e.target.{what}" if what else ""

    def told(event: GenericEventArguments) -> Awaitable[None] | None:
        return _done(action, event.args) if what else _done(action)

    control.on(event, told, js_handler=f"(e) => inOrder(emit{given})")


def on_refusal(told: Callable[[AnontoError], None]) -> None:
    """Let a page be told when something that its user asked for is refused."""
    _refusals[ui.context.client] = told


def _done(action: Callable[..., Awaitable[None] | None], *given: Any) -> Awaitable[None] | None:
    """Do what the user asks for; the page is told when it is refused."""
    told = _refusals[ui.context.client]
    try:
        result = action(*given)
    except AnontoError as error:
        told(error)
        return None
    return _awaited(result, told) if iscoroutine(result) else None


async def _awaited(result: Awaitable[None], told: Callable[[AnontoError], None]) -> None:
    try:
        await result
    except AnontoError as error:
        told(error)
