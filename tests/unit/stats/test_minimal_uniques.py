"""Minimal sample uniques against a search of all sets, and the examples of sdcMicro."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.encoding.record_counts import CountedRecords
from anonto.stats import minimal_uniques as module
from anonto.stats.minimal_uniques import (
    dis_suda,
    disclosure_by_intrusion,
    largest_size,
    minimal_uniques,
    unique_without,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.stats.minimal_uniques import MinimalUniques

Rows = list[tuple[int, ...]]


def slow(rows: Rows, largest: int) -> list[set[tuple[int, ...]]]:
    """For each row, the minimal sets of columns that no other row shares with it, from the definition."""
    found = []
    for row in rows:
        own: set[tuple[int, ...]] = set()
        for size in range(1, largest + 1):
            for columns in combinations(range(len(row)), size):
                alone = sum(all(other[c] == row[c] for c in columns) for other in rows) == 1
                if alone and not any(set(smaller) < set(columns) for smaller in own):
                    own.add(columns)
        found.append(own)
    return found


def found_in(columns: Sequence[Sequence[object]]) -> tuple[MinimalUniques, CountedRecords, list[int]]:
    """The minimal uniques of a table, and the distinct record of each row."""
    codes = [np.unique(np.array(one), return_inverse=True)[1].astype(np.int32) for one in columns]
    counted = CountedRecords.of(codes)
    places = {tuple(row): place for place, row in enumerate(counted.codes.tolist())}
    return (
        minimal_uniques(counted.codes, counted.counts),
        counted,
        [places[row] for row in zip(*(one.tolist() for one in codes), strict=True)],
    )


@given(
    st.integers(1, 5).flatmap(lambda d: st.lists(st.tuples(*[st.integers(-1, 2)] * d), min_size=1, max_size=25)),
    st.integers(1, 5),
)
def test_the_search_finds_what_the_definition_says(rows: Rows, largest: int) -> None:
    counted = CountedRecords.of([np.array(one, dtype=np.int32) for one in zip(*rows, strict=True)])
    found, n_columns = minimal_uniques(counted.codes, counted.counts, largest), len(rows[0])
    size = min(largest, n_columns)
    expected = slow(rows, size)
    by_set: dict[tuple[int, ...], int] = {}
    for own in expected:
        for one in own:
            by_set[one] = by_set.get(one, 0) + 1
    assert found.by_set == by_set
    assert found.by_size.tolist() == [sum(n for one, n in by_set.items() if len(one) == m) for m in range(1, size + 1)]
    scores = {
        row: sum(prod(n_columns - i for i in range(len(one), size)) for one in own)
        for row, own in zip(rows, expected, strict=True)
    }
    assert found.scores.tolist() == [scores[tuple(row)] for row in counted.codes.tolist()]
    in_column = [
        [sum(prod(n_columns - i for i in range(len(one), size)) for one in own if c in one) for c in range(n_columns)]
        for own in (expected[rows.index(tuple(row))] for row in counted.codes.tolist())
    ]
    assert found.in_column.tolist() == in_column


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=25))
def test_uniques_without_a_column_are_those_of_the_other_columns(rows: Rows) -> None:
    counted = CountedRecords.of([np.array(one, dtype=np.int32) for one in zip(*rows, strict=True)])
    for left, found in enumerate(unique_without(counted.codes, counted.counts)):
        others = [tuple(value for place, value in enumerate(row) if place != left) for row in rows]
        assert found == sum(others.count(one) == 1 for one in others)


RESIDENCE = ["Urban"] * 4 + ["Rural"] + ["Urban"] * 5
GENDER = ["F", "F", "F", "M", "F", "M", "F", "M", "F", "F"]
EDUCATION = ["si", "si", "pi", "sc", "sc", "sc", "pc", "post", "si", "si"]
LABOUR = ["e", "e", "n", "e", "u", "e", "n", "u", "n", "n"]


@pytest.mark.paper("sdcMicro", "tests of suda2")
def test_the_scores_are_those_of_the_guidelines_and_the_book_of_sdcmicro() -> None:
    found, _, place = found_in([RESIDENCE, GENDER, EDUCATION, LABOUR])
    assert found.scores[place].tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    age, gender = ["20s"] * 7 + ["60s"], ["male"] * 4 + ["female"] * 3 + ["male"]
    income, education = ["50k+"] * 2 + ["50k-"] * 6, ["high"] * 4 + ["university", "high", "middle", "university"]
    found, _, place = found_in([age, gender, income, education])
    assert found.scores[place].tolist()[4:] == [4, 2, 6, 8]


@pytest.mark.paper("sdcMicro", "tests of suda2")
def test_the_shares_of_columns_are_those_of_sdcmicro() -> None:
    found, counted, _ = found_in([[2, 1, 1], [0, 3, 0], [0, 6, 0]])
    assert found.shares.tolist() == [0.5, 0.375, 0.375]
    of_values = found.shares_of_values(counted.codes, 0, 2)
    assert of_values.tolist() == [0.5, 0.5, 0.0]


def test_dis_weighs_uniques_against_pairs_and_dis_suda_rises_with_the_score() -> None:
    counts = np.array([1, 1, 1, 2, 3])
    assert disclosure_by_intrusion(counts, 0.1) == pytest.approx(3 * 0.1 / (3 * 0.1 + 2 * 0.9))
    assert disclosure_by_intrusion(np.array([2, 3])) == 0
    found, counted, place = found_in([RESIDENCE, GENDER, EDUCATION, LABOUR])
    risks = dis_suda(found, counted.counts)[place]
    assert [risks[one] == 0 for one in range(10)] == [score == 0 for score in found.scores[place]]
    assert risks[4] > risks[7] > risks[2] == risks[6] > 0


def test_of_many_columns_or_records_smaller_sets_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert largest_size(10, 20_000) == 10
    assert largest_size(30, 100) == 2
    assert largest_size(10, 700_000) == 2
    monkeypatch.setattr(module, "MOST_CELLS", 1)
    assert largest_size(3, 100) == 1
