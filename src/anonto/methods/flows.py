"""Flows: how many records of each value become each other value, and which records these are.

``fit`` of a method sees counts and returns flows; ``apply`` is pure. The i-th record of value a takes the place that a
keyed permutation of 0 … Nₐ − 1 gives i, and the places are dealt out to the targets of a in order; so any records of a
are equally likely to become b, and chunks of rows may be masked anywhere, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from anonto.errors import InternalError
from anonto.methods import kernels
from anonto.methods.stretch_kernels import apply_by_value
from anonto.table.columns import counts_of
from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from anonto.rng import KeyedPermutations

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """How many cells of a column went from one value to another; cells without a value take no part."""

    sources: Codes
    targets: Codes
    amounts: Longs

    @property
    def n_cells(self) -> int:
        """Cells with a value."""
        return int(self.amounts.sum())

    @property
    def unchanged(self) -> int:
        """Cells whose value is the same afterwards."""
        return int(self.amounts[self.sources == self.targets].sum())

    def before(self, n_values: int) -> Longs:
        """Cells of each value before."""
        return self._counted(self.sources, n_values)

    def after(self, n_values: int) -> Longs:
        """Cells of each value after."""
        return self._counted(self.targets, n_values)

    def _counted(self, codes: Codes, n_values: int) -> Longs:
        return np.bincount(codes, weights=self.amounts, minlength=n_values).astype(np.int64)[:n_values]


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """For each value its targets, in compressed rows."""

    sizes: Longs
    """Records of each value."""
    offsets: Longs
    targets: Codes
    ends: Longs
    """For each target the place behind its last one, counted within the value."""
    guides: Codes
    """For each value, where to begin to look for the target of a place."""
    untouched: int
    """Records that had no partner."""

    @property
    def amounts(self) -> Longs:
        """Records that go to each target."""
        starts = np.concatenate([[0], self.ends[:-1]]) if self.ends.size else self.ends
        starts[self.offsets[:-1][np.diff(self.offsets) > 0]] = 0
        return np.asarray(self.ends - starts)

    @property
    def sources(self) -> Codes:
        """The value that each flow leaves."""
        return np.repeat(np.arange(self.sizes.size, dtype=np.int32), np.diff(self.offsets))

    @property
    def moves(self) -> Moves:
        """The flows as a list."""
        return Moves(self.sources, self.targets, self.amounts)

    def some_moves(self, part: slice) -> Moves:
        """Some of the flows, at least one, as a list."""
        first, last = (np.searchsorted(self.offsets, [part.start, part.stop - 1], side="right") - 1).tolist()
        begins = np.clip(self.offsets[first : last + 2] - part.start, 0, part.stop - part.start)
        sizes = np.diff(begins)
        starts = np.concatenate([[0], self.ends[part.start : part.stop - 1]])
        starts[begins[:-1][sizes > 0]] = 0
        if self.offsets[first] < part.start:
            starts[0] = self.ends[part.start - 1]
        sources = np.repeat(np.arange(first, last + 1, dtype=np.int32), sizes)
        return Moves(sources, self.targets[part], self.ends[part] - starts)

    def records_of(self, codes: Codes) -> Longs:
        """How many records of each value a chunk has: added up, where the next chunk starts."""
        return counts_of(codes, self.sizes.size)

    @property
    def permuted(self) -> Longs:
        """The sizes of the groups whose rows permutations deal out."""
        return self.sizes

    @property
    def arrays(self) -> kernels.FlowArrays:
        """As the kernels take them."""
        return self.sizes, self.offsets, self.targets, self.ends, self.guides

    def apply(self, codes: Codes, permutations: KeyedPermutations, before: Longs | None = None) -> Codes:
        """The masked values of a chunk of records.

        Args:
            codes: The values of the chunk; −1 takes no part and stays.
            permutations: One for each value.
            before: Records of each value in all earlier chunks.
        """
        positions = np.zeros(self.sizes.size, dtype=np.int64) if before is None else before.copy()
        masked: Codes = apply_by_value(codes, positions, self.arrays, permutations.arrays)
        return masked

    def dealt(self, permutations: KeyedPermutations) -> Dealt:
        """The targets of all records at once: faster than `apply` where all records are here."""
        begins = np.concatenate([[0], np.cumsum(self.sizes)])
        n_rows, is_short = int(begins[-1]), int(self.targets.max(initial=0)) <= np.iinfo(np.uint16).max
        targets = np.empty(n_rows, dtype=np.uint16) if is_short else np.empty(n_rows, dtype=np.int32)

        def fill(values: slice) -> None:
            kernels.deal(self.arrays, permutations.arrays, begins, values.start, values.stop, targets)

        in_threads(fill, _of_about_equal_work(begins))
        return Dealt(begins[:-1], targets)


@dataclass(frozen=True, slots=True, eq=False)
class Dealt:
    """What each record becomes: value by value, in the order of the records."""

    begins: Longs
    targets: Codes | NDArray[np.uint16]

    def apply(self, codes: Codes, before: Longs) -> Codes:
        """The masked values of a chunk; ``before``: records of each value in all earlier chunks."""
        masked: Codes = kernels.hand_out(codes, self.begins + before, self.targets)
        return masked


def _of_about_equal_work(begins: Longs) -> list[slice]:
    """Cut the values where every further share of the records begins."""
    n_parts = 16
    cuts = np.searchsorted(begins, np.linspace(0, begins[-1], n_parts + 1))
    cuts[0], cuts[-1] = 0, begins.size - 1
    unique = np.unique(cuts)
    return [slice(int(a), int(b)) for a, b in pairwise(unique)]


def flows_of_pairs(left: Codes, right: Codes, counts: Longs, untouched: int) -> Flows:
    """Flows in which the value of each left record was exchanged with that of its right one; all others stay."""
    keys, amounts = counted_pairs(left, right, counts.size)
    return flows_of_exchanges(keys, amounts, counts, untouched)


def flows_of_exchanges(keys: Longs, amounts: Longs, counts: Longs, untouched: int) -> Flows:
    """Flows in which some records of value a were exchanged with as many of b; all others stay.

    Args:
        keys: Pairs of values as a · (number of values) + b.
        amounts: How many exchanges there were of each pair.
        counts: Records of each value.
        untouched: Records that had no partner.
    """
    if counts.size == 0:
        return Flows(
            counts, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int32), 0
        )
    u = counts.size
    leaving = np.bincount(keys // u, weights=amounts, minlength=u) + np.bincount(keys % u, weights=amounts, minlength=u)
    staying = counts - leaving.astype(np.int64)
    if (staying < 0).any():
        raise InternalError("More records leave a value than it has.")
    stays = np.flatnonzero(staying)
    all_keys = np.concatenate([keys, (keys % u) * u + keys // u, stays * (u + 1)])
    all_amounts = np.concatenate([amounts, amounts, staying[stays]])
    return _flows(*_summed(all_keys, all_amounts, u * u), counts, u, untouched)


def flows_of_rows(sources: Codes, targets: Codes, counts: Longs) -> Flows:
    """Flows in which each row of some became another value, and all other rows stay."""
    return flows_of_counts(*counted_pairs(sources, targets, counts.size), counts)


def flows_of_counts(keys: Longs, amounts: Longs, counts: Longs) -> Flows:
    """The same from the pairs that occur, as source · (number of values) + target, and how often."""
    u = counts.size
    staying = counts - np.bincount(keys // max(u, 1), weights=amounts, minlength=u).astype(np.int64)
    stays = np.flatnonzero(staying)
    all_keys, all_amounts = np.concatenate([keys, stays * (u + 1)]), np.concatenate([amounts, staying[stays]])
    return _flows(*_summed(all_keys, all_amounts, u * u), counts, u, 0)


def flows_of_meetings(met: Longs, counts: Longs, untouched: int) -> Flows:
    """The same from a table of all pairs: how many records of each value were exchanged with each."""
    amounts = met + met.T
    staying = counts - amounts.sum(axis=1)
    if (staying < 0).any():
        raise InternalError("More records leave a value than it has.")
    amounts[np.diag_indices(counts.size)] += staying
    keys = np.flatnonzero(amounts)
    return _flows(keys, amounts.ravel()[keys], counts, counts.size, untouched)


def flows_of_moves(sources: Codes, targets: Codes, amounts: Longs | None, counts: Longs, n_targets: int) -> Flows:
    """Flows from values to others of another numbering, such as records to released ones.

    Args:
        sources: The value that each move leaves; together the moves cover every record once.
        targets: What it becomes, from 0 to ``n_targets`` − 1.
        amounts: How many records each move has; None for one each.
        counts: Records of each value.
        n_targets: How many targets there are.
    """
    keys = sources.astype(np.int64) * n_targets + targets
    each = np.ones(keys.size, dtype=np.int64) if amounts is None else amounts
    left = np.bincount(sources, weights=each, minlength=counts.size)
    if left.size != counts.size or (left != counts).any():
        raise InternalError("The moves do not cover every record once.")
    return _flows(*_summed(keys, each, counts.size * n_targets), counts, n_targets, 0)


def _flows(keys: Longs, amounts: Longs, counts: Longs, n_targets: int, untouched: int) -> Flows:
    """From the sorted keys value · (number of targets) + target, and the amount of each."""
    offsets = np.searchsorted(keys, np.arange(counts.size + 1, dtype=np.int64) * n_targets)
    running = np.cumsum(amounts)
    before_value = np.concatenate([[0], running])[offsets[:-1]]
    ends = running - np.repeat(before_value, np.diff(offsets))
    guides = kernels.guides(counts, offsets, ends)
    return Flows(counts, offsets, (keys % max(n_targets, 1)).astype(np.int32), ends, guides, untouched)


DENSE_PAIRS = 1 << 24
FEW_PAIRS = 1 << 22
"""Up to this many possible pairs, or twice the rows, are counted in a table of all of them, more by sorting."""
PAIRS_AT_ONCE = 1 << 20


def _summed(keys: Longs, amounts: Longs, n_possible: int) -> tuple[Longs, Longs]:
    """The distinct keys and the sums of their amounts: by a place for each possible key where most of them are used."""
    if n_possible <= min(DENSE_PAIRS, max(DENSE_PAIRS // 16, 4 * keys.size)):
        sums = np.bincount(keys, weights=amounts, minlength=1)
        present = np.flatnonzero(sums)
        return present, sums[present].astype(np.int64)
    unique, place = np.unique(keys, return_inverse=True)
    return unique, np.bincount(place, weights=amounts, minlength=unique.size).astype(np.int64)


def counted_in_a_table(
    pairs: Iterable[tuple[Codes, Codes]], n_right: int, n_possible: int, n_rows: int
) -> tuple[Longs, Longs]:
    """As `counted_pairs`, of so many rows at most that come in parts."""
    is_short = n_rows <= np.iinfo(np.int32).max
    counted = np.zeros(n_possible, np.int32) if is_short else np.zeros(n_possible, np.int64)
    for left, right in pairs:
        kernels.count_pairs(left, right, n_right, counted)
    occur = np.flatnonzero(counted)
    return occur, counted[occur].astype(np.int64)


def counted_pairs(left: Codes, right: Codes, n_right: int, n_left: int | None = None) -> tuple[Longs, Longs]:
    """The pairs that occur, as left · n_right + right and in order, and how often; never all of them are held as keys.

    Pairs whose left value is missing are left out. Without ``n_left`` there are as many values on the left.
    """
    n_possible = n_right * (n_right if n_left is None else n_left)
    if n_possible <= max(FEW_PAIRS, 2 * left.size):
        return counted_in_a_table([(left, right)], n_right, n_possible, left.size)
    keys, amounts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for part in slices(0, left.size, max(PAIRS_AT_ONCE, left.size // 8)):
        present = left[part] >= 0
        own, times = np.unique(
            left[part][present].astype(np.int64) * n_right + right[part][present], return_counts=True
        )
        keys, amounts = _summed(np.concatenate([keys, own]), np.concatenate([amounts, times]), n_possible)
    return keys, amounts
