import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from anonto.errors import ParameterError
from anonto.rng import SHUFFLED_UP_TO, Seed, keyed_permutations, row_order, row_uniforms, seed_of
from anonto.rng_kernels import feistel, feistel_back, feistel_of_stretch, philox, rectangles


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0, 0, 0, 0], 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, 0xFFFFFFFFFFFFFFFF, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            0x299F31D0A4093822,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_gives_the_published_words(counter: list[int], key: int, expected: list[int]) -> None:
    assert [int(word) for word in philox(*map(np.uint64, counter), np.uint64(key))] == expected


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
def test_what_is_no_seed_is_refused(seed: object) -> None:
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        Seed(seed)  # type: ignore[arg-type]


def test_row_draws_are_uniform_and_independent_of_chunks() -> None:
    key = Seed(3).key("noise")
    rows = np.arange(20_000)
    whole = row_uniforms(key, rows)
    parts = np.concatenate([row_uniforms(key, part) for part in np.array_split(rows, 7)])
    assert np.array_equal(whole, parts)
    assert kstest(whole, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(whole[:-1], whole[1:])[0, 1]) < 0.03
    assert abs(np.corrcoef(whole, row_uniforms(key, rows, 1))[0, 1]) < 0.03
    assert whole.min() >= 0
    assert whole.max() < 1


def sent_by_network(key: int, size: int, position: int) -> int:
    widths, heights = rectangles(np.array([size]))
    return int(feistel(np.uint64(key), size, widths[0], heights[0], position))


@given(size=st.integers(1, 40_000), key=st.integers(0, (1 << 64) - 1))
def test_the_network_is_a_permutation_of_any_size(size: int, key: int) -> None:
    sent = {sent_by_network(key, size, position) for position in range(0, size, max(1, size // 500))}
    assert len(sent) == len(range(0, size, max(1, size // 500)))
    assert all(0 <= place < size for place in sent)


@given(size=st.integers(1, 1 << 40), key=st.integers(0, (1 << 64) - 1), share=st.floats(0, 1, exclude_max=True))
def test_the_network_leads_back_to_where_a_position_was(size: int, key: int, share: float) -> None:
    widths, heights = rectangles(np.array([size]))
    position = min(int(share * size), size - 1)
    place = feistel(np.uint64(key), size, widths[0], heights[0], position)
    assert feistel_back(np.uint64(key), size, widths[0], heights[0], place) == position


@given(size=st.integers(1, 5_000), key=st.integers(0, (1 << 64) - 1), start=st.integers(0, 4_999), back=st.booleans())
def test_a_stretch_is_sent_where_each_of_its_positions_is(size: int, key: int, start: int, back: bool) -> None:
    widths, heights = rectangles(np.array([size]))
    first = start % size
    together = np.empty(size - first, np.int64)
    feistel_of_stretch(np.uint64(key), size, widths[0], heights[0], first, back, together)
    alone = feistel_back if back else feistel
    chosen = range(first, size, max(1, (size - first) // 200))
    assert all(together[i - first] == alone(np.uint64(key), size, widths[0], heights[0], i) for i in chosen)


@given(
    sizes=st.lists(st.sampled_from([0, 1, 2, 7, SHUFFLED_UP_TO, SHUFFLED_UP_TO + 1, 9_001]), min_size=1, max_size=4),
    number=st.integers(0, 99),
)
def test_each_group_is_permuted_within_itself(sizes: list[int], number: int) -> None:
    permutations = keyed_permutations(Seed(number), "swap", np.array(sizes))
    for group, size in enumerate(sizes):
        sent = permutations(np.full(size, group, np.int32), np.arange(size))
        assert np.array_equal(np.sort(sent), np.arange(size))


def test_all_orders_of_a_small_group_are_equally_likely() -> None:
    orders = Counter(tuple(row_order(Seed(number), "rows", 4).part(0, 4).tolist()) for number in range(4_800))
    assert set(orders) == set(itertools.permutations(range(4)))
    assert chisquare(list(orders.values())).pvalue > 1e-4


def test_the_network_sends_a_position_anywhere_equally_often() -> None:
    size, trials = 5_000, 20_000
    rng = np.random.default_rng(1)
    for position in (0, 1, 4_999):
        sent = [sent_by_network(key, size, position) for key in rng.integers(0, 1 << 63, trials).tolist()]
        assert chisquare(np.bincount(np.array(sent) // 100, minlength=50)).pvalue > 1e-4


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
