import csv
import gzip
import itertools
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import anonto
import oracles
from anonto import stats
from anonto.taxonomy.taxonomy import Taxonomy


@pytest.fixture(scope="module")
def doid(data_folder: Path) -> Taxonomy:
    return anonto.read_ontology(data_folder / "ontologies" / "doid_2016-06-17.obo.gz")


@pytest.fixture(scope="module")
def icd9(data_folder: Path) -> Taxonomy:
    return anonto.read_ontology(data_folder / "icd9cm" / "icd9cm_dx_edges.csv")


def _rows(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_wu_palmer_and_ancestor_equal_the_oracle_on_2000_pairs_of_doid(doid: Taxonomy) -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from(doid.ids)
    graph.add_edges_from((child, parent) for child in doid.ids for parent in doid.parents(child))
    rng = np.random.default_rng(11)
    pairs = [(doid.ids[a], doid.ids[b]) for a, b in rng.integers(0, len(doid), (2000, 2))]
    several = [c for c in doid.ids if len(doid.parents(c)) > 1]
    pairs[:200] = [(a, b) for a, b in itertools.islice(itertools.combinations(several, 2), 200)]
    for a, b in pairs:
        assert doid.distance(a, b) == pytest.approx(oracles.wu_palmer(graph, a, b), abs=1e-12)
        assert doid.distance(a, b, "ancestor") == pytest.approx(oracles.ancestor(graph, a, b), abs=1e-12)


def test_all_915_diagnosis_codes_of_the_diabetes_data_match_icd9(data_folder: Path, icd9: Taxonomy) -> None:
    rows = _rows(data_folder / "uci_diabetes130" / "diabetic_data.csv.gz")
    cells = [row[name] for row in rows for name in ("diag_1", "diag_2", "diag_3")]
    matches = anonto.match([None if cell == "?" else cell for cell in cells], icd9)
    assert matches.coverage.n_distinct == 915
    assert (matches.coverage.cells, matches.coverage.distinct) == (1.0, 1.0)
    assert set(matches.by_rule) == {"exact", "leading zeros"}
    assert len(matches.padded) == 43
    assert (matches.padded["8"], matches.padded["38"]) == ("008", "038")
    assert all(concept == value.zfill(3) for value, concept in matches.padded.items())


def test_retired_codes_do_not_match_and_their_prefix_is_suggested(data_folder: Path, icd9: Taxonomy) -> None:
    procedures = anonto.read_ontology(data_folder / "icd9cm" / "icd9cm_pr_edges.csv")
    with (data_folder / "icd9cm" / "icd9cm_retired_codes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    suggested = 0
    for row in rows:
        matches = anonto.match([row["code"]], icd9 if row["kind"] == "dx" else procedures)
        assert matches.concepts == [None]
        suggested += row["longest_prefix_in_tree"] in {s.concept for s in matches.suggestions[row["code"]]}
    assert suggested == sum(bool(row["longest_prefix_in_tree"]) for row in rows)


def test_statistics_of_real_discharges_agree_with_the_records_one_by_one(data_folder: Path, icd9: Taxonomy) -> None:
    rows = _rows(data_folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz")
    procedures = anonto.read_ontology(data_folder / "icd9cm" / "icd9cm_pr_edges.csv")
    chosen = np.random.default_rng(3).choice(20000, 1172, replace=False)
    dx = [rows[i]["principal_dx"] for i in chosen]
    pr = [rows[i]["principal_procedure"] for i in chosen]
    of_dx, of_pr = icd9.distances(dx), procedures.distances(pr)

    def centred(table: np.ndarray) -> np.ndarray:
        return table - table.mean(0) - table.mean(1)[:, None] + table.mean()

    covariance = (centred(of_dx) * centred(of_pr)).mean()
    variances = (centred(of_dx) ** 2).mean() * (centred(of_pr) ** 2).mean()
    expected = np.sqrt(covariance) / variances**0.25
    found = stats.distance_correlation(dx, pr, icd9, procedures)
    assert found == pytest.approx(expected, abs=1e-10)
    assert found == pytest.approx(0.726, abs=5e-4)
    np.testing.assert_allclose(stats.marginality(dx, icd9, "wu-palmer"), of_dx.sum(axis=1), rtol=1e-10)


def test_rada_and_jiang_conrath_reach_their_maximum_on_doid(doid: Taxonomy) -> None:
    """Normalised by the largest distance of the whole taxonomy: over all pairs that is reached and never passed."""
    for measure in ("rada", "jiang-conrath"):
        assert doid.distances(doid.ids, measure=measure, dtype="float32").max() == 1
