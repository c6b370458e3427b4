"""OBO flat files."""

from __future__ import annotations

import pytest

from anonto.errors import FileError, MalformedFileError
from anonto.ontology.read import read_ontology

TEXT = r"""format-version: 1.2
data-version: releases/2020-01-01
ontology: x

[Term]
id: X:1
name: all\, \{every\} one ! a comment
def: "A \"quoted\" text [x]." [JA:Epilepsy Genetics Kiel]

[Term]
id: X:2
name: part {source="a"}
alt_id: X:20
alt_id: X:21
synonym: "a \"part\"" EXACT [] {x="y"}
synonym: "piece" RELATED OMO:1 [A:1, B:2]
exact_synonym: "bit" []
is_a: X:1 {is_inferred="true"} ! all
relationship: part_of X:3 ! nothing

[Term]
id: X:3
name: old
is_a: X:1
is_obsolete: true
replaced_by: X:2
replaced_by: X:1
consider: X:1

[Term]
id: X:4
is_obsolete: true
consider: X:1

[Term]
id: X:5
is_a: X:3 ! old

[Typedef]
id: part_of
name: part of
is_a: X:1
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        (tmp_path / "x.obo").write_text(text)
        return read_ontology(tmp_path / "x.obo", **options)

    return read_text


def test_terms_are_concepts_and_typedefs_are_not(read):
    assert read(TEXT).ids == ("X:1", "X:2", "X:5")


def test_labels_lose_escapes_comments_and_modifiers(read):
    taxonomy = read(TEXT)
    assert taxonomy.label("X:1") == "all, {every} one"
    assert taxonomy.label("X:2") == "part"


def test_synonyms_of_all_scopes_are_kept(read):
    assert read(TEXT).synonyms("X:2") == ('a "part"', "piece", "bit")


def test_parents_lose_modifiers_and_comments(read):
    assert read(TEXT).parents("X:2") == ("X:1",)


def test_alternative_ids_lead_to_their_concept(read):
    assert read(TEXT).alternative_ids == {"X:20": "X:2", "X:21": "X:2"}


def test_obsolete_terms_have_their_first_replacement_but_no_term_to_consider(read):
    assert read(TEXT).obsolete == {"X:3": "X:2", "X:4": None}


def test_an_edge_to_an_obsolete_term_is_left_out_and_counted(read):
    taxonomy = read(TEXT)
    assert "X:5" in taxonomy.roots
    assert taxonomy.provenance.dangling_edges == 1


def test_a_parent_named_by_its_alternative_id_is_found(read):
    text = "[Term]\nid: X:1\nalt_id: X:10\n\n[Term]\nid: X:2\nis_a: X:10\n\n[Term]\nid: X:3\nalt_id: X:30\nis_a: X:30\n"
    taxonomy = read(text)
    assert taxonomy.parents("X:2") == ("X:1",)
    assert taxonomy.parents("X:3") == ()
    assert taxonomy.provenance.dangling_edges == 1


def test_an_alternative_id_of_two_terms_is_not_a_parent(read):
    text = "[Term]\nid: X:1\nalt_id: X:9\n\n[Term]\nid: X:2\nalt_id: X:9\n\n[Term]\nid: X:3\nis_a: X:9\n"
    taxonomy = read(text)
    assert taxonomy.parents("X:3") == ()
    assert taxonomy.provenance.dangling_edges == 1


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ('x {a="b", c="d"}', "x"),
        ('x {a="b" }', "x"),
        ("x {a}", "x {a}"),
        ('x {="}', 'x {="}'),
        (r'x \{a="b"}', 'x {a="b"}'),
        ('x {a="}"}', 'x {a="}"}'),
    ],
)
def test_only_braces_with_modifiers_are_taken_from_the_end_of_a_name(read, name, label):
    assert read(f"[Term]\nid: X:1\nname: {name}\n").label("X:1") == label


def test_the_version_and_the_relation_are_kept(read):
    provenance = read(TEXT).provenance
    assert provenance.version == "releases/2020-01-01"
    assert provenance.relations == ("is_a",)


def test_a_file_without_header_is_read(read):
    assert read("[Term]\nid: X:1\n").ids == ("X:1",)


def test_a_term_without_id_is_refused_with_its_line(read):
    with pytest.raises(MalformedFileError) as caught:
        read("format-version: 1.2\n\n[Term]\nname: a\n\n[Term]\nid: X:1\n")
    assert caught.value.line == 3


def test_a_header_alone_describes_no_concept(read):
    with pytest.raises(FileError, match="describes no concept"):
        read("format-version: 1.2\n")
