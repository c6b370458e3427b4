"""Records that were alone and still are: see `anonto.attacks.compute.classes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack
from anonto.attacks.shares import capital, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class Uniqueness(Attack):
    """Counts records that were alone and still are."""

    name = "uniqueness"
    title = "Still alone"
    summary = "Records that were unique in the original and still are."
    knows = "That a person is in the table, and unique in these columns."
    does = "Counts records that were alone in the original and still are."
    of_known_columns = True
    measures = "classes"

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Count."""
        from anonto.attacks.compute.classes import uniqueness

        del rng
        return [uniqueness(situation.known, situation.secrets)]

    def before_masking(self, found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """How many records are alone."""
        return [("records are unique", "unique", f"{found['alone_in_original'] / max(found['n'], 1):.1%}")]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        before, chance = details.get("share_alone_in_original"), row["baseline"]
        further = "" if before is None else f" In the original {percent(before)} were alone."
        if chance is not None:
            further += f" With every column shuffled at random, it would be {percent(chance)}."
        return (
            f"{capital(row['shown'])} of the persons were alone with their values, and their released records are."
            f"{further}"
        )
