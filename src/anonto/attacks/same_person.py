"""Two rows of one person: see `anonto.attacks.compute.rows_of_persons`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack
from anonto.attacks.criteria import LINKABILITY
from anonto.attacks.shares import capital, in_thousand, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class SamePerson(Attack):
    """Finds another row of the person whose row it has."""

    name = "same-person"
    title = "Two rows of one person"
    summary = "Has one released row of a person, and takes another row with the same constant values for hers."
    knows = "One released row of a person with several rows."
    does = "Takes another row that agrees in all columns that are the same in all rows of a person."
    answers = (LINKABILITY,)
    once = True
    needs_trial = False

    def applies(self, situation: Situation) -> bool:
        """Whether some released person has several rows."""
        return bool(situation.compared.rows_per_record[1].max(initial=0) > 1)

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Compute the chance from the number of rows in each class."""
        from anonto.attacks.compute.rows_of_persons import same_person

        del rng
        return [same_person(situation.compared)]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        if details.get("by_design"):
            return "The release joins the rows of a person by her pseudonym: certain by design."
        chance = "" if row["baseline"] is None else f"; for two rows picked at random {in_thousand(row['baseline'])}"
        few = details.get("alone_in_class")
        alone = "" if few is None else f" {capital(percent(few))} of these persons have a class for themselves."
        return f"Another row with the same values belongs to the same person in {row['shown']} of cases{chance}.{alone}"
