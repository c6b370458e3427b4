"""A few known codes of a set, and the rest read off the record: see `anonto.attacks.compute.known_codes`."""

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


class KnownCodes(Attack):
    """Knows a few codes of a set, and reads the others."""

    name = "known-codes"
    title = "A few codes known"
    summary = (
        "Knows one to five codes of a person’s set, finds the only record that has them, and reads the other codes. "
        "The rate counts the codes that are read right."
    )
    knows = "One to five codes of one person’s set, picked at random or the worst ones; nothing of the method."
    does = "Finds the one released record whose set has these codes, and takes its other codes for the person’s."
    answers = (INFERENCE,)
    once = True
    needs_trial = False
    of_known_columns = True

    def applies(self, situation: Situation) -> bool:
        """Where sets leave that are not confidential, and rows are known one by one."""
        compared = situation.compared
        return bool(set(compared.sets) - compared.confidential) and compared.amounts.row_by_row

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Attack every set column; the choices do not depend on what other attacks drew."""
        from anonto.attacks.compute.known_codes import known_codes

        del rng
        compared = situation.compared
        names = [name for name in compared.sets if name not in compared.confidential]
        found = [known_codes(compared, name, situation.seed.stream(self.name, n)) for n, name in enumerate(names)]
        return [one for one in found if one is not None]

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence."""
        if not details:
            return f"{capital(row['shown'])} of the persons’ other codes are found and read right."
        out, others = details["singled_out"], capital(percent(details["have_others"]))
        return (
            f"{capital(percent(out['after']))} of the persons are singled out by these codes: one released record has "
            f"them ({percent(out['before'])} in the original). {others} have other codes there, of which "
            f"{percent(details['read_right'])} are read right. It is the person’s own record for "
            f"{percent(details['own_record'])} of those who are singled out, and all its other cells are hers for "
            f"{percent(details['other_cells_right'])}."
        )
