"""A table larger than the memory that may be used: two nominal columns, each rank-swapped, against polars."""

from __future__ import annotations

import tempfile
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from anonto.engine.run import mask_file
from benchmarks.generated import generated_taxonomy, some_concepts
from benchmarks.measuring import GIGABYTE, Finding, Visit, at_most, in_fresh_process

N_VALUES = {"dx": 1_000, "px": 300}
N_CONCEPTS = 5_000
ROWS_AT_ONCE = 1 << 18
SEED = 1 << 100
MEMORY = "2GB"
MOST_GIGABYTES = 2.5
TIMES_POLARS = {"keep": 6, "shuffle": 9}


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    n, repeats = (200_000, 1) if quick else (100_000_000, 2)
    with tempfile.TemporaryDirectory() as folder:
        source = str(Path(folder) / "in")
        Path(source).mkdir()
        generate(f"{source}/part.parquet", n)
        sides = {"polars": [], "keep": [], "shuffle": []}  # type: dict[str, list[Visit]]
        for _ in range(repeats):
            sides["polars"].append(in_fresh_process("benchmarks.scale:copied", source))
            for order in TIMES_POLARS:
                sides[order].append(in_fresh_process("benchmarks.scale:masked", source, order, n))
        return [finding for order in TIMES_POLARS for finding in _findings(order, n, sides[order], sides["polars"])]


def _findings(order: str, n: int, ours: list[Visit], theirs: list[Visit]) -> list[Finding]:
    own, other = min(ours, key=lambda visit: visit.seconds), min(theirs, key=lambda visit: visit.seconds)
    own_cpu, other_cpu = own.returned["processor_seconds"], other.returned["processor_seconds"]
    peak = max(visit.peak_bytes for visit in ours) / GIGABYTE
    rows = "rows in order" if order == "keep" else "rows shuffled"
    note = f"{n:,} rows, {own.seconds:.1f} s against {other.seconds:.1f} s"
    facts = {
        "anonto": [visit.seconds for visit in ours],
        "polars": [visit.seconds for visit in theirs],
        "anonto_processor": [visit.returned["processor_seconds"] for visit in ours],
        "polars_processor": [visit.returned["processor_seconds"] for visit in theirs],
        "polars_peak_gigabytes": max(visit.peak_bytes for visit in theirs) / GIGABYTE,
    }
    return [
        at_most(
            f"rank-swap of two columns in {MEMORY}, {rows}, against polars reading and writing",
            own.seconds / other.seconds,
            TIMES_POLARS[order],
            note=note,
            facts=facts,
        ),
        Finding(
            "… the same in processor time", own_cpu / other_cpu, "×", note=f"{own_cpu:.1f} s against {other_cpu:.1f} s"
        ),
        at_most(
            "… its peak memory", peak, MOST_GIGABYTES, "GB", note=f"polars took {facts['polars_peak_gigabytes']:.1f} GB"
        ),
    ]


def generate(path: str, n: int) -> None:
    """Write two columns of concepts, their frequencies falling as one over the rank, in batches."""
    concepts = {name: pl.Series(some_concepts(taxonomy(), size, seed=size)) for name, size in N_VALUES.items()}
    shares = {name: np.cumsum(1 / np.arange(1, size + 1)) for name, size in N_VALUES.items()}

    def batches(*_: Any) -> Any:
        rng = np.random.default_rng(0)
        for first in range(0, n, ROWS_AT_ONCE):
            rows = min(ROWS_AT_ONCE, n - first)
            yield pl.DataFrame(
                {
                    name: concepts[name].gather(np.searchsorted(shares[name], rng.random(rows) * shares[name][-1]))
                    for name in N_VALUES
                }
            )

    schema = dict.fromkeys(N_VALUES, pl.String())
    register_io_source(batches, schema=schema).sink_parquet(path, maintain_order=True)


@cache
def taxonomy() -> Any:
    """The concepts of both columns."""
    return generated_taxonomy(N_CONCEPTS)


def masked(source: str, order: str, n: int) -> dict[str, Any]:
    """Mask the files of a folder, in two passes whatever their size; the evidence, and the processor time it took."""
    start = time.process_time()
    columns = {name: {"ontology": taxonomy()} for name in N_VALUES}
    plan = {"columns": columns, "steps": [{"method": "rank-swap", "columns": list(N_VALUES), "k": max(n // 100, 10)}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence = mask_file(
            source, plan, f"{source}.masked.parquet", seed=SEED, memory=MEMORY, keep_order=order == "keep", force=True
        ).evidence
    step = evidence["steps"][0]
    return {"processor_seconds": time.process_time() - start, "unchanged": step["unchanged"], "rmse": step["rmse"]}


def copied(source: str) -> dict[str, Any]:
    """Read and write a file with polars."""
    start = time.process_time()
    pl.read_parquet(f"{source}/part.parquet").write_parquet(f"{source}.copied.parquet")
    return {"processor_seconds": time.process_time() - start}
