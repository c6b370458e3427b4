"""Uniqueness in the population of Adult: the figures that ARX documents for its nine quasi-identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import anonto
from anonto.population import uniqueness

if TYPE_CHECKING:
    from pathlib import Path

KEY = [
    "age",
    "education",
    "marital-status",
    "native-country",
    "occupation",
    "race",
    "salary-class",
    "sex",
    "workclass",
]
PLAN = {"columns": {name: {"role": "quasi-identifier"} for name in KEY}}


@pytest.fixture(autouse=True)
def few_bootstraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniqueness, "BOOTSTRAPS", 20)


@pytest.fixture(scope="module")
def adult(data_folder: Path) -> pl.DataFrame:
    rows = pl.read_csv(data_folder / "uci_adult" / "adult.csv.gz", infer_schema_length=0)
    return rows.filter(~pl.any_horizontal(pl.col(KEY) == "?"))


@pytest.mark.paper("ARX", "TestRiskMetrics.testDecisionRule2")
@pytest.mark.parametrize(
    ("fraction", "chosen", "figures"),
    [
        (0.01, "pitman", {"dankar": 0.1446083531167384}),
        (0.1, "pitman", {"dankar": 0.27684993883653597, "zayatz": 0.3207402393466189}),
        (0.2, "zayatz", {"dankar": 0.3577099234829125}),
        (1.0, "observed", {"dankar": 0.5142895033485844}),
    ],
)
def test_uniqueness_is_what_arx_documents(
    adult: pl.DataFrame, fraction: float, chosen: str, figures: dict[str, float]
) -> None:
    found = anonto.population_risk(adult, PLAN, sampling_fraction=fraction)
    assert found.chosen == chosen
    for model, figure in figures.items():
        assert found.uniqueness[model] == pytest.approx(figure, abs=1e-8)


@pytest.mark.paper("ARX", "TestRiskMetrics.testAverageRisk2")
def test_the_mean_risk_of_the_prosecutor_is_what_arx_documents(adult: pl.DataFrame) -> None:
    found = anonto.population_risk(adult, PLAN, sampling_fraction=1)
    assert found.intruders[0].mean == pytest.approx(0.6465751607983555, abs=1e-15)
