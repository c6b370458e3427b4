r"""The bound on the loss of any groups at given prices: the same as the compiled loops of `anonto.methods.loss_bound`.

With prices $u_x$, counts $n_x$ and $d^2(x, c)$ the cost of record x at the centre c,

$$\sum_x n_x u_x + \sum_{c \in C} v_c, \qquad
v_c = \min\Bigl(0, \min_{|G| \ge k} \sum_{x \in G} (d^2(x, c) - u_x)\Bigr),$$

where C are the centres with the least $v_c$, as many as there may be groups. Any prices give a bound.

No paper has the search for prices; the bound is the Lagrangian one of the paper on column generation.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats, Longs


def bound(tables: Sequence[Floats], codes: Codes, counts: Longs, prices: Floats, k: int, most_groups: int) -> float:
    """Lower bound on the loss of groups of at least k rows.

    Args:
        tables: Of each column values × candidates: the cost.
        codes: Records × columns.
        counts: Rows of each record.
        prices: Of each record.
        k: The least size of a group.
        most_groups: The largest number of groups.
    """
    rows = np.repeat(np.arange(counts.size), counts)
    worth = []
    for centre in itertools.product(*(range(table.shape[1]) for table in tables)):
        # Step 1: what each row costs there beyond its price.
        costs = sum(table[codes[:, place], centre[place]] for place, table in enumerate(tables))
        reduced = np.sort((costs - prices)[rows])
        # Step 2: the k cheapest rows, and all others that lower the sum.
        worth.append(min(0.0, float(reduced[:k].sum() + np.minimum(reduced[k:], 0.0).sum())))
    # Step 3: the best centres.
    return float(prices @ counts) + sum(sorted(worth)[:most_groups])
