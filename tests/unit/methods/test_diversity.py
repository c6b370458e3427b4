"""l-diversity and t-closeness of a confidential column, in generalised and in microaggregated releases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
from anonto.errors import InputError
from anonto.methods.diversity import KINDS, Diversity, Kind
from anonto.stats.earth_mover import earth_movers_distance

pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
SEED = 1 << 100
ILLNESSES = anonto.read_ontology("illnesses")
METHODS: dict[str, dict[str, Any]] = {
    "generalise, global": {"method": "generalise"},
    "generalise, local": {"method": "generalise", "scope": "local"},
    "generalise, suppressing": {"method": "generalise", "suppress": 0.2},
    "microaggregate": {"method": "microaggregate"},
}


def is_diverse(counts: list[int], least: int, kind: str, c: float) -> bool:
    """Straight from the definition."""
    rows = sorted((n for n in counts if n), reverse=True)
    if len(rows) < least:
        return False
    if kind == "distinct":
        return True
    if kind == "entropy":
        return -sum(n / sum(rows) * math.log(n / sum(rows)) for n in rows) >= math.log(least) - 1e-9
    return rows[0] < c * sum(rows[least - 1 :])


@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    others=st.lists(st.integers(0, 9), min_size=6, max_size=6),
    least=st.integers(2, 4),
    kind=st.sampled_from(KINDS),
    c=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_diversity_is_that_of_the_definition_and_holds_for_unions(
    counts: list[int], others: list[int], least: int, kind: Kind, c: float
) -> None:
    rule = Diversity(least, kind, c)
    assert rule.is_met(np.array(counts)) == is_diverse(counts, least, kind, c)
    padded = [*counts, *[0] * (6 - len(counts))]
    if is_diverse(counts, least, kind, c) and is_diverse(others, least, kind, c):
        assert rule.is_met(np.array([a + b for a, b in zip(padded, others, strict=True) if a + b]))


def table(n: int = 90) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    age = rng.integers(20, 60, n)
    return pl.DataFrame(
        {
            "age": age,
            "ward": rng.choice(["A", "B"], n),
            "income": age * 100 + rng.integers(0, 500, n),
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], n, p=[0.55, 0.25, 0.15, 0.05]),
        }
    )


def masked(confidential: str, parameters: dict[str, Any]) -> tuple[list[pl.DataFrame], dict[str, Any]]:
    """The classes of a release, suppressed records as one of them, and its evidence."""
    columns: dict[str, Any] = {
        "age": {"kind": "numeric"},
        "ward": {},
        "income": {"kind": "numeric", "role": "confidential"},
        "illness": {"ontology": ILLNESSES, "role": "confidential"},
    }
    step = {"columns": ["age", "ward"], "k": 3, "confidential": confidential, **parameters}
    release = anonto.mask(table(), {"columns": columns, "steps": [step]}, seed=SEED)
    return release.table.partition_by("age", "ward"), release.evidence["steps"][0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_every_class_is_diverse(method: str, kind: str) -> None:
    classes, said = masked("illness", {**METHODS[method], "l": 3, "diversity": kind, "c": 4.0})
    assert len(classes) > 1
    assert min(len(one) for one in classes) >= 3
    for one in classes:
        assert is_diverse(one["illness"].value_counts()["count"].to_list(), 3, kind, 4.0)
    assert said["smallest_diversity"] == min(one["illness"].n_unique() for one in classes) >= 3
    assert said["guarantee"]["proved"]


@pytest.mark.parametrize(("confidential", "t"), [("income", 0.25), ("illness", 0.06)])
@pytest.mark.parametrize("method", METHODS)
def test_no_class_is_farther_than_t_from_the_table(method: str, confidential: str, t: float) -> None:
    classes, _ = masked(confidential, {**METHODS[method], "t": t})
    values = sorted(set(table()[confidential].to_list()))
    numbers = np.array(values, dtype=np.float64) if confidential == "income" else None
    distances = None if numbers is not None else ILLNESSES.distances(values)

    def shares(frame: pl.DataFrame) -> np.ndarray:
        found = [frame[confidential].eq(value).sum() for value in values]
        return np.array(found) / len(frame)

    farthest = max(earth_movers_distance(shares(one), shares(table()), distances, numbers) for one in classes)
    assert farthest <= t + 1e-9
    without, _ = masked(confidential, {**METHODS[method], "l": 2})
    assert max(earth_movers_distance(shares(one), shares(table()), distances, numbers) for one in without) > t


@pytest.mark.parametrize("method", ["generalise", "microaggregate"])
@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"l": 5}, "not diverse enough even as one group"),
        ({"l": 1}, "l must be a whole number, 2 or more"),
        ({"confidential": None, "l": 2}, "confidential must be given where l is"),
        ({"confidential": None, "t": 0.2}, "confidential must be given where t is"),
        ({}, "t must be given where confidential is"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(method: str, parameters: dict[str, Any], sentence: str) -> None:
    wanted = {"confidential": "illness", "method": method, **parameters}
    given = {name: value for name, value in wanted.items() if value is not None}
    columns = {"age": {"kind": "numeric"}, "illness": {"ontology": ILLNESSES, "role": "confidential"}}
    plan = {"columns": columns, "steps": [{"columns": ["age"], "k": 3, **given}]}
    with pytest.raises(InputError, match=sentence):
        anonto.mask(table().select("age", "illness"), plan, seed=SEED)


@pytest.mark.parametrize("method", ["generalise", "microaggregate"])
@pytest.mark.parametrize(
    ("cells", "column"),
    [
        (["5", "5.0", "6", "6.0"], {"kind": "numeric"}),
        (["1.2.2020", "01.02.2020", "2.2.2020", "02.02.2020"], {"kind": "date"}),
        (["influenza", "Influenza", "burn", "Burn"], {"ontology": ILLNESSES}),
    ],
)
def test_two_spellings_of_a_value_are_not_two_values(method: str, cells: list[str], column: dict[str, Any]) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "told": cells})
    columns = {"age": {"kind": "numeric"}, "told": {**column, "role": "confidential"}}
    step = {"method": method, "columns": ["age"], "k": 2, "l": 2, "confidential": "told"}
    release = anonto.mask(frame, {"columns": columns, "steps": [step]}, seed=SEED)
    assert release.table["age"].n_unique() == 1
    assert release.evidence["steps"][0]["smallest_diversity"] == 2
