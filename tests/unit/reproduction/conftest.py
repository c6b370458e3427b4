"""Records and runs that several tests look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anonto.cli.main import run
from anonto.reproduction.source import made_up_source

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.reproduction.source import Source


@pytest.fixture(scope="session")
def made_up() -> Source:
    """The made-up discharges of a run without data."""
    return made_up_source()


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a quick run of all papers on made-up discharges, in one process."""
    folder = tmp_path_factory.mktemp("reproduction") / "out"
    assert run(["reproduce", "--quick", "--out", str(folder), "--workers", "1"]) == 0
    return folder
