"""ChaCha20 (Bernstein 2008; RFC 8439): blocks of 64 random bytes from a key of 256 bits, a counter and a nonce.

All randomness comes from it: words by row number, words of several items one after the other, and streams for numpy.
Counter and nonce have 64 bits each, as in Bernstein's cipher; RFC 8439 gives 32 bits of the counter to the nonce.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import carray, cfunc, njit, types  # type: ignore[attr-defined]

from anonto.arrays import Longs, LongWords, Words

Whole = int | np.integer[Any]

ROUNDS = 20
AT_ONCE = 256
"""Blocks computed together, in vectors, so that they stay in the nearest cache."""

Source = tuple[Words, LongWords, Longs, Words, LongWords, LongWords, Longs]
"""Key, nonces and numbers of words of the items; blocks, their counters and nonces; the item and block that follow."""

_SIGMA = np.frombuffer(b"expand 32-byte k", dtype="<u4").astype(np.uint32)
_32 = np.uint64(32)


# ------------------------------------------------------------------------------------------------ the cipher


@njit(cache=True, nogil=True)
def blocks(key: Words, counters: LongWords, nonces: LongWords, out: Words) -> None:
    """The sixteen words of each block, down the columns of ``out``."""
    # The state (RFC 8439, section 2.3): four constants, eight words of the key, the counter and the nonce.
    n = counters.size
    for word in range(4):
        out[word, :n] = _SIGMA[word]
    for word in range(8):
        out[4 + word, :n] = key[word]
    for i in range(n):
        out[12, i], out[13, i] = np.uint32(counters[i]), np.uint32(counters[i] >> _32)
        out[14, i], out[15, i] = np.uint32(nonces[i]), np.uint32(nonces[i] >> _32)
    # Twenty rounds: quarter rounds down the columns and along the diagonals, in turn.
    for _ in range(ROUNDS // 2):
        for word in range(4):
            _quarter_round(out, word, 4 + word, 8 + word, 12 + word, n)
        for word in range(4):
            _quarter_round(out, word, 4 + (word + 1) % 4, 8 + (word + 2) % 4, 12 + (word + 3) % 4, n)
    # The initial state is added, so that the rounds cannot be undone.
    for word in range(4):
        for i in range(n):
            out[word, i] += _SIGMA[word]
    for word in range(8):
        for i in range(n):
            out[4 + word, i] += key[word]
    for i in range(n):
        out[12, i] += np.uint32(counters[i])
        out[13, i] += np.uint32(counters[i] >> _32)
        out[14, i] += np.uint32(nonces[i])
        out[15, i] += np.uint32(nonces[i] >> _32)


@njit(cache=True, nogil=True)
def _quarter_round(x: Words, first: int, second: int, third: int, fourth: int, n: int) -> None:
    for i in range(n):
        a, b, c, d = x[first, i], x[second, i], x[third, i], x[fourth, i]
        a = np.uint32(a + b)
        d = np.uint32(d ^ a)
        d = np.uint32((d << np.uint32(16)) | (d >> np.uint32(16)))
        c = np.uint32(c + d)
        b = np.uint32(b ^ c)
        b = np.uint32((b << np.uint32(12)) | (b >> np.uint32(20)))
        a = np.uint32(a + b)
        d = np.uint32(d ^ a)
        d = np.uint32((d << np.uint32(8)) | (d >> np.uint32(24)))
        c = np.uint32(c + d)
        b = np.uint32(b ^ c)
        b = np.uint32((b << np.uint32(7)) | (b >> np.uint32(25)))
        x[first, i], x[second, i], x[third, i], x[fourth, i] = a, b, c, d


@njit(cache=True, nogil=True)
def words_of_rows(key: Words, rows: Longs) -> tuple[LongWords, LongWords]:
    """Two words of 64 bits for each row number; a block serves four numbers that follow each other."""
    first = np.empty(rows.size, np.uint64)
    second = np.empty(rows.size, np.uint64)
    counters = np.empty(AT_ONCE, np.uint64)
    nonces = np.zeros(AT_ONCE, np.uint64)
    x = np.empty((16, AT_ONCE), np.uint32)
    start = 0
    while start < rows.size:
        # The blocks of the next rows, each once, as long as they fit.
        n, end = 0, start
        last = ~np.uint64(0)
        while end < rows.size:
            block = np.uint64(rows[end]) >> np.uint64(2)
            if block != last:
                if n == AT_ONCE:
                    break
                counters[n] = last = block
                n += 1
            end += 1
        blocks(key, counters[:n], nonces[:n], x)
        # Four of the sixteen words of a block belong to each of its rows.
        at = np.uint64(0)
        last = counters[0]
        for i in range(start, end):
            row = np.uint64(rows[i])
            if row >> np.uint64(2) != last:
                at += np.uint64(1)
                last = row >> np.uint64(2)
            word = np.uint64(4) * (row & np.uint64(3))
            first[i] = np.uint64(x[word, at]) | (np.uint64(x[word + np.uint64(1), at]) << _32)
            second[i] = np.uint64(x[word + np.uint64(2), at]) | (np.uint64(x[word + np.uint64(3), at]) << _32)
        start = end
    return first, second


# ------------------------------------------------------------------------------------------------ words of items


@njit(cache=True, nogil=True)
def words_of_items(key: Words, nonces: LongWords, n_words: Longs) -> Source:
    """The words of several items, eight of 64 bits to a block, to be read item by item: see `next_block`."""
    x = np.empty((16, AT_ONCE), np.uint32)
    return key, nonces, n_words, x, np.empty(AT_ONCE, np.uint64), np.empty(AT_ONCE, np.uint64), np.zeros(2, np.int64)


@njit(cache=True, nogil=True)
def next_block(given: Source, at: Whole) -> Whole:
    """Where the next block stands; it follows the one at ``at``, and the first one −1.

    Each item has as many blocks as its words need, and an item without words has none.
    """
    if 0 <= at < AT_ONCE - 1:
        return at + 1
    # The blocks are used up: compute the next ones, item by item.
    key, nonces, n_words, x, counters, nonces_now, used = given
    n, item, block = 0, used[0], used[1]
    while n < AT_ONCE and item < nonces.size:
        if 8 * block >= n_words[item]:
            item, block = item + 1, 0
            continue
        counters[n], nonces_now[n] = block, nonces[item]
        n, block = n + 1, block + 1
    blocks(key, counters[:n], nonces_now[:n], x)
    used[0], used[1] = item, block
    return 0


@njit(cache=True, nogil=True)
def number_below(x: Words, at: Whole, word: Whole, n: Whole) -> np.int64:
    """A number from 0 to n − 1 from one of the eight words of a block; probabilities differ by 2⁻⁶⁴ at most."""
    # The upper half of the product of the word with n (Lemire 2019).
    low, high = np.uint64(x[2 * word, at]), np.uint64(x[2 * word + 1, at])
    return np.int64((high * np.uint64(n) + ((low * np.uint64(n)) >> _32)) >> _32)


# ------------------------------------------------------------------------------------------------ streams

_HEAD = 12
"""Words of a stream's state before its blocks: the key, the counter, how many words are used, and one that is free."""
_STREAM_BLOCKS = 64
_IN_BLOCKS = 16 * _STREAM_BLOCKS


@njit(cache=True, nogil=True)
def _refill(state: Words) -> None:
    """The next blocks of a stream, one after the other."""
    counter = np.uint64(state[8]) | (np.uint64(state[9]) << _32)
    counters = np.empty(_STREAM_BLOCKS, np.uint64)
    for i in range(_STREAM_BLOCKS):
        counters[i] = counter + np.uint64(i)
    x = np.empty((16, _STREAM_BLOCKS), np.uint32)
    blocks(state[:8], counters, np.zeros(_STREAM_BLOCKS, np.uint64), x)
    for i in range(_STREAM_BLOCKS):
        for word in range(16):
            state[_HEAD + 16 * i + word] = x[word, i]
    counter += np.uint64(_STREAM_BLOCKS)
    state[8], state[9], state[10] = np.uint32(counter), np.uint32(counter >> _32), np.uint32(0)


@njit(cache=True, nogil=True)
def _next_word(state: Words) -> np.uint32:
    if state[10] == np.uint32(_IN_BLOCKS):
        _refill(state)
    used = state[10]
    state[10] = used + np.uint32(1)
    return np.uint32(state[np.uint32(_HEAD) + used])


@njit(cache=True, nogil=True)
def _next_long_word(state: Words) -> np.uint64:
    """The next two words; a single one that is left at the end of the blocks is passed over."""
    if state[10] >= np.uint32(_IN_BLOCKS - 1):
        _refill(state)
    used = state[10]
    state[10] = used + np.uint32(2)
    low, high = state[np.uint32(_HEAD) + used], state[np.uint32(_HEAD + 1) + used]
    return np.uint64(low) | (np.uint64(high) << _32)


class _Functions(NamedTuple):
    """The functions through which numpy and numba call a generator of bits; see `numpy.random.BitGenerator.ctypes`."""

    state_address: int
    state: ctypes.c_void_p
    next_uint64: Any
    next_uint32: Any
    next_double: Any
    bit_generator: ctypes.c_void_p


class _BitGenerator(ctypes.Structure):
    """The struct ``bitgen_t`` of numpy's C interface."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("state", "next_uint64", "next_uint32", "next_double", "next_raw")]


@cache
def _compile_functions() -> tuple[Any, Any, Any]:
    """The next 64 bits, the next 32 and the next double, from the address of a state."""

    @cfunc(types.uint64(types.voidptr), cache=True)
    def next_uint64(address: Any) -> Any:
        return _next_long_word(carray(address, _HEAD + _IN_BLOCKS, np.uint32))

    @cfunc(types.uint32(types.voidptr), cache=True)
    def next_uint32(address: Any) -> Any:
        return _next_word(carray(address, _HEAD + _IN_BLOCKS, np.uint32))

    @cfunc(types.double(types.voidptr), cache=True)
    def next_double(address: Any) -> Any:
        word = _next_long_word(carray(address, _HEAD + _IN_BLOCKS, np.uint32))
        return float(word >> np.uint64(11)) * (1.0 / 9007199254740992.0)

    return next_uint64, next_uint32, next_double


_CAPSULE = b"BitGenerator"


class ChaChaBits:
    """The words of ChaCha20 under a key, from block 0 on, as a generator of bits for `numpy.random.Generator`."""

    def __init__(self, key: Words) -> None:
        self._state = np.zeros(_HEAD + _IN_BLOCKS, dtype=np.uint32)
        self._state[:8] = key
        self._state[10] = _IN_BLOCKS
        address = self._state.ctypes.data
        next_uint64, next_uint32, next_double = _compile_functions()
        self._struct = _BitGenerator(
            address, next_uint64.address, next_uint32.address, next_double.address, next_uint64.address
        )
        self.lock = threading.Lock()
        self.ctypes = _Functions(
            address,
            ctypes.c_void_p(address),
            next_uint64.ctypes,
            next_uint32.ctypes,
            next_double.ctypes,
            ctypes.c_void_p(ctypes.addressof(self._struct)),
        )
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype = ctypes.py_object
        new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.capsule = new_capsule(ctypes.addressof(self._struct), _CAPSULE, None)
