"""A worker that is killed in the middle of a job changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.engine.spark import table as spark_table

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1 << 100
N = 2_000_000


def visits(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    codes = np.array([f"{i:03d}.{i % 10}" for i in range(1_000)])
    weights = 1 / np.arange(1, 1_001)
    return pl.DataFrame(
        {
            "dx": codes[rng.choice(1_000, n, p=weights / weights.sum())],
            "procedure": codes[rng.integers(0, 300, n)],
            "row": np.arange(n),
        }
    )


@pytest.mark.parametrize("keep_order", [True, False])
def test_a_worker_killed_in_the_middle_changes_nothing(
    keep_order: bool, cluster: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, at_once = (N, 1 << 16) if keep_order else (N // 8, 1 << 14)
    monkeypatch.setattr(spark_table, "ROWS_OF_A_TASK", at_once)
    visits(n).write_parquet(tmp_path / "in.parquet", row_group_size=at_once)
    plan = {"steps": [{"method": "random-swap", "columns": ["dx", "procedure"]}]}
    anonto.mask(tmp_path / "in.parquet", plan, seed=SEED).save(tmp_path / "here.parquet", keep_order=keep_order)
    release = anonto.mask(spark.read.parquet(str(tmp_path / "in.parquet")), plan, seed=SEED)
    with cluster.killer(spark) as killer:
        release.save(tmp_path / "there.parquet", keep_order=keep_order)
    cluster.add_workers(2 - cluster.n_living)
    assert killer.seen is not None, "the job was over before a worker could be killed"
    there = pl.concat([pl.read_parquet(one) for one in sorted((tmp_path / "there.parquet").glob("*.parquet"))])
    assert there.equals(pl.read_parquet(tmp_path / "here.parquet"))


def test_a_worker_killed_while_cells_are_exchanged_changes_nothing(
    cluster: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, at_once = N // 8, 1 << 14
    monkeypatch.setattr(spark_table, "ROWS_OF_A_TASK", at_once)
    numbers = np.random.default_rng(2).normal(size=(n, 2)).round(3)
    table = pl.DataFrame({"x": numbers[:, 0], "y": numbers[:, 1], "row": np.arange(n)})
    table.write_parquet(tmp_path / "in.parquet", row_group_size=at_once)
    plan = {
        "columns": {"x": {"kind": "numeric"}, "y": {"kind": "numeric"}},
        "steps": [{"method": "equi-width-swap", "columns": ["x", "y"], "bins": 40}],
    }
    anonto.mask(table, plan, seed=SEED).save(tmp_path / "here.parquet")
    release = anonto.mask(spark.read.parquet(str(tmp_path / "in.parquet")), plan, seed=SEED)
    with cluster.killer(spark) as killer:
        release.save(tmp_path / "there.parquet")
    cluster.add_workers(2 - cluster.n_living)
    assert killer.seen is not None, "the job was over before a worker could be killed"
    there = pl.concat([pl.read_parquet(one) for one in sorted((tmp_path / "there.parquet").glob("*.parquet"))])
    assert there.equals(pl.read_parquet(tmp_path / "here.parquet"))


def test_a_worker_killed_while_values_are_counted_changes_nothing(
    cluster: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, at_once = N // 20, 1 << 12
    monkeypatch.setattr(spark_table, "ROWS_OF_A_TASK", at_once)
    monkeypatch.setattr(spark_table, "SMALLEST_SPLIT", 1 << 14)
    visits(n).write_parquet(tmp_path / "in.parquet", row_group_size=at_once)
    plan = {"steps": [{"method": "random-swap", "columns": ["dx", "procedure"]}]}
    here = anonto.mask(tmp_path / "in.parquet", plan, seed=SEED)
    with cluster.killer(spark) as killer:
        there = anonto.mask(spark.read.parquet(str(tmp_path / "in.parquet")), plan, seed=SEED)
    cluster.add_workers(2 - cluster.n_living)
    assert killer.seen is not None, "the job was over before a worker could be killed"
    assert there.evidence == here.evidence
    masked = pl.DataFrame(pl.from_arrow(there.table.toArrow())).sort("row")
    assert masked.equals(here.table)
