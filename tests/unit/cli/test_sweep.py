"""The command that tries many plans: what it prints and writes, and that it can be stopped at any moment."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anonto.cli.main import run
from anonto.masking.plan import Plan

pytestmark = pytest.mark.slow

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
method = "group-swap"
columns = ["illness", "age"]
k = 5
"""
GRID = """
[group-swap]
k = [10, 40]

[rank-swap]
percent = [1.0]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    n = 160
    pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], n),
            "age": rng.integers(0, 90, n),
            "stay": rng.integers(1, 30, n),
        }
    ).write_csv(tmp_path / "table.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path


def words(folder: Path, *more: str) -> list[str]:
    start = ["sweep", str(folder / "table.csv"), "--plan", str(folder / "plan.toml")]
    return [*start, "--grid", str(folder / "grid.toml"), "--workers", "1", "--seeds", "2", *more]


def test_the_answer_is_printed_with_its_reasons_and_written_as_a_plan(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen, page = folder / "chosen.toml", folder / "map.html"
    assert run(words(folder, "--max-risk", "0.12", "--output", str(chosen), "--report", str(page))) == 0
    out = capsys.readouterr().out
    assert "4 tried with 2 seeds each" in out
    assert "Answer for a risk of at most 12 %" in out
    assert "group-swap (k = 40) keeps the most utility" in out
    assert Plan.from_toml(chosen).steps[0].to_dict()["k"] == 40
    html = page.read_text(encoding="utf-8")
    assert 'role="img"' in html
    assert "group-swap (k = 40)" in html
    assert (folder / "chosen.toml.sweep.jsonl").exists()


def test_with_json_all_points_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words(folder, "--json")) == 0
    data = json.loads(capsys.readouterr().out)
    assert [one["label"] for one in data["points"]] == [
        "group-swap (k = 5)",
        "group-swap (k = 10)",
        "group-swap (k = 40)",
        "rank-swap (percent = 1)",
    ]
    assert data["answer"] is None
    assert [path.name for path in folder.iterdir() if path.suffix == ".jsonl"] == []


def test_where_no_plan_is_safe_enough_that_is_said_and_no_plan_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = folder / "chosen.toml"
    assert run(words(folder, "--max-risk", "0.0001", "--output", str(chosen))) == 2
    said = capsys.readouterr()
    assert "The safest is group-swap (k = 40)" in said.out
    assert "Written" not in said.out
    assert "None of the plans that were tried is safe at 0.01 %" in said.err
    assert not chosen.exists()
    assert run(words(folder, "--max-risk", "0.0001", "--resume", str(folder / "chosen.toml.sweep.jsonl"))) == 0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--output", "{}/chosen.toml"], "--max-risk must be given with --output"),
        (["--max-risk", "2"], "max_risk must be a number from 0 to 1"),
        (["--max-risk", "0.1", "--output", "{}/plan.toml"], "also an input"),
        (["--report", "{}/map.html", "--resume", "{}/map.html"], "also an input or another output"),
        (["--resume", "{}/table.csv"], "also an input"),
        (["--report", "{}/there.html"], "exists already"),
        (["--seeds", "0"], "seeds must be a whole number"),
        (["--resume", "{}/there.html"], "not a file of a sweep's results"),
    ],
)
def test_wrong_options_end_in_one_sentence_before_any_work(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], sentence: str
) -> None:
    (folder / "there.html").write_text("here")
    assert run(words(folder, *(word.format(folder) for word in more))) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert (folder / "there.html").read_text() == "here"


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def children_of(process: int) -> list[int]:
    text = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8")
    return [int(word) for word in text.split()]


def is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_stopped_in_the_middle_it_leaves_no_worker_and_goes_on_where_it_was(
    folder: Path, capsys: pytest.CaptureFixture[str], stop: signal.Signals
) -> None:
    kept = folder / "kept.jsonl"
    (folder / "grid.toml").write_text("[group-swap]\nk = [6, 8, 10, 12]\n")
    arguments = [*words(folder), "--resume", str(kept), "--seeds", "40"]
    arguments[arguments.index("--workers") + 1] = "2"
    process = subprocess.Popen(
        [sys.executable, "-m", "anonto", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        until = time.monotonic() + 60
        while len(lines_of(kept)) < 4 and time.monotonic() < until:
            assert process.poll() is None
            time.sleep(0.02)
        workers = children_of(process.pid)
        assert len(workers) == 2
        os.kill(process.pid, stop)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    until = time.monotonic() + 20
    while any(map(is_alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_alive, workers))
    if stop == signal.SIGINT:
        assert process.returncode == 130
        assert "the same command resumes from there" in said
        assert "Traceback" not in said
    n_kept = len(lines_of(kept))
    assert 4 <= n_kept < 200
    again = [*words(folder), "--resume", str(kept), "--json"]
    assert run(again) == 0
    resumed = capsys.readouterr().out
    assert run([*words(folder), "--json"]) == 0
    assert capsys.readouterr().out == resumed
