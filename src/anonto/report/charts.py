"""The charts of the pages: frequencies, linkage, dependence, distances moved, and the map of risk and utility.

Each is an SVG element. Its title must differ between the charts of a page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from anonto.attacks.shares import percent
from anonto.methods.registry import METHODS
from anonto.report.counts import bar_length, spell_count
from anonto.report.svg import bar, drawing, element, ink, interval, line, mark, polyline, shorten, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    from anonto.methods.method import Family
    from anonto.report.svg import Anchor, Colour, Shape

    Row = Mapping[str, Any]

WIDTH = 480
TILE = 360
"""The width of a chart that stands next to another."""
PALE = 0.4
"""Opacity of a bar for a hidden count."""

# ------------------------------------------------------------------------------------------------ frequencies

MOST_GROUPS = 12
GROUP, THICK = 48, 10


def frequency_chart(rows: Sequence[Row], title: str) -> Markup:
    """Two bars for each of the largest groups, before and after.

    Args:
        rows: Label, concept, before and after of each group, as a report shows them.
        title: What the chart shows.
    """
    rows = rows[:MOST_GROUPS]
    longest = max((bar_length(row[when]) for row in rows for when in ("before", "after")), default=0)
    scale = (WIDTH - 64) / max(longest, 1)
    pieces = [piece for place, row in enumerate(rows) for piece in _group(row, GROUP * place, scale)]
    told = "; ".join(
        f"{_label(row)}: {spell_count(row['before'])} before, {spell_count(row['after'])} after" for row in rows
    )
    return drawing(WIDTH, GROUP * max(len(rows), 1), title, *pieces, description=told)


def _group(row: Row, top: float, scale: float) -> Iterator[Markup]:
    yield text(0, top + 8, shorten(_label(row), 70))
    bars: tuple[tuple[float, Colour], ...] = ((top + 18, "before"), (top + 19 + THICK, "after"))
    for y, when in bars:
        length = bar_length(row[when]) * scale
        yield bar(0, y, length, THICK, when, opacity=PALE if isinstance(row[when], str) else 1)
        yield text(length + 5, y + THICK / 2, spell_count(row[when]), size=10.5, colour="faint")


def _label(row: Row) -> str:
    return str(row["label"] or row["concept"])


# ------------------------------------------------------------------------------------------------ linkage

MOST_LINKAGES = 12
LINKAGE, MIDDLE = 48, 27


def linkage_chart(rows: Sequence[Row], title: str) -> Markup:
    """Bars of linkage rates with their intervals, and lines where 1/k and blind guessing are.

    Args:
        rows: Linkages as a report shows them.
        title: What the chart shows.
    """
    rows = rows[:MOST_LINKAGES]
    limits = sorted({row["one_in_k"] for row in rows if row["one_in_k"] is not None})
    longest = max([0.01, *(1.05 * limit for limit in limits), *map(_right_end, rows)])
    top, scale = (24 if limits else 2), (WIDTH - 14 - 6 * max((len(row["shown"]) for row in rows), default=0)) / longest
    several = len({tuple(row["columns"]) for row in rows}) > 1
    pieces: list[Markup] = []
    for place, row in enumerate(rows):
        label = f"{_attack(row)} – {', '.join(row['columns'])}" if several else _attack(row)
        pieces += _linkage(row, label, top + LINKAGE * place, scale, limits)
    for limit in limits:
        x, on_the_right = limit * scale, limit * scale > WIDTH / 2
        middles = [top + LINKAGE * place + MIDDLE for place in range(len(rows))]
        pieces += [line(x, y - 11, x, y + 11, "warn", width=2) for y in middles]
        anchor: Anchor = "end" if on_the_right else "start"
        pieces.append(text(x, 8, f"1/k = {100 * limit:.3g} %", size=11.5, colour="warn", anchor=anchor))
    told = "; ".join(f"{_attack(row)}: {row['shown']}" for row in rows)
    return drawing(WIDTH, top + LINKAGE * len(rows), title, *pieces, description=told)


def _linkage(row: Row, label: str, top: float, scale: float, limits: Sequence[float]) -> Iterator[Markup]:
    y, rate, low, high = top + MIDDLE, row["rate"], row["low"], row["high"]
    yield text(0, top + 8, shorten(label, 62))
    if rate is not None:
        yield bar(0, y - 8, rate * scale, 16, "after")
    if low is not None and high is not None:
        yield interval(low * scale, high * scale, y, width=1.5)
    yield line(row["baseline"] * scale, y - 10, row["baseline"] * scale, y + 10, "before", width=2)
    end = _right_end(row) * scale
    beyond = max([end, *(limit * scale for limit in limits if end < limit * scale < end + 50)])
    yield text(beyond + 8, y, row["shown"], size=11.5)


def _right_end(row: Row) -> float:
    return max(one for one in (row["rate"], row["high"], row["low"], 0.0) if one is not None)


def _attack(row: Row) -> str:
    return f"{row['attack']}, all at once" if row.get("matching") == "global" else str(row["attack"])


# ------------------------------------------------------------------------------------------------ dependence

MOST_COLUMNS = 12
"""Number of columns that are drawn: those whose dependence changed most."""
NAMES, HEAD, CELL = 124, 20, 26
STRONGEST = 0.55
"""Opacity of the darkest cell: the number on it must remain readable."""


def heat_map(
    names: Sequence[str], values: Mapping[tuple[str, str], float], title: str, *, change: bool = False
) -> Markup:
    """A triangle of numbers from 0 to 1, or of changes from −1 to 1, the darker the larger.

    Args:
        names: Of the columns.
        values: For each pair, in the order of the names, its number; a pair without one stays empty.
        title: What the chart shows.
        change: Whether the numbers are changes: those below 0 have another colour.
    """
    n = len(names)
    wide = min(42.0, (TILE - NAMES) / max(n - 1, 1))
    size = min(11.0, 0.44 * wide)
    middles = [NAMES + wide * (place + 0.5) for place in range(n)]
    pieces = [
        text(x, 8, str(place), size=10.5, colour="faint", anchor="middle")
        for place, x in enumerate(middles[:-1], start=1)
    ]
    for row in range(1, n):
        y = HEAD + CELL * (row - 0.5)
        pieces += [
            text(0, y, str(row + 1), size=10.5, colour="faint"),
            text(18, y, shorten(names[row], 18), size=10.5),
        ]
        for column, x in enumerate(middles[:row]):
            value = values.get((names[column], names[row]))
            if value is not None:
                density = 0.04 + STRONGEST * min(1.0, abs(value) * (3 if change else 1))
                colour: Colour = "warn" if change and value < 0 else "after"
                pieces.append(bar(x - wide / 2 + 1, y - CELL / 2 + 1, wide - 2, CELL - 2, colour, opacity=density))
                pieces.append(text(x, y, _correlation(value, change=change), size=size, anchor="middle"))
    told = "; ".join(f"{' × '.join(pair)}: {_correlation(value, change=change)}" for pair, value in values.items())
    return drawing(TILE, HEAD + CELL * (n - 1) + 2, title, *pieces, description=told)


def _correlation(value: float, *, change: bool) -> str:
    number = f"{abs(value):.2f}".removeprefix("0")
    if not change or number == ".00":
        return number
    return f"{'−' if value < 0 else '+'}{number}"


# ------------------------------------------------------------------------------------------------ distances moved


def moved_chart(bins: Sequence[Row], title: str) -> Markup:
    """Upright bars of how many cells moved how far.

    Args:
        bins: Distance and cells of each, as a report shows them.
        title: What the chart shows.
    """
    bottom, wide = 84, TILE / max(len(bins), 1)
    highest = max([1.0, *(bar_length(one["cells"]) for one in bins)])
    pieces = []
    for place, one in enumerate(bins):
        tall = bar_length(one["cells"]) / highest * (bottom - 4)
        opacity = PALE if isinstance(one["cells"], str) else 1
        pieces.append(bar(wide * place + 1, bottom - tall, wide - 2, tall, "after", opacity=opacity))
    pieces.append(line(0, bottom, TILE, bottom, "line"))
    ends: tuple[tuple[float, str, Anchor], ...] = (
        (0, "0: near", "start"),
        (TILE / 2, "0.5", "middle"),
        (TILE, "1: as far as can be", "end"),
    )
    pieces += [text(x, bottom + 11, said, size=10.5, colour="faint", anchor=anchor) for x, said, anchor in ends]
    told = "; ".join(f"{one['distance']}: {spell_count(one['cells'])}" for one in bins if one["cells"])
    return drawing(TILE, bottom + 18, title, *pieces, description=told)


# ------------------------------------------------------------------------------------------------ known codes

CURVE_HEIGHT, CURVE_LEFT, CURVE_TOP = 190, 44, 30


def known_codes_chart(points: Sequence[Row], title: str) -> Markup:
    """Curves of the share of persons singled out, by the number of known codes: random (dashed) and worst ones.

    Args:
        points: For each number of codes the shares before and after, for random and for the worst codes.
        title: What the chart shows.
    """
    bottom, right = CURVE_TOP + CURVE_HEIGHT, WIDTH - 14
    wide = (right - CURVE_LEFT - 20) / max(len(points) - 1, 1)
    xs = [CURVE_LEFT + 10 + wide * place for place in range(len(points))]
    pieces = [text(0, 8, "persons singled out", size=11.5)]
    for tick in (0, 25, 50, 75, 100):
        y = bottom - CURVE_HEIGHT * tick / 100
        pieces += [line(CURVE_LEFT, y, right, y, "line"), text(CURVE_LEFT - 6, y, f"{tick} %", size=11, anchor="end")]
    pieces += [text(x, bottom + 13, one["codes"], size=11, anchor="middle") for x, one in zip(xs, points, strict=True)]
    pieces.append(text(right, bottom + 30, "codes known →", size=11.5, anchor="end"))
    # Where both are the same, the curve of the release lies inside that of the original.
    curves: tuple[tuple[Literal["before", "after"], float, float], ...] = (("before", 5.0, 5.0), ("after", 3.0, 2.0))
    for when, radius, width in curves:
        for chosen, dashes in (("random", "6 4"), ("worst", None)):
            places = [(x, bottom - CURVE_HEIGHT * one[chosen][when]) for x, one in zip(xs, points, strict=True)]
            pieces.append(polyline(places, when, width=width, dashes=dashes))
            shape: Shape = "circle" if chosen == "random" else "square"
            pieces += [mark(shape, x, y, radius, fill=ink(when)) for x, y in places]
    told = "; ".join(f"{one['codes']} known: {_singled_out(one)}" for one in points)
    return drawing(WIDTH, bottom + 38, title, *pieces, description=told)


def _singled_out(point: Row) -> str:
    return ", ".join(
        f"{chosen} {percent(point[chosen]['before'])} before and {percent(point[chosen]['after'])} after"
        for chosen in ("random", "worst")
    )


# ------------------------------------------------------------------------------------------------ risk and utility

MAP_WIDTH, PLOT_HEIGHT = 500, 270
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 48, 46
KEY_ROW = 17
MOST_LISTED = 14
NEAREST_TICKS = 32
RISK_TICKS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
FAMILIES: dict[Family, tuple[Shape, str]] = {
    "swap": ("circle", "swapping"),
    "noise": ("diamond", "noise and random draws"),
    "aggregation": ("square", "microaggregation"),
    "other": ("triangle", "other methods"),
}


def risk_utility_chart(points: Sequence[Row], title: str, *, max_risk: float | None = None, ring: str = "") -> Markup:
    """A mark for each plan: to the left the worst attacker reaches little, at the top an analyst loses little.

    The plans that no other beats in both are numbered, joined by a staircase (the most utility that a risk can buy) and
    listed below.

    Args:
        points: For each plan ``label``, ``method``, ``risk`` and ``utility`` (both from 0 to 1) and ``on_front``, and
            where they are known ``risk_low``, ``risk_high``, ``utility_low`` and ``utility_high``; ``chosen`` puts a
            ring around a plan, and ``shown`` is what is written in place of the risk.
        title: What the chart shows.
        max_risk: The most risk that is allowed; what lies beyond is shaded.
        ring: What the ring says of a plan.
    """
    front = sorted((one for one in points if one.get("on_front")), key=lambda one: one["risk"])
    others = [one for one in points if not one.get("on_front")]
    listed = front[:MOST_LISTED]
    lines = len(listed) + (len(front) > len(listed))
    height = TOP + PLOT_HEIGHT + BOTTOM + KEY_ROW * lines + (16 if listed else 0)
    scale = _Scale.of(points, max_risk)
    pieces = [
        *_limit(scale, max_risk),
        *_axes(scale),
        *_staircase(scale, front),
        *(_draw_pale(scale, one, ring) for one in others),
        *(_draw_numbered(scale, one, number, ring) for number, one in enumerate(front, start=1)),
        *_families(points),
        *_key(listed, len(front), TOP + PLOT_HEIGHT + BOTTOM + 8),
    ]
    if not points:
        pieces.append(text(LEFT + 10, TOP + 20, "No plan was tried."))
    told = "; ".join(_describe_point(one, ring) for one in (*front, *others))
    return drawing(MAP_WIDTH, height, title, *pieces, description=told)


@dataclass(frozen=True, slots=True)
class _Scale:
    """From risks and utilities to places; the risk is drawn by its root, which leaves room where it is small."""

    most_risk: float
    least_utility: float

    @classmethod
    def of(cls, points: Sequence[Row], max_risk: float | None) -> _Scale:
        risks = [one.get("risk_high", one["risk"]) if one.get("on_front") else one["risk"] for one in points]
        most = max([0.02, 1.3 * (max_risk or 0.0), *(1.04 * risk for risk in risks)])
        least = min([0.9, *(one.get("utility_low", one["utility"]) for one in points)])
        return cls(min(1.0, most), max(0.0, math.floor(least * 10 - 0.2) / 10))

    def x(self, risk: float) -> float:
        share = math.sqrt(min(max(risk, 0.0), self.most_risk) / self.most_risk)
        return LEFT + share * (MAP_WIDTH - LEFT - RIGHT)

    def y(self, utility: float) -> float:
        within = (min(max(utility, 0.0), 1.0) - self.least_utility) / (1.0 - self.least_utility)
        return TOP + (1.0 - max(within, 0.0)) * PLOT_HEIGHT

    def place(self, point: Row) -> tuple[float, float]:
        return self.x(point["risk"]), self.y(point["utility"])


def _axes(scale: _Scale) -> Iterator[Markup]:
    right, bottom = MAP_WIDTH - RIGHT, TOP + PLOT_HEIGHT
    for tick in _utility_ticks(scale):
        y = scale.y(tick)
        yield line(LEFT, y, right, y, "line")
        yield text(LEFT - 6, y, f"{tick:.1f}", size=11, anchor="end")
    for tick in _risk_ticks(scale):
        x = scale.x(tick)
        yield line(x, bottom, x, bottom + 5, "line")
        yield text(x, bottom + 13, f"{100 * tick:.0f} %", size=11, anchor="end" if x > right - 12 else "middle")
    yield line(LEFT, TOP, LEFT, bottom, "line")
    yield text(LEFT, TOP - 16, "↑ utility: 1 is as the original", size=11.5)
    yield text(right, bottom + 30, "risk: persons the worst attacker links →", size=11.5, anchor="end")


def _utility_ticks(scale: _Scale) -> list[float]:
    first, step = round(scale.least_utility * 10), 2 if scale.least_utility < 0.45 else 1
    return [tick / 10 for tick in range(10, first - 1, -step)]


def _risk_ticks(scale: _Scale) -> list[float]:
    ticks: list[float] = []
    for tick in RISK_TICKS:
        if tick <= scale.most_risk and (not ticks or scale.x(tick) - scale.x(ticks[-1]) >= NEAREST_TICKS):
            ticks.append(tick)
    return ticks


def _limit(scale: _Scale, max_risk: float | None) -> Iterator[Markup]:
    if max_risk is None:
        return
    x, bottom = scale.x(max_risk), TOP + PLOT_HEIGHT
    yield bar(x, TOP, MAP_WIDTH - RIGHT - x, PLOT_HEIGHT, "warn-ground")
    yield line(x, TOP, x, bottom, "warn", dashes="5 3")
    on_the_left = x > MAP_WIDTH * 0.7
    yield text(
        x - 5 if on_the_left else x + 5,
        bottom - 11,
        f"at most {100 * max_risk:.3g} % allowed",
        anchor="end" if on_the_left else "start",
        colour="warn",
    )


def _staircase(scale: _Scale, front: Sequence[Row]) -> Iterator[Markup]:
    if not front:
        return
    (x, y), *further = (scale.place(one) for one in front)
    path = f"M{x:.1f} {y:.1f}{''.join(f'H{x:.1f}V{y:.1f}' for x, y in further)}H{MAP_WIDTH - RIGHT}"
    yield element("path", d=path, fill="none", stroke=ink("after"), stroke_width=1.5, stroke_opacity=0.55)


def _draw_pale(scale: _Scale, point: Row, ring: str) -> Markup:
    x, y = scale.place(point)
    grey: dict[str, float | str | None] = {
        "fill": ink("before"),
        "fill_opacity": 0.35,
        "stroke": ink("before"),
        "stroke_width": 1.2,
    }
    shape = mark(_shape(point), x, y, 4.5, **grey)
    return element("g", element("title", _describe_point(point, ring)), *_ring(point, x, y), shape)


def _draw_numbered(scale: _Scale, point: Row, number: int, ring: str) -> Markup:
    x, y = scale.place(point)
    return element(
        "g",
        element("title", f"{number}. {_describe_point(point, ring)}"),
        *_whiskers(scale, point),
        *_ring(point, x, y),
        mark(_shape(point), x, y, 8.5, fill=ink("after")),
        text(x, y, str(number), size=10, anchor="middle", colour="ground", bold=True),
    )


def _ring(point: Row, x: float, y: float) -> Iterator[Markup]:
    if point.get("chosen"):
        yield mark("circle", x, y, 12, fill="none", stroke=ink("good"), stroke_width=2.5)


def _whiskers(scale: _Scale, point: Row) -> Iterator[Markup]:
    x, y = scale.place(point)
    if "risk_low" in point and "risk_high" in point:
        yield interval(scale.x(point["risk_low"]), scale.x(point["risk_high"]), y, "after")
    if "utility_low" in point and "utility_high" in point:
        yield line(x, scale.y(point["utility_low"]), x, scale.y(point["utility_high"]), "after")


def _family(methods: str) -> Family:
    """The family of a method; of several, joined by a plus, noise before swapping before others."""
    families = {METHODS[name].family for name in methods.split(" + ") if name in METHODS}
    return next((one for one in ("noise", "swap", "aggregation") if one in families), "other")


def _shape(point: Row) -> Shape:
    return FAMILIES[_family(point["method"])][0]


def _families(points: Sequence[Row]) -> Iterator[Markup]:
    """The legend of the shapes, where there are several."""
    present = {_family(one["method"]) for one in points}
    if len(present) < 2:
        return
    x = LEFT + 4.0
    for family, (shape, words) in FAMILIES.items():
        if family in present:
            yield mark(shape, x, 9.5, 4, fill=ink("before"))
            yield text(x + 9, 9.5, words, size=11)
            x += 6.5 * len(words) + 30


def _key(listed: Sequence[Row], n_front: int, top: float) -> Iterator[Markup]:
    for place, one in enumerate(listed):
        y = top + KEY_ROW * (place + 0.5)
        yield mark("circle", LEFT - 22, y, 7.5, fill=ink("after"))
        yield text(LEFT - 22, y, str(place + 1), size=9.5, anchor="middle", colour="ground", bold=True)
        yield text(LEFT - 8, y, shorten(one["label"], 50), size=11.5, bold=bool(one.get("chosen")))
        numbers = f"risk {_risk(one)}, utility {one['utility']:.2f}"
        yield text(MAP_WIDTH - RIGHT, y, numbers, size=11.5, anchor="end")
    if n_front > len(listed):
        y = top + KEY_ROW * (len(listed) + 0.5)
        yield text(LEFT - 8, y, f"and {n_front - len(listed)} more on the front", size=11.5)


def _describe_point(point: Row, ring: str) -> str:
    told = f"{point['label']}: risk {_risk(point)}, utility {point['utility']:.3f}"
    return f"{told} ({ring})" if ring and point.get("chosen") else told


def _risk(point: Row) -> str:
    """The risk as a text: the one that is given, for where the number is only a bound."""
    if "shown" in point:
        return str(point["shown"])
    return f"{100 * point['risk']:.2f} %" if point["risk"] < 0.01 else f"{100 * point['risk']:.1f} %"
