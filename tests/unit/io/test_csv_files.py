"""CSV: every cell survives in every dialect, and malformed files are refused with the line."""

from __future__ import annotations

import csv
import gzip
import io

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anonto.errors import AnontoWarning, ColumnError, FileError, InputError, MalformedFileError, ParameterError
from anonto.io import csv_kernels as kernels
from anonto.io.csv_text import detect_delimiter
from anonto.io.reading import read_table
from anonto.io.table import Dialect, Origin, Table
from anonto.io.writing import write_table

TROUBLE = st.sampled_from(
    ['"', ",", ";", "\t", "|", "\n", "\r", "\r\n", " ", "a", "0", "é", "😀", "\x1f", "\u2028", "'"]
)
ANY_TEXT = st.lists(TROUBLE, max_size=6).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufeff"), max_size=8
)
NAMES = ANY_TEXT.filter(lambda name: name.strip())
DIALECTS = st.builds(
    Dialect,
    delimiter=st.sampled_from(",;\t|:"),
    encoding=st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]),
    has_mark=st.just(True),
    line_ending=st.sampled_from(["\n", "\r\n", "\r"]),
) | st.builds(Dialect, delimiter=st.sampled_from(",;\t|"), line_ending=st.sampled_from(["\n", "\r\n", "\r"]))


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    n_records = draw(st.integers(0, 6))
    cells = st.lists(st.none() | ANY_TEXT, min_size=n_records, max_size=n_records)
    return pl.DataFrame([pl.Series(name, draw(cells), dtype=pl.String) for name in names])


def table_of(frame: pl.DataFrame, dialect: Dialect | None = None) -> Table:
    return Table(frame, Origin(name="t", format="csv", dialect=dialect))


def as_bytes(text: bytes) -> np.ndarray:
    return np.frombuffer(text, np.uint8)


@given(frame=frames(), dialect=DIALECTS, packed=st.booleans())
def test_any_cells_survive_in_any_dialect(tmp_path_factory, frame, dialect, packed):
    path = tmp_path_factory.mktemp("csv") / ("t.csv.gz" if packed else "t.csv")
    write_table(table_of(frame, dialect), path)
    back = read_table(path, delimiter=dialect.delimiter, header="names")
    assert back.frame.columns == frame.columns
    assert back.frame.rows() == frame.rows()
    found = back.origin.dialect
    assert (found.encoding, found.has_mark, found.is_packed) == (dialect.encoding, dialect.has_mark, packed)
    assert found.line_ending == dialect.line_ending


@given(frame=frames(), dialect=DIALECTS)
def test_a_written_file_with_a_plain_header_is_read_back_without_options(tmp_path_factory, frame, dialect):
    assume(not set("".join(frame.columns)) & set(",;\t|"))
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    dialect = Dialect(delimiter="," if dialect.delimiter == ":" else dialect.delimiter, line_ending=dialect.line_ending)
    write_table(table_of(frame, dialect), path)
    back = read_table(path, header="names")
    assert back.frame.columns == frame.columns
    assert back.frame.rows() == frame.rows()
    first = path.read_bytes()
    write_table(back, path, force=True)
    assert path.read_bytes() == first or frame.width == 1


@given(text=st.lists(TROUBLE, max_size=30).map("".join), delimiter=st.sampled_from(",;\t|"))
def test_fields_are_counted_as_the_csv_module_counts_them(text, delimiter):
    data = as_bytes(text.encode())
    facts = kernels.scan_records(data, ord(delimiter))
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if facts[kernels.UNCLOSED_LINE]:
        return
    assert kernels.field_counts(data, ord(delimiter), 100).tolist() == [len(row) for row in rows]
    widths = [len(row) for row in rows]
    assert facts[kernels.N_COLUMNS] == (widths[0] if widths else 0)
    assert facts[kernels.N_RECORDS] == max(len(widths) - 1, 0)
    assert facts[kernels.N_RAGGED] == sum(width != widths[0] for width in widths)


@given(rows=st.lists(st.lists(ANY_TEXT, min_size=2, max_size=2), min_size=1, max_size=5))
def test_an_unclosed_quote_is_found_by_its_line(rows):
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows(rows)
    text = file.getvalue()
    lines = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    facts = kernels.scan_records(as_bytes(f'{text}x,"open\nend\n'.encode()), ord(","))
    assert facts[kernels.UNCLOSED_LINE] == lines


@pytest.mark.parametrize(
    ("content", "names", "rows"),
    [
        ('a,b\nx"y,2\n', ["a", "b"], [('x"y', "2")]),
        ('a,b\n5" nail,"6"" nail"\n', ["a", "b"], [('5" nail', '6" nail')]),
        ("\n\na,b\n\n1,2\n\n\n3,4\n\n", ["a", "b"], [("1", "2"), ("3", "4")]),
        ("a\n\nx\n\n", ["a"], [(None,), ("x",), (None,)]),
        ("\na\n\nx\n", ["a"], [(None,), ("x",)]),
        ("a\nx", ["a"], [("x",)]),
        ("price\n1,50\n2,75\n", ["price"], [("1,50",), ("2,75",)]),
        ("remark\nhello, you; and\tyou | all\nbye\n", ["remark"], [("hello, you; and\tyou | all",), ("bye",)]),
        ("a;b\n1,5;2,5\n3,25;\n", ["a", "b"], [("1,5", "2,5"), ("3,25", None)]),
        ('a,b;c\n"1;2",3;4\n5,6;7\n8,9\n', ["a", "b;c"], [("1;2", "3;4"), ("5", "6;7"), ("8", "9")]),
        ('a,b\n"",\n,""\n', ["a", "b"], [("", None), (None, "")]),
        ("a,b,\n1,2,\n3,4,\n", ["a", "b"], [("1", "2"), ("3", "4")]),
        ("a,b\r1,2\r\n3,4\n", ["a", "b"], [("1", "2"), ("3", "4")]),
        ("a,b\n1,2\n,\n", ["a", "b"], [("1", "2"), (None, None)]),
        ('"a ""b""",c\n1,2\n', ['a "b"', "c"], [("1", "2")]),
    ],
)
def test_quirks_of_real_files_are_read_as_intended(tmp_path, content, names, rows):
    path = tmp_path / "t.csv"
    path.write_text(content, newline="")
    table = read_table(path)
    assert table.frame.columns == names
    assert table.frame.rows() == rows


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (b"", FileError, "is empty"),
        (b" \n\n", FileError, "is empty"),
        (b"\xef\xbb\xbf", FileError, "is empty"),
        (b"a,b\n1,2\nsecret\n1,2,3\n", FileError, "2 records that do not have 2 cells .* line 3"),
        (b'a,b\n"x\ny",2\n\nsecret\n', FileError, "1 record that does not have .* line 5"),
        (b'a,b\n1,2\n"secret,3\n4,5\n', MalformedFileError, "line 3: the quote"),
        (b'a,b\n1,2\n"secret"x,3\n4,5\n', MalformedFileError, "line 3: text follows"),
        (b"a,b,a\n1,2,3\n", ColumnError, "2 columns with the name of another .*1, 3"),
        (b"a,,b, \n1,2,3,secret\n", FileError, "2 columns without a name .*2, 4"),
        (b"a,b\nsecret\x00,2\n", FileError, "it looks like binary"),
        (b"\x89PNG\r\n\x1a\nsecret", FileError, "it looks like .*PNG"),
        (b"a,b\n\xe9\x02secret,2\n", FileError, "it looks like binary"),
        (b"a,b\n1,2\nsecret\x81,2\n", FileError, "line 3 has a byte that is not text"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], MalformedFileError, "gzip"),
        (gzip.compress(b"", mtime=0), FileError, "is empty"),
    ],
)
def test_bad_files_are_refused_in_one_sentence_without_a_cell(tmp_path, content, error, says):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(error, match=says) as caught:
        read_table(path)
    assert isinstance(caught.value, InputError)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_single_byte_file_is_read_as_windows_1252_with_a_warning(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("näme,wert\nMüller,5 €\n".encode("windows-1252"))
    with pytest.warns(AnontoWarning, match="is not UTF-8 and was read as Windows-1252"):
        table = read_table(path)
    assert table.frame.rows() == [("Müller", "5 €")]
    write_table(table, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


def test_a_given_encoding_is_used_and_a_wrong_one_refused_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\nmüde,3\n".encode("latin-1"))
    assert read_table(path, encoding="latin-1").frame["a"].to_list() == ["1", "müde"]
    for encoding in ("utf-8", "ascii"):
        with pytest.raises(FileError, match=f"not {encoding}: line 3 has a byte that is not text"):
            read_table(path, encoding=encoding)
    for encoding in ("nonsense", "base64"):
        with pytest.raises(FileError, match=f"There is no encoding '{encoding}'"):
            read_table(path, encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("given_encoding", [True, False])
def test_wide_encodings_are_found_and_kept(tmp_path, encoding, given_encoding):
    path = tmp_path / "t.csv"
    path.write_bytes("name;value\nMüller;1,50\n".encode(encoding))
    table = read_table(path, encoding=encoding if given_encoding else None)
    assert table.frame.rows() == [("Müller", "1,50")]
    write_table(table, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


def test_a_cell_that_the_encoding_cannot_hold_is_written_as_utf_8_with_a_warning(tmp_path):
    table = table_of(pl.DataFrame({"a": ["ü", "😀"]}), Dialect(encoding="windows-1252"))
    with pytest.warns(AnontoWarning, match="windows-1252 cannot represent every cell"):
        write_table(table, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == "a\nü\n😀\n".encode("utf-8-sig")


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n", "§"])
def test_a_delimiter_that_cannot_be_one_is_refused(tmp_path, delimiter):
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(ParameterError, match="delimiter"):
        read_table(tmp_path / "t.csv", delimiter=delimiter)


def test_a_given_delimiter_wins(tmp_path):
    (tmp_path / "t.csv").write_text("a,b:c\n1,2:3\n")
    assert read_table(tmp_path / "t.csv", delimiter=":").frame.columns == ["a,b", "c"]


def test_the_delimiter_is_found_though_the_sample_ends_in_a_record():
    record = b"1;2," + b"x" * 200_000 + b"\n"
    assert detect_delimiter(as_bytes(b"a;b\n" + record * 20)) == ";"


def test_the_same_table_gives_the_same_packed_bytes(tmp_path):
    table = table_of(pl.DataFrame({"a": ["x", None]}))
    for name in ("one.csv.gz", "two.csv.gz"):
        write_table(table, tmp_path / name)
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.csv.gz").read_bytes()) == b"a\nx\n\n"


def test_other_types_become_text_and_nested_ones_are_refused(tmp_path):
    frame = pl.DataFrame({"i": [1, None], "f": [0.1, 2.0], "c": pl.Series(["x", "y"], dtype=pl.Categorical)})
    write_table(Table(frame, Origin(name="t", format="parquet")), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv").frame.rows() == [("1", "0.1", "x"), (None, "2.0", "y")]
    with pytest.raises(ColumnError, match=r"cannot be written to .*'l'"):
        write_table(Table(pl.DataFrame({"l": [[1]]}), Origin(name="t", format="parquet")), tmp_path / "n.csv")
    assert not (tmp_path / "n.csv").exists()


def test_a_large_table_with_quoted_newlines_is_cut_right_by_every_thread(tmp_path):
    cells = [f'line {n}\r\n"quoted", {n}' if n % 3 else None if n % 2 else "" for n in range(300_000)]
    frame = pl.DataFrame({"a": cells, "b": [str(n) for n in range(300_000)]})
    write_table(table_of(frame), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv").frame.equals(frame)
