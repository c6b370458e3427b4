"""Parts of the engine for Spark that need no Java: the order of files and of partitions, and what errors say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.protocol import Py4JError

import anonto
from anonto.engine.spark import numbered_frame
from anonto.engine.spark.cells import PlacingTask, whole_cells
from anonto.engine.spark.count import follow_each_other
from anonto.engine.spark.session import jobs
from anonto.engine.spark.storage import own_prefix
from anonto.engine.spark.table import by_name, collect_rows
from anonto.errors import ClusterError, MalformedFileError

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = st.lists(st.text(st.sampled_from("ab1 !%[](){}~+,;=@&$'é2Z-_."), min_size=1), min_size=2, unique=True)


@given(NAMES)
def test_files_are_in_the_order_of_one_machine_whatever_signs_are_in_their_names(names: list[str]) -> None:
    files = [Path("/data/visits 5%") / f"x{name}.parquet" for name in names]
    wanted = sorted(files, key=lambda one: (str(one.parent), one.name))
    uris = {f"file:{quote(str(one), safe='/!$&(),=@;+~é')}": one for one in files}
    assert [uris[uri] for uri in sorted(uris, key=by_name)] == wanted


@pytest.mark.parametrize(
    ("partitions", "wanted"),
    [
        ({}, True),
        ({0: [4, 5, 7], 1: [0], 2: [1, 3]}, True),
        ({0: [1, 0]}, False),
        ({0: [0, 4], 1: [2]}, False),
        ({0: [0, 1], 1: [1, 2]}, False),
    ],
)
def test_partitions_can_be_ordered_only_if_each_has_consecutive_row_groups(
    partitions: dict[int, list[int]], wanted: bool
) -> None:
    assert follow_each_other(partitions) == wanted


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 5)), max_size=12, unique_by=lambda one: one[0]),
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.integers(1, 6),
)
def test_rows_are_cut_between_cells_and_none_is_lost(
    cells: list[tuple[int, int]], sizes: list[int], at_once: int
) -> None:
    rows = [cell for cell, n in sorted(cells) for _ in range(n)]
    table = pa.table({"cell": pa.array(rows, pa.int64()), "number": pa.array(range(len(rows)), pa.int64())})
    batches, first = [], 0
    while first < len(rows):
        size = sizes[len(batches) % len(sizes)]
        batches += table.slice(first, size).to_batches()
        first += size
    found = list(whole_cells(batches, at_once))
    assert [row for part in found for row in part.column("number").to_pylist()] == list(range(len(rows)))
    owners = [set(part.column("cell").to_pylist()) for part in found]
    assert sum(map(len, owners)) == len(set(rows))
    largest = max((n for _, n in cells), default=0)
    assert all(part.num_rows < max(at_once, 2 * largest) + max(sizes) for part in found)


@pytest.mark.parametrize(
    ("to", "kind"),
    [([0, 1], [0, 0]), ([0, 0, 1], [0, 1, 0]), ([0, 0, 1, 1], [0, 1, 1, 1]), ([0, 1, 1, 1], [0, 0, 1, 1])],
)
def test_a_row_without_what_it_becomes_is_refused(to: list[int], kind: list[int]) -> None:
    rows = {"to": pa.array(to, pa.int64()), "kind": pa.array(kind, pa.int32()), "cells0": pa.array(["x"] * len(to))}
    rows["c0"] = pa.array([0] * len(to), pa.int32())
    with pytest.raises(ClusterError, match="changed between two reads"):
        list(PlacingTask(((),), ("a",))(pa.table(rows).to_batches()))


class OfSparkError(Exception):
    """An exception of PySpark, with a text of its own."""

    __module__ = "pyspark.errors.exceptions.captured"


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (
            "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a/dx=J45/part%201.parquet. \nat x",
            MalformedFileError,
            "'part 1.parquet' is not a valid Parquet file",
        ),
        (
            "Could not read footer for file: file:/a b/dx=J45/part 2.parquet. Please ensure that it is ORC or Parquet.",
            MalformedFileError,
            "'part 2.parquet' is not a valid Parquet file",
        ),
        ("ParquetDecodingException: J45", ClusterError, "Spark gave up the job .a file of the table cannot be decoded"),
        (
            "[FAILED_READ_FILE.FILE_NOT_EXIST] reading file file:/a/b.parquet.",
            ClusterError,
            "changed between two reads",
        ),
    ],
)
def test_an_unreadable_file_is_reported_by_name_only(said: str, kind: type[Exception], words: str) -> None:
    nothing: Callable[..., None] = lambda *_, **__: None  # noqa: E731
    context = SimpleNamespace(setJobGroup=nothing, cancelJobGroup=nothing, setLocalProperty=nothing)
    session: Any = SimpleNamespace(sparkContext=context)
    with pytest.raises(kind, match=words) as told, jobs(session, "Reading"):
        raise OfSparkError(said)
    assert "J45" not in str(told.value)


def test_what_was_written_down_is_removed_also_when_its_session_has_ended(tmp_path: Path) -> None:
    ended: Any = object()
    kept = tmp_path / "mine.parquet"
    own, inside = tmp_path / f"{own_prefix()}1.parquet", tmp_path / f"{own_prefix()}2" / "table.parquet"
    for folder in (kept, own, inside):
        folder.mkdir(parents=True)
        numbered_frame.remove_scratch(ended, f"file:{folder}")
    assert [one.name for one in tmp_path.iterdir()] == ["mine.parquet"]


def test_driver_memory_is_refused_for_other_tables() -> None:
    plan = {"steps": [{"method": "random-swap", "columns": ["a"]}]}
    with pytest.raises(ClusterError, match="memory is for tables on a Spark cluster only"):
        anonto.mask(pl.DataFrame({"a": [1, 2]}), plan, memory="2GB")


def test_all_rows_are_brought_here_by_old_and_new_versions_of_spark(spark: Any) -> None:
    frame = spark.range(25_000).selectExpr("id", "cast(id as string) as text")
    assert [row["id"] for row in collect_rows(frame)] == list(range(25_000))
    older = SimpleNamespace(_collect_as_arrow=frame._collect_as_arrow)
    assert collect_rows(older) == collect_rows(frame)
    assert collect_rows(frame.where("id < 0")) == []


def test_an_interrupt_is_reported_as_such_even_if_spark_reports_an_aborted_job(spark: Any) -> None:
    def stopped() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise Py4JError("the job was cancelled")

    with pytest.raises(KeyboardInterrupt), jobs(spark, "Waiting"):
        stopped()
    with pytest.raises(ClusterError, match="or the packages anonto and pyarrow"), jobs(spark, "Waiting"):
        raise Py4JError("the job was cancelled")
