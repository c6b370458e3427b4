"""The same seed gives the same bytes whichever instructions the processor has."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

SCRIPT = Path(__file__).parent / "releases_of_every_method.py"
DISPATCHED = [feature for feature in __cpu_dispatch__ if __cpu_features__.get(feature)]
"""Processor features that numpy uses here and can do without."""

PROCESSORS = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "Zen, and numpy without its widest vectors": {
        "OPENBLAS_CORETYPE": "Zen",
        "NPY_DISABLE_CPU_FEATURES": " ".join(one for one in DISPATCHED if "512" in one or one == "X86_V4"),
    },
    "Nehalem, and numpy without any vectors that it can do without": {
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": " ".join(DISPATCHED),
    },
}
"""Settings of the BLAS and of numpy; this machine's own are the ones to compare with."""


def releases(settings: dict[str, str]) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], env=os.environ | settings, capture_output=True, text=True, check=True
    )
    digests: dict[str, str] = json.loads(done.stdout)
    return digests


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return releases({})


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of one family")
@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_method_releases_the_same_on_another_processor(processor: str, here: dict[str, str]) -> None:
    there = releases(PROCESSORS[processor])
    assert there.keys() == here.keys()
    assert [run for run in here if here[run] != there[run]] == []
