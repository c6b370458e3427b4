"""SVG primitives: the only module that writes SVG.

A drawing inside a page takes its colours and font from the page; a drawing in a file of its own has a style sheet.
Coordinates and lengths are in units of the drawing, from its upper left corner. Every text and every attribute is
escaped here, so a label can contain any character.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Iterable

SeriesColour = Literal["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"]
Colour = Literal["before", "after", "ink", "faint", "line", "warn", "warn-ground", "good", "ground"] | SeriesColour
"""Names of the CSS variables that hold the colours; ``s0`` to ``s7`` are those of data series."""
Anchor = Literal["start", "middle", "end"]
Shape = Literal["circle", "square", "diamond", "triangle"]


def element(name: str, *content: str, **attributes: float | str | None) -> Markup:
    """An element and its content: texts, which are escaped, and other elements.

    Args:
        name: The tag.
        content: Texts and elements inside it.
        attributes: By name, with ``_`` for ``-``; those that are None are left out.
    """
    spelt = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _spell_number(value))
        for key, value in attributes.items()
        if value is not None
    )
    if not content:
        return Markup("<{}{}/>").format(name, spelt)
    return Markup("<{0}{1}>{2}</{0}>").format(name, spelt, Markup("").join(content))


def drawing(
    width: float, height: float, title: str, *content: Markup, description: str = "", style: str | None = None
) -> Markup:
    """A whole drawing.

    Args:
        width: In its own units; the page sets their size.
        height: In the same units.
        title: Accessible name of the drawing; must differ between the drawings of a page.
        content: Its pieces, from back to front.
        description: The data shown, for screen readers.
        style: CSS that sets colours and font, for a drawing in a file of its own; None inside a page.
    """
    return element(
        "svg",
        element("title", title),
        *([element("desc", description)] if description else []),
        *([] if style is None else [element("style", Markup(style))]),  # noqa: S704 - CSS written in this package
        "\n",
        *(piece + Markup("\n") for piece in content),
        xmlns=None if style is None else "http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_spell_number(width)} {_spell_number(height)}",
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
    """A line of text, centred vertically on ``y``."""
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
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    colour: Colour | None,
    *,
    width: float = 1,
    dashes: str | None = None,
    opacity: float = 1,
) -> Markup:
    """A straight line; without a colour, in the colour of the text."""
    return element(
        "line",
        x1=x1,
        y1=y1,
        x2=x2,
        y2=y2,
        stroke=ink(colour) if colour else "currentColor",
        stroke_width=None if width == 1 else width,
        stroke_dasharray=dashes,
        opacity=None if opacity == 1 else opacity,
    )


def polyline(
    points: Iterable[tuple[float, float]], colour: Colour, *, width: float = 1, dashes: str | None = None
) -> Markup:
    """A line through points."""
    return element(
        "polyline",
        points=_join_points(points),
        fill="none",
        stroke=ink(colour),
        stroke_width=width,
        style="stroke-linejoin:round",
        stroke_dasharray=dashes,
    )


def polygon(corners: Iterable[tuple[float, float]], **attributes: float | str | None) -> Markup:
    """A closed shape."""
    return element("polygon", points=_join_points(corners), **attributes)


def bar(x: float, y: float, width: float, height: float, colour: Colour, *, opacity: float = 1) -> Markup:
    """A filled rectangle."""
    return element(
        "rect",
        x=x,
        y=y,
        width=max(width, 0),
        height=height,
        fill=ink(colour),
        opacity=None if opacity == 1 else opacity,
    )


def interval(low: float, high: float, y: float, colour: Colour | None = None, *, width: float = 1) -> Markup:
    """A horizontal line with a tick at either end."""
    ends = (line(end, y - 4, end, y + 4, colour, width=width) for end in (low, high))
    return Markup("").join([line(low, y, high, y, colour, width=width), *ends])


def mark(shape: Shape, x: float, y: float, radius: float, **attributes: float | str | None) -> Markup:
    """A point marker; all shapes look equally large."""
    if shape == "circle":
        return element("circle", cx=x, cy=y, r=radius, **attributes)
    if shape == "square":
        half = 0.92 * radius
        return element("rect", x=x - half, y=y - half, width=2 * half, height=2 * half, rx=1.5, **attributes)
    wide = 1.3 * radius
    if shape == "triangle":
        corners = ((x, y - wide), (x + 1.15 * radius, y + 0.9 * radius), (x - 1.15 * radius, y + 0.9 * radius))
        return polygon(corners, **attributes)
    return polygon(((x, y - wide), (x + wide, y), (x, y + wide), (x - wide, y)), **attributes)


def rotate(x: float, y: float, degrees: float, piece: Markup) -> Markup:
    """A piece drawn around the origin, turned and moved to a point."""
    return element(
        "g", piece, transform=f"translate({_spell_number(x)} {_spell_number(y)}) rotate({_spell_number(degrees)})"
    )


def ink(colour: Colour) -> str:
    """The CSS value of a colour."""
    return f"var(--{colour})"


def shorten(label: str, longest: int) -> str:
    """A label cut to a length, with an ellipsis if it was longer."""
    return label if len(label) <= longest else label[: longest - 1].rstrip(" ,;") + "…"


def _join_points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_spell_number(x)},{_spell_number(y)}" for x, y in points)


def _spell_number(value: float | str) -> str:
    """A number to two decimals, without trailing zeros."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
