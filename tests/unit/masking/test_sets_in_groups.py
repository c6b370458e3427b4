"""Microaggregation of sets: the persons of a group leave with one record, one set and one number of rows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.errors import PlanError
from anonto.masking.plan import Plan, plan_of
from anonto.masking.units import Units
from budget import examples

if TYPE_CHECKING:
    from pathlib import Path

ILLS = anonto.read_ontology("illnesses")
CODES = sorted(ILLS.ids)
SECRET = 1 << 100 | 7
FORMS = ["cell", "from", "separator", "list"]


def plan_with(k: int, form: str, *, person: bool = True, **parameters: Any) -> dict[str, Any]:
    described: dict[str, Any] = {"kind": "set", "ontology": ILLS}
    if form == "from":
        described["from"] = ["dx1", "dx2"]
    if form == "separator":
        described["separator"] = ";"
    return {
        "table": {"person": "pid"} if person else {},
        "columns": {"pid": {"role": "pseudonym" if person else "identifier"}, "ills": described, "sex": {}},
        "steps": [{"method": "microaggregate", "columns": ["ills", "sex"], "k": k, **parameters}],
    }


def rows_of(sets: list[list[list[str]]], form: str) -> pl.DataFrame:
    """The rows of persons, each with some codes."""
    columns: dict[str, list[Any]] = {"pid": [], "sex": []}
    names = ["dx1", "dx2"] if form == "from" else ["ills"]
    columns |= {name: [] for name in names}
    for person, rows in enumerate(sets):
        for codes in rows:
            columns["pid"].append(f"p{person}")
            columns["sex"].append("fm"[person % 2])
            if form == "from":
                for place, name in enumerate(names):
                    columns[name].append(codes[place] if place < len(codes) else None)
            else:
                cell = {"cell": codes[0] if codes else None, "separator": ";".join(codes), "list": codes}[form]
                columns["ills"].append(cell)
    return pl.DataFrame(columns, schema_overrides={name: pl.List(pl.String) for name in names if form == "list"})


def written_bundles(table: pl.DataFrame, by: str = "pid") -> dict[Any, tuple[Any, ...]]:
    """For each person all her rows as they are written."""
    rows: dict[Any, list[Any]] = {}
    for row in table.with_columns(pl.col(pl.List).list.join("+")).to_dicts():
        rows.setdefault(row.pop(by), []).append(tuple(sorted((name, str(cell)) for name, cell in row.items())))
    return {person: tuple(sorted(found)) for person, found in rows.items()}


CODE_LISTS = st.lists(st.sampled_from(CODES), min_size=1, max_size=2, unique=True)
PERSONS = st.lists(st.lists(CODE_LISTS, min_size=1, max_size=4), min_size=8, max_size=24)


@pytest.mark.parametrize("form", FORMS)
@given(
    sets=PERSONS,
    k=st.integers(min_value=2, max_value=4),
    centroid=st.sampled_from(["taxonomy", "sample"]),
    kind=st.sampled_from(["matching", "best-match-average"]),
)
@settings(max_examples=examples(12))
def test_k_persons_have_the_same_rows_as_they_are_written(
    form: str, sets: list[list[list[str]]], k: int, centroid: str, kind: str
) -> None:
    table, plan = rows_of(sets, form), plan_with(k, form, centroid=centroid)
    plan["columns"]["ills"]["set_distance"] = kind
    release = anonto.mask(table, plan, seed=SECRET)
    step = release.evidence["steps"][0]
    assert step["guarantee"]["proved"]
    assert step["real_k"] >= k
    assert release.table.columns == table.columns
    written = written_bundles(release.table)
    assert len(written) == len(sets)
    assert min(Counter(written.values()).values()) >= k


@pytest.mark.parametrize("form", FORMS)
@given(sets=PERSONS)
@settings(max_examples=examples(8))
def test_released_rows_that_are_read_again_are_the_records_that_were_masked(
    form: str, sets: list[list[list[str]]]
) -> None:
    plan = plan_with(3, form)
    release = anonto.mask(rows_of(sets, form), plan, seed=SECRET)
    masked = release.masked_rows.records((), {})["ills"]
    again = Units(FrameAdapter(release.table), plan_of(plan)).records["ills"]
    assert again.to_list() == masked.to_list()


@pytest.mark.parametrize("form", ["from", "separator", "list"])
def test_sets_of_rows_have_no_more_elements_than_their_columns_hold(form: str) -> None:
    sets = [[[CODES[n % 7]]] if n % 3 else [[CODES[n % 7], CODES[(n + 2) % 7]]] for n in range(40)]
    table, plan = rows_of(sets, form), plan_with(4, form, person=False)
    release = anonto.mask(table, plan, seed=SECRET)
    assert release.evidence["steps"][0]["guarantee"]["proved"]
    assert release.table.height == 40
    assert release.table.columns == [name for name in table.columns if name != "pid"]
    written = Counter(release.table.with_columns(pl.col(pl.List).list.join("+")).rows())
    assert min(written.values()) >= 4


def test_rows_of_a_new_set_are_full() -> None:
    """Somebody with gaps in her rows does not show by them."""
    gaps = [[[CODES[0]], [CODES[n] for n in (1, 2)], [CODES[n] for n in (3, 4)]] for _ in range(5)]
    released = anonto.mask(rows_of(gaps, "from"), plan_with(5, "from"), seed=SECRET).table
    rows = released.group_by("pid").agg(pl.len(), pl.col("dx2").null_count().alias("short"))
    assert rows["len"].to_list() == [3] * 5
    assert rows["short"].to_list() == [1] * 5
    assert released["dx1"].to_list()[:3] == [CODES[0], CODES[2], CODES[4]]


def test_concepts_that_do_not_fit_a_column_of_numbers_leave_as_text(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("child,parent\n11,one\n12,one\n21,two\n22,two\none,all\ntwo,all\n")
    table = pl.DataFrame({"pid": [f"p{n // 2}" for n in range(24)], "code": [11, 21, 12, 22, 11, 22] * 4})
    plan = {
        "table": {"person": "pid"},
        "columns": {"code": {"kind": "set", "ontology": str(tmp_path / "codes.csv")}},
        "steps": [{"method": "microaggregate", "columns": ["code"], "k": 6}],
    }
    released = anonto.mask(table, plan, seed=SECRET).table["code"]
    assert set(released) <= {"11", "12", "21", "22", "one", "two", "all", 11, 12, 21, 22}
    assert released.null_count() == 0


def test_persons_without_codes_form_groups_too() -> None:
    sets = [[[]] if n % 2 else [[CODES[n % 7]], [CODES[n % 5]]] for n in range(24)]
    release = anonto.mask(rows_of(sets, "cell"), plan_with(4, "cell"), seed=SECRET)
    assert release.evidence["steps"][0]["real_k"] >= 4
    assert min(Counter(written_bundles(release.table).values()).values()) >= 4


@pytest.mark.parametrize("parameters", [{"block_rows": 300}, {}])
def test_sets_of_blocks_and_strata_are_joined(parameters: dict[str, Any]) -> None:
    sets = [[[CODES[(3 * n + row) % 7]] for row in range(1 + n % 3)] for n in range(700)]
    plan = plan_with(3, "cell", **parameters)
    if not parameters:
        plan["steps"][0] |= {"columns": ["ills"], "within": ["sex"]}
        plan["columns"]["sex"] = {"role": "other"}
    release = anonto.mask(rows_of(sets, "cell"), plan, seed=SECRET)
    assert release.evidence["steps"][0]["guarantee"]["proved"]
    assert min(Counter(written_bundles(release.table).values()).values()) >= 3


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"aggregate": "synthetic"}, "whose cells are sets, with microaggregate and aggregate = 'synthetic'"),
        ({"t": 0.3, "confidential": "age"}, "whose cells are sets, with microaggregate and t"),
    ],
)
def test_parameters_without_a_meaning_for_sets_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        Plan.from_dict(plan_with(3, "cell", **parameters))


def test_attacks_run_on_groups_of_persons_with_the_private_record_and_without(tmp_path: Path) -> None:
    sets = [[[CODES[(3 * n + 2 * row) % 7]] for row in range(1 + n % 4)] for n in range(60)]
    table, plan = rows_of(sets, "cell"), plan_with(5, "cell")
    anonto.mask(table, plan, seed=SECRET).save(tmp_path / "out.csv")
    found = anonto.assess(table, tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert found.facts["guarantees"][0]["proved"]
    without = anonto.assess(table, anonto.mask(table, plan, seed=SECRET).table, plan)
    for one in (found, without):
        assert one.n_records == 60
        linkages = [risk for risk in one.risk if risk.attack.endswith("linkage")]
        assert linkages
        assert all(risk.low <= 1 / 5 for risk in linkages)
        assert [risk.rate for risk in one.risk if risk.attack == "real-k"] == [0.0]
