"""Layout shared by all pages: steps, undo and redo, messages, and the content."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.errors import AnontoError, SessionChangedError
from anonto.web.files import too_large_upload
from anonto.web.parts import Markup, box, button, heading, join, link, message, on_refusal, show, tag, text
from anonto.web.units import person_of
from anonto.web.words import our_mistake

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from anonto.web.app import WebApp
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
    "Everything stays on this machine: no part of the table is sent anywhere. Tables and releases are deleted when the "
    "server stops. The plan is kept for a month, with the cell texts that you repaired, ordered or marked as missing, "
    "unless you choose “Forget everything” on the first page."
)


class Frame:
    """A page under construction, for one session.

    It shows one version of the draft, and all its requests and changes refer to that version: if the session has since
    changed elsewhere, such as in another tab, nothing is changed, and the page asks to be reloaded.
    """

    def __init__(self, app: WebApp, session: Session, path: str) -> None:
        self.app, self.session, self.path = app, session, path
        self.version = session.version
        self._top: Any = None
        self._main: Any = None
        self._shown_version: int | None = None
        self._turns: dict[int, int] = {}
        """Number of times that filling each place has begun."""
        self._reported: Exception | None = None

    @contextlib.contextmanager
    def page(self, title: str, lead: str) -> Iterator[Any]:
        """Header, steps and footer around the content created in the block."""
        ui.on_exception(self.report_failure)
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
        """True if the session has changed elsewhere since the page was made."""
        return self.session.version != self.version

    def check(self, since: int | None = None) -> None:
        """Raise if the draft is not the version that the page shows, or not the given version."""
        if self.session.version != (self.version if since is None else since):
            raise SessionChangedError

    @contextlib.contextmanager
    def change(self, what: str, since: int | None = None) -> Iterator[dict[str, Any]]:
        """Change the draft in a block, as one undoable change; refused if it has changed elsewhere.

        With ``since``, it is also refused if this page has changed it after that version.
        """
        self.check(since)
        with self.session.change(what) as draft:
            yield draft
        self.version = self.session.version
        self.update()

    @contextlib.contextmanager
    def add(self, what: str) -> Iterator[dict[str, Any]]:
        """Change the draft by an addition that is valid for any version, even if the draft has changed elsewhere."""
        was_outdated = self.is_outdated
        with self.session.change(what) as draft:
            yield draft
        if not was_outdated:
            self.version = self.session.version
            self.update()

    async def ask(self, task: str, **given: Any) -> dict[str, Any]:
        """Ask the workers about the draft; refused if the draft changes before the answer arrives."""
        self.check()
        asked = self.version
        found = await self.app.ask(self.session, task, **given)
        self.check(asked)
        return found

    async def call(self, task: str, given: dict[str, Any]) -> dict[str, Any]:
        """Ask the desk process; refused if the draft changes before the answer arrives."""
        self.check()
        asked = self.version
        found = await self.session.desk.call(task, given)
        self.check(asked)
        return found

    def update(self) -> None:
        """Refresh the undo and redo buttons."""
        if self._shown_version != self.session.version:
            self._top.clear()
            self._fill_top()

    # ------------------------------------------------------------------------------------------ messages

    def say(self, sentence: str, kind: str = "info") -> None:
        """Show a message at the top of the page, replacing the last one."""
        self.alerts.clear()
        with self.alerts:
            message(sentence, kind)

    def refuse(self, error: AnontoError) -> None:
        """Show the error; if the session has changed, ask to reload the page."""
        if self._main.is_deleted:
            return
        if isinstance(error, SessionChangedError):
            self.ask_to_reload()
        else:
            self.say(self.session.readable(str(error)), "error")

    def report_failure(self, error: Exception) -> None:
        """Report an internal error, once; on an outdated page, ask to reload it instead."""
        if self._reported is error or self._main.is_deleted:
            return
        self._reported = error
        if self.is_outdated:
            self.ask_to_reload()
        else:
            self.say(our_mistake(error), "error")

    def ask_to_reload(self) -> None:
        """Show a sticky message that the session has changed and the page must be reloaded.

        The page is not reloaded automatically, so that typed text and the message can still be read.
        """
        if self._main.is_deleted:
            return
        self.alerts.clear()
        with self.alerts, box("message warning outdated", role="alert"):
            text(str(SessionChangedError()))
            button("Reload this page", lambda: ui.navigate.to(self.path), classes="slim")

    def report_upload(self, why: str) -> None:
        """Show why a dropped file was rejected."""
        too_large = str(too_large_upload(self.app.max_upload))
        self.say(too_large if why == "too large" else "The upload report_failure; try again.", "error")

    @contextlib.contextmanager
    def show_errors(self) -> Iterator[None]:
        """Show errors raised in the block as messages."""
        try:
            yield
        except AnontoError as error:
            self.refuse(error)
        except Exception as error:
            self.report_failure(error)
            raise

    # ------------------------------------------------------------------------------------------ what takes time

    async def fill(self, place: Any, what: str, content: Callable[[], Awaitable[None]]) -> None:
        """Fill a place with content that takes time, and show a busy message until then.

        If the page itself changes the draft meanwhile, the content is requested again.
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
                    self.ask_to_reload()
                elif self._turns[place.id] == turn:
                    continue
            except AnontoError as error:
                self._instead(place, self.session.readable(str(error)))
            except Exception as error:
                if place.is_deleted:  # the user has left the page
                    return
                self._instead(place, our_mistake(error))
                self._reported = error
                raise
            return

    def clear(self, place: Any) -> int:
        """Empty a place and discard content that is still being loaded for it."""
        place.clear()
        self._turns[place.id] = self._turns.get(place.id, 0) + 1
        return self._turns[place.id]

    def _instead(self, place: Any, sentence: str) -> None:
        if not place.is_deleted:
            place.clear()
            with place:
                message(sentence, "error")

    async def methods(self) -> dict[str, dict[str, Any]]:
        """The methods by name, with their descriptions and parameters; loaded from a worker once."""
        known = self.app.cache
        if "methods" not in known:
            known["methods"] = (await self.session.desk.call("methods", {}))["methods"]
        self.check()
        found: dict[str, dict[str, Any]] = known["methods"]
        return found

    def soon(self, place: Any, what: str, content: Callable[[], Awaitable[None]]) -> None:
        """Fill a place as soon as the page has loaded."""
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
            unit = "records" if person_of(session.plan) is None else "rows"
            shown = f"{table['name']} · {table['n_records']:,} {unit}" if table else "no table yet"
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
        here = self.path.partition("?")[0]
        current = places.index(here) if here in places else places.index("/columns") if here == "/column" else -1
        items: list[Markup] = []
        for place, (path, name) in enumerate(STEPS):
            is_there = path == "/" or (session.table is not None and (path not in NEEDS_RUN or bool(session.runs)))
            number = tag("b", str(place + 1))
            if not is_there:
                items.append(tag("li", tag("span", number, name, class_="off", aria_disabled="true")))
                continue
            css = "done" if place < current else None
            is_current = "step" if place == current else None
            items.append(tag("li", tag("a", number, name, href=path, class_=css, aria_current=is_current)))
        show(tag("nav", tag("ol", join(*items)), class_="steps", aria_label="Steps"))


def whole_number(asked: dict[str, str], key: str, standard: int = 0) -> int:
    """A number in the query of an address; the standard if there is none or it is not a number."""
    given = asked.get(key, "")
    return int(given) if given.isdigit() and len(given) < 9 else standard


def onward(back: tuple[str, str] | None, forth: tuple[str, str] | None) -> None:
    """Links to the previous and next step, at the bottom of a page."""
    with box("onward", "nav", aria_label="Previous and next step"):
        if back:
            link(f"← {back[0]}", back[1], classes="button")
        if forth:
            link(f"{forth[0]} →", forth[1], classes="button primary")
