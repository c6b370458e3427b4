"""The health card, as data and as it is printed."""

from __future__ import annotations

import pytest

from anonto.cli.main import run
from anonto.ontology.card import health_card
from anonto.ontology.read import read_ontology


@pytest.fixture
def shown(tmp_path, capsys):
    def show(text, *options):
        (tmp_path / "x.csv").write_text(text)
        assert run(["ontology", str(tmp_path / "x.csv"), *options]) == 0
        return capsys.readouterr().out

    return show


def test_concepts_without_a_label_go_by_their_id(shown):
    card = shown("id,parent\na,\nb,a\n")
    assert "1: a\n" in card
    assert "  a; b\n" in card


def test_control_characters_are_escaped(shown):
    card = shown('id,parent,label\n"a\nb",,"c\x1b[31m"\n')
    assert "a\\nb c\\x1b[31m" in card
    assert "\x1b" not in card


def test_concepts_with_another_label_later_on_are_counted(shown):
    assert "1 concepts with several labels; the first" in shown("id,parent,label\na,,all\na,,every\n")


def test_the_card_of_a_part_marks_counts_of_the_whole_file(shown):
    text = "id,parent\na,\nb,a\nc,b\nc,b\n"
    part = shown(text, "--root", "b")
    assert "b and what lies below it" in part
    assert "3 read in the whole file, 1 kept" in part
    assert "1 in the whole file: " in part
    assert "whole file" not in shown(text)


def test_edges_from_undeclared_children_are_counted_separately(tmp_path, capsys):
    (tmp_path / "x.ttl").write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "<urn:a> a owl:Class . <urn:b> rdfs:subClassOf <urn:a> .\n"
    )
    edges = health_card(read_ontology(tmp_path / "x.ttl"))["edges"]
    assert (edges["dangling"], edges["orphaned"]) == (1, 1)
    assert run(["ontology", str(tmp_path / "x.ttl")]) == 0
    assert "1: 0 to undeclared parents, 1 from undeclared children" in capsys.readouterr().out
