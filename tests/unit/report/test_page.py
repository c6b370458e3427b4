import re
from copy import deepcopy
from html.parser import HTMLParser
from typing import Any

import polars as pl
import pytest

import anonto
from anonto.masking.release import Release
from anonto.report.charts import frequency_chart
from anonto.report.counts import NOT_SHOWN, SMALL
from anonto.report.data import report_data
from anonto.report.page import html_report

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Follows the tags, and refuses one that is closed by another."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.headers: list[dict[str, str | None]] = []
        self.svgs: list[dict[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag == "th":
            self.headers.append(values)
        if tag == "svg":
            self.svgs.append(values)
        self.loaded += [str(values[name]) for name in ("src", "href", "xlink:href", "srcset", "data") if name in values]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


@pytest.fixture(scope="module")
def html(data: dict[str, Any]) -> str:
    return html_report(data)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_every_tag_is_closed_and_every_id_is_there_once(page: Page) -> None:
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_the_page_runs_nothing_and_loads_nothing(html: str, page: Page) -> None:
    assert "script" not in page.tags
    assert all(reference.startswith("#") for reference in page.loaded)
    assert not re.search(r"https?:|//[a-z]|@import|url\(\s*['\"]?[^#'\")]", html)


def test_labels_and_names_are_escaped(html: str, page: Page) -> None:
    assert "<script>" not in html
    assert "<i>" not in html
    assert "<script>alert('x')</script> & “flu” 🤧 $\\frac{1}{2}$" in page.text
    assert "code <i>" in page.text


def test_a_script_in_a_name_a_label_a_sentence_or_a_plan_is_only_text(data: dict[str, Any]) -> None:
    script = "<script>alert('x')</script>"
    hostile = deepcopy(data)
    hostile["columns"][0]["name"] = hostile["steps"][0]["columns"][0] = script
    hostile["columns"][0]["ontologies"][0]["ontology"] = script
    hostile["columns"][0]["ontologies"][0]["levels"][0]["rows"][0]["label"] = script
    hostile["table"]["released_as_is"][0]["name"] = hostile["table"]["dropped_columns"][0] = script
    hostile["warnings"], hostile["steps"][0]["what"] = [script], script
    hostile["plan"] = f"# {script}\n"
    html = html_report(hostile)
    assert "<script" not in html
    page = Page(html)
    assert page.open == []
    assert page.text.count(script) > 12
    assert f"# {script}" in page.text


def test_nothing_confidential_is_shown(html: str, release: Release) -> None:
    assert str(release.seed.number) not in html
    assert f"{release.seed.number:x}" not in html.lower()
    for secret in ("secret-folder", "person 1", "zip1", "cell value"):
        assert secret not in html


def test_small_counts_are_hidden(page: Page) -> None:
    assert "seldom oddnot shown" not in page.text
    cells = re.sub(r"\s+", " ", page.text)
    assert f"seldom odd{SMALL}{SMALL}" in cells
    assert f"cold & <b> cold{NOT_SHOWN}{NOT_SHOWN}" in cells


def test_every_header_cell_says_what_it_heads_and_every_chart_what_it_shows(page: Page) -> None:
    assert all(header.get("scope") in {"col", "row"} for header in page.headers)
    assert page.svgs
    assert all(svg.get("role") == "img" and svg.get("aria-label") for svg in page.svgs)
    assert len({svg["aria-label"] for svg in page.svgs}) == len(page.svgs)


def test_the_page_says_what_was_done_what_is_promised_and_what_was_not_masked(page: Page) -> None:
    for words in (
        "120", "Step 2", "k = 3", "Not proved", "zip", "Not described in the plan", "no ontology",
        'method = "frequency-swap"', f"Made with anonto {anonto.__version__}", "Every count shown is the same",
    ):  # fmt: skip
        assert words in page.text


def test_the_page_is_the_same_each_time(html: str, release: Release) -> None:
    assert html_report(report_data(release)) == html


def test_a_plan_without_steps_makes_a_page_too() -> None:
    with pytest.warns(anonto.AnontoWarning):
        nothing = anonto.mask(pl.DataFrame({"a": [1, 2]}), {}, seed=1 << 100)
    page = Page(html_report(report_data(nothing)))
    assert page.open == []
    assert "Nothing: the plan has no steps" in page.text


def test_a_chart_draws_a_hidden_count_like_any_other_hidden_one() -> None:
    def chart(hidden: str, title: str = "t") -> str:
        return frequency_chart([{"label": "a", "concept": "a", "before": 50, "after": hidden}], title)

    assert SMALL.replace("<", "&lt;") in chart(SMALL)
    assert chart(SMALL) == chart(SMALL)
    assert chart(SMALL) != chart(NOT_SHOWN)
    assert Page(chart(SMALL, "<&>")).open == []


def test_a_chart_takes_its_colours_from_the_page() -> None:
    chart = frequency_chart([{"label": "a", "concept": "a", "before": 50, "after": 40}], "t")
    assert "var(--before)" in chart
    assert "var(--after)" in chart
    assert "currentColor" in chart
