"""A file appears complete or not at all, however the writing ends."""

from __future__ import annotations

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import polars as pl
import pytest

from anonto.errors import AnontoWarning, ExistingFileError, UnwritableFileError
from anonto.io.atomic_write import atomic_write, pending_files
from anonto.io.left_behind import UNFINISHED, new_name
from anonto.io.reading import read_table

pytestmark = pytest.mark.slow

ENDLESS_WRITER = """
import sys
import polars as pl
from anonto.io.table import Origin, Table
from anonto.io.writing import write_table
path, n = sys.argv[1], int(sys.argv[2])
table = Table(pl.DataFrame({"a": [str(i % 997) for i in range(n)], "b": [str(i) for i in range(n)]}),
              Origin(name="t", format="csv"))
print("ready", flush=True)
while True:
    write_table(table, path, force=True)
"""

WRITER_ON_A_FULL_DISK = """
import resource, sys
import numpy as np
import polars as pl
from anonto.errors import UnwritableFileError
from anonto.io.table import Origin, Table
from anonto.io.writing import write_table
rng = np.random.default_rng(0)
frame = pl.DataFrame({"a": rng.random(20_000), "s": rng.integers(0, 10**12, 20_000).astype(str)})
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    write_table(Table(frame, Origin(name="t", format="memory")), sys.argv[1])
except UnwritableFileError as error:
    print(error)
    sys.exit(2)
"""


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail_in_the_middle(target: Path, error: type[BaseException]) -> None:
    with atomic_write(target) as beside:
        beside.write_text("half")
        raise error


def write_together(folder: Path, *names: str) -> None:
    with pending_files() as files:
        for name in names:
            files.add(folder / name).write_text("new")


def test_the_file_appears_after_the_block(tmp_path):
    target = tmp_path / "out.csv.gz"
    with atomic_write(target) as beside:
        beside.write_bytes(b"x")
        assert not target.exists()
        assert beside.parent == tmp_path
        assert beside.name.startswith(".")
        assert beside.suffixes == [".csv", ".gz"]
    assert target.read_bytes() == b"x"
    assert names_in(tmp_path) == ["out.csv.gz"]


def test_the_mode_is_set_when_the_file_is_created(tmp_path):
    with atomic_write(tmp_path / "out", mode=0o600) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_leaves_the_old_file_and_no_temporary_one(tmp_path, error):
    (tmp_path / "out").write_text("old")
    with pytest.raises(error):
        fail_in_the_middle(tmp_path / "out", error)
    assert (tmp_path / "out").read_text() == "old"
    assert names_in(tmp_path) == ["out"]


def test_an_existing_file_is_kept_before_the_work_and_after_it(tmp_path):
    target = tmp_path / "out"
    with pytest.raises(ExistingFileError), atomic_write(target, force=False):
        target.write_text("someone else's")
    assert target.read_text() == "someone else's"
    with pytest.raises(ExistingFileError), atomic_write(target, force=False):
        pytest.fail("the work was begun")
    assert names_in(tmp_path) == ["out"]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link") as beside:
        beside.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("name", ["none/out.csv", "folder", "file/out.csv", "x" * 300, "nul\x00byte", "pipe"])
def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnwritableFileError, match="cannot be written"), atomic_write(tmp_path / name) as beside:
        beside.write_text("x")
    assert names_in(tmp_path) == ["file", "folder", "pipe"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("No space left on device (os error 28)"),
        pl.exceptions.ComputeError("underlying IO error: No space left on device (os error 28)"),
        RuntimeError("[Errno 28] No space left on device"),
    ],
)
def test_a_full_disk_is_reported_whatever_error_the_library_raises(tmp_path, error):
    with pytest.raises(UnwritableFileError, match="No space left on device"), atomic_write(tmp_path / "out"):
        raise error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.xlsx", "t.sav", "t.zsav", "t.dta", "t.xpt"])
def test_a_disk_that_fills_up_in_the_middle_leaves_no_file(tmp_path, name):
    run = subprocess.run(
        [sys.executable, "-c", WRITER_ON_A_FULL_DISK, str(tmp_path / name)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2, run.stderr
    assert "cannot be written" in run.stdout
    assert len(run.stdout.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_kill_at_any_moment_leaves_the_whole_file_or_none(tmp_path, name):
    target = tmp_path / name
    moments = random.Random(7)
    n_records = 200_000
    for trial in range(20):
        command = [sys.executable, "-W", "ignore", "-c", ENDLESS_WRITER, str(target), str(n_records)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout.readline() == "ready\n"
            time.sleep(moments.random() * (0.03 if trial % 2 else 0.15))
            writer.send_signal(signal.SIGKILL)
        if target.exists():
            assert read_table(target).frame.height == n_records
            target.unlink()
    with (
        pytest.warns(AnontoWarning, match="the remains of runs that were killed")
        if names_in(tmp_path)
        else nullcontext(),
        atomic_write(target) as beside,
    ):
        beside.write_text("x")
    assert names_in(tmp_path) == [name]


@pytest.mark.filterwarnings("ignore:Removed from .* runs that were killed:anonto.errors.AnontoWarning")
def test_only_unlocked_files_are_removed_as_leftovers(tmp_path):
    (tmp_path / f"{new_name(UNFINISHED)}.private.json").write_text("the seed of a run that was killed")
    (tmp_path / new_name(UNFINISHED)).touch()
    (tmp_path / ".anonto-notes.txt").touch()
    with atomic_write(tmp_path / "one") as first:
        with atomic_write(tmp_path / "other") as second:
            assert names_in(tmp_path) == sorted([".anonto-notes.txt", first.name, second.name])
            second.write_text("2")
        first.write_text("1")
    assert names_in(tmp_path) == [".anonto-notes.txt", "one", "other"]
    assert (tmp_path / "one").read_text() == "1"


def test_files_that_belong_together_appear_together(tmp_path):
    with pending_files() as files:
        table, record = files.add(tmp_path / "table"), files.add(tmp_path / "record", mode=0o600)
        table.write_text("t")
        record.write_text("r")
        assert not {"table", "record"} & set(names_in(tmp_path))
    assert names_in(tmp_path) == ["record", "table"]
    assert stat.S_IMODE((tmp_path / "record").stat().st_mode) == 0o600


@pytest.mark.parametrize("at", range(4))
def test_files_that_belong_together_stay_away_together(tmp_path, monkeypatch, at):
    (tmp_path / "record").write_text("old")
    real, calls = os.fsync, []

    def failing(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == at + 1:
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    try:
        write_together(tmp_path, "table", "record", "report")
    except UnwritableFileError:
        assert at < 3
        assert names_in(tmp_path) == ["record"]
        assert (tmp_path / "record").read_text() == "old"
    else:
        assert at == 3  # of the folder, which some file systems cannot
        assert names_in(tmp_path) == ["record", "report", "table"]


def test_a_move_that_fails_takes_new_files_back(tmp_path, monkeypatch):
    real = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if target.name == "table":
            raise OSError(errno.EACCES, "Permission denied")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(UnwritableFileError, match=r"table.*Permission denied"):
        write_together(tmp_path, "table", "record")
    assert names_in(tmp_path) == []


def test_a_move_that_fails_puts_replaced_files_back(tmp_path, monkeypatch):
    for name in ("table", "record"):
        (tmp_path / name).write_text("old")
    real = Path.replace

    def failing(self: Path, target: Path) -> Path:
        if target.name == "table":
            raise OSError(errno.EACCES, "Permission denied")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(UnwritableFileError):
        write_together(tmp_path, "table", "record", "report")
    assert names_in(tmp_path) == ["record", "table"]
    assert {(tmp_path / name).read_text() for name in names_in(tmp_path)} == {"old"}


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_committed_files_are_rolled_back_after_an_error_unless_they_are_kept(tmp_path, error, stays):
    (tmp_path / "record").write_text("old")

    def fail() -> None:
        with pending_files() as files:
            for name in ("record", "report"):
                files.add(tmp_path / name).write_text("new")
            files.commit()
            assert (tmp_path / "record").read_text() == "new"
            if stays:
                files.keep()
            raise error

    with pytest.raises(error):
        fail()
    assert names_in(tmp_path) == (["record", "report"] if stays else ["record"])
    assert (tmp_path / "record").read_text() == ("new" if stays else "old")


def test_a_file_that_can_have_no_second_name_is_replaced(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    (tmp_path / "record").write_text("old")
    write_together(tmp_path, "table", "record")
    assert names_in(tmp_path) == ["record", "table"]
    assert (tmp_path / "record").read_text() == "new"


def test_an_error_names_the_file_it_is_about(tmp_path):
    def fail() -> None:
        with pending_files() as files:
            files.add(tmp_path / "table")
            raise OSError(errno.ENOSPC, "No space left on device", str(files.add(tmp_path / "record")))

    with pytest.raises(UnwritableFileError, match="record"):
        fail()


def test_a_read_only_folder_is_one_sentence(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UnwritableFileError, match="Read-only file system"), atomic_write(Path(tmp_path / "out")):
        pytest.fail("the work was begun")
