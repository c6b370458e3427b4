"""The drawings of an assessed release: linkage against 1/k, dependence before and after, distances moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from anonto.report.counts import drawn
from anonto.report.drawing import Sheet, shortened
from anonto.risk.telling import percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonto.report.drawing import Colour

WIDTH = 340.0
LINKAGE_ROW = 38.0
BAR_MIDDLE = 21.0
MOST_LINKAGES = 12
MOST_COLUMNS = 12
"""Of more columns, those whose dependence changed most are drawn."""
STRONGEST = 0.55
"""How dense the darkest cell is: the number on it must still be read."""


def linkage_chart(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    """Bars of linkage rates with their intervals, and lines where 1/k and blind guessing are.

    Args:
        rows: Linkages as a report shows them.
        title: For those who do not see it.
    """
    rows = rows[:MOST_LINKAGES]
    limits = sorted({one["one_in_k"] for one in rows if one["one_in_k"] is not None})
    longest = max([0.01, *(1.05 * limit for limit in limits), *(_reach(one) for one in rows)])
    top, scale = (18.0 if limits else 4.0), (WIDTH - 52.0) / longest
    bottom = top + LINKAGE_ROW * len(rows)
    sheet = Sheet(WIDTH, bottom + 6.0)
    several = len({tuple(one["columns"]) for one in rows}) > 1
    for place, row in enumerate(rows):
        label = f"{_name(row)} – {', '.join(row['columns'])}" if several else _name(row)
        _draw_linkage(sheet, top + LINKAGE_ROW * place, row, scale, shortened(label, 62))
    for limit in limits:
        for place in range(len(rows)):
            y = top + LINKAGE_ROW * place + BAR_MIDDLE
            sheet.line((limit * scale, y - 9), (limit * scale, y + 9), "warn", width=1.5)
        anchor: Literal["left", "right"] = "right" if limit * scale > WIDTH / 2 else "left"
        sheet.write(limit * scale, top - 11, f"1/k = {100 * limit:.3g} %", size=8.5, colour="warn", anchor=anchor)
    return sheet.svg(title, "; ".join(f"{_name(one)}: {one['shown']}" for one in rows))


def _reach(row: Mapping[str, Any]) -> float:
    return max(one for one in (row["rate"], row["high"], row["low"], 0.0) if one is not None)


def _name(row: Mapping[str, Any]) -> str:
    return f"{row['attack']}, all at once" if row.get("matching") == "global" else str(row["attack"])


def _draw_linkage(sheet: Sheet, top: float, row: Mapping[str, Any], scale: float, label: str) -> None:
    sheet.write(0, top + 7, label)
    y, rate = top + BAR_MIDDLE, row["rate"]
    low, high = row["low"], row["high"]
    if rate is not None:
        sheet.bar(0, y - 6, rate * scale, 12, "after")
    if low is not None and high is not None:
        sheet.line((low * scale, y), (high * scale, y), "text", width=1.2)
        for end in (low, high):
            sheet.line((end * scale, y - 4), (end * scale, y + 4), "text", width=1.2)
    sheet.line((row["baseline"] * scale, y - 8), (row["baseline"] * scale, y + 8), "before", width=1.5)
    sheet.write(_reach(row) * scale + 6, y, row["shown"], size=8.5)


def heat_map(names: Sequence[str], values: Mapping[tuple[str, str], float], title: str, *, change: bool = False) -> str:
    """A triangle of numbers from 0 to 1, or of changes from −1 to 1, the darker the larger.

    Args:
        names: Of the columns.
        values: For each pair, in the order of the names, its number; a pair without one stays empty.
        title: For those who do not see it.
        change: Whether the numbers are changes: those below 0 have another colour.
    """
    n = len(names)
    left, top, cell = 112.0, 16.0, 24.0
    width = min(40.0, (WIDTH - left) / max(n - 1, 1))
    sheet = Sheet(WIDTH, top + cell * (n - 1) + 2)
    for column in range(n - 1):
        sheet.write(left + width * (column + 0.5), top - 8, str(column + 1), size=8, colour="faint", anchor="center")
    for row in range(1, n):
        y = top + cell * (row - 1)
        sheet.write(0, y + cell / 2, f"{row + 1}  {shortened(names[row], 18)}", size=8.5)
        for column in range(row):
            value = values.get((names[column], names[row]))
            if value is not None:
                colour: Colour = "warn" if change and value < 0 else "after"
                opacity = 0.04 + STRONGEST * min(1.0, abs(value) * (3 if change else 1))
                sheet.bar(left + width * column + 1, y + 1, width - 2, cell - 2, colour, opacity=opacity)
                sheet.write(
                    left + width * (column + 0.5), y + cell / 2, _cell(value, change=change), size=8, anchor="center"
                )
    return sheet.svg(title)


def _cell(value: float, *, change: bool) -> str:
    text = f"{abs(value):.2f}".removeprefix("0")
    if not change or text == ".00":
        return text
    return f"{'−' if value < 0 else '+'}{text}"


def moved_chart(bins: Sequence[Mapping[str, Any]], title: str) -> str:
    """Upright bars of how many cells moved how far."""
    height, bottom = 96.0, 80.0
    sheet = Sheet(WIDTH, height)
    counts = [one["cells"] for one in bins]
    highest = max([1.0, *map(drawn, counts)])
    width = WIDTH / max(len(bins), 1)
    for place, shown in enumerate(counts):
        tall = drawn(shown) / highest * (bottom - 6)
        sheet.bar(
            width * place + 1, bottom - tall, width - 2, tall, "after", opacity=0.4 if isinstance(shown, str) else 1
        )
    sheet.line((0, bottom), (WIDTH, bottom), "line")
    sheet.write(0, bottom + 9, "0: near", size=8.5, colour="faint")
    sheet.write(WIDTH / 2, bottom + 9, "0.5", size=8.5, colour="faint", anchor="center")
    sheet.write(WIDTH, bottom + 9, "1: as far as can be", size=8.5, colour="faint", anchor="right")
    return sheet.svg(title)


def shown_interval(row: Mapping[str, Any]) -> str:
    """The interval of a rate as text."""
    low, high = row["low"], row["high"]
    if low is None and high is None:
        return "–"
    if low is None:
        return f"up to {percent(high)}"
    return f"from {percent(low)}" if high is None else f"{percent(low)} – {percent(high)}"
