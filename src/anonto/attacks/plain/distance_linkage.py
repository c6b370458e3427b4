r"""Distance linkage, person by person: the same hits as `anonto.attacks.compute.distance_linkage`.

$$P(\text{hit of } i) = \frac{[\,d(x_i, x'_i) = m_i\,]}{|\{j : d(x_i, x'_j) = m_i\}|}, \qquad m_i = \min_j d(x_i, x'_j),
\qquad d^2 = \sum_{columns} sd^2$$

References: Pagliuca, Seri, ISTAT 1999; Domingo-Ferrer, Torra, in Confidentiality, Disclosure and Data Access (2001).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.value_space import NumericSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.encoding.comparison import ComparedColumn


TIE = 1e-9
"""Squared distances that differ by a smaller share of them are the same."""


def link(columns: Sequence[ComparedColumn], rows: Longs | None = None) -> Floats:
    """The probability that the released row taken for each attacked person's is hers.

    Args:
        columns: The columns that the intruder knows of a person; each of their rows is a row of the tables.
        rows: The persons that are attacked; None for all.
    """
    hits = []
    for person in (np.arange(columns[0].original.size) if rows is None else rows).tolist():
        # Step 1: the squared distances of the person's original values to all released rows.
        squared = squared_distances(columns, person)
        # Step 2: the intruder takes the nearest row, or one of several at random.
        nearest = squared <= squared.min() * (1.0 + TIE)
        # Step 3: a hit if it is the person's own row, whose number is the same in both tables.
        hits.append(nearest[person] / nearest.sum())
    return np.array(hits, dtype=np.float64)


def squared_distances(columns: Sequence[ComparedColumn], person: int) -> Floats:
    """Squared distances of a person's original values to those of all released rows."""
    return np.asarray(np.sum([_squared_distances_in(column, person) for column in columns], axis=0))


def _squared_distances_in(column: ComparedColumn, person: int) -> Floats:
    """Squared distances of one cell to all released ones; a missing cell is at 0 from another and at 1 from a value."""
    own, released = int(column.original[person]), column.masked
    if own < 0:
        return np.asarray(released >= 0, dtype=np.float64)
    squared = column.value_space.distances_from(np.array([own], dtype=np.int32))[0] ** 2
    if not isinstance(column.value_space, NumericSpace):
        squared = np.round(squared, 12)
    return np.append(squared, 1.0)[released]
