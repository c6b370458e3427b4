"""A run that is stopped, killed or out of disk leaves nothing under the output's name; the next one starts clean."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest

import anonto
from anonto.encoding.columns import encode
from anonto.engine.files.workspace import workspace
from anonto.errors import AnontoWarning, FileError
from anonto.io.batches import parquet_files
from anonto.io.left_behind import LOCK, new_name
from anonto.io.left_behind import WORKING as PREFIX
from anonto.io.reading import read_table

N_ROWS = 120_000
START = """
import sys
import anonto.engine.run
from anonto.cli.main import main
from anonto.runtime.memory_limit import MemoryLimit
anonto.engine.run.bytes_in_memory = lambda *_: 1 << 60
MemoryLimit.rows_at_once = lambda *_: 4000
MemoryLimit.for_sorting = property(lambda _: 400_000)
{before}
main()
"""
NO_SPACE = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"

pytestmark = pytest.mark.slow


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


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_the_end_that_a_scheduler_asks_for_leave_nothing_behind(asked: int, folder: Path) -> None:
    before = names(folder)
    process = started(folder)
    until = time.monotonic() + 60
    while not any(name.startswith(PREFIX) for name in names(folder)) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(asked)
    _, said = process.communicate(timeout=60)
    if process.returncode == 0:
        assert n_rows(output(folder)) == N_ROWS
        return
    assert process.returncode == 128 + asked, said
    assert said.count("Error: Stopped; nothing was left half-written.") == 1
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


@pytest.mark.filterwarnings("ignore:Removed from .* runs that were killed:anonto.errors.AnontoWarning")
def test_only_the_folders_of_runs_that_ended_are_removed(tmp_path: Path) -> None:
    left_over = tmp_path / new_name(PREFIX)
    left_over.mkdir()
    (left_over / LOCK).touch()
    (left_over / "raw-0").write_bytes(b"codes")
    with workspace(tmp_path / "one.csv") as own:
        assert not left_over.exists()
        assert own.stat().st_mode & 0o777 == 0o700
        with workspace(tmp_path / "other.csv"):
            assert own.exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore:Removed from .* runs that were killed:anonto.errors.AnontoWarning")
def test_a_folder_that_lost_its_lock_is_removed_when_it_is_old(tmp_path: Path) -> None:
    young, old = tmp_path / new_name(PREFIX), tmp_path / new_name(PREFIX)
    for one in (young, old):
        one.mkdir()
        (one / "raw-0").write_bytes(b"codes")
    an_hour_ago = time.time() - 3600
    os.utime(old, (an_hour_ago, an_hour_ago))
    with workspace(tmp_path / "one.csv"):
        assert young.exists()
        assert not old.exists()


def test_the_lock_is_removed_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    real = Path.unlink

    def watched(self: Path, missing_ok: bool = False) -> None:
        seen.append((self.parent / LOCK).exists())
        real(self, missing_ok=missing_ok)

    with workspace(tmp_path / "one.csv") as folder:
        (folder / "raw-0").write_bytes(b"codes")
        (folder / "raw-1").write_bytes(b"codes")
        monkeypatch.setattr(Path, "unlink", watched)
    assert seen[:2] == [True, True]
    assert not list(tmp_path.iterdir())


def test_a_kill_while_saving_leaves_no_seed_that_the_next_run_does_not_remove(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("code\n" + "a\nb\nc\n" * 200, encoding="utf-8")
    (tmp_path / "plan.toml").write_text('[[steps]]\nmethod = "random-swap"\ncolumns = ["code"]\n')
    killed = """
import os, sys
from pathlib import Path
import anonto

Path.replace = lambda *_: os.kill(os.getpid(), 9)
anonto.mask("table.csv", "plan.toml").save("out.csv")
"""
    command = [sys.executable, "-W", "ignore", "-c", killed]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == -signal.SIGKILL
    left = names(tmp_path) - {"table.csv", "plan.toml"}
    assert left
    assert all(name.startswith(".anonto-") for name in left)
    command[-1] = 'import anonto; anonto.mask("table.csv", "plan.toml").save("out.csv")'
    subprocess.run(command, cwd=tmp_path, check=True)
    assert names(tmp_path) == {"table.csv", "plan.toml", "out.csv", "out.csv.private.json"}


def test_what_is_read_is_never_written_over(tmp_path: Path) -> None:
    frame = pl.DataFrame({"code": ["a", "b", "c"] * 50})
    (tmp_path / "visits").mkdir()
    for year in ("2022", "2023"):
        frame.write_parquet(tmp_path / "visits" / f"{year}.parquet")
    plan = {"steps": [{"method": "random-swap", "columns": ["code"]}]}
    before = (tmp_path / "visits" / "2023.parquet").read_bytes()
    with pytest.raises(FileError, match="is also an input or another output"):
        anonto.mask_file(tmp_path / "visits", plan, tmp_path / "visits" / "2023.parquet", force=True)
    with pytest.raises(FileError, match="is also an input or another output"):
        anonto.mask_file(
            tmp_path / "visits", plan, tmp_path / "o.parquet", report=tmp_path / "visits/2022.parquet", force=True
        )
    with pytest.raises(FileError, match="is also an input or another output"):
        anonto.mask_file(tmp_path / "visits", plan, tmp_path / "o.parquet", report=tmp_path / "o.parquet", force=True)
    assert (tmp_path / "visits" / "2023.parquet").read_bytes() == before
    assert names(tmp_path) == {"visits"}


def test_working_files_in_a_folder_are_not_part_of_its_table(tmp_path: Path) -> None:
    for name in ("2022", ".anonto-0123456789abcdef", "_temporary"):
        pl.DataFrame({"code": [name]}).write_parquet(tmp_path / f"{name}.parquet")
    found = parquet_files(tmp_path)
    assert found is not None
    assert [one.name for one in found] == ["2022.parquet"]


@pytest.mark.parametrize("n_rows", [300, 200])
def test_a_parquet_file_that_changes_while_it_is_masked_in_memory_is_refused(tmp_path: Path, n_rows: int) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"code": ["a", "b", "c"] * 100, "stays": range(300)}).write_parquet(path)
    read = read_table(path, apart=["code"])
    pl.DataFrame({"code": ["x"] * n_rows, "stays": range(n_rows)}).write_parquet(path)
    with pytest.raises(FileError, match="changed while it was being masked"):
        encode(read.apart["code"])


def test_what_a_killed_run_left_is_removed_by_one_that_fits_into_memory(folder: Path) -> None:
    process = started(folder)
    while process.poll() is None and not any(name.startswith(PREFIX) for name in names(folder)):
        time.sleep(0.01)
    time.sleep(0.2)
    process.kill()
    process.communicate()
    left = [name for name in names(folder) if name.startswith(PREFIX)]
    assert left or process.returncode == 0
    small = folder / "small.parquet"
    pl.DataFrame({"a": ["x", "y"] * 100}).write_parquet(small)
    plan = {"steps": [{"method": "random-swap", "columns": ["a"]}]}
    with pytest.warns(AnontoWarning, match="the remains of runs that were killed") if left else nullcontext():
        anonto.mask_file(small, plan, folder / "small-out.parquet", seed=1 << 100)
    assert not [name for name in names(folder) if name.startswith(PREFIX)]
