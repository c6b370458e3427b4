"""A release of which only counts are at hand: the attacks find what they find row by row."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.assessment import compare, on_cluster
from anonto.encoding.comparison import BothCells
from anonto.report.assessed import assessed_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.encoding.prepare import Opener
    from anonto.masking.plan import Plan

SEED = 1 << 90
COLUMNS: dict[str, Any] = {
    "illness": {"ontology": "illnesses", "unmatched": "keep"},
    "age": {"kind": "numeric"},
    "ward": {},
    "stay": {"kind": "numeric", "role": "confidential"},
    "drug": {"role": "confidential"},
}
STEPS: dict[str, list[dict[str, Any]]] = {
    "rank-swap": [{"method": "rank-swap", "columns": ["illness", "age"], "k": 20}],
    "rank-swap-fixed": [{"method": "rank-swap-fixed", "columns": ["illness", "age"], "k": 20}],
    "rank-swap-joint": [{"method": "rank-swap-joint", "columns": ["illness", "age"], "k": 10}],
    "group-swap": [{"method": "group-swap", "columns": ["illness", "age", "ward"], "k": 5}],
    "equi-width-swap": [{"method": "equi-width-swap", "columns": ["illness", "age"], "width": [1, 5]}],
    "equi-depth-swap": [{"method": "equi-depth-swap", "columns": ["illness", "age"], "k": 8}],
    "random-swap": [{"method": "random-swap", "columns": ["ward"]}],
    "frequency-swap": [{"method": "frequency-swap", "columns": ["illness"], "k": 10}],
    "invariant-swap": [{"method": "invariant-swap", "columns": ["illness"], "rate": 0.3, "k": 20}],
    "semantic-noise": [{"method": "semantic-noise", "columns": ["illness", "age"], "noise_level": 0.3}],
    "semantic-noise-joint": [{"method": "semantic-noise-joint", "columns": ["illness", "age"], "noise_level": 0.3}],
    "taxonomy-exponential": [{"method": "taxonomy-exponential", "columns": ["illness"], "epsilon": 2.0}],
    "microaggregate": [{"method": "microaggregate", "columns": ["illness", "stay"], "k": 4}],
    "two kinds": [
        {"method": "rank-swap", "columns": ["illness"], "k": 30},
        {"method": "semantic-noise", "columns": ["age"], "noise_level": 0.2},
    ],
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    n = 400
    cells = ["flu", "measles", "burn", "fracture", "nothing known", None]
    return pl.DataFrame(
        {
            "illness": rng.choice(np.array(cells, dtype=object), n, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]).tolist(),
            "age": [None if one == 3 else int(one) for one in rng.integers(0, 30, n)],
            "ward": rng.choice(["a", "b", "c"], n).tolist(),
            "stay": rng.integers(1, 9, n),
            "drug": rng.choice(["x", "y"], n).tolist(),
        }
    )


def _coded(cells: pl.Series) -> tuple[pl.Series, NDArray[np.int32]]:
    distinct = cells.drop_nulls().unique(maintain_order=True)
    place = {one: number for number, one in enumerate(distinct.to_list())}
    return distinct, np.array([-1 if one is None else place[one] for one in cells.to_list()], dtype=np.int32)


def _counted(rows: Sequence[tuple[int, ...]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    counts = Counter(rows)
    return np.array(list(counts), dtype=np.int32), np.array(list(counts.values()), dtype=np.int64)


def counted_slowly(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    plan: Plan,
    *,
    seed: Any,
    n_persons: int,
    rng: np.random.Generator,
    open_once: Opener,
    memory: Any,
) -> Any:
    """The counts of a cluster, row by row."""
    assert seed is None
    assert memory is None
    names = tuple(original.columns)
    coded = [{name: _coded(table[name]) for name in names} for table in (original, masked)]
    records = [list(zip(*(one[name][1].tolist() for name in names), strict=True)) for one in coded]
    persons = np.sort(rng.choice(len(original), min(n_persons, len(original)), replace=False))
    cells = {name: (coded[0][name][0], coded[1][name][0]) for name in names}
    pairs = {}
    for name in plan.masked:
        both, times = _counted(list(zip(coded[0][name][1].tolist(), coded[1][name][1].tolist(), strict=True)))
        pairs[name] = both[:, 0].copy(), both[:, 1].copy(), times
    unchanged = []
    for step in plan.steps:
        same = np.ones(len(original), dtype=np.bool_)
        for name in step.columns:
            numbers = on_cluster.numbers_by_meaning(name, BothCells.of(*cells[name]), plan, open_once)
            before, after = (np.append(one, np.int32(-1)) for one in numbers)
            same &= before[coded[0][name][1]] == after[coded[1][name][1]]
        unchanged.append(int(same.sum()))
    return SimpleNamespace(
        n_before=len(original),
        n_records=len(original),
        names=names,
        others=(),
        identifiers=(),
        cells=cells,
        originals=_counted(records[0]),
        released=_counted(records[1]),
        persons=tuple(np.array(one, dtype=np.int32)[persons] for one in records),
        witnesses=np.empty((persons.size, 0), dtype=np.int32),
        pairs=pairs,
        unchanged=tuple(unchanged),
        settings=None,
        shuffled=False,
    )


def _from_counts(monkeypatch: pytest.MonkeyPatch, *tables: Any) -> anonto.Assessment:
    with monkeypatch.context() as patched:
        patched.setattr(compare, "is_too_large", lambda *_: True)
        patched.setattr(on_cluster, "count_on_cluster", counted_slowly)
        patched.setattr(on_cluster, "require_rows_fit", lambda *_: None)
        return anonto.assess(*tables)


def _masked(table: pl.DataFrame, plan: dict[str, Any]) -> pl.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked: pl.DataFrame = anonto.mask(table, plan, seed=SEED).table
        return masked


DRAWN_AT_RANDOM = {"global-linkage", "association-linkage"}
NEEDS_ROWS = "simulation-linkage"


def _without_rows(by_row: anonto.Assessment) -> anonto.Assessment:
    """The results that can be had from counts."""
    risk = tuple(one for one in by_row.risk if one.attack != NEEDS_ROWS)
    return replace(by_row, risk=risk, findings=tuple(said for said in by_row.findings if NEEDS_ROWS not in said))


def _key(one: Any) -> tuple[Any, ...]:
    return one.attack, one.columns, one.details.get("inferred"), one.details.get("within"), one.details.get("matching")


@pytest.mark.parametrize("method", STEPS)
def test_the_attacks_find_in_counts_what_they_find_row_by_row(
    method: str, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = {"columns": COLUMNS, "steps": STEPS[method]}
    masked = _masked(table, plan)
    by_row, found = _without_rows(anonto.assess(table, masked, plan)), _from_counts(monkeypatch, table, masked, plan)
    assert found.n_records == by_row.n_records
    assert len(found.findings) == len(by_row.findings)
    assert [_key(one) for one in found.risk] == [_key(one) for one in by_row.risk]
    for one, expected in zip(found.risk, by_row.risk, strict=True):
        at_once = one.attack in DRAWN_AT_RANDOM or one.details.get("matching") in {"global", "repeated"}
        near = {"abs": 0.04} if at_once else {"rel": 1e-9, "abs": 1e-12}
        assert (one.rate, one.low, one.high) == pytest.approx((expected.rate, expected.low, expected.high), **near)
        assert one.n == expected.n
        assert (one.control or 0.0) == pytest.approx(expected.control or 0.0, rel=1e-9)
        assert one.baseline == pytest.approx(expected.baseline, abs=0.01 if one.attack == "uniqueness" else 1e-12)
        if one.attack != "association-linkage":  # its weights are fitted to persons drawn at random
            assert _numbers(one.details) == pytest.approx(_numbers(expected.details), rel=1e-9, abs=1e-12)
    for part in ("columns", "pairs"):
        assert _numbers(found.utility[part]) == pytest.approx(_numbers(by_row.utility[part]), rel=1e-9, abs=1e-9)
    pictures = [dict(one.facts["pictures"]) for one in (found, by_row)]
    assert _numbers(pictures[0]) == pytest.approx(_numbers(pictures[1]), rel=1e-9, abs=1e-9)
    assert {**found.facts, "pictures": None} == {**by_row.facts, "pictures": None}


def _numbers(data: Any, name: str = "") -> list[Any]:
    """All numbers of plain data, in order."""
    if isinstance(data, dict):
        return [one for key, part in data.items() if key != "share_alone_by_chance" for one in _numbers(part, key)]
    if isinstance(data, list | tuple):
        return [one for part in data for one in _numbers(part, name)]
    return [float(data)] if isinstance(data, bool | int | float) else []


@pytest.mark.parametrize("n_rare", [0, 50, 400])
def test_uniqueness_by_chance_is_computed_from_counts_too(n_rare: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    pay = np.where(np.arange(400) < n_rare, np.arange(400) + 100, rng.integers(0, 60, 400))
    cells = pl.DataFrame({"pay": pay, "ward": rng.integers(0, 9, 400).astype(str), "sex": rng.choice(["f", "m"], 400)})
    plan = {"steps": [{"method": "random-swap", "columns": ["pay", "ward", "sex"]}]}
    masked = _masked(cells, plan)
    by_row, found = anonto.assess(cells, masked, plan), _from_counts(monkeypatch, cells, masked, plan)
    wanted, [one] = (
        [each.details["share_alone_by_chance"] for each in of.risk if each.attack == "uniqueness"]
        for of in (by_row, found)
    )
    assert one == pytest.approx(wanted[0], abs=0.01)


def test_fewer_persons_than_there_are_rows_give_about_the_same(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = {"columns": COLUMNS, "steps": STEPS["rank-swap"]}
    masked = _masked(table, plan)
    monkeypatch.setattr(on_cluster, "PERSONS_DRAWN", 150)
    by_row, found = _without_rows(anonto.assess(table, masked, plan)), _from_counts(monkeypatch, table, masked, plan)
    for one, expected in zip(found.risk, by_row.risk, strict=True):
        of_few = 3 * math.sqrt(expected.baseline / one.n) if one.attack == "partial-knowledge" else 0.02
        assert expected.baseline == pytest.approx(one.baseline, abs=of_few)
        assert one.low - 0.03 <= expected.rate <= one.high + 0.03
    assert {one.n for one in found.risk if one.attack == "distance-linkage"} == {150}
    assert found.n_records == 400
    losses = found.utility["columns"]
    assert losses["age"]["rmse"] == pytest.approx(by_row.utility["columns"]["age"]["rmse"], rel=1e-12)
    matched = [one for one in found.risk if one.attack == "global-linkage"]
    assert all("drawn at random" in one.knowledge for one in matched)


def test_columns_that_are_only_compared_on_a_cluster_are_named_as_not_attacked(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_bed(original: pl.DataFrame, masked: pl.DataFrame, plan: Plan, **how: Any) -> Any:
        found = counted_slowly(original.drop("bed"), masked.drop("bed"), plan, **how)
        found.others = ("bed",)
        return found

    wider = table.with_columns(bed=pl.Series(range(len(table))))
    plan = {"columns": {**COLUMNS, "bed": {"role": "other"}}, "steps": STEPS["rank-swap"]}
    with monkeypatch.context() as patched:
        patched.setattr(compare, "is_too_large", lambda *_: True)
        patched.setattr(on_cluster, "count_on_cluster", without_bed)
        patched.setattr(on_cluster, "require_rows_fit", lambda *_: None)
        found = anonto.assess(wider, _masked(wider, plan), plan)
    assert all("bed" not in one.columns for one in found.risk)
    assert any("'bed'" in said and "not attacked" in said for said in found.findings)
    told = assessed_data(found)
    assert told["table"]["not_attacked"] == ["bed"]
    assert "Other released columns were not attacked (bed)" in told["verdict"]["risk"]
