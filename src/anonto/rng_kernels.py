"""Compiled loops of `anonto.rng`: a counter-based generator and a Feistel network. Keys in, numbers out."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Ints = NDArray[np.int32]
Words = NDArray[np.uint32]

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
