"""The input of attacks on a foreign release: the tables, the persons looked for, and their nearest records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonto.arrays import Longs
    from anonto.attacks.compute.foreign_search import FoundNearest
    from anonto.attacks.foreign_release import ForeignRelease
    from anonto.random.streams import Seed


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ForeignSituation:
    """A foreign release and the persons who are attacked."""

    release: ForeignRelease
    seed: Seed
    members: Longs
    """Rows of the original."""
    strangers: Longs
    """Rows of the persons held out, as a control; none if there are none."""
    reference: Longs
    """Other rows of the persons held out, whom the intruder knows not to be in the release."""
    of_members: FoundNearest
    of_strangers: FoundNearest | None
    """None if there are no strangers."""
