"""The risk in the population, from tables and plans: where the population comes from, persons, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.assessment.population_risk import risk_if_known
from anonto.errors import ColumnError, ParameterError, PlanError
from anonto.masking.plan import Plan
from anonto.population import uniqueness

if TYPE_CHECKING:
    from pathlib import Path

KEY = {"a": {}, "b": {}, "note": {"role": "other"}}
PLAN: dict[str, Any] = {"columns": KEY}


def people(n: int = 3_000) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    a = np.minimum(rng.zipf(1.4, n), 400)
    b = rng.choice(["x", "y", "z", None], n, p=[0.5, 0.3, 0.15, 0.05])
    return pl.DataFrame({"a": a, "b": b, "note": np.arange(n)})


SAMPLE = people().sample(300, seed=1)


@pytest.fixture(autouse=True)
def few_bootstraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniqueness, "BOOTSTRAPS", 20)


def by_intruder(found: anonto.PopulationRisk) -> dict[str, Any]:
    return {one.intruder: one for one in found.intruders}


def test_every_source_of_the_population_gives_the_same_estimates() -> None:
    weighted = SAMPLE.with_columns(w=pl.lit(10.0))
    of_fraction = anonto.population_risk(SAMPLE, PLAN, sampling_fraction=0.1)
    of_size = anonto.population_risk(SAMPLE, PLAN, population=3_000)
    of_plan = anonto.population_risk(SAMPLE, {**PLAN, "table": {"population": 3_000}})
    of_weights = anonto.population_risk(weighted, {**PLAN, "table": {"weight": "w"}})
    for other in (of_size, of_plan, of_weights):
        assert other.uniqueness == pytest.approx(of_fraction.uniqueness)
        np.testing.assert_allclose(other.individual, of_fraction.individual)
    assert {"observed", "pitman", "zayatz", "snb", "log-linear", "dankar"} == set(of_fraction.uniqueness)
    assert of_fraction.chosen == "pitman"
    assert of_fraction.uniqueness["dankar"] == of_fraction.uniqueness["pitman"]


def test_a_table_of_the_population_is_counted(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "all.csv")
    (tmp_path / "plan.toml").write_text('[table]\npopulation = "all.csv"\n[columns]\na = {}\nb = {}\n')
    everyone = people().group_by("a", "b").len()
    joined = SAMPLE.join(everyone, on=["a", "b"], how="left", nulls_equal=True, maintain_order="left")
    found = anonto.population_risk(SAMPLE, tmp_path / "plan.toml", k=7)
    np.testing.assert_allclose(found.individual, 1 / joined["len"].to_numpy())
    assert (found.chosen, found.uniqueness["counted"]) == ("counted", (everyone["len"] == 1).sum() / 3_000)
    risks = by_intruder(found)
    assert risks["marketer"].mean == pytest.approx((1 / joined["len"]).mean())
    assert risks["k-map"].mean == pytest.approx((joined["len"] < 7).mean())
    assert risks["journalist"].highest == 1 / joined["len"].min()
    assert {one.interval for one in found.intruders} == {"exact"}


def test_the_prosecutor_needs_no_population_and_a_full_sample_leaves_nothing_to_estimate() -> None:
    sizes = SAMPLE.group_by("a", "b").len()["len"]
    for fraction in (0.1, 1):
        risk = by_intruder(anonto.population_risk(SAMPLE, PLAN, sampling_fraction=fraction, k=3))["prosecutor"]
        assert risk.mean == len(sizes) / 300
        assert risk.highest == 1 / sizes.min()
        assert risk.at_risk == sizes.filter(sizes < 3).sum() / 300
    whole = anonto.population_risk(SAMPLE, PLAN, sampling_fraction=1)
    assert whole.uniqueness == {"observed": (sizes == 1).sum() / 300, "dankar": (sizes == 1).sum() / 300}
    assert by_intruder(whole)["marketer"].mean == pytest.approx(len(sizes) / 300)


def test_estimates_lie_in_their_intervals_and_the_same_seed_gives_the_same() -> None:
    found, again = (anonto.population_risk(SAMPLE, PLAN, sampling_fraction=0.1, seed=4) for _ in range(2))
    assert found.to_dict() == again.to_dict()
    told = json.loads(json.dumps(found.to_dict()))
    assert all(one["low"] <= one["value"] <= one["high"] for one in told["population_uniqueness"])
    assert all(one["low"] <= one["mean"] <= one["high"] for one in told["intruders"])
    assert all(one["assumption"] for one in (*told["population_uniqueness"], *told["intruders"]))
    assert told["individual"]["mean"] == pytest.approx(found.individual.mean())


def test_rows_of_a_person_are_one_person(tmp_path: Path) -> None:
    rows = pl.concat([SAMPLE.with_row_index("who")] * 2)
    rows.write_csv(tmp_path / "rows.csv")
    plan = {"columns": {"a": {}, "b": {}, "note": {"role": "other"}, "who": {"role": "identifier"}}}
    found = anonto.population_risk(tmp_path / "rows.csv", {**plan, "table": {"person": "who", "population": 3_000}})
    assert found.classes.n_persons == 300
    assert found.individual.size == 300


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"sampling_fraction": 0}, "sampling_fraction must be a number above 0 and at most 1; got 0"),
        ({"sampling_fraction": 1.01}, "sampling_fraction must be a number above 0 and at most 1; got 1.01"),
        ({"sampling_fraction": float("nan")}, "sampling_fraction must be a number above 0 and at most 1"),
        ({"population": 299}, "population must be at least as large as the sample, 300 persons; got 299"),
        ({"population": float("nan")}, "population must be at least as large as the sample, 300 persons"),
        ({"population": 3_000, "k": 3_001}, "k must be at most the number of people of the population, 3,000"),
        ({"population": 3_000, "k": 0}, "k must be a whole number, 1 or more; got 0"),
        ({"population": 3_000, "sampling_fraction": 0.1}, "population must be left out where the sampling fraction"),
    ],
)
def test_numbers_that_cannot_be_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        anonto.population_risk(SAMPLE, PLAN, **given)


def test_populations_that_cannot_be_are_refused() -> None:
    with pytest.raises(PlanError, match="The size of the population is not known"):
        anonto.population_risk(SAMPLE, PLAN)
    with pytest.raises(PlanError, match="has no quasi-identifier"):
        anonto.population_risk(SAMPLE, {"columns": {"a": {"role": "other"}}}, population=3_000)
    with pytest.raises(PlanError, match="in classes of which the table of the population has fewer people"):
        anonto.population_risk(SAMPLE, PLAN, population=people().with_columns(a=pl.col("a") + 1))
    with pytest.raises(ParameterError, match="at least as large as the sample"):
        anonto.population_risk(SAMPLE, PLAN, population=SAMPLE.head(20))
    with pytest.raises(ColumnError, match="no column 'a'"):
        anonto.population_risk(SAMPLE, PLAN, population=people().drop("a"))
    with pytest.raises(PlanError, match="no record"):
        anonto.population_risk(SAMPLE.clear(), PLAN, population=3_000)
    for wrong in (0, -1, 1.5, True, []):
        with pytest.raises(ParameterError, match="population of the table must be a number of people"):
            Plan.from_dict({**PLAN, "table": {"population": wrong}})


def test_scaled_weights_do_not_tell_the_population() -> None:
    weighted = SAMPLE.with_columns(w=pl.lit(1.0))
    assert risk_if_known(weighted, Plan.from_dict({**PLAN, "table": {"weight": "w"}})) is None
    assert risk_if_known(SAMPLE, Plan.from_dict(PLAN)) is None
    found = risk_if_known(weighted.with_columns(w=pl.lit(3.0)), Plan.from_dict({**PLAN, "table": {"weight": "w"}}))
    assert found is not None
    assert found.estimated_from == "the sampling weights"
