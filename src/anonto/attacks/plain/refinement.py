r"""Refinement, person by person: the same candidates and scale as `anonto.attacks.compute.refinement`.

$$r(G) = \arg\min_r \sum_{i \in G} d^2(x_i, x'_r), \qquad
C(i) = \{\, j : x'_j = x'_{r(G)} \text{ for a group } G \text{ that has the record } x_i \,\}$$

Reference: Cohen, USENIX Security (2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.attacks.plain.distance_linkage import TIE, squared_distances
from anonto.encoding.records import distinct_records
from anonto.encoding.value_space import NumericSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Bools
    from anonto.attacks.compute.encoded_step import EncodedStep
    from anonto.encoding.comparison import ComparedColumn


def candidates_of_all(columns: Sequence[ComparedColumn], step: EncodedStep) -> list[Bools]:
    """A mask for each person: the released rows of the groups that she can have been in.

    Args:
        columns: The columns of the step, all known; each of their rows is a row of the tables.
        step: The step, without strata.
    """
    method: Any = step.method
    # Step 1: the method forms the groups of the original again; it draws nothing.
    spaces, codes = [one.value_space for one in step.columns], [one.original for one in step.columns]
    records, record_of = distinct_records(step.names, spaces, codes, step.amounts)
    moves = method.fit(records, np.random.default_rng(0)).transitions.moves
    released = np.stack([column.masked for column in columns], axis=1)
    class_rows: dict[int, Bools] = {}
    for group in np.unique(moves.targets).tolist():
        # Step 2: the sum of the squared distances of the members to each released row, …
        sums = np.zeros(released.shape[0])
        for one in np.flatnonzero(moves.targets == group):
            person = int(np.flatnonzero(record_of == moves.sources[one])[0])
            sums += moves.amounts[one] * squared_distances(columns, person)
        # Step 3: … which is least for the rows of the group: they have its centre.
        class_rows[group] = sums <= sums.min() * (1.0 + TIE)
    # Step 4: the candidates of a person are the rows of all groups that have her record.
    groups_of = [moves.targets[moves.sources == record].tolist() for record in record_of]
    return [np.any([class_rows[group] for group in groups], axis=0) for groups in groups_of]


def mean_squared_distance(column: ComparedColumn) -> float:
    """The mean squared distance of two released rows in a column, over all pairs of rows with a value."""
    codes, value_space = column.masked[column.masked >= 0], column.value_space
    if isinstance(value_space, NumericSpace):
        numbers = value_space.numbers[codes] / (value_space.scale or 1.0)
        return float(np.mean((numbers[:, None] - numbers) ** 2))
    return float(np.mean(value_space.distances()[np.ix_(codes, codes)] ** 2))
