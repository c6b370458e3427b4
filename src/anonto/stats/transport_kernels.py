"""Compiled earth mover's distances: of a few values against all of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Longs

NOTHING = 1e-15
"""Shares below this are left over by rounding."""


@njit(cache=True, nogil=True)
def cheapest_transport(supply: Floats, demand: Floats, costs: Floats) -> float:
    """The least cost of carrying all supplies to all demands, which add up to the same amount.

    Successive shortest paths (Edmonds and Karp 1972): one demand after the other is met along the cheapest way, from a
    source with something left, or from one that has none and is relieved elsewhere by another. Prices of the sources
    keep all costs non-negative.

    Args:
        supply: Of each source.
        demand: Of each sink.
        costs: Sources × sinks, for each unit.
    """
    n_sources, n_sinks = costs.shape
    left, prices = supply.copy(), np.zeros(n_sources)
    carried = np.zeros((n_sources, n_sinks))
    ways, done = np.empty(n_sources), np.empty(n_sources, np.bool_)
    relieved, by_sink = np.empty(n_sources, np.int64), np.empty(n_sources, np.int64)
    for sink in range(n_sinks):
        missing = demand[sink]
        while missing > NOTHING:
            end = cheapest_way(sink, left, prices, carried, costs, ways, done, relieved, by_sink)
            if end < 0:
                break
            # As much as the whole way can carry.
            amount, source = min(missing, left[end]), end
            while relieved[source] >= 0:
                amount = min(amount, carried[relieved[source], by_sink[source]])
                source = relieved[source]
            # Carry it: every source on the way takes over from the one it relieves.
            missing -= amount
            left[end] = max(left[end] - amount, 0.0)
            if left[end] < NOTHING:
                left[end] = 0.0
            source = end
            while relieved[source] >= 0:
                other, place = relieved[source], by_sink[source]
                carried[source, place] += amount
                carried[other, place] -= amount
                if carried[other, place] < NOTHING:
                    carried[other, place] = 0.0
                source = other
            carried[source, sink] += amount
            # New prices, so that the next shortest way is found by Dijkstra's algorithm again.
            for one in range(n_sources):
                if ways[one] < ways[end]:
                    prices[one] += ways[end] - ways[one]
    return float((carried * costs).sum())


@njit(cache=True, nogil=True)
def cheapest_way(
    sink: int,
    left: Floats,
    prices: Floats,
    carried: Floats,
    costs: Floats,
    ways: Floats,
    done: Bools,
    relieved: Longs,
    by_sink: Longs,
) -> int:
    """The source with something left at the end of the cheapest way to a sink; −1 for none.

    Fills in for each source the cost of the way to it, and the source before it on that way: which one it relieves, and
    at which sink.
    """
    # Dijkstra's algorithm over the sources; an edge leads through a sink that both could serve.
    n_sources, n_sinks = costs.shape
    for source in range(n_sources):
        ways[source], done[source] = costs[source, sink] + prices[source], False
        relieved[source] = -1
    while True:
        nearest = -1
        for source in range(n_sources):
            if not done[source] and (nearest < 0 or ways[source] < ways[nearest]):
                nearest = source
        if nearest < 0 or left[nearest] > 0.0:
            return nearest
        done[nearest] = True
        for place in range(n_sinks):
            if carried[nearest, place] <= 0.0:
                continue
            so_far = ways[nearest] - costs[nearest, place] - prices[nearest]
            for source in range(n_sources):
                way = so_far + costs[source, place] + prices[source]
                if not done[source] and way < ways[source] - NOTHING:
                    ways[source] = way
                    relieved[source], by_sink[source] = nearest, place


@njit(cache=True, nogil=True)
def distance_on_a_line(places: Longs, weights: Longs, numbers: Floats, below: Floats, areas: Floats) -> float:
    """The area between the cumulated shares of some numbers and those of a whole column.

    Args:
        places: Where the numbers stand among all of the column, in their order.
        weights: How often each occurs.
        numbers: All distinct numbers of the column in their order.
        below: For each the share of the column up to and with it.
        areas: For each the area under these shares from the first number to it.
    """
    last = numbers.size - 1
    total, so_far, area = weights.sum(), 0, 0.0
    first = 0
    for i in range(places.size + 1):
        stop = places[i] if i < places.size else last
        # Up to the crossing the share is above that of the column, after it below: two areas of opposite sign.
        share = so_far / total
        crossing = first + np.searchsorted(below[first:stop], share)
        area += share * (numbers[crossing] - numbers[first]) - (areas[crossing] - areas[first])
        area += (areas[stop] - areas[crossing]) - share * (numbers[stop] - numbers[crossing])
        if i < places.size:
            so_far += weights[i]
            first = stop
    return area
