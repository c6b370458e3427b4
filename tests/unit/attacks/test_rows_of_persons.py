"""Persons known by their number of rows, and rows known to be one person's, against slow counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonto
import oracles
from anonto.attacks.comparison import Comparison
from anonto.attacks.compute.rows_of_persons import row_count, same_person
from anonto.encoding.comparison import Amounts, BothCells
from anonto.encoding.prepare import opener
from anonto.encoding.set_space import ROW
from budget import examples

if TYPE_CHECKING:
    from pathlib import Path

    from anonto.assessment.assess import Assessment

NUMBERS = st.lists(st.integers(1, 5), min_size=2, max_size=15)


def compared(before: list[int], after: list[int], town: list[str] | None = None, *, joined: bool = False) -> Comparison:
    """A comparison of persons with these numbers of rows, and a column that is the same in all rows of a person."""
    texts = [pl.Series([ROW.join(["c"] * n) for n in side]) for side in (before, after)]
    cells = {"ills": BothCells.of(*texts)}
    if town is not None:
        cells["town"] = BothCells.of(pl.Series(town), pl.Series(town))
    return Comparison(
        steps=[],
        columns={},
        pairs={},
        cells=cells,
        confidential=frozenset(),
        amounts=Amounts.of_rows(len(before), len(after)),
        rows=None,  # type: ignore[arg-type]
        open_once=opener(),
        facts={"rows_are_joined": joined},
        sets=["ills"],
        by_person=True,
    )


@given(before=NUMBERS, data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_the_number_of_rows_links_as_a_slow_search_links(before: list[int], data: st.DataObject) -> None:
    after = data.draw(st.permutations(before))
    (found,) = row_count(compared(before, after), None)
    assert found.rate == pytest.approx(oracles.linked_by_number_of_rows(before, after))
    assert found.baseline == pytest.approx(1 / len(before))
    assert found.details["alone_by_number"]["before"] == sum(before.count(one) == 1 for one in before) / len(before)


@given(numbers=NUMBERS.filter(lambda one: max(one) > 1), data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_rows_belong_together_as_often_as_pairs_of_rows_do(numbers: list[int], data: st.DataObject) -> None:
    towns = data.draw(st.lists(st.sampled_from("ab"), min_size=len(numbers), max_size=len(numbers)))
    found = same_person(compared(numbers, numbers, towns))
    rows = [(person, towns[person]) for person, n in enumerate(numbers) for _ in range(n)]
    assert found.rate == pytest.approx(oracles.rows_of_same_person(rows))
    assert found.baseline == pytest.approx(oracles.rows_of_same_person([(person, "") for person, _ in rows]))
    assert found.n == sum(n > 1 for n in numbers)


def test_pseudonyms_join_the_rows_of_a_person_by_design() -> None:
    found = same_person(compared([2, 1, 3], [2, 1, 3], joined=True))
    assert (found.rate, found.n, found.details["by_design"]) == (1.0, 2, True)
    assert found.baseline < 0.5


# ------------------------------------------------------------------------------------------------ whole releases


def visits() -> pl.DataFrame:
    sizes = [1 + person % 4 for person in range(120)] + [9]
    rows = [(f"p{n}", 20 + n % 40, f"c{(3 * n + row) % 11}") for n, size in enumerate(sizes) for row in range(size)]
    return pl.DataFrame(rows, schema=["pid", "age", "ill"], orient="row")


def assessed(folder: Path, columns: list[str], person: str = "identifier", **described: Any) -> Assessment:
    plan = {
        "table": {"person": "pid"},
        "columns": {
            "ill": {"kind": "set", **described},
            "age": {"kind": "numeric"},
            **({"pid": {"role": person}} if person != "identifier" else {}),
        },
        "steps": [{"method": "group-swap", "columns": columns, "k": 8}],
    }
    anonto.mask(visits(), plan, seed=1 << 100).save(folder / "out.parquet")
    return anonto.assess(visits(), folder / "out.parquet", plan, private=folder / "out.parquet.private.json")


def test_a_number_of_rows_that_moves_with_the_set_links_no_more_than_one_in_k(tmp_path: Path) -> None:
    found = assessed(tmp_path, ["ill", "age"])
    alone, with_age = [one for one in found.risk if one.attack == "row-count"]
    assert (alone.columns, with_age.columns) == (("ill",), ("age", "ill"))
    assert alone.low <= 1 / 8
    assert with_age.low <= 1 / 8
    assert alone.n == 121
    assert alone.details["alone_by_number"] == {"before": 1 / 121, "after": 1 / 121}
    assert "the release does not say so" in alone.knowledge
    assert sum(one.attack == "same-person" for one in found.risk) == 1


def test_a_number_of_rows_that_stays_gives_persons_away(tmp_path: Path) -> None:
    found = assessed(tmp_path, ["age"], "pseudonym", role="confidential")
    alone, with_age = [one for one in found.risk if one.attack == "row-count"]
    assert alone.rate == pytest.approx(5 / 121)  # one of each number of rows; nothing but the number is known
    assert with_age.rate > alone.rate
    assert alone.details["rows_are_joined"]
    (same,) = [one for one in found.risk if one.attack == "same-person"]
    assert same.rate == 1.0
    assert "pseudonym" in same.knowledge
    assert found.worst is not None
    assert found.worst.rate >= with_age.rate


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_reports_say_what_was_found(tmp_path: Path, edition: str) -> None:
    found = assessed(tmp_path, ["ill", "age"])
    found.to_html(tmp_path / "report.html", edition=edition)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ("belongs to the same person" in page) == (edition == "internal")


def test_tables_of_one_row_for_each_person_are_not_attacked_by_rows() -> None:
    table = pl.DataFrame({"ills": [f"c{n % 7};c{n % 5}" for n in range(60)], "age": list(range(60))})
    plan = {
        "columns": {"ills": {"kind": "set", "separator": ";"}, "age": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["ills", "age"], "k": 5}],
    }
    found = anonto.assess(table, anonto.mask(table, plan, seed=1 << 100).table, plan, same_order=True)
    assert {"row-count", "same-person"}.isdisjoint(one.attack for one in found.risk)
