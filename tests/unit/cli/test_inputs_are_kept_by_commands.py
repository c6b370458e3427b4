"""Commands refuse, even with ``--force``, to write over an ontology that they read."""

from pathlib import Path

import pytest

from anonto.cli.main import run

CODES = [f"x{number:03d}" for number in range(30)]
ONTOLOGY = "\n".join(["id,parent", "root,", "even,root", "odd,root", *(f"{one},even" for one in CODES), ""])
PLAN = """
[columns.code]
ontology = "codes.csv"

[[steps]]
method = "random-swap"
columns = ["code"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "table.csv").write_text("\n".join(["code", *CODES, *CODES, ""]))
    (tmp_path / "codes.csv").write_text(ONTOLOGY)
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "broken.toml").write_text("[columns")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = {
    "mask": ["mask", "table.csv", "--plan", "plan.toml", "--output", "codes.csv"],
    "mask in batches": ["mask", "table.csv", "--plan", "plan.toml", "--output", "codes.csv", "--memory", "500MB"],
    "mask with a record": ["mask", "table.csv", "--plan", "plan.toml", "--output", "o.csv", "--private", "codes.csv"],
    "mask with a report": ["mask", "table.csv", "--plan", "plan.toml", "--output", "o.csv", "--report", "codes.csv"],
    "assess": ["assess", "table.csv", "table.csv", "--plan", "plan.toml", "--same-order", "--report", "codes.csv"],
    "assess two": [
        *("assess", "table.csv", "table.csv", "--plan", "other.toml", "--same-order", "--second", "table.csv"),
        *("--second-plan", "plan.toml", "--report-json", "codes.csv"),
    ],
    "sweep": ["sweep", "table.csv", "--plan", "plan.toml", "--report", "codes.csv"],
    "sweep to a plan": ["sweep", "table.csv", "--plan", "plan.toml", "--output", "codes.csv", "--max-risk", "0.5"],
    "sweep that goes on": ["sweep", "table.csv", "--plan", "plan.toml", "--resume", "codes.csv"],
    "init": ["init", "table.csv", "--ontology", "codes.csv", "--output", "codes.csv"],
    "init beside": ["init", "table.csv", "--output", "codes.csv"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_an_ontology_is_never_written_over(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "other.toml").write_text("[columns.code]\n")
    names = sorted(one.name for one in folder.iterdir())
    force = [] if command == "sweep that goes on" else ["--force"]
    assert run([*COMMANDS[command], *force]) == 2
    shown = capsys.readouterr().err
    assert "'codes.csv' is also an input" in shown
    assert (folder / "codes.csv").read_text() == ONTOLOGY
    assert sorted(one.name for one in folder.iterdir()) == names


@pytest.mark.parametrize("command", ["mask", "assess", "sweep"])
@pytest.mark.parametrize(
    ("plan", "said"), [("broken.toml", "not a valid TOML file"), ("none.toml", "There is no file")]
)
def test_a_plan_that_cannot_be_read_says_so(
    command: str, plan: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [plan if one == "plan.toml" else one for one in COMMANDS[command]]
    assert run([*words, "--force"]) == 2
    shown = capsys.readouterr().err
    assert plan in shown
    assert said in shown, shown
    assert (folder / "codes.csv").read_text() == ONTOLOGY
