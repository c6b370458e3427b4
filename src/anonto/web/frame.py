"""The frame of every page: where one is on the way, what can be undone, and room for the page itself."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.errors import AnontoError, SessionChangedError, UploadTooLargeError
from anonto.web.parts import Markup, box, button, heading, joined, link, message, on_refusal, show, tag, text
from anonto.web.words import our_mistake

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
KEPT = (
    "Everything stays on this machine: no part of the table is sent anywhere. Tables and releases are wiped when the "
    "server ends. The plan stays for a month, with the texts of cells that were repaired, put in an order or said to "
    "mean missing, unless you forget everything on the first page."
)


class Frame:
    """A page being made, for one session.

    It shows one version of the draft. What it asks and changes is about that version: when the session has changed
    elsewhere meanwhile, as in another tab, nothing is changed, and the page says that it must be reloaded.
    """

    def __init__(self, house: House, session: Session, path: str) -> None:
        self.house, self.session, self.path = house, session, path
        self.version = session.version
        self._top: Any = None
        self._main: Any = None
        self._shown_version: int | None = None
        self._turns: dict[int, int] = {}
        """For each place how often it began to be filled."""
        self._told: Exception | None = None

    @contextlib.contextmanager
    def page(self, title: str, lead: str) -> Iterator[Any]:
        """Head, way and foot around what is made in the block."""
        ui.on_exception(self.failed)
        on_refusal(self.refuse)
        ui.page_title(f"{title} – anonto")
        link("Skip to the content", "#main", classes="skip")
        with box("top", "header"):
            self._top = box("top-row")
            self._way()
        self._fill_top()
        with box("main", "div", id="main", tabindex="-1") as self._main:
            with box():
                heading(title, 1)
                text(lead, "p", "lead")
            self.alerts = box("stack alerts", aria_live="polite")
            yield self._main
        with box("foot", "footer"):
            text(KEPT)

    # ------------------------------------------------------------------------------------------ the draft

    @property
    def is_outdated(self) -> bool:
        """Whether the session has changed elsewhere since the page was made."""
        return self.session.version != self.version

    def check(self, since: int | None = None) -> None:
        """Refuse when the draft is not the one that the page shows, or not the one of a version."""
        if self.session.version != (self.version if since is None else since):
            raise SessionChangedError

    @contextlib.contextmanager
    def changing(self, what: str, since: int | None = None) -> Iterator[dict[str, Any]]:
        """The draft, to be changed in a block that can be undone; refused when it has changed elsewhere.

        With ``since``, it is also refused when this page changed it after that version.
        """
        self.check(since)
        with self.session.changing(what) as draft:
            yield draft
        self.version = self.session.version
        self.update()

    @contextlib.contextmanager
    def adding(self, what: str) -> Iterator[dict[str, Any]]:
        """The draft, for an addition that fits any; that something else has changed does not matter."""
        was_outdated = self.is_outdated
        with self.session.changing(what) as draft:
            yield draft
        if not was_outdated:
            self.version = self.session.version
            self.update()

    async def ask(self, task: str, **given: Any) -> dict[str, Any]:
        """What the workers find out about the draft; refused when it changes before the answer is there."""
        self.check()
        asked = self.version
        found = await self.house.ask(self.session, task, **given)
        self.check(asked)
        return found

    async def call(self, task: str, given: dict[str, Any]) -> dict[str, Any]:
        """What the desk finds out; refused when the draft changes before the answer is there."""
        self.check()
        asked = self.version
        found = await self.session.desk.call(task, given)
        self.check(asked)
        return found

    def update(self) -> None:
        """Show what can be undone now."""
        if self._shown_version != self.session.version:
            self._top.clear()
            self._fill_top()

    # ------------------------------------------------------------------------------------------ messages

    def say(self, sentence: str, kind: str = "info") -> None:
        """A message at the top of the page, instead of the last one."""
        self.alerts.clear()
        with self.alerts:
            message(sentence, kind)

    def refuse(self, error: AnontoError) -> None:
        """Say what is refused; where the session has changed, that the page must be reloaded."""
        if self._main.is_deleted:
            return
        if isinstance(error, SessionChangedError):
            self.tell_to_reload()
        else:
            self.say(self.session.readable(str(error)), "error")

    def failed(self, error: Exception) -> None:
        """Say that something failed by our mistake, once; a page that shows what is no more must be reloaded first."""
        if self._told is error or self._main.is_deleted:
            return
        self._told = error
        if self.is_outdated:
            self.tell_to_reload()
        else:
            self.say(our_mistake(error), "error")

    def tell_to_reload(self) -> None:
        """Say, where it is seen from anywhere on the page, that the session has changed and the page must be reloaded.

        It is not reloaded by itself: what was typed can still be read, and the sentence too.
        """
        if self._main.is_deleted:
            return
        self.alerts.clear()
        with self.alerts, box("message warning outdated", role="alert"):
            text(str(SessionChangedError()))
            button("Reload this page", lambda: ui.navigate.to(self.path), classes="slim")

    def not_sent(self, why: str) -> None:
        """Say why a dropped file was not taken."""
        too_large = str(UploadTooLargeError(self.house.max_upload))
        self.say(too_large if why == "too large" else "The file could not be sent; try again.", "error")

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Show what goes wrong in the block as a message."""
        try:
            yield
        except AnontoError as error:
            self.refuse(error)
        except Exception as error:
            self.failed(error)
            raise

    # ------------------------------------------------------------------------------------------ what takes time

    async def fill(self, place: Any, what: str, content: Callable[[], Awaitable[None]]) -> None:
        """Fill a place with what takes time; until then it says so.

        When the page itself changes the draft meanwhile, the content is asked for again.
        """
        turn = self.clear(place)
        with place:
            show(tag("div", f"{what} …", class_="busy", role="status"))
        while not place.is_deleted:
            try:
                with place:
                    await content()
            except SessionChangedError:
                if self.is_outdated:
                    place.clear()
                    self.tell_to_reload()
                elif self._turns[place.id] == turn:
                    continue
            except AnontoError as error:
                self._instead(place, self.session.readable(str(error)))
            except Exception as error:
                if place.is_deleted:  # the page was left
                    return
                self._instead(place, our_mistake(error))
                self._told = error
                raise
            return

    def clear(self, place: Any) -> int:
        """Empty a place for something else; what it was being filled with is no longer wanted."""
        place.clear()
        self._turns[place.id] = self._turns.get(place.id, 0) + 1
        return self._turns[place.id]

    def _instead(self, place: Any, sentence: str) -> None:
        if not place.is_deleted:
            place.clear()
            with place:
                message(sentence, "error")

    async def methods(self) -> dict[str, dict[str, Any]]:
        """The methods by name, with their words and parameters; a worker is asked once."""
        known = self.house.cache
        if "methods" not in known:
            known["methods"] = (await self.session.desk.call("methods", {}))["methods"]
        self.check()
        found: dict[str, dict[str, Any]] = known["methods"]
        return found

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
        self._shown_version = session.version
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
            self.check()
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
