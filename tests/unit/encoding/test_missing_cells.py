"""Missing cells by code, and with one common code, in every kind of table."""

from __future__ import annotations

import datetime as dt
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anonto

NAN = float("nan")


def merged(table: Any, *na: str) -> tuple[Any, dict[str, int] | None]:
    """The column after its missing cells got one code, and how many of which code were replaced."""
    plan = {"columns": {"a": {"na": list(na)}}, "steps": [{"method": "random-swap", "columns": ["a"]}]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = anonto.mask(table, plan)
    return release.masked_rows._in_order(None, ())["a"], release.evidence["steps"][0].get("missing_codes", {}).get("a")


@pytest.mark.parametrize(
    ("cells", "na", "wanted", "counts"),
    [
        (["30", "NA", None, "-9"], ("NA", "-9"), ["30", "NA", "NA", "NA"], {"-9": 1, "null": 1}),
        (["30", None, None, "-9"], ("NA", "-9"), ["30", "NA", "NA", "NA"], {"-9": 1, "null": 2}),
        ([30.0, NAN, None], (), [30.0, None, None], {"NaN": 1}),
        ([30.0, NAN, None, -9.0], ("-9",), [30.0, -9.0, -9.0, -9.0], {"NaN": 1, "null": 1}),
        ([30, -8, None, -9], ("?", "-9", "-8"), [30, -9, -9, -9], {"-8": 1, "null": 1}),
        ([30, -8, None, -8], ("-9.5", "-8"), [30, -8, -8, -8], {"null": 1}),
        ([dt.date(2020, 1, 1), dt.date(9999, 1, 1), None], ("9999-01-01",), [dt.date(2020, 1, 1), None, None], None),
        ([True, False, None], ("false",), [True, None, None], {"false": 1}),
    ],
)
def test_the_common_code_is_the_first_of_the_plan_that_the_type_can_hold(
    cells: list[Any], na: tuple[str, ...], wanted: list[Any], counts: dict[str, int] | None
) -> None:
    column, replaced = merged(pl.DataFrame({"a": cells}), *na)
    assert column.to_list() == wanted
    assert column.dtype == pl.Series(cells).dtype
    assert counts is None or replaced == counts


def test_missing_cells_of_one_code_get_the_code_of_the_plan_too() -> None:
    for cells in (["30", None, None], ["30", "-9", "-9"]):
        column, replaced = merged(pl.DataFrame({"a": cells}), "NA", "-9")
        assert column.to_list() == ["30", "NA", "NA"]
        assert replaced == {"null" if cells[1] is None else "-9": 2}
    column, replaced = merged(pl.DataFrame({"a": ["30", "NA", "NA"]}), "NA", "-9")
    assert (column.to_list(), replaced) == (["30", "NA", "NA"], None)


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.Enum(["30", "NA", "-9", "33"])])
def test_categories_stay_categories(dtype: pl.DataType) -> None:
    column, _ = merged(pl.DataFrame({"a": pl.Series(["30", "NA", None, "-9"], dtype=dtype)}), "NA", "-9")
    assert column.to_list() == ["30", "NA", "NA", "NA"]
    assert column.dtype == dtype


@pytest.mark.parametrize(
    ("cells", "na", "wanted"),
    [
        (np.array([30, -8, -9], dtype=np.int8), ("-9", "-8"), [30, -9, -9]),
        (pd.array([30, -8, -9, None], dtype="Int64"), ("-9", "-8"), [30, -9, -9, -9]),
        (pd.array([30.5, -8, None], dtype="Float64"), ("-8",), [30.5, -8, -8]),
        (pd.Categorical([1, -9, None, -8]), ("-9", "-8"), [1, -9, -9, -9]),
        (pd.Categorical(["x", "?", None]), ("NA", "?"), ["x", "?", "?"]),
        (pd.Series(["x", "y", None, "z"], dtype="str"), ("z", "y"), ["x", "z", "z", "z"]),
        (pd.Series(["x", None, NAN, pd.NA], dtype=object), (), ["x", None, None, None]),
        (pd.Series([30, None, NAN, pd.NaT, pd.NA], dtype=object), (), [30, None, None, None, None]),
        (pd.Series([30, None, NAN, -9], dtype=object), ("-9",), [30, -9, -9, -9]),
    ],
)
def test_columns_of_pandas_keep_their_type(cells: Any, na: tuple[str, ...], wanted: list[Any]) -> None:
    frame = pd.DataFrame({"a": cells})
    before = frame.copy()
    column, _ = merged(frame, *na)
    assert list(column) == wanted
    assert [cell is None for cell in column] == [cell is None for cell in wanted]
    assert column.dtype == before["a"].dtype
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("cells", "na", "wanted"),
    [
        (pa.array([1.0, NAN, None]), (), [1.0, None, None]),
        (pa.array([1, -9, None, -8], pa.int16()), ("-9", "-8"), [1, -9, -9, -9]),
        (pa.array(["1", "-9", None]).dictionary_encode(), ("?", "-9"), ["1", "?", "?"]),
        (pa.array(["1", "-9", None], pa.string_view()), ("?", "-9"), ["1", "?", "?"]),
    ],
)
def test_columns_of_pyarrow_keep_their_type(cells: Any, na: tuple[str, ...], wanted: list[Any]) -> None:
    column, _ = merged(pa.table({"a": cells}), *na)
    assert column.to_pylist() == wanted
    assert column.type == cells.type
