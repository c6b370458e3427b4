r"""Global linkage, with a table of all pairs: the same matching as `anonto.attacks.compute.global_linkage`.

$$\min_{\pi} \sum_i d^2(x_i, x'_{\pi(i)}), \qquad \pi \text{ a permutation of the rows}$$

The compiled way lists the nearest rows of each person and matches within these lists; here every row may be taken.

References: Domingo-Ferrer, Muralidhar, Information Sciences 337–338 (2016); Herranz, Nin, Rodríguez, Tassa, Data &
Knowledge Engineering 100 (2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.plain.distance_linkage import squared_distances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Floats, Longs
    from anonto.encoding.comparison import ComparedColumn


def match(columns: Sequence[ComparedColumn]) -> Longs:
    """The released row that each person is matched with.

    Args:
        columns: The columns that the intruder knows of the persons; each of their rows is a row of the tables.
    """
    from scipy.optimize import linear_sum_assignment

    # Step 1: the squared distances of all persons to all released rows.
    persons = range(columns[0].original.size)
    costs = np.array([squared_distances(columns, person) for person in persons])
    # Step 2: each person gets one row and each row one person, so that the sum of the squared distances is least.
    return np.asarray(linear_sum_assignment(costs)[1], dtype=np.int64)


def link(columns: Sequence[ComparedColumn]) -> Floats:
    """The probability that the row matched with each person is hers: rows with equal cells cannot be distinguished."""
    released = np.stack([column.masked for column in columns], axis=1)
    hits = []
    for person, row in enumerate(match(columns).tolist()):
        # Step 3: a hit if the matched row equals the person's own, shared by all rows that equal it.
        equal = (released == released[person]).all(axis=1)
        hits.append(equal[row] / equal.sum())
    return np.array(hits, dtype=np.float64)
