"""Where tests find real data, and the rule that a skipped test fails where everything must be there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

hypothesis.settings.register_profile(
    "anonto",
    deadline=None,  # kernels are compiled on first use
    max_examples=60,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("anonto")

STRICT = os.environ.get("ANONTO_STRICT") == "1"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real public data that docs/data.md describes."""
    named = os.environ.get("ANONTO_DATA")
    if not named:
        pytest.skip("ANONTO_DATA is not set: it names the folder of real data (docs/data.md)")
    folder = Path(named)
    if not folder.is_dir():
        pytest.fail("ANONTO_DATA does not name a folder")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    del item, call
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where ANONTO_STRICT=1 allows no skip: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's program, from Debian's package."""
    return _program("chromium")


@pytest.fixture(scope="session")
def java() -> str:
    """The Java runtime that Spark needs."""
    return _program("java")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found
