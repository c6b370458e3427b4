import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest, chisquare, kstest

from anonto.errors import ParameterError
from anonto.random.kernels import (
    DOUBLE_ROUNDS,
    SHUFFLED_UP_TO,
    feistel,
    feistel_back,
    feistel_of_range,
    permute_range,
    rectangles,
)
from anonto.random.streams import KeyedPermutations, Seed, keyed_permutations, row_order, row_words, seed_of

pytestmark = pytest.mark.slow


def test_the_same_seed_and_name_give_the_same_stream_and_others_do_not() -> None:
    draws = [
        Seed(5).stream("a", 1).random(),
        Seed(5).stream("a", 1).random(),
        Seed(5).stream("a", 2).random(),
        Seed(5).stream("a1").random(),
        Seed(6).stream("a", 1).random(),
    ]
    assert draws[0] == draws[1]
    assert len(set(draws)) == 4


def test_names_are_kept_apart() -> None:
    assert Seed(1).key("ab", "c") != Seed(1).key("a", "bc")


def test_a_fresh_seed_is_long_and_never_the_same() -> None:
    seeds = {seed_of(None).number for _ in range(50)}
    assert len(seeds) == 50
    assert not any(Seed(number).can_be_guessed for number in seeds)
    assert Seed(42).can_be_guessed


def test_a_seed_shows_in_no_text() -> None:
    seed = Seed(987654321987654321)
    assert "987654321" not in f"{seed} {seed!r}"
    with pytest.raises(ParameterError) as caught:
        Seed(-987654321)
    assert "987654321" not in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True, 1 << 256])
def test_an_invalid_seed_is_refused(seed: object) -> None:
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        Seed(seed)  # type: ignore[arg-type]


def test_row_draws_are_uniform_and_independent_of_chunks() -> None:
    key = Seed(3).key("noise")
    rows = np.arange(20_000)
    whole = row_words(key, rows, "a")
    parts = [row_words(key, part, "a") for part in np.array_split(rows, 7)]
    for number, words in enumerate(whole):
        assert np.array_equal(words, np.concatenate([part[number] for part in parts]))
        assert kstest(words / 2.0**64, "uniform").pvalue > 1e-4
        assert abs(np.corrcoef(words[:-1], words[1:])[0, 1]) < 0.03
    assert abs(np.corrcoef(*whole)[0, 1]) < 0.03
    assert abs(np.corrcoef(whole[0], row_words(key, rows, "b")[0])[0, 1]) < 0.03


class Network:
    """A network of any size, also of one that has a shuffled table otherwise."""

    def __init__(self, number: int, size: int) -> None:
        (width,), (height,) = rectangles(np.array([size]))
        rng = np.random.default_rng(number)
        shifts = [rng.integers(0, of, n) for of, n in [(width, height), (height, width)] * DOUBLE_ROUNDS]
        self.arguments = np.concatenate(shifts).astype(np.int32), 0, size, width, height

    def sent(self, position: int) -> int:
        return int(feistel(*self.arguments, position))

    def came_from(self, place: int) -> int:
        return int(feistel_back(*self.arguments, place))

    def stretch(self, first: int, last: int, back: bool) -> list[int]:
        out = np.empty(last - first, np.int64)
        feistel_of_range(*self.arguments, first, back, out)
        return out.tolist()


numbers = st.integers(0, 1 << 62)


@given(size=st.integers(1, 40_000), number=numbers)
def test_the_network_is_a_permutation_of_any_size(size: int, number: int) -> None:
    assert sorted(Network(number, size).stretch(0, size, False)) == list(range(size))


@given(size=st.integers(1, 1 << 33), number=numbers, share=st.floats(0, 1, exclude_max=True))
def test_the_network_leads_back_to_where_a_position_was(size: int, number: int, share: float) -> None:
    network, position = Network(number, size), min(int(share * size), size - 1)
    assert network.came_from(network.sent(position)) == position


@given(size=st.integers(1, 5_000), number=numbers, start=st.integers(0, 4_999), back=st.booleans())
def test_a_batch_is_permuted_like_each_of_its_positions(size: int, number: int, start: int, back: bool) -> None:
    network, first = Network(number, size), start % size
    alone = network.came_from if back else network.sent
    assert network.stretch(first, size, back) == [alone(position) for position in range(first, size)]


def is_odd(permutation: list[int]) -> bool:
    """Return whether it takes an odd number of exchanges: elements less cycles."""
    seen, n_cycles = [False] * len(permutation), 0
    for start in range(len(permutation)):
        n_cycles += not seen[start]
        place = start
        while not seen[place]:
            seen[place] = True
            place = permutation[place]
    return (len(permutation) - n_cycles) % 2 == 1


@pytest.mark.parametrize("size", [33**2, 35**2, 37**2, 51**2, 33 * 35, 1_025, 1_026, 1_056, 1_057, 1_100])
def test_half_of_the_orders_are_odd_permutations(size: int) -> None:
    """Also where rows fill a rectangle of two odd sides: shifts round an odd number of places are all even."""
    odd = sum(is_odd(row_order(Seed(number), "rows", size).part(0, size).tolist()) for number in range(200))
    assert binomtest(odd, 200).pvalue > 1e-4


@pytest.mark.parametrize("size", [4, 5])
def test_all_permutations_of_a_few_elements_are_within_reach_of_the_network(size: int) -> None:
    """Not quite equally likely: that is why small groups have shuffled tables."""
    found = Counter(tuple(Network(number, size).stretch(0, size, False)) for number in range(12_000))
    assert set(found) == set(itertools.permutations(range(size)))
    assert max(found.values()) < 2 * 12_000 / math.factorial(size)


def test_pairs_of_places_are_equally_likely_by_the_network() -> None:
    """For all 72 pairs of nine places that two positions can be sent to: of neighbours, of a row and of a column."""
    sent = np.array([Network(number, 9).stretch(0, 9, False) for number in range(14_400)])
    for one, other in ((0, 1), (0, 4), (3, 8)):
        pairs = Counter(zip(sent[:, one].tolist(), sent[:, other].tolist(), strict=True))
        assert len(pairs) == 72
        assert chisquare(list(pairs.values())).pvalue > 1e-4


def permuted(permutations: KeyedPermutations, group: int) -> NDArray[np.int64]:
    """The positions to which the permutation of a group sends all its positions."""
    places = np.empty(permutations.arrays[0][group], dtype=np.int64)
    permute_range(permutations.arrays, group, 0, places)
    return places


def test_a_group_is_permuted_alike_whatever_other_groups_there_are() -> None:
    sizes = np.array([0, 5, 900, 2_000, 0, 1_024, 1_025, 70_000] * 40)
    permutations = keyed_permutations(Seed(4), "swap", sizes)
    alone = keyed_permutations(Seed(4), "swap", np.where(np.arange(sizes.size) % 7 == 0, sizes, 0))
    for group in range(0, sizes.size, 7):
        assert np.array_equal(permuted(permutations, group), permuted(alone, group))


@given(
    sizes=st.lists(st.sampled_from([0, 1, 2, 7, SHUFFLED_UP_TO, SHUFFLED_UP_TO + 1, 9_001]), min_size=1, max_size=4),
    number=st.integers(0, 99),
)
def test_each_group_is_permuted_within_itself(sizes: list[int], number: int) -> None:
    permutations = keyed_permutations(Seed(number), "swap", np.array(sizes))
    for group, size in enumerate(sizes):
        assert np.array_equal(np.sort(permuted(permutations, group)), np.arange(size))


def test_all_orders_of_a_small_group_are_equally_likely() -> None:
    orders = Counter(tuple(row_order(Seed(number), "rows", 4).part(0, 4).tolist()) for number in range(4_800))
    assert set(orders) == set(itertools.permutations(range(4)))
    assert chisquare(list(orders.values())).pvalue > 1e-4


def test_the_network_sends_a_position_anywhere_equally_often() -> None:
    networks = [Network(number, 5_000) for number in range(10_000)]
    for position in (0, 1, 4_999):
        sent = np.array([network.sent(position) for network in networks])
        assert chisquare(np.bincount(sent // 100, minlength=50)).pvalue > 1e-4


def test_neighbours_are_not_sent_to_neighbours_by_the_network() -> None:
    sent = row_order(Seed(9), "rows", 200_000).part(0, 200_000)
    assert abs(np.corrcoef(sent[:-1], sent[1:])[0, 1]) < 0.01
    assert np.mean(np.abs(np.diff(sent)) == 1) < 1e-3
    assert np.count_nonzero(sent == np.arange(sent.size)) < 12


def test_no_rows_have_an_empty_order() -> None:
    assert row_order(Seed(1), "rows", 0).part(0, 0).size == 0


def test_parts_of_the_order_of_rows_join_to_the_whole() -> None:
    order = row_order(Seed(3), "rows", 10_000)
    parts = [order.part(first, min(first + 777, 10_000)) for first in range(0, 10_000, 777)]
    assert np.array_equal(np.concatenate(parts), order.part(0, 10_000))


@pytest.mark.parametrize("n_rows", [1, 400, 1_500, 70_000])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_places_of_rows_are_where_the_order_puts_them(n_rows: int, seed: int) -> None:
    order = row_order(Seed(seed), "rows", n_rows)
    rows = order.part(0, n_rows)
    assert (order.places(0, n_rows)[rows] == np.arange(n_rows)).all()
    assert (order.places(n_rows // 3, n_rows) == order.places(0, n_rows)[n_rows // 3 :]).all()
