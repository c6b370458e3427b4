"""The columns of microaggregation in the scale of the S-distance.

Numbers and ranks are in units in which squared differences add up, distances of concepts have a weight: the variance of
a pair over that of the column (`anonto.stats.records`). Groups are formed by these distances; refining looks at squared
ones, because that is what a release loses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.value_space import NumericSpace, TextSpace
from anonto.methods.grouping import NominalPart, NumberPart, space_of
from anonto.stats.pair_variance import numbers_in_pair_units, weight_of_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes, Floats
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.grouping import GroupingSpace


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScaledColumn:
    """Contribution of a column's distinct values to the S-distance."""

    value_space: ValueSpace
    units: Floats | None
    """Each value as a number; None for a nominal column."""
    distances: Floats | None
    """All pairs of values of a nominal column; None where two values are equal or not."""
    weight: float
    """Factor of these distances."""
    weight_of_squares: float
    """Factor of their squares, so that two records have 1 on average as well."""

    def part(self, codes: Codes, *, squares: bool = False) -> NumberPart | NominalPart:
        """The column of some records, with the distances of concepts squared where that is asked for."""
        if self.units is not None:
            return NumberPart(self.units[codes])
        distances = self.distances**2 if squares and self.distances is not None else self.distances
        weight = self.weight_of_squares if squares else self.weight
        return NominalPart(np.ascontiguousarray(codes), self.value_space.counts.size, distances, weight)


def scale_column(value_space: ValueSpace, scale: str, *, by_meaning: bool) -> ScaledColumn:
    """A column in its scale.

    Args:
        value_space: The column.
        scale: ``"mean"`` or ``"paper"``.
        by_meaning: Whether distances of concepts count, or only whether two values are equal.
    """
    if isinstance(value_space, NumericSpace):
        return ScaledColumn(value_space, numbers_in_pair_units(value_space.numbers, value_space.counts), None, 1.0, 1.0)
    counts = value_space.counts
    if not by_meaning or isinstance(value_space, TextSpace):
        weight = weight_of_pairs(None, counts, scale)
        return ScaledColumn(value_space, None, None, weight, weight)
    distances = value_space.distances()
    weight, of_squares = (weight_of_pairs(table, counts, scale) for table in (distances, distances**2))
    return ScaledColumn(value_space, None, distances, weight, of_squares)


def s_space(
    columns: Sequence[ScaledColumn], codes: Codes, names: Sequence[str], *, squares: bool = False
) -> GroupingSpace:
    """Records that have all of some columns, in the space of the S-distance, or with distances of concepts squared."""
    parts = [column.part(codes[:, place], squares=squares) for place, column in enumerate(columns)]
    return space_of(parts, squared=True, names=names)
