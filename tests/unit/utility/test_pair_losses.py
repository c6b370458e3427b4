"""The losses of pairs of columns, against the definitions and against scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import association

import anonto
import oracles
from anonto.encoding.comparison import BothCells, ComparedColumn, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.utility import pairs as module
from anonto.utility.pairs import pair_losses
from anonto.utility.sampling import Sampling
from budget import examples

ILLNESSES = anonto.read_ontology("illnesses")
LEAVES = ["flu", "measles", "burn", "fracture"]
ORDER = ("low", "mid", "high")
KINDS: dict[str, dict[str, Any]] = {
    "illness": {"ontology": ILLNESSES},
    "age": {"kind": "numeric"},
    "stay": {"kind": "numeric"},
    "pain": {"kind": "ordinal", "order": ORDER},
    "fear": {"kind": "ordinal", "order": ORDER},
    "city": {},
}
CELLS = {
    "illness": st.sampled_from([*LEAVES, None]),
    "age": st.sampled_from(["20", "30", "35", "80", None]),
    "stay": st.sampled_from(["1", "2", "9"]),
    "pain": st.sampled_from([*ORDER, None]),
    "fear": st.sampled_from(ORDER),
    "city": st.sampled_from(["x", "y", "z"]),
}
TABLES = st.lists(
    st.fixed_dictionaries({name: st.tuples(cells, cells) for name, cells in CELLS.items()}), min_size=2, max_size=14
)


def compared(name: str, original: list[Any], masked: list[Any]) -> ComparedColumn:
    series = [pl.Series(cells, dtype=pl.String) for cells in (original, masked)]
    return compare_column(name, BothCells.of(*series), ColumnDescription(**KINDS[name]), opener())


def found_for(first: ComparedColumn, second: ComparedColumn) -> dict[str, Any]:
    (found,) = pair_losses([first, second], Sampling())
    return found


def distance(name: str, numbers: list[float]) -> Any:
    if name == "illness":
        return ILLNESSES.distance
    if name == "city":
        return lambda x, y: float(x != y)
    extent = np.ptp(numbers) if numbers else 0.0
    return lambda x, y: abs(number(name, x) - number(name, y)) / extent if extent else 0.0


def number(name: str, text: str) -> float:
    return float(ORDER.index(text)) if name in {"pain", "fear"} else float(text)


@settings(max_examples=examples(50))
@given(rows=TABLES, names=st.lists(st.sampled_from(sorted(CELLS)), min_size=2, max_size=2, unique=True))
def test_pairs_lose_what_the_definitions_say(rows: list[Any], names: list[str]) -> None:
    cells = {name: [[row[name][side] for row in rows] for side in (0, 1)] for name in names}
    if any(all(value is None for side in sides for value in side) for sides in cells.values()):
        return
    found = found_for(*(compared(name, *cells[name]) for name in names))
    assert found["columns"] == names
    has_order = [name in {"age", "stay", "pain", "fear"} for name in names]
    assert ("pearson" in found) == all(has_order)
    assert ("cramers_v" in found) == ("cross_table_bias" in found) == (not {"age", "stay"} & set(names))
    originals = {
        name: [number(name, x) for x in cells[name][0] if x is not None] if ordered else []
        for name, ordered in zip(names, has_order, strict=True)
    }
    for side, which in enumerate(("original", "masked")):
        both = [
            (x, y)
            for x, y in zip(*(cells[name][side] for name in names), strict=True)
            if x is not None and y is not None
        ]
        if which == "original":
            assert found["n"] == len(both)
        if len(both) < 2:
            assert found["distance_correlation"][which] == 0.0
            continue
        a, b = (list(each) for each in zip(*both, strict=True))
        expected = oracles.distance_correlation(
            a, b, distance(names[0], originals[names[0]]), distance(names[1], originals[names[1]])
        )
        assert found["distance_correlation"][which] == pytest.approx(expected, abs=1e-5)
        constant = len(set(a)) < 2 or len(set(b)) < 2
        if "pearson" in found:
            x, y = ([number(name, one) for one in each] for name, each in zip(names, (a, b), strict=True))
            expected = 0.0 if constant else float(np.corrcoef(x, y)[0, 1])
            assert found["pearson"][which] == pytest.approx(expected, abs=1e-9)
        if "cramers_v" in found:
            table = [[both.count((x, y)) for y in sorted(set(b))] for x in sorted(set(a))]
            expected = 0.0 if constant else float(association(np.array(table), method="cramer"))
            assert found["cramers_v"][which] == pytest.approx(expected, abs=1e-9)
    if "cross_table_bias" in found:
        pairs = [list(zip(*(cells[name][side] for name in names), strict=True)) for side in (0, 1)]
        assert found["cross_table_bias"] == pytest.approx(oracles.cross_table_bias(*pairs))


def test_independent_swapping_takes_the_dependence_of_a_pair_and_leaves_its_margins() -> None:
    rng = np.random.default_rng(0)
    illness = rng.choice(LEAVES, 400).tolist()
    city = [{"flu": "x", "measles": "x", "burn": "y", "fracture": "z"}[value] for value in illness]
    found = found_for(
        compared("illness", illness, rng.permutation(illness).tolist()),
        compared("city", city, rng.permutation(city).tolist()),
    )
    assert found["cramers_v"]["original"] == pytest.approx(1)
    assert found["cramers_v"]["masked"] < 0.15
    assert found["distance_correlation"]["masked"] < 0.25 < found["distance_correlation"]["original"]
    assert found["cross_table_bias"] > 0.5
    same = found_for(compared("illness", illness, illness), compared("city", city, city))
    assert same["cross_table_bias"] == 0.0


def test_numbers_that_overflow_when_squared_are_correlated() -> None:
    huge = [str(1e200 * n) for n in range(1, 9)]
    found = found_for(compared("age", huge, huge[::-1]), compared("stay", huge, huge))
    assert found["pearson"] == pytest.approx({"original": 1.0, "masked": -1.0})


def test_nominal_columns_of_very_many_values_are_measured_on_a_sample_of_the_same_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    towns = [f"t{n // 2}" for n in range(300)]
    numbers, turned = ([str((step * n) % 300) for n in range(300)] for step in (1, 7))
    whole = found_for(compared("city", towns, towns), compared("stay", numbers, turned))
    monkeypatch.setattr(module, "MOST_VALUES", 50)
    monkeypatch.setattr(module, "MOST_ROWS_OF_LARGE", 200)
    sampled = found_for(compared("city", towns, towns), compared("stay", numbers, turned))
    assert (whole["n"], sampled["n"]) == (300, 200)
    for which, exact in whole["distance_correlation"].items():
        assert sampled["distance_correlation"][which] == pytest.approx(exact, abs=0.1)


def test_numbers_of_very_many_values_are_measured_on_all_rows_by_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    numbers, others = rng.normal(size=(2, 300))
    columns = [[str(one) for one in cells] for cells in (numbers, numbers + others, rng.permutation(numbers))]
    whole = found_for(compared("age", columns[0], columns[2]), compared("stay", columns[1], columns[1]))
    monkeypatch.setattr(module, "MOST_VALUES", 150)
    monkeypatch.setattr(module, "LEVELS_OF_NUMBERS", 100)
    by_levels = found_for(compared("age", columns[0], columns[2]), compared("stay", columns[1], columns[1]))
    assert by_levels["n"] == 300
    assert by_levels["distance_correlation"] == pytest.approx(whole["distance_correlation"], abs=0.01)
    assert by_levels["distance_correlation"] != whole["distance_correlation"]


def test_the_correlation_of_the_original_does_not_depend_on_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where the release has so many new values that it must be measured in another way."""
    monkeypatch.setattr(module, "MOST_VALUES", 60)
    monkeypatch.setattr(module, "LEVELS_OF_NUMBERS", 40)
    monkeypatch.setattr(module, "MOST_ROWS_OF_LARGE", 100)
    rng = np.random.default_rng(0)
    age = [str(n) for n in rng.integers(0, 50, 300)]
    towns = [f"t{int(one) + rng.integers(30)}" for one in age]
    releases = [
        (age, towns),
        (rng.permutation(age).tolist(), rng.permutation(towns).tolist()),
        ([str(float(one) + noise) for one, noise in zip(age, rng.normal(size=300), strict=True)], towns),
        (age, [f"new {n}" for n in range(20)] * 15),
    ]
    found = [
        found_for(compared("age", age, ages), compared("city", towns, others))["distance_correlation"]
        for ages, others in releases
    ]
    assert len({one["original"] for one in found}) == 1
    assert len({one["masked"] for one in found}) == len(releases)


def test_a_table_without_rows_has_no_dependence() -> None:
    found = found_for(compared("city", [], []), compared("age", [], []))
    assert found["distance_correlation"] == {"original": 0.0, "masked": 0.0}
