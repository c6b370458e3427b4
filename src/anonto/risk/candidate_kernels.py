"""Compiled loops over the candidates of persons: released records that all relations allow.

Spaces are those of `kernels`. What the relations allow lies in one table of targets × numbers; a released record looks
up one number for each part, and is a candidate if all of them are allowed.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from anonto.risk.kernels import TIE, keep_nearest, squared_distance

Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def mark_groups(
    persons: Ints, group_starts: Longs, groups: Ints, stays: Bools, starts: Longs, members: Ints, allowed: Bools
) -> None:
    """Mark in a row for each person what could have come out of one of her groups; her own only where it may stay."""
    for i in range(persons.size):
        for at in range(group_starts[persons[i]], group_starts[persons[i] + 1]):
            group = groups[at]
            for place in range(starts[group], starts[group + 1]):
                if stays[at] or members[place] != persons[i]:
                    allowed[i, members[place]] = True


@njit(cache=True, nogil=True)
def values_by_group(starts: Longs, members: Ints, numbers: Ints, released: Ints) -> tuple[Longs, Ints]:
    """For each group the released numbers whose every cell occurs in it, in its column.

    Args:
        starts: Where the members of each group begin.
        members: Numbers of combinations of cells.
        numbers: Combinations × columns: the code of each cell, from −1.
        released: The numbers of combinations that were released.
    """
    n_groups, n_columns = starts.size - 1, numbers.shape[1]
    width = 2
    for number in range(numbers.shape[0]):
        for column in range(n_columns):
            width = max(width, numbers[number, column] + 2)
    seen_in = np.full((n_columns, width), -1, np.int64)
    out_starts = np.zeros(n_groups + 1, np.int64)
    out = np.empty(max(1024, members.size), np.int32)
    n_out = 0
    for group in range(n_groups):
        for place in range(starts[group], starts[group + 1]):
            for column in range(n_columns):
                seen_in[column, numbers[members[place], column] + 1] = group
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


@njit(cache=True, nogil=True)
def is_candidate(parts: Ints, allowed: Bools) -> bool:
    """Whether all parts of a released record are allowed."""
    for part in parts:  # noqa: SIM110 - compiled
        if not allowed[part]:
            return False
    return True


@njit(cache=True, nogil=True)
def search(
    targets: Ints,
    target_numbers: Floats,
    allowed: Bools,
    released: Ints,
    released_numbers: Floats,
    released_parts: Ints,
    amounts: Longs,
    tables: Floats,
    offsets: Longs,
    widths: Longs,
    wanted: int,
    least: Floats,
    n_least: Longs,
    n_candidates: Longs,
    found: Ints,
    distances: Floats,
) -> None:
    """For each target the nearest of its candidates.

    Args:
        targets: Codes of the targets.
        target_numbers: Their numbers.
        allowed: Targets × numbers of all parts.
        released: Codes of the distinct released records.
        released_numbers: Their numbers.
        released_parts: Released records × parts: where to look in a row of ``allowed``.
        amounts: How many rows have each.
        tables: The space.
        offsets: The space.
        widths: The space.
        wanted: So many rows of the nearest candidates are listed.
        least: Set to the least squared distance, infinite without candidates.
        n_least: Set to how many rows are at it.
        n_candidates: Set to how many rows are candidates.
        found: Set to the nearest candidates, −1 behind them; of no columns where none are wanted.
        distances: Set to their squared distances.
    """
    most = found.shape[1]
    for i in range(targets.shape[0]):
        best, n_best, n_rows_found = np.inf, 0, 0
        n_found, n_rows = 0, 0
        row = allowed[i]
        for r in range(released.shape[0]):
            if not is_candidate(released_parts[r], row):
                continue
            n_rows_found += amounts[r]
            distance = squared_distance(
                targets[i], released[r], target_numbers[i], released_numbers[r], tables, offsets, widths
            )
            if distance < best * (1.0 - TIE):
                best, n_best = distance, 0
            if distance <= best * (1.0 + TIE):
                n_best += amounts[r]
            if most > 0:
                n_found, n_rows = keep_nearest(r, distance, amounts, wanted, n_found, n_rows, found[i], distances[i])
        least[i], n_least[i], n_candidates[i] = best, n_best, n_rows_found
        for place in range(n_found, most):
            found[i, place] = -1


@njit(cache=True, nogil=True)
def search_both(
    targets: Ints,
    target_numbers: Floats,
    allowed: Bools,
    released: Ints,
    released_numbers: Floats,
    released_parts: Ints,
    classes: Ints,
    amounts: Longs,
    tables: Floats,
    offsets: Longs,
    widths: Longs,
    least_of_class: Floats,
    least: Floats,
    n_least: Longs,
    n_candidates: Longs,
) -> None:
    """For each target the nearest candidates, a further distance being added to each by its class.

    The arguments are those of `search`, and besides:

    Args:
        targets: As there.
        target_numbers: As there.
        allowed: As there.
        released: As there.
        released_numbers: As there.
        released_parts: As there.
        classes: The class of each released record.
        amounts: As there.
        tables: As there.
        offsets: As there.
        widths: As there.
        least_of_class: Targets × classes: what is added; infinite where a class holds no candidate.
        least: As there.
        n_least: As there.
        n_candidates: As there.
    """
    for i in range(targets.shape[0]):
        best, n_best, n_rows_found = np.inf, 0, 0
        row = allowed[i]
        for r in range(released.shape[0]):
            further = least_of_class[i, classes[r]]
            if further == np.inf or not is_candidate(released_parts[r], row):
                continue
            n_rows_found += amounts[r]
            distance = further + squared_distance(
                targets[i], released[r], target_numbers[i], released_numbers[r], tables, offsets, widths
            )
            if distance < best * (1.0 - TIE):
                best, n_best = distance, 0
            if distance <= best * (1.0 + TIE):
                n_best += amounts[r]
        least[i], n_least[i], n_candidates[i] = best, n_best, n_rows_found


@njit(cache=True, nogil=True)
def least_by_class(
    targets: Ints,
    target_numbers: Floats,
    allowed: Bools,
    released: Ints,
    released_numbers: Floats,
    released_parts: Ints,
    classes: Ints,
    tables: Floats,
    offsets: Longs,
    widths: Longs,
    least_of_class: Floats,
) -> None:
    """For each target and class the least squared distance of a candidate; infinite where there is none.

    The arguments are those of `search_both`.
    """
    least_of_class[:] = np.inf
    for i in range(targets.shape[0]):
        row = allowed[i]
        for r in range(released.shape[0]):
            if is_candidate(released_parts[r], row):
                distance = squared_distance(
                    targets[i], released[r], target_numbers[i], released_numbers[r], tables, offsets, widths
                )
                least_of_class[i, classes[r]] = min(distance, least_of_class[i, classes[r]])
