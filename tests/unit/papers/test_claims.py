"""Verdicts on claims, from synthetic numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.papers.claims import (
    NOTHING,
    Comparisons,
    count_below,
    count_falling,
    count_growing,
    count_verdicts,
    failures,
    impossible,
    judge,
    total,
)
from anonto.papers.marginality_claims import _meaning_helps
from anonto.papers.marginality_runs import DX, MIXED, NOMINAL, WITH_CHARGE, MarginalityRuns
from anonto.papers.measurement import SEEDS, Measurement, not_above
from anonto.papers.rank_swapping_claims import _linkage
from anonto.papers.scope import QUICK
from anonto.papers.swapping_runs import MODERATE, SwappingRuns, SwapResult

NUMBERS = st.lists(st.floats(-10, 10), min_size=1, max_size=10)


def of(*values: float) -> Measurement:
    return Measurement(values)


def test_a_claim_that_numbers_support_is_held_and_needs_no_reason() -> None:
    claim = judge("2", "grows", holds=True, found="3 of 3", why="it may not")
    assert (claim.verdict, claim.why, claim.fails) == ("held", "", False)


def test_a_claim_that_numbers_do_not_support_is_not_held_and_says_why() -> None:
    claim = judge("2", "grows", holds=False, found="2 of 3", why="it may not")
    assert (claim.verdict, claim.why, claim.found) == ("not held", "it may not", "2 of 3")


def test_a_claim_that_no_data_could_make_true_cannot_hold() -> None:
    claim = impossible("10c", "0.61", found="0.083 at most", why="one of six pairs")
    assert (claim.verdict, claim.kind, claim.fails) == ("cannot hold", "soft", False)


def test_only_hard_claims_make_a_run_fail() -> None:
    hard = judge("1", "stays", holds=False, found="", why="", kind="hard")
    others = [
        judge("1", "stays", holds=True, found="", why="", kind="hard"),
        judge("2", "grows", holds=False, found="", why=""),
        impossible("P4", "never", found="", why=""),
    ]
    assert failures([hard, *others]) == [hard]
    assert failures(others) == []
    assert count_verdicts([hard, *others]) == {"held": 1, "not held": 2, "cannot hold": 1}


def test_growth_is_counted_step_by_step() -> None:
    numbers = [of(1.0), of(2.0), of(2.0), of(3.0)]
    assert count_growing(numbers) == Comparisons(2, 3)
    assert count_falling(numbers) == Comparisons(0, 3)
    assert count_falling(numbers[::-1]) == Comparisons(2, 3)
    assert str(count_growing(numbers)) == "2 of 3 comparisons"
    assert not count_growing(numbers).holds
    assert count_growing(numbers[:2]).holds


def test_nothing_compared_is_nothing_shown() -> None:
    assert not NOTHING.holds
    assert count_growing([of(1.0)]) == NOTHING
    assert total([]) == NOTHING


def test_means_are_compared_not_single_seeds() -> None:
    assert count_below(of(0.0, 10.0), of(5.9, 6.0)) == Comparisons(1, 1)
    assert count_below(of(1.0), of(1.0)) == Comparisons(0, 1)


def test_a_number_may_be_above_by_two_standard_errors() -> None:
    wide, narrow = of(0.9, 1.1, 1.0, 1.2), of(1.0, 1.0, 1.0, 1.0)
    assert not_above(wide, narrow)
    assert not not_above(of(1.05, 1.05, 1.05, 1.05), narrow)
    assert not_above(of(0.5), of(0.5))


@given(NUMBERS)
def test_mean_and_spread_are_those_of_the_definition(values: list[float]) -> None:
    found = Measurement.of(values)
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


# ------------------------------------------------------------------------------------------------ reasons


def marginality_runs(gap_with_charge: float) -> MarginalityRuns:
    """Squared errors of the diagnosis, 1 % off at k = 2 where a continuous column is beside it, else as given."""
    found = {}
    for category in ("neoplasm", "digestive"):
        for kind, gaps in ((MIXED, (5.0, 4.0, 3.0)), (NOMINAL, (1.0, 2.0, 1.5)), (WITH_CHARGE, (gap_with_charge,))):
            for k, gap in zip(QUICK.group_sizes, gaps, strict=False):
                found["marginality", category, kind, "classic", k] = {DX: of(100.0, 100.0)}
                found["marginality", category, kind, "marginality", k] = {DX: of(100.0 - gap, 100.0 - gap)}
    return MarginalityRuns(QUICK, found)


def test_claim_7a_is_explained_by_what_was_measured_and_the_rest_is_called_unexplained() -> None:
    beside, alone = _meaning_helps(marginality_runs(0.5))
    assert (beside.verdict, alone.verdict) == ("not held", "not held")
    assert "the paper's gap is 1.0% and 0.0% of the classic error, ours 5.0% and 5.0%" in beside.why
    assert "With a synthetic continuous charge as a fourth column our gap at k = 2 is 0.5% and 0.5%" in beside.why
    assert beside.why.endswith("is unexplained.")
    assert "it shrinks for neoplasm at k = 20 by 0.5 ± 0.0, digestive at k = 20 by 0.5 ± 0.0" in alone.found
    assert "charge" not in alone.why


def test_linkage_is_reported_with_and_without_knowledge_of_the_method() -> None:
    nobody = SwapResult({}, {}, {}, {}, of(0.0), of(0.0), of(0.03), of(0.04), of(0.3))
    found = {("rank-swapping", MODERATE, m, k): nobody for m in ("rank-swap-joint", "group-swap") for k in QUICK.ks}
    joint, _ = _linkage(SwappingRuns(QUICK, found))
    assert joint.verdict == "not held"
    assert "Linked without and with knowledge of the method: 0.040 and 0.300 at k = 2" in joint.found
