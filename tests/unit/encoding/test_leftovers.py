"""A release keeps its cells, and only the categories of its cells."""

from __future__ import annotations

import pickle
import string
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.encoding import leftovers
from anonto.encoding.leftovers import used_categories, with_categories, without_leftovers

WORDS = st.text(string.ascii_letters, max_size=20)


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[str], list[str | None], list[str]]:
    """Categories, cells that have some of them, and an order of some of them."""
    categories = draw(st.lists(WORDS, min_size=1, max_size=8, unique=True))
    cells = draw(st.lists(st.one_of(st.none(), st.sampled_from(categories)), max_size=20))
    return categories, cells, draw(st.lists(st.sampled_from(categories), unique=True))


def expected(cells: list[str | None], order: list[str]) -> list[str]:
    used = {cell for cell in cells if cell is not None}
    return [word for word in order if word in used] + sorted(used - set(order))


@given(columns(), st.integers(0, 20))
def test_polars_lists_only_keep_categories_of_cells(
    given_column: tuple[list[str], list[str | None], list[str]], cut: int
) -> None:
    categories, cells, order = given_column
    frame = pl.DataFrame({"a": pl.Series(cells, dtype=pl.Enum(categories))})
    out = without_leftovers(frame, "polars", {"a": order})
    assert out["a"].to_list() == cells
    assert out.schema["a"] == pl.Enum(expected(cells, order))
    nested = frame.select(pl.struct(b=pl.concat_list("a", "a")).alias("a"))
    out = without_leftovers(nested, "polars", {"a": order})
    assert out.rows() == nested.rows()
    assert out.schema["a"] == pl.Struct({"b": pl.List(pl.Enum(expected(cells, order)))})
    parts = [frame[:cut], frame[cut:]]
    whole = used_categories(parts, {"a": order})
    assert whole == {"a": pl.Enum(expected(cells, order))}
    assert pl.concat([with_categories(part, whole) for part in parts])["a"].to_list() == cells


@pytest.mark.parametrize("ordered", [True, False])
@given(given_column=columns())
def test_pandas_and_arrow_lists_only_keep_categories_of_cells(
    given_column: tuple[list[str], list[str | None], list[str]], ordered: bool
) -> None:
    categories, cells, order = given_column
    declared = [word for word in categories if word in set(cells)]
    wanted = declared if ordered else expected(cells, order)
    frame = pd.DataFrame({"a": pd.Categorical(cells, categories, ordered=ordered)})
    out = without_leftovers(frame, "pandas", {"a": order})
    assert out["a"].cat.categories.tolist() == wanted
    assert [None if pd.isna(cell) else cell for cell in out["a"]] == cells
    codes = pa.array([None if cell is None else categories.index(cell) for cell in cells], pa.int8())
    column: Any = pa.DictionaryArray.from_arrays(codes, pa.array(categories), ordered=ordered)
    table = pa.table({"a": column})
    released = without_leftovers(table, "pyarrow", {"a": order})
    assert released.schema == table.schema
    assert released["a"].to_pylist() == cells
    assert all(chunk.dictionary.to_pylist() == wanted for chunk in released["a"].chunks)


@pytest.mark.parametrize("n", [0, 1, 7, 9])
def test_texts_are_copied_in_batches(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "ROWS_AT_ONCE", 3)
    long = [None if row % 4 == 3 else f"a text that is long enough {row}" for row in range(n)]
    frame = pl.DataFrame({"a": long, "b": [[text] for text in long]}, schema={"a": pl.String, "b": pl.List(pl.String)})
    out = without_leftovers(frame, "polars", {})
    assert out.schema == frame.schema
    assert out.rows() == frame.rows()


# ------------------------------------------------------------------------------------------------ under missing cells


HIDDEN = b"Vanished"
SHOWN = [None if n % 3 == 1 else n for n in range(9)]


def marked(array: Any, is_null: Any) -> Any:
    """An Arrow array with nulls that were put over its cells, which stay where they are."""
    validity = pa.py_buffer(np.packbits(~is_null, bitorder="little").tobytes())
    kind = array.type
    children = [array.field(n) for n in range(kind.num_fields)] if pa.types.is_struct(kind) else []
    children = [array.values] if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) else children
    buffers = [validity, *array.buffers()[1 : kind.num_buffers]]
    return pa.Array.from_buffers(kind, len(array), buffers, children=children)


def hidden_arrays() -> dict[str, Any]:
    """Arrays of several types, each with a value under a null that no cell shows."""
    is_null = np.array([False, True, False])
    number = int.from_bytes(HIDDEN, "little")
    for_all = np.zeros(3, dtype=bool)
    texts, long = pa.array(["x", HIDDEN.decode(), "y"]), pa.array(["x", f"{HIDDEN.decode()} in a long text", "y"])
    numbers = pa.array([1, number, 3])
    plain = {"texts": texts, "long texts": long, "numbers": numbers, "moments": numbers.cast(pa.timestamp("us", "UTC"))}
    found = {name: marked(array, is_null) for name, array in plain.items()}
    for name, array in plain.items():
        of_one = pa.list_(array.type, 1)
        for hidden, inner, outer in (("cells", marked(array, is_null), for_all), ("rows", array, is_null)):
            found[f"lists of {name}, {hidden}"] = marked(pa.ListArray.from_arrays([0, 1, 2, 3], inner), outer)
            found[f"structs of {name}, {hidden}"] = marked(pa.StructArray.from_arrays([inner], ["a"]), outer)
            fixed = pa.FixedSizeListArray.from_arrays(inner, type=of_one)
            found[f"arrays of {name}, {hidden}"] = marked(fixed, outer)
    keys = pa.array(["k", "l", "m"])
    found["maps"] = pa.MapArray.from_arrays([0, 1, 2, 3], keys, found["texts"])
    deep = pa.StructArray.from_arrays([found["lists of texts, cells"], found["numbers"]], ["a", "b"])
    found["lists of structs of lists"] = pa.ListArray.from_arrays([0, 1, 3], deep)
    return found


@pytest.mark.parametrize(("name", "array"), hidden_arrays().items(), ids=hidden_arrays())
def test_nulls_of_all_types_hide_no_values(name: str, array: Any) -> None:
    table = pa.table({"a": pa.chunked_array([array, array[1:]])})
    assert HIDDEN in pickle.dumps(table)
    out = without_leftovers(table, "pyarrow", {})
    assert HIDDEN not in pickle.dumps(out)
    assert out.schema == table.schema
    assert out.to_pylist() == table.to_pylist()
    in_pandas = pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(table["a"])})  # type: ignore[attr-defined]
    released = without_leftovers(in_pandas.copy(), "pandas", {})
    assert HIDDEN not in pickle.dumps(released)
    assert released.dtypes.equals(in_pandas.dtypes)
    assert released["a"].array.__arrow_array__().to_pylist() == table["a"].to_pylist()
    if name != "maps" or hasattr(pl, "Map"):
        frame = pl.DataFrame(pa.table({"a": array}))
        masked = without_leftovers(frame, "polars", {})
        assert HIDDEN not in pickle.dumps(masked)
        assert HIDDEN not in pickle.dumps(masked.to_arrow(compat_level=pl.CompatLevel.newest()))
        assert masked.schema == frame.schema
        assert masked.rows() == frame.rows()


POLARS_TYPES: list[Any] = [
    *(pl.Int8, pl.UInt64, pl.Int128, pl.Float32, pl.Float64, pl.Boolean, pl.String, pl.Binary, pl.Date, pl.Time),
    *(pl.Datetime("ns", "Europe/Vienna"), pl.Duration("ms"), pl.Decimal(12, 2), pl.Categorical, pl.Null, pl.Object),
    *(pl.List(pl.Null), pl.Struct([]), pl.Struct({"a": pl.Struct([])}), pl.Array(pl.Int8, 0), pl.List(pl.Categorical)),
]


@pytest.mark.parametrize("dtype", POLARS_TYPES, ids=str)
def test_columns_of_nulls_keep_their_type(dtype: Any) -> None:
    frame = pl.DataFrame({"a": pl.Series([None] * 3, dtype=dtype)})
    out = without_leftovers(frame, "polars", {})
    assert out.schema == frame.schema
    assert out.rows() == frame.rows()


@pytest.mark.parametrize("dtype", ["Int64", "UInt8", "Float32", "boolean", "int64[pyarrow]", "string[pyarrow]", "str"])
def test_pandas_columns_with_missing_cells_keep_their_cells(dtype: str) -> None:
    cells = [None if cell is None else dtype == "boolean" or cell for cell in SHOWN]
    cells = [cell if cell is None or not dtype.startswith("str") else str(cell) for cell in cells]  # type: ignore[misc]
    frame = pd.DataFrame({"a": pd.array(cells, dtype=dtype)}, index=pd.Index(SHOWN, dtype="Int64", name="b"))  # type: ignore[call-overload]
    pd.testing.assert_frame_equal(without_leftovers(frame.copy(), "pandas", {}), frame)


def test_pandas_arrow_columns_keep_neither_unused_categories_nor_other_rows() -> None:
    words = pa.array([HIDDEN.decode(), "a", "b", "a"])
    columns = {"plain": words, "listed": words.dictionary_encode()}
    frame = pd.DataFrame({name: pd.arrays.ArrowExtensionArray(pa.chunked_array([of])) for name, of in columns.items()})  # type: ignore[attr-defined]
    for part in (frame[1:], frame[::-1][:-1]):
        out = without_leftovers(part.copy(), "pandas", {})
        pd.testing.assert_frame_equal(out, part)
        assert HIDDEN not in pickle.dumps(out)
