"""Persons and sets: rows become records, are masked, and become rows again."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.errors import AnontoError, AnontoWarning, ColumnError, PlanError, ReleaseError
from anonto.masking.plan import Plan, plan_of
from anonto.masking.units import Units
from budget import examples

if TYPE_CHECKING:
    from pathlib import Path

ILLS = anonto.read_ontology("illnesses")
CODES = sorted(ILLS.ids)
SECRET = 1 << 100 | 7


def plan_with(columns: list[str], k: int = 2, *, person: str | None = "pid", **described: Any) -> dict[str, Any]:
    return {
        "table": {"person": person} if person else {},
        "columns": {"ill": {"kind": "set", "ontology": ILLS}, "sex": {}, **described},
        "steps": [{"method": "group-swap", "columns": columns, "k": k}],
    }


def rows_of(n_persons: int, sizes: list[int], picks: list[int]) -> pl.DataFrame:
    """A table in which each person has some rows, one code each."""
    rows = [
        (f"p{person}", "fm"[person % 2], CODES[picks[(3 * person + row) % len(picks)] % len(CODES)])
        for person in range(n_persons)
        for row in range(sizes[person % len(sizes)])
    ]
    return pl.DataFrame(rows, schema=["pid", "sex", "ill"], orient="row")


def bundles(table: pl.DataFrame, by: str) -> Counter[tuple[str, ...]]:
    grouped = table.group_by(by).agg(pl.col("ill").sort())
    return Counter(tuple(one) for one in grouped["ill"].to_list())


TABLES = st.builds(
    rows_of,
    st.integers(min_value=4, max_value=30),
    st.lists(st.integers(min_value=1, max_value=4), min_size=1, max_size=5),
    st.lists(st.integers(min_value=0, max_value=50), min_size=1, max_size=9),
)


@given(table=TABLES, move=st.sampled_from(["apart", "together"]), shuffle=st.integers(min_value=0, max_value=99))
@settings(max_examples=examples(40))
def test_bundles_move_whole_and_columns_that_do_not_vary_stay_equal_in_all_rows_of_a_person(
    table: pl.DataFrame, move: str, shuffle: int
) -> None:
    plan = plan_with(["ill", "sex"], pid={"role": "pseudonym"})
    plan["steps"][0]["move"] = move
    table = table.sample(fraction=1.0, shuffle=True, seed=shuffle)
    masked = anonto.mask(table, plan, seed=SECRET).table
    assert masked.columns == ["pid", "sex", "ill"]
    assert bundles(masked, "pid") == bundles(table, "pid")
    assert masked["ill"].value_counts().sort("ill").equals(table["ill"].value_counts().sort("ill"))
    assert (masked.group_by("pid").agg(pl.col("sex").n_unique())["sex"] == 1).all()
    assert masked["pid"].n_unique() == table["pid"].n_unique()


@given(table=TABLES, order=st.integers(min_value=0, max_value=99))
@settings(max_examples=examples(20))
def test_the_order_of_a_persons_rows_does_not_show_in_her_record(table: pl.DataFrame, order: int) -> None:
    plan = plan_of(plan_with(["ill", "sex"]))
    first = Units(FrameAdapter(table), plan).records.sort("pid")
    second = Units(FrameAdapter(table.sample(fraction=1.0, shuffle=True, seed=order)), plan).records.sort("pid")
    assert first.equals(second)


def test_rows_that_become_records_and_rows_again_are_the_same_rows() -> None:
    table = rows_of(9, [1, 3, 2], [0, 4, 2, 2])
    units = Units(FrameAdapter(table), plan_of(plan_with(["ill", "sex"])))
    again = units.row_maker.to_rows(units.records.drop("pid"), None)
    key = ["sex", "ill"]
    assert again.select(key).sort(key).equals(table.select(key).sort(key))


def test_evidence_and_guarantee_are_about_persons() -> None:
    table = rows_of(30, [1, 3, 2], [0, 4, 2, 2, 7])
    release = anonto.mask(table, plan_with(["ill", "sex"], 3), seed=SECRET)
    evidence = release.evidence
    assert (evidence["n_records"], evidence["unit"]) == (30, "person")
    assert evidence["rows"] == {
        "before": table.height,
        "after": table.height,
        "most_of_a_person": 3,
        "persons_alone_by_number": 0,
    }
    guarantee = evidence["steps"][0]["guarantee"]
    assert guarantee["proved"]
    assert "each person has one record" not in guarantee["conditions"]
    assert "all rows of a person" in guarantee["conditions"]
    assert evidence["dropped_columns"] == ["pid"]


@pytest.mark.parametrize("role", ["quasi-identifier", "confidential", "other"])
def test_nothing_is_proved_where_the_number_of_rows_of_a_person_leaves_unmasked(role: str) -> None:
    table = rows_of(30, [1, 3, 2], [0, 4, 2, 2, 7])
    plan = plan_with(["sex"], 3, ill={"kind": "set", "ontology": ILLS, "role": role})
    with pytest.warns(AnontoWarning) if role == "quasi-identifier" else nullcontext():
        guarantee = anonto.mask(table, plan, seed=SECRET).evidence["steps"][0]["guarantee"]
    assert not guarantee["proved"]
    assert "leaves out 'ill'" in guarantee["conditions"]


def test_pseudonyms_are_random_in_every_release_and_not_in_the_order_of_the_persons() -> None:
    table, plan = rows_of(40, [1, 2], [0, 4, 2, 2, 7]), plan_with(["ill", "sex"], pid={"role": "pseudonym"})
    first, second = (anonto.mask(table, plan, seed=SECRET + n).table["pid"].unique(maintain_order=True) for n in (0, 1))
    assert sorted(first) == sorted(second) == list(range(1, 41))
    assert first.to_list() != second.to_list()
    assert first.to_list() != sorted(first)


def test_saved_rows_are_shuffled_so_that_those_of_a_person_are_not_together(tmp_path: Path) -> None:
    table = rows_of(60, [4], [0, 4, 2, 2, 7])
    plan = plan_with(["ill", "sex"], pid={"role": "pseudonym"})
    anonto.mask(table, plan, seed=SECRET).save(tmp_path / "out.csv")
    saved = pl.read_csv(tmp_path / "out.csv")
    neighbours = (saved["pid"] == saved["pid"].shift(1)).sum()
    assert neighbours < 20  # of 180 if they were together
    assert bundles(saved, "pid") == bundles(table, "pid")


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_the_same_rows_come_out_of_every_library(library: str) -> None:
    table, plan = rows_of(20, [1, 2], [0, 4, 2]), plan_with(["ill", "sex"])
    given_table = table if library == "polars" else table.to_pandas() if library == "pandas" else table.to_arrow()
    masked = anonto.mask(given_table, plan, seed=SECRET).table
    assert type(masked).__module__.startswith(library)
    expected = anonto.mask(table, plan, seed=SECRET).table
    assert pl.DataFrame(masked).rows() == expected.rows()


# ------------------------------------------------------------------------------------------------ sets in one row


def sets_in(form: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The same sets as several columns, as a text, or as a list."""
    cells = [[CODES[n % 5], *([CODES[(n * 3) % 7]] if n % 2 else [])] for n in range(40)]
    ages = [20 + n for n in range(40)]
    described: dict[str, Any] = {"kind": "set", "ontology": ILLS}
    if form == "from":
        columns = {"dx1": [one[0] for one in cells], "dx2": [(one[1:] or [None])[0] for one in cells]}
        return pl.DataFrame({**columns, "age": ages}), {**described, "from": ["dx1", "dx2"]}
    if form == "separator":
        return pl.DataFrame({"ills": ["; ".join(one) for one in cells], "age": ages}), {**described, "separator": ";"}
    return pl.DataFrame({"ills": cells, "age": ages}), described


@pytest.mark.parametrize("form", ["from", "separator", "list"])
def test_sets_are_columns_a_text_or_a_list_and_leave_in_the_same_form(form: str) -> None:
    table, described = sets_in(form)
    plan = {
        "columns": {"ills": described, "age": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["ills", "age"], "k": 4}],
    }
    masked = anonto.mask(table, plan, seed=SECRET).table
    assert masked.columns == table.columns
    assert masked.dtypes == table.dtypes
    inner = Units(FrameAdapter(table), plan_of(plan)).records["ills"]
    again = Units(FrameAdapter(masked), plan_of(plan)).records["ills"]
    assert inner.sort().equals(again.sort())


def test_the_three_forms_of_a_set_give_the_same_release() -> None:
    released = []
    for form in ("from", "separator", "list"):
        table, described = sets_in(form)
        plan = {
            "columns": {"ills": described, "age": {"kind": "numeric"}},
            "steps": [{"method": "group-swap", "columns": ["ills", "age"], "k": 4}],
        }
        masked = anonto.mask(table, plan, seed=SECRET).table
        released.append(Units(FrameAdapter(masked), plan_of(plan)).records.select("ills", "age").rows())
    assert released[0] == released[1] == released[2]


@pytest.mark.parametrize(
    ("columns", "released"),
    [
        ({"a": list(range(8)), "b": ["x", "y"] * 4}, (pl.String, pl.String)),
        ({"a": list(range(8)), "b": pl.Series([1, 2] * 4, dtype=pl.Int8)}, (pl.Int64, pl.Int64)),
        ({"a": [1.5, 2.0] * 4, "b": [1, 2] * 4}, (pl.Float64, pl.Float64)),
        ({"a": [1, 2] * 4, "b": pl.Series([None] * 8, dtype=pl.Null)}, (pl.Int64, pl.Int64)),
        ({"a": [True, False] * 4, "b": [True, False] * 4}, (pl.String, pl.String)),
    ],
)
def test_columns_of_a_set_leave_with_a_type_that_holds_the_elements_of_all(
    columns: dict[str, Any], released: tuple[Any, ...]
) -> None:
    table = pl.DataFrame({**columns, "sex": ["f", "m"] * 4})
    plan = {
        "columns": {"ills": {"kind": "set", "from": ["a", "b"]}},
        "steps": [{"method": "random-swap", "columns": ["ills", "sex"]}],
    }
    masked = anonto.mask(table, plan, seed=SECRET).table
    assert tuple(masked.select("a", "b").dtypes) == released
    sets = [Units(FrameAdapter(one), plan_of(plan)).records["ills"].sort() for one in (table, masked)]
    assert sets[0].equals(sets[1])


def test_lists_of_pandas_are_sets_of_all_their_elements() -> None:
    import pandas as pd

    lists = [["x", "y"], ["x"], ["z"], ["y", "z"]] * 2
    plan = {
        "columns": {"ills": {"kind": "set"}},
        "steps": [{"method": "random-swap", "columns": ["ills", "sex"]}],
    }
    masked = anonto.mask(pd.DataFrame({"ills": lists, "sex": ["f", "m"] * 4}), plan, seed=SECRET).table
    assert sorted(map(list, masked["ills"])) == sorted(lists)
    mixed = pd.DataFrame({"ills": [*lists[:-1], "secret-code"], "sex": ["f", "m"] * 4})
    with pytest.raises(ColumnError, match="not all of its cells are lists") as caught:
        anonto.mask(mixed, plan, seed=SECRET)
    assert "secret-code" not in str(caught.value)


# ------------------------------------------------------------------------------------------------ refusals


def test_elements_that_the_type_of_a_column_cannot_hold_are_refused_without_showing_them() -> None:
    table = pl.DataFrame({"a": list(range(8)), "sex": ["f", "m"] * 4})
    plan = {"columns": {"a": {"kind": "set"}}, "steps": [{"method": "group-swap", "columns": ["a"], "k": 2}]}
    units = Units(FrameAdapter(table), plan_of(plan))
    with pytest.raises(ColumnError, match="1 released element of a set") as caught:
        units.row_maker.to_rows(units.records.with_columns(a=pl.lit("1").replace("1", "V10")).head(1), None)
    assert "V10" not in str(caught.value)


def refused(table: pl.DataFrame, plan: dict[str, Any], kind: type[AnontoError] = ColumnError) -> str:
    with pytest.raises(kind) as caught:
        anonto.mask(table, plan, seed=SECRET)
    return str(caught.value)


def test_a_person_column_with_missing_cells_is_refused_with_their_number() -> None:
    table = rows_of(9, [2], [0, 1]).with_columns(
        pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise("pid").alias("pid")
    )
    assert "3 rows have no value in 'pid'" in refused(table, plan_with(["ill", "sex"]))


def test_a_column_that_differs_between_the_rows_of_a_person_is_refused_with_what_to_do() -> None:
    table = rows_of(9, [2], [0, 1]).with_row_index("visit")
    message = refused(table, plan_with(["ill", "sex"]))
    assert "visit" in message
    assert "9 persons" in message
    assert 'kind = "set"' in message


def test_one_person_in_all_rows_is_too_few_for_groups() -> None:
    table = rows_of(9, [2], [0, 1]).with_columns(pid=pl.lit("x"), sex=pl.lit("f"))
    message = refused(table, plan_with(["ill", "sex"]), AnontoError)
    assert message.startswith("1 record of ")
    assert message.endswith("; mask more records at once.")


def test_an_empty_set_is_a_missing_cell_and_moves_like_one() -> None:
    table = rows_of(20, [1, 2], [0, 4, 2]).with_columns(
        pl.when(pl.col("pid").is_in(["p1", "p2"])).then(pl.lit("")).otherwise("ill").alias("ill")
    )
    release = anonto.mask(table, plan_with(["ill", "sex"], 4), seed=SECRET)
    assert release.table["ill"].null_count() == (table["ill"] == "").sum()


def test_ten_thousand_codes_in_one_set_are_masked() -> None:
    table = pl.DataFrame(
        {"ills": [";".join(f"c{n}" for n in range(10_000)), "c1;c2", "c3", "c1", "c9", "c2"], "age": [1, 2, 3, 4, 5, 6]}
    )
    plan = {
        "columns": {"ills": {"kind": "set", "separator": ";"}, "age": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["ills", "age"], "k": 3}],
    }
    masked = anonto.mask(table, plan, seed=SECRET).table
    assert sorted(map(len, masked["ills"])) == sorted(map(len, table["ills"]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"columns": {"ill": {"kind": "set", "from": ["dx1"]}, "dx1": {}}}, "part of the set"),
        ({"steps": [{"method": "group-swap", "columns": ["pid"], "k": 2}]}, "whose rows these are"),
        ({"steps": [{"method": "frequency-swap", "columns": ["ill"], "k": 2}]}, "whose cells are sets"),
    ],
)
def test_plans_that_contradict_themselves_about_persons_or_sets_are_refused(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        Plan.from_dict({**plan_with(["ill", "sex"]), **changes})


def test_a_set_joined_under_the_name_of_another_column_is_refused() -> None:
    table = pl.DataFrame({"dx1": ["a", "b"], "dx2": ["c", "d"], "ill": ["e", "f"]})
    plan = plan_with(["ill"], person=None, ill={"kind": "set", "from": ["dx1", "dx2"]})
    plan["columns"].pop("sex")
    assert "another name" in refused(table, plan)


def test_cells_with_the_characters_that_mark_elements_are_refused() -> None:
    table = pl.DataFrame({"ill": ["a␟b", "c", "d", "e"]})
    plan = plan_with(["ill"], person=None, ill={"kind": "set", "separator": ";"})
    plan["columns"].pop("sex")
    assert "mark elements" in refused(table, plan)


def test_a_plan_with_persons_and_sets_is_the_same_after_writing_it_to_a_file(tmp_path: Path) -> None:
    plan = plan_with(["ill", "sex"], ill={"kind": "set", "from": ["dx1", "dx2"], "ontology": "illnesses"})
    (tmp_path / "plan.toml").write_text(Plan.from_dict(plan).to_toml(), encoding="utf-8")
    again = Plan.from_toml(tmp_path / "plan.toml")
    assert again.to_dict() == Plan.from_dict(plan).to_dict()
    assert again.person == "pid"


# ------------------------------------------------------------------------------------------------ assess and sweep


def test_assess_counts_persons_with_the_private_record_and_refuses_rows_alone(tmp_path: Path) -> None:
    table, plan = rows_of(60, [1, 3, 2], [0, 4, 2, 2, 7, 9]), plan_with(["ill", "sex"], 5)
    anonto.mask(table, plan, seed=SECRET).save(tmp_path / "out.csv")
    found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert found.n_records == 60
    linkage = next(one for one in found.risk if one.attack == "method-aware-linkage")
    assert linkage.n == 60
    assert linkage.low <= 1 / 5
    assert found.facts["guarantees"][0]["proved"]
    found.to_html(tmp_path / "report.html")
    found.to_html(tmp_path / "public.html", edition="public")
    for page in ("report.html", "public.html"):
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert f'<p class="lead">60 persons in {table.height} rows; every count below is of persons.' in text
    with pytest.raises(ReleaseError, match="private record"):
        anonto.assess(table, tmp_path / "out.csv", plan)


def test_a_release_with_other_rows_than_the_private_record_makes_is_refused(tmp_path: Path) -> None:
    table, plan = rows_of(60, [1, 3, 2], [0, 4, 2, 2, 7, 9]), plan_with(["ill", "sex"], 5)
    anonto.mask(table, plan, seed=SECRET).save(tmp_path / "out.csv")
    changed = pl.read_csv(tmp_path / "out.csv").with_columns(sex=pl.lit("f"))
    changed.write_csv(tmp_path / "out.csv")
    with pytest.raises(AnontoError):
        anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")


def test_assess_finds_the_persons_of_a_release_by_their_pseudonyms() -> None:
    table = rows_of(60, [1, 3, 2], [0, 4, 2, 2, 7, 9])
    plan = plan_with(["ill", "sex"], 5, pid={"role": "pseudonym"})
    found = anonto.assess(table, anonto.mask(table, plan, seed=SECRET).table, plan)
    assert found.n_records == 60


def test_a_sweep_tries_the_methods_that_mask_sets_and_names_the_others() -> None:
    table, plan = rows_of(80, [1, 3, 2], [0, 4, 2, 2, 7, 9]), plan_with(["ill", "sex"], 5)
    found = anonto.sweep(table, plan, seeds=1, workers=1, max_risk=0.5)
    assert found.n_records == 80
    assert {one.plan.steps[0].method.name for one in found.points} <= {"group-swap", "microaggregate", "random-swap"}
    assert any("sets" in one.reason for one in found.skipped)
    chosen = found.best(0.5)
    assert chosen.point is not None
    assert chosen.point.plan.person == "pid"


def test_a_profile_counts_persons() -> None:
    from anonto.profile.profile import profile

    table = rows_of(30, [1, 3, 2], [0, 4, 2, 2, 7])
    found = profile(table, plan_of(plan_with(["ill", "sex"])))
    assert (found["n_records"], found["unit"], found["rows"]["before"]) == (30, "person", table.height)


def test_ontologies_of_sets_are_found_beside_the_plan_file_by_sweep_and_profile(tmp_path: Path) -> None:
    from anonto.profile.profile import profile

    edges = [f"{one},all" for one in CODES]
    (tmp_path / "codes.csv").write_text("\n".join(["child,parent", *edges]) + "\n", encoding="utf-8")
    plan = plan_with(["ill", "sex"], 3, ill={"kind": "set", "ontology": "codes.csv"})
    (tmp_path / "plan.toml").write_text(Plan.from_dict(plan).to_toml(), encoding="utf-8")
    table, kept = rows_of(40, [1, 2], [0, 4, 2, 2, 7]), tmp_path / "journal"
    found = anonto.sweep(table, tmp_path / "plan.toml", {"random-swap": {}}, seeds=1, workers=1, resume=kept)
    assert found.points
    (tmp_path / "codes.csv").write_text("\n".join(["child,parent", *edges[:-1], f"{CODES[-1]},{CODES[0]}"]) + "\n")
    with pytest.raises(AnontoError):  # the journal is of the ontology, not of its path
        anonto.sweep(table, tmp_path / "plan.toml", {"random-swap": {}}, seeds=1, workers=1, resume=kept)
    column = next(one for one in profile(table, plan_of(tmp_path / "plan.toml"))["columns"] if one["name"] == "ill")
    assert column["ontologies"][0]["coverage"] == {"cells": 1.0, "distinct": 1.0}


def test_what_looks_at_single_rows_refuses_a_plan_with_persons() -> None:
    table, plan = rows_of(30, [1, 3], [0, 4, 2]), plan_with(["ill", "sex"])
    with pytest.raises(ReleaseError, match="pseudonyms"):
        anonto.verify({"ill": "flu", "sex": "f"}, table, plan)
    with pytest.raises(PlanError, match="single rows"):
        anonto.fit(table, plan)
