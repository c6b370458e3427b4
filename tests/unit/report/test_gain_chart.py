"""What accepting more risk gains: one row for each limit that gains something."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import hypothesis.strategies as st
from hypothesis import given

from anonto.report.gain_chart import LIMITS, gain_chart, gains
from anonto.report.page import sweep_html


def plan(label: str, high: float, utility: float, method: str = "group-swap") -> dict[str, Any]:
    return {"label": label, "method": method, "risk_high": high, "utility": utility}


POINTS = [
    plan("k = 50", 0.02, 0.6),
    plan("k = 20", 0.05, 0.7),
    plan("k = 10", 0.1, 0.69),  # more risk and less utility: never the best
    plan("k = 5", 0.2, 0.8),
    plan("as it is", 0.2, 1.0, method="none"),
]


def test_each_limit_that_gains_something_has_a_row_with_its_best_plan() -> None:
    rows = gains(POINTS)
    assert [(row["limit"], row["label"]) for row in rows] == [(0.02, "k = 50"), (0.05, "k = 20"), (0.2, "k = 5")]
    assert [round(row["gain"], 9) for row in rows] == [0.0, 0.1, 0.1]


def test_a_plan_without_an_interval_is_within_no_limit() -> None:
    assert gains([{"label": "x", "method": "group-swap", "utility": 0.9}]) == []


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=12))
def test_the_rows_are_the_running_maximum_of_utility_by_limit(pairs: list[tuple[float, float]]) -> None:
    points = [plan(str(number), high, utility) for number, (high, utility) in enumerate(pairs)]
    found = {row["limit"]: row["utility"] for row in gains(points)}
    best = None
    for limit in LIMITS:
        most = max((utility for high, utility in pairs if high <= limit), default=None)
        if most is not None and (best is None or most > best):
            best = most
            assert found.pop(limit) == most
    assert found == {}


def test_the_picture_says_in_words_what_it_draws_and_escapes_labels() -> None:
    svg = gain_chart(gains([plan("<b>", 0.02, 0.5), plan("k = 5", 0.05, 0.75)]), "t")
    texts = [one.text for one in ET.fromstring(svg).iter() if one.text]  # noqa: S314 - our own
    assert "0.75  (+0.25)" in texts
    assert any("at most 5 %: utility 0.75 with k = 5" in text for text in texts)
    assert "<b>" not in svg


def test_the_page_of_a_sweep_shows_the_picture_only_if_something_is_gained() -> None:
    def page(points: list[dict[str, Any]]) -> str:
        run = {"losses": {"utility": 0.5}}
        losses = dict.fromkeys(("moved", "distribution", "dependence", "told_apart"), 0.1)
        full = [
            {**one, "risk": 0.01, "low": 0.0, "high": one["risk_high"], "on_front": True, "runs": [run]}
            | {"losses": losses, "worst": None, "is_given": False, "proved": False}
            for one in points
        ]
        facts = {"n_records": 9, "n_sampled": 9, "n_seeds": 1, "max_risk": None, "columns": ["a"]}
        return sweep_html({**facts, "points": full, "skipped": [], "answer": None})

    assert "What accepting more risk gains" in page(POINTS[:2])
    assert "What accepting more risk gains" not in page(POINTS[:1])
