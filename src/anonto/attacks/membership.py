"""Persons who were masked, told from others: see `anonto.attacks.compute.membership`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack
from anonto.attacks.shares import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.foreign_situation import ForeignSituation
    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class Membership(Attack):
    """Tells who is in the table."""

    name = "membership"
    title = "Who is in the table"
    summary = "Knows these columns of a person, and decides whether the table has the person at all."
    knows = "The original values of one person in these columns, and other persons who are not in the table."
    does = "Decides whether the person is in the table at all."
    not_tried = (
        "it needs persons who were not masked: hold some out with `anonto split`, and give them to `anonto assess` "
        "with --held-out"
    )
    persons = 1_000

    def applies(self, situation: Situation) -> bool:
        """Where persons are held out, and rows are known one by one."""
        compared = situation.compared
        return compared.held_out is not None and compared.amounts.row_by_row

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Tell members from strangers; the choices do not depend on what other attacks drew."""
        from anonto.attacks.compute.membership import membership

        del rng
        chosen = situation.choose_persons(self.persons)
        return membership(situation.compared, situation.known, chosen, situation.seed.stream(self.name))

    def run_on_foreign(self, situation: ForeignSituation) -> list[Risk]:
        """Attack by distance alone: nothing is known of the method."""
        from anonto.attacks.compute.membership import foreign_membership

        return foreign_membership(situation)

    def variant(self, found: Mapping[str, Any]) -> str | None:
        """One result for each score."""
        score = found.get("score")
        return score if isinstance(score, str) else None

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        said = f"It recognises {row['shown']} of the persons in the table if it may take 1 % of others for them."
        if "auc" in details:
            said += (
                f" Of one person in the table and one who is not, it tells which is which in {percent(details['auc'])} "
                f"of the cases ({percent(details['auc_low'])} to {percent(details['auc_high'])}; by guessing 50 %)."
            )
        if "strangers_excluded" in details:
            said += (
                f" For {percent(details['strangers_excluded'])} of the persons who are not in the table this is "
                "certain: no released record could be theirs."
            )
        return said
