"""Records that were alone and still are: see `anonto.risk.classes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.risk.attacks.attack import Attack
from anonto.risk.telling import capital, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.risk.rate import Risk
    from anonto.risk.situation import Situation


class Uniqueness(Attack):
    """Counts records that were alone and still are."""

    name = "uniqueness"
    title = "Still alone"
    summary = "Records that were unique in the original and still are."
    knows = "That a person is in the table, and unique in these columns."
    does = "Counts records that were alone in the original and still are."
    of_known_columns = True

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Count."""
        from anonto.risk.classes import uniqueness

        del rng
        return [uniqueness(situation.known, situation.secrets)]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """In a sentence."""
        before, chance = details.get("share_alone_in_original"), row["baseline"]
        further = "" if before is None else f" In the original {percent(before)} were alone."
        if chance is not None:
            further += f" With every column dealt out by chance, it would be {percent(chance)}."
        return (
            f"{capital(row['shown'])} of the persons were alone with their values, and their released records are."
            f"{further}"
        )
