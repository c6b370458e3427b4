"""Compiled loops over rows: codes in, codes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Bytes, Integers, Ints, Longs, LongWords

_ODD_1, _ODD_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(32)


@njit(cache=True, nogil=True)
def pick(codes: Ints, places: Integers, out: Ints) -> None:
    """The codes at some places."""
    for i in range(places.size):
        out[i] = codes[places[i]]


@njit(cache=True, nogil=True)
def count(codes: Ints, counts: Longs) -> None:
    """Add how often each code occurs; −1 is not counted."""
    for code in codes:
        if code >= 0:
            counts[code] += 1


@njit(cache=True, nogil=True)
def word_table(words: LongWords, slots: Ints) -> None:
    """Fill a hash table with the numbers of texts, two words each; its size is a power of two, over twice the texts."""
    # Open addressing: a text goes into the first free slot from its own on.
    for text in range(words.size // 2):
        slot = _slot(words[2 * text], words[2 * text + 1], slots.size)
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = text


@njit(cache=True, nogil=True)
def look_up_words(
    words: LongWords,
    present: Bytes,
    first: int,
    known: LongWords,
    slots: Ints,
    codes: Ints,
) -> int:
    """Write the number of each text among the known ones, −1 if it is missing or unknown; return how many are."""
    n_without = 0
    for i in range(codes.size):
        code = -1
        # The validity bit of the text, as Arrow stores it; no bits if nothing is missing.
        bit = first + i
        if present.size == 0 or (present[bit >> 3] >> (bit & 7)) & 1:
            one, other = words[2 * i], words[2 * i + 1]
            # Probe from its slot on until its words, or a free slot, are found.
            slot = _slot(one, other, slots.size)
            code = slots[slot]
            while code >= 0 and (known[2 * code] != one or known[2 * code + 1] != other):
                slot = (slot + 1) & (slots.size - 1)
                code = slots[slot]
        codes[i] = code
        n_without += code < 0
    return n_without


@njit(cache=True, nogil=True)
def _slot(one: np.uint64, other: np.uint64, n_slots: int) -> np.int64:
    # Multiplicative hashing; the upper bits of the product depend on all bits of both words.
    hashed = (one ^ (other * _ODD_1) ^ (one >> _SHIFT)) * _ODD_2
    return np.int64((hashed >> _SHIFT) & np.uint64(n_slots - 1))
