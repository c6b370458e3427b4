"""A standalone cluster for the tests: a master and two workers, each a process of its own, and a session on it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark warns of what it has not been tested with; the answer of these tests is what counts."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::FutureWarning:pyspark.*"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning"))


def _clusters() -> Any:
    """The settings that the benchmarks start a cluster with."""
    spec = importlib.util.spec_from_file_location("standalone_cluster", ROOT / "benchmarks" / "cluster.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def cluster(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    del java
    with _clusters().Cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(scope="session")
def spark(cluster: Any) -> Iterator[Any]:
    session = cluster.session(**{"spark.ui.showConsoleProgress": "false"})
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
