"""Reading bytes: refused files, and how each encoding becomes text."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import time
from pathlib import Path

import pytest

from anonto.errors import FileError, MalformedFileError, MissingFileError
from anonto.ontology import source as source_module
from anonto.ontology.catalogue import open_ontology
from anonto.ontology.read import read_ontology

EDGES = "id,parent,label\nroot,,Wurzel\nä,root,Blüte\n"


@pytest.mark.parametrize(
    "content",
    [
        EDGES.encode("utf-8"),
        EDGES.encode("utf-8-sig"),
        EDGES.encode("utf-16"),
        b"\xfe\xff" + EDGES.encode("utf-16-be"),
        EDGES.encode("utf-16-le"),
        EDGES.encode("utf-16-be"),
        EDGES.replace("\n", "\r\n").encode(),
        EDGES.replace("\n", "\r").encode(),
    ],
    ids=["utf-8", "utf-8 bom", "utf-16", "utf-16-be bom", "utf-16-le", "utf-16-be", "crlf", "cr"],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_every_encoding_gives_the_same_text(tmp_path, content, packed):
    path = tmp_path / "edges"
    path.write_bytes(gzip.compress(content) if packed else content)
    taxonomy = read_ontology(path)
    assert taxonomy.ids == ("root", "ä")
    assert taxonomy.label("ä") == "Blüte"


def test_the_hash_is_of_the_bytes_as_stored(tmp_path):
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(EDGES.encode()))
    provenance = read_ontology(path).provenance
    assert provenance.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert provenance.source == "edges.csv.gz"


@pytest.mark.parametrize("name", ["nowhere.csv", "", "nul\x00byte"])
def test_a_path_that_leads_nowhere_is_missing(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingFileError):
        read_ontology(name)


def test_a_file_below_a_file_is_missing(tmp_path):
    (tmp_path / "a").write_text("x")
    with pytest.raises(MissingFileError):
        read_ontology(tmp_path / "a" / "b")


def test_a_forbidden_file_is_unreadable(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "secret.csv").write_text(EDGES)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FileError, match=r"cannot be read .*Permission denied"):
        read_ontology(tmp_path / "secret.csv")


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="is a pipe or a device, not a file; save its content"):
        read_ontology(tmp_path / "pipe")


@pytest.mark.parametrize(
    "content",
    [b"", b" \n\t\n", b"\xef\xbb\xbf", gzip.compress(b""), gzip.compress(b"\n")],
    ids=["nothing", "blanks", "mark", "packed nothing", "packed blank"],
)
def test_a_file_without_content_is_empty(tmp_path, content):
    (tmp_path / "empty.obo").write_bytes(content)
    with pytest.raises(FileError, match="is empty"):
        read_ontology(tmp_path / "empty.obo")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", "Excel"),
        (b"PK\x03\x04" + bytes(26) + b"a.txt", "zip"),
        (b"PAR1" + bytes(20) + b"PAR1", "parquet"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\x7fELF\x02", "program"),
        (b"SQLite format 3\x00", "SQLite"),
        (b"id,parent\na\x00b,c\n", "binary"),
        (bytes(range(256)), "binary"),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_binary_content_is_refused_with_its_kind(tmp_path, content, kind, packed):
    (tmp_path / "x.csv").write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(FileError, match=f"it looks like .*{kind}"):
        read_ontology(tmp_path / "x.csv")


def test_gzip_inside_gzip_is_refused(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(gzip.compress(EDGES.encode())))
    with pytest.raises(FileError, match=r"it looks like .*gzip inside gzip"):
        read_ontology(tmp_path / "x.gz")


def test_xml_is_read_in_the_encoding_that_it_declares(tmp_path):
    text = (
        '<?xml version="1.0" encoding="ISO-8859-1"?><ICD10CM.tabular><chapter><desc>Ä (A00-B99)</desc>'
        "</chapter></ICD10CM.tabular>"
    )
    (tmp_path / "x.xml").write_bytes(text.encode("latin-1"))
    assert read_ontology(tmp_path / "x.xml").label("chapter:A00-B99") == "Ä"


@pytest.mark.parametrize("encoding", ["iso-8859-99", "windows-1259", "latin-0"])
def test_an_encoding_that_does_not_exist_is_refused_by_name(tmp_path, encoding):
    (tmp_path / "x.xml").write_text(f'<?xml version="1.0" encoding="{encoding}"?><ICD10CM.tabular/>')
    with pytest.raises(FileError, match=f"declares the encoding '{encoding}'"):
        read_ontology(tmp_path / "x.xml")


def test_a_byte_outside_the_declared_encoding_is_refused_with_its_line(tmp_path):
    (tmp_path / "x.xml").write_bytes(b'<?xml version="1.0" encoding="windows-1252"?>\n<ICD10CM.tabular>\x81')
    with pytest.raises(FileError, match="not windows-1252: line 2 has a byte that is not text"):
        read_ontology(tmp_path / "x.xml")


@pytest.mark.parametrize("name", ["a" * 300, "a" * 300 + ".csv", "folder/" + "a" * 300])
def test_an_overlong_name_is_not_a_file(name):
    with pytest.raises(MissingFileError):
        open_ontology(name)


def test_undecodable_bytes_are_refused_with_their_line(tmp_path):
    (tmp_path / "latin.csv").write_bytes("id,parent\na,\nä,a\n".encode("latin-1"))
    with pytest.raises(FileError, match="line 3 has a byte that is not text"):
        read_ontology(tmp_path / "latin.csv")


def test_a_half_surrogate_in_utf_16_is_refused_with_its_line(tmp_path):
    (tmp_path / "x.csv").write_bytes("id,parent\na,".encode("utf-16") + b"\x00\xd8a\x00")
    with pytest.raises(FileError, match="line 2 has a byte that is not text"):
        read_ontology(tmp_path / "x.csv")


def test_a_truncated_gzip_is_malformed(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(EDGES.encode())[:-12])
    with pytest.raises(MalformedFileError, match="gzip"):
        read_ontology(tmp_path / "x.gz")


def test_a_damaged_gzip_is_malformed(tmp_path):
    packed = bytearray(gzip.compress(os.urandom(5000)))
    packed[2000:2010] = b"0123456789"
    (tmp_path / "x.gz").write_bytes(packed)
    with pytest.raises(MalformedFileError, match="gzip"):
        read_ontology(tmp_path / "x.gz")


def test_a_gzip_bomb_is_refused_while_it_unpacks(tmp_path):
    path = tmp_path / "bomb.obo.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(300):
            file.write(b" " * (1 << 20))
    started = time.monotonic()
    with pytest.raises(FileError, match="expands beyond 200 times"):
        read_ontology(path)
    assert time.monotonic() - started < 5


def test_an_overlong_text_is_refused_whatever_its_ratio(tmp_path, monkeypatch):
    monkeypatch.setattr(source_module, "MAX_EXPANDED_BYTES", 1 << 20)
    (tmp_path / "long.gz").write_bytes(gzip.compress(os.urandom(3 << 20)))
    with pytest.raises(FileError, match="expands beyond"):
        read_ontology(tmp_path / "long.gz")
