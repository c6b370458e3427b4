"""The report of an assessed release as one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.report.assessed_sections import (
    attacks_section,
    guarantee_section,
    limits_section,
    map_section,
    provenance_section,
    verdict_section,
)
from anonto.report.page import html_page
from anonto.report.sections import frequency_section, glance_section, released_section, steps_section
from anonto.report.use_sections import classes_section, dependence_section, losses_section

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE = "Report on a masked table: risk and use"
LEADS = {
    "internal": "What was changed, what intruders reach, what analysts keep, and what is proved. Internal edition, for "
    "those who may see the original.",
    "public": "What was changed, what intruders reach, what analysts keep, and what is proved. Public edition: "
    "a parameter is shown only where the method’s proof allows an intruder to know it, or where the release itself "
    "tells it; figures come from a second masking and are rounded.",
}
FOOTERS = {
    "internal": "This edition shows no cell and no seed, but numbers that an intruder could use: it must not leave the "
    "house. Counts of records with few values are hidden all the same.",
    "public": "This edition shows no cell, no seed and no figure of how chance made the release. A measured figure is "
    "rounded to a step of at least 10 persons. A parameter is shown only if the method’s proof allows an intruder to "
    "know it, or if the release itself tells it.",
}
SECTIONS = (
    verdict_section,
    glance_section,
    steps_section,
    attacks_section,
    guarantee_section,
    map_section,
    losses_section,
    dependence_section,
    classes_section,
    frequency_section,
    released_section,
    limits_section,
    provenance_section,
)


def assessed_html(data: Mapping[str, Any]) -> str:
    """The data of a report as a page."""
    sections = [text for section in SECTIONS if (text := section(data))]
    edition = data["edition"]
    return html_page(TITLE, LEADS[edition], sections, FOOTERS[edition], data["provenance"]["versions"]["anonto"])
