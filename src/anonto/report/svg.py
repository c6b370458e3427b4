"""Pieces of drawings that stand in a page, and take their colours and their font from it.

Places and lengths are in units of the drawing, from its upper left corner. Every text and every attribute is escaped
here, so any script and any sign can be in a label.
"""

from __future__ import annotations

from typing import Literal

from markupsafe import Markup

Colour = Literal["before", "after", "faint", "line", "warn", "warn-ground", "good", "ground"]
Anchor = Literal["start", "middle", "end"]
Shape = Literal["circle", "diamond", "square"]


def element(name: str, *content: str, **attributes: float | str | None) -> Markup:
    """An element with what stands in it: texts, which are escaped, and other elements.

    Args:
        name: Of the element.
        content: What stands in it.
        attributes: By name, with ``_`` for ``-``; those that are None are left out.
    """
    spelt = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _spelt(value))
        for key, value in attributes.items()
        if value is not None
    )
    if not content:
        return Markup("<{}{}/>").format(name, spelt)
    return Markup("<{0}{1}>{2}</{0}>").format(name, spelt, Markup("").join(content))


def drawing(width: float, height: float, title: str, *content: Markup, description: str = "") -> Markup:
    """A whole drawing.

    Args:
        width: In its own units; the page says how large they are.
        height: In the same units.
        title: What it shows, for those who do not see it; must differ between the drawings of a page.
        content: Its pieces, those behind others first.
        description: What is to be seen in it, for those who do not see it.
    """
    return element(
        "svg",
        element("title", title),
        *([element("desc", description)] if description else []),
        "\n",
        *(piece + Markup("\n") for piece in content),
        viewBox=f"0 0 {_spelt(width)} {_spelt(height)}",
        role="img",
        aria_label=title,
        fill="currentColor",
    )


def text(
    x: float,
    y: float,
    said: str,
    *,
    size: float = 12,
    anchor: Anchor = "start",
    colour: Colour | None = None,
    bold: bool = False,
) -> Markup:
    """A line of text on the height of a middle line."""
    return element(
        "text",
        said,
        x=x,
        y=y + 0.35 * size,
        font_size=size,
        text_anchor=None if anchor == "start" else anchor,
        font_weight="700" if bold else None,
        fill=colour and ink(colour),
    )


def line(
    x1: float, y1: float, x2: float, y2: float, colour: Colour | None, *, width: float = 1, dashed: bool = False
) -> Markup:
    """A straight line; without a colour, in that of the text."""
    return element(
        "line",
        x1=x1,
        y1=y1,
        x2=x2,
        y2=y2,
        stroke=ink(colour) if colour else "currentColor",
        stroke_width=None if width == 1 else width,
        stroke_dasharray="5 3" if dashed else None,
    )


def bar(x: float, y: float, width: float, height: float, colour: Colour, *, opacity: float = 1) -> Markup:
    """A filled rectangle."""
    shine = None if opacity == 1 else opacity
    return element("rect", x=x, y=y, width=max(width, 0), height=height, fill=ink(colour), opacity=shine)


def interval(low: float, high: float, y: float, colour: Colour | None = None, *, width: float = 1) -> Markup:
    """A level line between two ends that are marked."""
    ends = (line(end, y - 4, end, y + 4, colour, width=width) for end in (low, high))
    return Markup("").join([line(low, y, high, y, colour, width=width), *ends])


def mark(shape: Shape, x: float, y: float, radius: float, **attributes: float | str | None) -> Markup:
    """A point, in one of the shapes that look equally large."""
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=radius, **attributes)
    if shape == "square":
        half = 0.92 * radius
        return element("rect", x=x - half, y=y - half, width=2 * half, height=2 * half, rx=1.5, **attributes)
    wide = 1.3 * radius
    corners = ((x, y - wide), (x + wide, y), (x, y + wide), (x - wide, y))
    return element("polygon", points=" ".join(f"{_spelt(a)},{_spelt(b)}" for a, b in corners), **attributes)


def ink(colour: Colour) -> str:
    """A colour of the page."""
    return f"var(--{colour})"


def shortened(label: str, longest: int) -> str:
    """A label that fits, with a sign where it was cut."""
    return label if len(label) <= longest else label[: longest - 1].rstrip(" ,;") + "…"


def _spelt(value: float | str) -> str:
    """A number with as many digits as can be seen."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
