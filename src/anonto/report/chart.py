"""Bars of frequencies before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.report.counts import drawn, spelt
from anonto.report.drawing import Sheet, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.report.drawing import Colour

MOST_ROWS = 12
LONGEST_LABEL = 58
WIDTH = 340.0
ROW_HEIGHT = 37.0
BAR_HEIGHT = 8.0
ROOM_FOR_COUNTS = 56.0


def frequency_chart(rows: Sequence[dict[str, Any]], title: str) -> str:
    """An SVG element with two bars for each of the largest rows.

    Args:
        rows: Label, before and after of each concept, as a report shows them.
        title: What the chart shows, for those who do not see it; must differ between the charts of a page.
    """
    drawn_rows = rows[:MOST_ROWS]
    sheet = Sheet(WIDTH, ROW_HEIGHT * max(len(drawn_rows), 1))
    longest = max((drawn(row[when]) for row in drawn_rows for when in ("before", "after")), default=0)
    for place, row in enumerate(drawn_rows):
        _draw_row(sheet, place * ROW_HEIGHT, row, (WIDTH - ROOM_FOR_COUNTS) / max(longest, 1))
    return sheet.svg(title)


def _draw_row(sheet: Sheet, top: float, row: dict[str, Any], scale: float) -> None:
    sheet.write(0, top + 7, shortened(row["label"] or row["concept"], LONGEST_LABEL))
    bars: tuple[tuple[float, Colour], ...] = ((top + 13, "before"), (top + 13 + BAR_HEIGHT + 1, "after"))
    for y, when in bars:
        length = drawn(row[when]) * scale
        sheet.bar(0, y, length, BAR_HEIGHT, when, opacity=0.4 if isinstance(row[when], str) else 1.0)
        sheet.write(length + 4, y + BAR_HEIGHT / 2, spelt(row[when]), size=7.5, colour="faint")
