"""Random swapping of one column: every record exchanges its value with any other.

A random perfect matching of the records; with an odd number one stays. Frequencies are kept exactly, everything else
is random: the naive method that a semantic method must beat.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonto.methods import swap_kernels
from anonto.methods.method import ColumnMethod
from anonto.methods.support import Anywhere, may_stay
from anonto.methods.transitions import Transitions, transitions_of_meetings, transitions_of_pairs
from anonto.methods.words import Words
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from anonto.arrays import Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.support import ValueSupport


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSwap(ColumnMethod):
    """No parameters."""

    name: ClassVar[str] = "random-swap"
    words: ClassVar[Words] = Words(
        title="Swap at random",
        summary="exchanges each value with that of any other record",
        does="Swaps each value with that of a random record, ignoring what it means.",
        columns="any kind, each alone",
        keeps="Keeps how often every value occurs; relations between columns are lost.",
        proposed=(
            "The table is too small for groups: the step exchanges each column's cells at random, which "
            "gives no proved guarantee."
        ),
        report=(
            "Each record exchanged its value with another record that was picked at random. Every value occurs "
            "exactly as often as before; which record has it is random, so relations with other columns are lost."
        ),
    )
    is_naive: ClassVar[bool] = True
    moves_at_random: ClassVar[bool] = True
    takes_sets: ClassVar[bool] = True

    def fit(self, column: ValueSpace, rng: np.random.Generator) -> Transitions:
        """Split all records into two random halves and pair them at random."""
        counts = column.counts
        if counts.size**2 * DRAWS_AS_DEAR_AS <= counts.sum() < MOST_TO_DRAW_FROM:
            return _by_draws(counts, rng)
        return _by_shuffling(counts, rng)

    def support(self, column: ValueSpace) -> ValueSupport:
        """Everything; the value of a single record never stays, unless one record is left over."""
        return Anywhere(may_stay(column.counts))


DRAWS_AS_DEAR_AS = 3
"""One hypergeometric draw costs about as much as shuffling this many records."""
MOST_TO_DRAW_FROM = 1_000_000_000
"""The limit of numpy's hypergeometric draws."""


def _by_shuffling(counts: Longs, rng: np.random.Generator) -> Transitions:
    values = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
    rng.shuffle(values)
    half = values.size // 2
    return transitions_of_pairs(values[:half], values[half : 2 * half], counts, values.size % 2)


PARTS = 8
"""The values on the left are cut into this many parts, each with a random share of the right half and its own draws."""


def _by_draws(counts: Longs, rng: np.random.Generator) -> Transitions:
    """Transitions from the counts alone: how many of each value are in the left half, and which values they meet."""
    n = int(counts.sum())
    left = rng.multivariate_hypergeometric(counts, n // 2, method="marginals")
    right = counts - left
    if n % 2:
        right = right - rng.multivariate_hypergeometric(right, 1, method="marginals")
    parts = slices(0, counts.size, max(1, -(-counts.size // PARTS)))
    pools = {}
    for part in parts:
        pools[part.start] = rng.multivariate_hypergeometric(right, int(left[part].sum()), method="marginals")
        right = right - pools[part.start]
    streams = dict(zip(pools, rng.spawn(len(parts)), strict=True))
    met = np.zeros((counts.size, counts.size), dtype=np.int64)

    def meet(part: slice) -> None:
        swap_kernels.meet(left[part], pools[part.start], streams[part.start], met[part])

    in_threads(meet, parts)
    return transitions_of_meetings(met, counts, n % 2)
