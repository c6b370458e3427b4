"""Rows in the memory of this machine, masked in chunks by several threads.

A chunk needs to know how many records of each value stand before it; these counts are taken first, then the chunks are
independent and give the same codes in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from anonto.methods.flows import Flows
    from anonto.methods.row_masking import RowMasker
    from anonto.rng import KeyedPermutations

CHUNK = 1 << 20


def apply_in_chunks(
    flows: Flows, permutations: KeyedPermutations, codes: NDArray[np.int32], chunk: int = CHUNK
) -> NDArray[np.int32]:
    """The masked codes of all records."""
    parts = slices(0, codes.size, chunk)
    counts = np.zeros((len(parts) + 1, flows.sizes.size), dtype=np.int64)
    out = np.empty_like(codes)

    def count(part: slice) -> None:
        counts[part.start // chunk + 1] = flows.records_of(codes[part])

    def fill(part: slice) -> None:
        out[part] = dealt.apply(codes[part], before[part.start // chunk])

    in_threads(count, parts[:-1])
    before = np.cumsum(counts, axis=0)
    dealt = flows.dealt(permutations)
    in_threads(fill, parts)
    return out


def apply_by_row(
    masker: RowMasker,
    columns: Sequence[NDArray[np.int32]],
    rows: NDArray[np.int64],
    key: np.uint64,
    chunk: int = CHUNK,
) -> list[NDArray[np.int32] | NDArray[np.float64]]:
    """The released codes, or numbers, of all records and columns."""
    parts = slices(0, rows.size, chunk) or [slice(0, 0)]
    done: dict[int, list[NDArray[np.int32] | NDArray[np.float64]]] = {}

    def fill(part: slice) -> None:
        done[part.start] = masker.apply([codes[part] for codes in columns], rows[part], key)

    in_threads(fill, parts)
    return [np.concatenate([done[part.start][place] for part in parts]) for place in range(len(columns))]
