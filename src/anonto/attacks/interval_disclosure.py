"""Released cells near the original ones: see `anonto.attacks.compute.interval_disclosure`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack
from anonto.attacks.shares import capital, percent, where_near

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class IntervalDisclosure(Attack):
    """Takes a released cell for the original one."""

    name = "interval-disclosure"
    title = "Close guesses"
    summary = "Takes the released cell for the true one, and counts how often it is right or almost right."
    knows = "Which released cell of this column is whose."
    does = "Looks at how near a released cell lies to the original one."
    once = True
    of_known_columns = True
    measures = "cells"

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Look at every masked column."""
        from anonto.attacks.compute.interval_disclosure import interval_disclosure

        del rng
        one = situation.compared
        return [risk for name in one.masked if name in one.columns for risk in interval_disclosure(one.pairs[name])]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        del details
        near = where_near(row["about"])
        near += " of the original one" if near.startswith("within") else ""
        chance = percent(row["baseline"])
        return f"{capital(row['shown'])} of the released cells are {near}; of two cells picked at random {chance}."
