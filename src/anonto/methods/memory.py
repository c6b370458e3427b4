"""The memory that methods take while they are fitted, and the limit to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.table.attributes import MeanAttribute, NominalAttribute

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.table.records import Records

BYTES_PER_RECORD = 150
"""What a distinct record takes, one flow from it and its permutation included."""
BYTES_PER_FLOW = 16
"""What each further flow takes."""
BYTES_PER_MOVE = 64
"""What a pair of values takes of which one became the other, while those of other rows are added."""
BYTES_PER_DISTANCE = 80
"""What a pair of concepts takes in methods that hold the distances of all of them: these, their squares, and copies."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The bytes that the fitting of a step may take."""

    n_bytes: int
    too_small: Callable[[int, str], Exception]
    """The error that says how many bytes are needed, and for what."""

    def require(self, needed: int, what: str) -> None:
        """Refuse what takes more."""
        if needed > self.n_bytes:
            raise self.too_small(needed, what)


def bytes_of_tables(records: Records) -> int:
    """What the distances of all pairs of concepts of each column take."""
    nominal = (one for one in records.attributes if isinstance(one, NominalAttribute | MeanAttribute))
    return sum(BYTES_PER_DISTANCE * one.counts.size**2 for one in nominal)
