"""The compiled loop of MDAV: the middle of the records that are left, the farthest from it, and the groups around.

The middle is updated as records leave. The record farthest from it is found by a heap of upper bounds: a distance
computed earlier grows at most by the way that the middle has moved since, so only records at the top of the heap need
to be looked at again.

The steps named below are those of the plain version, `anonto.methods.plain.mdav`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.methods.grouping.search_kernels import DIGITS, SLACK, farthest, nearest, rounded, summed, table_rows
from anonto.methods.grouping.tree_kernels import let_die

if TYPE_CHECKING:
    from anonto.methods.grouping.arrays import Bools, Floats, Ints, Longs, SpaceArrays, TreeArrays, ValueArrays

ROUNDING = 1.001
"""Two roundings can move a distance by one step; the rest is for the last bits of sums."""

WORTH_LOOKING = 16
"""When one part of so many of all records has been looked at again, walking the tree is cheaper."""


class Occurrences(NamedTuple):
    """Of each value of each nominal column how many live rows have it, and which records."""

    counts: Longs
    """Live rows of each value, one column behind the other."""
    starts: Longs
    """Where the records of each value start."""
    places: Ints
    """The places in the tree of each value's records, in the order of the records."""
    upcoming: Longs
    """For each value where its first record that may live is."""
    sums: Longs
    """The distances of each value to all live rows in fixed point, so that they can be taken off without loss."""
    scales: Floats
    """Steps of the fixed point, for each column."""
    heap: Ints
    """The values of columns without a table, the most frequent first."""
    seen_counts: Floats
    seen_firsts: Ints
    """What the heap is ordered by: counts and first records as they were when last looked at."""


class Sums(NamedTuple):
    """The numbers of all live rows, added up."""

    totals: Floats
    lost: Floats
    """What rounding took from the totals."""
    present: Longs
    """How many rows have a number."""


class Watch(NamedTuple):
    """Which record is farthest from the middle, by upper bounds of the distances of all of them."""

    heap: Ints
    """Places of records, the highest bound first."""
    score: Floats
    """The distance of each record when last looked at, less the way that the middle had gone by then."""
    stamp: Longs
    """At which stop of the middle that was."""
    anchor: Ints
    """The values of the middle to which the distances were measured."""
    without_number: Bools
    """Its columns that had no number."""
    earlier: Floats
    """The numbers of the middle at its last stop."""
    gone: Floats
    """One number: the way of the middle up to its last stop, in rounding steps."""
    state: Longs
    """The size of the heap (−1 before there is one), the number of stops, and the nodes walked since it did not fit."""


HEAP, STOPS, WALKED = 0, 1, 2


@njit(cache=True, nogil=True)
def mdav(
    space: SpaceArrays,
    bounds: ValueArrays,
    tree: TreeArrays,
    occurrences: Occurrences,
    live: Longs,
    k: int,
) -> tuple[Ints, Longs]:
    """Groups of k to 2k − 1 rows: the records of each group's rows, group by group, and where each group starts.

    Args:
        space: The records in the order of the tree.
        bounds: The blocks of values.
        tree: Over the records.
        occurrences: Of the values.
        live: The rows of each record, in the order of the tree; at least k together. Used up.
        k: The size of a group.
    """
    n_rows = live.sum()
    members = np.empty(n_rows, np.int32)
    offsets = np.zeros(n_rows // k + 1, np.int64)
    n_groups, done = 0, 0
    sums = summed_up(space.numbers, live)
    start_occurrences(space, bounds, tree, occurrences, live)
    point = np.empty(space.numbers.shape[1])
    values = np.empty(space.codes.shape[1], np.int32)
    watch = Watch(
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
        middle_of(space, bounds, tree, occurrences, live, sums, point, values)
        r = farthest_from_middle(space, bounds, tree, live, watch, point, values)
        # The group of r; in step 1 also that of s, the row farthest from r.
        for turn in range(2 if n_rows - done >= 3 * k else 1):
            seed = r
            if turn == 1:
                seed, _ = farthest(space, bounds, tree, live, space.numbers[r], space.codes[r])
            take_around(space, bounds, tree, occurrences, live, sums, seed, k, found, members[done : done + k])
            done += k
            n_groups += 1
            offsets[n_groups] = done
    # Step 3: the rows that are left, fewer than 2k, are the last group.
    if done < n_rows:
        place_of = np.empty(live.size, np.int64)
        for place in range(live.size):
            place_of[tree.records[place]] = place
        for record in range(live.size):
            for _ in range(live[place_of[record]]):
                members[done] = record
                done += 1
        n_groups += 1
        offsets[n_groups] = done
    return members, offsets[: n_groups + 1].copy()


@njit(cache=True, nogil=True)
def take_around(
    space: SpaceArrays,
    bounds: ValueArrays,
    tree: TreeArrays,
    occurrences: Occurrences,
    live: Longs,
    sums: Sums,
    seed: int,
    k: int,
    found: Ints,
    members: Ints,
) -> None:
    """Put a row of a record and the k − 1 rows nearest to it into a group, and take them out of everything."""
    live[seed] -= 1
    n_found = nearest(space, bounds, tree, live, space.numbers[seed], space.codes[seed], k - 1, found) if k > 1 else 0
    leave(space, bounds, occurrences, sums, seed, 1)
    members[0] = tree.records[seed]
    done = 1
    for i in range(n_found):
        amount = min(live[found[i]], k - done)
        live[found[i]] -= amount
        leave(space, bounds, occurrences, sums, found[i], amount)
        for _ in range(amount):
            members[done] = tree.records[found[i]]
            done += 1
    n_dead, with_seed = 0, False
    for i in range(n_found):
        if live[found[i]] == 0:
            with_seed = with_seed or found[i] == seed
            found[n_dead] = found[i]
            n_dead += 1
    if live[seed] == 0 and not with_seed:
        found[n_dead] = seed
        n_dead += 1
    let_die(tree, space.numbers, live, found, n_dead)


# ------------------------------------------------------------------------------------------------ the farthest


@njit(cache=True, nogil=True)
def farthest_from_middle(
    space: SpaceArrays,
    bounds: ValueArrays,
    tree: TreeArrays,
    live: Longs,
    watch: Watch,
    point: Floats,
    values: Ints,
) -> int:
    """The place of the live record farthest from the middle, of equally far ones the lowest.

    While the middle differs in numbers only, each earlier distance has grown by no more than the way it has gone since.
    Where its values changed, or too many records would have to be looked at again, the tree is walked instead.
    """
    numbers, gaps, codes, tables, starts, widths, weights, squared = space
    heap, score, stamp, _, _, earlier, gone, state = watch
    moved = way(earlier, point, squared)
    if state[STOPS] == 0 or moved > 0.0:
        if state[STOPS] > 0:
            gone[0] += moved * DIGITS * (1.0 + SLACK) + ROUNDING
        state[STOPS] += 1
        for column in range(point.size):
            earlier[column] = point[column]
    fits = state[HEAP] >= 0 and differs_in_numbers_only(watch, point, values)
    if not fits and (state[HEAP] < 0 or state[WALKED] >= tree.alive[0]):
        look_at_all(space, tree, live, watch, point, values)
        fits = True
    rows = table_rows(values, starts, widths)
    looks = tree.alive[0] // WORTH_LOOKING if fits else -1
    while looks >= 0:
        place = int(heap[0])
        if live[place] == 0:
            state[HEAP] -= 1
            heap[0] = heap[state[HEAP]]
        elif stamp[place] == state[STOPS]:
            return place
        else:
            total = summed(numbers, codes, place, point, values, gaps, squared, tables, rows, weights)
            score[place] = rounded(total, squared) - gone[0]
            stamp[place] = state[STOPS]
            looks -= 1
        sift_down(heap, state[HEAP], 0, score, tree.records)
    place, visited = farthest(space, bounds, tree, live, point, values)
    state[WALKED] += visited
    return place


@njit(cache=True, nogil=True)
def look_at_all(space: SpaceArrays, tree: TreeArrays, live: Longs, watch: Watch, point: Floats, values: Ints) -> None:
    """Measure the distances of all live records to the middle, and begin a new heap of them."""
    numbers, gaps, codes, tables, starts, widths, weights, squared = space
    heap, score, stamp, anchor, without_number, _, gone, state = watch
    for column in range(values.size):
        anchor[column] = values[column]
    for column in range(point.size):
        without_number[column] = np.isnan(point[column])
    rows = table_rows(values, starts, widths)
    size = 0
    for place in range(live.size):
        if live[place] > 0:
            total = summed(numbers, codes, place, point, values, gaps, squared, tables, rows, weights)
            score[place] = rounded(total, squared) - gone[0]
            stamp[place] = state[STOPS]
            heap[size] = place
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, at, score, tree.records)
    state[HEAP], state[WALKED] = size, 0


@njit(cache=True, nogil=True)
def way(a: Floats, b: Floats, squared: bool) -> float:
    """How far apart two points are in their numbers; a column that has none in either does not count."""
    total = 0.0
    for column in range(a.size):
        difference = a[column] - b[column]
        if not np.isnan(difference):
            total += difference * difference if squared else abs(difference)
    return np.sqrt(total) if squared else total


@njit(cache=True, nogil=True)
def differs_in_numbers_only(watch: Watch, point: Floats, values: Ints) -> bool:
    """Whether the middle is the one that the heap was made for, but for its numbers."""
    for column in range(values.size):
        if values[column] != watch.anchor[column]:
            return False
    for column in range(point.size):  # noqa: SIM110 - generators do not compile
        if np.isnan(point[column]) != watch.without_number[column]:
            return False
    return True


# ------------------------------------------------------------------------------------------------ the middle


@njit(cache=True, nogil=True)
def summed_up(numbers: Floats, live: Longs) -> Sums:
    """The sums of all live rows."""
    n_numeric = numbers.shape[1]
    sums = Sums(np.zeros(n_numeric), np.zeros(n_numeric), np.zeros(n_numeric, np.int64))
    for place in range(live.size):
        add_numbers(numbers, sums, place, live[place])
    return sums


@njit(cache=True, nogil=True)
def add_numbers(numbers: Floats, sums: Sums, place: int, amount: int) -> None:
    """Add the numbers of some rows to the sums, or take them off, without losing digits."""
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
def start_occurrences(
    space: SpaceArrays, bounds: ValueArrays, tree: TreeArrays, occurrences: Occurrences, live: Longs
) -> None:
    """Count the rows of each value, sum up its distances to them, and order the values of columns without a table."""
    _, _, codes, tables, starts, widths, _, _ = space
    counts, _, _, _, sums, scales, heap, seen_counts, seen_firsts = occurrences
    for column in range(codes.shape[1]):
        offset, width = bounds.place_starts[column], widths[column]
        for place in range(live.size):
            counts[offset + codes[place, column]] += live[place]
        for value in range(width):
            if starts[column] >= 0:
                row = starts[column] + value * width
                add_distances(sums, offset, tables, row, width, scales[column], counts[offset + value])
            else:
                heap[offset + value] = value
                seen_counts[offset + value] = counts[offset + value]
                seen_firsts[offset + value] = first_record(occurrences, tree, live, offset + value)
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
def first_record(occurrences: Occurrences, tree: TreeArrays, live: Longs, at: int) -> int:
    """The first record with a value that lives; the number of records if none does."""
    starts, places, upcoming = occurrences.starts, occurrences.places, occurrences.upcoming
    while upcoming[at] < starts[at + 1]:
        place = places[upcoming[at]]
        if live[place] > 0:
            return int(tree.records[place])
        upcoming[at] += 1
    return live.size


@njit(cache=True, nogil=True)
def leave(
    space: SpaceArrays, bounds: ValueArrays, occurrences: Occurrences, sums: Sums, place: int, amount: int
) -> None:
    """Take some rows of a record out of all sums and counts."""
    add_numbers(space.numbers, sums, place, -amount)
    for column in range(space.codes.shape[1]):
        offset, value = bounds.place_starts[column], space.codes[place, column]
        occurrences.counts[offset + value] -= amount
        if space.starts[column] >= 0:
            width = space.widths[column]
            row = space.starts[column] + value * width
            scale = occurrences.scales[column]
            add_distances(occurrences.sums, offset, space.tables, row, width, scale, -amount)


@njit(cache=True, nogil=True)
def middle_of(
    space: SpaceArrays,
    bounds: ValueArrays,
    tree: TreeArrays,
    occurrences: Occurrences,
    live: Longs,
    sums: Sums,
    point: Floats,
    values: Ints,
) -> None:
    """The mean of each number column, and of each nominal one the value with the least summed distance to the rows.

    Of equally good values the one that occurs first. Sums count as equal that differ by one step of the fixed point for
    each row or less: so far rounding the single distances can take them apart.
    """
    for column in range(point.size):
        total = sums.totals[column] + sums.lost[column]
        point[column] = total / sums.present[column] if sums.present[column] > 0 else np.nan
    counts, _, _, _, distances, _, heap, seen_counts, seen_firsts = occurrences
    for column in range(values.size):
        offset, width = bounds.place_starts[column], space.widths[column]
        if space.starts[column] < 0:
            own = heap[offset : offset + width]
            scores, firsts = seen_counts[offset : offset + width], seen_firsts[offset : offset + width]
            while True:
                value = own[0]
                first = first_record(occurrences, tree, live, offset + value)
                if scores[value] == counts[offset + value] and firsts[value] == first:
                    break
                scores[value], firsts[value] = counts[offset + value], first
                sift_down(own, width, 0, scores, firsts)
            values[column] = own[0]
            continue
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
                first = first_record(occurrences, tree, live, offset + best)
            other = first_record(occurrences, tree, live, offset + value)
            if other < first:
                best, first = value, other
        values[column] = best


# ------------------------------------------------------------------------------------------------ heaps


@njit(cache=True, nogil=True)
def sift_down(heap: Ints, size: int, at: int, score: Floats, order: Ints) -> None:
    """Let an entry sink to where none below it has a higher score, or the same and a lower order."""
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
    """Whether one entry has a higher score than another, or the same and a lower order."""
    return bool(score[a] > score[b] or (score[a] == score[b] and order[a] < order[b]))
