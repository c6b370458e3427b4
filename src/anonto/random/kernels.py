"""Compiled loops of `anonto.random.streams`: permutations by tables and Feistel networks, numbers from random words."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from anonto.arrays import Floats, Ints, Longs, LongWords, Words
from anonto.random.chacha import Whole, next_block, number_below, words_of_items

SHUFFLED_UP_TO = 1 << 10
"""Permutations of up to this many elements are drawn as shuffled tables, larger ones are Feistel networks."""
DOUBLE_ROUNDS = 5
"""Pairs of rounds of the Feistel network: ten rounds, as in the NIST's format-preserving cipher FF1."""
POSITIONS_AT_ONCE = 1024
"""Positions permuted at once, so that they stay in the nearest cache."""
FEW = 8
"""Up to this many positions are permuted one by one."""

Permutations = tuple[Longs, Longs, Longs, Longs, Ints]
"""Sizes, widths and heights of several groups, where the table of each begins (and the last ends), and the tables."""

_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def normal_tail(r: float) -> float:
    """The normal quantile in a tail, from the root of minus the log of what lies beyond it (algorithm AS 241)."""
    # A rational approximation of degree 7 for moderate tails, another one beyond them.
    if r <= 5.0:
        r -= 1.6
        above = 7.74545014278341407640e-4
        for c in (
            2.27238449892691845833e-2,
            2.41780725177450611770e-1,
            1.27045825245236838258e0,
            3.64784832476320460504e0,
            5.76949722146069140550e0,
            4.63033784615654529590e0,
            1.42343711074968357734e0,
        ):
            above = above * r + c
        below = 1.05075007164441684324e-9
        for c in (
            5.47593808499534494600e-4,
            1.51986665636164571966e-2,
            1.48103976427480074590e-1,
            6.89767334985100004550e-1,
            1.67638483018380384940e0,
            2.05319162663775882187e0,
            1.0,
        ):
            below = below * r + c
        return above / below
    r -= 5.0
    above = 2.01033439929228813265e-7
    for c in (
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ):
        above = above * r + c
    below = 2.04426310338993978564e-15
    for c in (
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ):
        below = below * r + c
    return above / below


@njit(cache=True, nogil=True)
def normals(words: LongWords) -> Floats:
    """A standard normal number from each word: a sign, and the quantile of the other bits (Wichura, AS 241, 1988)."""
    out = np.empty(words.size, np.float64)
    # The middle of the distribution, |q| ≤ 0.425, by a rational approximation in 0.425² − q² …
    for i in range(words.size):
        q = 0.5 - _half_open(words[i])
        r = 0.180625 - q * q
        above = 2.5090809287301226727e3 * r + 3.3430575583588128105e4
        above = ((above * r + 6.7265770927008700853e4) * r + 4.5921953931549871457e4) * r + 1.3731693765509461125e4
        above = ((above * r + 1.9715909503065514427e3) * r + 1.3314166789178437745e2) * r + 3.3871328727963666080e0
        below = 5.2264952788528545610e3 * r + 2.8729085735721942674e4
        below = ((below * r + 3.9307895800092710610e4) * r + 2.1213794301586595867e4) * r + 5.3941960214247511077e3
        below = ((below * r + 6.8718700749205790830e2) * r + 4.2313330701600911252e1) * r + 1.0
        out[i] = q * above / below
    # … the tails by those of `normal_tail` …
    for i in range(words.size):
        beyond = _half_open(words[i])
        if beyond < 0.075:
            out[i] = normal_tail(math.sqrt(-math.log(beyond)))
    # … and the sign by the lowest bit.
    for i in range(words.size):
        if words[i] & np.uint64(1):
            out[i] = -out[i]
    return out


@njit(cache=True, nogil=True)
def _half_open(word: np.uint64) -> float:
    """A number above 0 and below ½ from the upper 53 bits of a word."""
    return (float(word >> np.uint64(11)) + 0.5) * (0.5 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def exponentials(words: LongWords) -> Floats:
    """A number with the standard exponential distribution from each word."""
    out = np.empty(words.size, np.float64)
    for i in range(words.size):
        out[i] = -math.log(2.0 * _half_open(words[i]))
    return out


@njit(cache=True, nogil=True)
def laplaces(words: LongWords) -> Floats:
    """A Laplace number with variance 1 from each word: a sign, and an exponential number."""
    out = exponentials(words)
    for i in range(words.size):
        out[i] *= -math.sqrt(0.5) if words[i] & np.uint64(1) else math.sqrt(0.5)
    return out


@njit(cache=True, nogil=True)
def mix_bits(x: np.uint64) -> np.uint64:
    """A bijection of 64 bits in which every bit of the result depends on every bit given (Stafford's mix 13)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def feistel(table: Ints, start: Whole, size: Whole, width: Whole, height: Whole, position: Whole) -> np.int64:
    """The position to which a permutation of 0 … size − 1 sends a position.

    The position is a place in a rectangle of width × height. A round adds a number of its table to the column, which
    depends on the row, or the other way round; this can be undone, so it is a permutation. Places outside the size are
    sent on until one is inside (cycle walking, Black and Rogaway 2002). The tables of the rounds begin at ``start``.
    """
    place = np.int64(position)
    while True:
        row, column = place // width, place % width
        at = start
        # A double round: shift the column by the row, then the row by the column.
        for _ in range(DOUBLE_ROUNDS):
            column += table[at + row]
            column -= width if column >= width else 0
            at += height
            row += table[at + column]
            row -= height if row >= height else 0
            at += width
        place = row * width + column
        if place < size:
            return np.int64(place)


@njit(cache=True, nogil=True)
def feistel_back(table: Ints, start: Whole, size: Whole, width: Whole, height: Whole, place: Whole) -> np.int64:
    """The position that `feistel` sends to a place."""
    position = np.int64(place)
    while True:
        row, column = position // width, position % width
        at = start + DOUBLE_ROUNDS * (width + height)
        # The double rounds of `feistel`, undone from the last to the first.
        for _ in range(DOUBLE_ROUNDS):
            at -= width
            row -= table[at + column]
            row += height if row < 0 else 0
            at -= height
            column -= table[at + row]
            column += width if column < 0 else 0
        position = row * width + column
        if position < size:
            return np.int64(position)


@njit(cache=True, nogil=True)
def _shift(places: Ints, others: Ints, table: Ints, extent: Whole) -> None:
    """One round: shift places cyclically by the numbers that the table has for the other places."""
    for i in range(places.size):
        moved = places[i] + table[others[i]]
        places[i] = moved - extent if moved >= extent else moved


@njit(cache=True, nogil=True)
def _shift_back(places: Ints, others: Ints, table: Ints, extent: Whole) -> None:
    for i in range(places.size):
        moved = places[i] - table[others[i]]
        places[i] = moved + extent if moved < 0 else moved


@njit(cache=True, nogil=True)
def feistel_of_range(
    table: Ints, start: Whole, size: Whole, width: Whole, height: Whole, first: Whole, back: bool, out: Longs
) -> None:
    """The results of `feistel`, or `feistel_back`, from ``first`` on, as many as ``out`` holds: round by round."""
    rows = np.empty(POSITIONS_AT_ONCE, np.int32)
    columns = np.empty(POSITIONS_AT_ONCE, np.int32)
    for begin in range(0, out.size, POSITIONS_AT_ONCE):
        n = min(POSITIONS_AT_ONCE, out.size - begin)
        # The places of consecutive positions.
        row, column = np.int64((first + begin) // width), np.int64((first + begin) % width)
        for i in range(n):
            rows[i] = row
            columns[i] = column
            column += 1
            if column == width:
                column = np.int64(0)
                row += 1
        # Each round for all of them, in vectors.
        for double_round in range(DOUBLE_ROUNDS):
            if back:
                at = start + (DOUBLE_ROUNDS - 1 - double_round) * (width + height)
                _shift_back(rows[:n], columns[:n], table[at + height :], height)
                _shift_back(columns[:n], rows[:n], table[at:], width)
            else:
                at = start + double_round * (width + height)
                _shift(columns[:n], rows[:n], table[at:], width)
                _shift(rows[:n], columns[:n], table[at + height :], height)
        for i in range(n):
            out[begin + i] = np.int64(rows[i]) * width + np.int64(columns[i])
        # Cycle walking for the few that fell outside.
        for i in range(n):
            outside = out[begin + i]
            if outside >= size and back:
                out[begin + i] = feistel_back(table, start, size, width, height, outside)
            elif outside >= size:
                out[begin + i] = feistel(table, start, size, width, height, outside)


@njit(cache=True, nogil=True)
def rectangles(sizes: Longs) -> tuple[Longs, Longs]:
    """The width and height of the smallest nearly square rectangle of even width that holds each size.

    Cyclic shifts of an odd number of places are even permutations: with two odd sides every round would be even.
    """
    widths = np.empty(sizes.size, np.int64)
    heights = np.empty(sizes.size, np.int64)
    for g in range(sizes.size):
        width = max(np.int64(2), np.int64(np.ceil(np.sqrt(np.float64(sizes[g])))))
        width += width % 2
        widths[g] = width
        heights[g] = max(np.int64(1), np.int64((sizes[g] + width - 1) // width))
    return widths, heights


@njit(cache=True, nogil=True)
def permute_range(permutations: Permutations, group: int, first: int, places: Longs) -> None:
    """The positions to which the permutation of a group sends those from ``first`` on, as many as ``places`` holds."""
    sizes, widths, heights, offsets, table = permutations
    start = offsets[group]
    if sizes[group] <= SHUFFLED_UP_TO:
        for i in range(places.size):
            places[i] = table[start + first + i]
    elif places.size < FEW:
        for i in range(places.size):
            places[i] = feistel(table, start, sizes[group], widths[group], heights[group], first + i)
    else:
        feistel_of_range(table, start, sizes[group], widths[group], heights[group], first, False, places)


@njit(cache=True, nogil=True)
def draw_permutations(key: Words, permutations: Permutations, first: int, last: int) -> None:
    """Fill the tables of the groups first … last − 1.

    A small group gets a uniform permutation (Fisher and Yates), a large one uniform shifts for each round.
    """
    sizes, widths, heights, offsets, table = permutations
    words = words_of_items(key, np.arange(first, last).astype(np.uint64), np.diff(offsets[first : last + 1]))
    x = words[3]
    at: Whole = -1
    for g in range(first, last):
        own = table[offsets[g] : offsets[g + 1]]
        both = widths[g] + heights[g]
        for i in range(own.size):
            if i % 8 == 0:
                at = next_block(words, at)
            # Fisher and Yates, from the inside out: a new element takes a random place, whose element moves to the end.
            if sizes[g] <= SHUFFLED_UP_TO:
                j = number_below(x, at, i % 8, i + 1)
                own[i] = own[j]
                own[j] = i
            else:
                own[i] = number_below(x, at, i % 8, widths[g] if i % both < heights[g] else heights[g])
