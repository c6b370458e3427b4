"""Transitions: how many records of each value become each other value, and which records these are.

``fit`` of a method sees counts and returns transitions; ``apply`` is pure. The i-th record of value a takes the place
that a keyed permutation of 0 … Nₐ − 1 gives i, and the places are assigned to the targets of a in order; so any records
of a are equally likely to become b, and batches of rows may be masked anywhere, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.columns import counts_of
from anonto.errors import InternalError
from anonto.methods import transition_kernels as kernels
from anonto.runtime.threads import in_threads, slices, slices_of_equal_work

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonto.arrays import Codes, Longs, Shorts
    from anonto.random.streams import KeyedPermutations


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
        return self._count_cells(self.sources, n_values)

    def after(self, n_values: int) -> Longs:
        """Cells of each value after."""
        return self._count_cells(self.targets, n_values)

    def _count_cells(self, codes: Codes, n_values: int) -> Longs:
        return np.bincount(codes, weights=self.amounts, minlength=n_values).astype(np.int64)[:n_values]


@dataclass(frozen=True, slots=True, eq=False)
class Transitions:
    """The targets of each value, in compressed rows."""

    sizes: Longs
    """Records of each value."""
    offsets: Longs
    targets: Codes
    ends: Longs
    """The place after the last one of each target, counted within the value."""
    guides: Codes
    """Where to begin to look for the target of a place, by value."""
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
        """The source of each transition."""
        return np.repeat(np.arange(self.sizes.size, dtype=np.int32), np.diff(self.offsets))

    @property
    def moves(self) -> Moves:
        """The transitions as a list."""
        return Moves(self.sources, self.targets, self.amounts)

    def some_moves(self, part: slice) -> Moves:
        """Some of the transitions, at least one, as a list."""
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
        """How many records of each value a batch has; the sum over earlier batches is where the next one starts."""
        return counts_of(codes, self.sizes.size)

    @property
    def permuted_sizes(self) -> Longs:
        """The sizes of the groups whose rows are assigned by permutations."""
        return self.sizes

    @property
    def arrays(self) -> kernels.TransitionArrays:
        """The arrays that the kernels take."""
        return self.sizes, self.offsets, self.targets, self.ends, self.guides

    def apply(self, codes: Codes, permutations: KeyedPermutations, before: Longs | None = None) -> Codes:
        """The masked values of a batch of records.

        Args:
            codes: The values of the batch; −1 takes no part and stays.
            permutations: One for each value.
            before: Records of each value in all earlier batches.
        """
        positions = np.zeros(self.sizes.size, dtype=np.int64) if before is None else before.copy()
        masked: Codes = kernels.apply_by_value(codes, positions, self.arrays, permutations.arrays)
        return masked

    def assign_targets(self, permutations: KeyedPermutations) -> AssignedTargets:
        """The targets of all records at once: faster than `apply` when all records are in memory."""
        begins = np.concatenate([[0], np.cumsum(self.sizes)])
        n_rows, is_short = int(begins[-1]), int(self.targets.max(initial=0)) <= np.iinfo(np.uint16).max
        targets = np.empty(n_rows, dtype=np.uint16) if is_short else np.empty(n_rows, dtype=np.int32)

        def fill(values: slice) -> None:
            kernels.assign_targets(self.arrays, permutations.arrays, begins, values.start, values.stop, targets)

        in_threads(fill, slices_of_equal_work(begins))
        return AssignedTargets(begins[:-1], targets)


@dataclass(frozen=True, slots=True, eq=False)
class AssignedTargets:
    """Target of each record: value by value, in the order of the records."""

    begins: Longs
    targets: Codes | Shorts

    def apply(self, codes: Codes, before: Longs) -> Codes:
        """The masked values of a batch; ``before``: records of each value in all earlier batches."""
        masked: Codes = kernels.take_targets(codes, self.begins + before, self.targets)
        return masked


def transitions_of_pairs(left: Codes, right: Codes, counts: Longs, untouched: int) -> Transitions:
    """Transitions in which the value of each left record was exchanged with that of its right one; all others stay."""
    keys, amounts = count_pairs(left, right, counts.size)
    return transitions_of_exchanges(keys, amounts, counts, untouched)


def transitions_of_exchanges(keys: Longs, amounts: Longs, counts: Longs, untouched: int) -> Transitions:
    """Transitions in which some records of value a were exchanged with as many of b; all others stay.

    Args:
        keys: Pairs of values as a · (number of values) + b.
        amounts: How many exchanges there were of each pair.
        counts: Records of each value.
        untouched: Records that had no partner.
    """
    if counts.size == 0:
        return Transitions(
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
    return _transitions(*_sum_by_key(all_keys, all_amounts, u * u), counts, u, untouched)


def transitions_of_rows(sources: Codes, targets: Codes, counts: Longs) -> Transitions:
    """Transitions in which the given rows became other values, and all other rows stay."""
    return transitions_of_counts(*count_pairs(sources, targets, counts.size), counts)


def transitions_of_counts(keys: Longs, amounts: Longs, counts: Longs) -> Transitions:
    """Transitions from the pairs that occur, as source · (number of values) + target, and how often."""
    u = counts.size
    staying = counts - np.bincount(keys // max(u, 1), weights=amounts, minlength=u).astype(np.int64)
    stays = np.flatnonzero(staying)
    all_keys, all_amounts = np.concatenate([keys, stays * (u + 1)]), np.concatenate([amounts, staying[stays]])
    return _transitions(*_sum_by_key(all_keys, all_amounts, u * u), counts, u, 0)


def transitions_of_meetings(met: Longs, counts: Longs, untouched: int) -> Transitions:
    """Transitions from a table of all pairs: how many records of each value were exchanged with each."""
    amounts = met + met.T
    staying = counts - amounts.sum(axis=1)
    if (staying < 0).any():
        raise InternalError("More records leave a value than it has.")
    amounts[np.diag_indices(counts.size)] += staying
    keys = np.flatnonzero(amounts)
    return _transitions(keys, amounts.ravel()[keys], counts, counts.size, untouched)


def transitions_of_moves(
    sources: Codes, targets: Codes, amounts: Longs | None, counts: Longs, n_targets: int
) -> Transitions:
    """Transitions from values to others of another numbering, such as records to released ones.

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
    return _transitions(*_sum_by_key(keys, each, counts.size * n_targets), counts, n_targets, 0)


def _transitions(keys: Longs, amounts: Longs, counts: Longs, n_targets: int, untouched: int) -> Transitions:
    """From the sorted keys value · (number of targets) + target, and the amount of each."""
    offsets = np.searchsorted(keys, np.arange(counts.size + 1, dtype=np.int64) * n_targets)
    running = np.cumsum(amounts)
    before_value = np.concatenate([[0], running])[offsets[:-1]]
    ends = running - np.repeat(before_value, np.diff(offsets))
    guides = kernels.guides(counts, offsets, ends)
    return Transitions(counts, offsets, (keys % max(n_targets, 1)).astype(np.int32), ends, guides, untouched)


DENSE_PAIRS = 1 << 24
FEW_PAIRS = 1 << 22
"""Up to this many possible pairs, or twice the rows, are counted in a table of all of them, more by sorting."""
PAIRS_AT_ONCE = 1 << 20


def _sum_by_key(keys: Longs, amounts: Longs, n_possible: int) -> tuple[Longs, Longs]:
    """The distinct keys and the sums of their amounts: by a place for each possible key where most of them are used."""
    if n_possible <= min(DENSE_PAIRS, max(DENSE_PAIRS // 16, 4 * keys.size)):
        sums = np.bincount(keys, weights=amounts, minlength=1)
        present = np.flatnonzero(sums)
        return present, sums[present].astype(np.int64)
    unique, place = np.unique(keys, return_inverse=True)
    return unique, np.bincount(place, weights=amounts, minlength=unique.size).astype(np.int64)


def count_pairs_in_table(
    pairs: Iterable[tuple[Codes, Codes]], n_right: int, n_possible: int, n_rows: int
) -> tuple[Longs, Longs]:
    """Count pairs as `count_pairs` does, from batches of at most ``n_rows`` rows in all."""
    is_short = n_rows <= np.iinfo(np.int32).max
    counted = np.zeros(n_possible, np.int32) if is_short else np.zeros(n_possible, np.int64)
    for left, right in pairs:
        kernels.count_pairs(left, right, n_right, counted)
    occur = np.flatnonzero(counted)
    return occur, counted[occur].astype(np.int64)


def count_pairs(left: Codes, right: Codes, n_right: int, n_left: int | None = None) -> tuple[Longs, Longs]:
    """Count the pairs that occur, as left · n_right + right in ascending order; the keys of all rows are never held.

    Pairs whose left value is missing are left out. By default the left side has as many values as the right.
    """
    n_possible = n_right * (n_right if n_left is None else n_left)
    if n_possible <= max(FEW_PAIRS, 2 * left.size):
        return count_pairs_in_table([(left, right)], n_right, n_possible, left.size)
    keys, amounts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for part in slices(0, left.size, max(PAIRS_AT_ONCE, left.size // 8)):
        present = left[part] >= 0
        own, times = np.unique(
            left[part][present].astype(np.int64) * n_right + right[part][present], return_counts=True
        )
        keys, amounts = _sum_by_key(np.concatenate([keys, own]), np.concatenate([amounts, times]), n_possible)
    return keys, amounts
