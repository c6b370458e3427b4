"""A server for each file of tests, and a real browser that notes what a page asks for and complains about."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from web.stand_ins import PLAN, Answers, SlowWorker

pytest.importorskip("nicegui")
pytest.importorskip("playwright")

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

    from anonto.web.app import WebApp
    from anonto.web.session import Session

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
WAIT = 240_000
"""Milliseconds: other tests may keep both processors busy."""


@dataclass
class Served:
    """A running server."""

    process: subprocess.Popen[str]
    address: str
    errors: Path
    folder: Path
    """Below which files can be picked."""
    temporary: Path
    """Where its working folder is."""
    state: Path

    @property
    def root(self) -> str:
        return self.address.partition("/?")[0]

    @property
    def port(self) -> int:
        return int(self.root.rpartition(":")[2])

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(30)


@contextmanager
def serving(home: Path, *options: str) -> Iterator[Served]:
    """A server whose files are all below one folder."""
    for name in ("folder", "temporary", "state"):
        (home / name).mkdir(parents=True, exist_ok=True)
    errors = home / "errors.txt"
    environment = {**os.environ, "TMPDIR": str(home / "temporary"), "ANONTO_STATE": str(home / "state")}
    environment.pop("ANONTO_DEBUG", None)
    command = [sys.executable, "-m", "anonto", "serve", "--no-browser", "--folder", str(home / "folder"), *options]
    with errors.open("a", encoding="utf-8") as stream:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, text=True, env=environment, cwd=home)
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        served = Served(process, address, errors, home / "folder", home / "temporary", home / "state")
        try:
            assert address, errors.read_text(encoding="utf-8")
            yield served
        finally:
            served.stop()
            process.stdout.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield started
        started.close()


@dataclass
class Visitor:
    """A browser with cookies of its own, on one page."""

    context: BrowserContext
    page: Page
    root: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()
    """Parts of complaints that a test provokes."""

    @property
    def unexpected(self) -> list[str]:
        return [one for one in self.complaints if not any(part in one for part in self.allowed)]

    @property
    def foreign(self) -> list[str]:
        own = (self.root, self.root.replace("http:", "ws:"), "data:", "blob:")
        return [one for one in self.requests if not one.startswith(own)]

    # ------------------------------------------------------------------------------------------ what a steward does

    def open_demo(self) -> None:
        self.page.get_by_role("button", name="Open the demo table").click()
        self.see("The first 8 records")

    def drop(self, file: Path, label: str = "Drop a table here, or choose one") -> None:
        self.page.get_by_label(label).set_input_files(file)

    def see(self, words: str) -> None:
        self.page.get_by_text(words).locator("visible=true").first.wait_for(timeout=WAIT)

    def go(self, name: str) -> None:
        self.page.get_by_role("navigation", name="Steps").get_by_role("link", name=name).click()
        self.page.wait_for_load_state()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name).first.click()

    def run(self) -> None:
        self.go("Run")
        self.press("Start")
        result = self.page.get_by_role("heading", name="Result", exact=True)
        ended = self.page.get_by_role("link", name="See the result")  # shown by a page that was loaded after the run
        result.or_(ended).first.wait_for(timeout=WAIT)
        if ended.is_visible():
            ended.click()
        result.wait_for(timeout=WAIT)

    def download(self, name: str, *, exact: bool = False) -> Path:
        with self.page.expect_download() as started:
            self.page.get_by_role("link", name=name, exact=exact).click()
        return Path(started.value.path())


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture
def visit(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Visitor]]:
    """Open a server in a new browser; at the end nothing may have been asked of others, and nothing complained.

    Where a test fails, what its pages show is printed.
    """
    visitors: list[Visitor] = []

    def start(server: Served, *, width: int = 1280, allowed: tuple[str, ...] = ()) -> Visitor:
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        visitor = Visitor(context, page, server.root, allowed=allowed)
        watch(page, visitor)
        page.goto(server.address)
        page.get_by_role("heading", name="Open a table").wait_for()
        visitors.append(visitor)
        return visitor

    yield start
    if request.node.stash.get(FAILED, False):
        for page in [page for one in visitors for page in one.context.pages]:
            sys.stdout.write(f"{page.url} shows:\n{page.inner_text('body')}\n")
    for one in visitors:
        one.context.close()
    assert [one.foreign for one in visitors if one.foreign] == []
    assert [one.unexpected for one in visitors if one.unexpected] == []


def watch(page: Any, visitor: Visitor) -> None:
    page.on("request", lambda request: visitor.requests.append(request.url))
    page.on("websocket", lambda socket: visitor.requests.append(socket.url))
    page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
    page.on(
        "console",
        lambda said: visitor.complaints.append(said.text) if said.type in {"error", "warning"} else None,
    )


# ------------------------------------------------------------------------------------------------ without a browser


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> type[SlowWorker]:
    """Stand-ins for all worker processes."""
    from anonto.web import app as app_module
    from anonto.web import jobs, session

    class Made(SlowWorker):
        made: list[SlowWorker] = []  # noqa: RUF012 - one list for each test
        answers: Answers = {}  # noqa: RUF012

    for module in (app_module, jobs, session):
        monkeypatch.setattr(module, "Worker", Made)
    return Made


@pytest.fixture
def session(tmp_path: Path, workers: type[SlowWorker]) -> Session:
    """A session with a table and a plan."""
    from anonto.web.folders import SessionStore
    from anonto.web.session import Session

    del workers
    (tmp_path / "table.csv").write_text("age\n1\n", encoding="utf-8")
    made = Session("key", tmp_path / "session", SessionStore(tmp_path / "state"))
    path = str(tmp_path / "table.csv")
    made.draft["table"] = {"source": "folder", "name": "x.csv", "path": path, "sha256": "x", "n_records": 9}
    made.draft["plan"] = copy.deepcopy(PLAN)
    return made


@pytest.fixture
def app(tmp_path: Path) -> WebApp:
    from anonto.web.app import WebApp
    from anonto.web.folders import SessionStore
    from anonto.web.session import Sessions

    return WebApp(Sessions(tmp_path / "sessions", SessionStore(tmp_path / "state")), None, 10**9, demo=False)
