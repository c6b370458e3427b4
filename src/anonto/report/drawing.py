"""A sheet to draw on, that becomes an SVG element which takes its colours from the page around it.

Places are in points, from the upper left corner. Texts are put into the finished drawing: they are never measured, so
any script and any sign can be in a label, and they are never read as a formula.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

Colour = Literal["before", "after", "text", "faint", "line", "warn", "good", "ground"]

_STAND_INS: dict[Colour, str] = {
    "before": "#010203",
    "after": "#010204",
    "text": "#010205",
    "line": "#010206",
    "faint": "#010207",
    "warn": "#010208",
    "good": "#010209",
    "ground": "#01020a",
}
"""Stand-ins that the page's own colours replace."""
POINTS = 72.0


class Sheet:
    """A drawing of a width and a height in points."""

    def __init__(self, width: float, height: float) -> None:
        from matplotlib.figure import Figure

        self._figure = Figure(figsize=(width / POINTS, height / POINTS), facecolor="none")
        self._axes = self._figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self._axes.axis("off")
        self._axes.set_xlim(0, width)
        self._axes.set_ylim(height, 0)
        self._texts: list[str] = []

    def bar(self, x: float, y: float, width: float, height: float, colour: Colour, *, opacity: float = 1.0) -> None:
        """A filled rectangle."""
        from matplotlib.patches import Rectangle

        rectangle = Rectangle((x, y), width, height, color=_STAND_INS[colour], alpha=opacity, linewidth=0)
        self._axes.add_patch(rectangle).set_clip_on(False)

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        colour: Colour,
        *,
        width: float = 1.0,
        dashed: bool = False,
    ) -> None:
        """A straight line."""
        self._axes.plot(
            [start[0], end[0]],
            [start[1], end[1]],
            color=_STAND_INS[colour],
            linewidth=width,
            linestyle=(0, (4, 3)) if dashed else "solid",
            solid_capstyle="butt",
            clip_on=False,
        )

    def write(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 9.0,
        colour: Colour = "text",
        anchor: Literal["left", "center", "right"] = "left",
    ) -> None:
        """A line of text; ``y`` is its middle."""
        self._axes.text(
            x, y, f"@{len(self._texts)}@", fontsize=size, color=_STAND_INS[colour], ha=anchor, va="center_baseline"
        )
        self._texts.append(text)

    def svg(self, title: str, description: str = "") -> str:
        """The finished drawing.

        Args:
            title: What it shows, for those who do not see it; must differ between the drawings of a page.
            description: What is to be seen in it.
        """
        import matplotlib as mpl

        written = io.BytesIO()
        # The ids of a drawing come from a setting alone; it is put back right after.
        with mpl.rc_context({"svg.hashsalt": title, "svg.fonttype": "none", "font.family": "sans-serif"}):
            self._figure.savefig(written, format="svg", facecolor="none", metadata={"Date": None})
        return _inline(written.getvalue().decode("utf-8"), self._texts, title, description)


def shortened(label: str, longest: int) -> str:
    """A label that fits, with a sign where it was cut."""
    return label if len(label) <= longest else label[: longest - 1].rstrip(" ,;") + "…"


def _inline(svg: str, texts: Sequence[str], title: str, description: str) -> str:
    """The drawing as an element of a page: no ids that others could have, no size, no namespaces."""
    box = re.search(r'viewBox="([^"]+)"', svg)
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    body = re.sub(r"(font: [\d.]+px|font-family:) [^;\"]+", r"\1 sans-serif", body)
    body = re.sub(r' transform="rotate\(-0 [^"]*"', "", body)
    body = re.sub(r"@(\d+)@", lambda found: escape(texts[int(found[1])]), body)
    for name, stand_in in _STAND_INS.items():
        body = body.replace(stand_in, "currentColor" if name == "text" else f"var(--{name})")
    body = "\n".join(line.strip() for line in body.splitlines() if line.strip())
    described = f"<desc>{escape(description)}</desc>" if description else ""
    start = f'<svg viewBox="{box[1] if box else ""}" role="img" aria-label="{escape(title)}">'
    return f"{start}<title>{escape(title)}</title>{described}\n{body}"
