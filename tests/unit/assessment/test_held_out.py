"""Persons held out: encoded like the original, by row and by person, and refused where they do not belong to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.assessment import assess as assessing
from anonto.cli.main import run
from anonto.errors import AnontoError, ClusterError, ColumnError, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.attacks.comparison import Comparison

SEED = 1 << 90
PLAN: dict[str, Any] = {
    "columns": {
        "name": {"role": "identifier"},
        "illness": {"ontology": "illnesses"},
        "age": {"kind": "numeric", "missing": "drop"},
        "ward": {"role": "other"},
    },
    "steps": [{"method": "rank-swap", "columns": ["illness", "age"], "k": 3}],
}


def persons(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"person {seed} {i}" for i in range(n)],
            "illness": rng.choice(["flu", "measles", "burn", "fracture"], n).tolist(),
            "age": rng.integers(20, 90, n),
            "ward": rng.choice(["a", "b", "c"], n).tolist(),
        }
    )


ORIGINAL, OTHERS = persons(40, 1), persons(25, 2)


def compared_of(monkeypatch: pytest.MonkeyPatch, *given: Any, **options: Any) -> Comparison:
    """What the attacks are given."""
    seen: list[Comparison] = []
    attack = assessing.run_attacks
    monkeypatch.setattr(
        assessing, "run_attacks", lambda one, *rest, **more: seen.append(one) or attack(one, *rest, **more)
    )
    anonto.assess(*given, **options)
    return seen[0]


def test_persons_held_out_have_values_in_common_with_both_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    others = OTHERS.with_columns(pl.when(pl.col("age") > 85).then(None).otherwise("age").alias("age"))
    release = anonto.mask(ORIGINAL, PLAN, seed=SEED)
    held_out = compared_of(monkeypatch, ORIGINAL, release.table, PLAN, held_out=others).held_out
    assert held_out is not None
    kept = others.drop_nulls("age")
    assert held_out.n_records == kept.height < others.height
    for name in ("illness", "age"):
        column = held_out.columns[name]
        tables = (ORIGINAL, column.original), (release.table, column.masked), (kept, column.held_out)
        for table, codes in tables:
            assert codes is not None
            assert [column.values[code] for code in codes] == table[name].cast(pl.String).to_list()
        assert column.counts("original").sum() == 40
    ward = held_out.cells["ward"]
    assert [ward.values[code] for code in ward.codes] == kept["ward"].to_list()


@pytest.mark.parametrize("options", [{}, {"information_content": "data", "measure": "resnik"}, {"root": "lcs"}])
def test_persons_held_out_change_no_result_of_an_attack_that_does_not_use_them(options: dict[str, str]) -> None:
    columns = {**PLAN["columns"], "illness": {"ontology": "illnesses", **options}}
    plan = {**PLAN, "columns": columns}
    others = OTHERS.with_columns(pl.lit("injury").alias("illness"))
    release = anonto.mask(ORIGINAL, plan, seed=SEED)
    without, found = (anonto.assess(ORIGINAL, release.table, plan, held_out=one).to_dict() for one in (None, others))
    attacks = {one["attack"] for one in without["risk"]} - {"membership", "association-linkage"}  # both learn from them
    assert [one for one in found["risk"] if one["attack"] in attacks] == [
        one for one in without["risk"] if one["attack"] in attacks
    ]
    assert found["utility"] == without["utility"]


@pytest.mark.parametrize(("role", "private"), [("pseudonym", False), ("pseudonym", True), ("identifier", True)])
def test_persons_with_several_rows_are_held_out_as_persons(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, role: str, private: bool
) -> None:
    rows = ORIGINAL.vstack(ORIGINAL.head(10)).drop("ward", "age")
    others = OTHERS.drop("ward", "age")
    plan = {
        "table": {"person": "name"},
        "columns": {"name": {"role": role}, "illness": {"kind": "set", "ontology": "illnesses"}},
        "steps": [{"method": "group-swap", "columns": ["illness"], "k": 4}],
    }
    release = anonto.mask(rows, plan, seed=SEED)
    release.save(tmp_path / "release.csv")
    given: tuple[Any, dict[str, Any]] = (release.table, {})
    if private:
        given = tmp_path / "release.csv", {"private": tmp_path / "release.csv.private.json"}
    held_out = compared_of(monkeypatch, rows, given[0], plan, held_out=others, **given[1]).held_out
    assert held_out is not None
    assert held_out.n_records == 25
    codes = held_out.columns["illness"].held_out
    assert codes is not None
    assert codes.size == 25
    assert (codes >= 0).all()


@pytest.mark.parametrize(
    ("others", "fault"),
    [
        (
            OTHERS.drop("ward"),
            "The table of persons held out lacks 'ward'; give a table with the columns of the original.",
        ),
        (
            OTHERS.with_columns(pl.lit(1).alias("Jane Doe")),
            "The table of persons held out has 1 column that the original does not have; give a table with the columns "
            "of the original.",
        ),
        (OTHERS.head(0), "The table of persons held out has no record; give one with persons, or leave it out."),
        (
            OTHERS.with_columns(pl.lit(None, pl.Int64).alias("age")),
            "The table of persons held out has no record; give one with persons, or leave it out.",
        ),
    ],
)
def test_persons_of_another_table_are_refused(others: pl.DataFrame, fault: str) -> None:
    release = anonto.mask(ORIGINAL, PLAN, seed=SEED)
    with pytest.raises(AnontoError) as raised:
        anonto.assess(ORIGINAL, release.table, PLAN, held_out=others)
    assert isinstance(raised.value, ColumnError | InputError)
    assert str(raised.value) == fault


@pytest.mark.parametrize("missing", ["keep", "refuse", "drop"])
def test_text_among_the_numbers_of_persons_held_out_is_counted_and_not_shown(missing: str) -> None:
    plan = {**PLAN, "columns": {**PLAN["columns"], "age": {"kind": "numeric", "missing": missing}}}
    release = anonto.mask(ORIGINAL, plan, seed=SEED)
    ages = ["Jane", "Jane", "unknown", *OTHERS["age"].cast(pl.String).to_list()[3:]]
    with pytest.raises(ColumnError) as raised:
        anonto.assess(ORIGINAL, release.table, plan, held_out=OTHERS.with_columns(age=pl.Series(ages)))
    assert str(raised.value).startswith(
        "In the table of persons held out: 2 distinct values of column 'age' are not finite numbers (3 cells); "
    )
    assert sorted(raised.value.values) == ["Jane", "unknown"]
    assert raised.value.cells == 3


def test_an_identifier_of_persons_held_out_may_be_left_out() -> None:
    release = anonto.mask(ORIGINAL, PLAN, seed=SEED)
    assert anonto.assess(ORIGINAL, release.table, PLAN, held_out=OTHERS.drop("name")).n_records == 40


def test_persons_who_were_masked_cannot_be_held_out() -> None:
    plan = {**PLAN, "table": {"person": "name"}, "columns": {**PLAN["columns"], "name": {"role": "pseudonym"}}}
    release = anonto.mask(ORIGINAL, plan, seed=SEED)
    with pytest.raises(InputError, match=r"^3 persons are in the original and held out, by 'name'; hold out "):
        anonto.assess(ORIGINAL, release.table, plan, held_out=ORIGINAL.head(3))


def test_persons_held_out_are_a_file_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ORIGINAL.write_csv(tmp_path / "original.csv")
    OTHERS.write_csv(tmp_path / "others.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[columns]\nname = {role = "identifier"}\nage = {kind = "numeric"}\n'
        '[[steps]]\nmethod = "rank-swap"\ncolumns = ["age"]\nk = 3\n'
    )
    files = [str(tmp_path / name) for name in ("original.csv", "release.csv")]
    assert run(["mask", files[0], "--plan", str(plan), "--output", files[1]]) == 0
    private = ["--plan", str(plan), "--private", f"{files[1]}.private.json"]
    assert run(["assess", *files, *private, "--held-out", str(tmp_path / "others.csv")]) == 0
    capsys.readouterr()
    assert run(["assess", *files, *private, "--held-out", str(plan)]) == 2
    assert run(["assess", *files, *private, "--held-out", str(tmp_path / "others.csv"), "--engine", "spark"]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "--held-out is for work on this machine" in said


def test_persons_are_not_held_out_on_a_cluster() -> None:
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})
    with pytest.raises(ClusterError, match=r"^held_out is for work on this machine"):
        anonto.assess(ORIGINAL, ORIGINAL, PLAN, held_out=kind())
