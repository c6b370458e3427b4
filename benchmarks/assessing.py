"""Assessing a release: all attacks and losses by the clock and in memory, and as the distinct records double."""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import anonto
from anonto.plan import Plan
from benchmarks.generated import generated_taxonomy, some_concepts
from benchmarks.measuring import GIGABYTE, Finding, at_most, exponents, in_fresh_process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.taxonomy.taxonomy import Taxonomy

SEED = 1 << 100
ROWS = 20_000
N_DIAGNOSES, N_PROCEDURES, N_AGES = 2_000, 1_000, 90
SECONDS, GIGABYTES = 180, 2
STEPS: dict[str, dict[str, Any]] = {
    "rank-swap": {"k": 10},
    "rank-swap-joint": {"k": 10},
    "group-swap": {"k": 10},
    "semantic-noise": {"noise_level": 0.2},
}
"""A method of every kind of attack that knows it: values, near records, groups, and likelihoods."""


def run(*, quick: bool) -> list[Finding]:
    """All findings of this subject."""
    if quick:
        return [*_all_attacks(1_000, ["group-swap"]), *_growth(500, ["rank-swap-joint"])]
    return [
        *_all_attacks(ROWS, list(STEPS)),
        *_two_releases(ROWS),
        *_growth(ROWS // 4, ["rank-swap-joint", "group-swap"]),
    ]


# ------------------------------------------------------------------------------------------------ tables


@cache
def _taxonomies() -> tuple[Taxonomy, Taxonomy]:
    return generated_taxonomy(20_000), generated_taxonomy(5_000, seed=5)


def discharges(n_rows: int) -> pl.DataFrame:
    """Two nominal columns, rare values being many, and an age; in half of the rows the second follows from the first.

    Nearly all rows are distinct records.
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
    return pl.DataFrame(
        {"dx": diagnoses[first], "pr": procedures[second], "age": rng.integers(0, N_AGES, n_rows).astype(str)}
    )


def plan_with(method: str) -> Plan:
    """One step that masks all three columns."""
    nominal = dict(zip(("dx", "pr"), ({"ontology": one} for one in _taxonomies()), strict=True))
    step = {"method": method, "columns": ["dx", "pr", "age"], **STEPS[method]}
    return Plan.from_dict({"columns": {**nominal, "age": {"kind": "numeric"}}, "steps": [step]})


def assessed(method: str, n_rows: int, n_releases: int = 1) -> dict[str, float]:
    """Mask a table and assess it, with a second release if wanted: the seconds of the latter, and distinct records."""
    warnings.simplefilter("ignore")
    plan = plan_with(method)
    small, table = discharges(300), discharges(n_rows)
    for each in (small, table):
        releases = [anonto.mask(each, plan, seed=SEED + number).table for number in range(n_releases)]
        start = time.perf_counter()
        anonto.assess(each, releases[0], plan, second=(releases[1], plan) if n_releases > 1 else None)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "records": table.n_unique()}


# ------------------------------------------------------------------------------------------------ findings


def _all_attacks(n_rows: int, methods: Sequence[str]) -> list[Finding]:
    findings = []
    for method in methods:
        visit = in_fresh_process("benchmarks.assessing:assessed", method, n_rows)
        told = visit.returned
        what = f"assessing {n_rows:,} × 3 after {method}, all attacks and losses"
        note = f"{told['records']:,} distinct records; the compilers' first calls are not counted"
        findings += [
            at_most(what, told["seconds"], SECONDS, "s", note=note),
            at_most("… peak memory, the masking included", visit.peak_bytes / GIGABYTE, GIGABYTES, "GB"),
        ]
    return findings


def _two_releases(n_rows: int) -> list[Finding]:
    visit = in_fresh_process("benchmarks.assessing:assessed", "group-swap", n_rows, 2)
    what = "… with a second release after group-swap"
    return [at_most(what, visit.returned["seconds"], SECONDS, "s", note=visit.memory)]


def _growth(smallest: int, methods: Sequence[str]) -> list[Finding]:
    findings = []
    for method in methods:
        visits = [
            in_fresh_process("benchmarks.assessing:assessed", method, size * smallest).returned for size in (1, 2, 4)
        ]
        records = [int(each["records"]) for each in visits]
        powers = exponents(records, [each["seconds"] for each in visits])
        note = "as they double from " + f"{records[0]:,} to {records[-1]:,}: " + ", ".join(f"{p:.2f}" for p in powers)
        findings.append(
            at_most(f"growth with distinct records after {method}, largest exponent", max(powers), 2.2, "", note=note)
        )
    return findings
