"""Types that are rare in tables: each is masked and preserved, or refused with a correct message."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonto
from anonto.encoding.columns import encode
from anonto.errors import AnontoWarning, ColumnError, FileError
from anonto.io.reading import read_table

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1 << 90
SWAP = {"steps": [{"method": "random-swap", "columns": ["a"]}]}
AS_IT_IS = {"columns": {"a": {"role": "other"}}, "steps": [{"method": "random-swap", "columns": ["b"]}]}
SPANS = [dt.timedelta(days=1, hours=2), dt.timedelta(seconds=1.5), None, dt.timedelta(-1), dt.timedelta(0)] * 4
MOMENTS = [dt.time(1, 2, 3), dt.time(4), None, dt.time(4)] * 4
BYTES = [b"\xff\x00", b"\x01\x02", None, b"\x01\x02"] * 4


def cells_of(column: Any) -> list[Any]:
    cells = column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)
    return [None if cell is None or cell is pd.NaT else cell for cell in cells]


def in_order(cells: list[Any]) -> list[Any]:
    return sorted(cells, key=lambda cell: (cell is None, cell))


# ---------------------------------------------------------------------------------------------- durations


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": pl.Series(SPANS, dtype=pl.Duration("ms"))}),
        pl.DataFrame({"a": pl.Series(SPANS, dtype=pl.Duration("ns"))}),
        pd.DataFrame({"a": pd.to_timedelta(pd.Series(SPANS))}),
        pd.DataFrame({"a": pd.Series(SPANS, dtype=object)}),
        pa.table({"a": pa.array(SPANS, pa.duration("us"))}),
    ],
    ids=["polars ms", "polars ns", "pandas", "pandas objects", "pyarrow"],
)
def test_durations_are_masked_and_stay_durations(table: Any) -> None:
    masked = anonto.mask(table, SWAP, seed=SEED).table
    kinds = (table.schema, masked.schema) if hasattr(table, "schema") else (list(table.dtypes), list(masked.dtypes))
    assert kinds[0] == kinds[1]
    assert in_order(cells_of(masked["a"])) == in_order(SPANS)
    assert cells_of(masked["a"]) != SPANS


def test_a_duration_has_the_same_text_in_every_kind_of_column() -> None:
    texts = ("-P1D", "P1DT2H", "PT0S", "PT1.5S")
    columns = (
        SPANS,
        [*SPANS, "a text"],
        pl.Series(SPANS),
        pd.to_timedelta(pd.Series(SPANS)),
        pa.array(SPANS, pa.duration("ms")),
        np.array(SPANS, dtype="m8[ms]"),
        [None if span is None else np.timedelta64(span) for span in SPANS],
    )
    for column in columns:
        assert tuple(value for value in encode(column).values if value != "a text") == texts


def test_durations_are_not_numbers() -> None:
    plan = {"columns": {"a": {"kind": "numeric"}}, **SWAP}
    with pytest.raises(ColumnError, match="4 distinct values of column 'a' are not finite numbers"):
        anonto.mask(pl.DataFrame({"a": SPANS}), plan, seed=SEED)


def test_durations_become_text_in_csv(tmp_path: Path) -> None:
    anonto.mask(pl.DataFrame({"a": SPANS[:2]}), SWAP, seed=SEED).save(tmp_path / "out.csv")
    assert sorted((tmp_path / "out.csv").read_text().split()) == ["P1DT2H", "PT1.5S", "a"]


# ---------------------------------------------------------------------------------------------- views of Arrow


@pytest.mark.parametrize("plan", [SWAP, AS_IT_IS], ids=["masked", "as it is"])
@pytest.mark.parametrize("is_text", [True, False])
def test_views_of_arrow_stay_views(plan: dict[str, Any], is_text: bool, tmp_path: Path) -> None:
    texts = ["a text that is long enough", "b", None, "c"] * 3
    kinds = (pa.string(), pa.string_view()) if is_text else (pa.binary(), pa.binary_view())
    table = pa.table({"a": pa.array(texts, pa.string()).cast(kinds[0]).cast(kinds[1]), "b": ["x", "y", "z"] * 4})
    plan = {**plan, "columns": {**plan.get("columns", {}), "b": {"role": "other"}}} if plan is SWAP else plan
    release = anonto.mask(table, plan, seed=SEED)
    assert release.table.schema.field("a").type == kinds[1]
    found = release.table["a"].cast(pa.large_binary()).to_pylist() if not is_text else release.table["a"].to_pylist()
    wanted = texts if is_text else [None if text is None else text.encode() for text in texts]
    assert in_order(found) == in_order(wanted)
    release.save(tmp_path / "out.parquet")
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == len(texts)


def test_an_arrow_type_whose_cells_cannot_be_moved_is_named() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int32()), ["x", "y"])
    with pytest.raises(ColumnError, match=r"Column 'a' has the Arrow type run_end_encoded.*cast it") as caught:
        _ = anonto.mask(pa.table({"a": runs, "b": ["p", "q", "p", "q"]}), AS_IT_IS, seed=SEED).table
    assert caught.value.__cause__ is None


# ---------------------------------------------------------------------------------------------- times and bytes


def masked_in_memory(folder: Path, plan: dict[str, Any], output: Path) -> None:
    anonto.mask(folder / "t.parquet", plan, seed=SEED).save(output)


def masked_in_batches(folder: Path, plan: dict[str, Any], output: Path) -> None:
    anonto.mask_file(folder, plan, output, seed=SEED)


@pytest.mark.parametrize("masked", [masked_in_memory, masked_in_batches])
def test_types_that_change_on_a_parquet_round_trip_are_reported(masked: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    table = pa.table(
        {
            "name": ["x", "y"] * 8,
            "seen": pa.array(MOMENTS, pa.time32("ms")),
            "left": pa.array(MOMENTS, pa.time64("ns")),
            "key": pa.array(BYTES, pa.binary(2)),
            "bytes": pa.array(BYTES, pa.binary()),
        }
    )
    pq.write_table(table, tmp_path / "in" / "t.parquet")
    plan = {
        "columns": {name: {"role": "other"} for name in ("seen", "left", "key", "bytes")},
        "steps": [{"method": "random-swap", "columns": ["name"]}],
    }
    said = r"2 columns of 'out\.parquet' have another type .*: 'seen', 'key';"
    with pytest.warns(AnontoWarning, match=said):
        masked(tmp_path / "in", plan, tmp_path / "out.parquet")
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert in_order(out["seen"].to_list()) == in_order(MOMENTS)
    assert in_order(out["key"].to_list()) == in_order(BYTES)


def test_times_and_bytes_of_arrow_keep_their_types() -> None:
    table = pa.table({"a": pa.array(MOMENTS, pa.time32("s")), "b": pa.array(BYTES, pa.binary(2))})
    plan = {"columns": {"b": {"role": "other"}}, **SWAP}
    masked = anonto.mask(table, plan, seed=SEED).table
    assert masked.schema == table.schema
    assert in_order(masked["a"].to_pylist()) == in_order(MOMENTS)


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": BYTES}),
        pa.table({"a": pa.array(BYTES, pa.binary(2))}),
        pd.DataFrame({"a": pd.Series(BYTES, dtype=pd.ArrowDtype(pa.binary()))}),
    ],
    ids=["polars", "pyarrow", "pandas"],
)
def test_undecodable_bytes_are_refused_with_the_reason(table: Any) -> None:
    with pytest.raises(
        ColumnError, match=r"^Column 'a' of type Binary cannot be masked or compared: .* UTF-8; store them as hexa"
    ):
        anonto.mask(table, SWAP, seed=SEED)


# ---------------------------------------------------------------------------------------------- decimals


WIDE = [Decimal(10) ** 45, Decimal(3)] * 2


@pytest.mark.parametrize("folder", [False, True])
def test_a_file_with_wide_decimals_is_not_called_damaged(folder: bool, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "t.parquet"
    pq.write_table(pa.table({"a": ["x"] * 4, "d": pa.array(WIDE, pa.decimal256(60, 2))}), path)
    with pytest.raises(FileError, match=r"1 column of 't\.parquet' cannot be read: 'd' contains decimals of more th"):
        anonto.mask_file(tmp_path / "in" if folder else path, SWAP, tmp_path / "out.parquet", seed=SEED)


def test_wide_decimals_of_arrow_are_refused_by_name_and_narrow_ones_are_masked(
    capfd: pytest.CaptureFixture[str],
) -> None:
    table = pa.table({"a": pa.array(WIDE, pa.decimal256(60, 2))})
    with pytest.raises(
        ColumnError, match=r"^Column 'a' of type decimal256\(60, 2\) cannot .*: it has more than 38 digits"
    ):
        anonto.mask(table, SWAP, seed=SEED)
    assert "panicked" not in capfd.readouterr().err
    narrow = [Decimal("1.50"), Decimal("2.25"), None] * 4
    table = pa.table({"a": pa.array(narrow, pa.decimal256(20, 2))})
    masked = anonto.mask(table, SWAP, seed=SEED).table
    assert masked.schema == table.schema
    assert in_order(masked["a"].to_pylist()) == in_order(narrow)


# ---------------------------------------------------------------------------------------------- zeros


ZEROS = [-0.0, 0.0, 1.0, -0.0, 0.0, None] * 3


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": pl.Series(ZEROS, dtype=pl.Float32)}),
        pd.DataFrame({"a": pd.Series(ZEROS, dtype="float64")}),
        pd.DataFrame({"a": pd.Series(ZEROS, dtype="Float32")}),
        pd.DataFrame({"a": pd.Series(ZEROS, dtype=pd.ArrowDtype(pa.float32()))}),
        pa.table({"a": pa.array(ZEROS, pa.float64())}),
        pa.table({"a": pa.array(ZEROS, pa.float16())}),
    ],
    ids=["polars", "pandas", "pandas masked", "pandas arrow", "pyarrow", "pyarrow half"],
)
def test_a_masked_zero_has_no_sign(table: Any) -> None:
    masked = anonto.mask(table, SWAP, seed=SEED).table
    kinds = (table.schema, masked.schema) if hasattr(table, "schema") else (list(table.dtypes), list(masked.dtypes))
    assert kinds[0] == kinds[1]
    zeros = [float(cell) for cell in cells_of(masked["a"]) if cell is not pd.NA and cell == 0]
    assert [math.copysign(1, zero) for zero in zeros] == [1.0] * 12


def test_a_masked_zero_has_no_sign_in_a_file_either(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pl.DataFrame({"a": ZEROS}).write_parquet(tmp_path / "in" / "t.parquet")
    anonto.mask_file(tmp_path / "in", SWAP, tmp_path / "files.parquet", seed=SEED)
    anonto.mask(tmp_path / "in" / "t.parquet", SWAP, seed=SEED).save(tmp_path / "memory.parquet")
    assert (tmp_path / "files.parquet").read_bytes() == (tmp_path / "memory.parquet").read_bytes()
    zeros = [cell for cell in pl.read_parquet(tmp_path / "files.parquet")["a"] if cell == 0]
    assert [math.copysign(1, zero) for zero in zeros] == [1.0] * 12


# ---------------------------------------------------------------------------------------------- mixed types


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": pd.Series([1, "1", 2, "x"], dtype=object)}),
        pd.DataFrame({"a": pd.Categorical([1, "1", 2, "x"])}),
        pd.DataFrame({"a": pd.Series([True, "true", None, "x"], dtype=object)}),
        pl.DataFrame({"a": pl.Series([1, "1", 2, "x"], dtype=pl.Object)}),
    ],
    ids=["objects", "categories", "truth values", "polars objects"],
)
def test_cells_of_different_types_with_the_same_text_are_refused(table: Any) -> None:
    with pytest.raises(ColumnError, match="Column 'a' mixes types: 1 value has the same text in different types"):
        anonto.mask(table, SWAP, seed=SEED)


def test_cells_of_different_types_with_different_texts_keep_their_types() -> None:
    cells = [1, "x", 2.5, None, 1.0, np.int64(1), "y"] * 2
    masked = anonto.mask(pd.DataFrame({"a": pd.Series(cells, dtype=object)}), SWAP, seed=SEED).table["a"]
    assert sorted(map(str, masked.dropna())) == sorted(["1"] * 6 + ["2.5"] * 2 + ["x"] * 2 + ["y"] * 2)
    assert {type(cell) for cell in masked.dropna()} == {int, float, str}


def test_a_column_of_different_types_is_not_saved_as_one(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": pd.Series([1, "1"], dtype=object), "b": ["x", "y"]})
    release = anonto.mask(frame, AS_IT_IS, seed=SEED)
    assert [type(cell) for cell in release.table["a"]] == [int, str]
    with pytest.raises(ColumnError, match="such as a number and its"):
        release.save(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------- categories of Arrow


@pytest.mark.parametrize("values", [["x", "y", None], [10, 20, None]], ids=["texts", "numbers"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_categories_of_arrow_in_pandas_are_masked_saved_and_assessed(
    tmp_path: Path, values: list[Any], ending: str
) -> None:
    kind = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.array(values).type))
    table = pd.DataFrame({"a": pd.Series(values * 8, dtype=kind), "b": range(24)})
    plan = {"columns": {"b": {"role": "confidential"}}, **SWAP}
    release = anonto.mask(table, plan, seed=SEED)
    assert in_order(cells_of(release.table["a"].astype(object).where(release.table["a"].notna(), None))) == in_order(
        values * 8
    )
    release.save(tmp_path / f"t{ending}")
    saved = tmp_path / f"t{ending}"
    assert anonto.assess(table, release.table, plan, same_order=True).risk
    assert anonto.assess(table, saved, plan, private=f"{saved}.private.json").risk


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_durations_are_saved_to_csv(tmp_path: Path, unit: Any) -> None:
    table = pl.DataFrame({"a": pl.Series(SPANS, dtype=pl.Duration(unit)), "b": range(20)})
    plan = {"columns": {"b": {"role": "confidential"}}, **SWAP}
    for one in (table, table.to_pandas(), table.to_arrow()):
        release = anonto.mask(one, plan, seed=SEED)
        release.save(tmp_path / "t.csv")
        found = pl.read_csv(tmp_path / "t.csv")["a"].to_list()
        assert set(found) == {"P1DT2H", "PT1.5S", None, "-P1D", "PT0S"}
        assert anonto.assess(one, tmp_path / "t.csv", plan, private=tmp_path / "t.csv.private.json").risk


def test_integers_of_128_bits_next_to_times_are_read_back_from_parquet(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": MOMENTS, "b": pl.Series(range(16), dtype=pl.Int128)})
    plan = {"columns": {"b": {"role": "confidential"}}, **SWAP}
    anonto.mask(table, plan, seed=SEED).save(tmp_path / "t.parquet", keep_order=True)
    assert read_table(tmp_path / "t.parquet").frame["b"].equals(table["b"])
