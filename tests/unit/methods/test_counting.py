"""Counting in parts, in tables or by sorting gives the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.encoding import columns, records
from anonto.encoding.columns import encode
from anonto.encoding.records import Records, distinct_records, distinct_rows
from anonto.methods import bin_kernels, record_transitions, transitions
from anonto.methods.row_masking import moves_between
from anonto.methods.transitions import count_pairs, transitions_of_rows
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_codes(values: list[int]) -> NDArray[np.int32]:
    return np.array(values, dtype=np.int32)


@given(st.lists(st.tuples(st.integers(-1, 6), st.integers(0, 9)), max_size=60), st.booleans())
def test_pairs_are_counted_as_by_hand(pairs: list[tuple[int, int]], sorting: bool) -> None:
    left, right = as_codes([one for one, _ in pairs]), as_codes([other for _, other in pairs])
    with pytest.MonkeyPatch.context() as patch:
        if sorting:
            patch.setattr(transitions, "FEW_PAIRS", -(10**6))
            patch.setattr(transitions, "PAIRS_AT_ONCE", 7)
        keys, amounts = count_pairs(left, right, 1000 if sorting else 10, 1000 if sorting else 7)
    n_right = 1000 if sorting else 10
    expected: dict[int, int] = {}
    for one, other in pairs:
        if one >= 0:
            expected[one * n_right + other] = expected.get(one * n_right + other, 0) + 1
    assert dict(zip(keys.tolist(), amounts.tolist(), strict=True)) == expected
    assert keys.tolist() == sorted(expected)


@given(st.lists(st.integers(0, 4), max_size=50), st.randoms(use_true_random=False))
def test_transitions_of_rows_are_the_same_from_a_table_of_pairs(rows: list[int], random: object) -> None:
    members = as_codes(rows)
    taken = members.copy()
    random.shuffle(taken)  # type: ignore[attr-defined]
    counts = np.bincount(members, minlength=5) + np.array([0, 1, 0, 2, 0])
    offsets, targets, ends = bin_kernels.transitions_of_rows(members, taken, counts)
    found = transitions_of_rows(members, taken, counts)
    assert found.offsets.tolist() == offsets.tolist()
    assert found.targets.tolist() == targets.tolist()
    assert found.ends.tolist() == ends.tolist()


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 4)), max_size=50))
def test_moves_are_those_of_the_cells_that_had_a_value(cells: list[tuple[int, int]]) -> None:
    before, after = as_codes([a for a, _ in cells]), as_codes([max(b, 0) if a >= 0 else -1 for a, b in cells])
    moves = moves_between(before, after)
    found = zip(moves.sources.tolist(), moves.targets.tolist(), moves.amounts.tolist(), strict=True)
    expected: dict[tuple[int, int], int] = {}
    for one, other in zip(before.tolist(), after.tolist(), strict=True):
        if one >= 0:
            expected[one, other] = expected.get((one, other), 0) + 1
    assert sorted(found) == sorted((a, b, n) for (a, b), n in expected.items())


@given(st.integers(1, 3), st.data(), st.sampled_from([3, 1 << 19]), st.sampled_from([0, 1 << 24]))
def test_distinct_rows_are_those_of_numpy(n_columns: int, data: st.DataObject, at_once: int, dense: int) -> None:
    n_rows = data.draw(st.integers(0, 30))
    table = np.array(
        data.draw(
            st.lists(
                st.lists(st.integers(-1, 4), min_size=n_rows, max_size=n_rows), min_size=n_columns, max_size=n_columns
            )
        ),
        dtype=np.int32,
    ).reshape(n_columns, n_rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "ROWS_AT_ONCE", at_once)
        patch.setattr(records, "DENSE_COMBINATIONS", dense)
        codes, number = distinct_rows(list(table))
        found, _ = distinct_records(["x"] * n_columns, [], list(table))
    if n_rows:
        unique, inverse, counts = np.unique(table.T, axis=0, return_inverse=True, return_counts=True)
        assert codes.tolist() == unique.tolist()
        assert number.tolist() == inverse.ravel().tolist()
        assert found.counts.tolist() == counts.tolist()
    else:
        assert codes.shape == (0, n_columns)
        assert found.counts.size == 0


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (pl.Int8, -128, 127), (pl.UInt8, 0, 255), (pl.Int32, -(10**9), 10**9), (pl.Int64, -(2**63), 2**63 - 1),
        (pl.UInt64, 0, 2**64 - 1), (pl.UInt64, 2**63, 2**63 + 50), (pl.Int128, -(2**100), 2**100),
    ],
)  # fmt: skip
@given(data=st.data(), missing=st.booleans())
def test_whole_numbers_are_encoded_as_their_texts(
    dtype: pl.DataType, low: int, high: int, data: st.DataObject, missing: bool
) -> None:
    cells = st.integers(low, high) | st.integers(low, min(low + 20, high))
    values = data.draw(st.lists(cells | st.none() if missing else cells, max_size=40))
    series = pl.Series(values, dtype=dtype, strict=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "FIRST_LOOK", 0)
        patch.setattr(columns, "TEXTS_AT_ONCE", 7)
        patch.setattr(columns, "FEW_NUMBERS", data.draw(st.sampled_from([0, 1000])))
        found = encode(series)
    expected = encode(pl.Series([None if one is None else str(one) for one in values], dtype=pl.String))
    assert found.values == expected.values
    assert found.codes.tolist() == expected.codes.tolist()


@given(
    rows=st.lists(st.tuples(st.integers(0, 4), *[st.integers(-1, 3)] * 2), min_size=1, max_size=40),
    at_once=st.integers(1, 9),
)
def test_cell_outcomes_are_the_same_when_transitions_are_counted_in_batches(
    rows: list[tuple[int, int, int]], at_once: int
) -> None:
    source, *released = np.array(sorted(rows), dtype=np.int32).T
    cells = np.stack([np.arange(5) - 1, np.array([2, -1, 2, 0, -1])], axis=1).astype(np.int32)
    some = Records(("a", "b"), (), cells, np.bincount(source, minlength=5))
    fitted = record_transitions.record_transitions(some, source, np.stack(released, axis=1), None, [0, 0])
    whole = fitted.transitions.moves
    parts = [fitted.transitions.some_moves(part) for part in slices(0, whole.amounts.size, at_once)]
    for name in ("sources", "targets", "amounts"):
        np.testing.assert_array_equal(np.concatenate([getattr(one, name) for one in parts]), getattr(whole, name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_transitions, "TRANSITIONS_AT_ONCE", at_once)
        for column in range(2):
            moves, before, after = fitted.moves(some, column), cells[source, column], released[column]
            pairs, amounts = np.unique(np.stack([before, after])[:, before >= 0], axis=1, return_counts=True)
            np.testing.assert_array_equal([moves.sources, moves.targets], pairs)
            np.testing.assert_array_equal(moves.amounts, amounts)
