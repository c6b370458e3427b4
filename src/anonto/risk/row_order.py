"""Linkage by the place of a row: a release whose rows stand in the order of the original needs no other attack."""

from __future__ import annotations

from anonto.risk.attacks.row_order import RowOrder
from anonto.risk.rate import Risk, wilson_interval

KNOWN = "the order of the original rows"
IN_ORDER = "The rows of the release stand in the order of the original"
"""What a finding says that is about it."""
FINDING = (
    f"{IN_ORDER}: whoever knows that order, or has the original, finds the row of every person without any other "
    "knowledge, and no guarantee that limits linking holds. Save it without keeping the order."
)


def row_order(n_records: int) -> Risk:
    """What somebody reaches who knows the place of each person in the original, where the order was kept."""
    low, high = wilson_interval(n_records, n_records)
    return Risk(
        attack=RowOrder.name,
        knowledge=KNOWN,
        columns=(),
        rate=1.0,
        low=low,
        high=high,
        baseline=1.0 / n_records,
        n=n_records,
    )
