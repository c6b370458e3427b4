"""Reading a release of 360,000 concepts in release format 2: against reading its three tables with polars."""

from __future__ import annotations

import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import anonto
from benchmarks.generated import random_edges
from benchmarks.measuring import GIGABYTE, MEGABYTE, Finding, Visit, at_most, gathered, in_fresh_process, timed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

DATE = "20250101"
CORE_MODULE = 900000000000207008
DEFINED, PRIMITIVE = 900000000000073002, 900000000000074008
FULLY_SPECIFIED_NAME, SYNONYM = 900000000000003001, 900000000000013009
CASE_INSENSITIVE = 900000000000448009
IS_A = 116680003
ATTRIBUTES = (363698007, 116676008, 260686004, 246075003)
INFERRED, STATED = 900000000000011006, 900000000000010007
SOME = 900000000000451002
INACTIVE = 0.05
"""Inactive rows, as a share of the active ones."""
WORDS = (
    *("acute", "chronic", "disorder", "of", "structure", "left", "right", "upper", "lower", "finding"),
    *(
        "procedure",
        "lesion",
        "injury",
        "open",
        "closed",
        "fracture",
        "infection",
        "by",
        "due",
        "to",
        "product",
    ),
    *("containing", "precisely", "dose", "oral", "tablet", "benign", "malignant", "neoplasm", "primary"),
    *("secondary", "measurement", "entire", "bone", "muscle", "artery", "vein", "nerve"),
)


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        tiny, whole = Path(folder, "tiny"), Path(folder, "whole")
        write_release(tiny, 100)
        rows = write_release(whole, 36_000 if quick else 360_000)
        size = sum(path.stat().st_size for path in whole.iterdir())
        visits: dict[str, list[Visit]] = {"read_release": [], "read_tables": []}

        def visit(name: str) -> float:
            visits[name].append(in_fresh_process(f"benchmarks.rf2:{name}", str(tiny), str(whole)))
            return float(visits[name][-1].returned["whole"])

        sides = {name: partial(visit, name) for name in visits}
        gathered(sides, 1)
        timings = gathered(sides, 3 if quick else 7)
    ours, theirs = timings["read_release"].median, timings["read_tables"].median
    first = statistics.median(done.returned["tiny"] for done in visits["read_release"][1:])
    largest = {name: max(done, key=lambda one: one.peak_bytes) for name, done in visits.items()}
    shape = ", ".join(f"{n:,} {name.lower()}s" for name, n in rows.items())
    note = f"{ours:.2f} s against {theirs:.2f} s; {shape}, {size / MEGABYTE:,.0f} MB"
    facts = {name: timing.repeats for name, timing in timings.items()}
    peak = largest["read_release"].peak_bytes / GIGABYTE
    memory = f"{largest['read_release'].memory}; polars alone: {largest['read_tables'].memory}"
    cold = f"{first:.2f} s to load compiled code at the first call"
    return [
        at_most("read_ontology, against polars.read_csv of the tables", ours / theirs, 5, note=note, facts=facts),
        at_most("… as the first call of a process", (ours + first) / theirs, 5, note=cold),
        at_most("peak memory of read_ontology", peak, 1, "GB", note=memory),
    ]


# ------------------------------------------------------------------------------------------------ both sides


def read_release(*folders: str) -> dict[str, float]:
    """Ours: from files to a checked taxonomy; the seconds of each folder by its name."""
    return {Path(folder).name: timed(partial(anonto.read_ontology, folder)) for folder in folders}


def read_tables(*folders: str) -> dict[str, float]:
    """The peer: loads every cell of the three tables into memory and does nothing else."""
    return {Path(folder).name: timed(partial(_tables, folder)) for folder in folders}


def _tables(folder: str) -> list[pl.DataFrame]:
    return [pl.read_csv(path, separator="\t", quote_char=None) for path in sorted(Path(folder).iterdir())]


# ------------------------------------------------------------------------------------------------ the release


def write_release(folder: Path, n_concepts: int, seed: int = 7) -> dict[str, int]:
    """Write the three tables; the rows of each by name.

    A third of the concepts has several parents; there are three descriptions a concept and, as well as the is-a
    relationships, some more than one other relationship.
    """
    folder.mkdir()
    rng = np.random.default_rng(seed)
    n_all = int(n_concepts * (1 + INACTIVE))
    ids = rng.permutation(np.arange(n_all)) * 1_000 + 100_005
    is_active = np.arange(n_all) < n_concepts
    children, parents = random_edges(n_concepts, 1 / 3, rng, most_parents=3)
    tables = {
        "Concept": _concepts(ids, is_active, rng),
        "Description": _descriptions(ids, is_active, rng),
        "Relationship": _relationships(ids[children], ids[parents], ids[:n_concepts], rng),
    }
    for name, table in tables.items():
        language = "-en" if name == "Description" else ""
        table.write_csv(
            folder / f"sct2_{name}_Snapshot{language}_INT_{DATE}.txt",
            separator="\t",
            line_terminator="\r\n",
            quote_style="never",
        )
    return {name: table.height for name, table in tables.items()}


def _concepts(ids: Numbers, is_active: NDArray[np.bool_], rng: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": ids,
            "effectiveTime": _dates(ids.size, rng),
            "active": is_active.astype(np.int8),
            "moduleId": np.full(ids.size, CORE_MODULE),
            "definitionStatusId": rng.choice([DEFINED, PRIMITIVE], ids.size),
        }
    )


def _descriptions(ids: Numbers, is_active: NDArray[np.bool_], rng: np.random.Generator) -> pl.DataFrame:
    concept = np.repeat(ids, 3)
    n = concept.size
    is_name = np.arange(n) % 3 == 0
    text = pl.Series(WORDS)
    words = [text.gather(rng.integers(0, len(WORDS), n)) for _ in range(4)]
    frame = pl.DataFrame(
        {
            "id": np.arange(n) * 10 + 1_000_000_011,
            "effectiveTime": _dates(n, rng),
            "active": (np.repeat(is_active, 3) & (rng.random(n) > INACTIVE)).astype(np.int8),
            "moduleId": np.full(n, CORE_MODULE),
            "conceptId": concept,
            "languageCode": pl.repeat("en", n, eager=True),
            "typeId": np.where(is_name, FULLY_SPECIFIED_NAME, SYNONYM),
            "caseSignificanceId": np.full(n, CASE_INSENSITIVE),
            "tag": pl.Series(np.where(is_name, " (disorder)", "")),
        }
    )
    joined = pl.concat_str([*words, pl.Series(rng.integers(0, 10_000, n)).cast(pl.String)], separator=" ")
    frame = frame.with_columns(term=joined + pl.col("tag"))
    order = ["id", "effectiveTime", "active", "moduleId", "conceptId", "languageCode", "typeId", "term"]
    return frame.select([*order, "caseSignificanceId"])


def _relationships(children: Numbers, parents: Numbers, concepts: Numbers, rng: np.random.Generator) -> pl.DataFrame:
    n_other = int(1.7 * concepts.size)
    n_retired = int(INACTIVE * (children.size + n_other))
    n = children.size + n_other + n_retired
    is_a = np.arange(n) < children.size
    n_rest = n - children.size
    frame = pl.DataFrame(
        {
            "id": np.arange(n) * 10 + 2_000_000_020,
            "effectiveTime": _dates(n, rng),
            "active": (np.arange(n) < n - n_retired).astype(np.int8),
            "moduleId": np.full(n, CORE_MODULE),
            "sourceId": np.concatenate([children, rng.choice(concepts, n_rest)]),
            "destinationId": np.concatenate([parents, rng.choice(concepts, n_rest)]),
            "relationshipGroup": np.where(is_a, 0, rng.integers(0, 3, n)),
            "typeId": np.where(is_a, IS_A, rng.choice(ATTRIBUTES, n)),
            "characteristicTypeId": np.where(is_a | (rng.random(n) < 0.9), INFERRED, STATED),
            "modifierId": np.full(n, SOME),
        }
    )
    return frame.sample(fraction=1.0, shuffle=True, seed=8)


def _dates(n: int, rng: np.random.Generator) -> Numbers:
    years, days = rng.integers(2002, 2025, n), rng.choice([131, 731], n)
    return np.asarray(years * 10_000 + days, dtype=np.int64)
