"""Swapping in bins of equal depth and of equal width: the bins against their definitions, and what exchanges keep."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

import anonto
import oracles
from anonto.encoding import value_space as value_spaces
from anonto.encoding.columns import encode
from anonto.encoding.records import distinct_records
from anonto.encoding.value_space import MeanSpace, NumericSpace, TextSpace, nominal_space
from anonto.errors import AnontoWarning, ColumnError, ParameterError, TooFewRecordsError
from anonto.methods import bin_kernels, bins
from anonto.methods.equi_depth_swap import EquiDepthSwap, equi_depth_bins
from anonto.methods.equi_width_swap import (
    DENSE_BINS,
    EquiWidthSwap,
    bin_numbers,
    equi_width_bins,
    grid_places,
)
from anonto.methods.grid_swap import exchange_rows
from anonto.methods.registry import method_of
from anonto.methods.row_transitions import RowTransitions
from anonto.random.streams import Seed
from strategies import taxonomy_of

pytestmark = pytest.mark.slow

FAMILY = taxonomy_of(
    {
        "all": [],
        "heart": ["all"],
        "lung": ["all"],
        "skin": ["all"],
        "angina": ["heart"],
        "infarct": ["heart"],
        "asthma": ["lung"],
        "both": ["heart", "lung"],
        "silent infarct": ["infarct"],
    }
)


def numbers(values):
    given = np.array([np.nan if value is None else value for value in values], dtype=float)
    present = ~np.isnan(given)
    distinct, place = np.unique(given[present], return_inverse=True)
    codes = np.full(given.size, -1, dtype=np.int32)
    codes[present] = place
    return NumericSpace(distinct, np.bincount(place, minlength=distinct.size)), codes


def texts(values):
    column = encode(values)
    return TextSpace(column.counts), column.codes


def concepts(values, taxonomy=FAMILY, measure="wu-palmer"):
    column = encode(values)
    return nominal_space(column, taxonomy, measure=measure), column.codes


def records_of(*parts):
    names = [f"column {n}" for n in range(len(parts))]
    return distinct_records(names, [value_space for value_space, _ in parts], [codes for _, codes in parts])


def contents(bins):
    return [sorted(bins.members[a:b].tolist()) for a, b in pairwise(bins.offsets.tolist())]


def flow_table(transitions):
    """How many rows go from each record to each."""
    if isinstance(transitions, RowTransitions):
        rows = np.repeat(np.arange(transitions.sizes.size), transitions.sizes).astype(np.int32)
        targets = transitions.by_row.apply(rows, np.zeros(transitions.sizes.size, np.int64))
        return dict(Counter(zip(rows.tolist(), targets.tolist(), strict=True)))
    rows = zip(transitions.sources.tolist(), transitions.targets.tolist(), transitions.amounts.tolist(), strict=True)
    return {(a, b): n for a, b, n in rows}


def rows_of(records):
    """The record of each row when rows are in the order of the records, as ties are decided."""
    return np.repeat(np.arange(records.counts.size), records.counts)


# ------------------------------------------------------------------------------------------------ equal depth: bins


def bins_by_definition(records, k, keys):
    rows = rows_of(records)
    found = oracles.equi_depth_bins(rows.size, lambda a, b: keys[rows[a], rows[b]], k)
    return [sorted(rows[inside].tolist()) for inside in found]


def keys_of(columns):
    """Rounded squared distances of all pairs of records; columns of coordinates or tables of squared distances."""
    return np.round(sum(columns), 12)


def between(values):
    return np.subtract.outer(values, values) ** 2


@given(
    points=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=26),
    k=st.integers(1, 9),
)
@pytest.mark.filterwarnings("ignore:.*all of them form one bin:anonto.errors.AnontoWarning")
def test_bins_of_two_columns_are_those_of_the_definition_with_duplicates_and_ties(points, k) -> None:
    records, _ = records_of(*(numbers(column) for column in zip(*points, strict=True)))
    found = contents(equi_depth_bins(records, k, standardise=False))
    raw = [value_space.numbers[records.codes[:, column]] for column, value_space in enumerate(records.value_spaces)]
    assert found == bins_by_definition(records, k, keys_of([between(one) for one in raw]))


@given(
    rows=st.lists(
        st.tuples(st.sampled_from(sorted(FAMILY.ids)), st.sampled_from("xyz"), st.integers(0, 3)),
        min_size=1,
        max_size=22,
    ),
    k=st.integers(1, 7),
    columns=st.sampled_from([(0,), (1,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]),
)
@pytest.mark.filterwarnings("ignore:.*all of them form one bin:anonto.errors.AnontoWarning")
def test_bins_of_any_mix_of_columns_are_those_of_the_definition(rows, k, columns) -> None:
    makers = (concepts, texts, numbers)
    given_columns = list(zip(*rows, strict=True))
    records, _ = records_of(*(makers[column](list(given_columns[column])) for column in columns))
    found = contents(equi_depth_bins(records, k))
    squared = []
    for place, value_space in enumerate(records.value_spaces):
        table = value_space.distances() ** 2
        shares = value_space.counts / value_space.counts.sum()
        variance = shares @ table @ shares / 2
        codes = records.codes[:, place]
        squared.append(table[np.ix_(codes, codes)] / variance if variance else np.zeros((codes.size, codes.size)))
    largest = max(float(one.max()) for one in squared)
    keys = keys_of([one / largest for one in squared]) if largest else keys_of(squared)
    rows_in_order = rows_of(records)
    for expected, got in zip(bins_by_definition(records, k, keys), found, strict=True):
        assert len(expected) == len(got)
    if _ties_are_clear(keys):
        assert found == bins_by_definition(records, k, keys)
    assert sorted(record for inside in found for record in inside) == rows_in_order.tolist()


def _ties_are_clear(keys):
    """Return whether no two different keys are so close that a rounding error may turn them around."""
    distinct = np.unique(keys)
    return distinct.size < 2 or np.diff(distinct).min() > 1e-9


@pytest.mark.parametrize("spread", ["normal", "grid", "skewed", "circle", "line"])
def test_bins_of_hundreds_of_points_are_those_of_the_definition(spread: str) -> None:
    rng = np.random.default_rng(11)
    n = 150
    angle = rng.random(n) * 2 * np.pi
    points = {
        "normal": rng.normal(size=(n, 2)),
        "grid": rng.integers(0, 9, (n, 2)).astype(float),
        "skewed": rng.exponential(size=(n, 2)) ** 3,
        "circle": np.column_stack([np.cos(angle), np.sin(angle)]),
        "line": np.repeat(rng.normal(size=(n, 1)), 2, axis=1),
    }[spread]
    records, _ = records_of(numbers(points[:, 0]), numbers(points[:, 1]))
    raw = [one.numbers[records.codes[:, place]] for place, one in enumerate(records.value_spaces)]
    scaled = [one / max(np.ptp(other) for other in raw) for one in raw]
    expected = bins_by_definition(records, 4, keys_of([between(one) for one in scaled]))
    assert contents(equi_depth_bins(records, 4, standardise=False)) == expected


def test_numbers_are_standardised_to_the_variance_of_the_records() -> None:
    rng = np.random.default_rng(5)
    wide, narrow = rng.normal(size=60) * 1000, rng.normal(size=60)
    records, _ = records_of(numbers(wide), numbers(narrow))
    order = records.codes
    scores = [
        (one.numbers[order[:, place]] - one.numbers.mean()) / one.numbers.std()
        for place, one in enumerate(records.value_spaces)
    ]
    expected = bins_by_definition(records, 5, keys_of([between(one) for one in scores]))
    assert contents(equi_depth_bins(records, 5)) == expected
    assert contents(equi_depth_bins(records, 5, standardise=False)) != expected


@given(values=st.lists(st.integers(-5, 5), min_size=2, max_size=40), k=st.integers(1, 12))
@pytest.mark.filterwarnings("ignore:.*all of them form one bin:anonto.errors.AnontoWarning")
def test_one_column_of_numbers_is_cut_into_consecutive_bins(values: list[int], k: int) -> None:
    records, _ = records_of(numbers(values))
    bins = equi_depth_bins(records, k)
    found = np.concatenate([records.value_spaces[0].numbers[records.codes[bins.members, 0]]])
    assert found.tolist() == sorted(values)
    sizes = bins.sizes.tolist()
    assert all(size == k for size in sizes[:-1])
    assert k <= sizes[-1] < 2 * k or sizes == [len(values)]


def test_large_numbers_do_not_overflow() -> None:
    huge = [-1.7e308, -1e308, 0.0, 1e308, 1.7e308, 1.0, 2.0, 3.0]
    records, _ = records_of(numbers(huge), numbers(range(8)))
    for standardise in (True, False):
        assert sum(map(len, contents(equi_depth_bins(records, 2, standardise=standardise)))) == 8
    assert len(set(grid_places(np.array(huge), None, 2).tolist())) == 2
    assert len(set(grid_places(np.array(huge), 1e308, None).tolist())) == 4


# ------------------------------------------------------------------------------------------------ equal width: bins


@given(
    values=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=30),
    width=st.floats(0.01, 1e5),
)
def test_places_on_the_grid_are_in_the_order_of_the_definition(values: list[float], width: float) -> None:
    found = grid_places(np.array(values), width, None)
    steps = (np.array(values) - min(values)) / width
    clear = np.abs(steps - np.round(steps)) > 1e-9
    expected = [oracles.equi_width_bin(x, min(values), max(values), width) for x in values]
    ranks = [np.unique(np.array(places)[clear], return_inverse=True)[1].tolist() for places in (found, expected)]
    assert ranks[0] == ranks[1]
    if max(expected) < DENSE_BINS:
        assert found[clear].tolist() == np.array(expected)[clear].tolist()


def test_the_last_bin_is_closed_and_lines_are_met_in_spite_of_rounding() -> None:
    tenths = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    assert grid_places(tenths, 0.1, None).tolist() == [0, 1, 2, 3, 4, 5, 6, 6]
    assert grid_places(tenths, None, 7).tolist() == [0, 1, 2, 3, 4, 5, 6, 6]
    assert grid_places(np.array([0.0, 1.0, 2.0, 3.0]), 2.0, None).tolist() == [0, 0, 1, 1]
    assert grid_places(np.array([0.0, 1.0, 2.0]), 5.0, None).tolist() == [0, 0, 0]
    assert grid_places(np.full(4, 3.3), 0.5, None).tolist() == [0, 0, 0, 0]


def test_a_width_below_all_differences_gives_every_number_its_own_bin() -> None:
    some = np.array([0.0, 1.0, 1e300, 1.0])
    assert grid_places(some, 1e-300, None).tolist() == [0, 1, 2, 1]
    assert grid_places(some, None, 1 << 60).tolist() == [0, 1, 2, 1]
    assert len(set(grid_places(np.array([0.0, 5e-324]), None, 2).tolist())) == 2


def test_bins_of_a_number_are_those_of_the_width() -> None:
    rng = np.random.default_rng(2)
    records, _ = records_of(numbers(rng.normal(size=200)), numbers(rng.integers(0, 50, 200)))
    ranges = [float(np.ptp(one.numbers)) for one in records.value_spaces]
    by_number = equi_width_bins(records, bins=[7, 4])
    by_width = equi_width_bins(records, width=[ranges[0] / 7, ranges[1] / 4])
    assert contents(by_number) == contents(by_width)
    assert contents(equi_width_bins(records, bins=7)) == contents(equi_width_bins(records, bins=(7, 7)))


@given(
    rows=st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 9)), min_size=1, max_size=40),
    widths=st.tuples(st.integers(1, 15), st.integers(1, 5)),
)
def test_records_share_a_bin_exactly_if_they_share_it_in_every_column(rows, widths) -> None:
    columns = list(zip(*rows, strict=True))
    records, record_of = records_of(*(numbers(column) for column in columns))
    expected: dict[tuple[int, ...], list[int]] = {}
    for row, record in zip(rows, record_of.tolist(), strict=True):
        place = tuple(
            oracles.equi_width_bin(x, min(column), max(column), width)
            for x, column, width in zip(row, columns, widths, strict=True)
        )
        expected.setdefault(place, []).append(record)
    bins = equi_width_bins(records, width=widths)
    assert sorted(contents(bins)) == sorted(sorted(inside) for inside in expected.values())


@pytest.mark.parametrize("bins", [200_000, 3_000_000])
def test_more_bins_than_can_be_counted_in_a_table_are_counted_as_they_occur(bins: int) -> None:
    rng = np.random.default_rng(3)
    assert bins > DENSE_BINS
    parts = [numbers(rng.integers(0, 10, 60)) for _ in range(4)]
    records, _ = records_of(*parts)
    assert contents(equi_width_bins(records, bins=bins)) == contents(equi_width_bins(records, bins=10))


def test_a_depth_makes_one_bin_of_each_ancestor_there() -> None:
    values = ["angina", "infarct", "silent infarct", "asthma", "skin", "all", "both", "lung"]
    records, record_of = records_of(concepts(values))

    def together(depth):
        bins = contents(equi_width_bins(records, width=depth))
        names = [{values[record_of.tolist().index(record)] for record in inside} for inside in bins]
        return sorted(names, key=sorted)

    assert together(1) == [set(values)]
    assert together(2) == sorted(
        [{"all"}, {"angina", "infarct", "silent infarct", "both"}, {"asthma", "lung"}, {"skin"}], key=sorted
    )
    assert {"infarct", "silent infarct"} in together(3)
    assert together(4) == together(99) == sorted([{value} for value in values], key=sorted)


def test_a_number_of_bins_takes_the_depth_that_comes_closest() -> None:
    values = ["angina", "infarct", "silent infarct", "asthma", "skin"]
    records, _ = records_of(concepts(values))
    at_depth = [contents(equi_width_bins(records, width=depth)) for depth in (1, 2, 3, 4)]
    assert [len(bins) for bins in at_depth] == [1, 3, 4, 5]
    assert contents(equi_width_bins(records, bins=1)) == at_depth[0]
    assert contents(equi_width_bins(records, bins=2)) == at_depth[0]
    assert contents(equi_width_bins(records, bins=3)) == at_depth[1]
    assert contents(equi_width_bins(records, bins=50)) == at_depth[3]


def test_texts_are_bins_of_their_own_and_of_several_ontologies_the_first_counts() -> None:
    records, _ = records_of(texts(["a", "b", "a", "c"]))
    assert contents(equi_width_bins(records, width=1)) == [[0, 0], [1], [2]]
    flat = taxonomy_of({"any": [], **{concept: ["any"] for concept in FAMILY.ids}})
    column = encode(["angina", "infarct", "asthma", "asthma"])
    parts = [nominal_space(column, one, measure="wu-palmer") for one in (FAMILY, flat)]
    both, _ = distinct_records(["x"], [MeanSpace(tuple(parts))], [column.codes])
    assert contents(equi_width_bins(both, width=2)) == [[0, 2], [1, 1]]


# ------------------------------------------------------------------------------------------------ exchanges

tables = st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abc")), min_size=0, max_size=40)
METHODS = [
    ("equi-depth-swap", {"k": 4}),
    ("equi-depth-swap", {"k": 3, "odd": "cycle3"}),
    ("equi-width-swap", {"width": 3}),
    ("equi-width-swap", {"bins": 2, "odd": "cycle3"}),
    ("invariant-swap", {"rate": 0.6, "k": 4}),
    ("invariant-swap", {"rate": 1.0, "width": 3}),
]


@pytest.mark.parametrize(("name", "parameters"), METHODS)
@pytest.mark.filterwarnings("ignore:.*all of them form one bin:anonto.errors.AnontoWarning")
@given(rows=tables, number=st.integers(0, 99))
def test_records_move_as_a_whole_and_occur_as_often_as_before(name, parameters, rows, number) -> None:
    columns = list(zip(*rows, strict=True)) or [(), ()]
    records, _ = records_of(numbers(columns[0]), texts(list(columns[1])))
    fitted = method_of(name, parameters).fit(records, np.random.default_rng(number))
    assert np.array_equal(fitted.released, records.codes)
    leaving, arriving = Counter(), Counter()
    for (source, target), n in flow_table(fitted.transitions).items():
        assert n > 0
        leaving[source] += n
        arriving[target] += n
    assert leaving == arriving == Counter(dict(enumerate(records.counts.tolist())))
    moves = fitted.transitions.moves
    keys = moves.sources.astype(np.int64) * max(records.counts.size, 1) + moves.targets
    assert (np.diff(keys) > 0).all()
    assert moves.n_cells == len(rows)
    assert sum(records.counts) == len(rows)


@given(rows=tables, number=st.integers(0, 99), k=st.integers(1, 6))
@pytest.mark.filterwarnings("ignore:.*all of them form one bin:anonto.errors.AnontoWarning")
def test_in_pairs_as_many_go_one_way_as_the_other_and_one_of_each_odd_bin_stays(rows, number, k) -> None:
    columns = list(zip(*rows, strict=True)) or [(), ()]
    records, _ = records_of(numbers(columns[0]), texts(list(columns[1])))
    fitted = EquiDepthSwap(k=k).fit(records, np.random.default_rng(number))
    amounts = flow_table(fitted.transitions)
    assert all(amounts.get((b, a)) == n for (a, b), n in amounts.items())
    odd = np.count_nonzero(equi_depth_bins(records, k).sizes % 2) if rows else 0
    assert fitted.untouched == (odd, odd)


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=8, max_size=60),
    odd=st.sampled_from(["stay", "cycle3"]),
    at_once=st.sampled_from([1, 5, 1 << 20]),
    in_a_table=st.booleans(),
)
def test_exchanges_are_the_same_in_parts_and_at_once(rows, odd, at_once, in_a_table) -> None:
    records, _ = records_of(numbers([one for one, _ in rows]), numbers([other for _, other in rows]))
    method = EquiWidthSwap(width=2, odd=odd)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bins, "ROWS_AT_ONCE", at_once)
        patch.setattr(bins, "_fit_into_a_table", lambda *_: in_a_table)
        found = method.fit(records, np.random.default_rng(1))
        patch.setattr(bins, "_fit_into_a_table", lambda *_: False)
        expected = method.fit(records, np.random.default_rng(1))
    assert flow_table(found.transitions) == flow_table(expected.transitions)
    assert (found.untouched, found.facts) == (expected.untouched, expected.facts)


@given(
    cells=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40),
    rows_at_once=st.sampled_from([1, 3, 1024]),
)
def test_distances_of_pairs_are_those_of_the_whole_table_however_they_are_cut(cells, rows_at_once) -> None:
    value_space, _ = concepts(list(FAMILY.ids))
    a, b = (np.array([pair[place] for pair in cells], dtype=np.int32) for place in (0, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_spaces, "ROWS_AT_ONCE", rows_at_once)
        patch.setattr(value_spaces, "CELLS_AT_ONCE", 4)
        found = value_space.pair_distances(a, b)
    assert found.tolist() == value_space.distances()[a, b].tolist()


@given(sizes=st.lists(st.integers(1, 9), max_size=6), number=st.integers(0, 99))
def test_a_cycle_of_three_leaves_only_records_that_are_alone(sizes: list[int], number: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    members = np.arange(offsets[-1]).astype(np.int32)
    taken, alone = bin_kernels.exchange_pairs(members, offsets, True, np.random.default_rng(number))
    assert alone.size == sizes.count(1)
    assert np.count_nonzero(taken == members) == sizes.count(1)
    for a, b in pairwise(offsets.tolist()):
        assert sorted(taken[a:b]) == sorted(members[a:b]) == list(range(a, b))


@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_pairs_are_distributed_as_the_definition_says(size: int, cycle: bool) -> None:
    found: Counter = Counter()
    expected: Counter = Counter()
    ours, theirs = np.random.default_rng(1), np.random.default_rng(2)
    offsets = np.array([0, size])
    for _ in range(3000):
        members = np.arange(size).astype(np.int32)
        taken, _ = bin_kernels.exchange_pairs(members, offsets, cycle, ours)
        found[tuple(taken[np.argsort(members)].tolist())] += 1
        takes = oracles.pair_swap(range(size), theirs, cycle=cycle)
        expected[tuple(takes[row] for row in range(size))] += 1
    assert set(found) == set(expected)
    if len(found) > 1:
        table = [[counter[outcome] for outcome in sorted(expected)] for counter in (found, expected)]
        assert chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_pairs_that_a_key_draws_are_distributed_as_the_definition_says(size: int, cycle: bool) -> None:
    found: Counter = Counter()
    expected: Counter = Counter()
    n_cells, theirs = 3000, np.random.default_rng(2)
    members = np.tile(np.arange(size), n_cells).astype(np.int32)
    offsets = np.arange(0, n_cells * size + 1, size)
    taken, alone = np.empty_like(members), np.full(n_cells, -1, dtype=np.int32)
    identities = np.arange(n_cells).astype(np.uint64)
    bin_kernels.exchange_in_cells(members, offsets, 0, n_cells, identities, Seed(7).key().words, cycle, taken, alone)
    for outcome, left in zip(taken.reshape(n_cells, size).tolist(), alone.tolist(), strict=True):
        found[tuple(outcome)] += 1
        stay = [row for row in range(size) if outcome[row] == row]
        assert stay == ([] if left < 0 else [left])
        takes = oracles.pair_swap(range(size), theirs, cycle=cycle)
        expected[tuple(takes[row] for row in range(size))] += 1
    assert set(found) == set(expected)
    if len(found) > 1:
        table = [[counter[outcome] for outcome in sorted(expected)] for counter in (found, expected)]
        assert chi2_contingency(table).pvalue > 1e-4


def test_the_last_of_many_is_as_likely_as_any_to_meet_the_first() -> None:
    """Draws in a cell that is large enough for a draw to be wrong by its remainder."""
    n_cells, size = 4000, 40
    members = np.tile(np.arange(size), n_cells).astype(np.int32)
    offsets = np.arange(0, n_cells * size + 1, size)
    taken, alone = np.empty_like(members), np.full(n_cells, -1, dtype=np.int32)
    words = np.random.default_rng(5).integers(0, 1 << 64, n_cells, dtype=np.uint64)
    bin_kernels.exchange_in_cells(members, offsets, 0, n_cells, words, Seed(5).key().words, False, taken, alone)
    partner_of_first = np.bincount(taken.reshape(n_cells, size)[:, 0], minlength=size)
    assert partner_of_first[0] == 0
    assert chisquare(partner_of_first[1:]).pvalue > 1e-4


@given(rows=tables, number=st.integers(0, 99), n_parts=st.integers(1, 4), odd=st.sampled_from(["stay", "cycle3"]))
def test_cells_become_the_same_alone_or_with_others(rows, number, n_parts, odd) -> None:
    columns = list(zip(*rows, strict=True)) or [(), ()]
    records, record_of = records_of(numbers(columns[0]), texts(list(columns[1])))
    method, key = EquiWidthSwap(bins=3, odd=odd), Seed(number).key()
    grid = method.grid(records.names, records.value_spaces)
    codes = records.codes[record_of]
    whole = exchange_rows(method, grid, key, list(codes.T))
    part_of_cell = np.random.default_rng(number).integers(0, n_parts, len(rows) + 65536)
    part = part_of_cell[bin_numbers(records, grid.columns)[0]][record_of]
    facts: Counter = Counter()
    for one in range(n_parts):
        inside = np.flatnonzero(part == one)
        done = exchange_rows(method, grid, key, list(codes[inside].T))
        for released, all_released in zip(done.released, whole.released, strict=True):
            assert released.tolist() == all_released[inside].tolist()
        facts += Counter({name: done.facts[name] for name in ("bins", "singleton_bins")})
    assert facts == +Counter({name: whole.facts[name] for name in ("bins", "singleton_bins")})


@given(
    rows=st.lists(st.tuples(st.floats(-50, 50), st.integers(0, 30)), min_size=2, max_size=60),
    widths=st.tuples(st.floats(0.5, 40), st.floats(0.5, 20)),
    number=st.integers(0, 99),
)
def test_no_number_moves_by_more_than_the_width(rows, widths, number) -> None:
    columns = list(zip(*rows, strict=True))
    table = pl.DataFrame({"x": columns[0], "y": columns[1]})
    plan = {
        "columns": {"x": {"kind": "numeric"}, "y": {"kind": "numeric"}},
        "steps": [{"method": "equi-width-swap", "columns": ["x", "y"], "width": list(widths)}],
    }
    masked = anonto.mask(table, plan, seed=number + (1 << 90)).table
    for name, width in zip("xy", widths, strict=True):
        assert (masked[name] - table[name]).abs().max() <= width * (1 + 1e-9)
    assert Counter(masked.rows()) == Counter(table.rows())


def test_the_evidence_counts_bins_and_what_had_no_partner() -> None:
    table = pl.DataFrame({"x": [0, 1, 2, 10, 11, 30, 50, 51, 51]})
    plan = {
        "columns": {"x": {"kind": "numeric"}},
        "steps": [{"method": "equi-width-swap", "columns": ["x"], "width": 10}],
    }
    step = anonto.mask(table, plan, seed=1 << 80).evidence["steps"][0]
    assert {key: step[key] for key in ("bins", "singleton_bins", "smallest_bin", "largest_bin")} == {
        "bins": 4,
        "singleton_bins": 1,
        "smallest_bin": 1,
        "largest_bin": 3,
    }
    assert step["untouched"] == {"x": 3}
    assert step["guarantee"]["proved"] is False


def test_what_moves_together_keeps_its_correlation_exactly() -> None:
    rng = np.random.default_rng(8)
    table = pl.DataFrame(rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 500), schema=["x", "y"], orient="row")
    for method, parameters in METHODS[:4]:
        plan = {
            "columns": {"x": {"kind": "numeric"}, "y": {"kind": "numeric"}},
            "steps": [{"method": method, "columns": ["x", "y"], **parameters}],
        }
        masked = anonto.mask(table, plan, seed=1 << 90).table
        assert masked.sort("x", "y").equals(table.sort("x", "y"))
        assert not masked.equals(table)


# ------------------------------------------------------------------------------------------------ missing cells


def test_records_are_exchanged_among_those_that_lack_the_same_cells() -> None:
    rng = np.random.default_rng(4)
    cells = rng.integers(0, 100, (2, 60)).tolist()
    x = [None if i % 3 == 0 else value for i, value in enumerate(cells[0])]
    y = [None if i % 4 == 0 else value for i, value in enumerate(cells[1])]
    table = pl.DataFrame({"x": x, "y": y})
    for method, parameters in METHODS:
        plan = {
            "columns": {"x": {"kind": "numeric"}, "y": {"kind": "numeric"}},
            "steps": [
                {
                    "method": method,
                    "columns": ["x", "y"],
                    **parameters,
                    **({"width": 60} if "width" in parameters else {}),
                }
            ],
        }
        release = anonto.mask(table, plan, seed=1 << 99)
        masked = release.table
        for name in "xy":
            assert masked[name].is_null().equals(table[name].is_null())
        assert Counter(masked.rows()) == Counter(table.rows())
        step = release.evidence["steps"][0]
        with_value = sum(row != (None, None) for row in table.rows())
        assert 3 <= step["bins"] <= with_value
        assert step["largest_bin"] <= 30


def test_a_pattern_of_missing_cells_with_too_few_records_is_refused_with_its_counts() -> None:
    records, _ = records_of(numbers([1, 2, 3, 4, 5, None, 7]), numbers([1, 2, 3, None, None, 6, 7]))
    few = r"1 of the 3 patterns of missing cells has fewer than 2 records .*\(1 in all\)"
    with pytest.raises(TooFewRecordsError, match=few) as caught:
        equi_depth_bins(records, 3)
    assert "missing = 'drop'" in str(caught.value)
    with pytest.raises(TooFewRecordsError, match=few):
        equi_width_bins(records, width=2)
    assert contents(equi_depth_bins(records, 1))


def of_a_rare_pattern(n: int, method: str, **parameters: Any) -> dict[str, Any]:
    """The evidence of a step over 200 records of which n lack a cell."""
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"x": rng.integers(0, 90, 200), "y": [None] * n + rng.integers(0, 90, 200 - n).tolist()})
    plan = {
        "columns": {"x": {"kind": "numeric"}, "y": {"kind": "numeric"}},
        "steps": [{"method": method, "columns": ["x", "y"], **parameters}],
    }
    return anonto.mask(table, plan, seed=1 << 99).evidence["steps"][0]


@pytest.mark.parametrize("method", ["equi-depth-swap", "invariant-swap"])
def test_a_rare_pattern_of_missing_cells_has_a_bin_below_k_which_is_warned_about(method: str) -> None:
    parameters = {"k": 20, **({"rate": 1.0} if method == "invariant-swap" else {})}
    with pytest.raises(TooFewRecordsError, match=r"fewer than 2 records to swap among themselves \(1 in all\)"):
        of_a_rare_pattern(1, method, **parameters)
    with pytest.warns(AnontoWarning, match=r"1 of the 2 patterns of .* k = 20 records \(3 in all\)"):
        assert of_a_rare_pattern(3, method, **parameters)["smallest_bin"] == 3
    assert of_a_rare_pattern(20, method, **parameters)["smallest_bin"] >= 20


def test_a_rare_pattern_of_missing_cells_is_refused_where_k_is_promised() -> None:
    with pytest.raises(TooFewRecordsError, match=r"fewer than 20 records to form a group \(19 in all\)"):
        of_a_rare_pattern(19, "microaggregate", k=20)
    step = of_a_rare_pattern(20, "microaggregate", k=20)
    assert (step["smallest_group"], step["real_k"], step["guarantee"]["proved"]) == (20, 20, True)


@pytest.mark.parametrize("method", ["frequency-swap", "rank-swap-fixed", "rank-swap", "rank-swap-joint", "group-swap"])
def test_swaps_without_missing_patterns_accept_a_rare_one(method: str) -> None:
    assert of_a_rare_pattern(1, method, k=20)["missing"] == {"x": 0, "y": 1}


def test_records_without_any_value_take_no_part_and_need_no_company() -> None:
    records, _ = records_of(numbers([1, 2, 3, None, 4, 5]), numbers([1, 2, 3, None, 4, 6]))
    for method in (method_of(*METHODS[0]), method_of(*METHODS[2])):
        fitted = method.fit(records, np.random.default_rng(0))
        empty = int(np.flatnonzero((records.codes < 0).all(axis=1))[0])
        assert flow_table(fitted.transitions)[(empty, empty)] == 1
        assert fitted.facts["largest_bin"] <= 5


# ------------------------------------------------------------------------------------------------ odd and bad input


@pytest.mark.parametrize("k", [3, 4, 100])
def test_a_k_that_is_not_below_the_records_makes_one_bin_and_says_so(k: int) -> None:
    for parts in ([numbers([1, 5, 9])], [numbers([1, 5, 9]), texts(["a", "b", "a"])]):
        records, _ = records_of(*parts)
        with pytest.warns(AnontoWarning, match=f"k = {k} is not below the 3 records; all of them form one bin"):
            assert len(contents(equi_depth_bins(records, k))) == 1


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize(("name", "parameters"), METHODS)
def test_a_table_of_no_or_one_record_stays(name: str, parameters: dict, n: int) -> None:
    records, _ = records_of(numbers([7] * n), texts(["a"] * n))
    fitted = method_of(name, parameters).fit(records, np.random.default_rng(0))
    assert list(flow_table(fitted.transitions).values()) == [1] * n
    assert fitted.transitions.moves.unchanged == n
    assert fitted.facts["bins"] == n


def test_all_records_equal_is_one_record() -> None:
    records, _ = records_of(numbers([3] * 20), texts(["a"] * 20))
    for name, parameters in METHODS:
        fitted = method_of(name, parameters).fit(records, np.random.default_rng(0))
        assert flow_table(fitted.transitions) == {(0, 0): 20}


@pytest.mark.parametrize("k", [0, -1, 2.5, float("nan"), True, "3", None])
def test_a_wrong_k_names_the_parameter(k: object) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number, 1 or more"):
        method_of("equi-depth-swap", {"k": k})


@pytest.mark.parametrize("width", [0, -1, float("nan"), float("inf"), True, "3", [], [1, 0], [1, "a"], {}])
def test_a_wrong_width_names_the_parameter(width: object) -> None:
    with pytest.raises(ParameterError, match="width must be a number above 0, or one for each column"):
        method_of("equi-width-swap", {"width": width})


@pytest.mark.parametrize("bins", [0, -1, 2.5, float("nan"), True, "3", [], [1, 0], [2.0]])
def test_a_wrong_number_of_bins_names_the_parameter(bins: object) -> None:
    with pytest.raises(ParameterError, match="bins must be a whole number, 1 or more, or one for each column"):
        method_of("equi-width-swap", {"bins": bins})


def test_exactly_one_of_width_and_bins_is_given() -> None:
    with pytest.raises(ParameterError, match="width must be given, or bins instead of it"):
        method_of("equi-width-swap", {})
    with pytest.raises(ParameterError, match="bins must be left out where width is given"):
        method_of("equi-width-swap", {"width": 2, "bins": 3})


def test_other_words_for_odd_and_standardise_are_refused() -> None:
    with pytest.raises(ParameterError, match="odd must be one of stay, cycle3; got 'leave'"):
        method_of("equi-width-swap", {"width": 2, "odd": "leave"})
    with pytest.raises(ParameterError, match="standardise must be true or false"):
        method_of("equi-depth-swap", {"k": 2, "standardise": "yes"})


def test_a_wrong_number_of_widths_for_the_columns_is_refused() -> None:
    records, _ = records_of(numbers([1, 2, 3]), numbers([1, 2, 3]))
    for given_once in ({"width": [1, 2, 3]}, {"bins": [4]}):
        with pytest.raises(ParameterError, match="must be one number, or one for each of the 2 columns"):
            method_of("equi-width-swap", given_once).fit(records, np.random.default_rng(0))


def test_a_depth_must_be_whole() -> None:
    records, _ = records_of(concepts(["asthma", "angina"]))
    with pytest.raises(ParameterError, match=r"width of the nominal column 'column 0' must be a depth: .*got 1.5"):
        equi_width_bins(records, width=1.5)


def test_widths_survive_a_plan_in_toml() -> None:
    import tomllib

    plan = anonto.Plan.from_dict(
        {"steps": [{"method": "equi-width-swap", "columns": ["a", "b"], "width": [1.5, 2], "odd": "cycle3"}]}
    )
    assert plan.steps[0].method.width == (1.5, 2)
    assert anonto.Plan.from_dict(tomllib.loads(plan.to_toml())) == plan


def test_missing_cells_of_very_many_columns_stay_in_their_rows() -> None:
    rng = np.random.default_rng(3)
    table = pl.DataFrame({f"c{place}": rng.integers(0, 99, 40) for place in range(70)})
    table = table.with_columns(c0=pl.Series([None if row % 2 else row for row in range(40)]))
    plan = {
        "columns": {name: {"kind": "numeric"} for name in table.columns},
        "steps": [{"method": "equi-depth-swap", "columns": table.columns, "k": 4}],
    }
    released = anonto.mask(table, plan, seed=1 << 90).table
    assert released["c0"].is_null().to_list() == table["c0"].is_null().to_list()
    for name in table.columns:
        assert released[name].sort().equals(table[name].sort())


def test_the_largest_k_makes_one_bin_and_a_larger_one_is_refused() -> None:
    step = {"method": "equi-depth-swap", "columns": ["a"]}
    plan = {"columns": {"a": {"kind": "numeric"}}, "steps": [{**step, "k": 2**63 - 1}]}
    with pytest.raises(ParameterError, match="a number of at most"):
        anonto.mask(pl.DataFrame({"a": [1, 2, 3, 4]}), {**plan, "steps": [{**step, "k": 10**20}]}, seed=1 << 90)
    with pytest.warns(AnontoWarning, match="all of them form one bin"):
        release = anonto.mask(pl.DataFrame({"a": [1, 2, 3, 4]}), plan, seed=1 << 90)
    assert release.evidence["steps"][0]["bins"] == 1


def test_numbers_too_far_apart_for_a_range_are_refused() -> None:
    plan = {"columns": {"a": {"kind": "numeric"}}, "steps": [{"method": "random-swap", "columns": ["a"]}]}
    with pytest.raises(ColumnError, match="too far apart"):
        anonto.mask(pl.DataFrame({"a": ["-1.7e308", "1.7e308", "0"]}), plan, seed=1 << 90)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=60), st.sampled_from(["stay", "cycle3"]), st.integers(1, 4))
def test_how_far_bins_reach_does_not_depend_on_how_many_copies_there_are(ages, odd, n_bins):
    records, _ = records_of(numbers(ages))

    def told(partition):
        sizes = np.diff(partition.offsets)
        pairs = Counter(zip(partition.groups.tolist(), partition.members.tolist(), strict=True))
        return sizes.size, partition.stays.tolist(), {pair: times > 1 for pair, times in pairs.items()}

    few = EquiWidthSwap(bins=n_bins, odd=odd).support(records)
    assert told(few) == told(equi_width_bins(records, bins=n_bins).support(odd))
    assert few.members.size <= 3 * records.counts.size
