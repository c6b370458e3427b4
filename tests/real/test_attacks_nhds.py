"""Attacks on real discharges: how many persons are linked, measured against the 1/k that a method suggests."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.plan import Plan
from anonto.risk.distance_linkage import distance_linkage
from anonto.risk.method_aware_linkage import method_aware_linkage
from anonto.risk.rate import wilson_interval
from anonto.risk.seen_step import seen_step
from anonto.table.comparison import BothCells, compared_column
from anonto.table.prepare import opener

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.risk.rate import Risk
    from anonto.taxonomy.taxonomy import Taxonomy

SEEDS = [(1 << 90) + number for number in range(3)]
NAMES = ("principal_dx", "principal_procedure")
METHODS = ("rank-swap-joint", "rank-swap", "group-swap")
PRINTED = {
    5: (0.165, 0.461, 0.138),
    10: (0.117, 0.349, 0.078),
    20: (0.087, 0.236, 0.039),
    50: (0.049, 0.114, 0.017),
}
"""For each k the share of persons that distance linkage links, method by method: the mean of three other seeds."""

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


@dataclass(frozen=True)
class Attacked:
    """The attacks on the releases of three seeds."""

    risks: tuple[tuple[Risk, ...], ...]

    def rate(self, place: int) -> float:
        """The mean over the seeds."""
        return float(np.mean([each[place].rate for each in self.risks]))

    def low(self, place: int) -> float:
        """The lower end of the interval of all seeds together."""
        n = sum(each[place].n for each in self.risks)
        return wilson_interval(self.rate(place) * n, n)[0]


class Discharges:
    """1,172 discharges with their principal diagnosis and procedure."""

    def __init__(self, folder: Path) -> None:
        with gzip.open(folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz", "rt", newline="") as file:
            rows = list(csv.DictReader(file))
        chosen = np.random.default_rng(3).choice(20000, 1172, replace=False)
        self.table = pl.DataFrame({name: [rows[i][name] for i in chosen] for name in NAMES})
        paths = [folder / "icd9cm" / f"icd9cm_{kind}_edges.csv" for kind in ("dx", "pr")]
        self.ontologies: list[Taxonomy] = [anonto.read_ontology(path) for path in paths]
        self.attacked = cache(self._attacked)

    def plan(self, method: str, k: int) -> Plan:
        columns = {name: {"ontology": one} for name, one in zip(NAMES, self.ontologies, strict=True)}
        return Plan.from_dict({"columns": columns, "steps": [{"method": method, "columns": list(NAMES), "k": k}]})

    def _attacked(self, method: str, k: int) -> Attacked:
        plan = self.plan(method, k)
        return Attacked(tuple(self.attacks(plan, anonto.mask(self.table, plan, seed=seed).table) for seed in SEEDS))

    def attacks(self, plan: Plan, masked: pl.DataFrame) -> tuple[Risk, ...]:
        """Distance linkage, then method-aware linkage one by one and at once."""
        cells: dict[str, Any] = {name: BothCells.of(self.table[name], masked[name]) for name in NAMES}
        open_once = opener()
        known = [compared_column(name, cells[name], plan.description(name), open_once) for name in NAMES]
        ones = known[0].amounts.original
        steps = [seen_step(step.method, step.columns, cells, plan.description, open_once, ones) for step in plan.steps]
        return distance_linkage(known), *method_aware_linkage(known, steps, {}, np.random.default_rng(1))


@pytest.fixture(scope="module")
def discharges(data_folder: Path) -> Discharges:
    return Discharges(data_folder)


@pytest.mark.parametrize("k", PRINTED)
def test_distance_linkage_is_near_the_printed_table(discharges: Discharges, k: int) -> None:
    found = [discharges.attacked(method, k).rate(0) for method in METHODS]
    assert found == pytest.approx(PRINTED[k], abs=0.03)


def test_the_unmasked_table_is_linked_as_printed(discharges: Discharges) -> None:
    plan = discharges.plan("rank-swap", 5)
    assert [one.rate for one in discharges.attacks(plan, discharges.table)] == pytest.approx([0.669] * 3, abs=0.03)
    assert discharges.attacks(plan, discharges.table)[0].rate == pytest.approx(0.669, abs=5e-4)


@pytest.mark.parametrize("k", PRINTED)
def test_one_in_k_is_exceeded_by_rank_swapping_and_not_by_groups(discharges: Discharges, k: int) -> None:
    """Joint swapping from k = 10, swapping column by column always, swapping in groups never, whoever attacks."""
    joint, apart, groups = (discharges.attacked(method, k) for method in METHODS)
    assert (joint.low(0) > 1 / k) == (k >= 10)
    assert apart.low(0) > 1 / k
    assert all(groups.low(place) <= 1 / k for place in range(3))


@pytest.mark.parametrize("k", PRINTED)
def test_who_knows_the_method_links_no_fewer(discharges: Discharges, k: int) -> None:
    for method in METHODS:
        distance, nearest, at_once = (discharges.attacked(method, k).rate(place) for place in range(3))
        assert nearest >= distance - 0.005
        assert at_once >= distance - 0.01
    assert discharges.attacked("rank-swap", k).rate(2) > discharges.attacked("rank-swap", k).rate(0)


def test_what_exceeds_one_in_k_is_said_in_plain_words(discharges: Discharges) -> None:
    said = {}
    for method in ("rank-swap", "group-swap"):
        plan = discharges.plan(method, 10)
        masked = anonto.mask(discharges.table, plan, seed=SEEDS[0]).table
        said[method] = anonto.assess(discharges.table, masked, plan).findings
    assert "more than the 1 in 10 that k = 10 of rank-swap suggests" in said["rank-swap"][0]
    assert any("no other released record could be theirs" in sentence for sentence in said["rank-swap"])
    assert said["group-swap"] == ()
