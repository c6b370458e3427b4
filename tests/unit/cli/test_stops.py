"""However and whenever a command is stopped, it ends with one sentence and the exit code of the signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

from anonto.cli.demo import _make_ready
from anonto.cli.main import run
from anonto.errors import AnontoWarning
from anonto.io.left_behind import LOCK, WORKING, new_name
from anonto.stopping import ignore_ctrl_c

if TYPE_CHECKING:
    from pathlib import Path

STOPPED = "Error: Stopped; nothing was left half-written.\n"
STOPPED_WHILE_LOADING = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a shell may have it ignored, as nohup does
name, number = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]

class Stop:
    def find_spec(self, found, path=None, target=None):
        if found == name:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), number)
            for _ in range(1000):
                pass

sys.meta_path.insert(0, Stop())
from anonto.cli.start import main
main()
"""
LISTENS = """
import os, signal, sys, time
from anonto import stopping

def told(number=signal.SIGINT):
    os.kill(os.getpid(), number)
    time.sleep(0.2)

stopping.listen()
try:
    {body}
    time.sleep(20)
except KeyboardInterrupt:
    print("stopped", stopping.exit_code())
"""
HELD = """
    with stopping.held:
        told()
        print("whole")
"""
SWALLOWED = """
    class Told:
        def __del__(self):
            told()
            print("not reached")
    one = Told()
    del one
"""
GOES_ON = """
    class Told:
        def __del__(self):
            told()
    one = Told()
    del one
    time.sleep(0.5)
    print("went on as if nothing had happened")
"""
PASSED_OVER = """
    try:
        told()
    except BaseException:
        pass
    from anonto.io.atomic_write import atomic_write
    from pathlib import Path
    with atomic_write(Path("out.csv")) as path:
        path.write_text("whole")
"""
CALLED_BY_POLARS = """
    import polars as pl
    class Told(list):
        def __iter__(self):
            told(signal.SIGTERM)
            print("whole")
            return super().__iter__()
    pl.DataFrame({"a": [1]}).with_columns(pl.col("a").map_elements(lambda _: sum(Told([1, 2])), pl.Int64))
"""
HALF_MADE = """
    class Made:
        def __init__(self):
            told(signal.SIGTERM)
            self.whole = True
        def __del__(self):
            del self.whole
    Made()
"""
TWICE = """
    try:
        told(signal.SIGTERM)
    finally:
        told()
        print("cleared")
"""

PRIVATE = ["--private", "masked.csv.private.json"]
SMALL = ["--seeds", "1", "--workers", "1"]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="sends signals")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pl.DataFrame({"code": ["a", "b", "c", "d"] * 40, "age": [i % 7 for i in range(160)], "stay": range(160)}).write_csv(
        tmp_path / "table.csv"
    )
    (tmp_path / "plan.toml").write_text(
        '[columns.stay]\nrole = "confidential"\n[[steps]]\nmethod = "random-swap"\ncolumns = ["code", "age"]\n'
    )
    (tmp_path / "grid.toml").write_text("[random-swap]\n")
    (tmp_path / "tree.csv").write_text("child,parent\na,x\nb,x\nc,y\nd,y\nx,z\ny,z\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(code: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *words], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("anonto.stopping", signal.SIGTERM),
        ("anonto.stopping", signal.SIGINT),
        ("typer", signal.SIGINT),
        ("polars", signal.SIGTERM),
        ("numba", signal.SIGINT),
        ("numpy", signal.SIGHUP),
    ],
)
def test_a_stop_while_a_library_is_loaded_is_one_sentence(folder: Path, name: str, number: int) -> None:
    before = sorted(folder.iterdir())
    words = ["mask", "table.csv", "--plan", "plan.toml", "--output", "out.csv"]
    done = python(STOPPED_WHILE_LOADING, name, str(int(number)), *words, cwd=folder)
    assert (done.returncode, done.stderr) == (128 + number, STOPPED)
    assert done.stdout == ""
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (HELD, "whole\nstopped 130\n"),
        (SWALLOWED, "stopped 130\n"),
        (GOES_ON, "stopped 130\n"),
        (PASSED_OVER, "stopped 130\n"),
        (HALF_MADE, "stopped 143\n"),
        (TWICE, "cleared\nstopped 143\n"),
        (CALLED_BY_POLARS, "whole\nstopped 143\n"),
    ],
    ids=["held", "swallowed", "goes on", "passed over", "half made", "twice", "polars"],
)
def test_a_stop_breaks_nothing_in_two_and_is_not_lost(tmp_path: Path, body: str, said: str) -> None:
    done = python(LISTENS.replace("{body}", body.strip()), cwd=tmp_path)
    assert (done.stdout, done.stderr) == (said, "")
    assert not list(tmp_path.iterdir())


def test_a_signal_that_a_process_was_started_to_ignore_is_ignored() -> None:
    code = LISTENS.replace("{body}", "told(signal.SIGHUP); print('goes on'); told()")
    command = f"trap '' HUP; exec {sys.executable} -c \"$CODE\""
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "CODE": code}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("goes on\nstopped 130\n", "")


def test_a_worker_does_not_hear_ctrl_c_from_its_first_moment_on() -> None:
    code = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with ignore_ctrl_c():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
        assert python(code).stdout == "True\n"
    assert python(code).stdout == "False\n"


@pytest.mark.parametrize(
    "words",
    [
        ["mask", "table.csv", "--plan", "plan.toml", "--output", "out.csv"],
        ["mask", "table.csv", "--plan", "plan.toml", "--output", "out.csv", "--memory", "500MB"],
        ["init", "table.csv", "--output", "proposed.toml"],
        ["match", "table.csv", "--column", "code", "--ontology", "tree.csv", "--output", "matches.csv"],
        ["assess", "table.csv", "masked.csv", "--plan", "plan.toml", *PRIVATE, "--report", "report.html"],
        ["sweep", "table.csv", "--plan", "plan.toml", "--grid", "grid.toml", *SMALL, "--report", "map.html"],
    ],
    ids=lambda words: " ".join((words[0], words[-2])),
)
def test_every_command_that_writes_removes_what_a_killed_run_left_and_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    masked = ["mask", "table.csv", "--plan", "plan.toml", "--output", "masked.csv"]
    assert words[0] != "assess" or run(masked) == 0
    left_in(folder)
    capsys.readouterr()
    assert run(words) == 0
    said = capsys.readouterr().err
    assert said.count("Warning: Removed from ") == 1
    assert "1 working folder with rows of a table." in said
    assert not list(folder.glob(".anonto-*"))


def test_a_refused_command_has_removed_what_a_killed_run_left_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out.csv").touch()
    left_in(folder)
    assert run(["mask", "table.csv", "--plan", "plan.toml", "--output", "out.csv"]) == 2
    assert "Removed from" in capsys.readouterr().err
    assert not list(folder.glob(".anonto-*"))


def test_the_demo_does_the_same(folder: Path) -> None:
    left_in(folder)
    with pytest.warns(AnontoWarning, match="the remains of runs that were killed"):
        _make_ready(folder, force=True)
    assert not list(folder.glob(".anonto-*"))


def left_in(folder: Path) -> None:
    one = folder / new_name(WORKING)
    one.mkdir()
    (one / LOCK).touch()
    (one / "rows").write_text("rows")
