"""A few known columns, and the rest read off the row: see `anonto.attacks.compute.partial_knowledge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack
from anonto.attacks.criteria import INFERENCE
from anonto.attacks.shares import capital, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class PartialKnowledge(Attack):
    """Knows a few columns, and reads the others."""

    name = "partial-knowledge"
    title = "A few columns known"
    summary = (
        "Knows two to five columns of a person, finds the only row with these cells, and reads the others. The "
        "rate counts the masked cells that are read right."
    )
    knows = "The original values of one person in these few of the released columns."
    does = "Finds the one released row with just these cells, and reads the person’s other cells off it."
    answers = (INFERENCE,)
    once = True
    of_few_columns = True

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Look for the worst few columns; nothing where there is nothing to read.

        The choices do not depend on what other attacks drew.
        """
        from anonto.attacks.compute.partial_knowledge import partial_knowledge

        del rng
        one, own = situation.compared, situation.seed.stream(self.name)
        found = partial_knowledge(one.cells, one.columns, one.names_by_step, one.confidential, one.amounts, own)
        return [] if found is None else [found]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        whole = " Whole rows of the original are released." if row["whole_rows"] else ""
        if not details:
            return f"{capital(row['shown'])} of the persons’ other cells are found and read right.{whole}"
        return (
            f"{capital(percent(details['singled_out']))} of the persons are singled out: one released row has just "
            f"these cells. Of their other cells {percent(details['read_right'])} are read off it right; the most "
            f"frequent values would be right for {percent(details['guessed_right'])}.{whole}"
        )
