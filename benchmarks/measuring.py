"""Medians of interleaved repeats, ratios of them, and peak memory of a fresh process.

A time of one run says little on a shared machine; a ratio of two medians whose repeats took turns says much
more. The first call of each side warms it up (compilers, caches, file system) and is not counted.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MOST_REPEATS = "ANONTO_BENCHMARK_REPEATS"
"""Environment variable that caps the repeats: --quick sets it to 1, because it asks whether a subject runs."""
MEGABYTE = 1e6
GIGABYTE = 1e9
ROOT = Path(__file__).resolve().parent.parent


# ------------------------------------------------------------------------------------------------ findings


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of a benchmark's table."""

    what: str
    measured: float
    unit: str
    wanted: str = ""
    """The target as text; empty if there is none."""
    met: bool | None = None
    note: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The underlying numbers, for the JSON file."""

    @property
    def verdict(self) -> str:
        """True if the target is met; empty if there is none."""
        return "" if self.met is None else "met" if self.met else "MISSED"


def at_least(what: str, measured: float, target: float, unit: str = "×", **more: Any) -> Finding:
    """A finding whose target is a lower bound."""
    return Finding(what, measured, unit, f"≥ {target:g} {unit}", measured >= target, **more)


def at_most(what: str, measured: float, target: float, unit: str = "×", **more: Any) -> Finding:
    """A finding whose target is an upper bound."""
    return Finding(what, measured, unit, f"≤ {target:g} {unit}", measured <= target, **more)


# ------------------------------------------------------------------------------------------------ time


@dataclass(frozen=True, slots=True)
class Timing:
    """The repeats of one side, in seconds."""

    repeats: tuple[float, ...]

    @property
    def median(self) -> float:
        """The time to compare by."""
        return statistics.median(self.repeats)


def interleaved(sides: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, Timing]:
    """Time each side ``repeats`` times in turns, after a call of each that is not counted."""
    for run in sides.values():
        run()
    return gathered({name: partial(timed, run) for name, run in sides.items()}, repeats)


def gathered(sides: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, Timing]:
    """The same for sides that time themselves and return their seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(min(repeats, int(os.environ.get(MOST_REPEATS, repeats)))):
        for name, run in sides.items():
            seconds[name].append(run())
    return {name: Timing(tuple(times)) for name, times in seconds.items()}


def timed(run: Callable[[], object]) -> float:
    """Seconds of one call; what it returns is thrown away after the clock has stopped."""
    gc.collect()
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    del result
    return seconds


def exponents(sizes: Sequence[int], seconds: Sequence[float]) -> list[float]:
    """Between each two successive sizes the power of the size with which the time grows."""
    return [math.log(seconds[i + 1] / seconds[i]) / math.log(sizes[i + 1] / sizes[i]) for i in range(len(sizes) - 1)]


class Bystanders:
    """Load of the machine by other processes since this object was created; Linux only."""

    def __init__(self) -> None:
        self._start, self._busy, self._own = time.monotonic(), _busy_seconds(), _own_seconds()

    def share(self) -> float | None:
        """Processor time of other processes, divided by all processor time."""
        busy = _busy_seconds()
        if busy is None or self._busy is None:
            return None
        others = (busy - self._busy) - (_own_seconds() - self._own)
        return max(0.0, others / ((time.monotonic() - self._start) * (os.cpu_count() or 1)))


def _busy_seconds() -> float | None:
    """Processor time of all processes since the machine started: user, nice, system."""
    counters = Path("/proc/stat")
    if not counters.exists():
        return None
    ticks = counters.read_text().split("\n")[0].split()[1:4]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    return sum(os.times()[:4])


# ------------------------------------------------------------------------------------------------ memory


@dataclass(frozen=True, slots=True)
class Visit:
    """Result, time and memory of a function call in a separate process."""

    seconds: float
    start_bytes: int
    """Peak memory after the imports, before the call."""
    peak_bytes: int
    returned: Any

    @property
    def memory(self) -> str:
        """Peak and start, for a note."""
        peak, start = self.peak_bytes / MEGABYTE, self.start_bytes / MEGABYTE
        return f"peak {peak:,.0f} MB, {start:,.0f} MB after imports"


def in_fresh_process(function: str, *arguments: Any) -> Visit:
    """Call ``package.module:function`` in a fresh process; arguments and result go through JSON.

    The module is imported before the clock starts. A quick run, which asks only whether the function runs, starts no
    process, so its memory means nothing.
    """
    if os.environ.get(MOST_REPEATS) == "1":
        return _visit(function, json.dumps(arguments))
    command = [sys.executable, "-m", "benchmarks.measuring", function, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return Visit(**json.loads(done.stdout.splitlines()[-1]))


def peak_bytes() -> int:
    """The peak memory of this process.

    Linux starts ``ru_maxrss`` of a process at the size of the process that started it; the status file starts
    at 0, so it goes first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _visit(target: str, arguments: str) -> Visit:
    module_name, name = target.split(":")
    function = getattr(importlib.import_module(module_name), name)
    bytes_at_start = peak_bytes()
    start = time.perf_counter()
    returned = function(*json.loads(arguments))
    seconds = time.perf_counter() - start
    return Visit(seconds, bytes_at_start, peak_bytes(), json.loads(json.dumps(returned)))


if __name__ == "__main__":
    print(json.dumps(asdict(_visit(*sys.argv[1:]))))
