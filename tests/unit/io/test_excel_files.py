"""Excel: cells keep their types and digits, and the same table gives the same bytes."""

from __future__ import annotations

import builtins
import datetime as dt
import zipfile

import polars as pl
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from anonto.errors import AnontoWarning, ColumnError, FileError, MalformedFileError, MissingPackageError
from anonto.io import excel_files
from anonto.io.reading import read_table
from anonto.io.table import Origin, Table
from anonto.io.writing import write_table
from budget import examples


def in_memory(frame):
    return Table(frame, Origin(name="t", format="memory"))


def workbook(path, **sheets):
    book = xlsxwriter.Workbook(path)
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name)
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if cell is not None:
                    (sheet.write_string if isinstance(cell, str) else sheet.write)(i, j, cell)
    book.close()
    return path


moment = dt.datetime.fromisoformat

TYPES = pl.DataFrame(
    {
        "whole": [1, None, -(2**53)],
        "real": [0.1 + 0.2, 1e300, -2.5],
        "text": ["008", "", " blanks "],
        "formula": ["=1+1", "http://x.y", "a\nb\r\nc_x0041_"],
        "truth": [True, False, None],
        "day": [dt.date(2020, 2, 29), None, dt.date(1900, 3, 1)],
        "moment": [moment("2020-01-01T01:02:03.500"), moment("1999-12-31"), None],
        "time": [dt.time(1, 2, 3), dt.time(0), dt.time(23, 59, 59)],
        "nothing": pl.Series([None] * 3, dtype=pl.String),
        "emoji 😀": ["👩‍⚕️", "ü", None],
    },
    schema_overrides={"moment": pl.Datetime("ms")},
)


def test_every_type_is_read_back(tmp_path):
    write_table(in_memory(TYPES), tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx")
    assert table.frame.schema == TYPES.schema
    assert table.frame.equals(TYPES)
    assert (table.origin.format, table.origin.sheet) == ("excel", "Sheet1")


@settings(max_examples=examples(25))
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cn", "Cc"]), max_size=8), min_size=1, max_size=5),
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
)
def test_texts_and_every_digit_of_numbers_survive(tmp_path_factory, texts, numbers):
    path = tmp_path_factory.mktemp("excel") / "t.xlsx"
    n = min(len(texts), len(numbers))
    write_table(in_memory(pl.DataFrame({"t": texts[:n], "n": numbers[:n]})), path)
    back = read_table(path).frame
    assert back["t"].to_list() == texts[:n]
    assert back["n"].to_list() == numbers[:n]


def test_a_column_of_several_types_becomes_text_with_its_digits(tmp_path):
    rows = [["code", "n"], ["008", 1], [5, 2], [5.25, 3], [None, 4], [True, 5]]
    table = read_table(workbook(tmp_path / "t.xlsx", s=rows))
    assert table.frame["code"].to_list() == ["008", "5", "5.25", None, "true"]
    assert table.frame["n"].to_list() == [1, 2, 3, 4, 5]


def test_a_type_that_shows_late_is_seen(tmp_path):
    rows = [["code"], *([n] for n in range(3000)), ["A00"]]
    cells = read_table(workbook(tmp_path / "t.xlsx", s=rows)).frame["code"]
    assert cells.to_list() == [*map(str, range(3000)), "A00"]


def test_a_sheet_is_chosen_by_name_and_kept(tmp_path):
    path = workbook(tmp_path / "t.xlsx", first=[["a"], [1]], second=[["b"], [2]])
    assert read_table(path).frame.columns == ["a"]
    table = read_table(path, sheet="second")
    assert table.frame.columns == ["b"]
    write_table(table, tmp_path / "out.xlsx")
    assert read_table(tmp_path / "out.xlsx").origin.sheet == "second"
    with pytest.raises(FileError, match=r"has no sheet 'secnd'.*'second'"):
        read_table(path, sheet="secnd")


@pytest.mark.parametrize(
    ("rows", "error", "words"),
    [
        ([], FileError, "is empty"),
        ([["a", "a"], [1, 2]], ColumnError, "with the name of another column"),
        ([["a", None, "c"], [1, 2, 3]], FileError, "without a name"),
        ([["a"], [1, 2]], FileError, "without a name"),
    ],
)
def test_a_bad_header_is_refused(tmp_path, rows, error, words):
    with pytest.raises(error, match=words):
        read_table(workbook(tmp_path / "t.xlsx", s=rows))


def test_a_header_alone_has_no_records(tmp_path):
    table = read_table(workbook(tmp_path / "t.xlsx", s=[["a", "b"]]))
    assert table.frame.shape == (0, 2)
    write_table(table, tmp_path / "out.xlsx")
    assert read_table(tmp_path / "out.xlsx").frame.equals(table.frame)


def test_a_damaged_workbook_is_one_sentence(tmp_path):
    content = workbook(tmp_path / "t.xlsx", s=[["a"], [1]]).read_bytes()
    for damaged in (content[:-100], content[:1000], b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)):
        (tmp_path / "d.xlsx").write_bytes(damaged)
        with pytest.raises(MalformedFileError, match="Excel"):
            read_table(tmp_path / "d.xlsx")


def test_the_same_table_gives_the_same_bytes_without_author_and_day(tmp_path):
    for name in ("one.xlsx", "two.xlsx"):
        write_table(in_memory(TYPES), tmp_path / name)
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two.xlsx").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.xlsx") as archive:
        properties = archive.read("docProps/core.xml").decode()
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
    assert "2000-01-01T00:00:00Z" in properties
    assert "<dc:creator></dc:creator>" in properties


def test_moments_before_the_calendar_of_excel_go_out_as_text(tmp_path):
    write_table(in_memory(pl.DataFrame({"d": [dt.date(1850, 1, 1), dt.date(2020, 1, 1)]})), tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx").frame["d"].to_list() == ["1850-01-01", "2020-01-01"]


def test_records_without_any_value_at_the_end_are_warned_about(tmp_path):
    with pytest.warns(AnontoWarning, match="The last 2 records .* no value"):
        write_table(in_memory(pl.DataFrame({"a": ["x", None, "y", None, None]})), tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx").frame["a"].to_list() == ["x", None, "y"]


def test_cells_that_a_sheet_cannot_hold_are_refused(tmp_path, monkeypatch):
    for cells in (["x" * 32_768], [2**60], [[1]]):
        with pytest.raises(ColumnError, match=r"cannot be written to .*'odd'"):
            write_table(in_memory(pl.DataFrame({"odd": cells})), tmp_path / "t.xlsx")
    monkeypatch.setattr(excel_files, "MAX_ROWS", 3)
    with pytest.raises(FileError, match=r"3 records .*do not fit into"):
        write_table(in_memory(pl.DataFrame({"a": [1, 2, 3]})), tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("package", ["fastexcel", "xlsxwriter"])
def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch, package):
    workbook(tmp_path / "t.xlsx", s=[["a"], [1]])
    genuine = builtins.__import__

    def absent(name, *rest, **named):
        if name == package:
            raise ImportError
        return genuine(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    needing = {
        "fastexcel": lambda: read_table(tmp_path / "t.xlsx"),
        "xlsxwriter": lambda: write_table(in_memory(TYPES), tmp_path / "out.xlsx"),
    }
    with pytest.raises(MissingPackageError, match=rf"{package}.*anonto\[excel\]"):
        needing[package]()
