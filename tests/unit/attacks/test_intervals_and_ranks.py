"""Branches, reaches and ranks against the definitions written out, over ontologies of any shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from anonto.attacks.compute.interval_disclosure import NEAR, interval_disclosure
from anonto.attacks.compute.permutation_distance import permutation_distance
from anonto.encoding.comparison import BothCells, ComparedColumn, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.utility.columns import column_losses
from budget import examples
from strategies import hierarchies, taxonomy_of

TOP, BELOW = "the same branch below the root", "the same branch two levels below the root"


def compared(original: list[Any], masked: list[Any], **description: Any) -> ComparedColumn:
    series = [pl.Series(cells, dtype=pl.String) for cells in (original, masked)]
    return compare_column("c", BothCells.of(*series), ColumnDescription(**description), opener())


def found_in(column: ComparedColumn) -> dict[str, Any]:
    return {risk.details["within"]: risk for risk in interval_disclosure(column)}


@settings(max_examples=examples(80), deadline=None)
@given(st.data(), hierarchies(max_concepts=12))
def test_a_cell_stays_in_a_branch_where_its_values_share_an_ancestor_on_the_level(
    data: st.DataObject, parents: Any
) -> None:
    cells = st.lists(st.tuples(*(st.sampled_from(sorted(parents)),) * 2), min_size=1, max_size=12)
    rows = data.draw(cells)
    original, masked = [row[0] for row in rows], [row[1] for row in rows]
    found = found_in(compared(original, masked, ontology=taxonomy_of(parents)))
    graph = oracles.graph_of(parents)
    n_roots = sum(not above for above in parents.values())
    for what, level in ((TOP, 1), (BELOW, 2)):
        depth = level + (n_roots == 1)

        def branches(one: str, depth: int = depth) -> set[str]:
            above = {*oracles.ancestors(graph, one), one}
            return {a for a in above if oracles.depth(graph, a) == depth} or {one}

        assert found[what].rate == pytest.approx(np.mean([bool(branches(x) & branches(y)) for x, y in rows]))
        by_chance = [bool(branches(x) & branches(y)) for x in original for y in masked]
        assert found[what].baseline == pytest.approx(np.mean(by_chance))


def test_values_that_share_one_of_several_parents_stay_in_its_branch() -> None:
    several = taxonomy_of({"root": (), "c1": ("root",), "c2": ("root",), "x": ("c1", "c2"), "y": ("c2",)})
    found = found_in(compared(["x", "y"], ["y", "x"], ontology=several))
    assert found[TOP].rate == 1.0
    assert found[BELOW].rate == 0.0


def test_the_roots_of_a_forest_are_its_branches() -> None:
    names = {"A": (), "B": (), "a": ("A",), "b": ("A",), "c": ("B",), "aa": ("a",), "ab": ("a",)}
    column = compared(["aa", "a", "c"], ["b", "ab", "aa"], ontology=taxonomy_of(names))
    found = found_in(column)
    assert found[TOP].rate == pytest.approx(2 / 3)
    assert found[BELOW].rate == pytest.approx(1 / 3)
    changes = column_losses(column)["frequency_change"]
    assert [one["depth"] for one in changes] == [1, 2, 3]
    assert changes[0]["change"] == pytest.approx(1 / 3)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.tuples(*(st.integers(0, 40),) * 2), min_size=2, max_size=25))
def test_numbers_are_near_within_a_tenth_of_the_range_by_chance_as_well(rows: list[tuple[int, int]]) -> None:
    original, masked = [row[0] for row in rows], [row[1] for row in rows]
    extent = float(np.ptp(original))
    if not extent:
        return
    told = found_in(compared([str(one) for one in original], [str(one) for one in masked], kind="numeric"))
    found = told[f"distance {NEAR}"]
    assert found.rate == pytest.approx(np.mean([abs(x - y) / extent <= NEAR + 1e-12 for x, y in rows]))
    by_chance = [abs(x - y) / extent <= NEAR + 1e-12 for x in original for y in masked]
    assert found.baseline == pytest.approx(np.mean(by_chance))


# ------------------------------------------------------------------------------------------------ ranks by chance


def test_a_missing_cell_counts_as_a_value_when_columns_are_shuffled() -> None:
    cells = ["x", "y", None, None]
    found = permutation_distance([compared(cells, cells)])
    assert found.rate == 1.0
    expected = np.mean([1 - 0.75**4, 1 - 0.75**4, 1 - 0.5**4, 1 - 0.5**4])
    assert found.baseline == pytest.approx(expected)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(*(st.sampled_from(["1", "2", "7", None]),) * 2, *(st.sampled_from(["x", "y", "z", None]),) * 2),
        min_size=1,
        max_size=90,
    ),
    st.randoms(use_true_random=False),
)
def test_the_chance_to_meet_all_ranks_is_that_of_drawing_as_many_records(rows: list[Any], chance: Any) -> None:
    n = len(rows)
    persons = list(range(n // 3, n))
    chance.shuffle(persons)
    if any(all(row[place] is None for row in rows for place in pair) for pair in ((0, 1), (2, 3))):
        return
    columns = [
        compared([row[0] for row in rows], [row[1] for row in rows], kind="numeric"),
        compared([row[2] for row in rows], [row[3] for row in rows]),
    ]
    found = permutation_distance(columns, np.array(persons, dtype=np.int64))
    released = [[row[1] for row in rows], [row[3] for row in rows]]
    expected = [
        1.0 - (1.0 - released[0].count(rows[one][0]) / n * released[1].count(rows[one][2]) / n) ** n for one in persons
    ]
    assert found.n == len(persons)
    assert found.baseline == pytest.approx(np.mean(expected))
