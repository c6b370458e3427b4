"""The schema of plans agrees with what plans take, and the commands about plans."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from anonto.cli.main import run
from anonto.errors import InputError
from anonto.masking.plan import Plan
from anonto.masking.plan_schema import plan_schema
from anonto.methods.parameters import parameters_known
from anonto.methods.registry import METHODS
from anonto.sweep.grid import default_grid

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = plan_schema()


def is_valid(plan: dict[str, Any]) -> bool:
    return bool(jsonschema.Draft202012Validator(SCHEMA).is_valid(plan))


def is_taken(plan: dict[str, Any]) -> bool:
    try:
        Plan.from_dict(plan)
    except InputError:
        return False
    return True


def step_of(method: str, **changed: Any) -> dict[str, Any]:
    first = {name: values[0] for name, values in default_grid(100)[method].items()}
    return {"method": method, "columns": ["a", "b"], **first, **changed}


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_with_values_of_a_sweep_is_valid(method: str) -> None:
    plan = {"steps": [step_of(method)]}
    assert is_valid(plan)
    assert is_taken(plan)
    assert is_valid(Plan.from_dict(plan).with_defaults())


@pytest.mark.parametrize("method", METHODS)
def test_schema_and_check_refuse_the_same_values_of_every_parameter(method: str) -> None:
    wrong_or_right: list[Any] = [
        None,
        True,
        0,
        1,
        2,
        0.5,
        -1,
        10**9,
        101,
        "all",
        "words",
        [],
        [1, 2],
        [1, -2],
        ["a"],
        {},
    ]
    for one in parameters_known(METHODS[method]):
        if one.name in {"block_rows", "t", "l", "diversity", "c", "confidential"}:  # they depend on other parameters
            continue
        others = {name for name in METHODS[method].one_of if name != one.name and one.name in METHODS[method].one_of}
        for value in wrong_or_right:
            step = {key: given for key, given in step_of(method, **{one.name: value}).items() if key not in others}
            if value is None and not one.is_needed:
                continue  # TOML has no such value
            assert is_valid({"steps": [step]}) == is_taken({"steps": [step]}), (one.name, value)


@pytest.mark.parametrize("method", METHODS)
def test_steps_that_lack_something_or_have_too_much_are_not_valid(method: str) -> None:
    assert not is_valid({"steps": [step_of(method, something=1)]})
    assert not is_valid({"steps": [{**step_of(method), "columns": []}]})
    for one in parameters_known(METHODS[method]):
        if one.is_needed:
            step = step_of(method)
            del step[one.name]
            assert not is_valid({"steps": [step]})


def test_a_parameter_instead_of_another_is_not_valid_beside_it() -> None:
    assert not is_valid({"steps": [step_of("rank-swap", k=3, percent=4.0)]})
    assert not is_valid({"steps": [{"method": "rank-swap", "columns": ["a"]}]})


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ({"kind": "numeric", "role": "confidential", "na": ["?"], "decimal": ","}, True),
        ({"ontology": ["a.obo", "b.owl"], "measure": "lin", "review": True}, True),
        ({"kind": "number"}, False),
        ({"measure": "manhattan"}, False),
        ({"somekey": 1}, False),
        ({"na": "?"}, False),
    ],
)
def test_columns_are_described_as_a_plan_takes_them(description: dict[str, Any], expected: bool) -> None:
    plan = {"columns": {"a": description}}
    assert is_valid(plan) == is_taken(plan) == expected


# ------------------------------------------------------------------------------------------------ commands


@pytest.fixture
def plan_file(tmp_path: Path) -> str:
    text = '[columns.a]\nkind = "nominal"\nreview = true\n\n[[steps]]\nmethod = "group-swap"\ncolumns = ["a"]\nk = 4\n'
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    return str(tmp_path / "plan.toml")


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


def test_a_valid_plan_is_said_to_be_valid(plan_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "check", plan_file]) == 0
    assert "The plan is valid" in (said := capsys.readouterr().out)
    assert "Not confirmed yet: a." in said
    assert run(["plan", "check", plan_file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"columns": 1, "steps": 1, "to_review": ["a"]}


@pytest.mark.parametrize("command", ["check", "show"])
@pytest.mark.parametrize("text", ["[[steps]]\nmethod = 'group-swop'\ncolumns = ['a']", "= 3", "[column.a]"])
def test_a_plan_that_cannot_be_used_ends_in_one_sentence(
    command: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    assert run(["plan", command, str(tmp_path / "plan.toml")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("Error: ")
    assert said.err.count("\n") == 1


def test_a_plan_is_shown_with_its_defaults_and_is_the_same_plan(
    plan_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "show", plan_file]) == 0
    shown = capsys.readouterr().out
    assert 'measure = "wu-palmer"' in shown
    assert 'move = "apart"' in shown
    (tmp_path / "filled.toml").write_text(shown, encoding="utf-8")
    assert Plan.from_toml(tmp_path / "filled.toml") == Plan.from_toml(plan_file)
    assert run(["plan", "show", plan_file, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"][0]["refine"] is True


def test_methods_are_listed_and_one_is_printed_with_its_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["methods"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in METHODS)
    assert run(["methods", "equi-width-swap"]) == 0
    assert "width or bins is needed" in capsys.readouterr().out
    assert run(["methods", "random-swap"]) == 0
    assert "no parameters" in capsys.readouterr().out
    assert run(["methods", "group-swop"]) == 2
    assert "group-swap" in capsys.readouterr().err
