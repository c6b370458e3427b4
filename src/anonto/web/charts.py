"""Chart options for the browser's chart library. Labels and tooltips are rendered as text, never as markup."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nicegui import ui

from anonto.web.words import attack_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ACCENT, PALE, INK, SOFT, LINE = "#0b6e6e", "#b9c4c5", "#1c2526", "#5a686a", "#dbe3e3"
FONT = {"fontFamily": "system-ui, sans-serif", "color": INK, "fontSize": 13}
_NARROW = {"width": 150, "overflow": "truncate"}
"""Truncates labels, to leave room for bars in a narrow window; the tooltip shows them in full."""
_WRAPPED = {"width": 150, "overflow": "break", "lineHeight": 16, "interval": 0}
"""Wraps labels that must be readable in full onto two lines."""
ROOM_FOR_A_BAR = 42
"""Pixels: a label of two lines, and padding."""


def chart(
    options: dict[str, Any],
    title: str,
    classes: str = "",
    on_click: Callable[[Any], Any] | None = None,
    n_bars: int = 0,
) -> Any:
    """A chart with an accessible name; as high as its horizontal bars need."""
    drawn = ui.echart(
        {
            "textStyle": FONT,
            "animationDuration": 300,
            "aria": {"enabled": True, "label": {"description": title}},
            **options,
        },
        on_point_click=on_click,
        renderer="svg",
    ).classes(f"chart {classes}")
    drawn.props["role"] = "img"
    drawn.props["aria-label"] = title
    if n_bars:
        drawn.style(f"height: {80 + ROOM_FOR_A_BAR * n_bars}px")
    return drawn


def _tooltip(**more: Any) -> dict[str, Any]:
    return {"renderMode": "richText", "confine": True, **more}


def _shorten(label: str, limit: int) -> str:
    return label if len(label) <= limit else f"{label[: limit - 1]}…"


def before_after(
    labels: Sequence[str], before: Sequence[int], after: Sequence[int], *, in_order: bool
) -> dict[str, Any]:
    """Bars of counts before and after: horizontal for names, vertical for numbers."""
    names = [_shorten(label, 16) for label in labels] if in_order else list(labels)
    categories: dict[str, Any] = {
        "type": "category",
        "data": names,
        "axisTick": {"show": False},
        "axisLine": {"lineStyle": {"color": LINE}},
    }
    counts = {"type": "value", "splitLine": {"lineStyle": {"color": LINE}}, "axisLabel": {"color": SOFT}}
    if in_order:
        axes = {"xAxis": {**categories, "axisLabel": {"color": SOFT, "rotate": 35}}, "yAxis": counts}
    else:
        axes = {"xAxis": counts, "yAxis": {**categories, "inverse": True, "axisLabel": {"color": INK, **_NARROW}}}
    return {
        **axes,
        "grid": {"left": 22, "right": 24, "top": 36, "bottom": 8, "containLabel": True},
        "legend": {"data": ["before", "after"], "left": 0, "top": 0},
        "tooltip": _tooltip(trigger="axis", axisPointer={"type": "shadow"}),
        "series": [
            {"name": "before", "type": "bar", "data": list(before), "itemStyle": {"color": PALE}, "barMaxWidth": 14},
            {"name": "after", "type": "bar", "data": list(after), "itemStyle": {"color": ACCENT}, "barMaxWidth": 14},
        ],
    }


def heat(rows: Sequence[str], columns: Sequence[str], counts: Sequence[Sequence[int]], most: int) -> dict[str, Any]:
    """A table of counts as a heat map."""
    cells = [[place, line, number] for line, row in enumerate(counts) for place, number in enumerate(row)]
    return {
        "grid": {"left": 22, "right": 8, "top": 8, "bottom": 8, "containLabel": True},
        "xAxis": {
            "type": "category",
            "data": [_shorten(label, 14) for label in columns],
            "axisLabel": {"rotate": 40, "color": SOFT, "interval": 0, "fontSize": 11},
            "axisTick": {"show": False},
        },
        "yAxis": {
            "type": "category",
            "inverse": True,
            "data": list(rows),
            "axisLabel": {"color": SOFT, "fontSize": 11, "width": 100, "overflow": "truncate"},
            "axisTick": {"show": False},
        },
        "visualMap": {
            "min": 0,
            "max": max(most, 1),
            "show": False,
            "inRange": {"color": ["#f3f7f7", "#7fb6b4", "#07504f"]},
        },
        "tooltip": _tooltip(),
        "series": [{"type": "heatmap", "data": cells, "itemStyle": {"borderColor": "#fff", "borderWidth": 1}}],
    }


def attacks(risks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The success rate of each attack, and the rate by guessing."""
    names = [attack_words(one)[0].replace(" (", "\n(") for one in risks]
    return {
        "grid": {"left": 8, "right": 32, "top": 36, "bottom": 8, "containLabel": True},
        "legend": {"data": ["success rate", "by guessing"], "left": 0, "top": 0},
        "xAxis": {
            "type": "value",
            "max": 100,
            "axisLabel": {"formatter": "{value} %", "color": SOFT, "hideOverlap": True},
            "splitLine": {"lineStyle": {"color": LINE}},
        },
        "yAxis": {
            "type": "category",
            "inverse": True,
            "data": names,
            "axisTick": {"show": False},
            "axisLine": {"lineStyle": {"color": LINE}},
            "axisLabel": {"color": INK, **_WRAPPED},
        },
        "tooltip": _tooltip(trigger="axis", axisPointer={"type": "shadow"}),
        "series": [
            {
                "name": "success rate",
                "type": "bar",
                "data": [round(100 * one["rate"], 2) for one in risks],
                "itemStyle": {"color": ACCENT},
                "barMaxWidth": 14,
            },
            {
                "name": "by guessing",
                "type": "scatter",
                "symbol": "rect",
                "symbolSize": [3, 16],
                "data": [round(100 * one["baseline"], 2) for one in risks],
                "itemStyle": {"color": INK},
            },
        ],
    }


def risk_utility(points: Sequence[dict[str, Any]], current: int) -> dict[str, Any]:
    """The risk-utility map: a mark for each plan, and the Pareto front as a staircase; dashed if tried on a sample."""
    samples = list(dict.fromkeys(one["sample"] for one in points))
    marks = [
        {
            "name": f"{one['label']}, tried on a sample" if one["sample"] else one["label"],
            "value": [round(100 * one["risk"], 3), round(100 * one["utility"], 3), one["number"]],
            "symbol": "diamond" if one["sample"] else "circle",
            "symbolSize": 18 if one["number"] == current else 12,
            "itemStyle": {
                "color": ACCENT if one["on_front"] else PALE,
                "borderColor": INK if one["number"] == current else "#fff",
                "borderWidth": 2,
            },
            "label": {"show": len(points) <= 15, "formatter": str(one["number"]), "position": "top", "color": SOFT},
        }
        for one in points
    ]
    furthest = min(100, 10 * math.ceil(12 * max((one["risk"] for one in points), default=0.5)))
    lowest = max(0, 10 * math.floor(9 * min((one["utility"] for one in points), default=0)))
    axis = {
        "type": "value",
        "nameLocation": "middle",
        "axisLabel": {"formatter": "{value} %", "color": SOFT, "hideOverlap": True},
        "splitLine": {"lineStyle": {"color": LINE}},
        "scale": True,
    }
    return {
        "grid": {"left": 34, "right": 24, "top": 20, "bottom": 34, "containLabel": True},
        "xAxis": {**axis, "name": "risk: persons recognised, at worst", "nameGap": 30, "min": 0, "max": furthest},
        "yAxis": {**axis, "name": "utility", "nameGap": 52, "min": lowest, "max": 100},
        "tooltip": _tooltip(trigger="item", formatter="{b}"),
        "series": [
            *(_front([one for one in points if one["sample"] == sample]) for sample in samples),
            {"type": "scatter", "data": marks},
        ],
    }


def _front(points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The Pareto front, as a staircase, of plans that were tried on the same records."""
    front = sorted((one for one in points if one["on_front"]), key=lambda one: one["risk"])
    return {
        "type": "line",
        "step": "end",
        "data": [[round(100 * one["risk"], 3), round(100 * one["utility"], 3)] for one in front],
        "lineStyle": {"color": ACCENT, "width": 2, "type": "dashed" if points[0]["sample"] else "solid"},
        "symbol": "none",
        "silent": True,
    }
