"""The compiled loop of MDAV: the average record of the rows that are left, the farthest from it, and the groups.

The average record is updated as rows leave. The record farthest from it is found with a heap of upper bounds: a
distance grows at most by as much as the average record has moved since it was measured, so only the records at the top
of the heap need to be measured again.

The steps named below are those of the plain version, `anonto.methods.plain.mdav`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.search.search_kernels import DIGITS, SLACK, farthest, nearest, start_query, sum_contributions, to_steps
from anonto.search.tree_kernels import remove

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Ints, Longs
    from anonto.search.arrays import SearchTree

ROUNDING = 1.001
"""Two roundings can move a distance by one step; the rest is for the last bits of sums."""

WORTH_LOOKING = 16
"""When 1 / this of all records has been measured again, searching the tree is cheaper."""


class Occurrences(NamedTuple):
    """How many live rows, and which records, have each value of each nominal column."""

    counts: Longs
    """Live rows of each value, column by column."""
    starts: Longs
    """Where the records of each value start."""
    places: Ints
    """The places in the tree of each value's records, in the order of the records."""
    upcoming: Longs
    """The place of the first record of each value that may be live."""
    sums: Longs
    """The summed distances of each value to all live rows, in fixed point so that subtracting loses nothing."""
    scales: Floats
    """Steps of the fixed point, for each column."""
    heap: Ints
    """The values of columns without a table, the most frequent first."""
    seen_counts: Floats
    seen_firsts: Ints
    """The order of the heap: counts and first records when they were last checked."""


class NumberSums(NamedTuple):
    """Sums of the numbers of all live rows."""

    totals: Floats
    lost: Floats
    """Rounding errors of the totals."""
    present: Longs
    """How many rows have a number."""


class FarthestHeap(NamedTuple):
    """Records by upper bounds of their distances to the average record."""

    heap: Ints
    """Places of records, the highest bound first."""
    score: Floats
    """The distance of each record when last measured, less the way that the average record had moved by then."""
    stamp: Longs
    """The number of the stop of the average record at which that was."""
    anchor: Ints
    """The values of the average record to which the distances were measured."""
    without_number: Bools
    """Its columns without a number."""
    earlier: Floats
    """The numbers of the average record at its last stop."""
    gone: Floats
    """One number: the way of the average record up to its last stop, in rounding steps."""
    state: Longs
    """The size of the heap (−1 before there is one), the number of stops, and the nodes visited since it was valid."""


HEAP, STOPS, VISITED = 0, 1, 2


@njit(cache=True, nogil=True)
def mdav(tree: SearchTree, occurrences: Occurrences, live: Longs, k: int) -> tuple[Ints, Longs]:
    """Groups of k to 2k − 1 rows: the records of each group's rows, group by group, and where each group starts.

    Args:
        tree: Over the records.
        occurrences: Of the values.
        live: The rows of each record, in the order of the tree; at least k in all. Used up.
        k: The size of a group.
    """
    space = tree.space
    n_rows = live.sum()
    members = np.empty(n_rows, np.int32)
    offsets = np.zeros(n_rows // k + 1, np.int64)
    n_groups, done = 0, 0
    sums = sum_numbers(space.numbers, live)
    start_occurrences(tree, occurrences, live)
    point = np.empty(space.numbers.shape[1])
    values = np.empty(space.codes.shape[1], np.int32)
    heap = FarthestHeap(
        np.empty(live.size, np.int32),
        np.empty(live.size),
        np.empty(live.size, np.int64),
        values.copy(),
        np.zeros(point.size, np.bool_),
        point.copy(),
        np.zeros(1),
        np.array([-1, 0, 0]),
    )
    found = np.empty(k + 1, np.int32)
    while n_rows - done >= 2 * k:
        # Step 1, and step 2 where fewer than 3k rows are left: r is the row farthest from the average record.
        find_average(tree, occurrences, live, sums, point, values)
        r = farthest_from_average(tree, live, heap, point, values)
        # The group of r; in step 1 also that of s, the row farthest from r.
        for turn in range(2 if n_rows - done >= 3 * k else 1):
            seed = r
            if turn == 1:
                seed, _ = farthest(tree, live, space.numbers[r], space.codes[r])
            take_around(tree, occurrences, live, sums, seed, k, found, members[done : done + k])
            done += k
            n_groups += 1
            offsets[n_groups] = done
    # Step 3: the rows that are left, fewer than 2k, are the last group.
    if done < n_rows:
        place_of = np.empty(live.size, np.int64)
        for place in range(live.size):
            place_of[tree.nodes.records[place]] = place
        for record in range(live.size):
            for _ in range(live[place_of[record]]):
                members[done] = record
                done += 1
        n_groups += 1
        offsets[n_groups] = done
    return members, offsets[: n_groups + 1].copy()


@njit(cache=True, nogil=True)
def take_around(
    tree: SearchTree,
    occurrences: Occurrences,
    live: Longs,
    sums: NumberSums,
    seed: int,
    k: int,
    found: Ints,
    members: Ints,
) -> None:
    """Put a row of a record and the k − 1 rows nearest to it into a group, and remove them everywhere else."""
    space, records = tree.space, tree.nodes.records
    live[seed] -= 1
    n_found = nearest(tree, live, space.numbers[seed], space.codes[seed], k - 1, found) if k > 1 else 0
    leave(tree, occurrences, sums, seed, 1)
    members[0] = records[seed]
    done = 1
    for i in range(n_found):
        amount = min(live[found[i]], k - done)
        live[found[i]] -= amount
        leave(tree, occurrences, sums, found[i], amount)
        for _ in range(amount):
            members[done] = records[found[i]]
            done += 1
    # Records without rows leave the tree.
    n_dead, with_seed = 0, False
    for i in range(n_found):
        if live[found[i]] == 0:
            with_seed = with_seed or found[i] == seed
            found[n_dead] = found[i]
            n_dead += 1
    if live[seed] == 0 and not with_seed:
        found[n_dead] = seed
        n_dead += 1
    remove(tree.nodes, space.numbers, live, found, n_dead)


# ------------------------------------------------------------------------------------------------ the farthest


@njit(cache=True, nogil=True)
def farthest_from_average(tree: SearchTree, live: Longs, bounds: FarthestHeap, point: Floats, values: Ints) -> int:
    """The place of the live record farthest from the average record, of equally far ones the lowest.

    While only numbers of the average record change, no distance grows by more than it has moved. If its values changed,
    or too many records would have to be measured again, the tree is searched instead.
    """
    space, nodes = tree.space, tree.nodes
    heap, score, stamp, _, _, earlier, gone, state = bounds
    moved = way(earlier, point, space.squared)
    # Note how far the average record has moved since the last stop.
    if state[STOPS] == 0 or moved > 0.0:
        if state[STOPS] > 0:
            gone[0] += moved * DIGITS * (1.0 + SLACK) + ROUNDING
        state[STOPS] += 1
        for column in range(point.size):
            earlier[column] = point[column]
    fits = state[HEAP] >= 0 and differs_in_numbers_only(bounds, point, values)
    if not fits and (state[HEAP] < 0 or state[VISITED] >= nodes.alive[0]):
        measure_all(tree, live, bounds, point, values)
        fits = True
    # Measure the record at the top again until the top is up to date: then no other can be farther.
    query = start_query(space, point, values)
    looks = nodes.alive[0] // WORTH_LOOKING if fits else -1
    while looks >= 0:
        place = int(heap[0])
        if live[place] == 0:
            state[HEAP] -= 1
            heap[0] = heap[state[HEAP]]
        elif stamp[place] == state[STOPS]:
            return place
        else:
            score[place] = to_steps(sum_contributions(space, place, query), space.squared) - gone[0]
            stamp[place] = state[STOPS]
            looks -= 1
        sift_down(heap, state[HEAP], 0, score, nodes.records)
    place, visited = farthest(tree, live, point, values)
    state[VISITED] += visited
    return place


@njit(cache=True, nogil=True)
def measure_all(tree: SearchTree, live: Longs, bounds: FarthestHeap, point: Floats, values: Ints) -> None:
    """Measure the distances of all live records to the average record, and start a new heap of them."""
    space = tree.space
    heap, score, stamp, anchor, without_number, _, gone, state = bounds
    for column in range(values.size):
        anchor[column] = values[column]
    for column in range(point.size):
        without_number[column] = np.isnan(point[column])
    query = start_query(space, point, values)
    size = 0
    for place in range(live.size):
        if live[place] > 0:
            score[place] = to_steps(sum_contributions(space, place, query), space.squared) - gone[0]
            stamp[place] = state[STOPS]
            heap[size] = place
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, at, score, tree.nodes.records)
    state[HEAP], state[VISITED] = size, 0


@njit(cache=True, nogil=True)
def way(a: Floats, b: Floats, squared: bool) -> float:
    """The distance of two points in the columns in which both have a number."""
    total = 0.0
    for column in range(a.size):
        difference = a[column] - b[column]
        if not np.isnan(difference):
            total += difference * difference if squared else abs(difference)
    return np.sqrt(total) if squared else total


@njit(cache=True, nogil=True)
def differs_in_numbers_only(bounds: FarthestHeap, point: Floats, values: Ints) -> bool:
    """Return whether the average record differs from that of the heap in its numbers at most."""
    for column in range(values.size):
        if values[column] != bounds.anchor[column]:
            return False
    for column in range(point.size):  # noqa: SIM110 - generators do not compile
        if np.isnan(point[column]) != bounds.without_number[column]:
            return False
    return True


# ------------------------------------------------------------------------------------------------ the average record


@njit(cache=True, nogil=True)
def sum_numbers(numbers: Floats, live: Longs) -> NumberSums:
    """The sums of all live rows."""
    n_numeric = numbers.shape[1]
    sums = NumberSums(np.zeros(n_numeric), np.zeros(n_numeric), np.zeros(n_numeric, np.int64))
    for place in range(live.size):
        add_numbers(numbers, sums, place, live[place])
    return sums


@njit(cache=True, nogil=True)
def add_numbers(numbers: Floats, sums: NumberSums, place: int, amount: int) -> None:
    """Add the numbers of some rows to the sums, or subtract them, with Neumaier's compensation of rounding errors."""
    totals, lost, present = sums
    for column in range(totals.size):
        number = numbers[place, column]
        if not np.isnan(number):
            added = number * amount
            total = totals[column] + added
            if abs(totals[column]) >= abs(added):
                lost[column] += (totals[column] - total) + added
            else:
                lost[column] += (added - total) + totals[column]
            totals[column] = total
            present[column] += amount


@njit(cache=True, nogil=True)
def start_occurrences(tree: SearchTree, occurrences: Occurrences, live: Longs) -> None:
    """Count the rows of each value, sum its distances to them, and order the values of columns without a table."""
    _, _, codes, tables, starts, widths, _, _ = tree.space
    counts, _, _, _, sums, scales, heap, seen_counts, seen_firsts = occurrences
    for column in range(codes.shape[1]):
        offset, width = tree.values.place_starts[column], widths[column]
        # The rows of each value.
        for place in range(live.size):
            counts[offset + codes[place, column]] += live[place]
        # The distances of each value to all rows, in a column with a table; otherwise its number of rows decides.
        for value in range(width):
            if starts[column] >= 0:
                row = starts[column] + value * width
                add_distances(sums, offset, tables, row, width, scales[column], counts[offset + value])
            else:
                heap[offset + value] = value
                seen_counts[offset + value] = counts[offset + value]
                seen_firsts[offset + value] = first_record(occurrences, tree.nodes.records, live, offset + value)
        # Make a heap of the values: the most frequent on top, of several the one with the lowest record.
        if starts[column] < 0:
            own = heap[offset : offset + width]
            scores, firsts = seen_counts[offset : offset + width], seen_firsts[offset : offset + width]
            for at in range(width // 2 - 1, -1, -1):
                sift_down(own, width, at, scores, firsts)


@njit(cache=True, nogil=True)
def add_distances(sums: Longs, offset: int, tables: Floats, row: int, width: int, scale: float, amount: int) -> None:
    """Add the distances to one value, times an amount that may be negative, to those of all values."""
    for other in range(width):
        sums[offset + other] += amount * np.int64(np.rint(tables[row + other] * scale))


@njit(cache=True, nogil=True)
def first_record(occurrences: Occurrences, records: Ints, live: Longs, at: int) -> int:
    """The first live record with a value; the number of records if there is none."""
    starts, places, upcoming = occurrences.starts, occurrences.places, occurrences.upcoming
    while upcoming[at] < starts[at + 1]:
        place = places[upcoming[at]]
        if live[place] > 0:
            return int(records[place])
        upcoming[at] += 1
    return live.size


@njit(cache=True, nogil=True)
def leave(tree: SearchTree, occurrences: Occurrences, sums: NumberSums, place: int, amount: int) -> None:
    """Subtract some rows of a record from all sums and counts."""
    space = tree.space
    add_numbers(space.numbers, sums, place, -amount)
    for column in range(space.codes.shape[1]):
        offset, value = tree.values.place_starts[column], space.codes[place, column]
        occurrences.counts[offset + value] -= amount
        if space.starts[column] >= 0:
            width = space.widths[column]
            row = space.starts[column] + value * width
            scale = occurrences.scales[column]
            add_distances(occurrences.sums, offset, space.tables, row, width, scale, -amount)


@njit(cache=True, nogil=True)
def find_average(
    tree: SearchTree, occurrences: Occurrences, live: Longs, sums: NumberSums, point: Floats, values: Ints
) -> None:
    """The mean of each number column, and of each nominal one the value with the least summed distance to the rows.

    Of equally good values the one that occurs first. Sums count as equal if they differ by at most one step of the
    fixed point for each row, which is the largest error of rounding single distances.
    """
    space = tree.space
    for column in range(point.size):
        total = sums.totals[column] + sums.lost[column]
        point[column] = total / sums.present[column] if sums.present[column] > 0 else np.nan
    counts, _, _, _, distances, _, heap, seen_counts, seen_firsts = occurrences
    for column in range(values.size):
        offset, width = tree.values.place_starts[column], space.widths[column]
        # Without a table: the most frequent value, by a heap whose top is corrected until it is up to date.
        if space.starts[column] < 0:
            own = heap[offset : offset + width]
            scores, firsts = seen_counts[offset : offset + width], seen_firsts[offset : offset + width]
            while True:
                value = own[0]
                first = first_record(occurrences, tree.nodes.records, live, offset + value)
                if scores[value] == counts[offset + value] and firsts[value] == first:
                    break
                scores[value], firsts[value] = counts[offset + value], first
                sift_down(own, width, 0, scores, firsts)
            values[column] = own[0]
            continue
        # With a table: the least sum, then among the values that have it the one of the first record.
        least, n_rows = np.int64(0), np.int64(0)
        for value in range(width):
            if counts[offset + value] > 0:
                least = distances[offset + value] if n_rows == 0 else min(least, distances[offset + value])
                n_rows += counts[offset + value]
        best, first = -1, -1
        for value in range(width):
            if counts[offset + value] == 0 or distances[offset + value] > least + n_rows:
                continue
            if best < 0:
                best = value
                continue
            if first < 0:
                first = first_record(occurrences, tree.nodes.records, live, offset + best)
            other = first_record(occurrences, tree.nodes.records, live, offset + value)
            if other < first:
                best, first = value, other
        values[column] = best


# ------------------------------------------------------------------------------------------------ heaps


@njit(cache=True, nogil=True)
def sift_down(heap: Ints, size: int, at: int, score: Floats, order: Ints) -> None:
    """Move an entry down to where none below it has a higher score, or the same and a lower order."""
    if at >= size:
        return
    entry = heap[at]
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and goes_before(heap[below + 1], heap[below], score, order):
            below += 1
        if not goes_before(heap[below], entry, score, order):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = entry


@njit(cache=True, nogil=True)
def goes_before(a: int, b: int, score: Floats, order: Ints) -> bool:
    """Return whether one entry has a higher score than another, or the same and a lower order."""
    return bool(score[a] > score[b] or (score[a] == score[b] and order[a] < order[b]))
