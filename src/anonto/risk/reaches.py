"""What swaps of some known columns leave possible where other known columns are masked otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.risk.relations import relations_of
from anonto.threads import slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.risk.relations import Relation
    from anonto.risk.seen_step import SeenStep

    Longs = NDArray[np.int64]

PERSONS_AT_ONCE = 128


def reaches_of(names: Sequence[str], swaps: Sequence[SeenStep], persons: Longs) -> list[Relation]:
    """What swaps of known columns allow; of a swap that some person's own record contradicts, nothing."""
    out: list[Relation] = []
    for step in swaps:
        if not set(step.names) & set(names):
            continue
        for may_stay in (False, True):
            relations = relations_of(step, names, may_stay=may_stay)
            if all(_holds(relation, persons) for relation in relations):
                out += relations
                break
    return out


def _holds(relation: Relation, persons: Longs) -> bool:
    """Whether a relation allows the own records of all persons."""
    for part in slices(0, persons.size, PERSONS_AT_ONCE):
        rows = persons[part]
        allowed = relation.allowed(relation.persons[rows])
        if not all(allowed[np.arange(rows.size), numbers[rows]].all() for numbers in numbers_in(relation)):
            return False
    return True


def numbers_in(relation: Relation) -> list[Longs]:
    """For each part of a relation where each released row is found in what is allowed."""
    begins = np.cumsum([0, *relation.widths])
    return [begin + numbers for begin, numbers in zip(begins, relation.released, strict=False)]
