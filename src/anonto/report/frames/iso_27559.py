"""ISO/IEC 27559: the context of the release as a form, its data, and how identifiable persons are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.report.frames.evidence import (
    LOWER_BOUND,
    NOBODY,
    NOT_PUBLISHED,
    counted_linkages,
    described,
    linkage_within,
    proofs,
    what_analysts_lose,
    worst_of_each,
)
from anonto.report.frames.frame import LegalFrame, Statement, not_measured, to_fill_in
from anonto.report.verdict import names
from anonto.wording import count_of

if TYPE_CHECKING:
    from anonto.report.frames.frame import FrameFacts

ROLES = {
    "quasi-identifier": "indirect identifiers",
    "confidential": "confidential",
    "other": "other",
    None: "not described in the plan",
}


class Iso27559(LegalFrame):
    """Assessment of context, data and identifiability."""

    name = "iso-27559"
    title = "ISO/IEC 27559: framework for de-identification"
    rule = (
        "ISO/IEC 27559:2022, Information security, cybersecurity and privacy protection – Privacy enhancing data "
        "de-identification framework"
    )
    about = (
        "The framework assesses the context in which data are made available, the data themselves and how identifiable "
        "persons are in them, mitigates what is too high, and governs what follows. The context can only be described "
        "by the house; adversarial testing is what the attacks of this report do."
    )
    fields = (
        "Recipients: who receives the data",
        "Environment: where the data are kept, and who can enter it",
        "Contract or terms of use: what recipients may do, and what follows a breach",
        "Threats: deliberate attempts, recognition by chance, breach of the environment",
        "Tolerable threshold of identifiability, and why",
        "Governance: who decides, who monitors, when it is assessed again",
        "Date and signature",
    )

    def statements(self, facts: FrameFacts) -> list[Statement]:
        """Context, data, identifiability, adversarial test, mitigation and governance."""
        return [
            to_fill_in(
                "Context: who receives the data, where, and under which contract?",
                "Nothing in a table tells its recipients. The lines below are the form.",
            ),
            _data(facts),
            linkage_within(None, facts),
            _adversarial_test(facts),
            proofs(facts),
            what_analysts_lose(facts),
            to_fill_in("Is the identifiability within the tolerable threshold?", "The house sets the threshold."),
        ]


def _data(facts: FrameFacts) -> Statement:
    """The columns by what they say about persons, and what became of them."""
    released = [one for one in facts.columns if one.fate != "dropped"]
    groups = {words: [one.name for one in released if one.role == role] for role, words in ROLES.items()}
    groups = {
        "direct identifiers, dropped": [one.name for one in facts.columns if one.fate == "dropped"],
        "released as random pseudonyms": [one.name for one in released if one.fate == "pseudonym"],
        **groups,
    }
    says = "; ".join(f"{words}: {names(found)}" for words, found in groups.items() if found)
    return Statement(
        asks="Data: which columns identify persons, directly or indirectly?",
        status="stated",
        says=f"{says[:1].upper()}{says[1:]}." if says else "There are no columns.",
        measured_by="the roles in the plan",
    )


def _adversarial_test(facts: FrameFacts) -> Statement:
    """Whether intruders were played, and with what they were given."""
    asks = "Adversarial test: did anybody try to identify persons in the release?"
    if not facts.is_measured:
        return not_measured(asks, NOT_PUBLISHED)
    rows = counted_linkages(facts)
    if not rows:
        return not_measured(asks, NOBODY)
    knowledge = {tuple(one["columns"]) for one in rows}
    shown = worst_of_each(rows)
    says = (
        f"Yes: {count_of(len(shown), 'attack')} with the original at hand, by intruders with "
        f"{count_of(len(knowledge), 'set')} of known columns. No person outside this program tried. {LOWER_BOUND}"
    )
    return Statement(asks=asks, status="stated", says=says, measured_by=described(shown, facts))
