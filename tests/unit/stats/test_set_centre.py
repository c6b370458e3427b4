"""Centres of sets against all sets of concepts, and the dependence of columns of sets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
import oracles
from anonto import stats
from anonto.encoding.set_space import SetSpace
from anonto.errors import AllMissingError, ColumnError, ParameterError
from anonto.stats.set_centre import centres_of_sets
from budget import examples
from strategies import hierarchies, taxonomy_of

KINDS = ["matching", "best-match-average"]
ILLS = anonto.read_ontology("illnesses")
CODES = sorted(ILLS.ids)
SETS = st.lists(st.sets(st.sampled_from(CODES), max_size=4), min_size=1, max_size=6)


def distance_of(tax: anonto.Taxonomy, kind: str):  # type: ignore[no-untyped-def]
    return lambda a, b: stats.set_distance(list(a), list(b), tax, kind=kind)


@pytest.mark.parametrize("kind", KINDS)
@given(sets=SETS)
@settings(max_examples=examples(15))
def test_no_change_of_one_element_brings_the_mean_nearer_to_the_sets(kind: str, sets: list[set[str]]) -> None:
    mean, distance = stats.set_mean(sets, ILLS, kind=kind), distance_of(ILLS, kind)
    total = oracles.sum_of_squared_set_distances(mean, sets, distance)
    assert stats.set_variance(sets, ILLS, kind=kind) == pytest.approx(total / len(sets), abs=1e-12)
    assert total <= min(oracles.sum_of_squared_set_distances(one, sets, distance) for one in sets) + 1e-9
    candidates = {above for one in sets for element in one for above in ILLS.ancestors(element)}
    leaving = [set(), *({one} for one in mean)]
    coming = [set(), *({one} for one in candidates)]
    for out, new in itertools.product(leaving, coming):
        changed = (set(mean) - out) | new
        assert total <= oracles.sum_of_squared_set_distances(changed, sets, distance) + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@given(sets=SETS, order=st.randoms(use_true_random=False))
@settings(max_examples=examples(15))
def test_the_mean_does_not_depend_on_the_order_of_records_or_elements(kind: str, sets: list[set[str]], order) -> None:  # type: ignore[no-untyped-def]
    shuffled = [order.sample(sorted(one), len(one)) * 2 for one in order.sample(sets, len(sets))]
    assert stats.set_mean(sets, ILLS, kind=kind) == stats.set_mean(shuffled, ILLS, kind=kind)


def random_case(rng: np.random.Generator, n_parents: int) -> tuple[anonto.Taxonomy, list[list[str]]]:
    """A hierarchy of ten concepts, and three to seven sets of one to four of them."""
    names = [f"c{n}" for n in range(10)]
    parents = {names[0]: ()} | {
        names[n]: tuple(sorted({names[int(p)] for p in rng.integers(0, n, n_parents)})) for n in range(1, 10)
    }
    sizes = rng.integers(1, 5, int(rng.integers(3, 8)))
    return taxonomy_of(parents), [rng.choice(names, size, replace=False).tolist() for size in sizes]


@pytest.mark.parametrize(
    ("kind", "n_parents", "n_found", "mean_gap", "largest_gap"),
    [
        ("matching", 1, 297, 0.0002, 0.05),
        ("matching", 2, 284, 0.0018, 0.27),
        ("best-match-average", 1, 282, 0.0021, 0.11),
        ("best-match-average", 2, 281, 0.0038, 0.21),
    ],
)
def test_the_gap_to_the_best_of_all_sets_is_the_one_in_the_docs(
    kind: str, n_parents: int, n_found: int, mean_gap: float, largest_gap: float
) -> None:
    rng, gaps = np.random.default_rng(1), []
    for _ in range(300):
        tax, sets = random_case(rng, n_parents)
        every = [some for size in range(11) for some in itertools.combinations(sorted(tax.ids), size)]
        space = space_of(sets, tax, kind)
        extended, codes = space.codes_of(every)
        squares = extended.distance_tables()(codes, np.arange(space.counts.size)) ** 2
        sums = dict(zip(every, (squares * space.counts).sum(axis=1), strict=True))
        best = min(sums.values())
        gaps.append(sums[stats.set_mean(sets, tax, kind=kind)] / best - 1.0 if best else 0.0)
    assert np.count_nonzero(np.array(gaps) < 1e-9) == n_found
    assert np.mean(gaps) == pytest.approx(mean_gap, abs=0.00005)
    assert np.max(gaps) == pytest.approx(largest_gap, abs=0.005)


def space_of(sets: list[list[str]], tax: anonto.Taxonomy, kind: str) -> SetSpace:
    from anonto.stats.set_centre import _space_of_sets

    return _space_of_sets(sets, tax, "wu-palmer", kind, "ontology", "sanchez")


@given(drawn=hierarchies(max_concepts=6), data=st.data())
@settings(max_examples=examples(10))
def test_the_sum_of_a_mean_is_never_below_that_of_the_best_set(drawn, data: st.DataObject) -> None:  # type: ignore[no-untyped-def]
    tax = taxonomy_of(drawn)
    sets = data.draw(st.lists(st.sets(st.sampled_from(sorted(drawn)), max_size=3), min_size=1, max_size=3))
    distance = distance_of(tax, "matching")
    own = oracles.sum_of_squared_set_distances(stats.set_mean(sets, tax), sets, distance)
    assert own >= oracles.best_set(sorted(drawn), sets, distance) - 1e-9


def test_counts_weigh_sets_as_repetitions_do() -> None:
    sets = [["flu", "burn"], ["burn"], ["fracture"]]
    space = space_of(sets, ILLS, "matching")
    (weighted,) = centres_of_sets(space, np.array([0, 3]), np.arange(3, dtype=np.int32), np.array([1, 5, 2]))
    names = space.sets_from(0)
    repeated = [one for one, n in zip(names, (1, 5, 2), strict=True) for _ in range(n)]
    assert weighted == stats.set_mean(repeated, ILLS)


def test_the_mean_of_equal_sets_is_that_set() -> None:
    assert stats.set_mean([["burn", "flu"]] * 3, ILLS) == ("burn", "flu")
    assert stats.set_mean([[], None, []], ILLS) == ()
    assert stats.set_variance([["burn"]] * 4, ILLS) == 0.0


def test_the_mean_of_single_concepts_may_have_several() -> None:
    """At distance 1 from each other, two sets are nearer to their union than to each other."""
    assert stats.set_mean([["burn"], ["burn"], ["flu"], ["flu"]], ILLS, "equality") == ("burn", "flu")


def test_best_match_average_is_no_metric() -> None:
    one, both, other = ["burn"], ["burn", "flu"], ["flu"]
    distance = distance_of(ILLS, "best-match-average")
    assert distance(one, other) > distance(one, both) + distance(both, other) + 0.1


# ------------------------------------------------------------------------------------------------ dependence


def table_of(values: list, tax: anonto.Taxonomy, kind: str) -> np.ndarray:  # type: ignore[no-untyped-def, type-arg]
    return np.array([[stats.set_distance(a, b, tax, kind=kind) for b in values] for a in values])


@pytest.mark.parametrize("kind", KINDS)
def test_distance_correlations_are_those_of_all_pairs_of_records(kind: str) -> None:
    rng = np.random.default_rng(5)
    a = [rng.choice(CODES, rng.integers(0, 4), replace=False).tolist() for _ in range(40)]
    b = [[*one[:1], *rng.choice(CODES, 1).tolist()] for one in a]
    numbers = [len(one) + float(rng.normal()) for one in a]
    texts = ["many" if len(one) > 1 else "few" for one in a]
    concepts = [one[0] for one in b]
    of_a = table_of(a, ILLS, kind)
    of_others = [
        (b, ILLS, table_of(b, ILLS, kind)),
        (numbers, None, np.abs(np.subtract.outer(numbers, numbers))),
        (texts, None, np.not_equal.outer(texts, texts).astype(float)),
        (concepts, ILLS, table_of([[one] for one in concepts], ILLS, kind)),
    ]
    for other, tax, distances in of_others:
        expected = oracles.distance_correlation_of_tables(of_a, distances)
        assert stats.set_distance_correlation(a, other, ILLS, tax, kind=kind) == pytest.approx(expected, abs=1e-10)
    with_missing = [None, *a], [["flu"], *b]
    expected = stats.set_distance_correlation(a, b, ILLS, ILLS, kind=kind)
    assert stats.set_distance_correlation(*with_missing, ILLS, ILLS, kind=kind) == expected


def test_sets_of_one_concept_depend_on_each_other_as_the_concepts_do() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.choice(CODES, 30).tolist(), rng.choice(CODES, 30).tolist()
    expected = stats.distance_correlation(a, b, ILLS, ILLS)
    found = stats.set_distance_correlation([[one] for one in a], [[one] for one in b], ILLS, ILLS)
    assert found == pytest.approx(expected, abs=1e-12)
    assert stats.set_distance_correlation([["flu"]] * 30, b, ILLS, ILLS) == 0.0


def test_bad_columns_of_sets_are_refused() -> None:
    with pytest.raises(ParameterError, match="sets must be a column of collections"):
        stats.set_mean(["flu", "burn"], ILLS)
    with pytest.raises(ParameterError, match="every value is a collection, or none is"):
        stats.set_mean([["flu"], "burn"], ILLS)
    with pytest.raises(ParameterError, match="kind must be"):
        stats.set_mean([["flu"]], ILLS, kind="nearest")
    with pytest.raises(AllMissingError):
        stats.set_mean([None], ILLS)
    with pytest.raises(ColumnError):
        stats.set_distance_correlation([["flu"]], [1.0, 2.0], ILLS)
