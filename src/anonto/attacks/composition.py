"""One intruder with two releases: see `anonto.attacks.compute.composition`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.attack import Attack

if TYPE_CHECKING:
    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class Composition(Attack):
    """Keeps the candidates that two releases allow."""

    name = "composition"
    title = "Two releases together"
    summary = "Compares two releases of the same table."
    knows = "Two releases of the same table, and the original values of persons in these columns."
    does = "Keeps the candidates that both releases allow."
    verdict = "compares two releases"
    not_tried = "other releases of the same persons were not looked at"
    once = True
    is_linkage = True
    of_two_releases = True
    persons = 5_000

    def applies(self, situation: Situation) -> bool:
        """True if a second release is given."""
        return situation.compared.second is not None

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Attack both releases together, in all scenarios of either that concern both."""
        from anonto.attacks.compute.composition import composition
        from anonto.attacks.known import scenarios

        sides = [one for one in (situation.compared, situation.compared.second) if one is not None]
        known = dict.fromkeys(names for side in sides for names in scenarios(side.names_by_step, side.columns))
        in_both = [names for names in known if all(set(names) <= set(side.columns) for side in sides)]
        rows = sides[0].rows
        if rows.size > self.persons:
            rows = rng.choice(rows, self.persons, replace=False)
            rows.sort()
        return [composition(names, sides[0], sides[1], rng.spawn(1)[0], rows) for names in in_both]
