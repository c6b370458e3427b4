"""No output takes the place of what was read, nor of another output, whatever is forced."""

import json
from pathlib import Path

import polars as pl
import pytest

import anonto
from anonto.errors import FileError, MissingFileError
from anonto.masking.plan import Plan, plan_of

SEED = 1 << 100
PLAN = {"columns": {"age": {"kind": "numeric"}}, "steps": [{"method": "random-swap", "columns": ["age"]}]}
ONTOLOGY = "child,parent\nflu,ill\nburn,ill\nmeasles,flu\n"
WRITERS = {"t.csv": pl.DataFrame.write_csv, "t.parquet": pl.DataFrame.write_parquet, "t.xlsx": pl.DataFrame.write_excel}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def written(folder: Path, name: str = "t.csv") -> Path:
    WRITERS[name](pl.DataFrame({"age": list(range(40))}), folder / name)
    return folder / name


@pytest.mark.parametrize("name", WRITERS)
def test_a_release_is_not_saved_over_the_table_that_was_masked(name: str, tmp_path: Path) -> None:
    table = written(tmp_path, name)
    (tmp_path / f"link-{name}").symlink_to(table)
    for given, output in ((table, table), (tmp_path / f"link-{name}", table), (table, tmp_path / f"link-{name}")):
        release = anonto.mask(given, PLAN, seed=SEED)
        before = contents(tmp_path)
        with pytest.raises(FileError, match="is also an input or another output"):
            release.save(output)
        with pytest.raises(FileError, match="is also an input or another output"):
            release.save(tmp_path / "o.csv", report=output)
        with pytest.raises(FileError, match="is also an input or another output"):
            release.save_private(output)
        with pytest.raises(FileError, match="is also an input or another output"):
            release.save_report(output)
        assert contents(tmp_path) == before


def test_the_table_is_known_by_where_it_was_when_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = written(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    release = anonto.mask("t.csv", PLAN, seed=SEED)
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="is also an input or another output"):
        release.save(table)
    release.save("t.csv")
    assert sorted(contents(tmp_path)) == ["elsewhere/t.csv", "elsewhere/t.csv.private.json", "t.csv"]


def test_the_location_of_the_table_is_never_shown(tmp_path: Path) -> None:
    secret = tmp_path / "of somebody"
    secret.mkdir()
    release = anonto.mask(written(secret), PLAN, seed=SEED)
    release.save(tmp_path / "o.csv", report=tmp_path / "o.html")
    assert release.masked_rows.origin is not None
    assert release.masked_rows.origin.files == ((secret / "t.csv").resolve(),)
    told = [repr(release), repr(release.masked_rows.origin), json.dumps(release.evidence)]
    told += [(tmp_path / name).read_text() for name in ("o.csv", "o.csv.private.json", "o.html")]
    assert not any("of somebody" in one for one in told)


@pytest.mark.parametrize(
    ("private", "report"), [("x.html", "x.html"), ("o.csv", None), (False, "o.csv"), (True, "o.csv.private.json")]
)
def test_two_outputs_never_have_one_name(private: bool | str, report: str | None, tmp_path: Path) -> None:
    table = written(tmp_path)
    given = {
        "private": private if isinstance(private, bool) else tmp_path / private,
        "report": None if report is None else tmp_path / report,
    }
    with pytest.raises(FileError, match="is also an input or another output"):
        anonto.mask(table, PLAN, seed=SEED).save(tmp_path / "o.csv", **given)
    with pytest.raises(FileError, match="is also an input or another output"):
        anonto.mask_file(table, PLAN, tmp_path / "o.csv", seed=SEED, force=True, **given)
    assert sorted(contents(tmp_path)) == ["t.csv"]


# ------------------------------------------------------------------------------------------------ ontologies


@pytest.fixture
def ill(tmp_path: Path) -> Path:
    """A folder with a table, and beside its plan an ontology."""
    pl.DataFrame({"x": ["flu", "burn", "measles"] * 5}).write_csv(tmp_path / "t.csv")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "onto.csv").write_text(ONTOLOGY)
    plan = '[columns.x]\nontology = "onto.csv"\n[[steps]]\nmethod = "random-swap"\ncolumns = ["x"]\n'
    (tmp_path / "plans" / "p.toml").write_text(plan)
    return tmp_path


@pytest.mark.parametrize("memory", [None, "500MB"])
def test_an_ontology_of_the_plan_is_never_replaced(memory: str | None, ill: Path) -> None:
    before, ontology, plan = contents(ill), ill / "plans" / "onto.csv", ill / "plans" / "p.toml"
    with pytest.raises(FileError, match="is also an input or another output"):
        anonto.mask_file(ill / "t.csv", plan, ontology, memory=memory, force=True)
    with pytest.raises(FileError, match="is also an input or another output"):
        anonto.mask_file(ill / "t.csv", plan, ill / "o.csv", report=ontology, memory=memory, force=True)
    release = anonto.mask(ill / "t.csv", plan)
    with pytest.raises(FileError, match="is also an input or another output"):
        release.save(ontology)
    with pytest.raises(FileError, match="is also an input or another output"):
        release.save_report(ontology)
    with pytest.raises(FileError, match="is also an input or another output"):
        release.save_private(ontology)
    assert contents(ill) == before


def test_the_files_of_ontologies_are_found_as_they_are_opened(ill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan_of(ill / "plans" / "p.toml").ontology_files == (ill / "plans" / "onto.csv",)
    named = {"columns": {"x": {"ontology": ["illnesses", "onto.csv", "x" * 300]}, "y": {"ontology": "illnesses"}}}
    assert plan_of(named).ontology_files == ()
    monkeypatch.chdir(ill / "plans")
    assert plan_of(named).ontology_files == (Path("onto.csv"),)
    assert Plan.from_dict(named, folder=ill).ontology_files == (Path("onto.csv"),)
    (ill / "rf2" / "Terminology").mkdir(parents=True)
    (ill / "rf2" / "Terminology" / "concepts.txt").touch()
    in_folder = Plan.from_dict({"columns": {"x": {"ontology": "rf2"}}}, folder=ill)
    assert in_folder.ontology_files == (ill / "rf2" / "Terminology" / "concepts.txt",)
    taken = plan_of({"columns": {"x": {"ontology": anonto.read_ontology("illnesses")}}})
    assert taken.ontology_files == ()


# ------------------------------------------------------------------------------------------------ folders and patterns


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    for folder in ("in", "in/deep"):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder, "t.parquet").rename(tmp_path / folder / "p.parquet")
    (tmp_path / "link").symlink_to("in")
    return tmp_path


@pytest.mark.parametrize(
    ("table", "output"),
    [
        ("in", "in/m.parquet"),
        ("in", "link/m.parquet"),
        ("link", "in/../in/m.parquet"),
        ("in/*.parquet", "in/m.parquet"),
        ("in/*", "in/m.csv"),
        ("l?nk/*.parquet", "in/m.parquet"),
        ("in/[p-q]*.parquet", "in/quiet.parquet"),
        ("in/**/*.parquet", "in/deep/m.parquet"),
        ("in/**/*.parquet", "in/m.parquet"),
        ("in/**", "in/deep/m.csv"),
        ("*/p*.parquet", "in/p2.parquet"),
    ],
)
def test_a_folder_or_pattern_is_not_masked_into_itself(table: str, output: str, visits: Path) -> None:
    before = contents(visits)
    with pytest.raises(FileError, match="would be read"):
        anonto.mask_file(visits / table, PLAN, visits / output, seed=SEED, force=True)
    assert contents(visits) == before


@pytest.mark.parametrize(
    ("table", "output", "report"),
    [
        ("in", "in/m.csv", "in/m.html"),
        ("in", "in/_m.parquet", None),
        ("in", "in/deep/m.parquet", None),
        ("in", "m.parquet", None),
        ("in/p*.parquet", "in/m.parquet", None),
        ("in/*.parquet", "in/.m.parquet", None),
        ("in/**/p*.parquet", "in/deep/m.parquet", None),
    ],
)
def test_values_not_read_the_next_time_are_written(table: str, output: str, report: str | None, visits: Path) -> None:
    said = anonto.mask_file(
        visits / table, PLAN, visits / output, seed=SEED, report=None if report is None else visits / report
    ).evidence
    again = anonto.mask_file(visits / table, PLAN, visits / "again.csv", seed=SEED).evidence
    assert said["n_records"] == again["n_records"]


def test_a_pattern_without_a_folder_is_of_the_working_folder(visits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(visits / "in")
    with pytest.raises(FileError, match="would be read as part of the input"):
        anonto.mask_file("*.parquet", PLAN, "m.parquet", seed=SEED)
    with pytest.raises(FileError, match="would be read as part of the input"):
        anonto.mask_file("*", PLAN, "../m.csv", report="m.html", seed=SEED)
    anonto.mask_file("*.parquet", PLAN, "../m.parquet", seed=SEED)
    assert sorted(one.name for one in Path().iterdir()) == ["deep", "p.parquet"]


def test_a_missing_table_is_still_reported(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        anonto.mask_file(tmp_path / "none.parquet", PLAN, tmp_path / "o.parquet")
