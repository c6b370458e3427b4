import tempfile
import tomllib
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anonto
from anonto.encoding.description import ColumnDescription
from anonto.encoding.recode import Recode
from anonto.errors import AnontoWarning, FileError, MissingFileError
from anonto.masking.plan import Plan
from anonto.profile.propose import Proposal, propose

LEVELS = "flu;infection;*\nmeasles;infection;*\nburn;injury;*\nfracture;injury;*\n"
N = 60


@pytest.fixture
def frame() -> pl.DataFrame:
    illnesses = ["flu", "measles", "burn", "fracture", "?"]
    return pl.DataFrame(
        {
            "record_id": [f"r{n:04d}" for n in range(N)],
            "age": [str(20 + n % 30) for n in range(N)],
            "sex": ["f" if n % 2 else "m" for n in range(N)],
            "illness": [illnesses[n % 5] for n in range(N)],
            "pain level": [["low", "medium", "high"][n % 3] for n in range(N)],
            "age band": [["0-9", "10-19", "20+"][n % 3] for n in range(N)],
            "charge": [f"{n * 7.5}" for n in range(N)],
            "country": ["Spain"] * N,
            "empty": [None] * N,
        },
        schema_overrides={"empty": pl.String},
    )


@pytest.fixture
def table(tmp_path: Path, frame: pl.DataFrame) -> Path:
    path = tmp_path / "table.csv"
    frame.write_csv(path)
    return path


def accepted(table: object, proposal: Proposal) -> anonto.Release:
    """The release, with no warning but the one that asks for a review where a released column needs it."""
    return masked(table, proposal.plan, proposal.plan)


def masked(table: object, plan: Plan | Path, proposed: Plan) -> anonto.Release:
    if not proposed.unreviewed_columns(proposed.columns):
        return anonto.mask(table, plan)
    with pytest.warns(AnontoWarning, match="Nobody has confirmed") as told:
        release = anonto.mask(table, plan)
    assert len(told) == 1
    return release


def test_a_proposal_describes_each_column(table: Path) -> None:
    (table.parent / "levels.csv").write_text(LEVELS)
    columns = propose(table).plan.columns
    assert {name: (one.kind, one.role) for name, one in columns.items()} == {
        "record_id": ("nominal", "identifier"),
        "age": ("numeric", "quasi-identifier"),
        "sex": ("nominal", "quasi-identifier"),
        "illness": ("nominal", "quasi-identifier"),
        "pain level": ("ordinal", "quasi-identifier"),
        "age band": ("ordinal", "quasi-identifier"),
        "charge": ("numeric", "confidential"),
        "country": ("nominal", "quasi-identifier"),
        "empty": ("nominal", "identifier"),
    }
    assert [name for name, one in columns.items() if one.review] == ["record_id", "pain level"]
    assert columns["illness"].na == ("?",)
    assert columns["age band"].order == ("0-9", "10-19", "20+")


def test_steps_mask_every_quasi_identifier_once_and_nothing_else(table: Path) -> None:
    steps = propose(table).plan.to_dict()["steps"]
    assert steps == [
        {
            "method": "group-swap",
            "columns": ["age", "sex", "illness", "pain level", "age band", "country"],
            "k": 10,
            "move": "apart",
            "refine": True,
        },
    ]


def test_a_proposal_is_accepted_unedited_with_the_one_warning_that_asks_for_a_review(table: Path) -> None:
    (table.parent / "levels.csv").write_text(LEVELS)
    release = accepted(table, propose(table))
    assert release.table.height == N
    assert "record_id" not in release.table.columns
    assert set(release.evidence["released_as_is"]) == {"charge"}
    assert not release.evidence["steps"][0]["guarantee"]["proved"]
    assert not {"record_id", "empty"} & set(release.table.columns)


def test_the_written_plan_reads_back_as_the_same_plan(table: Path) -> None:
    (table.parent / "levels.csv").write_text(LEVELS)
    proposal = propose(table, plan_folder=table.parent)
    written = table.parent / "plan.toml"
    written.write_text(proposal.to_toml(), encoding="utf-8")
    assert Plan.from_toml(written) == proposal.plan
    assert masked(table, written, proposal.plan).evidence["n_records"] == N


def test_reasons_are_above_their_column_and_show_no_cell(table: Path) -> None:
    (table.parent / "levels.csv").write_text(LEVELS)
    proposal = propose(table)
    text = proposal.to_toml()
    assert "# ontology: 4 of 4 distinct values are codes of levels.csv\n[columns.illness]" in text
    comments = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    for cell in ("flu", "measles", "Spain", "r0001", "medium"):
        assert cell not in comments
    assert tomllib.loads(text)["columns"]["illness"]["na"] == ["?"]


def test_paths_are_relative_to_the_plan_if_the_file_lies_there_or_below(table: Path, tmp_path: Path) -> None:
    deeper = tmp_path / "deeper" / "still"
    deeper.mkdir(parents=True)
    (deeper / "levels.csv").write_text(LEVELS)

    def written(plan_folder: Path | None) -> object:
        return propose(table, folders=[deeper], plan_folder=plan_folder).plan.columns["illness"].ontology

    assert written(tmp_path) == "deeper/still/levels.csv"
    assert written(deeper) == "levels.csv"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert written(elsewhere) == str(deeper / "levels.csv")
    assert written(None) == str(deeper / "levels.csv")


def test_a_relative_ontology_is_found_from_the_folder_of_the_plan(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("sub/levels.csv").write_text(LEVELS)
    proposal = propose("table.csv", ontologies=["sub/levels.csv"], plan_folder="sub")
    assert proposal.plan.columns["illness"].ontology == "levels.csv"
    monkeypatch.chdir("/")
    accepted(table, proposal)


def test_listed_names_and_taxonomies_can_be_given(frame: pl.DataFrame) -> None:
    by_name = propose(frame, ontologies=["illnesses"]).plan.columns["illness"]
    assert by_name.ontology == "illnesses"
    tax = anonto.read_ontology("illnesses")
    proposal = propose(frame, ontologies=[tax])
    assert proposal.plan.columns["illness"].ontology is tax
    accepted(frame, proposal)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_frames_of_every_library_get_the_same_plan(frame: pl.DataFrame, kind: str) -> None:
    rows = frame.to_dicts()
    table = {"polars": frame, "pandas": pd.DataFrame(rows), "pyarrow": pa.Table.from_pylist(rows)}[kind]
    proposal = propose(table)
    assert proposal.plan == propose(frame).plan
    accepted(table, proposal)


def test_numbers_stay_numeric_despite_a_hierarchy_of_them_which_is_named(table: Path) -> None:
    levels = "".join(f"{n};{n // 10 * 10}s;*\n" for n in range(20, 50))
    (table.parent / "hierarchy_age.csv").write_text(levels)
    proposal = propose(table)
    assert proposal.plan.columns["age"] == ColumnDescription(kind="numeric", recode=Recode(top=90))
    assert any("hierarchy_age.csv" in reason for reason in proposal.reasons["age"])


@pytest.mark.filterwarnings(
    "ignore:The plan has no step:anonto.errors.ReleasedAsIsWarning",
    "ignore:.*the release has column names only:anonto.errors.AnontoWarning",
)
def test_tables_of_few_or_no_records_get_a_plan_too() -> None:
    for n in (0, 1, 2, 5):
        rows = {"sex": ["f", "m", "f", "m", "f"][:n], "age": ["1", "2", "3", "4", "5"][:n]}
        frame = pl.DataFrame(rows, schema={"sex": pl.String, "age": pl.String})
        assert accepted(frame, propose(frame)).table.height == n


def test_columns_of_a_table_without_records_are_recognised_by_their_names() -> None:
    roles = {
        "patient_id": "identifier",
        "patient": "identifier",
        "visit_no": "identifier",
        "email": "identifier",
        "department_id": "quasi-identifier",
        "sex": "quasi-identifier",
        "age": "quasi-identifier",
        "age_group": "quasi-identifier",
        "diagnosis": "quasi-identifier",
        "income": "quasi-identifier",
        "remark": "free-text",
        "colour": "quasi-identifier",
    }
    frame = pl.DataFrame(schema=dict.fromkeys(roles, pl.String))
    proposal = propose(frame, ontologies=["illnesses"])
    columns = proposal.plan.columns
    assert {name: one.role for name, one in columns.items()} == roles
    assert [name for name, one in columns.items() if one.kind == "numeric"] == ["age", "income"]
    assert not any(one.ontologies for one in columns.values())
    assert "quasi-identifier: its name has the word 'sex'" in proposal.reasons["sex"]
    assert "nominal: there are no records to infer its kind from" in proposal.reasons["sex"]
    (step,) = proposal.plan.to_dict()["steps"]
    assert (step["method"], step["k"]) == ("group-swap", 10)


def test_a_column_without_values_is_dropped_and_one_of_a_single_value_is_in_the_step() -> None:
    frame = pl.DataFrame({"sex": [None] * 4, "age": ["1", "1", "1", "1"], "size": ["a", "b", "a", "b"]})
    proposal = propose(frame)
    assert [one.role for one in proposal.plan.columns.values()] == [
        "identifier",
        "quasi-identifier",
        "quasi-identifier",
    ]
    assert proposal.plan.masked == ("age", "size")
    assert accepted(frame, proposal).table.columns == ["age", "size"]


def test_the_plan_asks_to_confirm_the_role_of_an_unknown_column() -> None:
    frame = pl.DataFrame({"sex": ["f", "m"] * 30, "x7": ["a", "b", "c"] * 20, "x8": [f"{n * 7.25}" for n in range(60)]})
    proposal = propose(frame)
    assert proposal.to_review == ("x7", "x8")
    assert {name: one.role for name, one in proposal.plan.columns.items()} == {
        "sex": "quasi-identifier",
        "x7": "quasi-identifier",
        "x8": "confidential",
    }
    text = proposal.to_toml()
    assert tomllib.loads(text)["columns"]["x7"]["review"] is True
    assert "review" not in tomllib.loads(text)["columns"]["sex"]
    heading = text.partition("[columns.")[0]
    assert "delete `review = true`" in heading


def test_a_path_that_is_not_a_folder_is_refused(frame: pl.DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    file.write_text("x")
    with pytest.raises(FileError, match="name a folder that contains"):
        propose(frame, folders=[file])
    with pytest.raises(MissingFileError):
        propose(frame, folders=[tmp_path / "nowhere"])


def test_a_column_of_recognised_codes_is_masked_whatever_its_name() -> None:
    codes = ["flu", "measles", "burn", "fracture"] * 10
    proposal = propose(pl.DataFrame({"x7": codes}), ontologies=["illnesses"])
    assert proposal.plan.columns["x7"].role == "quasi-identifier"
    assert not proposal.plan.columns["x7"].review
    assert any("codes of an ontology" in reason for reason in proposal.reasons["x7"])
    assert not any("its name suggests nothing" in reason for reason in proposal.reasons["x7"])


def test_codes_that_mostly_differ_are_masked_if_an_ontology_has_them() -> None:
    levels = "".join(f"c{n};group {n // 10};*\n" for n in range(60))
    frame = pl.DataFrame({"x7": [f"c{n % 50}" for n in range(60)]})
    assert propose(frame).plan.columns["x7"].role == "identifier"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "levels.csv").write_text(levels)
        known = propose(frame, folders=[folder]).plan.columns["x7"]
    assert (known.role, known.review) == ("quasi-identifier", False)


@pytest.mark.parametrize(
    ("n", "method", "k"), [(3, "random-swap", None), (4, "group-swap", 2), (500, "group-swap", 10)]
)
def test_groups_are_proposed_as_large_as_the_table_allows(n: int, method: str, k: int | None) -> None:
    codes = (["flu", "measles", "burn", "fracture"] * n)[:n]
    (step,) = propose(pl.DataFrame({"diagnosis": codes}), ontologies=["illnesses"]).plan.to_dict()["steps"]
    assert (step["method"], step.get("k")) == (method, k)


def test_columns_of_names_are_identifiers_whatever_their_header() -> None:
    names = ["Müller, Jürgen", "Anna Weiß", "Eva Maria Braun", "Otto Groß", "Ida Klein", "Max Roth"]
    columns = propose(pl.DataFrame({"Versicherter": names, "Patient": names[::-1]})).plan.columns
    assert {one.role for one in columns.values()} == {"identifier"}
