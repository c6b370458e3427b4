"""Take the screenshots of the web app that the documentation shows: ``python tools/screenshots.py``.

Starts a server with the demo table, visits every page in a headless Chromium, and writes small PNG files to
``docs/assets/web-app``. With ``--all FOLDER`` every page is taken whole, at 1280 and at 400 pixels, for looking at.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

PICTURES = Path(__file__).parents[1] / "docs" / "assets" / "web-app"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
COLOURS = 96
WAIT = 180_000
PAGES = {
    "open": ("/", "The first 8 records"),
    "columns": ("/columns", "100.0 %"),
    "column": ("/column?number=1", "Neoplasms"),
    "risk": ("/risk", "Column by column"),
    "method": ("/method", "would be recognised"),
    "run": ("/run", "left."),
    "result": ("/result", "Load this plan"),
    "take-away": ("/take-away", "In Python"),
}
"""Address of each page, and words that are on it when it is complete."""
HEIGHTS = {"open": 900, "columns": 880, "column": 1250, "risk": 900, "method": 1000, "run": 760, "result": 1500}
MAP = "Risk and utility of each run"


def main() -> None:
    """Take all screenshots."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--all", type=Path, metavar="FOLDER", help="take every page whole, at two widths, into a folder")
    folder = asked.parse_args().all
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "anonto", "serve", "--no-browser", "--demo"]
        environment = {**os.environ, "ANONTO_STATE": f"{home}/state", "TMPDIR": home}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)  # noqa: S603 - our own
        try:
            address = server.stdout.readline().strip() if server.stdout else ""
            walk(address, folder)
        finally:
            server.terminate()
            server.wait(30)


def walk(address: str, whole: Path | None) -> None:
    """Visit every page and take a screenshot of it."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        page = browser.new_context(viewport={"width": 1180, "height": 900}, device_scale_factor=1).new_page()
        page.set_default_timeout(WAIT)
        page.goto(address)
        root = address.partition("/?")[0]
        for name, (path, words) in PAGES.items():
            if name != "open":
                page.goto(f"{root}{path}")
            if name == "run":
                page.get_by_role("button", name="Start").click()
            page.get_by_text(words).first.wait_for()
            page.wait_for_timeout(2500 if name in {"result", "column"} else 700)
            take(page, name, whole)
            if name == "run":
                page.get_by_role("heading", name="Result", exact=True).wait_for()
        try_several(page, root)
        take(page, "map", whole)
        browser.close()


def try_several(page: Page, root: str) -> None:
    """Fill the map with several runs."""
    page.goto(f"{root}/result")
    page.get_by_label("Values, separated by commas").fill("3, 5, 20, 50, 100")
    page.get_by_label("Values, separated by commas").press("Tab")
    page.get_by_role("button", name="Try them").click()
    page.get_by_text("6. group-swap").wait_for()
    page.get_by_role("img", name=MAP).wait_for()
    page.wait_for_timeout(2500)


def take(page: Page, name: str, whole: Path | None) -> None:
    """One screenshot, or the whole page at two widths."""
    if whole is not None:
        whole.mkdir(parents=True, exist_ok=True)
        for width in (400, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(400)
            page.screenshot(path=whole / f"{name}-{width}.png", full_page=True)
        return
    if name == "map":
        write(page.locator("#map").screenshot(), name)
        return
    page.set_viewport_size({"width": 1180, "height": HEIGHTS.get(name, 900)})
    page.wait_for_timeout(500)
    write(page.screenshot(), name)


def write(picture: bytes, name: str) -> None:
    """A picture with few colours, which is enough for a page."""
    from PIL import Image

    PICTURES.mkdir(parents=True, exist_ok=True)
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(COLOURS).save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
