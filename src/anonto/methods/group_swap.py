"""Swapping inside groups: groups of k or more records close in meaning, and in each a uniform permutation.

The records are grouped by MDAV on their joint distance, the mean of the distances of their columns, and the groups are
refined: records move to a near group, or change places with one, while that lowers the distance that the permutation is
expected to move them by. Then each column is permuted inside each group, apart from the others or all together. Missing
cells are permuted like values, at distance 1 to every value; left in their rows they would give their records away.

An intruder who knows these columns of everybody, and nothing else, links a released row to its person with probability
1/g ≤ 1/k, g being the size of the group. The conditions are in the guarantee.

Reference: Soria-Comas, Domingo-Ferrer, FUZZ-IEEE (2012). Departure: the groups are refined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from anonto.errors import ParameterError
from anonto.methods.blocks import BlockMethod, fit_in_blocks, is_cut, reach_in_blocks
from anonto.methods.grouping import joint_space, mdav, refined
from anonto.methods.grouping.permute_kernels import permute_inside
from anonto.methods.guarantee import WHOLE_ROWS, Guarantee, Setting, promised
from anonto.methods.parameters import require_block_rows, require_choice, require_k
from anonto.methods.reach import Partition
from anonto.methods.record_flows import record_flows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.methods.grouping import Groups, Refined
    from anonto.methods.record_flows import RecordFlows
    from anonto.table.records import Records

KIND = "probabilistic k-anonymity"
CONDITIONS = (
    "each person has one record; the rows leave in random order; the seed stays secret; there is one release of these "
    "records, and the counts of the evidence are not part of it; the intruder may know these columns of all persons, "
    "the method, k and the groups, but nothing of the other columns of any person, nor which of their values go with "
    "which of these inside a group. It limits the linking of a row to a person, not what is learnt where all persons "
    "of a group have the same value in another column"
)
TOGETHER = f"Nor does it limit what rows tell: the columns move together, so {WHOLE_ROWS}"
MOVES = ("apart", "together")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSwap(BlockMethod):
    """``k``: the least size of a group; ``move``: columns apart or together; ``refine``: whether groups are refined.

    ``block_rows``: where there are more rows, groups form inside blocks of about so many.
    """

    name: ClassVar[str] = "group-swap"
    moves_missing: ClassVar[bool] = True
    k: int
    move: Literal["apart", "together"] = "apart"
    refine: bool = True
    block_rows: int | None = None

    def __post_init__(self) -> None:
        require_k(self.k)
        require_block_rows(self.block_rows, self.k)
        require_choice("move", self.move, MOVES)
        if not isinstance(self.refine, bool):
            raise ParameterError("refine", "true or false", self.refine)

    def fit(self, records: Records, rng: np.random.Generator) -> RecordFlows:
        """Group the records, and permute each column inside the groups."""
        if is_cut(self, records):
            return fit_in_blocks(self, records, rng)
        groups, better = self._groups(records)
        facts: dict[str, float] = {}
        if better is not None:
            per_cell = 2 * len(records.names) / max(records.n_rows, 1)
            facts = {
                "loss_before_refining": better.loss_before * per_cell,
                "loss_after_refining": better.loss * per_cell,
            }
        released = self._permuted(records, groups, rng)
        untouched = [0] * len(records.names)
        return record_flows(records, groups.members, released, None, untouched, {**groups.facts(), **facts})

    def reach(self, records: Records) -> Partition:
        """The groups, which depend on the records alone."""
        if is_cut(self, records):
            return reach_in_blocks(self, records)
        groups, _ = self._groups(records)
        may_stay = np.ones(groups.offsets.size - 1, dtype=np.bool_)
        return Partition(groups.members, groups.offsets, apart=self.move == "apart", stays=may_stay)

    def _groups(self, records: Records) -> tuple[Groups, Refined | None]:
        space = joint_space(records)
        groups = mdav(space, records.counts, self.k)
        better = refined(space, groups, self.k, pair_cost="squares") if self.refine else None
        return (groups, None) if better is None else (better.groups, better)

    def _permuted(self, records: Records, groups: Groups, rng: np.random.Generator) -> NDArray[np.int32]:
        """The released record of each member of each group."""
        if self.move == "together":
            return records.codes[groups.members[permute_inside(groups.offsets, rng)]]
        released = np.empty((groups.members.size, len(records.names)), dtype=np.int32)
        for column in range(released.shape[1]):
            released[:, column] = records.codes[groups.members[permute_inside(groups.offsets, rng)], column]
        return released

    @property
    def lists_rows(self) -> bool:
        """Whether its groups are lists of all rows, equal ones too."""
        return True

    @property
    def moves_whole_records(self) -> bool:
        """Whether every combination of values leaves as it was."""
        return self.move == "together"

    @property
    def least_group(self) -> int | None:
        """Records of a group, at least."""
        return self.k

    def guarantee(self, setting: Setting) -> Guarantee:
        """Linking with probability 1/k at most, where the step has all columns that an intruder may know."""
        broken = ["with k = 1 nothing needs to move"] if self.k == 1 else []
        conditions = CONDITIONS if self.move == "apart" else f"{CONDITIONS}. {TOGETHER}"
        return promised(setting, KIND, conditions, k=self.k, broken=broken)
