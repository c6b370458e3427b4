"""Ranks of a person in the release: see `anonto.attacks.compute.permutation_distance`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack
from anonto.attacks.shares import in_thousand, percent, share_of_persons

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class PermutationDistance(Attack):
    """Looks for a person's ranks."""

    name = "permutation-distance"
    title = "Undoing the swap"
    summary = "Compares how far values moved with what chance would do."
    knows = "The original values of one person in these columns."
    does = "Looks for a released record with exactly the person’s ranks."
    of_known_columns = True
    persons = 1_000

    def applies(self, situation: Situation) -> bool:
        """True unless columns that no step masks are known as one column, which has no ranks."""
        return not situation.is_worst

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Look for the ranks."""
        from anonto.attacks.compute.permutation_distance import permutation_distance

        del rng
        return [permutation_distance(situation.known, situation.choose_persons(self.persons))]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        half = details.get("quantiles_of_records", {}).get("0.5")
        further = f" Half of the persons find none within {percent(half)} of the ranks." if half else ""
        return (
            f"For {share_of_persons(row)} a released record, perhaps another’s, has exactly their ranks; if every "
            f"column were shuffled at random, for {in_thousand(row['baseline'])}.{further}"
        )
