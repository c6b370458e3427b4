"""Compiled loops of semantic noise: noise and sorted candidates in, replacements out.

The steps named below are those of the plain version, `anonto.methods.plain.replacement`: 1 no noise, 2 the candidates
in the direction of the noise, 3 the nearest one that is far enough, 4 truncation, 5 ties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.arrays import Bytes, Floats, Integers, Ints, Longs, LongWords
from anonto.random.kernels import mix_bits

if TYPE_CHECKING:
    from anonto.methods.level_kernels import Levels, Whole

Directed = tuple[Longs, Floats, Ints, Bytes, Ints]
"""The levels by direction from the first reference, a list for each value and direction (closer, farther): where it
begins; the distances of its levels, and after them ∞; where their candidates begin and end; whether the list has all
candidates because none lies in the direction; and for each step of the distance the first level from there on."""

TRUNCATED, CONFLICT = 1, 2
"""Notes on a cell: the noise goes past every candidate; no candidate lies in its direction."""
TRIES = 8
"""How often a candidate of a level is drawn blindly before those in the right direction are listed."""

STEPS = 64
"""Steps of the distance, from 0 to 1, at which lists can be entered."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class ReplacementTables(NamedTuple):
    """Everything that a column's values and candidates decide about a replacement."""

    levels: Levels
    directed: Directed
    ranks: Integers
    """References × candidates, and values that are no candidates: the order of their distances to the reference."""
    places: Ints
    """The column of each value in ``ranks``, which is its number as a candidate."""
    released: Ints
    """The code that each column of ``ranks`` is released as."""


# ------------------------------------------------------------------------------------------------ replacement


@njit(cache=True, nogil=True)
def list_by_direction(levels: Levels) -> Directed:
    """Step 2 for the first reference: for each value the levels with candidates closer to it, and with farther ones."""
    offsets, distances, bounds, _ = levels
    n_lists = 2 * (offsets.size - 1)
    begins = np.zeros(n_lists + 1, np.int64)
    is_conflict = np.zeros(n_lists, np.uint8)
    # The length of each list; a conflict, a list without candidates, takes the levels of all.
    for number in range(n_lists):
        value, first = number // 2, 2 * (number % 2)
        n_levels = 0
        for level in range(offsets[value], offsets[value + 1] - 1):
            n_levels += bounds[level, first] < bounds[level, first + 1]
        if n_levels == 0:
            is_conflict[number] = 1
            n_levels = offsets[value + 1] - 1 - offsets[value]
        begins[number + 1] = begins[number] + n_levels + 1
    out = np.empty(begins[n_lists], np.float64)
    ranges = np.zeros((begins[n_lists], 2), np.int32)
    entries = np.zeros((n_lists, STEPS), np.int32)
    # The lists, and where to enter each for a distance.
    for number in range(n_lists):
        value, first, last = number // 2, 2 * (number % 2), 2 * (number % 2) + 1
        if is_conflict[number]:
            first, last = 0, 3
        begin = k = begins[number]
        for level in range(offsets[value], offsets[value + 1] - 1):
            if bounds[level, first] < bounds[level, last]:
                out[k] = distances[level]
                ranges[k, 0], ranges[k, 1] = bounds[level, first], bounds[level, last]
                k += 1
        out[k] = np.inf
        k = begin
        for step in range(STEPS):
            while out[k] < step / STEPS:
                k += 1
            entries[number, step] = k - begin
    return begins, out, ranges, is_conflict, entries


@njit(cache=True, nogil=True)
def replace_by_first(
    noise: Floats,
    words: LongWords,
    codes: Ints,
    tables: ReplacementTables,
    nearest: bool,
    out: Ints,
    fate: Bytes,
) -> None:
    """Replace each value by a candidate as far from it as its noise says, directed by the first reference.

    Args:
        noise: For each cell how far, and with its sign which way: above 0 away from the reference.
        words: For each cell 64 random bits that decide between candidates at the same distance.
        codes: The values; −1 stays −1.
        tables: The candidates of the values.
        nearest: Take the candidate closest to the wanted distance, the value itself included, and not the first one
            that is at least as far.
        out: Receives the codes that are released.
        fate: Receives a note on each cell.
    """
    (_, _, _, members), directed, _, places, released = tables
    begins, distances, ranges, is_conflict, entries = directed
    for i in range(codes.size):
        value, size = np.int64(codes[i]), abs(noise[i])
        fate[i] = 0
        out[i] = released[places[value]] if value >= 0 else -1
        # Step 1: a value without noise stays.
        if value < 0 or size == 0.0:
            continue
        # Step 2: the list of the candidates in the direction of the noise; in a conflict, of all candidates.
        number = 2 * value + (noise[i] > 0.0)
        begin, end = begins[number], begins[number + 1] - 1
        # Step 3: the nearest level that is far enough, entered at the step of its distance.
        level = begin + entries[number, np.int64(min(size * STEPS, STEPS - 1.0))]
        while distances[level] < size:
            level += 1
        # Step 4: without such a level the noise is truncated, and the farthest level is taken.
        fate[i] = CONFLICT * is_conflict[number] + TRUNCATED * (level == end)
        if nearest:
            beneath = size - (distances[level - 1] if level > begin else 0.0)
            if beneath <= distances[level] - size:
                if beneath == size:
                    continue
                level -= 1
        elif level == end:
            level -= 1
        # Step 5: of several candidates one is drawn.
        start = ranges[level, 0]
        candidate = members[value, start + draw_below(words[i], 0, ranges[level, 1] - start)]
        out[i] = released[candidate]


@njit(cache=True, nogil=True)
def order_by_pair(noise: Floats, codes: Ints, references: Ints, n_values: int, n_references: int) -> Ints:
    """The cells that move and have another reference than the first, by reference and then by value.

    In this order the row of a reference stays in the processor's cache. Two counting sorts: by value, by reference.
    """
    # How many cells each reference and each value has, and where they begin.
    by_reference = np.zeros(n_references + 1, np.int64)
    by_value = np.zeros(n_values + 1, np.int64)
    for i in range(codes.size):
        if codes[i] >= 0 and references[i] > 0 and noise[i] != 0.0:
            by_reference[references[i] + 1] += 1
            by_value[codes[i] + 1] += 1
    by_reference, by_value = np.cumsum(by_reference), np.cumsum(by_value)
    # Sort by value …
    once = np.empty(by_value[-1], np.int32)
    out = np.empty(by_value[-1], np.int32)
    for i in range(codes.size):
        if codes[i] >= 0 and references[i] > 0 and noise[i] != 0.0:
            once[by_value[codes[i]]] = i
            by_value[codes[i]] += 1
    # … and then by reference; the sort is stable, so values stay in order.
    for k in range(once.size):
        i = once[k]
        out[by_reference[references[i]]] = i
        by_reference[references[i]] += 1
    return out


@njit(cache=True, nogil=True)
def replace_by_pair(
    noise: Floats,
    words: LongWords,
    codes: Ints,
    references: Ints,
    tables: ReplacementTables,
    nearest: bool,
    out: Ints,
    fate: Bytes,
) -> None:
    """Replace each value as `replace_by_first` does, directed by the cell's own reference; every cell has noise.

    Cells with the same value and reference should be consecutive: they share what was found about the directions of a
    level. ``references`` has the row of each cell's reference in the ranks; the other arguments are those of
    `replace_by_first`.
    """
    (offsets, distances, bounds, members), _, ranks, places, released = tables
    value, reference = np.int64(-1), np.int64(-1)
    begin, end, own_rank, group = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    most_levels = np.diff(offsets).max()
    remembered = np.zeros((most_levels, 2), np.int64)
    listed = np.zeros((most_levels, 2, 3), np.int64)
    lists, n_listed = np.empty(members.shape[1] + 1, np.int32), np.int64(0)
    for i in range(codes.size):
        # Another value or reference: forget what was found about the directions.
        if codes[i] != value or references[i] != reference:
            value, reference, group = np.int64(codes[i]), np.int64(references[i]), group + 1
            n_listed = np.int64(0)
            begin, end = offsets[value], offsets[value + 1] - 1
            own_rank = np.int64(ranks[reference, places[value]])
        size, side = abs(noise[i]), np.int64(noise[i] > 0.0)
        # Step 3: the first level at least as far as the noise is large, by bisection.
        low, length = begin, end - begin
        while length > 0:
            half = length >> 1
            is_before = distances[low + half] < size
            low = low + half + 1 if is_before else low
            length = length - half - 1 if is_before else half
        # Step 2: from there outwards, the first level that has a candidate in the direction of the noise …
        upper, lower = low, low - 1
        while upper < end:
            if remembered[upper - begin, side] >> 1 != group:
                has = _has(side, bounds[upper, 0], bounds[upper, 3], members, value, ranks, reference, own_rank)
                remembered[upper - begin, side] = 2 * group + has
            if remembered[upper - begin, side] & 1:
                break
            upper += 1
        # … and inwards, for the nearest candidate or where the noise is truncated.
        while lower >= begin and (nearest or upper == end):
            if remembered[lower - begin, side] >> 1 != group:
                has = _has(side, bounds[lower, 0], bounds[lower, 3], members, value, ranks, reference, own_rank)
                remembered[lower - begin, side] = 2 * group + has
            if remembered[lower - begin, side] & 1:
                break
            lower -= 1
        fate[i] = 0
        out[i] = released[places[value]]
        # A conflict: no candidate lies in that direction, and all count.
        any_side = upper == end and lower < begin
        if any_side:
            fate[i] |= CONFLICT
            upper, lower = low, low - 1
        # Step 4: no candidate is far enough, so the noise is truncated to the farthest.
        if upper == end:
            fate[i] |= TRUNCATED
        chosen = upper if upper < end else lower
        if nearest:
            beneath = size - (distances[lower] if lower >= begin else 0.0)
            chosen = lower if beneath <= distances[upper] - size else upper
            if chosen == lower and beneath == size:
                continue
        # Step 5: of several candidates one is drawn, at first blindly from the whole level.
        first, last = bounds[chosen, 0], bounds[chosen, 3]
        candidate = np.int64(-1)
        for attempt in range(TRIES):
            drawn = np.int64(members[value, first + draw_below(words[i], attempt, last - first)])
            if any_side or _is_on(side, np.int64(ranks[reference, drawn]), own_rank):
                candidate = drawn
                break
        # Where that found none in the right direction, these are listed, once for all cells of the value and reference.
        if candidate < 0:
            level = chosen - begin
            if listed[level, side, 0] != group:
                listed[level, side, 0], listed[level, side, 1] = group, n_listed
                for m in range(first, last):
                    lists[n_listed] = members[value, m]
                    n_listed += _is_on(side, np.int64(ranks[reference, members[value, m]]), own_rank)
                listed[level, side, 2] = n_listed - listed[level, side, 1]
            candidate = np.int64(lists[listed[level, side, 1] + draw_below(words[i], TRIES, listed[level, side, 2])])
        out[i] = released[candidate]


@njit(cache=True, nogil=True)
def _is_on(side: Whole, rank: Whole, own_rank: Whole) -> bool:
    """Return whether a candidate is closer to a reference than a value (side 0), or farther (side 1)."""
    return bool(rank > own_rank) if side else bool(rank < own_rank)


@njit(cache=True, nogil=True)
def _has(
    side: Whole,
    first: Whole,
    last: Whole,
    members: Integers,
    value: Whole,
    ranks: Integers,
    reference: Whole,
    own_rank: Whole,
) -> bool:
    """Return whether a level has a candidate on a side, searched from the end where such candidates are likely."""
    for step in range(last - first):
        place = last - 1 - step if side else first + step
        if _is_on(side, np.int64(ranks[reference, members[value, place]]), own_rank):
            return True
    return False


@njit(cache=True, nogil=True)
def draw_below(word: np.uint64, attempt: int, n: Whole) -> Whole:
    """A number from 0 to n − 1 from a word and the number of the attempt."""
    bits = mix_bits(word + np.uint64(attempt + 1) * _GOLDEN)
    return np.int64(float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0) * n)


# ------------------------------------------------------------------------------------------------ noise


@njit(cache=True, nogil=True)
def mix_noise(standard: Floats, weights: Floats) -> Floats:
    """The weighted sum of several numbers for each row, always in the same order, whatever the batch."""
    out = np.zeros(standard.shape[1], np.float64)
    for k in range(weights.size):
        weight = weights[k]
        for i in range(out.size):
            out[i] += weight * standard[k, i]
    return out


@njit(cache=True, nogil=True)
def mean_product_with_numbers(distances: Floats, codes: Ints, numbers: Floats, shares: Floats) -> float:
    r"""Σ d(aᵢ, aⱼ) |xᵢ − xⱼ| pᵢ pⱼ over records in ascending order of their numbers.

    With f(t) the shares of the values among the records up to t it is 2 ∫ f(t)ᵀ D (f(∞) − f(t)) dt; a record that
    joins f changes D f by one row of D.
    """
    # D f(∞): the mean distance of each value to all records.
    n_values = distances.shape[0]
    to_all = np.zeros(n_values)
    for i in range(codes.size):
        row, share = codes[i], shares[i]
        for v in range(n_values):
            to_all[v] += share * distances[row, v]
    # The integral over t, from one number to the next.
    below = np.zeros(n_values)
    with_all, inside, total = 0.0, 0.0, 0.0
    for i in range(codes.size):
        if i > 0:
            total += (with_all - inside) * (numbers[i] - numbers[i - 1])
        row, share = codes[i], shares[i]
        with_all += share * to_all[row]
        inside += 2.0 * share * below[row]
        for v in range(n_values):
            below[v] += share * distances[row, v]
    return 2.0 * total
