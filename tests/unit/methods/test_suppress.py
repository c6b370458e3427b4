"""Local suppression: k in each combination, the fewest cells on small tables, and a bound that holds."""

from __future__ import annotations

from collections import Counter
from itertools import combinations as subsets
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.errors import InputError
from anonto.methods import local_suppression
from anonto.methods.local_suppression import MISSING, Task, least_cost, suppress_cells
from budget import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
SEED = 1 << 100
ORDER = ["low", "mid", "high"]
COLUMNS: dict[str, Any] = {
    "ward": {},
    "age": {"kind": "numeric"},
    "pain": {"kind": "ordinal", "order": ORDER},
    "code": {"ontology": "illnesses"},
}


def classes_are_large(rows: Sequence[tuple[Any, ...]], counts: Sequence[int], columns: Sequence[int], k: int) -> bool:
    """Return whether k rows are equal to each in some columns, where missing is a value."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row, count in zip(rows, counts, strict=True):
        found[tuple(row[column] for column in columns)] += count
    return min(found.values()) >= k


@st.composite
def tasks(draw: st.DrawFn, most_records: int = 4) -> Task:
    n_columns = draw(st.integers(1, 3))
    cell = st.integers(-1, 2)
    rows = draw(st.lists(st.tuples(*[cell] * n_columns), min_size=1, max_size=most_records, unique=True))
    counts = draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    k = draw(st.integers(1, min(4, sum(counts))))
    every = [one for size in range(1, n_columns + 1) for one in subsets(range(n_columns), size)]
    named = draw(st.lists(st.sampled_from(every), min_size=1, max_size=3, unique=True))
    importance = draw(st.lists(st.sampled_from([1.0, 2.0, 0.5]), min_size=n_columns, max_size=n_columns))
    codes = np.array(sorted(rows), dtype=np.int32)
    return Task(codes, np.array(counts, dtype=np.int64), named, k, np.array(importance))


def cheapest(task: Task) -> float:
    """The least cost of all sets of cells, tried one after the other."""
    cells = [(row, column) for row, column in product(*map(range, task.codes.shape)) if task.codes[row, column] >= 0]
    best = np.inf
    for flags in product([False, True], repeat=len(cells)):
        rows = task.codes.tolist()
        cost = 0.0
        for (row, column), is_gone in zip(cells, flags, strict=True):
            if is_gone:
                rows[row][column] = MISSING
                cost += task.importance[column] * task.counts[row]
        if cost < best and all(classes_are_large(rows, task.counts.tolist(), one, task.k) for one in task.combinations):
            best = cost
    return float(best)


@settings(max_examples=examples(40))
@given(task=tasks())
def test_no_set_of_cells_costs_less_on_a_small_table(task: Task) -> None:
    left, bound = suppress_cells(task)
    assert all(classes_are_large(left.tolist(), task.counts.tolist(), one, task.k) for one in task.combinations)
    assert ((left == task.codes) | (left == MISSING)).all()
    assert task.cost(left) == pytest.approx(cheapest(task))
    assert bound == task.cost(left)


@settings(max_examples=examples(40))
@given(task=tasks())
def test_the_bound_holds_and_what_is_found_without_the_search_keeps_to_k(task: Task) -> None:
    least = cheapest(task)
    assert least_cost(task) <= least + 1e-9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_suppression, "MOST_CELLS", 0)
        left, bound = suppress_cells(task)
    assert all(classes_are_large(left.tolist(), task.counts.tolist(), one, task.k) for one in task.combinations)
    assert bound <= least + 1e-9 <= task.cost(left) + 2e-9


def table(n: int = 80) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "ward": rng.choice(["A", "B", "C", None], n, p=[0.5, 0.3, 0.1, 0.1]),
            "age": rng.integers(30, 50, n),
            "pain": rng.choice(ORDER, n),
            "code": rng.choice(["flu", "burn", "fracture"], n),
        }
    )


def suppressed(frame: Any, **parameters: Any) -> tuple[Any, dict[str, Any]]:
    step = {"method": "suppress", "columns": list(COLUMNS), **parameters}
    release = anonto.mask(frame, {"columns": COLUMNS, "steps": [step]}, seed=SEED)
    return release.table, release.evidence["steps"][0]


@pytest.mark.parametrize("combinations", [1, 2, 4, [["ward", "age"], ["age", "pain", "code"]]])
def test_k_released_records_are_equal_in_each_combination(combinations: Any) -> None:
    frame = table()
    masked, said = suppressed(frame, k=4, combinations=combinations)
    named = subsets(COLUMNS, combinations) if isinstance(combinations, int) else combinations
    assert min(masked.group_by(one).len()["len"].min() for one in map(list, named)) >= 4
    assert said["smallest_group"] >= 4
    gone = {name: masked[name].null_count() - frame[name].null_count() for name in COLUMNS}
    assert said["suppressed_cells"] == gone
    assert said["suppression_cost"] == sum(gone.values()) >= said["suppression_bound"] > 0
    assert masked.schema == frame.schema
    for name in COLUMNS:
        kept = masked[name].is_not_null()
        assert masked[name].filter(kept).equals(frame[name].filter(kept))


def test_important_columns_keep_their_cells() -> None:
    lost = [
        suppressed(table(), k=4, combinations=2, importance=importance)[1]["suppressed_cells"]["age"]
        for importance in ([1, 1, 1, 1], [1, 100, 1, 1])
    ]
    assert lost[1] < lost[0]


def test_it_is_proved_only_where_one_combination_has_all_columns_and_missing_cells_are_alike() -> None:
    said = [suppressed(table(), k=4, combinations=size)[1]["guarantee"] for size in (2, 4)]
    assert [one["proved"] for one in said] == [False, True]
    assert "knows more columns of the step than one combination has" in said[0]["conditions"]
    columns = {**COLUMNS, "ward": {"missing_codes": "keep", "na": ["?"]}}
    step = {"method": "suppress", "columns": list(COLUMNS), "k": 4, "combinations": 4}
    release = anonto.mask(table(), {"columns": columns, "steps": [step]}, seed=SEED)
    assert not release.evidence["steps"][0]["guarantee"]["proved"]


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table], ids=["polars", "pandas", "pyarrow"])
def test_a_suppressed_cell_is_null_in_its_own_type_in_every_library(make: Callable[[Any], Any]) -> None:
    """In libraries in which cells are taken from rows, a null is none of them."""
    cells = {
        "age": [30, 30, 91, 92, 30],
        "weight": [70.5, 70.5, 20.1, 20.1, 70.5],
        "flag": [True] * 5,
        "name": ["a"] * 5,
    }
    columns = {"age": {"kind": "numeric"}, "weight": {"kind": "numeric"}, "flag": {}, "name": {}}
    step = {"method": "suppress", "columns": list(columns), "k": 2, "combinations": 4}
    found = anonto.mask(make(cells), {"columns": columns, "steps": [step]}, seed=SEED).table
    frame = found if isinstance(found, pl.DataFrame) else pl.DataFrame(pa.table(found) if make is pa.table else found)
    assert frame.to_dict(as_series=False) == {**cells, "age": [30, 30, None, None, 30]}
    assert frame.schema == pl.DataFrame(cells).schema


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"k": 100, "combinations": 2}, "80 records cannot form a group of k = 100"),
        ({"k": 2, "combinations": [["ward", "nobody"]]}, "combinations must be lists of columns of the step"),
        ({"k": 2, "combinations": [["ward", "ward"]]}, "combinations must be a whole number, 1 or more, or a list"),
        ({"k": 2, "combinations": []}, "combinations must be a whole number"),
        ({"k": 2, "combinations": 0}, "combinations must be a whole number"),
        ({"k": 2, "combinations": 2, "importance": [1, 2]}, "importance must be a number for each of the 4 columns"),
        ({"k": 2}, "combinations must be given"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        suppressed(table(), **parameters)
