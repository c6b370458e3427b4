import json
import stat
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anonto
from anonto.engine.memory import sink
from anonto.errors import (
    AllMissingError,
    AnontoWarning,
    ColumnError,
    ExistingFileError,
    GuessableSeedWarning,
    InputError,
    ReleasedAsIsWarning,
)
from anonto.io import parquet_files
from anonto.methods.guarantee import NO_RECORD

SEED = 1 << 90
CELLS = {"id": [1, 2, 3, 4], "code": ["008", "b", None, "008"], "age": [3, 5, 7, 9]}
PLAN = {
    "columns": {"id": {"role": "identifier"}, "code": {}, "age": {"kind": "numeric"}},
    "steps": [{"method": "random-swap", "columns": ["code", "age"]}],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    pl.DataFrame(CELLS).write_csv(path)
    return path


def sorted_cells(path: Path, name: str) -> list[str | None]:
    cells = pl.read_csv(path, infer_schema=False)[name].to_list()
    return sorted(cells, key=lambda cell: (cell is None, cell))


def test_a_file_becomes_a_masked_file_with_the_same_cells_in_every_column(file: Path, tmp_path: Path) -> None:
    release = anonto.mask(file, PLAN, seed=SEED)
    assert release.evidence["n_records"] == 4
    release.save(tmp_path / "out.csv")
    assert sorted_cells(tmp_path / "out.csv", "code") == ["008", "008", "b", None]
    assert sorted_cells(tmp_path / "out.csv", "age") == ["3", "5", "7", "9"]
    assert pl.read_csv(tmp_path / "out.csv").columns == ["code", "age"]


def test_one_column_alone_survives_being_masked_from_a_file(tmp_path: Path) -> None:
    pl.DataFrame({"code": ["a", "b", None, "c"] * 50}).write_parquet(tmp_path / "in.parquet")
    plan = {"steps": [{"method": "random-swap", "columns": ["code"]}]}
    release = anonto.mask(tmp_path / "in.parquet", plan, seed=SEED)
    release.save(tmp_path / "out.parquet")
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert out["code"].value_counts(sort=True, name="n").sort("code").to_dict(as_series=False) == {
        "code": [None, "a", "b", "c"],
        "n": [50, 50, 50, 50],
    }
    assert release.table["code"].null_count() == 50


def test_the_table_keeps_the_order_and_the_file_does_not(tmp_path: Path) -> None:
    plain = {"columns": {"age": {"role": "other"}}, "steps": []}
    cells = pl.DataFrame({"age": list(range(300))})
    release = anonto.mask(cells, plain, seed=SEED)
    assert release.table["age"].to_list() == list(range(300))
    release.save(tmp_path / "shuffled.csv")
    release.save(tmp_path / "kept.csv", keep_order=True)
    shuffled = pl.read_csv(tmp_path / "shuffled.csv")["age"].to_list()
    assert shuffled != list(range(300))
    assert sorted(shuffled) == list(range(300))
    assert pl.read_csv(tmp_path / "kept.csv")["age"].to_list() == list(range(300))


def test_rows_stay_whole_when_they_are_shuffled(tmp_path: Path) -> None:
    cells = pl.DataFrame({"a": list(range(200)), "b": [f"text {i}" for i in range(200)], "c": ["x"] * 200})
    plan = {
        "columns": {"a": {"role": "other"}, "b": {"role": "other"}},
        "steps": [{"method": "random-swap", "columns": ["c"]}],
    }
    anonto.mask(cells, plan, seed=SEED).save(tmp_path / "out.parquet")
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert all(b == f"text {a}" for a, b in zip(out["a"], out["b"], strict=True))


@pytest.mark.parametrize("missing", ["keep", "drop"])
def test_a_file_masked_in_batches_equals_the_table_masked_in_memory(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(sink, "WRITTEN_AT_ONCE", 11)
    cells = pl.DataFrame({"a": list(range(100)), "code": ["x", "y", None, "z", "y"] * 20, "b": ["p", "q"] * 50})
    cells.write_parquet(tmp_path / "in.parquet")
    plan = {
        "columns": {"a": {"role": "other"}, "code": {"missing": missing}},
        "steps": [{"method": "random-swap", "columns": ["code", "b"]}],
    }
    in_memory, from_file = (anonto.mask(given, plan, seed=SEED) for given in (cells, tmp_path / "in.parquet"))
    assert from_file.table.equals(in_memory.table)
    from_file.save(tmp_path / "kept.parquet", keep_order=True)
    assert pl.read_parquet(tmp_path / "kept.parquet").equals(in_memory.table)
    from_file.save(tmp_path / "from_file.parquet")
    in_memory.save(tmp_path / "in_memory.csv")
    assert pl.read_parquet(tmp_path / "from_file.parquet").equals(pl.read_csv(tmp_path / "in_memory.csv"))


def test_a_table_without_records_is_written_with_its_columns(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1], "code": ["x"]}).clear().write_parquet(tmp_path / "in.parquet")
    plan = {"columns": {"a": {"role": "other"}}, "steps": [{"method": "random-swap", "columns": ["code"]}]}
    with pytest.warns(AnontoWarning, match="the release has column names only"):
        anonto.mask(tmp_path / "in.parquet", plan, seed=SEED).save(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").schema == {"a": pl.Int64, "code": pl.String}


def test_the_private_record_is_for_its_owner_alone(file: Path, tmp_path: Path) -> None:
    release = anonto.mask(file, PLAN, seed=SEED)
    release.save(tmp_path / "out.csv")
    private = tmp_path / "out.csv.private.json"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    record = json.loads(private.read_text())
    assert int(record["seed"]) == SEED
    assert record["input"]["name"] == "people.csv"
    assert len(record["input"]["sha256"]) == 64
    assert str(SEED) not in (tmp_path / "out.csv").read_text()
    release.save(tmp_path / "other.csv", private=False)
    assert not (tmp_path / "other.csv.private.json").exists()
    release.save(tmp_path / "other.csv", private=tmp_path / "elsewhere.json")
    assert (tmp_path / "elsewhere.json").exists()


def test_the_record_undoes_nothing_less_than_the_same_release(file: Path, tmp_path: Path) -> None:
    anonto.mask(file, PLAN).save(tmp_path / "one.csv")
    seed = int(json.loads((tmp_path / "one.csv.private.json").read_text())["seed"])
    anonto.mask(file, PLAN, seed=seed).save(tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet", "xlsx", "sav", "dta"])
def test_the_same_seed_gives_the_same_bytes_in_every_format(file: Path, tmp_path: Path, suffix: str) -> None:
    for name in ("one", "two"):
        anonto.mask(file, PLAN, seed=SEED).save(tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_an_existing_file_is_replaced_only_by_force(file: Path, tmp_path: Path) -> None:
    release = anonto.mask(file, PLAN, seed=SEED)
    (tmp_path / "out.csv").write_text("precious")
    with pytest.raises(ExistingFileError):
        release.save(tmp_path / "out.csv", force=False)
    assert (tmp_path / "out.csv").read_text() == "precious"


def test_dtypes_and_the_index_of_pandas_stay() -> None:
    frame = pd.DataFrame(
        {
            "code": pd.Categorical(["a", "b", None, "a"], categories=["b", "a"], ordered=True),
            "when": pd.to_datetime(["2020-01-01", "2021-01-01", None, "2022-02-02"]).tz_localize("Europe/Vienna"),
            "count": pd.array([1, None, 3, 4], dtype="Int64"),
            "odd": pd.Series(["x", None, float("nan"), "y"], dtype=object, index=[9, 9, 1, 0]),
            "flag": [True, False, True, True],
        },
        index=[9, 9, 1, 0],
    )
    plan = {"steps": [{"method": "random-swap", "columns": list(frame.columns)}]}
    masked = anonto.mask(frame, plan, seed=SEED).table
    assert list(masked.index) == [9, 9, 1, 0]
    assert masked.dtypes.equals(frame.dtypes)
    assert masked["odd"].iloc[1] is None
    assert masked["odd"].iloc[2] is None
    assert sorted(masked["odd"].dropna()) == ["x", "y"]
    for name in frame:
        assert masked[name].isna().tolist() == frame[name].isna().tolist()


def test_types_of_arrow_and_polars_stay() -> None:
    arrow = pa.table({"code": pa.array(["a", None, "b"]).dictionary_encode(), "age": pa.array([1, 2, 3], pa.int8())})
    plan = {"steps": [{"method": "random-swap", "columns": ["code", "age"]}]}
    assert anonto.mask(arrow, plan, seed=SEED).table.schema.equals(arrow.schema, check_metadata=True)
    frame = pl.DataFrame(
        {"code": pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"])), "age": pl.Series([1, 2, 3], dtype=pl.UInt8)}
    )
    assert anonto.mask(frame, plan, seed=SEED).table.schema == frame.schema


def test_unnamed_columns_and_unmasked_quasi_identifiers_are_reported() -> None:
    frame = pl.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]})
    with pytest.warns(ReleasedAsIsWarning, match=r"does not name them: a; quasi-identifiers that no step masks: b"):
        anonto.mask(frame, {"columns": {"b": {}, "c": {"role": "other"}}}, seed=SEED)


def test_a_plan_that_masks_nothing_is_reported() -> None:
    frame = pl.DataFrame({"a": ["x"], "b": ["y"]})
    with pytest.warns(ReleasedAsIsWarning, match=r"no step: 2 columns are released as in the table"):
        anonto.mask(frame, {"columns": {"a": {"role": "other"}, "b": {"role": "other"}}}, seed=SEED)


PROVING = [
    {"method": "group-swap", "k": 2},
    {"method": "microaggregate", "k": 2},
    {"method": "invariant-swap", "rate": 0.5, "k": 2},
    {"method": "taxonomy-exponential", "epsilon": 1.0},
]


@pytest.mark.parametrize("step", PROVING, ids=lambda step: step["method"])
def test_nothing_is_proved_for_an_empty_table_and_this_is_reported(step: dict[str, object]) -> None:
    frame = pl.DataFrame({"a": [], "b": []}, schema={"a": pl.String, "b": pl.String})
    with pytest.warns(AnontoWarning, match=r"^The table has no record: .* nothing is proved about it; check"):
        release = anonto.mask(frame, {"steps": [{**step, "columns": ["a", "b"]}]}, seed=SEED)
    (done,) = release.evidence["steps"]
    assert (done["guarantee"]["proved"], done["guarantee"]["conditions"]) == (False, NO_RECORD)
    assessed = anonto.assess(frame, release.table, release.plan, same_order=True)
    assert [one["proved"] for one in assessed.facts["guarantees"]] == [False]


def test_a_plan_that_drops_every_record_is_reported() -> None:
    frame = pl.DataFrame({"a": ["x", None], "b": [None, "y"]})
    columns = {name: {"missing": "drop"} for name in frame.columns}
    plan = {"columns": columns, "steps": [{"method": "group-swap", "columns": ["a", "b"], "k": 2}]}
    with pytest.warns(AnontoWarning, match="^The plan drops 2 records, and the table has no other: "):
        release = anonto.mask(frame, plan, seed=SEED)
    assert not release.evidence["steps"][0]["guarantee"]["proved"]


def test_cells_without_a_concept_that_stay_in_place_are_reported(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("id,parent\nr,\na,r\nb,r\n")
    keys = {"ontology": str(tmp_path / "codes.csv"), "unmatched": "keep"}
    frame = pl.DataFrame({"x": ["a", "b", "?1", "?2", "a", "b"]})
    plan = {"columns": {"x": keys}, "steps": [{"method": "rank-swap", "columns": ["x"], "k": 3}]}
    with pytest.warns(AnontoWarning, match=r"Cells without a concept .*\(2 of 'x'\)") as told:
        masked = anonto.mask(frame, plan, seed=SEED).table["x"].to_list()
    assert masked[2:4] == ["?1", "?2"]
    assert not any("?1" in str(one.message) for one in told)
    moving = {"columns": {"x": keys}, "steps": [{"method": "group-swap", "columns": ["x"], "k": 3}]}
    anonto.mask(frame, moving, seed=SEED)


def test_a_column_of_unknown_codes_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("id,parent\nr,\na,r\n")
    keys = {"ontology": str(tmp_path / "codes.csv"), "unmatched": "keep"}
    plan = {"columns": {"x": keys}, "steps": [{"method": "group-swap", "columns": ["x"], "k": 2}]}
    with pytest.raises(AllMissingError, match=r"None of the 3 cells of column 'x' that have a value has a concept"):
        anonto.mask(pl.DataFrame({"x": ["q1", "q2", "q3", None]}), plan, seed=SEED)


def test_a_short_seed_is_reported() -> None:
    with pytest.warns(GuessableSeedWarning, match="can be guessed"):
        anonto.mask(pl.DataFrame({"a": ["x"]}), {"columns": {"a": {"role": "other"}}}, seed=7)


def test_columns_that_are_not_there_are_named_with_near_ones() -> None:
    with pytest.raises(ColumnError, match=r"The table has no column.*did you mean 'age'"):
        anonto.mask(pl.DataFrame({"age": [1]}), {"columns": {"agee": {}}}, seed=SEED)
    with pytest.raises(ColumnError, match="The table has no column"):
        anonto.mask(pl.DataFrame({"age": [1]}), {"steps": [{"method": "random-swap", "columns": ["sex"]}]}, seed=SEED)


def test_a_value_that_is_not_a_table_is_refused() -> None:
    for thing in ([1, 2], {"a": [1]}, 7, None):
        with pytest.raises(InputError, match="is not a table"):
            anonto.mask(thing, PLAN, seed=SEED)


def test_relative_ontologies_start_at_the_folder_of_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "codes.csv").write_text("id,parent\nr,\na,r\nb,r\n")
    (tmp_path / "deep" / "plan.toml").write_text(
        '[columns.x]\nontology = "codes.csv"\n[[steps]]\nmethod = "random-swap"\ncolumns = ["x"]\n'
    )
    monkeypatch.chdir(tmp_path)
    release = anonto.mask(pl.DataFrame({"x": ["a", "b"]}), "deep/plan.toml", seed=SEED)
    assert release.evidence["n_records"] == 2
    (tmp_path / "deep" / "codes.csv").unlink()
    with pytest.raises(InputError, match=r"codes\.csv"):
        anonto.mask(pl.DataFrame({"x": ["a", "b"]}), "deep/plan.toml", seed=SEED)


def test_nearest_ancestors_place_retired_codes(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("id,parent\nroot,\n36,root\n36.0,36\n37,root\n")
    keys = {"ontology": str(tmp_path / "codes.csv"), "unmatched": "nearest-ancestor"}
    plan = {"columns": {"x": keys}, "steps": [{"method": "random-swap", "columns": ["x"]}]}
    release = anonto.mask(pl.DataFrame({"x": ["36.01", "36.0", "37"]}), plan, seed=SEED)
    assert release.evidence["steps"][0]["unmatched"] == {"x": 0}
    assert sorted(release.table["x"]) == ["36.0", "36.01", "37"]


def test_missing_codes_of_a_labelled_file_stay_in_their_rows(tmp_path: Path) -> None:
    import pyreadstat

    frame = pl.DataFrame({"answer": [1.0, 2.0, 99.0, 1.0, 2.0, 99.0]})
    labels = {"answer": {1.0: "yes", 2.0: "no", 99.0: "refused"}}
    pyreadstat.write_sav(frame, tmp_path / "in.sav", variable_value_labels=labels, missing_ranges={"answer": [99.0]})
    plan = {"columns": {"answer": {}}, "steps": [{"method": "random-swap", "columns": ["answer"]}]}
    release = anonto.mask(tmp_path / "in.sav", plan, seed=SEED)
    assert release.evidence["steps"][0]["missing"] == {"answer": 2}
    assert [value == 99.0 for value in release.table["answer"]] == [False, False, True, False, False, True]
    release.save(tmp_path / "out.sav")
    _, meta = pyreadstat.read_sav(tmp_path / "out.sav", user_missing=True)
    assert meta.variable_value_labels == labels
    assert meta.missing_ranges["answer"] == [{"lo": 99.0, "hi": 99.0}]


pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.ReleasedAsIsWarning")


@pytest.mark.parametrize("private", [True, None])
def test_the_seed_is_kept_unless_requested_otherwise(private: bool | None, tmp_path: Path) -> None:
    plan = {"columns": {"a": {}}, "steps": [{"method": "random-swap", "columns": ["a"]}]}
    table = pl.DataFrame({"a": ["x", "y", "z"] * 4})
    anonto.mask(table, plan, seed=1 << 100).save(tmp_path / "out.csv", private=private)  # type: ignore[arg-type]
    assert (tmp_path / "out.csv.private.json").exists()
    anonto.mask(table, plan, seed=1 << 100).save(tmp_path / "other.csv", private=False)
    assert not (tmp_path / "other.csv.private.json").exists()
