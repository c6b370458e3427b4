"""Randomness from one secret seed: named streams, draws keyed by row number, and keyed permutations.

Nothing here depends on how rows are cut into chunks, on threads or on engines: a draw is a function of the seed, of the
name of its stream and of the number of its row. Whoever holds the seed can undo what was done with it, so it shows in
no text that this module makes.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import ParameterError
from anonto.random import kernels as rng_kernels
from anonto.random.chacha import ChaChaBits, words_of_rows
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from anonto.arrays import Ints, Longs, LongWords, Words

SEED_BITS = 128
GUESSABLE_BITS = 80
"""A seed with fewer bits can be found by trying."""

ROWS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Key:
    """A secret of 256 bits that draws come from."""

    secret: bytes = field(repr=False)

    @property
    def words(self) -> Words:
        """As the kernels take it."""
        return np.frombuffer(self.secret, dtype="<u4").astype(np.uint32)

    def of(self, *names: str | int) -> Key:
        """The key for a name; keys of different names reveal nothing about each other or the key they derive from."""
        hashed = hashlib.blake2b(key=self.secret, digest_size=32)
        for name in names:
            encoded = str(name).encode()
            hashed.update(len(encoded).to_bytes(4, "little") + encoded)
        return Key(hashed.digest())


class _SpawningBits(ChaChaBits):
    """The bits of a key; further streams can be split off, each with a key of its own."""

    def __init__(self, key: Key) -> None:
        super().__init__(key.words)
        self._key, self._n_children = key, 0

    def spawn(self, n_children: int) -> list[_SpawningBits]:
        """As `numpy.random.Generator.spawn` calls it: streams that were never given before."""
        first, self._n_children = self._n_children, self._n_children + n_children
        return [_SpawningBits(self._key.of("child", number)) for number in range(first, self._n_children)]


@dataclass(frozen=True, slots=True)
class Seed:
    """The secret that all randomness of a run comes from."""

    number: int = field(repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.number, bool) or not isinstance(self.number, int) or not 0 <= self.number < 1 << 256:
            raise ParameterError("seed", "a whole number from 0 to 2^256 − 1", "something else")

    @property
    def can_be_guessed(self) -> bool:
        """True if trying all seeds of this length is feasible."""
        return self.number.bit_length() < GUESSABLE_BITS

    def key(self, *names: str | int) -> Key:
        """The key for a name."""
        return Key(self.number.to_bytes(32, "little")).of(*names)

    def stream(self, *names: str | int) -> np.random.Generator:
        """A generator of its own for a name."""
        return np.random.Generator(_SpawningBits(self.key("stream", *names)))  # type: ignore[arg-type]

    def derive(self, *names: str | int) -> Seed:
        """A seed of its own for a name; it reveals nothing about this one or what is drawn with it."""
        return Seed(int.from_bytes(self.key("seed", *names).secret, "little"))


def seed_of(seed: int | Seed | None) -> Seed:
    """The seed given, or a fresh one from the operating system."""
    if isinstance(seed, Seed):
        return seed
    return Seed(secrets.randbits(SEED_BITS) if seed is None else seed)


def row_words(key: Key, rows: Longs, name: str) -> tuple[LongWords, LongWords]:
    """Draw two words of 64 random bits for each row number, which depend on nothing else but the key and the name."""
    words: tuple[LongWords, LongWords] = words_of_rows(key.of(name).words, rows)
    return words


@dataclass(frozen=True, slots=True, eq=False)
class KeyedPermutations:
    """One permutation of 0 … size − 1 for each of several groups, computed element by element.

    Small groups have a shuffled table, so that every permutation is equally likely; large groups a Feistel network on
    the smallest rectangle that holds them, with a table of random shifts for each round.
    """

    arrays: rng_kernels.Permutations
    """As the kernels take them."""


def keyed_permutations(seed: Seed, name: str, sizes: Longs) -> KeyedPermutations:
    """Permutations of groups of the given sizes, the same for the same seed and name."""
    widths, heights = rng_kernels.rectangles(sizes)
    large = sizes > rng_kernels.SHUFFLED_UP_TO
    lengths = np.where(large, rng_kernels.DOUBLE_ROUNDS * (widths + heights), sizes)
    offsets = np.append(0, np.cumsum(lengths))
    arrays = (sizes, widths, heights, offsets, np.empty(offsets[-1], dtype=np.int32))
    key = seed.key("permutations", name).words
    cuts = np.unique([*np.searchsorted(offsets, np.arange(0, offsets[-1], ROWS_AT_ONCE)), sizes.size]).tolist()

    def draw(part: slice) -> None:
        rng_kernels.draw_permutations(key, arrays, part.start, part.stop)

    in_threads(draw, [slice(first, last) for first, last in pairwise(cuts)])
    return KeyedPermutations(arrays)


@dataclass(frozen=True, slots=True, eq=False)
class RowOrder:
    """A keyed permutation of all row numbers: the row at each place."""

    n_rows: int
    arrays: rng_kernels.Permutations = field(repr=False)

    def part(self, first: int, last: int) -> Ints | Longs:
        """The rows at the places first … last − 1."""
        rows: Ints | Longs
        rows = np.empty(last - first, np.int32) if self.n_rows < 1 << 31 else np.empty(last - first, np.int64)

        def fill(part: slice) -> None:
            places = np.empty(part.stop - part.start, dtype=np.int64)
            rng_kernels.permute_range(self.arrays, 0, first + part.start, places)
            rows[part] = places

        in_threads(fill, slices(0, rows.size, ROWS_AT_ONCE))
        return rows

    def places(self, first: int, last: int) -> Longs:
        """The places of the rows first … last − 1."""
        (size,), (width,), (height,), _, table = self.arrays
        if size <= rng_kernels.SHUFFLED_UP_TO:
            return np.argsort(table)[first:last]
        places = np.empty(last - first, dtype=np.int64)

        def fill(part: slice) -> None:
            rng_kernels.feistel_of_range(table, 0, size, width, height, first + part.start, True, places[part])

        in_threads(fill, slices(0, places.size, ROWS_AT_ONCE))
        return places


def row_order(seed: Seed, name: str, n_rows: int) -> RowOrder:
    """The order of a table's rows under a name."""
    return RowOrder(n_rows, keyed_permutations(seed, name, np.array([n_rows], dtype=np.int64)).arrays)
