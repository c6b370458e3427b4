"""Memory that methods need while they are fitted, and its limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import ExtendedSpace, MeanSpace, NominalSpace

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.encoding.records import Records

BYTES_PER_RECORD = 150
"""Bytes of a distinct record, one transition from it and its permutation included."""
BYTES_PER_TRANSITION = 16
"""Bytes of each further transition."""
BYTES_PER_MOVE = 64
"""Bytes of a pair of original and released value, while the pairs of other rows are added."""
BYTES_PER_DISTANCE = 80
"""Bytes of a pair of concepts in methods that hold all distances: these, their squares, and copies."""
BYTES_PER_SET_DISTANCE = 24
"""Bytes of a pair of sets in methods that hold all distances of the sets of some rows: these, and two copies."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The bytes that the fitting of a step may take."""

    n_bytes: int
    too_small: Callable[[int, str], Exception]
    """The error for the bytes that are needed, and their purpose."""

    def require(self, needed: int, what: str) -> None:
        """Refuse a need above the limit."""
        if needed > self.n_bytes:
            raise self.too_small(needed, what)


def bytes_of_tables(records: Records) -> int:
    """Bytes of the distances of all pairs of concepts of each column."""
    nominal = (one for one in records.value_spaces if isinstance(one, NominalSpace | MeanSpace))
    return sum(BYTES_PER_DISTANCE * one.counts.size**2 for one in nominal)


def bytes_of_set_tables(records: Records, n_rows: int) -> int:
    """Bytes of the distances of all pairs of sets in some rows, which may all have different ones."""
    return sum(BYTES_PER_SET_DISTANCE * min(size, n_rows) ** 2 for size in _distinct_sets(records))


def has_sets(records: Records) -> bool:
    """Whether cells of some column are sets."""
    return bool(_distinct_sets(records))


def _distinct_sets(records: Records) -> list[int]:
    """The number of distinct sets in each column of sets."""
    bases = ((one, one.base if isinstance(one, ExtendedSpace) else one) for one in records.value_spaces)
    return [one.counts.size for one, base in bases if isinstance(base, SetSpace)]
