"""Distance linkage: the intruder holds a person's original values and takes the nearest released record for hers.

Ties count one over their number, so that an unmasked table gives its distinct records divided by its rows.

References: Pagliuca, Seri, ISTAT 1999; Domingo-Ferrer, Torra, in Confidentiality, Disclosure and Data Access (2001).

Step by step: `anonto.risk.plain.distance_linkage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.risk import kernels
from anonto.risk.attacks.distance_linkage import DistanceLinkage
from anonto.risk.rate import Risk, wilson_interval
from anonto.risk.space import Released, Space
from anonto.table.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.table.comparison import ComparedColumn


def distance_linkage(columns: Sequence[ComparedColumn], rows: NDArray[np.int64] | None = None) -> Risk:
    """Link persons to the nearest released records.

    Args:
        columns: What the intruder knows of a person.
        rows: The persons that are attacked; None for all.
    """
    space = Space.of(columns)
    hits = link(columns, space, Released.of(columns, space), rows)
    low, high = wilson_interval(float(hits.sum()), hits.size)
    n_rows = columns[0].n_rows
    return Risk(
        attack=DistanceLinkage.name,
        knowledge="the original values of one person in these columns; nothing of the method",
        columns=tuple(column.name for column in columns),
        rate=float(hits.mean()) if hits.size else 0.0,
        low=low,
        high=high,
        baseline=1.0 / n_rows if n_rows else 0.0,
        n=int(hits.size),
    )


def link(
    columns: Sequence[ComparedColumn], space: Space, released: Released, rows: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """For each attacked person the probability that the record taken for hers is hers."""
    chosen = columns if rows is None else [column.taken(rows) for column in columns]
    targets, number = distinct_rows([column.original for column in chosen])
    least, n_least = space.nearest(targets, released)
    original = targets[number]
    own = np.stack([column.masked for column in chosen], axis=1)
    is_nearest = space.between(original, own) <= least[number] * (1.0 + kernels.TIE)
    return np.where(is_nearest, 1.0 / n_least[number], 0.0)
