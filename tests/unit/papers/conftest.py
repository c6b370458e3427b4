"""Records and runs that several tests look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anonto.cli.main import run
from anonto.papers.source import synthetic_source

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.papers.source import RecordSource


@pytest.fixture(scope="session")
def synthetic() -> RecordSource:
    """The synthetic discharges of a run without data."""
    return synthetic_source()


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a quick run of all papers on synthetic discharges, in one process."""
    folder = tmp_path_factory.mktemp("reproduction") / "out"
    assert run(["reproduce", "--quick", "--out", str(folder), "--workers", "1"]) == 0
    return folder
