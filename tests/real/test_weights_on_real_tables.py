"""Weights on real tables: MEPS by household size, and the census income table by its own weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto import stats
from anonto.masking.plan import plan_of
from anonto.profile.profile import profile

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SECRET = 1 << 100 | 7


@pytest.fixture(scope="module")
def meps(data_folder: Path) -> pl.DataFrame:
    """Persons with at least two coded conditions, the first two of each, and how many persons her household has."""
    folder = data_folder / "meps2005"
    conditions = pl.read_csv(folder / "conditions.csv.gz", infer_schema=False).filter(
        pl.col("icd9").fill_null("") != ""
    )
    persons = pl.read_csv(folder / "persons.csv.gz", infer_schema=False)
    sizes = persons.group_by("household").agg(pl.len().alias("size"))
    firsts = conditions.group_by("household", "person", maintain_order=True).agg(
        pl.col("icd9").get(0).alias("first"), pl.col("icd9").get(1, null_on_oob=True).alias("second")
    )
    return firsts.drop_nulls().join(sizes, on="household", how="left")


def test_weighted_statistics_of_meps_are_those_of_repeated_rows(meps: pl.DataFrame, data_folder: Path) -> None:
    tax = anonto.read_ontology(data_folder / "icd9cm" / "icd9cm_dx_edges.csv")
    weights = meps["size"]
    assert meps.height > 15_000
    assert weights.n_unique() > 5
    repeated = meps[np.repeat(np.arange(meps.height), weights.to_numpy())]
    a, b = meps["first"], meps["second"]
    found = stats.distance_correlation(a, b, tax, tax, weights=weights)
    assert found == pytest.approx(
        stats.distance_correlation(repeated["first"], repeated["second"], tax, tax), rel=1e-12
    )
    assert found != stats.distance_correlation(a, b, tax, tax)
    assert stats.semantic_mean(a, tax, weights=weights) == stats.semantic_mean(repeated["first"], tax)
    assert stats.semantic_variance(a, tax, weights=weights) == pytest.approx(
        stats.semantic_variance(repeated["first"], tax), rel=1e-12
    )
    assert stats.marginality_mean(a, tax, weights=weights) == stats.marginality_mean(repeated["first"], tax)


@pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
def test_the_census_is_profiled_and_assessed_by_its_weights(data_folder: Path) -> None:
    weight, columns = "fnlwgt", {"age": {"kind": "numeric"}, "sex": {}, "education": {}}
    whole = pl.read_csv(data_folder / "uci_adult" / "adult.csv.gz", infer_schema=False)
    table = whole.select(*columns, "salary-class", weight).head(2_000)
    plan: dict[str, Any] = {
        "table": {"weight": weight},
        "columns": columns,
        "steps": [{"method": "random-swap", "columns": [*columns]}],
    }
    ages, weights = (table[name].cast(pl.Float64).to_numpy() for name in ("age", weight))
    described = {one["name"]: one for one in profile(table, plan_of(plan))["columns"]}
    assert described["age"]["numbers"]["mean"] == pytest.approx(np.average(ages, weights=weights))
    masked = anonto.mask(table, plan, seed=SECRET).table
    assert weight not in masked.columns
    found = anonto.assess(table, masked, plan, same_order=True).utility
    age = found["columns"]["age"]
    assert found["weighted_by"] == weight
    assert age["mean"]["original"] == pytest.approx(np.average(ages, weights=weights))
    new_ages = masked["age"].cast(pl.Float64).to_numpy()
    assert age["mean"]["masked"] == pytest.approx(np.average(new_ages, weights=weights))
    of_records = anonto.assess(table, masked, plan_of(plan).without_weight(), same_order=True).utility["columns"]["age"]
    assert of_records["hellinger"] < 1e-7 < age["hellinger"]  # a swap keeps the frequencies of records, not of people
