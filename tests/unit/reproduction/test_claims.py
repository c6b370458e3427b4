"""Verdicts on claims, from made-up numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.reproduction.claims import (
    NOTHING,
    Tally,
    below,
    counted_verdicts,
    failures,
    falling,
    growing,
    impossible,
    judged,
    total,
)
from anonto.reproduction.measured import SEEDS, Measured, not_above

NUMBERS = st.lists(st.floats(-10, 10), min_size=1, max_size=10)


def of(*values: float) -> Measured:
    return Measured(values)


def test_a_claim_that_numbers_support_is_held_and_needs_no_reason() -> None:
    claim = judged("2", "grows", holds=True, found="3 of 3", why="it may not")
    assert (claim.verdict, claim.why, claim.fails) == ("held", "", False)


def test_a_claim_that_numbers_do_not_support_is_not_held_and_says_why() -> None:
    claim = judged("2", "grows", holds=False, found="2 of 3", why="it may not")
    assert (claim.verdict, claim.why, claim.found) == ("not held", "it may not", "2 of 3")


def test_a_claim_that_no_data_could_make_true_cannot_hold() -> None:
    claim = impossible("10c", "0.61", found="0.083 at most", why="one of six pairs")
    assert (claim.verdict, claim.kind, claim.fails) == ("cannot hold", "soft", False)


def test_only_hard_claims_make_a_run_fail() -> None:
    hard = judged("1", "stays", holds=False, found="", why="", kind="hard")
    others = [
        judged("1", "stays", holds=True, found="", why="", kind="hard"),
        judged("2", "grows", holds=False, found="", why=""),
        impossible("P4", "never", found="", why=""),
    ]
    assert failures([hard, *others]) == [hard]
    assert failures(others) == []
    assert counted_verdicts([hard, *others]) == {"held": 1, "not held": 2, "cannot hold": 1}


def test_growth_is_counted_step_by_step() -> None:
    numbers = [of(1.0), of(2.0), of(2.0), of(3.0)]
    assert growing(numbers) == Tally(2, 3)
    assert falling(numbers) == Tally(0, 3)
    assert falling(numbers[::-1]) == Tally(2, 3)
    assert str(growing(numbers)) == "2 of 3 comparisons"
    assert not growing(numbers).holds
    assert growing(numbers[:2]).holds


def test_nothing_compared_is_nothing_shown() -> None:
    assert not NOTHING.holds
    assert growing([of(1.0)]) == NOTHING
    assert total([]) == NOTHING


def test_means_are_compared_not_single_seeds() -> None:
    assert below(of(0.0, 10.0), of(5.9, 6.0)) == Tally(1, 1)
    assert below(of(1.0), of(1.0)) == Tally(0, 1)


def test_a_number_may_be_above_by_two_standard_errors() -> None:
    wide, narrow = of(0.9, 1.1, 1.0, 1.2), of(1.0, 1.0, 1.0, 1.0)
    assert not_above(wide, narrow)
    assert not not_above(of(1.05, 1.05, 1.05, 1.05), narrow)
    assert not_above(of(0.5), of(0.5))


@given(NUMBERS)
def test_mean_and_spread_are_those_of_the_definition(values: list[float]) -> None:
    found = Measured.of(values)
    assert min(values) - 1e-9 <= found.mean <= max(values) + 1e-9
    assert found.spread >= 0
    assert found.error <= found.spread
    assert found.less(found).mean == 0
    assert found.less(1.0).mean == pytest.approx(found.mean - 1)


def test_spread_is_the_sample_standard_deviation() -> None:
    assert of(1.0, 3.0).spread == pytest.approx(2**0.5)
    assert of(1.0, 3.0).error == pytest.approx(1.0)
    assert of(4.0).spread == 0


def test_there_are_ten_seeds_and_none_can_be_guessed_by_the_library() -> None:
    assert len(set(SEEDS)) == 10
    assert min(SEEDS) == 2**100
