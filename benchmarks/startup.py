"""Time of the command line to print its help, compared with Python alone and with its libraries."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

from benchmarks.measuring import Finding, at_most, interleaved


def run(*, quick: bool) -> list[Finding]:
    """All findings of this benchmark."""
    command = str(Path(sys.executable).parent / "anonto")
    sides = {
        "anonto --help": [command, "--help"],
        "python -c pass": [sys.executable, "-c", "pass"],
        "import polars, numba": [sys.executable, "-c", "import polars, numba"],
    }
    runs = {name: partial(subprocess.run, words, capture_output=True, check=True) for name, words in sides.items()}
    timings = interleaved(runs, 5 if quick else 15)
    ours, python, libraries = (timings[name].median for name in sides)
    facts = {name: timing.repeats for name, timing in timings.items()}

    def against(seconds: float) -> str:
        return f"{ours * 1e3:.0f} ms against {seconds * 1e3:.0f} ms"

    return [
        at_most(
            "anonto --help, against import polars, numba",
            ours / libraries,
            1,
            note=against(libraries),
            facts=facts,
        ),
        Finding("anonto --help, against python -c pass", ours / python, "×", note=against(python)),
    ]
