"""Columns are recoded on a cluster as in memory: the same cells, types and evidence."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import anonto

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1 << 100 | 5
N = 200
pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


@pytest.mark.parametrize("person", [None, "pid"])
def test_recoded_columns_are_the_same_as_in_memory(
    spark: Any, tmp_path: Path, person: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(spark.sparkContext), "getCheckpointDir", lambda _: f"file:{tmp_path}/{uuid4()}")
    table = pl.DataFrame(
        {
            "pid": [f"p{row // 2}" for row in range(N)],
            "age": [None if row // 2 % 11 == 0 else row // 2 for row in range(N)],
            "zip": [["02115", "02116", "90210"][row // 2 % 3] for row in range(N)],
            "size": [row // 2 / 4 for row in range(N)],
            "born": [dt.date(1950, 1, 1) + dt.timedelta(days=97 * (row // 2)) for row in range(N)],
            "came": [f"{1 + row // 2 % 28}.{1 + row // 2 % 12}.2020" for row in range(N)],
            "at": [dt.datetime(2020, 1, 1) + dt.timedelta(hours=11 * (row // 2)) for row in range(N)],  # noqa: DTZ001
        }
    )
    table.write_parquet(tmp_path / "in.parquet", row_group_size=60)
    last = {"method": "rank-swap", "columns": ["born", "came"], "k": 5}
    plan = {
        "table": {"person": person} if person else {},
        "columns": {
            "pid": {"role": "identifier"},
            "age": {"kind": "numeric", "recode": {"top": 70, "round": 5}},
            "zip": {"recode": {"prefix": 3}},
            "size": {"kind": "numeric", "recode": {"bands": [5, 20]}},
            "born": {"kind": "date", "recode": {"to": "year"}},
            "came": {"kind": "date", "recode": {"shift": "person", "days": 60, "person": "pid"}},
            "at": {"kind": "date"} if person else {"kind": "date", "recode": {"shift": "record", "days": 60}},
        },
        "steps": [{"method": "random-swap", "columns": ["age", "size"]}, last],
    }
    here = anonto.mask(tmp_path / "in.parquet", plan, seed=SEED)
    there = anonto.mask(spark.read.parquet(str(tmp_path / "in.parquet")), plan, seed=SEED)
    assert there.evidence == here.evidence
    here.save(tmp_path / "here.parquet", private=False)
    there.save(str(tmp_path / "there.parquet"), private=False)
    written = pl.concat(pl.read_parquet(part) for part in sorted((tmp_path / "there.parquet").glob("*.parquet")))
    assert_frame_equal(written, pl.read_parquet(tmp_path / "here.parquet"))
