"""Distance to the closest record: how near the nearest released record comes to members, and to others.

References: Yale et al., ESANN 2019; Ganev, De Cristofaro, arXiv 2312.05114, on what it does not see.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.copied_record import BLINDNESS, CopiedRecord
from anonto.attacks.rate import Risk

if TYPE_CHECKING:
    from anonto.arrays import Floats
    from anonto.attacks.foreign_situation import ForeignSituation

EQUAL = 1e-9
SHARES = (0.05, 0.5)


def copied_record(situation: ForeignSituation) -> Risk:
    """The share of members whose record is released, and quantiles of the distance."""
    members = situation.of_members.distance
    others = None if situation.of_strangers is None else situation.of_strangers.distance
    details: dict[str, Any] = {"warning": BLINDNESS, "distance": _quantiles(members)}
    control = None
    if others is not None:
        details["distance_of_others"] = _quantiles(others)
        control = float(np.mean(others <= EQUAL))
    found = Risk.of_hits(
        float(np.count_nonzero(members <= EQUAL)),
        int(members.size),
        attack=CopiedRecord.name,
        knowledge="the original values of persons in all shared columns",
        columns=situation.release.names,
        baseline=0.0 if control is None else control,
        details=details,
    )
    return replace(found, control=control)


def _quantiles(distances: Floats) -> dict[str, float]:
    return {f"{share:g}": float(np.quantile(distances, share)) for share in SHARES}
