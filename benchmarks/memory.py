"""Peak memory of masking a table that is in memory already, method by method."""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import anonto
from benchmarks.measuring import Finding, at_most, in_fresh_process, peak_bytes

N_VALUES = {"diagnosis": 1_000, "procedure": 300}
SEED = 1 << 100
BYTES_OF = {"diagnosis": 4, "procedure": 4, "age": 4, "stay": 4}
"""An encoded cell: nominal or numeric, it is the number of a distinct value."""
NOMINAL, MIXED = ["diagnosis", "procedure"], ["diagnosis", "procedure", "age", "stay"]
BY_COUNTS: dict[str, dict[str, Any]] = {
    "random-swap": {"columns": NOMINAL},
    "frequency-swap": {"columns": NOMINAL, "k": 10},
    "rank-swap-fixed": {"columns": NOMINAL, "k": 10},
    "rank-swap": {"columns": MIXED, "k": 10},
    "semantic-noise": {"columns": NOMINAL, "noise_level": 0.2},
    "taxonomy-exponential": {"columns": NOMINAL, "epsilon": 4.0},
    "equi-width-swap": {"columns": ["age", "stay"], "bins": 20},
}
BY_RECORDS: dict[str, dict[str, Any]] = {
    "rank-swap-joint": {"columns": NOMINAL, "k": 10},
    "group-swap": {"columns": MIXED, "k": 10},
    "microaggregate": {"columns": MIXED, "k": 10},
}
"""Methods that hold the distinct records and what they need to search them, too."""


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    n = 200_000 if quick else 10_000_000
    fewer = 5_000 if quick else 200_000
    with tempfile.TemporaryDirectory() as folder:
        many, few = Path(folder) / "many.arrow", Path(folder) / "few.arrow"
        table(n).write_ipc(many)
        table(fewer).write_ipc(few)
        found = [_finding(method, step, many, n, is_wanted=True) for method, step in BY_COUNTS.items()]
        return found + [_finding(method, step, few, fewer, is_wanted=False) for method, step in BY_RECORDS.items()]


def _finding(method: str, step: dict[str, Any], path: Path, n: int, *, is_wanted: bool) -> Finding:
    visit = in_fresh_process("benchmarks.memory:measure_bytes", method, step, str(path)).returned
    encoded = n * sum(BYTES_OF[name] for name in step["columns"])
    what = f"{method} of {len(step['columns'])} columns, {n:,} rows: memory beside the table"
    times = visit["masking"] / encoded
    note = (
        f"{visit['masking'] / 1e6:.0f} MB for {encoded / 1e6:.0f} MB encoded, the table has {visit['table'] / 1e6:.0f};"
        f" the masked table {visit['whole'] / 1e6:.0f} MB more"
    )
    if is_wanted:
        return at_most(what, times, 3, "× encoded", note=note)
    return Finding(what, times, "× encoded", note=note)


def measure_bytes(method: str, step: dict[str, Any], path: str) -> dict[str, int]:
    """Peak bytes of masking without the original table, and the bytes that creating the masked table adds."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        plan = _plan(Path(folder), {"method": method, **step})
        _ = anonto.mask(table(5_000), plan, seed=SEED).table  # what is compiled or loaded once is not counted
        without = _forget_peak()
        frame = pl.read_ipc(Path(path).read_bytes())  # takes what the table has and nothing that could be used again
        before = _forget_peak()
        release = anonto.mask(frame, plan, seed=SEED)
        masking = peak_bytes() - before
        before = _forget_peak()
        masked = release.table
        return {
            "masking": masking,
            "whole": peak_bytes() - before,
            "table": before - without,
            "rows": masked.height,
        }


def table(n: int) -> pl.DataFrame:
    """Two columns of codes whose frequencies fall as one over the rank, and two of whole numbers."""
    rng = np.random.default_rng(0)
    columns: dict[str, pl.Series] = {}
    for name, size in N_VALUES.items():
        weights = 1 / np.arange(1, size + 1)
        codes = rng.choice(size, n, p=weights / weights.sum()).astype(np.uint32)
        values = pl.Series([f"{name[0]}{number:04d}" for number in range(size)])
        columns[name] = values.gather(codes)
    columns["age"] = pl.Series(rng.integers(0, 100, n).astype(np.int32))
    columns["stay"] = pl.Series(rng.poisson(6, n).astype(np.int32))
    return pl.DataFrame(columns)


def _plan(folder: Path, step: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {}
    for name in MIXED:
        if name in N_VALUES:
            codes = [f"{name[0]}{number:04d}" for number in range(N_VALUES[name])]
            chapters = sorted({code[:-1] for code in codes})
            lines = ["child,parent", *(f"{code},{code[:-1]}" for code in codes), *(f"{one},all" for one in chapters)]
            (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
            described[name] = {"kind": "nominal", "role": "quasi-identifier", "ontology": str(folder / f"{name}.csv")}
        else:
            described[name] = {"kind": "numeric", "role": "quasi-identifier"}
    return {"columns": described, "steps": [step]}


def _forget_peak() -> int:
    """Free unused memory, reset the peak, and return the memory in use; Linux only."""
    gc.collect()
    name = ctypes.util.find_library("c")
    if name is not None:
        ctypes.CDLL(name).malloc_trim(0)
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")
    return peak_bytes()
