"""`anonto reproduce --quick` on synthetic discharges: the hard claims hold, and its pages stand alone."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

from anonto.papers.whole import PAPERS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SPECIFIED = {
    "rank-swapping": ["1", "2", "3", "4a", "4b", "5", "6", "P1", "P2"],
    "equi-width": ["1", "10 within", "width", "Table 1", "10a", "10b", "10c", "11", "P3", "P4"],
    "marginality": ["Example", "P5", "7a", "7b", "7c", "8", "9", "P6"],
    "noise": ["12a", "12b", "12c", "12d", "12e", "13a", "13b", "14"],
}


@pytest.fixture(scope="module")
def claims(quick_run: Path) -> list[dict[str, str]]:
    with (quick_run / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_claim_has_a_verdict_and_its_numbers(claims: list[dict[str, str]]) -> None:
    assert {paper: [one["claim"] for one in claims if one["paper"] == paper] for paper in PAPERS} == SPECIFIED
    for claim in claims:
        assert claim["verdict"] in {"held", "not held", "cannot hold"}
        assert re.search(r"\d", claim["found"])
        assert bool(claim["why"]) == (claim["verdict"] != "held")


def test_the_hard_claims_hold(claims: list[dict[str, str]]) -> None:
    hard = [one for one in claims if one["kind"] == "hard"]
    assert len(hard) == 7
    assert [one["claim"] for one in hard if one["verdict"] != "held"] == []


@pytest.mark.parametrize(("paper", "claim"), [("rank-swapping", "2"), ("rank-swapping", "3"), ("rank-swapping", "5")])
def test_soft_claims_that_follow_from_what_the_methods_look_at_hold(
    claims: list[dict[str, str]], paper: str, claim: str
) -> None:
    found = next(one for one in claims if (one["paper"], one["claim"]) == (paper, claim))
    assert found["verdict"] == "held", found["found"]


def test_rank_swapping_is_linked_above_one_in_k_and_group_swapping_is_not(claims: list[dict[str, str]]) -> None:
    verdicts = {one["claim"]: one["verdict"] for one in claims}
    assert (verdicts["P1"], verdicts["P2"]) == ("not held", "held")


def test_the_impossible_claims_are_these(claims: list[dict[str, str]]) -> None:
    assert {one["claim"] for one in claims if one["verdict"] == "cannot hold"} == {"10c", "P4", "P5"}


@pytest.mark.parametrize("number", [2, 3, 4, 5, 6])
def test_tables_have_our_numbers_beside_the_printed_ones(quick_run: Path, number: int) -> None:
    table = pl.read_csv(quick_run / "tables" / f"rank-swapping-table-{number}.csv")
    assert table["k"].to_list() == [2, 10, 50]
    for column in ("RMSE A", "RMSE B"):
        assert table[column].is_sorted()
        assert table[f"{column} (printed)"].is_sorted()
    assert (table["RMSE A, standard deviation"] >= 0).all()


def test_the_table_of_privacy_has_the_formula_and_the_smallest_bin(quick_run: Path) -> None:
    table = pl.read_csv(quick_run / "tables" / "equi-width-table-1.csv").filter(pl.col("n") == 10_000)
    assert (table["ln(q)/q"] - table["P (printed)"]).abs().max() < 5.1e-5
    assert (table["smallest bin N*"] < table["corner, simulated"]).all()


def test_every_table_and_figure_of_a_page_has_its_file(quick_run: Path) -> None:
    pages = [(quick_run / f"{paper}.html").read_text(encoding="utf-8") for paper in PAPERS]
    linked = {name for page in pages for name in re.findall(r'href="(tables/[^"]+)"', page)}
    assert linked == {f"tables/{path.name}" for path in (quick_run / "tables").iterdir()}
    assert sum(page.count("<svg ") for page in pages) == len(list((quick_run / "figures").iterdir()))


def test_the_page_of_the_documentation_names_every_claim_and_figure(
    quick_run: Path, claims: list[dict[str, str]]
) -> None:
    page = (quick_run / "reproduction.md").read_text(encoding="utf-8")
    assert all(f"| {one['claim']} | " in page for one in claims)
    assert set(re.findall(r"\(figures/([^)]+)\)", page)) == {path.name for path in (quick_run / "figures").iterdir()}


def test_pages_ask_for_nothing_and_complain_of_nothing(quick_run: Path, chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    asked, said = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        for name in ("index", *PAPERS):
            page.goto((quick_run / f"{name}.html").as_uri())
            assert page.locator("table.claims tbody tr").count() >= 8
            assert page.locator("nav a").count() == 5
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            drawn = page.locator("main svg").all()
            assert all(one.bounding_box()["width"] > 300 for one in drawn)  # type: ignore[index]
        page.set_viewport_size({"width": 380, "height": 800})
        for name in ("index", *PAPERS):
            page.goto((quick_run / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} is too wide"
        page.goto((quick_run / "index.html").as_uri())
        page.get_by_role("link", name="Semantic rank swapping").first.click()
        assert page.title() == "Semantic rank swapping"
        browser.close()
    assert said == []
    assert all(url.startswith("file://") for url in asked)
