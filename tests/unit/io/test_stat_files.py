"""SPSS, Stata and SAS: cells, labels, missing codes and formats survive."""

from __future__ import annotations

import builtins
import datetime as dt

import polars as pl
import pyreadstat
import pytest

from anonto.errors import AnontoWarning, ColumnError, FileError, MalformedFileError, MissingPackageError
from anonto.io.reading import read_table
from anonto.io.table import Origin, Table
from anonto.io.writing import write_table

moment = dt.datetime.fromisoformat

MOMENTS = {
    "day": [dt.date(2020, 1, 1), None, dt.date(1900, 1, 1), dt.date(1850, 6, 30)],
    "moment": [moment("2020-01-01T01:02:03.500"), None, moment("1900-01-01"), moment("1850-01-01")],
    "time": [dt.time(1, 2, 3), None, dt.time(0), dt.time(23, 59, 59)],
}


@pytest.fixture
def spss(tmp_path):
    return spss_file(tmp_path / "t.sav")


@pytest.fixture
def dense_spss(tmp_path):
    return spss_file(tmp_path / "t.zsav")


def spss_file(path):
    frame = pl.DataFrame(
        {
            "sex": [1.0, 2.0, 9.0, None],
            "income": [1234.56, -9.0, -1.0, 99.0],
            "code": ["008", "", "zz", "ü😀"],
            **MOMENTS,
            "nothing": pl.Series([None] * 4, dtype=pl.Float64),
        }
    )
    pyreadstat.write_sav(
        frame,
        path,
        file_label="a survey",
        column_labels={"sex": "Sex of the person", "code": "Diagnosis"},
        compress=path.suffix == ".zsav",
        note=["first note", "second note"],
        variable_value_labels={"sex": {1: "male", 2: "female", 9: "unknown"}, "code": {"008": "eighth"}},
        missing_ranges={"sex": [9], "income": [{"lo": -9, "hi": -1}, 99], "code": ["zz"]},
        variable_measure={"sex": "nominal", "income": "scale"},
        variable_display_width={"sex": 5},
        variable_format={"sex": "F5.0", "income": "COMMA10.2", "day": "EDATE10"},
    )
    return path


@pytest.fixture
def stata(tmp_path):
    path = tmp_path / "t.dta"
    frame = pl.DataFrame(
        [
            pl.Series("sex", [1, 2, "a", None], dtype=pl.Object),
            pl.Series("income", [1234.56, "z", 0.1, 2.0], dtype=pl.Object),
            pl.Series("whole", [1, 2, 3, 4], dtype=pl.Int32),
            pl.Series("doubles", [1.0, 2.0, 3.0, None]),
            pl.Series("labelled", [1, 1, 1, 2], dtype=pl.Object),
            pl.Series("code", ["008", "", "zz ", "ü😀" * 2000]),
            *(pl.Series(name, cells) for name, cells in MOMENTS.items()),
            pl.Series("nothing", [None] * 4, dtype=pl.Float64),
        ]
    )
    pyreadstat.write_dta(
        frame,
        path,
        file_label="a survey",
        column_labels={"sex": "Sex of the person"},
        variable_value_labels={"sex": {1: "male", 2: "female", "a": "refused"}, "labelled": {1: "one", "b": "gone"}},
        missing_user_values={"sex": ["a"], "income": ["z"], "labelled": ["b"]},
        variable_format={"doubles": "%9.2f", "day": "%tdDD/NN/CCYY"},
    )
    return path


def metadata_of(path):
    read = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    _, facts = read(str(path), user_missing=True, output_format="polars")
    names = (
        "column_names column_labels variable_value_labels missing_ranges missing_user_values variable_measure notes "
        "original_variable_types variable_display_width file_label number_rows readstat_variable_types"
    )
    return {name: getattr(facts, name) for name in names.split()}


@pytest.mark.parametrize("package", ["spss", "dense_spss", "stata"])
def test_a_round_trip_keeps_cells_types_and_metadata(request, tmp_path, package):
    path = request.getfixturevalue(package)
    copy = tmp_path / f"copy{path.suffix}"
    table = read_table(path)
    write_table(table, copy)
    again = read_table(copy)
    assert again.frame.schema == table.frame.schema
    assert again.frame.equals(table.frame)
    assert again.origin.labels == table.origin.labels
    assert metadata_of(copy) == metadata_of(path)
    assert table.origin.format in package


@pytest.mark.parametrize("package", ["spss", "dense_spss", "stata"])
def test_the_same_table_gives_the_same_bytes(request, tmp_path, package, monkeypatch):
    path = request.getfixturevalue(package)
    table = read_table(path)
    write_table(table, tmp_path / f"one{path.suffix}")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    write_table(table, tmp_path / f"two{path.suffix}")
    one, two = (tmp_path / f"{name}{path.suffix}" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    read = pyreadstat.read_dta if package == "stata" else pyreadstat.read_sav
    assert read(str(one), metadataonly=True, output_format="polars")[1].creation_time.year == 2000


def test_missing_codes_of_spss_stay_in_the_cells_and_are_declared(spss):
    table = read_table(spss)
    assert table.frame["sex"].to_list() == [1.0, 2.0, 9.0, None]
    assert table.origin.missing_codes == {"sex": (9.0,), "income": (99.0,), "code": ("zz",)}
    assert table.origin.missing_ranges == {"income": ((-9.0, -1.0),)}
    assert table.column("sex").to_list() == [1.0, 2.0, None, None]
    assert table.column("income").to_list() == [1234.56, None, None, None]
    assert table.column("code").to_list() == ["008", "", None, "ü😀"]
    assert table.column("day").null_count() == 1


def test_extended_missings_of_stata_stay_in_the_cells_and_are_declared(stata):
    table = read_table(stata)
    assert table.frame.schema["sex"] == pl.Int64
    assert table.column("sex").to_list() == [1, 2, None, None]
    assert table.column("income").to_list() == [1234.56, None, 0.1, 2.0]
    assert table.frame["sex"].null_count() == 1
    (refused,) = table.origin.missing_codes["sex"]
    assert table.origin.labels.value_labels["sex"] == {1: "male", 2: "female", refused: "refused"}
    assert table.frame.schema["doubles"] == pl.Float64


def test_labels_stay_when_values_go_and_columns_are_dropped(spss, tmp_path):
    table = read_table(spss)
    masked = table.frame.with_columns(pl.lit(1.0).alias("sex")).drop("income")
    write_table(Table(masked, table.origin), tmp_path / "masked.sav")
    labels = read_table(tmp_path / "masked.sav").origin.labels
    assert labels.value_labels["sex"] == {1.0: "male", 2.0: "female", 9.0: "unknown"}
    assert "income" not in labels.missing_ranges


def test_a_column_that_became_text_loses_only_the_labels_of_its_numbers(spss, tmp_path):
    table = read_table(spss)
    masked = table.frame.with_columns(pl.lit("hidden").alias("sex"), pl.lit("longer than before").alias("code"))
    write_table(Table(masked, table.origin), tmp_path / "masked.sav")
    again = read_table(tmp_path / "masked.sav")
    assert again.frame["sex"].to_list() == ["hidden"] * 4
    assert again.frame["code"].to_list() == ["longer than before"] * 4
    assert again.origin.labels.column_labels == table.origin.labels.column_labels
    assert "sex" not in again.origin.labels.value_labels


@pytest.mark.parametrize(("name", "format_name"), [("t.csv", "CSV"), ("t.parquet", "Parquet"), ("t.dta", "Stata")])
def test_labels_that_another_format_cannot_take_are_warned_about_with_their_number(spss, tmp_path, name, format_name):
    table = read_table(spss)
    with pytest.warns(AnontoWarning, match=f"{format_name}.* 3 columns are lost"):
        write_table(table, tmp_path / name)
    assert read_table(tmp_path / name).frame.height == 4


def test_sas_transport_files_are_written_without_labels_and_read_again(spss, tmp_path):
    table = read_table(spss)
    with pytest.warns(AnontoWarning, match="SAS XPORT, .* 3 columns are lost"):
        write_table(table, tmp_path / "t.xpt")
    again = read_table(tmp_path / "t.xpt")
    assert again.origin.format == "sas"
    assert again.frame.columns == table.frame.columns
    assert again.frame.select("sex", "code", "day").equals(table.frame.select("sex", "code", "day"))
    write_table(again, tmp_path / "u.xpt")
    assert (tmp_path / "u.xpt").read_bytes() == (tmp_path / "t.xpt").read_bytes()


@pytest.mark.parametrize("name", ["t.sav", "t.dta", "t.xpt"])
def test_a_table_without_records_keeps_its_columns(tmp_path, name):
    frame = pl.DataFrame(schema={"a": pl.Float64, "s": pl.String})
    write_table(Table(frame, Origin(name="t", format="memory")), tmp_path / name)
    assert read_table(tmp_path / name).frame.schema == frame.schema


@pytest.mark.parametrize("content", [b"$FL2" + bytes(500), b"<stata_dta><header>x", b"HEADER RECORD*******LIBV8 x"])
def test_a_damaged_file_is_one_sentence(tmp_path, content):
    (tmp_path / "t.sav").write_bytes(content)
    with pytest.raises(MalformedFileError, match="cannot be decoded"):
        read_table(tmp_path / "t.sav")


@pytest.mark.parametrize("column", ["a b", "1x", "ALL", "x" * 70])
def test_a_name_that_spss_does_not_allow_is_one_sentence(tmp_path, column):
    table = Table(pl.DataFrame({column: [1.0]}), Origin(name="t", format="memory"))
    with pytest.raises(FileError, match="column name"):
        write_table(table, tmp_path / "t.sav")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "cells", [[[1]], [b"x"], [dt.timedelta(1)], [2**60]], ids=["list", "bytes", "duration", "large"]
)
def test_cells_that_spss_cannot_hold_are_refused_by_column(tmp_path, cells):
    table = Table(pl.DataFrame({"odd": cells}), Origin(name="t", format="memory"))
    with pytest.raises(ColumnError, match=r"cannot be written to .*'odd'"):
        write_table(table, tmp_path / "t.sav")


def test_other_types_are_converted_to_those_of_spss(tmp_path):
    frame = pl.DataFrame(
        {
            "b": [True, None],
            "c": pl.Series(["x", "y"], dtype=pl.Categorical),
            "d": pl.Series([1, 2], dtype=pl.Decimal(10, 2)),
            "z": pl.Series([moment("2020-01-01")] * 2, dtype=pl.Datetime("us", "Europe/Vienna")),
            "n": [float("nan"), 1.5],
        }
    )
    write_table(Table(frame, Origin(name="t", format="memory")), tmp_path / "t.sav")
    rows = read_table(tmp_path / "t.sav").frame.drop("z").rows()
    assert rows == [(1.0, "x", 1.0, None), (None, "y", 2.0, 1.5)]


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    genuine = builtins.__import__

    def absent(name, *rest, **named):
        if name == "pyreadstat":
            raise ImportError
        return genuine(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    (tmp_path / "t.sav").write_bytes(b"$FL2")
    with pytest.raises(MissingPackageError, match=r"anonto\[stat\]"):
        read_table(tmp_path / "t.sav")


def test_no_message_denies_that_stata_and_spss_have_labels(spss, tmp_path):
    with pytest.warns(AnontoWarning, match="the labels and missing codes") as said:
        write_table(read_table(spss), tmp_path / "t.dta")
    assert str(said[0].message) == (
        "'t.dta' was written as Stata, and labels are kept from Stata to Stata only: the labels and missing codes of "
        "3 columns are lost."
    )


def test_days_beyond_the_calendar_stay_numbers(tmp_path):
    seconds = pl.DataFrame({"day": [13e9, 9e12]})
    pyreadstat.write_sav(seconds, tmp_path / "t.sav", variable_format={"day": "DATE11"})
    table = read_table(tmp_path / "t.sav")
    assert table.frame["day"].to_list() == [13e9, 9e12]
    write_table(table, tmp_path / "t.csv")
