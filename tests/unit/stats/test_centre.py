import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
import oracles
from anonto import stats
from anonto.errors import AllMissingError, OntologyError, UnmatchedValuesError
from anonto.taxonomy.distance import FUNCTIONS
from strategies import hierarchies_with_columns, taxonomy_of


@pytest.mark.parametrize("measure", FUNCTIONS)
@given(drawn=hierarchies_with_columns())
def test_the_mean_is_the_concept_with_the_least_sum_of_distances(measure: str, drawn) -> None:
    parents, (values,) = drawn
    tax = taxonomy_of(parents)
    expected = oracles.semantic_mean(values, tax.ids, lambda a, b: tax.distance(a, b, measure))
    assert stats.semantic_mean(values, tax, measure) == expected


@given(drawn=hierarchies_with_columns())
def test_the_variance_is_the_mean_squared_distance_to_the_mean(drawn) -> None:
    parents, (values,) = drawn
    tax = taxonomy_of(parents)
    mean = stats.semantic_mean(values, tax)
    expected = np.mean([tax.distance(value, mean) ** 2 for value in values])
    assert stats.semantic_variance(values, tax) == pytest.approx(expected, abs=1e-12)


@pytest.mark.paper("information-fusion-2019", where="Figs. 1-4")
def test_the_mean_of_the_nervous_system_example_is_one_of_the_tied_two() -> None:
    tax = anonto.read_ontology("nervous-system")
    assert stats.semantic_mean(tax.ids, tax) == "COMA"
    assert stats.semantic_mean([*tax.ids, "VARICELLA", None], tax) == "VARICELLA"


def test_the_mean_may_be_a_concept_that_does_not_occur() -> None:
    tax = anonto.read_ontology("illnesses")
    assert stats.semantic_mean(["flu", "measles", "flu", "measles"], tax, "rada") == "flu"
    assert stats.semantic_mean(["flu", "measles", "fracture", "burn"], tax) == "infection"


def test_the_lcs_root_changes_the_depths_and_the_domain() -> None:
    tax = anonto.read_ontology("nervous-system")
    values = ["HEPATIC", "HYPOGLYCEMIC"]
    whole = tax.distance(*values)
    part = tax.below("COMA").distance(*values)
    assert (whole, part) == (pytest.approx(1 / 3), pytest.approx(0.5))
    assert stats.semantic_variance(values, tax, root="lcs") == pytest.approx(part**2 / 2, abs=1e-15)
    assert stats.semantic_variance(values, tax, root="COMA") == stats.semantic_variance(values, tax, root="lcs")


def test_distances_of_ancestor_sets_do_not_move_with_the_root() -> None:
    tax = anonto.read_ontology("nervous-system")
    values = ["HEPATIC", "HYPOGLYCEMIC"]
    assert stats.semantic_variance(values, tax, "ancestor", "lcs") == stats.semantic_variance(values, tax, "ancestor")


def test_equal_values_have_themselves_as_mean_and_no_variance() -> None:
    tax = anonto.read_ontology("nervous-system")
    for root in ("ontology", "lcs", "DNS"):
        assert stats.semantic_mean(["HZO"] * 3, tax, root=root) == "HZO"
        assert stats.semantic_variance(["HZO"] * 3, tax, root=root) == 0


def test_missing_values_count_nowhere() -> None:
    tax = anonto.read_ontology("nervous-system")
    values = ["HEPATIC", "HZO", "HZO"]
    with_missing = ["HEPATIC", None, "HZO", float("nan"), "HZO"]
    assert stats.semantic_mean(values, tax) == stats.semantic_mean(with_missing, tax)
    assert stats.semantic_variance(values, tax) == stats.semantic_variance(with_missing, tax)


def test_a_value_without_a_concept_is_counted_and_not_shown() -> None:
    tax = anonto.read_ontology("nervous-system")
    with pytest.raises(UnmatchedValuesError, match=r"1 distinct value \(2 cells\) has no concept") as caught:
        stats.semantic_mean(["HZO", "Jane Doe", "Jane Doe"], tax)
    assert caught.value.values == ("Jane Doe",)
    assert "Jane" not in str(caught.value)


def test_values_outside_the_declared_root_are_refused() -> None:
    tax = anonto.read_ontology("nervous-system")
    with pytest.raises(OntologyError, match="1 distinct value is outside the declared root"):
        stats.semantic_mean(["HZO", "HEPATIC"], tax, root="COMA")


@pytest.mark.parametrize("values", [[], [None, None], [float("nan")]])
def test_all_values_missing_is_an_error(values: list[object]) -> None:
    with pytest.raises(AllMissingError):
        stats.semantic_mean(values, anonto.read_ontology("nervous-system"))


@given(drawn=hierarchies_with_columns(), seed=st.integers(0, 5))
def test_the_order_of_the_records_does_not_matter(drawn, seed: int) -> None:
    parents, (values,) = drawn
    tax = taxonomy_of(parents)
    shuffled = np.random.default_rng(seed).permutation(values).tolist()
    assert stats.semantic_mean(values, tax) == stats.semantic_mean(shuffled, tax)
    assert stats.semantic_variance(values, tax) == stats.semantic_variance(shuffled, tax)
