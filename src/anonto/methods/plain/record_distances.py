"""Distances of the records of a grouping space, column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs
    from anonto.search.arrays import SpaceArrays
    from anonto.search.space import GroupingSpace


Point = tuple["Floats", "Ints"]
"""A record, or the middle of some: its numbers and its values."""


def distances_to(space: GroupingSpace, point: Point) -> Floats:
    """The distance of each record to a point, as a whole number of steps of 10⁻⁹, so that ties are exact."""
    total = contributions(space, point).sum(axis=0)
    return np.asarray(np.rint((np.sqrt(total) if space.arrays.squared else total) * 1e9))


def contributions(space: GroupingSpace, point: Point) -> Floats:
    """Columns × records: what each column adds to the distance of a record to a point."""
    arrays, (numbers, values) = space.arrays, point
    parts = np.zeros((numbers.size + values.size, space.n_records))
    for column, number in enumerate(numbers):
        own = arrays.numbers[:, column]
        difference = np.abs(own - number)
        one_missing = np.isnan(own) != np.isnan(number)
        gap = np.where(one_missing, arrays.gaps[column], 0.0)
        parts[column] = np.where(np.isnan(difference), gap, difference**2 if arrays.squared else difference)
    for column, value in enumerate(values):
        parts[numbers.size + column] = table_of(arrays, column)[value, arrays.codes[:, column]]
    return parts


def table_of(arrays: SpaceArrays, column: int) -> Floats:
    """Contributions of all pairs of values of a nominal column."""
    start, width = int(arrays.starts[column]), int(arrays.widths[column])
    if start < 0:
        return np.asarray(arrays.weights[column] * (1.0 - np.eye(width)))
    return arrays.tables[start : start + width**2].reshape(width, width)


def record(space: GroupingSpace, number: int) -> Point:
    """A record as a point."""
    return space.arrays.numbers[number], space.arrays.codes[number]


def middle_of(space: GroupingSpace, rows: Longs) -> Point:
    """The mean of each number column, and of each nominal one the value with the least summed distance to the rows.

    Of values with equal sums the one that comes first in the rows.
    """
    arrays = space.arrays
    numbers = np.full(arrays.numbers.shape[1], np.nan)
    for column in range(numbers.size):
        present = arrays.numbers[rows, column][~np.isnan(arrays.numbers[rows, column])]
        numbers[column] = present.sum() / present.size if present.size else np.nan
    values = np.empty(arrays.widths.size, dtype=np.int32)
    for column in range(values.size):
        own = arrays.codes[rows, column]
        sums = table_of(arrays, column)[:, own].sum(axis=1)[own]
        values[column] = own[np.argmax(sums <= sums.min() + own.size * 1e-12)]
    return numbers, values
