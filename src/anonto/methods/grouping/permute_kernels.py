"""The compiled permutation of rows inside their groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Longs


@njit(cache=True, nogil=True)
def permute_inside(offsets: Longs, generator: np.random.Generator) -> Longs:
    """The place that each place takes its content from: a uniform permutation of each group's places.

    Args:
        offsets: Where each group starts, and behind the last one where it ends.
        generator: Of the draws.
    """
    places = np.arange(offsets[-1])
    for group in range(offsets.size - 1):
        # Fisher and Yates inside the group.
        for last in range(offsets[group + 1] - 1, offsets[group], -1):
            other = generator.integers(offsets[group], last + 1)
            places[last], places[other] = places[other], places[last]
    return places
