"""Damaged, odd and missing files, replacements that fail, drivers that are killed: nothing is lost, nothing stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.engine.spark import storage as spark_files
from anonto.engine.spark import table as spark_table
from anonto.engine.spark.storage import Storage, own_prefix, read_parquet
from anonto.errors import (
    AnontoWarning,
    ClusterError,
    ExistingFileError,
    FileError,
    InternalError,
    MalformedFileError,
    UnwritableFileError,
)
from anonto.runtime.memory_limit import MemoryLimit

SEED = 1 << 100
PLAN = {"steps": [{"method": "random-swap", "columns": ["dx"]}]}


def visits(n: int) -> pl.DataFrame:
    codes = np.array([f"{i:03d}" for i in range(50)])
    return pl.DataFrame({"dx": codes[np.random.default_rng(3).integers(0, 50, n)], "row": np.arange(n)})


def in_files(folder: Path, *names: str, rows: int = 300) -> Path:
    """A table as files with these names, each with several row groups."""
    folder.mkdir()
    table = visits(rows * len(names))
    for number, name in enumerate(names):
        table[number * rows : (number + 1) * rows].write_parquet(folder / name, row_group_size=100)
    return folder


def read_back(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(file) for file in sorted(folder.glob("*.parquet"))])


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


# ------------------------------------------------------------------------------------------------ which files


def test_files_are_numbered_by_their_names_as_on_one_machine(spark: Any, tmp_path: Path) -> None:
    folder = in_files(
        tmp_path / "visits [1] é 5%", "v1.parquet", "v[1].parquet", "v 1.parquet", "v!1.parquet", "v%31.parquet"
    )
    anonto.mask_file(folder, PLAN, tmp_path / "here.parquet", seed=SEED, keep_order=True)
    there = anonto.mask(read_parquet(spark, str(folder)), PLAN, seed=SEED)
    there.save(tmp_path / "there.parquet", keep_order=True)
    assert read_back(tmp_path / "there.parquet").equals(pl.read_parquet(tmp_path / "here.parquet"))


def test_a_folder_with_files_that_only_spark_reads_is_refused(spark: Any, tmp_path: Path) -> None:
    folder = in_files(tmp_path / "in", "a.parquet", "_b.parquet", ".c.parquet")
    assert read_parquet(spark, str(folder)).count() == 300
    odd = in_files(tmp_path / "odd", "a.parquet", "b.parq")
    with pytest.raises(FileError, match="Spark would read 1 file of"):
        read_parquet(spark, str(odd))
    parted = tmp_path / "parted"
    parted.mkdir()
    in_files(parted / "dx=1", "a.parquet")
    with pytest.raises(FileError, match="has no Parquet files"):
        read_parquet(spark, str(parted))


def test_rows_stay_in_order_also_where_spark_packs_files_together(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = in_files(tmp_path / "in", "a.parquet", "b.parquet")
    visits(700).tail(100).write_parquet(folder / "a0.parquet")
    frame = spark.read.parquet(str(folder))
    spark.conf.set("spark.sql.files.maxPartitionNum", "1")
    try:
        anonto.mask(frame, PLAN, seed=SEED).save(tmp_path / "out.parquet", keep_order=True)
        assert spark.conf.get("spark.sql.files.maxPartitionNum") == "1"
        monkeypatch.setattr(spark_table, "_MOST_PARTITIONS", "spark.anonto.unknown")
        packed = anonto.mask(frame, PLAN, seed=SEED)
        with pytest.raises(ClusterError, match="their order cannot be kept"):
            packed.save(tmp_path / "other.parquet", keep_order=True)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionNum")
    assert read_back(tmp_path / "out.parquet")["row"].equals(read_back(folder)["row"])
    assert names(tmp_path) == ["in", "out.parquet", "out.parquet.private.json"]


# ------------------------------------------------------------------------------------------------ damage


def test_a_damaged_file_is_named_and_nothing_is_written(spark: Any, tmp_path: Path) -> None:
    folder = in_files(tmp_path / "visits 1", "a.parquet", "b [2].parquet", "c.parquet")
    frame = spark.read.parquet(str(folder))
    damaged = folder / "b [2].parquet"
    whole = damaged.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:50] + bytes(300) + whole[350:], b""):
        damaged.write_bytes(content)
        with pytest.raises(MalformedFileError, match=r"'b \[2\].parquet' is not a valid Parquet file: it cannot"):
            anonto.mask(frame, PLAN, seed=SEED)
    with pytest.raises(MalformedFileError, match=r"'b \[2\].parquet'"):
        read_parquet(spark, str(damaged))
    damaged.unlink()
    with pytest.raises(ClusterError, match="changed between two reads"):
        anonto.mask(frame, PLAN, seed=SEED)
    assert names(tmp_path) == ["visits 1"]


# ------------------------------------------------------------------------------------------------ replacing


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("fault", [False, KeyboardInterrupt])
def test_a_replacement_that_fails_half_way_leaves_what_was_there(
    call: int, fault: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out [1].parquet"
    target.mkdir()
    (target / "part-0.parquet").write_text("old")
    really, calls = spark_files._try_rename, []

    def failing(*given: Any) -> bool:
        calls.append(given)
        if len(calls) != call:
            return really(*given)
        if fault is False:
            return False
        raise fault

    monkeypatch.setattr(spark_files, "_try_rename", failing)
    with (
        pytest.raises(KeyboardInterrupt if fault else UnwritableFileError),
        Storage(spark).atomic_write(str(target), force=True) as beside,
    ):
        Path(beside.removeprefix("file:")).mkdir()
    assert names(tmp_path) == ["out [1].parquet"]
    assert (target / "part-0.parquet").read_text() == "old"


def keep_checkpoints(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name a folder for checkpoints, for one test: Spark itself never forgets it."""
    of_session = f"file:{folder}/{uuid4()}"
    monkeypatch.setattr(type(spark.sparkContext), "getCheckpointDir", lambda _: of_session)


def dead_process() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_table_that_a_killed_process_was_replacing_is_put_back_or_removed(
    is_replaced: bool, spark: Any, tmp_path: Path
) -> None:
    begin = f".{own_prefix()}".replace(f"-{os.getpid()}-", f"-{dead_process()}-")
    for left in (f"{begin}12.old/out.parquet", f"{begin}12.parquet", f"{begin[1:]}34.parquet", f".{own_prefix()}5.old"):
        (tmp_path / left).mkdir(parents=True)
        (tmp_path / left / "part-0.parquet").write_text("old")
    if is_replaced:
        (tmp_path / "out.parquet").mkdir()
        (tmp_path / "out.parquet" / "part-0.parquet").write_text("new")
    with (
        pytest.warns(AnontoWarning, match="runs that were killed: .*2 working folders"),
        pytest.raises(ExistingFileError),
        Storage(spark).atomic_write(str(tmp_path / "out.parquet"), force=False),
    ):
        raise AssertionError
    assert names(tmp_path) == sorted([f".{own_prefix()}5.old", "out.parquet"]), "what a living process needs stays"
    assert (tmp_path / "out.parquet" / "part-0.parquet").read_text() == ("new" if is_replaced else "old")


KILLED = """
    import os, signal, sys
    from anonto.engine.spark.numbered_frame import number_rows
    from anonto.engine.spark import storage as spark_files
    from anonto.engine.spark.session import open_session

    folder, really, calls = sys.argv[1], spark_files._try_rename, []

    def killed_at_the_second(*given):
        calls.append(given)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return really(*given)

    spark_files._try_rename = killed_at_the_second
    with open_session("local[1]", {"spark.ui.enabled": "false", "spark.sql.codegen.wholeStage": "false"}) as session:
        session.sparkContext.setCheckpointDir(folder)
        source = number_rows(session.range(100), None)
        with spark_files.Storage(session).atomic_write(f"{folder}/out.parquet", force=True) as beside:
            spark_files.write_parquet(source.table.frame, beside)
"""


@pytest.mark.filterwarnings("ignore:Removed from .* runs that were killed:anonto.errors.AnontoWarning")
def test_a_killed_driver_loses_nothing_and_the_next_run_starts_clean(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = in_files(tmp_path / "out.parquet", "part-0.parquet")
    before = read_back(folder)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)],
        env={**os.environ, "JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [one.name for one in tmp_path.glob("*anonto-*")] + [one.name for one in tmp_path.glob(".anonto-*.old/*")]
    assert len(left) == 4, "the table written down, the masked one, and the one that waits in its folder"
    assert not folder.exists()
    keep_checkpoints(spark, tmp_path, monkeypatch)
    release = anonto.mask(spark.read.parquet(str(in_files(tmp_path / "in", "a.parquet"))), PLAN, seed=SEED)
    with pytest.raises(ExistingFileError):
        release.save(folder, private=False, force=False)
    assert read_back(folder).equals(before)
    assert [one for one in names(tmp_path) if "anonto" in one] == []


def test_a_table_written_down_is_removed_when_it_cannot_be_used(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_checkpoints(spark, tmp_path, monkeypatch)
    monkeypatch.setattr(spark_table, "row_groups_of", lambda *_: (_ for _ in ()).throw(InternalError("no")))
    seen: list[list[str]] = []
    monkeypatch.setattr(Storage, "stamp", lambda *_: seen.append(names(tmp_path)) or ())
    with pytest.raises(InternalError):
        anonto.mask(spark.range(5).selectExpr("id as dx").orderBy("dx"), PLAN, seed=SEED)
    assert any(one.startswith(own_prefix()) for one in seen[0])
    assert not any(one.startswith("anonto-") for one in names(tmp_path))


# ------------------------------------------------------------------------------------------------ memory of the driver


def test_blocks_are_those_of_one_machine_with_the_same_memory(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        MemoryLimit, "for_step", property(lambda limit: 500_000 if limit.memory == 600_000_000 else 1 << 30)
    )
    rng = np.random.default_rng(5)
    given = pl.DataFrame({"age": rng.integers(0, 90, 4_000), "pain": rng.integers(0, 5, 4_000), "row": range(4_000)})
    (tmp_path / "in").mkdir()
    given.write_parquet(tmp_path / "in" / "a.parquet", row_group_size=1_000)
    plan = {
        "columns": {"age": {"kind": "numeric"}, "pain": {"kind": "numeric"}},
        "steps": [{"method": "microaggregate", "columns": ["age", "pain"], "k": 3}],
    }
    with pytest.warns(AnontoWarning, match="was fitted in"):
        here = anonto.mask_file(tmp_path / "in", plan, tmp_path / "here.parquet", seed=SEED, memory="600MB").evidence
    frame = spark.read.parquet(str(tmp_path / "in"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        there = anonto.mask(frame, plan, seed=SEED, memory="600MB")
    assert any("was fitted in" in str(one.message) for one in told)
    assert there.evidence["steps"][0]["blocks"] > 1
    assert there.evidence["steps"][0]["block_rows"] == here["steps"][0]["block_rows"]
    there.save(tmp_path / "there.parquet")
    assert read_back(tmp_path / "there.parquet").equals(pl.read_parquet(tmp_path / "here.parquet"))
    assert "blocks" not in anonto.mask(frame, plan, seed=SEED).evidence["steps"][0]
