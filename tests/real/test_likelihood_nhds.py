"""Noise on real discharges, attacked by one who knows how it was drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.attacks.rate import Risk

DIAGNOSES = ["principal_dx", "secondary_dx"]
pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


@pytest.fixture(scope="module")
def icd9(data_folder: Path) -> anonto.Taxonomy:
    return anonto.read_ontology(data_folder / "icd9cm" / "icd9cm_dx_edges.csv")


@pytest.fixture(scope="module")
def discharges(data_folder: Path) -> pl.DataFrame:
    whole = pl.read_csv(
        data_folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz",
        schema_overrides=dict.fromkeys(DIAGNOSES, pl.String),
        columns=[*DIAGNOSES, "age"],
    )
    return whole[np.random.default_rng(3).choice(20_000, 1_172, replace=False)]


def attacked(table: pl.DataFrame, icd9: anonto.Taxonomy, **step: Any) -> dict[str, Risk]:
    names = step["columns"]
    kinds = {name: {"ontology": icd9} if name in DIAGNOSES else {"kind": "numeric"} for name in names}
    plan = {"columns": kinds, "steps": [step]}
    given = table.select(names)
    found = anonto.assess(given, anonto.mask(given, plan, seed=1 << 90).table, plan).risk
    return {one.attack: one for one in found}


@pytest.mark.parametrize("method", ["semantic-noise", "semantic-noise-joint"])
def test_knowing_the_noise_links_more_than_the_distance_does(
    discharges: pl.DataFrame, icd9: anonto.Taxonomy, method: str
) -> None:
    found = attacked(discharges, icd9, method=method, columns=[*DIAGNOSES, "age"], noise_level=0.1)
    by_law, by_distance = found["likelihood-linkage"], found["distance-linkage"]
    assert by_law.details["impossible"] == 0
    assert by_law.rate > by_distance.rate
    for name in DIAGNOSES:
        assert by_law.details["mean_posterior"][name] > 2 * by_law.details["largest_prior"][name]


def test_the_mechanism_keeps_its_promise_on_real_codes(discharges: pl.DataFrame, icd9: anonto.Taxonomy) -> None:
    rates = []
    for epsilon in (2.0, 8.0, 32.0):
        found = attacked(discharges, icd9, method="taxonomy-exponential", columns=DIAGNOSES, epsilon=epsilon)
        by_law = found["likelihood-linkage"]
        assert by_law.details["impossible"] == 0
        rates.append(by_law.rate)
        for name in DIAGNOSES:
            assert by_law.details["max_posterior"][name] <= by_law.details["posterior_bound"][name] + 1e-9
            assert by_law.details["epsilon_measured"][name] <= epsilon + 1e-6
    assert rates == sorted(rates)
    assert rates[0] < 0.01 < rates[-1]
