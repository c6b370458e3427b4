"""Masking on a standalone cluster of two workers, one killed in the middle, against the same on one machine.

The rows must be identical, so what is timed are three ways to the same files. Java runs in processes of its own and all
of them share the cores of one machine, so the times say what the cluster costs and not what it gains. The release is
then assessed from counts, as its rows would not fit into the memory that the driver is given.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import polars as pl

from anonto.assessment.assess import assess
from anonto.engine.run import mask, mask_file
from benchmarks.cluster import Cluster
from benchmarks.measuring import Finding
from benchmarks.scale import MEMORY, N_VALUES, SEED, generate, taxonomy

OPTIONS = {"spark.ui.showConsoleProgress": "false", "spark.executor.extraJavaOptions": "-XX:+UseSerialGC"}
ROWS_AT_ONCE = 5_000_000
"""Rows that are compared at once."""


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark; none without Java."""
    if shutil.which("java") is None:
        return [Finding("masking on a Spark cluster", 0.0, "rows", note="not run: there is no Java")]
    n = 50_000 if quick else 50_000_000
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _findings(Path(folder), n, quick=quick)


def _findings(folder: Path, n: int, *, quick: bool) -> list[Finding]:
    source = folder / "in"
    source.mkdir()
    generate(str(source / "part.parquet"), n)
    columns = {name: {"ontology": taxonomy()} for name in N_VALUES}
    steps = [{"method": "rank-swap", "columns": list(N_VALUES), "k": max(n // 100, 10)}]
    plan: dict[str, Any] = {"columns": columns, "steps": steps}
    found = []
    with Cluster(folder / "cluster") as cluster:
        spark = cluster.session(**OPTIONS)
        spark.sparkContext.setLogLevel("OFF")
        frame = spark.read.parquet(str(source))
        for keep_order in (True, False):
            here, there = folder / "here.parquet", folder / "there.parquet"
            start = time.perf_counter()
            evidence = mask_file(
                source, plan, here, seed=SEED, memory=MEMORY, keep_order=keep_order, private=False, force=True
            ).evidence
            alone = time.perf_counter() - start
            start = time.perf_counter()
            release = mask(frame, plan, seed=SEED)
            with cluster.killer(spark) as killer:
                saved = release.save(there, keep_order=keep_order, private=False)
            together = time.perf_counter() - start
            cluster.add_workers(2 - cluster.n_living)
            same = _same_rows(here, there)
            if keep_order:
                assessed = _assessed(frame, spark.read.parquet(str(there)), plan, n, quick=quick)
            lost = (
                "no worker was lost"
                if killer.seen is None
                else "a worker was killed after {} of {} tasks".format(*killer.seen)
            )
            order = "rows in order" if keep_order else "rows shuffled"
            found.append(
                Finding(
                    f"rank-swap of two columns on two workers, {order}: rows as on one machine",
                    float(same),
                    "rows",
                    f"{n:,} rows",
                    same == n and saved == evidence and (quick or killer.seen is not None),
                    note=f"{lost}; {together:.0f} s against {alone:.0f} s on one machine",
                    facts={"cluster_seconds": together, "local_seconds": alone, "killed": killer.seen},
                )
            )
        spark.stop()
    return [*found, assessed]


def _assessed(original: Any, masked: Any, plan: dict[str, Any], n: int, *, quick: bool) -> Finding:
    """Attack the release; a small one has about as many distinct records as rows, and is attacked row by row."""
    start = time.perf_counter()
    assessment = assess(original, masked, plan, same_order=True, memory=None if quick else MEMORY)
    seconds = time.perf_counter() - start
    worst = assessment.worst
    told = "" if worst is None else f"; {worst.attack} {worst.rate:.2%} ({worst.low:.2%} to {worst.high:.2%})"
    how = "all rows" if quick else f"counts, within {MEMORY} on the driver"
    return Finding(f"assessing the release from {how}", seconds, "s", note=f"{n:,} rows{told}")


def _same_rows(here: Path, there: Path) -> int:
    """How many rows of the two tables are the same, place by place."""
    one, other = pl.scan_parquet(here), pl.scan_parquet(sorted(there.glob("*.parquet")))
    n, same = int(one.select(pl.len()).collect().item()), 0
    if int(other.select(pl.len()).collect().item()) != n:
        return 0
    for first in range(0, n, ROWS_AT_ONCE):
        left, right = (side.slice(first, ROWS_AT_ONCE).collect() for side in (one, other))
        equal = left.select(pl.all_horizontal(left[name].eq_missing(right[name]) for name in left.columns))
        same += int(equal.to_series().sum())
    return same
