"""Compiled loops that grow the search tree over records, and shrink its boxes as records leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from anonto.search.arrays import BOTH, MISSING_ONLY, NUMBERS_ONLY, SpaceArrays, TreeArrays, ValueArrays

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs, SignedBytes

LEAF = 8
"""Largest number of records in a leaf."""


@njit(cache=True, nogil=True)
def grow(space: SpaceArrays, values: ValueArrays) -> TreeArrays:
    """Split the records where they differ most, numbers at their median and values by their blocks.

    A tree over numbers alone is complete: all leaves are on one level. Equi-depth swapping depends on that, because the
    order in which its search meets records decides how they are drawn.
    """
    numbers, codes = space.numbers, space.codes
    n, n_numeric, n_nominal = codes.shape[0], numbers.shape[1], codes.shape[1]
    records, leaves = np.arange(n).astype(np.int32), np.zeros(n, np.int32)
    most = max(2 * n - 1, 1)
    begin, end = np.zeros(most, np.int32), np.zeros(most, np.int32)
    child, parent = np.full(most, -1, np.int32), np.full(most, -1, np.int32)
    level = np.zeros(most, np.int32)
    slots = np.zeros((most, n_nominal), np.int32)
    blocks = np.zeros(n_nominal, np.int64)
    end[0] = n
    depth = 0
    while n_nominal == 0 and n > LEAF << depth:
        depth += 1
    # Split node after node; children are appended, so parents come first.
    made, node = 1, 0
    while node < made:
        low, high = begin[node], end[node]
        split = widest_column(space, values, records, low, high, blocks, slots[node])
        if high - low <= LEAF and level[node] >= depth:
            leaves[low:high] = node
        else:
            middle = (low + high) // 2
            if 0 <= split < n_numeric:
                partition_at(numbers, records, low, high, split, middle)
            elif split >= n_numeric:
                middle = partition_by_block(space, values, records, low, high, split - n_numeric, blocks)
            child[node] = made
            begin[made], end[made] = low, middle
            begin[made + 1], end[made + 1] = middle, high
            parent[made : made + 2] = node
            level[made : made + 2] = level[node] + 1
            made += 2
        node += 1
    tree = TreeArrays(
        records,
        leaves,
        begin[:made].copy(),
        end[:made].copy(),
        child[:made].copy(),
        parent[:made].copy(),
        np.full(made, n, np.int32),
        slots[:made].copy(),
        np.zeros(made, np.int32),
        np.full((made, n_numeric), np.inf),
        np.full((made, n_numeric), -np.inf),
        np.zeros((made, n_numeric if some_missing(numbers) else 0), np.int8),
        level[made - 1] + 1,
    )
    # Count the records of each node and fit its box, from the leaves up.
    placed, live = numbers[records], np.ones(n, np.int64)
    for node in range(made - 1, -1, -1):
        is_leaf = child[node] < 0
        inside = end[node] - begin[node] if is_leaf else tree.alive[child[node]] + tree.alive[child[node] + 1]
        tree.alive[node] = inside
        fit_box(tree, placed, live, node)
    return tree


@njit(cache=True, nogil=True)
def some_missing(numbers: Floats) -> bool:
    """Return whether a number is missing anywhere."""
    for record in range(numbers.shape[0]):
        for column in range(numbers.shape[1]):
            if np.isnan(numbers[record, column]):
                return True
    return False


@njit(cache=True, nogil=True)
def widest_column(
    space: SpaceArrays, values: ValueArrays, records: Ints, begin: int, end: int, blocks: Longs, slots: Ints
) -> int:
    """The column in which two records of a node may differ most, nominal ones after the numbers; −1 for none.

    Fills in the smallest block of each nominal column that has all values of the node, and the number of its bounds.
    """
    n_numeric = space.numbers.shape[1]
    most, split = 0.0, -1
    # Number columns: the range of the node.
    for column in range(n_numeric):
        spread = number_spread(space.numbers, records, begin, end, column, space.gaps[column], space.squared)
        if spread > most:
            most, split = spread, column
    # Nominal columns: the diameter of the smallest block that has all values of the node.
    for column in range(blocks.size):
        width = space.widths[column]
        blocks[column] = smallest_block(space.codes, records, begin, end, column, width, values)
        slots[column] = blocks[column]
        if blocks[column] < width:
            continue
        at = values.starts[column] + blocks[column] - width
        has_table = space.starts[column] >= 0
        slots[column] = -1 - (values.kept[at] if has_table else at)
        spread = values.diameters[at] if has_table else space.weights[column]
        if spread > most:
            most, split = spread, n_numeric + column
    return split


@njit(cache=True, nogil=True)
def number_spread(
    numbers: Floats, records: Ints, begin: int, end: int, column: int, gap: float, squared: bool
) -> float:
    """The largest contribution of a number column to the distance of two records of a node."""
    low, high, missing = np.inf, -np.inf, 0
    for i in range(begin, end):
        number = numbers[records[i], column]
        if np.isnan(number):
            missing += 1
        else:
            low, high = min(low, number), max(high, number)
    spread = 0.0
    if high > low:
        spread = (high - low) ** 2 if squared else high - low
    if 0 < missing < end - begin:
        spread = max(spread, gap)
    return spread


@njit(cache=True, nogil=True)
def smallest_block(
    codes: Ints, records: Ints, begin: int, end: int, column: int, width: int, values: ValueArrays
) -> int:
    """The value that all records of a node have, or the number of values + the smallest block that has all of them."""
    offset, start = values.place_starts[column], values.starts[column]
    lowest, highest = width, -1
    for i in range(begin, end):
        place = int(values.places[offset + codes[records[i], column]])
        lowest, highest = min(lowest, place), max(highest, place)
    if lowest >= highest:
        return int(codes[records[begin], column]) if begin < end else 0
    block = 0
    while True:
        cut = values.cut[start + block]
        if lowest < cut <= highest:
            return width + block
        half = values.left[start + block] if highest < cut else values.right[start + block]
        block = int(half) - width


@njit(cache=True, nogil=True)
def partition_at(numbers: Floats, records: Ints, begin: int, end: int, column: int, middle: int) -> None:
    """Quickselect: reorder records so that none before the middle has a larger number than any from it on.

    Missing numbers count as lowest.
    """
    low, high = begin, end - 1
    while low < high:
        # Hoare's partition around the number in the middle; then go on in the part with the middle place.
        pivot = number_or_lowest(numbers, records[(low + high) // 2], column)
        i, j = low, high
        while i <= j:
            while number_or_lowest(numbers, records[i], column) < pivot:
                i += 1
            while number_or_lowest(numbers, records[j], column) > pivot:
                j -= 1
            if i <= j:
                records[i], records[j] = records[j], records[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(cache=True, nogil=True)
def number_or_lowest(numbers: Floats, record: int, column: int) -> float:
    """A number, minus infinity where it is missing."""
    number = numbers[record, column]
    return -np.inf if np.isnan(number) else number


@njit(cache=True, nogil=True)
def partition_by_block(
    space: SpaceArrays, values: ValueArrays, records: Ints, begin: int, end: int, column: int, blocks: Longs
) -> int:
    """Reorder the records of a node so that the first half of its block comes first; return where the second begins."""
    codes, places, offset = space.codes, values.places, values.place_starts[column]
    cut = values.cut[values.starts[column] + blocks[column] - space.widths[column]]
    front = begin
    for i in range(begin, end):
        if places[offset + codes[records[i], column]] < cut:
            records[front], records[i] = records[i], records[front]
            front += 1
    return front


@njit(cache=True, nogil=True, inline="always")
def fit_box(tree: TreeArrays, numbers: Floats, live: Longs, node: int) -> bool:
    """Fit a node's box to its live records or its children's boxes; return whether that changed it."""
    lows, highs, holes, child = tree.low, tree.high, tree.holes, tree.child[node]
    # The lowest record of the node decides between equal distances.
    if child < 0:
        least = lowest_in_leaf(tree.records, tree.begin[node], tree.end[node], live)
    else:
        least = lowest_in_children(tree.least, tree.alive, child, live.size)
    changed = bool(least != tree.least[node])
    tree.least[node] = least
    # The range of each number column, and whether numbers are missing in it.
    for column in range(numbers.shape[1]):
        if child < 0:
            low, high, hole = box_of_leaf(tree.begin[node], tree.end[node], numbers, live, column)
        else:
            low, high, hole = box_of_children(lows, highs, holes, tree.alive, child, column)
        changed = changed or low != lows[node, column] or high != highs[node, column]
        lows[node, column], highs[node, column] = low, high
        if holes.shape[1] > 0:
            changed = changed or hole != holes[node, column]
            holes[node, column] = hole
    return changed


@njit(cache=True, nogil=True, inline="always")
def lowest_in_leaf(records: Ints, begin: int, end: int, live: Longs) -> int:
    """The lowest number of a live record in a leaf; the number of all records if there is none."""
    least = live.size
    for place in range(begin, end):
        if live[place] > 0:
            least = min(least, int(records[place]))
    return least


@njit(cache=True, nogil=True, inline="always")
def lowest_in_children(least: Ints, alive: Ints, child: int, none: int) -> int:
    """The lowest number of a live record in two nodes."""
    lowest = none
    for half in range(child, child + 2):
        if alive[half] > 0:
            lowest = min(lowest, int(least[half]))
    return lowest


@njit(cache=True, nogil=True, inline="always")
def box_of_leaf(begin: int, end: int, numbers: Floats, live: Longs, column: int) -> tuple[float, float, int]:
    """The range of the numbers of a leaf's live records, and whether all, none or some of them have one."""
    low, high, missing = np.inf, -np.inf, False
    for place in range(begin, end):
        if live[place] > 0:
            number = numbers[place, column]
            if np.isnan(number):
                missing = True
            else:
                low, high = min(low, number), max(high, number)
    return low, high, NUMBERS_ONLY if not missing else BOTH if low <= high else MISSING_ONLY


@njit(cache=True, nogil=True, inline="always")
def box_of_children(
    lows: Floats, highs: Floats, holes: SignedBytes, alive: Ints, child: int, column: int
) -> tuple[float, float, int]:
    """The same for two nodes together."""
    low, high, missing = np.inf, -np.inf, False
    for half in range(child, child + 2):
        if alive[half] > 0:
            low, high = min(low, lows[half, column]), max(high, highs[half, column])
            missing = missing or (holes.shape[1] > 0 and holes[half, column] != NUMBERS_ONLY)
    return low, high, NUMBERS_ONLY if not missing else BOTH if low <= high else MISSING_ONLY


@njit(cache=True, nogil=True)
def remove(tree: TreeArrays, numbers: Floats, live: Longs, dead: Ints, n_dead: int) -> None:
    """Remove records without live rows from all their nodes, and shrink the boxes around those that are left."""
    leaves, parents, alive = tree.leaves, tree.parent, tree.alive
    # All counts first: a box only encloses children with live records.
    for i in range(n_dead):
        node = leaves[dead[i]]
        while node >= 0:
            alive[node] -= 1
            node = parents[node]
    for i in range(n_dead):
        node = leaves[dead[i]]
        if i > 0 and node == leaves[dead[i - 1]]:
            continue
        while node >= 0 and (alive[node] == 0 or fit_box(tree, numbers, live, node)):
            node = parents[node]
