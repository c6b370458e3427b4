"""A command that is killed or stopped at any moment leaves its input alone, and its output whole or not there.

Each case follows from its number alone: which signal, which way of masking, and when. `make kill` runs 1,000 of them,
and `ANONTO_KILLS=1 ANONTO_FIRST_KILL=17` runs number 17 again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from anonto.cli.main import run

N_KILLS = int(os.environ.get("ANONTO_KILLS", "20"))
FIRST = int(os.environ.get("ANONTO_FIRST_KILL", "0"))
N_ROWS = 60_000
STOPPED = "Error: Stopped; nothing was left half-written."
REMOVED = "Warning: Removed from "
PLAN = """
[columns.note]
role = "confidential"

[[steps]]
method = "random-swap"
columns = ["code"]
"""
WAYS = {
    "in memory": ["mask", "table.csv", "--report", "report.html"],
    "in batches": ["mask", "visits"],  # a folder of Parquet files is always masked so
}
OPTIONS = ["--plan", "plan.toml", "--output", "out.csv", "--seed", str(1 << 100), "--force"]
OUTPUTS = ("out.csv", "out.csv.private.json", "report.html")
NEXT = (
    [*WAYS["in memory"], *OPTIONS],
    [*WAYS["in batches"], *OPTIONS],
    ["init", "table.csv", "--output", "proposed.toml", "--force"],
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at processes in /proc")


@dataclass(frozen=True)
class Case:
    """A signal at a moment."""

    number: int

    @property
    def signal(self) -> signal.Signals:
        return (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)[self.number % 5]

    @property
    def way(self) -> str:
        return ("in memory", "in batches", "in batches")[self.number % 3]

    @property
    def waits_for_work(self) -> bool:
        """True if the moment is counted from the first file that is written, which most of a run is before."""
        return self.number // 3 % 3 == 1

    @property
    def moment(self) -> float:
        """As a share of the time that a whole run takes."""
        return random.Random(f"moment {self.number}").random()

    def __str__(self) -> str:
        since = "its first file" if self.waits_for_work else "its start"
        return f"case {self.number} ({self.signal.name} {self.way}, {self.moment:.3f} of the time since {since})"


@dataclass
class Times:
    """The seconds that a run takes which nobody disturbs; they change with what else the machine does."""

    whole: float
    work: float


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    frame = pl.DataFrame(
        {"code": [f"code {i % 700}" for i in range(N_ROWS)], "note": [f"free text {i}" for i in range(N_ROWS)]}
    )
    frame.write_csv(tmp_path / "table.csv")
    (tmp_path / "visits").mkdir()
    for number, part in enumerate(frame.iter_slices(N_ROWS // 2)):
        part.write_parquet(tmp_path / "visits" / f"{number}.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_kill_at_any_moment_leaves_nothing_half_written_and_nothing_that_the_next_run_does_not_remove(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = contents(folder)
    outputs, times = {way: undisturbed(folder, way) for way in WAYS}, times_of_a_run(folder)
    faults, seen, n_reached = [], Counter[str](), 0
    for case in map(Case, range(FIRST, FIRST + N_KILLS)):
        if case.number % 50 == 49:
            times = times_of_a_run(folder)
        code, said, is_reached = killed(folder, case, times)
        left = hidden(folder)
        found = [
            *faults_of_the_end(case, code, said),
            *faults_of_the_files(folder, outputs[case.way]),
            *([f"a stop left {left}"] if left and case.signal != signal.SIGKILL else []),
            *faults_of_the_next(folder, case, bool(left), capsys),
        ]
        if {path: content for path, content in contents(folder).items() if path in inputs} != inputs:
            found.append("an input has changed")
        faults += [f"{case}: {fault}" for fault in found]
        end = "left something" if left else "whole" if code == 0 else "left nothing"
        n_reached += is_reached
        seen[f"{case.signal.name} {case.way}, {end}"] += 1
    with capsys.disabled():
        told = json.dumps(dict(sorted(seen.items())), indent=2) if N_KILLS > 20 else ""
        sys.stdout.write(f"\n{N_KILLS} kills, {n_reached} in time, {len(faults)} faults: {told}\n" if told else "")
    assert not faults, "\n".join(faults)


def undisturbed(folder: Path, way: str) -> dict[str, bytes]:
    assert run([*WAYS[way], *OPTIONS]) == 0
    outputs = {name: (folder / name).read_bytes() for name in OUTPUTS if (folder / name).exists()}
    clear_outputs(folder)
    return outputs


def times_of_a_run(folder: Path) -> Times:
    start = time.monotonic()
    process = started(folder, "in batches")
    until_written(process, folder)
    work = time.monotonic()
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return Times(time.monotonic() - start, time.monotonic() - work)


def killed(folder: Path, case: Case, times: Times) -> tuple[int, str, bool]:
    """How a run ended that was killed, what it said, and whether the signal reached it at all.

    One that ends before its moment tells how long a run takes now, and is tried again.
    """
    for _ in range(4):
        clear_outputs(folder)
        start = time.monotonic()
        process = started(folder, case.way)
        if case.waits_for_work:
            until_written(process, folder)
        elif case.signal != signal.SIGKILL:
            until_it_listens(process)
        begun = time.monotonic() if case.waits_for_work else start
        until = begun + case.moment * (times.work if case.waits_for_work else times.whole)
        while (is_running := process.poll() is None) and time.monotonic() < until:
            time.sleep(0.001)
        seconds = time.monotonic() - begun
        if is_running:
            process.send_signal(case.signal)
        _, said = process.communicate(timeout=300)
        if is_running:
            break
        times.work, times.whole = (seconds, times.whole) if case.waits_for_work else (times.work, seconds)
    return process.returncode, said, is_running


def started(folder: Path, way: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "anonto", *WAYS[way], *OPTIONS],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def until_written(process: subprocess.Popen[str], folder: Path) -> None:
    while process.poll() is None and not hidden(folder):
        time.sleep(0.002)


def until_it_listens(process: subprocess.Popen[str]) -> None:
    """Wait for the first line of the program: before, signals are the interpreter's own matter."""
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        facts = [status.partition(f"{name}:")[2].split() for name in ("SigBlk", "SigCgt")]
        if any(one and int(one[0], 16) >> (signal.SIGTERM - 1) & 1 for one in facts):
            return
        time.sleep(0.001)


def faults_of_the_end(case: Case, code: int, said: str) -> list[str]:
    wanted = -signal.SIGKILL if case.signal == signal.SIGKILL else 128 + case.signal
    faults = []
    if code not in (0, wanted):
        faults.append(f"exit code {code}")
    lines = [line for line in said.splitlines() if not line.startswith("Warning: ")]
    if lines != ([STOPPED] if code in (130, 143) else []):
        faults.append(f"said {said[-2000:]!r}")
    return faults


def faults_of_the_files(folder: Path, outputs: dict[str, bytes]) -> list[str]:
    there = {name for name in OUTPUTS if (folder / name).exists()}
    faults = [
        f"{name} is not whole"
        for name in there
        if name != "report.html" and not is_whole(folder / name, outputs.get(name))
    ]
    if "out.csv" in there and there != outputs.keys():
        faults.append(f"the table is there with {sorted(there)} alone")
    return faults


def is_whole(path: Path, wanted: bytes | None) -> bool:
    found = path.read_bytes()
    if path.suffix == ".json":
        return json.loads(found).keys() == json.loads(wanted or b"{}").keys()
    return found == wanted


def faults_of_the_next(folder: Path, case: Case, has_left: bool, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    command = NEXT[case.number % len(NEXT)]
    code, said = run(command), capsys.readouterr().err
    faults = []
    if code != 0:
        faults.append(f"the next command ended with {code}: {said[-2000:]!r}")
    if said.count(REMOVED) != has_left:
        faults.append(f"the next command said {said[-2000:]!r}")
    if hidden(folder):
        faults.append(f"the next command did not remove {hidden(folder)}")
    return faults


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def clear_outputs(folder: Path) -> None:
    for name in OUTPUTS:
        (folder / name).unlink(missing_ok=True)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
