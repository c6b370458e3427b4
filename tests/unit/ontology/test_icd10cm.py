"""The tabular list of ICD-10-CM."""

from __future__ import annotations

import pytest

from anonto.errors import MalformedFileError
from anonto.ontology.icd10cm import extended_code
from anonto.ontology.read import read_ontology

TEXT = """<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular>
  <version>2026</version>
  <chapter><name>1</name><desc>Injury (S00-T88)</desc>
    <section id="S00-S99"><desc>Grouping of blocks (S00-S99)</desc></section>
    <section id="S00-S09"><desc>Injuries to the head (S00-S09)</desc>
      <diag><name>S00</name><desc>Superficial injury (of head)</desc>
        <sevenChrDef><extension char="A">initial encounter</extension>
          <extension char="D">subsequent encounter</extension></sevenChrDef>
        <diag><name>S00.0</name><desc>Scalp</desc>
          <diag><name>S00.01</name><desc>Abrasion of scalp</desc>
            <inclusionTerm><note>Scraped scalp</note></inclusionTerm></diag>
          <diag><name>S00.02</name><desc>Blister</desc>
            <sevenChrDef><extension char="Z">own</extension></sevenChrDef></diag>
        </diag>
      </diag>
      <diag><name>S06</name><desc>Intracranial injury</desc>
        <sevenChrDef><extension char="A">first</extension><extension char="D">later</extension></sevenChrDef>
        <notes><note>7th characters D and S do not apply to codes in category S06 with 6th character 7 -
          death, or 8 - death.</note></notes>
        <diag><name>S06.1X7</name><desc>Fatal</desc></diag>
        <diag><name>S06.1X0</name><desc>Not fatal</desc></diag>
      </diag>
      <diag><name>S08</name><desc>Plain</desc></diag>
    </section>
  </chapter>
</ICD10CM.tabular>
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        (tmp_path / "x.xml").write_text(text)
        return read_ontology(tmp_path / "x.xml", **options)

    return read_text


def test_chapters_blocks_and_codes_form_a_tree(read):
    taxonomy = read(TEXT)
    assert taxonomy.roots == ("ICD10CM",)
    assert taxonomy.is_tree
    assert taxonomy.parents("S00") == ("block:S00-S09",)
    assert taxonomy.parents("block:S00-S09") == ("chapter:S00-T88",)
    assert taxonomy.provenance.version == "2026"


def test_labels_lose_the_range_of_codes_only(read):
    taxonomy = read(TEXT)
    assert taxonomy.label("ICD10CM") == "ICD-10-CM 2026"
    assert taxonomy.label("chapter:S00-T88") == "Injury"
    assert taxonomy.label("S00") == "Superficial injury (of head)"


def test_blocks_without_codes_are_dropped(read):
    assert "block:S00-S99" not in read(TEXT)


def test_inclusion_terms_are_synonyms(read):
    assert read(TEXT).synonyms("S00.01") == ("Scraped scalp",)


def test_seventh_characters_are_below_codes_without_subdivision(read):
    taxonomy = read(TEXT)
    assert taxonomy.children("S00.01") == ("S00.01XA", "S00.01XD")
    assert taxonomy.label("S00.01XD") == "Abrasion of scalp, subsequent encounter"
    assert taxonomy.children("S00.0") == ("S00.01", "S00.02")


def test_the_nearest_definition_of_seventh_characters_applies(read):
    taxonomy = read(TEXT)
    assert taxonomy.children("S00.02") == ("S00.02XZ",)
    assert taxonomy.children("S08") == ()


def test_a_note_can_except_seventh_characters(read):
    taxonomy = read(TEXT)
    assert taxonomy.children("S06.1X7") == ("S06.1X7A",)
    assert taxonomy.children("S06.1X0") == ("S06.1X0A", "S06.1X0D")


@pytest.mark.parametrize(
    ("code", "extended"),
    [("T07", "T07.XXXA"), ("S00.01", "S00.01XA"), ("E08.321", "E08.321A"), ("M1A.0", "M1A.0XXA")],
)
def test_codes_are_filled_up_to_the_seventh_character(code, extended):
    assert extended_code(code, "A") == extended


def test_broken_xml_is_refused_with_its_line(read):
    with pytest.raises(MalformedFileError) as caught:
        read(TEXT.replace("<desc>Scalp</desc>", "<desc>Scalp"))
    assert caught.value.line > 1


@pytest.mark.parametrize(
    "text",
    [
        "<ICD10CM.tabular></ICD10CM.tabular>",
        "<ICD10CM.tabular><chapter><desc>x</desc></chapter></ICD10CM.tabular>",
        TEXT.replace("<name>S00.01</name>", ""),
    ],
    ids=["no chapter", "no range", "no code"],
)
def test_a_list_without_its_parts_is_refused(read, text):
    with pytest.raises(MalformedFileError):
        read(text)


def test_deep_nesting_is_handled(read):
    deep = "".join(f"<diag><name>X{n}</name>" for n in range(3000)) + "</diag>" * 3000
    text = TEXT.replace("<diag><name>S08</name><desc>Plain</desc></diag>", deep)
    assert read(text).depth("X2999") == 3003
