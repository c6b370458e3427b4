"""The pictures of a report, counted on tables small enough to count by hand."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

from anonto.attacks.shares import percent
from anonto.encoding.comparison import BothCells, compare_column
from anonto.encoding.description import ColumnDescription
from anonto.encoding.prepare import opener
from anonto.report.charts import heat_map, linkage_chart, moved_chart
from anonto.report.counts import NOT_SHOWN, SMALL
from anonto.report.gate import Gate
from anonto.report.pictures import CLASS_SIZES, MOVED_BINS, class_bin, moved_bin, pictures_of
from anonto.report.svg import drawing, element, shorten, text

DESCRIBED = {"illness": ColumnDescription(ontology="illnesses"), "age": ColumnDescription(kind="numeric")}


def pictures(before: pl.DataFrame, after: pl.DataFrame) -> dict[str, Any]:
    open_once = opener()
    columns = {
        name: compare_column(name, BothCells.of(before[name], after[name]), described, open_once)
        for name, described in DESCRIBED.items()
    }
    return pictures_of(columns, [tuple(DESCRIBED)], tuple(DESCRIBED), columns)


def test_cells_are_counted_by_how_far_they_moved_and_records_by_their_class() -> None:
    before = pl.DataFrame({"illness": ["flu", "flu", "measles", None], "age": [0, 0, 50, 100]})
    after = pl.DataFrame({"illness": ["flu", "flu", None, "burn"], "age": [5, 0, 51, 0]})
    found = pictures(before, after)
    age = found["columns"]["age"]
    assert age["changed"] == 3
    assert np.flatnonzero(age["moved"]).tolist() == [0, MOVED_BINS - 1]
    assert age["moved"][0] == 2
    assert age["median_moved"] == pytest.approx(0.05)
    illness = found["columns"]["illness"]
    assert illness["changed"] == 1  # of the three cells that had a value
    assert illness["missing"] == {"before": 1, "after": 1}
    assert illness["moved"][-1] == sum(illness["moved"]) == 2  # one cell went missing, one came up
    assert not illness["same_frequencies"]
    assert found["unchanged_records"] == [1]
    assert found["classes"]["before"] == [2, 2, *[0] * (len(CLASS_SIZES) - 2)]
    assert found["classes"]["after"] == [4, *[0] * (len(CLASS_SIZES) - 1)]
    assert found["varied"] == {"illness": 2, "age": 2}
    assert (found["classes"]["distinct_before"], found["classes"]["distinct_after"]) == (3, 4)


def test_a_table_compared_with_itself_did_not_move() -> None:
    same = pl.DataFrame({"illness": ["flu", "burn"] * 3, "age": [1, 2] * 3})
    found = pictures(same, same)
    for column in found["columns"].values():
        assert column["changed"] == sum(column["moved"]) == 0
        assert column["same_frequencies"]
    assert [one["change"] for one in found["columns"]["illness"]["levels"][0]["levels"]] == [0]
    assert found["classes"]["before"] == found["classes"]["after"]


def test_the_names_of_bins_cover_everything_once() -> None:
    assert [class_bin(place) for place in range(len(CLASS_SIZES))] == [
        "1", "2", "3–4", "5–9", "10–19", "20–49", "50–99", "100 or more",
    ]  # fmt: skip
    assert [moved_bin(place, 4) for place in range(4)] == ["0.00 – 0.25", "0.25 – 0.50", "0.50 – 0.75", "above 0.75"]


# ------------------------------------------------------------------------------------------------ shown numbers


@pytest.mark.parametrize(
    ("hits", "n", "shown"),
    [
        (0, 1000, "less than 1 %"),
        (9, 1000, "less than 1 %"),
        (10, 1000, "1 %"),
        (123, 1000, "12 %"),
        (991, 1000, "more than 99 %"),
        (1000, 1000, "more than 99 %"),
        (123, 300, "40 %"),
        (23, 100, "20 %"),
        (23, 99, NOT_SHOWN),
    ],
)
def test_the_public_edition_rounds_to_at_least_ten_persons_and_bounds_what_is_near_an_end(
    hits: int, n: int, shown: str
) -> None:
    found = Gate("public").about(()).rate(hits / n, 0.0, 1.0, n)
    assert found["shown"] == shown
    assert (found["rate"] is None) == shown.startswith(("less", "more", "not"))
    assert Gate("internal").about(()).rate(hits / n, 0.0, 1.0, n)["rate"] == hits / n


def test_sizes_are_published_to_two_digits_and_shares_with_the_digits_they_deserve() -> None:
    sizes = (0, 98, 101, 969, 4827, 20_000)
    assert [Gate("public").about(()).size(n) for n in sizes] == [0, 100, 100, 970, 4800, 20_000]
    assert Gate("internal").about(()).size(4827) == 4827
    shares = (0.0, 1e-6, 0.0002, 0.0964, 0.9996, 1.0)
    assert [percent(one) for one in shares] == ["0 %", "less than 0.01 %", "0.02 %", "9.6 %", "99.96 %", "100 %"]


# ------------------------------------------------------------------------------------------------ drawings


def linkage(rate: float | None, limit: float | None = None, name: str = "distance-linkage") -> dict[str, Any]:
    return {
        "attack": name,
        "matching": None,
        "columns": ["a"],
        "rate": rate,
        "low": None if rate is None else rate / 2,
        "high": None if rate is None else min(1.0, rate * 2),
        "baseline": 0.001,
        "one_in_k": limit,
        "shown": "hidden" if rate is None else percent(rate),
    }


def test_a_bar_is_as_long_as_its_rate_and_the_line_stands_at_1_in_k() -> None:
    def length(svg: str) -> float:
        (bar,) = ET.fromstring(svg).iter("rect")  # noqa: S314 - our own
        return float(bar.attrib["width"])

    low, high = (linkage_chart([linkage(rate, 0.5)], "t") for rate in (0.1, 0.2))
    assert length(high) == pytest.approx(2 * length(low), rel=1e-3)
    assert "1/k = 50 %" in low
    assert "var(--warn)" in low
    assert "1/k" not in linkage_chart([linkage(0.1)], "t")


def test_a_hidden_rate_has_a_text_and_no_bar() -> None:
    svg = linkage_chart([linkage(None)], "t")
    assert "hidden" in svg
    assert "var(--after)" not in svg


def test_a_heat_map_writes_every_pair_and_colours_a_fall_otherwise() -> None:
    values = {("a", "b"): 0.57, ("a", "c"): 0.2, ("b", "c"): 0.1}
    svg = heat_map(["a", "b", "c"], values, "t")
    assert [number in svg for number in (".57<", ".20<", ".10<")] == [True] * 3
    assert "var(--warn)" not in svg
    change = heat_map(["a", "b"], {("a", "b"): -0.15}, "u", change=True)
    assert "−.15<" in change
    assert "var(--warn)" in change
    assert heat_map(["a"], {}, "alone").endswith("</svg>")


def test_hidden_bins_are_pale_and_texts_are_never_formulas() -> None:
    svg = moved_chart([{"distance": "a", "cells": 10}, {"distance": "b", "cells": SMALL}], "t $\\frac{1}{2}$ <b>")
    assert 'opacity="0.4"' in svg
    assert "$\\frac{1}{2}$ &lt;b&gt;" in svg
    svg = drawing(100, 20, 'a "title"', text(0, 10, "$x_1$ & </text>"), description="<described>")
    assert "$x_1$ &amp; &lt;/text&gt;" in svg
    assert "<desc>&lt;described&gt;</desc>" in svg
    assert ET.fromstring(svg).get("aria-label") == 'a "title"'  # noqa: S314 - our own
    assert element("line", x1=1 / 3, stroke_width=None, class_="a") == '<line x1="0.33" class="a"/>'
    assert shorten("abcdef, g", 8) == "abcdef…"
