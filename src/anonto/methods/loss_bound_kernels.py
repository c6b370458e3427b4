"""The compiled loops of the bound on the loss of any groups: which centres are worth opening at given prices.

The steps named below are those of the plain version, `anonto.methods.plain.loss_bound`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Ints, Longs


PATIENCE = 8
"""Steps without a larger bound after which steps become shorter."""
SHORTER = 0.6
"""The factor by which they do."""
MEMORY = 0.6
"""The share of the last direction in the next one."""


class ColumnCosts(NamedTuple):
    """Lower bound on the cost of a value of a column in each of its cells."""

    codes: Ints
    """The value of each record."""
    costs: Floats
    """Values × cells."""
    nearest: Ints
    """The cells of each value in the order of their costs."""
    rest: float
    """The least that the columns after this one can add; 0 or less."""


class Cells(NamedTuple):
    """Cells that could be worth opening, and the records near each."""

    offsets: Longs
    """Where the records of each cell start, and the end of all."""
    records: Ints
    costs: Floats
    """Lower bound on the cost of each record there."""


@njit(cache=True, nogil=True)
def divide_cells(
    cells: Cells, column: ColumnCosts, counts: Longs, ceilings: Floats, margin: float, k: int, most: int
) -> tuple[Cells, bool]:
    """The cells divided by those of one more column, and whether these are all there are.

    Left out are cells without a negative reduced cost, even where each price is at its ceiling.

    Args:
        cells: Cells of the columns before.
        column: One more column.
        counts: Rows of each record.
        ceilings: The largest price of each record.
        margin: Records that cost more than their ceiling and this are not listed.
        k: The least number of rows in a cell.
        most: The largest number of listed records.
    """
    records, costs = np.empty(1 << 12, np.int32), np.empty(1 << 12)
    offsets, n_cells, n_listed = np.zeros(1 << 8, np.int64), 0, 0
    reduced = np.empty(counts.size)
    tried, seen = np.empty(column.costs.shape[1], np.int32), np.zeros(column.costs.shape[1], np.bool_)
    for cell in range(cells.offsets.size - 1):
        begin, end = cells.offsets[cell], cells.offsets[cell + 1]
        # Step 1: the cells of the column in which a record costs less than its ceiling.
        for candidate in tried[: candidates_below(cells, begin, end, column, ceilings, tried, seen)]:
            if n_listed + end - begin > records.size:
                records = np.concatenate((records, np.empty(records.size + end - begin, np.int32)))
                costs = np.concatenate((costs, np.empty(records.size - costs.size)))
            # Step 2: the records that are near there too.
            near = 0
            for i in range(begin, end):
                record = cells.records[i]
                cost = cells.costs[i] + column.costs[column.codes[record], candidate]
                beyond = cost + column.rest - ceilings[record]
                if beyond < margin:
                    records[n_listed + near], costs[n_listed + near], reduced[near] = record, cost, beyond
                    near += 1
            # Step 3: the cell is left out if k rows cost too much.
            if reduced_cost(reduced[:near], records[n_listed : n_listed + near], counts, k, margin) >= 0.0:
                continue
            n_listed += near
            n_cells += 1
            if n_cells == offsets.size:
                offsets = np.concatenate((offsets, np.zeros(offsets.size, np.int64)))
            offsets[n_cells] = n_listed
            if n_listed > most:
                return Cells(offsets[: n_cells + 1], records[:n_listed], costs[:n_listed]), False
    return Cells(offsets[: n_cells + 1], records[:n_listed], costs[:n_listed]), True


@njit(cache=True, nogil=True)
def candidates_below(
    cells: Cells, begin: int, end: int, column: ColumnCosts, ceilings: Floats, tried: Ints, seen: Bools
) -> int:
    """How many cells of a column cost some record of a cell less than its ceiling.

    Args:
        cells: Cells of the columns before.
        begin: Where the records of the cell start.
        end: Where they end.
        column: The column.
        ceilings: The largest price of each record.
        tried: Filled with these cells.
        seen: For notes.
    """
    n_tried = 0
    seen[:] = False
    for i in range(begin, end):
        record = cells.records[i]
        value = column.codes[record]
        left = ceilings[record] - cells.costs[i] - column.rest
        for candidate in column.nearest[value]:
            if column.costs[value, candidate] >= left:
                break
            if not seen[candidate]:
                seen[candidate] = True
                tried[n_tried] = candidate
                n_tried += 1
    return n_tried


@njit(cache=True, nogil=True)
def reduced_cost(
    reduced: Floats, records: Ints, counts: Longs, k: int, margin: float, own: int = -1, limit: float = 0.0
) -> float:
    """The least sum of at least k rows, or any number that it is at least if that is not below a limit.

    Args:
        reduced: The cost minus the price of each listed record.
        records: The listed records.
        counts: Rows of all records.
        k: The least number of rows.
        margin: What a row costs that is not listed.
        own: A record that must be among them; −1 for none.
        limit: See above.
    """
    total, rows = 0.0, 0
    for i in range(reduced.size):
        if reduced[i] < 0.0 or records[i] == own:
            total += float(counts[records[i]] * reduced[i])
            rows += counts[records[i]]
    if rows >= k or total >= limit:
        return total
    # Rows that cost more than their price, the cheapest first, until there are k.
    positive = np.flatnonzero(reduced >= 0.0)
    for place in np.argsort(reduced[positive]):
        i = positive[place]
        if records[i] == own:
            continue
        taken = min(counts[records[i]], k - rows)
        total += float(taken * min(reduced[i], margin))
        rows += taken
        if rows == k or total >= limit:
            return total
    return float(total + (k - rows) * margin)


@njit(cache=True, nogil=True)
def open_cells(cells: Cells, counts: Longs, prices: Floats, margin: float, k: int, most: int, covered: Longs) -> float:
    """The sum of the most negative reduced costs; and how often each record is covered where these cells are open.

    Args:
        cells: All that could be open.
        counts: Rows of each record.
        prices: Of each record.
        margin: What a row costs that a cell does not list.
        k: The least number of rows in a cell.
        most: How many cells may be open.
        covered: Filled: the rows of each record in open cells.
    """
    n_cells = cells.offsets.size - 1
    worth = np.zeros(n_cells)
    reduced = np.empty(prices.size)
    for cell in range(n_cells):
        begin, end = cells.offsets[cell], cells.offsets[cell + 1]
        for i in range(begin, end):
            reduced[i - begin] = cells.costs[i] - prices[cells.records[i]]
        worth[cell] = reduced_cost(reduced[: end - begin], cells.records[begin:end], counts, k, margin)
    covered[:] = 0
    total = 0.0
    negative = np.flatnonzero(worth < 0.0)
    for place in np.argsort(worth[negative], kind="mergesort")[:most]:
        cell = negative[place]
        total += worth[cell]
        begin, end = cells.offsets[cell], cells.offsets[cell + 1]
        for i in range(begin, end):
            reduced[i - begin] = cells.costs[i] - prices[cells.records[i]]
        cover(reduced[: end - begin], cells.records[begin:end], counts, k, covered)
    return total


@njit(cache=True, nogil=True)
def cover(reduced: Floats, records: Ints, counts: Longs, k: int, covered: Longs) -> None:
    """Count the rows of each record that make a reduced cost."""
    rows = 0
    for i in range(reduced.size):
        if reduced[i] < 0.0:
            covered[records[i]] += counts[records[i]]
            rows += counts[records[i]]
    if rows >= k:
        return
    positive = np.flatnonzero(reduced >= 0.0)
    for place in np.argsort(reduced[positive], kind="mergesort"):
        i = positive[place]
        taken = min(counts[records[i]], k - rows)
        covered[records[i]] += taken
        rows += taken
        if rows == k:
            return


@njit(cache=True, nogil=True)
def raise_prices(
    cells: Cells, counts: Longs, prices: Floats, ceilings: Floats, margin: float, k: int, share: float
) -> None:
    """Raise one price after the other, by a share of what no cell gets a negative reduced cost by.

    Args:
        cells: All that could be open at these ceilings.
        counts: Rows of each record.
        prices: Of each record; changed.
        ceilings: See above.
        margin: What a row costs that a cell does not list.
        k: The least number of rows in a cell.
        share: See above.
    """
    n_cells = cells.offsets.size - 1
    cell_of = np.empty(cells.records.size, np.int64)
    for cell in range(n_cells):
        cell_of[cells.offsets[cell] : cells.offsets[cell + 1]] = cell
    entries = np.argsort(cells.records, kind="mergesort")
    ends = np.searchsorted(cells.records[entries], np.arange(counts.size + 1))
    reduced = np.empty(counts.size)
    for record in range(counts.size):
        # Step 4: the least that a group with this record loses beyond its prices, in any cell.
        most = (ceilings[record] - prices[record]) * counts[record]
        for entry in entries[ends[record] : ends[record + 1]]:
            begin, end = cells.offsets[cell_of[entry]], cells.offsets[cell_of[entry] + 1]
            for i in range(begin, end):
                reduced[i - begin] = cells.costs[i] - prices[cells.records[i]]
            least = reduced_cost(reduced[: end - begin], cells.records[begin:end], counts, k, margin, record, most)
            most = min(most, max(least, 0.0))
        prices[record] += share * most / counts[record]


@njit(cache=True, nogil=True)
def ascend(
    cells: Cells, counts: Longs, prices: Floats, limits: tuple[Floats, Floats], k: int, most: int, ascent: Floats
) -> None:
    """Move the prices, which stay below their ceilings, to where the bound is larger.

    Args:
        cells: All that could be open at these ceilings.
        counts: Rows of each record.
        prices: The best prices so far; changed if better ones are found.
        limits: Where the search starts, and the ceilings.
        k: The least number of rows in a cell.
        most: How many cells may be open.
        ascent: The bound so far, a loss that it cannot pass, the length of a step, the number of steps, and what a row
            costs that a cell does not list; the bound and the length are changed.
    """
    best, target, length, n_steps, margin = ascent[0], ascent[1], ascent[2], int(ascent[3]), ascent[4]
    start, ceilings = limits
    now, way = start.copy(), np.zeros(prices.size)
    covered = np.zeros(prices.size, np.int64)
    since = 0
    for _ in range(n_steps):
        # Step 5: the bound at these prices, and which records are covered more or less often than they occur.
        bound = open_cells(cells, counts, now, margin, k, most, covered)
        for record in range(now.size):
            bound += counts[record] * now[record]
        since += 1
        if bound > best:
            best, since = bound, 0
            prices[:] = now
        elif since == PATIENCE:
            length *= SHORTER
            since = 0
            now[:] = prices
            way[:] = 0.0
        # Step 6: a step towards prices at which each record is covered as often as it occurs.
        far, keep = 0.0, MEMORY if way.any() else 0.0
        for record in range(now.size):
            way[record] = keep * way[record] + (1.0 - keep) * (counts[record] - covered[record])
            far += way[record] * way[record]
        if far == 0.0:
            break
        factor = length * (target - bound) / far
        for record in range(now.size):
            now[record] = min(max(now[record] + factor * way[record], 0.0), ceilings[record])
    ascent[0], ascent[2] = best, length


@njit(cache=True, nogil=True)
def nearest_means(codes: Ints, counts: Longs, pair_costs: Floats, starts: Longs, sides: Longs, k: int) -> Floats:
    """The mean cost of the k − 1 cheapest pairs that a row of each record could make.

    Args:
        codes: Records × columns.
        counts: Rows of each record.
        pair_costs: The tables of all columns, values × values, one after the other.
        starts: Where the table of each column starts.
        sides: The values of each column.
        k: The least size of a group.
    """
    n = counts.size
    costs, means = np.empty(n), np.zeros(n)
    for one in range(n):
        costs[:] = 0.0
        for column in range(codes.shape[1]):
            row = starts[column] + codes[one, column] * sides[column]
            for other in range(n):
                costs[other] += pair_costs[row + codes[other, column]]
        some = np.arange(n)
        if n > k:
            some = np.flatnonzero(costs <= np.partition(costs, k - 1)[k - 1])
        left = k - 1
        for place in np.argsort(costs[some]):
            other = some[place]
            taken = min(left, counts[other] - (1 if other == one else 0))
            means[one] += taken * costs[other] / (k - 1)
            left -= taken
            if left == 0:
                break
    return means
