"""Many persons matched at once: see `anonto.attacks.compute.global_linkage`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.attack import Attack

if TYPE_CHECKING:
    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class GlobalLinkage(Attack):
    """Matches many persons at once."""

    name = "global-linkage"
    title = "Best assignment"
    summary = "Knows these columns of everybody and assigns all records at once."
    knows = "The original values of many persons in these columns; nothing of the method."
    does = "Matches many persons to released records at once, each to one."
    verdict = "matches everybody at once"
    is_linkage = True
    of_known_columns = True

    def applies(self, situation: Situation) -> bool:
        """Unless everybody is linked already."""
        return not situation.all_are_linked

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Match."""
        from anonto.attacks.compute.global_linkage import global_linkage

        return [global_linkage(situation.known, rng)]
