"""The smallest class of released records: see `anonto.risk.classes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.risk.attacks.attack import Attack
from anonto.risk.telling import capital

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.risk.rate import Risk
    from anonto.risk.situation import Situation


class RealK(Attack):
    """Counts released records that are alone."""

    name = "real-k"
    title = "Alone in the release"
    summary = "The share of released records that nobody else shares all values with."
    knows = "The released values of a record in these columns."
    does = "Counts released records that share all these values with no other."
    of_known_columns = True

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Count."""
        from anonto.risk.classes import real_k

        del rng
        return [real_k(situation.known)]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """In a sentence."""
        smallest = f" The smallest class has {details['real_k']:,}." if details.get("real_k") else ""
        if row["rate"] == 0:
            return f"No released record is alone: each shares all these values with others.{smallest}"
        return (
            f"{capital(row['shown'])} of the released records are alone with their values in these columns.{smallest} "
            "Classes protect nobody who is alone; not knowing whose record it is may: in a swapped table this is no "
            "alarm."
        )
