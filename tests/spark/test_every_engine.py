"""Every method through every engine, by one fixture: the same seed gives the same cells in the same order.

Parquet files of different writers differ in their bytes, so what is compared is a digest of what every reader gets of
them: names, types, cells and order of the rows. It is the same for all engines, and stands in `golden_releases.json`.
If a release should change, this writes the digests of what a cluster releases again:

    python tests/spark/test_every_engine.py
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto

if TYPE_CHECKING:
    from collections.abc import Callable

_spec = importlib.util.spec_from_file_location(
    "golden", Path(__file__).parents[1] / "contract" / "test_golden_releases.py"
)
assert _spec is not None
assert _spec.loader is not None
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)


def digest_by(engine: str, method: str, folder: Path, session: Any = None) -> dict[str, str]:
    """Mask the golden table with a method on an engine; the digest of what is saved, and of the evidence."""
    source, parts = folder / "in.parquet", folder / "parts"
    if not source.exists():
        golden.table().write_parquet(source, row_group_size=70)
        golden.write(parts, in_parts=True)
    plan, out = golden.plan_for(method), folder / f"{method}.parquet"
    if engine == "files":
        evidence = anonto.mask_file(parts, plan, out, seed=golden.SEED, private=False).evidence
    else:
        given = source if engine == "memory" else session.read.parquet(str(source))
        evidence = anonto.mask(given, plan, seed=golden.SEED).save(str(out), private=False)
    saved = sorted(out.glob("*.parquet")) if out.is_dir() else [out]
    return dict(golden.digest_of_cells(pl.concat([pl.read_parquet(part) for part in saved]), evidence))


@pytest.fixture(params=["memory", "files", "spark"])
def released(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], tuple[str, dict[str, str]]]:
    """The name of an engine, and the digest of what it saves of a method."""
    engine: str = request.param
    session = request.getfixturevalue("spark") if engine == "spark" else None
    return lambda method: (engine, digest_by(engine, method, tmp_path, session))


@pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
@pytest.mark.parametrize("method", golden.METHODS)
def test_every_engine_saves_the_release_that_is_written_down(
    method: str, released: Callable[[str], tuple[str, dict[str, str]]]
) -> None:
    engine, found = released(method)
    assert found == json.loads(golden.GOLDEN.read_text())[method][golden.ENGINES[engine]]


def write_anew() -> None:
    """Write down what a cluster releases now, beside what the other engines do."""
    from pyspark.sql import SparkSession

    warnings.simplefilter("ignore")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    written = json.loads(golden.GOLDEN.read_text())
    session = SparkSession.builder.master("local[2]").getOrCreate()
    with tempfile.TemporaryDirectory() as scratch:
        for method in golden.METHODS:
            written[method][golden.ON_A_CLUSTER] = digest_by("spark", method, Path(scratch), session)
    session.stop()
    golden.GOLDEN.write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    write_anew()
