r"""Distance linkage, person by person: the same hits as `anonto.risk.distance_linkage`.

$$P(\text{hit of } i) = \frac{[\,d(x_i, x'_i) = m_i\,]}{|\{j : d(x_i, x'_j) = m_i\}|}, \qquad m_i = \min_j d(x_i, x'_j),
\qquad d^2 = \sum_{columns} sd^2$$

References: Pagliuca, Seri, ISTAT 1999; Domingo-Ferrer, Torra, in Confidentiality, Disclosure and Data Access (2001).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.table.attributes import NumericAttribute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn

    Floats = NDArray[np.float64]

TIE = 1e-9
"""Squared distances that differ by a smaller share of them are the same."""


def link(columns: Sequence[ComparedColumn], rows: NDArray[np.int64] | None = None) -> Floats:
    """For each attacked person the probability that the released row taken for hers is hers.

    Args:
        columns: What the intruder knows of a person; each row of theirs stands for one row of the tables.
        rows: The persons that are attacked; None for all.
    """
    hits = []
    for person in (np.arange(columns[0].original.size) if rows is None else rows).tolist():
        # Step 1: the squared distances of the person's original values to all released rows.
        squared = np.sum([_squared_distances(column, person) for column in columns], axis=0)
        # Step 2: the intruder takes the nearest row, or one of several at random.
        nearest = squared <= squared.min() * (1.0 + TIE)
        # Step 3: a hit if it is the person's own row, whose number is the same in both tables.
        hits.append(nearest[person] / nearest.sum())
    return np.array(hits, dtype=np.float64)


def _squared_distances(column: ComparedColumn, person: int) -> Floats:
    """Of one cell to all released ones; a missing cell is at 0 from another and at 1 from a value."""
    own, released = int(column.original[person]), column.masked
    if own < 0:
        return np.asarray(released >= 0, dtype=np.float64)
    squared = column.attribute.distances_from(np.array([own], dtype=np.int32))[0] ** 2
    if not isinstance(column.attribute, NumericAttribute):
        squared = np.round(squared, 12)
    return np.append(squared, 1.0)[released]
