"""Compiled loops of `anonto.rng`: a counter-based generator and a Feistel network. Keys in, numbers out."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Ints = NDArray[np.int32]

ROUNDS = 8
"""Of the Feistel network; four already make it hard to tell from a random permutation."""

_LOW = np.uint64(0xFFFFFFFF)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
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
def feistel(key: np.uint64, size: np.int64, position: np.int64) -> np.int64:
    """Where a keyed permutation of 0 … size − 1 sends a position.

    The position is a place in a rectangle of `width` columns; rounds add to the column a hash of the row and the other
    way round, which can be undone and so is a permutation; places outside the size are sent on until one is inside.
    """
    width = np.uint64(np.int64(np.ceil(np.sqrt(np.float64(size)))))
    height = (np.uint64(size) + width - np.uint64(1)) // width
    place = np.uint64(position)
    while True:
        row, column = place // width, place % width
        for r in range(ROUNDS):
            salt = key + np.uint64(r + 1) * _GOLDEN
            if r % 2 == 0:
                column += ((mixed(salt ^ mixed(row + salt)) >> _32) * width) >> _32
                if column >= width:
                    column -= width
            else:
                row += ((mixed(salt ^ mixed(column + salt)) >> _32) * height) >> _32
                if row >= height:
                    row -= height
        place = row * width + column
        if place < np.uint64(size):
            return np.int64(place)


@njit(cache=True, nogil=True)
def sent(
    key: np.uint64, size: np.int64, table_offset: np.int64, table: Ints, group: np.int64, position: np.int64
) -> np.int64:
    """Where the permutation of one group sends a position: by its table or, without one, by its network."""
    if table_offset >= 0:
        return np.int64(table[table_offset + position])
    return feistel(mixed(key + np.uint64(group) * _GOLDEN), size, position)


@njit(cache=True, nogil=True)
def permute(
    key: np.uint64, sizes: Longs, table_offsets: Longs, table: Ints, groups: Ints, positions: Longs
) -> Longs:
    """Where the permutation of its group sends each position."""
    out = np.empty(positions.size, np.int64)
    for i in range(positions.size):
        g = groups[i]
        out[i] = sent(key, sizes[g], table_offsets[g], table, g, positions[i])
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
