"""Dates as texts: one notation for a column, found from its texts, and written again in it."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonto.io.date_notation import DAY, PATTERNS, SECOND, DateNotation, read_dates
from budget import examples

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - days have no zone
STRFTIME = {"Y": "%Y", "m": "%m", "d": "%d", "b": "%b", "B": "%B"}
DATES = st.dates(dt.date(1000, 1, 1), dt.date(9999, 12, 31))


@pytest.mark.parametrize("pattern", PATTERNS)
@given(dates=st.lists(DATES, min_size=1, max_size=20))
@settings(max_examples=examples(20))
def test_dates_are_read_as_python_writes_them_and_written_again(pattern: str, dates: list[dt.date]) -> None:
    written = [day.strftime("".join(STRFTIME.get(sign, sign) for sign in pattern)) for day in dates]
    read = read_dates(written, pattern)
    assert read.moments is not None
    assert read.moments.tolist() == [(day - EPOCH.date()).days * DAY for day in dates]
    assert read.notation.texts(read.moments) == written
    assert read.notation.moments(read.notation.numbers(read.moments)).tolist() == read.moments.tolist()


@given(st.lists(st.datetimes(dt.datetime(1881, 1, 1), dt.datetime(2059, 1, 1)), min_size=1, max_size=20))  # noqa: DTZ001
@settings(max_examples=examples(40))
def test_a_date_with_a_time_is_exact_to_the_microsecond(moments: list[dt.datetime]) -> None:
    texts = [one.isoformat(sep=" ", timespec="microseconds") for one in moments]
    read = read_dates(texts)
    assert read.moments is not None
    assert read.moments.tolist() == [(one - EPOCH) // dt.timedelta(microseconds=1) for one in moments]
    numbers = read.notation.numbers(read.moments)
    assert read.notation.texts(read.notation.moments(numbers)) == texts


@pytest.mark.parametrize(
    ("texts", "pattern"),
    [
        (["3/4/2020", "13/4/2020"], "d/m/Y"),
        (["3/4/2020", "4/13/2020"], "m/d/Y"),
        (["03.04.2020", "13.04.2020"], "d.m.Y"),
        (["20200304", "20201224"], "Ymd"),
        (["March 3, 2020", "October 4, 2021"], "B d, Y"),
        (["03/03/2020"], "d/m/Y"),  # the same date either way
    ],
)
def test_the_order_of_day_and_month_is_found_from_all_texts(texts: list[str], pattern: str) -> None:
    read = read_dates(texts)
    assert read.moments is not None
    assert read.notation.pattern == pattern
    assert read.notation.texts(read.moments) == texts


def test_dates_that_are_different_ones_in_two_notations_are_ambiguous_unless_the_plan_decides() -> None:
    assert read_dates(["3/4/2020", "5/6/2021"]).ambiguous == ("d/m/Y", "m/d/Y")
    read = read_dates(["3/4/2020", "5/6/2021"], "m/d/Y")
    assert read.moments is not None
    assert read.notation._date(dt.date(2020, 3, 4)) == "3/4/2020"


def test_the_minority_in_another_notation_and_impossible_dates_are_told_apart() -> None:
    assert read_dates(["13/1/2020", "14/1/2020", "1/15/2020"]).mixed == ("1/15/2020",)
    assert read_dates(["2020-01-13", "2020-01-14", "15.01.2020"]).mixed == ("15.01.2020",)
    assert read_dates(["2020-01-13", "2020-01-14", "2020-01-15 10:00"]).mixed == ("2020-01-15 10:00",)
    assert read_dates(["29.02.2021", "30.02.2020", "01.02.2020"]).wrong == ("29.02.2021", "30.02.2020")
    assert read_dates(["2020-01-13", "soon"]).wrong == ("soon",)
    assert read_dates(["10:05", "25:00"]).wrong == ("25:00",)


def test_new_values_are_on_the_grain_of_the_column() -> None:
    for texts, step in [
        (["2020-01-01 00:00:00", "2020-01-02 00:00:00"], DAY),
        (["2020-01-01 10:05:00", "2020-01-02 00:00:00"], 60 * SECOND),
        (["2020-01-01 10:05:07", "2020-01-02 00:00:00"], SECOND),
        (["10:05:07.25", "10:05:07"], SECOND // 100),
    ]:
        assert read_dates(texts).notation.step == step
    notation = read_dates(["2020-01-01 10:05", "2020-01-02 00:00"]).notation
    assert notation.texts(notation.moments(notation.numbers(notation.moments([18262.5001])))) == ["2020-01-01 12:00"]


def test_times_and_durations_count_in_seconds_and_stay_within_their_range() -> None:
    times = read_dates(["10:05", "23:59"])
    assert times.moments is not None
    assert times.notation.numbers(times.moments).tolist() == [36_300.0, 86_340.0]
    assert times.notation.texts(times.notation.moments([90_000.0, -5.0])) == ["23:59", "00:00"]
    spans = read_dates(["P2DT5S", "PT1.5S", "-PT1M"])
    assert spans.moments is not None
    assert spans.notation.numbers(spans.moments).tolist() == [172_805.0, 1.5, -60.0]


def test_new_dates_stay_in_the_calendar() -> None:
    assert DateNotation().texts(DateNotation().moments([1e9, -1e9])) == ["9999-12-31", "0001-01-01"]
