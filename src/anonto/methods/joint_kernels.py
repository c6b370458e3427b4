"""Compiled loop of joint rank swapping: rows, their intervals, and the exchange of cells."""

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

Bools = NDArray[np.bool_]
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
    """Rows of the table, those of a distinct record together, and what is left of them to exchange."""

    firsts: Longs
    """Where the rows of a record begin."""
    record_of: Ints
    rows: Ints
    """The rows of each record, live ones first: those with a free cell."""
    places: Ints
    """For each row where it stands there."""
    live: Longs
    """For each record how many rows are live."""
    free: Bools
    """Rows × columns: whether a cell has a value and has not been exchanged."""
    n_free: Ints
    stamps: Ints
    """The last turn in which a row was drawn into an interval."""


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
    released: Ints,
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
        released: Rows × columns: the released cells.
        untouched: For each column the cells that had no partner.
        generator: For all draws.

    Returns:
        Why it stopped.
    """
    dead = np.empty(codes.shape[1] + 1, np.int64)
    while True:
        reference = state[REFERENCE]
        record = rows.record_of[reference]
        if not ask(record, points, metric, work.asked):
            return LOOK_UP
        state[TURN] += 1
        _surround(reference, k, state[TURN], points, metric, near, reaches, rows, work)
        dead[0], n_dead, met = reference, 1, False
        for column in range(codes.shape[1]):
            if not rows.free[reference, column]:
                continue
            partner = _partner(column, reference, tries, state[TURN], near, rows, work, generator)
            rows.free[reference, column] = False
            if partner < 0:
                untouched[column] += 1
                continue
            met = True
            released[reference, column] = codes[rows.record_of[partner], column]
            released[partner, column] = codes[record, column]
            rows.free[partner, column] = False
            rows.n_free[partner] -= 1
            if rows.n_free[partner] == 0:
                dead[n_dead] = partner
                n_dead += 1
        state[ALONE] += not met
        for row in dead[:n_dead]:
            _bury(row, state, far, rows)
        if state[LIVE_ROWS] == 0:
            return FINISHED
        n_blocks = farthest(work.asked, points, metric, far, work.stack, work.tied)
        place = generator.integers(0, work.tied[2 * n_blocks - 1])
        state[REFERENCE] = _row_at(place, work.tied, n_blocks, far, rows)
        if state[LIVE_RECORDS] <= state[REGROW_AT]:
            return REGROW


@njit(cache=True, nogil=True)
def _row_at(place: int, blocks: Longs, n_blocks: int, counted: Counted, rows: Rows) -> int:
    """The row at a place of blocks that follow each other."""
    record, which = record_at(place, blocks, n_blocks, counted)
    return int(rows.rows[rows.firsts[record] + which])


@njit(cache=True, nogil=True)
def _bury(row: int, state: Longs, far: Counted, rows: Rows) -> None:
    """Take a row without free cells from those that can become a reference."""
    record = rows.record_of[row]
    rows.live[record] -= 1
    place, last = rows.places[row], rows.firsts[record] + rows.live[record]
    other = rows.rows[last]
    rows.rows[place], rows.rows[last] = other, row
    rows.places[other], rows.places[row] = place, last
    state[LIVE_ROWS] -= 1
    state[LIVE_RECORDS] -= rows.live[record] == 0
    node = far.tree.leaf_of[record]
    while node >= 0:
        far.of_node[node] -= 1
        node = far.tree.parents[node]


# ------------------------------------------------------------------------------------------------ intervals


@njit(cache=True, nogil=True)
def _surround(
    reference: int,
    k: int,
    turn: int,
    points: Points,
    metric: Metric,
    near: Counted,
    reaches: Longs,
    rows: Rows,
    work: Work,
) -> None:
    """Find the interval of a row: what is surely inside, what is tied for the last places, and how many these are."""
    record, interval = rows.record_of[reference], work.interval
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
    rows.stamps[reference] = turn


@njit(cache=True, nogil=True)
def _partner(
    column: int,
    reference: int,
    tries: int,
    turn: int,
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
            row = _draw(turn, near, rows, work, generator)
            work.drawn[interval[DRAWN]] = row
            interval[DRAWN] += 1
        if rows.free[row, column]:
            return row
    if interval[DRAWN] < interval[WANTED]:
        _draw_all(turn, near, rows, work, generator)
    found = _listed(column, reference, -1, near, rows, work)
    if found == 0:
        return -1
    return _listed(column, reference, int(generator.integers(0, found)), near, rows, work)


@njit(cache=True, nogil=True)
def _draw(turn: int, near: Counted, rows: Rows, work: Work, generator: np.random.Generator) -> int:
    """A row of the tied ones that was not drawn in this turn."""
    while True:
        place = generator.integers(0, work.interval[TIED_ROWS])
        row = _row_at(place, work.tied, work.interval[TIED], near, rows)
        if rows.stamps[row] != turn:
            rows.stamps[row] = turn
            return row


@njit(cache=True, nogil=True)
def _draw_all(turn: int, near: Counted, rows: Rows, work: Work, generator: np.random.Generator) -> None:
    """Draw all tied rows that are wanted; where these are more than half, draw those left out instead."""
    interval, drawn, tree = work.interval, work.drawn, near.tree
    if 2 * interval[WANTED] <= interval[TIED_ROWS]:
        while interval[DRAWN] < interval[WANTED]:
            drawn[interval[DRAWN]] = _draw(turn, near, rows, work, generator)
            interval[DRAWN] += 1
        return
    for _ in range(interval[TIED_ROWS] - interval[REFERENCE_TIED] - interval[WANTED]):
        _draw(turn, near, rows, work, generator)
    for i in range(interval[TIED]):
        begin, end = span(work.tied[2 * i], tree)
        for record in tree.order[begin:end]:
            for row in rows.rows[rows.firsts[record] : rows.firsts[record] + near.of_record[record]]:
                if rows.stamps[row] != turn:
                    rows.stamps[row] = turn
                    drawn[interval[DRAWN]] = row
                    interval[DRAWN] += 1


@njit(cache=True, nogil=True)
def _listed(column: int, reference: int, wanted: int, near: Counted, rows: Rows, work: Work) -> int:
    """How many rows of a wholly drawn interval are free in a column; or the row of them that is wanted, from 0."""
    found = 0
    for row in work.drawn[: work.interval[DRAWN]]:
        if rows.free[row, column]:
            if found == wanted:
                return int(row)
            found += 1
    for i in range(work.interval[INSIDE]):
        begin, end = span(work.inside[2 * i], near.tree)
        for record in near.tree.order[begin:end]:
            for row in rows.rows[rows.firsts[record] : rows.firsts[record] + near.of_record[record]]:
                if row != reference and rows.free[row, column]:
                    if found == wanted:
                        return int(row)
                    found += 1
    return found
