"""Released records that equal a person's: see `anonto.attacks.compute.copied_record`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import ForeignAttack
from anonto.attacks.criteria import SINGLING_OUT
from anonto.attacks.shares import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.attacks.foreign_situation import ForeignSituation
    from anonto.attacks.rate import Risk

BLINDNESS = (
    "It sees copies only: a release can be far from every record and still tell a person's values, and a rate of 0 is "
    "no sign of safety."
)
"""The limits of a distance to the closest record, shown wherever one is."""


class CopiedRecord(ForeignAttack):
    """Measures how near the nearest released record comes."""

    name = "copied-record"
    title = "Copied records"
    summary = f"Looks for released records that equal, or nearly equal, those of persons. {BLINDNESS}"
    knows = "The original values of persons in all columns that the release shares with the original."
    does = "Looks for a released record that equals the person’s in all columns."
    answers = (SINGLING_OUT,)

    def run_on_foreign(self, situation: ForeignSituation) -> list[Risk]:
        """Count copies, and compare the distances of members and strangers."""
        from anonto.attacks.compute.copied_record import copied_record

        return [copied_record(situation)]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        del details
        others = "" if row["control"] is None else f", and {percent(row['control'])} of persons who are not in it"
        return f"A released record equals that of {row['shown']} of the persons{others}. {BLINDNESS}"
