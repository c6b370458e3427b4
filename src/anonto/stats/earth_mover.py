"""The earth mover's distance of two distributions over the values of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import dot
from anonto.stats.transport_kernels import NOTHING, cheapest_transport

if TYPE_CHECKING:
    from anonto.arrays import Floats


def earth_movers_distance(a: Floats, b: Floats, distances: Floats | None, numbers: Floats | None = None) -> float:
    """The least mean distance over which the shares of one distribution must be carried to make the other.

    Shares that both have stay where they are; with distances that keep no triangle inequality a detour could be
    shorter.

    Args:
        a: Shares of the values.
        b: Other shares of the same values.
        distances: Of all pairs of values; not needed for numbers. None where two values are equal or not.
        numbers: The values themselves, where distances are differences divided by the range.
    """
    if numbers is not None:
        order = np.argsort(numbers, kind="stable")
        extent = float(np.ptp(numbers)) if numbers.size else 0.0
        if not extent:
            return 0.0
        carried = np.abs(np.cumsum((a - b)[order]))[:-1]
        return dot(carried, np.diff(numbers[order])) / extent
    if distances is None:
        return float(np.abs(a - b).sum()) / 2.0
    surplus = a - b
    sources, sinks = np.flatnonzero(surplus > NOTHING), np.flatnonzero(surplus < -NOTHING)
    if not sources.size or not sinks.size:
        return 0.0
    supply, demand = surplus[sources], -surplus[sinks]
    return float(cheapest_transport(supply, demand * (supply.sum() / demand.sum()), distances[np.ix_(sources, sinks)]))
