"""Sentences about linkages compared with the k of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from anonto.attacks.findings import GUESSABLE_SEED, NO_RECORDS, OF_A_PROOF, against_k, findings_of
from anonto.attacks.rate import Risk, wilson_interval
from anonto.masking.plan import Plan

if TYPE_CHECKING:
    from anonto.masking.plan_sections import Step

N = 1_000


def linkage(rate: float, columns: tuple[str, ...] = ("a", "b"), attack: str = "distance-linkage") -> Risk:
    low, high = wilson_interval(rate * N, N)
    return Risk(attack=attack, knowledge="", columns=columns, rate=rate, low=low, high=high, baseline=1 / N, n=N)


def steps_of(method: str, k: int = 10) -> tuple[Step, ...]:
    return Plan.from_dict({"steps": [{"method": method, "columns": ["a", "b"], "k": k}]}).steps


def among(rate: float, n_linkages: int = 8) -> list[Risk]:
    """A rate as the highest of several."""
    others = [linkage(0.05, attack="global-linkage") for _ in range(n_linkages - 1)]
    return [linkage(rate), *others]


@pytest.mark.parametrize("method", ["group-swap", "microaggregate", "rank-swap"])
def test_the_highest_of_several_needs_an_interval_that_holds_for_all(method: str) -> None:
    assert linkage(0.122).low > 1 / 10
    assert findings_of(steps_of(method), [linkage(0.122)], N)
    assert findings_of(steps_of(method), among(0.122), N) == ()
    (said,) = findings_of(steps_of(method), among(0.16), N)
    assert said.startswith("Knowing 'a', 'b', distance-linkage links 16 % of persons")


def test_above_a_proved_bound_the_conditions_or_a_rare_draw_are_named() -> None:
    (said,) = findings_of(steps_of("group-swap"), among(0.14), N)
    assert "that the proof of group-swap allows with k = 10" in said
    assert "an interval for all linkages together" in said
    assert said.endswith(f"{OF_A_PROOF} about 1 of 10,000 releases.")
    (far,) = findings_of(steps_of("group-swap"), among(0.9), N)
    assert far.endswith("fewer than 1 of 1,000,000 releases.")
    (suggested,) = findings_of(steps_of("rank-swap"), among(0.14), N)
    assert suggested.endswith("more than the 1 in 10 that k = 10 of rank-swap suggests.")


def test_a_proof_does_not_cover_other_columns_or_two_releases() -> None:
    steps = steps_of("group-swap")
    more = against_k(steps, linkage(0.9, ("a", "b", "c")), N, 8)
    twice = against_k(steps, linkage(0.9, attack="composition"), N, 8)
    fewer = against_k(steps, linkage(0.9, ("a",)), N, 8)
    assert [one and one.proved for one in (more, twice, fewer)] == [False, False, True]
    assert all("suggests" in said for said in findings_of(steps, [linkage(0.9, ("a", "b", "c"))], N))
    assert against_k(steps, linkage(0.9, ("c",)), N, 8) is None


def test_simultaneous_intervals_have_the_coverage_of_a_single_one() -> None:
    rng = np.random.default_rng(0)
    hits = rng.binomial(N, 0.1, (4_000, 10))
    lows = np.vectorize(lambda one: wilson_interval(one, N, 10)[0])(hits)
    plain = np.vectorize(lambda one: wilson_interval(one, N)[0])(hits)
    assert np.mean((lows > 0.1).any(axis=1)) < 0.04
    assert np.mean((plain > 0.1).any(axis=1)) > 0.15


def test_draws_are_about_the_chance_that_one_of_several_is_so_high() -> None:
    rng = np.random.default_rng(1)
    highest = rng.binomial(N, 0.1, (40_000, 4)).max(axis=1)
    for rate in (0.118, 0.122, 0.126):
        found = against_k(steps_of("group-swap"), linkage(rate), N, 4)
        assert found is not None
        assert 0.3 < found.draws * np.mean(highest >= rate * N) < 2


def test_what_undoes_the_masking_is_said_before_any_link() -> None:
    known = findings_of(steps_of("rank-swap"), among(0.16), N, guessable_seed=True, stayed={"a": 1, "b": 0})
    assert known[0] == GUESSABLE_SEED
    assert known[1].startswith("1 cell without a concept left unmasked, in the person's own record (1 of 'a')")
    assert "links 16 % of persons" in known[2]
    assert findings_of(steps_of("rank-swap"), among(0.05), N, stayed={"a": 0, "b": 0}) == ()


def test_an_empty_release_gets_no_other_statement() -> None:
    assert findings_of(steps_of("rank-swap"), [], 0, guessable_seed=True) == (NO_RECORDS,)
