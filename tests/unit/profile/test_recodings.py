"""Recodings that `anonto init` proposes, their reasons, and that masking accepts them."""

from __future__ import annotations

import datetime as dt
import tomllib
from typing import Any

import polars as pl
import pytest

import anonto
from anonto.encoding.recode import Recode
from anonto.profile.propose import Proposal, propose

N = 60
SEED = 314159265358979323846264338327950288419
DAYS = [f"{1 + n % 28:02}.{1 + n % 12:02}.2020" for n in range(N)]
AMBIGUOUS = [f"{1 + n % 12:02}/{1 + n % 11:02}/2020" for n in range(N)]
QUIET = pytest.mark.filterwarnings("ignore:Nobody has confirmed:anonto.errors.AnontoWarning")


def stays(**columns: list[Any]) -> pl.DataFrame:
    """Stays of 25 patients with some more columns."""
    return pl.DataFrame(
        {"patient_id": [f"p{n % 25}" for n in range(N)], "sex": ["fm"[n % 2] for n in range(N)], **columns}
    )


def recode_of(proposal: Proposal, name: str) -> Recode | None:
    return proposal.plan.columns[name].recode


def why(proposal: Proposal, name: str) -> str:
    return " ".join(proposal.reasons[name])


# ------------------------------------------------------------------------------------------------ dates


@pytest.mark.parametrize(
    "cells",
    [
        DAYS,
        [f"Mar {1 + n % 28}, 2020" for n in range(N)],
        [f"2020-03-{1 + n % 28:02} 10:{n % 60:02}" for n in range(N)],
        [f"202003{1 + n % 28:02}" for n in range(N)],
        [dt.date(2020, 3, 1 + n % 28) for n in range(N)],
        [dt.datetime(2020, 3, 1 + n % 28, n % 24, tzinfo=dt.UTC) for n in range(N)],
    ],
)
@QUIET
def test_dates_are_shifted_by_person_where_a_column_numbers_persons_else_cut_to_months(cells: list[Any]) -> None:
    table = stays(x7=cells)
    shifted, cut = propose(table), propose(table.drop("patient_id"))
    assert (shifted.plan.columns["x7"].kind, shifted.plan.columns["x7"].role) == ("date", "quasi-identifier")
    assert recode_of(shifted, "x7") == Recode(shift="person", days=180, person="patient_id")
    assert "the same secret number of days" in why(shifted, "x7")
    assert recode_of(cut, "x7") == Recode(to="month")
    assert "only month and year stay" in why(cut, "x7")
    for rows, proposal in ((table, shifted), (table.drop("patient_id"), cut)):
        release = anonto.mask(rows, proposal.plan, seed=SEED)
        assert list(release.evidence["recoded"]) == ["x7"]
        assert release.table["x7"].dtype == table["x7"].dtype


@pytest.mark.parametrize("name", ["birth_date", "DOB", "Geburtsdatum", "date of birth", "birthDate"])
@QUIET
def test_of_dates_of_birth_only_the_year_stays_also_where_persons_are_known(name: str) -> None:
    table = stays(**{name: [dt.date(1930, 2, 3) + dt.timedelta(days=400 * (n % 25)) for n in range(N)]})
    proposal = propose(table)
    assert recode_of(proposal, name) == Recode(to="year")
    assert "only the year stays" in why(proposal, name)
    released = anonto.mask(table, proposal.plan, seed=SEED).table[name]
    assert set(released.dt.month()) == set(released.dt.day()) == {1}


@QUIET
def test_dates_are_cut_where_rows_without_a_person_prevent_a_shift() -> None:
    table = stays(admitted=DAYS).with_columns(
        pl.when(pl.int_range(N) < 5).then(None).otherwise("patient_id").alias("patient_id")
    )
    proposal = propose(table)
    assert recode_of(proposal, "admitted") == Recode(to="month")
    assert "rows without 'patient_id'" in why(proposal, "admitted")
    anonto.mask(table, proposal.plan, seed=SEED)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (AMBIGUOUS, "notation = 'd/m/Y' or notation = 'm/d/Y'"),
        (["2020-03-04", *(f"{n:02}.03.2020" for n in range(1, 20))] * 3, "more than one notation"),
        (["2020-02-30", *(f"2020-03-{n:02}" for n in range(1, 20))] * 3, "not all of them exist"),
        (["2020-03", "2020-04", "2020-05"] * 20, "a notation that can be read"),
    ],
)
@QUIET
def test_dates_that_cannot_be_read_for_sure_are_masked_as_texts_and_it_is_said_why(cells: list[str], said: str) -> None:
    table = stays(admitted=cells)
    proposal = propose(table)
    found = proposal.plan.columns["admitted"]
    assert (found.kind, found.role, found.recode) == ("nominal", "quasi-identifier", None)
    assert said in why(proposal, "admitted")
    assert "admitted" in proposal.plan.masked
    anonto.mask(table, proposal.plan, seed=SEED)


@QUIET
def test_a_later_date_in_another_notation_is_found_among_many() -> None:
    cells = [f"{1 + n % 28:02}.{1 + n // 28 % 12:02}.{1700 + n // 336}" for n in range(5_000)]
    mixed = [*cells[:3_001], "2020-03-04", *cells[3_001:]]
    assert propose(pl.DataFrame({"x7": cells})).plan.columns["x7"].kind == "date"
    found = propose(pl.DataFrame({"x7": mixed}))
    assert found.plan.columns["x7"].kind == "nominal"
    assert "more than one notation" in why(found, "x7")


@QUIET
def test_times_of_day_and_durations_are_read_as_such_but_not_recoded() -> None:
    table = stays(
        came_at=[f"{n % 24:02}:{n:02}" for n in range(N)], length_of_stay=[dt.timedelta(hours=n % 9) for n in range(N)]
    )
    proposal = propose(table)
    for name in ("came_at", "length_of_stay"):
        assert (proposal.plan.columns[name].kind, recode_of(proposal, name)) == ("date", None)
    anonto.mask(table, proposal.plan, seed=SEED)


def test_a_duration_gets_the_role_that_its_text_would_get() -> None:
    found = propose(stays(x7=[f"PT{n}H" for n in range(N)])).plan.columns["x7"]
    assert (found.role, found.review) == ("identifier", True)


def test_eight_digits_are_no_dates_unless_all_are_days_of_our_time() -> None:
    proposal = propose(stays(x7=[str(12000101 + n % 28) for n in range(N)]))
    assert proposal.plan.columns["x7"].kind != "date"


# ------------------------------------------------------------------------------------------------ ages and postcodes


@pytest.mark.parametrize(("oldest", "said"), [(99, "20 cells are 90 or more"), (80, "none is so old now")])
@QUIET
def test_ages_end_at_ninety(oldest: int, said: str) -> None:
    table = stays(age=[oldest - n % 40 for n in range(N)])
    proposal = propose(table)
    assert recode_of(proposal, "age") == Recode(top=90)
    assert said in why(proposal, "age")
    assert anonto.mask(table, proposal.plan, seed=SEED).table["age"].max() == min(90, oldest)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("age_months", [12 + n for n in range(N)]),
        ("age", [100 + n for n in range(N)]),
        ("age_group", [1 + n % 4 for n in range(N)]),
        ("age", ["0-9", "10-19", "20+"] * 20),
        ("height", [130 + n for n in range(N)]),
    ],
)
def test_other_numbers_are_not_cut_like_ages(name: str, cells: list[Any]) -> None:
    assert recode_of(propose(stays(**{name: cells})), name) is None


@pytest.mark.parametrize(("name", "form"), [("zip", "{:05}"), ("PLZ", "0{}"), ("postcode", "SW{} 1AA")])
@QUIET
def test_postcodes_keep_three_characters(name: str, form: str) -> None:
    table = stays(**{name: [form.format(1000 + n % 7 * 11) for n in range(N)]})
    proposal = propose(table)
    assert recode_of(proposal, name) == Recode(prefix=3)
    assert "at_least = 20000" in why(proposal, name)
    assert set(anonto.mask(table, proposal.plan, seed=SEED).table[name].str.len_chars()) == {3}


@QUIET
def test_postcodes_stored_as_numbers_and_names_of_places_keep_all_and_it_is_said() -> None:
    table = stays(zip=[10000 + n % 7 * 11 for n in range(N)], postal=["north", "south", "east"] * 20)
    proposal = propose(table)
    assert recode_of(proposal, "zip") is None
    assert "have lost leading zeros" in why(proposal, "zip")
    assert recode_of(proposal, "postal") is None
    anonto.mask(table, proposal.plan, seed=SEED)


# ------------------------------------------------------------------------------------------------ what is dropped


def test_of_numbers_that_link_rows_only_the_reason_names_pseudonyms() -> None:
    table = stays(
        visit_id=[f"v{n // 2}" for n in range(N)],
        record_no=[f"r{n}" for n in range(N)],
        mother_id=[f"r{n + 1}" if n % 3 == 0 and n < N - 1 else None for n in range(N)],
    )
    proposal = propose(table)
    columns = proposal.plan.columns
    assert {columns[name].role for name in ("patient_id", "visit_id", "record_no", "mother_id")} == {"identifier"}
    assert "its 30 values repeat in 60 cells" in why(proposal, "visit_id")
    assert "its 20 values occur in 'record_no', too" in why(proposal, "mother_id")
    assert "pseudonym" not in why(proposal, "record_no") + why(proposal, "patient_id")


@QUIET
def test_a_plan_with_recodings_and_free_text_reads_back_and_drops_the_text() -> None:
    table = stays(
        admitted=DAYS,
        age=[35 + n for n in range(N)],
        note=[f"Patient {n} was seen at night by the doctor" for n in range(N)],
    )
    proposal = propose(table)
    text = proposal.to_toml()
    assert tomllib.loads(text)["columns"]["admitted"]["recode"] == {
        "shift": "person",
        "days": 180,
        "person": "patient_id",
    }
    assert tomllib.loads(text)["columns"]["note"]["role"] == "free-text"
    released = anonto.mask(table, proposal.plan, seed=SEED).table
    assert released.columns == ["sex", "admitted", "age"]


@QUIET
def test_steps_are_tried_on_a_proposal_with_recodings() -> None:
    table = stays(admitted=DAYS, age=[35 + n for n in range(N)])
    found = anonto.sweep(table, propose(table).plan, {"random-swap": {}}, workers=1, seeds=1)
    assert found.points
