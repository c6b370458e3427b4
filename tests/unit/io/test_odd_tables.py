"""Tables as people really have them: each is read, written and read again without a change."""

from __future__ import annotations

import gzip
import warnings
from dataclasses import dataclass

import pytest

from anonto.errors import AnontoWarning
from anonto.io.reading import read_table
from anonto.io.writing import write_table


@dataclass(frozen=True)
class Odd:
    """A file and what its table must be."""

    name: str
    content: bytes
    columns: list[str]
    rows: list[tuple[str | None, ...]]
    writes_the_same_bytes: bool = True


def odd(name: str, text: str, columns: list[str], rows: list[tuple[str | None, ...]], encoding="utf-8", same=True):
    return pytest.param(Odd(name, text.encode(encoding), columns, rows, same), id=name)


WIDE = [f"column {n}" for n in range(300)]
LONG = 'word, "quoted"\n' * 20_000

CASES = [
    odd("dates", "day,seen\n2020-02-29,31.12.1999\n,1/2/03\n", ["day", "seen"],
        [("2020-02-29", "31.12.1999"), (None, "1/2/03")]),
    odd("decimal commas", "a;b\n1,50;-2,75\n0,1;\n", ["a", "b"], [("1,50", "-2,75"), ("0,1", None)]),
    odd("byte order mark", "a,b\n1,2\n", ["a", "b"], [("1", "2")], "utf-8-sig"),
    odd("quotes", 'a,b\n"say ""hi""",x\n"""",""""""\n', ["a", "b"], [('say "hi"', "x"), ('"', '""')]),
    odd("quotes inside unquoted cells", 'a,b\n5" nail,x"y"z\n', ["a", "b"], [('5" nail', 'x"y"z')], same=False),
    odd("blank lines", "\na,b\n\n1,2\n\n\n3,4\n\n", ["a", "b"], [("1", "2"), ("3", "4")], same=False),
    odd("300 columns", ",".join(WIDE) + "\n" + ",".join(map(str, range(300))) + "\n" + "," * 299 + "\n", WIDE,
        [tuple(map(str, range(300))), (None,) * 300]),
    odd("emoji", "who,mood\n👩‍⚕️,😀😀\n🏳️‍🌈,\n", ["who", "mood"], [("👩‍⚕️", "😀😀"), ("🏳️‍🌈", None)]),
    odd("keywords as names", "select,class,None,from,index\n1,2,3,4,5\n", ["select", "class", "None", "from", "index"],
        [("1", "2", "3", "4", "5")]),
    odd("utf-16", "a;b\nä;ö\n", ["a", "b"], [("ä", "ö")], "utf-16"),
    odd("utf-16 without a mark", "name;city\nä;ö\n", ["name", "city"], [("ä", "ö")], "utf-16-be"),
    odd("windows-1252", "a;b\nMüller;5 €\n", ["a", "b"], [("Müller", "5 €")], "windows-1252"),
    odd("one column", "code\n008\nA00.1\n", ["code"], [("008",), ("A00.1",)]),
    odd("one column with missing cells", "code\n\nx\n\n", ["code"], [(None,), ("x",), (None,)]),
    odd("one row", "a,b,c\n1,2,3\n", ["a", "b", "c"], [("1", "2", "3")]),
    odd("no rows", "a,b,c\n", ["a", "b", "c"], []),
    odd("no rows and no line's end", "a,b", ["a", "b"], [], same=False),
    odd("tab", "a\tb\n1, 2\tx;y\n", ["a", "b"], [("1, 2", "x;y")]),
    odd("pipe", "a|b\n1,2|\n|x\n", ["a", "b"], [("1,2", None), (None, "x")]),
    odd("a delimiter too many", "a,b,\n1,2,\n3,4,\n", ["a", "b"], [("1", "2"), ("3", "4")], same=False),
    odd("a last column without values", "a,b,c\n1,2,\n3,4,\n", ["a", "b", "c"], [("1", "2", None), ("3", "4", None)]),
    odd("a very long cell", 'a,b\n"' + LONG.replace('"', '""') + '",x\n', ["a", "b"], [(LONG, "x")]),
    odd("crlf", "a,b\r\n1,2\r\n3,\r\n", ["a", "b"], [("1", "2"), ("3", None)]),
    odd("lone cr", "a,b\r1,2\r3,\r", ["a", "b"], [("1", "2"), ("3", None)]),
    odd("a header with blanks", " first name ,b \n x, y \n", [" first name ", "b "], [(" x", " y ")]),
    odd("thousands separators", 'a;b\n1.234.567;"1;2"\n12\'000;1 000\n', ["a", "b"],
        [("1.234.567", "1;2"), ("12'000", "1 000")]),
    odd("leading zeros", "code,zip\n008,01069\n0,00\n", ["code", "zip"], [("008", "01069"), ("0", "00")]),
    odd("truth values", "a,b\ntrue,FALSE\nTrue,0\n", ["a", "b"], [("true", "FALSE"), ("True", "0")]),
    odd("quoted newlines", 'a,b\n"x\ny","p\r\nq"\n"\n","\r"\n', ["a", "b"], [("x\ny", "p\r\nq"), ("\n", "\r")]),
    odd("texts that look missing", "a,b\nNA,?\nnull,NaN\nNone,-\n", ["a", "b"],
        [("NA", "?"), ("null", "NaN"), ("None", "-")]),
    odd("empty and missing", 'a,b\n"",\n,""\n', ["a", "b"], [("", None), (None, "")]),
    odd("numbers beyond doubles", "a,b\n123456789012345678901234567890,1e400\n", ["a", "b"],
        [("123456789012345678901234567890", "1e400")]),
]  # fmt: skip


def read_quietly(path):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*was read as Windows-1252", AnontoWarning)
        return read_table(path)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_an_odd_table_survives(tmp_path, case, ending):
    source, copy = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    source.write_bytes(gzip.compress(case.content) if ending == ".csv.gz" else case.content)
    table = read_quietly(source)
    assert table.frame.columns == case.columns
    assert table.frame.rows() == case.rows
    write_table(table, copy)
    again = read_quietly(copy)
    assert again.frame.columns == case.columns
    assert again.frame.rows() == case.rows
    assert again.origin.dialect == table.origin.dialect
    if case.writes_the_same_bytes:
        written = copy.read_bytes()
        assert (gzip.decompress(written) if ending == ".csv.gz" else written) == case.content


@pytest.mark.parametrize("case", CASES)
def test_an_odd_table_survives_in_parquet(tmp_path, case):
    source, copy = tmp_path / "in.csv", tmp_path / "out.parquet"
    source.write_bytes(case.content)
    table = read_quietly(source)
    write_table(table, copy)
    assert read_table(copy).frame.equals(table.frame)
