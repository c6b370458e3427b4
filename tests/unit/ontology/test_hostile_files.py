"""Small files made to keep a reader busy are refused at once: every limit is far above the time needed."""

from __future__ import annotations

import gzip
import time
import tracemalloc

import pytest

from anonto.errors import AnontoError, FileError, MalformedFileError
from anonto.ontology.read import read_ontology

SIZE = 60_000
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
ICD = "<ICD10CM.tabular><chapter><desc>All (A00-B99)</desc>{}</chapter></ICD10CM.tabular>"
NOTE = "<section id='A00-A09'><diag><name>A00</name><sevenChrDef/><notes><note>{}</note></notes></diag></section>"
TEXTS = {
    "an open bracket and blanks": "[" + " " * SIZE + "!",
    "a bracket pair and blanks": "[" + " " * SIZE + "]" + " " * SIZE + "!",
    "a name of blanks before a brace": "[Term]\nid: X:1\nname: x" + " " * SIZE + "y}",
    "a name of half modifiers": "[Term]\nid: X:1\nname: x {" + '="' * (SIZE // 2) + "x}",
    "a name of braces": "[Term]\nid: X:1\nname: x " + "{" * SIZE + "}",
    "a name of comments": "[Term]\nid: X:1\nname: x" + " !" * (SIZE // 2),
    "a doctype without end": "<!DOCTYPE " + "a" * SIZE + '"',
    "a declaration without end": "<!DOCTYPE a [<!ELEMENT " + "'a'" * (SIZE // 3) + '"',
    "a description of blanks": ICD.format(f"<section><desc>x{' ' * SIZE}y (A00-A09)</desc></section>"),
    "a note of half exceptions": ICD.format(NOTE.format("7th character A do not apply to codes " * (SIZE // 38))),
    "a row of levels": "a;" * (SIZE // 2) + "*",
    "a descriptor of blanks": "x;A01\nx" + " " * SIZE + "y",
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_small_file_is_read_or_refused_at_once(tmp_path, kind):
    (tmp_path / "x").write_text(TEXTS[kind])
    started = time.monotonic()
    try:
        read_ontology(tmp_path / "x")
    except AnontoError as error:
        assert len(str(error)) < 500  # noqa: PT017
    assert time.monotonic() - started < 4


def test_many_entities_are_counted_in_one_pass(tmp_path):
    declared = "".join(f'<!ENTITY e{n} "x">' for n in range(40_000))
    (tmp_path / "x").write_text(f"<!DOCTYPE a [{declared}]>{RDF}{'&e1;' * 300_000}</rdf:RDF>")
    started = time.monotonic()
    with pytest.raises(MalformedFileError) as caught:
        read_ontology(tmp_path / "x")
    assert time.monotonic() - started < 8
    assert len(str(caught.value)) < 300


def test_an_entity_declared_twice_counts_with_its_longer_text(tmp_path, monkeypatch):
    from anonto.ontology import safe_xml

    monkeypatch.setattr(safe_xml, "MAX_ENTITY_GROWTH", 1 << 16)
    declared = f'<!ENTITY a "{"x" * 1000}"><!ENTITY a "x">'
    (tmp_path / "x").write_text(f"<!DOCTYPE a [{declared}]>{RDF}{'&a;' * 1000}</rdf:RDF>")
    with pytest.raises(FileError, match="declares XML entities"):
        read_ontology(tmp_path / "x")


def test_the_words_of_a_parser_are_quoted_in_short(tmp_path):
    (tmp_path / "x").write_text(f"<!DOCTYPE a>{RDF}<{'y' * 5000}></rdf:RDF>")
    with pytest.raises(MalformedFileError) as caught:
        read_ontology(tmp_path / "x", format="owl")
    assert len(str(caught.value)) < 300


def test_repeated_edges_are_counted_and_not_kept(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"id,parent\na,\n" + b"b,a\n" * 100_000)
    (tmp_path / "few.csv").write_bytes(b"id,parent\na,\nb,a\n")
    read_ontology(tmp_path / "few.csv")  # what is compiled and imported on first use is not measured
    tracemalloc.start()
    try:
        taxonomy = read_ontology(tmp_path / "x.csv")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000
    assert taxonomy.provenance.edges_read == 100_000
    assert taxonomy.provenance.duplicate_edges == 99_999


def test_a_small_gzip_of_many_repeated_edges_is_refused(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"id,parent\na,\n" + b"b,a\n" * 15_000_000))
    started = time.monotonic()
    with pytest.raises(FileError, match="expands beyond"):
        read_ontology(tmp_path / "x.gz")
    assert time.monotonic() - started < 10
