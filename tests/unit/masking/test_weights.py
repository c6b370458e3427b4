"""Sampling weights in a plan: dropped unless they have a role, and what is measured counts people."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.assessment.in_memory import compare_in_memory, open_encoded
from anonto.cli.main import run
from anonto.engine.refusals import weights_only_in_memory
from anonto.errors import ColumnError, PlanError, ReleasedAsIsWarning
from anonto.masking.plan import Plan, plan_of
from anonto.masking.plan_schema import plan_schema
from anonto.profile.profile import profile
from anonto.profile.propose import propose
from anonto.report.assessed import assessed_data
from anonto.report.page import assessed_html
from anonto.utility.sampling import Sampling
from anonto.utility.whole import losses_of
from budget import examples

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 1 << 100 | 7
ILLNESSES = ["flu", "measles", "burn", "fracture"]
QUIET = pytest.mark.filterwarnings("ignore:.*are released unchanged:anonto.errors.AnontoWarning")


def plan_with(*, weight: str | None = "w", method: str = "random-swap", **described: Any) -> dict[str, Any]:
    return {
        "table": {} if weight is None else {"weight": weight},
        "columns": {
            "illness": {"ontology": "illnesses"},
            "age": {"kind": "numeric"},
            "stay": {"kind": "numeric", "role": "confidential"},
            **described,
        },
        "steps": [{"method": method, "columns": ["illness", "age"], **({} if method == "random-swap" else {"k": 3})}],
    }


def table_of(n: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "illness": rng.choice([*ILLNESSES, None], n).tolist(),
            "age": rng.integers(0, 90, n),
            "stay": rng.integers(1, 30, n),
            "w": rng.integers(1, 5, n),
        }
    )


def repeated(table: pl.DataFrame, weights: list[int]) -> pl.DataFrame:
    return table[np.repeat(np.arange(table.height), weights)]


def losses(original: pl.DataFrame, masked: pl.DataFrame, given_plan: dict[str, Any]) -> dict[str, Any]:
    """What is lost of columns and pairs of columns."""
    plan = plan_of(given_plan)
    compared = compare_in_memory(open_encoded(original, plan), masked, plan, None, same_order=True)
    found = losses_of(compared.columns, compared.pairs, compared.masked, None, Sampling())
    return {"columns": found["columns"], "pairs": found["pairs"]}


def without_counts(plain: Any) -> Any:
    """Losses without the counts of records, each number up to rounding."""
    if isinstance(plain, dict):
        return {key: without_counts(one) for key, one in plain.items() if key not in {"cells", "missing", "n"}}
    if isinstance(plain, list):
        return [without_counts(one) for one in plain]
    return pytest.approx(plain, rel=1e-9, abs=1e-7) if isinstance(plain, float) else plain


@settings(max_examples=examples(25), deadline=None)
@given(n=st.integers(4, 25), seed=st.integers(0, 99))
def test_whole_weights_lose_what_is_lost_where_rows_are_repeated(n: int, seed: int) -> None:
    table = table_of(n, seed)
    masked = table.drop("w").with_columns(pl.col("illness", "age").reverse())
    weights = table["w"].to_list()
    found = losses(table, masked, plan_with())
    plain = plan_with(weight=None, w={"role": "identifier"})
    wanted = losses(repeated(table, weights), repeated(masked, weights), plain)
    for one, other in zip(found["columns"].values(), wanted["columns"].values(), strict=True):
        assert {key: one[key] for key in without_counts(one)} == without_counts(other)
    for one, other in zip(found["pairs"], wanted["pairs"], strict=True):
        assert {key: one[key] for key in without_counts(one)} == without_counts(other)


@settings(max_examples=examples(15), deadline=None)
@given(n=st.integers(6, 50), seed=st.integers(0, 99))
def test_a_weighted_profile_is_that_of_repeated_rows(n: int, seed: int) -> None:
    table = table_of(n, seed).with_columns(pl.Series("illness", (ILLNESSES * n)[:n]))
    found = profile(table, plan_of(plan_with()))
    wanted = profile(repeated(table, table["w"].to_list()), plan_of(plan_with(weight=None)))
    assert (found["weighted_by"], "weighted_by" in wanted) == ("w", False)
    for one, other in zip(found["columns"], wanted["columns"], strict=True):
        assert one.get("semantic") == strip_approx(other.get("semantic"))
        for key, number in one.get("numbers", {}).items():
            assert number == pytest.approx(other["numbers"][key], rel=1e-9)
    correlations = {tuple(one["columns"]): one["distance_correlation"] for one in wanted["pairs"]}
    for pair in found["pairs"]:
        assert pair["distance_correlation"] == pytest.approx(correlations[tuple(pair["columns"])], abs=1e-9)
        assert "bias_corrected" not in pair
        assert pair["n_records"] <= n


def strip_approx(semantic: Any) -> Any:
    return semantic and [{**one, "variance": pytest.approx(one["variance"], rel=1e-9)} for one in semantic]


def test_a_heavy_record_is_no_outer_quantile() -> None:
    table = pl.DataFrame({"age": range(100), "w": [1.0] * 99 + [1e6]})
    plan = plan_of({"table": {"weight": "w"}, "columns": {"age": {"kind": "numeric"}}})
    (age,) = profile(table, plan)["columns"]
    assert set(age["numbers"]) == {"mean", "sd", "q50"}
    assert set(profile(table, plan.without_weight())["columns"][0]["numbers"]) == {"mean", "sd", "q05", "q50", "q95"}


# ------------------------------------------------------------------------------------------------ released or dropped


@QUIET
def test_weights_are_dropped_unless_they_have_a_role() -> None:
    release = anonto.mask(table_of(30), plan_with(), seed=SECRET)
    assert release.table.columns == ["illness", "age", "stay"]
    assert release.evidence["dropped_columns"] == ["w"]
    assert release.evidence["weight"] == "w"


@QUIET
@pytest.mark.parametrize("role", ["other", "confidential"])
def test_weights_with_a_role_are_released_as_they_are_with_a_warning(role: str) -> None:
    table, plan = table_of(30), plan_with(w={"kind": "numeric", "role": role})
    with pytest.warns(ReleasedAsIsWarning, match="The weights in 'w' are released as they are: rare weights"):
        release = anonto.mask(table, plan, seed=SECRET)
    assert release.table["w"].equals(table["w"])
    assert "w" in release.evidence["released_as_is"]
    assert not release.evidence["steps"][0]["guarantee"]["proved"]


@QUIET
@pytest.mark.parametrize(("role", "known"), [("other", True), ("quasi-identifier", True), ("confidential", False)])
def test_an_intruder_knows_released_weights_unless_they_are_confidential(role: str, known: bool) -> None:
    table = table_of(60).with_columns(w=pl.int_range(1, 61))
    plan = plan_with(w={"kind": "numeric", "role": role}, method="group-swap")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked = anonto.mask(table, plan, seed=SECRET).table
    found = anonto.assess(table, masked, plan, same_order=True)
    assert found.worst is not None
    assert ("w" in found.worst.columns, found.worst.rate == 1.0) == (known, known)
    assert any("w" in one.columns for one in found.risk if one.attack == "uniqueness") == known
    assert any("The weights in w are released" in one for one in assessed_data(found)["warnings"])


@QUIET
def test_weights_change_what_is_lost_and_no_risk() -> None:
    table = table_of(80)
    plain, weighted = plan_with(weight=None, w={"role": "identifier"}), plan_with()
    masked = anonto.mask(table, weighted, seed=SECRET).table
    assert masked.equals(anonto.mask(table, plain, seed=SECRET).table)
    one, other = (anonto.assess(table, masked, plan, same_order=True) for plan in (plain, weighted))
    assert one.to_dict()["risk"] == other.to_dict()["risk"]
    assert one.utility["columns"] != other.utility["columns"]
    assert (other.utility["weighted_by"], "weighted_by" in one.utility) == ("w", False)
    assert "These figures are weighted by w." in assessed_data(other)["verdict"]["utility"]
    assert "The analyst keeps frequencies that moved" in assessed_data(other)["verdict"]["utility"]
    assert "The analyst keeps the exact frequency" in assessed_data(one)["verdict"]["utility"]
    assert "Weighted by <code>w</code>" in assessed_html(assessed_data(other))
    assert "eighted by" not in assessed_html(assessed_data(one))


@QUIET
def test_the_public_edition_counts_records(tmp_path: Path) -> None:
    table = table_of(400)
    release = anonto.mask(table, plan_with(), seed=SECRET)
    release.save(tmp_path / "out.csv")
    private = tmp_path / "out.csv.private.json"
    found = anonto.assess(table, tmp_path / "out.csv", plan_with(), private=private)
    plain = plan_with(weight=None, w={"kind": "numeric", "role": "identifier"})
    other = anonto.assess(table, tmp_path / "out.csv", plain, private=private)
    public, wanted = assessed_data(found, "public"), assessed_data(other, "public")
    assert "weight" not in public["table"]
    assert (public["columns"], public["pairs"]) == (wanted["columns"], wanted["pairs"])
    found.to_json(tmp_path / "report.json", edition="public")


@QUIET
def test_rows_that_a_policy_drops_take_their_weights_along() -> None:
    table = table_of(40).with_columns(
        w=pl.when(pl.col("illness").is_null()).then(None).otherwise(pl.col("w")).cast(pl.Float64)
    )
    plan = plan_with(illness={"ontology": "illnesses", "missing": "drop"})
    masked = anonto.mask(table, plan, seed=SECRET).table
    found = anonto.assess(table, masked, plan, same_order=True)
    assert found.n_records == table["illness"].count() < 40


@QUIET
def test_a_sweep_is_weighted_and_drops_the_weights() -> None:
    table, grid = table_of(60), {"group-swap": {"k": [3, 5]}}
    weighted = anonto.sweep(table, plan_with(method="group-swap"), grid, workers=1)
    plain = anonto.sweep(table, plan_with(weight=None, w={"role": "identifier"}, method="group-swap"), grid, workers=1)
    assert [one.plan.weight for one in weighted.points] == ["w"] * len(weighted.points)
    assert len(weighted.points) == len(plain.points) > 1
    assert weighted.points[0].runs[0]["losses"] != plain.points[0].runs[0]["losses"]


# ------------------------------------------------------------------------------------------------ persons


def persons(weights: list[float | None]) -> pl.DataFrame:
    ills = [ILLNESSES[place % 4] for place in range(len(weights))]
    return pl.DataFrame({"pid": [place // 2 for place in range(len(weights))], "illness": ills, "w": weights})


PERSONS: dict[str, Any] = {
    "table": {"person": "pid", "weight": "w"},
    "columns": {"illness": {"kind": "set", "ontology": "illnesses"}},
    "steps": [{"method": "group-swap", "columns": ["illness"], "k": 2}],
}


@QUIET
def test_a_person_counts_once_with_her_weight(tmp_path: Path) -> None:
    table = persons([float(1 + place // 2) for place in range(24)])
    release = anonto.mask(table, PERSONS, seed=SECRET)
    assert release.table.columns == ["illness"]
    release.save(tmp_path / "out.parquet")
    private = tmp_path / "out.parquet.private.json"
    found = anonto.assess(table, tmp_path / "out.parquet", PERSONS, private=private)
    assert found.utility["weighted_by"] == "w"
    assert found.n_records == 12
    assert profile(table, plan_of(PERSONS))["weighted_by"] == "w"


@QUIET
def test_persons_with_pseudonyms_are_assessed_though_their_weights_were_dropped() -> None:
    table = persons([float(1 + place // 2) for place in range(24)])
    plan = {**PERSONS, "columns": {**PERSONS["columns"], "pid": {"role": "pseudonym"}}}
    masked = anonto.mask(table, plan, seed=SECRET).table
    assert anonto.assess(table, masked, plan, same_order=True).utility["weighted_by"] == "w"


def test_a_person_has_one_weight() -> None:
    with pytest.raises(ColumnError, match="1 person has rows of different weights in 'w'; give all rows of a person"):
        anonto.mask(persons([1.0, 2.0, 3.0, 3.0]), PERSONS)


# ------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([None] * 30, "30 records have no weight in 'w'"),
        ([-1.0] + [1.0] * 29, "1 record has a weight below 0 in 'w'"),
        (["many"] + ["1"] * 29, "1 record has a weight that is no number in 'w'"),
        ([1e13] + [1.0] * 29, "1 record has a weight above 1,000,000,000,000 in 'w'"),
        ([0] * 30, "All 30 records have the weight 0 in 'w'"),
    ],
)
def test_unusable_weights_are_refused_where_they_are_used(weights: list[Any], said: str) -> None:
    table = table_of(30).with_columns(pl.Series("w", weights))
    for use in (
        lambda: profile(table, plan_of(plan_with())),
        lambda: anonto.assess(table, table.drop("w"), plan_with(), same_order=True),
    ):
        with pytest.raises(ColumnError) as refused:
            use()
        assert str(refused.value).startswith(said)


@pytest.mark.parametrize("use", ["mask", "profile", "sweep", "assess"])
def test_a_weight_that_is_no_column_is_refused(use: str) -> None:
    table, plan = table_of(20), plan_with(weight="weigth")
    masked = table.drop("w")
    uses = {
        "mask": lambda: anonto.mask(table, plan),
        "profile": lambda: profile(table, plan_of(plan)),
        "sweep": lambda: anonto.sweep(table, plan, {"group-swap": {"k": [3]}}, workers=1),
        "assess": lambda: anonto.assess(masked, masked, plan, same_order=True),
    }
    with pytest.raises(ColumnError, match="'weigth'"):
        uses[use]()


@pytest.mark.parametrize(
    "plan",
    [
        plan_with(weight="age"),
        {**plan_with(), "table": {"weight": "pid", "person": "pid"}},
        plan_with(s={"kind": "set", "from": ["w", "v"]}),
        plan_with(w={"kind": "set"}),
    ],
)
def test_a_weight_is_nothing_else(plan: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="says how many people a record stands for"):
        Plan.from_dict(plan)


def test_strata_may_be_of_released_weights_alone() -> None:
    plan = plan_with()
    plan["steps"][0]["within"] = ["w"]
    with pytest.raises(PlanError, match="Step 1 looks at the identifier 'w'"):
        Plan.from_dict(plan)


def test_counts_on_a_cluster_are_of_records() -> None:
    assert str(weights_only_in_memory("a profile")).startswith("The plan names weights, and a profile on a cluster")


# ------------------------------------------------------------------------------------------------ plans and commands


def test_the_schema_and_the_file_of_a_plan_have_the_weight() -> None:
    assert plan_schema()["properties"]["table"]["properties"]["weight"] == {"type": "string"}
    plan = plan_of(plan_with())
    assert Plan.from_dict(plan.to_dict()) == plan
    assert "w" in plan.reading["names"]
    assert plan.without_weight().identifiers(["w", "age"]) == ("w",)


def test_a_proposed_plan_has_the_weight_as_a_comment_and_drops_its_column() -> None:
    table = table_of(50).rename({"w": "fnlwgt"})
    proposal = propose(table)
    text = proposal.to_toml()
    assert '[table]\n# weight = "fnlwgt"  # delete the first #' in text
    assert proposal.plan.identifiers(["fnlwgt"]) == ("fnlwgt",)
    assert "[table]" not in propose(table.drop("fnlwgt")).to_toml()


@QUIET
def test_the_commands_say_by_what_they_weight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, plan = tmp_path / "table.csv", tmp_path / "plan.toml"
    table_of(60).write_csv(table)
    plan.write_text(plan_of(plan_with()).to_toml())
    assert run(["profile", str(table), "--plan", str(plan)]) == 0
    assert "weighted by w." in capsys.readouterr().out
    out = tmp_path / "out.csv"
    assert run(["mask", str(table), "--plan", str(plan), "--output", str(out)]) == 0
    capsys.readouterr()
    arguments = ["assess", str(table), str(out), "--plan", str(plan), "--private", f"{out}.private.json"]
    assert run(arguments) == 0
    assert "What analysts lose, weighted by w:" in capsys.readouterr().out
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["utility"]["weighted_by"] == "w"
