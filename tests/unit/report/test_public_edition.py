"""The public edition against intruders who hold it beside the release.

The attack: an intruder knows the masked columns of everybody and the groups of ``group-swap``. She tries every way in
which the persons of a group could belong to its released rows, and keeps those that agree with the published figures.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonto
from anonto.attacks.shares import PassedFloat, PassedInt
from anonto.errors import InternalError, ParameterError
from anonto.report.assessed import assessed_data
from anonto.report.gate import FEWEST_PERSONS, PERSONS_A_STEP, Gate, require_passed, round_up, step_of
from anonto.report.page import assessed_html

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.arrays import Floats, Longs
    from anonto.assessment.assess import Assessment

    Figures = dict[tuple[str, str], float]

KNOWN = ("age", "height", "weight")
TABLES = [
    (24, 3, "together", 1),
    (24, 3, "apart", 2),
    (30, 3, "apart", 3),
    (24, 4, "together", 4),
    (28, 4, "apart", 5),
    (25, 5, "together", 6),
    (25, 5, "apart", 7),
]
"""Records, k, how the columns move, and a seed."""
SEED = 2**100
THREE_DIGITS = 0.0005


# ------------------------------------------------------------------------------------------------ the attack


@dataclass(frozen=True)
class Case:
    """A table, its release in the same order, and the groups, which follow from the table."""

    table: pl.DataFrame
    released: pl.DataFrame
    groups: list[Longs]
    k: int
    found: Assessment


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    known = rng.normal(size=(n, len(KNOWN)))
    stay = known.sum(axis=1) + rng.normal(size=n)
    return pl.DataFrame({**dict(zip(KNOWN, known.T, strict=True)), "stay": stay})


def plan_of(k: int, move: str = "apart") -> dict[str, Any]:
    columns: dict[str, Any] = {name: {"kind": "numeric"} for name in KNOWN}
    columns["stay"] = {"kind": "numeric", "role": "confidential"}
    return {"columns": columns, "steps": [{"method": "group-swap", "columns": [*KNOWN], "k": k, "move": move}]}


def assessed(table: pl.DataFrame, plan: dict[str, Any], seed: int, folder: Path) -> Assessment:
    path = folder / "masked.parquet"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anonto.AnontoWarning)
        anonto.mask(table, plan, seed=SEED + seed).save(path, force=True)
    return anonto.assess(table, path, plan, private=f"{path}.private.json")


def groups_of(table: pl.DataFrame, plan: dict[str, Any]) -> list[Longs]:
    """The groups: rows between which some of many maskings sent a value."""
    label = np.arange(table.height)
    for seed in range(15):
        masked = anonto.mask(table, plan, seed=2**101 + seed).table
        for name in KNOWN:
            before = table[name].to_numpy()
            order = np.argsort(before)
            source = order[np.searchsorted(before[order], masked[name].to_numpy())]
            for one, other in zip(label[source].tolist(), np.arange(table.height).tolist(), strict=True):
                label[label == one] = label[other]
    return [np.flatnonzero(label == group) for group in np.unique(label)]


def case_of(n: int, k: int, move: str, seed: int, folder: Path) -> Case:
    table, plan = people(n, seed), plan_of(k, move)
    released = anonto.mask(table, plan, seed=SEED + seed).table
    return Case(table, released, groups_of(table, plan), k, assessed(table, plan, seed, folder))


def figures_of(found: Assessment) -> Figures:
    """Mean distance and RMSE of each column, to three digits."""
    return {
        (which, name): round(found.utility["columns"][name][which], 3)
        for which in ("mean_distance", "rmse")
        for name in KNOWN
    }


def correlations_of(found: Assessment) -> Figures:
    """Distance correlations of the original with the column that is not masked, to three digits."""
    return {
        ("correlation", name): round(pair["distance_correlation"]["original"], 3)
        for name in KNOWN
        for pair in found.utility["pairs"]
        if set(pair["columns"]) == {name, "stay"}
    }


def linked(case: Case, figures: Figures, within: float = THREE_DIGITS) -> tuple[float, int]:
    """The share of persons linked to their row by a guess among all assignments that agree, and how many do."""
    sigma = _agreeing(case, {which: one for which, one in figures.items() if which[0] != "correlation"}, within)
    known, stay = case.table.select(KNOWN).to_numpy(), _centred(case.table["stay"].to_numpy())
    for (which, name), told in figures.items():
        if which == "correlation":
            own = _centred(known[:, KNOWN.index(name)])
            scale = math.sqrt((own**2).mean() * (stay**2).mean())
            parts = np.array_split(sigma, len(sigma) // 1000 + 1)
            dependence = np.concatenate(
                [(own * stay[one[:, :, None], one[:, None, :]]).mean(axis=(1, 2)) / scale for one in parts]
            )
            sigma = sigma[np.abs(np.sqrt(np.maximum(dependence, 0)) - told) <= within * 1.001]
    return (float((sigma == np.arange(case.table.height)).mean()) if len(sigma) else math.nan), len(sigma)


def _centred(values: Floats) -> Floats:
    apart = np.abs(values[:, None] - values)
    return np.asarray(apart - apart.mean(axis=0) - apart.mean(axis=1)[:, None] + apart.mean())


def _agreeing(case: Case, figures: Figures, within: float) -> Longs:
    """All assignments inside the groups whose sums agree with the figures, found from both halves of the groups."""
    n, powers = case.table.height, [2 if which == "rmse" else 1 for which, _ in figures]
    before, after = (one.select(KNOWN).to_numpy() for one in (case.table, case.released))
    distances = np.abs(before[:, None] - after) / np.ptp(before, axis=0)
    terms = [distances[:, :, KNOWN.index(name)] ** power / n for (_, name), power in zip(figures, powers, strict=True)]
    cost = np.stack([*terms, *[np.zeros((n, n))] * (2 - min(2, len(terms)))], axis=2)
    told = np.array([*figures.values(), *[0.0] * (cost.shape[2] - len(terms))])
    power = np.array([*powers, *[1] * (cost.shape[2] - len(terms))])
    low, high = np.maximum(told - within, 0) ** power - 1e-12, (told + within) ** power
    half = len(case.groups) // 2
    (left_rows, left), (right_rows, right) = (_ways(part, cost) for part in (case.groups[:half], case.groups[half:]))
    # The right half is ordered by bins of the first sum, and inside a bin by the second.
    wide, offset = high[0] - low[0], 10.0
    key = np.floor(right[:, 0] / wide) * offset + right[:, 1]
    order = np.argsort(key)
    key, right_rows, right = key[order], right_rows[order], right[order]
    first_bin = np.floor((low[0] - left[:, 0]) / wide)
    pairs = []
    for more in range(2):
        start = (first_bin + more) * offset
        first, last = (
            np.searchsorted(key, start + end[1] - left[:, 1], side=side)
            for end, side in ((low, "left"), (high, "right"))
        )
        for part in np.array_split(np.arange(left.shape[0]), left.shape[0] // 2000 + 1):
            count = (last - first)[part]
            of_left = np.repeat(part, count)
            of_right = (
                np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first[part], count)
            )
            for figure in range(cost.shape[2]):
                total = left[of_left, figure] + right[of_right, figure]
                agrees = (total >= low[figure]) & (total <= high[figure])
                of_left, of_right = of_left[agrees], of_right[agrees]
            pairs.append(np.stack([of_left, of_right], axis=1))
    found = np.concatenate(pairs)
    sigma = np.empty((len(found), n), dtype=np.int64)
    sigma[:, np.concatenate(case.groups)] = np.concatenate([left_rows[found[:, 0]], right_rows[found[:, 1]]], axis=1)
    return sigma


def _ways(groups: list[Longs], cost: Floats) -> tuple[Longs, Floats]:
    """Every way to give the rows of some groups to their persons, and its sums."""
    rows, sums = np.empty((1, 0), dtype=np.int64), np.zeros((1, cost.shape[2]))
    for group in groups:
        ways = np.array(list(permutations(group)))
        rows = np.concatenate([np.repeat(rows, len(ways), axis=0), np.tile(ways, (len(rows), 1))], axis=1)
        sums = (sums[:, None] + cost[group, ways].sum(axis=1)).reshape(-1, cost.shape[2])
    return rows, sums


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    return [case_of(*one, tmp_path_factory.mktemp("case")) for one in TABLES]


def test_the_attack_links_everybody_if_it_is_fed_figures_of_the_release(cases: list[Case]) -> None:
    for case in cases:
        assert min(map(len, case.groups)) >= case.k
        share, _ = linked(case, {**figures_of(case.found), **correlations_of(case.found)})
        assert share == 1.0


def test_figures_of_a_second_masking_link_nobody_beyond_chance_even_unrounded(cases: list[Case]) -> None:
    hits = expected = 0.0
    for case in cases:
        assert case.found.second_masking is not None
        figures = figures_of(case.found.second_masking())
        share, agreeing, within = math.nan, 0, 4 * THREE_DIGITS
        while not agreeing:
            share, agreeing = linked(case, figures, within)
            within *= 2
        hits += share * case.table.height
        expected += len(case.groups)
    # In a group of any size one person is right by chance, give or take one.
    assert abs(hits - expected) < 3 * math.sqrt(expected)
    assert expected <= sum(case.table.height / case.k for case in cases)


def test_the_public_edition_of_few_records_has_no_measured_figure(cases: list[Case]) -> None:
    for case in cases:
        data = assessed_data(case.found, "public")
        assert data["measured"]["on"] == "nothing"
        assert not data["attacks"]
        assert not data["pairs"]
        assert not data["whole_table"]
        assert not data["map"]["points"]
        assert data["classes"] is None
        for column in data["columns"]:
            told = {key: column[key] for key in ("rmse", "mean_distance", "hellinger", "moved", "same_frequencies")}
            assert set(told.values()) == {None}
            assert column["missing"] == {"before": "not shown", "after": "not shown"}
            assert column["changed"] == {"count": "not shown", "share": "not shown"}
        assert "not published" in data["verdict"]["risk"]
        assert "fewer than 100 records" in assessed_html(data)


def test_correlations_of_the_original_with_another_column_would_link_although_chance_has_no_part_in_them(
    tmp_path: Path,
) -> None:
    case = case_of(18, 3, "together", 11, tmp_path)
    share, agreeing = linked(case, correlations_of(case.found))
    assert agreeing
    assert share > 0.8


# ------------------------------------------------------------------------------------------------ by construction


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("large")


@pytest.fixture(scope="module")
def found(folder: Path) -> Assessment:
    return assessed(people(240, 21), plan_of(4), 0, folder)


class Untouchable:
    """An object that no code may read."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)

    def __getitem__(self, name: str) -> Any:
        raise AssertionError(name)

    def __iter__(self) -> Any:
        raise AssertionError


def test_nothing_measured_on_the_release_is_read_for_the_public_edition(found: Assessment) -> None:
    whole = assessed_data(found, "public")
    nothing: Any = Untouchable()
    facts = {name: found.facts[name] for name in ("records", "made_anew")}
    blind = replace(found, risk=nothing, utility=nothing, findings=nothing, facts=facts)
    assert assessed_data(blind, "public") == whole
    assert whole["measured"]["on"] == "second masking"
    assert whole["attacks"]
    with pytest.raises(AssertionError):
        assessed_data(replace(blind, facts=found.facts))


def test_no_public_figure_depends_on_a_column_outside_the_step(found: Assessment, folder: Path) -> None:
    table = people(240, 21)
    other = table.with_columns(stay=table["stay"].shuffle(seed=1))
    again = assessed(other, plan_of(4), 0, folder)
    assert again.utility["pairs"] != found.utility["pairs"]
    assert assessed_data(again, "public") == assessed_data(found, "public")


def test_the_second_masking_is_another_one_and_the_same_in_every_report(found: Assessment, folder: Path) -> None:
    assert found.second_masking is not None
    second = found.second_masking()
    assert second is found.second_masking()
    rmse = [one.utility["columns"]["age"]["rmse"] for one in (found, second)]
    assert rmse[0] != rmse[1]
    assert rmse[0] == pytest.approx(rmse[1], rel=0.3)
    again = assessed(people(240, 21), plan_of(4), 0, folder)
    assert again.second_masking is not None
    assert again.second_masking().utility == second.utility
    assert second.facts["guarantees"] == found.facts["guarantees"]


def test_a_release_that_nobody_checked_has_no_public_figures() -> None:
    table = people(240, 21)
    for released in (table, anonto.mask(table, plan_of(4), seed=SEED).table):
        data = assessed_data(anonto.assess(table, released, plan_of(4)), "public")
        assert data["measured"]["on"] == "nothing"
        assert "private record" in data["measured"]["because"]
        assert data["attacks"] == []
        assert "is not published" in data["verdict"]["risk"]


def test_a_second_release_is_masked_a_second_time_too_and_its_attack_kept_back(folder: Path) -> None:
    table, plan = people(240, 21), plan_of(4)
    one, other = folder / "one.parquet", folder / "other.parquet"
    anonto.mask(table, plan, seed=SEED).save(one, force=True)
    anonto.mask(table, plan, seed=SEED + 1).save(other, force=True)
    records = {"private": f"{one}.private.json", "second_private": f"{other}.private.json"}
    both = anonto.assess(table, one, plan, second=(other, plan), **records)
    data = assessed_data(both, "public")
    assert {"attack": "composition", "columns": sorted(KNOWN)} in data["measured"]["kept_back"]
    assert data["verdict"]["risk"].startswith("Of the intruders whose rate is published, the worst")
    unchecked = anonto.assess(
        table, one, plan, second=(anonto.mask(table, plan, seed=SEED + 1).table, plan), private=records["private"]
    )
    assert unchecked.second_masking is None


def test_every_number_of_the_public_edition_came_through_the_gate(found: Assessment) -> None:
    data = assessed_data(found, "public")

    def numbers(part: Any) -> list[Any]:
        if isinstance(part, dict | list):
            return [one for each in (part.values() if isinstance(part, dict) else part) for one in numbers(each)]
        return [part] if isinstance(part, int | float) and not isinstance(part, bool) else []

    assert len(numbers(data)) > 50
    assert {type(one) for one in numbers(data)} == {PassedFloat, PassedInt}
    assert json.loads(json.dumps(data))["table"]["records"] == 240
    data["columns"][0]["further"] = [0.25]
    with pytest.raises(InternalError, match="the report, columns, further"):
        require_passed(data)


def test_the_public_edition_has_no_map(found: Assessment) -> None:
    points = [{"label": "a", "method": "rank-swap", "risk": 0.5, "utility": 0.9, "on_front": True}]
    with pytest.raises(ParameterError, match="public edition"):
        assessed_data(found, "public", points)
    assert 'id="map"' not in assessed_html(assessed_data(found, "public"))


# ------------------------------------------------------------------------------------------------ the gate


@given(st.integers(min_value=1, max_value=10**7))
def test_a_step_is_at_least_ten_persons_and_nothing_is_shown_of_fewer_than_a_hundred(n: int) -> None:
    step = step_of(n)
    if n < FEWEST_PERSONS:
        assert step is None
    else:
        assert step is not None
        assert step * n >= PERSONS_A_STEP * (1 - 1e-12)
        assert step <= 0.1


@given(st.integers(min_value=100, max_value=5000), st.data())
def test_a_public_rate_covers_the_true_one_and_is_a_number_of_steps(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(min_value=0, max_value=n))
    low, high = max(0.0, hits / n - 0.013), min(1.0, hits / n + 0.017)
    told, step = Gate("public", quasi=["a"]).about(["a"]).rate(hits / n, low, high, n), step_of(n)
    assert step is not None
    assert told["low"] is None or told["low"] <= low + 1e-9
    assert told["high"] is None or told["high"] >= high - 1e-9
    assert (told["rate"] is None) == told["shown"].startswith(("less", "more"))
    for one in (told["rate"], told["low"], told["high"]):
        assert one is None or one / step == pytest.approx(round(one / step))
    if told["rate"] is not None:
        assert told["low"] <= told["rate"] <= told["high"]
        assert abs(told["rate"] - hits / n) <= step / 2 + 1e-9


def test_a_count_of_the_original_is_rounded_and_counts_below_ten_look_like_0() -> None:
    figures = Gate("public").about(())
    assert [figures.count(n) for n in (0, 9, 10, 123, 4567)] == ["< 10", "< 10", 10, 120, 4600]
    assert Gate("public", has_measured=False).about(()).count(123) == "not shown"
    inside = Gate("internal").about(["any", "columns"])
    assert [inside.count(3), inside.share(0.123, 4), inside.root(0.5, 4), inside.size(7)] == [3, 0.123, 0.5, 7]


def test_figures_are_about_columns_that_the_intruder_of_a_proof_knows() -> None:
    gate = Gate("public", steps=[("ab", True, ""), ("c", False, ""), ("d", False, "")], quasi="abce")
    shown = {
        names: gate.about(names).is_open for names in ("a", "ab", "c", "ac", "ce", "d", "cd", "ad", "e", "f", "af")
    }
    expected = {"a": 1, "ab": 1, "c": 1, "ac": 0, "ce": 1, "d": 1, "cd": 0, "ad": 0, "e": 1, "f": 0, "af": 0}
    assert shown == {names: bool(one) for names, one in expected.items()}
    assert not gate.about("a", alone=False).is_open
    assert Gate("public", steps=[("ab", False, "")], quasi="ae").about("ae").is_open is False  # b decides about a
    assert Gate("public", steps=[("a", True, "z")], quasi="a").about("a").is_open is False  # the groups follow from z


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_a_published_epsilon_has_two_digits_and_is_never_too_small(epsilon: float) -> None:
    told = round_up(epsilon)
    assert epsilon <= told <= epsilon * 1.1 + 1e-12
    assert float(f"{told:.1e}") == told


def test_an_epsilon_is_rounded_up_unless_it_is_a_published_parameter() -> None:
    gate, guarantee = Gate("public"), {"kind": "ε", "epsilon": 3.7413, "proved": True}
    assert gate.promise(guarantee, {})["epsilon"] == 3.8
    assert gate.promise(guarantee, {"epsilon": 3.7413})["epsilon"] == 3.7413
    assert Gate("internal").promise(guarantee, {}) == guarantee
    assert round_up(0.0) == 0.0
