"""Two halves of a record that lead to the same released record: see `anonto.attacks.compute.linkability`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import ForeignAttack
from anonto.attacks.criteria import LINKABILITY
from anonto.attacks.shares import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.attacks.foreign_situation import ForeignSituation
    from anonto.attacks.rate import Risk


class Linkability(ForeignAttack):
    """Links two sources that have different columns of the same persons."""

    name = "linkability"
    title = "Two sources brought together"
    summary = "Has two tables with different columns of the same persons, and joins them through the release."
    knows = "Two tables, each with half of the columns of the same persons."
    does = "Takes two records for the same person’s if the same released record is nearest to both."
    answers = (LINKABILITY,)

    def run_on_foreign(self, situation: ForeignSituation) -> list[Risk]:
        """Join the halves; nothing with fewer than two columns."""
        from anonto.attacks.compute.linkability import linkability

        return linkability(situation)

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        success = f"{percent(details['success'])} of the persons" if "success" in details else "some persons"
        others = "" if row["control"] is None else f", and for {percent(row['control'])} of others"
        return f"The halves of a record lead to the same released record for {success}{others}."
