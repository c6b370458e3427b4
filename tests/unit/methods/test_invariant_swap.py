"""Swapping with ε subject to invariants: ε against all permutations of small bins, and the words that go with it."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter

import numpy as np
import polars as pl
import pytest
from benchmarks.applying import apply_in_chunks
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

import anonto
import oracles
from anonto.encoding.records import distinct_records
from anonto.encoding.value_space import NumericSpace
from anonto.errors import ParameterError
from anonto.methods import bin_kernels
from anonto.methods.guarantee import Setting
from anonto.methods.invariant_swap import epsilon_of
from anonto.methods.registry import method_of
from anonto.methods.widths import numeric_records
from anonto.random.streams import Seed, keyed_permutations

pytestmark = pytest.mark.slow

RATES = [0.05, 0.3, 0.5, 0.9, 0.99]


def largest_log_ratio(values, rate: float) -> float:
    """The supremum over all neighbours and releases, by going through all selections and all permutations."""
    before = oracles.released_with_probability(values, rate)
    largest = 0.0
    for i, j in itertools.combinations(range(len(values)), 2):
        neighbour = list(values)
        neighbour[i], neighbour[j] = values[j], values[i]
        after = oracles.released_with_probability(neighbour, rate)
        assert set(after) == set(before)
        largest = max(largest, *(abs(math.log(before[out] / after[out])) for out in before))
    return largest


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("size", [2, 4, 5, 6])
def test_epsilon_is_the_exact_supremum_over_all_permutations_of_a_bin(size: int, rate: float) -> None:
    assert largest_log_ratio(range(size), rate) == pytest.approx(epsilon_of(rate, size), rel=1e-9)


@pytest.mark.parametrize("rate", RATES)
def test_in_a_bin_of_three_epsilon_is_above_the_supremum(rate: float) -> None:
    """One other record cannot be moved alone, so the worst ratio does not occur: (f(0)/f(2) or f(2)/f(3))."""
    odds = rate / (1 - rate)
    worst = max((6 + 18 * odds + 9 * odds**2 + odds**3) / (3 * odds**2 + odds**3), 1 + 3 / odds)
    assert largest_log_ratio(range(3), rate) == pytest.approx(math.log(worst), rel=1e-9)
    assert math.log(worst) < epsilon_of(rate, 3)


@pytest.mark.parametrize("values", ["aab", "aabb", "aaab", "aabbc", "aaaab", "abcdaa", "aabbcc"])
def test_epsilon_bounds_bins_with_equal_values_too(values: str) -> None:
    for rate in (0.2, 0.7):
        assert largest_log_ratio(values, rate) <= epsilon_of(rate, len(values)) + 1e-12


@given(size=st.integers(2, 80), odds=st.floats(1e-6, 1e6))
def test_no_ratio_of_permutations_exceeds_epsilon_in_large_bins(size: int, odds: float) -> None:
    """f(m) as in the proof; exchanging two values changes the number of moved records by two at most."""
    logs = [
        np.logaddexp.reduce(
            [
                math.log(math.comb(size - m, s)) + (m + s) * math.log(odds) - math.lgamma(m + s + 1)
                for s in range(size - m + 1)
            ]
        )
        for m in range(size + 1)
    ]
    ratios = [abs(logs[m] - logs[m + step]) for step in (1, 2) for m in range(size + 1 - step)]
    assert max(ratios) <= epsilon_of(odds / (1 + odds), size) + 1e-6


def test_a_rate_of_one_gives_zero_and_tiny_rates_a_finite_number() -> None:
    assert epsilon_of(1.0, 50) == 0.0
    assert epsilon_of(0.5, 1) == epsilon_of(0.5, 0) == 0.0
    assert epsilon_of(1e-320, 10) == pytest.approx(math.log(90) - 2 * math.log(1e-320))
    assert epsilon_of(1e-99, 10) == pytest.approx(math.log(90) - 2 * math.log(1e-99))
    assert largest_log_ratio(range(5), 1.0) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("rate", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_selected_records_are_permuted_as_the_definition_says(size: int, rate: float) -> None:
    found: Counter = Counter()
    expected: Counter = Counter()
    ours, theirs = np.random.default_rng(1), np.random.default_rng(2)
    offsets = np.array([0, size])
    for _ in range(4000):
        members = np.arange(size).astype(np.int32)
        taken, alone = bin_kernels.permute_selected(members, offsets, rate, ours)
        assert set(alone.tolist()) <= {int(a) for a, b in zip(members, taken, strict=True) if a == b}
        found[tuple(taken[np.argsort(members)].tolist())] += 1
        takes = oracles.selected_permutation(range(size), rate, theirs)
        expected[tuple(takes[row] for row in range(size))] += 1
    outcomes = sorted(set(found) | set(expected))
    assert len(outcomes) == math.factorial(size)
    if size > 1:
        table = [[counter[outcome] for outcome in outcomes] for counter in (found, expected)]
        assert chi2_contingency(table).pvalue > 1e-4


def test_rows_of_a_table_take_each_release_with_its_probability() -> None:
    """Equal records and keyed permutations included."""
    rows = [(1, 5), (1, 5), (2, 5), (3, 6)]
    columns = [np.unique(column, return_inverse=True) for column in zip(*rows, strict=True)]
    value_spaces = [NumericSpace(values.astype(float), np.bincount(codes)) for values, codes in columns]
    records, record_of = distinct_records(["x", "y"], value_spaces, [codes.astype(np.int32) for _, codes in columns])
    method = method_of("invariant-swap", {"rate": 0.6, "width": 10})
    found: Counter = Counter()
    runs = 4000
    for number in range(runs):
        seed = Seed(number + (1 << 90))
        fitted = method.fit(records, seed.stream("fit"))
        masked = apply_in_chunks(
            fitted.transitions, keyed_permutations(seed, "apply", fitted.transitions.sizes), record_of
        )
        found[tuple(masked.tolist())] += 1
    expected = oracles.released_with_probability(record_of.tolist(), 0.6)
    assert set(found) <= set(expected)
    statistic = sum((found[one] - runs * chance) ** 2 / (runs * chance) for one, chance in expected.items())
    assert chi2.sf(statistic, len(expected) - 1) > 1e-4


# ------------------------------------------------------------------------------------------------ words


def step_of(table: pl.DataFrame, **parameters):
    plan = {
        "columns": {name: {"kind": "numeric"} for name in table.columns},
        "steps": [{"method": "invariant-swap", "columns": table.columns, **parameters}],
    }
    return anonto.mask(table, plan, seed=1 << 97).evidence["steps"][0]


def test_epsilon_is_of_the_largest_bin_with_two_different_records_and_never_stands_alone() -> None:
    table = pl.DataFrame({"x": [0] * 9 + [20, 21, 22] + [40]})
    step = step_of(table, rate=0.5, width=10)
    assert (step["bins"], step["largest_bin"], step["largest_mixed_bin"]) == (3, 9, 3)
    guarantee = step["guarantee"]
    assert guarantee["kind"] == "ε subject to invariants"
    assert guarantee["proved"] is True
    assert guarantee["epsilon"] == pytest.approx(math.log(1 + 6 + 6))
    for word in ("bins", "invariants", "not protected", "neighbours"):
        assert word in guarantee["conditions"]


def test_a_step_that_cannot_move_anything_is_reported() -> None:
    step = step_of(pl.DataFrame({"x": [0, 0, 50, 50, 99]}), rate=0.5, width=10)
    assert step["guarantee"]["epsilon"] == 0.0
    assert "nothing was moved" in step["guarantee"]["conditions"]
    assert "invariants" in step["guarantee"]["conditions"]
    assert step["unchanged"] == {"x": 5}


def test_without_records_there_is_no_epsilon() -> None:
    guarantee = method_of("invariant-swap", {"rate": 0.5, "k": 3}).guarantee(Setting())
    assert guarantee.epsilon is None
    assert not guarantee.proved


def test_untouched_are_those_not_selected_or_alone() -> None:
    records = numeric_records({"x": np.arange(4000)})
    fitted = method_of("invariant-swap", {"rate": 0.25, "k": 400}).fit(records, np.random.default_rng(3))
    assert 2850 < fitted.untouched[0] < 3150
    assert fitted.facts["bins"] == 10
    all_in = method_of("invariant-swap", {"rate": 1, "k": 400}).fit(records, np.random.default_rng(3))
    assert all_in.untouched == (0,)


@pytest.mark.parametrize("rate", [0, -0.1, 1.01, float("nan"), float("inf"), True, "0.5", None])
def test_a_rate_out_of_range_names_the_parameter(rate: object) -> None:
    with pytest.raises(ParameterError, match="rate must be a number above 0 and at most 1"):
        method_of("invariant-swap", {"rate": rate, "k": 3})


def test_exactly_one_of_k_and_width_is_given_and_right() -> None:
    with pytest.raises(ParameterError, match="k must be given, or width instead of it"):
        method_of("invariant-swap", {"rate": 0.5})
    with pytest.raises(ParameterError, match="width must be left out where k is given"):
        method_of("invariant-swap", {"rate": 0.5, "k": 3, "width": 2.0})
    with pytest.raises(ParameterError, match="k must be a whole number"):
        method_of("invariant-swap", {"rate": 0.5, "k": 0})
    with pytest.raises(ParameterError, match="width must be a number above 0"):
        method_of("invariant-swap", {"rate": 0.5, "width": -1})


def test_copies_of_a_record_never_stand_in_two_bins() -> None:
    table = pl.DataFrame({"x": [1, 2, 2, 3, 8, 9]})
    plan = {
        "columns": {"x": {"kind": "numeric"}},
        "steps": [{"method": "invariant-swap", "columns": ["x"], "rate": 1.0, "k": 2}],
    }
    released = {anonto.mask(table, plan, seed=(1 << 90) + number).table["x"][0] for number in range(60)}
    assert released == {1, 2, 3}
    (step,) = anonto.mask(table, plan, seed=1 << 90).evidence["steps"]
    assert (step["bins"], step["largest_bin"]) == (2, 4)


def test_nothing_is_proved_if_cells_without_a_concept_stay() -> None:
    table = pl.DataFrame({"d": ["flu", "burn", "XX1", "XX2", "flu", "measles"], "a": [1, 2, 3, 4, 5, 6]})
    plan = {
        "columns": {"d": {"ontology": "illnesses", "unmatched": "keep"}, "a": {"kind": "numeric"}},
        "steps": [{"method": "invariant-swap", "columns": ["d", "a"], "rate": 1.0, "k": 2}],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (step,) = anonto.mask(table, plan, seed=1 << 90).evidence["steps"]
    assert not step["guarantee"]["proved"]
    assert "epsilon" not in step["guarantee"]


def test_a_seed_that_can_be_guessed_leaves_nothing_proved() -> None:
    table = pl.DataFrame({"x": list(range(40))})
    for method in ({"method": "invariant-swap", "rate": 1.0, "k": 4}, {"method": "group-swap", "k": 4}):
        plan = {"columns": {"x": {"kind": "numeric"}}, "steps": [{**method, "columns": ["x"]}]}
        for seed, is_proved in ((1 << 90, True), (7, False)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (step,) = anonto.mask(table, plan, seed=seed).evidence["steps"]
            assert step["guarantee"]["proved"] is is_proved
