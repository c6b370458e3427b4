r"""The best groups of one column of numbers or ranks: no partition in groups of k or more has a smaller squared error.

Best groups of numbers are consecutive in their order, so that the least loss of the first i rows is the least, over the
last group, of its squared error and the least loss of the rows before it. The squared error is concave: the last group
never starts earlier when one more row is added. So not all starts need be tried, and the best groups of n rows take a
time that grows with n log k.

A group of more than 2k − 1 rows can be divided without loss, so that no others need be looked at. For equal values this
holds:

- rows with one value are a group without loss, and in the end one group however many they are;
- a value is divided between two groups only if one of these has other values as well and exactly k rows. Otherwise a
  row of the value could leave a group whose mean is another number, which lowers the loss; and of two groups that both
  have other values, one gains by giving the other as many rows as its size allows, because what v adds to the loss of a
  group, $n a (v - m)^2 / (n + a)$ for a rows beside n others with the mean m, is strictly concave in a;
- so each value is in three groups at most, and rows of a value beyond 4k of them only make the group that has no other
  value larger. They are left out of the search.

Squared errors are put together from those of the two sides of a row, which are sums of positive numbers; so no digits
cancel, however large the numbers, or the loss of other groups, are.

References: Hansen, Mukherjee, A polynomial algorithm for optimal univariate microaggregation, IEEE TKDE 15 (2003).

Step by step: `anonto.methods.plain.one_column`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.methods.grouping import RecordGroups
from anonto.methods.one_column_kernels import best_cuts
from anonto.methods.refusals import too_few_for_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs


ENOUGH = 4
"""Rows with one value beyond so many times k are not looked at one by one."""


def best_groups(numbers: Floats, counts: Longs, k: int, names: Sequence[str] = ()) -> RecordGroups:
    """Groups of at least k rows with the least squared error.

    Args:
        numbers: The number of each record, finite.
        counts: Rows of each record.
        k: The least size of a group.
        names: The name of the column, for messages.
    """
    n_rows = int(counts.sum())
    if n_rows < k:
        raise too_few_for_groups(n_rows, k, names)
    order = np.argsort(numbers, kind="stable").astype(np.int32)
    firsts, rows = _distinct(numbers[order], counts[order])
    members = np.repeat(order, counts[order])
    return RecordGroups(members, group_offsets(numbers[order][firsts], rows, k))


def group_offsets(values: Floats, rows: Longs, k: int) -> Longs:
    """Where each group starts among all rows in the order of their values, and the end of all.

    Args:
        values: Different numbers, in their order.
        rows: How many rows have each; at least k together.
        k: The least size of a group.
    """
    if not values.size:
        return np.zeros(1, dtype=np.int64)
    seen = np.minimum(rows, ENOUGH * k)
    value_of = np.repeat(np.arange(values.size), seen)
    cuts = best_cuts(_scaled(values)[value_of], k)
    lowest, highest, sizes = value_of[cuts[:-1]], value_of[cuts[1:] - 1], np.diff(cuts)
    # Rows that were not looked at belong to the group of their value, and groups of one value are one group.
    alone = np.flatnonzero(lowest == highest)
    of_value, first = np.unique(lowest[alone], return_index=True)
    sizes[alone[first]] += (rows - seen)[of_value]
    again = np.zeros(sizes.size, dtype=np.bool_)
    again[1:] = (lowest[1:] == highest[1:]) & (lowest[:-1] == highest[:-1]) & (lowest[1:] == lowest[:-1])
    ends = np.cumsum(sizes)
    return np.concatenate([[0], ends[~np.append(again[1:], False)]]).astype(np.int64)


def _distinct(numbers: Floats, counts: Longs) -> tuple[Longs, Longs]:
    """Where each different number starts among sorted ones, and how many rows have it."""
    firsts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]]) if numbers.size else np.empty(0, dtype=np.int64)
    return firsts, np.add.reduceat(counts, firsts) if firsts.size else np.empty(0, dtype=np.int64)


def _scaled(values: Floats) -> Floats:
    """The numbers times a power of two, so that no square is too large."""
    return np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
