"""Empty sets and missing cells of persons, repeated rows, and releases that do not say which rows are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.set_space import ELEMENT, ROW
from anonto.errors import AnontoWarning, ColumnError, ParameterError, ReleaseError
from anonto.masking.plan import plan_of
from anonto.masking.units import Units
from anonto.profile.profile import profile

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 1 << 100 | 7


def visits(codes: list[list[str | None]]) -> pl.DataFrame:
    """One row for each code of a person, or for each None."""
    rows = [(f"p{person}", "fm"[person % 2], code) for person, own in enumerate(codes) for code in own]
    return pl.DataFrame(rows, schema=["pid", "sex", "ill"], orient="row", infer_schema_length=None)


def plan_for(method: str = "group-swap", person: str | None = "pid", **ill: Any) -> dict[str, Any]:
    step: dict[str, Any] = {"method": method, "columns": ["ill", "sex"]}
    return {
        "table": {"person": person} if person else {},
        "columns": {"ill": {"kind": "set", **ill}, "sex": {}},
        "steps": [step | ({"k": 2} if method == "group-swap" else {})],
    }


SOME_WITHOUT: list[list[str | None]] = [["a", "b"], [None], [None, None], ["a"], ["b"], [None], ["a", "b", "c"], ["c"]]


def test_persons_without_a_code_have_equal_sets_whatever_the_number_of_their_rows() -> None:
    units = Units(FrameAdapter(visits(SOME_WITHOUT)), plan_of(plan_for()))
    texts = units.records["ill"].to_list()
    assert (texts[1], texts[2]) == (ELEMENT, ROW)
    back = units.row_maker.to_rows(units.records.drop("pid"), None)
    assert back["ill"].null_count() == 4
    masked = anonto.mask(visits(SOME_WITHOUT), plan_for(), seed=SECRET)
    assert masked.table.height == 12
    step = masked.evidence["steps"][0]
    assert step["guarantee"]["proved"]
    assert step["unchanged_records"] < 8


@pytest.mark.parametrize(("policy", "persons"), [("keep", 8), ("drop", 5)])
def test_policies_for_missing_cells_see_persons_without_a_code(policy: str, persons: int) -> None:
    release = anonto.mask(visits(SOME_WITHOUT), plan_for(missing=policy), seed=SECRET)
    assert release.evidence["n_records"] == persons
    rows = visits(SOME_WITHOUT).with_row_index("row").filter(pl.col("ill").is_not_null())["row"].to_list()
    assert (list(range(12)) if release.rows is None else release.rows.tolist()) == (
        rows if policy == "drop" else list(range(12))
    )


def test_persons_without_a_code_can_be_refused() -> None:
    with pytest.raises(ColumnError, match="3 missing cells"):
        anonto.mask(visits(SOME_WITHOUT), plan_for(missing="refuse"), seed=SECRET)


# ---------------------------------------------------------------------------------------------- missing cells


@pytest.mark.parametrize(
    ("second", "released"),
    [
        (["x", "?", "y", "?"], ["?", "?", "x", "y"]),
        (["x", "?", "y", None], ["?", "?", "x", "y"]),
        (["x", None, "y", None], [None, None, "x", "y"]),
        (["x", "-", "y", "-"], ["-", "-", "x", "y"]),
        (["x", "-", "y", "?"], ["?", "?", "x", "y"]),
    ],
)
def test_missing_cells_of_a_set_leave_with_the_code_that_they_have_in_the_table(
    second: list[str | None], released: list[str | None]
) -> None:
    table = pl.DataFrame({"dx1": ["a", "b", "c", "d"], "dx2": second, "sex": ["f", "m"] * 2})
    plan = plan_for("random-swap", None, **{"from": ["dx1", "dx2"], "na": ["?", "-"]})
    masked = anonto.mask(table, plan, seed=SECRET).table
    assert sorted(masked["dx2"].to_list(), key=str) == sorted(released, key=str)


def test_a_code_that_the_type_of_a_set_cannot_hold_leaves_as_null() -> None:
    table = pl.DataFrame({"dx1": [1, 2, 3, 4], "dx2": [5, None, -9, 7], "sex": ["f", "m"] * 2})
    masked = anonto.mask(table, plan_for("random-swap", None, **{"from": ["dx1", "dx2"], "na": ["?", "-9"]})).table
    assert sorted(masked["dx2"].to_list()) == [-9, -9, 5, 7]
    masked = anonto.mask(table, plan_for("random-swap", None, **{"from": ["dx1", "dx2"], "na": ["?"]})).table
    assert masked["dx2"].null_count() == 1


@pytest.mark.parametrize("empty", [None, []])
def test_lists_without_an_element_leave_as_they_are_written_in_the_table(empty: list[str] | None) -> None:
    lists = [["a"], empty, ["b", "a"], empty]
    table = pl.DataFrame({"ill": pl.Series(lists, dtype=pl.List(pl.String)), "sex": ["f", "m"] * 2})
    masked = anonto.mask(table, plan_for("random-swap", None), seed=SECRET).table
    assert masked["ill"].to_list().count(empty) == 2
    assert masked["ill"].null_count() == table["ill"].null_count()


def test_sets_have_one_code_of_missing_cells() -> None:
    with pytest.raises(ParameterError, match="missing_codes of column 'ill' must be 'merge' for a set"):
        plan_of(plan_for(missing_codes="keep"))


# ------------------------------------------------------------------------------------------------ whose rows


def test_a_saved_release_with_pseudonyms_needs_its_private_record(tmp_path: Path) -> None:
    table, plan = visits(SOME_WITHOUT), plan_for()
    plan["columns"]["pid"] = {"role": "pseudonym"}
    anonto.mask(table, plan, seed=SECRET).save(tmp_path / "out.csv")
    with pytest.raises(ReleaseError, match="which person has which pseudonym"):
        anonto.assess(table, tmp_path / "out.csv", plan, same_order=True)
    assert anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json").n_records == 8


# ------------------------------------------------------------------------------------------------ equal rows


def equal_rows(sizes: list[int]) -> pl.DataFrame:
    rows = [(f"p{person}", "fm"[person % 2], 20 + person) for person, n in enumerate(sizes) for _ in range(n)]
    return pl.DataFrame(rows, schema=["pid", "sex", "age"], orient="row")


def plan_of_equal_rows(*columns: str, **described: Any) -> dict[str, Any]:
    return {
        "table": {"person": "pid"},
        "columns": {"sex": {}, "age": {"kind": "numeric"}, "pid": {"role": "pseudonym"}, **described},
        "steps": [{"method": "group-swap", "columns": ["sex", "age", *columns], "k": 3}],
    }


SIZES = [1, 3, 2, 1, 1, 4, 2, 2, 1, 5, 1, 1]


def test_equal_rows_of_a_person_are_masked_once_and_leave_equal() -> None:
    table = equal_rows(SIZES)
    with pytest.warns(AnontoWarning, match="number of rows"):
        release = anonto.mask(table, plan_of_equal_rows(), seed=SECRET)
    masked = release.table
    assert masked.columns == ["pid", "sex", "age"]
    assert masked.group_by("pid").agg(pl.all().n_unique()).select("sex", "age").unique().rows() == [(1, 1)]
    assert masked.group_by("pid", maintain_order=True).len()["len"].to_list() == SIZES
    guarantee = release.evidence["steps"][0]["guarantee"]
    assert not guarantee["proved"]
    assert "leaves out 'number of rows'" in guarantee["conditions"]


@pytest.mark.parametrize("role", ["confidential", "other"])
def test_nothing_is_proved_where_equal_rows_show_whose_they_are(role: str) -> None:
    plan = plan_of_equal_rows(**{"number of rows": {"kind": "numeric", "role": role}})
    assert not anonto.mask(equal_rows(SIZES), plan, seed=SECRET).evidence["steps"][0]["guarantee"]["proved"]


def test_the_number_of_rows_can_be_masked_or_dropped() -> None:
    table = equal_rows(SIZES)
    release = anonto.mask(table, plan_of_equal_rows("number of rows"), seed=SECRET)
    sizes = release.table.group_by("pid", maintain_order=True).len()["len"].to_list()
    assert sizes != SIZES
    assert sorted(sizes) == sorted(SIZES)
    assert release.evidence["steps"][0]["guarantee"]["proved"]
    dropped = {"number of rows": {"kind": "numeric", "role": "identifier"}}
    release = anonto.mask(table, plan_of_equal_rows(**dropped), seed=SECRET)
    assert release.table.height == len(SIZES)
    assert release.evidence["steps"][0]["guarantee"]["proved"]
    assert anonto.assess(table, release.table, plan_of_equal_rows(**dropped)).n_records == len(SIZES)


def test_equal_rows_are_assessed_swept_and_profiled_person_by_person(tmp_path: Path) -> None:
    table, plan = equal_rows(SIZES), plan_of_equal_rows("number of rows")
    anonto.mask(table, plan, seed=SECRET).save(tmp_path / "out.csv")
    found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert found.n_records == len(SIZES)
    assert anonto.sweep(table, plan, {"group-swap": {"k": [3]}}, seeds=1, workers=1).n_records == len(SIZES)
    assert profile(table, plan_of(plan))["rows"]["before"] == sum(SIZES)


def test_a_table_with_a_column_of_that_name_is_refused() -> None:
    table = equal_rows(SIZES).with_columns(pl.lit(1).alias("number of rows"))
    with pytest.raises(ColumnError, match="number of rows"):
        anonto.mask(table, plan_of_equal_rows(), seed=SECRET)
