"""Rows in the memory of this machine, masked in chunks by several threads.

A chunk needs to know how many records of each value stand before it; these counts are taken first, then the chunks are
independent and give the same codes in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.methods.row_masking import RowMasker
    from anonto.methods.transitions import Transitions
    from anonto.random.streams import Key, KeyedPermutations

CHUNK = 1 << 20
DRAWN_AT_ONCE = 1 << 17
"""Rows with draws of their own, which take many times the memory of a code."""


def apply_in_chunks(
    transitions: Transitions,
    permutations: KeyedPermutations,
    codes: NDArray[np.int32],
    chunk: int = CHUNK,
    *,
    in_place: bool = False,
) -> NDArray[np.int32]:
    """The masked codes of all records; at once if the counts before each chunk would take more memory than the codes.

    Where the codes are not needed any more, they may be written over.
    """
    if transitions.sizes.size * -(-codes.size // chunk) > 2 * max(codes.size, chunk):
        return transitions.assign_targets(permutations).apply(codes, np.zeros(transitions.sizes.size, dtype=np.int64))
    parts = slices(0, codes.size, chunk)
    counts = np.zeros((len(parts) + 1, transitions.sizes.size), dtype=np.int64)
    out = codes if in_place else np.empty_like(codes)

    def count(part: slice) -> None:
        counts[part.start // chunk + 1] = transitions.records_of(codes[part])

    def fill(part: slice) -> None:
        out[part] = assigned.apply(codes[part], before[part.start // chunk])

    in_threads(count, parts[:-1])
    before = np.cumsum(counts, axis=0)
    assigned = transitions.assign_targets(permutations)
    in_threads(fill, parts)
    return out


def apply_by_row(
    masker: RowMasker,
    columns: Sequence[NDArray[np.int32]],
    rows: NDArray[np.int64] | None,
    key: Key,
    chunk: int | None = None,
) -> list[NDArray[np.int32] | NDArray[np.float64]]:
    """The released codes, or numbers, of all records and columns; without ``rows`` these are numbered from 0."""
    n_rows = columns[0].size
    at_once = chunk or (CHUNK if masker.shares_work else DRAWN_AT_ONCE)

    def masked(part: slice) -> list[NDArray[np.int32] | NDArray[np.float64]]:
        numbers = np.arange(part.start, part.stop) if rows is None else rows[part]
        return masker.apply([codes[part] for codes in columns], numbers, key)

    def fill(part: slice) -> None:
        for whole, released in zip(out, masked(part), strict=True):
            whole[part] = released

    of_no_row = masked(slice(0, 0))
    out: list[NDArray[np.int32] | NDArray[np.float64]] = [np.empty(n_rows, dtype=one.dtype) for one in of_no_row]
    in_threads(fill, slices(0, n_rows, at_once))
    return out
