"""Refining of groups by what is released of them: records go to the near group whose centre is nearest to them.

Centres stay where they are while records move to near groups or change places with records of them, as long as that
brings them nearer; then the centres are recomputed, and so on. The sum of the squared distances to the centres, in the
scale of the S-distance, falls with every round. Sizes stay between k and 2k − 1. Nothing is random.

Step by step: `anonto.methods.plain.refine_centroids`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonto.encoding.value_space import MeanSpace, NominalSpace
from anonto.methods import microaggregation_kernels as kernels
from anonto.methods.aggregation import candidates_of, means_of, value_sets
from anonto.methods.grouping import RecordGroups
from anonto.methods.grouping.refine_kernels import near_groups
from anonto.search.tree import tree_of
from anonto.stats.ties import DECIMALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonto.arrays import Codes
    from anonto.methods.aggregation import CentreCandidates
    from anonto.methods.grouping import GroupingSpace
    from anonto.methods.s_space import ScaledColumn


ROUNDS = 10
"""Largest number of rounds that recompute the centres."""
WORTH_A_ROUND = 1e-4
"""When a round gains a smaller share of the loss, it was the last."""
NEAR = 32
"""The number of other groups with which a group may exchange members."""
MOST_DISTANCES = 1 << 25
"""Columns with more distances of values to candidates are not held in memory; then nothing is done here."""


def move_to_centroids(
    space: GroupingSpace, columns: Sequence[ScaledColumn], codes: Codes, groups: RecordGroups, k: int
) -> RecordGroups:
    """The groups after their members have moved to nearer centres.

    Args:
        space: The records, in which near groups are looked for.
        columns: The columns of the records.
        codes: Records × columns.
        groups: Of sizes between k and 2k − 1.
        k: The least size of a group.
    """
    wanted = min(NEAR, groups.n_groups - 1)
    nominal = [_Nominal(column) for column in columns if column.units is None]
    if wanted < 1 or sum(one.n_distances for one in nominal) > MOST_DISTANCES:
        return groups
    tables = _CentreTables(columns, codes, nominal)
    near, lost_before = None, np.inf
    for _ in range(ROUNDS):
        centres = tables.centres(groups)
        representatives, lost = kernels.nearest_members(centres, groups.members, groups.offsets)
        if lost >= lost_before * (1.0 - WORTH_A_ROUND):
            break
        lost_before = lost
        if near is None:
            tree = tree_of(space.of(representatives))
            near = near_groups(tree, wanted)
        members, sizes = groups.pad(2 * k - 1), groups.sizes
        if not kernels.move_to_centres(centres, members, sizes, near, k, 10.0**-DECIMALS):
            break
        groups = RecordGroups.from_padded(members, sizes)
    return groups


class _Nominal:
    """A nominal column with its candidates for centres."""

    def __init__(self, column: ScaledColumn) -> None:
        self.column = column
        value_space = column.value_space
        has_candidates = column.distances is not None and isinstance(value_space, NominalSpace | MeanSpace)
        self.candidates: CentreCandidates | None = candidates_of(value_space) if has_candidates else None  # type: ignore[arg-type]

    @property
    def n_distances(self) -> int:
        return 0 if self.candidates is None else self.column.value_space.counts.size * self.candidates.size


class _CentreTables:
    """Tables that stay the same in all rounds."""

    def __init__(self, columns: Sequence[ScaledColumn], codes: Codes, nominal: list[_Nominal]) -> None:
        self.nominal = nominal
        numeric = [place for place, column in enumerate(columns) if column.units is not None]
        others = [place for place, column in enumerate(columns) if column.units is None]
        self.numeric = [(columns[place], codes[:, place]) for place in numeric]
        self.codes = np.ascontiguousarray(codes[:, others])
        self.units = np.empty((codes.shape[0], len(numeric)))
        for place, (column, of_column) in enumerate(self.numeric):
            if column.units is not None:
                self.units[:, place] = column.units[of_column]
        self.squares = [
            np.empty((0, 0)) if one.candidates is None else one.candidates.squares(0, one.candidates.size)
            for one in nominal
        ]
        sizes = [table.size for table in self.squares]
        starts = np.concatenate([[0], np.cumsum(sizes)])[: len(sizes)].astype(np.int64)
        self.starts = np.where(np.array(sizes, dtype=np.int64) > 0, starts, -1)
        self.widths = np.array([table.shape[1] for table in self.squares], dtype=np.int64)
        self.weights = np.array([one.column.weight_of_squares for one in nominal])
        weighted = [
            (table * one.column.weight_of_squares).ravel() for table, one in zip(self.squares, nominal, strict=True)
        ]
        self.flat = np.concatenate([np.empty(0), *weighted])

    def centres(self, groups: RecordGroups) -> kernels.Centres:
        """The centre of each group."""
        means = np.empty((groups.n_groups, len(self.numeric)))
        for place, (column, codes) in enumerate(self.numeric):
            if column.units is not None:
                means[:, place] = means_of(column.units, value_sets(groups, codes, column.units.size))
        places = np.empty((groups.n_groups, len(self.nominal)), dtype=np.int32)
        for place, (one, squares) in enumerate(zip(self.nominal, self.squares, strict=True)):
            sets = value_sets(groups, self.codes[:, place], one.column.value_space.counts.size)
            if one.candidates is None or one.column.distances is None:
                places[:, place] = kernels.most_frequent(sets.offsets, sets.values, sets.counts)
            else:
                places[:, place] = one.candidates.best_of(sets, one.column.distances, squares)[0]
        return kernels.Centres(self.units, means, self.codes, places, self.flat, self.starts, self.widths, self.weights)
