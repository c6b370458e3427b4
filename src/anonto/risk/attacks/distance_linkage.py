"""The nearest released record: see `anonto.risk.distance_linkage`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.risk.attacks.attack import Attack

if TYPE_CHECKING:
    import numpy as np

    from anonto.risk.rate import Risk
    from anonto.risk.situation import Situation


class DistanceLinkage(Attack):
    """Takes the nearest released record."""

    name = "distance-linkage"
    title = "Nearest record"
    summary = "Knows these columns of a person and takes the most similar record."
    knows = "The original values of one person in these columns; nothing of the method."
    does = "Takes the released record that is nearest in meaning for the person’s."
    verdict = "takes the record nearest in meaning"
    is_linkage = True
    of_known_columns = True
    persons = 20_000

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Link one by one."""
        from anonto.risk.distance_linkage import distance_linkage

        del rng
        return [distance_linkage(situation.known, situation.chosen(self.persons))]
