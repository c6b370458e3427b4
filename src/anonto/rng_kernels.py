"""Compiled loops of `anonto.rng`: a counter-based generator and a Feistel network. Keys in, numbers out."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Ints = NDArray[np.int32]
Words = NDArray[np.uint32]
LongWords = NDArray[np.uint64]
Floats = NDArray[np.float64]

DOUBLE_ROUNDS = 3
"""Of the Feistel network; two already make it hard to tell from a random permutation."""
STRETCH = 1024
"""Positions permuted at once, so that they stay in the nearest cache."""

Permutations = tuple[np.uint64, Longs, Longs, Longs, Longs, Ints]
"""Key, sizes, widths, heights, offsets of the tables and the tables of several groups."""

_LOW = np.uint64(0xFFFFFFFF)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_HASH_1 = np.uint32(0x85EBCA6B)
_HASH_2 = np.uint32(0xC2B2AE35)
_32 = np.uint64(32)


@njit(cache=True, nogil=True)
def philox(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, key: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Philox-4×32-10 (Salmon, Moraes, Dror, Shaw, SC 2011): four words of 32 bits from a counter and a key."""
    k0, k1 = key & _LOW, key >> _32
    for _ in range(10):
        product_0, product_1 = _MULTIPLIER_0 * c0, _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (product_1 >> _32) ^ c1 ^ k0, product_1 & _LOW, (product_0 >> _32) ^ c3 ^ k1, product_0 & _LOW
        k0, k1 = (k0 + _WEYL_0) & _LOW, (k1 + _WEYL_1) & _LOW
    return c0, c1, c2, c3


@njit(cache=True, nogil=True)
def philox_uniforms(key: np.uint64, rows: Longs, draw: np.uint32) -> NDArray[np.float64]:
    """One number from [0, 1) with 53 bits for each row number."""
    out = np.empty(rows.size, np.float64)
    for i in range(rows.size):
        row = np.uint64(rows[i])
        high, low, _, _ = philox(row & _LOW, row >> _32, np.uint64(draw), np.uint64(0), key)
        out[i] = float(((high << _32) | low) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    return out


@njit(cache=True, nogil=True)
def philox_words(key: np.uint64, rows: Longs, name: np.uint64) -> tuple[LongWords, LongWords]:
    """Two words of 64 bits for each row number and a name: what `philox` gives, by rounds, in vectors."""
    first = np.empty(rows.size, np.uint64)
    second = np.empty(rows.size, np.uint64)
    c0 = np.empty(STRETCH, np.uint64)
    c1 = np.empty(STRETCH, np.uint64)
    c2 = np.empty(STRETCH, np.uint64)
    c3 = np.empty(STRETCH, np.uint64)
    for start in range(0, rows.size, STRETCH):
        n = min(STRETCH, rows.size - start)
        for i in range(n):
            row = np.uint64(rows[start + i])
            c0[i], c1[i], c2[i], c3[i] = row & _LOW, row >> _32, name & _LOW, name >> _32
        k0, k1 = key & _LOW, key >> _32
        for _ in range(10):
            for i in range(n):
                product_0, product_1 = _MULTIPLIER_0 * (c0[i] & _LOW), _MULTIPLIER_1 * (c2[i] & _LOW)
                c0[i], c2[i] = (product_1 >> _32) ^ c1[i] ^ k0, (product_0 >> _32) ^ c3[i] ^ k1
                c1[i], c3[i] = product_1 & _LOW, product_0 & _LOW
            k0, k1 = (k0 + _WEYL_0) & _LOW, (k1 + _WEYL_1) & _LOW
        for i in range(n):
            first[start + i] = (c0[i] << _32) | c1[i]
            second[start + i] = (c2[i] << _32) | c3[i]
    return first, second


@njit(cache=True, nogil=True)
def normal_tail(r: float) -> float:
    """The normal quantile in a tail, from the root of minus the log of what lies beyond it (algorithm AS 241)."""
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
    for i in range(words.size):
        beyond = _half_open(words[i])
        if beyond < 0.075:
            out[i] = normal_tail(math.sqrt(-math.log(beyond)))
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
def mixed(x: np.uint64) -> np.uint64:
    """A bijection of 64 bits in which every bit of the result depends on every bit given."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _salt(key: np.uint64, number: int) -> np.uint32:
    """The secret of a round."""
    return np.uint32(mixed(key + np.uint64(number + 1) * _GOLDEN) >> _32)


@njit(cache=True, nogil=True)
def _moved(place: np.uint32, other: np.uint32, salt: np.uint32, extent: np.uint32) -> np.uint32:
    """A place shifted round its extent by a hash of the other place (the finaliser of MurmurHash3)."""
    hashed = np.uint32(other ^ salt)
    hashed = np.uint32(hashed ^ (hashed >> np.uint32(16)))
    hashed = np.uint32(hashed * _HASH_1)
    hashed = np.uint32(hashed ^ (hashed >> np.uint32(13)))
    hashed = np.uint32(hashed * _HASH_2)
    hashed = np.uint32(hashed ^ (hashed >> np.uint32(16)))
    moved = np.uint32(place + np.uint32((np.uint64(hashed) * np.uint64(extent)) >> _32))
    return np.uint32(moved - extent) if moved >= extent else moved


@njit(cache=True, nogil=True)
def feistel(key: np.uint64, size: np.int64, width: np.int64, height: np.int64, position: np.int64) -> np.int64:
    """Where a keyed permutation of 0 … size − 1 sends a position.

    The position is a place in a rectangle of width × height; rounds add to the column a hash of the row and the other
    way round, which can be undone and so is a permutation; places outside the size are sent on until one is inside.
    """
    wide, high = np.uint32(width), np.uint32(height)
    place = np.int64(position)
    while True:
        row, column = np.uint32(place // width), np.uint32(place % width)
        for number in range(DOUBLE_ROUNDS):
            column = _moved(column, row, _salt(key, 2 * number), wide)
            row = _moved(row, column, _salt(key, 2 * number + 1), high)
        place = np.int64(row) * width + np.int64(column)
        if place < size:
            return place


@njit(cache=True, nogil=True)
def _moved_back(place: np.uint32, other: np.uint32, salt: np.uint32, extent: np.uint32) -> np.uint32:
    """The place that `_moved` shifts to this one."""
    shift = _moved(np.uint32(0), other, salt, extent)
    return np.uint32(place - shift) if place >= shift else np.uint32(place + extent - shift)


@njit(cache=True, nogil=True)
def feistel_back(key: np.uint64, size: np.int64, width: np.int64, height: np.int64, place: np.int64) -> np.int64:
    """The position that `feistel` sends to a place."""
    wide, high = np.uint32(width), np.uint32(height)
    position = np.int64(place)
    while True:
        row, column = np.uint32(position // width), np.uint32(position % width)
        for number in range(DOUBLE_ROUNDS - 1, -1, -1):
            row = _moved_back(row, column, _salt(key, 2 * number + 1), high)
            column = _moved_back(column, row, _salt(key, 2 * number), wide)
        position = np.int64(row) * width + np.int64(column)
        if position < size:
            return position


@njit(cache=True, nogil=True)
def _all_rounds(key: np.uint64, wide: np.uint32, high: np.uint32, rows: Words, columns: Words) -> None:
    for number in range(DOUBLE_ROUNDS):
        salt = _salt(key, 2 * number)
        for i in range(rows.size):
            columns[i] = _moved(columns[i], rows[i], salt, wide)
        salt = _salt(key, 2 * number + 1)
        for i in range(rows.size):
            rows[i] = _moved(rows[i], columns[i], salt, high)


@njit(cache=True, nogil=True)
def _all_rounds_back(key: np.uint64, wide: np.uint32, high: np.uint32, rows: Words, columns: Words) -> None:
    for number in range(DOUBLE_ROUNDS - 1, -1, -1):
        salt = _salt(key, 2 * number + 1)
        for i in range(rows.size):
            rows[i] = _moved_back(rows[i], columns[i], salt, high)
        salt = _salt(key, 2 * number)
        for i in range(rows.size):
            columns[i] = _moved_back(columns[i], rows[i], salt, wide)


@njit(cache=True, nogil=True)
def feistel_of_stretch(
    key: np.uint64, size: np.int64, width: np.int64, height: np.int64, first: int, back: bool, out: Longs
) -> None:
    """What `feistel`, or `feistel_back`, gives from ``first`` on, as many as ``out`` holds: by rounds, in vectors."""
    rows = np.empty(STRETCH, np.uint32)
    columns = np.empty(STRETCH, np.uint32)
    for start in range(0, out.size, STRETCH):
        n = min(STRETCH, out.size - start)
        row, column = np.int64((first + start) // width), np.int64((first + start) % width)
        for i in range(n):
            rows[i] = row
            columns[i] = column
            column += 1
            if column == width:
                column = np.int64(0)
                row += 1
        if back:
            _all_rounds_back(key, np.uint32(width), np.uint32(height), rows[:n], columns[:n])
        else:
            _all_rounds(key, np.uint32(width), np.uint32(height), rows[:n], columns[:n])
        for i in range(n):
            out[start + i] = np.int64(rows[i]) * width + np.int64(columns[i])
        for i in range(n):
            outside = out[start + i]
            if outside >= size and back:
                out[start + i] = feistel_back(key, size, width, height, outside)
            elif outside >= size:
                out[start + i] = feistel(key, size, width, height, outside)


@njit(cache=True, nogil=True)
def rectangles(sizes: Longs) -> tuple[Longs, Longs]:
    """For each size the width and height of the smallest nearly square rectangle that holds it."""
    widths = np.empty(sizes.size, np.int64)
    heights = np.empty(sizes.size, np.int64)
    for g in range(sizes.size):
        width = max(np.int64(1), np.int64(np.ceil(np.sqrt(np.float64(sizes[g])))))
        widths[g] = width
        heights[g] = max(np.int64(1), np.int64((sizes[g] + width - 1) // width))
    return widths, heights


@njit(cache=True, nogil=True)
def key_of_group(key: np.uint64, group: int) -> np.uint64:
    """A key of its own for the network of a group."""
    return mixed(key + np.uint64(group) * _GOLDEN)


@njit(cache=True, nogil=True)
def permute(permutations: Permutations, groups: Ints, positions: Longs) -> Longs:
    """Where the permutation of its group sends each position: by its table or, without one, by its network."""
    key, sizes, widths, heights, table_offsets, table = permutations
    out = np.empty(positions.size, np.int64)
    for i in range(positions.size):
        g = groups[i]
        if table_offsets[g] >= 0:
            out[i] = table[table_offsets[g] + positions[i]]
        else:
            out[i] = feistel(key_of_group(key, g), sizes[g], widths[g], heights[g], positions[i])
    return out


@njit(cache=True, nogil=True)
def permute_group(permutations: Permutations, group: int, first: int, last: int) -> Longs:
    """Where the permutation of a group sends the positions first … last − 1."""
    key, sizes, widths, heights, table_offsets, table = permutations
    out = np.empty(last - first, np.int64)
    if table_offsets[group] >= 0:
        start = table_offsets[group]
        for i in range(first, last):
            out[i - first] = table[start + i]
        return out
    feistel_of_stretch(key_of_group(key, group), sizes[group], widths[group], heights[group], first, False, out)
    return out


@njit(cache=True, nogil=True)
def shuffle_tables(generator: np.random.Generator, sizes: Longs, table_offsets: Longs, table: Ints) -> None:
    """Fill the table of each group that has one with a uniform permutation (Fisher and Yates)."""
    for g in range(sizes.size):
        start = table_offsets[g]
        if start < 0:
            continue
        for i in range(sizes[g]):
            j = generator.integers(0, i + 1)
            table[start + i] = table[start + j]
            table[start + j] = i
