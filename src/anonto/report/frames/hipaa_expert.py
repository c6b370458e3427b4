"""Expert Determination of HIPAA: the method, the figures, and the place for a signature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.report.frames.evidence import (
    in_the_population,
    linkage_within,
    proofs,
    smallest_class,
    what_analysts_lose,
)
from anonto.report.frames.frame import LegalFrame, Statement, not_measured, to_fill_in
from anonto.report.verdict import names

if TYPE_CHECKING:
    from anonto.report.frames.frame import FrameFacts


class HipaaExpert(LegalFrame):
    """The figures that an expert determines the risk from."""

    name = "hipaa-expert"
    title = "HIPAA: Expert Determination"
    rule = "45 CFR 164.514(b)(1)"
    about = (
        "A person with knowledge of generally accepted statistical and scientific principles determines that the risk "
        "is very small that the information could be used, alone or with other reasonably available information, by an "
        "anticipated recipient to identify a person, and documents the methods and the results. The rule names no "
        "number: what is very small is for the expert to say."
    )
    fields = (
        "What counts as a very small risk here, and why",
        "Anticipated recipients, and the information that is reasonably available to them",
        "Time for which the determination holds",
        "Name and qualification of the expert",
        "Determination of the expert",
        "Date and signature",
    )

    def statements(self, facts: FrameFacts) -> list[Statement]:
        """The method, the figures and what the expert must add."""
        return [
            _methods(facts),
            proofs(facts),
            linkage_within(None, facts),
            smallest_class(facts),
            in_the_population(facts),
            what_analysts_lose(facts),
            _limits(facts),
            to_fill_in("Is the risk very small?", "This is the determination of the expert, not of this report."),
        ]


def _methods(facts: FrameFacts) -> Statement:
    asks = "By which methods was the information made less identifying?"
    steps = facts.report["steps"]
    if not steps:
        return not_measured(asks, "No column was masked.")
    dropped = facts.report["table"]["dropped_columns"]
    says = " ".join(f"{names(one['columns'])}: {one['what']}" for one in steps)
    if dropped:
        says += f" Dropped: {names(dropped)}."
    return Statement(asks=asks, status="stated", says=says, measured_by="the plan")


def _limits(facts: FrameFacts) -> Statement:
    return Statement(
        asks="What was not examined?",
        status="stated",
        says=" ".join(facts.report["limits"]),
        measured_by="the attacks that were tried, and those that were not",
    )
