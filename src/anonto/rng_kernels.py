"""Compiled loops of `anonto.rng`: a counter-based generator and a Feistel network. Keys in, numbers out."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Ints = NDArray[np.int32]

DOUBLE_ROUNDS = 3
"""Of the Feistel network; two already make it hard to tell from a random permutation."""

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
_32 = np.uint64(32)
_ONE = np.uint64(1)
_HALF = np.uint64(1 << 63)


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
def feistel(key: np.uint64, size: np.int64, width: np.int64, height: np.int64, position: np.int64) -> np.int64:
    """Where a keyed permutation of 0 … size − 1 sends a position.

    The position is a place in a rectangle of width × height; rounds add to the column a hash of the row and the other
    way round, which can be undone and so is a permutation; places outside the size are sent on until one is inside.
    """
    wide, high = np.uint64(width), np.uint64(height)
    per_row = 1.0 / np.float64(width)
    place = np.uint64(position)
    while True:
        row = np.uint64(np.float64(place) * per_row)
        column = place - row * wide
        if column > _HALF:
            row -= _ONE
            column += wide
        elif column >= wide:
            row += _ONE
            column -= wide
        salt = key
        for _ in range(DOUBLE_ROUNDS):
            salt += _GOLDEN
            column += ((mixed(row ^ salt) >> _32) * wide) >> _32
            if column >= wide:
                column -= wide
            salt += _GOLDEN
            row += ((mixed(column ^ salt) >> _32) * high) >> _32
            if row >= high:
                row -= high
        place = row * wide + column
        if place < np.uint64(size):
            return np.int64(place)


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
    own_key = key_of_group(key, group)
    size, width, height = sizes[group], widths[group], heights[group]
    for i in range(first, last):
        out[i - first] = feistel(own_key, size, width, height, np.int64(i))
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
