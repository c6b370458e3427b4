"""The report as a reader sees it: opened in a real browser."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.report.frames.registry import frames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

ODD = "<script>alert('x')</script> & “x” 🤧"
POINTS = [
    {"label": f"rank-swap (k = {k})", "method": "rank-swap", "risk": 1 / k, "utility": 1 - k / 100, "on_front": k != 30}
    for k in (5, 10, 20, 30)
]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
CONTRAST = """
() => {
  const parsed = colour => {
    const found = colour.match(/[\\d.]+/g).map(Number);
    return found.length === 3 ? [...found, 1] : found;
  };
  const over = (top, below, opacity) => {
    const share = top[3] * opacity;
    return top.slice(0, 3).map((c, i) => c * share + below[i] * (1 - share));
  };
  const luminance = colour => {
    const [r, g, b] = colour.map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const ground = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(parsed(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below, 1), [255, 255, 255]);
  };
  const inside = (box, x, y) => box.left <= x && x <= box.right && box.top <= y && y <= box.bottom;
  const drawn = (svg, text) => {
    const box = text.getBoundingClientRect(), x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
    let below = ground(svg);
    for (const shape of svg.querySelectorAll("path, rect, circle, polygon, text")) {
      if (shape === text) break;
      const style = getComputedStyle(shape);
      if (shape.tagName === "text" || style.fill === "none" || !inside(shape.getBoundingClientRect(), x, y)) continue;
      below = over(parsed(style.fill), below, Number(style.opacity) * Number(style.fillOpacity));
    }
    return below;
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.getClientRects().length || ["title", "desc", "style"].includes(element.tagName)) continue;
    const svg = element.closest("svg"), style = getComputedStyle(element);
    const colours = svg ? [parsed(style.fill), drawn(svg, element)] : [parsed(style.color), ground(element)];
    found.push([ratio(colours[0].slice(0, 3), colours[1]), element.tagName, element.textContent.trim().slice(0, 40)]);
  }
  return found;
}
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both editions of an assessed release with odd names, the report of a masked one, and one of a bad release."""
    rng = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("pages")
    table = pl.DataFrame(
        {
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], 400).tolist(),
            "age": rng.integers(20, 80, 400),
            ODD: rng.choice(["north", "south"], 400).tolist(),
            "stay": rng.integers(1, 30, 400),
        }
    )
    plan: dict[str, Any] = {
        "columns": {
            "illness": {"ontology": "illnesses"},
            "age": {"kind": "numeric"},
            ODD: {},
            "stay": {"kind": "numeric", "role": "confidential"},
        },
        "steps": [{"method": "group-swap", "columns": ["illness", "age", ODD], "k": 5}],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anonto.AnontoWarning)
        release = anonto.mask(table, plan, seed=1 << 100)
        bad = anonto.assess(table, table, plan)
    release.save(folder / "masked.parquet")
    private = folder / "masked.parquet.private.json"
    found = anonto.assess(table, folder / "masked.parquet", plan, private=private, predict="stay")
    paths = {name: folder / f"{name}.html" for name in ("internal", "public", "masked", "bad")}
    found.to_html(paths["internal"], sweep=POINTS, frames=list(frames()))
    found.to_html(paths["public"], edition="public", frames=list(frames()))
    release.save_report(paths["masked"])
    bad.to_html(paths["bad"])
    return paths


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield opened
        opened.close()


class Seen:
    """A page with everything it asked for and complained about."""

    def __init__(self, browser: Any, path: Path, *, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page = self.context.new_page()
        self.page.route(re.compile("^(?!file:)"), self._refuse)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())

    def _refuse(self, route: Any) -> None:
        self.asked.append(route.request.url)
        route.abort()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


NAMES = ("internal", "public", "masked", "bad")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_asks_for_nothing_complains_of_nothing_and_fits(
    browser: Any, pages: dict[str, Path], name: str, width: int, tmp_path: Path
) -> None:
    with Seen(browser, pages[name], width=width) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
        seen.page.screenshot(path=tmp_path / "page.png", full_page=True)
        assert seen.asked == [pages[name].as_uri()]
        assert seen.complaints == []
        assert seen.page.locator("script").count() == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_contrasts_with_its_background(browser: Any, pages: dict[str, Path], name: str, scheme: str) -> None:
    with Seen(browser, pages[name], scheme=scheme) as seen:
        seen.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found = seen.page.evaluate(CONTRAST)
        assert len(found) > 100
        assert [one for one in found if one[0] < 4.5] == []


def test_the_measure_of_contrast_sees_pale_texts_and_pale_drawings(browser: Any, pages: dict[str, Path]) -> None:
    with Seen(browser, pages["internal"]) as seen:
        for style, tag in (
            ("p { color: #999; }", "P"),
            (":root { --faint: #ccc; }", "text"),
            ("svg { color: #9ac; }", "text"),
        ):
            seen.page.reload()
            seen.page.add_style_tag(content=style)
            assert tag in {one[1] for one in seen.page.evaluate(CONTRAST) if one[0] < 4.5}


LINKAGE_MAP_CLASSES, HEAT_MAPS, MOVED, MOVED_BY_MANY = 3, 3, 2, 1
"""Groups are so close that no cell of the third column leaves its value, and of the first only two do."""


@pytest.mark.parametrize(
    ("name", "charts"),
    [
        ("internal", LINKAGE_MAP_CLASSES + HEAT_MAPS + MOVED + 2),
        ("public", LINKAGE_MAP_CLASSES - 1 + HEAT_MAPS + MOVED_BY_MANY + 1),
        ("bad", LINKAGE_MAP_CLASSES + HEAT_MAPS + 2),
        ("masked", 2),
    ],
)
def test_every_chart_is_there_with_a_title_and_its_numbers(
    browser: Any, pages: dict[str, Path], name: str, charts: int
) -> None:
    with Seen(browser, pages[name], width=400) as seen:
        svgs = seen.page.locator("svg[role=img]")
        assert svgs.count() == charts
        boxes = [svgs.nth(place).bounding_box() for place in range(svgs.count())]
        assert all(box is not None and box["width"] > 200 and box["height"] > 20 for box in boxes)
        titles = seen.page.eval_on_selector_all("svg", "all => all.map(one => one.querySelector('title').textContent)")
        assert len(set(titles)) == len(titles)
        assert all(titles)
        without = seen.page.eval_on_selector_all(
            "svg", "all => all.filter(one => !one.closest('section').querySelector('details table')).length"
        )
        assert without == 0


@pytest.mark.parametrize("name", NAMES)
def test_headings_landmarks_and_tables_are_in_order(browser: Any, pages: dict[str, Path], name: str) -> None:
    with Seen(browser, pages[name]) as seen:
        levels = seen.page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(one => Number(one.tagName[1]))")
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))
        for landmark in ("header", "nav[aria-label]", "main", "footer"):
            assert seen.page.locator(landmark).count() == 1
        assert seen.page.evaluate("document.documentElement.lang") == "en"
        assert seen.page.locator("th:not([scope])").count() == 0
        tables = seen.page.locator("table")
        assert tables.count() == seen.page.locator("table > caption").count() > 0


def test_the_keyboard_reaches_the_skip_link_then_every_section(browser: Any, pages: dict[str, Path]) -> None:
    with Seen(browser, pages["internal"]) as seen:
        links = [
            "#content",
            *(f"#{name}" for name in seen.page.eval_on_selector_all("h2", "all => all.map(one => one.id)")),
        ]
        reached = []
        for _ in links:
            seen.page.keyboard.press("Tab")
            reached.append(seen.page.evaluate("document.activeElement.getAttribute('href')"))
            outline = seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none"
        assert reached == links
        box = seen.page.evaluate(
            "(document.querySelector('.skip').focus(), document.querySelector('.skip').getBoundingClientRect().left)"
        )
        assert box >= 0
        assert all(seen.page.locator(link).count() == 1 for link in links)


def test_the_page_prints(browser: Any, pages: dict[str, Path], tmp_path: Path) -> None:
    with Seen(browser, pages["internal"], scheme="dark") as seen:
        seen.page.emulate_media(media="print")
        assert not seen.page.locator("nav").is_visible()
        assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        seen.page.pdf(path=tmp_path / "report.pdf")
        assert (tmp_path / "report.pdf").stat().st_size > 20_000


def test_each_frame_starts_on_a_page_of_its_own_and_its_empty_lines_are_printed(
    browser: Any, pages: dict[str, Path]
) -> None:
    with Seen(browser, pages["internal"]) as seen:
        seen.page.emulate_media(media="print")
        breaks = seen.page.eval_on_selector_all(".frame", "all => all.map(one => getComputedStyle(one).breakBefore)")
        assert breaks == ["page"] * len(frames())
        lines = seen.page.locator(".frame .blank")
        assert lines.count() > len(frames())
        boxes = [lines.nth(place).bounding_box() for place in range(lines.count())]
        assert all(box is not None and box["width"] > 200 and box["height"] > 20 for box in boxes)
        width = seen.page.evaluate("parseFloat(getComputedStyle(document.querySelector('.blank')).borderBottomWidth)")
        assert width > 0


def test_what_must_not_be_overlooked_is_seen_first(browser: Any, pages: dict[str, Path]) -> None:
    with Seen(browser, pages["bad"]) as seen:
        findings = seen.page.locator(".warning li")
        assert findings.count() > 0
        assert findings.first.bounding_box()["y"] < 1_200
        assert "more than" in findings.first.inner_text()
