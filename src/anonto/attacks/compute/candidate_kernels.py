"""Compiled loops over the candidates of persons: released records that all constraints allow.

The constraints of some targets are one table of targets × numbers; a released record looks up one number for each of
its parts, and is a candidate if all of them are allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from anonto.attacks.compute.kernels import TIE, keep_nearest, squared_distance

if TYPE_CHECKING:
    from anonto.arrays import Bools, Floats, Ints, Longs
    from anonto.attacks.compute.kernels import DistanceTables, RecordArrays


SORTED_SHARE = 8
"""Candidates are looked for among the records of one part if these are at most one in so many of all."""


class ReleasedArrays(NamedTuple):
    """The distinct released records, and where each is looked up."""

    records: RecordArrays
    parts: Ints
    """Records × parts: where to look in a row of the table of what is allowed."""
    begins: Longs
    """Where the numbers of each part begin in such a row, and the end of all."""
    starts: Longs
    """Where the records with each number begin in the next, and the end of all."""
    listed: Ints
    """The records by number, part after part; those with the same number in their order."""
    classes: Ints
    """The class of each record: the rows of another release that may be the same person's."""
    amounts: Longs
    """How many rows have each."""


class NearestCandidates(NamedTuple):
    """Result of a search, for each target."""

    least: Floats
    """The least squared distance of a candidate; infinite without candidates."""
    n_least: Longs
    """Rows at this distance."""
    n_candidates: Longs
    """Rows that are candidates."""

    def part(self, targets: slice) -> NearestCandidates:
        """The result for some targets."""
        return NearestCandidates(self.least[targets], self.n_least[targets], self.n_candidates[targets])


@njit(cache=True, nogil=True)
def mark_groups(
    persons: Ints, group_starts: Longs, groups: Ints, stays: Bools, starts: Longs, members: Ints, allowed: Bools
) -> None:
    """Mark in a row for each person what may have come from one of her groups; her own record only where it may stay.

    Args:
        persons: Numbers of what some persons have.
        group_starts: Where the groups of each number begin.
        groups: The groups of each number.
        stays: For each of these whether the same record may have come from it again.
        starts: Where the members of each group begin.
        members: Numbers of released rows that may have come from each group.
        allowed: Persons × numbers of released rows.
    """
    for i in range(persons.size):
        # The method stays inside groups, so every member of hers is a candidate.
        for at in range(group_starts[persons[i]], group_starts[persons[i] + 1]):
            group = groups[at]
            for place in range(starts[group], starts[group + 1]):
                if stays[at] or members[place] != persons[i]:
                    allowed[i, members[place]] = True


@njit(cache=True, nogil=True)
def values_by_group(starts: Longs, members: Ints, numbers: Ints, released: Ints) -> tuple[Longs, Ints]:
    """Find the released numbers of each group whose every cell occurs in it, in its column.

    Args:
        starts: Where the members of each group begin.
        members: Numbers of combinations of cells.
        numbers: Combinations × columns: the code of each cell, from −1.
        released: The numbers of combinations that were released.
    """
    n_groups, n_columns = starts.size - 1, numbers.shape[1]
    # For each column and code the last group that has it: no table has to be cleared between groups.
    width = 2
    for number in range(numbers.shape[0]):
        for column in range(n_columns):
            width = max(width, numbers[number, column] + 2)
    seen_in = np.full((n_columns, width), -1, np.int64)
    out_starts = np.zeros(n_groups + 1, np.int64)
    out = np.empty(max(1024, members.size), np.int32)
    n_out = 0
    for group in range(n_groups):
        # Note the cells that occur in the group.
        for place in range(starts[group], starts[group + 1]):
            for column in range(n_columns):
                seen_in[column, numbers[members[place], column] + 1] = group
        # List the released combinations of such cells.
        for number in released:
            is_possible = True
            for column in range(n_columns):
                if seen_in[column, numbers[number, column] + 1] != group:
                    is_possible = False
                    break
            if is_possible:
                if n_out == out.size:
                    larger = np.empty(2 * out.size, np.int32)
                    larger[:n_out] = out
                    out = larger
                out[n_out] = number
                n_out += 1
        out_starts[group + 1] = n_out
    return out_starts, out[:n_out].copy()


@njit(cache=True, nogil=True, inline="always")
def is_candidate(r: int, parts: Ints, allowed: Bools) -> bool:
    """Return whether all parts of a released record are allowed."""
    for part in range(parts.shape[1]):  # noqa: SIM110 - compiled
        if not allowed[parts[r, part]]:
            return False
    return True


@njit(cache=True, nogil=True)
def list_candidates(allowed: Bools, released: ReleasedArrays, out: Ints) -> int:
    """List the released records whose parts are all allowed, in their order, and return how many they are.

    Args:
        allowed: By number, whether it is allowed.
        released: The released records.
        out: A place for each record: set to the candidates.
    """
    parts = released.parts
    n_records, n_parts = parts.shape
    # The part that allows the fewest records.
    lead, least = -1, n_records
    for part in range(n_parts):
        n_allowed = 0
        for number in range(released.begins[part], released.begins[part + 1]):
            if allowed[number]:
                n_allowed += released.starts[number + 1] - released.starts[number]
        if n_allowed < least:
            lead, least = part, n_allowed
    n = 0
    # If these are many, looking at all records in their order is faster than sorting.
    if lead < 0 or least > n_records // SORTED_SHARE:
        for r in range(n_records):
            if is_candidate(r, parts, allowed):
                out[n] = r
                n += 1
        return n
    for number in range(released.begins[lead], released.begins[lead + 1]):
        if allowed[number]:
            for place in range(released.starts[number], released.starts[number + 1]):
                r = released.listed[place]
                if is_candidate(r, parts, allowed):
                    out[n] = r
                    n += 1
    out[:n].sort()
    return n


@njit(cache=True, nogil=True)
def search(
    targets: RecordArrays,
    allowed: Bools,
    released: ReleasedArrays,
    tables: DistanceTables,
    further: Floats,
    answer: NearestCandidates,
    found: Ints,
    distances: Floats,
) -> None:
    """Find the nearest candidate of each target.

    Args:
        targets: The persons to look for.
        allowed: Targets × numbers of all parts.
        released: The released records.
        tables: Distances of their cells.
        further: Targets × classes: added to the squared distance of a record of the class; infinite to exclude it.
        answer: Set to the result.
        found: Targets × places: set to the nearest candidates until they have as many rows as there are places, and to
            −1 behind them. It may have no places.
        distances: Set to their squared distances.
    """
    wanted = found.shape[1]
    possible = np.empty(released.amounts.size, np.int32)
    for i in range(targets.codes.shape[0]):
        best, n_best, n_candidates = np.inf, 0, 0
        n_found, n_rows = 0, 0
        own_further, own_found, own_distances = further[i], found[i], distances[i]
        limit = np.inf if wanted > 0 else -np.inf
        for place in range(list_candidates(allowed[i], released, possible)):
            r = possible[place]
            # Does the other release exclude it?
            added = own_further[released.classes[r]]
            if added == np.inf:
                continue
            n_candidates += released.amounts[r]
            # The nearest candidate, or all that tie for it.
            distance = added + squared_distance(targets, i, released.records, r, tables)
            if distance < best * (1.0 - TIE):
                best, n_best = distance, 0
            if distance <= best * (1.0 + TIE):
                n_best += released.amounts[r]
            # The list of the nearest, once it has enough rows only for what is nearer than its last.
            if distance < limit:
                n_found, n_rows = keep_nearest(r, distance, released.amounts, n_found, n_rows, own_found, own_distances)
                if n_rows >= wanted:
                    limit = own_distances[n_found - 1]
        answer.least[i], answer.n_least[i], answer.n_candidates[i] = best, n_best, n_candidates
        for place in range(n_found, wanted):
            found[i, place] = -1


@njit(cache=True, nogil=True)
def least_by_class(
    targets: RecordArrays, allowed: Bools, released: ReleasedArrays, tables: DistanceTables, out: Floats
) -> None:
    """The least squared distance of a candidate for each target and class; infinite where there is none."""
    out[:] = np.inf
    possible = np.empty(released.amounts.size, np.int32)
    for i in range(targets.codes.shape[0]):
        for place in range(list_candidates(allowed[i], released, possible)):
            r = possible[place]
            distance = squared_distance(targets, i, released.records, r, tables)
            out[i, released.classes[r]] = min(distance, out[i, released.classes[r]])
