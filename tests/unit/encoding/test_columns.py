import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
from anonto.encoding.columns import TextBatches, encode, encode_present, encode_together
from anonto.encoding.match import Coverage
from anonto.encoding.series import as_series
from anonto.encoding.value_space import MeanSpace, NumericSpace, TextSpace, nominal_space
from anonto.errors import AllMissingError, ColumnError, InputError

pytestmark = pytest.mark.slow

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
    [
        None,
        float("nan"),
        np.nan,
        pd.NA,
        pd.NaT,
        np.float64("nan"),
        np.float32("nan"),
        Decimal("nan"),
        Decimal("snan"),
        np.datetime64("NaT"),
        np.timedelta64("NaT"),
    ],
    ids=["None", "nan", "np", "NA", "NaT", "f8", "f4", "decimal", "signalling", "datetime", "timedelta"],
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


NOT_COLUMNS = {
    "text": "secret",
    "bytes": b"secret",
    "number": 7,
    "mapping": {"a": 1},
    "set": {"secret"},
    "frozen set": frozenset({"secret"}),
    "nothing": None,
    "numpy table": np.zeros((2, 2)),
    "numpy records": np.array([("secret", 1)], dtype=[("a", "U6"), ("b", int)]),
    "pandas table": pd.DataFrame({"a": ["secret"]}),
    "polars table": pl.DataFrame({"a": ["secret"]}),
    "polars query": pl.LazyFrame({"a": ["secret"]}),
    "pyarrow table": pa.table({"a": ["secret"]}),
    "pyarrow batch": pa.record_batch({"a": ["secret"]}),
}


@pytest.mark.parametrize("not_a_column", NOT_COLUMNS.values(), ids=NOT_COLUMNS)
def test_a_value_that_is_not_a_column_is_refused(not_a_column: object) -> None:
    with pytest.raises(ColumnError, match="is not a column") as caught:
        encode(not_a_column)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("column", [np.array([b"secret\xff"]), pl.Series([b"secret\xff"])], ids=["numpy", "polars"])
def test_cells_that_are_not_text_are_refused_and_not_shown(column: object) -> None:
    with pytest.raises(ColumnError, match="cannot be masked or compared") as caught:
        encode(column)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


FLOATS = [250.0, 250.83, None, 0.00001, 1e-7, -3.0, 0.5, float("inf"), 123456789.25, 2.0**52]
FLOAT_TEXTS = ["250", "250.83", None, "1e-05", "1e-07", "-3", "0.5", "inf", "123456789.25", "4503599627370496"]
FLOAT_COLUMNS = {
    "list": FLOATS,
    "numpy cells": [None if x is None else np.float64(x) for x in FLOATS],
    "numpy": np.array(FLOATS, dtype=float),
    "numpy objects": np.array(FLOATS, dtype=object),
    "masked": np.ma.masked_invalid(np.array(FLOATS[:7], dtype=float)),
    "pandas": pd.Series(FLOATS, dtype=float),
    "pandas Float64": pd.Series(FLOATS, dtype="Float64"),
    "pandas objects": pd.Series(FLOATS, dtype=object),
    "pandas categories": pd.Series(FLOATS, dtype="category"),
    "polars": pl.Series(FLOATS),
    "pyarrow": pa.array(FLOATS),
}


def texts_of(values: object) -> list[str | None]:
    column = encode(values)
    return [column.values[code] if code >= 0 else None for code in column.codes]


@pytest.mark.parametrize("kind", FLOAT_COLUMNS)
def test_floats_are_written_alike_cell_by_cell_in_every_kind_of_column(kind: str) -> None:
    column = FLOAT_COLUMNS[kind]
    assert texts_of(column) == FLOAT_TEXTS[: len(column)]


@given(st.lists(st.floats(allow_nan=False, min_value=-(2**52), max_value=2**52), min_size=1))
def test_a_list_and_an_array_of_floats_have_the_same_texts(numbers: list[float]) -> None:
    array = np.array(numbers)
    assert texts_of(numbers) == texts_of(array)
    single = array.astype(np.float32)
    assert texts_of(list(single)) == texts_of(single)


INEXACT = {
    "list": [9007199254740993.0, 1.5, None, -1e300],
    "numpy": np.array([9007199254740993.0, 1.5, np.nan, -1e300]),
    "pandas ids with a gap": pd.Series([1234567891234567891, 12, None, 1234567891234567892]),
    "polars": pl.Series([2.0**53, 1e20, None, 0.25]),
    "pandas objects": pd.Series(["a", 1e20, 1e20], dtype=object),
}


@pytest.mark.parametrize("numbers", INEXACT.values(), ids=INEXACT)
def test_floats_that_may_be_several_whole_numbers_are_refused_and_counted(numbers: object) -> None:
    with pytest.raises(ColumnError, match=r"cells contain floating-point numbers of 2\^53 or more") as caught:
        encode(numbers)
    assert caught.value.cells == 2
    assert "read them as text" in str(caught.value)


def test_integers_are_exact_at_any_size() -> None:
    assert encode([2**70, Decimal(2**60), Fraction(1, 3)]).values == ("1/3", str(2**60), str(2**70))
    assert encode(pd.Series([1234567891234567891, None], dtype="Int64")).values == ("1234567891234567891",)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array])
def test_truth_is_written_alike_in_every_kind_of_column(make) -> None:
    assert texts_of(make([True, False])) == ["true", "false"]
    assert texts_of([np.True_, None, 1]) == ["true", None, "1"]


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_dates_of_numpy_are_read_in_every_unit(unit: str) -> None:
    first, missing = texts_of(np.array(["2020-02-03", "NaT"], dtype=f"M8[{unit}]"))
    assert str(first).startswith("2020-02-03")
    assert missing is None


BROKEN = ["secret\ud800", "a", None]
BROKEN_COLUMNS = {
    "list": BROKEN,
    "mixed list": [*BROKEN, 1],
    "numpy": np.array(BROKEN[:2]),
    "numpy objects": np.array(BROKEN, dtype=object),
    "pandas objects": pd.Series(BROKEN, dtype=object),
}


@pytest.mark.parametrize("kind", BROKEN_COLUMNS)
def test_half_a_character_is_refused_and_not_shown(kind: str) -> None:
    with pytest.raises(ColumnError, match="1 cell contains half of a character") as caught:
        encode(BROKEN_COLUMNS[kind])
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value, InputError)


def test_masked_cells_of_numpy_are_missing() -> None:
    assert texts_of(np.ma.array(["a", "b"], mask=[False, True])) == ["a", None]


def test_categories_that_have_the_same_text_become_one_value() -> None:
    column = encode(pd.Series(pd.Categorical([1, "1", None, 2.0], [1, "1", 2.0])))
    assert column.values == ("1", "2")
    assert column.codes.tolist() == [0, 0, -1, 1]
    assert encode(pd.Series([None, None], dtype="category")).codes.tolist() == [-1, -1]


def test_printing_a_column_shows_no_value() -> None:
    tax = anonto.read_ontology("illnesses")
    column = encode(["flu", "burn", None])
    nominal = nominal_space(column, tax, measure="rada")
    assert repr(column) == "<Column: 3 cells, 2 distinct values, 1 missing>"
    numeric = NumericSpace(np.array([77.0]), np.array([1]))
    for shown in (nominal, MeanSpace((nominal,)), numeric, TextSpace(column.counts)):
        assert "flu" not in repr(shown)
        assert "77" not in repr(shown).partition(" at ")[0]


def test_coverage_survives_pickling() -> None:
    coverage = anonto.match(["flu", "flu", "secret", None], anonto.read_ontology("illnesses")).coverage
    again = pickle.loads(pickle.dumps(coverage))  # noqa: S301
    assert isinstance(again, Coverage)
    assert (again, again.cells, vars(again)) == (coverage, 2 / 3, vars(coverage))


def test_matches_survive_pickling() -> None:
    matches = anonto.match(["flu", "flu", "secret", None], anonto.read_ontology("illnesses"))
    assert matches.coverage.distinct == 0.5
    again = pickle.loads(pickle.dumps(matches))  # noqa: S301
    assert again.concepts == matches.concepts
    assert again.summary() == matches.summary()
    assert again.suggestions == matches.suggestions


def test_matching_nothing_gives_nothing() -> None:
    tax = anonto.read_ontology("illnesses")
    assert anonto.match([], tax).concepts == []
    assert anonto.match([None, None], tax).coverage.n_missing == 2


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd
from anonto.encoding.columns import encode

cells = ["b", None, "a", "b", "008"]
zoned = pd.Series(pd.to_datetime(["2020-01-01", None])).dt.tz_localize("Europe/Paris")
columns = [
    *(pd.Series(cells, dtype=dtype) for dtype in (object, "str", "string", "category")),
    *(pd.Series([12, None, 8], dtype=dtype) for dtype in ("Int64", "float", "Float64", "category")),
    pd.Series([True, None], dtype="boolean"),
    pd.Series([True, False]),
    pd.Series(pd.to_datetime(["2020-01-01", None])),
    zoned,
    pd.Series(pd.period_range("2020", "2021", freq="Y")),
    pd.Series([1, 0], dtype="Sparse[int]"),
]
"""


def test_pandas_columns_are_encoded_alike_without_pyarrow() -> None:
    code = WITHOUT_PYARROW + "print([(c.values, c.codes.tolist()) for c in map(encode, columns)])"
    without = run_python(code)
    assert without == run_python(code.replace('sys.modules["pyarrow"] = None', ""))
    assert without.startswith("[" + ", ".join(["(('008', 'a', 'b'), [2, -1, 1, 2, 0])"] * 4))


def test_a_pandas_table_is_masked_without_pyarrow() -> None:
    code = f"""{WITHOUT_PYARROW}
import anonto

texts = pd.Series(["flu", "burn", None, "measles"] * 5)
table = pd.DataFrame({{"a": texts, "b": pd.Series(["flu", "burn"] * 10, dtype="category")}})
column = {{"ontology": "illnesses"}}
plan = {{"columns": {{"a": column, "b": column}}, "steps": [{{"method": "random-swap", "columns": ["a", "b"]}}]}}
masked = anonto.mask(table, plan, seed=2**127 + 1).table
assert type(masked) is pd.DataFrame
assert masked.dtypes.to_list() == table.dtypes.to_list()
assert masked["a"].isna().to_list() == table["a"].isna().to_list()
print(sorted(masked["b"].astype(object)) == sorted(table["b"].astype(object)))
"""
    assert run_python(code) == "True"


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


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


@given(st.lists(st.lists(st.sampled_from(["a", "b", "é", "008", "", None]), max_size=6), max_size=6))
def test_a_column_read_in_batches_equals_one_read_at_once(parts: list[list[str | None]]) -> None:
    cells = [cell for part in parts for cell in part]
    batches = TextBatches(len(cells), lambda: iter([pl.Series(part, dtype=pl.String) for part in parts]))
    whole, read = encode(pl.Series(cells, dtype=pl.String)), encode(batches)
    assert read.values == whole.values
    assert np.array_equal(read.codes, whole.codes)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_times_of_arrow_in_pandas_are_read_like_those_of_pandas(unit: str, zone: str | None) -> None:
    own = pd.Series(pd.to_datetime(["2020-01-01 10:05", None]))
    arrow = own.astype(f"timestamp[{unit}][pyarrow]")
    if zone is not None:
        own, arrow = own.dt.tz_localize(zone), arrow.dt.tz_localize(zone)
    assert as_series(arrow).to_list() == as_series(own).to_list()
