"""The command with which a person looks for her own record."""

import json
from pathlib import Path

import polars as pl
import pytest

import anonto
from anonto.cli.main import run

PLAN = """
[columns.name]
role = "identifier"

[columns.illness]
ontology = "illnesses"

[columns.age]
kind = "numeric"

[columns.stay]
kind = "numeric"
role = "confidential"

[[steps]]
method = "rank-swap"
columns = ["illness", "age"]
k = 8
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(40)],
            "illness": ["flu", "measles", "burn", "fracture"] * 10,
            "age": list(range(20, 60)),
            "stay": [i % 7 for i in range(40)],
        }
    )
    table.write_csv(tmp_path / "table.csv")
    table[3:4].write_csv(tmp_path / "me.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    anonto.mask(tmp_path / "table.csv", tmp_path / "plan.toml", seed=1 << 90).save(tmp_path / "masked.csv")
    return tmp_path


def words(folder: Path, *files: str) -> list[str]:
    return ["verify", *(str(folder / file) for file in files), "--plan", str(folder / "plan.toml")]


def test_what_is_found_is_said_in_plain_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words(folder, "me.csv", "masked.csv")) == 0
    out = capsys.readouterr().out
    assert "of 40 released records could be yours, given what rank-swap can do." in out
    assert "exactly your values in the masked columns" in out
    assert "In rank, the nearest record is" in out
    assert "released as they are (stay)" in out
    assert "within 0.25" in out


def test_a_record_may_be_given_on_the_command_line_or_override_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(*more: str) -> dict:
        assert run([*more, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    from_file = found(*words(folder, "me.csv", "masked.csv"))
    cells = ["--set", "illness=fracture", "--set", "age=23", "--set", "stay=3", "--set", "name=person 3"]
    assert found(*words(folder, "masked.csv"), *cells) == from_file
    mended = found(*words(folder, "me.csv", "masked.csv"), "--set", "age=59")
    assert mended["candidates"] != from_file["candidates"] or mended["rank_distance"] != from_file["rank_distance"]
    assert found(*words(folder, "masked.csv"), "--set", "illness=flu", "--set", "age=")["as_is"] is None


@pytest.mark.parametrize(
    ("files", "more", "sentence"),
    [
        (["masked.csv"], [], "The number of files must be two"),
        (["me.csv", "me.csv", "masked.csv"], [], "The number of files must be two"),
        (["table.csv", "masked.csv"], [], "Expected one record, your own, got 40;"),
        (["table.csv", "masked.csv"], ["--set", "age=3"], "Expected one record, your own, got 40;"),
        (["masked.csv"], ["--set", "age=40"], "lacks 1 column that the plan masks: 'illness'"),
        (["masked.csv"], ["--set", "illness=secret", "--set", "age=40"], "column 'illness' (1 cell) has no concept"),
        (["masked.csv"], ["--set", "secret"], "--set number 1 is not of the form column=value"),
        (["me.csv", "nowhere.csv"], [], "There is no file"),
    ],
)
def test_bad_input_ends_in_one_sentence_that_shows_no_cell(
    folder: Path, capsys: pytest.CaptureFixture[str], files: list[str], more: list[str], sentence: str
) -> None:
    assert run([*words(folder, *files), *more]) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert "secret" not in said.err


@pytest.mark.parametrize("word", ["age=\udcff", "\udcff=1", "illness=\ud800x"])
def test_undecodable_bytes_are_refused_in_one_sentence(
    folder: Path, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["verify", str(folder / "me.csv"), str(folder / "masked.csv"), "--plan", str(folder / "plan.toml")]
    assert run([*given, "--set", "stay=1", "--set", word]) == 2
    assert capsys.readouterr().err == (
        "Error: --set number 2 has a byte that is not text; write column and value in UTF-8.\n"
    )
    with pytest.raises(anonto.errors.ColumnError, match=r"1 cell.*half of a character"):
        anonto.verify(dict([word.split("=")]), folder / "masked.csv", folder / "plan.toml")
