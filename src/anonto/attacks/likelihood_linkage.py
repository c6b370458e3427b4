"""The likeliest released record where noise was drawn: see `anonto.attacks.compute.likelihood_linkage`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.attack import Attack

if TYPE_CHECKING:
    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class LikelihoodLinkage(Attack):
    """Takes the likeliest released record."""

    name = "likelihood-linkage"
    title = "Likeliest record"
    summary = "Knows the method and takes the record that it most likely made."
    knows = "The original values of persons in these columns, the method and its parameters."
    does = "Takes the record that the method most probably makes of the person’s values."
    verdict = "takes the most probable record"
    not_tried = "an intruder who knows the distribution of the noise"
    is_linkage = True
    of_known_columns = True
    persons = 20_000

    def applies(self, situation: Situation) -> bool:
        """Unless everybody is linked already."""
        return not situation.all_are_linked

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Link; nothing where no known column is under noise."""
        from anonto.attacks.compute.likelihood_linkage import likelihood_linkage

        compared, own = situation.compared, rng.spawn(1)[0]
        chosen = situation.choose_persons(self.persons)
        found = likelihood_linkage(situation.known, compared.likelihoods, compared.masked, own, chosen, compared.swaps)
        return [] if found is None else [found]
