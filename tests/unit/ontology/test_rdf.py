"""OWL and SKOS in RDF/XML and Turtle."""

from __future__ import annotations

import pytest

from anonto.errors import FileError, MalformedFileError
from anonto.ontology.read import read_ontology

PREFIXES = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix oio: <http://www.geneontology.org/formats/oboInOwl#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix : <http://e.org/> .
"""
OWL = (
    PREFIXES
    + """
<http://e.org/> a owl:Ontology ; owl:versionInfo "7" ; owl:versionIRI <http://e.org/v7> .
owl:Thing a owl:Class .
obo:DOID_4 a owl:Class ; rdfs:subClassOf owl:Thing ; rdfs:label "Krankheit"@de , "illness" , "disease"@en .
obo:DOID_162 a owl:Class ; rdfs:label "cancer" ; rdfs:subClassOf obo:DOID_4 ,
        [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :Other ] ;
    oio:hasExactSynonym "malignancy" ; oio:hasBroadSynonym "b" ; oio:hasNarrowSynonym "n" ;
    oio:hasRelatedSynonym "r" ; skos:altLabel "alt" ; oio:hasAlternativeId "DOID:267" .
obo:DOID_9 a owl:Class ; owl:deprecated true ; obo:IAO_0100001 obo:DOID_162 ; rdfs:subClassOf obo:DOID_4 .
obo:DOID_8 a owl:Class ; owl:deprecated true ; obo:IAO_0100001 "DOID:4" .
obo:doid#local a rdfs:Class ; rdfs:subClassOf obo:DOID_4 , :Undeclared .
:p a owl:ObjectProperty .
"""
)
SKOS = (
    PREFIXES
    + """
:a a skos:Concept ; skos:prefLabel "Alles"@de , "all"@en ; skos:narrower :b ; skos:notation "001" .
:b a skos:Concept ; skos:broader :a ; skos:prefLabel "Teil"@de , "partie"@fr ; skos:altLabel "Stück"@de ;
    skos:hiddenLabel "Tiel"@de ; skos:related :a .
:c a skos:Concept ; owl:deprecated "true" .
:d a skos:Concept ; dct:isReplacedBy :b .
:e a owl:Class .
"""
)


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        (tmp_path / "x").write_text(text)
        return read_ontology(tmp_path / "x", **options)

    return read_text


def test_only_declared_named_classes_are_concepts(read):
    taxonomy = read(OWL.replace("obo:doid#local", "<http://purl.obolibrary.org/obo/doid#local>"))
    assert taxonomy.ids == ("DOID:4", "DOID:162", "http://purl.obolibrary.org/obo/doid#local")
    assert taxonomy.roots == ("DOID:4",)
    assert taxonomy.parents("DOID:162") == ("DOID:4",)
    assert taxonomy.provenance.dangling_edges == 1
    assert taxonomy.provenance.version == "http://e.org/v7"
    assert taxonomy.provenance.relations == ("rdfs:subClassOf",)


@pytest.fixture
def owl(read):
    return read(OWL.replace("obo:doid#local", "<http://purl.obolibrary.org/obo/doid#local>"))


def test_the_english_label_is_preferred_and_others_are_synonyms(owl):
    assert owl.label("DOID:4") == "disease"
    assert owl.synonyms("DOID:4") == ("illness", "Krankheit")
    assert set(owl.synonyms("DOID:162")) == {"malignancy", "b", "n", "r", "alt"}


def test_replacements_are_given_as_iri_or_text(owl):
    assert owl.obsolete == {"DOID:9": "DOID:162", "DOID:8": "DOID:4"}
    assert owl.alternative_ids == {"DOID:267": "DOID:162"}


def test_skos_is_read_when_it_is_declared_more_often(read):
    taxonomy = read(SKOS)
    a, b = "http://e.org/a", "http://e.org/b"
    assert taxonomy.provenance.format == "skos"
    assert taxonomy.ids == (a, b)
    assert taxonomy.parents(b) == (a,)
    assert taxonomy.label(a) == "all"
    assert taxonomy.synonyms(a) == ("Alles",)
    assert taxonomy.label(b) == "Teil"
    assert set(taxonomy.synonyms(b)) == {"partie", "Stück", "Tiel"}
    assert taxonomy.alternative_ids == {"001": a}
    assert taxonomy.obsolete == {"http://e.org/c": None, "http://e.org/d": b}


def test_an_edge_given_from_both_ends_is_one_edge(read):
    provenance = read(SKOS).provenance
    assert provenance.edges_read == 1
    assert set(provenance.relations) == {"skos:broader", "skos:narrower"}


def test_the_vocabulary_can_be_forced(read):
    assert read(SKOS, format="owl").ids == ("http://e.org/e",)
    with pytest.raises(FileError, match="describes no concept"):
        read(PREFIXES + ":e a owl:Class .", format="skos")


def test_relative_iris_without_a_base_stay_relative(read):
    taxonomy = read(PREFIXES + "<#a> a owl:Class . <b> a owl:Class ; rdfs:subClassOf <#a> .")
    assert taxonomy.parents("b") == ("#a",)


def test_a_syntax_error_in_turtle_is_refused_with_its_line(read):
    with pytest.raises(MalformedFileError, match="Turtle") as caught:
        read(PREFIXES + ":a a owl:Class .\n:b a ; .\n")
    assert caught.value.line == 9


def test_a_syntax_error_in_xml_is_refused(read):
    with pytest.raises(MalformedFileError, match="RDF/XML"):
        read('<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n<a></b></rdf:RDF>')


def test_rdf_without_concepts_describes_none(read):
    with pytest.raises(FileError, match="describes no concept"):
        read(PREFIXES + ":a :b :c .")


def test_an_edge_from_an_undeclared_class_is_counted(tmp_path):
    (tmp_path / "x.ttl").write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "<urn:a> a owl:Class . <urn:b> rdfs:subClassOf <urn:a> . <urn:c> a owl:Class ; rdfs:subClassOf <urn:a> .\n"
    )
    provenance = read_ontology(tmp_path / "x.ttl").provenance
    assert (provenance.edges_read, provenance.dangling_edges, provenance.orphaned_edges) == (2, 1, 1)
