"""Compiled loops of the attacks: codes and tables of squared distances in, arrays out.

The steps named in `nearest` are those of its plain version, `anonto.attacks.plain.distance_linkage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs

TIE = 1e-9
"""Distances are equal if they differ by no more than this share of them; so only 0 equals 0."""
ROUNDING = 1e-12
"""Rounding error allowed where a difference is compared with a fixed bound."""


class DistanceTables(NamedTuple):
    """Squared distances between cells, the tables of all columns in one flat array.

    Values a and b of column j are at squared distance ``flat[offsets[j] + a * widths[j] + b]``. A numeric column has
    width 0 and one entry: the factor by which the difference of two numbers is multiplied before it is squared. The
    numbers themselves are not scaled, so equal differences stay equal, and only equal numbers are at distance 0. A
    missing cell is at squared distance 1 from a value and 0 from another missing cell.
    """

    flat: Floats
    offsets: Longs
    widths: Longs


class RecordArrays(NamedTuple):
    """Records as codes, −1 for a missing cell, and as numbers, which count in numeric columns only."""

    codes: Ints
    numbers: Floats

    def part(self, rows: slice) -> RecordArrays:
        """Some of the records."""
        return RecordArrays(self.codes[rows], self.numbers[rows])


class LeadGroups(NamedTuple):
    """Groups of released records by their value in a leading column."""

    bounds: Floats
    """Groups of targets × groups: the least squared distance of any two of their values in the leading column."""
    order: Ints
    """All groups, nearest first, for each group of targets."""
    starts: Longs
    """The first released record of each group."""


@njit(cache=True, nogil=True, inline="always")
def squared_distance(a: RecordArrays, i: int, b: RecordArrays, j: int, tables: DistanceTables) -> float:
    """Squared distance of record i of one table and record j of another: the sum over the columns."""
    total = 0.0
    for column in range(a.codes.shape[1]):
        x, y = a.codes[i, column], b.codes[j, column]
        if x < 0 or y < 0:
            total += 0.0 if x == y else 1.0
        elif tables.widths[column] > 0:
            total += tables.flat[tables.offsets[column] + x * tables.widths[column] + y]
        else:
            difference = (a.numbers[i, column] - b.numbers[j, column]) * tables.flat[tables.offsets[column]]
            total += difference * difference
    return total


@njit(cache=True, nogil=True)
def squared_distances(a: RecordArrays, b: RecordArrays, tables: DistanceTables, out: Floats) -> None:
    """Squared distances of pairs of records, one by one."""
    for i in range(out.size):
        out[i] = squared_distance(a, i, b, i, tables)


@njit(cache=True, nogil=True)
def nearest(
    targets: RecordArrays,
    released: RecordArrays,
    amounts: Longs,
    tables: DistanceTables,
    lead: LeadGroups,
    lead_of_target: Ints,
    least: Floats,
    n_least: Longs,
) -> None:
    """The least squared distance of each target to a released record, and how many rows are at it.

    Args:
        targets: The persons to look for.
        released: The distinct released records, sorted by group.
        amounts: How many rows have each.
        tables: Distances of their cells.
        lead: The groups.
        lead_of_target: The group of each target.
        least: Set to the least squared distances.
        n_least: Set to the numbers of rows.
    """
    for i in range(targets.codes.shape[0]):
        best = np.inf
        n_best = 0
        group = lead_of_target[i]
        # Walk the groups from the nearest on; stop when the leading column alone is further than the best record.
        for step in range(lead.order.shape[1]):
            other = lead.order[group, step]
            if lead.bounds[group, other] > best * (1.0 + TIE):
                break
            for r in range(lead.starts[other], lead.starts[other + 1]):
                # Step 1: the squared distance of the person's original values to a released record.
                distance = squared_distance(targets, i, released, r, tables)
                # Step 2: the nearest record, or all that tie for it.
                if distance < best * (1.0 - TIE):
                    best = distance
                    n_best = amounts[r]
                elif distance <= best * (1.0 + TIE):
                    n_best += amounts[r]
        least[i] = best
        n_least[i] = n_best


@njit(cache=True, nogil=True)
def keep_nearest(
    record: int, distance: float, amounts: Longs, n_found: int, n_rows: int, found: Ints, distances: Floats
) -> tuple[int, int]:
    """Insert a record into the list of the nearest ones, which has too few rows or ends with one that is further.

    The list is as short as it can be with at least as many rows as it has places.

    Args:
        record: The number of the record.
        distance: Its distance.
        amounts: How many rows have each record.
        n_found: How many records are in the list.
        n_rows: How many rows they have.
        found: The list, nearest first.
        distances: Their distances.

    Returns:
        How many records the list has now, and how many rows.
    """
    wanted = found.size
    place = min(n_found, wanted - 1)
    # Make room: drop the last record of a full list, and move those that are further by one place.
    if n_found == wanted:
        n_rows -= amounts[found[place]]
    else:
        n_found += 1
    while place > 0 and distances[place - 1] > distance:
        distances[place] = distances[place - 1]
        found[place] = found[place - 1]
        place -= 1
    distances[place] = distance
    found[place] = record
    n_rows += amounts[record]
    # Drop the last records as long as the others have enough rows.
    while n_found > 1 and n_rows - amounts[found[n_found - 1]] >= wanted:
        n_found -= 1
        n_rows -= amounts[found[n_found]]
    return n_found, n_rows


@njit(cache=True, nogil=True)
def nearest_some(
    targets: RecordArrays,
    released: RecordArrays,
    amounts: Longs,
    tables: DistanceTables,
    lead: LeadGroups,
    lead_of_target: Ints,
    found: Ints,
    distances: Floats,
) -> None:
    """The released records nearest to each target, nearest first, until they have as many rows as there are places.

    Args:
        targets: As in `nearest`, as are the five that follow.
        released: See there.
        amounts: See there.
        tables: See there.
        lead: See there.
        lead_of_target: See there.
        found: Targets × places: set to the records, and to −1 behind them.
        distances: Set to their squared distances.
    """
    wanted = found.shape[1]
    for i in range(targets.codes.shape[0]):
        n_found = 0
        n_rows = 0
        group = lead_of_target[i]
        own_found, own_distances = found[i], distances[i]
        limit = np.inf
        # Walk the groups from the nearest on; stop when there are enough rows and no group can hold a nearer one.
        for step in range(lead.order.shape[1]):
            other = lead.order[group, step]
            if lead.bounds[group, other] > limit:
                break
            for r in range(lead.starts[other], lead.starts[other + 1]):
                distance = squared_distance(targets, i, released, r, tables)
                if distance < limit:
                    n_found, n_rows = keep_nearest(r, distance, amounts, n_found, n_rows, own_found, own_distances)
                    if n_rows >= wanted:
                        limit = own_distances[n_found - 1]
        for place in range(n_found, wanted):
            found[i, place] = -1


@njit(cache=True, nogil=True)
def infer(
    targets: RecordArrays,
    secrets: Floats,
    own: Longs,
    released: RecordArrays,
    amounts: Longs,
    released_secrets: Floats,
    close: float,
    tables: DistanceTables,
) -> tuple[Floats, Floats]:
    """How often the nearest released rows have a person's secret; and the same without the person's own row.

    Args:
        targets: The persons.
        secrets: Their secrets.
        own: The released record of each.
        released: The distinct released records.
        amounts: How many rows have each.
        released_secrets: The secret in each.
        close: Secrets no further apart are the same.
        tables: Distances of their cells.
    """
    right, control = np.empty(own.size), np.empty(own.size)
    for i in range(own.size):
        best, n_best, n_right = np.inf, 0, 0
        best_other, n_other, n_right_other = np.inf, 0, 0
        for r in range(amounts.size):
            distance = squared_distance(targets, i, released, r, tables)
            is_right = abs(released_secrets[r] - secrets[i]) <= close + ROUNDING
            # The nearest rows, and how many of them are right.
            if distance < best * (1.0 - TIE):
                best, n_best, n_right = distance, 0, 0
            if distance <= best * (1.0 + TIE):
                n_best += amounts[r]
                n_right += amounts[r] * is_right
            # The control: the same with the person's own row taken away.
            others = amounts[r] - (r == own[i])
            if others == 0:
                continue
            if distance < best_other * (1.0 - TIE):
                best_other, n_other, n_right_other = distance, 0, 0
            if distance <= best_other * (1.0 + TIE):
                n_other += others
                n_right_other += others * is_right
        right[i] = n_right / max(n_best, 1)
        control[i] = n_right_other / max(n_other, 1)
    return right, control


@njit(cache=True, nogil=True)
def least_largest_shift(
    targets: Ints, own_ranks: Floats, released: RecordArrays, ranks: DistanceTables, out: Floats
) -> None:
    """The least, over released records, of each target's largest difference in rank over the columns.

    Args:
        targets: Codes of the targets.
        own_ranks: Their rank in each column.
        released: The distinct released records; their numbers are ranks.
        ranks: For each nominal column the rank of each value in the order of distance from each value.
        out: Set to the differences.
    """
    for i in range(targets.shape[0]):
        best = np.inf
        for r in range(released.codes.shape[0]):
            # The largest difference of this record; no further column matters once it exceeds the best.
            largest = 0.0
            for j in range(targets.shape[1]):
                x, y = targets[i, j], released.codes[r, j]
                if x < 0 or y < 0:
                    shift = 0.0 if x == y else np.inf
                elif ranks.widths[j] > 0:
                    shift = abs(ranks.flat[ranks.offsets[j] + x * ranks.widths[j] + y] - own_ranks[i, j])
                else:
                    shift = abs(released.numbers[r, j] - own_ranks[i, j])
                largest = max(largest, shift)
                if largest >= best:
                    break
            best = min(best, largest)
            if best == 0.0:
                break
        out[i] = best
