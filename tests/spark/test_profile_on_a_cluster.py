"""Profiles and assessments of tables on a cluster are those of one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.comparing import on_cluster
from anonto.engine.spark.profile import profile_on_cluster
from anonto.engine.spark.source import taken
from anonto.errors import (
    MissingColumnError,
    NotForClustersError,
    ParameterError,
    ShuffledRowsError,
    TooLargeToAssessError,
    UncheckedRowsError,
)
from anonto.plan import plan_of
from anonto.stats.profile import profile

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
    there = profile_on_cluster(taken(spark.read.parquet(str(tmp_path / "in.parquet")), None).table, plan_of(PLAN))
    here = profile(patients(500), plan_of(PLAN))
    assert there["pairs"]
    assert there["combinations"]
    for pair, wanted in zip(there.pop("pairs"), here.pop("pairs"), strict=True):
        assert pair.pop("columns") == wanted.pop("columns")
        assert pair == pytest.approx(wanted, rel=1e-9)
    assert there == here
    lacking = taken(spark.read.parquet(str(tmp_path / "in.parquet")).drop("age"), None)
    with pytest.raises(MissingColumnError):
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
    with pytest.raises(ShuffledRowsError):
        anonto.assess(original, masked, plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_cluster, "driver_memory", lambda: 1000)
        with pytest.raises(TooLargeToAssessError, match="values of 4 columns, most of them in 'age', needs about"):
            anonto.assess(original, masked, plan, private=record)
    del plan["columns"]["ward"]
    with pytest.raises(UncheckedRowsError):
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
        with pytest.raises(ShuffledRowsError):
            anonto.assess(original, masked, plan)
        with monkeypatch.context() as less:
            less.setattr(on_cluster, "driver_memory", lambda: 10_000)
            with pytest.raises(TooLargeToAssessError, match="300 records, whose groups in step 1 are lists of them, "):
                anonto.assess(original, masked, plan, private=record)
        single = {**plan, "steps": [{**plan["steps"][1], "noise_level": [0.2] * 300}]}
        with pytest.raises(ParameterError, match="noise_level of step 1 must be one number, or one for each column"):
            anonto.assess(original, masked, single, same_order=True)
        with pytest.raises(NotForClustersError):
            anonto.assess(original, masked, plan, private=record, second=(masked, plan), second_private=record)
    assert found.n_records == by_row.n_records < 300
    assert {**found.facts, "pictures": 0} == {**by_row.facts, "pictures": 0}
    assert found.utility["columns"].keys() == by_row.utility["columns"].keys()
    for name, losses in found.utility["columns"].items():
        wanted = by_row.utility["columns"][name]
        assert (losses["rmse"], losses["changed"]) == pytest.approx((wanted["rmse"], wanted["changed"]), rel=1e-9)
    for one, wanted in zip(found.risk, by_row.risk, strict=True):
        assert (one.attack, one.columns, one.n) == (wanted.attack, wanted.columns, wanted.n)
        at_once = one.attack == "global-linkage" or one.details.get("matching") == "global"
        assert one.rate == pytest.approx(wanted.rate, abs=0.05 if at_once else 1e-9)
