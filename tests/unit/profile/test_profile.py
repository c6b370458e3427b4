import json
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import anonto
from anonto import stats
from anonto.errors import ColumnError
from anonto.masking.plan import Plan
from anonto.profile import profile as profiling
from anonto.profile.profile import profile
from anonto.stats import combinations as combining

N = 300


@pytest.fixture
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    names = ["flu", "measles", "burn", "fracture", None]
    first = rng.integers(0, 5, N)
    second = np.where(rng.random(N) < 0.6, first, rng.integers(0, 5, N))
    return pl.DataFrame(
        {
            "id": [f"p{n}" for n in range(N)],
            "principal": [names[n] for n in first],
            "secondary": [names[n] for n in second],
            "age": rng.integers(0, 90, N),
            "sex": rng.choice(["f", "m"], N),
            "same": ["x"] * N,
            "none": pl.Series([None] * N, dtype=pl.String),
        }
    )


@pytest.fixture
def plan() -> Plan:
    columns = {
        "id": {"role": "identifier"},
        "principal": {"ontology": "illnesses"},
        "secondary": {"ontology": "illnesses", "measure": "ancestor"},
        "age": {"kind": "numeric"},
        "sex": {},
        "same": {"role": "other"},
        "none": {"role": "other", "ontology": "illnesses"},
    }
    return Plan.from_dict({"columns": columns})


def column(found: dict, name: str) -> dict:
    return next(one for one in found["columns"] if one["name"] == name)


def pair(found: dict, *names: str) -> dict:
    return next(one for one in found["pairs"] if set(one["columns"]) == set(names))


def test_columns_are_counted(frame: pl.DataFrame, plan: Plan) -> None:
    found = profile(frame, plan)
    assert found["n_records"] == N
    assert column(found, "id") == {
        "name": "id",
        "kind": "nominal",
        "role": "identifier",
        "distinct": N,
        "missing": 0,
        "once": N,
        "once_share": 1.0,
    }
    assert column(found, "principal")["missing"] == frame["principal"].null_count()
    assert (column(found, "same")["distinct"], column(found, "none")["distinct"]) == (1, 0)
    json.dumps(found)


def test_semantic_mean_and_variance_are_those_of_stats(frame: pl.DataFrame, plan: Plan) -> None:
    tax = anonto.read_ontology("illnesses")
    semantic = column(profile(frame, plan), "principal")["semantic"][0]
    mean = stats.semantic_mean(frame["principal"], tax)
    assert semantic["mean"] == {"id": mean, "label": tax.label(mean), "is_root": mean in tax.roots}
    assert semantic["variance"] == pytest.approx(stats.semantic_variance(frame["principal"], tax))


def test_distance_correlations_are_those_of_stats(frame: pl.DataFrame, plan: Plan) -> None:
    tax = anonto.read_ontology("illnesses")
    same = Plan.from_dict({"columns": {name: {"ontology": "illnesses"} for name in ("principal", "secondary")}})
    found = pair(profile(frame, same), "principal", "secondary")
    both = (frame["principal"], frame["secondary"], tax, tax)
    assert found["distance_correlation"] == pytest.approx(stats.distance_correlation(*both))
    assert found["bias_corrected"] == pytest.approx(stats.bias_corrected_distance_correlation(*both))
    assert found["n_records"] == frame.drop_nulls(["principal", "secondary"]).height
    strengths = [one["distance_correlation"] for one in profile(frame, plan)["pairs"]]
    assert strengths == sorted(strengths, reverse=True)


def test_numbers_are_described_by_quantiles_not_by_extremes(frame: pl.DataFrame, plan: Plan) -> None:
    numbers = column(profile(frame, plan), "age")["numbers"]
    assert set(numbers) == {"mean", "sd", "q05", "q50", "q95"}
    assert numbers["mean"] == pytest.approx(frame["age"].mean())
    assert numbers["sd"] == pytest.approx(frame["age"].std())
    ordered = np.sort(frame["age"].to_numpy())
    assert numbers["q05"] == ordered[N // 20 - 1]
    assert set(column(profile(frame.head(20), plan), "age")["numbers"]) == {"mean", "sd", "q50"}


def test_unique_records_of_every_combination_are_counted(frame: pl.DataFrame, plan: Plan) -> None:
    found = profile(frame, plan)["combinations"]
    quasi = ["principal", "secondary", "age", "sex"]
    assert len(found) == 4 + 6 + 4
    by_names = {tuple(sorted(one["columns"])): one["unique_records"] for one in found}
    for size in (1, 2, 3):
        for names in combinations(sorted(quasi), size):
            expected = frame.group_by(names).len().filter(pl.col("len") == 1).height
            assert by_names[names] == expected
    assert [one["unique_records"] for one in found] == sorted(by_names.values(), reverse=True)


def test_too_many_columns_are_left_out_and_named(
    frame: pl.DataFrame, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combining, "MOST_COMBINATIONS", 7)
    monkeypatch.setattr(profiling, "MOST_VALUES_IN_PAIRS", 50)
    found = profile(frame, plan)
    assert found["left_out"] == {"pairs": ["age"], "combinations": ["sex"]}
    assert len(found["combinations"]) == 7
    monkeypatch.setattr(profiling, "MOST_PAIRS", 1)
    assert len(profile(frame, plan)["pairs"]) == 1


def test_larger_tables_get_fewer_combinations(monkeypatch: pytest.MonkeyPatch, frame: pl.DataFrame, plan: Plan) -> None:
    monkeypatch.setattr(combining, "MOST_CELLS", N)
    found = profile(frame, plan)
    assert [one["columns"] for one in found["combinations"]] == [["age"]]


@pytest.mark.parametrize("unmatched", ["refuse", "keep", "drop", "nearest-ancestor"])
def test_values_without_a_concept_lower_the_coverage_and_refuse_nothing(unmatched: str) -> None:
    frame = pl.DataFrame({"principal": ["flu", "flu", "strange", None], "secondary": ["odd"] * 4})
    policies = {"ontology": "illnesses", "unmatched": unmatched, "missing": "refuse"}
    found = profile(frame, Plan.from_dict({"columns": {"principal": policies, "secondary": policies}}))
    coverage = column(found, "principal")["ontologies"][0]["coverage"]
    assert coverage == {"cells": pytest.approx(2 / 3), "distinct": 0.5}
    assert column(found, "principal")["semantic"][0]["mean"]["id"] == "flu"
    assert "semantic" not in column(found, "secondary")


def test_several_ontologies_have_a_coverage_and_a_mean_each(tmp_path: Path, frame: pl.DataFrame) -> None:
    own = tmp_path / "own.csv"
    own.write_text("flu;a;*\nmeasles;a;*\nburn;b;*\nfracture;b;*\n")
    given = Plan.from_dict({"columns": {"principal": {"ontology": ["illnesses", "own.csv"]}}}, folder=tmp_path)
    found = column(profile(frame, given), "principal")
    assert [one["coverage"]["cells"] for one in found["ontologies"]] == [1.0, 1.0]
    assert [one["ontology"] for one in found["semantic"]] == ["illnesses.csv", "own.csv"]


def test_a_column_that_is_not_there_is_refused(frame: pl.DataFrame) -> None:
    with pytest.raises(ColumnError, match=r"The table has no column.*did you mean 'principal'"):
        profile(frame, Plan.from_dict({"columns": {"principle": {}}}))


def test_an_empty_table_has_a_profile_too(plan: Plan, frame: pl.DataFrame) -> None:
    found = profile(frame.head(0), plan)
    assert (found["n_records"], found["pairs"], found["combinations"]) == (0, [], [])


def test_a_column_of_sets_is_related_to_the_others() -> None:
    rng = np.random.default_rng(3)
    sick = rng.integers(0, 2, 60)
    ills = [["burn", "fracture"] if one else ["flu"] for one in sick]
    frame = pl.DataFrame({"ills": ills, "age": 20 + 30 * sick + rng.integers(0, 9, 60)})
    plan = Plan.from_dict({"columns": {"ills": {"kind": "set", "ontology": "illnesses"}, "age": {"kind": "numeric"}}})
    found = profile(frame, plan)
    (pair,) = found["pairs"]
    expected = anonto.stats.set_distance_correlation(ills, frame["age"], anonto.read_ontology("illnesses"))
    assert pair["columns"] == ["ills", "age"]
    assert pair["distance_correlation"] == pytest.approx(expected, abs=1e-12)
    assert expected > 0.9


def test_all_quasi_identifiers_together_are_counted_with_what_makes_records_unique(
    frame: pl.DataFrame, plan: Plan
) -> None:
    found = profile(frame, plan)
    key, names = found["key"], ["principal", "secondary", "age", "sex"]
    sizes = frame.group_by(names).len()["len"]
    assert key["columns"] == names
    assert (key["unique_records"], key["in_small_classes"]) == ((sizes == 1).sum(), sizes.filter(sizes < 5).sum())
    assert key["share"] == (sizes == 1).sum() / N
    uniques = key["minimal_uniques"]
    assert uniques["largest"] == 4
    singles = {tuple(one["columns"]): one["unique_records"] for one in found["combinations"]}
    for one in uniques["worst"]:
        if len(one["columns"]) == 1:
            assert one["records"] == singles[tuple(one["columns"])]
    by_name = {one["name"]: one for one in uniques["columns"]}
    without_age = frame.group_by("principal", "secondary", "sex").len()["len"]
    assert by_name["age"]["unique_without"] == (without_age == 1).sum()
    shares = [one["share_of_risk"] for one in uniques["columns"]]
    assert shares == sorted(shares, reverse=True)
    assert by_name["age"]["values_of_half"] <= by_name["age"]["risky_values"] <= frame["age"].n_unique()
    assert not any(value in json.dumps(key) for value in ("flu", "measles", "burn", "fracture"))
