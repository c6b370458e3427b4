"""Columns that seem to number persons with several rows: what is noticed, said, and written into a plan."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import polars as pl
import pytest

from anonto.cli.main import run
from anonto.masking.plan import Plan, plan_of
from anonto.profile.column_profile import open_table
from anonto.profile.persons import PersonColumn, notice_persons
from anonto.profile.profile import profile
from anonto.profile.propose import propose

if TYPE_CHECKING:
    from pathlib import Path


def visits(name: str = "patient_id") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "visit_id": [f"v{n}" for n in range(60)],
            name: [f"p{n % 25}" for n in range(60)],
            "sex": ["fm"[n % 25 % 2] for n in range(60)],
            "ward": [f"w{n % 4}" for n in range(60)],
        }
    )


def noticed(table: pl.DataFrame) -> PersonColumn | None:
    return notice_persons(open_table(table), ("visit_id",))


@pytest.mark.parametrize("name", ["patient_id", "PATIENT", "SubjectID", "dupersid", "mrn", "id", "subject.reference"])
def test_a_column_of_persons_that_repeats_is_noticed_with_the_columns_that_vary(name: str) -> None:
    assert noticed(visits(name)) == PersonColumn(name, 25, 60, ("ward",))


@pytest.mark.parametrize("name", ["ward_id", "encounter_id", "household", "hospital_id", "city", "num1", "pernum"])
def test_numbers_of_others_are_not_noticed(name: str) -> None:
    assert noticed(visits(name)) is None


def test_nothing_is_noticed_where_nobody_has_several_rows() -> None:
    assert noticed(visits().unique("patient_id")) is None
    assert noticed(visits().with_columns(patient_id=pl.lit("p"))) is None
    assert noticed(visits().head(0)) is None


def test_numbers_that_start_anew_in_each_household_are_not_those_of_persons() -> None:
    table = visits().with_columns(household=pl.int_range(60) // 25)
    assert noticed(table) is None
    of_persons = visits().with_columns(household=pl.col("patient_id").str.slice(1).cast(pl.Int64) // 4)
    assert noticed(of_persons) == PersonColumn("patient_id", 25, 60, ("ward",))


def test_patients_come_before_those_who_treat_them() -> None:
    table = visits().with_columns(provider_id=pl.Series([f"d{n % 40}" for n in range(60)]))
    found = noticed(table)
    assert found is not None
    assert found.name == "patient_id"


def test_rows_without_a_person_are_not_counted() -> None:
    table = visits().with_columns(pl.when(pl.int_range(60) < 10).then(None).otherwise("patient_id").alias("patient_id"))
    found = noticed(table)
    assert found is not None
    assert (found.n_persons, found.n_rows) == (25, 50)


def test_init_proposes_the_person_column_and_does_not_switch_it_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits().write_csv(tmp_path / "visits.csv")
    plan = tmp_path / "plan.toml"
    assert run(["init", str(tmp_path / "visits.csv"), "--output", str(plan)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "'patient_id' seems to number persons, 25 values in 60 rows: rows are protected, not persons" in said
    assert "'ward' differs between rows of one value" in said
    text = plan.read_text(encoding="utf-8")
    assert "\n[table]\n# " in text
    assert Plan.from_toml(plan).person is None
    plan.write_text(text.replace("# person =", "person ="), encoding="utf-8")
    assert Plan.from_toml(plan).person == "patient_id"
    assert tomllib.loads(text)["table"] == {}
    assert run(["init", str(tmp_path / "visits.csv"), "--output", str(plan), "--header", "--force", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["person"] == {"column": "patient_id", "persons": 25, "rows": 60, "varying": ["ward"]}
    with_header = plan.read_text(encoding="utf-8")
    assert tomllib.loads(with_header.replace("# person =", "person ="))["table"] == {
        "person": "patient_id",
        "header": "names",
    }


def test_a_table_of_persons_gets_a_plan_without_a_section_about_the_table() -> None:
    proposal = propose(visits().unique("patient_id"))
    assert proposal.person is None
    assert "[table]" not in proposal.to_toml()


def test_profile_says_it_too_unless_the_plan_names_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    visits().write_csv(tmp_path / "visits.csv")
    assert run(["profile", str(tmp_path / "visits.csv")]) == 0
    assert "seems to number persons, 25 values in 60 rows" in " ".join(capsys.readouterr().out.split())
    columns = {"visit_id": {"role": "identifier"}, "sex": {}, "ward": {"kind": "set"}}
    found = profile(visits(), plan_of({"columns": columns}))
    assert found["person"]["varying"] == ["ward"]
    assert "person" not in profile(visits(), plan_of({"table": {"person": "patient_id"}, "columns": columns}))
