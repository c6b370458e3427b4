"""A confidential value read off the nearest records: see `anonto.attacks.compute.attribute_inference`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack
from anonto.attacks.shares import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.foreign_situation import ForeignSituation
    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class AttributeInference(Attack):
    """Infers a confidential value from the nearest released records."""

    name = "attribute-inference"
    title = "Guessing a secret"
    summary = "Guesses a confidential value from the most similar records."
    knows = "The original values of one person in these columns."
    does = "Infers a confidential value from the nearest released records."
    not_tried = "no column is described as confidential"
    measures = "secrets"
    persons = 1_000

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Infer every confidential column."""
        from anonto.attacks.compute.attribute_inference import attribute_inference

        del rng
        chosen = situation.choose_persons(self.persons)
        return [attribute_inference(situation.known, secret, chosen) for secret in situation.secrets]

    def run_on_foreign(self, situation: ForeignSituation) -> list[Risk]:
        """Infer every column from all others."""
        from anonto.attacks.compute.foreign_inference import foreign_inference

        return foreign_inference(situation)

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        ways = []
        if "success" in details:
            ways.append(f"for {percent(details['success'])} of the persons")
        if row["control"] is not None:
            ways.append(f"for {percent(row['control'])} of persons who are not in the release")
        told = f"It is inferred correctly {', and '.join(ways)}." if ways else ""
        if row["rate"] is not None and row["low"] > 0:
            return f"{told} A person’s own record adds {percent(row['rate'])} of what was left to learn.".strip()
        return f"{told} What a person’s own record adds is not distinguishable from zero.".strip()
