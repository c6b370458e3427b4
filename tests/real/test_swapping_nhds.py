"""The swapping methods on real discharges: how far values move, and what is left of the dependence of two columns."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto import stats

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.taxonomy.taxonomy import Taxonomy

SEEDS = [(1 << 90) + number for number in range(3)]

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


@dataclass(frozen=True)
class Means:
    """Means over the seeds."""

    diagnosis: float
    """The root mean squared distance of the diagnoses."""
    procedure: float
    correlation: float
    """The distance correlation of both columns after masking."""


class Discharges:
    """1,172 discharges with their principal diagnosis and procedure."""

    def __init__(self, folder: Path) -> None:
        with gzip.open(folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz", "rt", newline="") as file:
            rows = list(csv.DictReader(file))
        chosen = np.random.default_rng(3).choice(20000, 1172, replace=False)
        names = ("principal_dx", "principal_procedure")
        self.table = pl.DataFrame({name: [rows[i][name] for i in chosen] for name in names})
        paths = [folder / "icd9cm" / f"icd9cm_{kind}_edges.csv" for kind in ("dx", "pr")]
        self.ontologies: list[Taxonomy] = [anonto.read_ontology(path) for path in paths]
        self.swapped = cache(self._swapped)

    def correlation(self, table: pl.DataFrame) -> float:
        dx, pr = (table[name].to_list() for name in table.columns)
        return float(stats.distance_correlation(dx, pr, *self.ontologies))

    def _swapped(self, method: str, **parameters: Any) -> Means:
        columns = dict(zip(self.table.columns, ({"ontology": one} for one in self.ontologies), strict=True))
        plan = {"columns": columns, "steps": [{"method": method, "columns": self.table.columns, **parameters}]}
        releases = [anonto.mask(self.table, plan, seed=seed) for seed in SEEDS]
        found = [
            [*release.evidence["steps"][0]["rmse"].values(), self.correlation(release.table)] for release in releases
        ]
        return Means(*np.mean(found, axis=0).tolist())


@pytest.fixture(scope="module")
def discharges(data_folder: Path) -> Discharges:
    return Discharges(data_folder)


def test_the_columns_depend_on_each_other(discharges: Discharges) -> None:
    assert discharges.correlation(discharges.table) == pytest.approx(0.726, abs=5e-4)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("rank-swap", Means(0.323, 0.268, 0.683)),
        ("rank-swap-joint", Means(0.462, 0.362, 0.721)),
    ],
)
def test_ten_neighbours_move_values_as_far_as_a_slow_run_did(
    discharges: Discharges, method: str, expected: Means
) -> None:
    found = discharges.swapped(method, k=10)
    assert found.diagnosis == pytest.approx(expected.diagnosis, abs=0.02)
    assert found.procedure == pytest.approx(expected.procedure, abs=0.02)
    assert found.correlation == pytest.approx(expected.correlation, abs=0.015)


def test_groups_of_ten_move_values_no_farther_than_a_slow_run_did(discharges: Discharges) -> None:
    """That run refined its groups less."""
    found = discharges.swapped("group-swap", k=10)
    assert 0.42 < found.diagnosis < 0.535
    assert 0.33 < found.procedure < 0.416
    assert 0.685 < found.correlation < 0.74


@pytest.mark.parametrize("column", ["diagnosis", "procedure"])
def test_values_move_less_the_more_a_method_looks_at_meaning(discharges: Discharges, column: str) -> None:
    alone, joint, fixed, by_frequency = (
        getattr(discharges.swapped(method, k=10), column)
        for method in ("rank-swap", "rank-swap-joint", "rank-swap-fixed", "frequency-swap")
    )
    at_random = getattr(discharges.swapped("random-swap"), column)
    assert alone + 0.05 < joint
    assert joint + 0.05 < min(fixed, by_frequency)
    assert fixed == pytest.approx(by_frequency, abs=0.15)
    assert max(fixed, by_frequency) + 0.05 < at_random


def test_joint_swapping_keeps_the_dependence_best(discharges: Discharges) -> None:
    joint = discharges.swapped("rank-swap-joint", k=10).correlation
    for method in ("rank-swap", "rank-swap-fixed", "frequency-swap"):
        assert discharges.swapped(method, k=10).correlation < joint - 0.01
    assert discharges.swapped("random-swap").correlation < 0.3
    assert joint == pytest.approx(discharges.correlation(discharges.table), abs=0.02)


@pytest.mark.parametrize("method", ["rank-swap", "rank-swap-joint", "rank-swap-fixed", "group-swap"])
def test_values_move_farther_the_larger_k_is(discharges: Discharges, method: str) -> None:
    found = [discharges.swapped(method, k=k) for k in (5, 10, 20, 50)]
    assert all(a.diagnosis < b.diagnosis and a.procedure < b.procedure for a, b in pairwise(found))
    assert found[0].correlation > found[-1].correlation


def test_partners_among_those_not_yet_exchanged_are_farther_away(discharges: Discharges) -> None:
    near = discharges.swapped("rank-swap-joint", k=10)
    free = discharges.swapped("rank-swap-joint", k=10, interval="unswapped")
    assert 1.1 < free.diagnosis / near.diagnosis < 1.8
    assert 1.1 < free.procedure / near.procedure < 1.8


def test_weights_decide_which_column_moves_less(discharges: Discharges) -> None:
    even = discharges.swapped("rank-swap-joint", k=10)
    uneven = discharges.swapped("rank-swap-joint", k=10, weights=(5, 1))
    assert uneven.diagnosis < even.diagnosis - 0.02
    assert uneven.procedure > even.procedure + 0.02
