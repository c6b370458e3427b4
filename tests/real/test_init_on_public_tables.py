"""The plans of `anonto init` for public tables, against the role that each column should have.

The roles below were written by hand, from what the publishers say of the columns. A column is identifying if its role
is identifier, weight or quasi-identifier: none of these may be released unmasked.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto
from anonto.profile.propose import Proposal, propose

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = 1_000
IDENTIFYING = ("identifier", "weight", "quasi-identifier")
RIGHT = {
    "identifier": {"identifier"},
    "weight": {"identifier"},
    "quasi-identifier": {"quasi-identifier"},
    "confidential": {"confidential"},
    "either": {"quasi-identifier", "confidential"},
}
LEAST_SHARE_RIGHT = 0.93


@dataclass(frozen=True)
class Expected:
    """The right roles of the columns of a table; columns of one value or none are not listed."""

    identifier: str = ""
    weight: str = ""
    quasi_identifier: str = ""
    confidential: str = ""
    either: str = ""
    """Masked or not, as the release needs it: others hardly know them."""

    @property
    def roles(self) -> dict[str, str]:
        kinds = {"quasi-identifier": self.quasi_identifier} | {
            kind: getattr(self, kind) for kind in ("identifier", "weight", "confidential", "either")
        }
        return {name: kind for kind, names in kinds.items() for name in names.split()}


DRUGS = """metformin repaglinide nateglinide chlorpropamide glimepiride acetohexamide glipizide glyburide tolbutamide
pioglitazone rosiglitazone acarbose miglitol troglitazone tolazamide insulin glyburide-metformin glipizide-metformin
glimepiride-pioglitazone metformin-rosiglitazone metformin-pioglitazone"""

EXPECTED = {
    "nhds2010/nhds2010_oshpdlike_dev20k.csv.gz": Expected(
        identifier="record_id",
        quasi_identifier="sex race marital_status age region payer_primary drg principal_dx secondary_dx "
        "principal_procedure adm_type dc_status",
        either="length_of_stay",
    ),
    "meps2005/persons.csv.gz": Expected(
        identifier="household person",
        quasi_identifier="birth_month birth_year sex race hispanic education_years marital_status",
        confidential="income",
        either="poverty_level",
    ),
    "meps2005/conditions.csv.gz": Expected(identifier="household person", quasi_identifier="icd9"),
    "omop_synthea27nj/PERSON.csv.gz": Expected(
        identifier="person_id person_source_value",
        quasi_identifier="gender_concept_id year_of_birth month_of_birth day_of_birth birth_datetime race_concept_id "
        "ethnicity_concept_id gender_source_value race_source_value ethnicity_source_value",
    ),
    "omop_synthea27nj/CONDITION_OCCURRENCE.csv.gz": Expected(
        identifier="condition_occurrence_id person_id provider_id visit_occurrence_id visit_detail_id",
        quasi_identifier="condition_concept_id condition_start_date condition_start_datetime condition_end_date "
        "condition_end_datetime condition_source_value condition_source_concept_id",
    ),
    "omop_synthea27nj/PROCEDURE_OCCURRENCE.csv.gz": Expected(
        identifier="procedure_occurrence_id person_id provider_id visit_occurrence_id visit_detail_id",
        quasi_identifier="procedure_concept_id procedure_date procedure_datetime procedure_end_date "
        "procedure_end_datetime procedure_source_value procedure_source_concept_id",
    ),
    "omop_synthea27nj/VISIT_OCCURRENCE.csv.gz": Expected(
        identifier="visit_occurrence_id person_id provider_id visit_source_value preceding_visit_occurrence_id",
        quasi_identifier="visit_concept_id visit_start_date visit_start_datetime visit_end_date visit_end_datetime",
    ),
    "fhir_synthea10/Patient.ndjson.gz": Expected(
        identifier="id identifier.2.value name.0.family name.0.given.0 telecom.0.value address.0.line.0 "
        "address.0.latitude address.0.longitude mothersMaidenName",
        quasi_identifier="name.0.prefix.0 gender birthDate deceasedDateTime address.0.city address.0.postalCode "
        "maritalStatus.text extension.race extension.ethnicity birthPlace.city",
        either="communication.0.language.text",
    ),
    "fhir_synthea10/Condition.ndjson.gz": Expected(
        identifier="id subject.reference encounter.reference",
        quasi_identifier="code.coding.0.code code.text onsetDateTime abatementDateTime recordedDate",
        either="clinicalStatus.coding.0.code category.0.coding.0.code",
    ),
    "fhir_synthea10/Encounter.ndjson.gz": Expected(
        identifier="id subject.reference subject.display participant.0.individual.reference "
        "participant.0.individual.display serviceProvider.reference serviceProvider.display location.reference",
        quasi_identifier="class.code type.0.coding.0.code type.0.text period.start period.end location.display",
    ),
    "sdc_benchmarks/CASCrefmicrodata.csv": Expected(
        weight="AFNLWGT",
        confidential="AGI EMCONTRB FEDTAX PTOTVAL STATETAX TAXINC POTHVAL INTVAL PEARNVAL FICA WSALVAL ERNVAL",
    ),
    "sdc_benchmarks/Tarragona.csv": Expected(
        confidential="FIXED.ASSETS CURRENT.ASSETS TREASURY UNCOMMITTED.FUNDS PAID.UP.CAPITAL SHORT.TERM.DEBT SALES "
        "LABOR.COSTS DEPRECIATION OPERATING.PROFIT FINANCIAL.OUTCOME GROSS.PROFIT NET.PROFIT"
    ),
    "sdc_benchmarks/testdata.csv": Expected(
        identifier="ori_hid",
        weight="sampling_weight household_weights",
        quasi_identifier="urbrur roof walls water electcon relat sex age hhcivil",
        confidential="expend income savings",
    ),
    "sdc_benchmarks/francdat.csv": Expected(
        weight="w", quasi_identifier="Key1 Key2 Key3 Key4", either="Num1 Num2 Num3"
    ),
    "sdc_benchmarks/microData.csv": Expected(either="one two three four five"),
    "uci_adult/adult.csv.gz": Expected(
        weight="fnlwgt",
        quasi_identifier="age workclass education education-num marital-status occupation relationship race sex "
        "native-country hours-per-week",
        confidential="capital-gain capital-loss salary-class",
    ),
    "uci_diabetes130/diabetic_data.csv.gz": Expected(
        identifier="encounter_id patient_nbr",
        quasi_identifier="race gender age weight admission_type_id discharge_disposition_id admission_source_id "
        "time_in_hospital payer_code medical_specialty diag_1 diag_2 diag_3",
        confidential="readmitted",
        either="num_lab_procedures num_procedures num_medications number_outpatient number_emergency number_inpatient "
        f"number_diagnoses max_glu_serum A1Cresult change diabetesMed {DRUGS}",
    ),
    "uci_abalone/abalone.csv": Expected(
        either="sex length diameter height whole_weight shucked_weight viscera_weight shell_weight rings"
    ),
    "uci_magic/magic04.csv.gz": Expected(
        either="fLength fWidth fSize fConc fConc1 fAsym fM3long fM3Trans fAlpha fDist class"
    ),
}

# ------------------------------------------------------------------------------------------------ tables

FHIR_EXTENSIONS = {
    "extension.race": ("extension", 0, "extension", 1, "valueString"),
    "extension.ethnicity": ("extension", 1, "extension", 1, "valueString"),
    "mothersMaidenName": ("extension", 2, "valueString"),
    "birthPlace.city": ("extension", 4, "valueAddress", "city"),
    "address.0.latitude": ("address", 0, "extension", 0, "extension", 0, "valueDecimal"),
    "address.0.longitude": ("address", 0, "extension", 0, "extension", 1, "valueDecimal"),
    "location.reference": ("location", 0, "location", "reference"),
    "location.display": ("location", 0, "location", "display"),
}


def at(resource: Any, path: tuple[str | int, ...]) -> str | None:
    """The content at a place of a FHIR resource."""
    for part in path:
        try:
            resource = resource[part]
        except (KeyError, IndexError, TypeError):
            return None
    return str(resource)


def table_of(folder: Path, name: str, n_records: int | None = None) -> pl.DataFrame:
    """A table of the folder as text; a FHIR resource as a table with a column for each place."""
    if "ndjson" not in name:
        return pl.read_csv(folder / name, infer_schema=False, n_rows=n_records)
    with gzip.open(folder / name, "rt", encoding="utf-8") as lines:
        resources = [json.loads(line) for line in lines][:n_records]
    paths = {
        column: FHIR_EXTENSIONS.get(column) or tuple(int(p) if p.isdigit() else p for p in column.split("."))
        for column in EXPECTED[name].roles
    }
    return pl.DataFrame(
        {column: pl.Series([at(one, path) for one in resources], dtype=pl.String) for column, path in paths.items()}
    )


@pytest.fixture(scope="module")
def proposals(data_folder: Path) -> dict[str, Proposal]:
    return {name: propose(table_of(data_folder, name)) for name in EXPECTED}


def wrong(proposal: Proposal, expected: Expected) -> dict[str, str]:
    columns = proposal.plan.columns
    return {name: columns[name].role for name, kind in expected.roles.items() if columns[name].role not in RIGHT[kind]}


# ------------------------------------------------------------------------------------------------ what is expected


def test_every_column_that_has_two_values_is_judged(data_folder: Path) -> None:
    for name, expected in EXPECTED.items():
        table = table_of(data_folder, name)
        alike = {column for column in table.columns if table[column].drop_nulls().n_unique() < 2}
        assert set(table.columns) - alike <= set(expected.roles), name
        assert set(expected.roles) <= set(table.columns), name


@pytest.mark.parametrize("name", EXPECTED)
def test_no_identifying_column_is_released_as_it_is(name: str, proposals: dict[str, Proposal]) -> None:
    columns = proposals[name].plan.columns
    identifying = {column for column, kind in EXPECTED[name].roles.items() if kind in IDENTIFYING}
    assert identifying <= {column for column, one in columns.items() if one.role in {"identifier", "quasi-identifier"}}
    numbers = {column for column, kind in EXPECTED[name].roles.items() if kind in {"identifier", "weight"}}
    assert numbers <= {column for column, one in columns.items() if one.role == "identifier"}
    assert all(one.role != "other" for one in columns.values())


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_kept_without_a_word_that_says_so_is_to_be_reviewed(name: str, proposals: dict[str, Proposal]) -> None:
    columns = proposals[name].plan.columns
    for column, kind in EXPECTED[name].roles.items():
        if kind in {"weight", "either"} and columns[column].role in {"identifier", "confidential"}:
            assert columns[column].review or "its name has the word" in " ".join(proposals[name].reasons[column])


@pytest.mark.parametrize("name", EXPECTED)
def test_only_amounts_by_word_and_by_values_leave_as_they_are_without_a_review(
    name: str, proposals: dict[str, Proposal]
) -> None:
    columns = proposals[name].plan.columns
    for column, one in columns.items():
        if one.role == "confidential" and not one.review:
            assert one.kind == "numeric", column
            assert "its name has the word" in " ".join(proposals[name].reasons[column])


def test_almost_all_columns_have_the_right_role(proposals: dict[str, Proposal]) -> None:
    faults = {name: wrong(proposals[name], expected) for name, expected in EXPECTED.items()}
    n_wrong = sum(map(len, faults.values()))
    n_columns = sum(len(expected.roles) for expected in EXPECTED.values())
    assert 1 - n_wrong / n_columns >= LEAST_SHARE_RIGHT, {name: found for name, found in faults.items() if found}


PERSONS = {
    "meps2005/conditions.csv.gz": ("person", 26_854, {"icd9"}),
    "omop_synthea27nj/CONDITION_OCCURRENCE.csv.gz": ("person_id", 26, {"condition_concept_id"}),
    "omop_synthea27nj/PROCEDURE_OCCURRENCE.csv.gz": ("person_id", 28, {"procedure_concept_id"}),
    "omop_synthea27nj/VISIT_OCCURRENCE.csv.gz": ("person_id", 28, {"visit_concept_id"}),
    "fhir_synthea10/Condition.ndjson.gz": ("subject.reference", 13, {"code.coding.0.code"}),
    "fhir_synthea10/Encounter.ndjson.gz": ("subject.reference", 13, {"class.code"}),
    "uci_diabetes130/diabetic_data.csv.gz": ("patient_nbr", 71_518, {"diag_1", "age"}),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_persons_with_several_rows_are_noticed_where_there_are_some(name: str, proposals: dict[str, Proposal]) -> None:
    found = proposals[name].person
    if name not in PERSONS:
        assert found is None
        return
    column, n_persons, varying = PERSONS[name]
    assert found is not None
    assert (found.name, found.n_persons) == (column, n_persons)
    assert varying <= set(found.varying)


# ------------------------------------------------------------------------------------------------ and then masked


@pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
@pytest.mark.parametrize("name", EXPECTED)
def test_the_plan_is_accepted_unedited_and_masks_what_identifies(name: str, data_folder: Path, tmp_path: Path) -> None:
    table = table_of(data_folder, name, SAMPLE)
    proposal = propose(table)
    written = tmp_path / "plan.toml"
    written.write_text(proposal.to_toml(), encoding="utf-8")
    release = anonto.mask(table, written)
    roles = EXPECTED[name].roles
    as_is = set(release.evidence["released_as_is"])
    assert as_is == {column for column, one in proposal.plan.columns.items() if one.role == "confidential"}
    assert not {column for column in as_is if roles.get(column) in IDENTIFYING}
    assert not {column for column in release.table.columns if roles.get(column) in {"identifier", "weight"}}
    for step in release.evidence["steps"]:
        assert set(step["columns"]) == set(release.table.columns) - as_is
        assert "leaves out" not in step["guarantee"]["conditions"]


@pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")
def test_the_usual_keys_of_a_survey_link_hardly_anybody(data_folder: Path) -> None:
    name = "meps2005/persons.csv.gz"
    keys = ["birth_month", "birth_year", "sex", "race", "education_years", "marital_status"]
    table = table_of(data_folder, name, SAMPLE)
    release = anonto.mask(table, propose(table).plan, seed=314159265358979323846264338327950288419)
    before = table.select(pl.concat_str(keys, separator="|", ignore_nulls=True)).to_series()
    after = release.table.select(pl.concat_str(keys, separator="|", ignore_nulls=True)).to_series()
    assert before.is_unique().mean() > 0.5  # type: ignore[operator]
    assert ((before == after) & before.is_unique()).mean() < 0.02  # type: ignore[operator]
