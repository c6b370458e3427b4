"""Microaggregation of one column of numbers: no groups are better, and equal values stay together."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.errors import TooFewRecordsError
from anonto.methods.one_column import best_groups, group_offsets
from anonto.methods.one_column_kernels import best_cuts
from anonto.methods.plain import one_column as plain
from budget import examples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
STEP = {"method": "microaggregate", "columns": ["x"]}


def columns_of_numbers(kind: str, n: int, seed: int) -> Any:
    """Sorted numbers that are easy, equal, skewed, far from 0, or beside one that is far from all others."""
    rng = np.random.default_rng(seed)
    if kind == "outlier":
        return np.sort(np.append(rng.normal(size=n - 1), rng.choice([-1e9, 1e9])))
    numbers = {
        "normal": rng.normal(size=n),
        "few": rng.integers(0, 6, n).astype(float),
        "skewed": rng.lognormal(0, 6, n),
        "offset": 1e15 + rng.integers(0, 50, n),
        "huge": rng.normal(size=n) * 1e300,
    }[kind]
    return np.sort(numbers)


numbers_of_any_kind = st.builds(
    columns_of_numbers,
    st.sampled_from(["normal", "few", "skewed", "offset", "outlier", "huge"]),
    st.integers(1, 60),
    st.integers(0, 10**6),
)


def squared_error(numbers: Sequence[float]) -> Fraction:
    exact = [Fraction(float(number)) for number in numbers]
    mean = sum(exact) / len(exact)
    return sum(((number - mean) ** 2 for number in exact), Fraction(0))


def loss(numbers: Any, cuts: Any) -> Fraction:
    return sum((squared_error(numbers[a:b]) for a, b in pairwise(list(cuts))), Fraction(0))


def partitions(rows: list[int], k: int) -> Any:
    """All partitions of some rows in groups of at least k."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for chosen in range(1 << len(rest)):
        group = [first, *(row for place, row in enumerate(rest) if chosen >> place & 1)]
        if len(group) >= k:
            others = [row for row in rest if row not in group]
            yield from ([group, *more] for more in partitions(others, k))


@settings(max_examples=examples(25))
@given(numbers=st.lists(st.integers(0, 9), min_size=1, max_size=8), k=st.integers(1, 4))
def test_no_partition_of_all_there_are_loses_less(numbers: list[int], k: int) -> None:
    k = min(k, len(numbers))
    ordered = np.sort(np.array(numbers, dtype=float))
    values, rows = np.unique(ordered, return_counts=True)
    least = min(
        sum((squared_error([numbers[row] for row in group]) for group in groups), Fraction(0))
        for groups in partitions(list(range(len(numbers))), k)
    )
    assert float(loss(ordered, group_offsets(values, rows, k))) == pytest.approx(float(least), abs=1e-12)


@settings(max_examples=examples(150))
@given(numbers=numbers_of_any_kind, k=st.integers(1, 12))
def test_the_compiled_search_loses_what_the_plain_one_loses(numbers: Any, k: int) -> None:
    k = min(k, numbers.size)
    scaled = np.ldexp(numbers, -1000) if np.abs(numbers).max() > 1e200 else numbers
    values, rows = np.unique(numbers, return_counts=True)
    least = float(loss(scaled, plain.best_cuts(scaled, k)))
    found = best_cuts(scaled, k)
    assert np.diff(found).min() >= k
    assert np.diff(found).max() <= 2 * k - 1 or numbers.size < k
    for cuts in (found, group_offsets(values, rows, k)):
        assert float(loss(scaled, cuts)) == pytest.approx(least, rel=1e-12, abs=0.0)


@settings(max_examples=examples(150))
@given(rows=st.lists(st.integers(1, 40), min_size=1, max_size=12), k=st.integers(1, 9), seed=st.integers(0, 10**6))
def test_a_value_is_divided_only_where_a_group_would_have_fewer_than_k_rows(rows: list[int], k: int, seed: int) -> None:
    k = min(k, sum(rows))
    values = np.sort(np.random.default_rng(seed).normal(size=len(rows)))
    numbers = np.repeat(values, rows)
    cuts = group_offsets(values, np.array(rows), k)
    groups = list(pairwise(cuts.tolist()))
    assert min(b - a for a, b in groups) >= k
    assert cuts[-1] == numbers.size
    for one, other in pairwise(groups):
        if numbers[one[1] - 1] == numbers[other[0]]:
            assert any(b - a == k and numbers[a] != numbers[b - 1] for a, b in (one, other))
    for value in values.tolist():
        assert sum(numbers[a] <= value <= numbers[b - 1] for a, b in groups) <= 3


def test_an_outlier_does_not_spoil_the_groups_of_the_others() -> None:
    """What is lost in its group is a thousand million million times what is lost in all others."""
    rng = np.random.default_rng(3)
    others = np.sort(rng.normal(size=300))
    far = np.append(np.full(3, -1e12) + rng.normal(size=3), others)
    far.sort()
    cuts = best_cuts(far, 3)
    assert cuts[1] == 3
    least = float(loss(others, plain.best_cuts(others, 3)))
    assert float(loss(others, cuts[1:] - 3)) == pytest.approx(least, rel=1e-12)


def test_many_equal_rows_cost_no_time_and_are_one_group() -> None:
    rows = np.array([10**9, 1, 10**9, 2])
    cuts = group_offsets(np.array([1.0, 2.1, 3.0, 9.0]), rows, 5)
    assert cuts.tolist() == [0, 10**9, 10**9 + 5, 2 * 10**9 - 2, 2 * 10**9 + 3]


def test_fewer_rows_than_k_are_refused_and_no_rows_have_no_groups() -> None:
    with pytest.raises(TooFewRecordsError, match="x"):
        best_groups(np.array([1.0]), np.array([2]), 3, ["x"])
    assert group_offsets(np.empty(0), np.empty(0, dtype=np.int64), 3).tolist() == [0]


def test_the_order_of_the_records_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    numbers, counts = rng.normal(size=50).round(1), rng.integers(1, 4, 50)
    groups = best_groups(numbers, counts, 4)
    assert np.array_equal(np.bincount(groups.members, minlength=50), counts)
    ordered = numbers[groups.members]
    assert (np.diff(ordered) >= 0).all()


# ------------------------------------------------------------------------------------------------ in a release


def table(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    income = np.where(rng.random(n) < 0.1, None, rng.lognormal(3, 1, n).round(1))
    return pl.DataFrame({"x": income.tolist(), "pain": rng.choice(["low", "mid", "high"], n)})


def mask(given: Any, columns: dict[str, Any], **parameters: Any) -> Any:
    return anonto.mask(given, {"columns": columns, "steps": [STEP | parameters]}, seed=1 << 90)


@pytest.mark.parametrize("variable", [False, True])
def test_a_release_has_the_best_groups_and_keeps_missing_cells(variable: bool) -> None:
    release = mask(table(), {"x": {"kind": "numeric"}}, k=4, variable=variable)
    step = release.evidence["steps"][0]
    numbers = np.sort(table()["x"].drop_nulls().to_numpy())
    expected = float(loss(numbers, plain.best_cuts(numbers, 4)))
    assert expected <= step["sse"]["x"] <= expected * 1.05  # means are rounded to one decimal
    assert (release.table["x"].is_null() == table()["x"].is_null()).all()
    assert step["real_k"] >= 4


def test_without_refining_the_groups_are_those_of_mdav() -> None:
    """As printed in the papers: the compared loss is that of other groups."""
    best, printed = (mask(table(), {"x": {"kind": "numeric"}}, k=4, refine=refine) for refine in (True, False))
    assert best.evidence["steps"][0]["sse"]["x"] < printed.evidence["steps"][0]["sse"]["x"]


def test_ranks_are_grouped_by_the_best_groups_too() -> None:
    column = {"kind": "ordinal", "order": ["low", "mid", "high"]}
    step = STEP | {"columns": ["pain"], "k": 5}
    release = anonto.mask(table(), {"columns": {"pain": column}, "steps": [step]}, seed=1 << 90)
    assert release.table["pain"].equals(table()["pain"])
    assert release.evidence["steps"][0]["groups"] == 3


def test_files_and_memory_release_the_same(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    table().write_parquet(path)
    plan = {"columns": {"x": {"kind": "numeric"}}, "steps": [STEP | {"k": 4}]}
    released = []
    for name, source in (("memory", pl.read_parquet(path)), ("files", path)):
        anonto.mask(source, plan, seed=1 << 90).save(tmp_path / f"{name}.parquet")
        released.append((tmp_path / f"{name}.parquet").read_bytes())
    assert released[0] == released[1]
