"""Distance linkage: the intruder holds a person's original values and takes the nearest released record for hers.

Ties count one over their number, so that an unmasked table gives its distinct records divided by its rows.

References: Pagliuca, Seri, ISTAT 1999; Domingo-Ferrer, Torra, in Confidentiality, Disclosure and Data Access (2001).

Step by step: `anonto.attacks.plain.distance_linkage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.compute import kernels
from anonto.attacks.compute.space import LinkageSpace, ReleasedRecords
from anonto.attacks.distance_linkage import DistanceLinkage
from anonto.attacks.rate import Risk
from anonto.encoding.records import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.encoding.comparison import ComparedColumn


def distance_linkage(columns: Sequence[ComparedColumn], rows: Longs | None = None) -> Risk:
    """Link persons to the nearest released records.

    Args:
        columns: The columns that the intruder knows of a person.
        rows: The persons that are attacked; None for all.
    """
    space = LinkageSpace.of(columns)
    hits = link(columns, space, ReleasedRecords.of(columns, space), rows)
    return Risk.of_links(
        hits,
        columns[0].n_rows,
        attack=DistanceLinkage.name,
        knowledge="the original values of one person in these columns; nothing of the method",
        columns=(column.name for column in columns),
    )


def link(
    columns: Sequence[ComparedColumn], space: LinkageSpace, released: ReleasedRecords, rows: Longs | None
) -> Floats:
    """The probability that the record taken for each attacked person's is hers."""
    chosen = columns if rows is None else [column.take_rows(rows) for column in columns]
    targets, number = distinct_rows([column.original for column in chosen])
    least, n_least = space.nearest(targets, released)
    original = targets[number]
    own = np.stack([column.masked for column in chosen], axis=1)
    is_nearest = space.between(original, own) <= least[number] * (1.0 + kernels.TIE)
    return np.where(is_nearest, 1.0 / n_least[number], 0.0)
