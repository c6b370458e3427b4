"""Compiled loops of swapping inside bins: grids, rows by bin, exchanges, and transitions of rows.

The steps named below are those of the plain versions, `anonto.methods.plain.equi_width_swap` and
`anonto.methods.plain.pair_swap`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from anonto.random.chacha import Source, next_block, number_below, words_of_items
from anonto.random.kernels import mix_bits

if TYPE_CHECKING:
    from anonto.arrays import Floats, Ints, Longs, LongWords, Shorts, Words

Whole = int | np.integer[Any]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

STEPS = 1e12
"""A grid's lines count as reached from one part in this many before them."""


# ------------------------------------------------------------------------------------------------ grids


@njit(cache=True, nogil=True)
def grid(numbers: Floats, low: float, width: float, last: Whole) -> Longs:
    """The place of each number on a grid from ``low`` on; the last place takes what lies behind it too.

    A number that a rounding error of 10⁻¹² keeps below a line of the grid counts as on it.
    """
    # Step 1: the place of each number on the grid.
    places = np.empty(numbers.size, np.int64)
    for i in range(numbers.size):
        steps = (numbers[i] - low) / width
        place = np.floor(steps)
        if steps - place > 1 - 1 / STEPS:
            place += 1.0
        places[i] = min(np.int64(place), last)
    return places


@njit(cache=True, nogil=True)
def combine_places(codes: Ints, places: Ints, begins: Longs, n_places: Longs) -> Longs:
    """One number for each record's places in all columns; without any value it is 0.

    Args:
        codes: Records × columns.
        places: The place of each code, column after column.
        begins: Where each column begins there.
        n_places: How many places each column has, the one for no value included.
    """
    # Step 2: rows with the same places in all columns are a bin.
    keys = np.empty(codes.shape[0], np.int64)
    for i in range(codes.shape[0]):
        key = np.int64(0)
        for c in range(codes.shape[1]):
            key *= n_places[c]
            if codes[i, c] >= 0:
                key += places[begins[c] + codes[i, c]] + 1
        keys[i] = key
    return keys


@njit(cache=True, nogil=True)
def rows_by_bin(bins: Longs, counts: Longs, n_bins: Whole) -> tuple[Ints, Longs]:
    """The record of each row, bin after bin, and where each bin with rows begins; bin 0 takes no part."""
    # Step 2: rows whose values have the same places are a bin. A counting sort: the rows of each bin …
    ends = np.zeros(n_bins + 1, np.int64)
    for record in range(bins.size):
        if bins[record] > 0:
            ends[bins[record] + 1] += counts[record]
    # … where each bin begins, with empty ones left out of the offsets …
    offsets = np.zeros(n_bins + 1, np.int64)
    used = 0
    for one in range(1, n_bins):
        if ends[one + 1] > 0:
            used += 1
            offsets[used] = offsets[used - 1] + ends[one + 1]
        ends[one + 1] += ends[one]
    # … and the record of each row.
    members = np.empty(ends[n_bins], np.int32)
    for record in range(bins.size):
        if bins[record] > 0:
            at = ends[bins[record]]
            for row in range(at, at + counts[record]):
                members[row] = record
            ends[bins[record]] = at + counts[record]
    return members, offsets[: used + 1].copy()


# ------------------------------------------------------------------------------------------------ exchanges inside bins


@njit(cache=True, nogil=True)
def _shuffle(members: Ints, start: Whole, end: Whole, generator: np.random.Generator) -> None:
    """Put a range of rows in random order (Fisher and Yates)."""
    for i in range(end - 1, start, -1):
        j = generator.integers(start, i + 1)
        members[i], members[j] = members[j], members[i]


@njit(cache=True, nogil=True)
def exchange_pairs(members: Ints, offsets: Longs, cycle: bool, generator: np.random.Generator) -> tuple[Ints, Ints]:
    """Random pairs of rows of each bin exchange their records.

    Of an odd number one row stays or, with ``cycle``, the last three pass theirs on in a circle. The members are put in
    random order inside their bins.

    Returns the record that each row of these bins takes, and the records that found no partner.
    """
    first = offsets[0]
    members = members[first : offsets[-1]]
    taken = np.empty(members.size, np.int32)
    alone = np.empty(offsets.size - 1, np.int32)
    n_alone = 0
    for one in range(offsets.size - 1):
        start, end = offsets[one] - first, offsets[one + 1] - first
        # The last step of Algorithms 1 and 2: shuffle the bin, so that neighbours are a random pair.
        _shuffle(members, start, end, generator)
        # An odd row out: the last three rows pass their records on in a circle, or the last one stays.
        if (end - start) % 2 == 1:
            end -= 1
            if cycle and end - start >= 2:
                end -= 2
                taken[end], taken[end + 1], taken[end + 2] = members[end + 1], members[end + 2], members[end]
            else:
                taken[end] = members[end]
                alone[n_alone] = members[end]
                n_alone += 1
        # All others exchange with their neighbour.
        for row in range(start, end, 2):
            taken[row], taken[row + 1] = members[row + 1], members[row]
    return taken, alone[:n_alone]


@njit(cache=True, nogil=True)
def identities(codes: Ints, records: Ints, places: Ints, begins: Longs) -> LongWords:
    """Hash each of some records: 64 bits that depend on its places in all columns, and on nothing else."""
    out = np.empty(records.size, np.uint64)
    for i in range(records.size):
        word = np.uint64(0)
        for c in range(codes.shape[1]):
            code = codes[records[i], c]
            place = np.uint64(places[begins[c] + code] + 1) if code >= 0 else np.uint64(0)
            word = np.uint64(mix_bits((word ^ place) + _GOLDEN))
        out[i] = word
    return out


@njit(cache=True, nogil=True)
def first_rows(members: Ints, n_records: Whole) -> Longs:
    """Where the rows of each record begin, among rows of which those of a record stand together."""
    begins = np.zeros(n_records, np.int64)
    for row in range(members.size - 1, -1, -1):
        begins[members[row]] = row
    return begins


@njit(cache=True, nogil=True)
def _shuffle_by_words(order: Ints, words: Source, at: Whole) -> Whole:
    """Put 0, 1, … into a random order (Fisher and Yates) by the blocks that follow ``at``; returns the last of them."""
    x = words[3]
    for i in range(order.size):
        order[i] = i
    for draw in range(order.size - 1):
        if draw % 8 == 0:
            at = next_block(words, at)
        i = order.size - 1 - draw
        j = number_below(x, at, draw % 8, i + 1)
        order[i], order[j] = order[j], order[i]
    return at


@njit(cache=True, nogil=True)
def exchange_in_cells(
    members: Ints,
    offsets: Longs,
    first: Whole,
    last: Whole,
    identities_of: LongWords,
    key: Words,
    cycle: bool,
    taken: Ints | Shorts,
    alone: Ints,
) -> None:
    """Random pairs of rows of the cells first … last − 1 exchange their records, in an order of their own each.

    Of an odd number the last row stays, or the last three pass theirs on in a circle. ``taken`` has the record that
    each row takes, ``alone`` for each cell that of the row that found no partner.
    """
    largest = 0
    for one in range(first, last):
        largest = max(largest, offsets[one + 1] - offsets[one])
    room = np.empty(largest, np.int32)
    words = words_of_items(key, identities_of[first:last], np.diff(offsets[first : last + 1]) - 1)
    at: Whole = -1
    for one in range(first, last):
        start, end = offsets[one], offsets[one + 1] - offsets[one]
        # Step 3: random pairs of the cell exchange their records.
        order = room[:end]
        at = _shuffle_by_words(order, words, at)
        if end % 2 == 1:
            end -= 1
            if cycle and end >= 2:
                end -= 2
                a, b, c = start + order[end], start + order[end + 1], start + order[end + 2]
                taken[a], taken[b], taken[c] = members[b], members[c], members[a]
            else:
                taken[start + order[end]] = members[start + order[end]]
                alone[one] = members[start + order[end]]
        for row in range(0, end, 2):
            a, b = start + order[row], start + order[row + 1]
            taken[a], taken[b] = members[b], members[a]


@njit(cache=True, nogil=True)
def values_taken(values: Ints, counts: Longs, begins: Longs, taken: Ints | Shorts) -> Ints:
    """The value of the record that each row takes, record by record."""
    out = np.empty(counts.sum(), np.int32)
    row = 0
    for record in range(counts.size):
        for place in range(begins[record], begins[record] + counts[record]):
            out[row] = values[taken[place]]
            row += 1
    return out


@njit(cache=True, nogil=True)
def permute_selected(members: Ints, offsets: Longs, rate: float, generator: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows of each bin, selected with a probability each, take each other's records in a uniform permutation.

    The members are put in another order inside their bins. Returns the record that each row takes, and the records of
    the rows that were not selected or were alone in their bin.
    """
    taken = members.copy()
    alone = np.empty(members.size, np.int32)
    n_alone = 0
    for one in range(offsets.size - 1):
        start, end = offsets[one], offsets[one + 1]
        # Select each row with the given probability, and move the selected ones to the front of the bin.
        middle = start
        for row in range(start, end):
            if generator.random() < rate:
                members[row], members[middle] = members[middle], members[row]
                middle += 1
        # Permute the selected rows uniformly.
        taken[start:end] = members[start:end]
        _shuffle(taken, start, middle, generator)
        # A single selected row has no partner.
        if middle - start == 1:
            middle = start
        alone[n_alone : n_alone + end - middle] = members[middle:end]
        n_alone += end - middle
    return taken, alone[:n_alone]


@njit(cache=True, nogil=True)
def largest_mixed(members: Ints, offsets: Longs) -> Whole:
    """The size of the largest bin that holds two different records; 0 for none."""
    largest = np.int64(0)
    for one in range(offsets.size - 1):
        start, end = offsets[one], offsets[one + 1]
        if end - start <= largest:
            continue
        for row in range(start + 1, end):
            if members[row] != members[start]:
                largest = end - start
                break
    return largest


# ------------------------------------------------------------------------------------------------ transitions


@njit(cache=True, nogil=True)
def transitions_of_rows(sources: Ints, targets: Ints, counts: Longs) -> tuple[Longs, Ints, Longs]:
    """Transitions of the rows of each record: offsets, targets and ends.

    Every record must be a target as often as a source; rows that are not given stay. Rows are sorted by their
    targets and then by their sources, so that the targets of a source stand in order without being compared.
    """
    n = counts.size
    # Records of one row each have one target each.
    if n == 0 or counts.max() == 1:
        only = np.arange(n).astype(np.int32)
        for row in range(sources.size):
            only[sources[row]] = targets[row]
        return np.arange(n + 1), only, np.ones(n, np.int64)
    # How many rows of each record stay, and where its rows begin.
    begins = np.zeros(n + 1, np.int64)
    staying = counts.copy()
    for row in range(sources.size):
        staying[sources[row]] -= 1
    for record in range(n):
        begins[record + 1] = begins[record] + counts[record]
    # Sort the rows by their targets; a row that stays is its own target.
    places = begins[:-1].copy()
    sources_of = np.empty(begins[n], np.int32)
    for record in range(n):
        for _ in range(staying[record]):
            sources_of[places[record]] = record
            places[record] += 1
    for row in range(sources.size):
        sources_of[places[targets[row]]] = sources[row]
        places[targets[row]] += 1
    # Then by their sources; the sort is stable, so the targets of a source are in order.
    places[:] = begins[:-1]
    targets_of = np.empty(begins[n], np.int32)
    for target in range(n):
        for row in range(begins[target], begins[target + 1]):
            source = sources_of[row]
            targets_of[places[source]] = target
            places[source] += 1
    return _merge_targets(targets_of, begins)


@njit(cache=True, nogil=True)
def _merge_targets(targets_of: Ints, begins: Longs) -> tuple[Longs, Ints, Longs]:
    """Equal targets of a source put together, in place."""
    n = begins.size - 1
    offsets = np.zeros(n + 1, np.int64)
    ends = np.empty(targets_of.size, np.int64)
    used = 0
    for source in range(n):
        for row in range(begins[source], begins[source + 1]):
            if used == offsets[source] or targets_of[used - 1] != targets_of[row]:
                targets_of[used] = targets_of[row]
                used += 1
            ends[used - 1] = row + 1 - begins[source]
        offsets[source + 1] = used
    return offsets, targets_of[:used].copy(), ends[:used].copy()
