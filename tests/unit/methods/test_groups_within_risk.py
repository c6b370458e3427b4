"""Groups of any size within an average risk: what is promised, the plain version, and who shares the budget."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.engine.run import mask_file
from anonto.errors import ParameterError, TooFewRecordsError
from anonto.methods.group_swap import GroupSwap
from anonto.methods.grouping import NominalPart, NumberPart, RecordGroups, space_of
from anonto.methods.microaggregate import Microaggregate
from anonto.methods.parameters import groups_within, least_persons
from anonto.methods.plain import removal as plain
from anonto.methods.removal import CentreColumn, groups_by_removal
from budget import examples

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.methods.grouping import GroupingSpace

pytestmark = pytest.mark.filterwarnings("ignore:.*are released unchanged:anonto.errors.AnontoWarning")

METHODS = ("microaggregate", "group-swap")
ILLNESSES = ("flu", "measles", "burn", "fracture")
COLUMNS = {
    "illness": {"ontology": "illnesses"},
    "age": {"kind": "numeric"},
    "pain": {"kind": "ordinal", "order": ["low", "mid", "high"]},
}


class Drawn:
    """Different records with numbers, a column with distances and one without, each for some persons."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 7, n).astype(np.int32), rng.integers(0, 3, n).astype(np.int32)
        numbers, table = rng.normal(size=n), rng.random((7, 7))
        table = np.triu(table, 1) + np.triu(table, 1).T
        candidates = np.hstack([table, rng.random((7, 4))])
        self.counts = rng.integers(1, 4, n)
        self.columns = [
            CentreColumn(units=numbers),
            CentreColumn(codes=codes[0], squares=candidates, own=np.arange(7, dtype=np.int32)),
            CentreColumn(codes=codes[1], weight=0.3),
        ]
        parts = [NumberPart(numbers), NominalPart(codes[0], 7, table), NominalPart(codes[1], 3, None, 0.3)]
        self.space: GroupingSpace = space_of(parts, squared=True)

    def fast(self, k: int, n_groups: int, *, refine: bool) -> RecordGroups:
        return groups_by_removal(self.space, self.columns, self.counts, k, n_groups, refine=refine)


def as_lists(groups: RecordGroups) -> list[list[int]]:
    return sorted(sorted(part.tolist()) for part in np.split(groups.members, groups.offsets[1:-1]))


def people(n: int = 200, seed: int = 3, *, missing: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    ages = [None if missing and i % 3 == 0 else int(age) for i, age in enumerate(rng.integers(0, 30, n))]
    return pl.DataFrame(
        {
            "illness": rng.choice(ILLNESSES, n, p=[0.5, 0.2, 0.2, 0.1]).tolist(),
            "age": pl.Series(ages, dtype=pl.Int64),
            "pain": rng.choice(["low", "mid", "high"], n).tolist(),
            "ward": rng.choice(["A", "B"], n, p=[0.7, 0.3]).tolist(),
        }
    )


def mask(table: Any, method: str, further: dict[str, Any] | None = None, **parameters: Any) -> Any:
    confidential = {"ward": {"role": "confidential"}}
    step = {"method": method, "columns": list(COLUMNS), **parameters}
    plan = {"columns": {**confidential, **COLUMNS}, "steps": [step], **(further or {})}
    return anonto.mask(table, plan, seed=1 << 90)


def evidence(table: Any, method: str, **parameters: Any) -> dict[str, Any]:
    found: dict[str, Any] = mask(table, method, **parameters).evidence["steps"][0]
    return found


# ------------------------------------------------------------------------------------------------ the groups


@pytest.mark.parametrize(("n", "k", "n_groups"), [(40, 3, 9), (60, 1, 25), (60, 6, 20), (45, 12, 4)])
@pytest.mark.parametrize("refine", [False, True])
def test_the_plain_version_makes_the_same_groups(n: int, k: int, n_groups: int, refine: bool) -> None:
    drawn = Drawn(n, seed=n + k)
    slow = plain.groups_by_removal(drawn.space, drawn.columns, drawn.counts, k, n_groups, refine=refine)
    assert as_lists(drawn.fast(k, n_groups, refine=refine)) == as_lists(slow)


@settings(max_examples=examples(15))
@given(n=st.integers(1, 30), k=st.integers(1, 6), n_groups=st.integers(1, 20), seed=st.integers(0, 10**6))
def test_the_plain_version_makes_the_same_groups_of_few_records(n: int, k: int, n_groups: int, seed: int) -> None:
    drawn = Drawn(n, seed)
    k = min(k, int(drawn.counts.sum()))
    slow = plain.groups_by_removal(drawn.space, drawn.columns, drawn.counts, k, n_groups, refine=True)
    assert as_lists(drawn.fast(k, n_groups, refine=True)) == as_lists(slow)


@settings(max_examples=examples(60))
@given(n=st.integers(1, 80), k=st.integers(1, 15), n_groups=st.integers(1, 50), seed=st.integers(0, 10**6))
def test_groups_have_k_persons_and_are_no_more_than_allowed(n: int, k: int, n_groups: int, seed: int) -> None:
    drawn = Drawn(n, seed)
    k = min(k, int(drawn.counts.sum()))
    groups = drawn.fast(k, n_groups, refine=True)
    assert groups.sizes.min() >= k
    assert groups.n_groups <= n_groups
    assert np.array_equal(np.bincount(groups.members, minlength=n), drawn.counts)
    group_of = dict(zip(groups.members.tolist(), groups.group_of_member().tolist(), strict=True))
    assert all(group_of[one] == group for one, group in zip(groups.members, groups.group_of_member(), strict=True))


def test_the_local_search_lowers_the_loss_and_uses_the_budget() -> None:
    drawn = Drawn(300, seed=1)

    def spread(groups: RecordGroups) -> float:
        numbers = drawn.columns[0].units
        assert numbers is not None
        parts = np.split(groups.members, groups.offsets[1:-1])
        return float(sum(((numbers[part] - numbers[part].mean()) ** 2).sum() for part in parts))

    rough, fine = (drawn.fast(5, 60, refine=refine) for refine in (False, True))
    assert rough.n_groups <= fine.n_groups == 60
    assert spread(fine) < spread(rough)


@given(average_risk=st.floats(0.001, 1.0), n=st.integers(1, 10**6))
def test_the_budget_is_the_largest_number_of_groups_within_the_risk(average_risk: float, n: int) -> None:
    n_groups = groups_within(average_risk, n)
    assert n_groups / n <= average_risk < (n_groups + 1) / n
    least = least_persons(average_risk)
    assert groups_within(average_risk, least) >= 1
    assert least == 1 or groups_within(average_risk, least - 1) == 0


# ------------------------------------------------------------------------------------------------ the methods


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=examples(12))
@given(k=st.integers(1, 9), average_risk=st.sampled_from([0.02, 0.07, 0.15, 0.5]), seed=st.integers(0, 10**6))
def test_the_average_chance_of_a_right_link_is_within_the_risk(
    method: str, k: int, average_risk: float, seed: int
) -> None:
    found = evidence(people(120, seed), method, k=k, average_risk=average_risk)
    assert found["groups"] / 120 == found["average_risk"] <= average_risk
    assert found["smallest_group"] >= k


@pytest.mark.parametrize("method", METHODS)
def test_more_risk_keeps_more(method: str) -> None:
    lost = [
        sum(evidence(people(400), method, k=2, average_risk=risk)["rmse"].values()) for risk in (0.02, 0.05, 0.1, 0.3)
    ]
    assert lost == sorted(lost, reverse=True)


@pytest.mark.parametrize("parameters", [{}, {"t": 0.6, "confidential": "ward"}])
def test_equal_records_are_always_in_one_group(parameters: dict[str, Any]) -> None:
    table = people(150)
    released = mask(table, "microaggregate", k=2, average_risk=0.3, **parameters).table
    pairs = set(zip(table.select(list(COLUMNS)).rows(), released.select(list(COLUMNS)).rows(), strict=True))
    assert max(Counter(before for before, _ in pairs).values()) == 1


@pytest.mark.parametrize("method", METHODS)
def test_the_release_does_not_depend_on_the_engine_or_the_chunks(method: str, tmp_path: Path) -> None:
    table = people(180, missing=True)
    step = {"method": method, "columns": list(COLUMNS), "k": 2, "average_risk": 0.2}
    plan = {"columns": {"ward": {"role": "confidential"}, **COLUMNS}, "steps": [step]}
    (tmp_path / "parts").mkdir()
    for number, rows in enumerate((table[:50], table[50:110], table[110:])):
        rows.write_parquet(tmp_path / "parts" / f"{number}.parquet", row_group_size=17)
    whole = anonto.mask(table, plan, seed=1 << 90)
    mask_file(tmp_path / "parts", plan, tmp_path / "out.parquet", seed=1 << 90, keep_order=True)
    out = tmp_path / "out.parquet"
    saved = pl.concat([pl.read_parquet(part) for part in sorted(out.glob("*.parquet")) or [out]])
    assert saved.equals(whole.table)
    again = anonto.mask(table, plan, seed=1 << 90)
    assert again.table.equals(whole.table)


@pytest.mark.parametrize("method", METHODS)
def test_each_stratum_has_a_budget_of_its_own(method: str) -> None:
    table = people(150)
    found = evidence(table, method, k=2, average_risk=0.1, within=["ward"])
    sizes = table.group_by("ward").len()["len"].to_list()
    assert found["groups"] <= sum(groups_within(0.1, size) for size in sizes)
    assert found["average_risk"] == pytest.approx(found["groups"] / 150)
    with pytest.raises(TooFewRecordsError, match="fewer than the 50 records"):
        evidence(table, method, k=2, average_risk=0.02, within=["ward"])


def test_each_pattern_of_missing_cells_has_a_budget_of_its_own() -> None:
    table = people(150, missing=True)
    released = mask(table, "microaggregate", k=2, average_risk=0.1).table
    present = released["age"].is_not_null()
    for some, n in ((present, 100), (~present, 50)):
        assert released.filter(some).select(list(COLUMNS)).n_unique() <= n // 10
    with pytest.raises(TooFewRecordsError, match="1 of the 2 patterns of missing cells has fewer than 100"):
        mask(table, "microaggregate", k=2, average_risk=0.01)
    swapped = mask(table, "group-swap", k=2, average_risk=0.01).evidence["steps"][0]
    assert swapped["groups"] == 1


def test_persons_with_sets_are_counted_and_not_their_rows() -> None:
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 60, 200)
    table = pl.DataFrame({"who": [f"p{row}" for row in rows], "illness": rng.choice(ILLNESSES, 200).tolist()})
    plan = {
        "table": {"person": "who"},
        "columns": {"who": {"role": "identifier"}, "illness": {"kind": "set", "ontology": "illnesses"}},
    }
    for method in METHODS:
        step = {"method": method, "columns": ["illness"], "k": 3, "average_risk": 0.1}
        found = anonto.mask(table, {**plan, "steps": [step]}, seed=1 << 90).evidence["steps"][0]
        n_persons = table["who"].n_unique()
        assert found["groups"] <= groups_within(0.1, n_persons)
        assert found["average_risk"] == found["groups"] / n_persons
        assert found["smallest_group"] >= 3


@pytest.mark.parametrize("method", METHODS)
def test_blocks_share_the_budget_by_their_rows(method: str) -> None:
    found = evidence(people(900), method, k=2, average_risk=0.02, block_rows=300)
    assert found["blocks"] > 1
    assert found["groups"] <= 18
    assert found["average_risk"] == pytest.approx(found["groups"] / 900)


# ------------------------------------------------------------------------------------------------ what is said


@pytest.mark.parametrize("method", METHODS)
def test_the_guarantee_has_both_numbers_and_says_what_each_is_about(method: str) -> None:
    step = {"method": method, "columns": list(COLUMNS), "k": 3, "average_risk": 0.1}
    guarantee = anonto.mask(people().drop("ward"), {"columns": COLUMNS, "steps": [step]}, seed=1 << 90).evidence[
        "steps"
    ][0]["guarantee"]
    assert (guarantee["proved"], guarantee["k"], guarantee["average_risk"]) == (True, 3, 0.1)
    assert "k is for every person" in guarantee["conditions"]
    assert "average_risk" not in evidence(people(), method, k=3)["guarantee"]


def test_missing_codes_that_make_more_groups_break_the_promise() -> None:
    table = pl.DataFrame({"age": ["1", "2", "3", "?", "-", "?", "-"] * 20, "pain": ["low", "mid"] * 70})
    columns = {
        "age": {"kind": "numeric", "na": ["?", "-"], "missing_codes": "keep"},
        "pain": {"kind": "ordinal", "order": ["low", "mid"]},
    }
    step = {"method": "microaggregate", "columns": ["age", "pain"], "k": 2, "average_risk": 0.025}
    found = anonto.mask(table, {"columns": columns, "steps": [step]}, seed=1 << 90).evidence["steps"][0]
    assert found["real_groups"] > found["groups"]
    assert not found["guarantee"]["proved"]
    assert "more groups of equal records" in found["guarantee"]["conditions"]


@pytest.mark.parametrize("method", METHODS)
def test_too_few_records_for_the_risk_are_refused_with_numbers(method: str) -> None:
    with pytest.raises(TooFewRecordsError, match=r"30 records cannot form a group with k = 2 and average_risk = 0\.01"):
        mask(people(30), method, k=2, average_risk=0.01)


@pytest.mark.parametrize("given_risk", [0, -0.1, 1.5, float("nan"), "a", True])
@pytest.mark.parametrize("method", [Microaggregate, GroupSwap])
def test_a_risk_out_of_range_names_the_parameter(method: Any, given_risk: Any) -> None:
    with pytest.raises(ParameterError, match="average_risk"):
        method(k=3, average_risk=given_risk)


def test_groups_of_variable_size_are_another_way() -> None:
    with pytest.raises(ParameterError, match="variable"):
        Microaggregate(k=3, average_risk=0.1, variable=True)


def test_a_sweep_tries_the_parameter_with_the_least_group() -> None:
    for method in (Microaggregate, GroupSwap):
        assert method.sweep_grids(1000) == [method.sweep_grid(1000), {"k": [5], "average_risk": [0.05, 0.1, 0.2]}]
