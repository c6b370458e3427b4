"""V-MDAV: groups of k records that take in further ones where these are much nearer to them than to the others left.

The record farthest from the middle of all records and the k − 1 nearest to it form a group. Then the record nearest to
any member joins, while the group has fewer than 2k − 1, if its distance to that member is less than γ times its
distance to the nearest of the other records that are left. So dense clusters need not be cut. What is left in the end,
fewer than k records, goes to the groups of the nearest records; a group that so reaches 2k is split by MDAV.

γ is 0.2, which the authors recommend for data that are not clustered: only records that clearly belong to a group join
it. Distances are rounded to 1e-9 before they are compared, and of equal ones the lowest record goes first.

Reference: Solanas, Martínez-Ballesté, V-MDAV: a multivariate microaggregation with variable group size, COMPSTAT 2006.

Step by step: `anonto.methods.plain.v_mdav`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import matrix_product
from anonto.methods import microaggregation_kernels as kernels
from anonto.methods.grouping import RecordGroups, mdav
from anonto.methods.refusals import too_few_for_groups
from anonto.search.tree import tree_of
from anonto.stats.ties import DECIMALS

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs
    from anonto.methods.grouping import GroupingSpace


GAIN = 0.2
"""γ: how much nearer to the group than to the others a record must be to join it."""


def variable_mdav(space: GroupingSpace, counts: Longs, k: int) -> RecordGroups:
    """Groups of k to 2k − 1 rows.

    Args:
        space: The distinct records; their order decides between equal distances.
        counts: Rows of each record.
        k: The least size of a group.
    """
    n_rows = int(counts.sum())
    if n_rows < k:
        raise too_few_for_groups(n_rows, k, space.names)
    tree = tree_of(space)
    records = tree.nodes.records
    away = kernels.distances_to(tree.space, *middle_of(space, counts))
    order = np.lexsort((records, -away)).astype(np.int32)
    live = counts[records].astype(np.int64)
    members, offsets, rest = kernels.v_mdav(tree, order, live, k, GAIN)
    groups = RecordGroups(records[members], offsets)
    return _with_rest(space, groups, np.sort(records[rest]), k) if rest.size else groups


def middle_of(space: GroupingSpace, counts: Longs) -> tuple[Floats, Ints]:
    """The mean of each number column, and of each nominal one the value with the least summed distance to all rows.

    Of equally good values the one of the first record.
    """
    arrays = space.arrays
    point = matrix_product(arrays.numbers.T, counts) / counts.sum()
    values = np.empty(arrays.widths.size, dtype=np.int32)
    for column, (start, width) in enumerate(zip(arrays.starts.tolist(), arrays.widths.tolist(), strict=True)):
        codes = arrays.codes[:, column]
        occurring = np.bincount(codes, weights=counts, minlength=width)
        table = arrays.tables[start : start + width**2].reshape(width, width) if start >= 0 else None
        sums = np.round(-occurring if table is None else matrix_product(table, occurring), DECIMALS)
        values[column] = codes[np.argmin(sums[codes])]
    return point, values


def _with_rest(space: GroupingSpace, groups: RecordGroups, rest: Ints, k: int) -> RecordGroups:
    """The groups with the rows that are left over, each in the group of the nearest row."""
    arrays, of_member = space.arrays, groups.group_of_member()
    parts = np.split(groups.members, groups.offsets[1:-1])
    added: dict[int, list[int]] = {}
    for record in rest.tolist():
        away = kernels.distances_to(arrays, arrays.numbers[record], arrays.codes[record])[groups.members]
        nearest = np.flatnonzero(away == away.min())
        added.setdefault(int(of_member[nearest[np.argmin(groups.members[nearest])]]), []).append(record)
    for group, records in added.items():
        parts[group] = np.concatenate([parts[group], np.array(records, dtype=np.int32)])
    cut = [half for part in parts for half in (_split(space, part, k) if part.size >= 2 * k else [part])]
    sizes = [part.size for part in cut]
    return RecordGroups(np.concatenate(cut).astype(np.int32), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def _split(space: GroupingSpace, members: Ints, k: int) -> list[Ints]:
    """A group of 2k rows or more in groups of k to 2k − 1."""
    records, counts = np.unique(members, return_counts=True)
    halves = mdav(space.of(records), counts.astype(np.int64), k)
    return np.split(records[halves.members], halves.offsets[1:-1])
