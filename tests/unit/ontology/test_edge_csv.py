"""Edge lists in CSV."""

from __future__ import annotations

import pytest

from anonto.errors import FileError, MalformedFileError, OntologyError
from anonto.ontology.read import read_ontology


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        (tmp_path / "edges.csv").write_text(text)
        return read_ontology(tmp_path / "edges.csv", **options)

    return read_text


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_delimiter_is_found(read, delimiter):
    taxonomy = read("id,parent,label\n001,,all\n002,001,some\n".replace(",", delimiter))
    assert taxonomy.ids == ("001", "002")
    assert taxonomy.parents("002") == ("001",)
    assert taxonomy.label("002") == "some"


@pytest.mark.parametrize(
    "header", ["ID,Parent,Label", "code,parent_id,name", "Concept,Parents,Description", "child,broader,title"]
)
def test_columns_go_by_several_names(read, header):
    assert read(f"{header}\na,,all\nb,a,some\n").label("b") == "some"


def test_columns_may_be_in_any_order_among_others(read):
    taxonomy = read("x,Label,PARENT,id\n1,all,,a\n2,some,a,b\n")
    assert taxonomy.parents("b") == ("a",)
    assert taxonomy.label("a") == "all"


def test_several_parents_are_in_rows_or_in_one_cell(read):
    by_rows = read("id,parent\na,\nb,\nc,a\nc,b\n")
    by_cell = read("id,parent\na,\nb,\nc,a | b\n")
    assert by_rows.parents("c") == by_cell.parents("c") == ("a", "b")
    assert by_rows.provenance.virtual_root


def test_an_id_with_a_bar_is_a_parent_when_some_row_declares_it(read):
    taxonomy = read("id,parent\nc,a|b\na|b,\nd,a|b\nd,a|b\ne,c|d\n")
    assert taxonomy.parents("c") == taxonomy.parents("d") == ("a|b",)
    assert taxonomy.parents("e") == ("c", "d")
    assert (taxonomy.provenance.edges_read, taxonomy.provenance.duplicate_edges) == (5, 1)


def test_concepts_with_another_label_later_on_are_counted(read):
    taxonomy = read("id,parent,label\na,,all\nb,a,some\nb,a,other\nb,a,third\nc,a,\nc,a,late\n")
    assert (taxonomy.label("b"), taxonomy.label("c")) == ("some", "late")
    assert taxonomy.provenance.relabelled_concepts == 1


def test_synonyms_are_split_and_replaced_ids_are_obsolete(read):
    taxonomy = read("id,parent,label,synonyms,replaced_by\na,,all,every|each,\nold,a,,,a\n")
    assert taxonomy.synonyms("a") == ("every", "each")
    assert taxonomy.ids == ("a",)
    assert taxonomy.obsolete == {"old": "a"}


def test_a_parent_without_a_row_is_left_out_and_counted(read):
    taxonomy = read("id,parent\na,\nb,z\n")
    assert taxonomy.roots == ("a", "b")
    assert taxonomy.provenance.dangling_edges == 1


def test_quoted_cells_may_hold_delimiters_and_lines(read):
    taxonomy = read('id,parent,label\na,,"one, two\nthree"\nb,a,\n')
    assert taxonomy.label("a") == "one, two\nthree"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("id,parent\na,\n,a\n", 3),
        ("id,parent\na,\n\nb,a,c\n", 4),
        ("id,parent\na,\nb\n", 3),
        ('id,parent\n"a\nb",\nc\n', 4),
        ('id,parent\na,\n"b,a\n', 3),
        ('id,parent\na,"b"c\n', 2),
        ("# two lines\nid,parent\na\n", 3),
    ],
)
def test_a_faulty_row_is_refused_with_its_line(read, text, line):
    with pytest.raises(MalformedFileError) as caught:
        read(text)
    assert caught.value.line == line


def test_a_forced_reading_needs_the_header(read):
    with pytest.raises(MalformedFileError, match="id and parent"):
        read("a,b\nc,d\n", format="edge-csv")


def test_a_header_alone_describes_no_concept(read):
    with pytest.raises(FileError, match="describes no concept"):
        read("id,parent\n")


def test_a_cycle_is_refused(read):
    with pytest.raises(OntologyError, match="form a cycle"):
        read("id,parent\na,b\nb,a\n")
