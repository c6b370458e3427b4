"""No masked or dropped cell is in the bytes of a release: not in cells, lists of categories or metadata."""

from __future__ import annotations

import gzip
import io
import math
import pickle
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import anonto
from packed import zstd_frames

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1 << 90
GONE = "Vanished"
"""How every text begins that no released record has: eight letters, as SPSS packs texts by eight."""
GONE_NUMBER = 77_777_777.25
N = 40
ENDINGS = ("csv", "csv.gz", "tsv", "parquet", "xlsx", "sav", "zsav", "dta", "xpt")

CELLS: dict[str, list[Any]] = {
    # Dropped, as it identifies.
    "name": [f"{GONE} person number {n}" for n in range(N)],
    # One record has another illness, and gets that of its group.
    "illness": [f"{GONE} illness of one person", *["an illness that is common"] * (N - 1)],
    # One record has another amount, and gets the mean of its group.
    "amount": [GONE_NUMBER, *[100.5] * (N - 1)],
    # A record without an age is dropped, with its ward.
    "age": [30 + n % 3 if n != 7 else None for n in range(N)],
    "ward": [f"{GONE} ward of the dropped record" if n == 7 else f"a ward like others, {n % 4}" for n in range(N)],
}
PLAN = {
    "columns": {
        "name": {"role": "identifier"},
        "illness": {},
        "amount": {"kind": "numeric"},
        "age": {"kind": "numeric", "role": "other", "missing": "drop"},
        "ward": {"role": "other"},
    },
    "steps": [{"method": "microaggregate", "columns": ["illness", "amount"], "k": 30}],
}


def frame_of(*, with_categories: bool = False) -> pl.DataFrame:
    frame = pl.DataFrame(CELLS)
    if not with_categories:
        return frame
    lists = {name: pl.Enum(pl.Series(CELLS[name]).unique(maintain_order=True)) for name in ("illness", "ward")}
    frame = frame.with_columns(pl.col("ward").cast(pl.Categorical).alias("ward_category"))
    nested = frame.select(pl.col("ward").cast(lists["ward"])).to_series()
    lists_of_one = nested.reshape((N, 1))
    frame = frame.cast(lists).with_columns(  # type: ignore[arg-type]
        ward_list=lists_of_one.arr.to_list(), ward_array=lists_of_one, ward_struct=pl.struct(nested.alias("of"))
    )
    if not hasattr(pl, "Map"):
        return frame
    entries = pl.concat_list(pl.struct(key=pl.col("ward"), value=pl.col("ward")))
    return frame.with_columns(ward_map=entries.cast(pl.Map(lists["ward"], lists["ward"])))


def plan_for(frame: pl.DataFrame) -> dict[str, Any]:
    further = {name: {"role": "other"} for name in frame.columns if name.startswith("ward_")}
    return {**PLAN, "columns": {**PLAN["columns"], **further}}  # type: ignore[dict-item]


def require_gone(content: bytes, where: str) -> None:
    assert GONE.encode() not in content, where
    assert GONE.encode("utf-16-le") not in content, where
    assert struct.pack("<d", GONE_NUMBER) not in content, where
    assert str(GONE_NUMBER).encode() not in content, where


def contents(path: Path) -> list[tuple[str, bytes]]:
    """The bytes of a file, and those that are packed in it."""
    raw = path.read_bytes()
    found = [("file", raw)]
    if path.suffix == ".gz":
        found.append(("unpacked", gzip.decompress(raw)))
    elif path.suffix == ".parquet":
        found += [(f"page at {place}", page) for place, page in zstd_frames(raw)]
        found += [(f"metadata {key!r}", value) for key, value in (pq.read_metadata(path).metadata or {}).items()]
        found.append(("schema", pq.read_schema(path).serialize().to_pybytes()))
    elif path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            found += [(name, archive.read(name)) for name in archive.namelist()]
    elif path.suffix in {".sav", ".zsav", ".dta", ".xpt"}:
        read = {".dta": pyreadstat.read_dta, ".xpt": pyreadstat.read_xport}.get(path.suffix, pyreadstat.read_sav)
        frame, facts = read(str(path), output_format="dict")
        found.append(("cells", repr(frame).encode()))
        found.append(("labels", repr({name: str(said) for name, said in vars(facts).items()}).encode()))
    return found


def ipc(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow", "csv", "parquet"])
def test_a_saved_file_has_no_value_that_was_masked_away(tmp_path: Path, ending: str, library: str) -> None:
    frame = frame_of(with_categories=library in {"polars", "parquet"} and ending == "parquet")
    table: Any = frame
    if library == "pandas":
        table = frame.to_pandas().astype({"illness": "category", "ward": "category"}).set_index("name", drop=False)
        table.attrs = {"source": f"{GONE} source"}
    elif library == "pyarrow":
        table = frame.cast({"illness": pl.Categorical, "ward": pl.Categorical}).to_arrow()
        table = table.replace_schema_metadata({"source": f"{GONE} source"})
    elif library in {"csv", "parquet"}:
        table = tmp_path / f"in.{library}"
        frame.write_csv(table) if library == "csv" else frame.write_parquet(table, metadata={"by": f"{GONE} author"})
    anonto.mask(table, plan_for(frame), seed=SEED).save(tmp_path / f"out.{ending}")
    found = contents(tmp_path / f"out.{ending}")
    assert len(found) > 1 or ending in {"csv", "tsv"}
    for where, content in found:
        require_gone(content, f"{ending}: {where}")
    if ending not in {"sav", "zsav"}:
        assert any(b"common" in content for _, content in found)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_masked_in_batches_keeps_no_value_that_was_masked_away(tmp_path: Path, ending: str) -> None:
    (tmp_path / "in").mkdir()
    frame = frame_of(with_categories=True)
    if ending == "csv":
        frame = frame.select(name for name, kind in frame.schema.items() if not kind.is_nested())
    frame.write_parquet(tmp_path / "in" / "1.parquet")
    anonto.mask_file(tmp_path / "in", plan_for(frame), tmp_path / f"out.{ending}", seed=SEED)
    for where, content in contents(tmp_path / f"out.{ending}"):
        require_gone(content, where)


def test_the_engines_agree_on_the_categories_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    frame = frame_of(with_categories=True)
    frame.write_parquet(tmp_path / "in" / "1.parquet")
    anonto.mask_file(tmp_path / "in", plan_for(frame), tmp_path / "files.parquet", seed=SEED)
    anonto.mask(tmp_path / "in" / "1.parquet", plan_for(frame), seed=SEED).save(tmp_path / "memory.parquet")
    assert (tmp_path / "files.parquet").read_bytes() == (tmp_path / "memory.parquet").read_bytes()
    wards = pl.read_parquet(tmp_path / "files.parquet").schema["ward"]
    assert wards == pl.Enum([f"a ward like others, {n}" for n in range(4)])


def test_a_polars_table_has_no_value_that_was_masked_away() -> None:
    for frame in (frame_of(), frame_of(with_categories=True), frame_of(with_categories=True)[:-1]):
        table = anonto.mask(frame, plan_for(frame), seed=SEED).table
        sink = io.BytesIO()
        table.write_ipc(sink, compat_level=pl.CompatLevel.newest())
        require_gone(sink.getvalue(), "IPC")
        require_gone(pickle.dumps(table), "pickle")
        require_gone(pickle.dumps(table.to_arrow(compat_level=pl.CompatLevel.newest())), "as Arrow")
        require_gone(repr(table.schema).encode(), "schema")


def test_a_slice_of_a_table_does_not_bring_the_rows_beside_it() -> None:
    cells = pl.DataFrame(
        {"a": [f"{GONE} cell of row {n}" for n in range(3)] + [f"a cell that is released {n}" for n in (1, 2)]}
    )
    plan = {"columns": {"a": {"role": "other"}}, "steps": []}
    with pytest.warns(anonto.errors.ReleasedAsIsWarning, match="The plan has no step"):
        require_gone(pickle.dumps(anonto.mask(cells[3:], plan, seed=SEED).table), "polars")
    with pytest.warns(anonto.errors.ReleasedAsIsWarning, match="The plan has no step"):
        require_gone(pickle.dumps(anonto.mask(cells.to_arrow().slice(3), plan, seed=SEED).table), "pyarrow")
    with pytest.warns(anonto.errors.ReleasedAsIsWarning, match="The plan has no step"):
        require_gone(pickle.dumps(anonto.mask(cells.to_pandas()[3:], plan, seed=SEED).table), "pandas")


@pytest.mark.parametrize("categories", ["plain", "category", "ordered"])
def test_a_pandas_table_has_no_value_that_was_masked_away(categories: str) -> None:
    frame = pd.DataFrame(CELLS)
    if categories != "plain":
        for name in ("illness", "ward"):
            frame[name] = pd.Categorical(frame[name], ordered=categories == "ordered")
    frame.attrs = {"source": f"{GONE} source"}
    frame = frame.set_index(pd.MultiIndex.from_arrays([range(N), frame["ward"]]))
    require_gone(pickle.dumps(anonto.mask(frame, PLAN, seed=SEED).table), "pickle")
    frame = frame.set_index(pd.CategoricalIndex(CELLS["ward"]))
    require_gone(pickle.dumps(anonto.mask(frame, PLAN, seed=SEED).table), "pickle")


@pytest.mark.parametrize("kind", ["plain", "categories", "views"])
def test_an_arrow_table_has_no_value_that_was_masked_away(kind: str) -> None:
    frame = frame_of(with_categories=kind == "categories")
    table = frame.to_arrow()
    if kind == "views":
        schema = [
            pa.field(of.name, pa.string_view()) if pa.types.is_large_string(of.type) else of for of in table.schema
        ]
        table = table.cast(pa.schema(schema))
    fields = [one.with_metadata({**(one.metadata or {}), "said": f"{GONE} note"}) for one in table.schema]
    table = table.cast(pa.schema(fields, {"source": f"{GONE} source"}))
    masked = anonto.mask(table, plan_for(frame), seed=SEED).table
    require_gone(pickle.dumps(masked), "pickle")
    require_gone(ipc(masked), "IPC")
    if kind == "views":
        assert masked.schema.field("ward").type == pa.string_view()


# ---------------------------------------------------------------------------------------------- order of categories


MIXED = ["low", "high", "middle", "high", "low", "middle"]
BY_DATA = ["unused", "middle", "low", "high"]
ORDINAL = {"columns": {"a": {"kind": "ordinal", "order": ["low", "middle", "high"], "role": "other"}}}
NOMINAL = {"columns": {"a": {"role": "other"}}}


def masked_cells(table: Any, plan: dict[str, Any]) -> Any:
    with pytest.warns(anonto.errors.ReleasedAsIsWarning, match="The plan has no step"):
        return anonto.mask(table, plan, seed=SEED).table


@pytest.mark.parametrize(
    ("plan", "expected"), [(NOMINAL, ["high", "low", "middle"]), (ORDINAL, ["low", "middle", "high"])]
)
def test_categories_come_sorted_or_in_the_order_of_the_plan(plan: dict[str, Any], expected: list[str]) -> None:
    frame = pl.DataFrame({"a": pl.Series(MIXED, dtype=pl.Enum(BY_DATA))})
    assert masked_cells(frame, plan).schema["a"] == pl.Enum(expected)
    in_pandas = pd.DataFrame({"a": pd.Categorical(MIXED, BY_DATA)})
    masked = masked_cells(in_pandas, plan)
    assert masked["a"].cat.categories.tolist() == expected
    assert masked["a"].tolist() == MIXED
    arrow = pa.table({"a": pa.array(MIXED).dictionary_encode()})
    masked = masked_cells(arrow, plan)
    assert masked["a"].chunk(0).dictionary.to_pylist() == expected
    assert masked["a"].to_pylist() == MIXED
    assert masked.schema.field("a").type == arrow.schema.field("a").type


def test_ordered_categories_keep_the_order_that_was_declared() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(MIXED, ["low", "unused", "middle", "high"], ordered=True)})
    masked = masked_cells(frame, NOMINAL)
    assert masked["a"].cat.categories.tolist() == ["low", "middle", "high"]
    assert masked["a"].cat.ordered
    values, codes = pa.array(["low", "unused", "middle", "high"]), pa.array([0, 3, 2, None], pa.int8())
    arrow = pa.table({"a": pa.DictionaryArray.from_arrays(codes, values, ordered=True)})
    masked = masked_cells(arrow, NOMINAL)
    assert masked["a"].chunk(0).dictionary.to_pylist() == ["low", "middle", "high"]
    assert masked["a"].to_pylist() == ["low", "high", "middle", None]
    assert masked.schema.field("a").type == arrow.schema.field("a").type


def test_categories_of_several_types_stay_what_they_are() -> None:
    frame = pd.DataFrame({"a": pd.Categorical([2, "b", None, 10, 2])})
    assert masked_cells(frame, NOMINAL)["a"].tolist()[:2] == [2, "b"]
    numbers = pd.DataFrame({"a": pd.Categorical([10, 9, 10])})
    assert masked_cells(numbers, NOMINAL)["a"].cat.categories.tolist() == [9, 10]


def test_chunks_of_arrow_with_other_dictionaries_get_one() -> None:
    chunks = [pa.array(["b", "a", "b"]).dictionary_encode(), pa.array(["c", None, "a"]).dictionary_encode()]
    masked = masked_cells(pa.table({"a": pa.chunked_array(chunks)}), NOMINAL)["a"]
    assert masked.to_pylist() == ["b", "a", "b", "c", None, "a"]
    assert {tuple(chunk.dictionary.to_pylist()) for chunk in masked.chunks} == {("a", "b", "c")}


# ---------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta"])
def test_labels_of_values_that_vanished_and_notes_about_the_file_are_left_behind(tmp_path: Path, ending: str) -> None:
    illness = [2.0, *[1.0] * (N - 1)]
    age = CELLS["age"]
    frame = pl.DataFrame({"illness": illness, "amount": CELLS["amount"], "age": age, "ward": CELLS["ward"]})
    said: dict[str, Any] = {
        "file_label": f"{GONE} file label",
        "column_labels": {"illness": "The illness"},
        "variable_value_labels": {
            "illness": {1: "an illness that is common", 2: f"{GONE} illness", 3: f"{GONE} code"},
            "age": {30: "thirty", 99: f"{GONE} age"},
        },
    }
    path = tmp_path / f"in.{ending}"
    if ending == "dta":
        said["variable_value_labels"]["age"]["b"] = f"{GONE} letter"
        letters = pl.Series("age", age, dtype=pl.Object)
        pyreadstat.write_dta(frame.with_columns(letters), path, missing_user_values={"age": ["b"]}, **said)
    else:
        said |= {"note": f"{GONE} note", "missing_ranges": {"age": [99, {"lo": 200, "hi": 300}]}}
        pyreadstat.write_sav(frame, path, compress=ending == "zsav", **said)
    plan = {**PLAN, "columns": {name: said for name, said in PLAN["columns"].items() if name != "name"}}  # type: ignore[attr-defined]
    anonto.mask(path, plan, seed=SEED).save(tmp_path / f"out.{ending}")
    for where, content in contents(tmp_path / f"out.{ending}"):
        require_gone(content, where)
    read = pyreadstat.read_dta if ending == "dta" else pyreadstat.read_sav
    _, facts = read(str(tmp_path / f"out.{ending}"), user_missing=True)
    assert facts.column_names_to_labels["illness"] == "The illness"
    assert facts.variable_value_labels == {"illness": {1: "an illness that is common"}, "age": {30: "thirty"}}
    assert not facts.missing_ranges
    longest = max(len(ward) for ward in CELLS["ward"])
    assert str(longest) not in facts.original_variable_types["ward"]
    assert facts.variable_storage_width["ward"] < longest


# ---------------------------------------------------------------------------------------------- what names no one


def test_files_name_no_author_no_day_and_no_file(tmp_path: Path) -> None:
    release = anonto.mask(frame_of(), PLAN, seed=SEED)
    release.save(tmp_path / "out.csv.gz")
    head = (tmp_path / "out.csv.gz").read_bytes()[:10]
    assert head[3] == 0  # no name, no comment
    assert head[4:8] == bytes(4)  # no time
    release.save(tmp_path / "out.xlsx")
    with zipfile.ZipFile(tmp_path / "out.xlsx") as archive:
        properties = archive.read("docProps/core.xml").decode()
        assert {info.date_time[0] for info in archive.infolist()} == {1980}
    assert "<dc:creator></dc:creator>" in properties
    assert "2000-01-01" in properties
    release.save(tmp_path / "out.parquet")
    facts = pq.read_metadata(tmp_path / "out.parquet")
    assert set(facts.metadata) == {b"ARROW:schema"}
    groups = [facts.row_group(n) for n in range(facts.num_row_groups)]
    assert not any(group.column(n).is_stats_set for group in groups for n in range(facts.num_columns))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_dictionary_of_a_file_does_not_reveal_the_original_row_order(tmp_path: Path, library: str) -> None:
    words = [f"word {n * 37 % 101:03}" for n in range(101)]
    frame: Any = pl.DataFrame({"a": pl.Series(words, dtype=pl.Categorical)})
    if library == "pandas":
        frame = pd.DataFrame({"a": pd.Categorical(words, categories=words)})
    elif library == "pyarrow":
        frame = pa.table({"a": pa.array(words).dictionary_encode()})
    with pytest.warns(anonto.errors.ReleasedAsIsWarning, match="The plan has no step"):
        anonto.mask(frame, NOMINAL, seed=SEED).save(tmp_path / "out.parquet")
    released = pq.read_table(tmp_path / "out.parquet")["a"]
    dictionary = [value for chunk in released.chunks for value in chunk.dictionary.to_pylist()]
    assert dictionary != words
    assert dictionary in (released.to_pylist(), sorted(words))
    kind = pl.read_parquet(tmp_path / "out.parquet").schema["a"]
    assert not isinstance(kind, pl.Enum) or kind.categories.to_list() == sorted(words)


# ---------------------------------------------------------------------------------------------- bits of numbers


ODD_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_BEEF))[0]
NUMBERS = [1.0, 2.0, 3.0, math.nan, ODD_NAN, ODD_NAN, math.nan, -0.0, 0.0, 0.0]
BY_THREES = {
    "columns": {"a": {"kind": "numeric", "missing_codes": "keep"}},
    "steps": [{"method": "microaggregate", "columns": ["a"], "k": 3}],
}


def odd_bits(cells: np.ndarray[Any, Any]) -> set[int]:
    """The bits of numbers that are none, or are zero."""
    bits = np.asarray(cells, dtype=np.float64).view(np.uint64)
    return {int(one) for one, cell in zip(bits, cells, strict=True) if math.isnan(cell) or not cell}


ALLOWED = {0, 0x7FF8_0000_0000_0000}


def with_odd_numbers(library: str) -> Any:
    cells = np.array(NUMBERS)
    if library == "polars":
        return pl.DataFrame({"a": cells})
    if library in {"pyarrow", "dictionary"}:
        column: Any = pa.array(cells)
        if library == "dictionary":
            column = pa.DictionaryArray.from_arrays(pa.array(range(len(cells))), column)
        return pa.table({"a": column})
    if library == "masked":
        return pd.DataFrame({"a": pd.arrays.FloatingArray(cells, np.zeros(len(cells), dtype=bool))})  # type: ignore[attr-defined]
    dtype = {"object": object, "sparse": pd.SparseDtype(np.float64, 0)}.get(library, "float64")
    if library == "arrow dtype":
        return pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(cells)]))})  # type: ignore[attr-defined]
    return pd.DataFrame({"a": pd.Series(cells).astype(dtype)})  # type: ignore[call-overload]


def numbers_of(table: Any, library: str) -> np.ndarray[Any, Any]:
    if library == "polars":
        return np.asarray(table["a"].to_numpy())
    if library in {"pyarrow", "dictionary"}:
        return np.array([cell.as_py() for cell in table["a"]])
    if library == "arrow dtype":
        return np.asarray(table["a"].array.__arrow_array__().to_numpy())
    return np.asarray(table["a"].to_numpy(dtype=np.float64))


LIBRARIES = ["polars", "pandas", "masked", "arrow dtype", "object", "sparse", "pyarrow", "dictionary"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_nan_cells_are_released_with_the_same_bits(tmp_path: Path, library: str) -> None:
    release = anonto.mask(with_odd_numbers(library), BY_THREES, seed=SEED)
    numbers = numbers_of(release.table, library)
    assert odd_bits(numbers) <= ALLOWED
    assert np.isnan(numbers).sum() == 4
    release.save(tmp_path / "out.parquet")
    saved = pl.read_parquet(tmp_path / "out.parquet")["a"]
    assert odd_bits(saved.cast(pl.Float64).drop_nulls().to_numpy()) <= ALLOWED


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_stream_releases_nan_with_the_same_bits(library: str) -> None:
    plan = {
        "columns": {"a": {"kind": "numeric", "missing_codes": "keep"}},
        "steps": [{"method": "semantic-noise", "columns": ["a"], "noise_level": 0.4}],
    }
    stream = anonto.stream(pl.DataFrame({"a": [float(n) for n in range(20)]}), plan, seed=SEED)
    assert odd_bits(numbers_of(stream.mask(with_odd_numbers(library)), library)) <= ALLOWED


def test_the_engines_agree_on_nan_cells(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for n, cells in enumerate([NUMBERS[3:], NUMBERS[:5]]):
        pl.DataFrame({"a": cells}).write_parquet(tmp_path / "in" / f"{n}.parquet")
    anonto.mask_file(tmp_path / "in", BY_THREES, tmp_path / "files.parquet", seed=SEED)
    pl.DataFrame({"a": [*NUMBERS[3:], *NUMBERS[:5]]}).write_parquet(tmp_path / "one.parquet")
    anonto.mask(tmp_path / "one.parquet", BY_THREES, seed=SEED).save(tmp_path / "memory.parquet")
    assert (tmp_path / "files.parquet").read_bytes() == (tmp_path / "memory.parquet").read_bytes()
    assert odd_bits(pl.read_parquet(tmp_path / "files.parquet")["a"].to_numpy()) <= ALLOWED


# ---------------------------------------------------------------------------------------------- under missing cells


def redacted(library: str) -> Any:
    """A table in which the one cell of each column that begins like no other was set to missing."""
    number = int.from_bytes(GONE.encode(), "little")
    cells = {"a": [number, *range(29)], "b": [number, *range(29)], "c": [GONE, *["text"] * 29]}
    if library == "polars":
        frame = pl.DataFrame(cells)
        return frame.select(pl.when(pl.col(name) != frame[name][0]).then(name).alias(name) for name in cells)
    if library == "pyarrow":
        validity = pa.py_buffer(np.packbits(np.arange(30) > 0, bitorder="little").tobytes())
        arrays = {name: pa.array(of) for name, of in cells.items()}
        return pa.table(
            {name: pa.Array.from_buffers(of.type, 30, [validity, *of.buffers()[1:]]) for name, of in arrays.items()}
        )
    table = pd.DataFrame(cells).astype({"a": "Int64", "b": "Int64"})
    for name in cells:
        table.iloc[0, table.columns.get_loc(name)] = pd.NA
    return table.set_index(pd.Index(table["a"].array))


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_nothing_lies_under_cells_that_were_set_to_missing(library: str) -> None:
    columns = {"a": {"kind": "numeric"}, "b": {"role": "other"}, "c": {"role": "other"}}
    plan = {"columns": columns, "steps": [{"method": "semantic-noise", "columns": ["a"], "noise_level": 0.4}]}
    table = redacted(library)
    assert GONE.encode() in pickle.dumps(table)
    require_gone(pickle.dumps(anonto.mask(table, plan, seed=SEED).table), "table")
    require_gone(pickle.dumps(anonto.stream(table, plan, seed=SEED).mask(table)), "stream")
