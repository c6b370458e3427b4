"""Check that the rows of a release are aligned with the rows of the original they came from.

Every attack compares row with row; on shuffled rows all of them would wrongly find no risk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.records import count_records, distinct_rows
from anonto.utility.cells import cell_distances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Ints, Longs
    from anonto.encoding.comparison import ComparedColumn

CHANCE = 1e-6
"""An order that shuffled rows would show less often than this is the original's."""
ENOUGH_TO_JUDGE = 100
PAIRS = 20_000

SHUFFLED = (
    "The rows of the release are no nearer to the original rows in the same places than to other rows: if they were "
    "shuffled, none of these rates means anything; give the private record of the release."
)


def shows_order(columns: Sequence[Ints], amounts: Longs) -> bool:
    """True if columns that are equal in both tables, row by row, would hardly be equal if the rows were shuffled.

    Args:
        columns: The codes of these columns.
        amounts: How many rows of the table each row represents.
    """
    if not columns:
        return False
    from scipy.special import gammaln

    records, record_of = distinct_rows(columns)
    counts = count_records(record_of, records.shape[0], amounts)
    n = int(counts.sum())
    orders = gammaln(n + 1) - gammaln(counts + 1).sum()
    return bool(n < 2 or orders > -np.log(CHANCE))


def seems_shuffled(columns: Sequence[ComparedColumn], rng: np.random.Generator) -> bool:
    """True if masked cells are no nearer to the original cells of their rows than to those of rows drawn at random."""
    n = columns[0].n_persons if columns else 0
    if n < ENOUGH_TO_JUDGE:
        return False
    rows = rng.integers(0, n, PAIRS)
    others = (rows + rng.integers(1, n, PAIRS)) % n
    gains = np.zeros(PAIRS)
    for column in columns:
        released = column.masked[rows]
        to_others = cell_distances(column, column.original[others], released)
        gains += to_others - cell_distances(column, column.original[rows], released)
    # Pairs that share a row are not independent, so that no more than n of them count.
    return bool(gains.mean() <= 3.0 * gains.std() / np.sqrt(min(PAIRS, n)))
