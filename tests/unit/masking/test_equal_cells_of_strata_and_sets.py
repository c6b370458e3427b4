"""Cells that are equal by their text but not by their bytes, in strata, persons and sets."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anonto
from anonto.encoding.series import as_text_series
from anonto.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1 << 100
SET = {"kind": "set"}


def masked(table: Any, columns: dict[str, Any], **step: Any) -> anonto.Release:
    plan = {
        "table": {"person": "p"},
        "columns": columns,
        "steps": [{"method": "group-swap", "columns": ["c"], "k": 2, **step}],
    }
    return anonto.mask(table, plan, seed=SEED)


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_zeros_of_a_stratum_are_released_with_the_same_bits(library: str) -> None:
    table = pl.DataFrame({"p": range(6), "w": [0.0, 0.0, 0.0, -0.0, 0.0, 0.0], "c": list("abcdef")})
    given = {"polars": table, "pandas": table.to_pandas(), "pyarrow": table.to_arrow()}[library]
    release = masked(given, {"w": {"role": "confidential"}, "c": SET}, method="microaggregate", k=3, within=["w"])
    assert release.evidence["steps"][0]["guarantee"]["proved"]
    assert not np.signbit(np.asarray(release.table["w"])).any()
    assert np.signbit(np.asarray(given["w"])).any()


def test_times_that_differ_by_less_than_a_second_are_different_values() -> None:
    times = pl.Series([dt.time(8, 0, 0, micros) for micros in (0, 1, 500_000)])
    assert as_text_series(times).n_unique() == 3
    table = pl.DataFrame(
        {"p": [1, 1, 2], "c": list("abc"), "t": [dt.time(8, 0, 0, 1), dt.time(8, 0, 0, 2), dt.time(9)]}
    )
    with pytest.raises(InputError, match="differs between the rows of a person"):
        masked(table, {"c": SET, "t": {"role": "confidential"}})


@pytest.mark.parametrize("nobody", ["?", " ", ""])
def test_rows_whose_person_is_marked_as_missing_are_of_nobody(nobody: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"p": ["1", "2", "3", nobody], "c": list("abcd")})
    with pytest.raises(InputError, match="1 row has no value in 'p'"):
        masked(table, {"p": {"na": ["?"]}, "c": SET})
    table.write_parquet(tmp_path / "t.parquet")
    plan = {
        "table": {"person": "p"},
        "columns": {"p": {"na": ["?"]}, "c": SET},
        "steps": [{"method": "random-swap", "columns": ["c"]}],
    }
    with pytest.raises(InputError, match="1 row has no value in 'p'"):
        anonto.mask_file([tmp_path / "t.parquet"][0], plan, tmp_path / "o.parquet", seed=SEED, memory="500MB")


def test_lists_among_the_columns_of_a_set_are_refused() -> None:
    table = pl.DataFrame({"a": [["x", "y", "z"], ["u"], ["v", "w"], ["x"]], "b": list("1234")})
    plan = {
        "columns": {"s": {"kind": "set", "from": ["a", "b"]}},
        "steps": [{"method": "group-swap", "columns": ["s"], "k": 2}],
    }
    with pytest.raises(InputError, match="1 column has lists in its cells"):
        anonto.mask(table, plan, seed=SEED)


def test_sets_of_dates_are_released_as_dates_and_lists_of_dates_as_texts() -> None:
    days = [dt.date(2020, 1, day) for day in (1, 2, 3, 4)]
    single = masked(pl.DataFrame({"p": range(4), "c": days}), {"c": SET}).table
    assert single["c"].dtype == pl.Date
    assert sorted(single["c"]) == days
    lists = masked(pl.DataFrame({"p": range(4), "c": [[day] for day in days]}), {"c": SET}).table
    assert sorted(lists["c"].to_list()) == [[str(day)] for day in days]


def test_python_sets_of_pandas_are_sets() -> None:
    table = pd.DataFrame({"p": range(4), "c": pd.Series([{0, 8}, {8, 0}, {0, 8}, {8, 0}], dtype=object)})
    release = masked(table, {"c": SET}, method="microaggregate")
    assert {tuple(one) for one in release.table["c"]} == {("0", "8")}


def test_the_epsilon_of_a_record_adds_up_over_its_elements() -> None:
    table = pl.DataFrame({"c": ["flu;burn;measles", "flu", "burn"]})
    columns = {"c": {"kind": "set", "separator": ";", "ontology": "illnesses"}}
    plan = {"columns": columns, "steps": [{"method": "taxonomy-exponential", "columns": ["c"], "epsilon": 1.0}]}
    step = anonto.mask(table, plan, seed=SEED).evidence["steps"][0]
    assert step["record_epsilon"] == 3.0


def test_arrow_tables_keep_their_types_where_strata_are_made_plain() -> None:
    table = pa.table({"p": [1, 2, 3, 4], "w": pa.array([0.0, -0.0, 0.0, 0.0], pa.float32()), "c": list("abcd")})
    release = masked(table, {"w": {"role": "confidential"}, "c": SET}, within=["w"])
    assert release.table.schema.field("w").type == pa.float32()
