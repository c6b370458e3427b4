import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.errors import InputError, MalformedFileError, ParameterError, PlanError
from anonto.io.toml import to_toml
from anonto.masking.plan import Plan, plan_of

PLAN = """
[table]
delimiter = ";"

[columns.id]
role = "identifier"

["columns"."a b"]
kind = "nominal"
ontology = "illnesses"
measure = "ancestor"
na = ["?", "NA"]

[columns.pain]
kind = "ordinal"
order = ["low", "high"]

[[steps]]
method = "frequency-swap"
columns = ["a b", "pain"]
k = 4
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plan_file_becomes_frozen_data_and_goes_back(tmp_path: Path) -> None:
    plan = plan_of(write(tmp_path, PLAN))
    assert plan.folder == tmp_path
    assert plan.columns["a b"].na == ("?", "NA")
    assert plan.steps[0].method.k == 4
    assert plan.masked == ("a b", "pain")
    assert Plan.from_dict(plan.to_dict()) == plan
    assert Plan.from_dict(tomllib.loads(plan.to_toml())) == plan
    with pytest.raises((AttributeError, TypeError)):
        plan.steps = ()  # type: ignore[misc]
    with pytest.raises(TypeError):
        plan.columns["x"] = 1  # type: ignore[index]


def test_a_column_that_a_person_must_still_confirm_says_so_in_the_plan_file() -> None:
    plan = Plan.from_dict({"columns": {"a": {"review": True}, "b": {}}, "steps": []})
    assert plan.columns["a"].review
    assert not plan.columns["b"].review
    assert plan.to_toml().count("review = true") == 1
    assert Plan.from_dict(tomllib.loads(plan.to_toml())) == plan


def test_comments_stand_above_their_column(tmp_path: Path) -> None:
    plan = plan_of(write(tmp_path, PLAN))
    text = plan.to_toml({"": "Proposed.", "pain": "Two texts\nin order."})
    assert text.startswith("# Proposed.\n")
    assert "# Two texts\n# in order.\n[columns.pain]" in text
    assert Plan.from_dict(tomllib.loads(text)) == plan


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"colums": {}}, PlanError, "no key .*did you mean 'columns'"),
        ({"columns": {"a": {"knd": "nominal"}}}, PlanError, "no key .*did you mean 'kind'"),
        ({"columns": {"a": {"kind": "nominel"}}}, ParameterError, "kind of column 'a' must be one of nominal, ordinal"),
        ({"columns": {"a": {"role": "key"}}}, ParameterError, "identifier, quasi-identifier, confidential, other"),
        ({"columns": {"a": {"measure": "lim"}}}, InputError, "did you mean 'lin'"),
        ({"columns": {"a": {"missing": "skip"}}}, ParameterError, "keep, drop, refuse"),
        ({"columns": {"a": {"unmatched": "skip"}}}, ParameterError, "nearest-ancestor"),
        ({"columns": {"a": {"na": "?"}}}, ParameterError, "a list of texts"),
        ({"columns": {"a": {"review": "yes"}}}, ParameterError, "review of column 'a' must be true or false"),
        ({"columns": {"a": {"kind": "ordinal"}}}, ParameterError, "order of column 'a'"),
        ({"columns": {"a": {"kind": "ordinal", "order": ["x", "x"]}}}, ParameterError, "different texts"),
        ({"columns": {"a": {"ontology": 7}}}, ParameterError, "ontology of column 'a'"),
        ({"columns": {"a": {"information_content": "x"}}}, ParameterError, "sanchez, seco, data"),
        ({"columns": {"a": "nominal"}}, ParameterError, "a table of keys"),
        ({"columns": ["a"]}, ParameterError, "columns must be a table of keys"),
        ({"steps": {"method": "random-swap"}}, ParameterError, "steps must be a list"),
        ({"steps": [{"columns": ["a"]}]}, ParameterError, "method of step 1"),
        ({"steps": [{"method": "random-swap"}]}, ParameterError, "columns of step 1"),
        ({"steps": [{"method": "random-swap", "columns": []}]}, ParameterError, "columns of step 1"),
        ({"steps": [{"method": "random-swap", "columns": ["a", "a"]}]}, PlanError, "names a column twice"),
        ({"steps": [{"method": "magic", "columns": ["a"]}]}, PlanError, "There is no method .*known are random-swap"),
        ({"steps": [{"method": "random-swap", "columns": ["a"], "seed": 1}]}, PlanError, "no key 'seed'"),
        ({"steps": [{"method": "random-swap", "columns": ["a"]}] * 2}, PlanError, "by step 1 and again by step 2"),
        (
            {"columns": {"a": {"role": "identifier"}}, "steps": [{"method": "random-swap", "columns": ["a"]}]},
            PlanError,
            "masks the identifier 'a'",
        ),
        ({"table": {"separator": ";"}}, PlanError, "no key .*known are delimiter"),
        ({"seed": 3}, PlanError, "no key 'seed'"),
        ([], ParameterError, "a plan, a dict or the path"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_in_one_sentence(given, error, says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        Plan.from_dict(given)
    assert "\n" not in str(caught.value)


def test_broken_toml_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(MalformedFileError, match=r"is not a valid TOML file: .*line 3"):
        plan_of(write(tmp_path, 'a = 1\n\nb = "open\n'))


def test_a_plan_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file or folder"):
        plan_of(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(InputError, match="line 1"):
        plan_of(tmp_path / "latin.toml")
    with pytest.raises(InputError, match="folder"):
        plan_of(tmp_path)


@given(st.dictionaries(st.text(max_size=6), st.lists(st.text(max_size=6), max_size=3), max_size=4))
def test_any_name_and_text_survives_toml(columns: dict[str, list[str]]) -> None:
    plan = {"columns": {name: {"kind": "nominal", "na": texts} for name, texts in columns.items()}, "steps": []}
    read = tomllib.loads(to_toml(plan, {}))
    assert read.get("columns", {}) == plan["columns"]


LONG = "q" * 100_000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = " + "[" * 3_000 + "]" * 3_000, "is not a plan: its lists or tables are too many inside each other"),
        ("k = " + "9" * 5_000, "is not a plan: it has a number of too many digits"),
        (f"[columns.{LONG}]\n[columns.{LONG}]", "is not a valid TOML file: Cannot declare"),
        (f"{LONG} = 1", "The plan has no key 'qqq"),
        (f'[columns.a]\n{LONG} = "x"', "A name in 'a' of columns must be a text of at most 10,000 characters"),
        (f'[columns.a]\nmeasure = "{LONG}"', "'measure' of 'a' of columns must be a text of at most 10,000"),
        (f'[columns.a]\nkind = "{LONG[:9_000]}"', "kind of column 'a' must be one of nominal, ordinal, numeric"),
        ("[columns.a]\norder = 5", "order of column 'a' must be a list of texts"),
        ("[columns.a]\nna = {x = 1}", "na of column 'a' must be a list of texts"),
        ("[columns.a]\nna = 1979-05-27", "na of column 'a' must be a list of texts"),
        ("[columns.a]\nmeasure = [1]", "There is no measure (1,)"),
        ("[columns]\na = 07:32:00", "The description of column 'a' must be a table of keys"),
        ("[columns.a]\nkind = [[[[[[[1]]]]]]]", "must be at most 6 tables and lists inside each other"),
        ('[[steps]]\nmethod = {x = 1}\ncolumns = ["a"]', "There is no method {'x': 1}"),
        (f'[[steps]]\nmethod = "rank-swap"\ncolumns = ["a"]\nk = {10**30}', "'k' of steps must be a number of at most"),
        (f'[[steps]]\nmethod = "rank-swap"\ncolumns = [{"1," * 5_000}]', "columns of step 1 must be a list of column"),
    ],
)
def test_values_of_every_wrong_type_depth_and_length_are_refused_in_a_short_sentence(
    tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        Plan.from_toml(tmp_path / "plan.toml")
    assert says in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_plan_in_python_with_half_a_character_is_refused() -> None:
    for plan in ({"columns": {"a\ud800": {}}}, {"columns": {"a": {"na": ["\ud800"]}}}):
        with pytest.raises(ParameterError, match="without halves of characters"):
            Plan.from_dict(plan)


def test_a_file_larger_than_any_plan_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_bytes(b"#" * (17 << 20))
    with pytest.raises(InputError, match="larger than 16 MB"):
        Plan.from_toml(tmp_path / "plan.toml")
