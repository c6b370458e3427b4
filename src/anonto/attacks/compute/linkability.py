"""Linkability: are two halves of a record nearest to the same released record?

References: Giomi, Boenisch, Wehmeyer, Tasnádi, PoPETs 2023.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonto.attacks.compute.gain import risk_of_success
from anonto.attacks.linkability import Linkability

if TYPE_CHECKING:
    from anonto.attacks.foreign_situation import ForeignSituation
    from anonto.attacks.rate import Risk


def linkability(situation: ForeignSituation) -> list[Risk]:
    """Join every other column with the rest."""
    release, others = situation.release, situation.of_strangers
    if len(release.columns) < 2:
        return []
    return [
        risk_of_success(
            situation.of_members.linked,
            None if others is None else others.linked,
            attack=Linkability.name,
            knowledge="every other column of a person, and the rest of somebody’s columns",
            columns=release.names,
            baseline=1.0 / max(1, release.n_released),
            details={"first": list(release.names[::2]), "second": list(release.names[1::2])},
        )
    ]
