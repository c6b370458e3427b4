"""The pages, one module each: they show the session and turn the user's actions into changes of the draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import Request  # noqa: TC002 - the framework reads the annotations
from fastapi.responses import RedirectResponse, Response
from nicegui import app as framework
from nicegui import ui

from anonto.web.frame import Frame
from anonto.web.guard import KEY_OF_SCOPE
from anonto.web.pages.column import column_page
from anonto.web.pages.columns import columns_page
from anonto.web.pages.foreign import foreign_page
from anonto.web.pages.method import method_page
from anonto.web.pages.open import open_page
from anonto.web.pages.result import result_page
from anonto.web.pages.risk import risk_page
from anonto.web.pages.run import run_page
from anonto.web.pages.take_away import take_away_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.web.app import WebApp

PAGES: dict[str, Callable[[Frame, dict[str, str]], None]] = {
    "/": open_page,
    "/columns": columns_page,
    "/column": column_page,
    "/risk": risk_page,
    "/method": method_page,
    "/run": run_page,
    "/result": result_page,
    "/take-away": take_away_page,
    "/foreign": foreign_page,
}
WITHOUT_A_TABLE = ("/", "/foreign")
NEED_A_RUN = ("/result", "/take-away")


def add_pages(app: WebApp) -> None:
    """Register the pages with the framework."""
    framework.colors(primary="#0b6e6e")
    ui.add_head_html('<link rel="stylesheet" href="/assets/style.css">', shared=True)
    for script in ("events.js", "tips.js"):
        ui.add_head_html(f'<script defer src="/assets/{script}"></script>', shared=True)
    for path, build in PAGES.items():
        ui.page(path)(_page(app, path, build))


def _page(
    app: WebApp, path: str, build: Callable[[Frame, dict[str, str]], None]
) -> Callable[[Request], Response | None]:
    def page(request: Request) -> Response | None:
        session = app.sessions.of(request.scope[KEY_OF_SCOPE])
        is_too_early = path not in WITHOUT_A_TABLE and session.table is None
        if is_too_early or (path in NEED_A_RUN and not session.runs):
            return RedirectResponse("/")
        asked = dict(request.query_params)
        whole = f"{path}?{request.url.query}" if request.url.query else path
        build(Frame(app, session, whole), asked)
        return None

    return page
