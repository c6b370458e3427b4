"""Sentences and numbers of the pages, without a browser: how work ended, what is refused and where it is set."""

from __future__ import annotations

import copy
import io
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from anonto.encoding.refusals import missing_cells, unmatched_values
from anonto.errors import AnontoWarning, ParameterError
from anonto.methods.refusals import not_close, not_close_in_blocks, too_few_for_groups
from anonto.methods.registry import METHODS
from anonto.methods.schema import describe_method
from anonto.web import run, words
from anonto.web.files import further_files, name_of_further
from anonto.web.jobs import BackgroundJob
from anonto.web.pages.parameters import value_of
from anonto.web.pages.result import secret_row
from anonto.web.pages.run import ending_of
from anonto.web.pages.take_away import _code, _commands
from anonto.web.tasks import TASKS
from anonto.web.worker import _do
from web.stand_ins import PLAN

if TYPE_CHECKING:
    from anonto.web.session import Session


def told(progress: dict[str, Any]) -> None:
    del progress


# ------------------------------------------------------------------------------------------------ how work ended


def draft(name: str = "x.csv", sha256: str = "x", k: int = 5) -> dict[str, Any]:
    plan = copy.deepcopy(PLAN)
    plan["steps"][0]["k"] = k  # type: ignore[index]
    return {"table": {"name": name, "sha256": sha256}, "plan": plan, "repairs": {}, "reasons": {}, "ontologies": {}}


def ended(state: str, message: str = "", kind: str = "run") -> BackgroundJob:
    job = BackgroundJob(kind, {"masking": 1.0}, draft(), 3 if kind == "run" else None)
    job.end(state, message)
    return job


@pytest.mark.parametrize("state", ["done", "cancelled", "failed"])
def test_work_on_another_table_leaves_only_a_quiet_line(state: str) -> None:
    found = ending_of(ended(state, "2 distinct values of column 'code' are unknown."), draft("y.csv", "y"))
    assert found.heading == "Ready"
    assert found.kind == ""
    assert not found.is_of_draft
    assert found.sentence.startswith("Run 3 of x.csv ")
    assert "code" not in found.sentence
    assert "another x.csv" in ending_of(ended(state), draft("x.csv", "y")).sentence


def test_work_on_another_plan_is_named_and_marked_as_changed() -> None:
    found = ending_of(ended("done"), draft(k=9))
    assert (found.heading, found.kind, found.is_of_draft) == ("Ready", "info", False)
    assert found.sentence == "The plan has changed since. Run 3 (group-swap k = 5) was finished."
    assert ending_of(ended("failed", "Too few."), draft(k=9)).sentence.endswith("failed: Too few.")


def test_work_on_the_draft_that_is_open_says_how_it_ended_and_of_which_plan() -> None:
    assert ending_of(None, draft()).sentence == ""
    found = ending_of(ended("failed", "Too few."), {**draft(), "ontologies": {"/o.csv": "o.csv"}})
    assert (found.heading, found.kind, found.is_of_draft) == ("Failed", "error", True)
    assert found.sentence == "Run 3 (group-swap k = 5) failed: Too few."
    assert ending_of(ended("done"), draft()).heading == "Done"
    assert "nothing of it was kept" in ending_of(ended("cancelled", kind="sweep"), draft()).sentence


# ------------------------------------------------------------------------------------------------ parameters


KNOWN = {
    one["name"]: one
    for method in ("microaggregate", "rank-swap-joint")
    for one in describe_method(METHODS[method])["parameters"]
}
WHOLE, ANY, WEIGHTS = KNOWN["k"], KNOWN["t"], KNOWN["weights"]


@pytest.mark.parametrize("typed", ["2.5", "2,5", "ten", "inf", "1e999", "something else"])
def test_a_number_that_is_not_whole_is_refused_and_not_made_smaller(typed: str) -> None:
    with pytest.raises(ParameterError, match="“k – how many records” must be a whole number"):
        value_of(typed, WHOLE)


@pytest.mark.parametrize(("typed", "one"), [("a little", ANY), ("nan", ANY), ("0,2", ANY), ("1, two", WEIGHTS)])
def test_nonsense_does_not_take_a_protection_away(typed: str, one: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="must be"):
        value_of(typed, one)


def test_numbers_are_taken_as_they_are_typed() -> None:
    assert [value_of(typed, WHOLE) for typed in ("12", " 12 ", "12.0", "")] == [12, 12, 12, None]
    assert [value_of(typed, ANY) for typed in ("0.25", "2", "")] == [0.25, 2, None]
    assert value_of("1, 0.5", WEIGHTS) == [1, 0.5]
    assert isinstance(value_of("12.0", WHOLE), int)


# ------------------------------------------------------------------------------------------------ refusals


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    """A task about a table of more records than a sample has."""
    n_records = run.SAMPLE + 200
    pl.DataFrame({"age": [n % 90 for n in range(n_records)], "pay": [n % 7 for n in range(n_records)]}).write_csv(
        tmp_path / "table.csv"
    )
    columns = {
        "age": {"kind": "numeric", "role": "quasi-identifier"},
        "pay": {"kind": "numeric", "role": "confidential"},
    }
    steps = [{"method": "group-swap", "columns": ["age"], "k": 5}]
    return {"table": {"path": str(tmp_path / "table.csv")}, "plan": {"columns": columns, "steps": steps}}


def asked(task: str, given: dict[str, Any]) -> dict[str, Any]:
    said: list[dict[str, Any]] = []
    _do({"task": task, "given": given}, said.append)
    return said[-1]


def test_what_a_sample_is_too_small_for_is_said_of_the_sample(given: dict[str, Any]) -> None:
    given["plan"]["steps"][0]["k"] = run.SAMPLE + 100
    sentence = asked("estimate", given)["refused"]
    assert sentence.startswith(f"In the sample of {run.SAMPLE} records: ")
    assert "The whole table has more records and may allow it" in sentence


def test_only_what_depends_on_the_number_of_records_may_be_allowed_in_the_whole_table() -> None:
    assert "whole table" in words.refusal(too_few_for_groups(300, 400), 300)
    unknown = words.refusal(unmatched_values(["q"], 3, "icd", "dx"), 300)
    assert unknown.startswith("In the sample of 300 records: ")
    assert "whole table" not in unknown
    assert "sample" not in words.refusal(ParameterError("k", "a whole number", "x"), 300)
    assert "sample" not in words.refusal(too_few_for_groups(300, 400))


def test_a_refusal_says_where_in_the_app_that_is_set_after_the_words_of_the_library() -> None:
    for error, place in (
        (unmatched_values(["q"], 3, "icd", "dx"), "“Unknown values”"),
        (missing_cells("dx", 4), "“Missing values”"),
        (ParameterError("k", "a whole number", "x"), "“Method”"),
        (not_close("dx", 4, 0.5, 0.1), "“Drop the records”; “closeness t” is on the page “Method”."),
        (not_close_in_blocks("dx", 4, 0.5, 0.1), "“closeness t” and “rows of a block” are on the page “Method”."),
    ):
        said = words.refusal(error)
        assert said.startswith(error.on_the_command_line)
        assert place in said.removeprefix(error.on_the_command_line)


@pytest.mark.parametrize("task", ["estimate", "run", "sweep"])
@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        ({"method": "group-swap", "columns": [], "k": 5}, "Step 1 has no column; tick one on the page “Method”"),
        ({"method": "group-swap", "columns": ["age"]}, "Step 1 (group-swap) needs “k – how many records”;"),
        ({"method": "rank-swap", "columns": ["age"]}, "needs “k – how many records” or “percent of the records”;"),
        ({"method": "equi-width-swap", "columns": ["age"]}, "needs “number of bins” or “width of a bin”;"),
        ({"method": "invariant-swap", "columns": ["age"], "rate": 0.5}, "or “width of a bin”;"),
    ],
)
def test_what_was_left_open_is_asked_for_as_the_page_calls_it(
    given: dict[str, Any], tmp_path: Path, task: str, step: dict[str, Any], sentence: str
) -> None:
    given["plan"]["steps"] = [step]
    found = asked(task, {**given, "folder": str(tmp_path / "run"), "grid": []})["refused"]
    assert sentence in found
    assert "got" not in found


def test_the_risk_before_masking_is_shown_even_if_the_plan_is_incomplete(given: dict[str, Any]) -> None:
    given["plan"]["steps"] = [{"method": "group-swap", "columns": []}]
    assert asked("risk", given)["result"]["quasi"] == ["age"]


def test_an_estimate_warns_once_however_often_it_masks(given: dict[str, Any]) -> None:
    given["plan"]["steps"] = [{"method": "rank-swap", "columns": ["age"], "k": 1}]
    run._warm.clear()
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", AnontoWarning)
        TASKS["estimate"](given, told)
    first = [str(one.message) for one in raised if issubclass(one.category, AnontoWarning)]
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", AnontoWarning)
        TASKS["estimate"](given, told)
    assert first
    assert len(first) == len([one for one in raised if issubclass(one.category, AnontoWarning)])


# ------------------------------------------------------------------------------------------------ guessing a secret


def test_a_secret_is_shown_as_in_the_report(given: dict[str, Any], tmp_path: Path) -> None:
    found = TASKS["run"]({**given, "folder": str(tmp_path / "run")}, told)
    risks = found["assessment"]["risk"]
    (place,) = [at for at, one in enumerate(risks) if one["attack"] == "attribute-inference"]
    one, reading = risks[place], found["readings"][place]
    report = (tmp_path / "run" / "report-internal.html").read_text(encoding="utf-8")
    assert reading.partition(".")[0] in report
    row = secret_row(one)
    assert row[:3] == ["pay", "age", f"{one['success']:.1%}"]
    assert row[3] == f"{one['control']:.1%}"
    assert f"{100 * one['success']:.1f} %" in reading
    json.dump(found, io.StringIO())


# ------------------------------------------------------------------------------------------------ taking away


def test_commands_and_code_name_the_files_as_they_are_downloaded() -> None:
    commands = _commands("my stays.csv", "my stays", ".csv")
    assert "--plan 'my stays-plan.toml' --output 'my stays-masked.csv'" in commands
    assert "--private 'my stays-masked.csv.private.json'" in commands
    assert "anonto.mask('my stays.csv', 'my stays-plan.toml')" in _code("my stays.csv", "my stays", ".csv", {}, {})
    assert _commands("a.csv", "a", ".csv", "the others.csv").endswith("--edition public --held-out 'the others.csv'")
    assert ", held_out='the others.csv')" in _code("a.csv", "a", ".csv", {}, {}, "the others.csv")


def test_what_the_server_keeps_and_the_plan_needs_can_be_taken_away_and_nothing_else(session: Session) -> None:
    (session.folder / "demo").mkdir()
    for name in ("discharges.csv", "procedures.csv"):
        (session.folder / "demo" / name).write_text("id", encoding="utf-8")
    outside = str(session.folder.parent / "table.csv")
    described = {"kind": "nominal", "role": "quasi-identifier"}
    columns = {
        "a": {**described, "ontology": ["@/demo/procedures.csv", outside, "icd10cm"]},
        "b": {**described, "ontology": "@/uploads/gone"},
    }
    table = {"source": "demo", "name": "discharges.csv", "path": "@/demo/discharges.csv"}
    run = {"draft": {"table": table, "plan": {"columns": columns, "steps": []}, "ontologies": {}}}
    found = further_files(session, run)
    assert found == {"ontology-1": "@/demo/procedures.csv", "table": "@/demo/discharges.csv"}
    assert [name_of_further(run, ref) for ref in found.values()] == ["procedures.csv", "discharges.csv"]
    table["source"] = "upload"
    assert "table" not in further_files(session, run)


# ------------------------------------------------------------------------------------------------ what may be published


def test_the_app_and_the_how_to_say_the_same_of_who_may_have_the_plan() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "verify-my-record.md"
    how_to = " ".join(page.read_text(encoding="utf-8").split())
    assert " ".join(words.PLAN_MAY_BE_PUBLISHED) in how_to
    assert all(word in "".join(words.PLAN_MAY_BE_PUBLISHED) for word in ("not a secret", "no seed", "never published"))
