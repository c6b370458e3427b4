"""The report of a release that another tool made: what it says inside, and that the public edition tells nothing."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.attacks.rate import Risk
from anonto.errors import InternalError
from anonto.report import foreign
from anonto.report.foreign import NOT_PUBLISHED, foreign_data
from anonto.report.gate import PERSONS_A_STEP
from anonto.report.page import foreign_html

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.assessment.assess import Assessment

ODD = "<script>alert('x')</script> & “x”"
WITHHELD = "zq-only-inside"
FIGURE = re.compile(r"\d+(?:\.\d+)? ?%")
N, N_OTHERS = 300, 201


def persons(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    town = rng.choice(["zq-north", "zq-south"], n)
    return pl.DataFrame({"age": age, ODD: town, "income": 1000 + 40 * age, WITHHELD: rng.integers(0, 9, n)})


def released(table: pl.DataFrame) -> pl.DataFrame:
    """Ages in tens, some incomes suppressed, and a column that the original does not have."""
    tens = pl.col("age") // 10 * 10
    return table.drop(WITHHELD).with_columns(
        age=pl.format("[{},{})", tens, tens + 10),
        income=pl.when(pl.col("age") > 70).then(None).otherwise("income").cast(pl.String).fill_null("*"),
        score=pl.lit(1),
    )


@pytest.fixture(scope="module")
def assessed() -> Assessment:
    table = persons(N, 1)
    return anonto.assess(table, released(table).sample(250, seed=1, shuffle=True), held_out=persons(N_OTHERS, 2))


@pytest.fixture(scope="module")
def pages(assessed: Assessment) -> dict[str, str]:
    editions = ("internal", "public")
    return {edition: words_of(foreign_html(foreign_data(assessed, edition))) for edition in editions}


def words_of(page: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)))


def test_the_internal_page_says_what_every_attack_reached(assessed: Assessment, pages: dict[str, str]) -> None:
    page = pages["internal"]
    data = foreign_data(assessed)
    assert {one["attack"] for one in data["attacks"]} == {one.attack for one in assessed.risk}
    for one in data["attacks"]:
        assert one["title"] in page
        assert all(re.sub(r"\s+", " ", row["reading"]) in page for row in one["rows"])
    assert f"{N} records in the original" in page
    assert f"{N_OTHERS} persons held out" in page
    assert f"Not released: {WITHHELD}" in page
    assert "The release has 1 column that the original does not have: not attacked." in page
    assert "Nothing is proved, since it is not known how the release was made" in page
    losses = {one["name"]: one for one in data["losses"]}
    assert losses["age"]["generalised"] == 1.0
    assert 0.05 < losses["income"]["suppressed"] < 0.3
    assert "Of the release, " in data["verdict"]["utility"]


def test_the_verdict_names_the_attack_that_gains_most(assessed: Assessment) -> None:
    said = foreign_data(assessed)["verdict"]["risk"]
    gains = {
        one.details["inferred"]: one.details["success"] - one.control
        for one in assessed.risk
        if one.attack == "attribute-inference" and one.control is not None
    }
    (single,) = (one for one in assessed.risk if one.details.get("within") == "one column")
    assert single.control is not None
    assert single.rate - single.control > max(gains.values())
    found = max((one for one in assessed.risk if one.attack == "singling-out"), key=lambda one: one.rate)
    assert f"Of the attacks tried, {found.attack}" in said
    same = persons(N, 1)
    copied = foreign_data(anonto.assess(same, same, held_out=persons(N_OTHERS, 2)))
    assert "100 %" in copied["verdict"]["risk"]
    assert "do not release it as it is" in copied["verdict"]["guarantee"]
    assert any("copied-record" in one for one in copied["findings"])


def test_few_hits_do_not_head_the_verdict() -> None:
    def risk(attack: str, rate: float, low: float, control: float | None, **details: float) -> Risk:
        given = {"attack": attack, "knowledge": "", "columns": (), "baseline": 0.0, "n": 3, "details": details}
        return Risk(rate=rate, low=low, high=1.0, control=control, **given)

    few = risk("singling-out", 1.0, 0.3, 0.0)
    many = risk("attribute-inference", 0.9, 0.8, 0.5, success=0.95)
    assert foreign._beyond(few) == 0.3
    assert foreign._beyond(many) == pytest.approx(0.4)
    assert foreign._risk([few, many]).startswith("Of the attacks tried, attribute-inference")
    assert foreign._risk([risk("copied-record", 0.5, 0.1, 0.4)]).startswith("No attack that was tried reaches sign")


def test_the_public_page_has_no_figure_of_the_original(assessed: Assessment, pages: dict[str, str]) -> None:
    page, data = pages["public"], foreign_data(assessed, "public")
    assert NOT_PUBLISHED in page
    assert not set(FIGURE.findall(page)) - {"0 %", "100 %", "95 %"}
    assert WITHHELD not in page
    assert not {str(N), str(N_OTHERS)} & set(re.findall(r"\d+", page))
    assert data["attacks"] == data["losses"] == data["findings"] == []
    assert set(data["table"]) == {"records", "columns", "only_in_release"}
    hidden = {one.attack for one in assessed.risk}
    assert all(name in page for name in hidden)
    assert PERSONS_A_STEP == 10
    assert "250 records released" in page


def test_the_public_data_of_two_originals_of_one_release_are_the_same() -> None:
    """Nothing in the public edition depends on the original but the names of its columns."""
    release = released(persons(N, 1))
    found = [foreign_data(anonto.assess(persons(N, seed), release), "public") for seed in (1, 5)]
    assert found[0] == found[1]


def test_a_figure_that_did_not_pass_the_gate_is_refused(assessed: Assessment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "_limits", lambda *_: [0.25])
    with pytest.raises(InternalError):
        foreign_data(assessed, "public")


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_the_page_is_one_file_without_scripts_or_cells(assessed: Assessment, tmp_path: Path, edition: str) -> None:
    assessed.to_html(tmp_path / "report.html", edition=edition)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "zq-north" not in page
    assert "zq-south" not in page
    json.dumps(foreign_data(assessed, edition), allow_nan=False)


def test_without_persons_held_out_the_page_asks_for_them_and_without_records_says_so() -> None:
    table = persons(60, 1)
    alone = foreign_data(anonto.assess(table, released(table)))
    assert "give persons held out" in alone["verdict"]["guarantee"]
    for edition in ("internal", "public"):
        empty: dict[str, Any] = foreign_data(anonto.assess(table, released(table).head(0)), edition)
        assert empty["verdict"]["risk"] == "Nobody could be attacked: the release has no records."
        assert "No attack" in words_of(foreign_html(empty)) or edition == "public"
