"""Semantic rank swapping of one column in one fixed order.

The value whose summed distance to all records is largest comes first, the others follow by their distance to it, equal
values together and values at equal distance in random order; each record not yet exchanged takes a random partner among
the next k. Far from the first value the order means little, as values at the same distance to it may be far from each
other: a naive method, compared with the two that search the nearest records of each record.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), Algorithm 1.

Step by step: `anonto.methods.plain.rank_swap_fixed`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonto.arithmetic import matrix_product
from anonto.encoding.value_space import NumericSpace
from anonto.methods import swap_kernels
from anonto.methods.method import ColumnMethod
from anonto.methods.parameters import PERCENT, K, k_for, within_table
from anonto.methods.support import Anywhere, InWindows, may_stay
from anonto.methods.transitions import Transitions, transitions_of_pairs
from anonto.methods.words import Words
from anonto.runtime.threads import slices

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.support import ValueSupport


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwapFixed(ColumnMethod):
    """``k``: a partner is one of the next k records in the order; or ``percent`` of the records instead."""

    name: ClassVar[str] = "rank-swap-fixed"
    words: ClassVar[Words] = Words(
        title="Swap along one order",
        summary="exchanges within `k` records in one order by meaning",
        does="Puts the records into one order by meaning and exchanges each value with one of the next k.",
        columns="any kind, each alone",
        keeps="Keeps how often every value occurs.",
        report=(
            "The records were put in order, beginning with the most unusual value and going on with those closest"
            " to it in meaning, and each record exchanged its value with one a little further on, picked at "
            "random. Every value occurs exactly as often as before. Values that stand side by side in this order "
            "can be far apart in meaning."
        ),
    )
    is_naive: ClassVar[bool] = True
    one_of: ClassVar[tuple[str, ...]] = ("k", "percent")
    k: int | None = field(default=None, metadata=K)
    percent: float | None = field(default=None, metadata=PERCENT)

    def fit(self, column: ValueSpace, rng: np.random.Generator) -> Transitions:
        """Order the values by their distance to the most distant one and exchange in windows."""
        counts = column.counts
        n = int(counts.sum())
        k = within_table(k_for(self.k, self.percent, n), n)
        order = _order(column, rng) if n else np.empty(0, dtype=np.int32)
        left, right, alone = swap_kernels.swap_in_windows(np.repeat(order, counts[order]), k, rng)
        return transitions_of_pairs(left, right, counts, alone)

    def support(self, column: ValueSpace) -> ValueSupport:
        """Values that may stand within k records of each other, whichever of the most distant ones came first."""
        n = int(column.counts.sum())
        firsts = most_distant_values(mean_distances(column), column.counts) if n else np.empty(0, dtype=np.int64)
        if firsts.size * column.counts.size > MOST_PLACES:
            return Anywhere(may_stay(column.counts))
        keys = np.array([_keys(column, int(first)) for first in firsts]).reshape(firsts.size, column.counts.size)
        return InWindows.of(keys, column.counts, k_for(self.k, self.percent, n))

    def bytes_per_row(self, n_columns: int) -> int:  # noqa: ARG002
        """Bytes per row for the order of all records."""
        return 10


DECIMALS = 12
"""Distances that are equal to this many decimals are ties."""
DISTANCES_AT_ONCE = 1 << 23
MOST_PLACES = 1 << 23
"""If the orders of all values that could come first have more places than this, all exchanges count as possible."""


def _order(column: ValueSpace, rng: np.random.Generator) -> Ints:
    keys = _keys(column, most_distant_value(mean_distances(column), column.counts, rng))
    return np.lexsort((rng.permutation(keys.size), keys)).astype(np.int32)


def _keys(column: ValueSpace, first: int) -> Floats:
    """Sort keys of the values: their distance to the first, which itself comes before all."""
    distances: Floats = np.round(column.distances_from(np.array([first]))[0], DECIMALS)
    distances[first] = -1.0
    return distances


def most_distant_value(means: Floats, counts: Longs, rng: np.random.Generator) -> int:
    """The value with the largest mean distance to the records; one of several by their numbers of records."""
    tied = most_distant_values(means, counts)
    running = np.cumsum(counts[tied])
    return int(tied[np.searchsorted(running, rng.integers(running[-1]), side="right")])


def most_distant_values(means: Floats, counts: Longs) -> Longs:
    """All values with the largest mean distance to the records; there must be records."""
    return np.flatnonzero((means >= means[counts > 0].max() - 10.0**-DECIMALS) & (counts > 0))


def mean_distances(column: ValueSpace) -> Floats:
    """The mean distance of each distinct value to the records; there must be records."""
    shares = column.counts / column.counts.sum()
    if isinstance(column, NumericSpace):
        return _mean_differences(column.numbers, shares)
    means = np.empty(shares.size)
    for part in slices(0, shares.size, rows_at_once(shares.size)):
        means[part] = matrix_product(column.distances_from(np.arange(part.start, part.stop)), shares)
    return means


def rows_at_once(n_values: int) -> int:
    """How many values to process together, so that the table of their distances to all stays small."""
    return max(1, DISTANCES_AT_ONCE // n_values)


def _mean_differences(numbers: Floats, shares: Floats) -> Floats:
    """From the running sums in order of size, divided by the range."""
    order = np.argsort(numbers, kind="stable")
    extent = float(np.ptp(numbers))
    means = np.zeros(numbers.size)
    if extent == 0.0:
        return means
    places = (numbers[order] - numbers[order[0]]) / extent
    share, moment = np.cumsum(shares[order]), np.cumsum(shares[order] * places)
    means[order] = places * (2.0 * share - 1.0) + moment[-1] - 2.0 * moment
    return means
