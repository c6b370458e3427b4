r"""How much any groups of k or more must lose: a bound below the loss of microaggregation.

The loss of a group is the least sum, over all centres c, of what its records cost there: the squared S-distance to c, a
sum over the columns. Give each record x a price $u_x$. Whatever the groups are, their loss is

$$\sum_x u_x + \sum_G \sum_{x \in G} \bigl(d^2(x, c_G) - u_x\bigr)
\ge \sum_x u_x + \sum_{c \in C} \min\Bigl(0, \min_{|G| \ge k} \sum_{x \in G} (d^2(x, c) - u_x)\Bigr),$$

where C are the centres with the most negative terms, as many as there can be groups: $\lfloor n / k \rfloor$, or fewer
if fewer are allowed. Two groups with one centre are no loss as one group, so that no centre is needed twice. The inner
minimum takes all records that cost less than their price, and the cheapest others until there are k. Every choice of
prices gives a bound; subgradient steps, of a fixed number, look for prices that give a large one.

- **Concepts.** All candidates for a centre are looked at (`anonto.methods.aggregation`). So the bound also holds for
  centres of the sample, which are among them.
- **Numbers.** The centre is in one of the cells of a line. With m the middle of the cell and h its width, the squared
  error of a group whose mean is in the cell is at least $\sum_x ((x - m)^2 - h^2/4)$.
- **Only some centres** matter: those with a negative term where each price is at a ceiling. They are found column by
  column. Prices stay below the ceilings, and then the ceilings move on.
- Where there are too many centres, each record must still be with k − 1 others. The squared error of numbers is the sum
  over all pairs of a group of their squared difference, divided by its size; that of concepts is at least the sum over
  all pairs of what they cost at the best centre for both, divided by its size less one.

References: Aloise, Hansen, Rocha, Santi, Column generation bounds for numerical microaggregation, J. Global
Optimization 60 (2014), for the bound as a linear program; the prices here are its dual.

Step by step: `anonto.methods.plain.loss_bound`.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonto.arithmetic import dot
from anonto.encoding.set_space import SetSpace
from anonto.encoding.value_space import MeanSpace, NominalSpace, NumericSpace
from anonto.methods import loss_bound_kernels as kernels
from anonto.methods.aggregation import candidates_of, means_of, value_sets
from anonto.methods.one_column import best_groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anonto.arrays import Codes, Floats, Longs
    from anonto.methods.grouping import RecordGroups
    from anonto.methods.s_space import ScaledColumn


MOST_RECORDS = 2_000
"""Of more distinct records no bound should be computed: they take too long."""
MOST_COLUMNS = 3
"""Of more columns there are too many centres, and only pairs are looked at."""
MOST_COSTS = 1 << 24
"""The largest tables of costs."""
MOST_LISTED = 1 << 22
"""The largest number of records in the lists of all centres that matter."""
ROUNDS = 3
"""How often the ceilings move on."""
STEPS = 50
"""Subgradient steps of a round."""
HIGHER = 0.4
"""How far the ceilings are above the prices, at first."""
LEAST_HIGHER = 0.05
MARGIN = 2.0
"""Records that cost more than their ceiling and so many times the mean loss are not listed one by one."""
LEAST_PRICE = 0.5
"""The share of the mean price with which the ceilings of low prices are reckoned."""
SHARES = (0.5, 1.0)
"""How far each price is raised alone, before all are moved together."""
LENGTH = 0.3
"""The length of the first step."""
SHORTEST = 0.02
"""Where steps have become shorter, the next round starts with longer ones again."""
LONGER = 0.1
WIDTH = 0.4
"""The width of a cell of numbers, as a share of the standard deviation of the groups there."""
MOST_CELLS = 400
"""Cells of a column of numbers."""
TOLERANCE = 1e-9
"""More than the share of a bound that rounding errors make."""
NEIGHBOURS = 8
"""Groups of which that deviation is the mean."""
_IS_WANTED: ContextVar[bool] = ContextVar("whether bounds are computed", default=True)


@contextmanager
def without_bounds() -> Iterator[None]:
    """Compute no bounds in here: the groups are formed to be attacked or compared, and nobody reads their evidence."""
    before = _IS_WANTED.set(False)
    try:
        yield
    finally:
        _IS_WANTED.reset(before)


def are_bounds_wanted() -> bool:
    """Return whether a bound is worth its time."""
    return _IS_WANTED.get()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupLoss:
    """Loss of some groups, in squared S-distances to their centres."""

    columns: Sequence[ScaledColumn]
    codes: Codes
    """Records × columns; −1 for no value."""
    groups: RecordGroups
    of_members: Floats
    """Loss of each member."""

    @property
    def total(self) -> float:
        """The sum."""
        return dot(self.of_members, np.ones(self.of_members.size))


def loss_of(
    columns: Sequence[ScaledColumn], codes: Codes, groups: RecordGroups, to_centres: Sequence[Floats | None]
) -> GroupLoss:
    """Loss of groups.

    Args:
        columns: The columns.
        codes: Records × columns.
        groups: The groups.
        to_centres: For each nominal column the distance of each member to its centre; None for numbers.
    """
    lost = np.zeros(groups.members.size)
    for place, (column, away) in enumerate(zip(columns, to_centres, strict=True)):
        if away is not None:
            lost += column.weight_of_squares * away**2
        elif column.units is not None:
            own = codes[groups.members, place]
            means = means_of(column.units, value_sets(groups, codes[:, place], column.units.size))
            there = own >= 0
            lost[there] += (column.units[own[there]] - means[groups.group_of_member()[there]]) ** 2
    return GroupLoss(columns, codes, groups, lost)


def least_loss(
    loss: GroupLoss, counts: Longs, strata: Sequence[Longs], k: int, most_groups: Sequence[int]
) -> float | None:
    """Lower bound on the loss of all groups of at least k; None for sets, which have too many centres.

    Args:
        loss: What some groups lose: these are where the search starts.
        counts: Rows of each record.
        strata: The records of each pattern of missing cells, none of which is grouped with another.
        k: The least size of a group.
        most_groups: The largest number of groups in each stratum.
    """
    if any(isinstance(column.value_space, SetSpace) for column in loss.columns):
        return None
    lost = np.bincount(loss.groups.members, weights=loss.of_members, minlength=counts.size)
    total = 0.0
    for stratum, most in zip(strata, most_groups, strict=True):
        present = np.flatnonzero(loss.codes[stratum[0]] >= 0)
        target = dot(lost[stratum], np.ones(stratum.size))
        if present.size and target > 0.0:
            total += _of_stratum(loss, stratum, present, counts[stratum], target, k, most)
    return min(total * (1.0 - TOLERANCE), loss.total)


def _of_stratum(
    loss: GroupLoss, stratum: Longs, present: Longs, counts: Longs, target: float, k: int, most_groups: int
) -> float:
    """The bound for records that have the same columns."""
    columns = [loss.columns[place] for place in present.tolist()]
    codes = loss.codes[np.ix_(stratum, present)]
    of_line = 0.0
    if len(columns) == 1 and columns[0].units is not None:
        of_line = _of_line(columns[0], codes[:, 0], counts, k)
        if most_groups >= int(counts.sum()) // k:
            return of_line
    prices = prices_of_pairs(columns, codes, counts, k) if k > 1 else np.zeros(counts.size)
    if len(columns) <= MOST_COLUMNS:
        spreads = _spreads(loss, present)
        order = sorted(range(len(columns)), key=lambda place: columns[place].units is None)
        tables = [table for table in (_costs(columns[place], spreads[place]) for place in order) if table is not None]
        if len(tables) == len(columns):
            costs = column_costs(tables, codes[:, order])
            return max(of_line, best_bound(costs, counts, prices, k, most_groups, target))
    return max(of_line, dot(counts, prices))


def best_bound(
    columns: Sequence[kernels.ColumnCosts], counts: Longs, prices: Floats, k: int, most_groups: int, target: float
) -> float:
    """The largest bound that is found.

    Args:
        columns: What each record costs in the cells of each column.
        counts: Rows of each record.
        prices: At which no centre has a negative term; the search starts there, and changes them.
        k: The least size of a group.
        most_groups: The largest number of groups.
        target: What some groups lose.
    """
    mean = target / int(counts.sum())
    margin, higher = MARGIN * mean, HIGHER
    ascent = np.array([dot(counts, prices), target, LENGTH, STEPS, margin])
    for _ in range(ROUNDS):
        ceilings = prices * (1.0 + higher) + higher * LEAST_PRICE * mean
        cells = promising_cells(columns, counts, ceilings, margin, k)
        if cells is None:
            break
        raised = prices.copy()
        for share in SHARES:
            kernels.raise_prices(cells, counts, raised, ceilings, margin, k, share)
        kernels.ascend(cells, counts, prices, (raised, ceilings), k, most_groups, ascent)
        higher = max(LEAST_HIGHER, 0.8 * higher)
        ascent[2] = LONGER if ascent[2] < SHORTEST else ascent[2]
    return float(ascent[0])


def promising_cells(
    columns: Sequence[kernels.ColumnCosts], counts: Longs, ceilings: Floats, margin: float, k: int
) -> kernels.Cells | None:
    """Cells that have a negative reduced cost where each price is at its ceiling; None if there are too many.

    Args:
        columns: What each record costs in the cells of each column.
        counts: Rows of each record.
        ceilings: The largest price of each record.
        margin: Records that cost more than their ceiling and this are not listed.
        k: The least number of rows in a cell.
    """
    everything = np.array([0, counts.size], dtype=np.int64)
    cells = kernels.Cells(everything, np.arange(counts.size, dtype=np.int32), np.zeros(counts.size))
    for column in columns:
        cells, complete = kernels.divide_cells(cells, column, counts, ceilings, margin, k, MOST_LISTED)
        if not complete:
            return None
    return cells


# ------------------------------------------------------------------------------------------------ costs


def column_costs(tables: Sequence[Floats], codes: Codes) -> list[kernels.ColumnCosts]:
    """The costs of each column."""
    least = [float(table.min()) for table in tables]
    return [
        kernels.ColumnCosts(
            codes=np.ascontiguousarray(codes[:, place], dtype=np.int32),
            costs=np.ascontiguousarray(table),
            nearest=np.argsort(table, axis=1, kind="stable").astype(np.int32),
            rest=math.fsum(least[place + 1 :]),
        )
        for place, table in enumerate(tables)
    ]


def _costs(column: ScaledColumn, spreads: tuple[Floats, Floats]) -> Floats | None:
    """Lower bound on the cost of each value in each cell of a column; None if there are too many cells."""
    if column.units is not None:
        return line_costs(column.units, *spreads)
    value_space = column.value_space
    n = value_space.counts.size
    if column.distances is None:
        return (1.0 - np.eye(n)) * column.weight_of_squares if n * n <= MOST_COSTS else None
    if not isinstance(value_space, NominalSpace | MeanSpace):
        return np.asarray(column.distances**2 * column.weight_of_squares)
    candidates = candidates_of(value_space)
    if n * candidates.size > MOST_COSTS:
        return None
    return np.unique(candidates.squares(0, candidates.size) * column.weight_of_squares, axis=1)


def line_costs(units: Floats, means: Floats, deviations: Floats) -> Floats:
    """Lower bound on the cost of numbers if the mean of their group is in each of some cells that cover the line.

    Args:
        units: The numbers.
        means: Of some groups, in their order.
        deviations: Of the same groups, from their means.
    """
    low, high = float(units.min()), float(units.max())
    least = (high - low) / MOST_CELLS
    edges = [low]
    while edges[-1] < high:
        here = int(np.searchsorted(means, edges[-1]))
        near = deviations[max(here - NEIGHBOURS // 2, 0) : here + NEIGHBOURS // 2]
        width = max(WIDTH * math.fsum(near) / max(near.size, 1), least)
        edges.append(min(edges[-1] + width, high) if high - edges[-1] > width * 1e-9 else high)
    if len(edges) == 1:
        return np.zeros((units.size, 1))
    starts, ends = np.array(edges[:-1]), np.array(edges[1:])
    return np.asarray((units[:, None] - (starts + ends) / 2) ** 2 - ((ends - starts) / 2) ** 2)


def _spreads(loss: GroupLoss, present: Longs) -> list[tuple[Floats, Floats]]:
    """The means of the groups in each column of numbers, in their order, and the deviations from them."""
    out = []
    for place in present.tolist():
        column, groups = loss.columns[place], loss.groups
        if column.units is None:
            out.append((np.empty(0), np.empty(0)))
            continue
        codes = loss.codes[:, place]
        sets = value_sets(groups, codes, column.units.size)
        means = means_of(column.units, sets)
        apart = sets.counts * (column.units[sets.values] - means[sets.group_of_value]) ** 2
        squares = np.bincount(sets.group_of_value, weights=apart, minlength=means.size)
        rows = np.bincount(sets.group_of_value, weights=sets.counts, minlength=means.size)
        some = np.flatnonzero(rows > 0)
        order = some[np.argsort(means[some], kind="stable")]
        out.append((means[order], np.sqrt(squares[order] / rows[order])))
    return out


# ------------------------------------------------------------------------------------------------ one column, and pairs


def _of_line(column: ScaledColumn, codes: Codes, counts: Longs, k: int) -> float:
    """Loss of the best groups of one column of numbers."""
    if column.units is None or not isinstance(column.value_space, NumericSpace):
        return 0.0
    best = best_groups(column.value_space.numbers[codes], counts, k)
    return loss_of([column], codes[:, None], best, [None]).total


def prices_of_pairs(columns: Sequence[ScaledColumn], codes: Codes, counts: Longs, k: int) -> Floats:
    """Prices that no group can fall below, as each record needs k − 1 others."""
    tables, places = [], np.empty(codes.shape, dtype=np.int32)
    for place, column in enumerate(columns):
        values, places[:, place] = np.unique(codes[:, place], return_inverse=True)
        tables.append(_pair_costs(column, values, k))
    sides = np.array([len(table) for table in tables], dtype=np.int64)
    starts = np.cumsum([0, *(sides**2)[:-1]]).astype(np.int64)
    flat = np.concatenate([table.ravel() for table in tables])
    return np.asarray(kernels.nearest_means(places, counts.astype(np.int64), flat, starts, sides, k) / 2)


def _pair_costs(column: ScaledColumn, values: Codes, k: int) -> Floats:
    """Least share of each pair of some values in the loss of a group, times the other rows of the group."""
    if column.units is not None:
        return np.asarray(np.subtract.outer(column.units[values], column.units[values]) ** 2 * ((k - 1) / k))
    if column.distances is None:
        return np.asarray((1.0 - np.eye(values.size)) * column.weight_of_squares)
    costs = _costs(column, (np.empty(0), np.empty(0)))
    if costs is None:
        return np.zeros((values.size, values.size))
    own = costs[values]
    return np.stack([(own + row).min(axis=1) for row in own])
