import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.errors import AllMissingError, ColumnTypeError
from anonto.table.columns import encode, encode_present, encode_together

CELLS = ["b", None, "a", "b", "008"]
COLUMNS = {
    "list": CELLS,
    "tuple": tuple(CELLS),
    "numpy objects": np.array(CELLS, dtype=object),
    "pandas objects": pd.Series(CELLS, dtype=object),
    "pandas text": pd.Series(CELLS, dtype="str"),
    "pandas text with an odd index": pd.Series(CELLS, dtype="str", index=[3, 3, 1, 0, 9]),
    "pandas categories": pd.Series(CELLS, dtype="category"),
    "pandas categories with unused ones": pd.Series(pd.Categorical(CELLS, ["z", "b", "a", "008"])),
    "polars text": pl.Series(CELLS),
    "polars categories": pl.Series(CELLS, dtype=pl.Categorical),
    "polars enum": pl.Series(CELLS, dtype=pl.Enum(["z", "b", "a", "008"])),
    "pyarrow array": pa.array(CELLS),
    "pyarrow chunks": pa.chunked_array([CELLS[:2], CELLS[2:]]),
    "pyarrow dictionary": pa.array(CELLS).dictionary_encode(),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_kind_of_column_is_encoded_alike(kind: str) -> None:
    column = encode(COLUMNS[kind])
    assert column.values == ("008", "a", "b")
    assert column.codes.tolist() == [2, -1, 1, 2, 0]
    assert column.codes.dtype == np.int32
    assert (column.counts.tolist(), column.n_missing) == ([1, 1, 2], 1)


@pytest.mark.parametrize(
    "missing",
    [None, float("nan"), np.nan, pd.NA, pd.NaT, np.float64("nan")],
    ids=["None", "nan", "np", "NA", "NaT", "f8"],
)
def test_every_missing_value_is_missing(missing: object) -> None:
    assert encode(["a", missing, 1]).codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    "numbers",
    [
        [12, 8, None],
        [12.0, 8.0, None],
        np.array([12, 8]),
        np.array([12.0, 8.0, np.nan]),
        pd.Series([12, 8, None]),
    ],
)
def test_whole_numbers_become_their_digits(numbers: object) -> None:
    assert encode(numbers).values == ("12", "8")


def test_other_numbers_keep_their_decimals() -> None:
    assert encode([250.83, 401.9]).values == ("250.83", "401.9")
    assert encode(np.array([250.83, np.nan])).values == ("250.83",)
    assert encode(pl.Series([True, None])).values == ("true",)


def test_an_empty_text_is_a_value_and_not_missing() -> None:
    assert encode(["", "a"]).values == ("", "a")


def test_no_cells_encode_to_no_cells() -> None:
    assert len(encode([])) == 0
    assert encode(pl.Series([], dtype=pl.Categorical)).values == ()


@pytest.mark.parametrize("not_a_column", ["text", b"bytes", 7, {"a": 1}, np.zeros((2, 2)), None])
def test_what_is_no_column_is_refused(not_a_column: object) -> None:
    with pytest.raises(ColumnTypeError, match="is not a column"):
        encode(not_a_column)


def test_a_column_without_values_is_refused_by_name() -> None:
    with pytest.raises(AllMissingError, match="Column 'sex' has no value: all 2 cells are missing"):
        encode_present([None, None], "sex")


@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=30))
def test_encoding_can_be_undone_and_finds_first_positions(cells: list[str | None]) -> None:
    column = encode(cells)
    assert [column.values[c] if c >= 0 else None for c in column.codes] == cells
    assert column.first_positions().tolist() == [cells.index(value) for value in column.values]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None])), min_size=1, max_size=20))
def test_encoding_together_keeps_the_complete_records(cells: list[tuple[str, str | None]]) -> None:
    complete = [pair for pair in cells if pair[1] is not None]
    if not complete:
        with pytest.raises(AllMissingError):
            encode_together(*zip(*cells, strict=True))
        return
    a, b = encode_together([a for a, _ in cells], [b for _, b in cells])
    assert [(a.values[i], b.values[j]) for i, j in zip(a.codes, b.codes, strict=True)] == complete
    assert (a.counts > 0).all()
    assert (b.counts > 0).all()
