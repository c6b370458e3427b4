"""Tables that are read in batches equal those that are read at once."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import hypothesis
import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from anonto.encoding import dictionary_encoder as counted_columns
from anonto.encoding.columns import encode
from anonto.encoding.dictionary_encoder import DictionaryEncoder, merge_columns
from anonto.encoding.record_counts import CountedRecords, RecordCounter, RecordIndex
from anonto.encoding.records import distinct_rows
from anonto.errors import AnontoError, FileError
from anonto.io import csv_batches as csv_stretches
from anonto.io.batches import ParquetBatches, open_batches
from anonto.io.csv_batches import CsvBatches
from anonto.io.csv_files import read_csv

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")]

FILES = {
    "plain": b"a,b\n1,2\n3,\n",
    "quoted": b'a;b\r\n1;2\r\n"x""y\r\nz";""\r\n',
    "blank lines": b"\n\na,b\n1,2\n\n3,4",
    "one column": b"a\n\nx\n\n",
    "one column with delimiters": b'a\nx,y\n""\nz\n',
    "returns": b"a\rb\rc\r",
    "latin": "a,b\né,ü\n".encode("latin-1"),
    "mark": "\ufeffa,b\né,日本\n".encode(),
    "utf-16": "a,b\né,日\n".encode("utf-16"),
    "utf-16 without a mark": "a,b\né,x\n".encode("utf-16-le"),
    "a delimiter too many": b"a,b,\n1,2,\n3,4,\n",
    "an unnamed column": b"a,b,\n1,2,\n3,4,5\n",
    "ragged": b"a,b\n1,2\n1\n2,3\n4,5,6\n",
    "unclosed": b'a,b\n1,2\n"x,2\n',
    "overfull": b'a,b\n1,2\n"x"y,2\n',
    "stray quote": b'a,b\nx"y,2\n',
    "empty": b"",
    "white": b"  \n ",
    "binary": b"a,b\n\x00,1\n",
    "twice": b"a,a\n1,2\n",
    "header": b"a,b\n",
    "header without an end": b"a,b",
    "packed": gzip.compress(b"a,b\n1,2\n" * 50),
    "packed and cut off": gzip.compress(b"a,b\n1,2\n" * 50)[:-5],
    "mixed ends": b"a,b\n" + b"1,2\r\n" * 5 + b"3,4\n",
}


def outcome(path: Path, *, at_once: bool) -> object:
    """The table and where it came from, or the sentence that refuses it."""
    try:
        if at_once:
            table = read_csv(path)
            return table.frame.to_dict(as_series=False), table.origin
        batches = CsvBatches(path)
        frames = list(batches.read(list(batches.schema)))
        frame = pl.concat(frames) if frames else pl.DataFrame(schema=dict(batches.schema))
        assert frame.height == batches.n_rows
        return frame.to_dict(as_series=False), batches.origin
    except AnontoError as error:
        return str(error)


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 20])
@pytest.mark.parametrize("name", sorted(FILES))
def test_csv_read_in_batches_of_any_size_gives_the_same_table_or_error(
    name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_bytes(FILES[name])
    monkeypatch.setattr(csv_stretches, "BYTES_AT_ONCE", size)
    assert outcome(tmp_path / "t.csv", at_once=False) == outcome(tmp_path / "t.csv", at_once=True)


@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(
    content=st.text(st.sampled_from('ab,;"\n\ré ')).map(str.encode), size=st.integers(1, 9), asked=st.booleans()
)
@hypothesis.example(content=b"a\n\r;", size=1, asked=False)
@hypothesis.example(content=b"a\n\r;", size=9, asked=False)
def test_any_text_is_the_same_table_or_the_same_refusal(
    content: bytes,
    size: int,
    asked: bool,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes((b"h,i\n" if asked else b"") + content)
    monkeypatch.setattr(csv_stretches, "BYTES_AT_ONCE", size)
    assert outcome(path, at_once=False) == outcome(path, at_once=True)


def test_a_record_without_an_end_is_not_gathered_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_stretches, "BYTES_AT_ONCE", 100)
    monkeypatch.setattr(csv_stretches, "LONGEST_RECORD", 1000)
    (tmp_path / "t.csv").write_text('a,b\n1,2\n"3,4\n' + "5,6\n" * 1000)
    with pytest.raises(FileError, match="line 3 that is too long to be read in batches"):
        CsvBatches(tmp_path / "t.csv")


def test_a_csv_file_with_other_bytes_has_changed_even_if_its_size_and_time_have_not(tmp_path: Path) -> None:
    import os

    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    batches, before = CsvBatches(path), path.stat()
    path.write_text("a,b\n1,3\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(FileError, match="changed while it was being masked"):
        list(batches.read(["a"]))


def test_a_parquet_file_with_other_bytes_is_another_one(tmp_path: Path) -> None:
    import os

    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": ["x"]}).write_parquet(path)
    batches, before = open_batches(path), path.stat()
    batches.require_unchanged()
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(FileError, match="changed while it was being masked"):
        batches.require_unchanged()


def test_parquet_read_in_batches_is_the_same_table(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": range(1000), "b": [f"{i}" for i in range(1000)]})
    for name, part in (("1.parquet", frame[:300]), ("2.parquet", frame[300:])):
        part.write_parquet(tmp_path / name, row_group_size=70)
    batches = open_batches(tmp_path)
    assert isinstance(batches, ParquetBatches)
    assert batches.n_rows == 1000
    assert_frame_equal(pl.concat(batches.read(["b", "a"], 64)), frame.select("b", "a"))


texts = st.lists(st.sampled_from(["a", "b", "", "B", "é", "a longer text than twelve bytes", None]), max_size=20)
floats = st.lists(st.sampled_from([1.5, 2.0, float("nan"), -1.0, None]), max_size=20)


@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@hypothesis.given(
    cells=st.one_of(
        texts.map(lambda c: pl.Series("x", c, dtype=pl.String)),
        texts.map(lambda c: pl.Series("x", c, dtype=pl.Categorical)),
        floats.map(lambda c: pl.Series("x", c, dtype=pl.Float64)),
        st.lists(st.integers(-3, 3), max_size=20).map(lambda c: pl.Series("x", c, dtype=pl.Int8)),
    ),
    size=st.integers(1, 7),
    n_expected=st.sampled_from([0, 1 << 20]),
    many=st.sampled_from([0, 2, 1 << 16]),
)
def test_a_column_encoded_in_batches_equals_one_encoded_at_once(
    cells: pl.Series, size: int, n_expected: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_columns, "MANY", many)
    batches = [cells[first : first + size] for first in range(0, len(cells), size)]
    encoder = DictionaryEncoder("x", cells.dtype, n_expected)
    codes = np.concatenate([np.empty(0, np.int32), *(encoder.encode(batch) for batch in batches)])
    learnt, wanted = encoder.dictionary(), encode(cells)
    column = learnt.column()
    assert column.values == wanted.values
    assert column.counts.tolist() == wanted.counts.tolist()
    assert (len(column), column.n_missing) == (len(wanted), wanted.n_missing)
    assert learnt.places_in(column.values)[codes].tolist() == wanted.codes.tolist()
    places = pl.Series(codes, dtype=pl.Int64).replace(-1, None)
    assert_series_equal(learnt.cells.gather(places), cells)
    assert learnt.codes_of(cells).tolist() == codes.tolist()
    if batches:
        each = [DictionaryEncoder("x", cells.dtype) for _ in batches]
        for one, batch in zip(each, batches, strict=True):
            one.encode(batch)
        together = merge_columns([one.dictionary() for one in each]).column()
        assert (together.values, together.counts.tolist()) == (column.values, column.counts.tolist())
        assert together.n_missing == column.n_missing


@hypothesis.given(
    rows=st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2), st.integers(-1, 1)), min_size=1, max_size=40),
    size=st.integers(1, 9),
    factor=st.sampled_from([1, 1 << 12, 1 << 25]),
)
def test_records_counted_in_batches_equal_those_counted_at_once(
    rows: list[tuple[int, int, int]], size: int, factor: int
) -> None:
    columns = [np.where(codes >= 0, codes * factor, -1).astype(np.int32) for codes in np.array(rows).T]
    wanted, record_of = distinct_rows(columns)
    counter = RecordCounter(3)
    for first in range(0, len(rows), size):
        counter.add(CountedRecords.of([column[first : first + size] for column in columns]))
    counted = counter.totals()
    assert counted.codes.tolist() == wanted.tolist()
    assert counted.counts.tolist() == np.bincount(record_of).tolist()
    assert RecordIndex.of(counted.codes).numbers(columns).tolist() == record_of.tolist()
