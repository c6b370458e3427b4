"""The arrays of the search tree, by name, as compiled loops take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs, SignedBytes, Singles

NUMBERS_ONLY, MISSING_ONLY, BOTH = 0, 1, 2
"""Whether all, none or some of the live records of a node have a number in a column."""


class SpaceArrays(NamedTuple):
    """Records and the distances of their columns."""

    numbers: Floats
    """Records × number columns, NaN where one is missing."""
    gaps: Floats
    """Contribution of a missing number against a present one, for each number column."""
    codes: Ints
    """Records × nominal columns."""
    tables: Floats
    """The distances of all nominal columns, table by table."""
    starts: Longs
    """Where the table of each nominal column starts; −1 if its values are only equal or different."""
    widths: Longs
    """Values of each nominal column."""
    weights: Floats
    """Contribution of two different values of a nominal column without a table."""
    squared: bool
    """True if differences of numbers are squared and the distance is the root of the sum."""


class ValueArrays(NamedTuple):
    """The nested blocks of values of all nominal columns, column by column (see `value_kernels`)."""

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
    """The number of the bounds of each block."""
    diameters: Floats
    n_kept: Longs
    """Blocks of each column whose bounds are kept."""
    bound_starts: Longs
    nearest: Singles
    farthest: Singles


class TreeArrays(NamedTuple):
    """A binary tree over records in an order of its own, in which the records of a node are consecutive."""

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
    """The lowest number of a live record in the node."""
    slots: Ints
    """Nodes × nominal columns: the only value of the node's records, or −1 − the number of their block's bounds."""
    alive: Ints
    """Live records of each node."""
    low: Floats
    high: Floats
    """Nodes × number columns: the range of the live records."""
    holes: SignedBytes
    """Nodes × number columns: which live records have numbers; without columns if no number is missing anywhere."""
    depth: int


class SearchTree(NamedTuple):
    """A tree over records, and the records in its order."""

    space: SpaceArrays
    values: ValueArrays
    nodes: TreeArrays
