"""Masking of one text column from Parquet to Parquet, against polars reading and writing the same file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anonto.engine.run import mask
from benchmarks.measuring import Finding, at_most, exponents, in_fresh_process, interleaved

N_VALUES = 1_000
PLAN: dict[str, Any] = {"steps": [{"method": "random-swap", "columns": ["dx"]}]}
SEED = 1 << 100


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    n = 100_000 if quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.parquet"
        column(n).write_parquet(source)
        return [*_against_polars(source, n, repeats=3 if quick else 7), *_growth(quick=quick), *_command(Path(folder))]


def column(n: int) -> pl.DataFrame:
    """Codes of four to five characters, their frequencies falling as one over the rank."""
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, N_VALUES + 1)
    codes = np.array([f"{i:03d}.{i % 10}" for i in range(N_VALUES)])
    return pl.DataFrame({"dx": codes[rng.choice(N_VALUES, n, p=weights / weights.sum())]})


def masked(source: str) -> int:
    """Mask a file to a file beside it; the number of its records."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = mask(source, PLAN, seed=SEED)
        release.save(f"{source}.masked.parquet")
    return int(release.evidence["n_records"])


def copied(source: str) -> int:
    """Read and write a file with polars; the number of its records."""
    frame = pl.read_parquet(source)
    frame.write_parquet(f"{source}.copied.parquet")
    return frame.height


def _against_polars(source: Path, n: int, repeats: int) -> list[Finding]:
    timings = interleaved({"anonto": partial(masked, str(source)), "polars": partial(copied, str(source))}, repeats)
    ours, theirs = timings["anonto"].median, timings["polars"].median
    note = f"{n:,} rows, {ours:.2f} s against {theirs:.2f} s"
    facts = {name: timing.repeats for name, timing in timings.items()}
    own = in_fresh_process("benchmarks.masking:masked", str(source))
    other = in_fresh_process("benchmarks.masking:copied", str(source))
    allowed = 3 * 4 * n + (other.peak_bytes - other.start_bytes)
    return [
        at_most(
            "random-swap, Parquet to Parquet, against polars reading and writing",
            ours / theirs,
            3,
            note=note,
            facts=facts,
        ),
        at_most(
            "… its peak memory, against three encoded columns and what polars takes",
            (own.peak_bytes - own.start_bytes) / allowed,
            1,
            note=f"{(own.peak_bytes - own.start_bytes) / 1e6:.0f} MB above the imports, {allowed / 1e6:.0f} allowed",
        ),
    ]


def _growth(*, quick: bool) -> list[Finding]:
    sizes = [25_000, 50_000, 100_000] if quick else [1_000_000, 2_000_000, 4_000_000, 8_000_000]

    def whole(frame: pl.DataFrame) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _ = mask(frame, PLAN, seed=SEED).table

    tables = {str(n): partial(whole, column(n)) for n in sizes}
    timings = interleaved(tables, 5)
    powers = exponents(sizes, [timings[str(n)].median for n in sizes])
    note = ", ".join(f"{power:.2f}" for power in powers)
    return [at_most("growth with the records, largest exponent", max(powers), 1.2, "", note=f"as they double: {note}")]


def _command(folder: Path) -> list[Finding]:
    table, plan = folder / "small.csv", folder / "plan.toml"
    column(1_000).write_csv(table)
    plan.write_text('[[steps]]\nmethod = "random-swap"\ncolumns = ["dx"]\n')
    command = [
        sys.executable,
        "-m",
        "anonto",
        "mask",
        str(table),
        "-p",
        str(plan),
        "-o",
        str(folder / "out.csv"),
        "--force",
    ]
    sides = {"anonto mask": command, "imports": [sys.executable, "-c", "import polars, numba"]}
    runs = {name: partial(subprocess.run, words, capture_output=True, check=True) for name, words in sides.items()}
    timings = interleaved(runs, 9)
    ours, theirs = timings["anonto mask"].median, timings["imports"].median
    note = f"{ours:.2f} s against {theirs:.2f} s"
    return [at_most("anonto mask of 1,000 rows, against importing polars and numba", ours / theirs, 4, note=note)]
