"""Profiles and assessments of tables on a cluster are those of one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.assessment import on_cluster
from anonto.engine.spark.numbered_frame import number_rows
from anonto.errors import ClusterError, ColumnError, InputError, MemoryLimitError, ParameterError, ReleaseError
from anonto.masking.plan import plan_of
from anonto.profile.on_cluster import profile_on_cluster
from anonto.profile.profile import profile

if TYPE_CHECKING:
    from pathlib import Path

PLAN: dict[str, Any] = {
    "columns": {
        "name": {"role": "identifier"},
        "illness": {"ontology": anonto.read_ontology("illnesses"), "na": ["?"], "unmatched": "keep"},
        "age": {"kind": "numeric"},
        "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
        "ward": {},
    }
}


def patients(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    illness = rng.choice(["flu", "measles", "burn", "fracture", "unheard of", "?", None], n).tolist()
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "illness": pl.Series(illness, dtype=pl.String),
            "age": np.where(rng.random(n) < 0.1, None, rng.integers(0, 90, n)).tolist(),
            "pain": rng.choice(["low", "mid", "high"], n),
            "ward": rng.choice([f"W{i}" for i in range(30)], n),
        }
    )


def test_counts_pairs_and_combinations_are_those_of_one_machine(spark: Any, tmp_path: Path) -> None:
    patients(500).write_parquet(tmp_path / "in.parquet", row_group_size=77)
    there = profile_on_cluster(number_rows(spark.read.parquet(str(tmp_path / "in.parquet")), None).table, plan_of(PLAN))
    here = profile(patients(500), plan_of(PLAN))
    assert there["pairs"]
    assert there["combinations"]
    for pair, wanted in zip(there.pop("pairs"), here.pop("pairs"), strict=True):
        assert pair.pop("columns") == wanted.pop("columns")
        assert pair == pytest.approx(wanted, rel=1e-9)
    assert there == here
    assert there["key"]["minimal_uniques"]["worst"]
    plan = {"columns": {name: PLAN["columns"][name] for name in ("illness", "pain", "ward")}}
    risk = anonto.population_risk(spark.read.parquet(str(tmp_path / "in.parquet")), plan, sampling_fraction=0.2)
    assert risk.to_dict() == anonto.population_risk(patients(500), plan, sampling_fraction=0.2).to_dict()
    lacking = number_rows(spark.read.parquet(str(tmp_path / "in.parquet")).drop("age"), None)
    with pytest.raises(ColumnError, match="The table has no column"):
        profile_on_cluster(lacking.table, plan_of(PLAN))


def test_an_assessment_finds_what_it_finds_on_one_machine(spark: Any, tmp_path: Path) -> None:
    plan = {
        "columns": {**PLAN["columns"], "illness": {**PLAN["columns"]["illness"], "unmatched": "drop"}},
        "steps": [
            {"method": "rank-swap-joint", "columns": ["illness", "pain"], "k": 5},
            {"method": "semantic-noise", "columns": ["age"], "noise_level": 0.2},
        ],
    }
    patients(200).write_parquet(tmp_path / "in.parquet", row_group_size=77)
    original = spark.read.parquet(str(tmp_path / "in.parquet"))
    anonto.mask(original, plan, seed=1 << 100).save(tmp_path / "out.parquet")
    record = tmp_path / "out.parquet.private.json"
    masked = spark.read.parquet(str(tmp_path / "out.parquet"))
    there = anonto.assess(original, masked, plan, private=record).to_dict()
    rows = pl.read_parquet(tmp_path / "out.parquet" / "*.parquet")
    here = anonto.assess(patients(200), rows, plan, private=record).to_dict()
    assert there == here
    with pytest.raises(ReleaseError, match="differs between the two tables row by row"):
        anonto.assess(original, masked, plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_cluster, "driver_memory", lambda: 1000)
        with pytest.raises(MemoryLimitError, match="values of 4 columns, most of them in 'age', needs about"):
            anonto.assess(original, masked, plan, private=record)
    del plan["columns"]["ward"]
    with pytest.raises(ReleaseError, match="whether the rows of the release are in the order"):
        anonto.assess(original, masked, plan)


def test_a_table_that_the_driver_cannot_hold_is_attacked_from_counts(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = {
        "columns": {**PLAN["columns"], "note": {"role": "other"}, "age": {"kind": "numeric", "missing": "drop"}},
        "steps": [
            {"method": "group-swap", "columns": ["illness", "pain"], "k": 5},
            {"method": "semantic-noise", "columns": ["age"], "noise_level": 0.2},
        ],
    }
    table = patients(300).with_columns(note=pl.int_range(pl.len()).cast(pl.String))
    table.write_parquet(tmp_path / "in.parquet", row_group_size=77)
    original = spark.read.parquet(str(tmp_path / "in.parquet"))
    anonto.mask(original, plan, seed=1 << 100).save(tmp_path / "out.parquet")
    record = tmp_path / "out.parquet.private.json"
    masked = spark.read.parquet(str(tmp_path / "out.parquet"))
    by_row = anonto.assess(original, masked, plan, private=record)
    with monkeypatch.context() as patch:
        patch.setattr(on_cluster, "fit_here", lambda *_: False)
        found = anonto.assess(original, masked, plan, private=record)
        with pytest.raises(ReleaseError, match="differs between the two tables row by row"):
            anonto.assess(original, masked, plan)
        with monkeypatch.context() as less:
            less.setattr(on_cluster, "driver_memory", lambda: 10_000)
            with pytest.raises(
                MemoryLimitError,
                match=r"300 records, whose groups in step 1 are lists of them, .*on the driver's machine",
            ):
                anonto.assess(original, masked, plan, private=record)
        single = {**plan, "steps": [{**plan["steps"][1], "noise_level": [0.2] * 300}]}
        with pytest.raises(ParameterError, match="noise_level of step 1 must be one number, or one for each column"):
            anonto.assess(original, masked, single, same_order=True)
        with pytest.raises(ClusterError, match="is for work on this machine"):
            anonto.assess(original, masked, plan, private=record, second=(masked, plan), second_private=record)
    assert found.n_records == by_row.n_records < 300
    assert {**found.facts, "pictures": 0} == {**by_row.facts, "pictures": 0}
    assert found.utility["columns"].keys() == by_row.utility["columns"].keys()
    for name, losses in found.utility["columns"].items():
        wanted = by_row.utility["columns"][name]
        assert (losses["rmse"], losses["changed"]) == pytest.approx((wanted["rmse"], wanted["changed"]), rel=1e-9)
    from_counts = [one for one in by_row.risk if one.attack != "simulation-linkage"]
    for one, wanted in zip(found.risk, from_counts, strict=True):
        assert (one.attack, one.columns, one.n) == (wanted.attack, wanted.columns, wanted.n)
        at_once = one.attack in {"global-linkage", "association-linkage"} or one.details.get("matching") == "global"
        assert one.rate == pytest.approx(wanted.rate, abs=0.05 if at_once else 1e-9)


def test_weights_are_used_where_the_rows_fit_and_refused_where_they_are_counted(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = patients(120).with_columns(w=pl.int_range(1, 121).cast(pl.Float64)).drop("name")
    table.write_parquet(tmp_path / "in.parquet", row_group_size=50)
    columns = {name: one for name, one in PLAN["columns"].items() if name != "name"}
    steps = [{"method": "random-swap", "columns": ["age", "pain"]}]
    plan = {"table": {"weight": "w"}, "columns": columns, "steps": steps}
    original = spark.read.parquet(str(tmp_path / "in.parquet"))
    anonto.mask(original, plan, seed=1 << 100).save(tmp_path / "out.parquet")
    record, masked = tmp_path / "out.parquet.private.json", spark.read.parquet(str(tmp_path / "out.parquet"))
    assert "w" not in masked.columns
    there = anonto.assess(original, masked, plan, private=record).utility
    here = anonto.assess(table, anonto.mask(table, plan, seed=1 << 100).table, plan, same_order=True).utility
    assert there["weighted_by"] == "w"
    assert there["columns"] == here["columns"]
    monkeypatch.setattr(on_cluster, "fit_here", lambda *_: False)
    with pytest.raises(InputError, match="a table that is compared on a cluster counts each record once"):
        anonto.assess(original, masked, plan, private=record)
    with pytest.raises(InputError, match="a profile on a cluster counts each record once"):
        profile_on_cluster(number_rows(original, None).table, plan_of(plan))
