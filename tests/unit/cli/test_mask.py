"""The way from a file to a masked file on the command line, and every way it can go wrong."""

import json
import os
import random
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from anonto.cli.main import run

pytestmark = pytest.mark.slow

TABLE = "name,code,age\nJane,008,44\nJoe,b,51\nJim,008,7\nJo,,60\nJay,b,33\nJil,a,12\n"
ONTOLOGY = "id,parent\nroot,\na,root\nb,root\n008,a\n"
PLAN = """
[columns.name]
role = "identifier"

[columns.code]
ontology = "codes.csv"

[columns.age]
kind = "numeric"

[[steps]]
method = "random-swap"
columns = ["code", "age"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "codes.csv").write_text(ONTOLOGY)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def words(folder: Path, **changed: str) -> list[str]:
    given = {"table": "table.csv", "plan": "plan.toml", "output": "out.csv", **changed}
    return [
        "mask",
        str(folder / given["table"]),
        "--plan",
        str(folder / given["plan"]),
        "--output",
        str(folder / given["output"]),
    ]


def test_a_table_is_masked_with_report_and_private_record(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words(folder), "--report", str(folder / "report.html")]) == 0
    shown = capsys.readouterr()
    assert "6 released, 0 dropped" in shown.out
    assert "identifiers dropped" in shown.out
    out = pl.read_csv(folder / "out.csv", infer_schema=False)
    assert out.columns == ["code", "age"]
    assert sorted(out["age"]) == sorted(["44", "51", "7", "60", "33", "12"])
    assert stat.S_IMODE((folder / "out.csv.private.json").stat().st_mode) == 0o600
    report = (folder / "report.html").read_text()
    seed = json.loads((folder / "out.csv.private.json").read_text())["seed"]
    for text in (report, shown.out, shown.err, (folder / "out.csv").read_text()):
        assert seed not in text
    assert "Jane" not in report
    assert (folder / "table.csv").read_text() == TABLE


def test_the_same_seed_gives_the_same_file_and_json_gives_the_evidence(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = str((1 << 100) + 5)
    for name in ("one.csv", "two.csv"):
        assert run([*words(folder, output=name), "--seed", seed, "--json"]) == 0
    evidence = json.loads(capsys.readouterr().out.split("}\n{")[0] + "}")
    assert evidence["n_records"] == 6
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


def test_a_short_seed_and_unnamed_columns_are_warned_about(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plan.toml").write_text('[[steps]]\nmethod = "random-swap"\ncolumns = ["age"]\n')
    assert run([*words(folder), "--seed", "7"]) == 0
    said = capsys.readouterr().err
    assert "can be guessed" in said
    assert "name, code" in said


def test_cells_without_a_concept_are_counted_and_not_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "table.csv").write_text(TABLE.replace("Joe,b", "Joe,Mr Smith").replace("Jil,a", "Jil,Mr Smith"))
    (folder / "plan.toml").write_text(PLAN.replace('"codes.csv"', '"codes.csv"\nunmatched = "keep"'))
    assert run(words(folder)) == 0
    shown = capsys.readouterr()
    lines = [line.split() for line in shown.out.splitlines() if "without a concept" in line]
    assert lines == [["code", *["2", "cells", "without", "a", "concept,", "left", "in", "their", "record"]]]
    assert "Smith" not in shown.out + shown.err


def test_the_private_record_can_go_elsewhere(folder: Path) -> None:
    assert run([*words(folder), "--private", str(folder / "secret.json")]) == 0
    assert (folder / "secret.json").exists()
    assert not (folder / "out.csv.private.json").exists()


BAD_PLANS = {
    "broken TOML": 'a = 1\nb = "open\n',
    "unknown method": '[[steps]]\nmethod = "magic"\ncolumns = ["age"]\n',
    "unknown role": '[columns.age]\nrole = "key"\n',
    "unknown kind": '[columns.age]\nkind = "number"\n',
    "a column that is not there": '[columns.agee]\n[[steps]]\nmethod = "random-swap"\ncolumns = ["agee"]\n',
    "an ontology that is not there": PLAN.replace("codes.csv", "nowhere.csv"),
    "text in a numeric column": PLAN.replace('ontology = "codes.csv"', 'kind = "numeric"'),
    "missing cells refused": PLAN.replace('ontology = "codes.csv"', 'missing = "refuse"'),
}
BAD_TABLES = {
    "no bytes": b"",
    "ragged rows": b"name,code,age\nJane,008\nJoe,b,51,9\n",
    "wrong encoding": b"name,code,age\nJ\x81ne,008,44\n",
    "binary": bytes(range(256)) * 4,
    "two columns of one name": b"name,code,code\nJane,008,44\n",
    "a value with no concept": TABLE.encode().replace(b"b,51", b"secret,51"),
    "all cells missing": b"name,code,age\nJane,,44\nJoe,,51\n",
}


@pytest.mark.parametrize("case", BAD_PLANS)
def test_a_bad_plan_is_one_sentence_and_nothing_is_written(
    case: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "plan.toml").write_text(BAD_PLANS[case])
    _assert_refused(words(folder), folder, capsys)


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_one_sentence_and_nothing_is_written(
    case: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "table.csv").write_bytes(BAD_TABLES[case])
    _assert_refused(words(folder), folder, capsys)


@pytest.mark.parametrize(
    "changed",
    [
        {"table": "none.csv"},
        {"plan": "none.toml"},
        {"output": "table.csv"},
        {"output": "plan.toml"},
        {"output": "no/folder.csv"},
        {"output": "out.unknown"},
        {"output": "codes.csv"},
    ],
    ids=str,
)
def test_a_bad_path_is_one_sentence_and_nothing_is_written(
    changed: dict[str, str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _assert_refused(words(folder, **changed), folder, capsys)


def test_outputs_that_exist_or_coincide_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = str(folder / "out.csv")
    _assert_refused([*words(folder), "--report", same], folder, capsys)
    (folder / "out.csv").write_text("precious")
    assert run(words(folder)) == 2
    assert (folder / "out.csv").read_text() == "precious"
    assert run([*words(folder), "--force"]) == 0
    assert (folder / "out.csv").read_text() != "precious"


def test_a_report_that_cannot_be_written_leaves_no_table_either(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _assert_refused([*words(folder), "--report", str(folder / "no" / "report.html")], folder, capsys)


def test_a_column_that_is_hardly_masked_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "table.csv").write_text("sex\n" + "f\nm\n" * 200)
    (folder / "plan.toml").write_text('[[steps]]\nmethod = "frequency-swap"\ncolumns = ["sex"]\nk = 3\n')
    assert run(words(folder)) == 0
    assert "of the cells of column 'sex' are released unchanged" in capsys.readouterr().err


def test_suppression_says_how_many_cells_it_emptied_and_is_not_blamed_for_leaving_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "table.csv").write_text("sex,ward\n" + "f,a\nm,b\n" * 200 + "x,a\n")
    step = '[[steps]]\nmethod = "suppress"\ncolumns = ["sex", "ward"]\nk = 3\ncombinations = 2\n'
    (folder / "plan.toml").write_text(f"[columns.sex]\n\n[columns.ward]\n\n{step}")
    assert run([*words(folder), "--seed", str(1 << 90)]) == 0
    told = capsys.readouterr()
    assert "released unchanged" not in told.err
    assert re.search(r"emptied +\d+ cells at a cost of \d+", told.out)


def test_a_disk_that_is_full_leaves_nothing_behind(folder: Path) -> None:
    (folder / "table.csv").write_text("code\n" + "".join(f"code number {i}\n" for i in range(20_000)))
    (folder / "plan.toml").write_text('[[steps]]\nmethod = "random-swap"\ncolumns = ["code"]\n')
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)); "
        "from anonto.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    before = {path.name for path in folder.iterdir()}
    done = _python(code, words(folder))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in folder.iterdir()} == before


def test_ctrl_c_in_the_middle_leaves_no_output(folder: Path) -> None:
    _large(folder)
    before = {path.name for path in folder.iterdir()}
    process = subprocess.Popen(
        [sys.executable, "-m", "anonto", *words(folder)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    _wait_until_it_has_loaded_polars(process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode == 0:
        assert (folder / "out.csv").exists()
        return
    assert process.returncode == 130
    assert "Traceback" not in said
    assert {path.name for path in folder.iterdir()} == before


def test_a_kill_at_any_moment_leaves_no_output_or_the_whole_one(folder: Path) -> None:
    n = _large(folder)
    moments = random.Random(3)
    whole = 0
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-m", "anonto", *words(folder), "--force"],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "POLARS_MAX_THREADS": "1"},
        )
        try:
            process.wait(timeout=moments.uniform(0.2, 4.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if (folder / "out.csv").exists():
            whole += 1
            assert pl.read_csv(folder / "out.csv", infer_schema=False).height == n
            (folder / "out.csv").unlink()
    assert run([*words(folder), "--force"]) == 0
    assert pl.read_csv(folder / "out.csv", infer_schema=False).height == n


def _large(folder: Path) -> int:
    n = 300_000
    pl.DataFrame({"code": [f"{i % 977:03d}" for i in range(n)], "note": [f"text {i}" for i in range(n)]}).write_csv(
        folder / "table.csv"
    )
    plan = '[columns.note]\nrole = "other"\n[[steps]]\nmethod = "random-swap"\ncolumns = ["code"]\n'
    (folder / "plan.toml").write_text(plan)
    return n


def _wait_until_it_has_loaded_polars(process: subprocess.Popen[str]) -> None:
    """A command that is still starting answers Ctrl-C as Python does; look into its memory map, where there is one."""
    maps = Path(f"/proc/{process.pid}/maps")
    for _ in range(200):
        time.sleep(0.05)
        if process.poll() is not None or (maps.exists() and "polars" in maps.read_text()):
            return


def _python(code: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def _assert_refused(arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    sentences = [line for line in said.err.strip().splitlines() if not line.startswith("Warning")]
    assert len(sentences) == 1
    assert "Traceback" not in said.err
    assert not any(cell in said.err for cell in ("Jane", "Joe", "secret"))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("memory", [[], ["--memory", "1GB"]], ids=["at-once", "in-batches"])
def test_a_table_with_only_a_header_is_reported_and_nothing_is_called_proved(
    folder: Path, capsys: pytest.CaptureFixture[str], memory: list[str]
) -> None:
    (folder / "header.csv").write_text(TABLE.partition("\n")[0] + "\n")
    plan = PLAN.replace('method = "random-swap"', 'method = "group-swap"\nk = 3')
    (folder / "groups.toml").write_text(plan)
    assert run([*words(folder, table="header.csv", plan="groups.toml"), *memory]) == 0
    shown = capsys.readouterr()
    assert "Warning: The table has no record: " in shown.err
    assert "not proved, because no record is released" in " ".join(shown.out.split())


def test_a_file_with_an_undecodable_name_is_masked_and_reported(folder: Path) -> None:
    where = folder / os.fsdecode(b"caf\xe9")
    where.mkdir()
    for name in ("table.csv", "codes.csv", "plan.toml"):
        (folder / name).rename(where / name)
    done = subprocess.run([sys.executable, "-m", "anonto", *words(where)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"caf\\udce9/out.csv" in done.stdout
    assert (where / "out.csv").exists()
