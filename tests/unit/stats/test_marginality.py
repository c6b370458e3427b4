import math
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

import anonto
import oracles
from anonto import stats
from anonto.encoding.columns import Column, encode_present
from anonto.errors import ColumnError, ParameterError
from strategies import hierarchies_with_columns, taxonomy_of

SAMPLE = (
    "lung cancer",
    "paranoia",
    "schizophrenia",
    "vascular dementia",
    "Alzheimer",
    "Alzheimer",
    "meningitis",
    "meningitis",
    "multiple sclerosis",
)
PRINTED_DISTANCES = """
0    0.85 0.85 0.87 0.91 0.91 0.85 0.85 0.85
0.85 0    0.58 0.68 0.78 0.78 0.85 0.85 0.85
0.85 0.58 0    0.68 0.78 0.78 0.85 0.85 0.85
0.87 0.68 0.68 0    0.65 0.65 0.87 0.87 0.87
0.91 0.78 0.78 0.65 0    0    0.65 0.65 0.65
0.91 0.78 0.78 0.65 0    0    0.65 0.65 0.65
0.85 0.85 0.85 0.87 0.65 0.65 0    0    0.58
0.85 0.85 0.85 0.87 0.65 0.65 0    0    0.58
0.85 0.85 0.85 0.87 0.65 0.65 0.58 0.58 0
"""


@given(drawn=hierarchies_with_columns())
def test_marginality_is_the_sum_of_the_distances_to_the_others(drawn) -> None:
    parents, (values,) = drawn
    tax = taxonomy_of(parents)
    expected = oracles.marginality(values, lambda a, b: tax.distance(a, b, "ancestor"))
    np.testing.assert_allclose(stats.marginality(values, tax), expected, atol=1e-12)
    assert stats.marginality_variance(values, tax) == pytest.approx(np.mean(expected), abs=1e-12)
    least = min(expected)
    first = next(v for v, m in zip(values, expected, strict=True) if m <= least + 1e-9)
    assert stats.marginality_mean(values, tax) == first
    assert stats.marginality_numerical_mean(values, tax) == pytest.approx(least, abs=1e-12)


@given(drawn=hierarchies_with_columns(columns=2))
def test_covariance_is_the_mean_root_of_both_marginalities(drawn) -> None:
    parents, (a, b) = drawn
    tax = taxonomy_of(parents)
    of_a, of_b = stats.marginality(a, tax), stats.marginality(b, tax)
    root = stats.marginality_covariance(a, b, tax, tax)
    product = stats.marginality_covariance(a, b, tax, tax, form="product")
    assert root == pytest.approx(np.mean(np.sqrt(of_a * of_b)), abs=1e-12)
    assert product == pytest.approx(np.mean(of_a * of_b), abs=1e-12)


@given(drawn=hierarchies_with_columns(columns=3))
def test_the_matrix_has_the_variances_on_its_diagonal(drawn) -> None:
    parents, columns = drawn
    tax = taxonomy_of(parents)
    matrix = stats.marginality_covariance_matrix(columns, tax)
    assert np.array_equal(matrix, matrix.T)
    variances = [stats.marginality_variance(column, tax) for column in columns]
    np.testing.assert_allclose(matrix.diagonal(), variances, atol=1e-12)
    by_name = stats.marginality_covariance_matrix(dict(zip("abc", columns, strict=True)), [tax, tax, tax])
    assert np.array_equal(matrix, by_name)


@pytest.mark.paper("information-sciences-2013", where="Example 1, Table 1")
def test_the_marginalities_of_the_dementia_example_are_reached() -> None:
    tax = anonto.read_ontology("dementias")
    sample = list(SAMPLE)
    marginalities = stats.marginality(sample, tax)
    expected = [6.93, 6.21, 6.21, 6.16, 5.45, 5.45, 5.56, 5.56, 6.14]
    np.testing.assert_allclose(marginalities, expected, atol=0.005)
    assert stats.marginality_mean(sample, tax) == "Alzheimer"
    assert stats.marginality_variance(sample, tax) == pytest.approx(5.9624, abs=5e-5)


@pytest.mark.paper("information-sciences-2013", where="Example 1, Table 1")
def test_the_printed_distances_give_the_printed_marginalities() -> None:
    table = [[float(cell) for cell in row.split()] for row in PRINTED_DISTANCES.strip().splitlines()]
    elements = [f"x{i}" for i in range(1, 10)]
    distance = {(a, b): table[i][j] for i, a in enumerate(elements) for j, b in enumerate(elements)}
    found = oracles.marginality(elements, lambda a, b: distance[a, b])
    assert np.round(found, 2).tolist() == [6.94, 6.22, 6.22, 6.14, 5.07, 5.07, 5.30, 5.30, 5.88]
    assert np.mean(found) == pytest.approx(5.7933, abs=5e-5)


def test_the_printed_distances_of_the_dementia_example_are_reached_but_for_two() -> None:
    """The paper prints 0.65 for Alzheimer's disease with meningitis and multiple sclerosis; its formula gives 0.78."""
    tax = anonto.read_ontology("dementias")
    printed = {
        ("lung cancer", "paranoia"): 0.85,
        ("paranoia", "schizophrenia"): 0.58,
        ("paranoia", "vascular dementia"): 0.68,
        ("paranoia", "Alzheimer"): 0.78,
        ("lung cancer", "vascular dementia"): 0.87,
        ("lung cancer", "Alzheimer"): 0.91,
        ("vascular dementia", "Alzheimer"): 0.65,
        ("Alzheimer", "meningitis"): 0.78,
        ("Alzheimer", "multiple sclerosis"): 0.78,
    }
    found = {pair: round(tax.distance(*pair, "ancestor"), 2) for pair in printed}
    assert found == printed
    exact = [math.log2(x) for x in (9 / 5, 3 / 2, 8 / 5, 12 / 7, 11 / 6, 15 / 8, 11 / 7)]
    assert {round(x, 5) for x in exact} == {0.848, 0.58496, 0.67807, 0.77761, 0.87447, 0.90689, 0.65208}


def test_missing_values_have_no_marginality_and_count_in_none() -> None:
    tax = anonto.read_ontology("illnesses")
    with_missing = stats.marginality(["flu", None, "burn"], tax)
    assert np.isnan(with_missing[1])
    assert with_missing[[0, 2]].tolist() == stats.marginality(["flu", "burn"], tax).tolist()


def test_records_that_lack_a_value_are_left_out_of_the_covariance() -> None:
    tax = anonto.read_ontology("illnesses")
    a, b = ["flu", "burn", None, "flu"], ["burn", "flu", "flu", None]
    assert stats.marginality_covariance(a, b, tax, tax) == stats.marginality_covariance(a[:2], b[:2], tax, tax)


def test_columns_of_different_length_are_refused() -> None:
    tax = anonto.read_ontology("illnesses")
    with pytest.raises(ColumnError, match=r"different lengths .*2 and 1"):
        stats.marginality_covariance(["flu", "burn"], ["flu"], tax, tax)
    with pytest.raises(ColumnError, match=r"different lengths .*2 and 1"):
        stats.marginality_covariance_matrix([["flu", "burn"], ["flu"]], tax)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict, lambda columns: list(columns.values())])
def test_any_kind_of_table_gives_the_same_matrix(make) -> None:
    tax = anonto.read_ontology("illnesses")
    columns = {"a": ["flu", "burn", None, "flu"], "b": ["burn", "flu", "measles", "flu"]}
    matrix = stats.marginality_covariance_matrix(make(columns), tax)
    assert matrix[0, 1] == pytest.approx(stats.marginality_covariance(columns["a"], columns["b"], tax, tax))
    assert matrix[0, 0] == pytest.approx(stats.marginality_variance(columns["a"], tax))
    assert matrix[1, 1] == pytest.approx(stats.marginality_variance(columns["b"], tax))
    assert np.array_equal(stats.marginality_covariance_matrix(columns, {"b": tax, "a": tax}), matrix)


def test_every_column_of_a_matrix_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = []

    def counting(values: object, name: str | None = None) -> Column:
        encoded.append(name)
        return encode_present(values, name)

    monkeypatch.setattr(import_module("anonto.stats.marginality"), "encode_present", counting)
    columns = {name: ["flu", "burn", "flu"] for name in "abcd"}
    stats.marginality_covariance_matrix(columns, anonto.read_ontology("illnesses"))
    assert encoded == list("abcd")


@pytest.mark.parametrize(
    ("taxonomies", "says"),
    [
        (lambda tax: [tax], "one for each of the 2; got 1"),
        (lambda tax: {"a": tax}, "every column of the table and no other; got 'a difference at b'"),
        (lambda tax: {"a": tax, "b": tax, "c": tax}, "no other; got 'a difference at c'"),
        (lambda _: "illnesses", "read it with anonto.read_ontology"),
    ],
)
def test_a_matrix_needs_one_taxonomy_for_each_column(taxonomies, says: str) -> None:
    tax = anonto.read_ontology("illnesses")
    with pytest.raises(ParameterError, match=says):
        stats.marginality_covariance_matrix({"a": ["flu"], "b": ["burn"]}, taxonomies(tax))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: stats.marginality(["flu"], "illnesses"),
        lambda: stats.semantic_mean(["flu"], Path("illnesses.csv")),
        lambda: stats.distance_correlation(["flu", "burn"], ["flu", "burn"], "illnesses", "illnesses"),
        lambda: stats.marginality_variance(["flu"], None),
        lambda: anonto.match(["flu"], "illnesses"),
    ],
)
def test_a_name_or_a_path_is_not_accepted_as_a_taxonomy(ask) -> None:
    with pytest.raises(ParameterError, match=r"tax must be a Taxonomy; read it with anonto\.read_ontology"):
        ask()


def test_an_unknown_form_is_refused() -> None:
    tax = anonto.read_ontology("illnesses")
    with pytest.raises(ParameterError, match="form must be 'sqrt' or 'product'"):
        stats.marginality_covariance(["flu"], ["flu"], tax, tax, form="cube")
