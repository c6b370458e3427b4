"""Two papers on the public files, quickly: the samples are what their rules say, and the hard claims hold."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import polars as pl
import pytest

from anonto.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folders(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for paper in ("rank-swapping", "marginality"):
        found[paper] = tmp_path_factory.mktemp("reproduction") / paper
        words = ["--paper", paper, "--data", str(data_folder), "--quick", "--out", str(found[paper]), "--workers", "1"]
        assert run(["reproduce", *words]) == 0
    return found


def verdicts(folder: Path) -> dict[str, str]:
    with (folder / "claims.csv").open(encoding="utf-8", newline="") as file:
        return {row["claim"]: row["verdict"] for row in csv.DictReader(file)}


def test_the_claims_of_rank_swapping_that_hold_on_the_survey(folders: dict[str, Path]) -> None:
    found = verdicts(folders["rank-swapping"])
    held = ["1", "2", "3", "4a", "5", "6", "P2"]
    assert {key: found[key] for key in held} == dict.fromkeys(held, "held")
    assert found["P1"] == "not held"


def test_the_claims_of_marginality_that_hold_on_the_survey(folders: dict[str, Path]) -> None:
    found = verdicts(folders["marginality"])
    held = ["Example", "7b", "8", "9", "P6"]
    assert {key: found[key] for key in held} == dict.fromkeys(held, "held")
    assert found["P5"] == "cannot hold"


def test_the_sample_has_the_size_and_nearly_the_correlation_of_the_paper(folders: dict[str, Path]) -> None:
    table = pl.read_csv(folders["rank-swapping"] / "tables" / "rank-swapping-table-1.csv", infer_schema=False)
    ours = dict(zip(table[""], table["Dataset 1"], strict=True))
    assert int(ours["records"]) == 1_172
    assert float(ours["distance correlation"]) == pytest.approx(0.4595, abs=0.03)


def test_the_index_of_one_paper_has_that_paper_alone(folders: dict[str, Path]) -> None:
    assert sorted(path.name for path in folders["marginality"].glob("*.html")) == ["index.html", "marginality.html"]
