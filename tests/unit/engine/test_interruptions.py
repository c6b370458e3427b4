"""A run that is stopped, killed or out of disk leaves nothing under the output's name; the next one starts clean."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest

from anonto.engine.workspace import LOCK, PREFIX, workspace

if TYPE_CHECKING:
    from pathlib import Path

N_ROWS = 120_000
START = """
import sys
import anonto.run
from anonto.cli.main import run
from anonto.engine.memory import Room
anonto.run.bytes_in_memory = lambda *_: 1 << 60
Room.rows_at_once = lambda *_: 4000
Room.of_table = property(lambda _: 400_000)
{before}
sys.exit(run(sys.argv[1:]))
"""
NO_SPACE = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"


@pytest.fixture(params=["parquet", "csv"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {"code": [f"code {i % 700}" for i in range(N_ROWS)], "note": [f"free text {i}" for i in range(N_ROWS)]}
    )
    if request.param == "csv":
        frame.write_csv(tmp_path / "table")
    else:
        frame.write_parquet(tmp_path / "table")
    (tmp_path / "plan.toml").write_text('[[steps]]\nmethod = "random-swap"\ncolumns = ["code"]\n')
    (tmp_path / "format").write_text(request.param)
    return tmp_path


def started(folder: Path, *options: str, before: str = "") -> subprocess.Popen[str]:
    code = START.format(before=before)
    words = ["mask", "table", "--plan", "plan.toml", "--output", output(folder).name, "--memory", "500MB", *options]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )


def output(folder: Path) -> Path:
    return folder / f"out.{(folder / 'format').read_text()}"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def n_rows(path: Path) -> int:
    frame = pl.read_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.read_parquet(path)
    return frame.height


@pytest.mark.parametrize("limit", [20_000, 400_000])
def test_a_disk_that_is_full_leaves_nothing_behind(folder: Path, limit: int) -> None:
    before = names(folder)
    process = started(folder, before=NO_SPACE.format(limit))
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    assert "cannot be written" in said
    assert "Traceback" not in said
    assert names(folder) == before


def test_ctrl_c_leaves_nothing_behind(folder: Path) -> None:
    before = names(folder)
    process = started(folder)
    until = time.monotonic() + 60
    while not any(name.startswith(PREFIX) for name in names(folder)) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    if process.returncode == 0:
        assert n_rows(output(folder)) == N_ROWS
        return
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert names(folder) == before


def test_a_kill_leaves_no_output_or_the_whole_one_and_the_next_run_starts_clean(folder: Path) -> None:
    moments = random.Random(5)
    for _ in range(2):
        process = started(folder, "--force")
        while process.poll() is None and not any(name.startswith(PREFIX) for name in names(folder)):
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.6))
        process.kill()
        process.communicate()
        if output(folder).exists():
            assert n_rows(output(folder)) == N_ROWS
            output(folder).unlink()
    process = started(folder, "--force")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert n_rows(output(folder)) == N_ROWS
    assert not [name for name in names(folder) if name.startswith(PREFIX)]


def test_only_the_folders_of_runs_that_ended_are_removed(tmp_path: Path) -> None:
    left_over = tmp_path / f"{PREFIX}0123"
    left_over.mkdir()
    (left_over / LOCK).touch()
    (left_over / "raw-0").write_bytes(b"codes")
    with workspace(tmp_path / "one.csv") as own:
        assert not left_over.exists()
        assert own.stat().st_mode & 0o777 == 0o700
        with workspace(tmp_path / "other.csv"):
            assert own.exists()
    assert not list(tmp_path.iterdir())
