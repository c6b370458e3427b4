"""The curve of persons who are singled out by known codes, in both editions."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import anonto
from anonto.attacks.shares import PassedFloat
from anonto.report.assessed import assessed_data
from anonto.report.charts import known_codes_chart
from anonto.report.page import assessed_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.assessment.assess import Assessment

N_PERSONS = 300


def visits() -> pl.DataFrame:
    """One to five rows for each person, a code in each."""
    rng = np.random.default_rng(4)
    rows = [
        (f"p{person}", int(20 + person % 50), f"c{code}")
        for person in range(N_PERSONS)
        for code in rng.choice(25, rng.integers(1, 6), replace=False)
    ]
    return pl.DataFrame(rows, schema=["pid", "age", "ill"], orient="row")


def assessed(folder: Any, columns: Sequence[str], method: str = "group-swap", **described: Any) -> Assessment:
    plan = {
        "table": {"person": "pid"},
        "columns": {"ill": {"kind": "set", **described}, "age": {"kind": "numeric"}},
        "steps": [{"method": method, "columns": list(columns), **({"k": 6} if method == "group-swap" else {})}],
    }
    path = folder / "out.parquet"
    anonto.mask(visits(), plan, seed=1 << 100).save(path)
    return anonto.assess(visits(), path, plan, private=f"{path}.private.json")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Assessment:
    return assessed(tmp_path_factory.mktemp("sets"), ["ill", "age"])


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_both_editions_have_the_curve_in_the_shape_of_the_schema(found: Assessment, edition: str) -> None:
    data = assessed_data(found, edition)
    schema = json.loads(files("anonto.report").joinpath("schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)
    (curve,) = data["known_codes"]
    assert (curve["column"], curve["n"]) == ("ill", N_PERSONS)
    assert [point["codes"] for point in curve["points"]] == ["1", "2", "3", "4", "5", "all"]
    shares = [
        point[chosen][when]
        for point in curve["points"]
        for chosen in point
        for when in ("before", "after")
        if chosen != "codes"
    ]
    assert all(0 <= share <= 1 for share in shares)
    if edition == "public":
        assert all(isinstance(share, PassedFloat) for share in shares)
        assert all(round(share * 100) % 5 == 0 for share in shares)  # a step of at least 10 of 300 persons
    page = assessed_html(data)
    assert "Persons known by a few codes" in page
    assert "Persons singled out by known codes of ill" in page


def test_the_curve_has_the_shares_of_the_attack(found: Assessment) -> None:
    (attack,) = [one for one in found.risk if one.attack == "known-codes"]
    (curve,) = assessed_data(found)["known_codes"]
    for one in attack.details["by_codes_known"]:
        assert curve["points"][one["known"] - 1][one["chosen"]] == one["singled_out"]
    assert curve["points"][-1]["worst"] == attack.details["alone_by_whole_set"]


def test_the_public_edition_has_no_curve_of_sets_that_intruders_do_not_know(tmp_path: Any) -> None:
    found = assessed(tmp_path, ["age"], "random-swap", role="other")
    assert len(assessed_data(found)["known_codes"]) == 1
    assert assessed_data(found, "public")["known_codes"] == []
    assert "Persons known by a few codes" not in assessed_html(assessed_data(found, "public"))


def test_every_share_is_in_the_description_of_the_chart(found: Assessment) -> None:
    (curve,) = assessed_data(found)["known_codes"]
    drawn = str(known_codes_chart(curve["points"], "a title"))
    assert drawn.count("<polyline") == 4
    assert "all known: random" in drawn
    assert "a title" in drawn


def test_a_report_without_sets_has_no_such_section() -> None:
    table = pl.DataFrame({"a": [1, 2, 3, 4] * 30, "b": list(range(120))})
    plan = {
        "columns": {"a": {"kind": "numeric"}, "b": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["a", "b"], "k": 5}],
    }
    found = anonto.assess(table, anonto.mask(table, plan, seed=1 << 100).table, plan, same_order=True)
    data = assessed_data(found)
    assert data["known_codes"] == []
    assert "Persons known by a few codes" not in assessed_html(data)
