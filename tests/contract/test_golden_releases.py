"""Releases of one table by every method with one seed, in every format: a change of the code changes none of it.

The digests of cells, types, order of rows, evidence and reports stand in `golden_releases.json`. A release that should
change gets a line in the changelog, and the file is written again; what a cluster releases is written by the second
script, the test of every engine:

    python tests/contract/test_golden_releases.py
    python tests/spark/test_every_engine.py
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import warnings
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.engine.run import mask_file
from anonto.io.reading import read_table
from anonto.methods.registry import METHODS as REGISTERED

GOLDEN = Path(__file__).with_name("golden_releases.json")
SEED = 1 << 100
METHODS: dict[str, dict[str, Any]] = {
    "random-swap": {},
    "frequency-swap": {"k": 3},
    "rank-swap-fixed": {"k": 3},
    "rank-swap": {"k": 3},
    "rank-swap-joint": {"k": 3},
    "group-swap": {"k": 4},
    "equi-depth-swap": {"k": 4},
    "equi-width-swap": {"bins": 2},
    "invariant-swap": {"rate": 0.7, "k": 5},
    "microaggregate": {"k": 4},
    "semantic-noise": {"noise_level": 0.3},
    "semantic-noise-joint": {"noise_level": 0.3},
    "taxonomy-exponential": {"epsilon": 2.0},
    "generalise": {"k": 4, "suppress": 0.05},
    "suppress": {"k": 4, "combinations": 2},
}
WAYS = {
    "in memory": ("csv", "parquet", "xlsx", "sav", "dta"),
    "over files": ("csv", "parquet"),
}
OF_PERSONS = ("csv", "parquet")
N_PERSONS = 80
LIBRARIES = ("pandas", "polars", "pyarrow")
ON_A_CLUSTER = "on a cluster, parquet"
ENGINES = {"memory": "in memory, parquet", "files": "over files, parquet", "spark": ON_A_CLUSTER}


def table(n: int = 240) -> pl.DataFrame:
    """Cells of every kind, some of them missing."""
    rng = np.random.default_rng(11)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "illness": rng.choice(
                ["flu", "measles", "burn", "fracture", None], n, p=[0.4, 0.25, 0.2, 0.1, 0.05]
            ).tolist(),
            "age": [None if i % 29 == 3 else int(age) for i, age in enumerate(rng.integers(0, 90, n))],
            "weight": np.round(rng.normal(70, 12, n), 1),
            "pain": rng.choice(["low", "mid", "high"], n),
            "ward": rng.choice(["A", "B", "C"], n),
        }
    )


def plan_for(method: str) -> dict[str, Any]:
    columns = ["illness"] if method == "taxonomy-exponential" else ["illness", "age", "weight", "pain"]
    return {
        "columns": {
            "name": {"role": "identifier"},
            "illness": {"ontology": "illnesses", "na": [""]},
            "age": {"kind": "numeric"},
            "weight": {"kind": "numeric"},
            "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
            "ward": {"role": "confidential"},
        },
        "steps": [{"method": method, "columns": columns, **METHODS[method]}],
    }


def rows_of_persons(codes: list[str]) -> pl.DataFrame:
    """Up to four rows of a person, in a random order, with up to two codes and a list of drugs in each."""
    rng = np.random.default_rng(23)
    of_row = rng.permutation(np.repeat(np.arange(N_PERSONS), rng.integers(1, 5, N_PERSONS)))
    age, sex = rng.integers(20, 60, N_PERSONS), rng.choice(["f", "m"], N_PERSONS)
    first, second = (rng.zipf(1.4, of_row.size) % len(codes) for _ in range(2))
    drugs = rng.choice(["aspirin;insulin", "insulin", "", "metformin;aspirin;insulin"], of_row.size)
    return pl.DataFrame(
        {
            "person": [f"p{number:03}" for number in of_row],
            "sex": sex[of_row],
            "age": age[of_row],
            "dx1": [None if place % 7 == 0 else codes[code] for place, code in enumerate(first)],
            "dx2": [None if place % 2 else codes[code] for place, code in enumerate(second)],
            "drugs": [text or None for text in drugs.tolist()],
        }
    )


def plan_of_persons(method: str, parameters: dict[str, Any], **of_codes: Any) -> dict[str, Any]:
    """All rows of a person are one record; her codes are one set, her drugs another."""
    return {
        "table": {"person": "person"},
        "columns": {
            "person": {"role": "pseudonym"},
            "age": {"kind": "numeric"},
            "codes": {"kind": "set", "from": ["dx1", "dx2"], **of_codes},
            "drugs": {"kind": "set", "separator": ";", "set_distance": "best-match-average"},
        },
        "steps": [{"method": method, "columns": ["codes", "drugs", "sex", "age"], **parameters}],
    }


def write(path: Path, *, in_parts: bool) -> None:
    """The table as a file of the format that the name says, or as a folder of Parquet files, which is read in parts."""
    frame = table()
    if in_parts:
        path.mkdir()
        for first in range(0, frame.height, 70):
            frame[first : first + 70].write_parquet(path / f"{first:03}.parquet")
        return
    match path.suffix:
        case ".csv":
            frame.write_csv(path)
        case ".parquet":
            frame.write_parquet(path)
        case ".xlsx":
            frame.write_excel(path)
        case ".sav" | ".dta":
            import pyreadstat

            writer = pyreadstat.write_sav if path.suffix == ".sav" else pyreadstat.write_dta
            writer(frame.to_pandas(), str(path))


def digest(path: Path, evidence: dict[str, Any], page: Path) -> dict[str, str]:
    """Hashes of the released cells as read back, the evidence, and the report without its charts and line breaks."""
    found = digest_of_cells(read_table(path).frame, evidence)
    if path.suffix == ".csv":
        without_charts = re.sub(r"<svg.*?</svg>", "", page.read_text(), flags=re.DOTALL)
        as_one_line = re.sub(r"\s*(<[^>]*>)\s*", r"\1", " ".join(without_charts.split()))
        found |= hashed({"bytes": path.read_text(), "report": unescape(as_one_line)})
    return found


def digest_of_cells(released: pl.DataFrame, evidence: dict[str, Any]) -> dict[str, str]:
    """Hashes of names, types, cells and order of rows, whatever wrote them, and of the evidence."""
    return hashed({"cells": f"{released.schema}\n{released.write_csv()}", "evidence": as_json(evidence)})


def hashed(parts: dict[str, str]) -> dict[str, str]:
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in parts.items()}


def releases(method: str, folder: Path) -> dict[str, dict[str, str]]:
    """The digests of what a method releases, for each way and format."""
    found = {}
    for way, formats in WAYS.items():
        for ending in formats:
            source, target, page = (folder / f"{one}.{ending}" for one in (f"in {way}", f"{way} {method}", "page"))
            if not source.exists():
                write(source, in_parts=way == "over files")
            saving = {"private": False, "report": page, "force": True}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if way == "in memory":
                    evidence = anonto.mask(source, plan_for(method), seed=SEED).save(target, **saving)
                else:
                    evidence = mask_file(source, plan_for(method), target, seed=SEED, **saving).evidence
            found[f"{way}, {ending}"] = digest(target, evidence, page)
    for library in LIBRARIES:
        found[f"in memory, {library}"] = digest_of_frame(library, method)
    if REGISTERED[method].takes_sets:
        found |= {f"persons in memory, {ending}": digest_of_persons(method, folder, ending) for ending in OF_PERSONS}
    return found


def digest_of_persons(method: str, folder: Path, ending: str) -> dict[str, str]:
    """The digests of a saved release of persons with several rows, whose codes are sets."""
    source, target, page = (folder / f"{one} of persons.{ending}" for one in ("rows", f"{method}", "page"))
    frame = rows_of_persons(["burn", "flu", "fracture", "measles"])
    if ending == "csv":
        frame.write_csv(source)
    else:
        frame.write_parquet(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = anonto.mask(source, plan_of_persons(method, METHODS[method], ontology="illnesses"), seed=SEED)
        evidence = release.save(target, private=False, report=page, force=True)
    return digest(target, evidence, page)


def digest_of_frame(library: str, method: str) -> dict[str, str]:
    """Hash of the table that a caller of a library gets back, rows in their order, with codes that mean missing."""
    plan = plan_for(method)
    plan["columns"]["illness"] |= {"na": ["burn"], "missing_codes": "keep"}
    frame = table().with_columns(pl.col("age").fill_null(40))  # few patterns of missing cells, each often enough
    given = {"pandas": frame.to_pandas, "polars": lambda: frame, "pyarrow": frame.to_arrow}[library]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = anonto.mask(given, plan, seed=SEED)
    released = release.table
    if library == "pandas":
        cells = f"{released.dtypes.to_dict()}\n{released.to_csv(na_rep='missing')}"
    else:
        cells = f"{released.schema}\n{released.to_pylist() if library == 'pyarrow' else released.write_csv()}"
    return hashed({"cells": cells, "evidence": as_json(release.evidence)})


def as_json(evidence: dict[str, Any]) -> str:
    """With nine digits of each number."""
    return json.dumps(json.loads(json.dumps(evidence), parse_float=lambda text: f"{float(text):.9g}"), sort_keys=True)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_releases_what_it_released_before(method: str, tmp_path: Path) -> None:
    golden = json.loads(GOLDEN.read_text())[method]
    assert releases(method, tmp_path) | {ON_A_CLUSTER: golden[ON_A_CLUSTER]} == golden


@pytest.mark.parametrize("method", METHODS)
def test_every_engine_is_written_down_with_the_same_release(method: str) -> None:
    golden = json.loads(GOLDEN.read_text())[method]
    assert golden[ENGINES["memory"]] == golden[ENGINES["files"]] == golden[ENGINES["spark"]]


def test_every_method_has_a_golden_release() -> None:
    assert set(METHODS) == set(REGISTERED) == set(json.loads(GOLDEN.read_text()))


if __name__ == "__main__":
    before = json.loads(GOLDEN.read_text())
    with tempfile.TemporaryDirectory() as scratch:
        found = {one: {**before.get(one, {}), **releases(one, Path(scratch))} for one in METHODS}
    GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
