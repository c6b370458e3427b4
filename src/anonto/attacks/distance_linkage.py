"""The nearest released record: see `anonto.attacks.compute.distance_linkage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


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
        from anonto.attacks.compute.distance_linkage import distance_linkage

        del rng
        return [distance_linkage(situation.known, situation.choose_persons(self.persons))]

    def before_masking(self, found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """How many persons are linked, and how many by guessing."""
        return [
            ("linked to their person", "linkage", f"{found['rate']:.1%}"),
            ("by guessing", "baseline", f"{found['baseline']:.2%}"),
        ]

    def judge_unmasked(self, found: Mapping[str, Any]) -> str:
        """How many people could be recognised, in words."""
        if found["rate"] >= 0.5:
            most = "Most people could be recognised by somebody who knows these columns"
            return f"{most}: do not release the table unmasked."
        if found["rate"] >= 0.1:
            return "Many people could be recognised by somebody who knows these columns."
        return "Few people could be recognised by these columns alone; see the combinations below."
