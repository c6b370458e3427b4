"""Whether a model tells the masked table from the original one, and what a prediction loses."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor

import anonto
from anonto.encoding.comparison import BothCells, ComparedColumn, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.random.streams import Seed
from anonto.utility import table as module
from anonto.utility.sampling import Sampling
from anonto.utility.table import prediction, propensity

LEAVES = ["flu", "measles", "burn", "fracture"]
KINDS: dict[str, dict[str, Any]] = {
    "illness": {"ontology": anonto.read_ontology("illnesses")},
    "age": {"kind": "numeric"},
    "stay": {"kind": "numeric"},
    "city": {},
}


def compared(name: str, original: Any, masked: Any) -> ComparedColumn:
    series = [
        pl.Series([None if x is None else str(x) for x in cells], dtype=pl.String) for cells in (original, masked)
    ]
    return compare_column(name, BothCells.of(*series), ColumnDescription(**KINDS[name]), opener())


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_an_unmasked_table_is_indistinguishable_from_the_original() -> None:
    age, illness = rng().integers(0, 90, 600), rng(1).choice(LEAVES, 600)
    for columns in (
        [compared("age", age, age), compared("illness", illness, illness)],
        [compared("age", np.arange(600), np.arange(600))],
    ):
        found = propensity(columns, Sampling())
        assert found["pmse"] < 0.06
        assert 0.4 < found["pmse_ratio"] < 1.8


def test_tables_without_a_common_value_are_always_distinguished() -> None:
    age = rng().integers(0, 50, 600)
    found = propensity([compared("age", age, age + 100)], Sampling())
    assert found["pmse"] == pytest.approx(0.25, abs=1e-3)
    assert found["pmse_ratio"] > 4
    illness = rng().choice(LEAVES[:2], 600)
    gone = propensity([compared("illness", illness, [None] * 600)], Sampling())
    assert gone["pmse"] == pytest.approx(0.25, abs=1e-3)


def test_a_lost_dependence_is_detected_even_if_the_margins_are_kept() -> None:
    age = rng().integers(0, 90, 2000)
    stay = age // 10
    lost = propensity([compared("age", age, rng(1).permutation(age)), compared("stay", stay, stay)], Sampling())
    kept = propensity([compared("age", age, age), compared("stay", stay, stay)], Sampling())
    assert lost["pmse"] > 3 * kept["pmse"]
    assert lost["pmse_ratio"] > 2


def test_hardly_any_rows_are_not_judged() -> None:
    assert propensity([compared("age", range(19), range(19))], Sampling()) == {}
    assert prediction([compared("age", range(19), range(19))], compared("stay", range(19), range(19)), Sampling()) == {}
    age = compared("age", range(40), range(40))
    assert prediction([age], age, Sampling()) == {}


def test_a_column_is_predicted_as_well_as_the_others_determine_it() -> None:
    illness = rng().choice(LEAVES, 800)
    city = np.where(np.isin(illness, LEAVES[:2]), "x", "y")
    target = compared("city", city, city)
    kept = prediction([compared("illness", illness, illness), target], target, Sampling())
    assert (kept["original"], kept["masked"], kept["loss"]) == (1.0, 1.0, 0.0)
    assert kept["blind"] == pytest.approx(0.5, abs=0.1)
    swapped = compared("illness", illness, rng(2).permutation(illness))
    lost = prediction([swapped, target], target, Sampling())
    assert lost["original"] == 1.0
    assert lost["masked"] < 0.9
    assert lost["loss"] == pytest.approx(1.0 - lost["masked"])


def test_the_score_of_numbers_is_the_share_of_the_variance_that_is_explained() -> None:
    age = rng().integers(0, 90, 400)
    stay = age + rng(1).integers(0, 20, 400)
    columns = [compared("age", age, age), compared("stay", stay, stay)]
    sampling = Sampling(Seed(7))
    found = prediction(columns, columns[1], sampling)
    order = sampling.shuffle("halves of the prediction", np.arange(400))
    learn, test = order[::2], order[1::2]
    model = DecisionTreeRegressor(max_depth=8, min_samples_leaf=5, random_state=0).fit(age[learn, None], stay[learn])
    assert found["original"] == pytest.approx(r2_score(stay[test], model.predict(age[test, None])), abs=1e-3)
    assert found["blind"] == 0.0


def test_models_print_nothing() -> None:
    """Warnings are errors here: very many classes, numbers beyond 32 bits, one class, missing answers."""
    texts = [f"t{n}" for n in range(60)]
    city = compared("city", texts, texts)
    age = compared("age", [1e300 * n for n in range(60)], [1e300 * n for n in range(60)])
    for target in (city, age, compared("illness", ["flu"] * 60, ["flu"] * 60)):
        columns = [city, age, target]
        assert set(prediction(columns, target, Sampling())) == {"original", "masked", "blind", "loss"}
        assert set(propensity(columns, Sampling())) == {"pmse", "pmse_at_random", "pmse_ratio"}
    gaps = compared("stay", [None if n % 2 else n for n in range(60)], [None if n % 3 else n for n in range(60)])
    assert prediction([city, gaps], gaps, Sampling()) == {}


def test_large_tables_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 30)
    seen: list[int] = []
    features = module._features
    monkeypatch.setattr(module, "_features", lambda c, f, w, rows: seen.append(rows.size) or features(c, f, w, rows))
    propensity([compared("age", range(500), range(500))], Sampling())
    assert seen == [30, 30]


def test_the_prediction_of_the_original_does_not_depend_on_the_release() -> None:
    """Nor on the rows that were drawn before, on new values, on wider numbers or on cells that a release lost."""
    age, illness = rng().integers(0, 90, 900), rng(1).choice(LEAVES, 900)
    stay = age + rng(2).integers(0, 30, 900)
    releases = [
        (age, illness, stay),
        (rng(3).permutation(age), rng(4).permutation(illness), stay),
        (age * 1000, np.full(900, "injury"), rng(5).permutation(stay)),
        (age, illness, [None if n % 3 else one for n, one in enumerate(stay)]),
    ]
    found = []
    for masked in releases:
        columns = [compared("age", age, masked[0]), compared("illness", illness, masked[1])]
        target = compared("stay", stay, masked[2])
        found.append(prediction([*columns, target], target, Sampling()))
    assert len({one["original"] for one in found}) == 1
    assert len({one["masked"] for one in found}) == len(releases)
