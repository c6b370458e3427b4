"""Guarantees of a release on a cluster: the order of its rows and the columns beside the step count there too."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.assessment import on_cluster
from anonto.attacks.row_order import FINDING
from anonto.methods.guarantee import IN_ORDER

if TYPE_CHECKING:
    from pathlib import Path

SEED = 2**100
PLAN: dict[str, Any] = {
    "columns": {
        "illness": {"ontology": "illnesses"},
        "age": {"kind": "numeric"},
        "stay": {"kind": "numeric", "role": "confidential"},
    },
    "steps": [{"method": "microaggregate", "columns": ["illness", "age"], "k": 5}],
}


@pytest.fixture
def original(spark: Any, tmp_path: Path) -> Any:
    rng = np.random.default_rng(8)
    table = {
        "illness": rng.choice(["flu", "measles", "burn", "fracture"], 400),
        "age": rng.integers(0, 90, 400),
        "stay": rng.integers(1, 300, 400),
    }
    pl.DataFrame(table).write_parquet(tmp_path / "in.parquet")
    return spark.read.parquet(str(tmp_path / "in.parquet"))


def proved(evidence: dict[str, Any]) -> bool:
    return bool(evidence["steps"][0]["guarantee"]["proved"])


@pytest.mark.parametrize("from_counts", [False, True])
def test_rows_in_order_are_not_proved_and_are_found(
    from_counts: bool, original: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = anonto.mask(original, PLAN, seed=SEED)
    assert proved(release.evidence)
    for keep_order in (True, False):
        target, page = tmp_path / f"{keep_order}.parquet", tmp_path / f"{keep_order}.html"
        evidence = release.save(target, keep_order=keep_order, report=page)
        assert (evidence["rows_in_order"], proved(evidence)) == (keep_order, not keep_order)
        assert (IN_ORDER in page.read_text()) is keep_order
    if from_counts:
        monkeypatch.setattr(on_cluster, "fit_here", lambda *_: False)
    for name, record, in_order in (
        ("True", None, True),
        ("True", "True.parquet.private.json", True),
        ("False", "False.parquet.private.json", False),
    ):
        masked = spark.read.parquet(str(tmp_path / f"{name}.parquet"))
        found = anonto.assess(original, masked, PLAN, private=record and tmp_path / record)
        assert (FINDING in found.findings) is in_order
        assert ("row-order" in {one.attack for one in found.risk}) is in_order
        assert [one["proved"] for one in found.facts["guarantees"]] == [not in_order]
    monkeypatch.setattr(type(spark.sparkContext), "getCheckpointDir", lambda _: f"file:{tmp_path}/{uuid4()}")
    in_memory = anonto.assess(original, release.table, PLAN)
    assert FINDING not in in_memory.findings
    assert [one["proved"] for one in in_memory.facts["guarantees"]] == [True]


def test_columns_that_the_plan_does_not_name_or_nobody_confirmed_are_seen_there_too(
    original: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import functions

    with_number = original.withColumn("ssn", functions.col("age") * 7)
    release = anonto.mask(with_number, PLAN, seed=SEED)
    assert "leaves out 'ssn'" in release.evidence["steps"][0]["guarantee"]["conditions"]
    release.save(tmp_path / "out.parquet")
    record = tmp_path / "out.parquet.private.json"
    monkeypatch.setattr(type(spark.sparkContext), "getCheckpointDir", lambda _: f"file:{tmp_path}/{uuid4()}")
    for private in (None, record):
        (told,) = anonto.assess(with_number, release.table, PLAN, private=private).facts["guarantees"]
        assert "leaves out 'ssn'" in told["conditions"]
    columns = {**PLAN["columns"], "stay": {**PLAN["columns"]["stay"], "review": True}}
    with warnings.catch_warnings(record=True) as told_of:
        warnings.simplefilter("always")
        release = anonto.mask(original, {**PLAN, "columns": columns}, seed=SEED)
    assert sum("Nobody has confirmed" in str(one.message) for one in told_of) == 1
    assert not proved(release.evidence)
