"""The methods and their parameters, asked from the classes when the pages are built.

A line ``<!-- table of methods -->`` of a page is replaced by a table of all, and ``<!-- parameters of group-swap -->``
by the parameters of one.
"""

from __future__ import annotations

import re
from typing import Any

from anonto.methods.registry import METHODS, OWN
from anonto.methods.schema import described

_MARKER = re.compile(r"^<!-- parameters of ([a-z-]+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers of a page."""
    whole = (
        markdown.replace("<!-- table of methods -->", table_of_methods()) if "<!-- table of" in markdown else markdown
    )
    return _MARKER.sub(lambda marker: parameters_of(marker.group(1)), whole)


def table_of_methods() -> str:
    """A row for each of our own methods."""
    rows = []
    for name in OWN:
        words = METHODS[name].words
        rows.append((f"[`{name}`](#{name})", words.summary, words.columns, words.keeps, words.proves))
    return _table(("method", "does", "columns", "keeps", "proved"), rows)


def parameters_of(name: str) -> str:
    """A row for each parameter of a method."""
    method = described(METHODS[name])
    if not method["parameters"]:
        return "It has no parameters."
    return _table(
        ("parameter", "must be", "default", "what for"),
        [(f"`{one['name']}`", one["must"], one["assumed"], one["why"]) for one in method["parameters"]],
    )


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
