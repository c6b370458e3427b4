"""Generalisation hierarchies in the form of ARX."""

from __future__ import annotations

import pytest

from anonto.errors import MalformedFileError
from anonto.ontology.read import read_ontology


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        (tmp_path / "levels.csv").write_text(text)
        return read_ontology(tmp_path / "levels.csv", **options)

    return read_text


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_each_level_is_a_parent(read, delimiter):
    taxonomy = read("01;low;*\n02;low;*\n11;high;*\n".replace(";", delimiter))
    assert taxonomy.parents("01") == ("low",)
    assert taxonomy.parents("high") == ("*",)
    assert taxonomy.roots == ("*",)
    assert taxonomy.label("low") == "low"


def test_the_delimiter_is_the_steady_one(read):
    assert read("a, b;x, y, z;*\nc;x, y, z;*\n").parents("a, b") == ("x, y, z",)


def test_a_value_with_two_chains_has_two_parents(read):
    assert set(read("a;x;*\na;y;*\n").parents("a")) == {"x", "y"}


def test_equal_texts_under_different_groups_are_different_concepts(read):
    taxonomy = read("a;other;x;*\nb;other;y;*\nc;z;y;*\n")
    assert taxonomy.parents("a") == ("other [x]",)
    assert taxonomy.parents("b") == ("other [y]",)
    assert taxonomy.label("other [x]") == "other"


def test_a_repeated_cell_is_one_concept_when_it_covers_nothing_else(read):
    taxonomy = read("Other;Other;*\na;x;*\nb;x;*\n")
    assert set(taxonomy.ids) == {"Other", "*", "a", "x", "b"}
    assert taxonomy.parents("Other") == ("*",)


def test_a_repeated_cell_is_its_own_concept_when_it_covers_more(read):
    taxonomy = read("Other;Other;*\na;Other;*\nb;x;*\n")
    assert taxonomy.parents("Other") == ("Other [*]",)
    assert taxonomy.children("Other [*]") == ("Other", "a")


def test_a_repeated_level_is_one_concept(read):
    taxonomy = read("a;x;x;*\nb;x;x;*\nc;y;z;*\n")
    assert taxonomy.parents("a") == ("x",)
    assert taxonomy.parents("x") == ("*",)


def test_names_that_collide_get_longer(read):
    taxonomy = read("x [p];q;*\na;x;p;*\nb;x;r;*\n")
    assert taxonomy.parents("a") == ("x [p, *]",)
    assert taxonomy.parents("b") == ("x [r]",)


def test_trailing_empty_cells_and_short_rows_are_read(read):
    taxonomy = read("a;x;*;;\nb;*;;;\n")
    assert taxonomy.parents("b") == ("*",)


def test_a_row_with_only_the_top_adds_nothing(read):
    assert set(read("a;x;*\n*;*;*\n").ids) == {"a", "x", "*"}


@pytest.mark.parametrize(
    ("text", "line"),
    [("a;x;*\nb;;*\nc;x;*\n", 2), ("a;x;*\nb;x;*\nc;x;y\n", 3), ("a;*\nb;*\nc\n", 3), ("a;*\n;*\n", 2)],
)
def test_a_faulty_row_is_refused_with_its_line(read, text, line):
    with pytest.raises(MalformedFileError) as caught:
        read(text)
    assert caught.value.line == line


def test_a_forced_reading_needs_a_delimiter(read):
    with pytest.raises(MalformedFileError, match="delimiter"):
        read("a\nb\n", format="level-csv")
