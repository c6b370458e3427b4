"""Everybody matched at once, by how the method works on average: see `anonto.attacks.compute.simulation_linkage`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.attack import Attack

if TYPE_CHECKING:
    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class SimulationLinkage(Attack):
    """Masks the table again with seeds of her own, and matches everybody by likelihood."""

    name = "simulation-linkage"
    title = "Masking again"
    summary = (
        "Knows the method and everybody’s values, masks them again many times, and matches all persons at once by "
        "what it makes of them most often."
    )
    knows = "The original values of all persons in these columns, the method and its parameters; not the seed."
    does = "Masks the original many times, and matches all persons with released records by likelihood."
    verdict = "masks everybody’s values again with other seeds and matches all persons at once"
    not_tried = "an intruder who masks everybody’s values again"
    is_linkage = True
    of_known_columns = True
    is_costly = True

    def applies(self, situation: Situation) -> bool:
        """True where rows are at hand and a known column is swapped or under noise, unless everybody is linked."""
        compared = situation.compared
        if situation.all_are_linked or not compared.amounts.row_by_row:
            return False
        attacked = {name for step in compared.swaps for name in step.names}
        attacked |= {name for step in compared.likelihoods for name in step.names}
        return bool(attacked & set(situation.names))

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:  # noqa: ARG002 - has a stream of its own
        """Match; nothing where the table is too large to be masked again."""
        from anonto.attacks.compute.simulation_linkage import simulation_linkage

        compared = situation.compared
        own = situation.seed.stream(self.name, *situation.names)
        simulations = compared.simulations(situation.seed)
        found = simulation_linkage(
            situation.known, compared.likelihoods, simulations, compared.masked, compared.swaps, own
        )
        return [] if found is None else [found]
