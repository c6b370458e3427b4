"""Randomness from one secret seed: named streams, draws keyed by row number, and keyed permutations.

Nothing here depends on how rows are cut into chunks, on threads or on engines: a draw is a function of the seed, of the
name of its stream and of the number of its row. Whoever holds the seed can undo what was done with it, so it shows in
no text that this module makes.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from anonto import rng_kernels
from anonto.errors import ParameterError
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED_BITS = 128
GUESSABLE_BITS = 64
"""A seed with fewer bits can be found by trying."""

ROWS_AT_ONCE = 1 << 18

SHUFFLED_UP_TO = 1 << 10
"""Permutations of up to this many elements are drawn as shuffled tables, larger ones are Feistel networks."""


@dataclass(frozen=True, slots=True)
class Seed:
    """The secret that all randomness of a run comes from."""

    number: int = field(repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.number, bool) or not isinstance(self.number, int) or not 0 <= self.number < 1 << 256:
            raise ParameterError("seed", "a whole number from 0 to 2^256 − 1", "something else")

    @property
    def can_be_guessed(self) -> bool:
        """Whether trying all seeds of this length is feasible."""
        return self.number.bit_length() < GUESSABLE_BITS

    def key(self, *names: str | int) -> np.uint64:
        """A key of 64 bits for a name; keys of different names tell nothing of each other."""
        return np.uint64(int.from_bytes(self._digest(names)[:8], "little"))

    def stream(self, *names: str | int) -> np.random.Generator:
        """A generator of its own for a name."""
        return np.random.Generator(np.random.PCG64(int.from_bytes(self._digest(names), "little")))

    def _digest(self, names: tuple[str | int, ...]) -> bytes:
        hashed = hashlib.blake2b(key=self.number.to_bytes(32, "little"), digest_size=16)
        for name in names:
            encoded = str(name).encode()
            hashed.update(len(encoded).to_bytes(4, "little") + encoded)
        return hashed.digest()


def seed_of(seed: int | Seed | None) -> Seed:
    """The seed given, or a fresh one from the operating system."""
    if isinstance(seed, Seed):
        return seed
    return Seed(secrets.randbits(SEED_BITS) if seed is None else seed)


def row_uniforms(key: np.uint64, rows: NDArray[np.int64], draw: int = 0) -> NDArray[np.float64]:
    """For each row number a number from 0 to 1 (never 1) that depends on nothing else but the key and the draw."""
    uniforms: NDArray[np.float64] = rng_kernels.philox_uniforms(key, rows, np.uint32(draw))
    return uniforms


def row_words(key: np.uint64, rows: NDArray[np.int64], name: str) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """For each row number two words of 64 random bits that depend on nothing else but the key and the name."""
    named = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    words: tuple[NDArray[np.uint64], NDArray[np.uint64]] = rng_kernels.philox_words(key, rows, np.uint64(named))
    return words


@dataclass(frozen=True, slots=True, eq=False)
class KeyedPermutations:
    """One permutation of 0 … size − 1 for each of several groups, computed element by element.

    Small groups have a shuffled table, so that every permutation is equally likely; large groups a Feistel network on
    the smallest rectangle that holds them.
    """

    arrays: rng_kernels.Permutations
    """As the kernels take them."""

    def __call__(self, groups: NDArray[np.int32], positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the permutation of its group sends each position."""
        sent: NDArray[np.int64] = rng_kernels.permute(self.arrays, groups, positions)
        return sent


def keyed_permutations(seed: Seed, name: str, sizes: NDArray[np.int64]) -> KeyedPermutations:
    """Permutations of groups of the given sizes, the same for the same seed and name."""
    small = sizes <= SHUFFLED_UP_TO
    offsets = np.full(sizes.size, -1, dtype=np.int64)
    offsets[small] = np.cumsum(sizes[small]) - sizes[small]
    table = np.empty(int(sizes[small].sum()), dtype=np.int32)
    rng_kernels.shuffle_tables(seed.stream(name, "tables"), sizes, offsets, table)
    widths, heights = rng_kernels.rectangles(sizes)
    return KeyedPermutations((seed.key(name, "rounds"), sizes, widths, heights, offsets, table))


@dataclass(frozen=True, slots=True, eq=False)
class RowOrder:
    """A keyed permutation of all row numbers: which row stands at each place."""

    n_rows: int
    arrays: rng_kernels.Permutations = field(repr=False)

    def part(self, first: int, last: int) -> NDArray[np.int32] | NDArray[np.int64]:
        """The rows at the places first … last − 1."""
        rows: NDArray[np.int32] | NDArray[np.int64]
        rows = np.empty(last - first, np.int32) if self.n_rows < 1 << 31 else np.empty(last - first, np.int64)

        def fill(part: slice) -> None:
            rows[part] = rng_kernels.permute_group(self.arrays, 0, first + part.start, first + part.stop)

        in_threads(fill, slices(0, rows.size, ROWS_AT_ONCE))
        return rows

    def places(self, first: int, last: int) -> NDArray[np.int64]:
        """The places of the rows first … last − 1."""
        key, sizes, widths, heights, offsets, table = self.arrays
        if offsets[0] >= 0:
            return np.argsort(table)[first:last]
        places = np.empty(last - first, dtype=np.int64)

        def fill(part: slice) -> None:
            rng_kernels.feistel_of_stretch(
                np.uint64(rng_kernels.key_of_group(key, 0)),
                sizes[0],
                widths[0],
                heights[0],
                first + part.start,
                True,
                places[part],
            )

        in_threads(fill, slices(0, places.size, ROWS_AT_ONCE))
        return places


def row_order(seed: Seed, name: str, n_rows: int) -> RowOrder:
    """The order of a table's rows under a name."""
    return RowOrder(n_rows, keyed_permutations(seed, name, np.array([n_rows], dtype=np.int64)).arrays)
