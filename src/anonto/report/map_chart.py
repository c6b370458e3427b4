"""The risk-utility map, as an SVG that takes its colours from the page around it.

Every plan is a mark: to the left the worst attacker reaches little, at the top an analyst loses little. The plans that
no other beats in both are numbered, joined by a staircase (the most utility that a risk can buy) and listed below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Point = Mapping[str, Any]

TITLE = "Risk and utility of the plans tried"
WIDTH = 500
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 48, 46
PLOT_HEIGHT = 270
KEY_ROW = 17
MOST_LISTED = 14
LONGEST_LABEL = 58
NEAREST_TICKS = 26
RISK_TICKS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
FAMILIES = {"swap": "swapping", "draw": "noise and random draws", "group": "microaggregation"}


def risk_utility_chart(
    points: Sequence[Point], *, pareto: bool = True, max_risk: float | None = None, title: str = TITLE
) -> str:
    """An SVG element with a mark for each plan.

    Args:
        points: For each plan ``label``, ``method``, ``risk`` and ``utility`` (both from 0 to 1) and ``on_front``, and
            where they are known ``risk_low``, ``risk_high``, ``utility_low`` and ``utility_high``; ``chosen`` marks
            the plan that is recommended, and ``shown`` is what is written in place of the risk.
        pareto: Whether the plans on the front are numbered, joined and listed.
        max_risk: The most risk that is allowed; what lies beyond is shaded.
        title: What the chart shows, for those who do not see it; must differ between the charts of a page.
    """
    front = sorted((one for one in points if pareto and one.get("on_front")), key=lambda one: one["risk"])
    listed = front[:MOST_LISTED]
    left_out = 1 if len(front) > len(listed) else 0
    height = TOP + PLOT_HEIGHT + BOTTOM + KEY_ROW * (len(listed) + left_out) + (16 if listed else 0)
    scale = _Scale.of(points, max_risk)
    body = [
        *_limit(scale, max_risk),
        *_axes(scale),
        *_staircase(scale, front),
        *(_mark(scale, one, faint=pareto) for one in points if not (pareto and one.get("on_front"))),
        *(_numbered(scale, one, number) for number, one in enumerate(front, start=1)),
        *_families(points),
        *_key(listed, len(front), TOP + PLOT_HEIGHT + BOTTOM + 8),
    ]
    if not points:
        body.append(_text(LEFT + 10, TOP + 24, "No plan was tried."))
    start = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" class="map">'
    style = 'font-family="sans-serif" fill="currentColor"'
    return f"{start}<title>{escape(title)}</title>\n<g {style}>\n" + "\n".join(body) + "\n</g>\n</svg>"


@dataclass(frozen=True, slots=True)
class _Scale:
    """From risks and utilities to places; the risk is drawn by its root, which leaves room where it is small."""

    most_risk: float
    least_utility: float

    @classmethod
    def of(cls, points: Sequence[Point], max_risk: float | None) -> _Scale:
        risks = [one.get("risk_high", one["risk"]) if one.get("on_front") else one["risk"] for one in points]
        most = max([0.02, 1.3 * (max_risk or 0.0), *(1.04 * risk for risk in risks)])
        least = min([0.9, *(one.get("utility_low", one["utility"]) for one in points)])
        return cls(min(1.0, most), max(0.0, math.floor(least * 10 - 0.2) / 10))

    def x(self, risk: float) -> float:
        share = math.sqrt(min(max(risk, 0.0), self.most_risk) / self.most_risk)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, utility: float) -> float:
        within = (min(max(utility, 0.0), 1.0) - self.least_utility) / (1.0 - self.least_utility)
        return TOP + (1.0 - max(within, 0.0)) * PLOT_HEIGHT


# ------------------------------------------------------------------------------------------------ the ground


def _axes(scale: _Scale) -> Iterator[str]:
    bottom = TOP + PLOT_HEIGHT
    for tick in _utility_ticks(scale):
        y = scale.y(tick)
        yield _line(LEFT, y, WIDTH - RIGHT, y, "var(--line)")
        yield _text(LEFT - 6, y + 4, f"{tick:.1f}", size=11, anchor="end")
    for tick in _risk_ticks(scale):
        x = scale.x(tick)
        yield _line(x, bottom, x, bottom + 5, "var(--line)")
        at_the_edge = x > WIDTH - RIGHT - 12
        yield _text(x, bottom + 17, f"{100 * tick:.0f} %", size=11, anchor="end" if at_the_edge else "middle")
    yield _line(LEFT, TOP, LEFT, bottom, "var(--line)")
    yield _text(LEFT, TOP - 12, "↑ utility: 1 is as the original", size=11.5)
    yield _text(WIDTH - RIGHT, bottom + 34, "risk: persons the worst attacker links →", size=11.5, anchor="end")


def _utility_ticks(scale: _Scale) -> list[float]:
    first, step = round(scale.least_utility * 10), 2 if scale.least_utility < 0.45 else 1
    return [tick / 10 for tick in range(10, first - 1, -step)]


def _risk_ticks(scale: _Scale) -> list[float]:
    ticks: list[float] = []
    for tick in RISK_TICKS:
        if tick <= scale.most_risk and (not ticks or scale.x(tick) - scale.x(ticks[-1]) >= NEAREST_TICKS):
            ticks.append(tick)
    return ticks


def _limit(scale: _Scale, max_risk: float | None) -> Iterator[str]:
    if max_risk is None:
        return
    x = scale.x(max_risk)
    yield (
        f'<rect x="{x:.1f}" y="{TOP}" width="{max(WIDTH - RIGHT - x, 0):.1f}" height="{PLOT_HEIGHT}" '
        'fill="var(--warn-ground)"/>'
    )
    yield _line(x, TOP, x, TOP + PLOT_HEIGHT, "var(--warn)", dashed=True)
    on_the_left = x > WIDTH * 0.7
    place, anchor = (x - 5, "end") if on_the_left else (x + 5, "start")
    yield _text(
        place, TOP + PLOT_HEIGHT - 7, f"at most {100 * max_risk:.3g} % allowed", anchor=anchor, fill="var(--warn)"
    )


# ------------------------------------------------------------------------------------------------ the plans


def _staircase(scale: _Scale, front: Sequence[Point]) -> Iterator[str]:
    if not front:
        return
    path = f"M{scale.x(front[0]['risk']):.1f} {scale.y(front[0]['utility']):.1f}"
    for one in front[1:]:
        path += f"H{scale.x(one['risk']):.1f}V{scale.y(one['utility']):.1f}"
    path += f"H{WIDTH - RIGHT}"
    yield f'<path d="{path}" fill="none" stroke="var(--after)" stroke-width="1.5" stroke-opacity=".55"/>'


def _mark(scale: _Scale, point: Point, *, faint: bool) -> str:
    x, y = scale.x(point["risk"]), scale.y(point["utility"])
    shape = _shape(_family(point["method"]), x, y, 4.5)
    colour = "var(--before)" if faint else "var(--after)"
    return (
        f'{_ring(point, x, y)}<g fill="{colour}" fill-opacity=".35" stroke="{colour}" stroke-width="1.2">{shape}'
        f"<title>{_told(point)}</title></g>"
    )


def _numbered(scale: _Scale, point: Point, number: int) -> str:
    x, y = scale.x(point["risk"]), scale.y(point["utility"])
    return (
        f"<g>{''.join(_whiskers(scale, point))}{_ring(point, x, y)}"
        f'<g fill="var(--after)">{_shape(_family(point["method"]), x, y, 8.5)}</g>'
        f"{_text(x, y + 3.6, str(number), size=10, anchor='middle', fill='var(--ground)', bold=True)}"
        f"<title>{number}. {_told(point)}</title></g>"
    )


def _ring(point: Point, x: float, y: float) -> str:
    """Around the plan that is recommended."""
    if not point.get("chosen"):
        return ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="12" fill="none" stroke="var(--good)" stroke-width="2.5"/>'


def _whiskers(scale: _Scale, point: Point) -> Iterator[str]:
    x, y = scale.x(point["risk"]), scale.y(point["utility"])
    if "risk_low" in point and "risk_high" in point:
        low, high = scale.x(point["risk_low"]), scale.x(point["risk_high"])
        yield _line(low, y, high, y, "var(--after)")
        yield from (_line(x, y - 3.5, x, y + 3.5, "var(--after)") for x in (low, high))
    if "utility_low" in point and "utility_high" in point:
        yield _line(x, scale.y(point["utility_low"]), x, scale.y(point["utility_high"]), "var(--after)")


def _family(method: str) -> str:
    if "noise" in method or "exponential" in method:
        return "draw"
    return "swap" if "swap" in method else "group"


def _shape(family: str, x: float, y: float, radius: float) -> str:
    if family == "draw":
        wide = radius * 1.3
        diamond = f"{x:.1f},{y - wide:.1f} {x + wide:.1f},{y:.1f} {x:.1f},{y + wide:.1f} {x - wide:.1f},{y:.1f}"
        return f'<polygon points="{diamond}"/>'
    if family == "group":
        half = radius * 0.92
        return f'<rect x="{x - half:.1f}" y="{y - half:.1f}" width="{2 * half:.1f}" height="{2 * half:.1f}" rx="1.5"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>'


def _families(points: Sequence[Point]) -> Iterator[str]:
    """Which shape stands for what, when there are several."""
    present = [family for family in FAMILIES if any(_family(one["method"]) == family for one in points)]
    if len(present) < 2:
        return
    x = float(WIDTH - RIGHT)
    for family in reversed(present):
        yield _text(x, 13, FAMILIES[family], size=11, anchor="end")
        x -= 5.5 * len(FAMILIES[family]) + 10
        yield f'<g fill="var(--before)">{_shape(family, x, 9.5, 4)}</g>'
        x -= 14


def _key(listed: Sequence[Point], n_front: int, top: float) -> Iterator[str]:
    for place, one in enumerate(listed):
        y = top + KEY_ROW * (place + 0.5)
        yield (
            f'<circle cx="{LEFT - 22}" cy="{y:.1f}" r="7.5" fill="var(--after)"/>'
            f"{_text(LEFT - 22, y + 3.5, str(place + 1), size=9.5, anchor='middle', fill='var(--ground)', bold=True)}"
        )
        yield _text(LEFT - 8, y + 4, _shortened(one["label"]), size=11.5, bold=bool(one.get("chosen")))
        numbers = f"risk {_risk(one)}, utility {one['utility']:.2f}"
        yield _text(WIDTH - RIGHT, y + 4, numbers, size=11.5, anchor="end")
    if n_front > len(listed):
        y = top + KEY_ROW * (len(listed) + 0.5)
        yield _text(LEFT - 8, y + 4, f"and {n_front - len(listed)} more on the front", size=11.5)


def _told(point: Point) -> str:
    told = f"{point['label']}: risk {_risk(point)}, utility {point['utility']:.3f}"
    return escape(f"{told} (recommended)" if point.get("chosen") else told)


def _risk(point: Point) -> str:
    """The risk as a text: the one that is given, for where the number is only a bound."""
    if "shown" in point:
        return str(point["shown"])
    return f"{100 * point['risk']:.2f} %" if point["risk"] < 0.01 else f"{100 * point['risk']:.1f} %"


def _shortened(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1].rstrip(" ,;") + "…"


# ------------------------------------------------------------------------------------------------ pieces


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> str:
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dash}/>'


def _text(
    x: float, y: float, text: str, *, size: float = 12, anchor: str = "start", fill: str = "", bold: bool = False
) -> str:
    colour = f' fill="{fill}"' if fill else ""
    weight = ' font-weight="700"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}"{colour}{weight}>'
        f"{escape(text)}</text>"
    )
