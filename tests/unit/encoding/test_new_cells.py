"""New values in the spelling and the type of their column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anonto
from anonto.encoding.columns import encode
from anonto.encoding.description import ColumnDescription
from anonto.encoding.frame_adapter import FrameAdapter, gather_values, longer_polars
from anonto.encoding.new_cells import NewCells, new_cells
from anonto.encoding.prepare import opener, prepare

NERVES = anonto.read_ontology("nervous-system")


def prepared(values: list[str], **keys: Any) -> Any:
    return prepare("a", encode(values), ColumnDescription(**keys), opener())


def cells_of(values: list[str], numbers: list[float]) -> NewCells:
    column = prepared(values, kind="numeric")
    cells = new_cells(column, column.value_space.with_numbers(np.array(numbers)))
    assert cells is not None
    return cells


def test_numbers_are_rounded_to_the_decimals_of_their_column() -> None:
    assert cells_of(["3", "5", "12"], [4.5001, 7.2]).as_texts().to_list() == ["5", "7"]
    assert cells_of(["3.25", "5.5"], [4.126, 7.0]).as_texts().to_list() == ["4.13", "7.0"]
    assert cells_of(["3,5", "5,25"], [4.126]).as_texts().to_list() == ["4,13"]
    assert cells_of(["1e-3", "2e-3"], [0.00149]).as_values().tolist() == [0.001]
    assert cells_of(["3.0", "5.0"], [3.7]).as_values().tolist() == [4]


def test_a_rank_between_two_is_the_nearer_of_them() -> None:
    column = prepared(["low", "high"], kind="ordinal", order=("low", "mid", "high"))
    cells = new_cells(column, column.value_space.with_numbers(np.array([0.9, 1.6, 5.0])))
    assert cells is not None
    assert cells.texts == ("mid", "high", "high")


@pytest.mark.parametrize(
    ("values", "spelling", "is_own"),
    [
        (["COMA", "HZO"], "id", True),
        (["Coma", "Herpes zoster ophthalmicus"], "label", True),
        (["COMA", "HZO"], "label", False),
        (["Coma", "Herpes zoster ophthalmicus"], "id", False),
    ],
)
def test_the_plan_decides_the_spelling_of_a_concept_not_the_values(
    values: list[str], spelling: str, is_own: bool
) -> None:
    concept = next(one for one in NERVES.ids if NERVES.label(one) == "Neurological varicella")
    column = prepared(values, ontology=NERVES, spelling=spelling)
    first = column.value_space.concepts[0]
    value_space, codes = column.value_space.codes_of([concept, first])
    cells = new_cells(column, value_space)
    assert cells is not None
    expected = (concept, first) if spelling == "id" else (NERVES.label(concept), NERVES.label(first))
    assert cells.texts == (expected[:1] if is_own else expected)
    assert codes.tolist() == [2, 0 if is_own else 3]
    assert value_space.pair_distances(np.array([2]), np.array([0]))[0] == NERVES.distance(
        concept, value_space.concepts[0]
    )


def test_a_column_without_new_values_has_none() -> None:
    column = prepared(["3", "5"], kind="numeric")
    assert new_cells(column, column.value_space) is None


CODES = np.array([2, 0, -1, 3, 1], np.int32)
"""The first and the fourth row take a new value, the second and the last that of another row, and the third stays."""
NUMBERS = NewCells(numbers=np.array([7.0, 9.0]), are_whole=True)
TEXTS = NewCells(texts=("new", "x"))


def changed(column: Any, make: Any, cells: NewCells) -> list[Any]:
    adapter = FrameAdapter(make({"a": column}))
    sources = np.where(CODES >= 0, np.array([0, 1, 5, 6])[CODES], np.arange(5))
    if make is pl.DataFrame:
        out = gather_values(longer_polars(adapter.table["a"], cells), sources.astype(np.int32))
    else:
        out = adapter.with_rows(["a"], {"a": sources}, {"a": cells}, None)["a"]
        turned = adapter.with_rows(["a"], {"a": sources[::-1]}, {"a": cells}, np.arange(4, -1, -1))["a"]
        assert _listed(turned) == _listed(out)[::-1]
    return [out.type if make is pa.table else out.dtype, *_listed(out)]


def _listed(column: Any) -> list[Any]:
    if isinstance(column, pd.Series):
        return list(column.tolist())
    return list(column.to_pylist() if isinstance(column, pa.ChunkedArray) else column.to_list())


@pytest.mark.parametrize("dtype", [pl.Int16, pl.Float32, pl.Decimal(9, 2), pl.UInt64])
def test_new_numbers_keep_the_type_of_a_polars_column(dtype: Any) -> None:
    column = pl.Series([1, 2, 3, 4, 5]).cast(dtype)
    found = changed(column, pl.DataFrame, NUMBERS)
    assert found[0] == dtype
    assert [float(cell) for cell in found[1:]] == [7, 1, 3, 9, 2]


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["p", "q", "r"])])
def test_new_texts_find_room_in_a_polars_column(dtype: Any) -> None:
    column = pl.Series(["p", "q", "r", "p", "q"]).cast(dtype)
    found = changed(column, pl.DataFrame, TEXTS)
    assert isinstance(found[0], pl.Enum) if isinstance(dtype, pl.Enum) else found[0] == dtype
    assert found[1:] == ["new", "p", "r", "x", "q"]


@pytest.mark.parametrize("dtype", ["int64", "Int32", "float64", "int64[pyarrow]"])
def test_new_numbers_keep_the_type_of_a_pandas_column(dtype: str) -> None:
    found = changed(pd.Series([1, 2, 3, 4, 5], dtype=dtype), pd.DataFrame, NUMBERS)
    assert str(found[0]) == dtype
    assert found[1:] == [7, 1, 3, 9, 2]


@pytest.mark.parametrize("dtype", ["str", "object", "category", "string[pyarrow]"])
def test_new_texts_find_room_in_a_pandas_column(dtype: str) -> None:
    found = changed(pd.Series(["p", "q", "r", "p", "q"], dtype=dtype), pd.DataFrame, TEXTS)
    assert str(found[0]).partition("[")[0] == dtype.partition("[")[0]
    assert found[1:] == ["new", "p", "r", "x", "q"]


@pytest.mark.parametrize("dtype", [pa.int16(), pa.float64()])
def test_new_numbers_keep_the_type_of_an_arrow_column(dtype: Any) -> None:
    found = changed(pa.array([1, 2, 3, 4, 5]).cast(dtype), pa.table, NUMBERS)
    assert found == [dtype, 7, 1, 3, 9, 2]


@pytest.mark.parametrize("dtype", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_new_texts_find_room_in_an_arrow_column(dtype: Any) -> None:
    found = changed(pa.array(["p", "q", "r", "p", "q"]).cast(dtype), pa.table, TEXTS)
    assert found == [dtype, "new", "p", "r", "x", "q"]


def test_new_numbers_in_a_column_of_text_become_text() -> None:
    found = changed(pl.Series(["1", "2", "3", "4", "5"]), pl.DataFrame, NUMBERS)
    assert found[1:] == ["7", "1", "3", "9", "2"]
    assert changed(pd.Series(["1", "2", "3", "4", "5"]), pd.DataFrame, NUMBERS)[1:] == ["7", "1", "3", "9", "2"]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("column", "texts", "becomes"),
    [
        ([250.0, 250.1, 4.5, 4.5, 1.0], ("250.10", "38"), ["250.10", "250", "4.5", "38", "250.1"]),
        ([250, 251, 4, 4, 1], ("V10", "038"), ["V10", "250", "4", "038", "251"]),
        ([250, 251, 4, 4, 1], ("10", "38"), [10, 250, 4, 38, 251]),
    ],
)
def test_a_column_of_numbers_becomes_text_if_a_code_would_not_read_back(
    make: Any, column: list[Any], texts: tuple[str, str], becomes: list[Any]
) -> None:
    """As numbers 250.10 would be 250.1, another code, and 038 would be 38."""
    assert changed(column, make, NewCells(texts=texts))[1:] == becomes
