"""The attacks, attacked: tables whose answer is known, and definitions written out."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import anonto
from anonto.attacks.compute import global_linkage as module
from anonto.attacks.compute.attribute_inference import attribute_inference
from anonto.attacks.compute.blocks import blocks_of
from anonto.attacks.compute.classes import real_k, uniqueness
from anonto.attacks.compute.distance_linkage import distance_linkage
from anonto.attacks.compute.global_linkage import _least_sum, global_linkage, match_records
from anonto.attacks.compute.interval_disclosure import interval_disclosure
from anonto.attacks.compute.permutation_distance import permutation_distance, permutation_distances
from anonto.attacks.compute.space import LinkageSpace
from anonto.attacks.rate import wilson_interval
from anonto.encoding.comparison import BothCells, ComparedColumn, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.stats.earth_mover import earth_movers_distance
from budget import examples

ILLNESSES = anonto.read_ontology("illnesses")
CONCEPTS = ["flu", "measles", "burn", "fracture"]
DESCRIPTIONS = {
    "illness": ColumnDescription(ontology=ILLNESSES),
    "age": ColumnDescription(kind="numeric"),
    "pain": ColumnDescription(kind="ordinal", order=("low", "mid", "high")),
    "city": ColumnDescription(),
}
CELLS = {
    "illness": st.sampled_from([*CONCEPTS, None]),
    "age": st.sampled_from(["20", "30", "35", "80", None]),
    "pain": st.sampled_from(["low", "mid", "high"]),
    "city": st.sampled_from(["x", "y"]),
}
TABLES = st.lists(st.tuples(*(st.tuples(cells, cells) for cells in CELLS.values())), min_size=1, max_size=14)


def compared(name: str, original: list[Any], masked: list[Any]) -> ComparedColumn:
    series = [pl.Series(cells, dtype=pl.String) for cells in (original, masked)]
    return compare_column(name, BothCells.of(*series), DESCRIPTIONS[name], opener())


def columns_of(rows: list[Any]) -> list[ComparedColumn]:
    names = [
        name for place, name in enumerate(CELLS) if any(row[place][side] is not None for row in rows for side in (0, 1))
    ]
    return [
        compared(name, *([row[list(CELLS).index(name)][side] for row in rows] for side in (0, 1))) for name in names
    ]


def squared(columns: list[ComparedColumn], i: int, j: int) -> float:
    """The distance of original i and released j, from the definition."""
    total = 0.0
    for column in columns:
        x, y = column.original[i], column.masked[j]
        if x < 0 or y < 0:
            total += float((x < 0) != (y < 0))
        else:
            total += float(column.value_space.pair_distances(np.array([x]), np.array([y]))[0]) ** 2
    return total


@settings(max_examples=examples(60), deadline=None)
@given(TABLES)
def test_distance_linkage_links_to_the_nearest_and_shares_ties(rows: list[Any]) -> None:
    columns = columns_of(rows)
    expected = 0.0
    for i in range(len(rows)):
        distances = np.array([squared(columns, i, j) for j in range(len(rows))])
        nearest = np.flatnonzero(distances <= distances.min() * (1 + 1e-9))
        expected += (i in nearest) / nearest.size
    found = distance_linkage(columns)
    assert found.rate == pytest.approx(expected / len(rows), abs=1e-9)
    assert found.low <= found.rate <= found.high


def test_an_unmasked_table_is_linked_as_far_as_its_records_differ() -> None:
    rng = np.random.default_rng(1)
    illness = rng.choice(CONCEPTS, 200).tolist()
    age = rng.choice(["20", "30", "35"], 200).tolist()
    columns = [compared("illness", illness, illness), compared("age", age, age)]
    distinct = len(set(zip(illness, age, strict=True)))
    assert distance_linkage(columns).rate == pytest.approx(distinct / 200)
    assert distance_linkage(columns, np.arange(100)).n == 100
    assert global_linkage(columns, np.random.default_rng(2)).rate == pytest.approx(distinct / 200)


FAR = [0, 1, 2, 3, 10**9 - 1, 10**9, 10**9 + 1, 10**9 + 2]
"""A difference of one part in a billion counts; squared differences that differ by half of that are ties."""


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(FAR), st.sampled_from(FAR)), min_size=1, max_size=12))
def test_close_numbers_in_a_wide_range_are_distinct_and_equal_differences_are_ties(rows: list[Any]) -> None:
    original, masked = (list(cells) for cells in zip(*rows, strict=True))
    expected = 0.0
    for x, own in rows:
        least = min(abs(x - y) for y in masked)
        expected += (abs(x - own) == least) / sum(abs(x - y) == least for y in masked)
    found = distance_linkage([compared("age", [*map(str, original)], [*map(str, masked)])])
    assert found.rate == pytest.approx(expected / len(rows), abs=1e-9)


def test_an_outlier_makes_no_others_alike() -> None:
    age = [*map(str, range(99)), str(10**9)]
    assert distance_linkage([compared("age", age, age)]).rate == 1.0
    incomes = np.random.default_rng(0).lognormal(10, 1, 500).round(2)
    incomes[::100] = 10 ** np.arange(8.0, 13.0)
    texts = [f"{income:.2f}" for income in incomes]
    found = distance_linkage([compared("age", texts, texts)])
    assert found.rate == pytest.approx(len(set(texts)) / 500)


def test_of_equally_good_matchings_none_is_preferred_that_gives_persons_their_own_rows() -> None:
    n, rng = 60, np.random.default_rng(1)
    found = np.tile(np.arange(n, dtype=np.int32), (n, 1))
    ones, rows = np.ones(n, dtype=np.int64), np.arange(n, dtype=np.int32)
    right = [np.sum(match_records(found, np.zeros((n, n)), ones, rows, rng) == rows) for _ in range(30)]
    assert np.mean(right) < 3.0


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.floats(0.1, 1), st.integers(0, 10_000))
def test_as_many_as_possible_are_matched_and_of_these_matchings_with_the_least_sum(
    n_persons: int, n_rows: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    of_person, rows = np.nonzero(rng.random((n_persons, n_rows)) < share)
    costs = rng.integers(0, 4, rows.size) / 4
    match = _least_sum(rng.permutation(n_persons), rng.permutation(n_rows), of_person, rows, costs)
    last_resort = 1000.0
    table = np.full((n_persons, n_rows + n_persons), last_resort)
    table[of_person, rows] = costs
    least = table[linear_sum_assignment(table)].sum()
    taken = match[match >= 0]
    assert np.unique(taken).size == taken.size
    found = table[np.flatnonzero(match >= 0), taken].sum() + last_resort * (n_persons - taken.size)
    assert found == pytest.approx(least, abs=1e-9)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(*(st.tuples(cells, cells) for cells in CELLS.values())), min_size=1, max_size=5))
def test_global_linkage_finds_a_matching_of_the_least_sum_and_shares_rows_that_are_alike(rows: list[Any]) -> None:
    columns, n = columns_of(rows), len(rows)
    apart = [[squared(columns, i, j) for j in range(n)] for i in range(n)]
    record = [tuple(int(column.masked[j]) for column in columns) for j in range(n)]
    sums = {match: sum(apart[i][j] for i, j in enumerate(match)) for match in itertools.permutations(range(n))}
    best = [match for match, total in sums.items() if total <= min(sums.values()) + 1e-9]
    rates = {
        round(sum((record[j] == record[i]) / record.count(record[i]) for i, j in enumerate(match)) / n, 9)
        for match in best
    }
    assert round(global_linkage(columns, np.random.default_rng(0)).rate, 9) in rates


def test_at_most_one_in_five_is_found_in_groups_of_five() -> None:
    age = [str(number) for number in range(200)]
    columns = [compared("age", age, [str(5 * (number // 5) + 2) for number in range(200)])]
    rates = [global_linkage(columns, np.random.default_rng(seed)).rate for seed in range(5)]
    assert rates == pytest.approx([1 / 5] * 5)


def test_a_table_too_large_to_match_at_once_is_matched_in_blocks_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A common shift is seen through in a block that reaches to the end, where nobody leaves the next a choice."""
    age = [str(number) for number in range(400)]
    columns = [compared("age", age, [f"{number + 0.6:.1f}" for number in range(400)])]
    assert "matched at once" in global_linkage(columns, np.random.default_rng(0)).knowledge
    monkeypatch.setattr(module, "MOST_PERSONS", 200)
    monkeypatch.setattr(module, "PERSONS_OF_A_BLOCK", 100)
    same = global_linkage([compared("age", age, age)], np.random.default_rng(0))
    assert (same.rate, "a lower bound" in same.knowledge) == (1.0, True)
    assert 25 <= same.n <= 50
    found = [global_linkage(columns, np.random.default_rng(seed)).rate for seed in range(10)]
    assert 0.5 <= max(found) <= 1.0
    assert distance_linkage(columns).rate == 1 / 400


def test_a_block_holds_neighbours_and_any_position_in_it_is_equally_likely() -> None:
    rng = np.random.default_rng(0)
    age = np.sort(rng.lognormal(3, 1, 60)).round(3).astype(str).tolist()
    columns = [compared("age", age, age)]
    blocks = blocks_of(columns, LinkageSpace.of(columns), 1500, 28, rng)
    counts = np.zeros(60)
    for block in blocks:
        midst = block.persons[: block.n_counted]
        assert np.unique(block.persons).size == block.persons.size == 28
        assert np.ptp(block.persons) == 27
        assert midst.size in (3, 4, 7)
        counts[midst] += 1
    mean = counts.mean()
    assert np.abs(counts - mean).max() < 5 * np.sqrt(mean)


def test_a_table_shuffled_at_random_is_linked_by_chance_alone() -> None:
    rng = np.random.default_rng(1)
    age = [str(number) for number in range(400)]
    found = [distance_linkage([compared("age", age, rng.permutation(age).tolist())]) for _ in range(40)]
    assert np.mean([one.rate for one in found]) == pytest.approx(1 / 400, abs=4 * np.sqrt(1 / 400 / 16_000))
    assert found[0].baseline == 1 / 400
    matched = global_linkage([compared("age", age, rng.permutation(age).tolist())], np.random.default_rng(3))
    assert matched.rate < 0.02


def test_a_shift_by_one_row_is_not_taken_for_the_truth() -> None:
    age = [str(number) for number in range(0, 4000, 10)]
    shifted = [*age[1:], age[0]]
    assert distance_linkage([compared("age", age, shifted)]).rate == 0.0
    assert global_linkage([compared("age", age, shifted)], np.random.default_rng(3)).rate == 0.0


def test_matching_all_persons_at_once_sees_through_a_common_shift() -> None:
    age = [str(number) for number in range(200)]
    columns = [compared("age", age, [f"{number + 0.6:.1f}" for number in range(200)])]
    assert distance_linkage(columns).rate == 1 / 200
    assert global_linkage(columns, np.random.default_rng(3)).rate == 1.0


def test_wilsons_interval_is_that_of_the_book() -> None:
    assert wilson_interval(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_classes_are_counted_on_the_whole_released_vector() -> None:
    illness = ["flu", "flu", "flu", "burn"]
    city = ["x", "x", "y", "y"]
    columns = [compared("illness", illness, illness), compared("city", city, city)]
    found = real_k(columns)
    assert found.details["real_k"] == 1
    assert found.rate == 0.5
    assert found.details["class_sizes"] == [[1, 2], [2, 1]]


def test_diversity_and_closeness_of_a_confidential_column() -> None:
    city = ["x"] * 4 + ["y"] * 4
    age = ["20", "20", "20", "80", "20", "80", "80", "80"]
    found = uniqueness([compared("city", city, city)], [compared("age", age, age)])
    assert found.details["k_anonymity"] == 4
    told = found.details["confidential"]["age"]
    assert (told["l_diversity"], told["semantic_l_diversity"]) == (2, 2)
    assert told["t_closeness"] == pytest.approx(0.25)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_moving_earth_over_numbers_is_moving_it_over_their_distances(number: int, size: int) -> None:
    rng = np.random.default_rng(number)
    a, b = rng.dirichlet(np.ones(size), 2)
    numbers = rng.uniform(0, 9, size)
    distances = np.abs(np.subtract.outer(numbers, numbers)) / np.ptp(numbers)
    expected = earth_movers_distance(a, b, None, numbers)
    assert earth_movers_distance(a, b, distances) == pytest.approx(expected, abs=1e-7)
    assert earth_movers_distance(a, b, 1 - np.eye(size)) == pytest.approx(earth_movers_distance(a, b, None), abs=1e-7)


def test_a_value_that_stays_in_its_branch_is_disclosed() -> None:
    original = ["flu", "flu", "burn", "burn"]
    masked = ["measles", "flu", "fracture", "flu"]
    found = {risk.knowledge: risk for risk in interval_disclosure(compared("illness", original, masked))}
    near, branch, *_ = found.values()
    assert near.rate == 0.25
    top = {one: ILLNESSES.ancestors(one) for one in {*original, *masked}}
    shared = [
        len([a for a in top[x] if a in top[y] and ILLNESSES.depth(a) == 2]) > 0
        for x, y in zip(original, masked, strict=True)
    ]
    assert branch.rate == np.mean(shared)
    pairs = [len([a for a in top[x] if a in top[y] and ILLNESSES.depth(a) == 2]) > 0 for x in original for y in masked]
    assert branch.baseline == pytest.approx(np.mean(pairs))


def _share_a_branch(x: str, y: str) -> bool:
    shared = {*ILLNESSES.ancestors(x)} & {*ILLNESSES.ancestors(y)}
    return any(ILLNESSES.depth(one) == 2 for one in shared)


def test_only_values_revealed_by_the_own_record_count_as_inferred() -> None:
    age = [str(number) for number in range(60)]
    rng = np.random.default_rng(0)
    secret = rng.choice(CONCEPTS, 60).tolist()
    told = attribute_inference([compared("age", age, age)], compared("illness", secret, secret))
    assert told.details["success"] == 1.0
    assert told.rate == 1.0
    of_all = attribute_inference([compared("age", age, age)], compared("illness", ["flu"] * 60, ["flu"] * 60))
    assert of_all.control == 1.0
    assert of_all.rate == 0.0


@settings(max_examples=examples(40), deadline=None)
@given(TABLES)
def test_permutation_distance_is_the_least_largest_difference_in_rank(rows: list[Any]) -> None:
    columns = columns_of(rows)
    found = permutation_distances(columns)
    for i in range(len(rows)):
        shifts = []
        for j in range(len(rows)):
            largest = 0.0
            for column in columns:
                x, y = column.original[i], column.masked[j]
                if x < 0 or y < 0:
                    largest = max(largest, 0.0 if x == y else np.inf)
                    continue
                released = column.masked[column.masked >= 0]
                if hasattr(column.value_space, "numbers"):
                    keys, own, other = column.value_space.numbers[released], *column.value_space.numbers[[x, y]]
                else:
                    row = np.round(column.value_space.distances()[x], 12)
                    keys, own, other = row[released], row[x], row[y]
                ranks = [np.count_nonzero(keys < key) + (np.count_nonzero(keys == key) + 1) / 2 for key in (own, other)]
                largest = max(largest, abs(ranks[0] - ranks[1]))
            shifts.append(largest)
        assert found[i] == pytest.approx(min(shifts))


def test_a_person_whose_missing_cells_no_released_record_shares_is_as_far_as_ranks_go() -> None:
    found = permutation_distance([compared("city", ["x", None, "y", "z"], ["y", "z", "x", "x"])])
    assert found.details["quantiles"]["0.95"] <= 4
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()
