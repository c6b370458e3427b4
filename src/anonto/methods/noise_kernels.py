"""Compiled loops of semantic noise and of the exponential mechanism: distance rows in, replacements out.

A *level* is the set of candidates at one distance from a value. Candidates that a row of distances belongs to are
numbered 0, 1, …; distances count as equal when they are so after rounding to twelve decimals.

The steps named below are those of the plain versions: `anonto.methods.plain.replacement` for noise, and
`anonto.methods.plain.taxonomy_exponential` for the mechanism.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anonto.rng_kernels import mixed

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Numbers = NDArray[np.integer]
"""Of candidates: as small as their number allows."""
Longs = NDArray[np.int64]
Bytes = NDArray[np.uint8]
LongWords = NDArray[np.uint64]
Whole = int | np.integer
"""A single number inside a loop."""

Levels = tuple[Longs, Floats, Ints, Numbers]
"""Of each value: where its levels begin; their distances; four places of each level, where its candidates begin, where
those end that are closer to the first reference, where those begin that are farther from it, and where all end; and
the candidates by level. Behind the last level of a value stands one more with the distance ∞."""
Directed = tuple[Longs, Floats, Ints, Bytes, Ints]
"""The same by direction from the first reference, a list for each value and direction (closer, farther): where it
begins; the distances of its levels, and behind them ∞; where their candidates begin and end; whether the list has all
candidates because none lies in the direction; and for each step of the distance the first level from there on."""

DECIMALS = 1e12
TRUNCATED, CONFLICT = 1, 2
"""What is noted of a cell: the noise reaches past every candidate; no candidate lies in its direction."""
TRIES = 8
"""How often a candidate of a level is drawn blindly before those in the right direction are listed."""

STEPS = 64
"""Steps of the distance, from 0 to 1, at which lists can be entered."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_BITS = 10


# ------------------------------------------------------------------------------------------------ levels


@njit(cache=True, nogil=True)
def rank_distances(distances: Floats, columns: Ints, ranks: Numbers, found: Floats) -> Longs:
    """Number the different distances of each row in ascending order.

    Args:
        distances: Rows × concepts.
        columns: The concepts that are candidates.
        ranks: Receives rows × candidates: the number of each distance.
        found: Receives the different distances of each row in its first places.

    Returns:
        For each row how many different distances it has.
    """
    n_rows, n = ranks.shape
    n_found = np.zeros(n_rows, np.int64)
    keys = np.empty(n, np.int64)
    rank_of = np.empty(n, np.int32)
    bits = _FIRST_BITS
    slot_keys = np.empty(1 << bits, np.int64)
    slot_numbers = np.empty(1 << bits, np.int32)
    for row in range(n_rows):
        count = 0
        slot_keys[:] = -1
        for c in range(n):
            key = np.int64(np.rint(distances[row, columns[c]] * DECIMALS))
            slot = _slot(key, bits)
            while slot_keys[slot] != key:
                if slot_keys[slot] < 0:
                    slot_keys[slot] = key
                    slot_numbers[slot] = count
                    keys[count] = key
                    count += 1
                    break
                slot = (slot + 1) & ((1 << bits) - 1)
            ranks[row, c] = slot_numbers[slot]
            if 2 * count > slot_keys.size:
                bits += 2
                slot_keys = np.full(1 << bits, -1, np.int64)
                slot_numbers = np.empty(1 << bits, np.int32)
                for number in range(count):
                    slot = _slot(keys[number], bits)
                    while slot_keys[slot] >= 0:
                        slot = (slot + 1) & ((1 << bits) - 1)
                    slot_keys[slot] = keys[number]
                    slot_numbers[slot] = number
        order = np.argsort(keys[:count])
        for rank in range(count):
            rank_of[order[rank]] = rank
            found[row, rank] = keys[order[rank]] / DECIMALS
        for c in range(n):
            ranks[row, c] = rank_of[ranks[row, c]]
        n_found[row] = count
    return n_found


@njit(cache=True, nogil=True)
def _slot(key: Whole, bits: Whole) -> Whole:
    return np.int64((np.uint64(key) * _GOLDEN) >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def order_by_rank(
    ranks: Numbers,
    n_ranks: Longs,
    from_reference: Numbers,
    own_ranks: Numbers,
    offsets: Longs,
    bounds: Ints,
    members: Numbers,
) -> None:
    """Put the candidates of each row in the order of their ranks, and those of a rank by direction.

    Args:
        ranks: Rows × candidates.
        n_ranks: For each row how many different ranks it has.
        from_reference: For each candidate the rank of its distance to the first reference.
        own_ranks: For each row the rank of its own distance to it.
        offsets: For each row where its levels begin.
        bounds: Receives the four places of each level.
        members: Receives rows × candidates.
    """
    n_rows, n = ranks.shape
    for row in range(n_rows):
        begin, n_own = offsets[row], n_ranks[row]
        places = np.zeros(3 * n_own + 1, np.int32)
        for c in range(n):
            places[3 * ranks[row, c] + _side(from_reference[c], own_ranks[row]) + 1] += 1
        for k in range(3 * n_own):
            places[k + 1] += places[k]
        for rank in range(n_own):
            for k in range(4):
                bounds[begin + rank, k] = places[3 * rank + k]
        bounds[begin + n_own] = n
        for c in range(n):
            k = 3 * ranks[row, c] + _side(from_reference[c], own_ranks[row])
            members[row, places[k]] = c
            places[k] += 1


@njit(cache=True, nogil=True)
def _side(rank: Whole, own_rank: Whole) -> Whole:
    """0 for closer to the reference, 1 for equally far, 2 for farther."""
    return np.int64(rank >= own_rank) + np.int64(rank > own_rank)


# ------------------------------------------------------------------------------------------------ replacement


@njit(cache=True, nogil=True)
def directed_lists(levels: Levels) -> Directed:
    """The levels of each value that have candidates closer to the first reference, and those that have farther ones."""
    offsets, distances, bounds, _ = levels
    n_lists = 2 * (offsets.size - 1)
    begins = np.zeros(n_lists + 1, np.int64)
    is_conflict = np.zeros(n_lists, np.uint8)
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
    stretches = np.zeros((begins[n_lists], 2), np.int32)
    entries = np.zeros((n_lists, STEPS), np.int32)
    for number in range(n_lists):
        value, first, last = number // 2, 2 * (number % 2), 2 * (number % 2) + 1
        if is_conflict[number]:
            first, last = 0, 3
        begin = k = begins[number]
        for level in range(offsets[value], offsets[value + 1] - 1):
            if bounds[level, first] < bounds[level, last]:
                out[k] = distances[level]
                stretches[k, 0], stretches[k, 1] = bounds[level, first], bounds[level, last]
                k += 1
        out[k] = np.inf
        k = begin
        for step in range(STEPS):
            while out[k] < step / STEPS:
                k += 1
            entries[number, step] = k - begin
    return begins, out, stretches, is_conflict, entries


@njit(cache=True, nogil=True)
def replace_by_first(
    noise: Floats,
    words: LongWords,
    codes: Ints,
    directed: Directed,
    members: Numbers,
    places: Ints,
    released: Ints,
    nearest: bool,
    out: Ints,
    fate: Bytes,
) -> None:
    """Replace each value by a candidate as far from it as its noise says, directed by the first reference.

    Args:
        noise: For each cell how far, and with its sign which way: above 0 away from the reference.
        words: For each cell 64 random bits that decide between candidates at the same distance.
        codes: The values; −1 stays −1.
        directed: The levels of each value by direction.
        members: Values × candidates, by level.
        places: For each value its number as a candidate.
        released: For each of these, a value that is no candidate included, the code that it is released as.
        nearest: Take the candidate closest to the wanted distance, the value itself included, and not the first one
            that is at least as far.
        out: Receives the codes that are released.
        fate: Receives what is noted of each cell.
    """
    begins, distances, stretches, is_conflict, entries = directed
    for i in range(codes.size):
        value, size = np.int64(codes[i]), abs(noise[i])
        fate[i] = 0
        out[i] = released[places[value]] if value >= 0 else -1
        # Step 1: a value without noise stays.
        if value < 0 or size == 0.0:
            continue
        # Step 2: the list of the candidates in the direction of the noise; of all where there is none.
        number = 2 * value + (noise[i] > 0.0)
        begin, end = begins[number], begins[number + 1] - 1
        # Steps 3 and 4: the nearest level that is far enough; where there is none the noise is truncated.
        level = begin + entries[number, np.int64(min(size * STEPS, STEPS - 1.0))]
        while distances[level] < size:
            level += 1
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
        start = stretches[level, 0]
        candidate = members[value, start + _below(words[i], 0, stretches[level, 1] - start)]
        out[i] = released[candidate]


@njit(cache=True, nogil=True)
def order_by_pair(noise: Floats, codes: Ints, references: Ints, n_values: int, n_references: int) -> Ints:
    """The cells that move and have a reference behind the first, by reference and then by value.

    The row of a reference, which is looked up here and there, so stays in the processor's cache.
    """
    by_reference = np.zeros(n_references + 1, np.int64)
    by_value = np.zeros(n_values + 1, np.int64)
    for i in range(codes.size):
        if codes[i] >= 0 and references[i] > 0 and noise[i] != 0.0:
            by_reference[references[i] + 1] += 1
            by_value[codes[i] + 1] += 1
    by_reference, by_value = np.cumsum(by_reference), np.cumsum(by_value)
    once = np.empty(by_value[-1], np.int32)
    out = np.empty(by_value[-1], np.int32)
    for i in range(codes.size):
        if codes[i] >= 0 and references[i] > 0 and noise[i] != 0.0:
            once[by_value[codes[i]]] = i
            by_value[codes[i]] += 1
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
    levels: Levels,
    ranks: Numbers,
    places: Ints,
    released: Ints,
    nearest: bool,
    out: Ints,
    fate: Bytes,
) -> None:
    """The same directed by a reference of each cell; every cell has noise.

    Cells with the same value and reference should come together: what is found of the directions of a level is
    remembered among them.

    Args:
        noise: As in `replace_by_first`, as are words, codes, released, nearest, out and fate.
        words: See there.
        codes: See there.
        references: For each cell the row of its reference in ``ranks``.
        levels: The candidates of each value by their distance.
        ranks: References × candidates (and values): the order of their distances to the reference.
        places: For each value its column in ``ranks``, which is its number as a candidate.
        released: See there.
        nearest: See there.
        out: See there.
        fate: See there.
    """
    offsets, distances, bounds, members = levels
    value, reference = np.int64(-1), np.int64(-1)
    begin, end, own_rank, group = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    most_levels = np.diff(offsets).max()
    remembered = np.zeros((most_levels, 2), np.int64)
    listed = np.zeros((most_levels, 2, 3), np.int64)
    lists, n_listed = np.empty(members.shape[1] + 1, np.int32), np.int64(0)
    for i in range(codes.size):
        if codes[i] != value or references[i] != reference:
            value, reference, group = np.int64(codes[i]), np.int64(references[i]), group + 1
            n_listed = np.int64(0)
            begin, end = offsets[value], offsets[value + 1] - 1
            own_rank = np.int64(ranks[reference, places[value]])
        size, side = abs(noise[i]), np.int64(noise[i] > 0.0)
        # Steps 2 to 4: the levels nearest to the size of the noise that have candidates in its direction.
        low, length = begin, end - begin
        while length > 0:
            half = length >> 1
            is_before = distances[low + half] < size
            low = low + half + 1 if is_before else low
            length = length - half - 1 if is_before else half
        upper, lower = low, low - 1
        while upper < end:
            if remembered[upper - begin, side] >> 1 != group:
                has = _has(side, bounds[upper, 0], bounds[upper, 3], members, value, ranks, reference, own_rank)
                remembered[upper - begin, side] = 2 * group + has
            if remembered[upper - begin, side] & 1:
                break
            upper += 1
        while lower >= begin and (nearest or upper == end):
            if remembered[lower - begin, side] >> 1 != group:
                has = _has(side, bounds[lower, 0], bounds[lower, 3], members, value, ranks, reference, own_rank)
                remembered[lower - begin, side] = 2 * group + has
            if remembered[lower - begin, side] & 1:
                break
            lower -= 1
        fate[i] = 0
        out[i] = released[places[value]]
        any_side = upper == end and lower < begin
        if any_side:
            fate[i] |= CONFLICT
            upper, lower = low, low - 1
        if upper == end:
            fate[i] |= TRUNCATED
        chosen = upper if upper < end else lower
        if nearest:
            beneath = size - (distances[lower] if lower >= begin else 0.0)
            chosen = lower if beneath <= distances[upper] - size else upper
            if chosen == lower and beneath == size:
                continue
        # Step 5: of several candidates one is drawn.
        first, last = bounds[chosen, 0], bounds[chosen, 3]
        candidate = np.int64(-1)
        for attempt in range(TRIES):
            drawn = np.int64(members[value, first + _below(words[i], attempt, last - first)])
            if any_side or _is_on(side, np.int64(ranks[reference, drawn]), own_rank):
                candidate = drawn
                break
        if candidate < 0:
            level = chosen - begin
            if listed[level, side, 0] != group:
                listed[level, side, 0], listed[level, side, 1] = group, n_listed
                for m in range(first, last):
                    lists[n_listed] = members[value, m]
                    n_listed += _is_on(side, np.int64(ranks[reference, members[value, m]]), own_rank)
                listed[level, side, 2] = n_listed - listed[level, side, 1]
            candidate = np.int64(lists[listed[level, side, 1] + _below(words[i], TRIES, listed[level, side, 2])])
        out[i] = released[candidate]


@njit(cache=True, nogil=True)
def _is_on(side: Whole, rank: Whole, own_rank: Whole) -> bool:
    """Whether a candidate is closer to a reference than a value (side 0), or farther (side 1)."""
    return bool(rank > own_rank) if side else bool(rank < own_rank)


@njit(cache=True, nogil=True)
def _has(
    side: Whole,
    first: Whole,
    last: Whole,
    members: Numbers,
    value: Whole,
    ranks: Numbers,
    reference: Whole,
    own_rank: Whole,
) -> bool:
    """Whether a level has a candidate on a side; looked for from the end where such candidates are likely."""
    for step in range(last - first):
        place = last - 1 - step if side else first + step
        if _is_on(side, np.int64(ranks[reference, members[value, place]]), own_rank):
            return True
    return False


@njit(cache=True, nogil=True)
def _below(word: np.uint64, attempt: int, n: Whole) -> Whole:
    """A number from 0 to n − 1 from a word and the number of the attempt."""
    bits = mixed(word + np.uint64(attempt + 1) * _GOLDEN)
    return np.int64(float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0) * n)


# ------------------------------------------------------------------------------------------------ noise


@njit(cache=True, nogil=True)
def mixed_noise(standard: Floats, weights: Floats) -> Floats:
    """The sum of several numbers for each row, each with its weight: always in the same order, whatever the chunk."""
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
    n_values = distances.shape[0]
    to_all = np.zeros(n_values)
    for i in range(codes.size):
        row, share = codes[i], shares[i]
        for v in range(n_values):
            to_all[v] += share * distances[row, v]
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


# ------------------------------------------------------------------------------------------------ mechanism


@njit(cache=True, nogil=True)
def draw_level(
    first: LongWords,
    second: LongWords,
    picks: LongWords,
    codes: Ints,
    levels: Levels,
    cumulated: Floats,
    released: Ints,
    out: Ints,
) -> None:
    """Draw a candidate for each value: a level by its probability, and any candidate of it.

    Args:
        first: For each cell 64 random bits, the upper ones of 128.
        second: The lower ones.
        picks: For each cell 64 further bits.
        codes: The values; −1 stays −1.
        levels: The candidates of each value by their distance.
        cumulated: For each level the probability of the levels that are farther, its own included: the small ones
            are summed first, and a uniform number with 128 bits resolves them.
        released: For each candidate the code that it is released as.
        out: Receives these codes.
    """
    offsets, _, bounds, members = levels
    for i in range(codes.size):
        value = np.int64(codes[i])
        out[i] = -1
        if value < 0:
            continue
        begin, end = offsets[value], offsets[value + 1] - 1
        # Step 3: a uniform number of 128 bits chooses the level, and further bits one of its concepts.
        uniform = (float(first[i]) + float(second[i]) * 2.0**-64) * 2.0**-64
        low, high = begin, end - 1
        while low < high:
            middle = (low + high + 1) // 2
            if cumulated[middle] > uniform:
                low = middle
            else:
                high = middle - 1
        place = bounds[low, 0] + _below(picks[i], 0, bounds[low, 3] - bounds[low, 0])
        out[i] = released[members[value, place]]
