"""Compiled loops of joint rank swapping: rows, their intervals, the exchange of cells, and what becomes of rows.

The steps named below are those of the plain version, `anonto.methods.plain.rank_swap_joint`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anonto.methods.record_tree_kernels import (
    Asked,
    Counted,
    Metric,
    Points,
    ask,
    distance_to,
    farthest,
    reach,
    record_at,
    span,
    within,
)

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

FINISHED, REGROW, LOOK_UP = 0, 1, 2
"""Why the exchange stopped: all is done; few records of the tree of live ones are left; a row is not in the pool."""

REFERENCE, TURN, LIVE_ROWS, LIVE_RECORDS, REGROW_AT, ALONE, STATES = range(7)
"""Places in the state of the exchange."""

INSIDE, INSIDE_ROWS, TIED, TIED_ROWS, REFERENCE_TIED, WANTED, DRAWN, INTERVALS = range(8)
"""Places in an interval: blocks and rows surely inside; blocks and rows tied for the last places, whether the reference
is one of these rows, how many of them belong to the interval, and how many of those have been drawn."""


class Rows(NamedTuple):
    """Rows of the table, those of a distinct record together, and of these the live ones first: those with a free cell.

    A row is nothing but its place. Where rows change their order, what is known of them is exchanged.
    """

    firsts: Longs
    """Where the rows of a record begin, and the end of all."""
    live: Longs
    """For each record how many rows are live."""
    marks: Bytes
    """Bits: for each row and column whether the cell is free, that is, has a value and has not been exchanged; and for
    each row one more, whether it was drawn into the interval of this turn."""
    released: Bytes
    """Rows × bytes: the codes of the released cells, each with 1 added and its highest byte first; so rows are in the
    order of their codes where they are in that of their bytes."""
    columns: Longs
    """Where the bytes of a column begin there, and the end of all."""


class Work(NamedTuple):
    """Room to work in."""

    asked: Asked
    interval: Longs
    stack: Longs
    heap: Longs
    inside: Longs
    tied: Longs
    drawn: Longs


@njit(cache=True, nogil=True)
def exchange(
    k: int,
    tries: int,
    state: Longs,
    codes: Ints,
    points: Points,
    metric: Metric,
    near: Counted,
    reaches: Longs,
    far: Counted,
    rows: Rows,
    work: Work,
    untouched: Longs,
    generator: np.random.Generator,
) -> int:
    """Turn after turn, exchange the free cells of the reference and go on to the live row that is farthest from it.

    Args:
        k: Rows of an interval.
        tries: Random looks into an interval before its free cells are listed.
        state: What is kept between calls: the reference, the turns so far and how many rows are left.
        codes: Records × all columns.
        points: Records × the columns that count.
        metric: Their distances.
        near: Where intervals are looked for.
        reaches: For each record the distance of its k-th nearest row, −1 where unknown; empty where it may change.
        far: Where references are looked for: the live rows.
        rows: All rows.
        work: Room to work in.
        untouched: For each column the cells that had no partner.
        generator: For all draws.

    Returns:
        Why it stopped.
    """
    n_columns = codes.shape[1]
    dead = np.empty(n_columns + 1, np.int64)
    while True:
        reference = state[REFERENCE]
        record = _record_of(reference, rows)
        if not ask(record, points, metric, work.asked):
            return LOOK_UP
        state[TURN] += 1
        # Step 2: the interval has the k rows nearest to the reference.
        _surround(reference, record, k, points, metric, near, reaches, rows, work)
        # Step 3: each free cell goes to a row of the interval whose cell there is free too.
        dead[0], n_dead, met = reference, 1, False
        for column in range(n_columns):
            if not _has(reference, column, rows):
                continue
            partner = _partner(column, reference, tries, near, rows, work, generator)
            _unmark(reference, column, rows)
            if partner < 0:
                untouched[column] += 1
                continue
            met = True
            _release(reference, column, codes[_record_of(partner, rows), column], rows)
            _release(partner, column, codes[record, column], rows)
            _unmark(partner, column, rows)
            if not _has_any(partner, n_columns, rows):
                dead[n_dead] = partner
                n_dead += 1
        state[ALONE] += not met
        _unmark(reference, n_columns, rows)
        for row in work.drawn[: work.interval[DRAWN]]:
            _unmark(row, n_columns, rows)
        for i in range(n_dead):
            gone = _bury(dead[i], state, far, rows)
            for j in range(i + 1, n_dead):
                if dead[j] == gone:
                    dead[j] = dead[i]
        if state[LIVE_ROWS] == 0:
            return FINISHED
        # Step 4: the next reference is the farthest row that has a free cell.
        n_blocks = farthest(work.asked, points, metric, far, work.stack, work.tied)
        place = generator.integers(0, work.tied[2 * n_blocks - 1])
        state[REFERENCE] = _row_at(place, work.tied, n_blocks, far, rows)
        if state[LIVE_RECORDS] <= state[REGROW_AT]:
            return REGROW


@njit(cache=True, nogil=True)
def _row_at(place: int, blocks: Longs, n_blocks: int, counted: Counted, rows: Rows) -> int:
    """The row at a place of blocks that follow each other."""
    record, which = record_at(place, blocks, n_blocks, counted)
    return int(rows.firsts[record] + which)


@njit(cache=True, nogil=True)
def _record_of(row: int, rows: Rows) -> int:
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
def _bury(row: int, state: Longs, far: Counted, rows: Rows) -> int:
    """Take a row without free cells from those that can become a reference; return the one that is in its place now."""
    record = _record_of(row, rows)
    rows.live[record] -= 1
    last = rows.firsts[record] + rows.live[record]
    _change_places(row, last, rows)
    state[LIVE_ROWS] -= 1
    state[LIVE_RECORDS] -= rows.live[record] == 0
    node = far.tree.leaf_of[record]
    while node >= 0:
        far.of_node[node] -= 1
        node = far.tree.parents[node]
    return int(last)


# ------------------------------------------------------------------------------------------------ a row


@njit(cache=True, nogil=True)
def lay_out(codes: Ints, rows: Rows) -> None:
    """Give the rows of records their cells, and mark those with a value as free."""
    for record in range(codes.shape[0]):
        for row in range(rows.firsts[record], rows.firsts[record + 1]):
            for column in range(codes.shape[1]):
                _release(row, column, codes[record, column], rows)
                if codes[record, column] >= 0:
                    _mark(row, column, rows)


@njit(cache=True, nogil=True)
def _has(row: int, which: int, rows: Rows) -> bool:
    bit = row * rows.columns.size + which
    return bool((rows.marks[bit >> 3] >> (bit & 7)) & 1)


@njit(cache=True, nogil=True)
def _has_any(row: int, n_columns: int, rows: Rows) -> bool:
    n_free = 0
    for column in range(n_columns):
        n_free += _has(row, column, rows)
    return n_free > 0


@njit(cache=True, nogil=True)
def _mark(row: int, which: int, rows: Rows) -> None:
    bit = row * rows.columns.size + which
    rows.marks[bit >> 3] |= np.uint8(1 << (bit & 7))


@njit(cache=True, nogil=True)
def _unmark(row: int, which: int, rows: Rows) -> None:
    bit = row * rows.columns.size + which
    rows.marks[bit >> 3] &= np.uint8(255 - (1 << (bit & 7)))


@njit(cache=True, nogil=True)
def _release(row: int, column: int, code: int, rows: Rows) -> None:
    left = np.int64(code) + 1
    for place in range(rows.columns[column + 1] - 1, rows.columns[column] - 1, -1):
        rows.released[row, place] = left & 255
        left >>= 8


@njit(cache=True, nogil=True)
def _change_places(one: int, other: int, rows: Rows) -> None:
    for which in range(rows.columns.size):
        of_one, of_other = _has(one, which, rows), _has(other, which, rows)
        if of_one != of_other:
            if of_one:
                _unmark(one, which, rows)
                _mark(other, which, rows)
            else:
                _mark(one, which, rows)
                _unmark(other, which, rows)
    _exchange(one, other, rows.released)


@njit(cache=True, nogil=True)
def _exchange(one: int, other: int, released: Bytes) -> None:
    for place in range(released.shape[1]):
        of_one = released[one, place]
        released[one, place] = released[other, place]
        released[other, place] = of_one


# ------------------------------------------------------------------------------------------------ intervals


@njit(cache=True, nogil=True)
def _surround(
    reference: int,
    record: int,
    k: int,
    points: Points,
    metric: Metric,
    near: Counted,
    reaches: Longs,
    rows: Rows,
    work: Work,
) -> None:
    """Find the interval of a row: what is surely inside, what is tied for the last places, and how many these are."""
    interval = work.interval
    limit = -1 if reaches.size == 0 else int(reaches[record])
    if limit < 0:
        limit = reach(record, k, work.asked, points, metric, near, work.stack, work.heap)
        if reaches.size > 0:
            reaches[record] = limit
    n_inside, n_tied = within(limit, work.asked, points, metric, near, work.stack, work.inside, work.tied)
    own = distance_to(record, work.asked, points, metric)
    interval[INSIDE], interval[TIED] = n_inside, n_tied
    interval[INSIDE_ROWS] = work.inside[2 * n_inside - 1] if n_inside > 0 else 0
    interval[TIED_ROWS] = work.tied[2 * n_tied - 1] if n_tied > 0 else 0
    interval[REFERENCE_TIED] = own == limit
    interval[WANTED] = k - (interval[INSIDE_ROWS] - (own < limit)) if n_tied > 0 else 0
    interval[DRAWN] = 0
    _mark(reference, rows.columns.size - 1, rows)


@njit(cache=True, nogil=True)
def _partner(
    column: int,
    reference: int,
    tries: int,
    near: Counted,
    rows: Rows,
    work: Work,
    generator: np.random.Generator,
) -> int:
    """A random row of the interval whose cell is free; −1 for none.

    Rows tied for the last places are drawn when one of them is first looked at: every row of the interval, known yet or
    not, is as likely as any other to be looked at next.
    """
    interval = work.interval
    n_inside = interval[INSIDE_ROWS]
    width = n_inside + interval[WANTED]
    for _ in range(tries if width > 0 else 0):
        place = generator.integers(0, width)
        if place < n_inside:
            row = _row_at(place, work.inside, interval[INSIDE], near, rows)
            if row == reference:
                continue
        elif place - n_inside < interval[DRAWN]:
            row = int(work.drawn[place - n_inside])
        else:
            row = _draw(near, rows, work, generator)
            work.drawn[interval[DRAWN]] = row
            interval[DRAWN] += 1
        if _has(row, column, rows):
            return row
    if interval[DRAWN] < interval[WANTED]:
        _draw_all(near, rows, work, generator)
    found = _listed(column, reference, -1, near, rows, work)
    if found == 0:
        return -1
    return _listed(column, reference, int(generator.integers(0, found)), near, rows, work)


@njit(cache=True, nogil=True)
def _draw(near: Counted, rows: Rows, work: Work, generator: np.random.Generator) -> int:
    """A row of the tied ones that was not drawn in this turn."""
    drawn = rows.columns.size - 1
    while True:
        place = generator.integers(0, work.interval[TIED_ROWS])
        row = _row_at(place, work.tied, work.interval[TIED], near, rows)
        if not _has(row, drawn, rows):
            _mark(row, drawn, rows)
            return row


@njit(cache=True, nogil=True)
def _draw_all(near: Counted, rows: Rows, work: Work, generator: np.random.Generator) -> None:
    """Draw all tied rows that are wanted; where these are more than half, draw those left out instead.

    Then none is drawn any more in this turn, and no mark is needed.
    """
    interval, drawn, tree = work.interval, work.drawn, near.tree
    if 2 * interval[WANTED] <= interval[TIED_ROWS]:
        while interval[DRAWN] < interval[WANTED]:
            drawn[interval[DRAWN]] = _draw(near, rows, work, generator)
            interval[DRAWN] += 1
        return
    for _ in range(interval[TIED_ROWS] - interval[REFERENCE_TIED] - interval[WANTED]):
        _draw(near, rows, work, generator)
    for i in range(interval[TIED]):
        begin, end = span(work.tied[2 * i], tree)
        for record in tree.order[begin:end]:
            for row in range(rows.firsts[record], rows.firsts[record] + near.of_record[record]):
                if _has(row, rows.columns.size - 1, rows):
                    _unmark(row, rows.columns.size - 1, rows)
                else:
                    drawn[interval[DRAWN]] = row
                    interval[DRAWN] += 1


@njit(cache=True, nogil=True)
def _listed(column: int, reference: int, wanted: int, near: Counted, rows: Rows, work: Work) -> int:
    """How many rows of a wholly drawn interval are free in a column; or the row of them that is wanted, from 0."""
    found = 0
    for row in work.drawn[: work.interval[DRAWN]]:
        if _has(row, column, rows):
            if found == wanted:
                return int(row)
            found += 1
    for i in range(work.interval[INSIDE]):
        begin, end = span(work.inside[2 * i], near.tree)
        for record in near.tree.order[begin:end]:
            for row in range(rows.firsts[record], rows.firsts[record] + near.of_record[record]):
                if row != reference and _has(row, column, rows):
                    if found == wanted:
                        return int(row)
                    found += 1
    return found


# ------------------------------------------------------------------------------------------------ what becomes of rows


@njit(cache=True, nogil=True)
def put_in_order(released: Bytes, firsts: Longs) -> Longs:
    """Put the rows of each record in the order of their bytes; return how many different ones all records before have.

    The last number is that of all records.
    """
    before = np.zeros(firsts.size, np.int64)
    for record in range(firsts.size - 1):
        begin, end = firsts[record], firsts[record + 1]
        _sort(released[begin:end])
        n_different = end > begin
        for row in range(begin + 1, end):
            n_different += _compared(row - 1, row, released) != 0
        before[record + 1] = before[record] + n_different
    return before


@njit(cache=True, nogil=True)
def close_up(released: Bytes, firsts: Longs, ends: Longs) -> None:
    """Move the different rows of each record, which are in order, to the front of all.

    For each the place behind its last one is noted, counted within the record.
    """
    n_kept = 0
    for record in range(firsts.size - 1):
        begin, end = firsts[record], firsts[record + 1]
        for row in range(begin, end):
            if row + 1 == end or _compared(row, row + 1, released) != 0:
                released[n_kept] = released[row]
                ends[n_kept] = row + 1 - begin
                n_kept += 1


@njit(cache=True, nogil=True)
def _compared(one: int, other: int, released: Bytes) -> int:
    """−1 where one row is before another, 1 where it is behind it."""
    for place in range(released.shape[1]):
        if released[one, place] != released[other, place]:
            return -1 if released[one, place] < released[other, place] else 1
    return 0


@njit(cache=True, nogil=True)
def _sort(released: Bytes) -> None:
    """Put rows in the order of their bytes, in their own room."""
    size = released.shape[0]
    for top in range(size // 2 - 1, -1, -1):
        _sink(top, size, released)
    for last in range(size - 1, 0, -1):
        _exchange(0, last, released)
        _sink(0, last, released)


@njit(cache=True, nogil=True)
def _sink(place: int, size: int, released: Bytes) -> None:
    """Let a row of a heap, with the last one on top, sink below all that are behind it in the order."""
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _compared(below, below + 1, released) < 0:
            below += 1
        if _compared(place, below, released) >= 0:
            return
        _exchange(place, below, released)
        place = below
