"""What a killed run left is removed and told of; what anybody needs, or what is not ours, stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from anonto.engine.workspace import workspace
from anonto.errors import LeftElsewhereWarning, LeftOverWarning
from anonto.table import left_behind
from anonto.table.left_behind import LOCK, WORKING, clear_left_over, this_machine

HOLDS = """
import sys, time
from pathlib import Path
from anonto.engine.workspace import workspace
from anonto.table.beside import written_beside
with workspace(Path(sys.argv[1]) / "out.csv") as folder, written_beside(Path(sys.argv[1]) / "other.csv"):
    (folder / "rows").write_text("rows")
    print("ready", flush=True)
    time.sleep(120)
"""


def left_in(folder: Path, mark: str = "0123456789abcdef", machine: bytes | None = None) -> Path:
    one = folder / f"{WORKING}{mark}"
    (one / "deeper").mkdir(parents=True)
    (one / "rows").write_text("rows")
    (one / "deeper" / "rows").write_text("rows")
    (one / LOCK).write_bytes(this_machine() if machine is None else machine)
    return one


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_run_under_way_holds_stays_and_goes_when_it_was_killed(tmp_path: Path) -> None:
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
    with pytest.warns(LeftOverWarning, match="1 working folder with rows of a table and 1 unfinished file") as told:
        clear_left_over(tmp_path)
    assert len(told) == 1
    assert names_in(tmp_path) == []
    clear_left_over(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    kept = left_in(elsewhere)
    here = tmp_path / "here"
    here.mkdir()
    (here / f"{WORKING}{'a' * 16}").symlink_to(kept)
    (here / f".anonto-{'a' * 16}.csv").symlink_to(kept / "rows")
    left = left_in(here)
    (left / "link").symlink_to(kept)
    linked = left_in(here, "b" * 16)
    (linked / LOCK).unlink()
    (linked / LOCK).symlink_to(kept / LOCK)
    with pytest.warns(LeftOverWarning, match="1 working folder"):
        clear_left_over(here)
    assert names_in(here) == [f".anonto-{'a' * 16}.csv", f"{WORKING}{'a' * 16}", f"{WORKING}{'b' * 16}"]
    assert names_in(kept) == ["deeper", LOCK, "rows"]


def test_what_has_not_a_name_of_ours_or_another_owner_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("notes", "0123", "0123456789ABCDEF", "0123456789abcdef.old"):
        left_in(tmp_path, name)
    (tmp_path / f".anonto-{'a' * 16}").mkdir()
    os.mkfifo(tmp_path / f".anonto-{'b' * 16}")
    before = names_in(tmp_path)
    clear_left_over(tmp_path)
    assert names_in(tmp_path) == before
    left_in(tmp_path)
    (tmp_path / f".anonto-{'c' * 16}").touch()
    with monkeypatch.context() as other_user:
        other_user.setattr(os, "geteuid", lambda: os.getuid() + 1)
        clear_left_over(tmp_path)
    assert len(names_in(tmp_path)) == len(before) + 2


def test_the_folder_of_another_machine_stays_and_is_told_of(tmp_path: Path) -> None:
    one = left_in(tmp_path, machine=b"another-machine\nanother-start")
    with pytest.warns(LeftElsewhereWarning, match=r"another machine \(\.anonto-work-0123456789abcdef\)"):
        clear_left_over(tmp_path)
    assert names_in(one) == ["deeper", LOCK, "rows"]


@pytest.mark.parametrize("same", [0, 1])
def test_after_a_restart_and_from_another_container_it_is_the_same_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same: int
) -> None:
    monkeypatch.setattr(left_behind, "this_machine", lambda: b"name\nstart")
    words = [b"another-name", b"another-start"]
    words[same] = (b"name", b"start")[same]
    left_in(tmp_path, machine=b"\n".join(words))
    with pytest.warns(LeftOverWarning):
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
            with pytest.warns(LeftOverWarning):
                clear_left_over(tmp_path)

    monkeypatch.setattr(Path, "mkdir", made_and_cleared)
    with workspace(tmp_path / "out.csv") as folder:
        assert names_in(tmp_path) == [folder.name]
        assert made[1:] == [folder]
        assert (folder / LOCK).read_bytes() == this_machine()


def test_a_folder_without_a_lock_that_is_not_empty_stays_for_a_minute(tmp_path: Path) -> None:
    one = left_in(tmp_path)
    (one / LOCK).unlink()
    clear_left_over(tmp_path)
    assert names_in(one) == ["deeper", "rows"]
    long_ago = time.time() - 120
    os.utime(one, (long_ago, long_ago))
    with pytest.warns(LeftOverWarning):
        clear_left_over(tmp_path)
    assert names_in(tmp_path) == []
