"""Groups that a method made are formed again: see `anonto.attacks.compute.refinement`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation

VARIANTS = {"nearest": "one person", "global": "all at once", "repeated": "groups formed again"}
"""The key of each result, by how persons were matched."""


class Refinement(Attack):
    """Finds the group of a person."""

    name = "refinement"
    title = "Finding the group"
    summary = (
        "Knows the method that formed the groups: compares persons with their centres as the method does, or forms the "
        "groups again and keeps only the rows of a person’s own group."
    )
    knows = "The original values of persons in these columns, the method and its parameters."
    does = "Finds out which group each person was in, and takes a row of this group."
    verdict = "finds the group that a person was in"
    not_tried = "an intruder who forms the groups again"
    is_linkage = True
    of_known_columns = True
    persons = 20_000

    def applies(self, situation: Situation) -> bool:
        """True if a known column was given the same values in groups, unless everybody is linked already."""
        grouped = (set(step.columns) & set(situation.names) for step in situation.compared.grouping_steps)
        return not situation.all_are_linked and any(grouped)

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Compare with the centres, one by one and all at once; then form the groups again.

        The choices do not depend on what other attacks drew.
        """
        from anonto.attacks.compute.refinement import refinement

        del rng
        one, own = situation.compared, situation.seed.stream(self.name, *situation.names)
        chosen = situation.choose_persons(self.persons)
        return refinement(situation.known, one.columns, one.groupings, one.swaps, situation.cells, own, chosen)

    def variant(self, found: Mapping[str, Any]) -> str | None:
        """How persons were matched."""
        return VARIANTS.get(found.get("matching", ""))
