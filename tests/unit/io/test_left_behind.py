"""Leftovers of killed runs are removed with a warning; files in use and files of others stay."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anonto.engine.files.workspace import workspace
from anonto.errors import AnontoWarning
from anonto.io import left_behind
from anonto.io.atomic_write import atomic_write
from anonto.io.left_behind import A_WEEK, LOCK, UNFINISHED, WORKING, clear_left_over, new_name

HOLDS = """
import sys, time
from pathlib import Path
from anonto.engine.files.workspace import workspace
from anonto.io.atomic_write import atomic_write
with workspace(Path(sys.argv[1]) / "out.csv") as folder, atomic_write(Path(sys.argv[1]) / "other.csv"):
    (folder / "rows").write_text("rows")
    print("ready", flush=True)
    time.sleep(120)
"""


ELSEWHERE = "01234567-89abcdef-0123456789abcdef"


def left_in(folder: Path, name: str | None = None) -> Path:
    one = folder / (name or new_name(WORKING))
    (one / "deeper").mkdir(parents=True)
    (one / "rows").write_text("rows")
    (one / "deeper" / "rows").write_text("rows")
    (one / LOCK).touch()
    return one


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_of_a_running_process_stay_and_are_removed_after_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            before = names_in(tmp_path)
            assert len(before) == 2
            clear_left_over(tmp_path)
            assert names_in(tmp_path) == before
        finally:
            other.send_signal(signal.SIGKILL)
    with pytest.warns(
        AnontoWarning, match="runs that were killed: .*1 working folder with rows of a table and 1 unfinished file"
    ) as told:
        clear_left_over(tmp_path)
    assert len(told) == 1
    assert names_in(tmp_path) == []
    clear_left_over(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    kept = left_in(elsewhere)
    here = tmp_path / "here"
    here.mkdir()
    links = here / new_name(WORKING), here / f"{new_name(UNFINISHED)}.csv"
    links[0].symlink_to(kept)
    links[1].symlink_to(kept / "rows")
    left = left_in(here)
    (left / "link").symlink_to(kept)
    linked = left_in(here)
    (linked / LOCK).unlink()
    (linked / LOCK).symlink_to(kept / LOCK)
    with pytest.warns(AnontoWarning, match="runs that were killed: .*1 working folder"):
        clear_left_over(here)
    assert names_in(here) == sorted(one.name for one in (*links, linked))
    assert names_in(kept) == ["deeper", LOCK, "rows"]


def test_files_with_another_name_or_owner_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        f"{WORKING}notes",
        f"{WORKING}0123456789abcdef",
        new_name(WORKING).upper(),
        f"{new_name(WORKING)}.old",
    ):
        left_in(tmp_path, name)
    (tmp_path / new_name(UNFINISHED)).mkdir()
    os.mkfifo(tmp_path / new_name(UNFINISHED))
    before = names_in(tmp_path)
    clear_left_over(tmp_path)
    assert names_in(tmp_path) == before
    left_in(tmp_path)
    (tmp_path / new_name(UNFINISHED)).touch()
    with monkeypatch.context() as other_user:
        other_user.setattr(os, "geteuid", lambda: os.getuid() + 1)
        clear_left_over(tmp_path)
    assert len(names_in(tmp_path)) == len(before) + 2


def test_the_folder_of_another_machine_stays_and_is_reported(tmp_path: Path) -> None:
    one = left_in(tmp_path, WORKING + ELSEWHERE)
    with pytest.warns(AnontoWarning, match=rf"another machine \({WORKING}{ELSEWHERE}\)"):
        clear_left_over(tmp_path)
    assert names_in(one) == ["deeper", LOCK, "rows"]


def test_an_unfinished_file_of_another_machine_stays_until_it_is_unchanged_for_a_week(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tmp_path / f"{UNFINISHED}{ELSEWHERE}.csv"
    one.write_text("rows that a run on another machine writes, whose lock is not seen here")
    years_ago = time.time() - 100 * A_WEEK
    os.utime(one, (years_ago, years_ago))  # as a link to an old output has it, which is about to be replaced
    clear_left_over(tmp_path)
    assert one.exists()
    a_week_later = time.time() + A_WEEK + 1
    monkeypatch.setattr(time, "time", lambda: a_week_later)
    with pytest.warns(AnontoWarning, match="runs that were killed: .*1 unfinished file"):
        clear_left_over(tmp_path)
    assert not one.exists()


def test_a_file_that_could_not_be_locked_is_not_removed_by_a_run_that_can_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as no_locks:
        no_locks.setattr(fcntl, "flock", fails)
        clear_left_over(tmp_path)
        with workspace(tmp_path / "out.csv") as folder, atomic_write(tmp_path / "other.csv") as beside:
            clear_left_over(tmp_path)
            no_locks.undo()
            before = names_in(tmp_path)
            assert before == sorted([folder.name, beside.name])
            with pytest.warns(AnontoWarning, match="on another machine"):
                clear_left_over(tmp_path)
            assert names_in(tmp_path) == before
            beside.write_text("whole")
    assert names_in(tmp_path) == ["other.csv"]


def test_nothing_is_removed_if_locks_are_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", fails)
    one = left_in(tmp_path)
    (tmp_path / new_name(UNFINISHED)).touch()
    clear_left_over(tmp_path)
    assert len(names_in(tmp_path)) == 2
    assert names_in(one) == ["deeper", LOCK, "rows"]


@pytest.mark.parametrize("same", [0, 1])
def test_after_a_restart_and_from_another_container_it_is_the_same_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same: int
) -> None:
    ours, theirs = ("01234567", "89abcdef"), ["76543210", "fedcba98"]
    monkeypatch.setattr(left_behind, "_marks", lambda: ours)
    theirs[same] = ours[same]
    left_in(tmp_path, f"{WORKING}{'-'.join(theirs)}-0123456789abcdef")
    with pytest.warns(AnontoWarning, match="the remains of runs that were killed"):
        clear_left_over(tmp_path)
    assert names_in(tmp_path) == []


def test_a_run_whose_folder_is_taken_for_left_over_before_it_is_locked_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    real = Path.mkdir

    def made_and_cleared(self: Path, *given: int, **named: int) -> None:
        real(self, *given, **named)
        made.append(self)
        if len(made) == 1:
            with pytest.warns(AnontoWarning, match="the remains of runs that were killed"):
                clear_left_over(tmp_path)

    monkeypatch.setattr(Path, "mkdir", made_and_cleared)
    with workspace(tmp_path / "out.csv") as folder:
        assert names_in(tmp_path) == [folder.name]
        assert made[1:] == [folder]


def test_a_folder_without_a_lock_that_is_not_empty_stays_for_a_minute(tmp_path: Path) -> None:
    one = left_in(tmp_path)
    (one / LOCK).unlink()
    clear_left_over(tmp_path)
    assert names_in(one) == ["deeper", "rows"]
    long_ago = time.time() - 120
    os.utime(one, (long_ago, long_ago))
    with pytest.warns(AnontoWarning, match="the remains of runs that were killed"):
        clear_left_over(tmp_path)
    assert names_in(tmp_path) == []
