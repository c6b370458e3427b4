"""Groups within an average risk are the same on a cluster as in memory and over files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = {"illness": {"ontology": "illnesses"}, "age": {"kind": "numeric"}}


@pytest.mark.filterwarnings("ignore:.*are released unchanged:anonto.errors.AnontoWarning")
def test_every_engine_releases_the_same_groups(tmp_path: Path, spark: Any) -> None:
    rng = np.random.default_rng(3)
    illnesses = rng.choice(["flu", "measles", "burn", "fracture"], 300).tolist()
    table = pl.DataFrame({"illness": illnesses, "age": rng.integers(0, 40, 300)})
    table.write_parquet(tmp_path / "in.parquet", row_group_size=41)
    (tmp_path / "parts").mkdir()
    for number, start in enumerate((0, 90, 200)):
        table[start : (90, 200, 300)[number]].write_parquet(tmp_path / "parts" / f"{number}.parquet", row_group_size=29)
    step = {"method": "microaggregate", "columns": list(COLUMNS), "k": 2, "average_risk": 0.1}
    plan = {"columns": COLUMNS, "steps": [step]}
    in_memory = anonto.mask(table, plan, seed=1 << 90)
    on_cluster = anonto.mask(spark.read.parquet(str(tmp_path / "in.parquet")), plan, seed=1 << 90)
    over_files = anonto.mask_file(
        tmp_path / "parts", plan, tmp_path / "out.parquet", seed=1 << 90, private=False, keep_order=True
    )
    assert in_memory.evidence["steps"] == on_cluster.evidence["steps"]
    assert in_memory.evidence["steps"][0]["groups"] == over_files.evidence["steps"][0]["groups"]
    on_cluster.save(str(tmp_path / "cluster.parquet"), private=False, keep_order=True)
    for saved in ("out.parquet", "cluster.parquet"):
        path = tmp_path / saved
        parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        assert pl.concat([pl.read_parquet(part) for part in parts]).equals(in_memory.table), saved
