"""Every reader on a real file of its format."""

from __future__ import annotations

import csv
import gzip
from importlib.util import find_spec
from pathlib import Path

import pytest

from anonto.ontology.read import read_ontology


@pytest.mark.parametrize(("name", "concepts"), [("icd9cm_dx_edges.csv", 17_743), ("icd9cm_pr_edges.csv", 4_670)])
def test_icd_9_cm_is_a_tree(data_folder, name, concepts):
    taxonomy = read_ontology(data_folder / "icd9cm" / name)
    assert len(taxonomy) == concepts
    assert taxonomy.is_tree
    assert len(taxonomy.roots) == 1
    assert taxonomy.provenance.edges_dropped == 0


@pytest.mark.parametrize(
    ("attribute", "values", "depth"),
    [
        ("age", 100, 5),
        ("education", 16, 4),
        ("marital-status", 7, 3),
        ("native-country", 41, 3),
        ("occupation", 14, 3),
        ("race", 5, 2),
        ("salary-class", 2, 2),
        ("sex", 2, 2),
        ("workclass", 8, 3),
    ],
)
def test_arx_hierarchies_have_every_value_as_a_leaf(data_folder, attribute, values, depth):
    path = data_folder / "uci_adult" / "arx" / f"adult_hierarchy_{attribute}.csv"
    taxonomy = read_ontology(path)
    leaves = {concept for concept in taxonomy.ids if not taxonomy.children(concept)}
    assert leaves == {line.split(";")[0] for line in path.read_text().splitlines()}
    assert len(leaves) == values
    assert taxonomy.roots == ("*",)
    assert taxonomy.max_depth == depth


def test_the_disease_ontology_of_2016(data_folder):
    taxonomy = read_ontology(data_folder / "ontologies" / "doid_2016-06-17.obo.gz")
    assert len(taxonomy) == 6_931
    assert len(taxonomy) + len(taxonomy.obsolete) == 9_300
    assert taxonomy.roots == ("DOID:4",)
    assert sum(len(taxonomy.parents(concept)) > 1 for concept in taxonomy.ids) == 205
    assert taxonomy.provenance.version == "releases/2016-06-17"


def test_the_cancer_slim_is_the_same_in_obo_and_owl(data_folder):
    obo = read_ontology(data_folder / "ontologies" / "DO_cancer_slim.obo")
    owl = read_ontology(data_folder / "ontologies" / "DO_cancer_slim.owl.gz")
    assert described(obo) == described(owl)
    assert obo.alternative_ids == owl.alternative_ids
    assert obo.obsolete == owl.obsolete


def described(taxonomy):
    return {c: (taxonomy.label(c), set(taxonomy.parents(c)), set(taxonomy.synonyms(c))) for c in taxonomy.ids}


def test_the_rf2_release_has_the_structure_of_the_obo_file_it_was_made_from(data_folder):
    obo = read_ontology(data_folder / "ontologies" / "doid_2016-06-17.obo.gz", root="DOID:4")
    folder = data_folder / "ontologies" / "rf2_synthetic_from_doid"
    with gzip.open(folder / "doid_to_fake_sctid.csv.gz", "rt") as file:
        doid = {row["fake_sctid"]: row["doid"] for row in csv.DictReader(file)}
    whole = read_ontology(folder)
    assert whole.provenance.isolated_concepts == 1
    rf2 = whole.below(next(sctid for sctid, concept in doid.items() if concept == "DOID:4"))
    assert {doid[c]: {doid[p] for p in rf2.parents(c)} for c in rf2.ids} == {c: set(obo.parents(c)) for c in obo.ids}


def test_the_diseases_of_mesh_as_an_edge_list(data_folder):
    taxonomy = read_ontology(data_folder / "ontologies" / "mesh2019_C_diseases_edges.csv.gz")
    assert len(taxonomy) == 11_649
    assert taxonomy.roots == ("C",)
    assert taxonomy.is_tree


def test_the_diseases_of_mesh_as_a_tree_file_merge_descriptors(data_folder, tmp_path):
    with gzip.open(data_folder / "ontologies" / "mesh2019_C_diseases_edges.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["parent"]]
    (tmp_path / "mtrees.bin").write_text("".join(f"{row['label']};{row['id']}\n" for row in rows))
    taxonomy = read_ontology(tmp_path / "mtrees.bin")
    assert len(taxonomy) + len(taxonomy.alternative_ids) == len(rows) + 1
    labels = {row["label"] for row in rows}
    assert len(taxonomy) == len(labels) + 1
    assert not taxonomy.is_tree


def test_the_unesco_thesaurus_is_a_forest(data_folder):
    taxonomy = read_ontology(data_folder / "ontologies" / "unesco-thesaurus_2016.ttl.gz")
    assert len(taxonomy) == 4_414
    assert taxonomy.provenance.format == "skos"
    assert taxonomy.provenance.edges_read == 4_257
    assert taxonomy.provenance.virtual_root
    assert taxonomy.label("http://vocabularies.unesco.org/thesaurus/concept10") == "Right to education"


# ---------------------------------------------------------------------------------------------- ICD-10-CM


@pytest.fixture(scope="module")
def icd_folder():
    spec = find_spec("simple_icd_10_cm")
    if spec is None or spec.origin is None:
        pytest.skip("the package simple-icd-10-cm is not installed: it carries the tabular list")
    return Path(spec.origin).parent / "data"


@pytest.fixture(scope="module")
def icd(icd_folder):
    return read_ontology(next(icd_folder.glob("*.xml")))


def test_icd_10_cm_is_a_tree_of_22_chapters(icd):
    assert icd.is_tree
    assert icd.roots == ("ICD10CM",)
    assert len(icd.children("ICD10CM")) == 22
    assert icd.parents("S00.01XA") == ("S00.01",)


def test_icd_10_cm_has_exactly_the_listed_codes(icd, icd_folder):
    listed = set(next(icd_folder.glob("*.txt")).read_text().split())
    codes = {code.replace(".", "") for code in icd.ids if ":" not in code} - {"ICD10CM"}
    assert codes == {code for code in listed if "-" not in code and not code.isdecimal()}


def test_the_leaves_of_icd_10_cm_are_the_codes_that_no_listed_code_continues(icd, icd_folder):
    listed = sorted(set(next(icd_folder.glob("*.txt")).read_text().split()))
    codes = [code for code in listed if "-" not in code and not code.isdecimal()]
    billable = {a for a, b in zip(codes, [*codes[1:], ""], strict=True) if not b.startswith(a)}
    leaves = {code.replace(".", "") for code in icd.ids if not icd.children(code)}
    assert leaves == billable
