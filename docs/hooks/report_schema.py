"""The schema of the report's data, read from the package when the pages are built.

A line ``<!-- schema of the report -->`` of a page is replaced by the schema.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

MARKER = "<!-- schema of the report -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marker of a page."""
    if MARKER not in markdown:
        return markdown
    schema = files("anonto.report").joinpath("schema.json").read_text(encoding="utf-8")
    return markdown.replace(MARKER, f"```json\n{schema}```")
