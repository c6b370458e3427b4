"""Masking on a cluster gives the cells and the evidence that masking on one machine gives."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import stat
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import anonto
from anonto.encoding.record_counts import RecordIndex
from anonto.engine.spark import count as spark_counts
from anonto.engine.spark import table as spark_table
from anonto.engine.spark.sink import MaskedFrame
from anonto.errors import (
    AllMissingError,
    ClusterError,
    ColumnError,
    ExistingFileError,
    MemoryLimitError,
    TooFewRecordsError,
    UnmatchedValuesError,
)
from anonto.methods.registry import METHODS
from anonto.runtime.memory_limit import MemoryLimit
from packed import zstd_frames

SEED = 1 << 100
ILLNESSES = anonto.read_ontology("illnesses")
EXAMPLES: dict[str, dict[str, Any]] = {
    "random-swap": {},
    "frequency-swap": {"k": 3},
    "rank-swap-fixed": {"k": 3},
    "rank-swap": {"k": 3},
    "rank-swap-joint": {"k": 3},
    "group-swap": {"k": 3},
    "equi-depth-swap": {"k": 3},
    "equi-width-swap": {"bins": 2},
    "invariant-swap": {"rate": 0.7, "k": 5},
    "microaggregate": {"k": 3},
    "semantic-noise": {"noise_level": 0.3},
    "semantic-noise-joint": {"noise_level": 0.3},
    "taxonomy-exponential": {"epsilon": 2.0},
    "generalise": {"k": 3, "suppress": 0.05},
    "suppress": {"k": 3, "combinations": 2},
}


def people(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "illness": rng.choice(["flu", "measles", "burn", "fracture", "?", None], n).tolist(),
            "age": rng.integers(0, 90, n),
            "pain": rng.choice(["low", "mid", "high"], n),
            "row": np.arange(n),
        },
        schema_overrides={"illness": pl.String, "pain": pl.String},
    )


def plan_for(method: str, columns: list[str] | None = None, **illness: Any) -> dict[str, Any]:
    chosen = ["illness"] if method == "taxonomy-exponential" else ["illness", "age", "pain"]
    return {
        "columns": {
            "name": {"role": "identifier"},
            "illness": {"ontology": ILLNESSES, "na": ["?"], **illness},
            "age": {"kind": "numeric"},
            "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
        },
        "steps": [{"method": method, "columns": columns or chosen, **EXAMPLES[method]}],
    }


def in_files(frame: pl.DataFrame, folder: Path, sizes: tuple[int, ...] = (30, 250, 20), group: int = 64) -> Path:
    """A table as files of different sizes, each with several row groups."""
    folder.mkdir()
    first = 0
    for number, size in enumerate((*sizes, frame.height)):
        frame[first : first + size].write_parquet(folder / f"part {number}.parquet", row_group_size=group)
        first += size
    return folder


def read_back(folder: Path) -> pl.DataFrame:
    """The rows of all files of a folder, files by name."""
    return pl.concat([pl.read_parquet(file) for file in sorted(folder.glob("*.parquet"))])


def alike(found: Any, wanted: Any) -> bool:
    """Return whether two pieces of evidence are the same, but for how sums of floats were rounded."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(alike(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(alike, found, wanted))
    return bool(found == pytest.approx(wanted, rel=1e-9)) if isinstance(wanted, float) else found == wanted


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_files(people(), tmp_path_factory.mktemp("tables") / "visits é 20%")


@pytest.fixture(scope="session")
def frame(spark: Any, folder: Path) -> Any:
    return spark.read.parquet(str(folder))


def test_every_method_has_an_example() -> None:
    assert set(EXAMPLES) == set(METHODS)


@pytest.mark.parametrize("method", EXAMPLES)
def test_every_method_gives_the_rows_and_the_evidence_of_one_machine(method: str, frame: Any) -> None:
    plan = plan_for(method)
    here = anonto.mask(people(), plan, seed=SEED)
    there = anonto.mask(frame, plan, seed=SEED)
    assert isinstance(there.masked_rows, MaskedFrame)
    assert alike(there.evidence, here.evidence)
    masked = pl.DataFrame(pl.from_arrow(there.table.toArrow())).sort("row")
    assert masked.equals(here.table)


@pytest.mark.parametrize("method", ["group-swap", "microaggregate", "equi-width-swap", "rank-swap"])
def test_codes_of_missing_cells_that_are_kept_apart_are_those_of_one_machine(method: str, frame: Any) -> None:
    plan = plan_for(method, missing_codes="keep")
    here, there = (anonto.mask(table, plan, seed=SEED) for table in (people(), frame))
    assert alike(there.evidence, here.evidence)
    assert pl.DataFrame(pl.from_arrow(there.table.toArrow())).sort("row").equals(here.table)
    assert set(here.table["illness"].to_list()) >= {"?", None}


def in_cells_and_alone() -> dict[str, Any]:
    """A plan of two steps whose rows come together in cells, and of one between them."""
    plan = plan_for("equi-width-swap", ["illness", "age"])
    plan["steps"][0]["bins"] = [2, 5]
    return plan | {
        "steps": [
            plan["steps"][0],
            {"method": "rank-swap", "columns": ["pain"], "k": 40},
            {"method": "equi-width-swap", "columns": ["row"], "width": 50.0, "odd": "cycle3"},
        ],
        "columns": plan["columns"] | {"row": {"kind": "numeric"}},
    }


@pytest.mark.parametrize("keep_order", [True, False])
@pytest.mark.parametrize("illness", [{}, {"missing": "drop"}])
def test_rows_that_came_together_in_cells_are_saved_where_they_belong(
    keep_order: bool, illness: dict[str, Any], frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_table, "ROWS_OF_A_TASK", 100)
    plan = in_cells_and_alone()
    plan["columns"]["illness"] |= illness
    anonto.mask(people(), plan, seed=SEED).save(tmp_path / "here.parquet", keep_order=keep_order)
    there = anonto.mask(frame, plan, seed=SEED)
    there.save(tmp_path / "there.parquet", keep_order=keep_order)
    assert len(list((tmp_path / "there.parquet").glob("part-*"))) == -(-there.evidence["n_records"] // 100)
    assert read_back(tmp_path / "there.parquet").equals(pl.read_parquet(tmp_path / "here.parquet"))


def test_cells_of_all_types_meet_their_rows_again_beside_noise(spark: Any, tmp_path: Path) -> None:
    days = [dt.date(2024, 1, 1 + n) for n in range(20)]
    rng = np.random.default_rng(3)
    given = pl.DataFrame(
        {
            "day": rng.choice(np.array(days, dtype=object), 300).tolist(),
            "at": [dt.datetime(2024, 1, 1, n % 24, tzinfo=dt.UTC) for n in range(300)],
            "cost": [Decimal(int(n)) / 100 for n in rng.integers(0, 900, 300)],
            "small": pl.Series(rng.integers(0, 9, 300), dtype=pl.Int8),
            "share": pl.Series(rng.random(300).round(2), dtype=pl.Float32),
            "flag": rng.random(300) < 0.5,
            "age": rng.integers(0, 90, 300),
            "row": np.arange(300),
        },
        schema_overrides={"cost": pl.Decimal(10, 2), "day": pl.Date},
    )
    numeric = {name: {"kind": "numeric"} for name in ("cost", "small", "share", "age")}
    plan = {
        "columns": numeric | {"day": {"kind": "ordinal", "order": [str(day) for day in days]}},
        "steps": [
            {"method": "equi-width-swap", "columns": ["day", "cost", "small", "share"], "bins": 2},
            {"method": "equi-width-swap", "columns": ["flag", "at"], "bins": 2},
            {"method": "semantic-noise", "columns": ["age"], "noise_level": 0.2},
        ],
    }
    frame = spark.read.parquet(str(in_files(given, tmp_path / "in")))
    here, there = anonto.mask(given, plan, seed=SEED), anonto.mask(frame, plan, seed=SEED)
    assert alike(there.evidence, here.evidence)
    masked = pl.DataFrame(pl.from_arrow(there.table.toArrow())).sort("row")
    assert masked.cast(dict(here.table.schema)).equals(here.table)


def test_records_of_cells_never_come_to_the_driver(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordIndex, "of", None)
    monkeypatch.setattr(spark_counts, "_merge_records", None)
    there = anonto.mask(frame, plan_for("equi-width-swap"), seed=SEED)
    assert there.evidence["steps"][0]["bins"] > 2
    assert there.table.count() == 400


def test_what_becomes_of_values_must_fit_the_driver(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryLimit, "for_step", property(lambda _: 1000))
    with pytest.raises(MemoryLimitError, match=r"what becomes of their values.*of memory may be used"):
        anonto.mask(frame, plan_for("equi-width-swap"), seed=SEED)


def test_a_pattern_that_one_record_has_is_refused_where_cells_are_exchanged(spark: Any, tmp_path: Path) -> None:
    alone = people().with_columns(pl.when(pl.col("row") != 17).then("age").alias("age")).drop_nulls("illness")
    source = in_files(alone, tmp_path / "in")
    with pytest.raises(TooFewRecordsError, match="patterns of missing cells") as wanted:
        anonto.mask(alone, plan_for("equi-width-swap"), seed=SEED)
    with pytest.raises(TooFewRecordsError, match="patterns of missing cells") as refused:
        anonto.mask(spark.read.parquet(str(source)), plan_for("equi-width-swap"), seed=SEED)
    assert str(refused.value) == str(wanted.value)


@pytest.mark.parametrize("keep_order", [True, False])
def test_what_is_saved_has_the_rows_of_one_machine_in_their_order(
    keep_order: bool, frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_table, "ROWS_OF_A_TASK", 100)
    plan = plan_for("rank-swap-joint")
    anonto.mask(people(), plan, seed=SEED).save(tmp_path / "here.parquet", keep_order=keep_order)
    there = anonto.mask(frame, plan, seed=SEED)
    there.save(tmp_path / "there.parquet", keep_order=keep_order, report=tmp_path / "report.html")
    parts = sorted((tmp_path / "there.parquet").glob("part-*"))
    assert len(parts) == 4
    assert read_back(tmp_path / "there.parquet").equals(pl.read_parquet(tmp_path / "here.parquet"))
    assert "rank-swap-joint" in (tmp_path / "report.html").read_text(encoding="utf-8")
    record = tmp_path / "there.parquet.private.json"
    assert json.loads(record.read_text())["seed"] == str(SEED)
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "here.parquet",
        "here.parquet.private.json",
        "report.html",
        "there.parquet",
        "there.parquet.private.json",
    ]


def test_nothing_is_shuffled_to_mask_and_once_to_shuffle(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    release = anonto.mask(frame, plan_for("rank-swap"), seed=SEED)
    assert "Exchange" not in physical_plan(release.table)
    written: list[Any] = []
    monkeypatch.setattr(spark_table, "write_parquet", lambda given, _: written.append(given))
    spark_table.write_at_places(
        release.masked_rows.frame(["name"], anonto.random.streams.row_order(release.seed, "order", 400)), "", 400
    )
    assert physical_plan(written[0]).count("Exchange") == 1


def test_tasks_are_given_keys_and_never_the_seed(frame: Any) -> None:
    seed = 0x1DEA_BEEF_0DD5_EED5_CAFE_F00D_D00D_FEED
    release = anonto.mask(frame, plan_for("semantic-noise"), seed=seed)
    given = pickle.dumps(release.masked_rows.masking)
    assert len(given) < 100_000
    assert seed.to_bytes(16, "little") not in given
    assert str(seed).encode() not in given


def physical_plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.mark.parametrize(
    ("method", "illness"),
    [
        ("rank-swap", {"missing": "drop"}),
        ("semantic-noise", {"missing": "drop"}),
        ("rank-swap-joint", {"unmatched": "drop", "na": []}),
        ("equi-width-swap", {"unmatched": "keep", "na": []}),
        ("microaggregate", {"unmatched": "keep", "na": []}),
        ("group-swap", {"unmatched": "keep", "na": []}),
        ("random-swap", {"unmatched": "keep", "na": []}),
    ],
)
def test_policies_drop_and_keep_the_same_records(method: str, illness: dict[str, Any], frame: Any) -> None:
    plan = plan_for(method, **illness)
    here = anonto.mask(people(), plan, seed=SEED)
    there = anonto.mask(frame, plan, seed=SEED)
    assert alike(there.evidence, here.evidence)
    assert pl.DataFrame(pl.from_arrow(there.table.toArrow())).sort("row").equals(here.table)


def test_what_one_machine_refuses_the_cluster_refuses(frame: Any, spark: Any, tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match="missing = 'refuse'") as missing:
        anonto.mask(frame, plan_for("rank-swap", missing="refuse"))
    with pytest.raises(ColumnError, match="missing = 'refuse'") as wanted:
        anonto.mask(people(), plan_for("rank-swap", missing="refuse"))
    assert str(missing.value) == str(wanted.value)
    with pytest.raises(UnmatchedValuesError):
        anonto.mask(frame, plan_for("rank-swap", na=[]))
    with pytest.raises(ColumnError, match="The table has no column"):
        anonto.mask(frame, plan_for("rank-swap", columns=["illness", "nowhere"]))
    nobody = in_files(people(4).with_columns(illness=pl.lit(None, pl.String)), tmp_path / "nobody", (2,))
    with pytest.raises(AllMissingError):
        anonto.mask(spark.read.parquet(str(nobody)), plan_for("rank-swap"))


# ------------------------------------------------------------------------------------------------ numbers of rows


def test_how_spark_cuts_the_table_changes_no_cell(frame: Any, spark: Any) -> None:
    plan = plan_for("semantic-noise-joint")
    whole = anonto.mask(people(), plan, seed=SEED).table
    release = anonto.mask(frame, plan, seed=SEED)
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    for size in ("500", "3000", "1000000"):
        spark.conf.set("spark.sql.files.maxPartitionBytes", size)
        masked = pl.DataFrame(pl.from_arrow(release.table.toArrow())).sort("row")
        assert masked.equals(whole)
    spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def test_rows_and_columns_that_are_left_out_do_not_count(frame: Any) -> None:
    chosen = frame.where("age > 30").drop("name")
    plan = plan_for("rank-swap-joint")
    del plan["columns"]["name"]
    here = anonto.mask(people().filter(pl.col("age") > 30).drop("name"), plan, seed=SEED)
    there = anonto.mask(chosen, plan, seed=SEED)
    assert there.masked_rows.source.scratch_folder is None
    assert alike(there.evidence, here.evidence)
    assert pl.DataFrame(pl.from_arrow(there.table.toArrow())).sort("row").equals(here.table)


def test_a_dataframe_without_files_is_written_down_first(spark: Any, tmp_path: Path) -> None:
    made = spark.createDataFrame(people(50).rows(), people(50).columns)
    with pytest.raises(ClusterError, match="has to be written to some first"):
        anonto.mask(made, plan_for("rank-swap"), seed=SEED)
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    here = anonto.mask(people(50).drop("row"), plan_for("rank-swap"), seed=SEED)
    shuffled = made.orderBy("age")
    there = anonto.mask(shuffled, plan_for("rank-swap"), seed=SEED, row_id="row")
    assert there.evidence["dropped_columns"] == ["name", "row"]
    assert there.evidence["steps"] == here.evidence["steps"]
    there.save(tmp_path / "out.parquet", keep_order=True)
    assert read_back(tmp_path / "out.parquet").equals(here.table)
    as_it_comes = anonto.mask(made, plan_for("rank-swap"), seed=SEED)
    masked = pl.DataFrame(pl.from_arrow(as_it_comes.table.toArrow())).sort("row")
    assert masked.equals(anonto.mask(people(50), plan_for("rank-swap"), seed=SEED).table)
    kept = as_it_comes.masked_rows.source.scratch_folder
    assert kept is not None
    assert Path(kept.removeprefix("file:")).exists()
    del as_it_comes
    assert not Path(kept.removeprefix("file:")).exists()
    table = anonto.mask(made, plan_for("rank-swap"), seed=SEED).table
    assert table.count() == 50


def test_a_column_that_does_not_number_the_rows_is_refused(frame: Any) -> None:
    for name, words in {"row": "works on it", "age": "different ones", "pain": "whole numbers"}.items():
        with pytest.raises(ClusterError, match=f"cannot number the rows: .*{words}"):
            anonto.mask(frame, plan_for("rank-swap", columns=["illness", *(["row"] * (name == "row"))]), row_id=name)
    with pytest.raises(ClusterError, match="is for tables on a Spark"):
        anonto.mask(people(), plan_for("rank-swap"), row_id="row")


# ------------------------------------------------------------------------------------------------ types and edges


def test_types_of_all_columns_stay_and_odd_names_pass(spark: Any, tmp_path: Path) -> None:
    n = 40
    given = pl.DataFrame(
        {
            "a.b `c` <script>": ["x", "y", "z", None] * (n // 4),
            "💊 'q'": pl.Series(range(n), dtype=pl.Int8),
            "money": [Decimal("1.50"), Decimal("2.25")] * (n // 2),
            "day": [dt.date(2020, 1, 1 + i % 5) for i in range(n)],
            "time": [dt.datetime(2020, 1, 1, i % 5) for i in range(n)],  # noqa: DTZ001
            "list": [[i, i + 1] for i in range(n)],
            "struct": [{"p": i, "q": None} for i in range(n)],
            "half": pl.Series([i / 2 for i in range(n)], dtype=pl.Float32),
            "raw": [b"\x00\xff"] * n,
            "yes": [True, False] * (n // 2),
        },
        schema_overrides={"money": pl.Decimal(10, 2), "struct": pl.Struct({"p": pl.Int64, "q": pl.String})},
    )
    swapped = ["a.b `c` <script>", "money", "day", "time", "half", "yes"]
    plan = {"columns": {"half": {"kind": "numeric"}}, "steps": [{"method": "random-swap", "columns": swapped}]}
    folder = in_files(given, tmp_path / "in", (7, 20), group=8)
    here = anonto.mask(given, plan, seed=SEED)
    there = anonto.mask(spark.read.parquet(str(folder)), plan, seed=SEED)
    there.save(tmp_path / "out.parquet", keep_order=True)
    found = read_back(tmp_path / "out.parquet")
    assert found.schema == {**here.table.schema, "time": pl.Datetime("us")}
    assert found.equals(here.table)
    assert alike(there.evidence, here.evidence)


def test_numbers_that_a_type_cannot_hold_get_a_wider_one(spark: Any, tmp_path: Path) -> None:
    given = pl.DataFrame({"small": pl.Series([1, 120, -100, 7] * 30, dtype=pl.Int8), "row": range(120)})
    plan = {
        "columns": {"small": {"kind": "numeric"}},
        "steps": [{"method": "semantic-noise", "columns": ["small"], "noise_level": 2.0}],
    }
    here = anonto.mask(given, plan, seed=SEED)
    there = anonto.mask(spark.read.parquet(str(in_files(given, tmp_path / "in"))), plan, seed=SEED)
    found = pl.DataFrame(pl.from_arrow(there.table.toArrow())).sort("row")
    assert here.table["small"].dtype == pl.Int64
    assert found.equals(here.table)
    assert alike(there.evidence, here.evidence)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("method", ["rank-swap", "semantic-noise", "rank-swap-joint", "equi-width-swap"])
def test_tables_with_no_or_one_record_work(n: int, method: str, spark: Any, tmp_path: Path) -> None:
    given = people(n).with_columns(illness=pl.lit("flu"))
    frame = spark.read.parquet(str(in_files(given, tmp_path / "in", ())))
    here = anonto.mask(given, plan_for(method), seed=SEED)
    there = anonto.mask(frame, plan_for(method), seed=SEED)
    there.save(tmp_path / "out.parquet")
    assert alike(there.evidence, here.evidence)
    assert read_back(tmp_path / "out.parquet").equals(here.table)


# ------------------------------------------------------------------------------------------------ files


def test_nothing_about_the_cells_stands_outside_them(frame: Any, tmp_path: Path) -> None:
    anonto.mask(frame, plan_for("rank-swap"), seed=SEED).save(tmp_path / "out.parquet")
    for part in (tmp_path / "out.parquet").glob("*.parquet"):
        metadata = pq.read_metadata(part)
        for group in range(metadata.num_row_groups):
            for column in range(metadata.num_columns):
                statistics = metadata.row_group(group).column(column).statistics
                assert statistics is None or not statistics.has_min_max


def test_files_have_no_value_that_was_masked_away_and_nothing_that_was_noted_of_columns(
    spark: Any, tmp_path: Path
) -> None:
    from pyspark.sql import functions

    gone, n = "Vanished", 40
    cells = pl.DataFrame(
        {
            "name": [f"{gone} person {i}" for i in range(n)],
            "illness": [f"{gone} illness of one", *["an illness that is common"] * (n - 1)],
            "age": [None if i == 7 else 30 for i in range(n)],
            "ward": [f"{gone} ward" if i == 7 else f"ward {i % 3}" for i in range(n)],
        }
    )
    noted = {"ml_attr": {"vals": [f"{gone} value"]}}
    frame = spark.read.parquet(str(in_files(cells, tmp_path / "plain")))
    ward = functions.col("ward").alias("ward", metadata=noted)
    frame = frame.withColumn("ward", ward).withColumn("inside", functions.struct(ward))
    frame.write.parquet(str(tmp_path / "in.parquet"))
    assert any(gone in repr(pq.read_metadata(one).metadata) for one in (tmp_path / "in.parquet").glob("*.parquet"))
    plan = {
        "columns": {"name": {"role": "identifier"}, "illness": {}, "age": {"missing": "drop", "role": "other"}},
        "steps": [{"method": "microaggregate", "columns": ["illness"], "k": 30}],
    }
    anonto.mask(spark.read.parquet(str(tmp_path / "in.parquet")), plan, seed=SEED).save(tmp_path / "out.parquet")
    parts = list((tmp_path / "out.parquet").glob("*.parquet"))
    assert parts
    for part in parts:
        assert gone not in repr(pq.read_metadata(part).metadata)
        assert gone.encode() not in part.read_bytes()
        assert gone.encode() not in b"".join(page for _, page in zstd_frames(part.read_bytes()))
    assert read_back(tmp_path / "out.parquet").height == n - 1


def test_an_output_that_is_there_is_replaced_only_when_asked(frame: Any, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    target.write_text("mine")
    release = anonto.mask(frame, plan_for("rank-swap"), seed=SEED)
    with pytest.raises(ExistingFileError):
        release.save(target, force=False)
    assert target.read_text() == "mine"
    release.save(target)
    assert read_back(target).height == 400
    release.save(target, keep_order=True)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.parquet", "out.parquet.private.json"]
    with pytest.raises(ClusterError, match="On a cluster tables are read"):
        release.save(tmp_path / "out.csv")


@pytest.mark.parametrize("method", ["rank-swap", "equi-width-swap"])
def test_a_table_that_changes_in_between_is_refused_and_nothing_is_left(
    method: str, spark: Any, tmp_path: Path
) -> None:
    folder = in_files(people(), tmp_path / "in")
    release = anonto.mask(spark.read.parquet(str(folder)), plan_for(method), seed=SEED)
    file = sorted(folder.glob("*.parquet"))[1]
    changed = pl.read_parquet(file).with_columns(illness=pl.lit("flu"))
    changed.write_parquet(file, row_group_size=64)
    with pytest.raises(ClusterError, match="changed between two reads"):
        release.save(tmp_path / "out.parquet")
    assert [one.name for one in tmp_path.iterdir()] == ["in"]
