"""Rows in the memory of this machine, masked in chunks by several threads.

A chunk needs to know how many records of each value stand before it; these counts are taken first, then the chunks are
independent and give the same codes in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.threads import in_threads, slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.methods.flows import Flows
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
