r"""Method-aware linkage, person by person: the same hits as `anonto.attacks.compute.method_aware_linkage`.

$$C(i) = \{\, j : \text{every constraint allows the cells of } x'_j \text{ for those of } x_i \,\}, \qquad
\text{link to } \arg\min_{j \in C(i)} d^2(x_i, x'_j)$$

A constraint is about some columns: equality where no step masks them, the support of the method where one swaps.

Reference: Nin, Herranz, Torra, Data & Knowledge Engineering 64 (2008).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.attacks.plain.distance_linkage import TIE, squared_distances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools, Floats
    from anonto.attacks.compute.constraints import Constraint
    from anonto.encoding.comparison import ComparedColumn


def candidates_of(constraints: Sequence[Constraint], person: int) -> Bools:
    """Mask of the released rows that could be a person's.

    Args:
        constraints: Constraints of the columns that the intruder knows.
        person: The row of the person in the original.
    """
    could_be: Bools = np.ones(constraints[0].released[0].size, dtype=np.bool_)
    for constraint in constraints:
        # Step 1: the numbers of released cells that the constraint allows for the person's cells …
        allowed = constraint.allowed_rows(constraint.persons[[person]])[0]
        # Step 2: … and the rows that have one of these numbers in each part that is looked up separately.
        begin = 0
        for numbers, width in zip(constraint.released, constraint.widths, strict=True):
            could_be &= allowed[begin : begin + width][numbers]
            begin += width
    return could_be


def link(columns: Sequence[ComparedColumn], constraints: Sequence[Constraint]) -> Floats:
    """The probability that the candidate taken for each person's row is hers.

    Args:
        columns: The columns that the intruder knows of a person; each of their rows is a row of the tables.
        constraints: Constraints of these columns.
    """
    hits = []
    for person in range(columns[0].original.size):
        could_be = candidates_of(constraints, person)
        # Step 3: the intruder takes the nearest candidate, or one of several at random.
        squared = np.where(could_be, squared_distances(columns, person), np.inf)
        nearest = could_be & (squared <= squared.min() * (1.0 + TIE))
        # Step 4: a hit if it is the person's own row, whose number is the same in both tables.
        hits.append(nearest[person] / max(nearest.sum(), 1))
    return np.array(hits, dtype=np.float64)
