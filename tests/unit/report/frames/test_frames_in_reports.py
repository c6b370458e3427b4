"""The frames in the reports of a real release: both editions, as a page and as data, also by the command line."""

from __future__ import annotations

import json
import re
import warnings
from html.parser import HTMLParser
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import anonto
from anonto.cli.main import app
from anonto.errors import InternalError, ParameterError, PlanError
from anonto.report.assessed import assessed_data
from anonto.report.data import from_json, to_json
from anonto.report.frames.registry import OWN, frames
from anonto.report.gate import require_passed
from anonto.report.page import assessed_html

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.assessment.assess import Assessment

NAMES = [one.name for one in OWN]
EDITIONS = ("internal", "public")
SECRET_CELLS = ("zq-north", "zq-south", "fracture", "person 17")
PLAN: dict[str, Any] = {
    "columns": {
        "full_name": {"role": "identifier"},
        "illness": {"ontology": "illnesses"},
        "age": {"kind": "numeric"},
        "zip": {},
        "stay": {"kind": "numeric", "role": "confidential"},
    },
    "steps": [{"method": "group-swap", "columns": ["illness", "age", "zip"], "k": 12}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, its plan, its release and the private record."""
    rng = np.random.default_rng(3)
    n = 300
    table = pl.DataFrame(
        {
            "full_name": [f"person {i}" for i in range(n)],
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], n).tolist(),
            "age": rng.integers(20, 80, n),
            "zip": rng.choice(["zq-north", "zq-south"], n).tolist(),
            "stay": rng.integers(1, 30, n),
        }
    )
    place = tmp_path_factory.mktemp("secret-folder")
    table.write_csv(place / "table.csv")
    (place / "plan.toml").write_text(anonto.Plan.from_dict(PLAN).to_toml({}), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anonto.AnontoWarning)
        anonto.mask(place / "table.csv", PLAN, seed=2**100).save(place / "masked.csv")
    return place


@pytest.fixture(scope="module")
def found(folder: Path) -> Assessment:
    return anonto.assess(folder / "table.csv", folder / "masked.csv", PLAN, private=folder / "masked.csv.private.json")


@pytest.fixture(scope="module")
def written(found: Assessment) -> dict[str, dict[str, Any]]:
    return {edition: assessed_data(found, edition, frames=NAMES) for edition in EDITIONS}


class Balanced(HTMLParser):
    """Checks that every element that is opened is closed, in order."""

    EMPTY = frozenset({"meta", "br", "hr", "img", "input", "link", "path", "rect", "circle", "line", "polygon"})

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in self.EMPTY:
            self.opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        """Nothing is open after it."""

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.opened.pop() == tag


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_data_fit_the_schema_and_show_no_cell_no_path_and_no_seed(
    written: dict[str, dict[str, Any]], edition: str
) -> None:
    schema = json.loads(files("anonto.report").joinpath("schema.json").read_text(encoding="utf-8"))
    text = to_json(written[edition])
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))
    assert [one["name"] for one in written[edition]["frames"]] == NAMES
    shown = json.dumps(written[edition]["frames"], ensure_ascii=False)
    assert not [secret for secret in (*SECRET_CELLS, str(2**100), "secret-folder") if secret in shown]


def test_no_number_of_a_public_frame_misses_the_gate(written: dict[str, dict[str, Any]]) -> None:
    require_passed(written["public"]["frames"])
    with pytest.raises(InternalError):
        require_passed(written["internal"]["frames"])


def test_a_public_frame_has_no_result_that_the_report_withholds(written: dict[str, dict[str, Any]]) -> None:
    data = written["public"]
    shown = {(one["attack"], tuple(one["columns"])) for one in data["attacks"]}
    results = [one for frame in data["frames"] for point in frame["statements"] for one in point["results"]]
    assert results
    assert {(one["attack"], tuple(one["columns"])) for one in results} <= shown
    digits = {number for one in results for number in re.findall(r"\d+\.\d+", one["shown"])}
    assert digits <= {number for one in data["attacks"] for number in re.findall(r"\d+\.\d+", one["shown"])}


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_page_has_a_section_for_each_frame_and_lines_to_fill_in(
    written: dict[str, dict[str, Any]], edition: str
) -> None:
    page = assessed_html(written[edition])
    parser = Balanced()
    parser.feed(page)
    assert parser.opened == []
    assert len(set(parser.ids)) == len(parser.ids)
    for frame in written[edition]["frames"]:
        assert f'<h2 id="frame-{frame["name"]}">' in page
        assert f'<a href="#frame-{frame["name"]}">' in page
    assert page.count("not legal advice") == len(NAMES)
    lines = sum(len(one["fields"]) for one in written[edition]["frames"])
    lines += page.count('class="status to-be-filled-in"')
    assert page.count('class="blank"') == lines
    assert "<script" not in page


def test_a_report_without_frames_has_no_section_for_them(found: Assessment) -> None:
    data = assessed_data(found)
    assert data["frames"] == []
    assert 'class="frame"' not in assessed_html(data)


def test_a_public_report_is_the_same_after_it_was_kept_as_json(written: dict[str, dict[str, Any]]) -> None:
    for data in written.values():
        assert assessed_html(from_json(to_json(data))) == assessed_html(data)


def test_the_release_meets_by_proof_what_its_k_allows(written: dict[str, dict[str, Any]]) -> None:
    frame = next(one for one in written["internal"]["frames"] if one["name"] == "ema-0070")
    assert frame["statements"][0]["status"] == "met"
    assert "1/12 = 0.0833" in frame["statements"][0]["says"]


def test_without_the_private_record_no_proof_is_met(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anonto.AnontoWarning)
        released = anonto.mask(folder / "table.csv", PLAN, seed=2**100).table
    given = anonto.assess(folder / "table.csv", released, PLAN)
    (frame,) = given.to_dict(frames="ema-0070")["frames"]
    assert "met" not in {one["status"] for one in frame["statements"]}
    (frame,) = given.to_dict(frames="edpb-01-2025")["frames"]
    assert frame["statements"][2]["status"] == "not measured"


def test_plain_data_have_frames_where_they_are_asked_for(found: Assessment) -> None:
    assert "frames" not in found.to_dict()
    assert [one["name"] for one in found.to_dict(frames=["wp29", "hipaa-expert"])["frames"]] == ["wp29", "hipaa-expert"]
    with pytest.raises(ParameterError, match="did you mean 'wp29'"):
        found.to_dict(frames=["wp19"])


def test_a_release_of_another_tool_has_no_frames(folder: Path) -> None:
    given = anonto.assess(folder / "table.csv", folder / "masked.csv")
    with pytest.raises(PlanError, match="frames needs the plan"):
        given.to_dict(frames=["wp29"])


def test_persons_with_several_rows_have_their_pseudonym_among_the_columns() -> None:
    n = 40
    table = pl.DataFrame({"who": [f"p{i % n}" for i in range(2 * n)], "age": [20 + i % n for i in range(2 * n)]})
    plan = {
        "table": {"person": "who"},
        "columns": {"who": {"role": "pseudonym"}, "age": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["age"], "k": 3}],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anonto.AnontoWarning)
        release = anonto.mask(table, plan, seed=2**100)
        given = anonto.assess(table, release.table, plan)
    (frame,) = given.to_dict(frames="edpb-01-2025")["frames"]
    assert "follow from no cell: who." in frame["statements"][0]["says"]
    (frame,) = given.to_dict(frames="hipaa-safe-harbor")["frames"]
    assert {"age": "found", "who": "removed"}.items() <= {
        one["name"]: one["status"] for one in frame["columns"]
    }.items()


@pytest.mark.parametrize("edition", EDITIONS)
def test_columns_that_are_recoded_as_demanded_are_generalised(tmp_path: Path, edition: str) -> None:
    n = 120
    table = pl.DataFrame(
        {
            "sex": ["f", "m", "f"] * (n // 3),
            "age": [20 + 3 * (i % 25) for i in range(n)],
            "zip": ["10001", "10101", "94110"] * (n // 3),
            "admission_date": [f"2020-0{1 + i % 9}-{1 + i % 28:02d}" for i in range(n)],
            "birth_date": [f"19{40 + i % 50}-01-{1 + i % 28:02d}" for i in range(n)],
        }
    )
    (tmp_path / "people.csv").write_text("prefix,people\n100,50000\n101,100\n941,90000\n", encoding="utf-8")
    plan = {
        "columns": {
            "sex": {},
            "age": {"kind": "numeric", "recode": {"top": 90}},
            "zip": {"recode": {"prefix": 3, "population": str(tmp_path / "people.csv"), "at_least": 20_000}},
            "admission_date": {"kind": "date", "recode": {"to": "year"}},
            "birth_date": {"kind": "date", "recode": {"to": "month"}},
        },
        "steps": [{"method": "group-swap", "columns": ["sex", "age"], "k": 3}],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anonto.AnontoWarning)
        anonto.mask(table, plan, seed=2**100).save(tmp_path / "masked.csv")
        given = anonto.assess(table, tmp_path / "masked.csv", plan, private=tmp_path / "masked.csv.private.json")
    (frame,) = assessed_data(given, edition, frames="hipaa-safe-harbor")["frames"]
    assert {one["name"]: one["status"] for one in frame["columns"]} == {
        "sex": "not checkable",
        "age": "generalised",
        "zip": "generalised",
        "admission_date": "generalised",
        "birth_date": "found",
    }
    assert {one["name"]: one["fate"] for one in frame["columns"]}["birth_date"] == "recoded"


# ------------------------------------------------------------------------------------------------ the command line


def invoke(folder: Path, *more: str) -> Any:
    files_of = [str(folder / name) for name in ("table.csv", "masked.csv")]
    given = ["--plan", str(folder / "plan.toml"), "--private", str(folder / "masked.csv.private.json")]
    return CliRunner().invoke(app, ["assess", *files_of, *given, *more])


def test_the_command_writes_and_prints_the_frames(folder: Path, tmp_path: Path) -> None:
    asked = ["--frame", "hipaa-safe-harbor,wp29", "--frame", "wp29"]
    done = invoke(folder, *asked, "--report", str(tmp_path / "report.html"), "--report-json", str(tmp_path / "r.json"))
    assert done.exit_code == 0, done.output
    assert "Singling out" in done.stdout
    assert "not legal advice" in done.stdout
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in data["frames"]] == ["hipaa-safe-harbor", "wp29"]
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count('class="frame"') == 2


def test_the_command_refuses_unknown_frames_before_it_attacks(folder: Path, tmp_path: Path) -> None:
    done = invoke(folder, "--frame", "wp92", "--report", str(tmp_path / "report.html"))
    assert isinstance(done.exception, ParameterError)
    assert "did you mean 'wp29'" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_the_command_names_every_frame(name: str) -> None:
    shown = CliRunner().invoke(app, ["assess", "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).stdout
    assert name in shown


@pytest.mark.parametrize("command", ["sweep", "init"])
def test_the_help_names_every_threshold(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).stdout
    assert all(name in shown for name, one in frames().items() if one.max_risk is not None)


def test_a_sweep_takes_a_threshold_by_its_name(folder: Path) -> None:
    table = str(folder / "table.csv")
    refused = CliRunner().invoke(app, ["sweep", table, "--plan", str(folder / "plan.toml"), "--max-risk", "ema-70"])
    assert "or one of ema-0070, health-canada (did you mean 'ema-0070'?)" in str(refused.exception)
    grid = [{"method": "group-swap", "columns": ["illness", "age", "zip"], "k": 12}]
    swept = anonto.sweep(folder / "table.csv", PLAN, grid, max_risk="ema-0070", seeds=1, workers=1)
    assert swept.max_risk == 0.09
    assert swept.best("health-canada").max_risk == 0.09
