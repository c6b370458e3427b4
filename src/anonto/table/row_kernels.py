"""Compiled loops over rows: codes in, codes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import njit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def pick(codes: NDArray[np.int32], places: NDArray[np.integer], out: NDArray[np.int32]) -> None:
    """The codes at some places."""
    for i in range(places.size):
        out[i] = codes[places[i]]


@njit(cache=True, nogil=True)
def count(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add how often each code occurs; −1 is not counted."""
    for code in codes:
        if code >= 0:
            counts[code] += 1
