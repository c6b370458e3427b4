r"""V-MDAV, row by row: the same groups as `anonto.methods.v_mdav`.

A group takes in row $u$, the nearest one outside, while it has fewer than 2k − 1 rows and

$$d_{in}(u) < \gamma\, d_{out}(u)$$

with $d_{in}$ the distance to the nearest member and $d_{out}$ that to the nearest other row that is left. Nothing is
random: of equal distances, compared in steps of 10⁻⁹, the lowest record counts.

Reference: Solanas, Martínez-Ballesté, V-MDAV: a multivariate microaggregation with variable group size, COMPSTAT 2006.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.plain.mdav import around, as_groups, farthest, mdav
from anonto.methods.plain.record_distances import distances_to, middle_of, record

if TYPE_CHECKING:
    from anonto.arrays import Longs
    from anonto.methods.grouping.mdav import RecordGroups
    from anonto.search.space import GroupingSpace


GAIN = 0.2
"""γ: how much nearer to the group than to the others a row must be to join it."""


def v_mdav(space: GroupingSpace, counts: Longs, k: int) -> RecordGroups:
    """Groups of k to 2k − 1 rows.

    Args:
        space: The distinct records.
        counts: Rows of each record; at least k together.
        k: The least size of a group.
    """
    rest = np.repeat(np.arange(counts.size), counts)
    # Step 1: the distances of all rows to their average record, once.
    from_middle = distances_to(space, middle_of(space, rest))
    groups = []
    while rest.size >= k:
        # Step 2: the row farthest from the average record, with the k − 1 rows nearest to it, is a group.
        group, rest = around(space, rest, farthest(rest, from_middle), k)
        # Step 3: the group is extended.
        group, rest = extend(space, group, rest, k)
        groups.append(group)
    # Step 4: each of the fewer than k rows that are left joins the group of the row nearest to it.
    joining: dict[int, list[int]] = {}
    for row in rest.tolist():
        away = distances_to(space, record(space, row))
        nearest = min((away[member], member, number) for number, group in enumerate(groups) for member in group)
        joining.setdefault(nearest[2], []).append(row)
    for number, rows in joining.items():
        groups[number] = np.append(groups[number], rows)
    # Departure: a group that reached 2k rows so is split by MDAV.
    parts = [split(space, group, k) if group.size >= 2 * k else [group] for group in groups]
    return as_groups([part for of_group in parts for part in of_group])


def extend(space: GroupingSpace, group: Longs, rest: Longs, k: int) -> tuple[Longs, Longs]:
    """The group with the rows that join it, and the rows that are left."""
    while group.size < 2 * k - 1 and rest.size:
        to_group = np.min([distances_to(space, record(space, member))[rest] for member in group], axis=0)
        place = int(np.argmin(to_group))
        others = np.delete(rest, place)
        to_others = distances_to(space, record(space, int(rest[place])))[others].min(initial=np.inf)
        if not to_group[place] < GAIN * to_others:
            break
        group, rest = np.append(group, rest[place]), others
    return group, rest


def split(space: GroupingSpace, group: Longs, k: int) -> list[Longs]:
    """A group of 2k rows or more in groups of k to 2k − 1."""
    records, counts = np.unique(group, return_counts=True)
    parts = mdav(space.of(records), counts, k)
    return [records[part] for part in np.split(parts.members, parts.offsets[1:-1])]
