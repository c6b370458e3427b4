"""Predicates that fit one person alone: see `anonto.attacks.compute.singling_out`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import ForeignAttack
from anonto.attacks.criteria import SINGLING_OUT
from anonto.attacks.shares import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.attacks.foreign_situation import ForeignSituation
    from anonto.attacks.rate import Risk


class SinglingOut(ForeignAttack):
    """Finds conditions that exactly one person of the original meets."""

    name = "singling-out"
    title = "One person alone"
    summary = "Reads conditions off the release that one of its rows meets alone, and hopes that one person does too."
    knows = "The release alone."
    does = "Finds conditions that one released row meets, and counts how often exactly one person does."
    answers = (SINGLING_OUT,)

    def run_on_foreign(self, situation: ForeignSituation) -> list[Risk]:
        """Conditions on one column, and on several."""
        from anonto.attacks.compute.singling_out import singling_out

        return singling_out(situation)

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        del details
        told = (
            f"Of conditions that one released row meets, {row['shown']} are met by exactly one person of the original"
        )
        others = "" if row["control"] is None else f", and {percent(row['control'])} by one of as many others"
        return f"{told} (random conditions: {percent(row['baseline'])}){others}."
