"""Guidelines 01/2025 of the European Data Protection Board: attribution, additional information, domain, secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.registry import is_of_two_releases
from anonto.report.frames.evidence import described, linkage_within, worst_of_each
from anonto.report.frames.frame import LegalFrame, Statement, not_measured, to_fill_in
from anonto.report.verdict import names

if TYPE_CHECKING:
    from anonto.report.frames.frame import FrameFacts


class Edpb012025(LegalFrame):
    """Whether persons can be attributed without additional information."""

    name = "edpb-01-2025"
    title = "EDPB Guidelines 01/2025: pseudonymisation"
    rule = (
        "European Data Protection Board, Guidelines 01/2025 on Pseudonymisation, version for public consultation, "
        "16 January 2025; Articles 4(5), 25 and 32 of Regulation (EU) 2016/679"
    )
    about = (
        "Pseudonymised data cannot be attributed to a person without additional information, which is kept apart and "
        "protected. Whoever is in the pseudonymisation domain must not be able to attribute them. Pseudonymised data "
        "remain personal data for those who can use that additional information."
    )
    fields = (
        "Pseudonymisation domain: who must not be able to attribute the data",
        "Who holds the private record and the original, where, and who can reach them",
        "Technical and organisational measures that keep additional information apart",
        "Other sources within the domain from which persons could be attributed",
        "Purpose of the pseudonymisation, and how long the secrets are kept",
        "Responsible person, date and signature",
    )

    def statements(self, facts: FrameFacts) -> list[Statement]:
        """Direct identifiers, quasi-identifiers, the secrets, the domain, and several releases."""
        return [
            _direct_identifiers(facts),
            linkage_within(None, facts),
            _secret(facts),
            to_fill_in(
                "Is the additional information kept apart from the domain?",
                "The additional information is the original, and the private record with the seed. Neither is in the "
                "release or in this report; where they are kept cannot be seen from here.",
            ),
            to_fill_in("Who is in the pseudonymisation domain?", "Nothing in a table tells its recipients."),
            _several_releases(facts),
        ]


def _direct_identifiers(facts: FrameFacts) -> Statement:
    dropped = [one.name for one in facts.columns if one.fate == "dropped"]
    numbered = [one.name for one in facts.columns if one.fate == "pseudonym"]
    parts = []
    if dropped:
        parts.append(f"Dropped: {names(dropped)}.")
    if numbered:
        parts.append(
            f"Replaced by numbers that are random in every release and follow from no cell: {names(numbered)}."
        )
    says = " ".join(parts) or "The plan names no direct identifier: nothing was dropped or replaced."
    return Statement(
        asks="Were direct identifiers removed, or replaced by pseudonyms?",
        status="stated",
        says=f"{says} Whether other columns identify a person directly is for the house to check.",
        measured_by="the roles in the plan",
    )


def _secret(facts: FrameFacts) -> Statement:
    asks = "Can the secret of the transformation be guessed?"
    if facts.seed == "unknown":
        return not_measured(
            asks, "The private record was not given, or this edition does not show what it says of its seed."
        )
    if facts.seed == "guessable":
        return Statement(
            asks=asks,
            status="not met",
            says="Yes: the seed is short and can be found by trying; whoever finds it can undo the masking.",
            measured_by="the length of the seed in the private record",
        )
    return Statement(
        asks=asks,
        status="met",
        says="No: the seed is too long to be found by trying.",
        measured_by="the length of the seed in the private record",
    )


def _several_releases(facts: FrameFacts) -> Statement:
    asks = "Can this release be joined with another one of the same persons?"
    rows = worst_of_each(one for one in facts.attacks if is_of_two_releases(one["attack"]))
    if not rows:
        return not_measured(asks, "No second release was given.")
    says = f"Both releases together link {rows[0]['shown']} of the persons."
    return Statement(asks=asks, status="stated", says=says, measured_by=described(rows, facts), rows=rows)
