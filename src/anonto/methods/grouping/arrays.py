"""The arrays that the compiled loops of grouping work on, by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bytes = NDArray[np.int8]
Bools = NDArray[np.bool_]

NUMBERS_ONLY, MISSING_ONLY, BOTH = 0, 1, 2
"""Whether the live records of a node have numbers in a column, or none, or some have."""


class SpaceArrays(NamedTuple):
    """Records and the distances of their columns."""

    numbers: Floats
    """Records × number columns, NaN where one is missing."""
    gaps: Floats
    """What a missing number contributes against a present one, for each number column."""
    codes: Ints
    """Records × nominal columns."""
    tables: Floats
    """The distances of all nominal columns, one table behind the other."""
    starts: Longs
    """Where the table of each nominal column starts; −1 where two values are equal or not."""
    widths: Longs
    """Values of each nominal column."""
    weights: Floats
    """What two different values of a nominal column without a table contribute."""
    squared: bool
    """Whether differences of numbers are squared and the distance is the root of the sum."""


class ValueArrays(NamedTuple):
    """The blocks of values of all nominal columns, one column behind the other."""

    starts: Longs
    """Where the blocks of each column start."""
    place_starts: Longs
    """Where the places of each column's values start."""
    places: Ints
    first: Ints
    cut: Ints
    last: Ints
    left: Ints
    right: Ints
    kept: Ints
    """For each block where its bounds are."""
    diameters: Floats
    n_kept: Longs
    """Blocks of each column whose bounds are kept."""
    bound_starts: Longs
    nearest: Singles
    farthest: Singles


class TreeArrays(NamedTuple):
    """A binary tree over records in an order of its own; a node's records are side by side."""

    records: Ints
    """The record at each place."""
    leaves: Ints
    """The leaf that holds each place."""
    begin: Ints
    end: Ints
    child: Ints
    """The first of a node's two children, which have successive numbers; −1 for a leaf."""
    parent: Ints
    least: Ints
    """The lowest number of a record in the node."""
    slots: Ints
    """Nodes × nominal columns: the one value of the node's records, or −1 − the place of their block's bounds."""
    alive: Ints
    """Live records of each node."""
    low: Floats
    high: Floats
    """Nodes × number columns: between which numbers the live records lie."""
    holes: Bytes
    """Whether numbers of the live records are missing; of no columns where none is missing anywhere."""
    depth: int
