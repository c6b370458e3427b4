"""Support of a swap: which values, or which records, it could have exchanged with each other.

Every method that swaps computes it from the counts or records that it was given, without its draws: whatever was
drawn, nothing moved further. An intruder who knows a method and its parameters can compute the same, so the attacks
use it. If the draws decide how far a value can go, the support is everything: it may be too wide, never too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.methods import number_kernels, rank_kernels, ring_search_kernels, support_kernels
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.search.record_tree import RecordSpace


ROWS_AT_ONCE = 256


class ValueSupport(Protocol):
    """The values of one column that a method could have put in the place of each other."""

    def partners(self, values: Codes) -> Bools:
        """The values that could replace each of some values, a row each."""
        ...


class CellSupport(Protocol):
    """The cells that a method could have put into a record, column by column."""

    def partners(self, records: Codes, rows: Codes, allowed: Bools) -> None:
        """Mark the values that records could have received.

        Args:
            records: Numbers of distinct records.
            rows: For each of them the row of the table to mark in.
            allowed: Rows × the values of all columns, one column after the other.
        """
        ...


# ------------------------------------------------------------------------------------------------ values


def may_stay(counts: Longs) -> Bools:
    """Return whether a record could keep each value though every record takes the value of another, if there is one.

    It could if another record has the same value, or if one of an odd number of records is left over.
    """
    return np.asarray((counts > 1) | bool(counts.sum() % 2))


@dataclass(frozen=True, slots=True, eq=False)
class Anywhere:
    """Every value could have come into the place of every other."""

    stays: Bools
    """Whether a value could have come into its own."""

    def partners(self, values: Codes) -> Bools:
        """All others, and itself if it may stay."""
        return np.asarray(np.not_equal.outer(values, np.arange(self.stays.size)) | self.stays)


@dataclass(frozen=True, slots=True, eq=False)
class InWindows:
    """Values in an order, or one of several that the draws choose from: records at most k places apart exchange.

    Values at the same place of the order, or whose order is drawn, share a ring.
    """

    k: int
    stays: Bools
    """Whether a value could have come into its own place."""
    begins: Longs
    """Orders × values: how many records stand before the ring of each value."""
    ends: Longs
    """Orders × values: how many stand before the ring and on it."""

    @classmethod
    def of(cls, keys: Floats, counts: Longs, k: int) -> InWindows:
        """From orders × values: by what the values are sorted; equal keys share a ring."""
        begins, ends = np.empty((2, *keys.shape), dtype=np.int64)
        for order, row in enumerate(keys):
            _, ring = np.unique(row, return_inverse=True)
            after = np.cumsum(np.bincount(ring, weights=counts).astype(np.int64))
            ends[order], begins[order] = after[ring], np.concatenate([[0], after])[ring]
        return cls(k, may_stay(counts), begins, ends)

    def partners(self, values: Codes) -> Bools:
        """The values with a record that could be at most k places from a record of the value."""
        allowed = np.zeros((values.size, self.stays.size), dtype=np.bool_)
        for begins, ends in zip(self.begins, self.ends, strict=True):
            between = np.maximum.outer(begins[values], begins) - np.minimum.outer(ends[values], ends)
            allowed |= between < self.k
        allowed[np.arange(values.size), values] = self.stays[values]
        return allowed


@dataclass(frozen=True, slots=True, eq=False)
class NearNumbers:
    """Numbers that are among the k nearest of each other, from either side."""

    places: Longs
    """The place of each value in the order of the numbers."""
    firsts: Longs
    lasts: Longs
    """The places between which the k nearest records of each value lie."""

    def partners(self, values: Codes) -> Bools:
        """The values in the window of a value, and those whose windows contain it."""
        own, all_places = self.places[values][:, None], self.places[None, :]
        takes_from = (self.firsts[values][:, None] <= all_places) & (all_places <= self.lasts[values][:, None])
        gives_to = (self.firsts[None, :] <= own) & (own <= self.lasts[None, :])
        return np.asarray(takes_from | gives_to)


@dataclass(frozen=True, slots=True, eq=False)
class EqualTexts:
    """Texts that are equal or not: all others are equally near, and in the support of a value with few records."""

    is_rare: Bools
    """Whether the records of a value are too few to fill its own interval."""

    def partners(self, values: Codes) -> Bools:
        """Itself, and all if one of the two is rare."""
        own = np.equal.outer(values, np.arange(self.is_rare.size))
        return np.asarray(own | self.is_rare[values][:, None] | self.is_rare[None, :])


@dataclass(frozen=True, slots=True, eq=False)
class NearValues:
    """Values that are among the k nearest of each other, from either side, as a table."""

    table: Bools

    def partners(self, values: Codes) -> Bools:
        """Rows of the table."""
        return np.asarray(self.table[values])


def nearest_k(column: ValueSpace, k: int) -> ValueSupport:
    """Values that a record, one of its k nearest, or one that has it among its k nearest could exchange."""
    counts = column.counts
    # A single record has no partner: no value is in the place of another.
    if counts.sum() < 2:
        return EqualTexts(np.zeros(counts.size, dtype=np.bool_))
    k = min(k, int(counts.sum()) - 1)
    if isinstance(column, NumericSpace):
        return _near_numbers(column, k)
    if isinstance(column, TextSpace):
        return EqualTexts(counts <= k)
    return _near_values(column, k)


def _near_values(column: ValueSpace, k: int) -> NearValues:
    """The table of near values; distances are computed twice, block by block, rather than kept."""
    tables = column.distance_tables()
    present = np.flatnonzero(column.counts).astype(np.int32)
    weights = column.counts[present]
    radii, sizes = np.empty((2, present.size), dtype=np.int64)
    parts = slices(0, present.size, ROWS_AT_ONCE)
    for part in parts:
        distances = tables(present[part], present)
        ring_search_kernels.find_edges(distances, 1, weights, (k + 1, 0), 0, len(distances), radii[part], sizes[part])
    table = np.eye(column.counts.size, dtype=np.bool_)
    for part in parts:
        steps = np.rint(tables(present[part], present) * rank_kernels.STEPS)
        # One more step of rounding, as the same distance may be rounded differently from both sides.
        table[np.ix_(present[part], present)] = steps <= np.maximum.outer(radii[part], radii) + 1
    return NearValues(table)


def _near_numbers(column: NumericSpace, k: int) -> NearNumbers:
    present = np.flatnonzero(column.counts)
    order = present[np.argsort(column.numbers[present], kind="stable")]
    extent = float(np.ptp(column.numbers)) or 1.0
    windows = number_kernels.find_windows(column.numbers[order], extent, column.counts[order], k)
    places, firsts, lasts = np.full((3, column.counts.size), -2, dtype=np.int64)
    places[order] = np.arange(order.size)
    firsts[order], lasts[order] = windows[:, 0], windows[:, 3]
    return NearNumbers(places, firsts, lasts)


# ------------------------------------------------------------------------------------------------ records


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Rows in groups, inside which records exchange; records in no group stay."""

    members: Codes
    """The distinct record of each row, group by group."""
    offsets: Longs
    """Where each group starts, and where the last one ends."""
    apart: bool
    """True if the columns move apart from each other."""
    stays: Bools
    """Whether a row could have kept its own record, by group."""

    @property
    def groups(self) -> Longs:
        """The group of each member."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))


@dataclass(frozen=True, slots=True)
class AnyCell:
    """Every cell with a value could have come into the place of every other of its column."""

    codes: Codes
    n_values: tuple[int, ...]

    def partners(self, records: Codes, rows: Codes, allowed: Bools) -> None:
        """All values of the columns in which the records have one."""
        begin = 0
        for column, n_values in enumerate(self.n_values):
            has_value = self.codes[records, column] >= 0
            allowed[rows[has_value], begin : begin + n_values] = True
            begin += n_values


class NearCells:
    """Cells of records that are among the k nearest of each other, from either side."""

    def __init__(self, space: RecordSpace, codes: Codes, counts: Longs, n_values: tuple[int, ...], k: int) -> None:
        """From distinct records.

        Args:
            space: Their distances.
            codes: Records × columns.
            counts: Rows of each record; 0 for one that takes no part.
            n_values: Of each column.
            k: How many rows are near.
        """
        self._codes, self._begins = codes, np.cumsum([0, *n_values])[:-1]
        counted = space.tree(counts)
        self._tree = counted.tree
        sizes = np.empty(counts.size, dtype=np.int64)
        found: dict[int, Codes] = {}

        def look_around(part: slice) -> None:
            at, blocks = part.start, []
            while at < part.stop:
                at, more = support_kernels.near_blocks(at, part.stop, k, space.points, space.metric, counted, sizes)
                blocks.append(more)
                if at < part.stop:
                    space.look_up(at)
            found[part.start] = np.concatenate(blocks)

        # Threads would take the distances that they look up from each other.
        at_once = ROWS_AT_ONCE if (space.metric.slots >= 0).all() else max(counts.size, 1)
        in_threads(look_around, slices(0, counts.size, at_once))
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._blocks = np.concatenate([found[start] for start in sorted(found)])
        n_nodes = self._tree.begins.size
        held = np.where(self._blocks < 0, n_nodes - 1 - self._blocks, self._blocks)
        order = np.argsort(held, kind="stable")
        self._holders = np.repeat(np.arange(counts.size, dtype=np.int32), sizes)[order]
        self._holder_starts = np.searchsorted(held[order], np.arange(n_nodes + counts.size + 1))

    def partners(self, records: Codes, rows: Codes, allowed: Bools) -> None:
        """The values of all records that are near, in the columns in which the record has one."""
        support_kernels.mark_near(
            records,
            rows,
            self._tree,
            self._starts,
            self._blocks,
            self._holder_starts,
            self._holders,
            self._codes,
            self._begins,
            allowed,
        )
