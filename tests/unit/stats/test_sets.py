from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
from anonto import stats
from anonto.errors import InputError, ParameterError
from strategies import hierarchies, taxonomy_of

KINDS = ["matching", "best-match-average"]


@st.composite
def hierarchies_with_sets(draw: st.DrawFn, n_sets: int):  # type: ignore[no-untyped-def]
    parents = draw(hierarchies())
    elements = st.sets(st.sampled_from(sorted(parents)), max_size=4)
    return taxonomy_of(parents), [draw(elements) for _ in range(n_sets)]


def cheapest_matching(a: set[str], b: set[str], tax: anonto.Taxonomy, measure: str) -> float:
    """All ways of pairing the smaller set with elements of the larger, one after the other."""
    small, large = sorted([sorted(a), sorted(b)], key=len)
    if not large:
        return 0.0
    pairings = permutations(large, len(small))
    sums = [sum(tax.distance(x, y, measure) for x, y in zip(small, some, strict=True)) for some in pairings]
    return (min(sums) + len(large) - len(small)) / len(large)


@pytest.mark.parametrize("measure", ["wu-palmer", "ancestor", "equality"])
@given(drawn=hierarchies_with_sets(2))
def test_matching_is_the_cheapest_of_all_pairings(measure: str, drawn) -> None:
    tax, (a, b) = drawn
    assert stats.set_distance(a, b, tax, measure) == pytest.approx(cheapest_matching(a, b, tax, measure), abs=1e-12)


@given(drawn=hierarchies_with_sets(2))
def test_the_best_match_average_is_the_mean_distance_to_the_nearest_element(drawn) -> None:
    tax, (a, b) = drawn
    if not a or not b:
        return
    nearest = [min(tax.distance(x, y) for y in b) for x in a] + [min(tax.distance(x, y) for x in a) for y in b]
    found = stats.set_distance(a, b, tax, kind="best-match-average")
    assert found == pytest.approx(np.mean(nearest), abs=1e-12)


@pytest.mark.parametrize("measure", ["ancestor", "jaccard", "equality"])
@given(drawn=hierarchies_with_sets(3))
def test_matching_keeps_the_triangle_inequality_if_the_measure_does(measure: str, drawn) -> None:
    tax, (a, b, c) = drawn
    there, onwards, direct = (stats.set_distance(x, y, tax, measure) for x, y in ((a, b), (b, c), (a, c)))
    assert direct <= there + onwards + 1e-12


@pytest.mark.parametrize("kind", KINDS)
@given(drawn=hierarchies_with_sets(2))
def test_a_set_distance_is_symmetric_and_zero_for_equal_sets_alone(kind: str, drawn) -> None:
    tax, (a, b) = drawn
    found = stats.set_distance(a, b, tax, kind=kind)
    assert found == pytest.approx(stats.set_distance(b, a, tax, kind=kind), abs=1e-12)
    assert 0 <= found <= 1
    assert (found == 0) == (a == b)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("measure", anonto.MEASURES)
def test_sets_of_one_element_are_as_far_apart_as_their_concepts(measure: str, kind: str) -> None:
    tax = anonto.read_ontology("illnesses")
    for a in tax.ids:
        for b in tax.ids:
            assert stats.set_distance([a], [b], tax, measure, kind) == tax.distance(a, b, measure)


@pytest.mark.parametrize("kind", KINDS)
def test_the_empty_set_is_far_from_every_other_and_at_no_distance_from_itself(kind: str) -> None:
    tax = anonto.read_ontology("illnesses")
    assert stats.set_distance([], [], tax, kind=kind) == 0
    assert stats.set_distance([None], [], tax, kind=kind) == 0
    assert stats.set_distance([], ["flu"], tax, kind=kind) == 1
    assert stats.set_distance(["flu", "burn"], [None], tax, kind=kind) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_order_repetition_and_missing_elements_do_not_matter(kind: str) -> None:
    tax = anonto.read_ontology("illnesses")
    plain = stats.set_distance(["flu", "burn"], ["measles"], tax, kind=kind)
    assert stats.set_distance(("burn", "flu", "burn", None), {"measles"}, tax, kind=kind) == plain
    assert stats.set_distance(np.array(["flu", "burn"]), ["measles"] * 3, tax, kind=kind) == plain


def test_an_element_without_a_concept_is_counted_and_not_shown() -> None:
    tax = anonto.read_ontology("illnesses")
    with pytest.raises(InputError, match=r"1 distinct value \(1 cell\) has no concept") as caught:
        stats.set_distance(["flu"], ["Jane Doe"], tax)
    assert "Jane" not in str(caught.value)


@pytest.mark.parametrize("given_instead", ["flu", b"flu"])
def test_one_text_is_not_a_set_of_its_letters(given_instead: str | bytes) -> None:
    tax = anonto.read_ontology("illnesses")
    with pytest.raises(ParameterError, match="a must be a collection of concept ids"):
        stats.set_distance(given_instead, ["flu"], tax)


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="kind must be 'matching' or 'best-match-average'; got 'hausdorff'"):
        stats.set_distance(["flu"], ["flu"], anonto.read_ontology("illnesses"), kind="hausdorff")
