"""Reading by content: names do not matter, and files that are not tables are refused."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import hashlib
import os
import zipfile

import polars as pl
import pytest

from anonto.encoding.match import read_text_column
from anonto.errors import ColumnError, FileError, MalformedFileError, MissingFileError
from anonto.io.batches import open_batches
from anonto.io.reading import read_table, table_format
from anonto.io.refusals import TABLE_FORMATS
from anonto.io.table import Origin, Table
from anonto.io.writing import write_table

FRAME = pl.DataFrame({"code": ["008", "x"], "n": [1.5, 2.0]})
ENDINGS = {"csv": ".csv", "parquet": ".parquet", "excel": ".xlsx", "spss": ".sav", "stata": ".dta", "sas": ".xpt"}


def in_memory(frame):
    return Table(frame, Origin(name="t", format="memory"))


@pytest.mark.parametrize(("name", "ending"), ENDINGS.items())
def test_the_content_decides_the_format_not_the_name(tmp_path, name, ending):
    write_table(in_memory(FRAME), tmp_path / f"t{ending}")
    wrong = (tmp_path / f"t{ending}").rename(tmp_path / "wrong.csv")
    assert table_format(wrong) == name
    table = read_table(wrong)
    assert table.origin.format == name
    assert table.origin.name == "wrong.csv"
    assert table.origin.sha256 == hashlib.sha256(wrong.read_bytes()).hexdigest()
    assert table.frame["code"].to_list() == ["008", "x"]


def test_old_stata_files_are_recognised(tmp_path):
    import pyreadstat

    pyreadstat.write_dta(FRAME, tmp_path / "t.dta", version=12)
    assert table_format(tmp_path / "t.dta") == "stata"
    assert read_table(tmp_path / "t.dta").frame.equals(FRAME)


def test_a_text_that_starts_like_an_old_stata_file_is_text(tmp_path):
    (tmp_path / "t.csv").write_text("name,x\nr,1\n")
    assert table_format(tmp_path / "t.csv") == "csv"


def test_the_hash_of_a_packed_file_is_of_its_stored_bytes(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\nx\n"))
    assert read_table(path).origin.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_value_that_is_not_a_table_is_refused(tmp_path):
    with pytest.raises(MissingFileError):
        read_table(tmp_path / "none.csv")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(FileError, match="is empty"):
        read_table(tmp_path / "empty")
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("a.csv", "a,b\n")
    with pytest.raises(FileError, match=r"it looks like .*zip archive"):
        read_table(tmp_path / "archive.zip")


def a_picture(place):
    (place / "picture").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(60))
    return place / "picture"


def a_pipe(place):
    os.mkfifo(place / "pipe")
    return place / "pipe"


def a_folder(place):
    (place / "folder").mkdir()
    return place / "folder"


@pytest.mark.parametrize("read", [read_table, open_batches], ids=lambda read: read.__name__)
@pytest.mark.parametrize(
    ("made", "wrong"),
    [(a_picture, "a PNG picture"), (a_pipe, "a pipe or a device, not a table"), (a_folder, "folder")],
    ids=["picture", "pipe", "folder"],
)
def test_a_refused_file_is_named_by_its_format_with_the_formats_that_can_be_read(tmp_path, read, made, wrong):
    with pytest.raises(FileError) as raised:
        read(made(tmp_path))
    said = str(raised.value)
    assert wrong in said
    assert said.endswith(f"in the format {TABLE_FORMATS}.")
    assert "permissions" not in said
    assert "as text" not in said


PARQUET = pl.DataFrame(
    {
        "categories": pl.Series(["a", "b", None], dtype=pl.Categorical),
        "enum": pl.Series(["x", "y", "x"], dtype=pl.Enum(["z", "y", "x"])),
        "decimal": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")],
        "day": [dt.date(2020, 1, 1), None, dt.date(1, 1, 1)],
        "time": [dt.time(1, 2, 3, 4)] * 3,
        "zoned": pl.Series([dt.datetime.fromisoformat("2020-01-01")] * 3, dtype=pl.Datetime("ns", "Europe/Vienna")),
        "span": [dt.timedelta(microseconds=1), None, dt.timedelta(9)],
        "list": [[1], [2, 3], None],
        "struct": [{"a": 1, "b": "x"}] * 3,
        "small": pl.Series([1, 2, None], dtype=pl.UInt8),
        "single": pl.Series([0.1, float("nan"), None], dtype=pl.Float32),
        "bytes": [b"a", None, b""],
        "nothing": [None] * 3,
        "texts": ["", None, "008"],
    }
)


def test_parquet_keeps_every_type(tmp_path):
    write_table(in_memory(PARQUET), tmp_path / "t.parquet")
    back = read_table(tmp_path / "t.parquet").frame
    assert back.schema == PARQUET.schema
    assert back.equals(PARQUET)


def test_parquet_has_no_statistics_of_cells_and_is_the_same_each_time(tmp_path):
    import pyarrow.parquet as pq

    for name in ("one.parquet", "two.parquet"):
        write_table(in_memory(PARQUET), tmp_path / name)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    facts = pq.read_metadata(tmp_path / "one.parquet")
    assert set(facts.metadata) == {b"ARROW:schema"}
    for column in range(facts.num_columns):
        assert not facts.row_group(0).column(column).is_stats_set
        assert facts.row_group(0).column(column).compression == "ZSTD"


def test_metadata_of_another_program_in_a_parquet_file_is_dropped(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "in.parquet", metadata={"pandas": "noted-secret"})
    write_table(read_table(tmp_path / "in.parquet"), tmp_path / "out.parquet")
    assert b"noted-secret" not in (tmp_path / "out.parquet").read_bytes()


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1", b"PAR1" + bytes(200)])
def test_a_damaged_parquet_file_is_one_sentence(tmp_path, content):
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(MalformedFileError, match="Parquet"):
        read_table(tmp_path / "t.parquet")


def test_a_name_with_a_pattern_is_one_file(tmp_path):
    for name in ("a[1].parquet", "a*.parquet"):
        write_table(in_memory(FRAME), tmp_path / name)
        assert read_table(tmp_path / name).frame.height == 2


@pytest.mark.parametrize("ending", ENDINGS.values())
def test_one_column_is_read_as_text_from_every_format(tmp_path, ending):
    frame = pl.DataFrame({"code": ["008", "?", ""], "n": [1.0, None, 2.5]})
    path = tmp_path / f"t{ending}"
    write_table(in_memory(frame), path)
    assert read_text_column(path, "code", ("?",)).to_list() == ["008", None, None]
    as_written = "1.0" if ending.startswith((".csv", ".tsv", ".tab", ".txt")) else "1"
    assert read_text_column(path, "n").to_list() == [as_written, None, "2.5"]
    with pytest.raises(ColumnError, match=r"The table has no column.*'code'"):
        read_text_column(path, "cod")
