"""Frames for the publication of clinical data, which name one threshold for the risk of re-identification."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from anonto.report.frames.evidence import (
    highest_probability,
    in_the_population,
    linkage_within,
    proofs,
    smallest_class,
    what_analysts_lose,
)
from anonto.report.frames.frame import LegalFrame, Statement, to_fill_in

if TYPE_CHECKING:
    from anonto.report.frames.frame import FrameFacts


class ClinicalDataFrame(LegalFrame):
    """A threshold for the risk of re-identification of published clinical data."""

    max_risk: ClassVar[float]
    """The threshold."""
    fields = (
        "Study or dataset",
        "Why this threshold suits the release (audience, sensitivity, expected recipients)",
        "Intruders considered, and why",
        "Effect on the usefulness for further research",
        "Prepared by, date and signature",
    )

    def statements(self, facts: FrameFacts) -> list[Statement]:
        """The threshold against proofs and attacks, and what a report on anonymisation tells besides."""
        return [
            highest_probability(self.max_risk, facts),
            linkage_within(self.max_risk, facts),
            smallest_class(facts),
            in_the_population(facts),
            proofs(facts),
            what_analysts_lose(facts),
            to_fill_in(
                "Which direct identifiers and free texts were removed from the documents that go with the table?",
                "Only the table was assessed here.",
            ),
        ]
