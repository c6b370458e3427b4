"""One HTML page that needs nothing but itself: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from anonto.report.sections import (
    evidence_section,
    frequency_section,
    glance_section,
    released_section,
    steps_section,
)
from anonto.table.beside import written_beside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TITLE = "Report on a masked table"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p class="lead">What was changed before the table was released, what was not, and what is known about the result.</p>
</header>
<main>
{sections}
</main>
<footer>
<details>
<summary>The plan that was applied</summary>
<pre><code>{plan}</code></pre>
</details>
<p>Made with anonto {version}. The report shows no record and no secret. A count of records below 5 is shown as
“&lt; 5”, and as “not shown” where it could be told from the others.</p>
</footer>
</body>
</html>
"""


def html_report(data: Mapping[str, Any]) -> str:
    """The data of a report as a page."""
    sections = (glance_section, steps_section, evidence_section, released_section, frequency_section)
    return _PAGE.format(
        title=TITLE,
        style=files("anonto.report").joinpath("style.css").read_text(encoding="utf-8"),
        sections="\n".join(section(data) for section in sections),
        plan=escape(data["plan"]),
        version=escape(data["anonto"]),
    )


def save_html(data: Mapping[str, Any], path: Path, *, force: bool = True) -> None:
    """Write the page; its file appears when it is whole, or not at all.

    Args:
        data: What `report_data` gave.
        path: The output.
        force: Whether an existing file is replaced.
    """
    with written_beside(path, force=force) as beside:
        beside.write_text(html_report(data), encoding="utf-8")
