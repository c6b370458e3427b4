"""The knowledge of the worst-case intruder: every released column that is not declared confidential."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.attacks.compute.distance_linkage import distance_linkage
from anonto.attacks.known import join_columns
from anonto.encoding.comparison import Amounts, BothCells
from anonto.utility import pairs as pair_losses
from anonto.utility import table as table_losses
from budget import examples

SEED = 1 << 100
pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.ReleasedAsIsWarning")


def table_of(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "name": [f"n{place}" for place in range(n)],
            "city": rng.choice(list("abcdef"), n),
            "age": rng.integers(20, 60, n),
            "bed": rng.integers(0, 30, n),
            "weight": rng.integers(0, 30, n),
            "illness": rng.choice(["flu", "burn"], n),
        }
    )


PLAN: dict[str, Any] = {
    "columns": {
        "name": {"role": "identifier"},
        "city": {},
        "age": {"kind": "numeric"},
        "bed": {"kind": "numeric", "role": "other"},
        "illness": {"role": "confidential"},
    },
    "steps": [{"method": "group-swap", "columns": ["city", "age"], "k": 20}],
}


@pytest.fixture(scope="module")
def found() -> anonto.Assessment:
    table = table_of(600)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = anonto.mask(table, PLAN, seed=SEED)
    said = {type(one.message) for one in caught}
    assert said == {anonto.errors.ReleasedAsIsWarning, anonto.AnontoWarning}
    others = [str(one.message) for one in caught if type(one.message) is anonto.AnontoWarning]
    assert all("are released unchanged" in one for one in others)  # groups share a city
    return anonto.assess(table, release.table, PLAN)


def test_the_headline_knows_all_that_leaves_but_what_is_confidential(found: anonto.Assessment) -> None:
    worst, declared = found.worst, found.worst_declared
    assert worst is not None
    assert declared is not None
    assert worst.columns == ("age", "bed", "city", "weight")
    assert declared.columns == ("age", "city")
    assert declared.rate < 0.1
    assert worst.rate > 0.5
    assert all("illness" not in one.columns and "name" not in one.columns for one in found.risk)
    assert any("'bed'" in said and "'weight'" in said for said in found.findings)


def test_confidential_columns_are_read_by_those_who_know_the_others(found: anonto.Assessment) -> None:
    of_worst = [one for one in found.risk if one.attack == "attribute-inference" and "weight" in one.columns]
    assert [one.details["inferred"] for one in of_worst] == ["illness"]
    assert of_worst[0].details["success"] > 0.9


def test_the_verdict_has_a_line_for_each(found: anonto.Assessment, tmp_path: Any) -> None:
    import json

    said = {}
    for edition in ("internal", "public"):
        found.to_json(tmp_path / "report.json", edition=edition)
        said[edition] = json.loads((tmp_path / "report.json").read_text())["verdict"]["risk"]
    assert "who knows age, bed, city and weight" in said["internal"]
    assert "no more than declared quasi-identifiers (age and city)" in said["internal"]
    assert said["public"] == "How many persons an intruder links is not published."  # without the private record


def test_what_nobody_may_know_is_no_longer_known_when_it_is_declared_confidential() -> None:
    table = table_of(300)
    secret = {name: {"role": "confidential"} for name in ("bed", "weight")}
    plan = {**PLAN, "columns": {**PLAN["columns"], **secret}}
    found = anonto.assess(table, anonto.mask(table, plan, seed=SEED).table, plan)
    assert found.worst is not None
    assert found.worst.columns == ("age", "city")


CELLS = st.sampled_from(["x", "y", None])


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=20))
@settings(max_examples=examples(50), deadline=None)
def test_unmasked_columns_link_one_over_the_rows_that_agree_in_all_of_them(rows: list[tuple[Any, ...]]) -> None:
    series = [pl.Series([row[place] for row in rows], dtype=pl.String) for place in range(3)]
    amounts = Amounts.of_rows(len(rows), len(rows))
    found = distance_linkage([join_columns([BothCells.of(one, one) for one in series], amounts)])
    assert found.rate == pytest.approx(len(set(rows)) / len(rows))


def test_a_free_text_of_very_many_values_costs_no_table_of_distances() -> None:
    """20,000 distinct texts: a table of their distances would take 3 GB."""
    n = 20_000
    table = pl.DataFrame({"text": [f"text {place}" for place in range(n)], "city": ["a", "b"] * (n // 2)})
    plan = {"columns": {"city": {}}, "steps": [{"method": "random-swap", "columns": ["city"]}]}
    masked = anonto.mask(table, plan, seed=SEED).table
    tracemalloc.start()
    started = time.monotonic()
    found = anonto.assess(table, masked, plan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.worst is not None
    assert (found.worst.rate, found.worst.columns) == (1.0, ("city", "text"))
    assert peak < 400_000_000
    assert time.monotonic() - started < 120


def test_releases_of_one_original_are_compared_with_the_same_original(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures of the original must not depend on the plan, the method or the attacks before.

    The table has more rows and more codes than are measured, so they are sampled: with a fifth of the limits, a fifth
    of the rows is enough.
    """
    monkeypatch.setattr(table_losses, "MOST_ROWS", table_losses.MOST_ROWS // 5)
    for limit in ("MOST_VALUES", "MOST_ROWS_OF_LARGE"):
        monkeypatch.setattr(pair_losses, limit, getattr(pair_losses, limit) // 5)
    rng = np.random.default_rng(0)
    n = 1_200
    age = rng.integers(0, 90, n)
    table = pl.DataFrame(
        {
            "age": age,
            "stay": age // 10 + rng.integers(0, 5, n),
            "code": [f"c{place}" for place in rng.integers(0, 700, n) + age],
        }
    )
    columns: dict[str, Any] = {"age": {"kind": "numeric"}, "stay": {"kind": "numeric"}, "code": {}}
    plans = [
        {"columns": columns, "steps": [{"method": "rank-swap", "columns": ["age"], "k": 100}]},
        {"columns": columns, "steps": [{"method": "random-swap", "columns": ["age", "stay"]}]},
        {"columns": columns, "steps": [{"method": "semantic-noise", "columns": ["age"], "noise_level": 0.5}]},
    ]
    told = []
    for plan in plans:
        found = anonto.assess(table, anonto.mask(table, plan, seed=SEED).table, plan, predict="stay", same_order=True)
        pairs = {tuple(one["columns"]): one["distance_correlation"]["original"] for one in found.utility["pairs"]}
        of_age = {key: value for key, value in pairs.items() if "age" in key}
        told.append((of_age, found.utility["table"]["prediction"]))
    assert told[0][0] == told[1][0] == told[2][0]
    assert len({one["original"] for _, one in told}) == 1
    assert len({one["masked"] for _, one in told}) == 3
