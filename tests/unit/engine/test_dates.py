"""Columns of dates: every method for numbers masks them, they are cut and shifted, and leave as they came."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import anonto
from anonto.encoding.recoded_dates import cut_dates
from anonto.errors import AnontoError, ColumnError, PlanError
from anonto.io.date_notation import DAY
from anonto.masking.plan import Plan
from anonto.methods.registry import METHODS
from budget import examples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SEED = 1 << 100 | 5
N = 120
FIRST = dt.date(2015, 1, 1)
pytestmark = pytest.mark.filterwarnings("ignore::anonto.errors.AnontoWarning")


def table() -> pl.DataFrame:
    """Two visits of each person, with dates of several types."""
    rng = np.random.default_rng(1)
    days = [FIRST + dt.timedelta(days=int(one)) for one in rng.integers(0, 2000, N)]
    ends = [day + dt.timedelta(days=int(one)) for day, one in zip(days, rng.integers(0, 30, N), strict=True)]
    at = [dt.datetime(2020, 1, 1) + dt.timedelta(minutes=int(one)) for one in rng.integers(0, 10**5, N)]  # noqa: DTZ001
    return pl.DataFrame(
        {
            "pid": [f"p{row // 2}" for row in range(N)],
            "admitted": pl.Series(days).set(pl.Series(rng.random(N) < 0.05), None),
            "left": [f"{day.day}/{day.month}/{day.year}" for day in ends],
            "at": at,
        }
    )


def of_dates(
    recode: dict[str, Any] | None = None, names: tuple[str, ...] = ("admitted", "left", "at")
) -> dict[str, Any]:
    own = {"kind": "date", **({} if recode is None else {"recode": recode})}
    return {"columns": {"pid": {"role": "identifier"}, **dict.fromkeys(names, own)}, "steps": []}


def left_of(masked: pl.DataFrame) -> pl.Series:
    return masked["left"].str.to_date("%-d/%-m/%Y", strict=True)


@pytest.mark.parametrize("name", [one for one in METHODS if one in {"semantic-noise", "microaggregate", "rank-swap"}])
def test_methods_for_numbers_release_dates_in_their_notation_and_type(name: str) -> None:
    parameters = {"semantic-noise": {"noise_level": 0.1}, "microaggregate": {"k": 4}, "rank-swap": {"k": 4}}[name]
    plan = {**of_dates(), "steps": [{"method": name, "columns": ["admitted", "left", "at"], **parameters}]}
    before = table()
    masked = anonto.mask(before, plan, seed=SEED).table
    assert masked.schema == before.drop("pid").schema
    assert left_of(masked).null_count() == 0
    assert (masked["at"].dt.second() == 0).all()  # the column has minutes
    moved = (left_of(masked) - left_of(before)).dt.total_days().abs()
    assert 0 < moved.mean() < 600
    found = anonto.assess(before, masked, plan, same_order=True)
    assert 0 < found.utility["columns"]["admitted"]["rmse"] < 0.5


@given(st.lists(st.integers(-200_000, 200_000), min_size=1, max_size=30))
@settings(max_examples=examples(60))
def test_dates_are_cut_as_the_calendar_says(days: list[int]) -> None:
    moments = np.array(days, dtype=np.int64) * DAY + 3600
    epoch = dt.date(1970, 1, 1)
    dates = [epoch + dt.timedelta(days=one) for one in days]
    expected = {
        ("month", None): [one.replace(day=1) for one in dates],
        ("quarter", None): [one.replace(month=(one.month - 1) // 3 * 3 + 1, day=1) for one in dates],
        ("year", None): [one.replace(month=1, day=1) for one in dates],
        ("week", None): [one - dt.timedelta(days=one.weekday()) for one in dates],
        ("day", None): dates,
        ("year", "season"): [
            one.replace(month={12: 12, 1: 1, 2: 1}.get(one.month, one.month // 3 * 3), day=1) for one in dates
        ],
    }
    for (to, keep), wanted in expected.items():
        assert cut_dates(moments, to, keep).tolist() == [(one - epoch).days * DAY for one in wanted]
    for to in ("month", "quarter", "year"):
        kept = [epoch + dt.timedelta(days=one // DAY) for one in cut_dates(moments, to, "weekday").tolist()]
        assert [one.weekday() for one in kept] == [one.weekday() for one in dates]
        assert all(0 <= (one - first).days < 7 for one, first in zip(kept, expected[to, None], strict=True))


def test_a_cut_date_leaves_in_its_own_notation_and_type() -> None:
    before = table()
    masked = anonto.mask(before, of_dates({"to": "month"}), seed=SEED).table
    assert masked.schema == before.drop("pid").schema
    assert masked["admitted"].equals(before["admitted"].dt.truncate("1mo"))
    assert left_of(masked).equals(left_of(before).dt.truncate("1mo").alias("left"))
    assert masked["at"].equals(before["at"].dt.truncate("1mo"))


def test_one_shift_for_a_person_keeps_her_intervals_and_is_another_for_the_next() -> None:
    before = table()
    plan = of_dates({"shift": "person", "days": 180, "person": "pid"}, ("admitted", "left"))
    masked = anonto.mask(before, plan, seed=SEED).table
    moved = (left_of(masked) - left_of(before)).dt.total_days()
    of_admitted = (masked["admitted"] - before["admitted"]).dt.total_days()
    assert of_admitted.drop_nulls().equals(moved.filter(of_admitted.is_not_null()).alias("admitted"))
    by_person = pl.DataFrame({"pid": before["pid"], "moved": moved}).group_by("pid").agg(pl.col("moved").n_unique())
    assert (by_person["moved"] == 1).all()
    assert moved.abs().max() <= 180
    assert moved.n_unique() > 40
    assert masked["at"].equals(before["at"])
    again = anonto.mask(before, plan, seed=SEED + 1).table
    assert not again["left"].equals(masked["left"])


@pytest.mark.parametrize(("keep", "days", "step"), [("weekday", 30, 7), ("season", 800, 364)])
def test_a_shift_that_keeps_weekday_or_season_is_a_multiple(keep: str, days: int, step: int) -> None:
    before = table()
    plan = of_dates({"shift": "record", "days": days, "keep": keep}, ("left",))
    moved = (left_of(anonto.mask(before, plan, seed=SEED).table) - left_of(before)).dt.total_days()
    assert (moved % step == 0).all()
    assert set(moved.to_list()) == {one * step for one in range(-(days // step), days // step + 1)}


def test_shifts_are_equally_likely() -> None:
    rows = pl.DataFrame({"day": [FIRST] * 21_000})
    plan = {"columns": {"day": {"kind": "date", "recode": {"shift": "record", "days": 3}}}, "steps": []}
    counts = anonto.mask(rows, plan, seed=SEED).table["day"].value_counts()["count"].to_numpy()
    assert counts.size == 7
    assert ((counts - 3000) ** 2 / 3000).sum() < 22.5  # chi square of 6 degrees of freedom at 0.001


@pytest.mark.parametrize("convert", [lambda one: one.to_pandas(), lambda one: one.to_arrow()])
@pytest.mark.parametrize(
    "recode", [{"to": "quarter"}, {"shift": "person", "days": 90, "person": "pid"}, {"shift": "record", "days": 90}]
)
def test_every_library_gets_the_same_dates(convert: Callable[[pl.DataFrame], Any], recode: dict[str, Any]) -> None:
    before, plan = table(), of_dates(recode)
    expected = anonto.mask(before, plan, seed=SEED).table
    found = anonto.mask(convert(before), plan, seed=SEED).table
    as_polars = pl.DataFrame(found) if hasattr(found, "iloc") else pl.from_arrow(found)
    assert_frame_equal(as_polars.cast(dict(expected.schema)), expected)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_larger_than_memory_gets_the_same_bytes(
    tmp_path: Path, suffix: str, too_large: Callable[..., None]
) -> None:
    source, before = tmp_path / f"in{suffix}", table()
    before.write_csv(source) if suffix == ".csv" else before.write_parquet(source)
    plan = of_dates({"shift": "person", "days": 90, "person": "pid"}, ("left",))
    plan["columns"]["admitted"] = {"kind": "date", "recode": {"shift": "record", "days": 9}}
    plan["columns"]["at"] = {"kind": "date", "recode": {"to": "day"}}
    plan["steps"] = [{"method": "rank-swap", "columns": ["at"], "k": 4}]
    anonto.mask(source, plan, seed=SEED).save(tmp_path / f"once{suffix}", private=False)
    too_large(rows=50)
    anonto.mask_file(source, plan, tmp_path / f"parts{suffix}", seed=SEED, memory="500MB", private=False)
    assert (tmp_path / f"parts{suffix}").read_bytes() == (tmp_path / f"once{suffix}").read_bytes()


def test_attacks_know_the_dates_before_they_were_shifted_and_not_the_shift(tmp_path: Path) -> None:
    before = table()
    plan = of_dates({"shift": "person", "days": 20, "person": "pid"}, ("left",))
    plan["columns"] |= {"admitted": {"role": "identifier"}, "at": {"role": "identifier"}}
    release = anonto.mask(before, plan, seed=SEED)
    found = anonto.assess(before, release.table, plan, same_order=True)
    linked = next(one for one in found.risk if one.attack == "distance-linkage")
    assert linked.columns == ("left",)
    assert 1 / N < linked.rate < 0.9
    assert found.utility["columns"]["left"]["rmse"] > 0
    assert release.evidence["recoded"]["left"]["how"].startswith("shifted by up to 20 days")
    before.write_csv(tmp_path / "in.csv")
    anonto.mask(tmp_path / "in.csv", plan, seed=SEED).save(tmp_path / "out.csv", report=tmp_path / "masked.html")
    private = tmp_path / "out.csv.private.json"
    checked = anonto.assess(tmp_path / "in.csv", tmp_path / "out.csv", plan, private=private)
    assert checked.facts["made_anew"]
    checked.to_html(tmp_path / "report.html")
    assert "shifted by up to 20 days" in (tmp_path / "report.html").read_text()


def test_the_interval_of_two_dates_that_were_shifted_together_identifies_as_it_did() -> None:
    days = [FIRST + dt.timedelta(days=row % 7) for row in range(N)]
    rows = pl.DataFrame({"came": days, "left": [day + dt.timedelta(days=row) for row, day in enumerate(days)]})
    own = {"kind": "date", "recode": {"shift": "record", "days": 3000}}
    alone = {"columns": {"came": own, "left": {"role": "identifier"}}, "steps": []}
    for plan, expected in (({**alone, "columns": {"came": own, "left": own}}, 1.0), (alone, 0.05)):
        masked = anonto.mask(rows, plan, seed=SEED).table
        found = anonto.assess(rows, masked, plan, same_order=True)
        rate = max(one.rate for one in found.risk if one.attack == "distance-linkage")
        assert rate == expected if expected == 1.0 else rate < expected


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["2020-01-13", "2020-01-14", "13/12/2020"], "has dates in two notations: 1 distinct value is written"),
        (["30.02.2020", "01.02.2020", "02.02.2020"], "1 distinct value of column 'day' is not a date of the calendar"),
        (["2020-01-13T10:00+01:00", "2020-07-14T10:00+02:00"], "two offsets from UTC.* bring all times to one offset"),
        (["3/4/2020", "5/6/2021", "1/2/2021"], "can be read as d/m/Y and as m/d/Y; say which it is with notation"),
    ],
)
@pytest.mark.parametrize("recode", [None, {"to": "year"}])
def test_dates_that_cannot_be_read_are_refused_in_one_sentence(
    cells: list[str], message: str, recode: dict[str, Any] | None
) -> None:
    own = {"kind": "date", **({} if recode is None else {"recode": recode})}
    steps = [{"method": "random-swap", "columns": ["day"]}]
    with pytest.raises(ColumnError, match=message) as caught:
        anonto.mask(pl.DataFrame({"day": cells}), {"columns": {"day": own}, "steps": steps}, seed=SEED)
    assert not any(cell in str(caught.value) for cell in cells)


def recoded(days: pl.Series, recode: dict[str, Any]) -> pl.Series:
    plan = {"columns": {"day": {"kind": "date", "recode": recode}}, "steps": []}
    return anonto.mask(pl.DataFrame({"day": days}), plan, seed=SEED).table["day"]


def shifted(days: pl.Series, most: int = 180) -> pl.Series:
    return recoded(days, {"shift": "record", "days": most})


@pytest.mark.parametrize(
    "days",
    [
        pl.Series(["9999-12-31", "2020-01-01"]),
        pl.Series([dt.date(1, 1, 1), FIRST]),
        pl.Series(["2262-04-01", "2020-01-01"]).str.to_datetime("%Y-%m-%d", time_unit="us").cast(pl.Datetime("ns")),
    ],
)
def test_a_shift_out_of_the_calendar_is_refused_whatever_the_seed_is(days: pl.Series) -> None:
    with pytest.raises(ColumnError, match="1 distinct date of column 'day' may be shifted out of") as caught:
        shifted(days)
    assert "2262" not in str(caught.value)
    assert "9999" not in str(caught.value)


def test_a_clock_that_skips_an_hour_shows_the_next_one() -> None:
    at = pl.Series([dt.datetime(2020, 3, 20, 2, 30)] * 400)  # noqa: DTZ001
    moved = shifted(at.dt.replace_time_zone("Europe/Berlin"), 20)
    assert moved.null_count() == 0
    assert set(moved.dt.hour().to_list()) == {2, 3}
    skipped = pl.Series([dt.datetime(2018, 11, 4, 5)]).dt.replace_time_zone("America/Sao_Paulo")  # noqa: DTZ001
    cut = recoded(skipped, {"to": "day"})
    assert cut.dt.replace_time_zone(None).to_list() == [dt.datetime(2018, 11, 4, 1)]  # noqa: DTZ001


def test_the_spelling_of_a_date_does_not_tell_that_it_stayed() -> None:
    days = pl.Series(["1.3.2020", "01.03.2020", "15.03.2020"])
    assert set(recoded(days, {"to": "month"})) == {"01.03.2020"}
    odd = shifted(pl.Series(["01.03.2020", *["1.3.2020"] * 60]), 1)
    assert set(odd) == {"29.02.2020", "01.03.2020", "02.03.2020"}


def test_rows_of_nobody_and_times_without_days_are_refused() -> None:
    rows = pl.DataFrame({"pid": ["a", None], "day": [FIRST, FIRST], "hour": ["10:00", "11:00"]})
    by_person = {"day": {"kind": "date", "recode": {"shift": "person", "days": 5, "person": "pid"}}}
    with pytest.raises(ColumnError, match="1 row or more have no value in 'pid'"):
        anonto.mask(rows, {"columns": by_person, "steps": []}, seed=SEED)
    hours = {"hour": {"kind": "date", "recode": {"to": "month"}}}
    with pytest.raises(ColumnError, match="have no months or days to cut or shift"):
        anonto.mask(rows, {"columns": hours, "steps": []}, seed=SEED)
    with pytest.raises(PlanError, match="does not say whose dates these are"):
        Plan.from_dict({"columns": {"day": {"kind": "date", "recode": {"shift": "person", "days": 5}}}})


@pytest.mark.parametrize(
    ("recode", "message"),
    [
        ({"to": "decade"}, "must be one of day, week, month, quarter, year"),
        ({"shift": "person"}, "must be given together with shift"),
        ({"shift": "record", "days": 0}, "must be a whole number from 1 to"),
        ({"shift": "record", "days": 30, "keep": "season"}, "must be a whole number from 364 to"),
        ({"shift": "record", "days": 30, "person": "pid"}, "with shift = 'person'"),
        ({"to": "month", "shift": "record", "days": 3}, "must be left out where dates are cut with to"),
        ({"to": "week", "keep": "weekday"}, "must be left out, or given with shift or with to as one of month"),
        ({"keep": "weekday"}, "must be left out, or given with shift"),
        ({"top": 3}, "it is for kind = 'numeric'"),
    ],
)
def test_a_wrong_key_is_refused_in_one_sentence(recode: dict[str, Any], message: str) -> None:
    with pytest.raises(AnontoError, match=message):
        Plan.from_dict({"columns": {"day": {"kind": "date", "recode": recode}}})


def test_dates_of_persons_with_several_rows_are_shifted_with_them_and_assessed(tmp_path: Path) -> None:
    before = table().with_columns(born=pl.lit(FIRST), left=pl.col("left").first().over("pid")).drop("admitted", "at")
    plan = {
        "table": {"person": "pid"},
        "columns": {
            "left": {"kind": "date", "recode": {"shift": "person", "days": 30}},
            "born": {"kind": "date", "recode": {"shift": "person", "days": 30}},
        },
        "steps": [{"method": "random-swap", "columns": ["born"]}],
    }
    before.write_csv(tmp_path / "in.csv")
    release = anonto.mask(tmp_path / "in.csv", plan, seed=SEED)
    assert release.table["left"].n_unique() > 1
    release.save(tmp_path / "out.csv")
    found = anonto.assess(tmp_path / "in.csv", tmp_path / "out.csv", plan, private=tmp_path / "out.csv.private.json")
    assert found.facts["made_anew"]
    assert found.utility["columns"]["left"]["rmse"] > 0
