import importlib
import tracemalloc
from types import ModuleType

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
import oracles
from anonto import stats
from anonto.errors import AllMissingError, AnontoWarning, ColumnError, ParameterError, TooFewRecordsError
from anonto.masking.plan import Plan
from anonto.profile.profile import profile
from anonto.runtime import threads
from anonto.stats import contingency, dependence
from strategies import hierarchies_with_columns, taxonomy_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dcor() -> ModuleType:
    """The library dcor. Importing it compiles its loops, so all tests that use it are in this file."""
    return importlib.import_module("dcor")


@given(drawn=hierarchies_with_columns(columns=2, trees=True, one_root=True))
def test_covariance_equals_the_definition_record_by_record(drawn) -> None:
    parents, (a, b) = drawn
    tax = taxonomy_of(parents)
    squared = oracles.squared_distance_covariance(a, b, tax.distance, tax.distance)
    assert stats.distance_covariance(a, b, tax, tax) ** 2 == pytest.approx(max(squared, 0), abs=1e-14)
    of_a = oracles.squared_distance_covariance(a, a, tax.distance, tax.distance)
    assert stats.distance_variance(a, tax) ** 2 == pytest.approx(of_a, abs=1e-14)


@pytest.mark.parametrize("measure", ["wu-palmer", "ancestor"])
@pytest.mark.parametrize("seed", range(4))
def test_correlation_equals_dcor_with_the_same_distances(dcor: ModuleType, measure: str, seed: int) -> None:
    tax, a, b = _related(seed)
    of_a, of_b = (tax.distances(column, measure=measure) for column in (a, b))
    centred_a, centred_b = dcor.double_centered(of_a), dcor.double_centered(of_b)
    covariance = dcor.mean_product(centred_a, centred_b)
    variances = dcor.mean_product(centred_a, centred_a) * dcor.mean_product(centred_b, centred_b)
    expected = np.sqrt(covariance / np.sqrt(variances))
    assert stats.distance_correlation(a, b, tax, tax, measure) == pytest.approx(expected, abs=1e-10)
    assert stats.distance_covariance(a, b, tax, tax, measure) == pytest.approx(np.sqrt(covariance), abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_the_bias_corrected_correlation_equals_dcor_with_the_same_distances(dcor: ModuleType, seed: int) -> None:
    tax, a, b = _related(seed)
    of_a, of_b = (dcor.u_centered(tax.distances(column)) for column in (a, b))
    expected = dcor.u_product(of_a, of_b) / np.sqrt(dcor.u_product(of_a, of_a) * dcor.u_product(of_b, of_b))
    assert stats.bias_corrected_distance_correlation(a, b, tax, tax) == pytest.approx(expected, abs=1e-10)


def test_the_correlation_of_numbers_in_a_profile_equals_dcor(dcor: ModuleType) -> None:
    age = np.random.default_rng(3).integers(0, 90, 300)
    numbers = pl.DataFrame({"age": age, "other": age**2 % 31})
    plan = Plan.from_dict({"columns": {"age": {"kind": "numeric"}, "other": {"kind": "numeric"}}})
    (found,) = profile(numbers, plan)["pairs"]
    a, b = (numbers[name].to_numpy().astype(float) for name in ("age", "other"))
    assert found["distance_correlation"] == pytest.approx(dcor.distance_correlation(a, b))
    assert found["bias_corrected"] == pytest.approx(dcor.u_distance_correlation_sqr(a, b))


@given(drawn=hierarchies_with_columns())
def test_a_column_correlates_fully_with_itself_unless_it_is_constant(drawn) -> None:
    parents, (a,) = drawn
    tax = taxonomy_of(parents)
    constant = len(set(a)) == 1
    assert stats.distance_correlation(a, a, tax, tax) == pytest.approx(0 if constant else 1, abs=1e-9)
    assert (stats.distance_variance(a, tax) == 0) == constant


@given(drawn=hierarchies_with_columns(columns=2), measure=st.sampled_from(["ancestor", "jaccard", "equality"]))
def test_correlation_is_symmetric_and_from_0_to_1(drawn, measure: str) -> None:
    parents, (a, b) = drawn
    tax = taxonomy_of(parents)
    found = stats.distance_correlation(a, b, tax, tax, measure)
    assert 0 <= found <= 1
    assert found == pytest.approx(stats.distance_correlation(b, a, tax, tax, measure), abs=1e-7)


def test_independent_columns_have_no_covariance_though_all_pairs_occur() -> None:
    tax = anonto.read_ontology("illnesses")
    a = ["flu", "flu", "burn", "burn"]
    b = ["measles", "fracture", "measles", "fracture"]
    assert stats.distance_covariance(a, b, tax, tax) == 0
    assert stats.distance_correlation(a, b, tax, tax) == 0


def test_a_negative_radicand_is_clamped_and_reported_with_its_value() -> None:
    parents, a, b = _negative_case()
    tax = taxonomy_of(parents)
    squared = oracles.squared_distance_covariance(a, b, tax.distance, tax.distance)
    assert squared < -1e-6
    with pytest.warns(AnontoWarning, match=f"The squared .* is {squared:.6g} and was set to 0"):
        assert stats.distance_covariance(a, b, tax, tax) == 0
    with pytest.warns(AnontoWarning, match="is not of negative type"):
        assert stats.distance_correlation(a, b, tax, tax) == 0


def test_one_deviating_record_in_a_hundred_million_still_varies() -> None:
    shares = np.array([1 - 1e-8, 1e-8])
    distances = np.array([[0.0, 0.66], [0.66, 0.0]])
    rare = dependence.Spread.of(distances, shares, 10**8)
    found = rare.variance()
    assert found.plain == pytest.approx((2 * 1e-8 * (1 - 1e-8) * 0.66) ** 2, rel=1e-6)
    assert found.root("distance variance") > 0


def test_records_that_lack_a_value_are_left_out() -> None:
    tax, a, b = _related(1)
    with_missing = ([*a, None, "0"], [*b, "0", None])
    assert stats.distance_correlation(*with_missing, tax, tax) == stats.distance_correlation(a, b, tax, tax)
    assert stats.distance_variance([*a, None], tax) == stats.distance_variance(a, tax)


def test_two_taxonomies_may_differ() -> None:
    ills, nerves = anonto.read_ontology("illnesses"), anonto.read_ontology("nervous-system")
    a = ["flu", "burn", "flu", "measles", "burn"]
    b = ["COMA", "HZO", "HEPATIC", "COMA", "HZA"]
    squared = oracles.squared_distance_covariance(a, b, ills.distance, nerves.distance)
    assert stats.distance_covariance(a, b, ills, nerves) ** 2 == pytest.approx(squared, abs=1e-14)


def test_sparse_and_dense_counting_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    tax, a, b = _related(2)
    dense = stats.distance_correlation(a, b, tax, tax)
    bias_corrected = stats.bias_corrected_distance_correlation(a, b, tax, tax)
    monkeypatch.setattr(contingency, "DENSE_CELLS", 0)
    monkeypatch.setattr(contingency, "CHUNK", 7)
    assert stats.distance_correlation(a, b, tax, tax) == pytest.approx(dense, abs=1e-12)
    assert stats.bias_corrected_distance_correlation(a, b, tax, tax) == pytest.approx(bias_corrected, abs=1e-12)


@pytest.mark.parametrize("measure", ["wu-palmer", "ancestor", "lin"])
@pytest.mark.parametrize(("n_a", "n_b"), [(250, 120), (120, 250)])
def test_columns_of_more_values_than_a_band_correlate_as_dcor_says(
    dcor: ModuleType, measure: str, n_a: int, n_b: int
) -> None:
    tax, a, b = _of_many_values(n_a, n_b)
    centred_a, centred_b = (dcor.double_centered(tax.distances(column, measure=measure)) for column in (a, b))
    covariance = dcor.mean_product(centred_a, centred_b)
    variances = dcor.mean_product(centred_a, centred_a) * dcor.mean_product(centred_b, centred_b)
    expected = np.sqrt(covariance / np.sqrt(variances))
    assert stats.distance_correlation(a, b, tax, tax, measure) == pytest.approx(expected, abs=1e-12)
    both = dependence.two_columns(a, b, tax, tax, measure, "ontology", "sanchez")
    assert not isinstance(both.shares, np.ndarray)
    assert both.covariance().plain == pytest.approx(covariance, abs=1e-14)


def test_threads_do_not_change_a_correlation(monkeypatch: pytest.MonkeyPatch) -> None:
    tax, a, b = _of_many_values(250, 200)
    in_threads = stats.distance_correlation(a, b, tax, tax)
    monkeypatch.setattr(threads._here, "is_worker", True, raising=False)
    assert stats.distance_correlation(a, b, tax, tax) == in_threads


def test_the_distances_of_the_column_with_more_values_are_never_all_there() -> None:
    tax, a, b = _of_many_values(1_500, 200)
    stats.distance_correlation(a, b, tax, tax)
    tracemalloc.start()
    try:
        stats.distance_correlation(b, a, tax, tax)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * 1_500**2 / 2


def test_repeating_all_records_leaves_the_v_statistic_as_it_is() -> None:
    tax, a, b = _related(3)
    once = stats.distance_correlation(a, b, tax, tax)
    assert stats.distance_correlation(a * 50, b * 50, tax, tax) == pytest.approx(once, abs=1e-12)


def test_the_bias_corrected_correlation_is_centred_at_0_for_independent_columns() -> None:
    tax, a, _ = _related(4)
    rng = np.random.default_rng(0)
    found = [stats.bias_corrected_distance_correlation(a, rng.permutation(a), tax, tax, "ancestor") for _ in range(200)]
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found)) < 4 * error
    assert stats.distance_correlation(a, rng.permutation(a), tax, tax, "ancestor") > 0.1


def test_columns_of_different_length_are_refused() -> None:
    tax = anonto.read_ontology("illnesses")
    with pytest.raises(ColumnError, match="The columns have different lengths"):
        stats.distance_covariance(["flu"], ["flu", "burn"], tax, tax)


def test_columns_without_a_common_record_are_refused() -> None:
    tax = anonto.read_ontology("illnesses")
    with pytest.raises(AllMissingError):
        stats.distance_correlation(["flu", None], [None, "flu"], tax, tax)


def test_three_records_are_too_few_for_the_bias_correction() -> None:
    tax = anonto.read_ontology("illnesses")
    a = ["flu", "burn", "flu"]
    with pytest.raises(TooFewRecordsError, match="needs at least 4 records"):
        stats.bias_corrected_distance_correlation(a, a, tax, tax)
    with pytest.raises(TooFewRecordsError, match="records with both values"):
        stats.independence_test(a, a, tax, tax)


# ------------------------------------------------------------------------------------------------ independence


def test_dependent_columns_are_found_and_independent_ones_are_not() -> None:
    tax, a, b = _related(5)
    dependent = stats.independence_test(a, b, tax, tax, "ancestor", permutations=199, seed=1)
    assert dependent.p_value == 1 / 200
    assert dependent.statistic == stats.bias_corrected_distance_correlation(a, b, tax, tax, "ancestor")
    assert (dependent.n_records, dependent.permutations) == (len(a), 199)


def test_p_values_of_independent_columns_are_uniform() -> None:
    tax, a, _ = _related(6)
    rng = np.random.default_rng(8)
    p_values = [
        stats.independence_test(a, rng.permutation(a), tax, tax, "ancestor", permutations=39, seed=rng).p_value
        for _ in range(150)
    ]
    below = np.mean(np.array(p_values) <= 0.25)
    assert 0.25 - 4 * np.sqrt(0.25 * 0.75 / 150) < below < 0.25 + 4 * np.sqrt(0.25 * 0.75 / 150)


def test_the_same_seed_gives_the_same_p_value() -> None:
    tax, a, _ = _related(7)
    b = np.random.default_rng(1).permutation(a)
    runs = [stats.independence_test(a, b, tax, tax, permutations=50, seed=seed) for seed in (3, 3, 4)]
    assert runs[0] == runs[1]


def test_the_random_tables_have_the_law_of_a_shuffle() -> None:
    """The statistic over drawn tables against the statistic over shuffled records: the same mean and spread."""
    tax, a, b = _related(9)
    both = dependence.two_columns(a, b, tax, tax, "ancestor", "ontology", "sanchez")
    from scipy.stats import ks_2samp, random_table

    rng = np.random.default_rng(2)
    n = len(a)
    margins = [np.rint(one.shares * n).astype(int) for one in (both.a, both.b)]
    by_table = [both.covariance(random_table.rvs(*margins, random_state=rng) / n).unbiased for _ in range(300)]
    by_shuffle = [
        dependence.two_columns(a, rng.permutation(b), tax, tax, "ancestor", "ontology", "sanchez").covariance().unbiased
        for _ in range(300)
    ]
    assert ks_2samp(by_table, by_shuffle).pvalue > 1e-4


def test_a_constant_column_is_independent_of_everything() -> None:
    tax = anonto.read_ontology("illnesses")
    found = stats.independence_test(["flu"] * 5, ["flu", "burn", "flu", "burn", "flu"], tax, tax, permutations=9)
    assert (found.statistic, found.p_value) == (0, 1)


@pytest.mark.parametrize("permutations", [0, -1, 2.5, True])
def test_permutations_out_of_range_name_the_parameter(permutations: object) -> None:
    tax = anonto.read_ontology("illnesses")
    with pytest.raises(ParameterError, match="permutations must be a whole number"):
        stats.independence_test(["flu"] * 5, ["flu"] * 5, tax, tax, permutations=permutations)  # type: ignore[arg-type]


def _related(seed: int):  # type: ignore[no-untyped-def]
    """A random hierarchy with several parents and two related columns of 120 records."""
    rng = np.random.default_rng(seed)
    parents = {"0": ()} | {
        str(i): tuple({str(p) for p in rng.integers(0, i, rng.integers(1, 3))}) for i in range(1, 60)
    }
    tax = taxonomy_of(parents)
    a = [str(i) for i in rng.integers(0, 60, 120)]
    b = [value if rng.random() < 0.6 else str(rng.integers(0, 60)) for value in a]
    return tax, a, b


def _of_many_values(n_a: int, n_b: int):  # type: ignore[no-untyped-def]
    """A hierarchy where some have two parents, and two related columns with few records for their many values."""
    rng = np.random.default_rng(1)
    n = max(n_a, n_b)
    first = [(i - 1) // 3 for i in range(n)]
    parents = {"0": ()} | {str(i): tuple({str(first[i]), str(max(first[i] - i % 2, 0))}) for i in range(1, n)}
    codes = np.concatenate([np.arange(n), rng.integers(0, n, n // 2)])
    return taxonomy_of(parents), [str(i % n_a) for i in codes], [str(i % n_b) for i in codes]


def _negative_case():  # type: ignore[no-untyped-def]
    """Two parents and their two common children: nearer to each other across the groups than within."""
    parents = {"r": (), "b": ("r",), "c": ("r",), "e": ("b", "c"), "f": ("b", "c")}
    return parents, ["b", "c", "e", "f"], ["b", "b", "c", "c"]
