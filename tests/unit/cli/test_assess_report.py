"""Reports on the command line: written whole, in the edition that is asked for, and never over another file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from anonto.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path

PLAN = """
[columns.illness]
ontology = "illnesses"
[columns.age]
kind = "numeric"
[columns.stay]
kind = "numeric"
role = "confidential"
[[steps]]
method = "rank-swap-joint"
columns = ["illness", "age"]
k = 7
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], 200).tolist(),
            "age": rng.integers(20, 80, 200),
            "stay": rng.integers(1, 20, 200),
        }
    )
    monkeypatch.chdir(tmp_path)
    table.write_csv("in.csv")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    assert run(["mask", "in.csv", "--plan", "plan.toml", "--output", "out.csv"]) == 0
    return tmp_path


ASSESS = ["assess", "in.csv", "out.csv", "--plan", "plan.toml", "--private", "out.csv.private.json"]


def test_mask_ends_with_the_guarantee_of_each_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    capsys.readouterr()
    assert run(["mask", "in.csv", "--plan", "plan.toml", "--output", "out.csv", "--force"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Guarantees")
    assert lines[start + 1].split(maxsplit=2) == [
        "step", "1", "none: nothing is proved for this method; its risk must be measured",
    ]  # fmt: skip
    assert start == len(lines) - 2


def test_page_and_data_are_written_in_the_edition_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = [{"label": "random-swap", "method": "random-swap", "risk": 0.01, "utility": 0.1, "on_front": True}]
    (folder / "sweep.json").write_text(json.dumps({"points": points}), encoding="utf-8")
    for edition, words in (("internal", ["--map", "sweep.json"]), ("public", ["--edition", "public", "--force"])):
        assert run([*ASSESS, "--report", "a.html", "--report-json", "a.json", *words]) == 0
        assert "a.html" in capsys.readouterr().out
        data = json.loads((folder / "a.json").read_text(encoding="utf-8"))
        assert data["edition"] == edition
        shown = [one["label"] for one in data["map"]["points"]]
        assert shown == (["random-swap", "this release"] if edition == "internal" else [])
        assert f"{edition.capitalize()} edition" in (folder / "a.html").read_text(encoding="utf-8")
    assert run([*ASSESS, "--report", "b.html", "--edition", "public", "--map", "sweep.json"]) == 2
    assert "the public edition, which has no map" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--report", "in.csv"], "in.csv"),
        (["--report", "a.html", "--report-json", "a.html"], "a.html"),
        (["--report", "there.html"], "exists already"),
        (["--report", "a.html", "--edition", "secret"], "internal, public"),
        (["--report", "a.html", "--map", "plan.toml"], "a file of JSON"),
        (["--report", "a.html", "--map", "nowhere.json"], "nowhere.json"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_attacks(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    (folder / "there.html").write_text("mine", encoding="utf-8")
    assert run([*ASSESS, *words]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "a.html").exists()
    assert (folder / "there.html").read_text(encoding="utf-8") == "mine"


def test_the_command_line_does_not_speak_of_exceptions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for cells, column, expected in (
        ("flu,x,1\n", "age", "fix them, or declare the column nominal or ordinal"),
        ("unheard of,3,1\n", "illness", "list them with `anonto match --values`, and fix them"),
    ):
        (folder / "bad.csv").write_text(f"illness,age,stay\n{cells}", encoding="utf-8")
        assert run(["mask", "bad.csv", "--plan", "plan.toml", "--output", "bad-out.csv"]) == 2
        said = capsys.readouterr().err
        assert column in said
        assert expected in said
        assert "exception" not in said


def test_a_limit_to_memory_is_for_clusters_and_must_be_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del folder
    capsys.readouterr()
    assert run([*ASSESS, "--memory", "2GB"]) == 2
    assert "--memory is for tables on a Spark cluster only" in capsys.readouterr().err
    assert run([*ASSESS, "--engine", "spark", "--memory", "little"]) == 2
    assert "memory must be a size of at least 500 MB, such as 500MB or 2GB; got 'little'" in capsys.readouterr().err
