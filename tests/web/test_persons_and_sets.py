"""Tables in which a person has several rows and several codes in a row, from the page of columns to the release."""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from playwright.sync_api import expect

import anonto
from anonto.errors import ReleasedAsIsWarning
from anonto.methods.registry import METHODS
from anonto.web.inputs import table_of
from anonto.web.preview import persons
from anonto.web.units import (
    become_set,
    join_columns,
    name_for,
    orders_offered,
    rename_set,
    series_of,
    set_order,
    set_person,
    set_role,
    take_apart,
)
from web.conftest import WAIT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from web.conftest import Served, Visitor

    Visit = Callable[..., Visitor]

CODES = ("E11", "I10", "J45", "K21", "M54", "F32", "N18", "G43", "L20", "H40")
SOURCES = ["dx1", "dx2", "dx3"]


def visits(n_persons: int = 60) -> pl.DataFrame:
    """One to four visits of each person, with one to three codes each; the ward differs, all else does not."""
    draw = random.Random(19)
    rows = []
    for number in range(n_persons):
        person = (f"P{number:04}", draw.choice("FM"), draw.randrange(1930, 2005), ("north", "south")[number % 2])
        for _ in range(draw.choice((1, 1, 2, 2, 4))):
            codes = [*draw.sample(CODES, draw.choice((1, 2, 3))), None, None][:3]
            rows.append((*person, *codes, draw.choice("ABC")))
    draw.shuffle(rows)
    return pl.DataFrame(rows, ["patient_id", "sex", "birth_year", "region", *SOURCES, "ward"], orient="row")


def persons_of(table: pl.DataFrame) -> list[tuple[str, int, str, str]]:
    """What each person is and has: sex, year, region and all codes."""
    found = []
    for rows in table.partition_by("patient_id"):
        (constant,) = rows.select("sex", "birth_year", "region").unique().rows()
        codes = sorted(code for row in rows.select(SOURCES).rows() for code in row if code is not None)
        found.append((*constant, " ".join(codes)))
    return sorted(found)


def test_persons_with_sets_of_codes_go_the_whole_way(  # noqa: PLR0915 - one long way
    served: Served, visit: Visit, tmp_path: Path
) -> None:
    original = visits()
    original.write_csv(served.folder / "visits.csv")
    steward = visit(served)
    page = steward.page
    page.get_by_label("File (").select_option("visits.csv")
    steward.press("Open this file")
    steward.see("The first 8 records")

    # Whose rows these are: asked about, chosen, counted; what differs within a person is joined or dropped.
    steward.go("Columns")
    steward.press("patient_id says whose rows these are")
    steward.see(f"60 persons in {original.height} rows; no person has more than 4.")
    steward.see("dx1 differs for")
    steward.press("Join dx1 to dx3 (3 columns)")
    steward.see("Set of dx1, dx2, dx3.")
    assert page.get_by_text("dx1 differs for").count() == 0
    assert page.get_by_label("Ontology of dx", exact=True).input_value() == "icd10cm"
    steward.press("Drop ward")
    expect(page.get_by_label("Role of ward", exact=True)).to_have_value("identifier", timeout=WAIT)
    page.get_by_label("In the release").select_option("pseudonym")
    page.get_by_role("button", name="Undo: Role of patient_id").wait_for()
    steward.see(f"60 persons in {original.height} rows")

    steward.go("Risk before")
    steward.see("persons are unique")

    # Methods that take sets, inside strata.
    steward.go("Method")
    steward.see("It masks no sets")
    able = page.locator("input[name=method]:enabled").evaluate_all("all => all.map(one => one.value)")
    assert set(able) == {name for name, one in METHODS.items() if one.takes_sets}
    page.get_by_role("group", name="Columns of this step").get_by_label("region").uncheck()
    page.get_by_role("group", name="Strata of this step").get_by_label("region").check()
    page.get_by_label("Small strata").select_option("pool")
    k = page.get_by_label("k – how many records")
    k.fill("5")
    k.press("Tab")
    steward.see("From 60 of 60 persons, with group-swap k = 5")

    steward.run()
    steward.see("persons released")
    page.get_by_label("Column", exact=True).select_option("dx")
    page.get_by_role("img", name="Elements by group of dx, before and after masking").wait_for()
    page.get_by_label("Second column").select_option("dx")
    page.get_by_role("img", name="Records by sex and dx, after masking").wait_for()

    steward.go("Take away")
    steward.see("In Python")
    masked = pl.read_csv(steward.download("Download the masked table"))
    assert masked.columns == [name for name in original.columns if name != "ward"]
    assert masked.height == original.height
    before, after = persons_of(original), persons_of(masked)
    assert len(after) == 60
    assert sorted(codes for *_, codes in after) == sorted(codes for *_, codes in before)
    assert [region for *_, region, _ in after].count("north") == 30
    # Of 60 persons in groups of 5 about 12 keep their combination, by a seed that the app draws; all 60 if none moves.
    assert len(set(before) & set(after)) < 45
    report = steward.download("Download the report", exact=True).read_text(encoding="utf-8")
    assert f'<p class="lead">60 persons in {original.height} rows;' in report

    # The plan that is taken away masks to the same rows without the app.
    plan = tmp_path / "plan.toml"
    plan.write_bytes(steward.download("Download the plan").read_bytes())
    page.get_by_label("I will keep it apart").check()
    record = json.loads(steward.download("Download the private record").read_text(encoding="utf-8"))
    with pytest.warns(ReleasedAsIsWarning, match="no step masks: region"):
        again = anonto.mask(served.folder / "visits.csv", plan, seed=int(record["seed"]))
    again.save(tmp_path / "again.csv", private=False)
    assert pl.read_csv(tmp_path / "again.csv").equals(masked)


def test_a_set_is_renamed_taken_apart_and_joined_again_and_all_of_it_undone(served: Served, visit: Visit) -> None:
    visits().with_columns(drugs=pl.lit("insulin; statin")).write_csv(served.folder / "drugs.csv")
    steward = visit(served)
    page = steward.page
    page.get_by_label("File (").select_option("drugs.csv")
    steward.press("Open this file")
    steward.see("The first 8 records")
    steward.go("Columns")
    page.get_by_text("Choose the columns").click()
    for name in ("dx1", "dx2"):
        page.get_by_role("group", name="Columns to join").get_by_label(name).check()
    page.get_by_label("Name of the set", exact=True).fill("drugs")
    steward.press("Join these columns")
    steward.see("There is another column drugs")
    page.get_by_label("Name of the set", exact=True).fill("diagnoses")
    page.get_by_label("Name of the set", exact=True).press("Tab")
    steward.press("Join these columns")
    steward.see("Set of dx1, dx2.")
    page.get_by_role("link", name="Look closer at diagnoses").click()
    steward.see("of the cells matched")
    page.get_by_label("Name of the set", exact=True).fill("codes")
    page.get_by_label("Name of the set", exact=True).press("Tab")
    page.get_by_role("heading", name="codes", exact=True).wait_for()
    steward.go("Columns")
    steward.press("Take codes apart")
    expect(page.get_by_label("Kind of dx2", exact=True)).to_have_value("nominal", timeout=WAIT)
    steward.press("Undo: Take codes apart")
    steward.see("Set of dx1, dx2.")
    steward.press("Redo: Take codes apart")
    page.get_by_label("Kind of dx1", exact=True).wait_for()

    # A text with a sign between its elements.
    page.get_by_label("Kind of drugs", exact=True).select_option("set")
    page.get_by_role("button", name="Undo: Kind of drugs").wait_for()
    page.get_by_role("link", name="Look closer at drugs").click()
    page.get_by_label("Sign between elements", exact=True).fill(";")
    page.get_by_label("Sign between elements", exact=True).press("Tab")
    page.get_by_role("button", name="Undo: Sign between elements of drugs").wait_for()
    steward.go("Method")
    steward.see("drugs: sets can be masked by")


def test_rows_of_persons_leave_in_the_order_of_a_date(served: Served, visit: Visit) -> None:
    original = visits().select("patient_id", "sex", "dx1")
    numbers = pl.int_range(pl.len()).over("patient_id")
    day = pl.date(2005, 1, 28) - pl.duration(days=3 * numbers)
    original = original.with_columns(day=day.cast(pl.String), room=pl.lit("left") + numbers.cast(pl.String))
    original.write_csv(served.folder / "days.csv")
    steward = visit(served)
    page = steward.page
    page.get_by_label("File (").select_option("days.csv")
    steward.press("Open this file")
    steward.see("The first 8 records")
    steward.go("Columns")
    assert page.get_by_label("Order of the rows", exact=True).count() == 0
    steward.press("patient_id says whose rows these are")
    steward.see("day differs for")
    order = page.get_by_label("Order of the rows", exact=True)
    order.select_option("room")
    steward.see("neither a number nor a date such as 2005-12-31 in room")
    order.select_option("day")
    steward.see("Each row leaves with its place, 1, 2, 3, and so on, instead of day.")
    steward.see("day orders nothing yet: make the columns that differ sets.")
    expect(page.get_by_label("Role of day", exact=True)).to_have_value("identifier", timeout=WAIT)
    expect(page.get_by_label("Role of room", exact=True)).to_have_value("identifier", timeout=WAIT)
    assert page.get_by_text("day differs for").count() == 0
    steward.press("Make dx1 a set")
    steward.see("Choose a random number for each person")
    page.get_by_label("In the release").select_option("pseudonym")
    page.get_by_role("button", name="Undo: Role of patient_id").wait_for()

    # A column that is released as it is orders nothing.
    page.get_by_label("Role of day", exact=True).select_option("other")
    expect(order).to_have_value("", timeout=WAIT)
    steward.press("Undo: Role of day")
    expect(order).to_have_value("day", timeout=WAIT)

    steward.go("Method")
    steward.see("dx1: sets with an order can be masked by")
    able = page.locator("input[name=method]:enabled").evaluate_all("all => all.map(one => one.value)")
    assert set(able) == {name for name, one in METHODS.items() if one.takes_sets and one.is_swap}
    steward.run()
    steward.see("persons released")
    steward.go("Take away")
    masked = pl.read_csv(steward.download("Download the masked table"))
    assert masked.columns == ["patient_id", "sex", "dx1", "day"]

    def sequences(table: pl.DataFrame) -> list[list[str]]:
        by_person = table.sort("patient_id", "day").group_by("patient_id", maintain_order=True).agg("dx1")
        return sorted(by_person["dx1"].to_list())

    assert sequences(masked) == sequences(original)
    assert masked.filter(pl.col("day") == 1).height == 60


# ------------------------------------------------------------------------------------------------ without a browser

PLAN: dict[str, Any] = {
    "columns": {
        "id": {"kind": "nominal", "role": "identifier"},
        "dx1": {"kind": "nominal", "role": "confidential", "na": ["-"]},
        "age": {"kind": "numeric", "role": "quasi-identifier"},
        "dx2": {"kind": "nominal", "role": "quasi-identifier", "ontology": "icd10cm", "review": True},
    },
    "steps": [
        {"method": "group-swap", "columns": ["age"], "k": 5, "within": ["dx1"], "small_strata": "pool"},
        {"method": "random-swap", "columns": ["dx2"]},
    ],
}


def test_columns_that_are_joined_take_their_places_in_the_plan_and_its_steps() -> None:
    plan = copy.deepcopy(PLAN)
    join_columns(plan, ["dx1", "dx2"], name_for(plan, ["dx1", "dx2"]))
    described = {"kind": "set", "role": "quasi-identifier", "ontology": "icd10cm", "na": ["-"], "review": True}
    assert list(plan["columns"].items())[1] == ("dx", {**described, "from": ["dx1", "dx2"]})
    assert plan["steps"] == [
        {"method": "group-swap", "columns": ["age"], "k": 5},
        {"method": "random-swap", "columns": ["dx"]},
    ]
    rename_set(plan, "dx", "codes")
    assert list(plan["columns"]) == ["id", "codes", "age"]
    anonto.Plan.from_dict(plan)
    take_apart(plan, "codes")
    assert list(plan["columns"]) == ["id", "dx1", "dx2", "age"]
    assert plan["columns"]["dx1"] == {**described, "kind": "nominal"}
    assert plan["steps"][1]["columns"] == ["dx1", "dx2"]


def test_a_name_for_a_set_is_what_its_columns_share_unless_it_is_taken() -> None:
    columns = {name: {"role": "other"} for name in ("dx_1", "dx_2", "dx", "sex", "age1", "3")}
    assert series_of(columns) == [["dx_1", "dx_2"]]
    assert name_for({"columns": columns}, ["dx_1", "dx_2"]) == "dx_set"
    assert name_for({"columns": columns}, ["sex", "age1"]) == "joined"


def test_a_person_column_is_in_no_step_and_no_pseudonym_once_another_is_chosen() -> None:
    plan = copy.deepcopy(PLAN)
    set_person(plan, "dx1")
    assert plan["table"] == {"person": "dx1"}
    assert "within" not in plan["steps"][0]
    set_role(plan, "dx1", "pseudonym")
    set_person(plan, None)
    assert "table" not in plan
    assert plan["columns"]["dx1"]["role"] == "identifier"


def test_a_recoded_column_stays_so_while_its_cells_are_released() -> None:
    plan = copy.deepcopy(PLAN)
    plan["columns"]["age"]["recode"] = {"top": 90}
    set_role(plan, "age", "confidential")
    assert plan["columns"]["age"]["recode"] == {"top": 90}
    set_role(plan, "age", "free-text")
    assert "recode" not in plan["columns"]["age"]


def test_a_column_orders_rows_only_while_it_is_dropped_and_there_are_persons() -> None:
    plan = copy.deepcopy(PLAN)
    set_person(plan, "id")
    assert orders_offered(plan) == ["dx1", "age", "dx2"]
    set_order(plan, "age")
    assert plan["table"] == {"person": "id", "order": "age"}
    assert plan["columns"]["age"]["role"] == "identifier"
    assert [step["columns"] for step in plan["steps"]] == [["dx2"]]

    def without(change: Callable[[dict[str, Any]], None]) -> dict[str, Any] | None:
        draft = copy.deepcopy(plan)
        change(draft)
        table: dict[str, Any] | None = draft.get("table")
        return table

    assert without(lambda draft: set_order(draft, None)) == {"person": "id"}
    assert without(lambda draft: set_role(draft, "age", "other")) == {"person": "id"}
    assert without(lambda draft: become_set(draft, "age")) == {"person": "id"}
    assert without(lambda draft: set_person(draft, "age")) == {"person": "age"}
    assert without(lambda draft: set_person(draft, "dx1")) == {"person": "dx1", "order": "age"}
    assert without(lambda draft: set_person(draft, None)) is None


def test_rows_without_a_place_are_counted_before_there_is_a_set(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,dx,day\n1,a,2005-01-31\n1,b,soon\n2,b,\n", encoding="utf-8")
    described = {"id": {"role": "identifier"}, "dx": {}, "day": {"role": "identifier"}}
    given = {
        "table": {"path": str(tmp_path / "t.csv"), "repairs": {}},
        "plan": {"columns": described, "steps": [], "table": {"person": "id", "order": "day"}},
    }
    found = persons(given, lambda *_: None)
    assert found == {"persons": 2, "rows": 3, "most": 2, "varying": {"dx": 1}, "unordered": 2}


def test_codes_are_repaired_in_the_elements_of_a_set(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,drugs\n1,a; b\n2,b\n", encoding="utf-8")
    described = {"id": {"role": "identifier"}, "drugs": {"kind": "set", "separator": ";"}}
    given = {
        "table": {"path": str(tmp_path / "t.csv"), "repairs": {"drugs": {"b": "B"}}},
        "plan": {"columns": described, "steps": [], "table": {"person": "id"}},
    }
    assert table_of(given).frame["drugs"].to_list() == ["a;B", "B"]
