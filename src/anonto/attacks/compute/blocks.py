"""Blocks of persons who are near each other, for attacks that match persons with records all at once.

In a matching no record goes to two persons, so a person is found also by what her neighbours take. Persons scattered
over a large table have no neighbours among each other: to match a random sample is a weaker attack, not a sample of the
attack. So whole neighbourhoods are matched, and only the persons in the core of each are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.attacks.compute.space import LinkageSpace
    from anonto.encoding.comparison import ComparedColumn


PERSONS_COUNTED = 0.25
"""The share of a block that is counted: its core."""
WITNESSES = 32
"""The others of a block are the persons nearest to one of this many in its core."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Persons who are matched together."""

    persons: Longs
    n_counted: int
    """Number of persons that are counted, from the first on."""


def blocks_of(
    columns: Sequence[ComparedColumn], space: LinkageSpace, n_blocks: int, size: int, rng: np.random.Generator
) -> list[Block]:
    """Some blocks; every person is equally likely to be in the core of one.

    Args:
        columns: What the intruder knows of the persons.
        space: Of these columns.
        n_blocks: How many blocks.
        size: Persons of a block.
        rng: For the choice of the blocks.
    """
    codes = np.stack([column.original for column in columns], axis=1)
    out = []
    for _ in range(n_blocks):
        midst = _one_part(codes, space, max(1, int(PERSONS_COUNTED * size)), rng)
        apart = np.full(codes.shape[0], np.inf)
        for witness in rng.permutation(midst)[:WITNESSES]:
            apart = np.minimum(apart, _distances(space, codes[witness], codes))
        apart[midst] = np.inf
        shuffled = rng.permutation(codes.shape[0])
        others = shuffled[np.argsort(apart[shuffled], kind="stable")][: min(size, codes.shape[0]) - midst.size]
        out.append(Block(np.concatenate([midst, others]), midst.size))
    return out


def _one_part(codes: Codes, space: LinkageSpace, most: int, rng: np.random.Generator) -> Longs:
    """Persons near each other: repeatedly halve all by the distance to an outermost one, and keep one half."""
    persons = np.arange(codes.shape[0])
    while persons.size > most:
        persons = rng.permutation(persons)
        rim = persons[np.argmax(_distances(space, codes[persons[0]], codes[persons]))]
        ordered = persons[np.argsort(_distances(space, codes[rim], codes[persons]), kind="stable")]
        half = persons.size // 2
        persons = ordered[:half] if rng.integers(persons.size) < half else ordered[half:]
    return np.asarray(persons)


def _distances(space: LinkageSpace, one: Codes, others: Codes) -> Floats:
    """Squared distances of one person to others."""
    return space.between(np.tile(one, (others.shape[0], 1)), others)
