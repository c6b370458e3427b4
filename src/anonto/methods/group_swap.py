"""Swapping inside groups: groups of k or more records close in meaning, and in each a uniform permutation.

The records are grouped by MDAV on their joint distance, the mean of the distances of their columns, and the groups are
refined: records move to a near group, or change places with one, while that lowers the distance that the permutation is
expected to move them by. Then each column is permuted inside each group, apart from the others or all together. Missing
cells are permuted like values, at distance 1 to every value; left in their rows, they would identify their records.

An intruder who knows these columns of everybody, and nothing else, links a released row to its person with probability
1/g ≤ 1/k, g being the size of the group. The conditions are in the guarantee.

Reference: Soria-Comas, Domingo-Ferrer, FUZZ-IEEE (2012). Departure: the groups are refined.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from anonto.methods.blocks import BlockMethod, fit_in_blocks, is_cut, support_in_blocks
from anonto.methods.grouping import joint_space, mdav, refine_groups
from anonto.methods.grouping.permute_kernels import permute_inside
from anonto.methods.guarantee import ONE_RECORD, WHOLE_ROWS, Guarantee, Setting, promise
from anonto.methods.parameters import (
    AVERAGE_RISK,
    BLOCK_ROWS,
    GROUP_SIZES,
    REFINE,
    K,
    choice,
    groups_within,
    public,
    sizes_within,
)
from anonto.methods.record_transitions import record_transitions
from anonto.methods.refusals import too_few_for_risk
from anonto.methods.removal import groups_by_removal, joint_centres
from anonto.methods.support import Partition
from anonto.methods.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonto.arrays import Ints
    from anonto.encoding.records import Records
    from anonto.methods.grouping import RecordGroups, Refined
    from anonto.methods.record_transitions import RecordTransitions

KIND = "probabilistic k-anonymity"
CONDITIONS = (
    f"{ONE_RECORD}; the rows are released in random order; the seed stays secret; there is one release of these "
    "records, and the counts of the evidence are not part of it; the intruder may know these columns of all persons, "
    "the method, k and the groups, but nothing of the other columns of any person, nor which of their values go with "
    "which of these inside a group. It limits the linking of a row to a person, not what is learnt where all persons "
    "of a group have the same value in another column"
)
TOGETHER = f"Nor does it limit what rows tell: the columns move together, so {WHOLE_ROWS}"
MOVE = choice(
    ("apart", "together"),
    "columns move",
    "“apart”: each column by itself; “together”: whole sets of values, which stay readable.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSwap(BlockMethod):
    """``k``: the least size of a group; ``move``: columns apart or together; ``refine``: whether groups are refined.

    ``average_risk``: how many groups of any size there may be. ``block_rows``: where there are more rows,
    groups form inside blocks of about so many.
    """

    name: ClassVar[str] = "group-swap"
    words: ClassVar[Words] = Words(
        title="Swap inside groups",
        summary="permutes the cells of groups of `k` or more records that are close in meaning",
        does=(
            "Puts records of similar meaning into groups of at least k, and shuffles the values of each group at "
            "random."
        ),
        columns="any kinds, together",
        keeps="Keeps how often every value occurs.",
        proves="probabilistic k-anonymity, on conditions",
        proved=(
            "who knows only these columns links a record to its person with a chance of at most 1/k. If the columns "
            "move together, whole rows are released: anyone who knows some of a person’s cells may find the row and "
            "read the rest."
        ),
        proposed=(
            "The step exchanges cells inside groups of k or more records that are close in meaning: whoever knows "
            "these columns of\neveryone, and nothing else, is right about a record with a chance of 1/k at most, if "
            "each person has one record."
        ),
        report=(
            "The records were put into groups of at least {k} that are close in meaning, and inside each group "
            "the values of these columns were shuffled at random, missing cells like values. Every value "
            "occurs exactly as often as before, and comes from a record of the same group."
        ),
    )
    moves_missing: ClassVar[bool] = True
    takes_sets: ClassVar[bool] = True
    whole_records_if: ClassVar[Mapping[str, Any] | None] = {"move": "together"}
    k: int = field(metadata=public(K))
    move: Literal["apart", "together"] = field(default="apart", metadata=public(MOVE))
    refine: bool = field(default=True, metadata=public(REFINE))
    average_risk: float | None = field(default=None, metadata=AVERAGE_RISK)
    block_rows: int | None = field(default=None, metadata=BLOCK_ROWS)

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sizes_within(GROUP_SIZES, n_records)}

    def fit(self, records: Records, rng: np.random.Generator) -> RecordTransitions:
        """Group the records, and permute each column inside the groups."""
        if is_cut(self, records):
            return fit_in_blocks(self, records, rng)
        groups, better = self._groups(records)
        facts: dict[str, float] = {} if self.average_risk is None else groups.risk()
        if better is not None:
            per_cell = 2 * len(records.names) / max(records.n_rows, 1)
            facts |= {
                "loss_before_refining": better.loss_before * per_cell,
                "loss_after_refining": better.loss * per_cell,
            }
        released = self._permute(records, groups, rng)
        untouched = [0] * len(records.names)
        return record_transitions(records, groups.members, released, None, untouched, {**groups.facts(), **facts})

    def support(self, records: Records) -> Partition:
        """The groups, which depend on the records alone."""
        if is_cut(self, records):
            return support_in_blocks(self, records)
        groups, _ = self._groups(records)
        may_stay = np.ones(groups.offsets.size - 1, dtype=np.bool_)
        return Partition(groups.members, groups.offsets, apart=self.move == "apart", stays=may_stay)

    def _groups(self, records: Records) -> tuple[RecordGroups, Refined | None]:
        space = joint_space(records)
        if self.average_risk is not None:
            if records.n_rows < self.least_rows:
                raise too_few_for_risk(records.n_rows, self.k, self.average_risk)
            n_groups = groups_within(self.average_risk, records.n_rows)
            centres = joint_centres(records)
            found = groups_by_removal(space, centres, records.counts, self.k, n_groups, refine=self.refine)
            return found, None
        groups = mdav(space, records.counts, self.k)
        better = refine_groups(space, groups, self.k, pair_cost="squares") if self.refine else None
        return (groups, None) if better is None else (better.groups, better)

    def _permute(self, records: Records, groups: RecordGroups, rng: np.random.Generator) -> Ints:
        """The released record of each member of each group."""
        if self.move == "together":
            return records.codes[groups.members[permute_inside(groups.offsets, rng)]]
        released = np.empty((groups.members.size, len(records.names)), dtype=np.int32)
        for column in range(released.shape[1]):
            released[:, column] = records.codes[groups.members[permute_inside(groups.offsets, rng)], column]
        return released

    @property
    def lists_rows(self) -> bool:
        """True if its groups are lists of all rows, equal ones too."""
        return True

    @property
    def least_group(self) -> int | None:
        """Records of a group, at least."""
        return self.k

    def guarantee(self, setting: Setting) -> Guarantee:
        """Linking with probability 1/k at most, where the step has all columns that an intruder may know."""
        broken = ["with k = 1 nothing needs to move"] if self.k == 1 else []
        conditions = CONDITIONS if self.move == "apart" else f"{CONDITIONS}. {TOGETHER}"
        return promise(setting, KIND, conditions, k=self.k, average_risk=self.average_risk, broken=broken)
