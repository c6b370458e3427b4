"""The losses of a masked column, against the definitions written out cell by cell."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
import oracles
from anonto.encoding.comparison import BothCells, ComparedColumn, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.utility import columns as module
from anonto.utility.columns import column_losses
from budget import examples
from strategies import hierarchies_with_columns, taxonomy_of

ILLNESSES = anonto.read_ontology("illnesses")
SEED = 1 << 90


def compared(original: list[Any], masked: list[Any], **description: Any) -> ComparedColumn:
    series = [pl.Series(cells, dtype=pl.String) for cells in (original, masked)]
    return compare_column("c", BothCells.of(*series), ColumnDescription(**description), opener())


def with_gaps(values: list[str], gaps: set[int]) -> list[Any]:
    return [None if place in gaps else value for place, value in enumerate(values)]


@settings(max_examples=examples(60))
@given(
    case=hierarchies_with_columns(columns=2, min_records=2, max_concepts=9),
    measure=st.sampled_from(["wu-palmer", "ancestor", "rada"]),
    gaps=st.tuples(st.sets(st.integers(1, 11), max_size=3), st.sets(st.integers(1, 11), max_size=3)),
)
def test_a_column_of_concepts_loses_what_the_definitions_say(case: Any, measure: str, gaps: Any) -> None:
    parents, (first, second) = case
    taxonomy, graph = taxonomy_of(parents), oracles.graph_of(parents)
    before, after = with_gaps(first, gaps[0]), with_gaps(second, gaps[1])

    def sd(a: str, b: str) -> float:
        return taxonomy.distance(a, b, measure)

    found = column_losses(compared(before, after, ontology=taxonomy, measure=measure))
    moved = oracles.moved(before, after, sd)
    assert found["cells"] == len(moved)
    assert found["rmse"] == pytest.approx(math.sqrt(np.mean(np.square(moved))), abs=1e-9)
    assert found["mean_distance"] == pytest.approx(np.mean(moved), abs=1e-9)
    assert found["farthest"] == pytest.approx(max(moved), abs=1e-9)
    pairs = [(x, y) for x, y in zip(before, after, strict=True) if x is not None or y is not None]
    assert found["changed"] == pytest.approx(np.mean([x != y for x, y in pairs]))
    assert found["hellinger"] == pytest.approx(oracles.hellinger(before, after), abs=1e-6)
    assert found["missing"] == {"original": before.count(None), "masked": after.count(None)}
    sides = {"original": [x for x in before if x is not None], "masked": [y for y in after if y is not None]}
    centres = {which: oracles.semantic_mean(cells, taxonomy.ids, sd) for which, cells in sides.items()}
    variances = {which: np.mean([sd(value, centres[which]) ** 2 for value in cells]) for which, cells in sides.items()}
    assert found["semantic_mean"] == centres
    assert found["semantic_variance"] == pytest.approx(variances, abs=1e-9)
    assert found["mean_shift"] == pytest.approx(sd(centres["original"], centres["masked"]), abs=1e-9)
    for which, cells in sides.items():
        square = oracles.squared_distance_covariance(cells, cells, sd, sd)
        assert found["distance_variance"][which] ** 2 == pytest.approx(max(square, 0.0), abs=1e-9)
    spread = math.sqrt(variances["original"])
    if spread > 1e-9:
        assert found["il1s"] == pytest.approx(np.mean(moved) / (math.sqrt(2) * spread), rel=1e-6)
    else:
        assert found.get("il1s", 0.0) == 0.0
    deepest = max(oracles.depth(graph, value) for cells in sides.values() for value in cells)
    n_roots = sum(oracles.depth(graph, concept) == 1 for concept in graph)
    first = 1 if n_roots > 1 else 2
    assert [one["depth"] for one in found["frequency_change"]] == list(range(first, deepest + 1))
    for one in found["frequency_change"]:
        expected = oracles.frequency_change(graph, sides["original"], sides["masked"], one["depth"])
        assert one["change"] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=examples(60))
@given(
    cells=st.lists(st.tuples(*[st.one_of(st.none(), st.integers(-5, 60))] * 2), min_size=2, max_size=14).filter(
        lambda rows: rows[0][0] is not None and rows[0][1] is not None
    )
)
def test_a_column_of_numbers_loses_what_the_definitions_say(cells: list[Any]) -> None:
    before, after = ([None if row[side] is None else str(row[side]) for row in cells] for side in (0, 1))
    found = column_losses(compared(before, after, kind="numeric"))
    sides = {
        which: np.array([row[side] for row in cells if row[side] is not None], dtype=float)
        for side, which in enumerate(("original", "masked"))
    }
    extent = np.ptp(sides["original"])

    def apart(x: str, y: str) -> float:
        return abs(float(x) - float(y)) / extent if extent else 0.0

    moved = oracles.moved(before, after, apart)
    assert found["rmse"] == pytest.approx(math.sqrt(np.mean(np.square(moved))))
    assert found["mean"] == pytest.approx({which: numbers.mean() for which, numbers in sides.items()})
    assert found["standard_deviation"] == pytest.approx({which: numbers.std() for which, numbers in sides.items()})
    shift = abs(sides["masked"].mean() - sides["original"].mean())
    assert found["mean_shift"] == pytest.approx(shift / (extent or 1.0))
    assert found["hellinger"] == pytest.approx(oracles.hellinger(before, after), abs=1e-6)
    for which, numbers in sides.items():
        scaled = (numbers / (extent or 1.0)).tolist()
        square = oracles.squared_distance_covariance(scaled, scaled, lambda x, y: abs(x - y), lambda x, y: abs(x - y))
        assert found["distance_variance"][which] ** 2 == pytest.approx(square, abs=1e-9 * max(1, max(scaled) ** 2))
    assert "frequency_change" not in found


def test_an_unmasked_column_loses_nothing() -> None:
    for cells, description in (
        (["flu", "burn", None, "flu"], {"ontology": ILLNESSES}),
        (["1", "2.5", None, "7"], {"kind": "numeric"}),
        (["low", "high", None, "low"], {"kind": "ordinal", "order": ("low", "high")}),
        (["x", "y", None, "x"], {}),
    ):
        found = column_losses(compared(cells, cells, **description))
        for name in ("rmse", "mean_distance", "farthest", "changed", "il1s"):
            assert found[name] == 0.0
        assert found["hellinger"] == pytest.approx(0, abs=1e-7)
        assert found.get("mean_shift", 0.0) == 0.0
        assert all(one["change"] == 0 for one in found.get("frequency_change", []))
        for both in (found[key] for key in ("distance_variance", "semantic_variance") if key in found):
            assert both["original"] == both["masked"]


def test_a_text_column_moves_by_0_or_1_around_its_most_frequent_value() -> None:
    found = column_losses(compared(["x", "x", "x", "y"], ["x", "y", "x", "z"]))
    assert (found["rmse"], found["mean_distance"]) == (pytest.approx(math.sqrt(0.5)), 0.5)
    assert found["il1s"] == pytest.approx(0.5 / (math.sqrt(2) * math.sqrt(0.25)))
    assert "semantic_mean" not in found


def test_a_swap_keeps_frequencies_of_every_level_and_a_move_across_branches_does_not() -> None:
    before = ["flu", "measles", "burn", "fracture"]
    swapped = column_losses(compared(before, before[::-1], ontology=ILLNESSES))
    assert [one["change"] for one in swapped["frequency_change"]] == [0.0, 0.0]
    inside = column_losses(compared(before, ["flu", "flu", "burn", "burn"], ontology=ILLNESSES))
    assert [one["change"] for one in inside["frequency_change"]] == [0.0, 0.5]
    across = column_losses(compared(before, ["flu", "measles", "flu", "measles"], ontology=ILLNESSES))
    assert [one["change"] for one in across["frequency_change"]] == [0.5, 0.5]


def test_a_column_that_had_no_spread_has_no_relative_loss_when_it_moves() -> None:
    found = column_losses(compared(["flu"] * 3, ["flu", "burn", "flu"], ontology=ILLNESSES))
    assert "il1s" not in found
    assert found["mean_distance"] > 0


def test_columns_empty_on_one_side_are_reported_as_moved() -> None:
    found = column_losses(compared(["flu", "burn"], [None, None], ontology=ILLNESSES))
    assert (found["rmse"], found["changed"], found["farthest"], found["cells"]) == (1.0, 1.0, 1.0, 2)
    assert "mean_shift" not in found


def test_the_distance_variance_of_very_many_concepts_is_left_out_and_of_numbers_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_VALUES", 1)
    assert "distance_variance" not in column_losses(compared(["flu", "burn"], ["burn", "flu"], ontology=ILLNESSES))
    assert "distance_variance" in column_losses(compared(["1", "3"], ["3", "2"], kind="numeric"))


@pytest.mark.parametrize("content", ["seco", "sanchez", "data"])
def test_the_shift_of_the_mean_is_measured_as_the_column_says(content: str) -> None:
    before, after = ["flu"] * 3 + ["burn"], ["burn"] * 3 + ["flu"]
    column = compared(before, after, ontology=ILLNESSES, measure="lin", information_content=content)
    found = column_losses(column)
    assert found["semantic_mean"] == {"original": "flu", "masked": "burn"}
    place = {concept: code for code, concept in enumerate(column.value_space.concepts)}  # type: ignore[attr-defined]
    expected = column.value_space.distances()[place["flu"], place["burn"]]
    assert found["mean_shift"] == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
@pytest.mark.parametrize(
    ("method", "parameters"),
    [("group-swap", {"k": 3}), ("random-swap", {}), ("semantic-noise", {"noise_level": 0.4}), ("rank-swap", {"k": 3})],
)
def test_mask_and_assess_agree_on_the_error_also_where_missing_cells_move(method: str, parameters: Any) -> None:
    rng = np.random.default_rng(4)
    table = pl.DataFrame(
        {
            "illness": rng.choice(["flu", "measles", "burn", "fracture", None], 60).tolist(),
            "odd": rng.choice(["flu", "burn", "no concept", "another", None], 60).tolist(),
            "age": [None if number > 25 else int(number) for number in rng.integers(0, 30, 60)],
        }
    )
    plan = {
        "columns": {
            "illness": {"ontology": ILLNESSES},
            "odd": {"ontology": ILLNESSES, "unmatched": "keep"},
            "age": {"kind": "numeric"},
        },
        "steps": [{"method": method, "columns": ["illness", "odd", "age"], **parameters}],
    }
    release = anonto.mask(table, plan, seed=SEED)
    said = release.evidence["steps"][0]
    lost = anonto.assess(table, release.table, plan).utility["columns"]
    if method == "group-swap":
        assert not release.table["illness"].is_null().equals(table["illness"].is_null())
    for name in ("illness", "odd", "age"):
        assert said["rmse"][name] == pytest.approx(lost[name]["rmse"], abs=1e-9)
