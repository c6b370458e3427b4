"""The section of the report on what singles people out, and on their risk in the population."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import anonto
from anonto.population import uniqueness
from anonto.report.assessed import assessed_data
from anonto.report.page import assessed_html

if TYPE_CHECKING:
    from collections.abc import Mapping

N = 120
COLUMNS: dict[str, Any] = {
    "age": {"kind": "numeric"},
    "sex": {},
    "town": {},
    "pay": {"kind": "numeric", "role": "confidential"},
}
STEPS = [{"method": "group-swap", "columns": ["age", "town"], "k": 4}]
CELL = "zq-town"


@pytest.fixture(autouse=True)
def few_bootstraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniqueness, "BOOTSTRAPS", 10)


def table() -> pl.DataFrame:
    rng = np.random.default_rng(6)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, N),
            "sex": rng.choice(["f", "m"], N),
            "town": [f"{CELL} {min(one, 30)}" for one in rng.zipf(1.5, N)],
            "pay": rng.integers(1_000, 9_000, N),
            "w": rng.integers(20, 60, N),
        }
    )


def assessed(section: Mapping[str, Any]) -> anonto.Assessment:
    plan = {"columns": dict(COLUMNS), "steps": STEPS, "table": dict(section)}
    rows = table() if "weight" in section else table().drop("w")
    release = anonto.mask(rows, plan, seed=1 << 100)
    return anonto.assess(rows, release.table, plan, same_order=True)


@pytest.mark.filterwarnings("ignore::anonto.AnontoWarning")
def test_the_report_tells_of_unique_records_and_of_the_population_without_a_value() -> None:
    found = assessed({"population": 4_000})
    data = assessed_data(found)
    schema = json.loads(files("anonto.report").joinpath("schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, schema)
    told = data["disclosure"]
    sizes = table().group_by("age", "sex", "town").len()["len"]
    assert told["key"]["unique"]["before"] == (sizes == 1).sum() / N
    assert told["population"]["people"] == 4_000
    own = anonto.population_risk(table(), {"columns": COLUMNS}, population=4_000)
    assert {one["model"]: one["share"]["before"] for one in told["population"]["unique"]} == {
        one.model: one.value for one in own.estimated.estimates
    }
    assert found.to_dict()["population"]["original"] == own.to_dict()
    page = assessed_html(data)
    assert "Risk in the population" in page
    assert "What singles people out" in page
    section = page[page.index('id="disclosure"') :]
    assert CELL not in section[: section.index("</section>")]


@pytest.mark.filterwarnings("ignore::anonto.AnontoWarning")
def test_without_a_population_the_report_counts_the_quasi_identifiers_only() -> None:
    found = assessed({})
    told = assessed_data(found)["disclosure"]
    assert told["key"]["columns"] == ["age", "sex", "town"]
    assert told["population"] is None
    assert "population" not in found.to_dict()


@pytest.mark.filterwarnings("ignore::anonto.AnontoWarning")
def test_weights_tell_the_population_although_the_release_has_none() -> None:
    told = assessed_data(assessed({"weight": "w"}))["disclosure"]["population"]
    assert told["people"] == table()["w"].sum()
    assert told["estimated_from"] == "the sampling weights"
    after = {one["model"]: one["share"]["after"] for one in told["unique"]}
    assert after["observed"] > after["zayatz"] > 0


@pytest.mark.filterwarnings("ignore::anonto.AnontoWarning")
def test_the_public_edition_has_none_of_it() -> None:
    assert assessed_data(assessed({"population": 4_000}), "public")["disclosure"] is None
