"""The place of a row: see `anonto.risk.row_order`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.risk.attacks.attack import Attack

if TYPE_CHECKING:
    import numpy as np

    from anonto.risk.rate import Risk
    from anonto.risk.situation import Situation


class RowOrder(Attack):
    """Takes the row at the person's place."""

    name = "row-order"
    title = "Order of the rows"
    summary = "Knows the order of the original rows, which the release kept."
    knows = "The order of the original rows."
    does = "Takes the row at the place of the person in the original."
    verdict = "takes the row at the person’s place"
    once = True
    is_linkage = True
    needs_trial = False

    def applies(self, situation: Situation) -> bool:
        """Where the rows leave in their order."""
        return bool(situation.compared.facts["kept_order"])

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Everybody is found."""
        from anonto.risk.row_order import row_order

        del rng
        return [row_order(situation.compared.n_records)]
