"""Charts as SVG, drawn without a library: lines with bands, and bars.

A figure is drawn once. In a page it takes its colours from the page; as a file of its own it brings them along, for
light and dark surroundings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 700, 380
LEFT, RIGHT, TOP, BOTTOM = 62, 158, 14, 50
LABEL_GAP = 15
N_COLOURS = 8
COLOURS_LIGHT = ("#0b6bcb", "#c2410c", "#15803d", "#7e22ce", "#b8860b", "#be185d", "#0e7490", "#525b66")
COLOURS_DARK = ("#58a6ff", "#fb923c", "#4ade80", "#c084fc", "#facc15", "#f472b6", "#22d3ee", "#a3adb8")
MARKERS = ("circle", "square", "diamond", "triangle")

OWN_STYLE = (
    "svg{{--ink:#1b1f24;--faint:#59636e;--line:#d0d7de;{light}}}"
    "@media(prefers-color-scheme:dark){{svg{{--ink:#e6e9ed;--faint:#a3adb8;--line:#3a424b;{dark}}}}}"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A named line: x, y and the spread of y at each of its points."""

    name: str
    points: tuple[tuple[float, float, float], ...]
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawing with words around it."""

    name: str
    """Of its file."""
    title: str
    caption: str

    def body(self) -> str:
        """The drawing without the element around it."""
        raise NotImplementedError

    def inline(self) -> str:
        """An element of a page."""
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">'
            f"<title>{escape(self.title)}</title>\n{self.body()}</svg>"
        )

    def file(self) -> str:
        """A file of its own."""
        light, dark = (
            "".join(f"--s{place}:{colour};" for place, colour in enumerate(colours))
            for colours in (COLOURS_LIGHT, COLOURS_DARK)
        )
        style = OWN_STYLE.format(light=light, dark=dark)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escape(self.title)}"><title>{escape(self.title)}</title>\n<style>{style}</style>\n'
            f"{self.body()}</svg>\n"
        )


@dataclass(frozen=True, slots=True)
class _Axis:
    """From numbers to places on the paper."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def __call__(self, number: float) -> float:
        low, high, at = (
            (math.log(max(one, 1e-9)) for one in (self.low, self.high, number))
            if self.log
            else (
                self.low,
                self.high,
                number,
            )
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
    """A horizontal line with its name."""
    numbers_on_x: bool = True
    """Whether the numbers under the axis are those of the points; otherwise round ones."""

    def body(self) -> str:
        """Grid, bands, lines, markers and names."""
        x, y = self._axes()
        parts = [*_y_grid(y, self._y_ticks(y)), *self._x_grid(x), *_axis_labels(self.x_label, self.y_label)]
        if self.level is not None:
            at = y(self.level[0])
            parts.append(
                f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="var(--ink)" '
                'stroke-width="1" stroke-dasharray="1 3"/>'
            )
            parts.append(_text(LEFT + 6, at - 5, self.level[1], "start", 11, "var(--faint)"))
        for place, line in enumerate(self.lines):
            parts.append(_drawn(line, place, x, y))
        parts += self._names(x, y)
        return "\n".join(parts)

    def _axes(self) -> tuple[_Axis, _Axis]:
        xs = [point[0] for line in self.lines for point in line.points]
        highs = [value + spread for line in self.lines for _, value, spread in line.points]
        lows = [value - (0 if self.log_y else spread) for line in self.lines for _, value, spread in line.points]
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

    def _x_grid(self, x: _Axis) -> list[str]:
        places = _ticks(x.low, x.high)
        if self.numbers_on_x:
            places = sorted({point[0] for line in self.lines for point in line.points})
        parts, free = [], -math.inf
        for number in places:
            at = x(number)
            parts.append(
                f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 5}" '
                'stroke="var(--faint)"/>'
            )
            if at >= free:
                parts.append(_text(at, HEIGHT - BOTTOM + 19, _spelt(number), "middle", 12, "var(--faint)"))
                free = at + 7 * len(_spelt(number)) + 8
        return parts

    def _names(self, x: _Axis, y: _Axis) -> list[str]:
        """Names at the ends of the lines, moved apart."""
        wanted = sorted((y(line.points[-1][1]), place) for place, line in enumerate(self.lines))
        places: list[float] = []
        for at, _ in wanted:
            places.append(max(at, places[-1] + LABEL_GAP) if places else at)
        beyond = max(places[-1] - (HEIGHT - BOTTOM + 4), 0.0) if places else 0.0
        for number in range(len(places) - 1, -1, -1):
            limit = places[number + 1] - LABEL_GAP if number + 1 < len(places) else math.inf
            places[number] = min(places[number] - (beyond if number == len(places) - 1 else 0.0), limit)
        return [
            f'<line x1="{x(self.lines[place].points[-1][0]) + 6:.1f}" x2="{WIDTH - RIGHT + 6}" '
            f'y1="{at:.1f}" y2="{to:.1f}" '
            f'stroke="var(--s{place % N_COLOURS})" stroke-width="1" opacity=".5"/>'
            + _text(
                WIDTH - RIGHT + 10,
                to + 4,
                self.lines[place].name,
                "start",
                12,
                f"var(--s{place % N_COLOURS})",
                bold=True,
            )
            for (at, place), to in zip(wanted, places, strict=True)
        ]


def _drawn(line: Line, place: int, x: _Axis, y: _Axis) -> str:
    colour = f"var(--s{place % N_COLOURS})"
    points = [(x(at), y(value)) for at, value, _ in line.points]
    way = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    parts = []
    if any(spread for _, _, spread in line.points):
        upper = [f"{x(at):.1f},{y(value + spread):.1f}" for at, value, spread in line.points]
        lower = [f"{x(at):.1f},{y(max(value - spread, y.low)):.1f}" for at, value, spread in reversed(line.points)]
        parts.append(f'<polygon points="{" ".join([*upper, *lower])}" fill="{colour}" opacity=".15"/>')
    dashes = ' stroke-dasharray="6 4"' if line.dashed else ""
    parts.append(
        f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"{dashes}/>'
    )
    parts += [_marker(a, b, MARKERS[place % len(MARKERS)], colour) for a, b in points]
    return "".join(parts)


def _marker(x: float, y: float, shape: str, colour: str) -> str:
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{colour}"/>'
    corners = {
        "square": ((-3, -3), (3, -3), (3, 3), (-3, 3)),
        "diamond": ((0, -4.4), (4.4, 0), (0, 4.4), (-4.4, 0)),
        "triangle": ((0, -4.2), (4, 3.2), (-4, 3.2)),
    }[shape]
    return f'<polygon points="{" ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners)}" fill="{colour}"/>'


# ------------------------------------------------------------------------------------------------ bars


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart(Figure):
    """Groups of bars."""

    groups: tuple[str, ...]
    bars: tuple[tuple[str, tuple[float, ...]], ...]
    """A name and a number for each group."""
    x_label: str
    y_label: str

    def body(self) -> str:
        """Grid, bars and names."""
        highest = max((number for _, numbers in self.bars for number in numbers), default=1.0)
        step = _step(highest or 1.0)
        y = _Axis(0.0, math.ceil((highest or 1.0) / step - 1e-9) * step, HEIGHT - BOTTOM, TOP, log=False)
        parts = [*_y_grid(y, _ticks(0.0, y.high)), *_axis_labels(self.x_label, self.y_label)]
        room = (WIDTH - RIGHT - LEFT) / max(len(self.groups), 1)
        width = room * 0.76 / max(len(self.bars), 1)
        for place, group in enumerate(self.groups):
            start = LEFT + place * room + room * 0.12
            parts.append(_text(start + room * 0.38, HEIGHT - BOTTOM + 19, group, "middle", 12, "var(--faint)"))
            for number, (_, heights) in enumerate(self.bars):
                top = y(heights[place])
                parts.append(
                    f'<rect x="{start + number * width:.1f}" y="{top:.1f}" width="{width - 2:.1f}" '
                    f'height="{HEIGHT - BOTTOM - top:.1f}" fill="var(--s{number % N_COLOURS})"/>'
                )
        for number, (name, _) in enumerate(self.bars):
            at = TOP + 12 + number * 20
            parts.append(
                f'<rect x="{WIDTH - RIGHT + 10}" y="{at - 9}" width="11" height="11" '
                f'fill="var(--s{number % N_COLOURS})"/>'
            )
            parts.append(_text(WIDTH - RIGHT + 27, at, name, "start", 12, "var(--ink)"))
        return "\n".join(parts)


# ------------------------------------------------------------------------------------------------ parts of both


def _y_grid(y: _Axis, ticks: Sequence[float]) -> list[str]:
    parts = []
    for number in ticks:
        at = y(number)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="var(--line)"/>')
        parts.append(_text(LEFT - 8, at + 4, _spelt(number), "end", 12, "var(--faint)"))
    return parts


def _axis_labels(x_label: str, y_label: str) -> list[str]:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return [
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label, "middle", 12.5, "var(--ink)"),
        f'<g transform="translate(15 {middle:.0f}) rotate(-90)">'
        f"{_text(0, 0, y_label, 'middle', 12.5, 'var(--ink)')}</g>",
    ]


def _text(x: float, y: float, text: str, anchor: str, size: float, colour: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" '
        f'font-family="system-ui, sans-serif" '
        f'fill="{colour}"{weight}>{escape(text)}</text>'
    )


def _step(extent: float) -> float:
    """A round distance of some five ticks."""
    rough = max(extent, 1e-9) / 5
    ten = 10.0 ** math.floor(math.log10(rough))
    return next(m * ten for m in (1, 2, 2.5, 5, 10) if m * ten >= rough * 0.999)


def _ticks(low: float, high: float) -> list[float]:
    step = _step(high - low)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _spelt(number: float) -> str:
    if abs(number) >= 1000 and number == int(number):
        return f"{int(number):,}"
    return f"{number:.6g}"
