import pickle
import time

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
from anonto.ontology.matching import id_key, words, zeroless
from anonto.taxonomy.build import Draft
from anonto.taxonomy.taxonomy import Provenance, Taxonomy


def codes() -> Taxonomy:
    draft = Draft()
    for concept, label in {
        "ICD": "all codes",
        "001": "Cholera",
        "008": "Intestinal infections",
        "008.4": "Other bacteria",
        "008.45": "Clostridium difficile",
        "084": "Malaria",
        "084.5": "Mixed malaria",
        "250": "Diabetes mellitus",
        "250.83": "Diabetes with other manifestations",
        "845": "Sprain of ankle",
        "V01": "Contact with disease",
        "V58.69": "Long-term use of medication",
        "36": "Operations on vessels of heart",
        "36.0": "Removal of obstruction",
    }.items():
        draft.concept(concept, label)
    draft.synonym("001", "Asiatic cholera")
    draft.alternative("OLD-1", "001")
    draft.obsolete("GONE", "OLD-1")
    draft.obsolete("GONER", "GONE")
    draft.obsolete("LOST")
    draft.obsolete("ROUND", "ABOUT")
    draft.obsolete("ABOUT", "ROUND")
    return draft.finish(Provenance(source="codes", format="test", sha256=""))


TAX = codes()


@pytest.mark.parametrize(
    ("text", "concept", "rule"),
    [
        ("008.45", "008.45", "exact"),
        ("OLD-1", "001", "alternative id"),
        ("GONE", "001", "replaced id"),
        ("GONER", "001", "replaced id"),
        (" v58.69 ", "V58.69", "normalised id"),
        ("V5869", "V58.69", "normalised id"),
        ("25083", "250.83", "normalised id"),
        ("250.", "250", "normalised id"),
        ("00845", "008.45", "normalised id"),
        ("8", "008", "leading zeros"),
        ("8.45", "008.45", "leading zeros"),
        ("84.5", "084.5", "leading zeros"),
        ("1", "001", "leading zeros"),
        ("0250.83", "250.83", "leading zeros"),
        ("845", "845", "exact"),
        ("cholera", "001", "label"),
        ("MIXED  MALARIA", "084.5", "label"),
        ("asiatic-cholera", "001", "synonym"),
    ],
)
def test_a_text_is_placed_by_its_rule(text: str, concept: str, rule: str) -> None:
    matches = anonto.match([text], TAX)
    assert matches.concepts == [concept]
    assert list(matches.by_rule) == [rule]


@pytest.mark.parametrize("text", ["LOST", "ROUND", "999", "chol", "", "  ", "8.46", "84.50000", "V1", "V001"])
def test_a_text_without_a_place_stays_without(text: str) -> None:
    matches = anonto.match([text, text, "001"], TAX)
    assert matches.concepts == [None, None, "001"]
    assert matches.unmatched == {text: 2}


def test_likeness_places_a_slip_only_on_request() -> None:
    assert anonto.match(["Diabetis mellitus"], TAX).concepts == [None]
    matches = anonto.match(["Diabetis mellitus", "mellitus diabetes"], TAX, fuzzy=True)
    assert matches.concepts == ["250", "250"]
    assert list(matches.by_rule) == ["fuzzy"]


def test_a_text_as_like_two_concepts_is_not_placed() -> None:
    draft = Draft()
    for number in (1, 2):
        draft.concept(str(number), f"chronic disease type {number}")
    tax = draft.finish(Provenance(source="alike", format="test", sha256=""))
    matches = anonto.match(["chronic disease type 3"], tax, fuzzy=True)
    assert matches.concepts == [None]
    assert {s.concept for s in matches.suggestions["chronic disease type 3"]} == {"1", "2"}


def test_a_label_of_several_concepts_is_left_open_with_these_as_suggestions() -> None:
    draft = Draft()
    draft.concept("C01.1", "Meningitis")
    draft.concept("C10.1", "Meningitis")
    tax = draft.finish(Provenance(source="repeats", format="test", sha256=""))
    matches = anonto.match(["meningitis"], tax)
    assert matches.concepts == [None]
    assert [s.concept for s in matches.suggestions["meningitis"]] == ["C01.1", "C10.1"]


def test_zeros_that_could_be_restored_in_two_ways_are_left_open() -> None:
    draft = Draft()
    draft.concept("08", "two digits")
    draft.concept("008", "three digits")
    tax = draft.finish(Provenance(source="zeros", format="test", sha256=""))
    matches = anonto.match(["8"], tax)
    assert matches.concepts == [None]
    assert {s.concept for s in matches.suggestions["8"]} == {"08", "008"}


@pytest.mark.parametrize("text", ["V1", "v001", "V001."])
def test_zeros_after_a_letter_are_suggested_and_never_restored(text: str) -> None:
    matches = anonto.match([text], TAX)
    assert matches.concepts == [None]
    assert "V01" in [s.concept for s in matches.suggestions[text]]


@pytest.mark.parametrize("text", ["DOID:1816", "doid_01816", "DOID:00001816"])
def test_zeros_after_a_namespace_are_restored(text: str) -> None:
    draft = Draft()
    draft.concept("DOID:0001816", "angiosarcoma")
    tax = draft.finish(Provenance(source="spaces", format="test", sha256=""))
    assert anonto.match([text], tax).concepts == ["DOID:0001816"]


@pytest.mark.parametrize(("text", "concept"), [("1A00", "01A00"), ("2e5", "02E5"), ("E1", "E01")])
def test_zeros_of_a_code_that_no_spreadsheet_takes_for_a_number_are_not_restored(text: str, concept: str) -> None:
    draft = Draft()
    draft.concept(concept, "some code")
    tax = draft.finish(Provenance(source="letters", format="test", sha256=""))
    matches = anonto.match([text], tax)
    assert matches.concepts == [None]
    assert [s.concept for s in matches.suggestions[text]] == [concept]


def test_a_rule_that_gives_several_concepts_ends_the_search() -> None:
    draft = Draft()
    draft.concept("08", "two digits")
    draft.concept("008", "three digits")
    draft.concept("x", "8")
    tax = draft.finish(Provenance(source="zeros", format="test", sha256=""))
    assert anonto.match(["8"], tax).concepts == [None]


def test_long_texts_of_zeros_are_matched_at_once() -> None:
    started = time.monotonic()
    anonto.match(["0" * 100_000 + "x", "a" * 100_000, "a:" * 50_000], TAX)
    assert time.monotonic() - started < 5


def test_a_taxonomy_and_its_matches_survive_pickling_after_use() -> None:
    matches = anonto.match(["8", "cholera", "nowhere"], TAX, fuzzy=True)
    again = pickle.loads(pickle.dumps(matches))  # noqa: S301 - our own bytes
    assert again.concepts == matches.concepts
    tax = pickle.loads(pickle.dumps(TAX))  # noqa: S301 - our own bytes
    assert anonto.match(["8", "GONER"], tax).concepts == ["008", "001"]


def test_codes_of_an_ontology_without_dots_match_values_with_dots() -> None:
    draft = Draft()
    draft.concept("25083", "diabetes")
    tax = draft.finish(Provenance(source="dotless", format="test", sha256=""))
    assert anonto.match(["250.83"], tax).concepts == ["25083"]


def test_the_last_part_of_a_web_address_is_enough() -> None:
    draft = Draft()
    draft.concept("http://example.org/thesaurus/concept7", "Seven")
    draft.concept("http://example.org/other#c8", "Eight")
    tax = draft.finish(Provenance(source="web", format="test", sha256=""))
    assert anonto.match(["concept7", "C8"], tax).concepts == list(tax.ids)


def test_retired_codes_are_suggested_the_code_above_them() -> None:
    matches = anonto.match(["36.01", "3601"], TAX)
    assert [s.concept for s in matches.suggestions["36.01"]] == ["36.0"]
    assert [s.concept for s in matches.suggestions["3601"]] == ["36.0"]


def test_coverage_is_by_cells_and_by_distinct_values() -> None:
    matches = anonto.match(["001", "001", "001", "nowhere", None], TAX)
    assert matches.coverage == pytest.approx(0.75)
    assert matches.coverage.cells == pytest.approx(0.75)
    assert matches.coverage.distinct == pytest.approx(0.5)
    assert (matches.coverage.n_cells, matches.coverage.n_distinct, matches.coverage.n_missing) == (4, 2, 1)


def test_padded_values_are_reported() -> None:
    matches = anonto.match(["8", "008", "8"], TAX)
    assert matches.padded == {"8": "008"}
    assert matches.summary()["rules"]["leading zeros"] == {"distinct": 1, "cells": 2}


def test_the_summary_holds_counts_and_no_value() -> None:
    matches = anonto.match(["Jane Doe", "8"], TAX)
    assert "Jane" not in repr(matches.summary())
    assert "Jane" not in repr(matches)


def test_nothing_to_match_gives_no_coverage_and_no_error() -> None:
    for values in ([], [None, None]):
        matches = anonto.match(values, TAX)
        assert (matches.coverage, matches.concepts, matches.unmatched) == (0, [None] * len(values), {})


def test_a_pandas_column_of_numbers_matches_text_ids() -> None:
    assert anonto.match(pd.Series([8, 250, None]), TAX).concepts == ["008", "250", None]


@given(st.sampled_from(TAX.ids), st.booleans(), st.booleans(), st.booleans())
def test_a_damaged_id_never_lands_on_another_concept(concept: str, lower: bool, no_dot: bool, no_zeros: bool) -> None:
    text = concept.lower() if lower else concept
    text = text.replace(".", "") if no_dot else text
    text = text.lstrip("0") if no_zeros and text.strip("0") else text
    placed = anonto.match([text], TAX).concepts[0]
    ambiguous = no_dot and no_zeros
    assert placed == concept or ambiguous


@given(st.text(max_size=12))
def test_any_text_can_be_looked_up(text: str) -> None:
    matches = anonto.match([text], TAX, fuzzy=True)
    assert len(matches.concepts) == 1
    assert all(s.concept in TAX for s in matches.suggestions.get(text, ()))


def test_normalised_keys_are_as_documented() -> None:
    assert id_key(" Doid_ 0001816. ") == "doid:0001816"
    assert zeroless("doid:0001816") == "doid:1816"
    assert zeroless("000") == "0"
    assert zeroless("v01") == "v01"
    assert words("Herpes—zoster (ophthalmicus), ﬁrst") == "herpes zoster ophthalmicus first"
