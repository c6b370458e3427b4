"""Row order: in a release whose rows are in the order of the original, the place of a row is enough to link it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.attack import Attack
from anonto.attacks.rate import Risk

if TYPE_CHECKING:
    import numpy as np

    from anonto.attacks.situation import Situation

FINDING = (
    "The rows of the release stand in the order of the original: anyone who knows that order, or has the original, "
    "finds the row of every person without any other knowledge, and no guarantee that limits linking holds. Save it "
    "without keeping the order."
)


class KeptRowOrder(Attack):
    """Takes the row at the person's place."""

    name = "row-order"
    title = "Order of the rows"
    summary = "Knows the order of the original rows, which the release kept."
    knows = "The order of the original rows."
    does = "Takes the row at the place of the person in the original."
    verdict = "takes the row at the person’s place"
    once = True
    of_saving = True
    finding = FINDING
    weakness = "its rows are in the order of the original"
    advice = "save it with its rows in random order"
    is_linkage = True
    needs_trial = False

    def applies(self, situation: Situation) -> bool:
        """Return whether the release keeps the order of the rows."""
        return bool(situation.compared.facts["kept_order"])

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Link everybody."""
        del rng
        n = situation.compared.n_records
        knowledge = "the order of the original rows"
        return [Risk.of_hits(n, n, attack=self.name, knowledge=knowledge, columns=(), baseline=1.0 / n)]
