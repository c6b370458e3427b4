"""Real data, the order of tests, and the rule that a skipped test fails where everything must be there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from budget import load_profile

if TYPE_CHECKING:
    from collections.abc import Generator

    from anonto import Taxonomy

load_profile()

STRICT = os.environ.get("ANONTO_STRICT") == "1"
FIRST = ("spark", "benchmarks", "web", "real", "fuzz")
"""Folders that run before all others, in this order, so that no long file starts last."""
TOGETHER = "tests/spark/"
"""A folder whose files all run in one worker, on one cluster."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the folders that take longest first."""
    here = Path(__file__).parent
    rank = {name: number for number, name in enumerate(FIRST)}
    items.sort(key=lambda item: rank.get(item.path.relative_to(here).parts[0], len(rank)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, keep the order of `FIRST` and send the files that share a cluster to one worker."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrCluster(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return TOGETHER if nodeid.startswith(TOGETHER) else super()._split_scope(nodeid)

    config.option.loadscopereorder = False
    return ByFileOrCluster(config, log)


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


@pytest.fixture(scope="module")
def icd10cm() -> Taxonomy:
    """ICD-10-CM; while it is held, commands and functions that open it by its name do not read it again."""
    from anonto import read_ontology

    return read_ontology("icd10cm")


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
