"""Columns that leave unmasked tell whose record it is: see `anonto.attacks.compute.association_linkage`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonto.attacks.attack import Attack
from anonto.attacks.shares import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.attacks.rate import Risk
    from anonto.attacks.situation import Situation


class AssociationLinkage(Attack):
    """Takes the record whose other columns go best with the person."""

    name = "association-linkage"
    title = "What goes together"
    summary = (
        "Knows these columns of everybody, and how other columns, which leave unmasked, go with them. Matches "
        "everybody with the records that fit best."
    )
    knows = (
        "The original values of many persons in these columns, the method, and how columns that leave unmasked go with "
        "them: learnt from other data, or from the release."
    )
    does = "Matches many persons at once with the possible records whose unmasked columns go best with their values."
    verdict = "learns how columns that leave unmasked go with them"
    not_tried = "no column that is unknown to the intruder leaves unmasked, so that it does not apply"
    is_linkage = True
    of_unknown_columns = True

    def applies(self, situation: Situation) -> bool:
        """Unless everybody is linked already."""
        return not situation.all_are_linked

    def run(self, situation: Situation, rng: np.random.Generator) -> list[Risk]:
        """Link; nothing where every column that leaves unmasked is known. Draws are not shared with other attacks."""
        from anonto.attacks.compute.association_linkage import association_linkage

        del rng
        who = situation.who
        if who is None:
            return []
        return association_linkage(situation.compared, who, situation.seed.stream(self.name, *sorted(who.names)))

    def variant(self, found: Mapping[str, Any]) -> str | None:
        """The data that she learnt from."""
        return str(found["learnt_from"]) if "learnt_from" in found else None

    def reading(self, row: Mapping[str, Any], details: Mapping[str, Any]) -> str:
        """The result in a sentence, with the worst case."""
        said = super().reading(row, {})
        worst = details.get("with_the_original")
        if not worst:
            return said
        return f"{said} Who knows how often each combination occurs in the original links {percent(worst['rate'])}."
