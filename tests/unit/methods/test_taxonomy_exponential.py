"""The exponential mechanism: its probabilities, its promise on released frequencies, and what it refuses."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.applying import apply_by_row
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import anonto
import oracles
from anonto.encoding.columns import encode
from anonto.encoding.records import distinct_records
from anonto.encoding.value_space import nominal_space
from anonto.errors import ParameterError, PlanError
from anonto.methods import taxonomy_exponential
from anonto.methods.guarantee import Setting
from anonto.methods.registry import method_of
from anonto.methods.taxonomy_exponential import TaxonomyExponential, is_metric, largest_distance
from anonto.random.streams import Key
from budget import examples
from strategies import hierarchies, taxonomy_of

KEY = Key(bytes(range(32, 64)))
ILLNESSES = anonto.read_ontology("illnesses")
DIAMOND = taxonomy_of({"r": (), "b": ("r",), "c": ("r",), "e": ("b", "c")})
N = 200_000
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")]


def fitted(values: list[str], taxonomy: Any = ILLNESSES, measure: str = "wu-palmer", **parameters: Any) -> Any:
    value_space = nominal_space(encode(values), taxonomy, measure=measure)
    records, _ = distinct_records(["a"], [value_space], [value_space.column.codes])
    return method_of("taxonomy-exponential", parameters).fit(records, np.random.default_rng(0))


def probabilities(masker: Any) -> dict[str, dict[str, float]]:
    """From the table that draws are made from: for each value the probability of each concept."""
    column = masker.columns[0]
    out: dict[str, dict[str, float]] = {}
    offsets, _, bounds, members = column.draws.levels.arrays
    ids = column.value_space.domain.ids
    for value, concept in enumerate(column.value_space.concepts):
        begin, end = offsets[value], offsets[value + 1] - 1
        shares = column.draws.cumulated[begin:end] - np.append(column.draws.cumulated[begin + 1 : end], 0.0)
        out[concept] = {
            ids[member]: float(share) / (bounds[level, 3] - bounds[level, 0])
            for level, share in zip(range(begin, end), shares, strict=True)
            for member in members[value, bounds[level, 0] : bounds[level, 3]]
        }
    return out


def released(masker: Any, value: str, n: int = N) -> Counter[str]:
    column = masker.columns[0]
    codes = np.full(n, column.value_space.concepts.index(value), dtype=np.int32)
    (out,) = masker.apply([codes], np.arange(n), KEY)
    return Counter(masker.value_spaces[0].concepts[code] for code in out.tolist())


@given(
    parents=hierarchies(max_concepts=9),
    measure=st.sampled_from(anonto.MEASURES),
    epsilon=st.floats(0.01, 40),
    metric=st.booleans(),
)
def test_probabilities_are_those_of_the_definition(parents: Any, measure: str, epsilon: float, metric: bool) -> None:
    taxonomy = taxonomy_of(parents)
    if metric and measure not in taxonomy_exponential.METRICS and not taxonomy.is_tree:
        return
    concepts = sorted(taxonomy.ids)
    masker = fitted(concepts, taxonomy, measure, epsilon=epsilon, metric=metric)

    def distance(a: str, b: str) -> float:
        return round(taxonomy.distance(a, b, measure), 12)

    largest = max(distance(a, b) for a in concepts for b in concepts)
    found = probabilities(masker)
    for value in concepts:
        expected = oracles.exponential_probabilities(
            value, concepts, distance, epsilon, 1.0 if metric else largest or 1
        )
        assert found[value] == pytest.approx(expected, rel=1e-9)


@settings(max_examples=examples(40))
@given(parents=hierarchies(max_concepts=8), measure=st.sampled_from(anonto.MEASURES), epsilon=st.floats(0.1, 8))
def test_the_guarantee_holds_for_any_two_values_of_the_domain(parents: Any, measure: str, epsilon: float) -> None:
    taxonomy = taxonomy_of(parents)
    concepts = sorted(taxonomy.ids)
    found = probabilities(fitted(concepts, taxonomy, measure, epsilon=epsilon))
    for one, other in itertools.permutations(concepts, 2):
        for concept in concepts:
            assert found[one][concept] <= math.exp(epsilon) * found[other][concept] * (1 + 1e-9)
    value_space = nominal_space(encode(concepts), taxonomy, measure=measure)
    if not is_metric(value_space):
        return
    by_distance = probabilities(fitted(concepts, taxonomy, measure, epsilon=epsilon, metric=True))
    for one, other in itertools.permutations(concepts, 2):
        bound = math.exp(epsilon * taxonomy.distance(one, other, measure))
        for concept in concepts:
            assert by_distance[one][concept] <= bound * by_distance[other][concept] * (1 + 1e-9)


def test_released_frequencies_are_those_of_the_probabilities() -> None:
    masker = fitted(["flu", "burn"], epsilon=3.0)
    for value, expected in probabilities(masker).items():
        seen = released(masker, value)
        assert set(seen) <= set(ILLNESSES.ids)
        assert chisquare([seen[c] for c in expected], [N * p for p in expected.values()]).pvalue > 1e-4


@pytest.mark.parametrize("metric", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_released_frequencies_keep_the_ratio_bound(epsilon: float, metric: bool) -> None:
    """The ratio of two frequencies is at most the bound, up to five standard errors of its logarithm."""
    leaves = ["flu", "measles", "burn", "fracture"]
    masker = fitted(leaves, epsilon=epsilon, metric=metric)
    seen = {value: released(masker, value) for value in leaves}
    largest = 0.0
    for one, other in itertools.permutations(leaves, 2):
        bound = epsilon * (ILLNESSES.distance(one, other) if metric else 1.0)
        for concept in ILLNESSES.ids:
            a, b = seen[one][concept], seen[other][concept]
            error = math.sqrt(1 / a + 1 / b)
            assert math.log(a / b) <= bound + 5 * error
            largest = max(largest, math.log(a / b) / bound)
    assert 0.3 < largest < 1.05


def test_a_weaker_mechanism_would_be_found_by_the_same_test() -> None:
    masker = fitted(["flu", "measles", "burn", "fracture"], epsilon=9.0)
    a, b = released(masker, "flu")["flu"], released(masker, "burn")["flu"]
    assert math.log(a / b) > 2.0 + 5 * math.sqrt(1 / a + 1 / b)


def test_small_probabilities_are_resolved() -> None:
    """At ε = 60 far concepts have probabilities near 1e-14; their ratio is exact all the same."""
    masker = fitted(["flu", "burn"], epsilon=60.0)
    found = probabilities(masker)
    largest = ILLNESSES.distance("flu", "burn")
    assert found["flu"]["burn"] < 1e-12
    assert found["flu"]["burn"] / found["flu"]["flu"] == pytest.approx(
        math.exp(-60 * largest / (2 * largest)), rel=1e-9
    )


@pytest.mark.parametrize("metric", [False, True])
def test_at_the_largest_epsilon_the_least_probability_is_resolved_by_the_draws(metric: bool) -> None:
    """A level is drawn with 128 bits: a probability that is not far above 2⁻¹²⁸ would not be the stated one."""
    masker = fitted(["flu", "burn"], epsilon=taxonomy_exponential.LARGEST_EPSILON, metric=metric)
    least = min(min(of_value.values()) for of_value in probabilities(masker).values())
    assert least / len(ILLNESSES) * 7 / 1e6 > 2.0**-128 * 1e10


def test_a_smaller_epsilon_moves_values_farther() -> None:
    table = pl.DataFrame({"a": ["flu", "burn", "measles", None] * 500})
    errors = []
    for epsilon in (0.1, 2.0, 8.0, 40.0):
        plan = {
            "columns": {"a": {"ontology": ILLNESSES}},
            "steps": [{"method": "taxonomy-exponential", "columns": ["a"], "epsilon": epsilon}],
        }
        release = anonto.mask(table, plan, seed=1 << 90)
        errors.append(release.evidence["steps"][0]["rmse"]["a"])
        assert release.table["a"].is_null().equals(table["a"].is_null())
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 3 * errors[-1]


def test_rows_are_masked_alike_in_any_chunks() -> None:
    masker = fitted(["flu", "burn", "disease"], epsilon=1.0)
    codes = [np.random.default_rng(1).integers(-1, 3, 500).astype(np.int32)]
    whole = masker.apply(codes, np.arange(500), KEY)
    for chunk in (1, 7, 499):
        assert np.array_equal(apply_by_row(masker, codes, np.arange(500), KEY, chunk)[0], whole[0])
    assert ((whole[0] < 0) == (codes[0] < 0)).all()


def test_the_concepts_of_the_domain_are_released_whether_observed_or_not() -> None:
    one, other = (fitted(values, epsilon=0.1) for values in (["flu"], ["flu", "burn", "measles"]))
    assert set(released(one, "flu")) == set(released(other, "flu")) == set(ILLNESSES.ids)
    assert probabilities(one)["flu"] == pytest.approx(probabilities(other)["flu"])


def test_concepts_have_one_spelling_whether_their_records_had_it_or_not() -> None:
    """Were '8' released only where records had it, it would show that they had."""
    taxonomy = taxonomy_of({"r": (), "008": ("r",), "009": ("r",), "010": ("r",)})
    table = pl.DataFrame({"a": ["8"] * 100 + ["009"] * 400})
    plan = {
        "columns": {"a": {"ontology": taxonomy}},
        "steps": [{"method": "taxonomy-exponential", "columns": ["a"], "epsilon": 0.5}],
    }
    release = anonto.mask(table, plan, seed=1 << 90)
    assert set(release.table["a"]) == {"r", "008", "009", "010"}
    same = (release.table["a"] == table["a"].replace("8", "008")).sum()
    assert release.evidence["steps"][0]["unchanged"]["a"] == same
    assert release.evidence["steps"][0]["unchanged_records"] == same


def test_the_evidence_says_what_is_promised_and_what_is_not() -> None:
    table = pl.DataFrame({"a": ["flu", "burn", None], "b": ["flu", "burn", "flu"], "c": [1, 2, 3]})
    plan: dict[str, Any] = {
        "columns": {"a": {"ontology": ILLNESSES}, "b": {"ontology": ILLNESSES}, "c": {"kind": "numeric"}},
        "steps": [{"method": "taxonomy-exponential", "columns": ["a", "b"], "epsilon": 1.5}],
    }
    step = anonto.mask(table, plan, seed=1 << 90).evidence["steps"][0]
    promise = step["guarantee"]
    assert (promise["kind"], promise["epsilon"], promise["proved"]) == ("local ε-differential privacy", 1.5, True)
    for words in ("e^ε", "adds up over the columns", "missing", "('c')", "seed"):
        assert words in promise["conditions"]
    assert step["record_epsilon"] == 3.0
    assert step["sensitivity"] == {"a": pytest.approx(2 / 3), "b": pytest.approx(2 / 3)}
    plan["steps"][0]["metric"] = True
    promise = anonto.mask(table, plan, seed=1 << 90).evidence["steps"][0]["guarantee"]
    assert (promise["kind"], promise["proved"]) == ("metric privacy", True)
    assert "e^(ε·d)" in promise["conditions"]


# ------------------------------------------------------------------------------------------------ metrics


@given(parents=hierarchies(max_concepts=9), measure=st.sampled_from(anonto.MEASURES), data=st.data())
def test_a_measure_that_counts_as_a_metric_keeps_the_triangle_inequality(
    parents: Any, measure: str, data: st.DataObject
) -> None:
    taxonomy = taxonomy_of(parents)
    root = data.draw(st.sampled_from(["ontology", *sorted(parents)]))
    inside = sorted(taxonomy.rooted(root).ids)
    value_space = nominal_space(encode(inside), taxonomy, measure=measure, root=root)
    if is_metric(value_space):
        d = value_space.distances()
        assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-9).all()
    elif measure in {"ancestor", "jaccard", "equality"} or taxonomy.is_tree:
        pytest.fail("a metric was refused")


@pytest.mark.parametrize("measure", ["wu-palmer", "dice", "rada", "lin"])
def test_metric_privacy_is_refused_if_the_measure_is_not_a_metric(measure: str) -> None:
    with pytest.raises(PlanError, match="several parents; take ancestor or jaccard, or leave metric out"):
        fitted(["b", "e"], DIAMOND, measure, epsilon=1.0, metric=True)
    fitted(["b", "e"], DIAMOND, "ancestor", epsilon=1.0, metric=True)
    fitted(["b", "e"], DIAMOND, measure, epsilon=1.0)


def test_the_largest_distance_is_that_of_the_domain() -> None:
    value_space = nominal_space(encode(["b"]), DIAMOND, measure="wu-palmer")
    assert largest_distance(value_space) == pytest.approx(0.5)
    two_roots = taxonomy_of({"a": (), "b": ()})
    assert largest_distance(nominal_space(encode(["a"]), two_roots, measure="wu-palmer")) == 1.0
    alone = taxonomy_of({"a": ()})
    masker = fitted(["a"], alone, epsilon=1.0)
    assert released(masker, "a", 10) == {"a": 10}


def test_in_a_large_domain_the_largest_distance_is_taken_as_1(monkeypatch: pytest.MonkeyPatch) -> None:
    value_space = nominal_space(encode(["flu"]), ILLNESSES, measure="wu-palmer")
    exact = largest_distance(value_space)
    monkeypatch.setattr(taxonomy_exponential, "LARGEST_SEARCHED", 3)
    assert exact < largest_distance(value_space) == 1.0


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("epsilon", [0, -1, 100.5, 1_600, math.inf, math.nan, True, "1", None])
def test_an_epsilon_out_of_range_names_the_parameter(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon must be a number above 0 and at most 100"):
        method_of("taxonomy-exponential", {"epsilon": epsilon})


def test_metric_must_be_true_or_false() -> None:
    with pytest.raises(ParameterError, match="metric must be true or false; got 1"):
        method_of("taxonomy-exponential", {"epsilon": 1.0, "metric": 1})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"root": "lcs"},
            "With root = 'lcs' in column 'a' the values that taxonomy-exponential may release would depend",
        ),
        ({"measure": "lin", "information_content": "data"}, "With information_content = 'data' in column 'a'"),
    ],
)
def test_settings_under_which_the_output_would_depend_on_the_data_are_refused(
    keys: dict[str, str], message: str
) -> None:
    plan = {
        "columns": {"a": {"ontology": ILLNESSES, **keys}},
        "steps": [{"method": "taxonomy-exponential", "columns": ["a"], "epsilon": 1.0}],
    }
    with pytest.raises(PlanError, match=message):
        anonto.mask(pl.DataFrame({"a": ["flu", "measles"]}), plan, seed=1 << 90)


def test_columns_without_one_ontology_are_refused() -> None:
    table = pl.DataFrame({"a": ["flu", "burn", "flu"], "x": [1, 2, 3]})
    for name, keys, found in (("a", {}, "has none"), ("x", {"kind": "numeric"}, "is not nominal")):
        plan = {
            "columns": {name: keys},
            "steps": [{"method": "taxonomy-exponential", "columns": [name], "epsilon": 1.0}],
        }
        with pytest.raises(PlanError, match=f"needs column '{name}' to be nominal.*but it {found}"):
            anonto.mask(table, plan, seed=1 << 90)


def test_with_a_seed_that_can_be_guessed_nothing_is_proved() -> None:
    method = TaxonomyExponential(epsilon=1.0)
    assert method.guarantee(Setting()).proved
    promise = method.guarantee(Setting(guessable_seed=True))
    assert not promise.proved
    assert promise.conditions.startswith("the seed can be guessed")
