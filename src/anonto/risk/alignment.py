"""Whether the rows of a release stand beside the rows of the original that they came from.

Every attack compares row with row; on shuffled rows all of them would give an all-clear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from anonto.table.records import counted, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

CHANCE = 1e-6
"""An order that shuffled rows would show less often than this is the original's."""
ENOUGH_TO_JUDGE = 100
PAIRS = 20_000

SHUFFLED = (
    "The rows of the release are no nearer to the rows of the original beside them than to other rows: if they were "
    "shuffled, none of these rates means anything; give the private record of the release."
)


def shows_order(columns: Sequence[NDArray[np.int32]], amounts: NDArray[np.int64]) -> bool:
    """Whether columns that are the same in both tables, row by row, would hardly be so if the rows were shuffled.

    Args:
        columns: The codes of these columns.
        amounts: How many rows of the table each row stands for.
    """
    if not columns:
        return False
    records, record_of = distinct_rows(columns)
    counts = counted(record_of, records.shape[0], amounts)
    n = int(counts.sum())
    orders = gammaln(n + 1) - gammaln(counts + 1).sum()
    return bool(n < 2 or orders > -np.log(CHANCE))


def seems_shuffled(columns: Sequence[ComparedColumn], rng: np.random.Generator) -> bool:
    """Whether masked cells are no nearer to the original cells of their rows than to those of rows drawn at random."""
    n = columns[0].n_persons if columns else 0
    if n < ENOUGH_TO_JUDGE:
        return False
    rows = rng.integers(0, n, PAIRS)
    others = (rows + rng.integers(1, n, PAIRS)) % n
    gains = np.zeros(PAIRS)
    for column in columns:
        gains += _distances(column, others, rows) - _distances(column, rows, rows)
    # Pairs that share a row are not independent, so that no more than n of them count.
    return bool(gains.mean() <= 3.0 * gains.std() / np.sqrt(min(PAIRS, n)))


def _distances(column: ComparedColumn, original: NDArray[np.int64], masked: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of pairs of cells: 1 where one of them is missing."""
    a, b = column.original[original], column.masked[masked]
    present = (a >= 0) & (b >= 0)
    out = np.where((a < 0) == (b < 0), 0.0, 1.0)
    out[present] = column.attribute.pair_distances(a[present], b[present])
    return out
