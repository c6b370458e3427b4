"""Steps within strata on a cluster: the same cells and evidence as in memory, for every method."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anonto

_spec = importlib.util.spec_from_file_location("strata", Path(__file__).parents[1] / "contract" / "test_strata.py")
assert _spec is not None
assert _spec.loader is not None
strata = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(strata)


def test_zeros_of_a_stratum_are_released_with_the_same_bits_on_a_cluster(spark: Any, tmp_path: Path) -> None:
    frame, plan = strata.with_two_zeros()
    frame.write_parquet(tmp_path / "in.parquet")
    there = anonto.mask(spark.read.parquet(str(tmp_path / "in.parquet")), plan, seed=strata.SEED).table.toArrow()
    here = anonto.mask(frame, plan, seed=strata.SEED).table["site"]
    assert pl.DataFrame(there)["site"].to_numpy().tobytes() == here.to_numpy().tobytes()


@pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
@pytest.mark.parametrize("method", strata.METHODS)
def test_a_cluster_masks_strata_as_memory_does(method: str, spark: Any, tmp_path: Path) -> None:
    frame = strata.table().with_columns(ward=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("Z")).otherwise("ward"))
    source, plan = tmp_path / "in.parquet", strata.plan_for(method, small_strata="pool")
    frame.write_parquet(source, row_group_size=70)
    here = anonto.mask(frame, plan, seed=strata.SEED)
    there = anonto.mask(spark.read.parquet(str(source)), plan, seed=strata.SEED)
    saved = there.save(str(tmp_path / "out.parquet"), private=False, keep_order=True)
    parts = sorted((tmp_path / "out.parquet").glob("*.parquet"))
    assert pl.concat([pl.read_parquet(part) for part in parts]).equals(here.table)
    for key in ("strata", "pooled_strata", "pooled_records", "unchanged_records", "untouched", "rmse"):
        assert saved["steps"][0][key] == pytest.approx(here.evidence["steps"][0][key])
