"""Semantic noise on real discharges: two diagnoses in one taxonomy, with age and length of stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto import stats

if TYPE_CHECKING:
    from pathlib import Path

DIAGNOSES = ["principal_dx", "secondary_dx"]
SEED = 1 << 90
pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


@pytest.fixture(scope="module")
def icd9(data_folder: Path) -> anonto.Taxonomy:
    return anonto.read_ontology(data_folder / "icd9cm" / "icd9cm_dx_edges.csv")


@pytest.fixture(scope="module")
def discharges(data_folder: Path) -> pl.DataFrame:
    whole = pl.read_csv(
        data_folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz",
        schema_overrides=dict.fromkeys(DIAGNOSES, pl.String),
        columns=[*DIAGNOSES, "age", "length_of_stay"],
    )
    return whole[np.random.default_rng(3).choice(20_000, 1_172, replace=False)]


def masked(
    table: pl.DataFrame, icd9: anonto.Taxonomy, method: str, columns: list[str], seed: int = SEED, **parameters: Any
) -> Any:
    numbers = {name: {"kind": "numeric"} for name in columns if name not in DIAGNOSES}
    plan = {
        "columns": {name: {"ontology": icd9} for name in DIAGNOSES if name in columns} | numbers,
        "steps": [{"method": method, "columns": columns, **parameters}],
    }
    return anonto.mask(table.select(columns), plan, seed=seed)


def test_the_actual_error_grows_with_the_level_and_is_cut_where_the_taxonomy_ends(
    discharges: pl.DataFrame, icd9: anonto.Taxonomy
) -> None:
    """With α = .5 the target is .507 and truncation keeps the actual error below it; with α = .1 it is above."""
    steps = {
        level: masked(discharges, icd9, "semantic-noise", ["principal_dx"], noise_level=level).evidence["steps"][0]
        for level in (0.02, 0.1, 0.5)
    }
    actual = {level: step["rmse"]["principal_dx"] for level, step in steps.items()}
    target = {level: step["target_rmse"]["principal_dx"] for level, step in steps.items()}
    truncated = {level: step["truncated_share"]["principal_dx"] for level, step in steps.items()}
    assert actual[0.02] < actual[0.1] < actual[0.5]
    assert truncated[0.02] < truncated[0.1] < truncated[0.5]
    assert target[0.5] == pytest.approx(0.507, abs=0.005)
    assert actual[0.5] < target[0.5]
    assert actual[0.1] > target[0.1]


def test_correlated_noise_keeps_the_distance_correlation_of_two_diagnoses(
    discharges: pl.DataFrame, icd9: anonto.Taxonomy
) -> None:
    kept = {}
    for method in ("semantic-noise", "semantic-noise-joint"):
        found = []
        for seed in (SEED, SEED + 1):
            released = masked(discharges, icd9, method, DIAGNOSES, seed, noise_level=0.2, scale="semantic").table
            found.append(stats.distance_correlation(*(released[name] for name in DIAGNOSES), icd9, icd9))
        kept[method] = np.mean(found)
    original = stats.distance_correlation(*(discharges[name] for name in DIAGNOSES), icd9, icd9)
    assert kept["semantic-noise"] + 0.05 < kept["semantic-noise-joint"] < original


def test_mixed_columns_are_masked_in_one_draw(discharges: pl.DataFrame, icd9: anonto.Taxonomy) -> None:
    columns = [*DIAGNOSES, "age", "length_of_stay"]
    release = masked(discharges, icd9, "semantic-noise-joint", columns, noise_level=0.1)
    released, step = release.table, release.evidence["steps"][0]
    assert released.schema == discharges.select(columns).schema
    assert all(code in icd9 for name in DIAGNOSES for code in released[name])
    noise = (released["age"] - discharges["age"]).to_numpy()
    assert noise.std() == pytest.approx(np.sqrt(0.1) * discharges["age"].std(), rel=0.1)
    assert step["rmse"]["age"] == pytest.approx(step["target_rmse"]["age"], rel=0.1)


def test_a_diagnosis_drawn_by_the_exponential_mechanism_stays_in_the_declared_chapter(
    discharges: pl.DataFrame, icd9: anonto.Taxonomy
) -> None:
    chapter = next(c for c in icd9.children(icd9.roots[0]) if "neoplasm" in icd9.label(c).lower())
    neoplasms = discharges.filter(pl.col("principal_dx").is_in(list(icd9.descendants(chapter))))
    assert len(neoplasms) > 20
    plan = {
        "columns": {"principal_dx": {"ontology": icd9, "root": chapter}},
        "steps": [{"method": "taxonomy-exponential", "columns": ["principal_dx"], "epsilon": 8.0, "metric": True}],
    }
    release = anonto.mask(neoplasms.select("principal_dx"), plan, seed=SEED)
    assert set(release.table["principal_dx"]) <= icd9.descendants(chapter)
    assert release.evidence["steps"][0]["guarantee"]["kind"] == "metric privacy"
