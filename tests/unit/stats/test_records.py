import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
import oracles
from anonto import stats
from anonto.errors import ColumnError, InputError, ParameterError, PlanError
from anonto.masking.plan import PLAN_KEYS as PLAN_KEYS_OF_FILES
from anonto.stats.records import PLAN_KEYS

ILLS = anonto.read_ontology("illnesses")
BETWEEN = {(a, b): ILLS.distance(a, b, "ancestor") for a in ILLS.ids for b in ILLS.ids}
PLAN = {
    "columns": {
        "illness": {"kind": "nominal", "ontology": ILLS, "measure": "ancestor"},
        "age": {"kind": "numeric"},
    }
}


@pytest.mark.parametrize("scale", ["mean", "paper"])
@given(cells=st.lists(st.tuples(st.sampled_from(ILLS.ids), st.integers(0, 99)), min_size=2, max_size=8))
def test_distances_of_mixed_records_follow_the_definition(scale: str, cells: list[tuple[str, int]]) -> None:
    records = [{"illness": illness, "age": age} for illness, age in cells]
    table = {"illness": [r["illness"] for r in records], "age": [r["age"] for r in records]}
    nominal = {"illness": lambda a, b: BETWEEN[a, b]}
    expected = [[oracles.record_distance(x, y, records, nominal, scale) for y in records] for x in records]
    np.testing.assert_allclose(stats.record_distances(table, PLAN, scale), expected, atol=1e-9)


def test_the_scale_of_the_paper_makes_the_nominal_column_vanish() -> None:
    """The same illness or another one hardly matters next to a number when n is large."""
    rng = np.random.default_rng(0)
    table = {"illness": rng.choice(ILLS.ids, 400), "age": rng.integers(0, 99, 400)}
    only = {"columns": {"illness": PLAN["columns"]["illness"]}}
    typical = {scale: np.median(stats.record_distances(table, only, scale)) for scale in ("mean", "paper")}
    assert typical["mean"] > 15 * typical["paper"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_any_kind_of_table_gives_the_same_distances(make) -> None:
    columns = {"illness": ["flu", "burn", "flu"], "age": [1, 30, 7]}
    expected = stats.record_distances(columns, PLAN)
    assert np.array_equal(stats.record_distances(make(columns), PLAN), expected)


def test_ordinal_columns_count_their_ranks() -> None:
    plan = {"columns": {"pain": {"kind": "ordinal", "order": ["low", "mid", "high"]}}}
    numbers = {"columns": {"pain": {"kind": "numeric"}}}
    texts = stats.record_distances({"pain": ["high", "low", "mid", "low"]}, plan)
    ranks = stats.record_distances({"pain": [2, 0, 1, 0]}, numbers)
    assert np.array_equal(texts, ranks)


def test_pairs_are_compared_over_the_columns_both_have() -> None:
    table = {"illness": ["flu", None, "burn", None], "age": [10, 20, None, None]}
    found = stats.record_distances(table, PLAN)
    ages = {"columns": {"age": {"kind": "numeric"}}}
    assert found[0, 1] == pytest.approx(np.sqrt(2) * stats.record_distances({"age": [10, 20]}, ages)[0, 1])
    assert np.isnan(found[1, 2])
    assert np.isnan(found[3]).all()
    assert found[0, 0] == 0


def test_identifiers_and_columns_without_variance_add_nothing() -> None:
    plan = {"columns": {**PLAN["columns"], "name": {"role": "identifier"}, "same": {"kind": "numeric"}}}
    table = {"illness": ["flu", "burn"], "age": [1, 2], "name": ["x", "y"], "same": [3, 3]}
    assert np.array_equal(stats.record_distances(table, plan), stats.record_distances(table, PLAN))


def test_several_ontologies_give_the_mean_of_their_distances() -> None:
    both = {"columns": {"x": {"ontology": [ILLS, ILLS], "measure": "rada"}}}
    one = {"columns": {"x": {"ontology": "illnesses", "measure": "rada"}}}
    table = {"x": ["flu", "burn", "measles"]}
    np.testing.assert_allclose(stats.record_distances(table, both), stats.record_distances(table, one))


def test_some_records_give_some_rows() -> None:
    table = {"illness": ["flu", "burn", "measles"], "age": [1, 5, 9]}
    whole = stats.record_distances(table, PLAN)
    assert np.array_equal(stats.record_distances(table, PLAN, records=[2, 0]), whole[[2, 0]])
    assert np.array_equal(stats.record_distances(table, PLAN, records=[True, False, True]), whole[[0, 2]])
    assert stats.record_distances(table, PLAN, records=[]).shape == (0, 3)


@pytest.mark.parametrize("records", [[True, False], [3], [-1], [0.5], ["0"], [[0]]])
def test_a_selection_that_is_neither_positions_nor_a_mask_is_refused(records: list[object]) -> None:
    table = {"illness": ["flu", "burn", "measles"], "age": [1, 5, 9]}
    with pytest.raises(ParameterError, match="positions from 0 to 2, or a boolean for each record"):
        stats.record_distances(table, PLAN, records=records)


def test_one_row_of_many_numbers_makes_no_table_of_all_pairs() -> None:
    table = {"age": np.arange(20_000)}
    tracemalloc.start()
    row = stats.record_distances(table, {"columns": {"age": {"kind": "numeric"}}}, records=[0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert row.shape == (1, 20_000)
    assert row[0, -1] == pytest.approx(19_999 / np.sqrt(2 * np.var(table["age"], ddof=1)))
    assert peak < 100 << 20


def test_numbers_near_the_largest_have_distances() -> None:
    plan = {"columns": {"x": {"kind": "numeric"}}}
    huge = stats.record_distances({"x": ["1e308", "-1e308", "0"]}, plan)
    np.testing.assert_allclose(huge, stats.record_distances({"x": [1, -1, 0]}, plan))


@pytest.mark.parametrize(
    ("plan", "error", "says"),
    [
        ("plan.toml", ParameterError, "anonto.Plan.from_toml"),
        (Path("plan.toml"), ParameterError, "anonto.Plan.from_toml"),
        (None, ParameterError, "plan must be a Plan"),
        ({"colums": {}}, PlanError, "The plan has no key 'colums' .did you mean 'columns'"),
    ],
)
def test_an_invalid_plan_is_refused(plan: object, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        stats.record_distances({"age": [1, 2]}, plan)


def test_a_plan_with_steps_is_a_plan() -> None:
    plan = anonto.Plan.from_dict({**PLAN, "steps": [{"method": "random-swap", "columns": ["illness"]}]})
    table = {"illness": ["flu", "burn", "measles"], "age": [1, 5, 9]}
    assert np.array_equal(stats.record_distances(table, plan), stats.record_distances(table, PLAN))
    assert PLAN_KEYS == PLAN_KEYS_OF_FILES


@pytest.mark.parametrize("table", [[[1, 2]], "table.csv", pl.LazyFrame({"age": [1]})])
def test_a_value_that_is_not_a_table_is_refused(table: object) -> None:
    with pytest.raises(ParameterError, match="table must be a pandas, polars or pyarrow table, or a mapping"):
        stats.record_distances(table, PLAN)


def test_repeated_names_are_refused() -> None:
    with pytest.raises(ColumnError, match="The table has more than one column named 'age'"):
        stats.record_distances(pd.DataFrame([[1, 2]], columns=["age", "age"]), PLAN)


@pytest.mark.parametrize("numbers", [[1e20, 2.0], np.array([1e300, 2.0]), pl.Series([1e20, None])])
def test_inexact_numbers_are_counted_and_not_shown(numbers: object) -> None:
    with pytest.raises(InputError, match=r"1 cell contains a floating-point number of 2\^53 or more") as caught:
        stats.record_distances({"x": numbers}, {"columns": {"x": {"kind": "numeric"}}})
    assert "e+" not in str(caught.value)


def test_an_empty_table_is_described_as_empty() -> None:
    with pytest.raises(InputError, match="Column 'x' has no cells"):
        stats.record_distances({"x": []}, {"columns": {"x": {"kind": "numeric"}}})


@pytest.mark.parametrize(
    ("table", "columns", "error", "says"),
    [
        ({"x": ["a"]}, {"y": {"kind": "numeric"}}, ColumnError, "The table has no column 'y'"),
        ({"x": ["a"]}, {"x": {"knd": "numeric"}}, PlanError, "no key .*did you mean 'kind'"),
        ({"x": ["a"]}, {"x": {"kind": "number"}}, ParameterError, "nominal, ordinal, numeric"),
        (
            {"x": ["secret", 1]},
            {"x": {"kind": "numeric"}},
            ColumnError,
            "1 distinct value of column 'x' is not a finite number",
        ),
        ({"x": ["inf", 1]}, {"x": {"kind": "numeric"}}, ColumnError, "is not a finite number"),
        ({"x": ["secret"]}, {"x": {"kind": "ordinal", "order": ["a"]}}, ColumnError, "not in its order"),
        ({"x": ["secret"]}, {"x": {"kind": "ordinal"}}, ParameterError, "order"),
        ({"x": ["secret"]}, {"x": {"kind": "nominal"}}, ParameterError, "ontology"),
        ({"x": [None]}, {"x": {"kind": "numeric"}}, InputError, "all 1 cell"),
        (
            {"x": ["1"], "y": ["1", "2"]},
            {"x": {"kind": "numeric"}, "y": {"kind": "numeric"}},
            ColumnError,
            "different lengths .1 and 2",
        ),
        ({"x": ["1"]}, {}, ParameterError, "at least one column"),
        ({"x": ["1"]}, {"x": {"role": "identifier"}}, ParameterError, "no identifier"),
    ],
)
def test_bad_input_is_one_sentence_without_a_cell(table, columns, error, says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        stats.record_distances(table, {"columns": columns})
    assert "secret" not in str(caught.value)


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(ParameterError, match="'mean' or 'paper'"):
        stats.record_distances({"age": [1, 2]}, {"columns": {"age": {"kind": "numeric"}}}, "median")
