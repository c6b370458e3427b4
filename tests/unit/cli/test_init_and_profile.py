import json
import tomllib
from functools import partial
from pathlib import Path

import pytest

import anonto
from anonto.cli.main import run
from anonto.population import uniqueness

LEVELS = "flu;infection;*\nmeasles;infection;*\nburn;injury;*\nfracture;injury;*\n"
N = 60


@pytest.fixture
def table(tmp_path: Path) -> Path:
    illnesses = ["flu", "measles", "burn", "fracture", "?"]
    rows = [f"r{n:04d},{20 + n % 30},{'fm'[n % 2]},{illnesses[(n + n // 7) % 5]}" for n in range(N)]
    path = tmp_path / "table.csv"
    path.write_text("record_id,age,sex,illness\n" + "\n".join(rows) + "\n")
    (tmp_path / "levels.csv").write_text(LEVELS)
    return path


def test_init_writes_a_plan_beside_the_table_that_mask_accepts(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(table)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "4 of 4 distinct values are codes of levels.csv" in shown.out
    assert "flu" not in shown.out
    assert "1 column needs review: record_id." in shown.out
    assert "No guarantee is proved while a released one is not confirmed" in shown.out
    plan = tmp_path / "table.csv.plan.toml"
    assert str(plan) in shown.out
    assert tomllib.loads(plan.read_text())["columns"]["illness"]["ontology"] == "levels.csv"
    words = ["mask", str(table), "--plan", str(plan), "--output", str(tmp_path / "masked.csv")]
    assert run(words) == 0
    assert capsys.readouterr().err == ""


def test_init_for_machines_prints_plan_and_reasons(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "sub" / "plan.toml"
    plan.parent.mkdir()
    assert run(["init", str(table), "--output", str(plan), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["output"] == str(plan)
    assert said["plan"] == tomllib.loads(plan.read_text())
    assert said["plan"]["columns"]["illness"]["ontology"] == str(tmp_path / "levels.csv")
    assert set(said["reasons"]) == {"record_id", "age", "sex", "illness"}
    assert said["review"] == ["record_id"]


@pytest.fixture
def few_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep of three plans in this process."""
    grid = {"group-swap": {"k": [3, 6]}, "random-swap": {}}
    monkeypatch.setattr("anonto.sweep.recommend.sweep", partial(anonto.sweep, grid=grid))


@pytest.mark.usefixtures("few_plans")
def test_init_under_a_risk_takes_the_steps_that_keep_most_and_puts_the_runner_up_beside_them(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(table), "--max-risk", "1"]) == 0
    shown = capsys.readouterr().out
    assert "group-swap (k = 3) keeps the most utility" in shown
    assert "The runner-up, group-swap (k = 6), keeps" in shown
    text = (tmp_path / "table.csv.plan.toml").read_text()
    assert [(step["method"], step["k"]) for step in tomllib.loads(text)["steps"]] == [("group-swap", 3)]
    before = text.split("\n[[steps]]")[0]
    swapped = before + "\n" + before.split("# The runner-up, to take its place:\n")[1].replace("# ", "")
    assert [step["k"] for step in tomllib.loads(swapped)["steps"]] == [6]
    assert "flu" not in text


@pytest.mark.usefixtures("few_plans")
def test_init_writes_no_plan_where_none_is_safe_and_refuses_a_risk_that_is_none(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.iterdir())
    assert run(["init", str(table), "--max-risk", "0.001"]) == 2
    assert "None of the plans that were tried is safe at 0.1 %" in capsys.readouterr().err
    assert run(["init", str(table), "--max-risk", "5"]) == 2
    assert "max_risk must be a number from 0 to 1" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.usefixtures("few_plans")
def test_init_under_a_risk_says_that_a_table_has_no_records(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table.write_text(table.read_text().splitlines()[0] + "\n")
    before = sorted(tmp_path.iterdir())
    assert run(["init", str(table), "--max-risk", "0.05"]) == 2
    assert capsys.readouterr().err == (
        "Error: The table has no records, so no plan can be tried; give one with records, or propose a plan without a "
        "limit to the risk.\n"
    )
    assert sorted(tmp_path.iterdir()) == before


def test_init_replaces_a_plan_only_by_force_and_never_the_table(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("mine")
    words = ["init", str(table), "--output", str(plan)]
    assert run(words) == 2
    assert "exists already" in capsys.readouterr().err
    assert plan.read_text() == "mine"
    assert run([*words, "--force"]) == 0
    assert "[columns.age]" in plan.read_text()
    before = table.read_bytes()
    assert run(["init", str(table), "--output", str(table), "--force"]) == 2
    assert table.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--folder", "nowhere"], "There is no file or folder 'nowhere'"),
        (["--folder", "table.csv"], "'table.csv' is a file, not a folder"),
        (["--ontology", "nowhere"], "no listed ontology 'nowhere'"),
        (["--ontology", "table.csv"], "is not in a known ontology format"),
        (["--output", "nowhere/plan.toml"], "cannot be written"),
    ],
)
def test_init_refuses_in_one_sentence_and_writes_nothing(
    table: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(table.parent)
    before = sorted(table.parent.iterdir())
    assert run(["init", "table.csv", *words]) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert sorted(table.parent.iterdir()) == before


@pytest.mark.parametrize("command", ["init", "profile"])
def test_a_missing_or_empty_table_is_refused(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.csv").write_text("")
    for name in ("nowhere.csv", "empty.csv"):
        assert run([command, str(tmp_path / name)]) == 2
        assert capsys.readouterr().err.startswith("Error: ")
    assert [path.name for path in tmp_path.iterdir()] == ["empty.csv"]


def test_profile_guesses_without_a_plan_and_says_so(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", str(table)]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    for words in ("60 records", "guessed", "occur once", "distance correlation", "age × illness"):
        assert words in shown.out
    assert "r0001" not in shown.out


def test_profile_with_a_plan_for_machines(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[columns.illness]\nontology = "levels.csv"\nna = ["?"]\n\n[columns.sex]\n')
    assert run(["profile", str(table), "--plan", str(plan), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in found["columns"]] == ["illness", "sex"]
    assert found["plan"] == str(plan)
    assert sorted(one["columns"] for one in found["combinations"]) == [["illness"], ["illness", "sex"], ["sex"]]


def test_profile_takes_a_plan_or_ontologies_not_both(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[columns.sex]\n")
    assert run(["profile", str(table), "--plan", str(plan), "--folder", str(tmp_path)]) == 2
    assert "leave out --ontology" in capsys.readouterr().err


def test_profile_refuses_a_column_that_is_not_there(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[columns.sexx]\n")
    assert run(["profile", str(table), "--plan", str(plan)]) == 2
    assert "did you mean 'sex'" in capsys.readouterr().err


@pytest.mark.parametrize(("rows", "has_middle"), [(list("abcdefghijkl"), False), (list("aaaab"), True)])
def test_profile_does_not_show_the_root_for_a_middle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[str], has_middle: bool
) -> None:
    (tmp_path / "levels.csv").write_text("".join(f"{one};group {one};kind {one};*\n" for one in "abcdefghijkl"))
    (tmp_path / "table.csv").write_text("\n".join(["code", *rows]) + "\n")
    (tmp_path / "plan.toml").write_text('[columns.code]\nontology = "levels.csv"\n')
    assert run(["profile", str(tmp_path / "table.csv"), "--plan", str(tmp_path / "plan.toml")]) == 0
    shown = capsys.readouterr().out
    assert "variance" in shown
    assert {"none", "below", "root"}.isdisjoint(shown.split()) is has_middle


@pytest.fixture
def key_plan(tmp_path: Path) -> Path:
    path = tmp_path / "key.toml"
    path.write_text('[columns]\nage = { kind = "numeric" }\nsex = {}\nillness = {}\nrecord_id = { role = "other" }\n')
    return path


def test_profile_names_the_columns_that_make_records_unique_and_shows_no_value(
    table: Path, key_plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", str(table), "--plan", str(key_plan)]) == 0
    shown = capsys.readouterr().out
    assert "All quasi-identifiers together" in shown
    assert "fewest columns that make a record unique" in shown
    assert "measles" not in shown
    assert "Risk in the population" not in shown


def test_profile_estimates_the_risk_in_the_population(
    table: Path, key_plan: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uniqueness, "BOOTSTRAPS", 20)
    words = ["profile", str(table), "--plan", str(key_plan)]
    assert run([*words, "--sampling-fraction", "0.1"]) == 0
    shown = capsys.readouterr().out
    assert "600 people, from the sampling fraction" in shown
    assert "prosecutor" in shown
    assert run([*words, "--population", "1,200", "--k", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["population"]
    assert (told["population"], told["k"]) == (1200, 3)
    wanted = anonto.population_risk(table, key_plan, population=1200, k=3).to_dict()
    assert told == json.loads(json.dumps(wanted))
    assert run([*words, "--population", str(table), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["population"]["chosen"] == "observed"


@pytest.mark.parametrize(
    "options",
    [["--sampling-fraction", "0"], ["--population", "59"], ["--population", "-5"], ["--population", "60", "--k", "61"]],
)
def test_profile_refuses_populations_that_cannot_be_in_one_sentence(
    table: Path, key_plan: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", str(table), "--plan", str(key_plan), *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
