"""One HTML page that needs nothing but itself: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import re
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from anonto.report.markup import section
from anonto.report.sections import (
    evidence_section,
    frequency_section,
    glance_section,
    released_section,
    steps_section,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TITLE = "Report on a masked table"
LEAD = (
    "What was changed before the table was released, what was not, and what is known about the result. For inside the "
    "house, not to be given away with the table."
)
FOOTER = (
    "For inside the house: the report shows no record and no secret, but exact figures of the release from which an "
    "intruder could tell whose row is whose. What may travel with the table is the public edition of the report that "
    "anonto assess writes. A count of records below 5 is shown as “< 5”, and as “not shown” where "
    "it could be told from the others."
)

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
<a class="skip" href="#content">Skip to the report</a>
<header>
<h1>{title}</h1>
<p class="lead">{lead}</p>
</header>
<nav aria-label="Contents">
<ul>
{contents}
</ul>
</nav>
<main id="content">
{sections}
</main>
<footer>
{footer}
</footer>
</body>
</html>
"""
_BEFORE_SIGN = re.compile(r"(\d) %")
_HEADING = re.compile(r'<h2 id="([a-z]+)">(.*?)</h2>')


def html_page(title: str, lead: str, sections: Iterable[str], footer: str, made_with: str) -> str:
    """A page from its sections, with links to all of them.

    Args:
        title: Of the page.
        lead: What it is about.
        sections: Pieces of HTML, each with a heading.
        footer: What is said at the end, as a text.
        made_with: The version of the package.
    """
    body = _BEFORE_SIGN.sub("\\1\N{NO-BREAK SPACE}%", "\n".join(sections))
    return _PAGE.format(
        title=title,
        lead=lead,
        style=files("anonto.report").joinpath("style.css").read_text(encoding="utf-8"),
        contents="\n".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading in _HEADING.findall(body)),
        sections=body,
        footer=f"<p>Made with anonto {escape(made_with)}. {escape(footer)}</p>",
    )


def html_report(data: Mapping[str, Any]) -> str:
    """The data of a report as a page."""
    sections = (glance_section, steps_section, evidence_section, released_section, frequency_section, _plan_section)
    return html_page(TITLE, LEAD, [text for one in sections if (text := one(data))], FOOTER, data["anonto"])


def _plan_section(data: Mapping[str, Any]) -> str:
    return section("plan", "The plan that was applied", f"<pre><code>{escape(data['plan'])}</code></pre>")
