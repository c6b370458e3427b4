"""Rows that are found by a few columns and read, against a slow search and against what must come out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.attacks.compute import partial_knowledge as module
from anonto.attacks.compute.partial_knowledge import partial_knowledge
from anonto.encoding.comparison import Amounts, BothCells, ComparedColumn, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from budget import examples

Cells = dict[str, BothCells]
NAMES = ("a", "b", "c", "d")


def attacked(cells: Cells, masked: tuple[str, ...], secret: tuple[str, ...] = (), seed: int = 0, **columns: Any) -> Any:
    steps = [masked] if masked else []
    n_rows = max((len(one.original) for one in cells.values()), default=0)
    amounts = next((one.amounts for one in columns.values()), Amounts.of_rows(n_rows, n_rows))
    return partial_knowledge(cells, columns, steps, secret, amounts, np.random.default_rng(seed))


def people(n: int, n_columns: int = 6, values: int = 12) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {f"c{place}": rng.integers(0, values, n) for place in range(n_columns)}


def as_cells(original: dict[str, Any], masked: dict[str, Any]) -> Cells:
    return {name: BothCells.of(pl.Series(original[name]), pl.Series(masked[name])) for name in original}


def test_rows_that_move_whole_are_found_and_read() -> None:
    original = people(800)
    order = np.random.default_rng(2).permutation(800)
    found = attacked(as_cells(original, {name: cells[order] for name, cells in original.items()}), tuple(original))
    assert found.details["singled_out"] > 0.9
    assert found.details["read_right"] == 1.0
    assert found.rate == found.details["singled_out"] == found.details["read_whole"]
    assert found.details["whole_rows"]
    assert found.baseline < 0.2
    assert found.low > 0.8
    assert 2 <= len(found.columns) <= 5
    assert len(found.columns) + len(found.details["columns_read"]) == 6
    assert [len(one["known"]) for one in found.details["by_columns_known"]] == [2, 3, 4, 5]


def test_columns_shuffled_separately_reveal_no_more_than_guessing() -> None:
    original = people(800)
    rng = np.random.default_rng(2)
    found = attacked(
        as_cells(original, {name: rng.permutation(cells) for name, cells in original.items()}), tuple(original)
    )
    assert not found.details["whole_rows"]
    assert found.details["read_right"] < 0.3
    assert found.low <= found.baseline + 0.05


def test_what_is_confidential_is_read_and_never_known() -> None:
    original = people(600, 4)
    original["secret"] = np.arange(600)
    order = np.random.default_rng(2).permutation(600)
    cells = as_cells(original, {name: column[order] for name, column in original.items()})
    found = attacked(cells, tuple(original), ("secret",))
    assert "secret" not in found.columns
    assert all("secret" not in one["known"] for one in found.details["by_columns_known"])
    assert "secret" in found.details["columns_read"]
    assert attacked(cells, tuple(original), tuple(original)) is None


def test_numbers_are_the_same_however_they_are_written() -> None:
    original = people(400, 3, 40)
    order = np.random.default_rng(2).permutation(400)
    masked = {name: [f"{cell}.00" for cell in cells[order]] for name, cells in original.items()}
    cells = as_cells(original, masked)
    numbers = {
        name: compare_column(name, cells[name], ColumnDescription(kind="numeric"), opener()) for name in original
    }
    assert attacked(cells, tuple(original)).details["singled_out"] == 0.0
    assert attacked(cells, tuple(original), **numbers).details["singled_out"] > 0.3


def test_one_column_or_one_person_gives_nothing_to_read() -> None:
    assert attacked(as_cells({"a": [1, 2]}, {"a": [1, 2]}), ("a",)) is None
    assert attacked(as_cells({"a": [1], "b": [1]}, {"a": [1], "b": [1]}), ("a",)) is None
    assert attacked({}, ()) is None
    two = attacked(as_cells({"a": [1, 2], "b": [3, 4]}, {"a": [1, 2], "b": [3, 4]}), ("a", "b"))
    assert (len(two.columns), two.rate, two.n) == (1, 1.0, 1)


CELL = st.sampled_from(["x", "y", "z", None])


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(*[CELL] * 8), min_size=2, max_size=14),
    st.sampled_from([("a", "b", "c", "d"), ("b", "c"), ()]),
    st.sampled_from([(), ("d",)]),
)
def test_what_is_counted_is_what_a_slow_search_counts(
    rows: list[tuple[str | None, ...]], masked: tuple[str, ...], secret: tuple[str, ...]
) -> None:
    cells = {
        name: tuple(pl.Series([row[place + side] for row in rows], dtype=pl.String) for side in (0, 4))
        for place, name in enumerate(NAMES)
    }
    found = attacked({name: BothCells.of(*both) for name, both in cells.items()}, masked, secret)
    assert not set(found.columns) & set(secret)
    judged = np.random.default_rng(0).permutation(len(rows))[1::2]
    left = [name for name in NAMES if name not in found.columns]
    to_read = [name for name in left if name in masked] or left
    assert found.details["columns_read"] == to_read
    single, right = 0, 0.0
    for person in judged:
        own = {name: cells[name][0][int(person)] for name in NAMES}
        agree = [n for n in range(len(rows)) if all(cells[name][1][n] == own[name] for name in found.columns)]
        if len(agree) == 1:
            single += 1
            right += np.mean([cells[name][1][agree[0]] == own[name] for name in to_read])
    assert found.n == judged.size
    assert found.details["singled_out"] == pytest.approx(single / judged.size)
    assert found.rate == pytest.approx(right / judged.size)
    assert 0 <= found.low <= found.rate <= found.high <= 1


def test_counted_records_are_read_like_their_rows() -> None:
    """Persons first, who stand for no row; then distinct records, each with its rows."""
    original = people(500, 4, 6)
    order = np.random.default_rng(2).permutation(500)
    masked = {name: cells[order] for name, cells in original.items()}
    whole = attacked(as_cells(original, masked), tuple(original))
    records, rows = np.unique(np.stack(list(masked.values()), axis=1), axis=0, return_counts=True)
    both = {
        name: (np.concatenate([original[name], records[:, place]]), np.concatenate([masked[name], records[:, place]]))
        for place, name in enumerate(original)
    }
    amounts = Amounts(np.concatenate([np.zeros(500, int), rows]), np.concatenate([np.zeros(500, int), rows]), 500)
    series = {name: BothCells.of(pl.Series(one), pl.Series(other)) for name, (one, other) in both.items()}
    columns: dict[str, ComparedColumn] = {
        name: compare_column(name, series[name], ColumnDescription(), opener(), amounts) for name in series
    }
    counted = attacked(series, tuple(original), **columns)
    assert (counted.columns, counted.rate, counted.n) == (whole.columns, whole.rate, whole.n)


def test_the_set_is_judged_on_other_persons_than_it_was_chosen_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[frozenset[int]] = []
    read = module._Persons.read

    def spy(self: Any, known: Any) -> Any:
        seen.append(frozenset(self.rows.tolist()))
        return read(self, known)

    monkeypatch.setattr(module._Persons, "read", spy)
    original = people(300)
    attacked(as_cells(original, original), tuple(original))
    searching, judging = dict.fromkeys(seen)
    assert len(searching) == len(judging) == 150
    assert not searching & judging
    assert seen.count(searching) > 20 > seen.count(judging)


def test_rows_of_one_of_two_steps_leave_whole_and_those_of_the_other_do_not() -> None:
    original = people(800, 6, 60)
    rng = np.random.default_rng(2)
    order = rng.permutation(800)
    masked = {name: cells[order] if name < "c3" else rng.permutation(cells) for name, cells in original.items()}
    steps = [("c0", "c1", "c2"), ("c3", "c4", "c5")]
    found = partial_knowledge(as_cells(original, masked), {}, steps, (), Amounts.of_rows(800, 800), rng)
    assert found is not None
    assert found.details["whole_rows"]
    assert 0.2 < found.details["read_right"] < 0.6
    assert set(found.columns) < {"c0", "c1", "c2"}


@pytest.mark.filterwarnings("ignore:.*are released unchanged:anonto.errors.AnontoWarning")
@pytest.mark.parametrize(
    ("step", "whole"),
    [
        ({"method": "group-swap", "k": 10, "move": "together"}, True),
        ({"method": "equi-depth-swap", "k": 10}, True),
        ({"method": "equi-width-swap", "bins": 2}, True),
        ({"method": "invariant-swap", "rate": 0.8, "k": 10}, True),
        ({"method": "group-swap", "k": 10, "move": "apart"}, False),
        ({"method": "rank-swap-joint", "k": 10}, False),
        ({"method": "microaggregate", "k": 10}, False),
        ({"method": "random-swap"}, False),
    ],
)
def test_the_attack_detects_methods_that_move_whole_rows(step: dict[str, Any], whole: bool) -> None:
    table = pl.DataFrame(people(400, 5, 15)).with_columns(pl.all().cast(pl.String))
    plan = {"columns": {name: {} for name in table.columns}, "steps": [{"columns": table.columns, **step}]}
    if step["method"] == "equi-width-swap":
        plan["columns"] = {name: {"kind": "numeric"} for name in table.columns}
    release = anonto.mask(table, plan, seed=1 << 99)
    found = anonto.assess(table, release.table, plan, same_order=True)
    assert found.partial is not None
    assert found.partial.details["whole_rows"] is whole
    assert any("singles out" in said for said in found.findings) is whole
    says_so = "may find the row and read the rest" in release.evidence["steps"][0]["guarantee"]["conditions"]
    assert says_so is whole
