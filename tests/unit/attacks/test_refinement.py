"""Groups formed again: the rows of a person's own group, found by whoever knows the method."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import anonto
from anonto.attacks.compute.candidates import CandidateRecords
from anonto.attacks.compute.encoded_step import encode_step
from anonto.attacks.compute.refinement import form_groups, mean_squared_distance, refinement, repeat_groups
from anonto.attacks.plain import refinement as plain
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.prepare import opener
from anonto.errors import AnontoError
from anonto.masking.plan import Plan
from budget import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.attacks.rate import Risk
    from anonto.encoding.comparison import ComparedColumn

SEED = 1 << 90
COLUMNS: dict[str, dict[str, Any]] = {
    "illness": {"ontology": anonto.read_ontology("illnesses"), "unmatched": "keep", "role": "quasi-identifier"},
    "age": {"kind": "numeric", "role": "quasi-identifier"},
    "city": {"role": "quasi-identifier"},
}
CONCEPTS = ["flu", "measles", "burn", "fracture", "cold"]


def plan_of(columns: Sequence[str], **parameters: Any) -> Plan:
    step = {"method": "microaggregate", "columns": list(columns), "k": 3, **parameters}
    return Plan.from_dict({"columns": {name: COLUMNS[name] for name in (*columns, "city")}, "steps": [step]})


def random_table(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    ages = rng.permutation(10 * n)[:n]
    cities = rng.choice(["x", "y"], n)
    return pl.DataFrame({"illness": rng.choice(CONCEPTS[:4], n), "age": ages, "city": cities})


def masked_by(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        masked: pl.DataFrame = anonto.mask(table, plan, seed=SEED).table
        return masked


def views(
    table: pl.DataFrame, masked: pl.DataFrame, plan: Plan
) -> tuple[dict[str, ComparedColumn], EncodedStep, dict[str, BothCells]]:
    cells, open_once, step = {}, opener(), plan.steps[0]
    for name in table.columns:
        cells[name] = BothCells.of(table[name], masked[name])
    columns = {name: compare_column(name, cells[name], plan.description(name), open_once) for name in table.columns}
    further = (step.within, step.small_strata)
    names = (*step.columns, *step.method.also_needs)
    one = encode_step(step.method, names, cells, plan.description, open_once, np.ones(len(table), int), *further)
    return columns, one, {name: cells[name] for name in table.columns if name not in step.columns}


def attacked(table: pl.DataFrame, masked: pl.DataFrame, plan: Plan, known: Sequence[str]) -> dict[str, Risk]:
    columns, step, cells = views(table, masked, plan)
    as_is = {name: cells[name] for name in known if name in cells}
    rng = np.random.default_rng(1)
    found = refinement([columns[name] for name in known], columns, [step], [], as_is, rng)
    return {one.details["matching"]: one for one in found}


@settings(max_examples=examples(8), deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from([*CONCEPTS[:4], None]), st.integers(0, 30)), min_size=3, max_size=25),
    refine=st.booleans(),
)
def test_candidates_and_scale_are_those_of_the_plain_version(rows: list[Any], refine: bool) -> None:
    table = pl.DataFrame({"illness": [row[0] for row in rows], "age": [row[1] for row in rows]})
    plan = Plan.from_dict(
        {
            "columns": {name: COLUMNS[name] for name in table.columns},
            "steps": [{"method": "microaggregate", "columns": table.columns, "k": 3, "refine": refine}],
        }
    )
    try:
        masked = masked_by(table, plan)
    except AnontoError:  # too few rows lack the same cells
        assume(False)
    columns, step, _ = views(table, masked, plan)
    known = list(columns.values())
    found = repeat_groups(step, columns, table.columns)
    assert found is not None
    candidates = CandidateRecords.of(known, [found])
    targets = candidates.targets(np.arange(len(table)))
    rows_of = candidates.released.parts[candidates.record_of_row][:, 0]
    allowed = candidates.allowed_rows(targets, slice(0, len(targets.codes)))[targets.of_person][:, rows_of]
    assert np.array_equal(allowed, plain.candidates_of_all(known, step))
    for one in known:
        assert mean_squared_distance(one) == pytest.approx(plain.mean_squared_distance(one), abs=1e-12)


def test_groups_formed_again_reach_the_number_of_groups_and_no_other_linkage_reaches_more() -> None:
    table, plan = random_table(200), plan_of(["illness", "age"])
    masked = masked_by(table, plan)
    found = attacked(table, masked, plan, ["illness", "age"])
    most = masked.select("illness", "age").n_unique() / 200
    assert found["repeated"].rate == pytest.approx(most)
    assert found["repeated"].details["least_candidates"] == 3
    assert found["nearest"].rate <= found["repeated"].rate
    assert found["global"].rate <= found["repeated"].rate + 1e-9


def test_a_known_column_outside_the_step_narrows_the_group_down() -> None:
    table, plan = random_table(120), plan_of(["illness", "age"])
    masked = masked_by(table, plan)
    found = attacked(table, masked, plan, ["illness", "age", "city"])["repeated"]
    classes = masked.group_by("illness", "age", "city").len()
    assert found.rate == pytest.approx(len(classes) / 120)


def test_who_knows_some_columns_of_the_step_finds_the_groups_that_fit() -> None:
    table, plan = random_table(120), plan_of(["illness", "age"])
    masked = masked_by(table, plan)
    by_age = attacked(table, masked, plan, ["age"])["repeated"]  # every age is another one
    assert by_age.rate == pytest.approx(masked["age"].n_unique() / 120, abs=0.03)
    by_illness = attacked(table, masked, plan, ["illness"])["repeated"]
    assert by_illness.rate < 0.1 < by_age.rate


def test_groups_within_strata_are_formed_again() -> None:
    table, plan = random_table(120), plan_of(["illness", "age"], within=["city"])
    masked = masked_by(table, plan)
    found = attacked(table, masked, plan, ["illness", "age", "city"])["repeated"]
    assert found.rate == pytest.approx(masked.n_unique() / 120)


def test_groups_kept_close_in_another_column_are_formed_again() -> None:
    table, plan = random_table(60), plan_of(["illness", "age"], t=0.3, confidential="city")
    masked = masked_by(table, plan)
    found = attacked(table, masked, plan, ["illness", "age"])["repeated"]
    assert found.rate == pytest.approx(masked.select("illness", "age").n_unique() / 60)


def test_unmasked_rows_are_found_and_rows_of_others_as_often_as_by_chance() -> None:
    table, plan = random_table(300), plan_of(["illness", "age"])
    unmasked = attacked(table, table, plan, ["illness", "age"])
    assert unmasked["nearest"].rate == unmasked["global"].rate == 1.0
    masked = masked_by(table, plan)
    shuffled = masked.sample(fraction=1.0, shuffle=True, seed=3)
    assert all(one.rate < 0.02 for one in attacked(table, shuffled, plan, ["illness", "age"]).values())


def test_an_original_that_the_method_refuses_is_attacked_by_the_centres_alone() -> None:
    table = random_table(12)
    plan, other = plan_of(["illness", "age"]), plan_of(["illness", "age"], k=20)
    masked = masked_by(table, plan)
    assert form_groups(views(table, masked, other)[1]) is None
    assert set(attacked(table, masked, other, ["illness", "age"])) == {"nearest", "global"}


def test_an_assessment_tries_it_where_groups_are_equal_and_nowhere_else() -> None:
    table = random_table(60)
    for method, tried in (("microaggregate", True), ("group-swap", False)):
        plan = plan_of(["illness", "age"], method=method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = anonto.assess(table, masked_by(table, plan), plan)
        assert ("refinement" in {one.attack for one in found.risk}) == tried


def test_an_empty_table_has_nobody_to_find() -> None:
    table, plan = random_table(9).clear(), plan_of(["illness", "age"])
    assert [one.n for one in attacked(table, table, plan, ["illness", "age"]).values()] == [0]
