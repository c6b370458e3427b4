"""Compiled loops of joint rank swapping (Algorithm 3): rows, intervals, the exchange of cells, released rows.

The steps named below are those of the plain version, `anonto.methods.plain.rank_swap_joint`, which names the paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.search.record_search_kernels import (
    RecordQuery,
    blocks_within,
    distance_to,
    farthest_blocks,
    kth_distance,
    start_query,
)
from anonto.search.record_tree_kernels import places_of_block, record_at

if TYPE_CHECKING:
    from anonto.arrays import Bytes, Ints, Longs
    from anonto.search.record_tree_kernels import CountedTree, Metric, Points

FINISHED, REGROW, LOOK_UP = 0, 1, 2
"""Why the exchange stopped: it is finished; the tree has few live records left; the pool lacks distances of a value."""

REFERENCE, TURN, LIVE_ROWS, LIVE_RECORDS, REGROW_AT, ALONE, STATES = range(7)
"""Places in the state of the exchange."""

INSIDE, INSIDE_ROWS, TIED, TIED_ROWS, REFERENCE_TIED, WANTED, DRAWN, INTERVALS = range(8)
"""Places in an interval: blocks and rows that are certainly inside; blocks and rows tied for the last places, whether
the reference is one of these rows, how many of them belong to the interval, and how many of those have been drawn."""


class JointRows(NamedTuple):
    """Rows of the table, by distinct record; of each record the live rows come first: those with a free cell.

    A row is only its place: rows change their order by exchanging their marks and released cells.
    """

    firsts: Longs
    """Where the rows of a record begin, and the end of all."""
    live: Longs
    """The number of live rows of each record."""
    marks: Bytes
    """Bits: for each row and column whether the cell is free, that is, has a value and has not been exchanged; and one
    more for each row: whether it was drawn into the interval of this turn."""
    released: Bytes
    """Rows × bytes: the codes of the released cells, each plus 1 and with its highest byte first, so that
    sorting rows by their bytes sorts them by their codes."""
    columns: Longs
    """Where the bytes of a column begin there, and the end of all."""


class JointSearch(NamedTuple):
    """The records, and the trees in which intervals and references are searched."""

    points: Points
    metric: Metric
    near: CountedTree
    """For intervals."""
    limits: Longs
    """The distance of each record's k-th nearest row, −1 if unknown; empty if it may change."""
    far: CountedTree
    """For references: the live rows."""


class Work(NamedTuple):
    """Arrays to work in."""

    tries: int
    """Random draws from an interval before its free cells are listed."""
    query: RecordQuery
    interval: Longs
    stack: Longs
    heap: Longs
    inside: Longs
    tied: Longs
    drawn: Longs


@njit(cache=True, nogil=True)
def exchange(
    k: int,
    state: Longs,
    codes: Ints,
    search: JointSearch,
    rows: JointRows,
    work: Work,
    untouched: Longs,
    generator: np.random.Generator,
) -> int:
    """Turn by turn, exchange the free cells of the reference, then go on to the live row farthest from it.

    Args:
        k: Rows of an interval.
        state: Kept between calls: the reference, the number of turns, and how many rows are left.
        codes: Records × all columns.
        search: The trees.
        rows: All rows.
        work: Arrays to work in.
        untouched: For each column the number of cells without a partner.
        generator: For all draws.

    Returns:
        Why it stopped.
    """
    n_columns = codes.shape[1]
    dead = np.empty(n_columns + 1, np.int64)
    while True:
        reference = state[REFERENCE]
        record = _record_of(reference, rows)
        if not start_query(record, search.points, search.metric, work.query):
            return LOOK_UP
        state[TURN] += 1
        # Step 2: the interval has the k rows nearest to the reference.
        _find_interval(reference, record, k, search, rows, work)
        # Step 3: each free cell goes to a row of the interval whose cell there is free too.
        dead[0], n_dead, met = reference, 1, False
        for column in range(n_columns):
            if not _is_marked(reference, column, rows):
                continue
            partner = _draw_partner(column, reference, search.near, rows, work, generator)
            _unmark(reference, column, rows)
            if partner < 0:
                untouched[column] += 1
                continue
            met = True
            _release(reference, column, codes[_record_of(partner, rows), column], rows)
            _release(partner, column, codes[record, column], rows)
            _unmark(partner, column, rows)
            if not _has_free_cell(partner, n_columns, rows):
                dead[n_dead] = partner
                n_dead += 1
        state[ALONE] += not met
        # Clear the marks of the turn, and take rows without a free cell out of the tree of references.
        _unmark(reference, n_columns, rows)
        for row in work.drawn[: work.interval[DRAWN]]:
            _unmark(row, n_columns, rows)
        for i in range(n_dead):
            moved = _retire(dead[i], state, search.far, rows)
            for j in range(i + 1, n_dead):
                if dead[j] == moved:
                    dead[j] = dead[i]
        if state[LIVE_ROWS] == 0:
            return FINISHED
        # Step 4: the next reference is the farthest row that has a free cell.
        n_blocks = farthest_blocks(
            work.query, search.points, search.metric.distances, search.far, work.stack, work.tied
        )
        place = generator.integers(0, work.tied[2 * n_blocks - 1])
        state[REFERENCE] = _row_at(place, work.tied, n_blocks, search.far, rows)
        if state[LIVE_RECORDS] <= state[REGROW_AT]:
            return REGROW


@njit(cache=True, nogil=True)
def _row_at(place: int, blocks: Longs, n_blocks: int, counted: CountedTree, rows: JointRows) -> int:
    """The row at a place among the rows of all blocks."""
    record, which = record_at(place, blocks, n_blocks, counted)
    return int(rows.firsts[record] + which)


@njit(cache=True, nogil=True)
def _record_of(row: int, rows: JointRows) -> int:
    """The record of a row."""
    first, last = 0, rows.live.size - 1
    while first < last:
        middle = (first + last + 1) // 2
        if rows.firsts[middle] <= row:
            first = middle
        else:
            last = middle - 1
    return first


@njit(cache=True, nogil=True)
def _retire(row: int, state: Longs, far: CountedTree, rows: JointRows) -> int:
    """Remove a row without free cells from the possible references; return the row that takes its place."""
    record = _record_of(row, rows)
    rows.live[record] -= 1
    last = rows.firsts[record] + rows.live[record]
    _swap_rows(row, last, rows)
    state[LIVE_ROWS] -= 1
    state[LIVE_RECORDS] -= rows.live[record] == 0
    node = far.tree.leaf_of[record]
    while node >= 0:
        far.of_node[node] -= 1
        node = far.tree.parents[node]
    return int(last)


# ------------------------------------------------------------------------------------------------ rows


@njit(cache=True, nogil=True)
def lay_out(codes: Ints, rows: JointRows) -> None:
    """Fill in the cells of all rows, and mark those with a value as free."""
    for record in range(codes.shape[0]):
        for row in range(rows.firsts[record], rows.firsts[record + 1]):
            for column in range(codes.shape[1]):
                _release(row, column, codes[record, column], rows)
                if codes[record, column] >= 0:
                    _mark(row, column, rows)


@njit(cache=True, nogil=True)
def _is_marked(row: int, which: int, rows: JointRows) -> bool:
    bit = row * rows.columns.size + which
    return bool((rows.marks[bit >> 3] >> (bit & 7)) & 1)


@njit(cache=True, nogil=True)
def _has_free_cell(row: int, n_columns: int, rows: JointRows) -> bool:
    n_free = 0
    for column in range(n_columns):
        n_free += _is_marked(row, column, rows)
    return n_free > 0


@njit(cache=True, nogil=True)
def _mark(row: int, which: int, rows: JointRows) -> None:
    bit = row * rows.columns.size + which
    rows.marks[bit >> 3] |= np.uint8(1 << (bit & 7))


@njit(cache=True, nogil=True)
def _unmark(row: int, which: int, rows: JointRows) -> None:
    bit = row * rows.columns.size + which
    rows.marks[bit >> 3] &= np.uint8(255 - (1 << (bit & 7)))


@njit(cache=True, nogil=True)
def _release(row: int, column: int, code: int, rows: JointRows) -> None:
    left = np.int64(code) + 1
    for place in range(rows.columns[column + 1] - 1, rows.columns[column] - 1, -1):
        rows.released[row, place] = left & 255
        left >>= 8


@njit(cache=True, nogil=True)
def _swap_rows(one: int, other: int, rows: JointRows) -> None:
    for which in range(rows.columns.size):
        of_one, of_other = _is_marked(one, which, rows), _is_marked(other, which, rows)
        if of_one != of_other:
            if of_one:
                _unmark(one, which, rows)
                _mark(other, which, rows)
            else:
                _mark(one, which, rows)
                _unmark(other, which, rows)
    _swap_bytes(one, other, rows.released)


@njit(cache=True, nogil=True)
def _swap_bytes(one: int, other: int, released: Bytes) -> None:
    for place in range(released.shape[1]):
        of_one = released[one, place]
        released[one, place] = released[other, place]
        released[other, place] = of_one


# ------------------------------------------------------------------------------------------------ intervals


@njit(cache=True, nogil=True)
def _find_interval(reference: int, record: int, k: int, search: JointSearch, rows: JointRows, work: Work) -> None:
    """Find the rows that are certainly in the interval of a row, and those tied for its last places (Definition 9)."""
    points, distances, near, limits = search.points, search.metric.distances, search.near, search.limits
    interval = work.interval
    limit = -1 if limits.size == 0 else int(limits[record])
    if limit < 0:
        limit = kth_distance(record, k, work.query, points, distances, near, work.stack, work.heap)
        if limits.size > 0:
            limits[record] = limit
    n_inside, n_tied = blocks_within(limit, work.query, points, distances, near, work.stack, work.inside, work.tied)
    # Rows at the k-th distance share the places that the nearer ones leave; the reference itself takes none.
    own = distance_to(record, work.query, points, distances)
    interval[INSIDE], interval[TIED] = n_inside, n_tied
    interval[INSIDE_ROWS] = work.inside[2 * n_inside - 1] if n_inside > 0 else 0
    interval[TIED_ROWS] = work.tied[2 * n_tied - 1] if n_tied > 0 else 0
    interval[REFERENCE_TIED] = own == limit
    interval[WANTED] = k - (interval[INSIDE_ROWS] - (own < limit)) if n_tied > 0 else 0
    interval[DRAWN] = 0
    _mark(reference, rows.columns.size - 1, rows)


@njit(cache=True, nogil=True)
def _draw_partner(
    column: int, reference: int, near: CountedTree, rows: JointRows, work: Work, generator: np.random.Generator
) -> int:
    """A random row of the interval whose cell is free; −1 for none.

    Rows tied for the last places are drawn only when one of them is needed: every row of the interval, drawn already or
    not, is equally likely to come next.
    """
    interval = work.interval
    n_inside = interval[INSIDE_ROWS]
    width = n_inside + interval[WANTED]
    # Draw from the whole interval first: most cells are free.
    for _ in range(work.tries if width > 0 else 0):
        place = generator.integers(0, width)
        if place < n_inside:
            row = _row_at(place, work.inside, interval[INSIDE], near, rows)
            if row == reference:
                continue
        elif place - n_inside < interval[DRAWN]:
            row = int(work.drawn[place - n_inside])
        else:
            row = _draw_tied(near, rows, work, generator)
            work.drawn[interval[DRAWN]] = row
            interval[DRAWN] += 1
        if _is_marked(row, column, rows):
            return row
    # Then list the free cells: count them, and take one at random.
    if interval[DRAWN] < interval[WANTED]:
        _draw_all_tied(near, rows, work, generator)
    found = _free_row(column, reference, -1, near, rows, work)
    if found == 0:
        return -1
    return _free_row(column, reference, int(generator.integers(0, found)), near, rows, work)


@njit(cache=True, nogil=True)
def _draw_tied(near: CountedTree, rows: JointRows, work: Work, generator: np.random.Generator) -> int:
    """A random tied row that was not drawn in this turn."""
    drawn = rows.columns.size - 1
    while True:
        place = generator.integers(0, work.interval[TIED_ROWS])
        row = _row_at(place, work.tied, work.interval[TIED], near, rows)
        if not _is_marked(row, drawn, rows):
            _mark(row, drawn, rows)
            return row


@njit(cache=True, nogil=True)
def _draw_all_tied(near: CountedTree, rows: JointRows, work: Work, generator: np.random.Generator) -> None:
    """Draw all tied rows that the interval needs; if it needs more than half of them, draw those left out instead.

    Nothing is drawn in this turn afterwards, so no mark is needed.
    """
    interval, drawn, tree = work.interval, work.drawn, near.tree
    # At most half of the tied rows are needed: draw these.
    if 2 * interval[WANTED] <= interval[TIED_ROWS]:
        while interval[DRAWN] < interval[WANTED]:
            drawn[interval[DRAWN]] = _draw_tied(near, rows, work, generator)
            interval[DRAWN] += 1
        return
    # Otherwise draw the rows that are left out …
    for _ in range(interval[TIED_ROWS] - interval[REFERENCE_TIED] - interval[WANTED]):
        _draw_tied(near, rows, work, generator)
    # … and take all that have no mark, which also clears the marks.
    for i in range(interval[TIED]):
        begin, end = places_of_block(work.tied[2 * i], tree)
        for record in tree.order[begin:end]:
            for row in range(rows.firsts[record], rows.firsts[record] + near.of_record[record]):
                if _is_marked(row, rows.columns.size - 1, rows):
                    _unmark(row, rows.columns.size - 1, rows)
                else:
                    drawn[interval[DRAWN]] = row
                    interval[DRAWN] += 1


@njit(cache=True, nogil=True)
def _free_row(column: int, reference: int, wanted: int, near: CountedTree, rows: JointRows, work: Work) -> int:
    """The wanted one, counted from 0, of the interval's rows that are free in a column; for −1 their number."""
    found = 0
    for row in work.drawn[: work.interval[DRAWN]]:
        if _is_marked(row, column, rows):
            if found == wanted:
                return int(row)
            found += 1
    for i in range(work.interval[INSIDE]):
        begin, end = places_of_block(work.inside[2 * i], near.tree)
        for record in near.tree.order[begin:end]:
            for row in range(rows.firsts[record], rows.firsts[record] + near.of_record[record]):
                if row != reference and _is_marked(row, column, rows):
                    if found == wanted:
                        return int(row)
                    found += 1
    return found


# ------------------------------------------------------------------------------------------------ released rows


@njit(cache=True, nogil=True)
def sort_rows(released: Bytes, firsts: Longs) -> Longs:
    """Sort the rows of each record by their bytes; return where its different ones would begin, and the end of all."""
    before = np.zeros(firsts.size, np.int64)
    for record in range(firsts.size - 1):
        begin, end = firsts[record], firsts[record + 1]
        _sort(released[begin:end])
        n_different = end > begin
        for row in range(begin + 1, end):
            n_different += _compare(row - 1, row, released) != 0
        before[record + 1] = before[record] + n_different
    return before


@njit(cache=True, nogil=True)
def keep_different_rows(released: Bytes, firsts: Longs, ends: Longs) -> None:
    """Move the different rows of each record, which are sorted, to the front of the array.

    ``ends`` gets for each the place after its last copy, counted within the record.
    """
    n_kept = 0
    for record in range(firsts.size - 1):
        begin, end = firsts[record], firsts[record + 1]
        for row in range(begin, end):
            if row + 1 == end or _compare(row, row + 1, released) != 0:
                released[n_kept] = released[row]
                ends[n_kept] = row + 1 - begin
                n_kept += 1


@njit(cache=True, nogil=True)
def _compare(one: int, other: int, released: Bytes) -> int:
    """−1 if the first row comes before the second, 1 if after, 0 if they are equal."""
    for place in range(released.shape[1]):
        if released[one, place] != released[other, place]:
            return -1 if released[one, place] < released[other, place] else 1
    return 0


@njit(cache=True, nogil=True)
def _sort(released: Bytes) -> None:
    """Sort rows by their bytes in place (heapsort)."""
    size = released.shape[0]
    for top in range(size // 2 - 1, -1, -1):
        _sink(top, size, released)
    for last in range(size - 1, 0, -1):
        _swap_bytes(0, last, released)
        _sink(0, last, released)


@njit(cache=True, nogil=True)
def _sink(place: int, size: int, released: Bytes) -> None:
    """Move a row of a heap below the rows that come after it; the last row in the order is on top."""
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _compare(below, below + 1, released) < 0:
            below += 1
        if _compare(place, below, released) >= 0:
            return
        _swap_bytes(place, below, released)
        place = below
