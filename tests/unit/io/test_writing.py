"""Writing by the output's ending."""

from __future__ import annotations

import polars as pl
import pytest

from anonto.errors import ExistingFileError, FileError, UnwritableFileError
from anonto.io.reading import read_table
from anonto.io.table import Dialect, Origin, Table
from anonto.io.writing import ENDINGS, output_format, write_table

TABLE = Table(
    pl.DataFrame({"a": ["x", "1;2"], "b": ["ü", "z"]}),
    Origin(name="t", format="csv", dialect=Dialect(delimiter=";", encoding="windows-1252", line_ending="\r\n")),
)


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_known_ending_is_written_and_read_again(tmp_path, ending):
    path = tmp_path / f"table.v1{ending.upper() if len(ending) < 5 else ending}"
    write_table(TABLE, path)
    back = read_table(path, encoding="windows-1252" if ENDINGS[ending] == "csv" else None)
    assert back.origin.format == ENDINGS[ending]
    assert back.frame.equals(TABLE.frame)


@pytest.mark.parametrize("name", ["t", "t.xls", "t.sas7bdat", "t.json", "csv", "t.gz"])
def test_an_unknown_ending_lists_the_known_ones(tmp_path, name):
    with pytest.raises(
        FileError, match=r"is not that of a known format; .*\.csv, .*\.parquet, \.xlsx, \.sav"
    ) as caught:
        write_table(TABLE, tmp_path / name)
    assert all(ending in str(caught.value) for ending in ENDINGS)
    assert not list(tmp_path.iterdir())


def test_the_dialect_of_the_origin_is_kept(tmp_path):
    write_table(TABLE, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == 'a;b\r\nx;ü\r\n"1;2";z\r\n'.encode("windows-1252")


def test_a_name_of_a_tab_file_has_tabs(tmp_path):
    write_table(TABLE, tmp_path / "t.tsv")
    assert (tmp_path / "t.tsv").read_bytes() == "a\tb\r\nx\tü\r\n1;2\tz\r\n".encode("windows-1252")


def test_a_table_from_elsewhere_gets_the_common_dialect(tmp_path):
    write_table(Table(TABLE.frame, Origin(name="t", format="parquet")), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == "a,b\nx,ü\n1;2,z\n".encode()


def test_an_existing_file_needs_force(tmp_path):
    write_table(TABLE, tmp_path / "t.parquet")
    with pytest.raises(ExistingFileError, match="--force"):
        write_table(TABLE, tmp_path / "t.parquet")
    write_table(TABLE, tmp_path / "t.parquet", force=True)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_missing_folder_is_one_sentence(tmp_path, ending):
    with pytest.raises(UnwritableFileError, match="No such file or directory"):
        write_table(TABLE, tmp_path / "none" / f"t{ending}")


def test_the_format_is_found_without_writing():
    assert output_format("some/where/t.CSV.gz") == "csv"
    assert output_format("t.xpt") == "sas"


def test_writing_does_not_change_the_table(tmp_path):
    before = TABLE.frame.clone()
    for ending in ENDINGS:
        write_table(TABLE, tmp_path / f"t{ending}")
    assert TABLE.frame.equals(before)
    assert TABLE.frame.schema == before.schema
