"""One's own rows in a release of persons or sets: the same answers as for records that have the sets as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import anonto
from anonto.errors import AnontoError, ReleaseError

if TYPE_CHECKING:
    from pathlib import Path

ILLS = anonto.read_ontology("illnesses")
CODES = sorted(ILLS.ids)
SECRET = 1 << 100 | 7
N = 40


def visits() -> pl.DataFrame:
    rows = [
        (f"p{one}", f"person {one}", "fm"[one % 2], CODES[(one * 3 + row * (one % 4)) % len(CODES)])
        for one in range(N)
        for row in range(1 + one % 3)
    ]
    return pl.DataFrame(rows, schema=["pid", "name", "sex", "ill"], orient="row")


def plan_for(move: str = "apart", k: int = 4, **table: Any) -> dict[str, Any]:
    return {
        "table": {"person": "pid", **table},
        "columns": {
            "pid": {"role": "pseudonym"},
            "name": {"role": "identifier"},
            "ill": {"kind": "set", "ontology": ILLS},
            "sex": {},
        },
        "steps": [{"method": "group-swap", "columns": ["ill", "sex"], "k": k, "move": move}],
    }


def own(person: int) -> pl.DataFrame:
    return visits().filter(pl.col("pid") == f"p{person}")


def sets_of(table: pl.DataFrame) -> list[tuple[list[str], str]]:
    persons = table.group_by("pid", maintain_order=True).agg(pl.col("ill").unique().sort(), pl.col("sex").first())
    return persons.select("ill", "sex").rows()


@pytest.mark.parametrize("move", ["apart", "together"])
@pytest.mark.parametrize("person", [0, 1, 5, 11])
def test_persons_are_looked_for_by_the_set_of_all_their_rows(move: str, person: int) -> None:
    release = anonto.mask(visits(), plan_for(move), seed=SECRET).table
    found = anonto.verify(own(person).select("ill", "sex"), release, plan_for(move))
    assert found.n_records == N
    [hers] = sets_of(own(person))
    assert found.equal == sets_of(release).count(hers)
    assert found.absent == ()
    if move == "together":
        assert found.candidates is not None
        assert found.candidates >= 4
    else:
        assert found.at_least == 4


def test_every_persons_released_record_is_among_her_candidates() -> None:
    release = anonto.mask(visits(), plan_for("together"), seed=SECRET)
    records = sets_of(release.table)
    for person in range(0, N, 7):
        found = anonto.verify(own(person), release.table, plan_for("together"))
        assert found.distance == 0.0  # records move whole, so hers is somewhere
        assert found.equal == records.count(sets_of(own(person))[0]) > 0
        assert found.candidates is not None
        assert found.candidates >= found.equal


def test_identifiers_that_the_release_lacks_are_no_matter_for_assess_and_verify() -> None:
    release = anonto.mask(visits(), plan_for(), seed=SECRET).table
    assert anonto.assess(visits(), release, plan_for()).n_records == N
    assert anonto.verify(own(3), release, plan_for()).n_records == N


@pytest.mark.parametrize("form", ["from", "separator", "list"])
def test_sets_in_one_row_are_looked_for_in_any_order(form: str, tmp_path: Path) -> None:
    cells = [[CODES[n % 4], CODES[4 + n % 2]] for n in range(N)]
    described: dict[str, Any] = {"kind": "set", "ontology": ILLS}
    if form == "from":
        table = pl.DataFrame({"dx1": [one[0] for one in cells], "dx2": [one[1] for one in cells]})
        described["from"] = ["dx1", "dx2"]
        record: dict[str, Any] = {"dx1": cells[7][1], "dx2": cells[7][0]}
    elif form == "separator":
        table, record = pl.DataFrame({"ills": [";".join(one) for one in cells]}), {"ills": ";".join(cells[7][::-1])}
        described["separator"] = ";"
    else:
        table, record = pl.DataFrame({"ills": cells}), {"ills": cells[7][::-1]}
    table = table.with_columns(age=pl.int_range(N) % 7 + 20)
    plan = {
        "columns": {"ills": described, "age": {"kind": "numeric"}},
        "steps": [{"method": "group-swap", "columns": ["ills", "age"], "k": 4, "move": "together"}],
    }
    path = tmp_path / "out.parquet"
    anonto.mask(table, plan, seed=SECRET).save(path)
    found = anonto.verify({**record, "age": 20}, path, plan)
    same = sum(sorted(one) == sorted(cells[7]) and n % 7 == 0 for n, one in enumerate(cells))
    assert found.equal == same > 0
    assert found.candidates is not None
    assert found.candidates >= 4


def test_releases_that_do_not_say_whose_rows_they_have_are_refused_with_the_reason() -> None:
    plan = plan_for()
    plan["columns"]["pid"] = {}
    release = anonto.mask(visits(), plan, seed=SECRET).table
    with pytest.raises(ReleaseError, match="Nothing in the release says which rows belong to one person"):
        anonto.verify(own(2), release, plan)


def test_a_person_with_more_rows_than_were_used_is_refused() -> None:
    plan = plan_for(at_most=2)
    release = anonto.mask(visits(), plan, seed=SECRET).table
    assert anonto.verify(own(1), release, plan).n_records == N
    with pytest.raises(ReleaseError, match="You have 3 rows, and the plan uses at most 2"):
        anonto.verify(own(2), release, plan)


def test_a_column_of_the_set_that_the_own_record_lacks_is_named() -> None:
    release = anonto.mask(visits(), plan_for(), seed=SECRET).table
    with pytest.raises(AnontoError, match="ill"):
        anonto.verify({"sex": "f"}, release, plan_for())
    with pytest.raises(AnontoError, match="Expected one record"):
        anonto.verify(own(1).head(0), release, plan_for())
