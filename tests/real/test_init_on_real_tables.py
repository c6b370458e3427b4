import time
from pathlib import Path

import polars as pl
import pytest

import anonto
from anonto.profile.profile import profile
from anonto.profile.propose import Proposal, propose

ADULT_HIERARCHIES = [
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "race",
    "sex",
    "native-country",
    "salary-class",
]
SAMPLE = 5_000
"""Records that are masked, so that forty columns take seconds."""


@pytest.fixture(scope="module")
def nhds(data_folder: Path) -> Proposal:
    table = data_folder / "nhds2010" / "nhds2010_oshpdlike_dev20k.csv.gz"
    return propose(table, folders=[data_folder / "icd9cm"])


@pytest.fixture(scope="module")
def adult(data_folder: Path) -> Proposal:
    table = data_folder / "uci_adult" / "adult.csv.gz"
    return propose(table, folders=[data_folder / "uci_adult" / "arx"], plan_folder=data_folder)


@pytest.fixture(scope="module")
def diabetes(data_folder: Path) -> Proposal:
    table = data_folder / "uci_diabetes130" / "diabetic_data.csv.gz"
    return propose(table, ontologies=[data_folder / "icd9cm" / "icd9cm_dx_edges.csv"])


def ontology_names(proposal: Proposal) -> dict[str, str]:
    columns = proposal.plan.columns
    return {name: Path(str(one.ontology)).name for name, one in columns.items() if one.ontology is not None}


def test_diagnoses_and_procedures_of_discharges_are_distinguished(nhds: Proposal) -> None:
    assert ontology_names(nhds) == {
        "principal_dx": "icd9cm_dx_edges.csv",
        "secondary_dx": "icd9cm_dx_edges.csv",
        "principal_procedure": "icd9cm_pr_edges.csv",
    }
    columns = nhds.plan.columns
    assert columns["record_id"].role == "identifier"
    assert {name for name, one in columns.items() if one.kind == "numeric"} == {"age", "length_of_stay"}


def test_each_hierarchy_of_adult_finds_its_column(adult: Proposal) -> None:
    assert ontology_names(adult) == {name: f"adult_hierarchy_{name}.csv" for name in ADULT_HIERARCHIES}
    columns = adult.plan.columns
    assert columns["sex"].ontology == "uci_adult/arx/adult_hierarchy_sex.csv"
    assert [name for name, one in columns.items() if one.na == ("?",)] == ["workclass", "occupation", "native-country"]
    assert any("adult_hierarchy_age.csv" in reason for reason in adult.reasons["age"])
    assert columns["age"].kind == "numeric"


def test_codes_bands_and_missing_of_the_diabetes_data_are_found(diabetes: Proposal) -> None:
    assert set(ontology_names(diabetes)) == {"diag_1", "diag_2", "diag_3"}
    assert diabetes.reasons["diag_1"][-1] == (
        "ontology: 716 of 716 distinct values are codes of icd9cm_dx_edges.csv, 37 after restoring zeros"
    )
    columns = diabetes.plan.columns
    assert columns["age"].kind == "ordinal"
    assert columns["age"].order[0] == "[0-10)"
    assert columns["weight"].order[-1] == ">200"
    assert columns["admission_type_id"].kind == "nominal"
    assert [name for name, one in columns.items() if one.role == "identifier"] == ["encounter_id", "patient_nbr"]
    assert "examide" in diabetes.plan.masked


@pytest.mark.filterwarnings(
    "ignore:Nobody has confirmed:anonto.errors.AnontoWarning",
    "ignore:.*are released unchanged:anonto.errors.AnontoWarning",
)
@pytest.mark.parametrize(
    ("fixture", "table"),
    [
        ("nhds", "nhds2010/nhds2010_oshpdlike_dev20k.csv.gz"),
        ("adult", "uci_adult/adult.csv.gz"),
        ("diabetes", "uci_diabetes130/diabetic_data.csv.gz"),
    ],
)
def test_the_proposal_is_accepted_unedited(
    fixture: str, table: str, data_folder: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    proposal: Proposal = request.getfixturevalue(fixture)
    whole = pl.read_csv(data_folder / table, infer_schema=False)
    sample = whole.gather_every(whole.height // SAMPLE).head(SAMPLE)
    release = anonto.mask(sample, proposal.plan)
    assert set(release.masked) == set(proposal.plan.masked)
    if proposal.plan.folder is None:
        written = tmp_path / "plan.toml"
        written.write_text(proposal.to_toml(), encoding="utf-8")
        assert anonto.mask(sample, written).evidence["n_records"] == SAMPLE


@pytest.mark.filterwarnings(
    "ignore:The plan has no step:anonto.errors.ReleasedAsIsWarning",
    "ignore:Nobody has confirmed:anonto.errors.AnontoWarning",
    "ignore:.*are released unchanged:anonto.errors.AnontoWarning",
)
@pytest.mark.parametrize(
    "table",
    [
        "sdc_benchmarks/CASCrefmicrodata.csv",
        "sdc_benchmarks/Tarragona.csv",
        "sdc_benchmarks/francdat.csv",
        "sdc_benchmarks/microData.csv",
        "sdc_benchmarks/testdata.csv",
        "uci_abalone/abalone.csv",
        "uci_magic/magic04.csv.gz",
    ],
)
def test_other_real_tables_get_an_accepted_proposal_without_an_ontology(table: str, data_folder: Path) -> None:
    proposal = propose(data_folder / table, folders=[data_folder / "ontologies"])
    assert ontology_names(proposal) == {}
    anonto.mask(data_folder / table, proposal.plan)


def test_fifty_columns_of_a_hundred_thousand_records_take_seconds(data_folder: Path) -> None:
    table = data_folder / "uci_diabetes130" / "diabetic_data.csv.gz"
    ontology = data_folder / "icd9cm" / "icd9cm_dx_edges.csv"
    start = time.perf_counter()
    plan = propose(table, ontologies=[ontology]).plan
    proposed = time.perf_counter()
    found = profile(table, plan)
    assert proposed - start < 20
    assert time.perf_counter() - proposed < 60
    assert found["combinations"][0]["share"] > 0.5
    assert next(one for one in found["columns"] if one["name"] == "diag_1")["ontologies"][0]["coverage"]["cells"] == 1.0
