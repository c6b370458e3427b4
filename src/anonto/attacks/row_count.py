"""A person's number of rows: see `anonto.attacks.compute.rows_of_persons`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.attack import Attack

if TYPE_CHECKING:
    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class RowCount(Attack):
    """Takes a record with the person's number of rows."""

    name = "row-count"
    title = "Number of rows"
    summary = "Knows how many rows a person has, alone or with her other values, and takes a record with as many."
    knows = "How many rows a person has; the second time also her values that are the same in all her rows."
    does = "Takes the nearest of the released persons with this number of rows."
    verdict = "knows the person’s number of rows"
    once = True
    is_linkage = True
    of_known_columns = True
    needs_trial = False
    persons = 20_000

    def applies(self, situation: Situation) -> bool:
        """Whether some person has several rows."""
        return any(side.max(initial=0) > 1 for side in situation.compared.rows_per_record)

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Link by the number alone, and with the columns that do not vary."""
        from anonto.attacks.compute.rows_of_persons import row_count

        del rng
        return row_count(situation.compared, situation.choose_persons(self.persons))
