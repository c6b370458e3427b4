"""Compiled loops of the masking methods: arrays and a generator in, arrays out.

The steps named in `swap_in_windows` are those of its plain version, `anonto.methods.plain.rank_swap_fixed`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anonto.rng_kernels import Permutations, permute_stretch

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Shorts = NDArray[np.uint16]

FlowArrays = tuple[Longs, Longs, Ints, Longs, Ints]
"""Sizes, offsets, targets, ends and guides of flows."""

PLACES_AT_ONCE = 1 << 12

LOG_FACTORIALS = np.array([math.lgamma(n + 1.0) for n in range(256)])
HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)

TRIES = 16
"""Random looks into a window before its free places are listed."""


@njit(cache=True, nogil=True)
def guides(sizes: Longs, offsets: Longs, ends: Longs) -> Ints:
    """For each value as many equal stretches of its places as it has targets, and the target where each begins."""
    out = np.empty(ends.size, np.int32)
    for value in range(sizes.size):
        first, last = offsets[value], offsets[value + 1]
        per_place = stretches_per_place(last - first, sizes[value])
        target = first
        for stretch in range(last - first):
            place = np.int64(stretch / per_place)
            while place > 0 and np.int64((place - 1) * per_place) >= stretch:
                place -= 1
            while np.int64(place * per_place) < stretch:
                place += 1
            while target < last - 1 and place >= ends[target]:
                target += 1
            out[first + stretch] = target - first
    return out


@njit(cache=True, nogil=True)
def stretches_per_place(n_targets: int, size: int) -> float:
    """How many stretches of a value's places one place is; at least one record is assumed."""
    return np.float64(n_targets) / np.float64(max(size, 1))


@njit(cache=True, nogil=True)
def deal(
    flows: FlowArrays, permutations: Permutations, begins: Longs, first: int, last: int, dealt: Ints | Shorts
) -> None:
    """The targets of all records of the values first … last − 1, value by value in the order of the records.

    The places of a value belong to its targets in order; each position is sent to its place.
    """
    sizes, offsets, targets, ends, _ = flows
    places = np.empty(PLACES_AT_ONCE, np.int64)
    by_place = np.empty(max(1, sizes[first:last].max()), dealt.dtype)
    for value in range(first, last):
        own = dealt[begins[value] : begins[value] + sizes[value]]
        place = 0
        for flow in range(offsets[value], offsets[value + 1]):
            by_place[place : ends[flow]] = targets[flow]
            place = ends[flow]
        for start in range(0, own.size, PLACES_AT_ONCE):
            part = places[: min(PLACES_AT_ONCE, own.size - start)]
            permute_stretch(permutations, value, start, part)
            for each in range(part.size):
                own[start + each] = by_place[part[each]]


@njit(cache=True, nogil=True)
def hand_out(codes: Ints, next_of: Longs, dealt: Ints | Shorts) -> Ints:
    """Give each record of a chunk what was dealt to it; the next one of each value is counted on."""
    out = np.empty(codes.size, np.int32)
    for i in range(codes.size):
        value = codes[i]
        if value < 0:
            out[i] = value
            continue
        out[i] = dealt[next_of[value]]
        next_of[value] += 1
    return out


@njit(cache=True, nogil=True)
def swap_in_windows(ordered: Ints, k: int, generator: np.random.Generator) -> tuple[Ints, Ints, int]:
    """Exchange the value of each place, if still free, with that of a random free one of the k places behind it.

    Returns the exchanged values, left and right, and how many places found no free one.
    """
    n = ordered.size
    free = np.ones(n, np.bool_)
    left = np.empty(n // 2, np.int32)
    right = np.empty(n // 2, np.int32)
    listed = np.empty(min(k, max(n, 1)), np.int64)
    pairs = 0
    alone = 0
    for i in range(n):
        if not free[i]:
            continue
        # Step 3: the interval has the next k places; one that is still free is drawn from it.
        width = min(k, n - 1 - i)
        chosen = np.int64(-1)
        for _ in range(TRIES if width > 0 else 0):
            candidate = i + 1 + generator.integers(0, width)
            if free[candidate]:
                chosen = candidate
                break
        if chosen < 0:
            found = 0
            for behind in range(i + 1, i + 1 + width):
                if free[behind]:
                    listed[found] = behind
                    found += 1
            if found > 0:
                chosen = listed[generator.integers(0, found)]
        free[i] = False
        if chosen < 0:
            alone += 1
            continue
        free[chosen] = False
        left[pairs] = ordered[i]
        right[pairs] = ordered[chosen]
        pairs += 1
    return left[:pairs], right[:pairs], alone


@njit(cache=True, nogil=True)
def meet(left: Longs, pool: Longs, generator: np.random.Generator, met: Longs) -> None:
    """Let the records of each value on the left draw their partners from a pool, without putting them back.

    Args:
        left: How many records each value has; together as many as the pool.
        pool: How many records of each value there are to draw; empty afterwards.
        generator: Where the draws come from.
        met: For each value on the left, how many it drew of each in the pool.
    """
    total = pool.sum()
    for value in range(left.size):
        wanted, behind = left[value], total
        for other in range(pool.size):
            if wanted == 0:
                break
            behind -= pool[other]
            drawn = hypergeometric(pool[other], behind, wanted, generator)
            met[value, other] = drawn
            pool[other] -= drawn
            wanted -= drawn
        total -= left[value]


@njit(cache=True, nogil=True)
def hypergeometric(good: int, bad: int, n_drawn: int, generator: np.random.Generator) -> int:
    """How many good ones are among so many drawn without putting back: by inversion, outwards from the likeliest."""
    least, most = max(0, n_drawn - bad), min(good, n_drawn)
    if least == most:
        return least
    likeliest = min(max(int((n_drawn + 1.0) * (good + 1.0) / (good + bad + 2.0)), least), most)
    density = math.exp(
        _log_choices(good, likeliest) + _log_choices(bad, n_drawn - likeliest) - _log_choices(good + bad, n_drawn)
    )
    left_over = generator.random() - density
    below, above = likeliest, likeliest
    density_below, density_above = density, density
    while left_over > 0.0 and (below > least or above < most):
        if above < most:
            density_above *= np.float64(good - above) * (n_drawn - above)
            above += 1
            density_above /= np.float64(above) * (bad - n_drawn + above)
            left_over -= density_above
            if left_over <= 0.0:
                return above
        if below > least:
            density_below *= np.float64(below) * (bad - n_drawn + below)
            density_below /= np.float64(good - below + 1) * (n_drawn - below + 1)
            below -= 1
            left_over -= density_below
            if left_over <= 0.0:
                return below
    return likeliest


@njit(cache=True, nogil=True)
def _log_choices(n: int, k: int) -> float:
    return _log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)


@njit(cache=True, nogil=True)
def _log_factorial(n: int) -> float:
    """Exact for few, by Stirling's series beyond, to the last digits of a double."""
    if n < LOG_FACTORIALS.size:
        return float(LOG_FACTORIALS[n])
    inverse = 1.0 / n
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
    return (n + 0.5) * math.log(n) - n + HALF_LOG_TAU + series


@njit(cache=True, nogil=True)
def count_pairs(left: Ints, right: Ints, n_right: int, counted: Ints | Longs) -> None:
    """Count each pair at left · n_right + right; a missing value on the left is passed over."""
    for row in range(left.size):
        if left[row] >= 0:
            counted[np.int64(left[row]) * n_right + right[row]] += 1
