"""Semantic rank swapping of one column in one fixed order.

The value whose summed distance to all records is largest comes first, the others follow by their distance to it, equal
values together and values at equal distance in random order; each record not yet exchanged takes a random partner among
the next k. Far from the first value the order tells little, as values at the same distance to it may be far from each
other: this is the baseline of the two methods that look for the nearest records of each record anew.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), Algorithm 1.

Step by step: `anonto.methods.plain.rank_swap_fixed`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.arithmetic import matrix_product
from anonto.methods import kernels
from anonto.methods.flows import Flows, flows_of_pairs
from anonto.methods.guarantee import MEASURED_ONLY, Guarantee, Setting
from anonto.methods.method import ColumnMethod
from anonto.methods.parameters import PERCENT, PERCENTS, K, k_for, within_table
from anonto.methods.reach import Anywhere, InWindows, may_stay
from anonto.methods.words import Words
from anonto.table.attributes import NumericAttribute
from anonto.threads import slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.methods.reach import ValueReach
    from anonto.table.attributes import Attribute

    Floats = NDArray[np.float64]
    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwapFixed(ColumnMethod):
    """``k``: how many records further on in the order a partner may stand; or ``percent`` of the records instead."""

    name: ClassVar[str] = "rank-swap-fixed"
    words: ClassVar[Words] = Words(
        title="Swap along one order",
        summary="exchanges within `k` records in one order by meaning",
        does="Puts the records into one order by meaning and exchanges each value with one of the next k.",
        columns="any kind, each alone",
        keeps="Keeps how often every value occurs.",
        report=(
            "The records were put in order, beginning with the most unusual value and going on with those closest"
            " to it in meaning, and each record exchanged its value with one a little further on, picked by "
            "chance. Every value occurs exactly as often as before. Values that stand side by side in this order "
            "can be far apart in meaning."
        ),
    )
    is_baseline: ClassVar[bool] = True
    one_of: ClassVar[tuple[str, ...]] = ("k", "percent")
    k: int | None = field(default=None, metadata=K)
    percent: float | None = field(default=None, metadata=PERCENT)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:  # noqa: ARG003
        """See `BaseMethod`."""
        return {"percent": list(PERCENTS)}

    def fit(self, column: Attribute, rng: np.random.Generator) -> Flows:
        """Order the values by their distance to the most distant one and exchange in windows."""
        counts = column.counts
        n = int(counts.sum())
        k = within_table(k_for(self.k, self.percent, n), n)
        order = _order(column, rng) if n else np.empty(0, dtype=np.int32)
        left, right, alone = kernels.swap_in_windows(np.repeat(order, counts[order]), k, rng)
        return flows_of_pairs(left, right, counts, alone)

    def reach(self, column: Attribute) -> ValueReach:
        """Values that may stand within k records of each other, whichever of the most distant ones came first."""
        n = int(column.counts.sum())
        firsts = most_distant_values(mean_distances(column), column.counts) if n else np.empty(0, dtype=np.int64)
        if firsts.size * column.counts.size > MOST_PLACES:
            return Anywhere(may_stay(column.counts))
        keys = np.array([_keys(column, int(first)) for first in firsts]).reshape(firsts.size, column.counts.size)
        return InWindows.of(keys, column.counts, k_for(self.k, self.percent, n))

    def bytes_per_row(self, n_columns: int) -> int:  # noqa: ARG002
        """Of the order of all records."""
        return 10

    def guarantee(self, setting: Setting) -> Guarantee:  # noqa: ARG002
        """None is proved."""
        return MEASURED_ONLY


DECIMALS = 12
"""Distances that are equal to so many decimals are ties."""
DISTANCES_AT_ONCE = 1 << 23
MOST_PLACES = 1 << 23
"""Where so many values could come first that there are more places in all their orders, none is told from another."""


def _order(column: Attribute, rng: np.random.Generator) -> NDArray[np.int32]:
    keys = _keys(column, most_distant_value(mean_distances(column), column.counts, rng))
    return np.lexsort((rng.permutation(keys.size), keys)).astype(np.int32)


def _keys(column: Attribute, first: int) -> Floats:
    """By what the values are sorted: their distance to the first, which itself comes before all."""
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


def mean_distances(column: Attribute) -> Floats:
    """For each distinct value its mean distance to the records; there must be records."""
    shares = column.counts / column.counts.sum()
    if isinstance(column, NumericAttribute):
        return _mean_differences(column.numbers, shares)
    means = np.empty(shares.size)
    for part in slices(0, shares.size, rows_at_once(shares.size)):
        means[part] = matrix_product(column.distances_from(np.arange(part.start, part.stop)), shares)
    return means


def rows_at_once(n_values: int) -> int:
    """How many values to look at together, so that a table of their distances to all stays small."""
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
