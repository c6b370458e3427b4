"""Rank swapping of one column: the paper's example, its algorithms record by record, and what always holds."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter

import numpy as np
import pytest
from benchmarks.applying import apply_in_chunks
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.stats import chi2_contingency, chisquare, hypergeom

import anonto
import oracles
from anonto.encoding.columns import encode
from anonto.encoding.value_space import (
    ExtendedSpace,
    MeanSpace,
    NumericSpace,
    TextSpace,
    nominal_space,
)
from anonto.errors import AnontoWarning, ParameterError
from anonto.methods import number_kernels, rank_kernels, rank_swap, ring_kernels, ring_search_kernels
from anonto.methods.parameters import k_for
from anonto.methods.rank_swap_fixed import _order, mean_distances, most_distant_value
from anonto.methods.registry import method_of
from anonto.random.streams import Seed, keyed_permutations
from budget import examples
from strategies import taxonomy_of

pytestmark = pytest.mark.slow

NERVOUS = anonto.read_ontology("nervous-system")
INTERVALS = ("all", "unswapped")


class Placed:
    """Values with given distances."""

    def __init__(self, distances, counts) -> None:
        self.table, self.counts = np.asarray(distances, float), np.asarray(counts, np.int64)

    def distances(self):
        return self.table

    def pair_distances(self, a, b):
        return self.table[a, b]

    def distances_from(self, codes):
        return self.table[codes]

    def distance_tables(self):
        return lambda a, b: self.table[np.ix_(a, b)]


def numbers_of(numbers, counts) -> NumericSpace:
    return NumericSpace(np.asarray(numbers, float), np.asarray(counts, np.int64))


def rows_of(counts) -> list[int]:
    return np.repeat(np.arange(len(counts)), counts).tolist()


def table_of(transitions):
    amounts = np.zeros((transitions.sizes.size, transitions.sizes.size), int)
    amounts[transitions.sources, transitions.targets] = transitions.amounts
    return amounts


def quietly_fitted(method, value_space, number: int = 0):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "k = .* is not below the", AnontoWarning)
        return method.fit(value_space, np.random.default_rng(number))


# ------------------------------------------------------------------------------------------------ the paper's example


@pytest.fixture
def nervous():
    column = encode(list(NERVOUS.ids))
    return nominal_space(column, NERVOUS, measure="wu-palmer"), {value: n for n, value in enumerate(column.values)}


def test_the_most_distant_value_of_the_example_is_neuropathy(nervous) -> None:
    value_space, number = nervous
    sums = mean_distances(value_space) * 8
    expected = {"NEUROPATHY": 3.7333, "DNS": 3.0, "COMA": 2.9333, "VARICELLA": 2.9333}
    expected |= dict.fromkeys(["HEPATIC", "HYPOGLYCEMIC", "HZO", "HZA"], 3.5667)
    assert {value: round(sums[n], 4) for value, n in number.items()} == expected
    chosen = {most_distant_value(sums / 8, value_space.counts, np.random.default_rng(seed)) for seed in range(20)}
    assert chosen == {number["NEUROPATHY"]}


def test_the_fixed_order_of_the_example_begins_as_in_the_paper(nervous) -> None:
    value_space, number = nervous
    names = {n: value for value, n in number.items()}
    orders = {tuple(names[n] for n in _order(value_space, np.random.default_rng(seed))) for seed in range(60)}
    assert {order[:2] for order in orders} == {("NEUROPATHY", "DNS")}
    assert {frozenset(order[2:4]) for order in orders} == {frozenset({"COMA", "VARICELLA"})}
    assert {order[2] for order in orders} == {"COMA", "VARICELLA"}
    assert ("HEPATIC", "HZO") in {order[4:6] for order in orders}, "values at equal distance are in random order"


def test_the_interval_of_hepatic_coma_is_the_papers(nervous) -> None:
    """k = 2: coma at .2 and hypoglycemic coma at .333."""
    value_space, number = nervous
    partners = set()
    for seed in range(400):
        masked = table_of(method_of("rank-swap", {"k": 2}).fit(value_space, np.random.default_rng(seed)))
        partners |= set(np.flatnonzero(masked[number["HEPATIC"]]).tolist())
    names = {value for value, n in number.items() if n in partners}
    assert names == {"COMA", "HYPOGLYCEMIC", "HEPATIC"}


# ------------------------------------------------------------------------------------------------ distributions

STAR = 1 - np.eye(4)
LINE = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) / 3
TREE = np.array([[0, 0.2, 0.6, 0.6], [0.2, 0, 0.6, 0.6], [0.6, 0.6, 0, 0.2], [0.6, 0.6, 0.2, 0]])
SYNONYMS = np.array([[0, 0, 0.5, 1], [0, 0, 0.5, 1], [0.5, 0.5, 0, 0.5], [1, 1, 0.5, 0]])
COLUMNS = {
    "distinct values of a tree": Placed(TREE, [1, 1, 1, 1]),
    "frequent values of a tree": Placed(TREE, [4, 1, 2, 2]),
    "values on a line": Placed(LINE, [2, 3, 1, 2]),
    "two spellings of one concept": Placed(SYNONYMS, [2, 1, 3, 1]),
    "texts": TextSpace(np.array([3, 2, 1, 2])),
    "a value that no record has": Placed(TREE, [3, 0, 2, 2]),
    "numbers": numbers_of([2, 0, 1, 4], [2, 1, 3, 1]),
    "numbers at equal distances": numbers_of([0, 1, 2, 3, 4], [1, 1, 2, 1, 1]),
    "equal numbers": numbers_of([5, 5, 1, 9], [2, 1, 2, 2]),
}


def outcomes(fits):
    return Counter((*table_of(transitions).ravel().tolist(), transitions.untouched) for transitions in fits)


def expected_outcomes(n_values: int, codes, runs):
    found = Counter()
    for masked, untouched in runs:
        amounts = np.zeros((n_values, n_values), int)
        np.add.at(amounts, (codes, masked), 1)
        found[(*amounts.ravel().tolist(), untouched)] += 1
    return found


def assert_alike(found: Counter, expected: Counter) -> None:
    seen = sorted(set(found) | set(expected))
    table = np.array([[found[o] for o in seen], [expected[o] for o in seen]])
    rare = table.sum(axis=0) < 10
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] > 1:
        assert chi2_contingency(table).pvalue > 1e-4


def compare_rank_swap(value_space, k: int, interval: str, n: int = 700) -> None:
    codes, method = rows_of(value_space.counts), method_of("rank-swap", {"k": k, "interval": interval})
    rng, distances = np.random.default_rng(11), value_space.distances()
    found = outcomes(method.fit(value_space, np.random.default_rng(number)) for number in range(n))
    runs = (oracles.rank_swap(codes, distances, k, rng, interval) for _ in range(n))
    assert_alike(found, expected_outcomes(value_space.counts.size, codes, runs))


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize(("name", "k"), list(zip(COLUMNS, itertools.cycle([2, 3, 5, 1]), strict=False)))
def test_rank_swap_is_distributed_as_the_papers_algorithm(name: str, k: int, interval: str) -> None:
    value_space = COLUMNS[name]
    compare_rank_swap(value_space, min(k, int(value_space.counts.sum()) - 1), interval)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", ["frequent values of a tree", "two spellings of one concept", "numbers"])
def test_rank_swap_fixed_is_distributed_as_the_papers_algorithm(name: str, k: int) -> None:
    value_space, n = COLUMNS[name], 700
    codes, method = rows_of(value_space.counts), method_of("rank-swap-fixed", {"k": k})
    rng, distances = np.random.default_rng(12), value_space.distances()
    found = outcomes(method.fit(value_space, np.random.default_rng(number)) for number in range(n))
    runs = ((oracles.rank_swap_fixed(codes, distances, k, rng), len(codes) % 2) for _ in range(n))
    assert_alike(found, expected_outcomes(value_space.counts.size, codes, runs))


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("room", [0, 1 << 25])
def test_little_knowledge_of_the_surroundings_changes_nothing(
    room: int, interval: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One far ring at a time, every ring shared and hollow, and everything forgotten whenever something is wanted."""
    for name, number in {
        "FAR_VALUES": 1,
        "FAR_SHARE": 99,
        "NEAR_VALUES": 1,
        "SHARED_FROM": 2,
        "HOLLOW_FROM": 2,
    }.items():
        monkeypatch.setattr(rank_swap, name, number)
    monkeypatch.setattr(rank_swap, "MOST_MEMBERS", room)
    for name in ("frequent values of a tree", "values on a line"):
        compare_rank_swap(COLUMNS[name], 3, interval)


def chapters(*sizes: int):
    """Codes of chapters: at distance .5 within one, 1 otherwise."""
    chapter = np.repeat(np.arange(len(sizes)), sizes)
    return np.where(np.equal.outer(chapter, chapter), 0.5, 1.0) - 0.5 * np.eye(chapter.size), chapter


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("k", [4, 40])
def test_large_rings_are_drawn_from_as_the_paper_does(k: int, interval: str) -> None:
    """Too many outcomes to compare; how many records stay, have no partner or leave their chapter is compared."""
    distances, chapter = chapters(66, 8)
    counts = np.random.default_rng(3).integers(1, 3, chapter.size)
    value_space, codes, runs = Placed(distances, counts), np.repeat(np.arange(chapter.size), counts), 40
    method, rng = method_of("rank-swap", {"k": k, "interval": interval}), np.random.default_rng(13)
    found, expected = [], []
    for number in range(4 * runs):
        transitions = method.fit(value_space, np.random.default_rng(number))
        left = table_of(transitions)[np.not_equal.outer(chapter, chapter)].sum()
        found.append((transitions.moves.unchanged, transitions.untouched, left))
    for _ in range(runs):
        masked, untouched = oracles.rank_swap(codes.tolist(), distances, k, rng, interval)
        left = (chapter[masked] != chapter[codes]).sum()
        expected.append(((np.array(masked) == codes).sum(), untouched, left))
    ours, theirs = np.array(found, float), np.array(expected, float)
    error = np.sqrt(ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs))
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= 4 * error + 1e-9).all()


# ------------------------------------------------------------------------------------------------ what always holds


@st.composite
def value_spaces(draw: st.DrawFn):
    n = draw(st.integers(1, 7))
    counts = np.array(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), np.int64)
    kind = draw(st.sampled_from(["placed", "numbers", "texts"]))
    if kind == "texts":
        return TextSpace(counts)
    places = np.array(draw(st.lists(st.integers(0, 6), min_size=2 * n, max_size=2 * n)), float).reshape(2, n)
    if kind == "numbers":
        return NumericSpace(places[0], counts)
    apart = np.abs(places[:, :, None] - places[:, None, :]).sum(axis=0) / 12
    return Placed(apart, counts)


def fits_of(value_space, k: int, number: int):
    for name, more in (("rank-swap-fixed", {}), *(("rank-swap", {"interval": one}) for one in INTERVALS)):
        yield name, more.get("interval"), quietly_fitted(method_of(name, {"k": k, **more}), value_space, number)


@given(value_space=value_spaces(), k=st.integers(1, 12), number=st.integers(0, 99))
@settings(max_examples=examples(120))
def test_every_frequency_is_kept_and_transitions_are_symmetric(value_space, k: int, number: int) -> None:
    for _, _, transitions in fits_of(value_space, k, number):
        amounts = table_of(transitions)
        assert amounts.sum(axis=1).tolist() == value_space.counts.tolist()
        assert (amounts == amounts.T).all()


@given(value_space=value_spaces(), k=st.integers(1, 12), number=st.integers(0, 99))
@settings(max_examples=examples(120))
def test_only_one_of_an_odd_number_has_no_partner_unless_intervals_are_taken_among_all(
    value_space, k: int, number: int
) -> None:
    n = int(value_space.counts.sum())
    for name, interval, transitions in fits_of(value_space, k, number):
        assert transitions.untouched % 2 == n % 2
        assert (name, interval) == ("rank-swap", "all") or transitions.untouched == n % 2


@given(value_space=value_spaces(), k=st.integers(1, 12), number=st.integers(0, 99))
@settings(max_examples=examples(120))
def test_no_value_comes_from_outside_an_interval(value_space, k: int, number: int) -> None:
    """If two values are exchanged, one has the other among its k nearest records."""
    transitions = quietly_fitted(method_of("rank-swap", {"k": k}), value_space, number)
    distances = np.round(value_space.distances(), 12)
    codes = np.repeat(np.arange(value_space.counts.size), value_space.counts)
    for a, b in zip(transitions.sources.tolist(), transitions.targets.tolist(), strict=True):
        reach = [np.sort(distances[value][codes])[min(k, codes.size - 1)] for value in (a, b)]
        assert distances[a, b] <= max(reach)


@given(value_space=value_spaces(), k=st.integers(1, 12), number=st.integers(0, 99))
@settings(max_examples=examples(30))
def test_the_same_generator_gives_the_same_transitions(value_space, k: int, number: int) -> None:
    for first, second in zip(fits_of(value_space, k, number), fits_of(value_space, k, number), strict=True):
        assert (table_of(first[2]) == table_of(second[2])).all()
        assert first[2].untouched == second[2].untouched


@given(counts=st.lists(st.integers(3, 9), min_size=1, max_size=6), number=st.integers(0, 99))
def test_nothing_changes_where_every_value_has_more_than_k_records(counts: list[int], number: int) -> None:
    value_space = numbers_of(range(len(counts)), counts)
    for other in (value_space, Placed(value_space.distances(), counts)):
        transitions = quietly_fitted(method_of("rank-swap", {"k": 2}), other, number)
        assert transitions.moves.unchanged == sum(counts)


# ------------------------------------------------------------------------------------------------ sizes


def random_tree(n: int, seed: int):
    rng = np.random.default_rng(seed)
    parents = {f"c{i}": (f"c{rng.integers(max(0, i // 6), max(1, i // 2))}",) if i else () for i in range(n)}
    tax = taxonomy_of(parents)
    leaves = sorted(set(parents) - {above for one in parents.values() for above in one})
    return nominal_space(encode(leaves), tax, measure="wu-palmer")


@pytest.mark.parametrize(("k", "share"), [(2, 0.21), (3, 0.125), (5, 0.08), (10, 0.045), (20, 0.02), (50, 0.01)])
def test_as_many_distinct_values_find_no_partner_as_were_found_before(k: int, share: float) -> None:
    fitted = [
        method_of("rank-swap", {"k": k}).fit(tree, np.random.default_rng(number))
        for number, tree in enumerate(random_tree(900, seed) for seed in range(4))
    ]
    untouched = sum(transitions.untouched for transitions in fitted) / sum(
        transitions.sizes.sum() for transitions in fitted
    )
    assert untouched == pytest.approx(share, rel=0.4)


def rmse(method, value_space, seeds: int = 4) -> float:
    squares = 0.0
    for number in range(seeds):
        moves = method.fit(value_space, np.random.default_rng(number)).moves
        squares += (value_space.pair_distances(moves.sources, moves.targets) ** 2 * moves.amounts).sum()
    return float(np.sqrt(squares / seeds / value_space.counts.sum()))


@pytest.mark.parametrize("interval", INTERVALS)
def test_the_distance_moved_grows_with_k_and_stays_below_random_swapping(interval: str) -> None:
    for value_space in (random_tree(700, 5), numbers_of(np.random.default_rng(6).normal(size=400), np.ones(400))):
        found = [rmse(method_of("rank-swap", {"k": k, "interval": interval}), value_space) for k in (2, 10, 50)]
        found.append(rmse(method_of("random-swap", {}), value_space))
        assert all(a < b for a, b in itertools.pairwise(found))


def test_the_fixed_order_moves_values_farther() -> None:
    value_space = random_tree(700, 5)
    assert rmse(method_of("rank-swap-fixed", {"k": 5}), value_space) > 1.2 * rmse(
        method_of("rank-swap", {"k": 5}), value_space
    )


def test_among_unswapped_records_values_go_farther() -> None:
    value_space = random_tree(700, 5)
    narrow, wide = (rmse(method_of("rank-swap", {"k": 5, "interval": one}), value_space) for one in INTERVALS)
    assert narrow < wide < 2.5 * narrow


def test_many_values_are_looked_at_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    value_space = random_tree(700, 7)
    monkeypatch.setattr("anonto.methods.rank_swap_fixed.DISTANCES_AT_ONCE", 20_000)
    monkeypatch.setattr(rank_swap, "FAR_VALUES", 16)
    for name, interval, transitions in fits_of(value_space, 7, 1):
        assert table_of(transitions).sum(axis=0).tolist() == value_space.counts.tolist(), (name, interval)


def test_many_distinct_numbers_need_no_table_of_pairs() -> None:
    n = 200_000
    value_space = numbers_of(np.random.default_rng(1).permutation(n), np.ones(n))
    for name, interval, transitions in fits_of(value_space, 10, 1):
        moved = np.abs(value_space.numbers[transitions.sources] - value_space.numbers[transitions.targets])
        assert transitions.moves.after(n).max() == 1
        assert interval != "all" or moved.max() <= 10
        assert name != "rank-swap-fixed" or moved.max() <= 10


def test_numbers_closer_than_the_tolerance_are_ties_and_take_no_longer() -> None:
    """One number far away makes all others equal to twelve decimals."""
    n = 30_000
    value_space = numbers_of(np.append(np.arange(n), 1e17), np.ones(n + 1))
    for _, interval, transitions in fits_of(value_space, 3, 2):
        moved = np.abs(value_space.numbers[transitions.sources] - value_space.numbers[transitions.targets])
        assert transitions.untouched % 2 == (n + 1) % 2
        assert interval is None or np.median(moved) > n / 10


def test_applying_gives_the_records_that_fit_counted() -> None:
    value_space = random_tree(300, 8)
    codes = np.random.default_rng(2).permutation(np.repeat(np.arange(value_space.counts.size, dtype=np.int32), 2))
    counted = Placed(value_space.distances(), np.bincount(codes))
    seed = Seed(1 << 80)
    transitions = method_of("rank-swap", {"k": 5}).fit(counted, seed.stream("fit"))
    masked = apply_in_chunks(transitions, keyed_permutations(seed, "apply", transitions.sizes), codes)
    assert Counter(masked.tolist()) == Counter(codes.tolist())
    assert np.count_nonzero(masked == codes) == transitions.moves.unchanged < codes.size


def test_tables_of_distances_are_parts_of_that_of_all_pairs(nervous) -> None:
    nominal, _ = nervous
    kinds = [
        nominal,
        MeanSpace((nominal, nominal)),
        numbers_of(range(8), np.ones(8)),
        TextSpace(nominal.counts),
    ]
    kinds.append(ExtendedSpace(nominal, np.array([2, 1])))
    for value_space in kinds:
        rows, columns, whole = np.array([1, 7, 0]), np.array([6, 2, 7, 1]), value_space.distances()
        rows, columns = np.append(rows, len(whole) - 1), np.append(columns, len(whole) - 1)
        assert np.allclose(value_space.distances_from(rows), whole[rows], rtol=0, atol=1e-15)
        assert np.allclose(
            value_space.distance_tables()(rows, columns), whole[np.ix_(rows, columns)], rtol=0, atol=1e-15
        )


# ------------------------------------------------------------------------------------------------ edges, bad input


@pytest.mark.parametrize("counts", [[], [0], [1], [0, 1], [5], [1, 1], [0, 2, 0]])
def test_columns_of_few_records_or_values_are_swapped(counts: list[int]) -> None:
    kinds = (TextSpace(np.array(counts, np.int64)), numbers_of(range(len(counts)), counts))
    for value_space in (*kinds, Placed(1 - np.eye(len(counts)), counts)):
        for _, _, transitions in fits_of(value_space, 4, 0):
            assert table_of(transitions).sum(axis=0).tolist() == counts
            assert transitions.untouched == sum(counts) % 2


@pytest.mark.parametrize("name", ["rank-swap-fixed", "rank-swap"])
def test_a_k_larger_than_the_table_is_reported_and_reduced(name: str) -> None:
    with pytest.warns(AnontoWarning, match="k = 9 is not below the 3 records; 2 was used"):
        method_of(name, {"k": 9}).fit(TextSpace(np.array([1, 1, 1])), np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", AnontoWarning)
        method_of(name, {"k": 2}).fit(TextSpace(np.array([1, 1, 1])), np.random.default_rng(0))


@pytest.mark.parametrize(("percent", "n", "k"), [(10, 100, 10), (0.1, 100, 1), (2.6, 100, 3), (100, 7, 7), (50, 0, 1)])
def test_percent_is_a_share_of_the_records(percent: float, n: int, k: int) -> None:
    assert k_for(None, percent, n) == k


@pytest.mark.parametrize("name", ["rank-swap-fixed", "rank-swap"])
def test_percent_and_the_same_k_give_the_same_transitions(name: str) -> None:
    value_space = numbers_of(range(50), np.ones(50))
    by_k, by_percent = (
        method_of(name, parameters).fit(value_space, np.random.default_rng(3))
        for parameters in ({"k": 5}, {"percent": 10})
    )
    assert (table_of(by_k) == table_of(by_percent)).all()


@pytest.mark.parametrize("name", ["rank-swap-fixed", "rank-swap"])
@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({}, "k must be given, or percent instead of it; got None"),
        ({"k": 3, "percent": 5}, "percent must be left out where k is given; got 5"),
        *(({"k": k}, "k must be a whole number, 1 or more") for k in (0, -1, 2.5, True, "3", float("nan"))),
        *(
            ({"percent": percent}, "percent must be a number above 0 and at most 100")
            for percent in (0, -1, 100.1, float("nan"), float("inf"), True, "5")
        ),
    ],
)
def test_wrong_parameters_are_refused_by_name(name: str, parameters, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        method_of(name, parameters)


@pytest.mark.parametrize("interval", ["none", "", None, 1])
def test_an_unknown_interval_is_refused(interval: object) -> None:
    with pytest.raises(ParameterError, match='interval must be "all" or "unswapped"'):
        method_of("rank-swap", {"k": 3, "interval": interval})


# ------------------------------------------------------------------------------------------------ kernels


def assert_drawn_as(found, shares) -> None:
    """Numbers of draws against their probabilities."""
    found, shares = np.asarray(found, float), np.asarray(shares, float)
    assert (found[shares == 0] == 0).all()
    if np.count_nonzero(shares) > 1:
        assert chisquare(found[shares > 0], found.sum() * shares[shares > 0]).pvalue > 1e-4


def test_the_first_reference_is_drawn_by_records() -> None:
    counts, rng = np.array([1, 8, 0, 3, 4]), np.random.default_rng(7)
    means = np.array([0.5, 0.5 - 1e-14, 0.9, 0.5, 0.2])
    found = np.bincount([most_distant_value(means, counts, rng) for _ in range(3000)], minlength=5)
    assert_drawn_as(found, [1 / 12, 8 / 12, 0, 3 / 12, 0])


def test_a_ring_is_drawn_from_by_its_free_records_outside_its_hole() -> None:
    counts = np.array([9, 9, 9, 9, 9, 9, 9])
    pool = rank_swap._Pool(counts)
    ring, hole = pool.add_each([np.arange(6, dtype=np.int32), np.array([1, 4], dtype=np.int32)], counts)
    free = np.array([1, 5, 0, 6, 9, 2, 9])
    rng, found = np.random.default_rng(8), np.zeros((2, 7))
    for _ in range(3000):
        found[0, ring_kernels.draw_from(ring, hole, free, *pool.arrays, rng)] += 1
        found[1, ring_kernels.draw_from(ring, counts.size, free, *pool.arrays, rng)] += 1
    assert_drawn_as(found[0], np.array([1, 0, 0, 6, 0, 2, 0]) / 9)
    assert_drawn_as(found[1], np.array([1, 5, 0, 6, 9, 2, 0]) / 23)
    free[[0, 3, 5]] = 0
    assert ring_kernels.draw_from(ring, hole, free, *pool.arrays, rng) == -1
    assert ring_kernels.draw_from(2, counts.size, free, *pool.arrays, rng) == -1


@pytest.mark.parametrize(
    ("counts", "free", "k", "inner"),
    [
        ([20] + [1] * 70, [6] + [1] * 9 + [0] * 61, 4, []),
        ([2] + [1] * 256, [1] + [0] * 230 + [1] * 26, 30, [0]),
        ([2] + [1] * 256, [1] + [0] * 230 + [1] * 26, 8, []),
        ([1] * 66, [0] * 46 + [1] * 20, 2, []),
        ([4] + [2] * 100, [0] + [0, 1] * 50, 9, [0, 1]),
        ([1] + [1] * 40, [0] * 41, 9, [0]),
    ],
)
def test_looking_into_a_large_ring_finds_free_records_as_counting_does(counts, free, k: int, inner: list[int]) -> None:
    """The reference has value 0; the free records are those left after it was taken."""
    counts, free = np.array(counts), np.array(free)
    ring = np.setdiff1d(np.arange(counts.size), inner)
    inside = counts[inner].sum() - 1 if inner else 0
    population = counts[ring].sum() - (not inner)
    value_space = Placed(np.zeros((counts.size, counts.size)), counts)
    value_space.table[0, ring] = value_space.table[ring, 0] = 1 if inner else 0
    known = rank_swap._Surroundings(value_space, k, "all", counts)
    known.find_first()
    assert known.intervals[0][["inside", "wanted", "population"]].tolist() == (inside, k - inside, population)
    shares = np.zeros(counts.size + 1)
    on_ring, free_inside, free_on_ring = (
        hypergeom(population, free[ring].sum(), k - inside),
        free[inner].sum(),
        free[ring].sum(),
    )
    for drawn in range(k - inside + 1):
        total, probability = free_inside + drawn, on_ring.pmf(drawn)
        if total:
            shares[inner] += probability * free[inner] / total
            shares[ring] += probability * drawn / total * free[ring] / max(free_on_ring, 1)
        else:
            shares[-1] += probability
    found = partners(2_000_000, free, known.intervals, *known.near.arrays, np.random.default_rng(9))
    assert_drawn_as(found, shares)
    assert_drawn_as([found[:-1].sum(), found[-1]], [1 - shares[-1], shares[-1]])


@njit
def partners(n, free, intervals, rings, members, rng):  # type: ignore[no-untyped-def]
    found = np.zeros(free.size + 1, np.int64)
    seen = np.empty(ring_kernels.MOST_LOOKS, np.int64)
    for _ in range(n):
        found[ring_kernels.partner_among_all(0, free, intervals[0], rings, members, seen, rng)] += 1
    return found


def test_numbers_at_one_distance_are_drawn_by_their_free_records() -> None:
    numbers, free = np.array([0.0, 0, 1, 4, 7, 8, 8]), np.array([3, 1, 5, 2, 5, 0, 4])
    rng, found = np.random.default_rng(10), np.zeros((2, 7))
    tree = number_kernels.build_tree(free)
    for _ in range(3000):
        for row, distance in enumerate((4, 3)):
            steps = distance / 8 * rank_kernels.STEPS
            low, high = ((0, 6), (2, 4))[row]
            found[row, number_kernels.draw_at_distance(steps, 3, low, high, numbers, 8.0, free, tree, rng)] += 1
    assert_drawn_as(found[0], np.array([3, 1, 0, 0, 0, 0, 4]) / 8)
    assert_drawn_as(found[1], np.array([0, 0, 5, 0, 5, 0, 0]) / 10)


@given(population=st.integers(1, 40), marked=st.integers(0, 40), drawn=st.integers(0, 40))
def test_none_drawn_has_its_hypergeometric_probability(population: int, marked: int, drawn: int) -> None:
    marked, drawn = min(marked, population), min(drawn, population)
    probability = float(hypergeom.pmf(0, population, marked, drawn))
    assert rank_kernels.none_drawn(population, marked, drawn, probability - 1e-9) or probability < 1e-9
    assert not rank_kernels.none_drawn(population, marked, drawn, probability + 1e-9) or probability > 1 - 1e-9


@pytest.mark.parametrize("numbers", [(6, 2, 3, 5, 2), (5, 0, 4, 9, 3), (4, 1, 1, 30, 15), (3, 3, 2, 6, 0)])
def test_the_first_free_record_of_an_interval_is_where_counting_says(numbers: tuple[int, ...]) -> None:
    _, free_inside, wanted, population, free_on_ring = numbers
    on_ring = hypergeom(population, free_on_ring, wanted)
    shares = np.zeros(3)
    for drawn in range(wanted + 1):
        probability, total = on_ring.pmf(drawn), free_inside + drawn
        parts = [0, free_inside / total, drawn / total] if total else [1, 0, 0]
        shares += probability * np.array(parts)
    rng, n = np.random.default_rng(4), 4000
    found = np.bincount([rank_kernels.first_free(*numbers, rng) for _ in range(n)], minlength=3)
    assert (found[shares == 0] == 0).all()
    assert (np.abs(found / n - shares) < 5 * np.sqrt(shares * (1 - shares) / n) + 1e-12).all()


@given(
    keys=st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=30), wanted=st.integers(1, 130)
)
def test_the_threshold_is_the_first_key_that_reaches_the_weight(keys, wanted: int) -> None:
    ordered = np.array(sorted(keys))
    enough = np.flatnonzero(np.cumsum(ordered[:, 1]) >= wanted)
    expected = ordered[enough[0] if enough.size else -1, 0]
    given_keys, weights = np.array(keys).T.copy()
    assert ring_search_kernels.find_threshold(given_keys, weights, wanted) == expected


@given(places=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 4)), min_size=1, max_size=25), k=st.integers(1, 60))
def test_windows_hold_the_nearest_records(places, k: int) -> None:
    numbers, counts = np.array(sorted(places), float).T.copy()
    k = min(k, int(counts.sum()) - 1)
    if k < 1:
        return
    distances = np.round(np.abs(np.subtract.outer(numbers, numbers)) / max(np.ptp(numbers), 1), 12)
    windows = number_kernels.find_windows(numbers, float(max(np.ptp(numbers), 1)), counts.astype(np.int64), k)
    for centre, (first, inner, outer, last) in enumerate(windows.tolist()):
        radius = np.sort(np.repeat(distances[centre], counts.astype(int)))[k]
        assert np.flatnonzero(distances[centre] <= radius).tolist() == list(range(first, last + 1))
        assert np.flatnonzero(distances[centre] < radius).tolist() == list(range(inner, outer + 1))


@given(places=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), min_size=1, max_size=25), data=st.data())
def test_the_distance_of_a_rank_is_that_in_sorted_order(places, data) -> None:
    numbers, free = np.array(sorted(places), float).T.copy()
    free = free.astype(np.int64)
    if free.sum() == 0:
        return
    centre = data.draw(st.integers(0, numbers.size - 1))
    rank = data.draw(st.integers(1, int(free.sum())))
    steps = np.sort(np.repeat(np.abs(numbers - numbers[centre]), free)) / 40 * rank_kernels.STEPS
    tree = number_kernels.build_tree(free)
    found = number_kernels.distance_of_rank(rank, centre, int(free.sum()), numbers, 40.0, free, tree)
    assert found == pytest.approx(steps[rank - 1])
