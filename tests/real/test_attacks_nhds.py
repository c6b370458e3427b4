"""Attacks on real discharges: how many persons are linked, measured against the 1/k that a method suggests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.assessment import assess as assessing
from anonto.assessment.in_memory import compare_in_memory, open_encoded
from anonto.attacks.compute.association_linkage import association_linkage
from anonto.attacks.compute.distance_linkage import distance_linkage
from anonto.attacks.compute.encoded_step import encode_step
from anonto.attacks.compute.method_aware_linkage import method_aware_linkage
from anonto.attacks.rate import wilson_interval
from anonto.attacks.simulation_linkage import SimulationLinkage
from anonto.attacks.situation import Situation
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.prepare import opener
from anonto.masking.plan import Plan
from anonto.random.streams import Seed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anonto.attacks.rate import Risk
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
"""The share of persons that distance linkage links for each k, method by method: the mean of three other seeds."""

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


CHOSEN = np.random.default_rng(3).choice(20000, 1172, replace=False)


def sample_of(folder: Path, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of 1,172 discharges, as text."""
    return all_of(folder)[CHOSEN].select(names)


def others_of(folder: Path, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of all other discharges, as text."""
    return all_of(folder)[np.setdiff1d(np.arange(20000), CHOSEN)].select(names)


def all_of(folder: Path) -> pl.DataFrame:
    return pl.read_csv(folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz", infer_schema=False)


class Discharges:
    """1,172 discharges with their principal diagnosis and procedure."""

    def __init__(self, folder: Path) -> None:
        self.table = sample_of(folder, NAMES)
        paths = [folder / "icd9cm" / f"icd9cm_{kind}_edges.csv" for kind in ("dx", "pr")]
        self.ontologies: list[Taxonomy] = [anonto.read_ontology(path) for path in paths]
        self.attacked = cache(self._attacked)

    def plan(self, method: str, k: int | None = None, **parameters: Any) -> Plan:
        columns = {name: {"ontology": one} for name, one in zip(NAMES, self.ontologies, strict=True)}
        step = {"method": method, "columns": list(NAMES), **({} if k is None else {"k": k}), **parameters}
        return Plan.from_dict({"columns": columns, "steps": [step]})

    def _attacked(self, method: str, k: int) -> Attacked:
        plan = self.plan(method, k)
        return Attacked(tuple(self.attacks(plan, anonto.mask(self.table, plan, seed=seed).table) for seed in SEEDS))

    def attacks(self, plan: Plan, masked: pl.DataFrame) -> tuple[Risk, ...]:
        """Distance linkage, then method-aware linkage one by one and at once."""
        cells: dict[str, Any] = {name: BothCells.of(self.table[name], masked[name]) for name in NAMES}
        open_once = opener()
        known = [compare_column(name, cells[name], plan.description(name), open_once) for name in NAMES]
        ones = known[0].amounts.original
        swaps = [(step.method, step.columns) for step in plan.steps]
        steps = [encode_step(*step, cells, plan.description, open_once, ones) for step in swaps]
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


@pytest.mark.parametrize(
    ("method", "parameters", "reviewer", "least"),
    [
        ("rank-swap-joint", {"k": 20, "interval": "unswapped"}, 0.096, 0.12),
        ("rank-swap-joint", {"k": 20}, 0.175, 0.25),
        ("rank-swap-joint", {"k": 10}, 0.254, 0.30),
        ("rank-swap", {"k": 20}, 0.348, 0.45),
        ("frequency-swap", {"k": 20}, 0.108, 0.25),
        ("semantic-noise", {"noise_level": 0.2}, 0.374, 0.39),
        ("semantic-noise", {"noise_level": 0.5}, 0.216, 0.26),
        ("taxonomy-exponential", {"epsilon": 20}, 0.279, 0.32),
    ],
)
def test_who_masks_again_and_matches_everybody_finds_more_than_an_outside_reviewer(
    discharges: Discharges, method: str, parameters: dict[str, Any], reviewer: float, least: float
) -> None:
    plan = discharges.plan(method, **parameters)
    masked = anonto.mask(discharges.table, plan, seed=SEEDS[0]).table
    compared = compare_in_memory(open_encoded(discharges.table, plan), masked, plan, None, same_order=True)
    situation = Situation(compared, Seed(0), compared.known[-1])
    (found,) = SimulationLinkage().run(situation, np.random.default_rng(0))
    assert found.rate > least > reviewer


def test_who_forms_the_groups_again_links_more_than_the_nearest_centre(
    discharges: Discharges, data_folder: Path
) -> None:
    """An outside reviewer's intruder linked .197 of them, one who takes the nearest centre .135."""
    names = [*NAMES, "age", "length_of_stay"]
    columns: dict[str, Any] = {name: {"ontology": one} for name, one in zip(NAMES, discharges.ontologies, strict=True)}
    columns |= {"age": {"kind": "numeric"}, "length_of_stay": {"kind": "numeric"}}
    plan = Plan.from_dict({"columns": columns, "steps": [{"method": "microaggregate", "columns": names, "k": 5}]})
    table = sample_of(data_folder, names)
    found = anonto.assess(table, anonto.mask(table, plan, seed=SEEDS[0]).table, plan).risk
    rates = {one.details.get("matching", one.attack): one.rate for one in found}
    assert rates["distance-linkage"] == pytest.approx(0.135, abs=0.005)
    assert rates["distance-linkage"] + 0.02 < rates["nearest"] < rates["repeated"]
    assert rates["global-linkage"] + 0.02 < rates["global"] < rates["repeated"]
    # Of two persons with equal records in different groups chance decides who is where.
    assert rates["repeated"] == pytest.approx(0.197, abs=1.5e-3)


@pytest.mark.parametrize(
    ("k", "read", "reviewed"),
    [(10, ("drg", "secondary_dx", "age", "sex", "length_of_stay"), 0.400), (20, ("drg", "sex"), 0.354)],
)
def test_columns_that_leave_unmasked_tell_whose_record_it_is(
    discharges: Discharges,
    data_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    k: int,
    read: tuple[str, ...],
    reviewed: float,
) -> None:
    """An outside reviewer's intruder, who knows diagnosis and procedure, linked as many in a day's work."""
    names = [*NAMES, *read]
    dx, procedure = discharges.ontologies
    columns: dict[str, Any] = dict(zip(NAMES, ({"ontology": one} for one in (dx, procedure)), strict=True))
    columns |= {"secondary_dx": {"ontology": dx}} if "secondary_dx" in read else {}
    plan = Plan.from_dict({"columns": columns, "steps": [{"method": "group-swap", "columns": list(NAMES), "k": k}]})
    table, others = sample_of(data_folder, names), others_of(data_folder, names)
    seen: list[Any] = []
    monkeypatch.setattr(assessing, "run_attacks", lambda one, *_, **__: seen.append(one) or ())
    anonto.assess(table, anonto.mask(table, plan, seed=SEEDS[0]).table, plan, held_out=others)
    release, other = association_linkage(seen[0], seen[0].known[0], np.random.default_rng(1))
    assert other.rate > reviewed
    assert release.rate > 1.4 * discharges.attacked("group-swap", k).rate(0)
    assert other.rate < release.details["with_the_original"]["rate"]
