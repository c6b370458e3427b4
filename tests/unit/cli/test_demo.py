import json
import stat
from pathlib import Path

import polars as pl
import pytest

import anonto
from anonto.cli.demo import mean_in_words
from anonto.cli.main import run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("icd10cm")]

FILES = ["discharges.csv", "masked.csv", "masked.csv.private.json", "plan.toml", "procedures.csv", "report.html"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, icd10cm: anonto.Taxonomy) -> Path:
    del icd10cm
    folder = tmp_path_factory.mktemp("demo") / "a" / "b"
    assert run(["demo", "--records", "300", "--folder", str(folder)]) == 0
    return folder


def text_columns(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


def test_the_demo_leaves_table_plan_masked_table_and_report(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == FILES
    table, masked = text_columns(folder / "discharges.csv"), text_columns(folder / "masked.csv")
    assert masked.columns == table.columns[1:]
    assert table.height == masked.height == 300
    for name in masked.columns:
        assert masked[name].sort().equals(table[name].sort())
    assert stat.S_IMODE((folder / "masked.csv.private.json").stat().st_mode) == 0o600


def test_the_same_seed_gives_the_same_files_and_no_warning(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", "--records", "300", "--folder", str(tmp_path)]) == 0
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name
    said = capsys.readouterr()
    assert said.err == ""
    for words in ("300 synthetic discharges", "semantic mean", "distance correlation", "report.html", "principal_dx"):
        assert words in said.out


def test_a_mean_that_is_the_root_is_called_so_and_the_largest_chapter_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["demo", "--records", "500", "--folder", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    icd = anonto.read_ontology("icd10cm")
    (mean,) = (line for line in shown.splitlines() if "semantic mean" in line)
    table = text_columns(tmp_path / "discharges.csv")
    assert anonto.stats.semantic_mean(table["principal_dx"], icd) == "ICD10CM"
    assert mean.endswith("the root: the codes are too diverse to have a more specific mean")
    chapters = [child for child in icd.children("ICD10CM") if f"{icd.label(child)}: " in shown]
    (chapter,) = chapters
    n = sum(chapter in icd.ancestors(code) for code in table["principal_dx"].drop_nulls())
    assert f"{icd.label(chapter)}: {n} records, {n} after masking" in shown
    assert mean_in_words("I10", icd) == "I10 Essential (primary) hypertension"


def test_the_plan_of_the_demo_can_be_applied_again(folder: Path) -> None:
    plan = anonto.Plan.from_toml(folder / "plan.toml")
    release = anonto.mask(folder / "discharges.csv", plan)
    assert release.evidence["dropped_columns"] == ["record_number"]
    assert release.evidence["released_as_is"] == ["length_of_stay", "charge"]


def test_the_report_has_no_seed_and_no_path(folder: Path) -> None:
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert json.loads((folder / "masked.csv.private.json").read_text())["seed"] not in report
    assert str(folder) not in report


def test_files_that_are_there_stay_without_force_and_another_seed_makes_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "report.html").write_text("mine")
    words = ["demo", "--records", "300", "--folder", str(tmp_path), "--seed", "2"]
    assert run(words) == 2
    assert "exists already" in capsys.readouterr().err
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report.html", "mine")]
    assert run([*words, "--force"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    for name in ("discharges.csv", "masked.csv", "report.html"):
        assert (tmp_path / name).read_bytes() != (folder / name).read_bytes(), name


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(["demo", "--folder", str(tmp_path / "file")]) == 2
    assert run(["demo", "--folder", str(tmp_path / "file" / "below")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 2
