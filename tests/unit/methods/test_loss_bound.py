"""How far groups are from the best possible: no groups lose less than the bound, and it is near what they lose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.encoding.columns import encode
from anonto.encoding.records import distinct_records
from anonto.encoding.value_space import NumericSpace, TextSpace, nominal_space
from anonto.methods import loss_bound
from anonto.methods import loss_bound_kernels as kernels
from anonto.methods.aggregation import candidates_of
from anonto.methods.microaggregate import Microaggregate
from anonto.methods.plain import loss_bound as plain
from anonto.methods.s_space import scale_column
from anonto.report.words import nearness_sentence
from budget import examples
from strategies import hierarchies, taxonomy_of

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


def records_of(kinds: tuple[str, ...], parents: Any, n: int, seed: int) -> Any:
    """Random rows of concepts, texts and numbers."""
    rng, taxonomy = np.random.default_rng(seed), taxonomy_of(parents)
    value_spaces: list[Any] = []
    columns = []
    for kind in kinds:
        if kind == "concept":
            cells = encode(rng.choice(taxonomy.ids, n).tolist())
            value_spaces.append(nominal_space(cells, taxonomy, measure="wu-palmer"))
            codes = cells.codes
        else:
            drawn = rng.normal(size=n).round(1) if kind == "number" else rng.integers(0, 3, n)
            values, codes = np.unique(drawn, return_inverse=True)
            counts = np.bincount(codes)
            value_spaces.append(NumericSpace(values, counts) if kind == "number" else TextSpace(counts))
        columns.append(codes.astype(np.int32))
    return distinct_records([f"column {place}" for place in range(len(kinds))], value_spaces, columns)[0]


tables_of_any_kind = st.builds(
    records_of,
    st.lists(st.sampled_from(["concept", "text", "number"]), min_size=1, max_size=4).map(tuple),
    hierarchies(max_concepts=7),
    st.integers(2, 7),
    st.integers(0, 10**6),
)


def squares_of(column: Any) -> Any:
    """Squared distances to all candidates; None for numbers and texts."""
    if column.distances is None:
        return None
    candidates = candidates_of(column.value_space)
    return candidates.squares(0, candidates.size)


def loss_of_group(columns: list[Any], squares: list[Any], codes: Any) -> float:
    """By the definition: the best centre of each column."""
    total = 0.0
    for place, column in enumerate(columns):
        own = codes[:, place]
        if column.units is not None:
            total += float(((column.units[own] - column.units[own].mean()) ** 2).sum())
        elif column.distances is None:
            total += column.weight_of_squares * (own.size - np.bincount(own).max())
        else:
            total += column.weight_of_squares * float(squares[place][own].sum(axis=0).min())
    return total


def least_of_all(columns: list[Any], codes: Any, k: int) -> float:
    """Over all partitions of the rows in groups of at least k."""
    n, squares = len(codes), [squares_of(column) for column in columns]
    loss = {
        chosen: loss_of_group(columns, squares, codes[[row for row in range(n) if chosen >> row & 1]])
        for chosen in range(1, 1 << n)
        if chosen.bit_count() >= k
    }
    best = {0: 0.0}
    for rows in range(1, 1 << n):
        lowest = rows & -rows
        part, best[rows] = rows, math.inf
        while part:
            if part & lowest and part in loss:
                best[rows] = min(best[rows], loss[part] + best[rows ^ part])
            part = (part - 1) & rows
    return best[(1 << n) - 1]


@settings(max_examples=examples(25))
@given(records=tables_of_any_kind, k=st.integers(2, 4), refine=st.booleans(), sample=st.booleans())
def test_no_groups_lose_less_than_the_bound(records: Any, k: int, refine: bool, sample: bool) -> None:
    k = min(k, records.n_rows)
    method = Microaggregate(k=k, refine=refine, centroid="sample" if sample else "taxonomy")
    facts = method.fit(records, np.random.default_rng(0)).facts
    columns = [scale_column(one, "mean", by_meaning=True) for one in records.value_spaces]
    rows = np.repeat(np.arange(records.counts.size), records.counts)
    least = least_of_all(columns, records.codes[rows], k) / records.n_rows
    assert facts["loss_bound"] <= least + 1e-9
    assert least <= facts["loss"] + 1e-9
    assert facts["loss_bound"] >= 0.0


def random_costs(rng: Any, least: float = 0.0) -> tuple[Any, Any, Any]:
    """Costs of values in cells, some of which may be below 0 in the first column, and records."""
    tables = [rng.random((4, 5)) + least, rng.random((3, 4))]
    codes = np.array([[a, b] for a in range(4) for b in range(3)])[rng.permutation(12)[:8]]
    return tables, codes, rng.integers(1, 4, 8)


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 10**6), k=st.integers(2, 6), most_groups=st.integers(1, 6))
def test_the_bound_at_given_prices_is_that_of_the_plain_version(seed: int, k: int, most_groups: int) -> None:
    rng = np.random.default_rng(seed)
    tables, codes, counts = random_costs(rng, -0.1)
    prices = rng.random(8) * 0.6
    ceilings = prices + rng.random(8) * 0.2
    columns, covered = loss_bound.column_costs(tables, codes), np.zeros(8, dtype=np.int64)
    expected = plain.bound(tables, codes, counts, prices, k, most_groups)
    for margin in (100.0, 0.1):
        cells = loss_bound.promising_cells(columns, counts, ceilings, margin, k)
        assert cells is not None
        found = kernels.open_cells(cells, counts, prices, margin, k, most_groups, covered) + float(prices @ counts)
        assert found <= expected + 1e-9
        if margin == 100.0:
            assert found == pytest.approx(expected, abs=1e-9)


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5))
def test_the_search_for_prices_never_passes_the_bound_at_these_prices(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    tables, codes, counts = random_costs(rng)
    prices, most_groups = np.zeros(8), int(counts.sum()) // k
    found = loss_bound.best_bound(loss_bound.column_costs(tables, codes), counts, prices, k, most_groups, 3.0)
    assert found <= plain.bound(tables, codes, counts, prices, k, most_groups) + 1e-9


def test_the_mean_of_a_group_in_a_cell_costs_at_least_what_the_cell_says() -> None:
    rng = np.random.default_rng(4)
    units = np.sort(rng.normal(size=30))
    costs = loss_bound.line_costs(units, np.array([-1.0, 1.0]), np.array([0.3, 0.5]))
    for _ in range(200):
        group = rng.choice(30, rng.integers(2, 6))
        squares = float(((units[group] - units[group].mean()) ** 2).sum())
        assert costs[group].sum(axis=0).min() <= squares + 1e-12


def table(n: int = 120) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    return pl.DataFrame(
        {
            "illness": rng.choice(["flu", "measles", "burn", "fracture", None], n).tolist(),
            "age": rng.integers(20, 60, n),
        }
    )


COLUMNS = {"illness": {"ontology": "illnesses"}, "age": {"kind": "numeric"}}


def evidence(masked: list[str], n: int = 120, **parameters: Any) -> Any:
    step = {"method": "microaggregate", "columns": masked, "k": 4, **parameters}
    columns = {name: COLUMNS[name] for name in masked}
    release = anonto.mask(table(n).select(masked), {"columns": columns, "steps": [step]}, seed=1 << 90)
    return release.evidence["steps"][0]


def test_groups_of_records_with_missing_cells_have_a_bound_too() -> None:
    step = evidence(["illness", "age"])
    assert 0 < step["loss_bound"] <= step["loss"] <= step["loss_bound"] * 2


def test_groups_of_one_column_of_numbers_are_the_best() -> None:
    step = evidence(["age"])
    assert step["loss"] == pytest.approx(step["loss_bound"])
    printed = evidence(["age"], refine=False)
    assert printed["loss_bound"] == pytest.approx(step["loss_bound"])
    assert printed["loss"] > step["loss"]


def test_a_report_says_in_whole_per_cent_how_far_groups_are_from_the_best() -> None:
    assert nearness_sentence(1.231, 1.0) == "its groups are within 24 % of the best possible"
    assert nearness_sentence(1.0, 1.0 - 1e-9).startswith("its groups are the best possible")
    assert nearness_sentence(0.0, 0.0).startswith("its groups are the best possible")
    assert "all that is known" in nearness_sentence(1.0, 0.0)


def test_no_bound_is_told_for_drawn_cells_blocks_and_many_records(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "loss_bound" not in evidence(["illness", "age"], aggregate="synthetic")
    assert "loss_bound" not in evidence(["illness", "age"], block_rows=400, n=900)
    monkeypatch.setattr("anonto.methods.microaggregate.MOST_RECORDS", 10)
    assert "loss_bound" not in evidence(["illness", "age"])


def test_where_nobody_reads_the_evidence_no_bound_is_computed_and_the_release_is_the_same() -> None:
    table = pl.DataFrame({"age": [20, 21, 30, 33, 40, 47, 51, 60], "stay": [1, 2, 2, 3, 5, 8, 9, 9]})
    plan = {
        "columns": {name: {"kind": "numeric"} for name in table.columns},
        "steps": [{"method": "microaggregate", "columns": table.columns, "k": 3}],
    }
    told = anonto.mask(table, plan, seed=2**100)
    with loss_bound.without_bounds():
        untold = anonto.mask(table, plan, seed=2**100)
    assert "loss_bound" in told.evidence["steps"][0]
    assert "loss_bound" not in untold.evidence["steps"][0]
    assert untold.table.equals(told.table)
    assert loss_bound.are_bounds_wanted()
