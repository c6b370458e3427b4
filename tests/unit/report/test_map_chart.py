"""The risk-utility map: every plan is drawn where it belongs, for those who see it and those who do not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.report.charts import risk_utility_chart

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SAFE: dict[str, Any] = {
    "label": "group-swap (k = 30)",
    "method": "group-swap",
    "risk": 0.03,
    "utility": 0.8,
    "on_front": True,
    "risk_low": 0.02,
    "risk_high": 0.05,
}
USEFUL = {"label": "rank-swap (k = 5)", "method": "rank-swap", "risk": 0.4, "utility": 0.95, "on_front": True}
BEATEN = {"label": "semantic-noise", "method": "semantic-noise", "risk": 0.4, "utility": 0.5, "on_front": False}


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - our own


def place_of(svg: ET.Element, label: str) -> tuple[float, float]:
    """Where the mark stands whose title begins with a label."""
    for group in svg.iter("g"):
        title = group.find("title")
        if title is not None and label in (title.text or ""):
            circle = next(group.iter("circle"), None)
            if circle is not None:
                return float(circle.get("cx", "")), float(circle.get("cy", ""))
            corners = next(group.iter("polygon")).get("points", "").split()
            return float(corners[0].split(",")[0]), float(corners[1].split(",")[1])
    raise AssertionError(label)


def test_less_risk_is_further_left_and_more_utility_higher() -> None:
    svg = drawn(risk_utility_chart([SAFE, USEFUL, BEATEN], "t"))
    safe, useful, beaten = (place_of(svg, one["label"]) for one in (SAFE, USEFUL, BEATEN))
    assert safe[0] < useful[0] == beaten[0]
    assert useful[1] < safe[1] < beaten[1]


def test_plans_of_the_front_are_numbered_safest_first_and_listed() -> None:
    texts = [text.text for text in drawn(risk_utility_chart([USEFUL, BEATEN, SAFE], "t")).iter("text")]
    listed = [text for text in texts if text in {one["label"] for one in (SAFE, USEFUL, BEATEN)}]
    assert listed == [SAFE["label"], USEFUL["label"]]
    assert texts.count("1") == texts.count("2") == 2


def test_what_is_not_allowed_is_shaded_and_the_choice_has_a_ring() -> None:
    svg = risk_utility_chart([{**SAFE, "chosen": True}, USEFUL], "t", max_risk=0.05, ring="recommended")
    assert "at most 5 % allowed" in svg
    assert svg.count('stroke="var(--good)"') == 1
    assert "utility 0.800 (recommended)" in svg
    off_front = risk_utility_chart([SAFE, {**BEATEN, "chosen": True}], "t")
    assert off_front.count('stroke="var(--good)"') == 1


def test_it_has_a_title_and_no_label_becomes_markup() -> None:
    odd = {**SAFE, "label": '<script>alert("x")</script> & ' + "long " * 30}
    svg = risk_utility_chart([odd], "A & B")
    root = drawn(svg)
    assert (root.get("role"), root.get("aria-label")) == ("img", "A & B")
    assert root.find("title").text == "A & B"  # type: ignore[union-attr]
    assert "<script" not in svg


def test_no_plan_and_plans_at_the_edges_can_be_drawn() -> None:
    assert "No plan was tried." in risk_utility_chart([], "t")
    edges = [{**SAFE, "risk": risk, "utility": utility} for risk in (0.0, 1.0) for utility in (0.0, 1.0)]
    svg = drawn(risk_utility_chart(edges, "t", max_risk=1.0))
    _, _, width, height = map(float, svg.get("viewBox", "").split())
    for circle in svg.iter("circle"):
        assert 0 <= float(circle.get("cx", "")) <= width
        assert 0 <= float(circle.get("cy", "")) <= height


def test_more_plans_than_fit_the_list_are_counted() -> None:
    many = [{**SAFE, "label": f"plan {n}", "risk": n / 100, "utility": 0.5 + n / 100} for n in range(20)]
    assert "and 6 more on the front" in risk_utility_chart(many, "t")


def test_the_page_of_a_sweep_opens_in_a_browser_without_asking_for_anything(chromium: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    rng = np.random.default_rng(1)
    table = pl.DataFrame({"age": rng.integers(0, 90, 60), "<b>town": rng.choice(["x", "y"], 60)})
    plan = {"columns": {"age": {"kind": "numeric"}, "<b>town": {}}}
    grid = {"random-swap": {}, "rank-swap": {"k": [2, 10]}, "semantic-noise": {"noise_level": [1.0]}}
    anonto.sweep(table, plan, grid, seeds=1, workers=1, max_risk=0.5).to_html(tmp_path / "map.html")
    said: list[str] = []
    asked: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((tmp_path / "map.html").as_uri())
        assert page.locator("svg[role=img]").count() == 2  # the map, and what more risk gains
        assert page.locator("section").count() == 6
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        browser.close()
    assert said == []
    assert [url for url in asked if not url.startswith("file:")] == []
    text = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert "<b>town" not in text
    assert not re.search(r"(?:src|href)=\"(?!#)", text)
