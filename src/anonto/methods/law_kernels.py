"""Compiled loops of the laws of noise: where the noise of a cell must have lain for each released value.

Candidates of a value that stand at the same distance from it and on the same side of its reference are equally likely:
they are a *class*. Each class has two stretches of standard noise, one below 0 and one above, and a weight in each: the
chance of one of its candidates when the noise lies there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

if TYPE_CHECKING:
    from anonto.methods.noise_kernels import Levels, Numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Stretches = tuple[Floats, Floats, Floats]
"""Targets × classes × 2: where stretches of standard noise begin, where they end, and their weights."""

NARROW = 0.2
"""Stretches narrower than this, in units of the spread that is left, are integrated at two points (to about 1e-6)."""
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


# ------------------------------------------------------------------------------------------------ stretches


@njit(cache=True, nogil=True)
def noise_classes(
    values: Ints,
    references: Ints,
    scales: Floats,
    levels: Levels,
    ranks: Numbers,
    places: Ints,
    nearest: bool,
    candidate_of: Ints,
    classes: Ints,
    low: Floats,
    high: Floats,
    weights: Floats,
) -> None:
    """The classes of released values for some values of a column of concepts, and their stretches of standard noise.

    Args:
        values: The values.
        references: For each the row of its reference in ``ranks``.
        scales: For each what standard noise is multiplied by.
        levels: The candidates of each value by their distance.
        ranks: References × candidates (and values): the order of their distances to the reference.
        places: For each value its column in ``ranks``.
        nearest: Whether the noise is rounded to the nearest concept and not up.
        candidate_of: For each released value the candidate, or the value that is none, that is spelt so; −1 for none.
        classes: Receives targets × released values: the class of each; −1 for what cannot come out.
        low: Receives where stretches begin.
        high: Receives where they end.
        weights: Receives their weights.
    """
    offsets, distances, _, members = levels
    most_levels = np.diff(offsets).max()
    class_of = np.empty(members.shape[1], np.int32)
    number_of = np.empty(3 * most_levels + 1, np.int32)
    sizes = np.empty((most_levels, 3), np.int64)
    of_levels = np.empty((2, most_levels + 1, 3))
    for t in range(values.size):
        value = values[t]
        n_levels = offsets[value + 1] - 1 - offsets[value]
        _classify(value, levels, ranks[references[t]], places[value], class_of, sizes)
        for way in range(2):
            _level_stretches(distances[offsets[value] :], sizes[:n_levels], way, nearest, of_levels[way])
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
                _class_stretches(
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
def _classify(value: int, levels: Levels, ranks: Numbers, own: int, class_of: Ints, sizes: Longs) -> None:
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
def _level_stretches(distances: Floats, sizes: Longs, way: int, nearest: bool, out: Floats) -> None:
    """For each level where the size of noise in one direction must lie, and how many candidates it may lead to.

    Behind the levels stands the same for noise that leaves a value as it is.
    """
    n_levels = sizes.shape[0]
    is_conflict = sizes[:, 2 * way].sum() == 0
    before, last = 0.0, n_levels
    out[: n_levels + 1] = 0.0
    out[n_levels, 2] = 1.0 if nearest else 0.0
    for level in range(n_levels):
        amount = sizes[level].sum() if is_conflict else sizes[level, 2 * way]
        if amount == 0 or (nearest and distances[level] == 0.0):
            continue
        edge = (before + distances[level]) / 2.0 if nearest else before
        out[last, 1] = edge
        out[level, 0], out[level, 2] = edge, amount
        before, last = distances[level], level
    out[last, 1] = np.inf


@njit(cache=True, nogil=True)
def _class_stretches(
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
    """The stretches of standard noise of one class, below 0 and above, from those of its level."""
    level, side = class_of_level // 3, class_of_level % 3
    for way in range(2):
        first, last, weight = 0.0, np.inf, 1.0 if is_self else 0.0
        if scale > 0.0:
            row = n_levels if is_self and nearest else level
            first, last, amount = of_levels[way, row]
            is_there = row == n_levels or side == 2 * way or sizes[:n_levels, 2 * way].sum() == 0
            weight = 1.0 / amount if amount > 0.0 and is_there else 0.0
            first, last = first / scale, last / scale
        weights[way] = weight
        low[way] = first if way else -last
        high[way] = last if way else -first


@njit(cache=True, nogil=True)
def number_stretches(
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
    """The same for numbers that are rounded to a grain, and to the ends of a range: each released one is a class.

    Args:
        values: The numbers.
        scales: For each what standard noise is multiplied by.
        released: The released numbers.
        half: Half the grain.
        lowest: What all smaller numbers become.
        highest: What all larger numbers become.
        low: Receives where stretches begin.
        high: Receives where they end.
        weights: Receives their weights.
    """
    weights[:, :, 1] = 0.0
    for t in range(values.size):
        for y in range(released.size):
            first = -np.inf if released[y] <= lowest else released[y] - half - values[t]
            last = np.inf if released[y] >= highest else released[y] + half - values[t]
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
    """Targets × released numbers: the probability of each; the arguments are those of `number_stretches`."""
    out = np.empty((values.size, released.size))
    for t in range(values.size):
        for y in range(released.size):
            first = -np.inf if released[y] <= lowest else released[y] - half - values[t]
            last = np.inf if released[y] >= highest else released[y] + half - values[t]
            if scales[t] > 0.0:
                out[t, y] = stretch(first / scales[t], last / scales[t], laplace)
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
                    out[t, k] += weights[t, k, way] * stretch(low[t, k, way], high[t, k, way], laplace)
    return out


@njit(cache=True, nogil=True)
def stretch(low: float, high: float, laplace: bool) -> float:
    """The probability that standard noise lies in a stretch."""
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
    """Of the standard normal distribution."""
    return math.exp(-0.5 * x * x) / _ROOT_TWO_PI


# ------------------------------------------------------------------------------------------------ pairs


@njit(cache=True, nogil=True)
def noise_sizes(laplace: bool) -> tuple[Floats, Floats]:
    """What joint noise is divided by to be normal, and with which weight: 1, or the roots of exponential numbers."""
    if not laplace:
        return np.ones(1), np.ones(1)
    roots, weights = np.empty(STEPS_BELOW + STEPS_ABOVE + 1), np.empty(STEPS_BELOW + STEPS_ABOVE + 1)
    for k in range(roots.size):
        w = (k - STEPS_BELOW) * STEP
        size = math.exp(w - math.exp(-w))
        roots[k] = math.sqrt(size)
        weights[k] = STEP * size * (1.0 + math.exp(-w)) * math.exp(-size)
    return roots, weights / weights.sum()


@njit(cache=True, nogil=True)
def pair_probability(
    of_a: Stretches, of_b: Stretches, t: int, a: int, b: int, correlation: float, roots: Floats, shares: Floats
) -> float:
    """The probability of two released values together, by their classes."""
    low_a, high_a, weights_a = of_a
    low_b, high_b, weights_b = of_b
    total = 0.0
    for one in range(2):
        for other in range(2):
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
    """The probability that two correlated standard normal numbers lie in a stretch each."""
    if high_a <= low_a or high_b <= low_b:
        return 0.0
    if correlation == 0.0:
        return stretch(low_a, high_a, False) * stretch(low_b, high_b, False)
    left = math.sqrt(max(0.0, 1.0 - correlation * correlation))
    if left < 1e-6:
        low_other, high_other = (low_b, high_b) if correlation > 0.0 else (-high_b, -low_b)
        return stretch(max(low_a, low_other), min(high_a, high_other), False)
    width_a, width_b = high_a - low_a, high_b - low_b
    if min(width_a, width_b) < NARROW * left:
        if width_a <= width_b:
            return _narrow(low_a, high_a, low_b, high_b, correlation, left)
        return _narrow(low_b, high_b, low_a, high_a, correlation, left)
    found = (
        both_below(high_a, high_b, correlation)
        - both_below(low_a, high_b, correlation)
        - both_below(high_a, low_b, correlation)
        + both_below(low_a, low_b, correlation)
    )
    return max(found, 0.0)


@njit(cache=True, nogil=True)
def _narrow(low: float, high: float, low_other: float, high_other: float, correlation: float, left: float) -> float:
    """Gauss' rule with two points over a narrow stretch."""
    middle, width = (low + high) / 2.0, high - low
    total = 0.0
    for sign in (-1.0, 1.0):
        x = middle + sign * _GAUSS * width
        inside = stretch((low_other - correlation * x) / left, (high_other - correlation * x) / left, False)
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
    """The same for correlations near 1 or −1."""
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
