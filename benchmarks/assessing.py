"""Assessing a release: all attacks and losses by the clock and in memory, and as the distinct records double."""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.spatial.distance import cdist

import anonto
from anonto.masking.plan import Plan
from benchmarks.generated import generated_taxonomy, some_concepts
from benchmarks.measuring import GIGABYTE, Finding, at_most, exponents, in_fresh_process, timed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.taxonomy.taxonomy import Taxonomy

SEED = 1 << 100
ROWS = 20_000
N_DIAGNOSES, N_PROCEDURES, N_AGES = 2_000, 1_000, 90
SECONDS, GIGABYTES = 60, 2
GROWTH = 1.5
"""Largest power of the number of distinct records that the time may grow with."""
STEPS: dict[str, dict[str, Any]] = {
    "rank-swap": {"k": 10},
    "rank-swap-joint": {"k": 10},
    "group-swap": {"k": 10},
    "semantic-noise": {"noise_level": 0.2},
    "microaggregate": {"k": 10},
}
"""A method of every kind of attack that knows it: values, near records, groups, likelihoods, groups formed again."""
DOUBLINGS = 3
UNMASKED = ("group-swap", "semantic-noise")
"""Methods whose growth is measured with two more columns too, which leave unmasked and tell whose record it is."""


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    if quick:
        return [*_all_attacks(1_000, ["group-swap"]), *_growth(200, ["rank-swap-joint"])]
    return [
        *_all_attacks(ROWS, list(STEPS)),
        *_two_releases(ROWS),
        *_growth(ROWS // 4, list(STEPS)),
        *_growth(ROWS // 4, UNMASKED, unmasked=True),
    ]


# ------------------------------------------------------------------------------------------------ tables


@cache
def _taxonomies() -> tuple[Taxonomy, Taxonomy]:
    return generated_taxonomy(20_000), generated_taxonomy(5_000, seed=5)


def discharges(n_rows: int, *, unmasked: bool = False) -> pl.DataFrame:
    """Two nominal columns with many rare values, and an age; in half of the rows the second follows from the first.

    Nearly all rows are distinct records. Two further columns are wanted where some leave unmasked: one that mostly
    follows from the first, and one of chance.
    """
    rng = np.random.default_rng(4)
    shares = 1 / np.arange(1, N_DIAGNOSES + 1) ** 0.7
    first = rng.choice(N_DIAGNOSES, n_rows, p=shares / shares.sum())
    follows = rng.random(n_rows) < 0.5
    second = np.where(follows, first // 2, rng.integers(0, N_PROCEDURES, n_rows)) % N_PROCEDURES
    diagnoses, procedures = (
        np.array(some_concepts(taxonomy, n))
        for taxonomy, n in zip(_taxonomies(), (N_DIAGNOSES, N_PROCEDURES), strict=True)
    )
    cells = {"dx": diagnoses[first], "pr": procedures[second], "age": rng.integers(0, N_AGES, n_rows).astype(str)}
    if unmasked:
        group = np.where(rng.random(n_rows) < 0.8, first // 4, rng.integers(0, N_DIAGNOSES // 4, n_rows))
        cells |= {"group": group.astype(str), "sex": rng.choice(["f", "m"], n_rows)}
    return pl.DataFrame(cells)


def plan_with(method: str) -> Plan:
    """One step that masks all three columns."""
    nominal = dict(zip(("dx", "pr"), ({"ontology": one} for one in _taxonomies()), strict=True))
    step = {"method": method, "columns": ["dx", "pr", "age"], **STEPS[method]}
    return Plan.from_dict({"columns": {**nominal, "age": {"kind": "numeric"}}, "steps": [step]})


def assessed(method: str, n_rows: int, n_releases: int = 1, *, unmasked: bool = False) -> dict[str, float]:
    """Mask a table and assess it, with a second release, or columns that leave unmasked, if wanted.

    Returns:
        The seconds of the latter, on the clock and of the processors, those of `compare_all`, and distinct records.
    """
    warnings.simplefilter("ignore")
    plan = plan_with(method)
    small, table = (discharges(size, unmasked=unmasked) for size in (300, n_rows))
    for each in (small, table):
        releases = [anonto.mask(each, plan, seed=SEED + number).table for number in range(n_releases)]
        start, of_processors = time.perf_counter(), time.process_time()
        anonto.assess(each, releases[0], plan, second=(releases[1], plan) if n_releases > 1 else None)
        seconds, of_processors = time.perf_counter() - start, time.process_time() - of_processors
    return {
        "seconds": seconds,
        "processors": of_processors,
        "one pass": timed(lambda: compare_all(n_rows)),
        "records": table.n_unique(),
    }


def compare_all(n_rows: int) -> float:
    """One distance, in three numbers, of every person to every released record: what no pruning would start with."""
    persons, released = np.random.default_rng(5).random((2, n_rows, len(("dx", "pr", "age"))))
    return max(float(cdist(persons[part : part + 256], released).min()) for part in range(0, n_rows, 256))


# ------------------------------------------------------------------------------------------------ findings


def _all_attacks(n_rows: int, methods: Sequence[str]) -> list[Finding]:
    findings = []
    for method in methods:
        visit = in_fresh_process("benchmarks.assessing:assessed", method, n_rows)
        told = visit.returned
        what = f"assessing {n_rows:,} × 3 after {method}, all attacks and losses"
        note = (
            f"{told['records']:,} distinct records; {told['processors']:.1f} s of all processors; the compilers' first "
            "calls are not counted"
        )
        passes = Finding(
            "… ÷ one comparison of every person with every released record by scipy",
            told["seconds"] / told["one pass"],
            "×",
        )
        findings += [
            at_most(what, told["seconds"], SECONDS, "s", note=note),
            passes,
            at_most("… peak memory, the masking included", visit.peak_bytes / GIGABYTE, GIGABYTES, "GB"),
        ]
    return findings


def _two_releases(n_rows: int) -> list[Finding]:
    visit = in_fresh_process("benchmarks.assessing:assessed", "group-swap", n_rows, 2)
    what = "… with a second release after group-swap"
    return [at_most(what, visit.returned["seconds"], SECONDS, "s", note=visit.memory)]


def assessed_with_unmasked(method: str, n_rows: int) -> dict[str, float]:
    """Mask a table and assess it, where two columns leave unmasked."""
    return assessed(method, n_rows, unmasked=True)


def _growth(smallest: int, methods: Sequence[str], *, unmasked: bool = False) -> list[Finding]:
    findings = []
    for method in methods:
        measured = f"benchmarks.assessing:{'assessed_with_unmasked' if unmasked else 'assessed'}"
        sizes = [smallest << doubling for doubling in range(DOUBLINGS + 1)]
        visits = [in_fresh_process(measured, method, size).returned for size in sizes]
        records = [int(each["records"]) for each in visits]
        powers = exponents(records, [each["processors"] for each in visits])
        span, told = f"{records[0]:,} to {records[-1]:,}", ", ".join(f"{power:.2f}" for power in powers)
        spent = ", ".join(f"{each['processors']:.1f}" for each in visits)
        note = f"processor time as they double from {span}: {told} ({spent} s)"
        beside = ", two columns unmasked" if unmasked else ""
        what = f"growth with distinct records after {method}{beside}, largest exponent"
        findings.append(at_most(what, max(powers), GROWTH, "", note=note))
    return findings
