"""Who is in the table: members against persons held out, by every score, on every kind of method."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
from anonto.assessment import assess as assessing
from anonto.attacks.compute.member_likelihood import likelihood_ratios
from anonto.attacks.compute.membership import distances
from anonto.attacks.compute.plausible_records import SearchedPersons, codes_held_out, count_plausible
from anonto.attacks.compute.roc import area, area_interval, true_positives
from anonto.attacks.plain import distance_linkage as plain_linkage
from anonto.attacks.plain import membership as plain
from anonto.errors import AnontoWarning

if TYPE_CHECKING:
    from anonto.attacks.comparison import Comparison
    from anonto.attacks.rate import Risk

SEED = 1 << 90
ILLNESSES = ["flu", "measles", "burn", "fracture"]
COLUMNS: dict[str, Any] = {"illness": {"ontology": "illnesses"}, "age": {"kind": "numeric"}}
SCORES = st.lists(st.integers(0, 6), min_size=1, max_size=30).map(lambda one: np.array(one, dtype=np.float64))


def persons(n: int, seed: int, ages: tuple[int, int] = (20, 60)) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"illness": rng.choice(ILLNESSES, n).tolist(), "age": rng.integers(*ages, n)})


def plan_of(method: str, **parameters: Any) -> dict[str, Any]:
    return {"columns": COLUMNS, "steps": [{"method": method, "columns": ["illness", "age"], **parameters}]}


def compared_of(original: pl.DataFrame, masked: Any, plan: dict[str, Any], held_out: pl.DataFrame) -> Comparison:
    """What the attacks are given."""
    seen: list[Comparison] = []
    with pytest.MonkeyPatch.context() as patch:
        attack = assessing.run_attacks
        patch.setattr(
            assessing, "run_attacks", lambda one, *rest, **more: seen.append(one) or attack(one, *rest, **more)
        )
        anonto.assess(original, masked, plan, held_out=held_out)
    return seen[0]


def by_score(original: pl.DataFrame, masked: Any, plan: dict[str, Any], held_out: pl.DataFrame) -> dict[str, Risk]:
    found = [one for one in anonto.assess(original, masked, plan, held_out=held_out).risk if one.attack == "membership"]
    return {one.details["score"]: one for one in found}


@given(SCORES, SCORES)
def test_areas_and_rates_are_those_of_the_plain_version(members: np.ndarray[Any, Any], strangers: Any) -> None:
    assert area(members, strangers) == pytest.approx(plain.area(members, strangers))
    rate, low, high = true_positives(members, strangers)
    assert rate == pytest.approx(plain.true_positives(members, strangers, 0.01))
    assert low <= rate <= high


@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0])
def test_intervals_hold_for_most_samples(shift: float) -> None:
    from scipy.stats import norm

    rng = np.random.default_rng(2)
    area_of_all, rate_of_all = norm.cdf(shift / np.sqrt(2)), norm.sf(norm.isf(0.01) - shift)
    held = np.zeros(2)
    for _ in range(200):
        members, strangers = rng.normal(shift, 1, 300), rng.normal(0, 1, 500)
        low, high = area_interval(area(members, strangers), 300, 500)
        _, least, most = true_positives(members, strangers)
        held += [low <= area_of_all <= high, least <= rate_of_all <= most]
    assert (held / 200 >= 0.91).all()


def test_an_area_at_the_end_has_an_interval() -> None:
    low, high = area_interval(1.0, 20, 20)
    assert 0.8 < low < 1.0 == pytest.approx(high)
    assert area_interval(0.0, 20, 20) == pytest.approx((1 - high, 1 - low))


def test_few_strangers_leave_the_lower_end_open() -> None:
    assert true_positives(np.ones(100), np.zeros(100))[1] == 0.0
    assert true_positives(np.ones(500), np.zeros(500))[1] > 0.95


def test_an_unmasked_table_tells_everybody_who_is_in_it() -> None:
    original, others = persons(200, 1), persons(600, 2, ages=(60, 90))
    found = by_score(original, original, plan_of("rank-swap", k=3), others)
    assert found["candidates"].details["strangers_excluded"] == 1.0
    for one in found.values():
        assert (one.rate, one.details["auc"]) == (1.0, 1.0)


@pytest.mark.parametrize("method", ["random-swap", "rank-swap"])
def test_a_release_of_other_persons_tells_nothing(method: str) -> None:
    original, others = persons(300, 1), persons(900, 2)
    plan = plan_of(method, **({"k": 150} if method == "rank-swap" else {}))
    for one in by_score(original, anonto.mask(original, plan, seed=SEED).table, plan, others).values():
        assert one.details["auc_low"] < 0.5 < one.details["auc_high"]
        assert one.low <= 0.01 == one.baseline <= one.high


def test_columns_that_leave_unmasked_tell_who_is_in_the_table() -> None:
    original, others = (persons(80, n).with_columns(pl.Series("room", range(100 * n, 100 * n + 80))) for n in (1, 2))
    plan = plan_of("random-swap") | {"columns": COLUMNS | {"room": {"role": "other"}}}
    found = anonto.assess(original, anonto.mask(original, plan, seed=SEED).table, plan, held_out=others).risk
    worst = [one for one in found if one.attack == "membership" and "room" in one.columns]
    assert len(worst) == 3
    assert all(one.details["auc"] == 1.0 for one in worst)
    assert {one.details["strangers_excluded"] for one in worst if one.details["score"] == "candidates"} == {1.0}


@pytest.mark.parametrize(
    "step",
    [
        {"method": "rank-swap", "k": 3},
        {"method": "rank-swap-fixed", "k": 2},
        {"method": "frequency-swap", "k": 1},
        {"method": "random-swap"},
        {"method": "group-swap", "k": 3, "move": "together"},
        {"method": "group-swap", "k": 3},
        {"method": "equi-depth-swap", "k": 4},
        {"method": "equi-width-swap", "bins": 3},
        {"method": "invariant-swap", "k": 4, "rate": 0.5},
        {"method": "rank-swap-joint", "k": 3},
        {"method": "microaggregate", "k": 3},
        {"method": "semantic-noise", "noise_level": 0.2},
    ],
)
def test_persons_are_excluded_just_as_they_see_it_themselves(step: dict[str, Any]) -> None:
    """`verify` asks the same of one person."""
    original, others = persons(30, 3, (20, 50)), persons(25, 4, (15, 55))
    plan = plan_of(**step)
    release = anonto.mask(original, plan, seed=SEED).table
    compared = compared_of(original, release, plan, others)
    assert compared.held_out is not None
    columns = [compared.held_out.columns[name] for name in ("illness", "age")]
    searched = SearchedPersons(np.arange(30), np.arange(25))
    counts = count_plausible(compared, columns, searched)
    assert (counts[:30] > 0).all()
    for record, count in zip([*original.to_dicts(), *others.to_dicts()], counts.tolist(), strict=True):
        told = anonto.verify(record, release, plan)
        if told.absent or told.candidates is None:
            assert (count == 0) == bool(told.absent)
        else:
            # A record that must leave its place is no candidate here.
            assert told.candidates - 1 <= count <= told.candidates
            assert (count == 0) == (told.candidates == 0)


def test_distances_are_those_of_the_plain_version() -> None:
    original, others = persons(25, 5), persons(20, 6, (10, 70))
    plan = plan_of("group-swap", k=3)
    compared = compared_of(original, anonto.mask(original, plan, seed=SEED).table, plan, others)
    assert compared.held_out is not None
    columns = list(compared.held_out.columns.values())
    targets = np.stack([codes_held_out(one) for one in columns], axis=1)
    found = distances(columns, targets, [one.masked for one in columns])
    sides = [replace(one, original=codes_held_out(one)) for one in columns]
    for person in range(20):
        squared = plain_linkage.squared_distances(sides, person)
        assert found[person] == pytest.approx(np.sqrt(squared.min()))


@pytest.mark.parametrize(
    "step",
    [
        {"method": "semantic-noise", "noise_level": 0.2},
        {"method": "semantic-noise-joint", "noise_level": 0.3},
        {"method": "taxonomy-exponential", "epsilon": 4},
    ],
)
def test_likelihood_ratios_are_those_of_the_plain_version(step: dict[str, Any]) -> None:
    original = persons(40, 7)
    names = ["illness"] if step["method"] == "taxonomy-exponential" else ["illness", "age"]
    plan = {"columns": {name: COLUMNS[name] for name in names}, "steps": [{"columns": names, **step}]}
    original = original.select(names)
    others = original.sample(30, with_replacement=True, seed=1)
    compared = compared_of(original, anonto.mask(original, plan, seed=SEED).table, plan, others)
    assert compared.held_out is not None
    searched = SearchedPersons(np.arange(40), np.arange(10))
    columns = [compared.held_out.columns[name] for name in names]
    found = likelihood_ratios(compared, columns, searched, np.arange(10, 30))
    assert found is not None
    step_of = compared.likelihoods[0]
    of_members = np.prod(
        [step_of.probabilities(place, np.arange(40))[:, step_of.released[place]] for place in range(len(names))], axis=0
    )
    # Here persons held out have the values of members, whose laws are known without them.
    place_of = {row: place for place, row in enumerate(original.rows())}
    like = of_members[[place_of[row] for row in others.rows()]]
    expected = plain.likelihood_ratios(np.concatenate([of_members, like[:10]]), like[10:])
    np.testing.assert_allclose(found, expected)


def test_persons_with_values_that_no_member_has_have_a_likelihood() -> None:
    original, others = persons(40, 7), persons(30, 8, (10, 90)).with_columns(pl.lit("injury").alias("illness"))
    plan = plan_of("semantic-noise", noise_level=0.2)
    found = by_score(original, anonto.mask(original, plan, seed=SEED).table, plan, others)["likelihood"]
    assert found.details["auc"] > 0.5


def test_likelihood_recognises_what_distance_does_not() -> None:
    original, others = persons(300, 9, (0, 2000)), persons(1000, 10, (0, 2000))
    plan = {"columns": COLUMNS, "steps": [{"method": "semantic-noise", "columns": ["age"], "noise_level": 1e-7}]}
    with pytest.warns(AnontoWarning):
        release = anonto.mask(original, plan, seed=SEED).table
    found = by_score(original, release, plan, others)
    assert found["likelihood"].details["auc"] > 0.8


def test_findings_say_how_many_strangers_are_excluded_and_members_recognised() -> None:
    original, others = persons(200, 11), persons(1200, 12, (20, 9000))
    plan = plan_of("rank-swap", k=3)
    found = anonto.assess(original, original, plan, held_out=others)
    told = [one for one in found.findings if "who is in the table" in one]
    assert len(told) == 2
    assert told[0].startswith("Knowing 'age', 'illness', membership excludes ")
    assert "with certainty: no released record could be theirs" in told[0]
    assert "it recognises" in told[1]
    risk = [one.to_dict() for one in found.risk if one.attack == "membership"]
    again = anonto.assess(original, original, plan, held_out=others)
    assert risk == [one.to_dict() for one in again.risk if one.attack == "membership"]
    assert risk[-1]["strangers_excluded"] > 0.95


def test_without_persons_held_out_nothing_is_tried_and_it_is_said_what_to_give() -> None:
    from anonto.report.limits import describe_untried

    original, plan = persons(30, 13), plan_of("rank-swap", k=3)
    found = anonto.assess(original, anonto.mask(original, plan, seed=SEED).table, plan)
    assert "membership" not in {one.attack for one in found.risk}
    (said,) = describe_untried({one.attack for one in found.risk})
    assert "membership (it needs persons who were not masked: hold some out with `anonto split`" in said
