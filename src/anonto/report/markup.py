"""Pieces of HTML that all pages of reports share."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from anonto.report.counts import spelt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def section(name: str, heading: str, body: str) -> str:
    """A section with its heading, which links can lead to."""
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{heading}</h2>\n{body}\n</section>'


def warnings(sentences: Iterable[str]) -> str:
    """Sentences that must be seen."""
    return "".join(f'<p class="warning"><strong>Warning:</strong> {escape(one)}</p>\n' for one in sentences)


def code_names(names: Iterable[str]) -> str:
    """Names of columns."""
    return ", ".join(f"<code>{escape(name)}</code>" for name in names)


def count(number: float | str) -> str:
    """A count as it may be shown."""
    return escape(spelt(number))


def part(of_all: Mapping[str, Any]) -> str:
    """A count with its share."""
    return f"{count(of_all['count'])} <small>{escape(of_all['share'])}</small>"


def notes(sentences: Iterable[str]) -> str:
    """Remarks below a table or a chart; they are HTML already."""
    return "\n".join(f'<p class="note">{one}</p>' for one in sentences)


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: bool = True,
    stacked: bool = False,
) -> str:
    """A table of cells that are HTML already; the first cell of a row is its heading.

    Args:
        caption: What it shows.
        header: The names of its columns.
        rows: The cells.
        numbers: Whether the cells behind the first are numbers.
        stacked: Whether rows become blocks on a narrow page; the roles tell readers aloud that it is still a table.
    """
    css = ' class="number"' if numbers else ""
    roles = {
        name: f' role="{name}"' if stacked else "" for name in ("table", "row", "columnheader", "rowheader", "cell")
    }
    head = "".join(
        f'<th scope="col"{roles["columnheader"]}{css if place else ""}>{escape(name)}</th>'
        for place, name in enumerate(header)
    )

    def cell(place: int, content: str) -> str:
        label = f' data-label="{escape(header[place])}"' if stacked else ""
        return f"<td{css}{roles['cell']}{label}>{content}</td>"

    body = "\n".join(
        f'<tr{roles["row"]}><th scope="row"{roles["rowheader"]}>{row[0]}</th>'
        + "".join(cell(place, content) for place, content in enumerate(row[1:], start=1))
        + "</tr>"
        for row in rows
    )
    classes = ' class="stacked"' if stacked else ""
    return (
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0">\n'
        f"<table{classes}{roles['table']}>\n<caption>{escape(caption)}</caption>\n"
        f"<thead><tr{roles['row']}>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n"
    )


def chart(svg: str, caption: str, numbers: str, *, wide: bool = False) -> str:
    """A drawing with what it shows, and its numbers behind a click; caption and numbers are HTML already."""
    classes = ' class="wide"' if wide else ""
    behind = f"<details>\n<summary>The numbers</summary>\n{numbers}</details>\n" if numbers else ""
    return f"<figure{classes}>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>\n{behind}"
