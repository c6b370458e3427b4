"""The format of a file: its content decides, never its name."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time

import pytest

from anonto.cli.main import run
from anonto.errors import FileError, MalformedFileError, OntologyError
from anonto.ontology.read import read_ontology, sniff
from anonto.ontology.readers import OWN

OBO = "format-version: 1.2\n\n[Term]\nid: A:1\nname: all\n\n[Term]\nid: A:2\nis_a: A:1 ! all\n"
TURTLE = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <http://e.org/> .
:A a owl:Class . :B a owl:Class ; rdfs:subClassOf :A .
"""
N_TRIPLES = """
<urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2004/02/skos/core#Concept> .
<urn:b> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2004/02/skos/core#Concept> .
<urn:b> <http://www.w3.org/2004/02/skos/core#broader> <urn:a> .
"""
RDF_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
     xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
<owl:Class rdf:about="http://e.org/A"/>
<owl:Class rdf:about="http://e.org/B"><rdfs:subClassOf rdf:resource="http://e.org/A"/></owl:Class>
</rdf:RDF>
"""
ICD = """<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular><version>2026</version><chapter><name>1</name><desc>Some (A00-B99)</desc>
<section id="A00-A09"><desc>Gut (A00-A09)</desc><diag><name>A00</name><desc>Cholera</desc></diag></section>
</chapter></ICD10CM.tabular>
"""
SAMPLES = {
    "edge-csv": "id,parent\na,\nb,a\n",
    "level-csv": "a;x;*\nb;x;*\n",
    "obo": OBO,
    "owl": TURTLE,
    "owl xml": RDF_XML,
    "skos": N_TRIPLES,
    "icd10cm": ICD,
    "mesh": "Body Regions;A01\nAbdomen;A01.923.047\n",
}


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("name", ["x.owl", "x.csv", "x.obo.gz", "x"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_the_name_of_a_file_does_not_matter(tmp_path, kind, name, packed):
    content = SAMPLES[kind].encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)
    assert read_ontology(tmp_path / name).provenance.format == kind.split()[0]


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_format_is_read_in_utf_16(tmp_path, kind):
    (tmp_path / "x").write_bytes(SAMPLES[kind].encode("utf-16"))
    assert read_ontology(tmp_path / "x").provenance.format == kind.split()[0]


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_sniffed_format_can_be_forced_with_the_same_result(tmp_path, kind):
    (tmp_path / "x").write_text(SAMPLES[kind])
    sniffed = read_ontology(tmp_path / "x")
    assert read_ontology(tmp_path / "x", format=kind.split()[0]).ids == sniffed.ids


@pytest.mark.parametrize(
    ("kind", "comment"),
    [
        ("edge-csv", "# Ontology( is no start\n\n"),
        ("obo", "! Prefix: of nothing\n\n"),
        ("owl", "# id,parent\n\n\n"),
        ("owl xml", "<!-- <Ontology> -->\n"),
        ("icd10cm", "<!-- <rdf:RDF> -->\n"),
        ("mesh", "# [Term]\n"),
    ],
)
def test_leading_comments_do_not_mislead(tmp_path, kind, comment):
    text = SAMPLES[kind].split("?>\n", 1)[-1] if kind in {"owl xml", "icd10cm"} else SAMPLES[kind]
    (tmp_path / "x").write_text(comment + text)
    assert read_ontology(tmp_path / "x").provenance.format == kind.split()[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Prefix(owl:=<http://www.w3.org/2002/07/owl#>)\nOntology(<http://e.org/>\n)", "functional"),
        ("# made by hand\n\nOntology(<http://e.org/>)", "functional"),
        ("Prefix: owl: <http://www.w3.org/2002/07/owl#>\nOntology: <http://e.org/>\n", "Manchester"),
        ('<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"></Ontology>', "OWL/XML"),
        ('{"graphs": [{"nodes": []}]}', "OBO graph"),
        ('[\n {"id": "a"}]', "JSON"),
        (
            '<?xml version="1.0"?>\n<!DOCTYPE ClaML SYSTEM "ClaML.dtd">\n<ClaML version="2.0.0"></ClaML>',
            "ClaML",
        ),
        ("<!DOCTYPE DescriptorRecordSet>\n<DescriptorRecordSet></DescriptorRecordSet>", "MeSH XML"),
    ],
)
def test_a_known_format_without_a_reader_is_named(tmp_path, text, found):
    (tmp_path / "x.owl").write_text(text)
    with pytest.raises(FileError, match=f"{found}.*, which is not supported"):
        read_ontology(tmp_path / "x.owl")


@pytest.mark.parametrize(
    "text",
    [
        "Hello, world\n",
        "a\nb\nc\n",
        "age,sex\n31,male\n27,female\n",
        "<html><body/></html>",
        "<a",
        "<!-- open",
        "[x",
    ],
)
def test_a_file_that_is_not_an_ontology_has_no_known_format(tmp_path, text):
    (tmp_path / "x.obo").write_text(text)
    with pytest.raises(FileError, match=r"known formats are .*edge-csv"):
        read_ontology(tmp_path / "x.obo")


def test_a_format_that_does_not_exist_is_refused_with_the_near_one(tmp_path):
    with pytest.raises(FileError, match=r"did you mean 'obo'.*; known formats are"):
        read_ontology(tmp_path / "x", format="oboo")


@pytest.mark.parametrize("format_name", OWN)
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_wrong_forced_format_ends_in_one_of_our_errors(tmp_path, kind, format_name):
    (tmp_path / "x").write_text(SAMPLES[kind])
    try:
        read_ontology(tmp_path / "x", format=format_name)
    except Exception as error:
        assert type(error).__module__ == "anonto.errors"  # noqa: PT017


def test_a_table_of_a_release_asks_for_its_folder(tmp_path):
    (tmp_path / "x.txt").write_text("id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId\n1\t2\t1\t3\t4\n")
    with pytest.raises(MalformedFileError, match="folder"):
        read_ontology(tmp_path / "x.txt")


def test_a_folder_is_not_a_text_format(tmp_path):
    with pytest.raises(MalformedFileError, match="folder"):
        read_ontology(tmp_path, format="obo")


@pytest.mark.parametrize(
    "start", ["[ a owl:Class ]", "[] a owl:Class", "[\n] a owl:Class", "_:x a owl:Class", ":A a :B"]
)
def test_turtle_may_start_with_any_subject(start):
    assert sniff(f"{start} .\n", "x").name == "owl"


def test_the_help_names_every_format(capsys):
    assert run(["ontology", "--help"]) == 0
    shown = capsys.readouterr().out
    for name in OWN:
        assert name in shown


def test_the_help_does_not_wait_for_the_readers():
    code = "import sys, anonto.cli.main; print(sorted({'numpy', 'numba', 'polars'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_root_that_is_not_a_concept_must_be_given_by_id(tmp_path):
    (tmp_path / "x").write_text("id,parent\na,\n")
    with pytest.raises(OntologyError, match="; give a concept id "):
        read_ontology(tmp_path / "x", root="ontology")


def test_a_root_keeps_its_descendants(tmp_path):
    (tmp_path / "x").write_text("id,parent\na,\nb,a\nc,b\nd,a\n")
    assert set(read_ontology(tmp_path / "x", root="b").ids) == {"b", "c"}
    with pytest.raises(OntologyError, match="The given root is not a concept"):
        read_ontology(tmp_path / "x", root="z")


# ---------------------------------------------------------------------------------------------- entities

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">\n' for n in range(1, 10))
DOCTYPES = {
    "billion laughs": f'[<!ENTITY l0 "lol">\n{LAUGHS}]',
    "hidden nesting": '[<!ENTITY a "lol"><!ENTITY b "&#38;a;&#38;a;">]',
    "doubly hidden nesting": '[<!ENTITY a "lol"><!ENTITY b "&#38;#38;a;">]',
    "external": '[<!ENTITY a SYSTEM "file:///etc/passwd">]',
    "public": '[<!ENTITY a PUBLIC "x" "http://e.org/x">]',
    "parameter": '[<!ENTITY % a "lol"> %a;]',
    "overlong": f'[<!ENTITY a "{"x" * 1025}">]',
    "unfinished": '[<!ENTITY a "x">',
}
BODIES = {
    "rdf:RDF": RDF_XML.split("?>\n", 1)[1].replace("<owl:Class", "<!-- here -->&ENTITY;<owl:Class", 1),
    "ICD10CM.tabular": ICD.split("?>\n", 1)[1].replace("Cholera", "&ENTITY;"),
}


@pytest.mark.parametrize("doctype", DOCTYPES)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("forced", [False, True], ids=["sniffed", "forced"])
def test_a_harmful_entity_is_refused_at_once(tmp_path, doctype, body, encoding, forced):
    entity = "&l9;" if doctype == "billion laughs" else "&a;"
    content = BODIES[body].replace("&ENTITY;", entity)
    text = f"<?xml version='1.0'?>\n<!DOCTYPE {body} {DOCTYPES[doctype]}>\n{content}"
    (tmp_path / "x.owl.gz").write_bytes(gzip.compress(text.encode(encoding)))
    started = time.monotonic()
    with pytest.raises(FileError, match="declares XML entities"):
        read_ontology(tmp_path / "x.owl.gz", format=("owl" if "rdf" in body else "icd10cm") if forced else None)
    assert time.monotonic() - started < 1


@pytest.mark.parametrize("where", ["before", "inside"])
def test_an_entity_in_a_comment_is_never_declared(tmp_path, where):
    comment = '<!-- <!ENTITY a "&b;"> -->'
    doctype = f"{comment}<!DOCTYPE x>" if where == "before" else f"<!DOCTYPE x [{comment}]>"
    (tmp_path / "x").write_text(doctype + RDF_XML.split("?>\n", 1)[1])
    assert len(read_ontology(tmp_path / "x")) == 2


def test_a_doctype_inside_the_root_element_is_refused(tmp_path):
    late = '<!DOCTYPE x [<!ENTITY a "&b;">]>'
    (tmp_path / "x").write_text(RDF_XML.replace("<owl:Class", late + "<owl:Class", 1))
    with pytest.raises(FileError, match="declares XML entities"):
        read_ontology(tmp_path / "x")


def test_namespace_entities_as_an_editor_writes_them_are_read(tmp_path):
    text = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [
    <!ENTITY owl "http://www.w3.org/2002/07/owl#" >
    <!ENTITY rdfs "http://www.w3.org/2000/01/rdf-schema#" >
    <!-- ours -->
    <!ENTITY e 'http://e.org/&#x7E;' >
]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="&owl;" xmlns:rdfs="&rdfs;">
<owl:Class rdf:about="&e;A"><rdfs:label>All</rdfs:label></owl:Class>
<owl:Class rdf:about="&e;B"><rdfs:subClassOf rdf:resource="&e;A"/></owl:Class>
</rdf:RDF>"""
    (tmp_path / "x.owl").write_text(text)
    taxonomy = read_ontology(tmp_path / "x.owl")
    assert taxonomy.parents("http://e.org/~B") == ("http://e.org/~A",)
    assert taxonomy.label("http://e.org/~A") == "All"


def test_a_doctype_that_only_names_its_dtd_is_read(tmp_path):
    text = ICD.replace("<ICD10CM", '<!DOCTYPE ICD10CM.tabular SYSTEM "icd10cm.dtd">\n<ICD10CM', 1)
    (tmp_path / "x.xml").write_text(text)
    assert "A00" in read_ontology(tmp_path / "x.xml")


def test_short_entities_repeated_without_end_are_refused(tmp_path, monkeypatch):
    from anonto.errors import FileError
    from anonto.ontology import safe_xml

    monkeypatch.setattr(safe_xml, "MAX_ENTITY_GROWTH", 1 << 16)
    path = tmp_path / "grows.owl"
    path.write_text(
        f'<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY a "{"x" * 1000}">]>'
        f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">{"&a;" * 1000}</rdf:RDF>'
    )
    with pytest.raises(FileError, match="declares XML entities"):
        read_ontology(path)
