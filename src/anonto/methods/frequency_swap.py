"""Distributional rank swapping of one column: common values are exchanged with common ones, rare with rare.

Records are ordered by how often their value occurs, equal values together and values of equal frequency in random
order; each record not yet exchanged takes a random partner among the next k. It knows nothing of meaning.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), section 5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonto.methods import kernels
from anonto.methods.flows import Flows, flows_of_pairs
from anonto.methods.guarantee import MEASURED_ONLY, Guarantee, Setting
from anonto.methods.method import ColumnMethod
from anonto.methods.parameters import PERCENTS, K, within_table
from anonto.methods.reach import InWindows
from anonto.methods.words import Words

if TYPE_CHECKING:
    from anonto.methods.reach import ValueReach
    from anonto.table.attributes import Attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencySwap(ColumnMethod):
    """``k``: how many records further on in the order a partner may stand."""

    name: ClassVar[str] = "frequency-swap"
    words: ClassVar[Words] = Words(
        title="Swap rare with rare",
        summary="exchanges common values with common ones, rare with rare, within `k` records",
        does=(
            "Orders the records by how common their value is, whatever it means, and swaps each with one of the next k."
        ),
        columns="any kind, each alone",
        keeps="Keeps how often every value occurs.",
        report=(
            "The records were put in order of how common their value is, and each exchanged its value with one of"
            " the next {k} records in that order. Every value occurs exactly as often as before; common values "
            "went to records with common values, rare to rare. What the values mean was not considered."
        ),
    )
    is_baseline: ClassVar[bool] = True
    k: int = field(metadata=K)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sorted({max(1, round(percent * n_records / 100)) for percent in PERCENTS})}

    def fit(self, column: Attribute, rng: np.random.Generator) -> Flows:
        """Order the values by frequency and exchange in windows."""
        counts = column.counts
        order = np.lexsort((rng.permutation(counts.size), counts)).astype(np.int32)
        ordered = np.repeat(order, counts[order])
        k = within_table(self.k, ordered.size)
        left, right, alone = kernels.swap_in_windows(ordered, k, rng)
        return flows_of_pairs(left, right, counts, alone)

    def reach(self, column: Attribute) -> ValueReach:
        """Values that may stand within k records of each other."""
        return InWindows.of(column.counts[None, :].astype(np.float64), column.counts, self.k)

    def bytes_per_row(self, n_columns: int) -> int:  # noqa: ARG002
        """Of the order of all records."""
        return 10

    def guarantee(self, setting: Setting) -> Guarantee:  # noqa: ARG002
        """None is proved."""
        return MEASURED_ONLY
