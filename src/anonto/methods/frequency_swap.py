"""Distributional rank swapping of one column: common values are exchanged with common ones, rare with rare.

Records are ordered by how often their value occurs, equal values together and values of equal frequency in random
order; each record not yet exchanged takes a random partner among the next k. It is a naive method: it ignores meaning.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), section 5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.methods import swap_kernels
from anonto.methods.method import ColumnMethod
from anonto.methods.parameters import PERCENTS, K, within_table
from anonto.methods.support import InWindows
from anonto.methods.transitions import Transitions, transitions_of_pairs
from anonto.methods.words import Words

if TYPE_CHECKING:
    from anonto.encoding.value_space import ValueSpace
    from anonto.methods.support import ValueSupport


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencySwap(ColumnMethod):
    """``k``: a partner is one of the next k records in the order."""

    name: ClassVar[str] = "frequency-swap"
    words: ClassVar[Words] = Words(
        title="Swap rare with rare",
        summary="exchanges common values with common ones, rare with rare, within `k` records",
        does=(
            "Orders the records by how common their value is, ignoring meaning, and swaps each with one of the next k."
        ),
        columns="any kind, each alone",
        keeps="Keeps how often every value occurs.",
        report=(
            "The records were put in order of how common their value is, and each exchanged its value with one of"
            " the next {k} records in that order. Every value occurs exactly as often as before; common values "
            "went to records with common values, rare to rare. The meaning of the values was ignored."
        ),
    )
    is_naive: ClassVar[bool] = True
    k: int = field(metadata=K)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sorted({max(1, round(percent * n_records / 100)) for percent in PERCENTS})}

    def fit(self, column: ValueSpace, rng: np.random.Generator) -> Transitions:
        """Order the values by frequency and exchange in windows."""
        counts = column.counts
        order = np.lexsort((rng.permutation(counts.size), counts)).astype(np.int32)
        ordered = np.repeat(order, counts[order])
        k = within_table(self.k, ordered.size)
        left, right, alone = swap_kernels.swap_in_windows(ordered, k, rng)
        return transitions_of_pairs(left, right, counts, alone)

    def support(self, column: ValueSpace) -> ValueSupport:
        """Values that may stand within k records of each other."""
        return InWindows.of(column.counts[None, :].astype(np.float64), column.counts, self.k)

    def bytes_per_row(self, n_columns: int) -> int:  # noqa: ARG002
        """Bytes per row for the order of all records."""
        return 10
