"""Swapping with a stated ε subject to invariants.

Records are put into bins of equal depth (``k``) or of equal width (``width``), as in `equi-depth-swap` and
`equi-width-swap`; bins of equal depth that share a record are merged, so that the value of a record alone determines
its bin. Each record is selected with probability ``rate``, and the selected records of a bin take each
other's places in a permutation drawn uniformly, all columns of the step together.

Compare two tables that differ in two records of one bin having exchanged their values. No released table is more than
e^ε times as likely from the one as from the other, with

    ε = ln(1 + 2b/o + b(b − 1)/o²),   o = rate / (1 − rate),

where b is the size of the largest bin that holds two different records. A rate of 1 gives ε = 0; so does a table
without such a bin, in which nothing can move.

Why: a permutation that moves m of the b records has probability f(m) = Σₛ C(b − m, s) o^(m+s) / (m + s)!, up to a
factor, the sum over how many more were selected. Exchanging two values turns a permutation into one that moves at most
two records more or fewer. f falls in m, and it is log-concave, being a binomial convolution of log-concave sequences
(Walkup 1976); so the ratio f(m)/f(m + 2) is largest for m = b − 2, and is then the number above. A released table has
the sum of the probabilities of the permutations that lead to it, and a ratio of sums is no larger than the largest
ratio of their terms. The number is reached by bins of different records, but for b = 3, where one other record cannot
be moved alone.

The ε means nothing without its invariants: which record is in which bin, and the values that each bin has, are taken as
known to everyone and are not protected at all. It is about the released table, not about the evidence.

Reference: Bailie, Gong, Meng, Harvard Data Science Review (2025), on swapping under invariants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from anonto.methods import bin_kernels
from anonto.methods.bins import record_transitions_of_rows, with_copies_together
from anonto.methods.equi_depth_swap import equi_depth_bins
from anonto.methods.equi_width_swap import equi_width_bins, with_fewer_copies
from anonto.methods.guarantee import WHOLE_ROWS, Guarantee, Setting, promise
from anonto.methods.method import RecordMethod
from anonto.methods.parameters import BIN_SIZES, WIDTH, K, number, sizes_within
from anonto.methods.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from anonto.encoding.records import Records
    from anonto.methods.bins import Bins
    from anonto.methods.record_transitions import RecordTransitions
    from anonto.methods.support import Partition

KIND = "ε subject to invariants"
NOT_YET = "ε depends on the largest bin with two different records, which a table must be masked to know"
INVARIANTS = (
    "the bins are given: which record is in which bin, which cells are missing, and the values that each bin holds are "
    "invariants, known to everyone and not protected; neighbours are tables in which two records of one bin have "
    "exchanged their values of this step, and the ε of several steps add up; the seed is secret, there is one release, "
    "and the counts of the evidence are not part of it; the rows may be released in any order, and other columns may "
    f"be known. It does not limit what rows tell: {WHOLE_ROWS}"
)
NOTHING_MOVES = (
    "no bin holds two different records, so nothing was moved and the released columns are the original ones"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvariantSwap(RecordMethod):
    """``rate``: the probability that a record is selected; ``k`` or ``width`` of the bins."""

    name: ClassVar[str] = "invariant-swap"
    words: ClassVar[Words] = Words(
        title="Swap some records in bins",
        summary="permutes records in bins of `k` similar ones or of a `width`, each selected at a `rate`",
        does=("Puts similar records into bins, selects some of each bin at random, and shuffles the values of these."),
        columns="any kinds, together",
        keeps=(
            "Keeps how often every combination of values occurs. Anyone who knows some of a person’s cells may "
            "find the row and read the rest."
        ),
        proves="ε subject to invariants",
        proved="an ε, subject to the counts that stay the same.",
        report=(
            "The records were put into bins of similar records. Each record was selected with probability {rate},"
            " and the selected records of a bin took each other’s values in these columns, all together, in "
            "random order. Every combination of values in these columns occurs exactly as often as "
            "before, in every bin."
        ),
    )
    whole_records_if: ClassVar[Mapping[str, Any] | None] = {}
    widths_by: ClassVar[tuple[str, ...]] = ("width",)
    one_of: ClassVar[tuple[str, ...]] = ("k", "width")
    rate: float = field(
        metadata=number(
            "share that swaps",
            "The probability that a record is selected, from 0 to 1.",
            above=0,
            high=1,
            start=0.5,
            offered=(0.01, 1, 0.01),
            symbol="p",
        )
    )
    k: int | None = field(default=None, metadata=K)
    width: float | tuple[float, ...] | None = field(default=None, metadata=WIDTH)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        sizes = sizes_within(BIN_SIZES, n_records)
        return {"rate": [0.5, 1.0], "k": sizes[1:] or sizes}

    def fit(self, records: Records, rng: np.random.Generator) -> RecordTransitions:
        """Find the bins and permute the selected records inside them."""
        bins = self._bins(records)
        members = bins.members.copy()
        taken, alone = bin_kernels.permute_selected(members, bins.offsets, float(self.rate), rng)
        facts = {**bins.facts(), "largest_mixed_bin": int(bin_kernels.largest_mixed(members, bins.offsets))}
        return record_transitions_of_rows(records, members, taken, alone, facts)

    def support(self, records: Records) -> Partition:
        """The bins, which depend on the records alone."""
        return self._bins(records if self.lists_rows else with_fewer_copies(records)).support()

    @property
    def lists_rows(self) -> bool:
        """True if bins are lists of all rows, equal ones too."""
        return self.k is not None

    def _bins(self, records: Records) -> Bins:
        if self.k is not None:
            return with_copies_together(equi_depth_bins(records, self.k))
        return equi_width_bins(records, width=self.width)

    def guarantee(self, setting: Setting) -> Guarantee:
        """ε and its conditions."""
        if "largest_mixed_bin" not in setting.facts:
            return promise(setting, KIND, INVARIANTS, broken=[NOT_YET])
        largest = int(setting.facts["largest_mixed_bin"])
        conditions = INVARIANTS if largest else f"{INVARIANTS}; {NOTHING_MOVES}"
        found = promise(setting, KIND, conditions, epsilon=epsilon_of(float(self.rate), largest))
        return found if found.proved else replace(found, epsilon=None)


def epsilon_of(rate: float, largest_bin: int) -> float:
    """The ε of permuting the records selected at a rate, in bins of at most this many records."""
    if rate == 1 or largest_bin < 2:
        return 0.0
    odds = rate / (1 - rate)
    # ln(1 + x) of a very small rate: x is too large for a float.
    if odds < 1e-100:
        return math.log(largest_bin) + math.log(largest_bin - 1) - 2 * math.log(odds)
    return math.log1p(2 * largest_bin / odds + largest_bin * (largest_bin - 1) / odds**2)
