"""Masking in batches gives the same as masking at once: the same cells, the same types, the same evidence."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import anonto
from anonto.errors import (
    AnontoWarning,
    ColumnError,
    FileError,
    MalformedFileError,
    MemoryLimitError,
    ParameterError,
    UnmatchedValuesError,
)
from anonto.methods.registry import METHODS
from budget import examples
from contract.test_every_method import EXAMPLES, ILLNESSES, SEED, plan_for, table
from strategies import taxonomy_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")]

TooLarge = Callable[..., None]


def both_ways(
    folder: Path, source: Path, plan: dict[str, Any], *, keep_order: bool = False, suffix: str | None = None
) -> tuple[Path, Path]:
    """The output of masking at once and in batches; the evidence must say the same."""
    suffix = suffix or "".join(source.suffixes)
    at_once, in_batches = folder / f"at-once{suffix}", folder / f"in-batches{suffix}"
    release = anonto.mask(source, plan, seed=SEED)
    at_once_said = release.save(at_once, keep_order=keep_order)
    evidence = anonto.mask_file(
        source, plan, in_batches, seed=SEED, memory="500MB", keep_order=keep_order, force=True
    ).evidence
    assert_close(evidence, at_once_said)
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".anonto")]
    return at_once, in_batches


def assert_close(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_close(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_close(a, b)
    else:
        assert one == (pytest.approx(other, abs=1e-9) if isinstance(other, float) else other)


def assert_same_file(at_once: Path, in_batches: Path) -> None:
    if at_once.suffix == ".parquet":  # tells what differs
        assert_frame_equal(pl.read_parquet(at_once), pl.read_parquet(in_batches), check_exact=True)
    assert at_once.read_bytes() == in_batches.read_bytes()


def written(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path)
    return path


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize(("name", "keep_order", "rows"), [("t.parquet", True, 7), ("t.csv", False, 13)])
def test_every_method_gives_the_same_release_in_batches(
    method: str, name: str, keep_order: bool, rows: int, tmp_path: Path, too_large: TooLarge
) -> None:
    too_large(rows)
    source = written(table(), tmp_path / name)
    assert_same_file(*both_ways(tmp_path, source, plan_for(method), keep_order=keep_order))


cells = st.sampled_from(["flu", "measles", "burn", "fracture", "?", "n/a", "no illness", None])


@hypothesis.settings(max_examples=examples(40), suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(
    illnesses=st.lists(cells, max_size=25),
    rows=st.integers(1, 9),
    missing=st.sampled_from(["keep", "drop"]),
    unmatched=st.sampled_from(["keep", "drop"]),
    name=st.sampled_from(["t.csv", "t.parquet"]),
    keep_order=st.booleans(),
    bytes_of_table=st.sampled_from([64, 1 << 40]),
    method=st.sampled_from(["random-swap", "rank-swap", "group-swap", "microaggregate", "semantic-noise"]),
)
def test_any_batches_policies_and_cells_give_the_same_release(
    illnesses: list[str | None],
    rows: int,
    missing: str,
    unmatched: str,
    name: str,
    keep_order: bool,
    bytes_of_table: int,
    method: str,
    tmp_path_factory: pytest.TempPathFactory,
    too_large: TooLarge,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    too_large(rows, bytes_of_table)
    frame = pl.DataFrame(
        {"id": [str(i) for i in range(len(illnesses))], "illness": pl.Series(illnesses, dtype=pl.String)}
    )
    plan = plan_for(method, ["illness"], missing=missing, unmatched=unmatched, na=["?", "n/a"])
    plan["columns"] = {"illness": plan["columns"]["illness"]}
    plan["steps"][0].update(EXAMPLES[method] | ({"k": 2} if "k" in EXAMPLES[method] else {}))
    source = written(frame, folder / name)
    try:
        anonto.mask(source, plan, seed=SEED)
    except anonto.InputError as refused:
        with pytest.raises(type(refused)):
            anonto.mask_file(source, plan, folder / f"out{source.suffix}", seed=SEED, memory="500MB")
        assert [path.name for path in folder.iterdir()] == [name]
        return
    assert_same_file(*both_ways(folder, source, plan, keep_order=keep_order))


def odd_types() -> pl.DataFrame:
    n = 40
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "category": pl.Series(rng.choice(["flu", "burn", "measles"], n).tolist(), dtype=pl.Categorical),
            "enum": pl.Series(rng.choice(["low", "mid"], n).tolist(), dtype=pl.Enum(["low", "mid", "high"])),
            "small": pl.Series(rng.integers(0, 250, n), dtype=pl.UInt8),
            "number": [float("nan"), None, *rng.normal(size=n - 2).round(2).tolist()],
            "code": ["008", "8", *["08"] * (n - 2)],
            "when": pl.datetime_range(
                dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
                dt.datetime(2020, 2, 9, tzinfo=dt.UTC),
                "1d",
                eager=True,
            ),
            "list": [[i, None] for i in range(n)],
            "money": pl.Series([Decimal(i) / 7 for i in range(n)], dtype=pl.Decimal(20, 4)),
            "<b>😀\"'": ["x"] * n,
        }
    )


@pytest.mark.parametrize("bytes_of_table", [500, 1 << 40])
@pytest.mark.parametrize("method", ["random-swap", "microaggregate", "semantic-noise", "group-swap"])
def test_columns_keep_their_types(method: str, bytes_of_table: int, tmp_path: Path, too_large: TooLarge) -> None:
    too_large(11, bytes_of_table)
    source = written(odd_types(), tmp_path / "t.parquet")
    plan = {
        "columns": {
            "category": {"ontology": ILLNESSES},
            "enum": {"kind": "ordinal", "order": ["low", "mid", "high"]},
            "small": {"kind": "numeric"},
            "number": {"kind": "numeric"},
        },
        "steps": [
            {"method": method, "columns": ["category", "enum", "small"], **EXAMPLES[method]},
            {"method": "random-swap", "columns": ["number", "code"]},
        ],
    }
    at_once, in_batches = both_ways(tmp_path, source, plan)
    assert_same_file(at_once, in_batches)
    assert set(pl.read_parquet(in_batches)["code"]) == {"008", "8", "08"}


def test_new_numbers_widen_a_type_that_cannot_hold_them(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(7)
    numbers = np.random.default_rng(1).integers(0, 250, 60)
    source = written(pl.DataFrame({"x": pl.Series(numbers, dtype=pl.UInt8)}), tmp_path / "t.parquet")
    plan = {
        "columns": {"x": {"kind": "numeric"}},
        "steps": [{"method": "semantic-noise", "columns": ["x"], "noise_level": 4.0}],
    }
    at_once, in_batches = both_ways(tmp_path, source, plan)
    assert_same_file(at_once, in_batches)
    assert pl.read_parquet(in_batches)["x"].dtype == pl.Int64


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("keep_order", [True, False])
def test_tables_with_no_or_few_rows_work(
    n: int, name: str, keep_order: bool, tmp_path: Path, too_large: TooLarge
) -> None:
    too_large(1)
    source = written(table(30).drop_nulls().head(n), tmp_path / name)
    assert_same_file(*both_ways(tmp_path, source, plan_for("random-swap"), keep_order=keep_order))


def test_a_plan_without_steps_only_shuffles(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(7, 200)
    assert_same_file(*both_ways(tmp_path, written(table(), tmp_path / "t.csv"), {}))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_csv_comes_back_in_its_dialect(encoding: str, suffix: str, tmp_path: Path, too_large: TooLarge) -> None:
    too_large(3, 200)
    source = tmp_path / "in.csv"
    rows = [f'"Zoë; {i}";{"flu" if i % 3 else "burn"};"a\r\n""b"""' for i in range(20)]
    source.write_bytes("\r\n".join(["name;illness;note", *rows, ""]).encode(encoding))
    plan = {"steps": [{"method": "random-swap", "columns": ["illness"]}]}
    at_once, in_batches = both_ways(tmp_path, source, plan, suffix=suffix)
    assert_same_file(at_once, in_batches)
    if suffix == ".csv.gz":
        assert gzip.decompress(in_batches.read_bytes())


def test_a_cell_that_the_character_set_lacks_changes_it(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(3, 200)
    source = tmp_path / "in.csv"
    source.write_bytes("who;illness\n".encode("latin-1") + "é;flu\nü;burn\n".encode("latin-1") * 20)
    taxonomy = taxonomy_of({"日本": (), "flu": ("日本",), "burn": ("日本",)})
    plan = {
        "columns": {"illness": {"ontology": taxonomy}},
        "steps": [{"method": "taxonomy-exponential", "columns": ["illness"], "epsilon": 0.1}],
    }
    at_once, in_batches = both_ways(tmp_path, source, plan)
    assert_same_file(at_once, in_batches)
    with pytest.warns(AnontoWarning, match="cannot represent every cell"):
        anonto.mask_file(source, plan, in_batches, seed=SEED, memory="500MB", force=True)
    assert "日本" in in_batches.read_text(encoding="utf-8-sig")


def test_a_folder_of_parquet_files_is_one_table_in_the_order_of_their_names(
    tmp_path: Path, too_large: TooLarge
) -> None:
    too_large(7)
    whole = table()
    folder = tmp_path / "parts"
    folder.mkdir()
    for name, part in (("b", whole[20:50]), ("c", whole[50:]), ("a", whole[:20])):
        part.write_parquet(folder / f"{name}.parquet")
    source = written(whole, tmp_path / "t.parquet")
    for given in (folder, tmp_path / "parts" / "*.parquet"):
        out = tmp_path / "out.parquet"
        anonto.mask_file(given, plan_for("rank-swap"), out, seed=SEED, force=True)
        anonto.mask(source, plan_for("rank-swap"), seed=SEED).save(tmp_path / "at-once.parquet")
        assert_same_file(tmp_path / "at-once.parquet", out)
    record = json.loads((tmp_path / "out.parquet.private.json").read_text())
    assert record["input"]["name"] == "*.parquet"
    assert len(record["input"]["sha256"]) == 64


def test_files_that_are_not_parts_of_one_table_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    with pytest.raises(FileError, match="has no Parquet files"):
        anonto.mask_file(folder, {}, tmp_path / "out.parquet")
    pl.DataFrame({"a": ["x"]}).write_parquet(folder / "1.parquet")
    pl.DataFrame({"a": [1]}).write_parquet(folder / "2.parquet")
    with pytest.raises(FileError, match="all files of a table must"):
        anonto.mask_file(folder, {}, tmp_path / "out.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts"]


def test_what_fits_is_masked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonto.engine.files.source.OverFiles", None)
    source = written(table(), tmp_path / "t.csv")
    evidence = anonto.mask_file(source, plan_for("random-swap"), tmp_path / "out.csv", memory="2GB", seed=SEED).evidence
    assert evidence["n_records"] == 60
    assert (tmp_path / "out.csv.private.json").exists()


def refused(tmp_path: Path, source: Path, plan: dict[str, Any], error: type[Exception], words: str) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(error, match=words):
        anonto.mask_file(source, plan, tmp_path / "out.parquet", memory="500MB", seed=SEED)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_what_a_plan_refuses_leaves_nothing_behind(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(7)
    source = written(table(), tmp_path / "t.parquet")
    refused(tmp_path, source, plan_for("random-swap", missing="refuse"), ColumnError, "missing = 'refuse'")
    strict = plan_for("random-swap")
    strict["columns"]["pain"] = {"ontology": ILLNESSES}
    refused(tmp_path, source, strict, UnmatchedValuesError, "no concept")
    refused(tmp_path, source, {"columns": {"nowhere": {}}}, ColumnError, "The table has no column")


def test_a_format_that_is_written_as_a_whole_is_refused(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(7)
    source = written(table(), tmp_path / "t.parquet")
    with pytest.raises(MemoryLimitError, match="cannot be read or written in"):
        anonto.mask_file(source, plan_for("random-swap"), tmp_path / "out.xlsx", memory="500MB")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_parquet_file_that_is_cut_off_or_damaged_is_refused(tmp_path: Path, too_large: TooLarge) -> None:
    too_large(7)
    source = written(table(3000), tmp_path / "t.parquet")
    whole = source.read_bytes()
    source.write_bytes(whole[: len(whole) // 2])
    refused(tmp_path, source, plan_for("random-swap"), MalformedFileError, "Parquet")
    source.write_bytes(whole[:4] + b"\xff" * (len(whole) - 4000) + whole[-3996:])
    refused(tmp_path, source, plan_for("random-swap"), MalformedFileError, "Parquet")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("same_size", [True, False])
def test_a_file_that_changes_between_the_passes_is_refused(
    name: str, same_size: bool, tmp_path: Path, too_large: TooLarge, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_large(7)
    source = written(table(), tmp_path / name)
    other = table().with_columns(pl.col("note").str.replace("text", "TEXT" if same_size else "a text"))
    from anonto.masking.fit import Fitter

    fit = Fitter.fit_step

    def change_and_fit(*given: Any) -> Any:
        written(other, source)
        return fit(*given)

    monkeypatch.setattr(Fitter, "fit_step", change_and_fit)
    refused(tmp_path, source, plan_for("random-swap"), FileError, "changed while it was being masked")


@pytest.mark.parametrize(
    "given", ["", "2", "-2GB", "2 parsecs", "1MB", "GB", "1e3GB", "nan", 7, True, 2.5, "99999999TB"]
)
def test_an_invalid_memory_limit_is_refused(given: Any, tmp_path: Path) -> None:
    source = written(table(), tmp_path / "t.parquet")
    with pytest.raises(ParameterError, match="memory must be a size"):
        anonto.mask_file(source, plan_for("random-swap"), tmp_path / "out.parquet", memory=given)


def test_sizes_are_read_as_people_write_them() -> None:
    from anonto.runtime.memory_limit import parse_memory

    for text, size in (
        ("2GB", 2 * 10**9),
        ("512 mb", 512 * 10**6),
        ("1.5GiB", 3 << 29),
        (" 1g ", 10**9),
        (10**9, 10**9),
    ):
        assert parse_memory(text) == size


def test_records_that_do_not_fit_are_refused_in_a_sentence(
    tmp_path: Path, too_large: TooLarge, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anonto.runtime.memory_limit import MemoryLimit

    too_large(7)
    monkeypatch.setattr(MemoryLimit, "for_step", property(lambda _: 12_000))
    source = written(table(), tmp_path / "t.parquet")
    refused(tmp_path, source, plan_for("rank-swap-joint", ["age", "pain"]), MemoryLimitError, "of memory may be used")
    monkeypatch.setattr(MemoryLimit, "for_step", property(lambda _: 2_000))
    refused(tmp_path, source, plan_for("random-swap", ["age"]), MemoryLimitError, "of memory may be used")


def test_groups_beyond_memory_are_formed_in_blocks_and_the_evidence_says_so(
    tmp_path: Path, too_large: TooLarge, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anonto.runtime.memory_limit import MemoryLimit

    too_large(500)
    monkeypatch.setattr(MemoryLimit, "for_step", property(lambda _: 500_000))
    source = written(table(4000), tmp_path / "t.parquet")
    plan = plan_for("microaggregate", ["age", "pain"])
    with pytest.warns(AnontoWarning, match="was fitted in"):
        evidence = anonto.mask_file(source, plan, tmp_path / "out.parquet", memory="500MB", seed=SEED).evidence
    step = evidence["steps"][0]
    assert step["blocks"] > 1
    assert step["smallest_block"] >= 300
    assert step["real_k"] >= 3
    assert -1 < step["block_cost"] < 10
    assert pl.read_parquet(tmp_path / "out.parquet").group_by("age", "pain").len()["len"].min() >= 3


def test_bins_beyond_memory_give_the_same(tmp_path: Path, too_large: TooLarge, monkeypatch: pytest.MonkeyPatch) -> None:
    from anonto.runtime.memory_limit import MemoryLimit

    too_large(100)
    monkeypatch.setattr(MemoryLimit, "for_step", property(lambda _: 100_000))
    source = written(table(1500), tmp_path / "t.parquet")
    assert_same_file(*both_ways(tmp_path, source, plan_for("equi-width-swap", ["age", "pain"])))
