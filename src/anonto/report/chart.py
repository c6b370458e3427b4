"""Bars of frequencies before and after, as an SVG that takes its colours from the page around it.

Texts are put into the finished drawing: they are never measured, so any script and any sign can be in a label, and
they are never read as a formula.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING, Any

from anonto.report.counts import drawn, spelt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

MOST_ROWS = 12
LONGEST_LABEL = 62
WIDTH = 4.7
ROW_HEIGHT = 0.5
_COLOURS = {"before": "#010203", "after": "#010204", "text": "#010205", "line": "#010206"}
"""Stand-ins that the page's own colours replace."""


def frequency_chart(rows: Sequence[dict[str, Any]], title: str) -> str:
    """An SVG element with two bars for each of the largest rows.

    Args:
        rows: Label, before and after of each concept, as a report shows them.
        title: What the chart shows, for those who do not see it; must differ between the charts of a page.
    """
    drawn_rows = rows[:MOST_ROWS]
    texts: list[str] = []
    figure_bytes = _figure(drawn_rows, texts, title)
    return _inline(figure_bytes.decode("utf-8"), texts, title)


def _figure(rows: Sequence[dict[str, Any]], texts: list[str], salt: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, ROW_HEIGHT * len(rows) + 0.1), facecolor="none")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.axis("off")
    longest = max((drawn(row[when]) for row in rows for when in ("before", "after")), default=1)
    axes.set_xlim(0, max(longest, 1) * 1.2)
    axes.set_ylim(len(rows), -0.1)
    for place, row in enumerate(rows):
        _draw_row(axes, place, row, texts)
    written = io.BytesIO()
    # The ids of a drawing come from a setting alone; it is put back right after.
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(written, format="svg", facecolor="none", metadata={"Date": None})
    return written.getvalue()


def _draw_row(axes: Axes, place: int, row: dict[str, Any], texts: list[str]) -> None:
    def write(x: float, y: float, text: str, size: float) -> None:
        axes.text(x, y, f"@{len(texts)}@", fontsize=size, color=_COLOURS["text"], va="center")
        texts.append(text)

    write(0, place + 0.16, _shortened(row["label"] or row["concept"]), 8.5)
    for y, when in ((place + 0.44, "before"), (place + 0.70, "after")):
        length = drawn(row[when])
        is_exact = isinstance(row[when], int)
        axes.barh(y, length, height=0.22, color=_COLOURS[when], alpha=1.0 if is_exact else 0.4, linewidth=0)
        write(length + axes.get_xlim()[1] * 0.008, y, spelt(row[when]), 7)


def _shortened(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1].rstrip(" ,;") + "…"


def _inline(svg: str, texts: Sequence[str], title: str) -> str:
    """The drawing as an element of a page: no ids that others could have, no size, no namespaces."""
    box = re.search(r'viewBox="([^"]+)"', svg)
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    body = re.sub(r"font: ([\d.]+px) [^;\"]+", r"font: \1 sans-serif", body)
    body = re.sub(r"@(\d+)@", lambda found: escape(texts[int(found[1])]), body)
    for name, stand_in in _COLOURS.items():
        body = body.replace(stand_in, "currentColor" if name == "text" else f"var(--{name})")
    body = "\n".join(line.strip() for line in body.splitlines() if line.strip())
    start = f'<svg viewBox="{box[1] if box else ""}" role="img" aria-label="{escape(title)}">'
    return f"{start}<title>{escape(title)}</title>\n{body}"
