"""Each capability compared with alternatives as the table grows: time against records, and the largest table of each.

The peers run in an environment of their own (`make bench` makes it); one that is not installed is left out and named.
A peer is asked for the next size only while its last one took less than a limit.
"""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import anonto
from anonto import stats
from anonto.encoding.columns import encode
from anonto.encoding.records import distinct_records, distinct_rows
from anonto.encoding.value_space import NumericSpace
from anonto.methods.microaggregate import Microaggregate
from benchmarks.generated import dependent_codes, generated_taxonomy, some_concepts
from benchmarks.measuring import ROOT
from benchmarks.racing import REPEATS, Race, own, sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.measuring import Finding
    from benchmarks.racing import Side

PEERS = ROOT / ".venv-peers" / "bin" / "python"
PROGRAMS = Path(__file__).with_name("peer_programs.py")
LIBRARIES = ("anjana", "anonypy", "dcor", "microagg1d", "pycanon")


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        races = [
            make(Path(folder), quick=quick) for make in (_dependence, _one_column, _classes, _equal_records, _file)
        ]
        return [finding for race in races for finding in race.run().findings()]


def versions() -> dict[str, str]:
    """The versions of the peers that are installed apart from us."""
    found: dict[str, str] = {}
    if PEERS.exists():
        asked = f"from importlib.metadata import version; print([version(one) for one in {LIBRARIES!r}])"
        done = subprocess.run([str(PEERS), "-c", asked], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found |= dict(zip(LIBRARIES, ast.literal_eval(done.stdout), strict=True))
    program = shutil.which("Rscript")
    if program is not None:
        done = subprocess.run(
            [program, "-e", 'cat(as.character(packageVersion("energy")))'], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            found["energy"] = done.stdout.strip()
    return found


def _peer(name: str, path: Path) -> float | None:
    if not PEERS.exists():
        return None
    return _asked([str(PEERS), str(PROGRAMS), name, str(path), str(REPEATS)])


def _asked(command: list[str]) -> float | None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    seconds: list[float] = json.loads(done.stdout.splitlines()[-1])["seconds"]
    return median(seconds)


# ------------------------------------------------------------------------------------------------ distance correlation


def _dependence(folder: Path, *, quick: bool) -> Race:
    """Two nominal columns of 100 and 50 values."""
    taxonomies = generated_taxonomy(2_000, seed=5), generated_taxonomy(1_000, several_parents=0.0, seed=6)
    values = some_concepts(taxonomies[0], 100), some_concepts(taxonomies[1], 50)
    distances = [taxonomy.distances(of) for taxonomy, of in zip(taxonomies, values, strict=True)]

    def given(n: int) -> Path:
        path = folder / f"pairs{n}.npz"
        if not path.exists():
            a, b = dependent_codes(n, 100, 50)
            np.savez(path, a=a, b=b, distances_a=distances[0], distances_b=distances[1])
            beside = folder / f"pairs{n}"
            beside.mkdir()
            for name, table in (("a", a), ("b", b), ("distances_a", distances[0]), ("distances_b", distances[1])):
                np.savetxt(beside / f"{name}.csv", table, delimiter=",", fmt="%.17g")
        return path

    def ours(n: int) -> float:
        a, b = dependent_codes(n, 100, 50)
        first, second = (pl.Series(np.array(of)[codes]) for of, codes in zip(values, (a, b), strict=True))
        return own(lambda: stats.distance_correlation(first, second, taxonomies[0], taxonomies[1]))

    def energy(n: int) -> float | None:
        program = shutil.which("Rscript")
        if program is None:
            return None
        beside = str(given(n).with_suffix(""))
        return _asked([program, str(Path(__file__).with_name("energy.R")), beside, str(REPEATS)])

    sides = {"anonto": ours, "dcor": lambda n: _peer("dcor", given(n)), "energy (R)": energy}
    return Race("distance correlation of texts", sides, sizes(500, 4_096_000, quick=quick))


# ------------------------------------------------------------------------------------------------ microaggregation


def _one_column(folder: Path, *, quick: bool) -> Race:
    """Groups of at least ten of one column of numbers, the best ones."""

    def numbers(n: int) -> NDArray[np.float64]:
        return np.random.default_rng(7).lognormal(size=n)

    def ours(n: int) -> float:
        distinct, codes = np.unique(numbers(n), return_inverse=True)
        value_space = NumericSpace(distinct, np.bincount(codes))
        records, _ = distinct_records(["x"], [value_space], [codes.astype(np.int32)])
        return own(lambda: Microaggregate(k=10).fit(records, np.random.default_rng(1)))

    def theirs(n: int) -> float | None:
        path = folder / f"numbers{n}.npz"
        np.savez(path, numbers=numbers(n))
        return _peer("microagg1d", path)

    def sorting(n: int) -> float:
        given = numbers(n)
        return own(lambda: np.sort(given))

    sides = {"anonto": ours, "microagg1d": theirs, "numpy.sort": sorting}
    return Race("microaggregation of one column of numbers", sides, sizes(1_000, 512_000, quick=quick))


# ------------------------------------------------------------------------------------------------ classes


def _table(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    codes = np.array([f"{i:03d}" for i in range(400)])
    weights = 1 / np.arange(1, 401)
    return pl.DataFrame(
        {
            "dx": codes[rng.choice(400, n, p=weights / weights.sum())],
            "age": rng.integers(0, 90, n),
            "stay": np.minimum(rng.geometric(0.2, n), 60),
        }
    )


def _classes(folder: Path, *, quick: bool) -> Race:
    """The k of a table of three columns."""

    def ours(n: int) -> float:
        table = _table(n)

        def k() -> int:
            codes = [encode(table[name]).codes for name in table.columns]
            _, record_of = distinct_rows(codes)
            return int(np.bincount(record_of).min())

        return own(k)

    def theirs(n: int) -> float | None:
        path = folder / f"classes{n}.csv"
        _table(n).write_csv(path)
        return _peer("pycanon", path)

    def grouping(n: int) -> float:
        table = _table(n)
        return own(lambda: table.group_by(table.columns).len().min())

    sides = {"anonto": ours, "pycanon": theirs, "polars group_by": grouping}
    return Race("the k of a table", sides, sizes(1_000, 4_096_000, quick=quick))


def _equal_records(folder: Path, *, quick: bool) -> Race:
    """At least ten equal records, three columns; no peer knows what a diagnosis means."""
    plan = {
        "columns": {"age": {"kind": "numeric"}, "stay": {"kind": "numeric"}},
        "steps": [{"method": "microaggregate", "columns": ["dx", "age", "stay"], "k": 10}],
    }

    def ours(n: int) -> float:
        table = _table(n)
        return own(lambda: anonto.mask(table, plan, seed=1 << 100).table)

    def peer(name: str) -> Side:
        def take(n: int) -> float | None:
            path = folder / f"equal{n}.csv"
            _table(n).write_csv(path)
            return _peer(name, path)

        return take

    sides = {"anonto": ours, "anonypy": peer("anonypy"), "anjana": peer("anjana")}
    return Race("a table in which ten records are equal", sides, sizes(1_000, 128_000, quick=quick))


# ------------------------------------------------------------------------------------------------ physical limits


def _file(folder: Path, *, quick: bool) -> Race:
    """Rank swapping of a column from file to file, compared with the least that any tool must do."""
    plan = {"steps": [{"method": "rank-swap", "columns": ["dx"], "k": 10}]}

    def written(n: int) -> Path:
        path = folder / f"file{n}.parquet"
        if not path.exists():
            _table(n).select("dx").write_parquet(path)
        return path

    def ours(n: int) -> float:
        path = written(n)
        return own(lambda: anonto.mask(path, plan, seed=1 << 100).save(folder / "masked.parquet"))

    def reading(n: int) -> float:
        path = written(n)
        return own(lambda: pl.read_parquet(path).write_parquet(folder / "copied.parquet"))

    def codes(n: int) -> NDArray[np.int32]:
        return encode(_table(n)["dx"]).codes

    def sorting(n: int) -> float:
        given = codes(n)
        return own(lambda: np.sort(given, kind="stable"))

    def copying(n: int) -> float:
        given = codes(n)
        return own(given.copy)

    sides = {
        "anonto": ours,
        "polars read and write": reading,
        "numpy.sort of the codes": sorting,
        "memory copy of the codes": copying,
    }
    return Race("rank swapping from file to file", sides, sizes(250_000, 16_000_000, quick=quick))
