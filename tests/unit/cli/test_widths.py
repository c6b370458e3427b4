"""The command that shows which widths a step can take, for readers and for machines."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anonto.cli.main import run

COLUMNS = """
[columns.name]
role = "identifier"

[columns.age]
kind = "numeric"

[columns.days]
kind = "numeric"

[columns.cost]
kind = "numeric"
role = "confidential"

[columns.code]
ontology = "codes.csv"
"""
EQUI_WIDTH = """
[[steps]]
method = "equi-width-swap"
columns = ["age", "code"]
width = [10, 2]
"""
INVARIANT = """
[[steps]]
method = "invariant-swap"
columns = ["days"]
rate = 0.5
{}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(6)
    n = 600
    pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(20, 81, n),
            "days": np.minimum(rng.geometric(0.2, n), 25),
            "cost": rng.integers(100, 999, n),
            "code": rng.choice(["a1", "a2", "b"], n),
        }
    ).write_csv(tmp_path / "table.csv")
    (tmp_path / "codes.csv").write_text("id,parent\nroot,\na,root\nb,root\na1,a\na2,a\n")
    (tmp_path / "plan.toml").write_text(COLUMNS + EQUI_WIDTH)
    return tmp_path


def words(folder: Path, *more: str) -> list[str]:
    return ["widths", str(folder / "table.csv"), "--plan", str(folder / "plan.toml"), *more]


def data(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> list[dict]:
    assert run(words(folder, "--json", *more)) == 0
    return json.loads(capsys.readouterr().out)["steps"]


def test_a_step_is_shown_with_its_bounds_its_partitionings_and_the_honest_number(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words(folder)) == 0
    shown = capsys.readouterr().out
    (found,) = data(folder, capsys)
    assert "Step 1: age" in shown
    assert "other columns" in shown
    assert f"{found['q']} that differ" in shown
    for word in ("widest", "narrowest", "first refused", "of the plan", "Lemma 2, Lemma 1", "disclosed if known"):
        assert word in shown
    assert (found["columns"], found["others"], found["n_records"]) == (["age"], ["code"], 600)
    assert found["upper_bounds"] == [30.0]
    assert found["partitionings"][-1]["widths"] >= found["lower_bounds"]
    assert found["refused"]["smallest_bin"] == 1
    for one in found["partitionings"]:
        assert one["disclosure"] == 1 / (one["smallest_bin"] - 1)


def test_what_is_said_of_the_plans_own_width_is_what_masking_finds(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = data(folder, capsys)
    arguments = ["mask", str(folder / "table.csv"), "-p", str(folder / "plan.toml"), "-o", str(folder / "out.csv")]
    assert run([*arguments, "--json"]) == 0
    step = json.loads(capsys.readouterr().out)["steps"][0]
    assert found["given"] == {
        "width": [10, 2],
        "degree": step["bins"],
        "smallest_bin": step["smallest_bin"],
        "singletons": step["singleton_bins"],
        "disclosure": 1 / (step["smallest_bin"] - 1),
    }


def test_every_step_with_a_width_is_shown_and_none_with_a_depth(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "plan.toml").write_text(COLUMNS + EQUI_WIDTH + INVARIANT.format("width = 3"))
    assert [one["columns"] for one in data(folder, capsys)] == [["age"], ["days"]]
    (folder / "plan.toml").write_text(COLUMNS + EQUI_WIDTH + INVARIANT.format("k = 3"))
    assert [one["columns"] for one in data(folder, capsys)] == [["age"]]


def test_without_such_a_step_the_numeric_quasi_identifiers_are_looked_at_together(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "plan.toml").write_text(COLUMNS)
    (found,) = data(folder, capsys)
    assert (found["step"], found["columns"]) == (None, ["age", "days"])
    assert "given" not in found
    assert run(words(folder)) == 0
    assert "The numeric quasi-identifiers: age, days" in capsys.readouterr().out


def test_a_degree_is_looked_for_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plan.toml").write_text(COLUMNS)
    (found,) = data(folder, capsys, "--degree", "100")
    assert found["wanted_degree"] == 100
    assert abs(found["closest"]["degree"] - 100) < 15
    assert run(words(folder, "--degree", "100")) == 0
    assert f"{found['closest']['degree']} bins for the 100 wanted" in capsys.readouterr().out
    assert run(words(folder, "--degree", "0")) == 2
    assert "degree must be a whole number" in capsys.readouterr().err


def test_records_that_a_policy_drops_are_not_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pl.read_csv(folder / "table.csv").with_columns(
        pl.when(pl.col("cost") < 300).then(None).otherwise(pl.col("cost")).alias("cost")
    )
    table.write_csv(folder / "table.csv")
    (folder / "plan.toml").write_text(
        COLUMNS.replace('role = "confidential"', 'role = "confidential"\nmissing = "drop"') + EQUI_WIDTH
    )
    (found,) = data(folder, capsys)
    assert found["n_records"] == 600 - table["cost"].null_count()


def test_no_valid_width_is_one_sentence_and_merging_helps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "table.csv").write_text("name,age,days,cost,code\n" + "x,40,3,5,b\n" * 9 + "y,90,3,5,b\n")
    (folder / "plan.toml").write_text(COLUMNS)
    assert run(words(folder)) == 2
    said = capsys.readouterr().err
    assert "no valid width under the pruning scheme" in said
    assert said.count("\n") == 1
    assert run(words(folder, "--merge-singletons")) == 0


def test_a_plan_without_numbers_is_refused_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plan.toml").write_text('[columns.code]\nontology = "codes.csv"\n')
    assert run(words(folder)) == 2
    assert "no step with a width and no numeric quasi-identifier" in capsys.readouterr().err
    (folder / "plan.toml").write_text('[columns.agee]\nkind = "numeric"\n')
    assert run(words(folder)) == 2
    assert "no column 'agee'" in capsys.readouterr().err
