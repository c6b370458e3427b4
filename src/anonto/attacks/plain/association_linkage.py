r"""Association linkage, pair by pair: the same scores as `anonto.attacks.compute.association`, and the same matching.

$$S(i, j) = \omega \sum_{\text{columns}} \log \frac{P(z_j \mid x_i)}{P(z_j)} - \beta\, d^2(x_i, y_j)$$

A value is given as its line: its groups from coarse to fine, at last itself. Two values share the groups that their
lines begin with.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute.association import SMOOTHING, UNSEEN

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from anonto.arrays import Bools, Floats

    Line = tuple[int, ...]


def log_ratio(
    pairs: Sequence[tuple[Line, Line, float]], known: Line, read: Line, all_of_read: Collection[Line]
) -> float:
    """How much more often a value goes with a known one than without knowing it, as a logarithm.

    Args:
        pairs: The lines of both columns in some records, and for how many records each pair counts.
        known: The line of the known value.
        read: The line of the value that is read off a released record.
        all_of_read: The lines of all values that are not too rare to be told apart.
    """
    total = 0.0
    for level in range(len(read)):
        above, group = read[:level], read[: level + 1]
        # Step 1: the share of the group in the one above, among all records.
        beside = {line[: level + 1] for line in all_of_read if line[:level] == above}
        alone = _count(pairs, (), group) + UNSEEN
        share = alone / (_count(pairs, (), above) + UNSEEN * len(beside))
        # Step 2: the same share among records of the known value's groups, each smoothed by the coarser one.
        estimate = share
        for depth in range(1, len(known) + 1):
            own = _count(pairs, known[:depth], group)
            estimate = (own + SMOOTHING * estimate) / (_count(pairs, known[:depth], above) + SMOOTHING)
        total += log(estimate / share)
    return total


def _count(pairs: Sequence[tuple[Line, Line, float]], known: Line, read: Line) -> float:
    """The number of records for which the pairs count whose lines begin in this way."""
    return sum(times for a, b, times in pairs if a[: len(known)] == known and b[: len(read)] == read)


def match(scores: Floats, could_be: Bools) -> list[int]:
    """The row that each person is matched with, so that the sum of the scores is largest.

    Args:
        scores: Persons × released rows.
        could_be: Whether each row could be the person's.
    """
    from scipy.optimize import linear_sum_assignment

    # Step 3: everybody gets one row that could be hers, and each row one person.
    impossible = 1.0 + 2.0 * len(scores) * float(np.abs(scores).max())
    return [int(row) for row in linear_sum_assignment(np.where(could_be, -scores, impossible))[1]]


def link(persons: Sequence[object], rows: Sequence[object], matched: Sequence[int]) -> Floats:
    """The probability that each person is matched with her own row, if equal persons and equal rows are exchanged.

    Args:
        persons: What is known of each person: equal for persons who cannot be distinguished.
        rows: The cells of each released row: equal for rows that cannot be distinguished.
        matched: The row of each person; her own has her number.
    """
    hits = []
    for person, row in zip(persons, rows, strict=True):
        # Step 4: of the persons like her that are matched with a row like hers, she is one, and hers is one of these.
        times = sum(a == person and rows[b] == row for a, b in zip(persons, matched, strict=True))
        hits.append(times / (list(persons).count(person) * list(rows).count(row)))
    return np.array(hits, dtype=np.float64)
