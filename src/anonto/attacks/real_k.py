"""The smallest class of released records: see `anonto.attacks.compute.classes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack
from anonto.attacks.shares import capital

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class RealK(Attack):
    """Counts released records that are alone."""

    name = "real-k"
    title = "Alone in the release"
    summary = "The share of released records that nobody else shares all values with."
    knows = "The released values of a record in these columns."
    does = "Counts released records that share all these values with no other."
    of_known_columns = True
    measures = "classes"

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Count."""
        from anonto.attacks.compute.classes import real_k

        del rng
        return [real_k(situation.known)]

    def before_masking(self, found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """The size of the smallest class."""
        return [("k-anonymity", "k-anonymity", f"{found['real_k']:,}")]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        smallest = f" The smallest class has {details['real_k']:,}." if details.get("real_k") else ""
        if row["rate"] == 0:
            return f"No released record is alone: each shares all these values with others.{smallest}"
        return (
            f"{capital(row['shown'])} of the released records are alone with their values in these columns.{smallest} "
            "Classes protect nobody who is alone, but not knowing whose record it is may: in a swapped table this is "
            "not alarming."
        )
