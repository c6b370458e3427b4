"""Naive methods against their definitions, and what transitions promise."""

from collections import Counter

import numpy as np
import pytest
from benchmarks.applying import apply_in_chunks
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare, hypergeom

import oracles
from anonto.encoding.value_space import TextSpace
from anonto.errors import AnontoWarning, ParameterError, PlanError
from anonto.methods import random_swap
from anonto.methods.registry import METHODS, method_of
from anonto.methods.swap_kernels import hypergeometric, swap_in_windows
from anonto.methods.transitions import transitions_of_pairs
from anonto.random.streams import Seed, keyed_permutations

pytestmark = pytest.mark.slow

columns = st.lists(st.integers(0, 4), min_size=0, max_size=40)


def masked_by(method, codes, number: int, chunk: int = 1 << 20):
    counts = np.bincount(np.array(codes, int)[np.array(codes, int) >= 0], minlength=max([*codes, -1]) + 1)
    seed = Seed(number + (1 << 90))
    transitions = method.fit(TextSpace(counts), seed.stream("fit"))
    permutations = keyed_permutations(seed, "apply", transitions.sizes)
    return transitions, apply_in_chunks(transitions, permutations, np.array(codes, dtype=np.int32), chunk)


def methods_for(n: int):
    yield method_of("random-swap", {})
    if n > 3:
        yield method_of("frequency-swap", {"k": 2})


@given(codes=columns, number=st.integers(0, 1000))
def test_swapping_keeps_the_frequency_of_every_value(codes: list[int], number: int) -> None:
    for method in methods_for(len(codes)):
        transitions, masked = masked_by(method, codes, number)
        assert Counter(masked.tolist()) == Counter(codes)
        assert transitions.untouched == len(codes) % 2
        assert transitions.moves.unchanged == np.count_nonzero(masked == np.array(codes, int))
        assert transitions.amounts.sum() == len(codes)


@given(codes=columns, number=st.integers(0, 1000))
def test_as_many_go_from_a_to_b_as_from_b_to_a(codes: list[int], number: int) -> None:
    for method in methods_for(len(codes)):
        transitions, _ = masked_by(method, codes, number)
        rows = zip(
            transitions.sources.tolist(), transitions.targets.tolist(), transitions.amounts.tolist(), strict=True
        )
        amount = {(a, b): n for a, b, n in rows}
        assert all(amount.get((b, a)) == n for (a, b), n in amount.items())


@given(codes=st.lists(st.integers(-1, 4), max_size=60), number=st.integers(0, 99), chunk=st.integers(1, 70))
def test_chunks_do_not_change_the_release(codes: list[int], number: int, chunk: int) -> None:
    present = [code for code in codes if code >= 0]
    for method in methods_for(len(present)):
        transitions, whole = masked_by(method, codes, number)
        _, parts = masked_by(method, codes, number, chunk)
        assert np.array_equal(whole, parts)
        permutations = keyed_permutations(Seed(number + (1 << 90)), "apply", transitions.sizes)
        before, one_by_one = np.zeros_like(transitions.sizes), []
        for start in range(0, len(codes), chunk):
            part = np.array(codes[start : start + chunk], dtype=np.int32)
            one_by_one += transitions.apply(part, permutations, before).tolist()
            before += transitions.records_of(part)
        assert one_by_one == whole.tolist()
        assert [c for c, m in zip(codes, whole, strict=True) if m == -1] == [c for c in codes if c == -1]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("codes", [[0, 0, 0, 1, 1, 2], [0, 1, 2, 3, 4], [0, 0, 1, 1, 1, 1, 2, 2]])
def test_frequency_swap_is_distributed_as_its_definition(codes: list[int], k: int) -> None:
    k = min(k, len(codes) - 1)
    method = method_of("frequency-swap", {"k": k})
    found, expected = Counter(), Counter()
    rng = np.random.default_rng(4)
    for number in range(1500):
        found[tuple(sorted(zip(codes, masked_by(method, codes, number)[1].tolist(), strict=True)))] += 1
        expected[tuple(sorted(zip(codes, oracles.frequency_swap(codes, k, rng), strict=True)))] += 1
    _assert_alike(found, expected)


@pytest.mark.parametrize("fit", ["_by_shuffling", "_by_draws"])
@pytest.mark.parametrize("codes", [[0, 0, 0, 1, 1, 2], [0, 1, 2, 3, 4], [0, 0, 0, 0]])
def test_random_swap_is_distributed_as_its_definition(
    codes: list[int], fit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_swap, "DRAWS_AS_DEAR_AS", 0 if fit == "_by_draws" else 1 << 30)
    method = method_of("random-swap", {})
    found, expected = Counter(), Counter()
    rng = np.random.default_rng(5)
    for number in range(2000):
        found[tuple(sorted(zip(codes, masked_by(method, codes, number)[1].tolist(), strict=True)))] += 1
        expected[tuple(sorted(zip(codes, oracles.random_swap(codes, rng), strict=True)))] += 1
    _assert_alike(found, expected)


def test_any_record_of_a_value_is_equally_likely_to_take_part_in_a_flow() -> None:
    """Which of the records of a value leave for another is decided by the keyed permutation alone."""
    codes = [0] * 6 + [1] * 2
    left = np.zeros(len(codes))
    for number in range(3000):
        _, masked = masked_by(method_of("random-swap", {}), codes, number)
        left += masked != np.array(codes)
    table = np.array([left[:6], 3000 - left[:6]])
    assert chi2_contingency(table).pvalue > 1e-4


@given(n=st.integers(0, 60), k=st.integers(1, 70), number=st.integers(0, 99))
def test_windows_pair_records_at_most_k_apart_and_leave_one_of_an_odd_number(n: int, k: int, number: int) -> None:
    left, right, alone = swap_in_windows(np.arange(n, dtype=np.int32), k, np.random.default_rng(number))
    assert alone == n % 2
    assert ((right - left >= 1) & (right - left <= k)).all()
    assert len({*left.tolist(), *right.tolist()}) == 2 * left.size == n - alone


def test_a_wide_window_finds_the_last_free_place() -> None:
    left, right, alone = swap_in_windows(np.arange(2000, dtype=np.int32), 1999, np.random.default_rng(0))
    assert (left.size, alone) == (1000, 0)
    assert (left < right).all()


def test_a_k_larger_than_the_table_is_reported_and_reduced() -> None:
    with pytest.warns(AnontoWarning, match="k = 9 is not below the 3 records; 2 was used"):
        masked_by(method_of("frequency-swap", {"k": 9}), [0, 1, 2], 1)


@pytest.mark.parametrize("n", [0, 1])
def test_a_table_of_no_or_one_record_stays(n: int) -> None:
    for name, parameters in (("random-swap", {}), ("frequency-swap", {"k": 3})):
        _, masked = masked_by(method_of(name, parameters), [0] * n, 1)
        assert masked.tolist() == [0] * n


@pytest.mark.parametrize("k", [0, -1, 2.5, float("nan"), True, "3", None])
def test_a_k_out_of_range_names_the_parameter(k: object) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number, 1 or more"):
        method_of("frequency-swap", {"k": k})


def test_unknown_methods_and_parameters_list_the_known_ones() -> None:
    with pytest.raises(PlanError, match=r"There is no method .*did you mean 'random-swap'.*frequency-swap"):
        method_of("random-swp", {})
    with pytest.raises(PlanError, match=r"known are method, columns, within, small_strata, k"):
        method_of("frequency-swap", {"kk": 3})
    with pytest.raises(ParameterError, match="k must be given"):
        method_of("frequency-swap", {})


def test_many_distinct_values_are_counted_without_a_table_of_all_pairs() -> None:
    rng = np.random.default_rng(1)
    n = 20_001
    left, right = rng.integers(0, n, (2, 5_000)).astype(np.int32)
    counts = np.bincount(np.concatenate([left, right]), minlength=n) + 1
    transitions = transitions_of_pairs(left, right, counts, 0)
    assert transitions.amounts.sum() == counts.sum()
    arriving = np.bincount(transitions.targets, weights=transitions.amounts, minlength=n)
    assert np.array_equal(arriving, counts)


def test_every_method_is_registered_under_its_own_name() -> None:
    assert all(method.name == name for name, method in METHODS.items())


def _assert_alike(found: Counter, expected: Counter) -> None:
    outcomes = sorted(set(found) | set(expected))
    table = np.array([[found[o] for o in outcomes], [expected[o] for o in outcomes]])
    rare = table.sum(axis=0) < 10
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)]) if rare.any() else table
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] > 1:
        assert chi2_contingency(table).pvalue > 1e-5


@pytest.mark.parametrize(
    ("good", "bad", "n_drawn"),
    [(3, 4, 5), (1, 900, 300), (700, 20, 715), (5_000_000, 4_000_000, 90), (300, 40_000, 900)],
)
def test_drawing_without_putting_back_has_the_hypergeometric_distribution(good: int, bad: int, n_drawn: int) -> None:
    generator = np.random.default_rng(5)
    drawn = Counter(hypergeometric(good, bad, n_drawn, generator) for _ in range(20_000))
    distribution = hypergeom(good + bad, good, n_drawn)
    assert all(max(0, n_drawn - bad) <= number <= min(good, n_drawn) for number in drawn)
    common = [number for number in range(min(good, n_drawn) + 1) if distribution.pmf(number) * 20_000 >= 5]
    seen = [*(drawn[number] for number in common), 20_000 - sum(drawn[number] for number in common)]
    expected = [*(distribution.pmf(number) * 20_000 for number in common)]
    rest = 20_000 - sum(expected)
    both = [(one, other) for one, other in zip(seen, [*expected, rest], strict=True) if other > 1e-6]
    assert chisquare([one for one, _ in both], [other for _, other in both], sum_check=False).pvalue > 1e-4


def test_a_draw_from_a_single_choice_uses_no_randomness() -> None:
    generator = np.random.default_rng(5)
    assert hypergeometric(0, 9, 4, generator) == 0
    assert hypergeometric(9, 0, 4, generator) == 4
    assert hypergeometric(9, 3, 12, generator) == 9
    assert hypergeometric(9, 3, 0, generator) == 0
    assert generator.random() == np.random.default_rng(5).random()
