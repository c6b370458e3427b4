"""The folder of a run: whole or not at all, and never somebody else's."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from anonto.cli.main import run
from anonto.errors import ExistingFileError, FileError, UnwritableFileError
from anonto.papers import whole, writing
from anonto.papers.claims import impossible, judge
from anonto.papers.figures import Line, LineChart
from anonto.papers.measurement import SEEDS, Measurement
from anonto.papers.pages import index_page, paper_page
from anonto.papers.results import PaperResult, Reproduction, ResultColumn, ResultTable, Section, as_printed, here
from anonto.papers.summary import markdown, table_csv
from anonto.papers.writing import write

if TYPE_CHECKING:
    from pathlib import Path


def example_run(*, hard_holds: bool = True) -> Reproduction:
    """A run that never took place, with odd names."""
    table = ResultTable(
        name="noise-table-1",
        title="Table with <code>code</code> & <script>alert(1)</script>",
        columns=(ResultColumn('a "name"'), *here("ours"), *as_printed("theirs")),
        rows=((1, Measurement((0.25, 0.75)), 0.3), ("💥, <b>", None, 1_234_567.0)),
        note="A note.",
    )
    figure = LineChart(
        name="noise-figure",
        title="Lines",
        caption="Caption",
        lines=(Line("<i>one", ((1.0, 0.5, 0.1), (2.0, 0.7, 0.0))),),
        x_label="x",
        y_label="y",
    )
    claims = (
        judge("1", "stays", holds=hard_holds, found="0 changed", why="a fault", kind="hard"),
        judge("2", "grows | falls", holds=False, found="2 of 3", why="chance <b>"),
        impossible("P4", "never", found="0.384", why="a sign"),
    )
    paper = PaperResult(
        name="noise",
        title="Noise",
        citation="Someone, somewhere",
        lead="What it is.",
        sections=(Section(title="Part", text=("Text.",), tables=(table,), figures=(figure,)),),
        claims=claims,
        samples=("A sample.",),
    )
    return Reproduction(papers=(paper,), data="synthetic data", seeds=SEEDS, quick=True, notes=("A note.",))


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


FILES = [
    "claims.csv",
    "figures/noise-figure.svg",
    "index.html",
    "noise.html",
    "reproduction.md",
    "tables/noise-table-1.csv",
]


def test_a_run_becomes_a_folder_of_pages_tables_and_figures(tmp_path: Path) -> None:
    write(example_run(), tmp_path / "a" / "out")
    assert names(tmp_path) == [f"a/out/{name}" for name in FILES]


def test_an_earlier_run_is_replaced_only_with_force(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(example_run(), out)
    (out / "tables" / "old.csv").write_text("")
    with pytest.raises(ExistingFileError):
        write(example_run(), out)
    write(example_run(), out, force=True)
    assert names(tmp_path) == [f"out/{name}" for name in FILES]


def test_a_folder_with_anything_else_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileError, match="contains 1 entry that this command does not write"):
        write(example_run(), tmp_path, force=True)
    assert names(tmp_path) == ["thesis.tex"]


def test_a_file_in_the_way_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(UnwritableFileError):
        write(example_run(), tmp_path / "out", force=True)
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("is_there", [False, True])
def test_stopped_while_writing_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    out = tmp_path / "out"
    if is_there:
        write(example_run(), out)
    before = names(tmp_path)

    def stop(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "paper_page", stop)
    with pytest.raises(KeyboardInterrupt):
        write(example_run(), out, force=True)
    assert names(tmp_path) == before


KILLED = """
import os, sys
from pathlib import Path
from anonto.papers import writing
from anonto.papers.results import Reproduction
writing.index_page = writing.claims_csv = writing.markdown = lambda _: "text"
Path.rename = lambda *_: os.kill(os.getpid(), 9)
writing.write(Reproduction(papers=(), data="", seeds=(), quick=True, notes=()), Path(sys.argv[1]))
"""


@pytest.mark.usefixtures("nothing_is_run")
def test_what_a_killed_run_left_is_removed_by_the_next_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "out")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir())
    assert run(["reproduce", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().err.count("Warning: Removed from ") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_texts_and_cells_are_escaped() -> None:
    found = example_run()
    for page in (index_page(found), paper_page(found, found.papers[0])):
        assert "<script>" not in page
        assert "chance &lt;b&gt;" in page
    assert "<code>code</code>" in paper_page(found, found.papers[0])
    assert "grows \\| falls" in markdown(found)


def test_a_page_shows_mean_and_spread_and_no_more_digits_than_asked() -> None:
    found = example_run()
    page = paper_page(found, found.papers[0])
    assert '0.5000 <span class="spread">± 0.3536</span>' in page
    assert "1,234,567" in page
    assert "printed in the paper" in page


def test_files_of_numbers_have_them_unrounded_with_their_spread() -> None:
    header, first, second = csv.reader(table_csv(example_run().papers[0].tables[0]).splitlines())
    assert header == ['a "name"', "ours", "ours, standard deviation", "theirs (printed)"]
    assert first == ["1", "0.5", str(0.5**0.5 / 2), "0.3"]
    assert second == ["💥, <b>", "", "", "1234567.0"]


# ------------------------------------------------------------------------------------------------ the command


@pytest.fixture
def nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "source_of", lambda *_: None)
    monkeypatch.setattr(whole, "reproduce", lambda *_, **__: example_run())


@pytest.mark.usefixtures("nothing_is_run")
def test_the_command_prints_every_verdict_and_where_the_pages_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "1 held, 1 not held, 1 cannot hold" in printed
    assert "index.html" in printed


def test_a_hard_claim_that_fails_ends_with_1_a_sentence_and_pages_that_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(whole, "source_of", lambda *_: None)
    monkeypatch.setattr(whole, "reproduce", lambda *_, **__: example_run(hard_holds=False))
    assert run(["reproduce", "--out", str(tmp_path / "out")]) == 1
    assert "Error: Claims that must hold in every run do not hold: 1;" in capsys.readouterr().err
    for name in ("index", "noise"):
        assert "do not hold here: 1." in (tmp_path / "out" / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("nothing_is_run")
@pytest.mark.parametrize("words", [["--snomed", "release"], ["--map", "map.csv"]])
def test_release_and_map_are_given_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(["reproduce", "--out", str(tmp_path / "out"), *words]) == 2
    assert "--map must be given with --snomed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("nothing_is_run")
def test_an_output_that_is_there_is_refused_before_anything_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(example_run(), tmp_path / "out")
    assert run(["reproduce", "--out", str(tmp_path / "out")]) == 2
    assert "add --force" in capsys.readouterr().err
    assert run(["reproduce", "--out", str(tmp_path / "out"), "--force"]) == 0


@pytest.mark.parametrize("exists", [False, True])
def test_a_data_path_that_is_not_a_folder_or_lacks_a_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], exists: bool
) -> None:
    folder = tmp_path / "data"
    if exists:
        folder.mkdir()
    assert run(["reproduce", "--data", str(folder), "--out", str(tmp_path / "out")]) == 2
    assert "There is no file or folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
