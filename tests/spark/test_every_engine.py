"""Every method through every engine, by one fixture: the same seed gives the same rows in the same order."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 1 << 100
_spec = importlib.util.spec_from_file_location(
    "golden", Path(__file__).parents[1] / "contract" / "test_golden_releases.py"
)
assert _spec is not None
assert _spec.loader is not None
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)

Saved = tuple[pl.DataFrame, dict[str, Any]]


@pytest.fixture(params=["memory", "files", "spark"])
def masked(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Saved]:
    """Masks the golden table with a method on an engine; gives what is saved, and the evidence."""
    frame = golden.table()
    frame.write_parquet(tmp_path / "in.parquet", row_group_size=70)
    golden.write(tmp_path / "parts", in_parts=True)
    session = request.getfixturevalue("spark") if request.param == "spark" else None

    def save(method: str) -> Saved:
        plan, out = golden.plan_for(method), tmp_path / f"{method}.parquet"
        if request.param == "memory":
            release = anonto.mask(tmp_path / "in.parquet", plan, seed=SEED)
            release.save(out, private=False)
        elif request.param == "files":
            release = anonto.mask_file(tmp_path / "parts", plan, out, seed=SEED, private=False)
        else:
            release = anonto.mask(session.read.parquet(str(tmp_path / "in.parquet")), plan, seed=SEED)
            release.save(str(out), private=False)
        assert isinstance(release, anonto.Release)
        parts = sorted(out.glob("*.parquet")) if out.is_dir() else [out]
        return pl.concat([pl.read_parquet(part) for part in parts]), release.evidence

    return save


@pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
@pytest.mark.parametrize("method", golden.METHODS)
def test_every_engine_saves_the_same_rows_and_evidence(
    method: str, masked: Callable[[str], Saved], tmp_path: Path
) -> None:
    release = anonto.mask(golden.table(), golden.plan_for(method), seed=SEED)
    release.save(tmp_path / "expected.parquet", private=False)
    frame, evidence = masked(method)
    assert frame.equals(pl.read_parquet(tmp_path / "expected.parquet"))
    digits = [json.loads(golden.as_json(one)) for one in (evidence, release.evidence)]
    assert digits[0] == digits[1]
