"""Prints a digest of what each method releases from a table with many ties; run as a script, on some processor."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from test_golden_releases import plan_of_persons, rows_of_persons

import anonto

RUNS: list[tuple[str, str, dict[str, Any]]] = [
    *[("microaggregate", measure, {"k": 3}) for measure in ("wu-palmer", "ancestor", "lin", "leacock-chodorow")],
    ("microaggregate", "wu-palmer", {"k": 5, "variable": True}),
    ("group-swap", "wu-palmer", {"k": 4}),
    ("group-swap", "lin", {"k": 4}),
    ("rank-swap", "ancestor", {"k": 8}),
    ("rank-swap-fixed", "lin", {"k": 8}),
    ("rank-swap-joint", "ancestor", {"k": 8}),
    ("equi-depth-swap", "wu-palmer", {"k": 8}),
    ("equi-width-swap", "wu-palmer", {"bins": 4}),
    ("invariant-swap", "wu-palmer", {"rate": 0.7, "k": 5}),
    ("random-swap", "wu-palmer", {}),
    ("frequency-swap", "wu-palmer", {"k": 3}),
    ("semantic-noise", "lin", {"noise_level": 0.3}),
    ("semantic-noise-joint", "ancestor", {"noise_level": 0.3}),
    ("taxonomy-exponential", "lin", {"epsilon": 2.0}),
    ("generalise", "lin", {"k": 3, "suppress": 0.05}),
    ("suppress", "lin", {"k": 3, "combinations": 2}),
]
RUNS_OF_PERSONS: list[tuple[str, str, dict[str, Any]]] = [
    ("group-swap", "wu-palmer", {"k": 4}),
    ("group-swap", "lin", {"k": 4, "move": "together"}),
    ("random-swap", "wu-palmer", {}),
]
NOMINAL = ("illness", "cause")


def table(n: int = 900) -> pl.DataFrame:
    """Few numbers and concepts, so that many records are equally far apart."""
    rng = np.random.default_rng(7)
    age = rng.integers(0, 40, n)
    return pl.DataFrame(
        {
            "illness": [f"c{1 + number}" for number in (rng.zipf(1.3, n) % 180).tolist()],
            "cause": [f"c{1 + number}" for number in (rng.zipf(1.2, n) % 180).tolist()],
            "age": age,
            "stay": np.round(age / 7 + rng.integers(0, 30, n) / 10, 1),
        }
    )


def write_ontology(path: Path) -> None:
    """A tree of 181 concepts, of which each has up to five below it."""
    rows = [f"c{number},c{(number - 1) // 5 if number % 7 else number // 9}" for number in range(1, 181)]
    path.write_text("child,parent\n" + "\n".join(rows) + "\n")


def digest_of(release: anonto.Release) -> str:
    """Hash of the released cells and of what the steps say."""
    text = release.table.write_csv() + json.dumps(release.evidence["steps"], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.csv"
        write_ontology(path)
        ontology = anonto.read_ontology(path)
    digests = {}
    for method, measure, parameters in RUNS:
        numbers = () if method == "taxonomy-exponential" else ("age", "stay")
        columns = {name: {"ontology": ontology, "measure": measure} for name in NOMINAL}
        columns |= {name: {"kind": "numeric"} for name in numbers}
        step = {"method": method, "columns": list(columns), **parameters}
        given = table().select(*columns)
        release = anonto.mask(given, {"columns": columns, "steps": [step]}, seed=1 << 100)
        digests[f"{method} by {measure} {parameters}"] = digest_of(release)
    for method, measure, parameters in RUNS_OF_PERSONS:
        plan = plan_of_persons(method, parameters, ontology=ontology, measure=measure)
        release = anonto.mask(rows_of_persons([f"c{number}" for number in range(1, 181)]), plan, seed=1 << 100)
        digests[f"{method} of persons by {measure} {parameters}"] = digest_of(release)
    json.dump(digests, sys.stdout)


if __name__ == "__main__":
    main()
