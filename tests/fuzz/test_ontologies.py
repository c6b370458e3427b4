"""Ontology files of every format with bytes changed: each is read, or refused in one sentence."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from anonto.ontology.readers import OWN
from fuzz.harness import all_hold, fault_of, mutated, outcome, rng_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np

TEXTS = {
    "edge-csv": 'id,label,parent\nroot,All,\na,Alpha,root\nb,Beta,root\na1,"Al, one",a\na1,,b\n' * 1,
    "level-csv": "code;level 1;level 2\na1;a;*\na2;a;*\nb1;b;*\n",
    "obo": 'format-version: 1.2\nontology: x\n\n[Term]\nid: X:1\nname: root\n\n[Term]\nid: X:2\nname: two {a="b"} ! c\n'
    'synonym: "deux" EXACT []\nalt_id: X:9\nis_a: X:1 {source="y"} ! root\n\n[Term]\nid: X:3\nis_obsolete: true\n'
    "replaced_by: X:2\n",
    "owl": '<?xml version="1.0"?>\n<!DOCTYPE rdf:RDF [<!ENTITY o "http://www.w3.org/2002/07/owl#">]>\n'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="&o;" '
    'xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">\n<owl:Class rdf:about="http://x/a"/>\n'
    '<owl:Class rdf:about="http://x/b"><rdfs:label xml:lang="en">bee</rdfs:label>'
    '<rdfs:subClassOf rdf:resource="http://x/a"/></owl:Class>\n</rdf:RDF>\n',
    "skos": "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n@prefix x: <http://x/> .\n"
    'x:a a skos:Concept ; skos:prefLabel "A"@en .\nx:b a skos:Concept ; skos:broader x:a ; skos:notation "b" .\n',
    "icd10cm": '<?xml version="1.0" encoding="utf-8"?>\n<ICD10CM.tabular><version>2026</version><chapter><name>1</name>'
    '<desc>Injury (S00-T88)</desc><section id="S00-S09"><desc>Head (S00-S09)</desc><diag><name>S00</name>'
    '<desc>Scalp</desc><sevenChrDef><extension char="A">first</extension></sevenChrDef><diag><name>S00.01</name>'
    "<desc>Abrasion</desc><notes><note>7th characters D and S do not apply to codes in category S06 with 6th character "
    "7 - death</note></notes></diag></diag></section></chapter></ICD10CM.tabular>\n",
    "mesh": "Body Regions;A01\nAbdomen;A01.923\nEye;C01.200\nEye Diseases;C01\nEye;A01.456\n",
}
HEADERS = {
    "sct2_Concept_Snapshot_INT_20200101.txt": "id effectiveTime active moduleId definitionStatusId",
    "sct2_Relationship_Snapshot_INT_20200101.txt": "id effectiveTime active moduleId sourceId destinationId "
    "relationshipGroup typeId characteristicTypeId modifierId",
    "sct2_Description_Snapshot-en_INT_20200101.txt": "id effectiveTime active moduleId conceptId languageCode typeId "
    "term caseSignificanceId",
}
ROWS = {
    "sct2_Concept_Snapshot_INT_20200101.txt": [f"{n} 20200101 1 9 8" for n in (10, 20, 30)],
    "sct2_Relationship_Snapshot_INT_20200101.txt": [
        f"{n} 20200101 1 9 {n} 10 0 116680003 900000000000011006 7" for n in (20, 30)
    ],
    "sct2_Description_Snapshot-en_INT_20200101.txt": [
        f"{n}7 20200101 1 9 {n} en 900000000000003001 Term{n} 6" for n in (10, 20, 30)
    ],
}
"""The tables of an RF2 release."""


def test_every_format_is_among_them() -> None:
    assert {*TEXTS, "rf2"} == OWN.keys()


@pytest.mark.parametrize("format_name", [*TEXTS, "rf2"])
def test_no_ontology_crashes_the_program(tmp_path: Path, format_name: str) -> None:
    ontology = release_with_a_fault if format_name == "rf2" else file_with_a_fault(format_name)
    table = tmp_path / "table.csv"
    table.write_text("code,n\na1,1\nX:2,2\nS00.01,3\nA01.923,4\n20,5\n")

    def fault(number: int) -> str | None:
        rng = rng_of(f"ontologies {format_name}", number)
        given = ontology(tmp_path, rng)
        words = ["ontology", str(given)]
        if rng.integers(4) == 0:
            words = ["match", str(table), "--column", "code", "--ontology", str(given)]
        if rng.integers(4) == 0:
            words.append(f"--format={rng.choice(tuple(OWN))}")
        return fault_of(outcome(words))

    all_hold("ontologies", 12, fault)


def file_with_a_fault(format_name: str) -> Callable[[Path, np.random.Generator], Path]:
    def written(folder: Path, rng: np.random.Generator) -> Path:
        content = TEXTS[format_name].encode(str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"])))
        content = mutated(content, rng)
        if rng.integers(8) == 0:
            content = gzip.compress(content, mtime=0)
            content = mutated(content, rng) if rng.integers(2) else content
        (folder / "ontology").write_bytes(content)
        return folder / "ontology"

    return written


def release_with_a_fault(folder: Path, rng: np.random.Generator) -> Path:
    where = folder / "release" / "Snapshot" / "Terminology"
    where.mkdir(parents=True, exist_ok=True)
    damaged = int(rng.integers(len(HEADERS)))
    for place, (name, header) in enumerate(HEADERS.items()):
        lines = [header.replace(" ", "\t"), *(row.replace(" ", "\t") for row in ROWS[name])]
        content = "".join(f"{line}\r\n" for line in lines).encode()
        (where / name).write_bytes(mutated(content, rng) if place == damaged else content)
    return folder / "release"
