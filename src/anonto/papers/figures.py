"""Line charts with bands, and bar charts, drawn with the primitives of ``report/svg.py``.

A figure inside a page takes its colours from the page; as a file of its own it has a style sheet, for light and dark
surroundings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from anonto.report.svg import bar, drawing, ink, line, mark, polygon, polyline, rotate, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anonto.papers.measurement import Measurement
    from anonto.report.svg import Colour, Shape

WIDTH, HEIGHT = 700, 380
LEFT, RIGHT, TOP, BOTTOM = 62, 158, 14, 50
LABEL_GAP = 15
SERIES: tuple[Colour, ...] = ("s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7")
COLOURS_LIGHT = ("#0b6bcb", "#c2410c", "#15803d", "#7e22ce", "#b8860b", "#be185d", "#0e7490", "#525b66")
COLOURS_DARK = ("#58a6ff", "#fb923c", "#4ade80", "#c084fc", "#facc15", "#f472b6", "#22d3ee", "#a3adb8")
MARKERS: tuple[Shape, ...] = ("circle", "square", "diamond", "triangle")


@dataclass(frozen=True, slots=True)
class Line:
    """A named line: x, y and the spread of y at each of its points."""

    name: str
    points: tuple[tuple[float, float, float], ...]
    dashed: bool = False

    @classmethod
    def through(cls, name: str, xs: Iterable[float], numbers: Iterable[Measurement], *, dashed: bool = False) -> Line:
        """A line through the means of measurements."""
        points = tuple((float(x), one.mean, one.spread) for x, one in zip(xs, numbers, strict=True))
        return cls(name, points, dashed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing with a title and a caption."""

    name: str
    """Name of its file, without the extension."""
    title: str
    caption: str

    def pieces(self) -> Iterator[Markup]:
        """The pieces of the drawing, from back to front."""
        raise NotImplementedError

    def inline(self) -> Markup:
        """The figure as an element of a page."""
        return drawing(WIDTH, HEIGHT, self.title, *self.pieces())

    def file(self) -> str:
        """The figure as the text of an SVG file."""
        return f"{drawing(WIDTH, HEIGHT, self.title, *self.pieces(), style=_own_style())}\n"


def _own_style() -> str:
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in zip(SERIES, colours, strict=True))
        for colours in (COLOURS_LIGHT, COLOURS_DARK)
    )
    return (
        f"svg{{font-family:system-ui,sans-serif;--ink:#1b1f24;--faint:#59636e;--line:#d0d7de;{light}}}"
        f"@media(prefers-color-scheme:dark){{svg{{--ink:#e6e9ed;--faint:#a3adb8;--line:#3a424b;{dark}}}}}"
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """Maps numbers to coordinates."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def __call__(self, number: float) -> float:
        low, high, at = (
            (math.log(max(one, 1e-9)) for one in (self.low, self.high, number))
            if self.log
            else (self.low, self.high, number)
        )
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart(Figure):
    """Several lines over one axis."""

    lines: tuple[Line, ...]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    level: tuple[float, str] | None = None
    """A horizontal reference line and its label."""
    numbers_on_x: bool = True
    """True if the ticks of the x axis are the points' own numbers; otherwise they are round."""

    def pieces(self) -> Iterator[Markup]:
        """Grid, bands, lines, markers and names."""
        x, y = self._axes()
        yield from _y_grid(y, self._y_ticks(y))
        yield from self._x_grid(x)
        yield from _axis_labels(self.x_label, self.y_label)
        if self.level is not None:
            at = y(self.level[0])
            yield line(LEFT, at, WIDTH - RIGHT, at, "ink", dashes="1 3")
            yield text(LEFT + 6, at - 9, self.level[1], size=11, colour="faint")
        for place, one in enumerate(self.lines):
            yield Markup("").join(_draw_line(one, place, x, y))
        yield from self._names(x, y)

    def _axes(self) -> tuple[_Axis, _Axis]:
        xs = [point[0] for one in self.lines for point in one.points]
        highs = [value + spread for one in self.lines for _, value, spread in one.points]
        lows = [value - (0 if self.log_y else spread) for one in self.lines for _, value, spread in one.points]
        if self.level is not None:
            highs.append(self.level[0])
            lows.append(self.level[0])
        high, low = max(highs), min(lows)
        if self.log_y:
            low, high = low / 1.15, high * 1.15
        else:
            low = 0.0 if low >= 0 and low < 0.6 * high else low - 0.05 * (high - low)
            step = _step(high - low)
            low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        return (
            _Axis(min(xs), max(xs), LEFT + 10, WIDTH - RIGHT - 10, self.log_x),
            _Axis(low, high, HEIGHT - BOTTOM, TOP, self.log_y),
        )

    def _y_ticks(self, y: _Axis) -> list[float]:
        if self.log_y:
            tens = range(math.floor(math.log10(y.low)), math.ceil(math.log10(y.high)) + 1)
            return [m * 10.0**n for n in tens for m in (1, 2, 5) if y.low <= m * 10.0**n <= y.high]
        return _ticks(y.low, y.high)

    def _x_grid(self, x: _Axis) -> Iterator[Markup]:
        places = _ticks(x.low, x.high)
        if self.numbers_on_x:
            places = sorted({point[0] for one in self.lines for point in one.points})
        bottom, free = HEIGHT - BOTTOM, -math.inf
        for number in places:
            at = x(number)
            yield line(at, bottom, at, bottom + 5, "faint")
            if at >= free:
                yield text(at, bottom + 15, _spell_number(number), anchor="middle", colour="faint")
                free = at + 7 * len(_spell_number(number)) + 8

    def _names(self, x: _Axis, y: _Axis) -> Iterator[Markup]:
        """Names at the ends of the lines, moved apart."""
        wanted = sorted((y(one.points[-1][1]), place) for place, one in enumerate(self.lines))
        places: list[float] = []
        for at, _ in wanted:
            places.append(max(at, places[-1] + LABEL_GAP) if places else at)
        beyond = max(places[-1] - (HEIGHT - BOTTOM + 4), 0.0) if places else 0.0
        for number in range(len(places) - 1, -1, -1):
            limit = places[number + 1] - LABEL_GAP if number + 1 < len(places) else math.inf
            places[number] = min(places[number] - (beyond if number == len(places) - 1 else 0.0), limit)
        for (at, place), to in zip(wanted, places, strict=True):
            named, colour = self.lines[place], _series(place)
            yield line(x(named.points[-1][0]) + 6, at, WIDTH - RIGHT + 6, to, colour, opacity=0.5)
            yield text(WIDTH - RIGHT + 10, to, named.name, colour=colour, bold=True)


def _draw_line(drawn: Line, place: int, x: _Axis, y: _Axis) -> Iterator[Markup]:
    colour = _series(place)
    if any(spread for _, _, spread in drawn.points):
        upper = [(x(at), y(value + spread)) for at, value, spread in drawn.points]
        lower = [(x(at), y(max(value - spread, y.low))) for at, value, spread in reversed(drawn.points)]
        yield polygon([*upper, *lower], fill=ink(colour), opacity=0.15)
    points = [(x(at), y(value)) for at, value, _ in drawn.points]
    yield polyline(points, colour, width=2, dashes="6 4" if drawn.dashed else None)
    for across, down in points:
        yield mark(MARKERS[place % len(MARKERS)], across, down, 3.4, fill=ink(colour))


# ------------------------------------------------------------------------------------------------ bars


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart(Figure):
    """Groups of bars."""

    groups: tuple[str, ...]
    bars: tuple[tuple[str, tuple[float, ...]], ...]
    """A name and a number for each group."""
    x_label: str
    y_label: str

    def pieces(self) -> Iterator[Markup]:
        """Grid, bars and names."""
        highest = max((number for _, numbers in self.bars for number in numbers), default=1.0)
        step = _step(highest or 1.0)
        y = _Axis(0.0, math.ceil((highest or 1.0) / step - 1e-9) * step, HEIGHT - BOTTOM, TOP, log=False)
        yield from _y_grid(y, _ticks(0.0, y.high))
        yield from _axis_labels(self.x_label, self.y_label)
        room = (WIDTH - RIGHT - LEFT) / max(len(self.groups), 1)
        width = room * 0.76 / max(len(self.bars), 1)
        for place, group in enumerate(self.groups):
            start = LEFT + place * room + room * 0.12
            yield text(start + room * 0.38, HEIGHT - BOTTOM + 15, group, anchor="middle", colour="faint")
            for number, (_, heights) in enumerate(self.bars):
                top = y(heights[place])
                yield bar(start + number * width, top, width - 2, HEIGHT - BOTTOM - top, _series(number))
        for number, (name, _) in enumerate(self.bars):
            middle = TOP + 8 + number * 20
            yield bar(WIDTH - RIGHT + 10, middle - 5.5, 11, 11, _series(number))
            yield text(WIDTH - RIGHT + 27, middle, name, colour="ink")


# ------------------------------------------------------------------------------------------------ shared pieces


def _series(place: int) -> Colour:
    return SERIES[place % len(SERIES)]


def _y_grid(y: _Axis, ticks: Sequence[float]) -> Iterator[Markup]:
    for number in ticks:
        at = y(number)
        yield line(LEFT, at, WIDTH - RIGHT, at, "line")
        yield text(LEFT - 8, at, _spell_number(number), anchor="end", colour="faint")


def _axis_labels(x_label: str, y_label: str) -> Iterator[Markup]:
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, x_label, size=12.5, anchor="middle", colour="ink")
    label = text(0, 0, y_label, size=12.5, anchor="middle", colour="ink")
    yield rotate(11, (TOP + HEIGHT - BOTTOM) / 2, -90, label)


def _step(extent: float) -> float:
    """A round step that gives about five ticks."""
    rough = max(extent, 1e-9) / 5
    ten = 10.0 ** math.floor(math.log10(rough))
    return next(m * ten for m in (1, 2, 2.5, 5, 10) if m * ten >= rough * 0.999)


def _ticks(low: float, high: float) -> list[float]:
    step = _step(high - low)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _spell_number(number: float) -> str:
    if abs(number) >= 1000 and number == int(number):
        return f"{int(number):,}"
    return f"{number:.6g}"
