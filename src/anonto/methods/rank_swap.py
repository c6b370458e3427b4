"""Semantic rank swapping of one column, with an interval of its own for each record.

A reference record exchanges its value with a random one of the k records closest to it in meaning that has not been
exchanged yet; if there is none it stays. The next reference is the farthest of the remaining records, so that intervals
are taken from opposite ends. The first is one whose summed distance to all records is largest.

The records of one value are alike, so the loop counts them. The rings of values at equal distance from a value are
found for many values at once, and only as far as needed: the near ones until they hold k records, the far ones until
they hold enough values; when these are used up, the loop stops and asks for more. Numbers need none of this: in their
order the nearest records stand side by side and the farthest ones at the ends.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), Algorithm 2. Departures: none; ties, which
the paper leaves open, are drawn at random, record by record.

Step by step: `anonto.methods.plain.rank_swap`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from anonto.arithmetic import matrix_product
from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.methods import number_kernels, rank_kernels, ring_kernels, ring_search_kernels
from anonto.methods.method import ColumnMethod
from anonto.methods.parameters import INTERVAL, PERCENT, K, k_for, within_table
from anonto.methods.rank_swap_fixed import mean_distances, most_distant_value, rows_at_once
from anonto.methods.support import Anywhere, may_stay, nearest_k
from anonto.methods.transitions import Transitions, count_pairs, transitions_of_exchanges
from anonto.methods.words import Words
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from anonto.arrays import Codes, Floats, Ints, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.support import ValueSupport


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwap(ColumnMethod):
    """How near a partner must be, and among whom.

    ``k``: a partner is one of the k nearest records; or ``percent`` of the records instead. ``interval``: ``"all"``
    counts the k nearest among all records, as the paper does, so that records whose k nearest are all exchanged stay
    untouched; ``"unswapped"`` among those not exchanged yet, so that at most one stays, but values move farther.
    """

    name: ClassVar[str] = "rank-swap"
    words: ClassVar[Words] = Words(
        title="Swap with similar values",
        summary="exchanges each value with that of one of the `k` records closest to it in meaning",
        does=("Exchanges each value with that of one of the k records that are closest in meaning, column by column."),
        columns="any kind, each alone",
        keeps="Keeps how often every value occurs.",
        report=(
            "Each record exchanged its value with that of a record, picked at random, among those closest to it "
            "in meaning. Every value occurs exactly as often as before, and went to records whose values mean "
            "something similar. A value stayed where it was when all records near enough had been exchanged "
            "already."
        ),
    )
    masks_elements: ClassVar[bool] = True
    one_of: ClassVar[tuple[str, ...]] = ("k", "percent")
    k: int | None = field(default=None, metadata=K)
    percent: float | None = field(default=None, metadata=PERCENT)
    interval: Literal["all", "unswapped"] = field(default="all", metadata=INTERVAL)

    def fit(self, column: ValueSpace, rng: np.random.Generator) -> Transitions:
        """Exchange reference by reference, on counts alone."""
        counts = column.counts
        n = int(counts.sum())
        if n < 2:
            nothing = np.empty(0, dtype=np.int64)
            return transitions_of_exchanges(nothing, nothing, counts, n)
        k = within_table(k_for(self.k, self.percent, n), n)
        if isinstance(column, NumericSpace):
            return _swap_numbers(column, k, self.interval, rng)
        return _swap_by_rings(column, k, self.interval, rng)

    def support(self, column: ValueSpace) -> ValueSupport:
        """The k nearest of each other; everything if only free records count, as the last of them are far apart."""
        if self.interval != "all":
            return Anywhere(may_stay(column.counts))
        return nearest_k(column, k_for(self.k, self.percent, int(column.counts.sum())))

    def bytes_per_row(self, n_columns: int) -> int:  # noqa: ARG002
        """Bytes per row for the order of all records."""
        return 9


class _ExchangeCounts:
    """Free records of each value, and the exchanges so far."""

    def __init__(self, counts: Longs) -> None:
        n_pairs = int(counts.sum()) // 2
        self.free = counts.copy()
        self.within = np.zeros(counts.size, dtype=np.int64)
        self.left, self.right = np.empty((2, n_pairs + 1), dtype=np.int32)

    @property
    def arrays(self) -> rank_kernels.Tally:
        """The arrays that the kernels take."""
        return self.free, self.within, self.left, self.right

    def transitions(self, state: Longs, counts: Longs, values: Longs) -> Transitions:
        """The exchanges as transitions; ``values`` has the value of each number of the tally."""
        n_values, n_pairs = counts.size, int(state[rank_kernels.PAIRS])
        own = np.flatnonzero(self.within)
        pairs, n_times = count_pairs(self.left[:n_pairs], self.right[:n_pairs], values.size)
        exchanged = values[pairs // values.size] * n_values + values[pairs % values.size]
        keys = np.concatenate([exchanged, values[own] * (n_values + 1)])
        amounts = np.concatenate([n_times, self.within[own]])
        return transitions_of_exchanges(keys, amounts, counts, int(state[rank_kernels.UNTOUCHED]))


# ------------------------------------------------------------------------------------------------ numbers


def _swap_numbers(column: NumericSpace, k: int, interval: str, rng: np.random.Generator) -> Transitions:
    first = most_distant_value(mean_distances(column), column.counts, rng)
    present = np.flatnonzero(column.counts)
    order = present[np.argsort(column.numbers[present], kind="stable")]
    start = int(np.flatnonzero(order == first)[0])
    numbers, counts = column.numbers[order], column.counts[order]
    extent = float(np.ptp(column.numbers)) or 1.0
    tally = _ExchangeCounts(counts)
    if interval == "all":
        windows = number_kernels.find_windows(numbers, extent, counts, k)
        narrow = int((windows[:, 3] - windows[:, 0]).max()) < rank_kernels.SHORT
        tree = np.empty(0, dtype=np.int64) if narrow else number_kernels.build_tree(tally.free)
        state = number_kernels.swap_numbers_among_all(
            start, k, numbers, extent, counts, windows, tree, tally.arrays, rng
        )
    else:
        tree = number_kernels.build_tree(tally.free)
        state = number_kernels.swap_numbers_among_free(start, k, numbers, extent, tree, tally.arrays, rng)
    return tally.transitions(state, column.counts, order)


# ------------------------------------------------------------------------------------------------ rings

FAR_VALUES = 512
FAR_SHARE = 10
"""How many of the farthest values are found at once, at least, and one of how many of all."""
NEAR_VALUES = 8
"""How many of the nearest values are found at once where exchanged records do not count, at least."""
SHARED_FROM = 8
"""Rings of at least this many values are compared with those in the pool; smaller ones are not worth it."""
HOLLOW_FROM = 64
"""Rings of at least this many values are widened by the nearer ones, if these are few, so that more share them."""
MOST_IN_HOLE = 16
MOST_MEMBERS = 1 << 25
"""A pool with more members than this is emptied; its rings are found again when they are needed."""


def _swap_by_rings(column: ValueSpace, k: int, interval: str, rng: np.random.Generator) -> Transitions:
    tally = _ExchangeCounts(column.counts)
    known = _Surroundings(column, k, interval, tally.free)
    state = np.zeros(rank_kernels.PAIRS + 1, dtype=np.int64)
    state[rank_kernels.REFERENCE] = most_distant_value(known.find_first(), column.counts, rng)
    state[rank_kernels.PHASE] = ring_kernels.NEAR_WANTED
    state[rank_kernels.FREE] = tally.free.sum()
    while True:
        near, far = known.near.arrays, known.far.arrays
        walks, steps = known.far_walks.arrays
        if interval == "all":
            wanted = ring_kernels.swap_among_all(state, tally.arrays, known.intervals, near, walks, steps, far, rng)
        else:
            near_walks = known.near_walks.arrays
            wanted = ring_kernels.swap_among_free(k, state, tally.arrays, *near_walks, near, walks, steps, far, rng)
        if wanted == ring_kernels.DONE:
            return tally.transitions(state, column.counts, np.arange(column.counts.size))
        known.find(wanted, int(state[rank_kernels.REFERENCE]))


class _Growing:
    """An array with room at its end."""

    def __init__(self, dtype: DTypeLike) -> None:
        self.array: NDArray[Any] = np.empty(1024, dtype=dtype)
        self.size = 0

    def add(self, size: int) -> NDArray[Any]:
        """Make it longer, and return the new places."""
        if self.size + size > self.array.size:
            larger = np.empty(max(self.size + size, 2 * self.array.size), dtype=self.array.dtype)
            larger[: self.size] = self.array[: self.size]
            self.array = larger
        self.size += size
        return self.array[self.size - size : self.size]


class _Pool:
    """Rings of values: those of one value each, an empty one, and those added; equal large rings are stored once."""

    def __init__(self, weights: Longs) -> None:
        self._rings, self._members = _Growing(ring_kernels.RING), _Growing(ring_kernels.MEMBER)
        self._known: dict[bytes, int] = {}
        self._no_ring = weights.size
        self._append(
            np.arange(weights.size, dtype=np.int32), np.append(np.ones(weights.size, dtype=np.int64), 0), weights
        )

    @property
    def arrays(self) -> ring_kernels.Pool:
        """The arrays that the kernels take."""
        return self._rings.array, self._members.array

    @property
    def is_full(self) -> bool:
        """True if it has more members than it should."""
        return self._members.size > self._no_ring + MOST_MEMBERS

    def add(self, members: Codes, sizes: Longs, weights: Longs) -> Codes:
        """Add rings whose members are given one ring after the other, and return their numbers."""
        starts = np.cumsum(sizes) - sizes
        rings: Codes = members[starts]
        new = sizes > 1
        digests: dict[bytes, int] = {}
        again = []
        for ring in np.flatnonzero(sizes >= SHARED_FROM).tolist():
            content = members[starts[ring] : starts[ring] + sizes[ring]].tobytes()
            digest = hashlib.blake2b(content, digest_size=16).digest()
            new[ring] = digest not in self._known and digest not in digests
            if new[ring]:
                digests[digest] = ring
            else:
                again.append((ring, digest))
        rings[new] = self._rings.size + np.arange(np.count_nonzero(new))
        self._known.update((digest, int(rings[ring])) for digest, ring in digests.items())
        for ring, digest in again:
            rings[ring] = self._known[digest]
        self._append(members[np.repeat(new, sizes)], sizes[new], weights)
        return rings

    def add_each(self, rings: Sequence[Codes], weights: Longs) -> Codes:
        """Add rings that are given one by one, and return their numbers."""
        sizes = np.array([members.size for members in rings], dtype=np.int64)
        return self.add(np.concatenate([*rings, np.empty(0, dtype=np.int32)]), sizes, weights)

    def _append(self, members: Codes, sizes: Longs, weights: Longs) -> None:
        first = self._rings.size
        rings = self._rings.add(sizes.size)
        rings["start"], rings["length"] = self._members.size + np.cumsum(sizes) - sizes, sizes
        self._members.add(members.size)["value"] = members
        ring_kernels.weigh(first, self._rings.size, weights, *self.arrays)


class _Walks:
    """The rings of each value in a row, from near to far or from far to near, and its current ring."""

    def __init__(self, n_values: int) -> None:
        self._walks, self._steps = np.zeros(n_values, dtype=ring_kernels.WALK), _Growing(np.int32)

    @property
    def arrays(self) -> tuple[ring_kernels.Walks, Ints]:
        """The arrays that the kernels take."""
        return self._walks, self._steps.array

    @property
    def is_full(self) -> bool:
        """True if it has more rings than it should."""
        return self._steps.size > MOST_MEMBERS

    def set(self, values: Codes, parts: _RingRows, rings: Codes, hollow: Longs, holes: Codes) -> None:
        """Give some values new rings, one of which has a hole, and let them begin at the first."""
        walks = np.empty(values.size, dtype=ring_kernels.WALK)
        walks["end"] = self._steps.size + parts.lasts + 1
        walks["at"] = self._steps.size + parts.firsts
        walks["hollow"] = np.where(holes == self._walks.size, -1, self._steps.size + hollow)
        walks["hole"] = holes
        self._walks[values] = walks
        self._steps.add(rings.size)[:] = rings


@dataclass(frozen=True, slots=True, eq=False)
class _RingRows:
    """The rings of each of some values from one end, until they hold enough."""

    members: Codes
    sizes: Longs
    """Members of each ring."""
    per_value: Longs
    """Rings of each value."""

    @property
    def firsts(self) -> Longs:
        """The first ring of each value; every value has one."""
        return np.cumsum(self.per_value) - self.per_value

    @property
    def lasts(self) -> Longs:
        """The last ring of each value."""
        return np.cumsum(self.per_value) - 1

    @property
    def starts(self) -> Longs:
        """Where the members of each ring start."""
        return np.cumsum(self.sizes) - self.sizes


class _Surroundings:
    """Known nearest and farthest values of each value; the rest is found on demand."""

    def __init__(self, column: ValueSpace, k: int, interval: str, free: Longs) -> None:
        self._counts, self._k, self._all, self._free = column.counts, k, interval == "all", free
        self._tables = column.distance_tables()
        self._equal_or_not = isinstance(column, TextSpace)
        self._rows = rows_at_once(free.size)
        self._forget_near()
        self._forget_far()

    def find_first(self) -> Floats:
        """Find rings of all values while there is room; return the mean distance of each value to the records."""
        values = np.flatnonzero(self._counts).astype(np.int32)
        shares = self._counts[values] / self._counts.sum()
        if self._equal_or_not:
            self._set_rings_of_texts(values)
            return np.asarray(1.0 - self._counts / self._counts.sum())
        means = np.zeros(self._counts.size)
        for part in slices(0, values.size, self._rows):
            distances = self._tables(values[part], values)
            means[values[part]] = matrix_product(distances, shares)
            if not self.near.is_full:
                self._find_near(values[part], values, distances)
            if not self.far.is_full:
                self._find_far(values[part], values, distances)
        return means

    def find(self, wanted: int, value: int) -> None:
        """Find the near or the far rings of a value, and of others that lack them as well."""
        if wanted == ring_kernels.FAR_WANTED:
            if self.far.is_full or self.far_walks.is_full:
                self._forget_far()
            lacking = ring_kernels.find_exhausted(1, self._free, *self.far_walks.arrays, *self.far.arrays)
        elif self._all:
            if self.near.is_full:
                self._forget_near()
            lacking = (self.intervals["inner"] == ring_kernels.UNKNOWN) & (self._free > 0)
        else:
            if self.near.is_full or self.near_walks.is_full:
                self._forget_near()
            enough = min(self._k, int(self._free.sum()))
            lacking = ring_kernels.find_exhausted(enough, self._free, *self.near_walks.arrays, *self.near.arrays)
        lacking[value] = False
        rows = np.append(value, np.flatnonzero(lacking))[: self._rows].astype(np.int32)
        counted = self._counts if wanted == ring_kernels.NEAR_WANTED and self._all else self._free
        present = np.flatnonzero(counted).astype(np.int32)
        find = self._find_near if wanted == ring_kernels.NEAR_WANTED else self._find_far
        find(rows, present, self._tables(rows, present))

    def _set_rings_of_texts(self, present: Codes) -> None:
        """Set the rings of texts, which are equal or not: each value has itself, and all others."""
        values = np.arange(self._counts.size, dtype=np.int32)
        others = np.full(values.size, self.near.add_each([present], self._counts)[0])
        far_others = np.full(values.size, self.far.add_each([present], self._counts)[0])
        parts = _RingRows(np.repeat(values, 2), np.ones(2 * values.size, np.int64), np.full(values.size, 2))
        self.near_walks.set(values, parts, np.column_stack([values, others]).ravel(), parts.lasts, values)
        self.far_walks.set(values, parts, np.column_stack([far_others, values]).ravel(), parts.firsts, values)
        alone = self._counts > self._k
        self.intervals["inner"] = np.where(alone, values.size, values)
        self.intervals["last"] = np.where(alone, values, others)
        self.intervals["hole"] = np.where(alone, values.size, values)
        self.intervals["inside"] = np.where(alone, 0, self._counts - 1)
        self.intervals["wanted"] = self._k - self.intervals["inside"]
        self.intervals["population"] = np.where(alone, self._counts - 1, self._counts.sum() - self._counts)

    def _forget_near(self) -> None:
        self.near, self.near_walks = _Pool(self._counts), _Walks(self._counts.size)
        self.intervals = np.zeros(self._counts.size, dtype=ring_kernels.INTERVAL)
        self.intervals["inner"] = ring_kernels.UNKNOWN

    def _forget_far(self) -> None:
        self.far, self.far_walks = _Pool(self._counts), _Walks(self._counts.size)

    def _find_near(self, rows: Codes, present: Codes, distances: Floats) -> None:
        if self._all:
            self._find_intervals(rows, present, distances)
            return
        parts = _find_rings(distances, 1, present, self._free, (2 * self._k, NEAR_VALUES), apart=True)
        self.near_walks.set(rows, parts, *_add_to_pool(self.near, parts, present, self._free, near=True))

    def _find_far(self, rows: Codes, present: Codes, distances: Floats) -> None:
        parts = _find_rings(
            distances, -1, present, self._free, (0, max(FAR_VALUES, present.size // FAR_SHARE)), apart=True
        )
        self.far_walks.set(rows, parts, *_add_to_pool(self.far, parts, present, self._free, near=False))

    def _find_intervals(self, rows: Codes, present: Codes, distances: Floats) -> None:
        """Step 2: for each value everything nearer than the k-th nearest record, and the ring of that record."""
        parts = _find_rings(distances, 1, present, self._counts, (self._k + 1, 0), apart=False)
        rings, lasts, holes = _add_to_pool(self.near, parts, present, self._counts, near=True)
        records = np.add.reduceat(self._counts[parts.members], parts.starts)
        has_inner = parts.firsts < lasts
        inside = np.where(has_inner, records[parts.firsts] - 1, 0)
        found = np.empty(rows.size, dtype=ring_kernels.INTERVAL)
        found["inner"] = np.where(has_inner, rings[parts.firsts], self._counts.size)
        found["last"], found["hole"] = rings[lasts], holes
        found["inside"], found["wanted"] = inside, self._k - inside
        found["population"] = records[lasts] - ~has_inner
        self.intervals[rows] = found


def _find_rings(
    distances: Floats, sign: int, values: Codes, weights: Longs, enough: tuple[int, int], *, apart: bool
) -> _RingRows:
    """Rings from the nearest (sign 1) or the farthest (−1) until they have enough weight and enough values.

    Unless they are wanted apart, all rings before the last one of a value are merged.
    """
    edges, sizes = np.empty((2, len(distances)), dtype=np.int64)
    rows = slices(0, len(distances), 256)
    of_columns = weights[values]

    def find(row: slice) -> None:
        ring_search_kernels.find_edges(distances, sign, of_columns, enough, row.start, row.stop, edges, sizes)

    def gather(row: slice) -> None:
        ring_search_kernels.gather_rings(
            distances, sign, values, apart, row.start, row.stop, edges, offsets, members, closes
        )

    in_threads(find, rows)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    members, closes = np.empty(offsets[-1], dtype=np.int32), np.empty(offsets[-1], dtype=np.bool_)
    in_threads(gather, rows)
    ends = np.flatnonzero(closes) + 1
    return _RingRows(members, np.diff(ends, prepend=0), np.diff(np.searchsorted(ends, offsets, side="right")))


def _add_to_pool(
    pool: _Pool, parts: _RingRows, present: Codes, weights: Longs, *, near: bool
) -> tuple[Codes, Longs, Codes]:
    """Add rings to a pool: their numbers, which ring of each value may have a hole, and the holes.

    The last ring of each value from the near end, or the first from the far end, is widened by all nearer values if it
    is large and they are few.
    """
    which, starts = parts.lasts if near else parts.firsts, parts.starts
    begins = starts[parts.firsts]
    n_nearer = starts[which] - begins if near else present.size - parts.sizes[which]
    wide = np.flatnonzero((parts.sizes[which] >= HOLLOW_FROM) & (n_nearer > 0) & (n_nearer <= MOST_IN_HOLE))
    narrow = np.ones(parts.sizes.size, dtype=np.bool_)
    narrow[which[wide]] = False
    rings = np.empty(parts.sizes.size, dtype=np.int32)
    rings[narrow] = pool.add(parts.members[np.repeat(narrow, parts.sizes)], parts.sizes[narrow], weights)
    holes = np.full(which.size, weights.size, dtype=np.int32)
    if not wide.size:
        return rings, which, holes
    rings[which[wide]] = pool.add_each([present], weights)
    nearer_ones, wider = [], {}
    for row in wide.tolist():
        start = starts[which[row]]
        members = parts.members[start : start + parts.sizes[which[row]]]
        if near:
            nearer = np.sort(parts.members[begins[row] : start])
        else:
            nearer = np.delete(present, np.searchsorted(present, members))
        nearer_ones.append(nearer)
        if members.size + nearer.size < present.size:
            wider[which[row]] = np.insert(members, np.searchsorted(members, nearer), nearer)
    holes[wide] = pool.add_each(nearer_ones, weights)
    rings[list(wider)] = pool.add_each(list(wider.values()), weights)
    return rings, which, holes
