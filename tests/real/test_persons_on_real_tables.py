"""Persons with several rows on real tables: MEPS conditions, diabetes encounters, NHDS diagnoses, OMOP conditions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.attacks.compute.known_codes import Persons, TableOfSets, attack_sets
from anonto.encoding.columns import encode
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.set_space import elements_of
from anonto.masking.plan import plan_of
from anonto.masking.units import Units

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

N_PERSONS = 600


def read(file: Path) -> pl.DataFrame:
    return pl.read_csv(file, infer_schema=False)


@pytest.fixture(scope="module")
def meps(data_folder: Path) -> pl.DataFrame:
    """One row for each coded condition, with sex and year of birth of the person."""
    folder = data_folder / "meps2005"
    conditions = read(folder / "conditions.csv.gz").filter(pl.col("icd9").fill_null("") != "")
    persons = read(folder / "persons.csv.gz").select("person", "sex", "birth_year")
    return conditions.select("person", "icd9").join(persons, on="person", how="left")


def meps_plan(data_folder: Path, k: int = 10) -> dict[str, Any]:
    return {
        "table": {"person": "person"},
        "columns": {
            "icd9": {"kind": "set", "ontology": str(data_folder / "icd9cm" / "icd9cm_dx_edges.csv")},
            "sex": {},
            "birth_year": {"kind": "numeric"},
        },
        "steps": [{"method": "group-swap", "columns": ["icd9", "sex", "birth_year"], "k": k}],
    }


def share_alone(records: pl.DataFrame, columns: list[str]) -> float:
    return (records.group_by(columns).len()["len"] == 1).sum() / records.height


def some_persons(table: pl.DataFrame, person: str, n: int = N_PERSONS) -> pl.DataFrame:
    chosen = table[person].unique(maintain_order=True).head(n)
    return table.filter(pl.col(person).is_in(chosen.implode()))


def test_most_persons_of_meps_are_alone_by_their_codes_though_hardly_a_row_is(
    meps: pl.DataFrame, data_folder: Path
) -> None:
    records = Units(FrameAdapter(meps.unique(["person", "icd9"])), plan_of(meps_plan(data_folder))).records
    assert (meps.height, records.height) == (102_673, 26_735)
    assert (meps.group_by("icd9").len()["len"] == 1).sum() == 2
    assert round(100 * share_alone(records, ["icd9"]), 1) == 57.6
    assert round(100 * share_alone(records, ["icd9", "sex", "birth_year"]), 1) == 81.5


def test_few_known_codes_single_out_persons_of_meps(meps: pl.DataFrame, data_folder: Path) -> None:
    records = Units(FrameAdapter(meps), plan_of(meps_plan(data_folder))).records
    column = encode(records["icd9"])
    codes = sorted({code for text in column.values for code in elements_of(text)})
    table = TableOfSets.of(column, {code: number for number, code in enumerate(codes)})
    rng = np.random.default_rng(0)
    everybody = Persons(np.arange(26_735), *table.codes_of(table.set_of_row))
    assert round(100 * table.share_alone(table, everybody), 1) == 57.6
    below_k = [round(100 * table.measure_km(m, 10)["below_k"], 1) for m in (1, 2)]
    assert below_k == [2.6, 42.1]
    rows = np.sort(rng.choice(26_735, 2_000, replace=False))
    found = attack_sets(table, table, Persons(rows, *table.codes_of(table.set_of_row[rows])), 10, rng)
    for one, whole_table in zip(found, (0, 4.6, 19.6, 31.9, 37.2, 0, 19.4, 35.8, 38.7, 39.0), strict=True):
        assert one.singled_out["before"] == one.singled_out["after"]
        assert 100 * one.singled_out["after"] == pytest.approx(whole_table, abs=4)
        assert one.rate == one.whole == one.have_others  # the rest of the set is right


@pytest.mark.parametrize("k", [10, 20])
def test_persons_of_meps_are_linked_no_more_often_than_one_in_k(
    meps: pl.DataFrame, data_folder: Path, tmp_path: Path, k: int
) -> None:
    table, plan = some_persons(meps, "person"), meps_plan(data_folder, k)
    release = anonto.mask(table, plan, seed=1 << 100)  # 1/k is about chance: now and then a release exceeds it
    step = release.evidence["steps"][0]
    assert step["guarantee"]["proved"]
    assert step["smallest_group"] >= k
    assert release.table["icd9"].value_counts().sort("icd9").equals(table["icd9"].value_counts().sort("icd9"))
    release.save(tmp_path / "out.parquet")
    found = anonto.assess(table, tmp_path / "out.parquet", plan, private=tmp_path / "out.parquet.private.json")
    (known,) = [one for one in found.risk if one.attack == "known-codes"]
    assert known.details["singled_out"]["before"] == known.details["singled_out"]["after"] > 0.4
    assert known.details["read_right"] == 1.0  # a set moves whole, into the record of another person
    assert known.details["own_record"] < 2 / k
    (same,) = [one for one in found.risk if one.attack == "same-person"]
    assert same.baseline < 0.01
    assert 0.1 < same.rate < 0.5  # few share their sex and year of birth among 600
    linkages = [one for one in found.risk if one.attack.endswith("linkage") or one.attack == "row-count"]
    assert linkages
    assert all(one.n <= N_PERSONS and one.low <= 1 / k for one in linkages)
    at_random = {**plan, "steps": [{"method": "random-swap", "columns": plan["steps"][0]["columns"]}]}
    lost_at_random = anonto.mask(table, at_random).evidence["steps"][0]["rmse"]["icd9"]
    assert step["rmse"]["icd9"] < 0.8 * lost_at_random


def sets_of(table: pl.DataFrame) -> dict[str, frozenset[str]]:
    return {str(person): frozenset(rows["icd9"]) for (person,), rows in table.group_by("person")}


def test_masking_rows_of_meps_leaves_most_persons_their_set_and_masking_persons_does_not(
    meps: pl.DataFrame, data_folder: Path
) -> None:
    of_persons, of_rows = meps_plan(data_folder), meps_plan(data_folder)
    del of_rows["table"], of_rows["columns"]["icd9"]["kind"]
    some = some_persons(meps, "person")
    keep = {}
    for unit, table, plan in (("person", some, of_persons), ("row", meps, of_rows)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows the person column is released as it is
            release = anonto.mask(table, plan, seed=1 << 100)
        # How often each code occurs, the 20 most frequent ones among them, is the same.
        counts = [one["icd9"].value_counts().sort("icd9") for one in (table, release.table)]
        assert counts[0].equals(counts[1])
        step = release.evidence["steps"][0]
        if unit == "person":
            keep[unit] = step["unchanged"]["icd9"] / N_PERSONS
        else:
            before, after = sets_of(table), sets_of(release.table)
            keep[unit] = sum(codes == after[person] for person, codes in before.items()) / len(before)
    assert keep["row"] > 0.8
    assert keep["person"] < 0.3


def test_a_sweep_of_meps_persons_finds_a_plan_below_the_risk_that_is_accepted(
    meps: pl.DataFrame, data_folder: Path
) -> None:
    swept = anonto.sweep(
        some_persons(meps, "person"),
        meps_plan(data_folder),
        {"group-swap": {"k": [6, 60]}},
        seeds=1,
        max_risk=0.15,  # of 600 persons, so that intervals are wide
        workers=1,
    )
    found = swept.best().point
    assert found is not None
    assert found.plan.person == "person"
    assert found.parameters["k"] == 60
    assert 0 < found.risk <= found.high <= 0.15


def test_groups_of_meps_persons_leave_with_one_set_and_as_many_rows(
    meps: pl.DataFrame, data_folder: Path, tmp_path: Path
) -> None:
    table, plan = some_persons(meps, "person"), meps_plan(data_folder)
    plan["columns"]["person"] = {"role": "pseudonym"}
    plan["steps"][0]["method"] = "microaggregate"
    release = anonto.mask(table, plan)
    step = release.evidence["steps"][0]
    assert step["guarantee"]["proved"]
    assert step["real_k"] >= 10
    assert step["rmse"]["icd9"] < 0.6
    release.save(tmp_path / "out.csv")
    rows = read(tmp_path / "out.csv").group_by("person").agg(pl.col("icd9").sort(), "sex", "birth_year")
    of_group = rows.group_by("icd9", "sex", "birth_year").len()
    assert of_group["len"].min() >= 10
    found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert all(one.low <= 1 / 10 for one in found.risk if one.attack.endswith("linkage"))


@pytest.mark.parametrize(
    ("method", "parameters"), [("rank-swap", {"k": 60}), ("taxonomy-exponential", {"epsilon": 4.0})]
)
def test_codes_of_meps_persons_are_masked_one_by_one(
    meps: pl.DataFrame, data_folder: Path, tmp_path: Path, method: str, parameters: dict[str, Any]
) -> None:
    table, plan = some_persons(meps, "person"), meps_plan(data_folder)
    plan["steps"] = [
        {"method": method, "columns": ["icd9"], **parameters},
        {"method": "random-swap", "columns": ["sex", "birth_year"]},
    ]
    release = anonto.mask(table, plan)
    step = release.evidence["steps"][0]
    assert step["elements"] == table.height == release.table.height
    assert step["most_elements"] == table.group_by("person").len()["len"].max()
    assert not step["guarantee"]["proved"]
    assert release.table["icd9"].null_count() == 0
    if method == "rank-swap":
        assert release.table["icd9"].value_counts().sort("icd9").equals(table["icd9"].value_counts().sort("icd9"))
    release.save(tmp_path / "out.csv")
    found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert found.n_records == N_PERSONS
    assert any(one.attack == "distance-linkage" for one in found.risk)


def test_encounters_of_diabetes_patients_are_masked_patient_by_patient(data_folder: Path) -> None:
    columns = ["patient_nbr", "gender", "diag_1", "diag_2", "diag_3"]
    table = read(data_folder / "uci_diabetes130" / "diabetic_data.csv.gz").select(columns)
    genders = table.group_by("patient_nbr").agg(pl.col("gender").n_unique())
    table = table.join(genders.filter(pl.col("gender") == 1).select("patient_nbr"), on="patient_nbr", how="semi")
    table = some_persons(table, "patient_nbr")
    plan = {
        "table": {"person": "patient_nbr"},
        "columns": {
            "diagnoses": {
                "kind": "set",
                "from": ["diag_1", "diag_2", "diag_3"],
                "na": ["?"],
                "ontology": str(data_folder / "icd9cm" / "icd9cm_dx_edges.csv"),
                "unmatched": "nearest-ancestor",
            },
            "gender": {},
            "patient_nbr": {"role": "pseudonym"},
        },
        "steps": [{"method": "group-swap", "columns": ["diagnoses", "gender"], "k": 10}],
    }
    release = anonto.mask(table, plan)
    assert release.evidence["n_records"] == N_PERSONS
    assert release.evidence["steps"][0]["guarantee"]["proved"]
    codes, masked = (
        one.select("diag_1", "diag_2", "diag_3").unpivot()["value"].replace("?", None).drop_nulls().sort()
        for one in (table, release.table)
    )
    assert codes.equals(masked)
    per_patient = release.table.group_by("patient_nbr").len()["len"].sort()
    assert per_patient.equals(table.group_by("patient_nbr").len()["len"].sort())


def test_all_diagnoses_of_a_discharge_are_one_set(data_folder: Path) -> None:
    table = read(data_folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz").head(2_000)
    plan = {
        "columns": {
            "diagnoses": {
                "kind": "set",
                "from": ["principal_dx", "secondary_dx"],
                "ontology": str(data_folder / "icd9cm" / "icd9cm_dx_edges.csv"),
                "unmatched": "nearest-ancestor",
            },
            "age": {"kind": "numeric"},
            "sex": {},
        },
        "steps": [{"method": "group-swap", "columns": ["diagnoses", "age", "sex"], "k": 10}],
    }
    table = table.select("principal_dx", "secondary_dx", "age", "sex")
    release = anonto.mask(table, plan)
    assert release.table.columns == table.columns
    assert release.evidence["steps"][0]["guarantee"]["proved"]
    found = anonto.assess(table, release.table, plan)
    assert found.n_records == table.height


def test_conditions_of_omop_persons_are_sets_of_concepts(data_folder: Path) -> None:
    folder = data_folder / "omop_synthea27nj"
    conditions = read(folder / "CONDITION_OCCURRENCE.csv.gz").select("person_id", "condition_concept_id")
    persons = read(folder / "PERSON.csv.gz").select("person_id", "gender_concept_id", "year_of_birth")
    table = conditions.join(persons, on="person_id", how="left")
    plan = {
        "table": {"person": "person_id"},
        "columns": {
            "condition_concept_id": {"kind": "set"},
            "gender_concept_id": {},
            "year_of_birth": {"kind": "numeric"},
        },
        "steps": [
            {
                "method": "group-swap",
                "columns": ["condition_concept_id", "gender_concept_id", "year_of_birth"],
                "k": 5,
            }
        ],
    }
    release = anonto.mask(table, plan)
    assert release.evidence["n_records"] == table["person_id"].n_unique()
    assert release.table.height == table.height
    assert release.evidence["steps"][0]["guarantee"]["proved"]
