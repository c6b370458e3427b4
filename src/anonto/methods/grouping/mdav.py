"""MDAV: groups of at least k records, around the record farthest from the middle and the one farthest from that.

While 3k records are left, the one farthest from their middle and the k − 1 nearest to it form a group, then the one
farthest from it and the k − 1 nearest to that. Of the rest, if it has 2k records or more, one more group is taken in
the same way; what is left then has k to 2k − 1. Distances are rounded to 1e-9 before they are compared, and of equal
ones the lowest record goes first, so the groups depend on the records alone.

Reference: Domingo-Ferrer, Torra, Data Mining and Knowledge Discovery 11 (2005), algorithm 5.1.

Step by step: `anonto.methods.plain.mdav`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.grouping import mdav_kernels
from anonto.methods.refusals import too_few_for_groups
from anonto.runtime.shared import digest_of, share
from anonto.search.tree import starts_of, tree_of

if TYPE_CHECKING:
    from anonto.arrays import Ints, Longs
    from anonto.search.arrays import SearchTree
    from anonto.search.space import GroupingSpace


FINEST = 1e12
"""Steps of one in the fixed-point sums of distances; fewer where so many would not fit."""
LARGEST_SUM = 4e18


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordGroups:
    """Rows in groups, each row by the number of its distinct record."""

    members: Ints
    """The record of each row, group by group."""
    offsets: Longs
    """Where each group starts, and behind the last one where it ends."""

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return int(self.offsets.size - 1)

    @property
    def sizes(self) -> Longs:
        """Rows of each group."""
        return np.diff(self.offsets)

    def group_of_member(self) -> Longs:
        """The group of each member."""
        return np.repeat(np.arange(self.n_groups), self.sizes)

    def pad(self, width: int) -> Ints:
        """Groups × places: the members of each group, then nothing."""
        members = np.zeros((self.n_groups, width), dtype=np.int32)
        members[np.arange(width) < self.sizes[:, None]] = self.members
        return members

    @classmethod
    def from_padded(cls, members: Ints, sizes: Longs) -> RecordGroups:
        """Groups from their padded form."""
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(members[np.arange(members.shape[1]) < sizes[:, None]], offsets)

    def facts(self) -> dict[str, int]:
        """Evidence about the groups."""
        sizes = self.sizes
        return {
            "groups": self.n_groups,
            "smallest_group": int(sizes.min()) if self.n_groups else 0,
            "largest_group": int(sizes.max(initial=0)),
            "homogeneous_groups": self.n_homogeneous,
        }

    def risk(self) -> dict[str, float]:
        """The average over all persons of one divided by the size of their group."""
        return {"average_risk": self.n_groups / max(self.members.size, 1)}

    @property
    def n_homogeneous(self) -> int:
        """Groups in which all records are equal."""
        if not self.n_groups:
            return 0
        starts = self.offsets[:-1]
        lowest, highest = (reduce.reduceat(self.members, starts) for reduce in (np.minimum, np.maximum))
        return int(np.count_nonzero(lowest == highest))


def mdav(space: GroupingSpace, counts: Longs, k: int) -> RecordGroups:
    """Groups of k to 2k − 1 rows.

    Args:
        space: The distinct records; their order decides between equal distances.
        counts: Rows of each record.
        k: The least size of a group.
    """
    n_rows = int(counts.sum())
    if n_rows == 0:
        return RecordGroups(np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    if n_rows < k:
        raise too_few_for_groups(n_rows, k, space.names)

    def digest() -> bytes:
        return digest_of(space.digest(), counts, k)

    return share("groups", digest, 4 * n_rows, lambda: _new_groups(space, counts, k, n_rows))


def _new_groups(space: GroupingSpace, counts: Longs, k: int, n_rows: int) -> RecordGroups:
    tree = tree_of(space)
    live = counts[tree.nodes.records].astype(np.int64)
    occurrences = _occurrences(space, tree, n_rows)
    return RecordGroups(*mdav_kernels.mdav(tree, occurrences, live, k))


def _occurrences(space: GroupingSpace, tree: SearchTree, n_rows: int) -> mdav_kernels.Occurrences:
    """Where each value occurs; nothing is counted yet."""
    arrays = space.arrays
    n, widths = space.n_records, arrays.widths
    place_of = np.empty(n, dtype=np.int32)
    place_of[tree.nodes.records] = np.arange(n, dtype=np.int32)
    starts, places = [], []
    for column, width in enumerate(widths.tolist()):
        codes = arrays.codes[:, column]
        starts.append(column * n + starts_of(np.bincount(codes, minlength=width).tolist()))
        places.append(place_of[np.argsort(codes, kind="stable")])
    ends = np.array([widths.size * n], dtype=np.int64)
    total = int(widths.sum())
    all_starts = np.concatenate([*starts, ends])
    return mdav_kernels.Occurrences(
        counts=np.zeros(total, dtype=np.int64),
        starts=all_starts,
        places=np.concatenate(places) if places else np.empty(0, dtype=np.int32),
        upcoming=all_starts[:-1].copy(),
        sums=np.zeros(total, dtype=np.int64),
        scales=np.array([_scale(space, column, n_rows) for column in range(widths.size)], dtype=np.float64),
        heap=np.zeros(total, dtype=np.int32),
        seen_counts=np.zeros(total),
        seen_firsts=np.zeros(total, dtype=np.int32),
    )


def _scale(space: GroupingSpace, column: int, n_rows: int) -> float:
    """As fine a fixed point as the sum over all rows allows."""
    start, width = int(space.arrays.starts[column]), int(space.arrays.widths[column])
    largest = float(space.arrays.tables[start : start + width**2].max(initial=0.0)) if start >= 0 else 0.0
    return min(FINEST, LARGEST_SUM / (n_rows * largest)) if largest else FINEST
