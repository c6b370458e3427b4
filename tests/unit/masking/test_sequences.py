"""Rows of a person that have an order: her set is a sequence, and her rows leave with their places in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.errors import InputError
from anonto.masking.plan import Plan, plan_of
from anonto.masking.plan_schema import plan_schema
from anonto.masking.units import Units

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 1 << 100 | 7
N = 24


def visits() -> pl.DataFrame:
    """Persons with one to four visits, in random order; their codes are not in the order of the days."""
    rows = [
        (f"p{person}", f"2005-{1 + 2 * visit:02}-{1 + person:02}", f"{9 - visit}{person % 5}", "fm"[person % 2])
        for person in range(N)
        for visit in range(1 + person % 4)
    ]
    return pl.DataFrame(rows, schema=["pid", "day", "ill", "sex"], orient="row").sample(
        fraction=1.0, shuffle=True, seed=3
    )


def plan_for(method: str = "group-swap", **table: Any) -> dict[str, Any]:
    parameters = {"k": 3} if method in {"group-swap", "microaggregate", "rank-swap"} else {}
    columns = ["ill"] if method == "rank-swap" else ["ill", "sex"]
    return {
        "table": {"person": "pid", "order": "day", **table},
        "columns": {"pid": {"role": "pseudonym"}, "ill": {"kind": "set"}, "sex": {}},
        "steps": [{"method": method, "columns": columns, **parameters}],
    }


def sequences(table: pl.DataFrame) -> list[list[str]]:
    by_person = table.sort("pid", "day", "ill").group_by("pid", maintain_order=True).agg("ill")
    return sorted(by_person["ill"].to_list())


@pytest.mark.parametrize("method", ["group-swap", "random-swap"])
@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_sequences_move_whole_and_rows_leave_with_their_places(method: str, library: str) -> None:
    table = visits()
    given = {"polars": table, "pandas": table.to_pandas(), "pyarrow": table.to_arrow()}[library]
    release = anonto.mask(given, plan_for(method), seed=SECRET)
    masked = pl.DataFrame(release.table)
    assert masked.columns == ["pid", "day", "ill", "sex"]
    assert sequences(masked) == sequences(table)
    places = masked.group_by("pid").agg(pl.col("day").sort())["day"].to_list()
    assert all(one == list(range(1, len(one) + 1)) for one in places)
    assert release.evidence["order"] == "day"


def test_days_numbers_and_times_give_the_same_order() -> None:
    table = visits()
    days = pl.col("day").str.to_date()
    expected = anonto.mask(table, plan_for(), seed=SECRET).table
    for cells in (days, days.cast(pl.Datetime), days.cast(pl.Int32), (10.0 ** (days.dt.month() - 7)), days.dt.month()):
        assert anonto.mask(table.with_columns(day=cells), plan_for(), seed=SECRET).table.equals(expected)


def test_rows_of_one_day_are_in_the_order_of_their_cells_and_not_of_the_table() -> None:
    table = visits().with_columns(day=pl.lit("2005-01-01"))
    released = [anonto.mask(one, plan_for(), seed=SECRET).table for one in (table, table.sort("pid", "ill"))]
    assert sequences(released[0]) == sequences(released[1]) == sequences(table)


def test_equal_sets_in_another_order_are_two_sequences() -> None:
    table, plan = visits(), plan_of(plan_for())
    turned = table.with_columns(day=pl.when(pl.col("pid") == "p7").then(pl.lit("2005-06-01")).otherwise("day"))
    before, after = (Units(FrameAdapter(one), plan).records.sort("pid") for one in (table, turned))
    assert before.filter(before["ill"] != after["ill"])["pid"].to_list() == ["p7"]


def test_a_release_of_sequences_is_assessed(tmp_path: Path) -> None:
    table, plan = visits(), plan_for()
    release = anonto.mask(table, plan, seed=SECRET)
    assert release.evidence["steps"][0]["guarantee"]["proved"]
    release.save(tmp_path / "out.csv")
    found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert found.n_records == anonto.assess(table, release.table, plan).n_records == N


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"day": pl.when(pl.int_range(pl.len()) < 2).then(None).otherwise("day")}, "2 rows have neither a number nor"),
        ({"day": pl.lit("12.5.2005")}, r"\d+ rows have neither a number nor a date"),
        ({"day": pl.lit("nan")}, r"\d+ rows have neither a number nor a date"),
    ],
)
def test_cells_that_say_no_order_are_refused_without_being_shown(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        anonto.mask(visits().with_columns(**change), plan_for(), seed=SECRET)
    assert "12.5" not in str(refused.value)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (plan_for("microaggregate"), "makes new sets with microaggregate"),
        (plan_for("rank-swap"), "makes new sets with rank-swap"),
        (plan_for(order="ill"), "the place of each row is released instead"),
        (plan_for(order="pid"), "the place of each row is released instead"),
        (plan_for(order="no such day"), "no column 'no such day'"),
        (plan_for() | {"table": {"order": "day"}}, "the column of the persons"),
        (plan_for() | {"columns": {"day": {"kind": "numeric"}, "ill": {"kind": "set"}}}, "needs no description"),
        (plan_for() | {"columns": {"ill": {"role": "identifier"}}, "steps": []}, "no set is released"),
    ],
)
def test_an_order_that_contradicts_the_plan_is_refused(plan: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        anonto.mask(visits(), plan, seed=SECRET)


def test_a_plan_with_an_order_is_the_same_after_writing_it_to_a_file(tmp_path: Path) -> None:
    import jsonschema

    (tmp_path / "plan.toml").write_text(Plan.from_dict(plan_for()).to_toml(), encoding="utf-8")
    assert Plan.from_toml(tmp_path / "plan.toml").order == "day"
    assert jsonschema.Draft202012Validator(plan_schema()).is_valid(plan_for())
    assert not jsonschema.Draft202012Validator(plan_schema()).is_valid(plan_for() | {"table": {"order": "day"}})
