"""No output of a cluster takes the place of what was read, however it is spelt, nor leaves a table without its seed."""

from __future__ import annotations

import errno
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.cli.main import run
from anonto.engine.spark import session as engine
from anonto.engine.spark import storage as spark_files
from anonto.engine.spark.storage import Inputs, find_inputs, place_here, place_of
from anonto.errors import FileError, UnwritableFileError

SEED = 1 << 100
PLAN = {"steps": [{"method": "random-swap", "columns": ["dx"]}]}


def table() -> pl.DataFrame:
    return pl.DataFrame({"dx": np.random.default_rng(3).choice(["a", "b", "c"], 60), "row": np.arange(60)})


def in_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for number in range(2):
        table()[number * 30 : number * 30 + 30].write_parquet(folder / f"{number}.parquet")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


# ------------------------------------------------------------------------------------------------ places


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hdfs://Names:8020/a/b%20c", "hdfs://names/a/b%20c/"),
        ("s3://bucket/a", "s3a://bucket/a"),
        ("file:/a/b", "file:///a/b"),
        ("file:/a/b%25", "/a/b%25"),
    ],
)
def test_a_place_is_the_same_however_it_is_spelt(one: str, other: str) -> None:
    assert place_of(one) == place_of(other)


@pytest.mark.parametrize(("one", "other"), [("hdfs://a/x", "hdfs://b/x"), ("hdfs://a/x", "/x"), ("dbfs:/x", "file:/x")])
def test_other_stores_are_other_places(one: str, other: str) -> None:
    assert place_of(one) != place_of(other)


def test_outputs_are_apart_from_inputs_on_any_store(tmp_path: Path) -> None:
    read = Inputs(
        (place_of("hdfs://n/t/in/x=1/p.parquet"), place_of("hdfs://n/u/one.parquet")), (place_of("hdfs://n/t/in"),)
    )

    def require(uri: str) -> None:
        read.require_apart((uri, place_of(uri)), [])

    for uri in ("hdfs://n:8020/t/in", "hdfs://n/t", "hdfs://n/u/one.parquet", "hdfs://n/u", "hdfs://n/t/in/x=1"):
        with pytest.raises(FileError, match=f"{uri}.*is also an input"):
            require(uri)
    with pytest.raises(FileError, match=r"hdfs://n/t/in/out.*would be read as part of the input"):
        require("hdfs://n/t/in/out.parquet")
    for uri in ("hdfs://n/t/in.parquet", "hdfs://n/u/out.parquet", "hdfs://m/t/in", "/t/in"):
        require(uri)
    out = (str(tmp_path / "o.parquet"), place_here(tmp_path / "o.parquet"))
    for beside in (["a", "a"], ["o.parquet"], ["o.parquet/a"], ["onto.csv"]):
        with pytest.raises(FileError, match="is also an input or another output"):
            read.require_apart(out, [tmp_path / one for one in beside], [tmp_path / "onto.csv"])
    with pytest.raises(FileError, match="is also an input or another output"):
        read.require_apart(out, [], [tmp_path / "o.parquet" / "onto.csv"])
    read.require_apart(out, [tmp_path / "a", tmp_path / "b"], [tmp_path / "onto.csv"])


# ------------------------------------------------------------------------------------------------ on a cluster


def test_inputs_are_named_by_file_and_by_folder(spark: Any, tmp_path: Path) -> None:
    folder, single = in_folder(tmp_path / "in é 20%"), in_folder(tmp_path / "o") / "0.parquet"
    files = tuple(place_here(folder / f"{number}.parquet") for number in range(2))
    frame = spark.read.parquet(str(folder))
    assert find_inputs(frame) == Inputs(files, (place_here(folder),))
    assert find_inputs(spark.read.parquet(str(single))) == Inputs((place_here(single),), ())
    both = frame.union(spark.read.parquet(f"file://{single}")).orderBy("row")
    assert find_inputs(both) == Inputs(tuple(sorted([*files, place_here(single)])), (place_here(folder),))
    assert find_inputs(spark.range(3)) == Inputs()
    cached = frame.cache()
    try:
        assert find_inputs(cached).folders == (place_here(folder),)
    finally:
        cached.unpersist()


@pytest.mark.parametrize("row_id", [None, "row"])
def test_a_table_is_not_replaced_by_its_release(
    row_id: str | None, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any
) -> None:
    checkpoints = f"file:{tmp_path_factory.mktemp('checkpoints')}/{uuid4()}"
    monkeypatch.setattr(type(spark.sparkContext), "getCheckpointDir", lambda _: checkpoints)
    folder = in_folder(tmp_path / "all.parquet" / "in.parquet")
    (tmp_path / "link.parquet").symlink_to(folder)
    release = anonto.mask(spark.read.parquet(str(folder)), PLAN, seed=SEED, row_id=row_id)
    before = contents(tmp_path)
    for spelt in (f"{folder}", f"file://{folder}", f"file:{folder}/", f"{folder}/../in.parquet", folder / "0.parquet"):
        with pytest.raises(FileError, match="is also an input or another output"):
            release.save(spelt, private=False)
    with pytest.raises(FileError, match="is also an input or another output"):
        release.save(tmp_path / "link.parquet", private=False)
    with pytest.raises(FileError, match="is also an input or another output"):
        release.save(tmp_path / "all.parquet", private=False)
    with pytest.raises(FileError, match="would be read as part of the input"):
        release.save(f"file://{folder}/out.parquet", private=False)
    for given in ({"private": folder / "0.parquet"}, {"report": folder / "1.parquet"}, {"report": folder}):
        with pytest.raises(FileError, match="is also an input or another output"):
            release.save(tmp_path / "out.parquet", **given)
    with pytest.raises(FileError, match="is also an input or another output"):
        release.save_private(folder / "0.parquet")
    with pytest.raises(FileError, match="is also an input or another output"):
        release.save_report(tmp_path / "link.parquet" / "0.parquet")
    assert contents(tmp_path) == before


def test_a_file_beside_the_one_that_was_read_is_written(spark: Any, tmp_path: Path) -> None:
    folder = in_folder(tmp_path / "in")
    release = anonto.mask(spark.read.parquet(str(folder / "0.parquet")), PLAN, seed=SEED)
    release.save(folder / "out.parquet")
    assert json.loads((folder / "out.parquet.private.json").read_text())["seed"] == str(SEED)


def test_outputs_of_a_cluster_never_share_a_name(spark: Any, tmp_path: Path) -> None:
    folder, ontology = in_folder(tmp_path / "in"), tmp_path / "onto.csv"
    ontology.write_text("child,parent\na,root\nb,root\nc,root\n")
    plan = {**PLAN, "columns": {"dx": {"ontology": str(ontology)}}}
    release = anonto.mask(spark.read.parquet(str(folder)), plan, seed=SEED)
    before, out = contents(tmp_path), tmp_path / "out.parquet"
    same = tmp_path / "x.html"
    for given in (
        {"private": same, "report": same},
        {"report": f"{out}.private.json"},
        {"private": out},
        {"private": False, "report": ontology},
        {"private": False, "report": out / "report.html"},
    ):
        with pytest.raises(FileError, match="is also an input or another output"):
            release.save(out, **given)
    with pytest.raises(FileError, match="is also an input or another output"):
        release.save_private(ontology)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("fault", ["record", "report", "table", "interrupted"])
def test_a_table_is_never_in_place_without_its_record(
    fault: str, is_there: bool, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, out = spark.read.parquet(str(in_folder(tmp_path / "in"))), tmp_path / "out" / "o.parquet"
    out.parent.mkdir()
    if is_there:
        anonto.mask(frame, PLAN, seed=SEED - 1).save(out, report=tmp_path / "out" / "o.html")
    release, before = anonto.mask(frame, PLAN, seed=SEED), contents(tmp_path)
    moved, renamed = Path.replace, spark_files._try_rename

    def failing_here(self: Path, target: Path) -> Path:
        if target.name == {"record": "o.parquet.private.json", "report": "o.html"}[fault] and self.suffix:
            raise OSError(errno.EACCES, "Permission denied")
        return moved(self, target)

    def failing_there(system: Any, source: Any, target: Any) -> bool:
        if ".anonto-" in str(source.toString()) and str(target.getName()) == "o.parquet" and not is_old(source):
            if fault == "interrupted":
                raise KeyboardInterrupt
            return False
        return renamed(system, source, target)

    def is_old(source: Any) -> bool:
        return str(source.getParent().getName()).endswith(spark_files.OLD)

    if fault in {"record", "report"}:
        monkeypatch.setattr(Path, "replace", failing_here)
    else:
        monkeypatch.setattr(spark_files, "_try_rename", failing_there)
    with pytest.raises(KeyboardInterrupt if fault == "interrupted" else UnwritableFileError):
        release.save(out, report=tmp_path / "out" / "o.html")
    monkeypatch.undo()
    assert contents(tmp_path) == before
    assert sorted(one.name for one in out.parent.iterdir()) == (
        ["o.html", "o.parquet", "o.parquet.private.json"] if is_there else []
    )
    release.save(out, report=tmp_path / "out" / "o.html")
    assert json.loads(Path(f"{out}.private.json").read_text())["seed"] == str(SEED)


def test_the_command_does_not_overwrite_its_input(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "open_session", lambda _: nullcontext(spark))
    folder = in_folder(tmp_path / "in.parquet")
    (tmp_path / "p.toml").write_text('[[steps]]\nmethod = "random-swap"\ncolumns = ["dx"]\n')
    before = contents(tmp_path)
    words = ["mask", f"file://{folder}", "--plan", str(tmp_path / "p.toml"), "--engine", "spark", "--force"]
    assert run([*words, "--output", str(folder)]) == 2
    assert "is also an input" in capsys.readouterr().err
    assert contents(tmp_path) == before
