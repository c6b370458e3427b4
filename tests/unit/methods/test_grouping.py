"""Groups of near records against their definition, and the local search that refines them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from anonto.encoding.records import Records, distinct_records, distinct_rows
from anonto.encoding.value_space import ExtendedSpace, NumericSpace, TextSpace
from anonto.errors import TooFewRecordsError
from anonto.methods.grouping import (
    NominalPart,
    NumberPart,
    RecordGroups,
    joint_space,
    mdav,
    refine,
    refine_groups,
    space_of,
)
from anonto.search.tree import tree_of
from budget import examples

KINDS = ("normal", "whole", "gapped", "metric", "no metric", "text")


class Drawn:
    """A random table with columns of some kinds, for us and for the oracle."""

    def __init__(self, kinds: tuple[str, ...], n: int, seed: int, *, squared: bool) -> None:
        self.rng = np.random.default_rng(seed)
        cells = [self._cells(kind, n) for kind in kinds]
        keys = [np.unique(np.where(np.isnan(c), np.inf, c), return_inverse=True)[1].astype(np.int32) for c in cells]
        rows, record_of = distinct_rows(keys)
        self.counts = np.bincount(record_of, minlength=rows.shape[0])
        firsts = [int(np.flatnonzero(record_of == record)[0]) for record in range(rows.shape[0])]
        parts, columns, tables = [], [], []
        for kind, column in zip(kinds, cells, strict=True):
            own = column[firsts]
            if kind in {"normal", "whole", "gapped"}:
                parts.append(NumberPart(own, gap=0.7))
                tables.append(None)
                columns.append([None if np.isnan(cell) else float(cell) for cell in own])
            else:
                table = self._table(kind, int(column.max()) + 1)
                distances = None if kind == "text" else table
                parts.append(NominalPart(own.astype(np.int32), len(table), distances))
                tables.append(table)
                columns.append([int(cell) for cell in own])
        self.space = space_of(parts, squared=squared, names=kinds)
        self.rows = [record for record, count in enumerate(self.counts) for _ in range(count)]
        distinct = list(zip(*columns, strict=True))
        self.records = [distinct[record] for record in self.rows]
        self.oracle = oracles.RecordSpace(tables, squared=squared, gap=0.7)

    def _cells(self, kind: str, n: int) -> np.ndarray:
        if kind == "normal":
            return self.rng.normal(size=n)
        cells = self.rng.integers(0, self.rng.integers(1, 12), n).astype(float)
        if kind == "gapped":
            cells[self.rng.random(n) < 0.3] = np.nan
        return cells / 4 if kind in {"whole", "gapped"} else cells

    def _table(self, kind: str, width: int) -> np.ndarray:
        if kind == "text":
            return 1.0 - np.eye(width)
        if kind == "metric":
            points = self.rng.normal(size=(width, 2))
            return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
        table = np.round(self.rng.random((width, width)), 1)
        return np.triu(table, 1) + np.triu(table, 1).T

    def expected(self, k: int) -> list[list[int]]:
        groups = oracles.mdav(self.records, self.oracle, k)
        return [sorted(self.rows[row] for row in group) for group in groups]


def as_lists(groups: RecordGroups) -> list[list[int]]:
    return [sorted(part.tolist()) for part in np.split(groups.members, groups.offsets[1:-1])] if groups.n_groups else []


def loss(space, groups: list[list[int]], *, squares: bool) -> float:
    arrays = space.arrays

    def cost(a: int, b: int) -> float:
        parts = []
        for column in range(arrays.numbers.shape[1]):
            x, y = arrays.numbers[[a, b], column]
            difference = (x - y) ** 2 if arrays.squared else abs(x - y)
            parts.append(arrays.gaps[column] * (np.isnan(x) != np.isnan(y)) if np.isnan(difference) else difference)
        for column, (start, width) in enumerate(zip(arrays.starts, arrays.widths, strict=True)):
            x, y = arrays.codes[[a, b], column]
            parts.append(arrays.tables[start + x * width + y] if start >= 0 else arrays.weights[column] * (x != y))
        return sum(part**2 if squares else part for part in parts)

    return sum(sum(cost(a, b) for a, b in itertools.combinations(group, 2)) / len(group) for group in groups)


drawn = st.builds(
    Drawn,
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3).map(tuple),
    st.integers(1, 60),
    st.integers(0, 10**6),
    squared=st.booleans(),
)


# ------------------------------------------------------------------------------------------------ MDAV


@settings(max_examples=examples(250))
@given(table=drawn, k=st.integers(1, 8))
def test_the_groups_are_those_of_the_definition(table: Drawn, k: int) -> None:
    k = min(k, len(table.rows))
    assert as_lists(mdav(table.space, table.counts, k)) == table.expected(k)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(
    "kinds",
    [("normal",) * 3, ("normal", "metric"), ("no metric", "text"), ("whole", "gapped"), ("metric", "gapped", "whole")],
    ids=" and ".join,
)
def test_larger_tables_are_grouped_by_the_definition_too(kinds: tuple[str, ...], squared: bool) -> None:
    table = Drawn(kinds, 300, 7, squared=squared)
    assert as_lists(mdav(table.space, table.counts, 5)) == table.expected(5)


def test_records_all_equally_far_from_the_middle_are_grouped_by_the_definition() -> None:
    """Every distance to the middle is nearly the same, so that no earlier bound decides which record is farthest."""
    angles = np.arange(240) * 2 * np.pi / 240
    columns = [np.cos(angles), np.sin(angles)]
    space = space_of([NumberPart(column) for column in columns], squared=True)
    expected = oracles.mdav(list(zip(*columns, strict=True)), oracles.RecordSpace([None, None], squared=True), 4)
    found = as_lists(mdav(space, np.ones(240, dtype=np.int64), 4))
    assert found == [sorted(group) for group in expected]


def test_copies_of_a_record_are_shared_out_among_groups() -> None:
    space = space_of([NumberPart(np.array([0.0, 1.0, 5.0]))], squared=True)
    counts = np.array([7, 1, 4])
    rows = [0.0] * 7 + [1.0] + [5.0] * 4
    expected = oracles.mdav([(row,) for row in rows], oracles.RecordSpace([None], squared=True), 3)
    record_of = {0.0: 0, 1.0: 1, 5.0: 2}
    assert as_lists(mdav(space, counts, 3)) == [sorted(record_of[rows[row]] for row in group) for group in expected]


@given(table=drawn, k=st.integers(1, 9))
def test_every_row_is_in_one_group_of_k_to_2k_less_1(table: Drawn, k: int) -> None:
    k = min(k, len(table.rows))
    groups = mdav(table.space, table.counts, k)
    assert np.array_equal(np.bincount(groups.members, minlength=table.counts.size), table.counts)
    assert groups.sizes.min() >= k
    assert groups.sizes.max() <= max(2 * k - 1, 1)
    again = mdav(table.space, table.counts, k)
    assert np.array_equal(groups.members, again.members)
    assert np.array_equal(groups.offsets, again.offsets)


def test_fewer_rows_than_one_group_are_refused_and_an_empty_table_has_no_groups() -> None:
    space = space_of([NumberPart(np.array([1.0, 2.0]))], squared=False, names=["age"])
    with pytest.raises(TooFewRecordsError, match="3 records of 'age' cannot form a group of k = 4; choose a k of 3"):
        mdav(space, np.array([1, 2]), 4)
    assert mdav(space, np.array([1, 2]), 3).sizes.tolist() == [3]
    empty = space_of([NominalPart(np.empty(0, dtype=np.int32), 0)], squared=False)
    groups = mdav(empty, np.empty(0, dtype=np.int64), 3)
    assert (groups.n_groups, groups.n_homogeneous) == (0, 0)


def test_homogeneous_groups_are_those_of_equal_records() -> None:
    groups = RecordGroups(np.array([1, 1, 0, 1, 2, 2], dtype=np.int32), np.array([0, 2, 4, 6]))
    assert groups.n_homogeneous == 2


# ------------------------------------------------------------------------------------------------ bounds


@given(table=drawn)
def test_the_bounds_of_a_block_hold_for_all_its_values(table: Drawn) -> None:
    tree = tree_of(table.space)
    values, space = tree.values, table.space.arrays
    for column, (start, width) in enumerate(zip(space.starts.tolist(), space.widths.tolist(), strict=True)):
        if start < 0 or width < 2:
            continue
        distances = space.tables[start : start + width**2].reshape(width, width)
        places = values.places[values.place_starts[column] :][:width]
        assert sorted(places) == list(range(width))
        for block in range(int(values.starts[column]), int(values.starts[column]) + width - 1):
            inside = (places >= values.first[block]) & (places < values.last[block])
            at = values.bound_starts[column] + np.arange(width) * values.n_kept[column] + values.kept[block]
            assert (values.nearest[at] <= distances[:, inside].min(axis=1)).all()
            assert (values.farthest[at] >= distances[:, inside].max(axis=1)).all()


@given(table=drawn)
def test_the_leaves_of_a_tree_hold_every_record_once(table: Drawn) -> None:
    nodes = tree_of(table.space).nodes
    assert sorted(nodes.records.tolist()) == list(range(table.space.n_records))
    leaves = np.flatnonzero(nodes.child < 0)
    covered = [place for leaf in leaves for place in range(nodes.begin[leaf], nodes.end[leaf])]
    assert sorted(covered) == list(range(table.space.n_records))
    assert nodes.alive[0] == table.space.n_records


# ------------------------------------------------------------------------------------------------ refining


@given(table=drawn, k=st.integers(1, 6), squares=st.booleans())
def test_refining_lowers_the_loss_and_keeps_rows_and_sizes(table: Drawn, k: int, squares: bool) -> None:
    k = min(k, len(table.rows))
    groups = mdav(table.space, table.counts, k)
    better = refine_groups(table.space, groups, k, pair_cost="squares" if squares else "sum")
    assert better is not None
    assert better.loss_before == pytest.approx(loss(table.space, as_lists(groups), squares=squares), abs=1e-9)
    assert better.loss == pytest.approx(loss(table.space, as_lists(better.groups), squares=squares), abs=1e-9)
    assert better.loss <= better.loss_before + 1e-12
    assert np.array_equal(np.bincount(better.groups.members, minlength=table.counts.size), table.counts)
    assert k <= better.groups.sizes.min() <= better.groups.sizes.max() <= max(2 * k - 1, 1)


@settings(max_examples=examples(40))
@given(table=drawn, k=st.integers(2, 4))
def test_no_single_move_or_exchange_is_left_that_would_lower_the_loss(table: Drawn, k: int) -> None:
    k = min(k, len(table.rows))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(refine, "ROUNDS", 1000)
        better = refine_groups(table.space, mdav(table.space, table.counts, k), k, pair_cost="sum")
    assert better is not None
    groups = as_lists(better.groups)
    for a, b in itertools.permutations(range(len(groups)), 2):
        before = loss(table.space, [groups[a], groups[b]], squares=False)
        for i, x in enumerate(groups[a]):
            without = groups[a][:i] + groups[a][i + 1 :]
            if len(groups[a]) > k and len(groups[b]) < 2 * k - 1:
                assert loss(table.space, [without, [*groups[b], x]], squares=False) > before - 1e-8
            for j, y in enumerate(groups[b]):
                others = groups[b][:j] + groups[b][j + 1 :]
                assert loss(table.space, [[*without, y], [*others, x]], squares=False) > before - 1e-8


def test_refining_takes_mixed_up_groups_apart() -> None:
    space = space_of([NumberPart(np.array([0.0, 1, 2, 3, 100, 101, 102, 103]))], squared=True)
    mixed = RecordGroups(np.array([0, 4, 1, 5, 2, 6, 3, 7], dtype=np.int32), np.array([0, 4, 8]))
    better = refine_groups(space, mixed, 4, pair_cost="sum")
    assert better is not None
    assert sorted(as_lists(better.groups)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert better.loss == pytest.approx(10.0)


def test_many_groups_are_refined_through_near_ones_as_well_as_through_all(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(4).normal(size=(1_500, 3))
    space = space_of([NumberPart(column) for column in numbers.T], squared=True)
    groups = mdav(space, np.ones(1_500, dtype=np.int64), 5)
    assert groups.n_groups > 5 * refine.NEAR
    through_near = refine_groups(space, groups, 5, pair_cost="sum")
    monkeypatch.setattr(refine, "NEAR", groups.n_groups)
    through_all = refine_groups(space, groups, 5, pair_cost="sum")
    assert through_near is not None
    assert through_all is not None
    assert through_near.loss < 0.95 * through_near.loss_before
    assert through_near.loss == pytest.approx(through_all.loss, rel=0.01)


def test_very_large_groups_are_not_refined() -> None:
    space = space_of([NumberPart(np.array([0.0, 1.0]))], squared=True)
    k = refine.LARGEST_GROUPS
    groups = mdav(space, np.array([k, k]), k)
    assert refine_groups(space, groups, k, pair_cost="sum") is None


# ------------------------------------------------------------------------------------------------ the joint space


def test_the_joint_distance_is_the_mean_of_the_columns_with_missing_cells_as_a_value() -> None:
    age = ExtendedSpace(NumericSpace(np.array([30.0, 40, 50]), np.array([1, 1, 1])), np.array([1]))
    name = ExtendedSpace(TextSpace(np.array([2, 1])), np.array([1]))
    codes = [np.array([0, 1, 2, 3], dtype=np.int32), np.array([0, 1, 2, 0], dtype=np.int32)]
    records, _ = distinct_records(["age", "name"], [age, name], codes)
    space = joint_space(records)
    for a, b in itertools.combinations(range(4), 2):
        expected = np.mean([one.pair_distances(c[[a]], c[[b]])[0] for one, c in zip((age, name), codes, strict=True)])
        assert 2 * loss(space, [[a, b]], squares=False) == pytest.approx(expected)


def test_a_column_of_one_number_adds_nothing() -> None:
    value_space = NumericSpace(np.array([3.0]), np.array([4]))
    records = Records(("a",), (value_space,), np.zeros((1, 1), dtype=np.int32), np.array([4]))
    assert joint_space(records).arrays.numbers.tolist() == [[0.0]]
