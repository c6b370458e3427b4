"""Charts are well-formed, whatever their names and numbers."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonto.papers.figures import HEIGHT, WIDTH, BarChart, Line, LineChart

NUMBER = st.floats(0, 1e6).filter(lambda number: number == 0 or number > 1e-6)
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=12)


def chart(*lines: Line, **options: object) -> LineChart:
    return LineChart(name="a", title="A <b>", caption="", lines=lines, x_label="x", y_label="y & z", **options)  # type: ignore[arg-type]


def places(figure: LineChart) -> list[float]:
    """Where the names of the lines stand, from above."""
    texts = ET.fromstring(figure.file()).iter("{http://www.w3.org/2000/svg}text")  # noqa: S314 - our own drawing
    return sorted(float(text.attrib["y"]) for text in texts if text.attrib.get("font-weight") == "700")


@given(
    st.lists(
        st.tuples(NAME, st.lists(st.tuples(NUMBER, NUMBER, NUMBER), min_size=1, max_size=5)), min_size=1, max_size=6
    )
)
def test_lines_of_any_numbers_and_names_are_drawn_inside_the_paper(lines: list[tuple[str, list]]) -> None:
    figure = chart(*(Line(name, tuple(sorted(points))) for name, points in lines))
    for drawing in (figure.file(), figure.inline()):
        ET.fromstring(drawing)  # noqa: S314 - our own drawing
        assert "nan" not in re.sub(r">[^<]*<", "", drawing)
    for points in re.findall(r'<polyline points="([^"]+)"', figure.inline()):
        for point in points.split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT


@pytest.mark.parametrize(
    "options", [{"log_x": True}, {"log_y": True}, {"level": (0.4, "original")}, {"numbers_on_x": False}]
)
def test_every_kind_of_axis_is_drawn(options: dict) -> None:
    figure = chart(
        Line("one", ((1, 0.1, 0.01), (10, 0.2, 0.0))), Line("two", ((1, 0.3, 0.0), (10, 0.2, 0.0))), **options
    )
    ET.fromstring(figure.file())  # noqa: S314 - our own drawing
    assert figure.inline().count("<polyline") == 2


def test_names_are_escaped_and_kept_separate() -> None:
    figure = chart(*(Line(f"<script>{n}", ((1, 0.5, 0), (2, 0.5, 0))) for n in range(6)))
    assert "<script>" not in figure.file()
    found = places(figure)
    assert len(found) == 6
    assert min(b - a for a, b in pairwise(found)) >= 14
    assert found[-1] <= HEIGHT


def test_a_file_brings_its_colours_and_a_page_gives_its_own() -> None:
    figure = chart(Line("one", ((1, 0.1, 0.0), (2, 0.2, 0.0))))
    assert "prefers-color-scheme:dark" in figure.file()
    assert "<style>" not in figure.inline()


@given(st.lists(NUMBER, min_size=3, max_size=3))
def test_bars_have_the_heights_of_their_numbers(numbers: list[float]) -> None:
    figure = BarChart(
        name="b", title="B", caption="", groups=("1", "2", "3"), bars=(("all", tuple(numbers)),), x_label="", y_label=""
    )
    ET.fromstring(figure.file())  # noqa: S314 - our own drawing
    heights = [float(one) for one in re.findall(r'height="([\d.]+)" fill="var\(--s0\)"/>', figure.inline())][:3]
    assert all(
        (a <= b + 0.11) == (x <= y) or abs(a - b) < 0.11
        for a, x in zip(heights, numbers, strict=True)
        for b, y in zip(heights, numbers, strict=True)
    )
