"""The MeSH tree file."""

from __future__ import annotations

import pytest

from anonto.errors import MalformedFileError
from anonto.ontology.read import read_ontology


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        (tmp_path / "mtrees.bin").write_text(text)
        return read_ontology(tmp_path / "mtrees.bin", **options)

    return read_text


def test_categories_that_occur_are_parents_of_their_numbers(read):
    taxonomy = read("Body Regions;A01\nAbdomen;A01.923\nCountries;Z01\n")
    assert taxonomy.roots == ("A", "Z")
    assert taxonomy.label("A") == "Anatomy"
    assert taxonomy.parents("A01.923") == ("A01",)


def test_a_descriptor_at_several_numbers_is_one_concept(read):
    taxonomy = read("Infections;C02\nEye Diseases;C01\nEye Infections;C02.100\nEye Infections;C01.200\n")
    assert set(taxonomy.parents("C01.200")) == {"C01", "C02"}
    assert taxonomy.alternative_ids == {"C02.100": "C01.200"}
    assert "C02.100" not in taxonomy


def test_descriptors_that_would_form_a_cycle_stay_separate(read):
    taxonomy = read("x;A01\ny;A01.100\ny;B01\nx;B01.100\nz;A02\nz;B02\n")
    assert taxonomy.parents("A01.100") == ("A01",)
    assert taxonomy.parents("B01.100") == ("B01",)
    assert taxonomy.label("B01.100") == "x"
    assert taxonomy.alternative_ids == {"B02": "A02"}


def test_a_descriptor_below_itself_stays_separate(read):
    taxonomy = read("x;A01\nx;A01.100\n")
    assert taxonomy.parents("A01.100") == ("A01",)


def test_a_missing_number_above_is_counted(read):
    assert read("x;A01\ny;A01.100.200\n").provenance.dangling_edges == 1


@pytest.mark.parametrize(("text", "line"), [("x;A01\ny;1\n", 2), ("x;A01\n\ny\n", 3), ("x;A01\ny;A01\n", 2)])
def test_a_faulty_line_is_refused(read, text, line):
    with pytest.raises(MalformedFileError) as caught:
        read(text, format="mesh")
    assert caught.value.line == line


def test_labels_may_hold_a_semicolon(read):
    assert read("a; b;A01\n").label("A01") == "a; b"
