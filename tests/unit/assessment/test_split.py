"""A table split into persons to mask and persons held out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anonto
from anonto.cli.main import run
from anonto.errors import AnontoWarning, ColumnError, ExistingFileError, FileError, InputError, ParameterError

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1 << 100
ROWS = pl.DataFrame({"who": [f"person {i % 40:02}" for i in range(100)], "code": [f"{i:03}" for i in range(100)]})
GIVEN = "who,code\n" + "".join(f"{who},{code}\n" for who, code in ROWS.iter_rows())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(GIVEN)
    return path


@pytest.mark.parametrize("of", [ROWS, ROWS.to_pandas(), ROWS.to_arrow()])
def test_both_parts_have_every_row_once_in_order_and_the_callers_kind(of: Any) -> None:
    parts = anonto.split(of, 0.25, seed=SEED)
    assert [type(part) for part in parts] == [type(of)] * 2
    to_mask, held_out = (
        list(part["code"].to_pylist() if isinstance(part, pa.Table) else part["code"]) for part in parts
    )
    assert sorted(to_mask + held_out) == ROWS["code"].to_list()
    assert len(held_out) == 25
    assert to_mask == sorted(to_mask)
    assert held_out == sorted(held_out)


@pytest.mark.parametrize("how", [{"person": "who"}, {"plan": {"table": {"person": "who"}}}])
def test_all_rows_of_a_person_are_in_one_part(how: dict[str, Any]) -> None:
    to_mask, held_out = anonto.split(ROWS, 0.3, **how, seed=SEED)
    assert not set(to_mask["who"]) & set(held_out["who"])
    assert held_out["who"].n_unique() == 12
    assert len(to_mask) + len(held_out) == 100


def test_the_seed_decides_and_a_fresh_one_is_taken_without() -> None:
    one, again, other = (anonto.split(ROWS, seed=seed)[1]["code"].to_list() for seed in (SEED, SEED, SEED + 1))
    assert one == again != other
    assert anonto.split(ROWS)[1]["code"].to_list() != anonto.split(ROWS)[1]["code"].to_list()


def test_every_row_is_held_out_about_as_often() -> None:
    times = pl.concat([anonto.split(ROWS, 0.3, seed=SEED + n)[1]["code"] for n in range(200)]).value_counts()["count"]
    assert times.len() == 100
    assert times.min() > 60 - 5 * 6.5  # type: ignore[operator]
    assert times.max() < 60 + 5 * 6.5  # type: ignore[operator]


@pytest.mark.parametrize(("share", "n_out"), [(0.001, 1), (0.5, 20), (0.999, 39)])
def test_neither_part_is_empty(share: float, n_out: int) -> None:
    _, held_out = anonto.split(ROWS, share, person="who", seed=SEED)
    assert held_out["who"].n_unique() == n_out


@pytest.mark.parametrize("share", [0, 1, -0.5, 2.0, True, "half", float("nan")])
def test_a_share_that_is_none_is_refused(share: Any) -> None:
    with pytest.raises(ParameterError, match=r"^share must be a number above 0 and below 1; got"):
        anonto.split(ROWS, share)


def test_what_cannot_be_split_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match=r"^The table has 1 person, and two are needed"):
        anonto.split(ROWS.head(1))
    with pytest.raises(InputError, match=r"^The table has 0 persons, and two are needed"):
        anonto.split(ROWS.head(0))
    with pytest.raises(ColumnError, match=r"^The table has no column 'patient'"):
        anonto.split(ROWS, person="patient")
    with pytest.raises(ColumnError, match=r"^1 row has no value in 'who'"):
        anonto.split(pd.DataFrame({"who": ["a", "b", None]}), person="who")
    with pytest.raises(ParameterError, match=r"^person must be left out where a plan is given"):
        anonto.split(ROWS, person="who", plan={"table": {"person": "who"}})


def test_a_short_seed_is_warned_about() -> None:
    with pytest.warns(AnontoWarning, match=r"^The seed is short and can be guessed; whoever finds it"):
        anonto.split(ROWS, seed=7)


def test_a_file_is_split_into_files_as_it_is_written(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = [tmp_path / "part.csv", tmp_path / "others.csv"]
    options = ["--to-mask", str(outputs[0]), "--held-out", str(outputs[1]), "--share", "0.25", "--seed", str(SEED)]
    assert run(["split", str(file), *options]) == 0
    assert "held out  25 rows" in capsys.readouterr().out
    to_mask, held_out = (one.read_text().splitlines() for one in outputs)
    assert to_mask[0] == held_out[0] == "who,code"
    assert sorted(to_mask[1:] + held_out[1:]) == sorted(GIVEN.splitlines()[1:])
    assert anonto.split(file, 0.25, seed=SEED)[1].write_csv().splitlines() == held_out
    assert run(["split", str(file), *options]) == 2
    assert "exists" in capsys.readouterr().err
    assert run(["split", str(file), *options, "--force", "--json"]) == 0
    assert '"held_out": 25' in capsys.readouterr().out


def test_no_output_replaces_an_input_or_another_output(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    with pytest.raises(FileError, match="is also an input or another output"):
        anonto.split_file(file, file, other, force=True)
    with pytest.raises(FileError, match="is also an input or another output"):
        anonto.split_file(file, other, other)
    with pytest.raises(FileError, match="suffix"):
        anonto.split_file(file, tmp_path / "other.doc", other)
    other.write_text("mine")
    with pytest.raises(ExistingFileError):
        anonto.split_file(file, tmp_path / "part.csv", other)
    assert other.read_text() == "mine"
    assert not (tmp_path / "part.csv").exists()
    assert file.read_text() == GIVEN


def test_a_parquet_file_keeps_its_types(tmp_path: Path) -> None:
    table = pl.DataFrame({"day": pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 20), eager=True), "n": range(20)})
    table.write_parquet(tmp_path / "table.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        anonto.split_file(tmp_path / "table.parquet", tmp_path / "part.parquet", tmp_path / "others.parquet")
    parts = [pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("part", "others")]
    assert pl.concat(parts).sort("n").equals(table)
