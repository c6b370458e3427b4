"""At most so many rows of one person: drawn by the seed and the place of a row, counted, and the same when assessed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import anonto
from anonto.cli.main import run
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.engine.memory.units import units_of
from anonto.errors import ColumnError, InputError, ReleaseError
from anonto.masking.plan import Plan, plan_of
from anonto.masking.plan_schema import plan_schema
from anonto.masking.units import Units
from anonto.profile.profile import profile
from anonto.random.streams import Seed

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 1 << 100 | 7
SIZES = [1, 5, 2, 9, 3, 4, 1, 1, 2, 7, 3, 2]


def visits() -> pl.DataFrame:
    rows = [
        (f"p{person}", "fm"[person % 2], f"c{person}-{n}") for person, size in enumerate(SIZES) for n in range(size)
    ]
    return pl.DataFrame(rows, schema=["pid", "sex", "ill"], orient="row").sample(fraction=1.0, shuffle=True, seed=3)


def plan_for(at_most: int | None = 3, *, role: str = "identifier") -> dict[str, Any]:
    return {
        "table": {"person": "pid"} | ({} if at_most is None else {"at_most": at_most}),
        "columns": {"pid": {"role": role}, "ill": {"kind": "set"}, "sex": {}},
        "steps": [{"method": "group-swap", "columns": ["ill", "sex"], "k": 3}],
    }


def test_no_person_has_more_rows_and_nobody_with_fewer_loses_one() -> None:
    table = visits()
    release = anonto.mask(table, plan_for(role="pseudonym"), seed=SECRET)
    sizes = release.table.group_by("pid").len()["len"].sort().to_list()
    assert sizes == sorted(min(one, 3) for one in SIZES)
    assert set(release.table["ill"]) <= set(table["ill"])
    used = [min(one, 3) for one in SIZES]
    assert release.evidence["rows"] == {
        "before": sum(SIZES),
        "left_out": sum(SIZES) - sum(used),
        "persons_limited": sum(one > 3 for one in SIZES),
        "after": sum(used),
        "most_of_a_person": 3,
        "persons_alone_by_number": 0,
    }


def test_a_limit_that_nobody_reaches_changes_nothing() -> None:
    with_limit, without = (anonto.mask(visits(), plan_for(one), seed=SECRET).table for one in (9, None))
    assert with_limit.equals(without)


def test_each_row_of_a_person_is_as_likely_to_be_used_and_whose_rows_depends_on_the_seed_alone() -> None:
    table, plan = visits(), plan_of(plan_for(3))
    person = np.array(table["pid"].to_list()) == "p3"
    times = Counter[int]()
    for seed in range(300):
        units = units_of(table, plan, Seed(seed))
        assert units.limit is not None
        times.update(np.intersect1d(units.limit.used, np.flatnonzero(person)).tolist())
    assert sum(times.values()) == 900
    assert len(times) == 9
    assert max(abs(one - 100) for one in times.values()) < 5 * np.sqrt(300 / 3 * 2 / 3)
    limits = [units_of(table, plan, Seed(seed)).limit for seed in (1, 1, 2)]
    assert all(one is not None for one in limits)
    first, again, other = (one.used.tolist() for one in limits if one is not None)
    assert first == again != other


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_the_same_rows_are_drawn_in_every_library(library: str) -> None:
    table = visits()
    given = table.to_pandas() if library == "pandas" else table.to_arrow()
    masked = anonto.mask(given, plan_for(), seed=SECRET).table
    assert pl.DataFrame(masked).rows() == anonto.mask(table, plan_for(), seed=SECRET).table.rows()


def test_rows_of_a_release_are_places_in_the_table_as_it_was_given() -> None:
    table = visits().with_columns(pl.when(pl.col("pid") == "p4").then(None).otherwise("sex").alias("sex"))
    plan = plan_for()
    plan["columns"]["sex"] = {"missing": "drop"}
    release = anonto.mask(table, plan, seed=SECRET)
    assert release.rows is not None
    used = Units(FrameAdapter(table), plan_of(plan)).with_at_most(3, Seed(SECRET)).limit
    assert used is not None
    assert release.rows.tolist() == [row for row in used.used.tolist() if table["pid"][row] != "p4"]


def test_columns_may_vary_only_where_one_row_of_each_person_is_used() -> None:
    table = visits().with_row_index("visit")
    with pytest.raises(ColumnError, match="differs between the rows"):
        anonto.mask(table, plan_for(2), seed=SECRET)
    plan = plan_for(1)
    plan["columns"]["visit"] = {"kind": "numeric", "role": "confidential"}
    assert anonto.mask(table, plan, seed=SECRET).table.height == len(SIZES)


def test_assess_draws_the_same_rows_with_the_private_record_and_refuses_otherwise(tmp_path: Path) -> None:
    table, plan = visits(), plan_for(role="pseudonym")
    release = anonto.mask(table, plan, seed=SECRET)
    release.save(tmp_path / "out.csv")
    found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert found.n_records == len(SIZES)
    with pytest.raises(ReleaseError, match=r"only some rows of 4 persons"):
        anonto.assess(table, release.table, plan)
    unlimited = plan_for(9, role="pseudonym")
    assert anonto.assess(table, anonto.mask(table, unlimited, seed=SECRET).table, unlimited).n_records == len(SIZES)


def test_profile_and_sweep_use_as_many_rows() -> None:
    assert profile(visits(), plan_of(plan_for()))["rows"]["left_out"] == 13
    found = anonto.sweep(visits(), plan_for(), {"random-swap": {}}, seeds=1, workers=1)
    assert found.n_records == len(SIZES)
    assert found.points[0].plan.at_most == 3


def test_the_command_says_how_many_rows_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    visits().write_csv(tmp_path / "in.csv")
    (tmp_path / "plan.toml").write_text(Plan.from_dict(plan_for()).to_toml(), encoding="utf-8")
    assert Plan.from_toml(tmp_path / "plan.toml").at_most == 3
    options = ["--plan", str(tmp_path / "plan.toml"), "--output", str(tmp_path / "out.csv")]
    assert run(["mask", str(tmp_path / "in.csv"), *options]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "13 further rows of 4 persons left out" in shown
    assert "identifiers dropped pid" in shown


def test_commands_say_whom_the_number_of_rows_singles_out_and_what_limits_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits().write_csv(tmp_path / "in.csv")
    (tmp_path / "plan.toml").write_text(Plan.from_dict(plan_for(None)).to_toml(), encoding="utf-8")
    for command in (["profile"], ["mask", "--output", str(tmp_path / "out.csv")]):
        assert run([*command, str(tmp_path / "in.csv"), "--plan", str(tmp_path / "plan.toml")]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "at most 9 in the table; 4 persons are alone with their number of rows (at_most in the plan" in shown


def test_the_command_says_that_a_person_column_is_released_as_pseudonyms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    visits().write_csv(tmp_path / "in.csv")
    (tmp_path / "plan.toml").write_text(Plan.from_dict(plan_for(role="pseudonym")).to_toml(), encoding="utf-8")
    options = ["--plan", str(tmp_path / "plan.toml"), "--output", str(tmp_path / "out.csv")]
    assert run(["mask", str(tmp_path / "in.csv"), *options]) == 0
    assert "identifiers dropped none pseudonyms pid" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("table", [{"at_most": 3}, *({"person": "pid", "at_most": n} for n in (0, -1, "3", 2.0, True))])
def test_check_and_schema_refuse_the_same_limits(table: dict[str, Any]) -> None:
    import jsonschema

    plan = {**plan_for(), "table": table}
    with pytest.raises(InputError):
        Plan.from_dict(plan)
    is_valid = jsonschema.Draft202012Validator(plan_schema()).is_valid
    assert not is_valid({"table": table}) or table["at_most"] == 2.0  # a whole number, by the standard of schemas
    assert is_valid({"table": {"person": "pid", "at_most": 3}})
