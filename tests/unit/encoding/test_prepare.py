"""Values that do not fit the kind of their column are reported with their row, and listed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import anonto
from anonto.cli.main import run
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import Misfit, find_misfits, opener
from anonto.errors import ColumnError

if TYPE_CHECKING:
    from pathlib import Path

TABLE = """age,pain,code
12,low,flu
13,mid,burn
n/k,low,flu
14,hidden,rash
n/k,,flu
15,mid,burn
"""
PLAN = """
[columns.age]
kind = "numeric"

[columns.pain]
kind = "ordinal"
order = ["low", "mid"]

[columns.code]
ontology = "illnesses"
unmatched = "keep"

[[steps]]
method = "random-swap"
columns = ["age"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def match(folder: Path, column: str, *more: str) -> list[str]:
    return ["match", str(folder / "table.csv"), "--column", column, "--plan", str(folder / "plan.toml"), *more]


def test_a_non_numeric_cell_is_reported_with_its_row_and_how_to_list_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["mask", str(folder / "table.csv"), "--plan", str(folder / "plan.toml"), "--output", str(folder / "o.csv")]
    assert run(words) == 2
    assert capsys.readouterr().err == (
        "Error: 1 distinct value of column 'age' is not a finite number (2 cells, the first in row 3 below the "
        "header); list them with `anonto match TABLE --column 'age' --plan PLAN --values`, and add those that mean "
        "missing to na, fix them, or declare the column nominal or ordinal.\n"
    )
    assert not (folder / "o.csv").exists()


@pytest.mark.parametrize(
    ("column", "listed"), [("age", ["n/k", 2, 3]), ("pain", ["hidden", 1, 4]), ("code", ["rash", 1, 4])]
)
def test_values_that_do_not_fit_the_plan_are_listed_with_rows_on_request(
    folder: Path, column: str, listed: list[object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(match(folder, column)) == 0
    shown = capsys.readouterr()
    assert str(listed[0]) not in shown.out + shown.err
    assert "Use --values to list them with their rows." in shown.out
    assert run(match(folder, column, "--values")) == 0
    assert [str(one) for one in listed] == capsys.readouterr().out.splitlines()[-2].split()
    assert run(match(folder, column, "--values", "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert [list(one.values()) for one in found["values"]] == [listed]
    assert found["unfit"] == {"distinct": 1, "cells": listed[1]}


def test_a_column_that_fits_has_nothing_to_list(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "table.csv").write_text("age,pain,code\n1,low,flu\n")
    assert run(match(folder, "age", "--values")) == 0
    assert "0 distinct values, 0 cells" in capsys.readouterr().out


@pytest.mark.parametrize("more", [["--ontology", "illnesses"], ["--fuzzy"], ["--na", "x"], ["--output", "x.csv"]])
def test_options_that_a_plan_contains_are_refused_with_a_plan(
    folder: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(match(folder, "age", *more)) == 2
    assert "The plan describes its columns" in capsys.readouterr().err
    assert run(match(folder, "age")[:4]) == 2
    assert "--ontology must be given, or --plan instead of it" in capsys.readouterr().err


def test_rows_are_those_of_the_table_even_if_others_are_dropped() -> None:
    table = {"x": [None, "1", "2", "secret"], "y": ["a", None, "b", "c"]}
    plan = {
        "columns": {"x": {"kind": "numeric"}, "y": {"missing": "drop"}},
        "steps": [{"method": "random-swap", "columns": ["x"]}],
    }
    import polars as pl

    with pytest.raises(ColumnError, match="finite number") as caught:
        anonto.mask(pl.DataFrame(table), plan, seed=1 << 100)
    assert (caught.value.cells, caught.value.row) == (1, 4)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "keys", "words", "row"),
    [
        (["1", "x", "x"], {"kind": "numeric"}, "is not a finite number", 2),
        (["1,5", "2,25", "3.75"], {"kind": "numeric"}, "can only be read with a decimal point", 3),
        (
            ["1", "12345678901234567891", "12345678901234567892"],
            {"kind": "numeric"},
            "more digits than the 15 to 17",
            2,
        ),
        (["a", "a", "z"], {"kind": "ordinal", "order": ["a", "b"]}, "not in its order", 3),
    ],
)
def test_every_kind_of_misfit_is_reported_with_its_first_row(
    cells: list[str], keys: dict[str, object], words: str, row: int
) -> None:
    import polars as pl

    plan = {"columns": {"x": keys}, "steps": [{"method": "random-swap", "columns": ["x"]}]}
    with pytest.raises(ColumnError, match=f"{words}.*the first in row {row} below the header"):
        anonto.mask(pl.DataFrame({"x": cells}), plan, seed=1 << 100)
    found = find_misfits("x", cells, ColumnDescription.from_mapping("x", keys), opener())[1]
    assert min(one.row for one in found) == row


def test_frequent_misfits_come_first() -> None:
    cells = ["u", "v", "v", "1"]
    assert find_misfits("x", cells, ColumnDescription(kind="numeric"), opener())[1] == (
        Misfit("v", 2, 2),
        Misfit("u", 1, 1),
    )
