"""The plan and the ontology decide how a concept is written, and it reads back as itself."""

from __future__ import annotations

import pytest

import anonto
from anonto.ontology.matching import matcher_of
from anonto.ontology.spelling import SPELLINGS, spelling_of, usual_spelling
from strategies import taxonomy_of

CODES = taxonomy_of({"r": (), "1.23": ("r",), "12.3": ("r",), "E10.1": ("r",)})
ILLNESSES = anonto.read_ontology("illnesses")


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("taxonomy", [CODES, ILLNESSES, anonto.read_ontology("nervous-system")])
def test_every_concept_reads_back_as_itself(taxonomy: anonto.Taxonomy, name: str) -> None:
    spelling = spelling_of(taxonomy, name)
    texts = [spelling.text(concept, taxonomy) for concept in taxonomy.ids]
    assert [matcher_of(taxonomy).concept_of(text) for text in texts] == list(taxonomy.ids)


def test_a_concept_that_shares_its_text_is_written_by_its_id() -> None:
    spelling = spelling_of(CODES, "id-without-dots")
    assert [spelling.text(concept, CODES) for concept in ("1.23", "12.3", "E10.1")] == ["1.23", "12.3", "E101"]


def test_the_usual_spelling_is_that_of_most_cells() -> None:
    assert usual_spelling([("E101", "E10.1", 3), ("E10.1", "E10.1", 2)], CODES) == "id-without-dots"
    assert usual_spelling([("E101", "E10.1", 2), ("e10.1", "E10.1", 3)], CODES) == "id"
    assert usual_spelling([], CODES) == "id"
