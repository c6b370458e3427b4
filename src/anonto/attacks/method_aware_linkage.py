"""Records that a swap cannot have made are excluded: see `anonto.attacks.compute.method_aware_linkage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class MethodAwareLinkage(Attack):
    """Leaves out what the swap cannot have made."""

    name = "method-aware-linkage"
    title = "Knowing the method"
    summary = (
        "Knows the method and its parameters, and leaves out every record that it could not have made of this person."
    )
    knows = "The original values of persons in these columns, the method and its parameters."
    does = "Leaves out what the method cannot have made, and takes the nearest of the rest."
    verdict = "leaves out what the method cannot have made"
    not_tried = "an intruder who knows the method and its parameters"
    is_linkage = True
    of_known_columns = True
    persons = 20_000

    def applies(self, situation: Situation) -> bool:
        """True if a step that swaps masks a known column, unless everybody is linked already."""
        swapped = (set(step.names) & set(situation.names) for step in situation.compared.swaps)
        return not situation.all_are_linked and any(swapped)

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Link one by one, and many at once."""
        from anonto.attacks.compute.method_aware_linkage import method_aware_linkage

        swaps, chosen = situation.compared.swaps, situation.choose_persons(self.persons)
        return method_aware_linkage(situation.known, swaps, situation.cells, rng.spawn(1)[0], chosen)

    def variant(self, found: Mapping[str, Any]) -> str | None:
        """How persons were matched."""
        return "one person" if found.get("matching") == "nearest" else "all at once"
