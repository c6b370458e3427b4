import csv
import gzip
import json
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from anonto.cli.main import app, run

EDGES = "id,parent,label\nroot,,everything\na,root,first\nb,root,second\n008,a,eighth\n"


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text(EDGES)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("code;name\n8;Jane\nb;Joe\n?;Jim\nsecret;Jo\n;Jay\n")
    return path


def test_help_imports_no_compiler_no_table_library_and_no_templates() -> None:
    code = (
        "import sys; from anonto.cli.main import run; assert run(['--help']) == 0; "
        "print([m for m in ('numba', 'polars', 'jinja2', 'numpy', 'scipy') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip().endswith("[]")


def test_masking_imports_no_method_that_is_not_in_the_plan_and_no_reader_of_ontologies() -> None:
    code = (
        "import sys, anonto, polars as pl; table = pl.DataFrame({'a': ['x', 'y']}); "
        "anonto.mask(table, {'steps': [{'method': 'random-swap', 'columns': ['a']}]}); "
        "unused = ('methods.microaggregate', 'methods.rank_swap', 'methods.semantic_noise', 'ontology.obo'); "
        "print([m for m in unused if f'anonto.{m}' in sys.modules], 'anonto.methods.random_swap' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


def test_every_command_has_a_help_text_with_an_example() -> None:
    groups = (group.typer_instance.registered_commands for group in app.registered_groups)
    for command in [*app.registered_commands, *(one for group in groups for one in group)]:
        text = command.callback.__doc__ or ""
        assert "Example: `anonto " in text, command.callback.__name__


def test_the_health_card_says_size_shape_and_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "faulty.csv"
    path.write_text("id,parent,label\nr,,top\nm,r,mid\nc,m,low\nc,r,low\nc,m,low\nd,nowhere,lost\n")
    assert run(["ontology", str(path)]) == 0
    shown = capsys.readouterr().out
    for fact in ("4 (2 leaves)", "2: r top, d lost", "virtual root", "3 nodes", "cycles", "none"):
        assert fact in shown
    assert "3: 1 to undeclared parents, 1 repeated, 1 shortcuts" in shown


def test_the_health_card_for_machines_is_json(edges: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ontology", str(edges), "--json", "--root", "a"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert (card["concepts"], card["depth"], card["restricted_to"]) == (2, 2, "a")
    assert card["edges"] == {"read": 3, "kept": 1, "dangling": 0, "orphaned": 0, "duplicate": 0, "redundant": 0}


def test_ontologies_with_a_name_are_listed_and_can_be_opened(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ontologies", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"icd10cm", "nervous-system", "dementias"} <= {one["name"] for one in listed}
    for one in listed:
        assert one["available"]
        assert run(["ontology", one["name"], "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["concepts"] > 5
    assert run(["ontologies"]) == 0
    assert "nervous-system" in capsys.readouterr().out


def test_matching_prints_counts_and_values_only_on_request(
    edges: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["match", str(table), "--column", "code", "--ontology", str(edges), "--na", "?"]
    assert run(words) == 0
    shown = capsys.readouterr().out
    assert "66.67% of cells" in shown
    assert "by leading zeros" in shown
    assert "secret" not in shown
    assert run([*words, "--values"]) == 0
    assert "secret" in capsys.readouterr().out
    assert run([*words, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["cells"], summary["missing"], summary["unmatched"]) == (3, 2, {"distinct": 1, "cells": 1})


def test_the_mapping_is_written_for_its_owner_alone_and_not_over_another_file(
    edges: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mapping.csv"
    words = ["match", str(table), "-c", "code", "-o", str(edges), "--na", "?", "--output", str(out)]
    assert run(words) == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    with out.open(newline="") as file:
        rows = {row["value"]: row for row in csv.DictReader(file)}
    assert (rows["8"]["concept"], rows["8"]["rule"]) == ("008", "leading zeros")
    assert rows["secret"]["concept"] == ""
    assert run(words) == 2
    assert "exists already" in capsys.readouterr().err
    assert run([*words, "--force"]) == 0
    assert run([*words[:-1], str(tmp_path / "no" / "folder.csv")]) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["edges.csv", "mapping.csv", "table.csv"]


def test_a_parquet_or_gzipped_table_matches_like_its_csv(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import polars as pl

    pl.DataFrame({"code": ["8", "b", None]}).write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b'code,"other, name"\n8,1\nb,2\n,3\n'))
    summaries = []
    for name in ("t.parquet", "t.csv.gz"):
        assert run(["match", str(tmp_path / name), "-c", "code", "-o", str(edges), "--json"]) == 0
        summaries.append(json.loads(capsys.readouterr().out))
    assert summaries[0] == summaries[1]


def test_bad_input_is_one_sentence_exit_code_2_and_no_traceback(
    edges: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "cycle.csv").write_text("id,parent\na,b\nb,a\n")
    (tmp_path / "ragged.csv").write_text("code,x\n8,1,2\nsecret,2,3,4\n")
    (tmp_path / "header.csv").write_text("code,x\n")
    cases = [
        ["ontology", str(tmp_path / "nowhere.obo")],
        ["ontology", "icd10cn"],
        ["ontology", str(tmp_path / "empty.csv")],
        ["ontology", str(tmp_path / "cycle.csv")],
        ["ontology", str(edges), "--root", "nowhere"],
        ["ontology", str(edges), "--format", "obi"],
        ["match", str(table), "-c", "cod", "-o", str(edges)],
        ["match", str(tmp_path), "-c", "code", "-o", str(edges)],
        ["match", str(tmp_path / "empty.csv"), "-c", "code", "-o", str(edges)],
        ["match", str(tmp_path / "ragged.csv"), "-c", "code", "-o", str(edges)],
        ["match", str(tmp_path / "none.csv"), "-c", "code", "-o", str(edges)],
        ["match", str(table), "-c", "code"],
        ["nonsense"],
    ]
    for words in cases:
        assert run(words) == 2, words
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.strip()
        assert "Traceback" not in said.err
        assert "secret" not in said.err
        assert len(said.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [("code,x\n", "'code' has no cells"), ("code,x\n,1\n?,2\n", "'code' has no value: all 2 cells are missing")],
)
def test_a_column_without_a_value_cannot_be_matched(
    content: str, says: str, edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text(content)
    out = tmp_path / "mapping.csv"
    words = ["match", str(tmp_path / "t.csv"), "-c", "code", "-o", str(edges), "--na", "?", "--output", str(out)]
    assert run(words) == 2
    said = capsys.readouterr()
    assert (said.out, says in said.err) == ("", True)
    assert not out.exists()


def test_the_help_says_how_many_values_get_suggestions(capsys: pytest.CaptureFixture[str]) -> None:
    from anonto.encoding.match import MAX_VALUES_WITH_SUGGESTIONS

    assert run(["match", "--help"]) == 0
    assert f"{MAX_VALUES_WITH_SUGGESTIONS:,} most" in " ".join(capsys.readouterr().out.replace("│", " ").split())


@pytest.mark.parametrize("kind", [RuntimeError, pl.exceptions.PanicException])
def test_our_own_mistakes_have_exit_code_1_and_show_no_data(
    kind: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        message = "secret"
        raise kind(message)

    monkeypatch.setattr("anonto.ontology.card.health_card", broken)
    assert run(["ontology", "illnesses"]) == 1
    said = capsys.readouterr().err
    assert "an internal error" in said
    assert "secret" not in said


def test_ctrl_c_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("anonto.ontology.card.health_card", interrupted)
    assert run(["ontology", "illnesses"]) == 130
    assert "Stopped" in capsys.readouterr().err


@pytest.mark.usefixtures("icd10cm")
def test_the_demo_prints_statistics_and_is_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = []
    for _ in range(2):
        assert run(["demo", "--records", "100", "--force"]) == 0
        shown.append(capsys.readouterr().out)
    assert "semantic mean" in shown[0]
    assert shown[0] == shown[1]
    assert (tmp_path / "demo-out" / "report.html").is_file()


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    import anonto

    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"anonto {anonto.__version__}"
