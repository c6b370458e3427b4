"""The frame of every page: where one is on the way, what can be undone, and room for the page itself."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.errors import AnontoError
from anonto.web.parts import Markup, box, button, heading, joined, link, message, show, tag, text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from anonto.web.house import House
    from anonto.web.session import Session

STEPS = (
    ("/", "Open"),
    ("/columns", "Columns"),
    ("/risk", "Risk before"),
    ("/method", "Method"),
    ("/run", "Run"),
    ("/result", "Result"),
    ("/take-away", "Take away"),
)
NEEDS_RUN = ("/result", "/take-away")


class Frame:
    """A page being made, for one session."""

    def __init__(self, house: House, session: Session, path: str) -> None:
        self.house, self.session, self.path = house, session, path
        self._top: Any = None
        self._shown_state: tuple[int, int] | None = None

    @contextlib.contextmanager
    def page(self, title: str, lead: str) -> Iterator[Any]:
        """Head, way and foot around what is made in the block."""
        ui.page_title(f"{title} – anonto")
        link("Skip to the content", "#main", classes="skip")
        with box("top", "header"):
            self._top = box("top-row")
            self._way()
        self._fill_top()
        with box("main", "div", id="main", tabindex="-1") as main:
            with box():
                heading(title, 1)
                text(lead, "p", "lead")
            self.alerts = box("stack", aria_live="polite")
            yield main
        with box("foot", "footer"):
            text(
                "Everything stays on this machine: no part of the table is sent anywhere, and what is left of it is "
                "wiped when the server ends."
            )

    def update(self) -> None:
        """Show what can be undone now."""
        if (len(self.session.history), len(self.session.undone)) != self._shown_state:
            self._top.clear()
            self._fill_top()

    @contextlib.contextmanager
    def changing(self, what: str) -> Iterator[dict[str, Any]]:
        """The draft, to be changed in a block that can be undone."""
        with self.session.changing(what) as draft:
            yield draft
        self.update()

    def say(self, sentence: str, kind: str = "info") -> None:
        """A message at the top of the page, instead of the last one."""
        self.alerts.clear()
        with self.alerts:
            message(sentence, kind)

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Show what goes wrong in the block as a message."""
        try:
            yield
        except AnontoError as error:
            self.say(self.session.readable(str(error)), "error")

    async def fill(self, place: Any, what: str, content: Callable[[], Awaitable[None]]) -> None:
        """Fill a place with what takes time; until then it says so."""
        place.clear()
        with place:
            show(tag("div", f"{what} …", class_="busy", role="status"))
        try:
            filled = content()
            with place:
                await filled
        except AnontoError as error:
            place.clear()
            with place:
                message(self.session.readable(str(error)), "error")

    def soon(self, place: Any, what: str, content: Callable[[], Awaitable[None]]) -> None:
        """Fill a place as soon as the page is there."""
        with place:
            show(tag("div", f"{what} …", class_="busy", role="status"))

        async def fill() -> None:
            await self.fill(place, what, content)

        ui.timer(0.01, fill, once=True)

    # ------------------------------------------------------------------------------------------ pieces

    def _fill_top(self) -> None:
        session = self.session
        self._shown_state = (len(session.history), len(session.undone))
        with self._top:
            link("anonto", "/", classes="brand")
            table = session.table
            shown = f"{table['name']} · {table['n_records']:,} records" if table else "no table yet"
            text(shown, "span", "file")
            with box("undo"):
                self._undo("Undo", session.history, session.undo)
                self._undo("Redo", session.undone, session.redo)

    def _undo(self, label: str, changes: list[dict[str, Any]], action: Callable[[], str | None]) -> None:
        def act() -> None:
            action()
            ui.navigate.to(self.path)

        what = changes[-1]["what"] if changes else ""
        shown = button(label, act, classes="slim", name=f"{label}: {what}" if what else label)
        if what:
            shown.props["title"] = what
        else:
            shown.props["disabled"] = "disabled"

    def _way(self) -> None:
        session = self.session
        places = [path for path, _ in STEPS]
        current = places.index(self.path.partition("?")[0]) if self.path.partition("?")[0] in places else 1
        items: list[Markup] = []
        for place, (path, name) in enumerate(STEPS):
            is_there = path == "/" or (session.table is not None and (path not in NEEDS_RUN or bool(session.runs)))
            number = tag("b", str(place + 1))
            if not is_there:
                items.append(tag("li", tag("span", number, name, class_="off", aria_disabled="true")))
                continue
            css = "done" if place < current else None
            here = "step" if place == current else None
            items.append(tag("li", tag("a", number, name, href=path, class_=css, aria_current=here)))
        show(tag("nav", tag("ol", joined(*items)), class_="steps", aria_label="Steps"))


def onward(back: tuple[str, str] | None, forth: tuple[str, str] | None) -> None:
    """The way back and the way on, at the foot of a page."""
    with box("onward", "nav", aria_label="Back and on"):
        if back:
            link(f"← {back[0]}", back[1], classes="button")
        if forth:
            link(f"{forth[0]} →", forth[1], classes="button primary")
