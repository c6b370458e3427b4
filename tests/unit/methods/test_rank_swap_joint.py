"""Joint rank swapping against Algorithm 3 row by row, and what it promises on any mix of columns."""

from __future__ import annotations

import functools
import tomllib
import tracemalloc
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

import anonto
import oracles
from anonto.encoding.records import Records, distinct_records
from anonto.encoding.value_space import NumericSpace, TextSpace, ValueSpace
from anonto.errors import AnontoWarning, ParameterError
from anonto.masking.plan import Plan
from anonto.methods import rank_swap_joint
from anonto.methods.record_transitions import unpack_codes
from anonto.methods.registry import method_of, parameters_of
from anonto.search import record_search_kernels as search
from anonto.search import record_tree
from anonto.search import record_tree_kernels as kernels
from anonto.search.record_tree import RecordSpace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonto.methods.record_transitions import RecordTransitions

pytestmark = pytest.mark.slow

Row = tuple[Any, ...]
ILLNESSES = anonto.read_ontology("illnesses")
MEANINGS = ILLNESSES.distances(["flu", "measles", "burn", "fracture", "infection", "injury", "disease"])


@dataclass(frozen=True)
class Meanings:
    """A nominal column: its values are concepts, by number."""

    def value_space(self, counts: np.ndarray) -> ValueSpace:
        return TableSpace(counts, MEANINGS)

    def distance(self, a: int, b: int) -> float:
        return float(MEANINGS[a, b])


@dataclass(frozen=True)
class Numbers:
    numbers: Sequence[float] = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0)

    def value_space(self, counts: np.ndarray) -> ValueSpace:
        return NumericSpace(np.array(self.numbers), counts)

    def distance(self, a: int, b: int) -> float:
        return abs(self.numbers[a] - self.numbers[b]) / (max(self.numbers) - min(self.numbers))


@dataclass(frozen=True)
class Texts:
    def value_space(self, counts: np.ndarray) -> ValueSpace:
        return TextSpace(counts)

    def distance(self, a: int, b: int) -> float:
        return float(a != b)


@dataclass(frozen=True)
class TableSpace:
    counts: np.ndarray
    table: np.ndarray

    def distances(self) -> np.ndarray:
        return self.table

    def pair_distances(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self.table[a, b]

    def distances_from(self, codes: np.ndarray) -> np.ndarray:
        return self.table[codes]


Kind = Meanings | Numbers | Texts
SIZE = 7
"""How many values every kind of column here may have."""


def as_row(codes: Sequence[int]) -> Row:
    return tuple(None if code < 0 else int(code) for code in codes)


def records_of(rows: Sequence[Row], kinds: Sequence[Kind]) -> Records:
    columns = [
        np.array([-1 if row[c] is None else row[c] for row in rows], dtype=np.int32).reshape(-1)
        for c in range(len(kinds))
    ]
    counts = [np.bincount(column[column >= 0], minlength=SIZE) for column in columns]
    value_spaces = [kind.value_space(count) for kind, count in zip(kinds, counts, strict=True)]
    return distinct_records([f"column {c}" for c in range(len(kinds))], value_spaces, columns)[0]


def swapped(rows: Sequence[Row], kinds: Sequence[Kind], seed: int, **parameters: Any) -> RecordTransitions:
    return method_of("rank-swap-joint", parameters).fit(records_of(rows, kinds), np.random.default_rng(seed))


def pairs_of(records: Records, transitions: RecordTransitions) -> list[tuple[Row, Row]]:
    """Original and released record of every row, in some order."""
    moves = zip(
        transitions.transitions.sources, transitions.transitions.targets, transitions.transitions.amounts, strict=True
    )
    return [
        (as_row(records.codes[s]), as_row(transitions.released[t])) for s, t, amount in moves for _ in range(amount)
    ]


# ------------------------------------------------------------------------------------------------ the algorithm

M, N, T = Meanings(), Numbers(), Texts()
FEW = ((0, 0), (0, 0), (1, 2), (2, 1), (3, 3), (3, 0))
DOUBLED = ((0, 0),) * 3 + ((1, 1),) * 2 + ((2, 4), (3, 4), (3, 5), (6, 6))
WITH_GAPS = ((0, 0), (0, None), (None, 2), (2, 1), (3, 3), (None, None), (3, 0), (2, None))
THREE = ((0, 1, 0), (0, 1, 1), (1, 3, 0), (2, 6, 1), (3, None, 2), (3, 5, 2), (0, 1, 0))
APART = ((None, 0, None), (1, None, None), (None, None, 2), (2, None, 1), (None, 3, None), (3, 3, 3))
CASES: dict[str, tuple[Sequence[Row], Sequence[Kind], dict[str, Any]]] = {
    "two nominal columns, k = 2": (FEW, (M, M), {"k": 2}),
    "two nominal columns, k = 3": (FEW, (M, M), {"k": 3}),
    "duplicates and ties, k = 2": (DOUBLED, (M, M), {"k": 2}),
    "duplicates and ties, k = 5": (DOUBLED, (M, M), {"k": 5}),
    "duplicates, unswapped": (DOUBLED, (M, M), {"k": 3, "interval": "unswapped"}),
    "mixed, k = 2": (DOUBLED, (M, N), {"k": 2}),
    "mixed, unswapped": (DOUBLED, (N, M), {"k": 4, "interval": "unswapped"}),
    "weights": (DOUBLED, (M, N), {"k": 3, "weights": [1, 4]}),
    "a weight of zero": (DOUBLED, (M, N), {"k": 3, "weights": [0, 2.5]}),
    "missing cells": (WITH_GAPS, (M, N), {"k": 2}),
    "missing cells, unswapped": (WITH_GAPS, (M, M), {"k": 3, "interval": "unswapped"}),
    "three kinds with a missing cell": (THREE, (M, N, T), {"k": 3}),
    "nothing in common": (APART, (N, M, T), {"k": 2}),
    "nothing in common that counts": (APART, (N, M, T), {"k": 3, "weights": [0, 0, 1]}),
    "all rows tied": (((0, 0), (1, 1), (2, 2), (3, 3), (4, 4)), (T, T), {"k": 3}),
    "one column": (((0,), (0,), (1,), (2,), (3,), (3,), (4,)), (M,), {"k": 2}),
    "one column of numbers, unswapped": (((0,), (0,), (1,), (3,), (3,), (6,)), (N,), {"k": 2, "interval": "unswapped"}),
}
REPEATS = 600


def hard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything happen that happens in large tables only."""
    monkeypatch.setattr(record_tree, "LEAF", 1)
    monkeypatch.setattr(record_tree, "POOL_BYTES", 1)
    monkeypatch.setattr(rank_swap_joint, "TRIES", 1)
    monkeypatch.setattr(rank_swap_joint, "NOT_WORTH_REGROWING", 0)


@functools.cache
def expected_of(name: str) -> tuple[Counter, ...]:
    rows, kinds, parameters = CASES[name]
    rng, outcomes = np.random.default_rng(11), []
    options = {key: value for key, value in parameters.items() if key != "k"}
    distances = [kind.distance for kind in kinds]
    for _ in range(REPEATS):
        masked, untouched = oracles.rank_swap_joint(rows, distances, parameters["k"], rng, **options)
        outcomes.append((sorted(zip(rows, masked, strict=True), key=str), tuple(untouched)))
    return counted(outcomes)


def counted(outcomes: Sequence[tuple[list[tuple[Row, Row]], tuple[int, ...]]]) -> tuple[Counter, ...]:
    """How often each release was seen, each flow of the last column, and each number of cells without partner."""
    return (
        Counter(str(pairs) for pairs, _ in outcomes),
        Counter(str(sorted((str(a[-1]), str(b[-1])) for a, b in pairs)) for pairs, _ in outcomes),
        Counter(str(untouched) for _, untouched in outcomes),
    )


def assert_alike(found: Counter, expected: Counter) -> None:
    outcomes = sorted(set(found) | set(expected))
    table = np.array([[found[o] for o in outcomes], [expected[o] for o in outcomes]])
    rare = table.sum(axis=0) < 10
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)]) if rare.any() else table
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] > 1:
        assert chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize("settings", ["as they are", "hard"])
@pytest.mark.parametrize("name", CASES)
def test_releases_are_distributed_as_by_algorithm_3_row_by_row(
    name: str, settings: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, kinds, parameters = CASES[name]
    if settings == "hard":
        hard(monkeypatch)
    records, rng = records_of(rows, kinds), np.random.default_rng(12)
    has_any = (records.codes >= 0).any(axis=1)
    codes, counts = records.codes[has_any], records.counts[has_any]
    space = RecordSpace(records.value_spaces, np.array(parameters.get("weights", [1.0] * len(kinds))), codes, counts)
    stays = [(row, row) for row in rows if not any(cell is not None for cell in row)]
    outcomes = []
    for _ in range(REPEATS):
        swap = rank_swap_joint._Swap(space, codes, counts)
        swap.run(parameters["k"], parameters.get("interval", "all"), rng)
        before = np.repeat(codes, counts, axis=0).tolist()
        after = unpack_codes(swap.rows.released, swap.rows.columns).tolist()
        pairs = [(as_row(a), as_row(b)) for a, b in zip(before, after, strict=True)]
        outcomes.append((sorted(pairs + stays, key=str), tuple(swap.untouched.tolist())))
    for found, expected in zip(counted(outcomes), expected_of(name), strict=True):
        assert_alike(found, expected)


@given(data=st.data(), seed=st.integers(0, 999))
def test_columns_keep_their_values_and_missing_cells_their_rows(data: st.DataObject, seed: int) -> None:
    kinds, rows = data.draw(tables())
    k = data.draw(st.integers(1, max(1, len(rows) - 1)))
    interval = data.draw(st.sampled_from(["all", "unswapped"]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "k = .* is not below the", AnontoWarning)
        transitions = swapped(rows, kinds, seed, k=k, interval=interval)
    pairs = pairs_of(records_of(rows, kinds), transitions)
    assert Counter(before for before, _ in pairs) == Counter(rows)
    for column in range(len(kinds)):
        assert Counter(after[column] for _, after in pairs) == Counter(row[column] for row in rows)
        assert all((before[column] is None) == (after[column] is None) for before, after in pairs)
        present = sum(row[column] is not None for row in rows)
        assert transitions.untouched[column] <= present
        assert (present - transitions.untouched[column]) % 2 == 0
    assert transitions.facts["references_without_partner"] <= transitions.facts["references"] <= len(rows)


@pytest.mark.parametrize("n_values", [(5, 255, 256), (70_000, 3, 65_535)])
def test_codes_of_any_size_are_exchanged_whole(n_values: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    codes = np.stack([rng.integers(-1, n, 400) for n in n_values], axis=1)
    codes[:3] = [[0] * 3, np.array(n_values) - 1, [-1] * 3]
    codes = np.unique(codes.astype(np.int32), axis=0)
    value_spaces = [NumericSpace(np.arange(float(n)), np.zeros(n, int)) for n in n_values]
    records = Records(("a", "b", "c"), tuple(value_spaces), codes, rng.integers(1, 5, len(codes)))
    transitions = rank_swap_joint.RankSwapJoint(k=7).fit(records, np.random.default_rng(3))
    np.testing.assert_array_equal(transitions.released, np.unique(transitions.released, axis=0))
    assert (
        np.diff(
            transitions.transitions.sources.astype(np.int64) * len(transitions.released)
            + transitions.transitions.targets
        )
        > 0
    ).all()
    for column in range(3):
        moves = transitions.moves(records, column)
        before, after = (Counter(np.repeat(of, moves.amounts).tolist()) for of in (moves.sources, moves.targets))
        cells = np.repeat(codes[:, column], records.counts)
        assert before == after == Counter(cells[cells >= 0].tolist())
    assert (transitions.released[transitions.transitions.targets] != codes[transitions.transitions.sources]).any()


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 24) -> tuple[list[Kind], list[Row]]:
    kinds = draw(st.lists(st.sampled_from([M, N, T]), min_size=1, max_size=3))
    cell = st.one_of(st.none(), st.integers(0, SIZE - 1)) if draw(st.booleans()) else st.integers(0, SIZE - 1)
    return kinds, draw(st.lists(st.tuples(*[cell] * len(kinds)), max_size=max_rows))


# ------------------------------------------------------------------------------------------------ the tree


@pytest.mark.parametrize("n_missing", [0, 40])
@pytest.mark.parametrize("n_levels", [6, 1e9])
@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0, 1.0], [0.2, 3.0, 0.0, 1.0]])
def test_searches_find_what_looking_at_every_record_finds(
    weights: list[float], n_levels: float, n_missing: int
) -> None:
    rng = np.random.default_rng(3)
    table = np.round(rng.random((400, 400)) * n_levels) / n_levels
    table = np.triu(table, 1) + np.triu(table, 1).T
    codes = np.unique(rng.integers(0, [400, 30, 9, 25], (500, 4)), axis=0).astype(np.int32)
    codes[rng.integers(0, len(codes), n_missing), rng.integers(0, 4, n_missing)] = -1
    codes = np.unique(codes[(codes >= 0).any(axis=1)], axis=0)
    numbers = rng.integers(0, 50, 30).astype(float)
    value_spaces = [
        TableSpace(np.zeros(400, int), table),
        NumericSpace(numbers, np.zeros(30, int)),
        TextSpace(np.zeros(9, int)),
        NumericSpace(np.arange(25.0), np.zeros(25, int)),
    ]
    rows = rng.integers(0, 3, len(codes))
    rows[:20] = 1
    space = RecordSpace(value_spaces, np.array(weights), codes, rows)
    assert space.metric.distances.kinds[0] == (kernels.LEVELS if n_levels == 6 else kernels.TABLE)
    distances: list[Callable[[int, int], float]] = [
        lambda a, b: table[a, b],
        lambda a, b: abs(numbers[a] - numbers[b]) / np.ptp(numbers),
        lambda a, b: float(a != b),
        lambda a, b: abs(a - b) / 24,
    ]
    tuples = [as_row(record) for record in codes.tolist()]
    apart = np.array([[oracles.joint_distance(x, y, distances, weights) for y in tuples] for x in tuples[:20]])
    tree = space.tree(rows)
    asked = search.RecordQuery(np.empty(np.count_nonzero(weights), np.int64), np.empty(np.count_nonzero(weights)))
    stack, one, two = (np.empty(4 * len(codes) + 8, np.int64) for _ in range(3))
    for record in range(20):
        assert search.start_query(record, space.points, space.metric, asked)
        keys = np.array(
            [search.distance_to(other, asked, space.points, space.metric.distances) for other in range(len(codes))]
        )
        np.testing.assert_allclose(keys, apart[record] * search.PER_UNIT, rtol=0, atol=1.01)
        size = search.farthest_blocks(asked, space.points, space.metric.distances, tree, stack, one)
        assert members(tree, one, size) == set(np.flatnonzero((keys == keys[rows > 0].max()) & (rows > 0)))
        others = rows.copy()
        others[record] -= 1
        in_order = np.sort(np.repeat(keys, others))
        for k in (1, 2, 5, 60, in_order.size):
            limit = search.kth_distance(
                record, k, asked, space.points, space.metric.distances, tree, stack, np.empty(2 * k + 4, np.int64)
            )
            assert limit == in_order[k - 1]
            sizes = search.blocks_within(limit, asked, space.points, space.metric.distances, tree, stack, one, two)
            assert members(tree, one, sizes[0]) == set(np.flatnonzero((keys < limit) & (rows > 0)))
            assert members(tree, two, sizes[1]) == set(np.flatnonzero((keys == limit) & (rows > 0)))
        beyond = search.kth_distance(
            record,
            in_order.size + 1,
            asked,
            space.points,
            space.metric.distances,
            tree,
            stack,
            np.empty(9999, np.int64),
        )
        assert beyond == search.BEYOND_ALL
    sums = (apart * rows).sum(axis=1)
    np.testing.assert_allclose(space.mean_distances()[:20], sums / rows.sum(), atol=1e-11)


def members(counted: kernels.CountedTree, blocks: np.ndarray, size: int) -> set[int]:
    """The records of some blocks, with the number of their rows checked."""
    spans = [kernels.places_of_block(block, counted.tree) for block in blocks[: 2 * size : 2].tolist()]
    found = [int(record) for begin, end in spans for record in counted.tree.order[begin:end]]
    there = [record for record in found if counted.of_record[record]]
    n_rows = int(blocks[2 * size - 1]) if size else 0
    assert n_rows == sum(counted.of_record[record] for record in there)
    assert len(set(found)) == len(found)
    listed = [kernels.record_at(place, blocks, size, counted) for place in range(n_rows)]
    assert Counter(record for record, _ in listed) == {record: counted.of_record[record] for record in there}
    return set(there)


def test_the_same_seed_gives_the_same_release_in_a_small_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows = [tuple(row) for row in rng.integers(0, SIZE, (300, 3)).tolist()]
    whole = swapped(rows, (M, M, N), 5, k=4)
    monkeypatch.setattr(record_tree, "POOL_BYTES", 1)
    small = swapped(rows, (M, M, N), 5, k=4)
    assert pairs_of(records_of(rows, (M, M, N)), whole) == pairs_of(records_of(rows, (M, M, N)), small)


# ------------------------------------------------------------------------------------------------ what it promises


@pytest.mark.parametrize("interval", ["all", "unswapped"])
@pytest.mark.parametrize("n", [0, 1])
def test_a_table_of_no_or_one_record_stays(n: int, interval: str) -> None:
    transitions = swapped([(0, 1)] * n, (M, N), 1, k=3, interval=interval)
    assert pairs_of(records_of([(0, 1)] * n, (M, N)), transitions) == [((0, 1), (0, 1))] * n
    assert transitions.untouched == (n, n)
    assert transitions.facts == {"references": n, "references_without_partner": n}


def test_a_row_without_any_value_takes_no_part() -> None:
    transitions = swapped([(0, 1), (None, None), (None, None)], (M, N), 1, k=3)
    assert transitions.untouched == (1, 1)
    assert len(pairs_of(records_of([(0, 1), (None, None), (None, None)], (M, N)), transitions)) == 3


def test_one_distinct_record_stays_as_it_is() -> None:
    transitions = swapped([(2, 3)] * 9, (M, N), 1, k=3)
    assert set(pairs_of(records_of([(2, 3)] * 9, (M, N)), transitions)) == {((2, 3), (2, 3))}


def test_a_k_larger_than_the_table_is_reported_and_reduced() -> None:
    with pytest.warns(AnontoWarning, match="k = 9 is not below the 3 records; 2 was used"):
        swapped([(0, 0), (1, 1), (2, 2), (None, None)], (M, M), 1, k=9)


def test_the_only_cell_of_a_column_has_no_partner() -> None:
    transitions = swapped([(0, None), (1, None), (2, 5), (3, None)], (M, N), 1, k=3)
    assert transitions.untouched == (0, 1)


@pytest.mark.parametrize("interval", ["all", "unswapped"])
def test_percent_is_a_share_of_the_rows_that_take_part(interval: str) -> None:
    rng = np.random.default_rng(2)
    rows = [*(tuple(row) for row in rng.integers(0, SIZE, (50, 2)).tolist()), *[(None, None)] * 50]
    as_share, as_number = (
        pairs_of(records_of(rows, (M, N)), swapped(rows, (M, N), 3, interval=interval, **size))
        for size in ({"percent": 10}, {"k": 5})
    )
    assert as_share == as_number


@given(sizes=st.lists(st.integers(3, 6), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_nothing_is_lost_where_every_record_occurs_three_times_and_k_is_two(sizes: list[int], seed: int) -> None:
    rows = [row for number, size in enumerate(sizes) for row in [(number % SIZE, (3 * number) % SIZE)] * size]
    pairs = pairs_of(records_of(rows, (M, N)), swapped(rows, (M, N), seed, k=2))
    assert all(before == after for before, after in pairs)


def test_as_many_cells_find_no_partner_as_the_specification_counts() -> None:
    """Distinct concepts of a random tree: at k = 2 about .18 of the cells, at 5 .07, at 10 .03, at 20 .014."""
    rng = np.random.default_rng(8)
    taxonomy = random_tree(2500, rng)
    rows = np.array([rng.choice(2500, 600, replace=False) for _ in range(2)]).T
    tables_of = [taxonomy.distances([taxonomy.ids[i] for i in column]) for column in rows.T]
    codes = [rng.permutation(600).astype(np.int32) for _ in range(2)]
    value_spaces = [TableSpace(np.ones(600, int), table) for table in tables_of]
    records = distinct_records(["a", "b"], value_spaces, codes)[0]
    for k, low, high in ((2, 0.14, 0.22), (5, 0.05, 0.1), (10, 0.02, 0.05), (20, 0.008, 0.025)):
        method = method_of("rank-swap-joint", {"k": k})
        shares = [sum(method.fit(records, rng).untouched) / 1200 for _ in range(4)]
        assert low < np.mean(shares) < high
    free = method_of("rank-swap-joint", {"k": 10, "interval": "unswapped"}).fit(records, rng)
    assert sum(free.untouched) / 1200 < 0.005


def random_tree(n: int, rng: np.random.Generator) -> anonto.Taxonomy:
    from strategies import taxonomy_of

    parents = {f"c{i:04d}": (f"c{rng.integers(0, i):04d}",) if i else () for i in range(n)}
    return taxonomy_of(parents)


@pytest.mark.parametrize("interval", ["all", "unswapped"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_one_column_alone_is_exchanged_as_by_algorithm_2(k: int, interval: str) -> None:
    values = [0, 0, 0, 1, 2, 2, 3, 6]
    records, rng = records_of([(value,) for value in values], (M,)), np.random.default_rng(4)
    method = method_of("rank-swap-joint", {"k": k, "interval": interval})
    found, expected = Counter(), Counter()
    for _ in range(600):
        transitions = method.fit(records, rng)
        found[str((sorted((a[0], b[0]) for a, b in pairs_of(records, transitions)), transitions.untouched[0]))] += 1
        masked, untouched = oracles.rank_swap(values, MEANINGS, k, rng, interval)
        expected[str((sorted(zip(values, masked, strict=True)), untouched))] += 1
    assert_alike(found, expected)


def test_a_column_of_weight_zero_is_exchanged_with_anything_near_in_the_others() -> None:
    rows = [(a, b) for a in range(2) for b in range(SIZE)] * 3
    pairs = pairs_of(records_of(rows, (T, N)), swapped(rows, (T, N), 1, k=6, weights=[1, 0]))
    assert all(before[0] == after[0] for before, after in pairs)
    assert sum(before[1] != after[1] for before, after in pairs) > len(rows) / 2


# ------------------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    "weights", [[], [0, 0], [1, -1], [1, float("nan")], [1, float("inf")], [1, 10**400], [True, 1], "ab", 3, ["1"]]
)
def test_weights_out_of_range_name_the_parameter(weights: object) -> None:
    with pytest.raises(ParameterError, match="weights must be a list of numbers, none negative and not all zero"):
        method_of("rank-swap-joint", {"k": 2, "weights": weights})


def test_weights_survive_a_plan_file() -> None:
    step = {"method": "rank-swap-joint", "columns": ["a", "b"], "percent": 2.5, "weights": [1, 0.5]}
    plan = Plan.from_dict({"steps": [step]})
    assert Plan.from_dict(tomllib.loads(plan.to_toml())) == plan
    assert parameters_of(plan.steps[0].method) == {"percent": 2.5, "interval": "all", "weights": [1, 0.5]}


def test_too_few_weights_are_reported_with_the_number_of_columns() -> None:
    with pytest.raises(ParameterError, match="weights must be 2 numbers, one for each column of the step"):
        swapped([(0, 0), (1, 1)], (M, N), 1, k=1, weights=[1])


@pytest.mark.parametrize("k", [0, -1, 2.5, float("nan"), True, "3"])
def test_a_k_out_of_range_names_the_parameter(k: object) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number, 1 or more"):
        method_of("rank-swap-joint", {"k": k})


def test_k_and_percent_exclude_each_other_and_one_is_needed() -> None:
    with pytest.raises(ParameterError, match="percent must be left out where k is given"):
        method_of("rank-swap-joint", {"k": 3, "percent": 1})
    with pytest.raises(ParameterError, match="k must be given"):
        method_of("rank-swap-joint", {})


def test_an_unknown_interval_is_refused() -> None:
    with pytest.raises(ParameterError, match='interval must be "all" or "unswapped"'):
        method_of("rank-swap-joint", {"k": 3, "interval": "some"})


# ------------------------------------------------------------------------------------------------ what it needs


@pytest.mark.parametrize("n_records", [20, 20_000])
def test_a_fit_takes_no_more_memory_than_it_says(n_records: int) -> None:
    """As far as Python knows of it, room that is set aside and not used included, and objects that are no arrays."""
    n_rows, rng = 60_000, np.random.default_rng(4)
    record = np.concatenate([np.arange(n_records), rng.integers(0, n_records, n_rows - n_records)])
    columns = [(record // 200).astype(np.int32), (record % 200).astype(np.int32)]
    value_spaces = [NumericSpace(np.arange(float(c.max() + 1)), np.bincount(c)) for c in columns]
    records = distinct_records(["a", "b"], value_spaces, columns)[0]
    method, said = rank_swap_joint.RankSwapJoint(k=2), list[int]()
    method.fit(records, rng)  # What is compiled is not counted.
    tracemalloc.start()
    method.fit(records, rng, lambda n_bytes, _: said.append(n_bytes))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.1 * max(said) + 200_000
    assert max(said) <= 5 * n_rows + 400 * n_records
