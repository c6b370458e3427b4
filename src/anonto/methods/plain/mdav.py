r"""MDAV, row by row: the same groups as `anonto.methods.grouping.mdav`, members in the same order.

$$r = \arg\max_{x \in R} \delta(x, \bar R), \qquad s = \arg\max_{x \in R} \delta(x, x_r), \qquad
G_r = \{r\} \cup \text{its } k - 1 \text{ nearest in } R$$

Nothing is random: of equal distances, compared in steps of 10⁻⁹, the lowest record counts.

Reference: Domingo-Ferrer, Torra, Data Mining and Knowledge Discovery 11 (2005), algorithm 5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.grouping.mdav import RecordGroups
from anonto.methods.plain.record_distances import distances_to, middle_of, record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.search.space import GroupingSpace


def mdav(space: GroupingSpace, counts: Longs, k: int) -> RecordGroups:
    """Groups of k to 2k − 1 rows.

    Args:
        space: The distinct records.
        counts: Rows of each record; none, or at least k together.
        k: The least size of a group.
    """
    rest = np.repeat(np.arange(counts.size), counts)
    groups = []
    # Step 1: while 3k rows are left, r is the one farthest from their average record, and s the one farthest from r;
    # each of them with the k − 1 rows nearest to it is a group. If s is in the group of r, the next farthest is taken.
    while rest.size >= 3 * k:
        r = farthest(rest, distances_to(space, middle_of(space, rest)))
        around_r, rest = around(space, rest, r, k)
        s = farthest(rest, distances_to(space, record(space, r)))
        around_s, rest = around(space, rest, s, k)
        groups += [around_r, around_s]
    # Step 2: of 2k to 3k − 1 rows one more group is taken, around r alone.
    if rest.size >= 2 * k:
        group, rest = around(space, rest, farthest(rest, distances_to(space, middle_of(space, rest))), k)
        groups.append(group)
    # Step 3: the rows that are left, fewer than 2k, are the last group.
    return as_groups([*groups, rest] if rest.size else groups)


def farthest(rest: Longs, away: Floats) -> int:
    """The record of the row that is farthest away."""
    return int(rest[np.argmax(away[rest])])


def around(space: GroupingSpace, rest: Longs, seed: int, k: int) -> tuple[Longs, Longs]:
    """A row of a record with the k − 1 rows nearest to it, from near to far; and the rows that are left."""
    place = int(np.searchsorted(rest, seed))
    others = np.delete(rest, place)
    by_distance = np.argsort(distances_to(space, record(space, seed))[others], kind="stable")
    return np.append(seed, others[by_distance[: k - 1]]), np.sort(others[by_distance[k - 1 :]])


def as_groups(groups: Sequence[Longs]) -> RecordGroups:
    """Groups from the lists of their rows."""
    members = np.concatenate([np.empty(0, dtype=np.int64), *groups]).astype(np.int32)
    return RecordGroups(members, np.cumsum([0, *(group.size for group in groups)]).astype(np.int64))
