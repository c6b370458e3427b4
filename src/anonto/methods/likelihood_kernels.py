"""Compiled loops of the likelihood of noise: where the noise of a cell must have been for each released value.

Candidates of a value at the same distance from it and on the same side of its reference are equally likely: they are a
*class*. Each class has two intervals of standard noise, one below 0 and one above, and a weight in each: the
probability of one of its candidates when the noise lies there. The loops invert the steps of
`anonto.methods.plain.replacement`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.arrays import Floats, Ints, Longs

if TYPE_CHECKING:
    from anonto.arrays import Integers
    from anonto.methods.level_kernels import Levels
    from anonto.methods.noise_kernels import ReplacementTables

IntervalArrays = tuple[Floats, Floats, Floats]
"""Targets × classes × 2: where intervals of standard noise begin, where they end, and their weights."""

NARROW = 0.2
"""Intervals narrower than this, in units of the spread that is left, are integrated at two points (to about 1e-6)."""
STEPS_BELOW, STEPS_ABOVE, STEP = 16, 17, 0.22
"""The sizes of Laplace noise are summed at points even in w, where the size is exp(w − exp(−w))."""

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
_GAUSS = math.sqrt(1.0 / 3.0) / 2.0
_X_6 = np.array([0.9324695142031522, 0.6612093864662647, 0.2386191860831970])
_W_6 = np.array([0.1713244923791705, 0.3607615730481384, 0.4679139345726904])
_X_20 = np.array(
    [
        0.9931285991850949,
        0.9639719272779138,
        0.9122344282513259,
        0.8391169718222188,
        0.7463319064601508,
        0.6360536807265150,
        0.5108670019508271,
        0.3737060887154196,
        0.2277858511416451,
        0.07652652113349733,
    ]
)
_W_20 = np.array(
    [
        0.01761400713915212,
        0.04060142980038694,
        0.06267204833410906,
        0.08327674157670475,
        0.1019301198172404,
        0.1181945319615184,
        0.1316886384491766,
        0.1420961093183821,
        0.1491729864726037,
        0.1527533871307259,
    ]
)


# ------------------------------------------------------------------------------------------------ intervals


@njit(cache=True, nogil=True)
def noise_classes(
    values: Ints,
    references: Ints,
    scales: Floats,
    tables: ReplacementTables,
    nearest: bool,
    candidate_of: Ints,
    classes: Ints,
    intervals: IntervalArrays,
) -> None:
    """The classes of released values for some values of a column of concepts, and their intervals of standard noise.

    Args:
        values: The values.
        references: For each the row of its reference in the ranks of the tables.
        scales: For each the factor of standard noise.
        tables: The candidates of each value.
        nearest: Whether the noise is rounded to the nearest concept and not up.
        candidate_of: For each released text the candidate, or the value that is no candidate; −1 for none.
        classes: Receives targets × released values: the class of each; −1 for what cannot come out.
        intervals: Receives where intervals begin, where they end, and their weights.
    """
    levels, _, ranks, places, _ = tables
    low, high, weights = intervals
    offsets, distances, _, members = levels
    most_levels = np.diff(offsets).max()
    class_of = np.empty(members.shape[1], np.int32)
    number_of = np.empty(3 * most_levels + 1, np.int32)
    sizes = np.empty((most_levels, 3), np.int64)
    of_levels = np.empty((2, most_levels + 1, 3))
    for t in range(values.size):
        # The class of each candidate: its level and its side, as steps 2 and 3 of the replacement see it.
        value = values[t]
        n_levels = offsets[value + 1] - 1 - offsets[value]
        _classify(value, levels, ranks[references[t]], places[value], class_of, sizes)
        # Where noise below 0 and above 0 must lie for each level.
        for way in range(2):
            _level_intervals(distances[offsets[value] :], sizes[:n_levels], way, nearest, of_levels[way])
        # The classes that occur among the released values, numbered in their order; the value itself is one more.
        number_of[:] = -1
        n_classes = 0
        weights[t] = 0.0
        for y in range(candidate_of.size):
            classes[t, y] = -1
            candidate = candidate_of[y]
            if candidate == places[value]:
                k = 3 * n_levels
            elif 0 <= candidate < class_of.size:
                k = class_of[candidate]
            else:
                continue
            if number_of[k] < 0:
                number_of[k] = n_classes
                of_level = class_of[places[value]] if k == 3 * n_levels and places[value] < class_of.size else k
                _class_intervals(
                    k == 3 * n_levels,
                    of_level,
                    n_levels,
                    sizes,
                    of_levels,
                    nearest,
                    scales[t],
                    low[t, n_classes],
                    high[t, n_classes],
                    weights[t, n_classes],
                )
                n_classes += 1
            classes[t, y] = number_of[k]


@njit(cache=True, nogil=True)
def _classify(value: int, levels: Levels, ranks: Integers, own: int, class_of: Ints, sizes: Longs) -> None:
    """The level and the side of each candidate of a value, and how many there are of each."""
    offsets, _, bounds, members = levels
    own_rank = np.int64(ranks[own])
    sizes[:] = 0
    for level in range(offsets[value + 1] - 1 - offsets[value]):
        place = offsets[value] + level
        for m in range(bounds[place, 0], bounds[place, 3]):
            candidate = members[value, m]
            rank = np.int64(ranks[candidate])
            side = np.int64(rank >= own_rank) + np.int64(rank > own_rank)
            sizes[level, side] += 1
            class_of[candidate] = 3 * level + side


@njit(cache=True, nogil=True)
def _level_intervals(distances: Floats, sizes: Longs, way: int, nearest: bool, out: Floats) -> None:
    """Find the range of the size of noise in one direction for each level, and how many candidates it may lead to.

    After the levels comes the same for noise that leaves a value as it is.
    """
    n_levels = sizes.shape[0]
    # A conflict: no candidate lies in this direction, and all of a level count (step 2).
    is_conflict = sizes[:, 2 * way].sum() == 0
    before, last = 0.0, n_levels
    out[: n_levels + 1] = 0.0
    out[n_levels, 2] = 1.0 if nearest else 0.0
    for level in range(n_levels):
        amount = sizes[level].sum() if is_conflict else sizes[level, 2 * way]
        if amount == 0 or (nearest and distances[level] == 0.0):
            continue
        # Rounding up, a level begins where the one before it ends; to the nearest, halfway between the two (step 3).
        edge = (before + distances[level]) / 2.0 if nearest else before
        out[last, 1] = edge
        out[level, 0], out[level, 2] = edge, amount
        before, last = distances[level], level
    # Larger noise is truncated to the farthest level (step 4).
    out[last, 1] = np.inf


@njit(cache=True, nogil=True)
def _class_intervals(
    is_self: bool,
    class_of_level: int,
    n_levels: int,
    sizes: Longs,
    of_levels: Floats,
    nearest: bool,
    scale: float,
    low: Floats,
    high: Floats,
    weights: Floats,
) -> None:
    """The intervals of standard noise of one class, below 0 and above, from those of its level."""
    level, side = class_of_level // 3, class_of_level % 3
    for way in range(2):
        first, last, weight = 0.0, np.inf, 1.0 if is_self else 0.0
        if scale > 0.0:
            # One of the candidates of the class is drawn (step 5).
            row = n_levels if is_self and nearest else level
            first, last, amount = of_levels[way, row]
            is_there = row == n_levels or side == 2 * way or sizes[:n_levels, 2 * way].sum() == 0
            weight = 1.0 / amount if amount > 0.0 and is_there else 0.0
            first, last = first / scale, last / scale
        weights[way] = weight
        low[way] = first if way else -last
        high[way] = last if way else -first


@njit(cache=True, nogil=True)
def number_intervals(
    values: Floats,
    scales: Floats,
    released: Floats,
    half: float,
    lowest: float,
    highest: float,
    low: Floats,
    high: Floats,
    weights: Floats,
) -> None:
    """The intervals of numbers that are rounded to a grain, and to the ends of a range: each released one is a class.

    Args:
        values: The numbers.
        scales: For each the factor of standard noise.
        released: The released numbers.
        half: Half the grain.
        lowest: The number that all smaller ones become.
        highest: The number that all larger ones become.
        low: Receives where intervals begin.
        high: Receives where they end.
        weights: Receives their weights.
    """
    # One interval is enough: a number is rounded the same way on both sides of 0.
    weights[:, :, 1] = 0.0
    for t in range(values.size):
        for y in range(released.size):
            # The noise that leads to the released number, half a grain to each side; the ends take what lies beyond.
            first = -np.inf if released[y] <= lowest else released[y] - half - values[t]
            last = np.inf if released[y] >= highest else released[y] + half - values[t]
            # In units of standard noise; without noise the number itself decides.
            if scales[t] > 0.0:
                low[t, y, 0], high[t, y, 0], weights[t, y, 0] = first / scales[t], last / scales[t], 1.0
            else:
                low[t, y, 0], high[t, y, 0] = -np.inf, np.inf
                weights[t, y, 0] = 1.0 if first < 0.0 < last else 0.0


# ------------------------------------------------------------------------------------------------ probabilities


@njit(cache=True, nogil=True)
def number_probabilities(
    values: Floats, scales: Floats, released: Floats, half: float, lowest: float, highest: float, laplace: bool
) -> Floats:
    """Targets × released numbers: the probability of each; the arguments are those of `number_intervals`."""
    out = np.empty((values.size, released.size))
    for t in range(values.size):
        for y in range(released.size):
            first = -np.inf if released[y] <= lowest else released[y] - half - values[t]
            last = np.inf if released[y] >= highest else released[y] + half - values[t]
            if scales[t] > 0.0:
                out[t, y] = interval_probability(first / scales[t], last / scales[t], laplace)
            else:
                out[t, y] = 1.0 if first < 0.0 < last else 0.0
    return out


@njit(cache=True, nogil=True)
def class_probabilities(low: Floats, high: Floats, weights: Floats, laplace: bool) -> Floats:
    """Targets × classes: the probability of one released value of the class."""
    out = np.zeros(low.shape[:2])
    for t in range(low.shape[0]):
        for k in range(low.shape[1]):
            for way in range(2):
                if weights[t, k, way] > 0.0:
                    out[t, k] += weights[t, k, way] * interval_probability(low[t, k, way], high[t, k, way], laplace)
    return out


@njit(cache=True, nogil=True)
def interval_probability(low: float, high: float, laplace: bool) -> float:
    """The probability that standard noise lies in an interval."""
    if high <= low:
        return 0.0
    if low < 0.0 < high:
        return 1.0 - _beyond(high, laplace) - _beyond(-low, laplace)
    near, far = (low, high) if low >= 0.0 else (-high, -low)
    if far - near < 1e-6:
        middle = (near + far) / 2.0
        density = _ROOT_HALF * math.exp(-middle / _ROOT_HALF) if laplace else normal_density(middle)
        return density * (far - near)
    return _beyond(near, laplace) - _beyond(far, laplace)


@njit(cache=True, nogil=True)
def _beyond(x: float, laplace: bool) -> float:
    """The probability that standard noise is larger than x, which is 0 or more."""
    if laplace:
        return 0.5 * math.exp(-x / _ROOT_HALF)
    return 0.5 * math.erfc(x * _ROOT_HALF)


@njit(cache=True, nogil=True)
def normal_density(x: float) -> float:
    """The density of the standard normal distribution."""
    return math.exp(-0.5 * x * x) / _ROOT_TWO_PI


# ------------------------------------------------------------------------------------------------ pairs


@njit(cache=True, nogil=True)
def noise_sizes(laplace: bool) -> tuple[Floats, Floats]:
    """Divisors that make joint noise normal, and their weights: 1, or the roots of exponential numbers."""
    if not laplace:
        return np.ones(1), np.ones(1)
    # Laplace noise is √E · N(0, αΣ): the trapezoidal rule over the exponential number E, at points even in w.
    roots, weights = np.empty(STEPS_BELOW + STEPS_ABOVE + 1), np.empty(STEPS_BELOW + STEPS_ABOVE + 1)
    for k in range(roots.size):
        w = (k - STEPS_BELOW) * STEP
        size = math.exp(w - math.exp(-w))
        roots[k] = math.sqrt(size)
        weights[k] = STEP * size * (1.0 + math.exp(-w)) * math.exp(-size)
    return roots, weights / weights.sum()


@njit(cache=True, nogil=True)
def pair_probability(
    of_a: IntervalArrays,
    of_b: IntervalArrays,
    t: int,
    a: int,
    b: int,
    correlation: float,
    roots: Floats,
    shares: Floats,
) -> float:
    """The probability of two released values together, by their classes."""
    low_a, high_a, weights_a = of_a
    low_b, high_b, weights_b = of_b
    total = 0.0
    for one in range(2):
        for other in range(2):
            # Both noises fall into one of two intervals each: four rectangles, summed over the sizes of joint noise.
            weight = weights_a[t, a, one] * weights_b[t, b, other]
            if weight > 0.0:
                for k in range(roots.size):
                    total += (
                        weight
                        * shares[k]
                        * rectangle(
                            low_a[t, a, one] / roots[k],
                            high_a[t, a, one] / roots[k],
                            low_b[t, b, other] / roots[k],
                            high_b[t, b, other] / roots[k],
                            correlation,
                        )
                    )
    return total


@njit(cache=True, nogil=True)
def rectangle(low_a: float, high_a: float, low_b: float, high_b: float, correlation: float) -> float:
    """The probability that two correlated standard normal numbers lie in an interval each."""
    if high_a <= low_a or high_b <= low_b:
        return 0.0
    if correlation == 0.0:
        return interval_probability(low_a, high_a, False) * interval_probability(low_b, high_b, False)
    # Noise that is all but equal: one interval inside the other.
    left = math.sqrt(max(0.0, 1.0 - correlation * correlation))
    if left < 1e-6:
        low_other, high_other = (low_b, high_b) if correlation > 0.0 else (-high_b, -low_b)
        return interval_probability(max(low_a, low_other), min(high_a, high_other), False)
    width_a, width_b = high_a - low_a, high_b - low_b
    if min(width_a, width_b) < NARROW * left:
        if width_a <= width_b:
            return _narrow(low_a, high_a, low_b, high_b, correlation, left)
        return _narrow(low_b, high_b, low_a, high_a, correlation, left)
    # The rectangle by its four corners.
    found = (
        both_below(high_a, high_b, correlation)
        - both_below(low_a, high_b, correlation)
        - both_below(high_a, low_b, correlation)
        + both_below(low_a, low_b, correlation)
    )
    return max(found, 0.0)


@njit(cache=True, nogil=True)
def _narrow(low: float, high: float, low_other: float, high_other: float, correlation: float, left: float) -> float:
    """Gauss' rule with two points over a narrow interval."""
    middle, width = (low + high) / 2.0, high - low
    total = 0.0
    for sign in (-1.0, 1.0):
        x = middle + sign * _GAUSS * width
        inside = interval_probability(
            (low_other - correlation * x) / left, (high_other - correlation * x) / left, False
        )
        total += normal_density(x) * inside
    return total * width / 2.0


@njit(cache=True, nogil=True)
def both_below(h: float, k: float, correlation: float) -> float:
    """The probability that two correlated standard normal numbers are below h and k.

    Reference: Genz, Numerical computation of rectangular bivariate and trivariate normal and t probabilities,
    Statistics and Computing 14 (2004), after Drezner and Wesolowsky (1990).
    """
    if math.isinf(h) or math.isinf(k):
        return 0.5 * math.erfc(-min(h, k) * _ROOT_HALF)
    # Gauss' rule over the angle from 0 to arcsin(correlation), with more points for strong correlations.
    if abs(correlation) < 0.925:
        points, parts = (_X_6, _W_6) if abs(correlation) < 0.3 else (_X_20, _W_20)
        squares, product, angle = (h * h + k * k) / 2.0, h * k, math.asin(correlation)
        total = 0.0
        for i in range(points.size):
            for sign in (-1.0, 1.0):
                sine = math.sin(angle * (sign * points[i] + 1.0) / 2.0)
                total += parts[i] * math.exp((sine * product - squares) / (1.0 - sine * sine))
        independent = 0.25 * math.erfc(-h * _ROOT_HALF) * math.erfc(-k * _ROOT_HALF)
        return independent + total * angle / (4.0 * math.pi)
    return _both_below_when_close(h, k, correlation)


@njit(cache=True, nogil=True)
def _both_below_when_close(h: float, k: float, correlation: float) -> float:
    """The probability for correlations near 1 or −1: that of a correlation of ±1, and a correction (Genz 2004)."""
    h, k = -h, -k
    if correlation < 0.0:
        k = -k
    product = h * k
    total = 0.0
    squared = (1.0 - correlation) * (1.0 + correlation)
    a = math.sqrt(squared)
    b_squared = (h - k) ** 2
    c, d = (4.0 - product) / 8.0, (12.0 - product) / 16.0
    exponent = -(b_squared / squared + product) / 2.0
    if exponent > -100.0:
        total = a * math.exp(exponent)
        total *= 1.0 - c * (b_squared - squared) * (1.0 - d * b_squared / 5.0) / 3.0 + c * d * squared * squared / 5.0
    if product > -100.0:
        b = math.sqrt(b_squared)
        beyond = 0.5 * math.erfc(b / a * _ROOT_HALF)
        series = 1.0 - c * b_squared * (1.0 - d * b_squared / 5.0) / 3.0
        total -= math.exp(-product / 2.0) * _ROOT_TWO_PI * beyond * b * series
    # The rest of the integral by Gauss' rule with 20 points.
    a /= 2.0
    for i in range(_X_20.size):
        for sign in (-1.0, 1.0):
            x = (a * (sign * _X_20[i] + 1.0)) ** 2
            root = math.sqrt(1.0 - x)
            exponent = -(b_squared / x + product) / 2.0
            if exponent > -100.0:
                expected = math.exp(-product * x / (2.0 * (1.0 + root) ** 2)) / root
                total += a * _W_20[i] * math.exp(exponent) * (expected - (1.0 + c * x * (1.0 + d * x)))
    total = -total / (2.0 * math.pi)
    if correlation > 0.0:
        return total + 0.5 * math.erfc(max(h, k) * _ROOT_HALF)
    total = -total
    if k > h:
        total += 0.5 * math.erfc(-k * _ROOT_HALF) - 0.5 * math.erfc(-h * _ROOT_HALF)
    return total
