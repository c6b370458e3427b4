"""Methods for single values on the elements of sets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.encoding.set_space import ELEMENT, ROW, elements_of
from anonto.errors import PlanError
from anonto.masking.plan import Plan
from anonto.random.streams import Seed
from budget import examples

if TYPE_CHECKING:
    from pathlib import Path

ILLS = anonto.read_ontology("illnesses")
CODES = sorted(ILLS.ids)
SECRET = 1 << 100 | 7
METHODS: dict[str, dict[str, Any]] = {
    "rank-swap": {"k": 4},
    "rank-swap-joint": {"k": 4},
    "semantic-noise": {"noise_level": 0.5},
    "semantic-noise-joint": {"noise_level": 0.5},
    "taxonomy-exponential": {"epsilon": 2.0},
}


def plan_with(method: str, *, form: str = "cell", **step: Any) -> dict[str, Any]:
    described: dict[str, Any] = {"kind": "set", "ontology": ILLS}
    if form == "from":
        described["from"] = ["dx1", "dx2"]
    return {
        "table": {"person": "pid"},
        "columns": {"pid": {"role": "pseudonym"}, "ills": described, "sex": {"role": "other"}},
        "steps": [{"method": method, "columns": ["ills"], **METHODS.get(method, {}), **step}],
    }


def rows_of(sets: list[list[str]]) -> pl.DataFrame:
    rows = [(f"p{person}", "fm"[person % 2], code) for person, codes in enumerate(sets) for code in codes]
    return pl.DataFrame(rows, schema=["pid", "sex", "ills"], orient="row")


def bundles(table: pl.DataFrame) -> list[list[str]]:
    return table.group_by("pid", maintain_order=True).agg("ills")["ills"].to_list()


def some_sets(n: int) -> list[list[str]]:
    return [[CODES[(3 * person + 2 * row) % 7] for row in range(1 + person % 4)] for person in range(n)]


PERSONS = st.lists(st.lists(st.sampled_from(CODES), min_size=1, max_size=4), min_size=6, max_size=24)


@pytest.mark.parametrize("method", METHODS)
@given(sets=PERSONS)
@settings(max_examples=examples(10))
def test_elements_are_masked_like_the_rows_of_a_table_of_elements(method: str, sets: list[list[str]]) -> None:
    """Each person keeps her number of elements; a swap keeps how often each element occurs."""
    release = anonto.mask(rows_of(sets), plan_with(method), seed=SECRET)
    assert [len(one) for one in bundles(release.table)] == [len(one) for one in sets]
    step = release.evidence["steps"][0]
    assert (step["elements"], step["most_elements"]) == (sum(map(len, sets)), max(map(len, sets)))
    assert (release.evidence["n_records"], release.evidence["unit"]) == (len(sets), "person")
    if method.startswith("rank-swap"):
        assert sorted(release.table["ills"]) == sorted(code for one in sets for code in one)
    again = anonto.mask(rows_of(sets), plan_with(method), seed=SECRET)
    assert again.table.equals(release.table)
    assert not step["guarantee"]["proved"]


@pytest.mark.parametrize("method", METHODS)
def test_a_set_is_masked_as_a_table_with_a_row_for_each_element_would_be(method: str) -> None:
    sets = [sorted(one) for one in some_sets(40)]
    owners = [person for person, codes in enumerate(sets) for _ in codes]
    elements = pl.DataFrame({"ills": [code for one in sets for code in one]})
    parameters = {"k": 40} if method.startswith("rank-swap") else METHODS[method]
    plan = {"columns": {"ills": {"ontology": ILLS}}, "steps": [{"method": method, "columns": "ills", **parameters}]}
    of_elements = anonto.mask(elements, plan, seed=Seed(SECRET).derive("elements", 0).number).table["ills"]
    expected = [sorted(code for code, own in zip(of_elements, owners, strict=True) if own == n) for n in range(40)]
    assert bundles(anonto.mask(rows_of(sets), plan_with(method, **parameters), seed=SECRET).table) == expected


def test_a_sweep_tries_methods_on_elements() -> None:
    grid = {"rank-swap": {"k": [40]}, "taxonomy-exponential": {"epsilon": [2.0]}, "microaggregate": {"k": [4]}}
    plan = plan_with("rank-swap", k=60)
    found = anonto.sweep(rows_of(some_sets(60)), plan, grid=grid, seeds=1, workers=1)
    assert {one.plan.steps[0].method.name for one in found.points} == set(grid)
    assert not found.skipped


def test_the_elements_of_a_person_are_sorted_so_that_their_order_says_nothing() -> None:
    release = anonto.mask(rows_of(some_sets(40)), plan_with("taxonomy-exponential"), seed=SECRET)
    assert all(one == sorted(one) for one in bundles(release.table))


def test_sets_in_several_columns_or_in_lists_keep_their_form() -> None:
    cells = [[CODES[n % 7], *([CODES[(n + 3) % 7]] if n % 2 else [])] for n in range(40)]
    lists = pl.DataFrame({"ills": [*cells, [], None]}, schema={"ills": pl.List(pl.String)})
    plan = plan_with("rank-swap")
    plan |= {"table": {}, "columns": {"ills": plan["columns"]["ills"]}}
    masked = anonto.mask(lists, plan, seed=SECRET).table
    assert masked.schema == lists.schema
    assert masked["ills"].list.len().to_list()[:40] == [len(one) for one in cells]
    columns = pl.DataFrame({"dx1": [one[0] for one in cells], "dx2": [(one[1:] or [None])[0] for one in cells]})
    plan["columns"]["ills"] = {**plan["columns"]["ills"], "from": ["dx1", "dx2"]}
    masked = anonto.mask(columns, plan, seed=SECRET).table
    assert masked["dx2"].null_count() == columns["dx2"].null_count()


def test_epsilon_adds_up_over_the_elements_of_a_person() -> None:
    sets = [[CODES[n % 7]] * (1 + n % 3) for n in range(30)]
    release = anonto.mask(rows_of(sets), plan_with("taxonomy-exponential"), seed=SECRET)
    said = release.evidence["steps"][0]["guarantee"]
    assert not said["proved"]
    assert said["epsilon"] == 2.0
    assert "at most 6 for a person with 3 elements, the largest number in these data" in said["conditions"]
    unknown = Plan.from_dict(plan_with("taxonomy-exponential"))
    setting = unknown.setting(unknown.steps[0], ["pid", "ills", "sex"])
    assert "ε times the largest number of elements" in unknown.steps[0].method.guarantee(setting).conditions


def test_steps_on_elements_and_on_records_have_their_evidence_in_the_order_of_the_plan() -> None:
    sets, plan = some_sets(60), plan_with("rank-swap", k=60)
    plan["columns"]["sex"] = {}
    plan["steps"].append({"method": "random-swap", "columns": ["sex"]})
    release = anonto.mask(rows_of(sets), plan, seed=SECRET)
    assert [one["method"] for one in release.evidence["steps"]] == ["rank-swap", "random-swap"]
    assert release.evidence["released_as_is"] == []
    assert list(release.masked) == ["ills", "sex"]
    assert sum(release.table.group_by("pid").agg(pl.col("sex").first())["sex"] == "f") == 30


def test_nothing_moves_across_strata() -> None:
    sets = some_sets(60)
    table = rows_of(sets)
    masked = anonto.mask(table, plan_with("rank-swap", k=50, within=["sex"]), seed=SECRET).table
    for sex in "fm":
        assert sorted(masked.filter(sex=sex)["ills"]) == sorted(table.filter(sex=sex)["ills"])


def test_persons_who_are_dropped_take_no_part() -> None:
    sets = [*some_sets(30), ["unknown", "burn"]]
    plan = plan_with("rank-swap")
    plan["columns"]["ills"]["unmatched"] = "drop"
    release = anonto.mask(rows_of(sets), plan, seed=SECRET)
    assert release.evidence["dropped_records"] == 1
    assert sorted(release.table["ills"]) == sorted(code for one in sets[:30] for code in one)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({"method": "rank-swap", "columns": ["ills", "sex"], "k": 2}, "give the set a step of its own"),
        (
            {"method": "frequency-swap", "columns": ["ills", "sex"], "k": 2},
            "whose cells are sets, with frequency-swap",
        ),
    ],
)
def test_steps_on_sets_and_other_columns_are_refused(step: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        Plan.from_dict({**plan_with("rank-swap"), "steps": [step]})


@pytest.mark.parametrize("method", METHODS)
def test_attacks_run_on_sets_whose_elements_were_masked(method: str, tmp_path: Path) -> None:
    table, plan = rows_of(some_sets(60)), plan_with(method, **({"k": 60} if method.startswith("rank-swap") else {}))
    plan["columns"]["sex"] = {}
    plan["steps"].append({"method": "group-swap", "columns": ["sex"], "k": 3})
    release = anonto.mask(table, plan, seed=SECRET)
    release.save(tmp_path / "out.csv")
    with_record = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    without = anonto.assess(table, release.table, plan)
    for found in (with_record, without):
        assert found.n_records == 60
        attacks = {one.attack for one in found.risk}
        assert "distance-linkage" in attacks
        assert not any("ills" in one.columns for one in found.risk if one.attack == "likelihood-linkage")
    with_record.to_html(tmp_path / "report.html")
    release.save_report(tmp_path / "masked.html")
    assert with_record.facts["guarantees"][0] == release.evidence["steps"][0]["guarantee"]


def test_elements_in_texts_keep_their_marks() -> None:
    assert Counter(elements_of(f"a{ELEMENT}b{ROW}{ROW}a")) == {"a": 2, "b": 1}
