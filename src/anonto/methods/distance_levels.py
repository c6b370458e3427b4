"""The candidates of each value of a column in the order of their distance, cut into levels of equal distance.

Every candidate has its place in the sorted row of each distinct value, so that noise and the exponential mechanism
cost a search in that row for each cell. The rows take two bytes for each distinct value and each candidate (four from
65,537 candidates on).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from anonto.encoding.value_space import NominalSpace
from anonto.methods import level_kernels
from anonto.runtime.threads import in_threads, slices

if TYPE_CHECKING:
    from anonto.arrays import Codes, Floats, Integers, Longs
    from anonto.encoding.records import Records

Candidates = Literal["taxonomy", "observed", "leaves"]

ROWS_AT_ONCE, DISTANCES_AT_ONCE = 512, 1 << 22
"""Distance rows that are held at a time, and distances: fewer rows where these are long."""
ROWS_OF_A_THREAD = 32
BYTES_PER_DISTANCE = 32
"""Bytes of a distance while candidates are sorted."""
SMALL = 1 << 16
"""Up to this many concepts are numbered in half the space."""


@dataclass(frozen=True, slots=True, eq=False)
class DistanceLevels:
    """Order the candidates of each of some concepts by their distance, cut where the distance changes.

    Candidates at the same distance are in the order of their direction from one reference: closer to it than the
    concept, equally far, farther. After the last level of a concept comes one at the distance ∞.
    """

    offsets: Longs
    """Where the levels of each concept begin."""
    distances: Floats
    bounds: Codes
    """Levels × 4: where the candidates begin, those end that are closer, those begin that are farther, and all end."""
    members: Integers
    """Concepts × candidates."""

    @property
    def arrays(self) -> level_kernels.Levels:
        """The arrays that the kernels take."""
        return self.offsets, self.distances, self.bounds, self.members

    def append(self, other: DistanceLevels) -> DistanceLevels:
        """These levels and, after them, those of further concepts."""
        return DistanceLevels(
            np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]]),
            np.concatenate([self.distances, other.distances]),
            np.concatenate([self.bounds, other.bounds]),
            np.concatenate([self.members, other.members]),
        )


def find_levels(
    value_space: NominalSpace,
    rows: Codes,
    candidates: Codes,
    from_reference: Integers | None = None,
    own_ranks: Integers | None = None,
) -> DistanceLevels:
    """The levels of some values of a column.

    Args:
        value_space: A column with the candidates among its values.
        rows: The codes of the values.
        candidates: The codes of the candidates.
        from_reference: For each candidate the rank of its distance to a reference; None for no reference.
        own_ranks: For each row the rank of its own distance to the reference.
    """
    if from_reference is None or own_ranks is None:
        from_reference, own_ranks = np.zeros(candidates.size, np.int32), np.zeros(rows.size, np.int32)
    members = np.empty((rows.size, candidates.size), dtype=_numbers_below(candidates.size))
    n_levels = np.zeros(rows.size, dtype=np.int64)
    distances, bounds = [np.empty(0)], [np.empty((0, 4), dtype=np.int32)]
    for block in slices(0, rows.size, _rows_at_once(candidates.size)):
        ranks, found, n_levels[block] = _rank_distances(value_space, rows[block], candidates)
        own, n_own, inside = own_ranks[block], n_levels[block], members[block]
        offsets = np.concatenate([[0], np.cumsum(n_own + 1)])
        of_block = np.empty((int(offsets[-1]), 4), dtype=np.int32)
        distances.append(np.concatenate([np.append(row[:n], math.inf) for row, n in zip(found, n_own, strict=True)]))
        bounds.append(of_block)

        def order(part: slice) -> None:
            level_kernels.order_by_rank(
                ranks[part],  # noqa: B023
                n_own[part],  # noqa: B023
                from_reference,
                own[part],  # noqa: B023
                offsets[part],  # noqa: B023
                of_block,  # noqa: B023
                inside[part],  # noqa: B023
            )

        in_threads(order, slices(0, n_own.size, ROWS_OF_A_THREAD))
    offsets_of_all = np.concatenate([[0], np.cumsum(n_levels + 1)])
    return DistanceLevels(offsets_of_all, np.concatenate(distances), np.concatenate(bounds), members)


def bytes_of_levels(records: Records, candidates: Candidates, *, directed: bool) -> int:
    """Bytes of the candidates of all values of each column and, if noise is directed, of its partner."""
    nominal = [one for one in records.value_spaces if isinstance(one, NominalSpace)]
    of_partner = max((one.counts.size for one in nominal), default=0) if directed and len(nominal) > 1 else 0
    needed = 0
    for one in nominal:
        n_candidates = len(candidate_concepts(one, candidates))
        of_member = np.dtype(_numbers_below(n_candidates)).itemsize
        while_ranked = BYTES_PER_DISTANCE * _rows_at_once(n_candidates) * n_candidates
        needed += while_ranked + (one.counts.size + of_partner) * n_candidates * of_member
    return needed


def distance_ranks(value_space: NominalSpace, rows: Codes, columns: Codes) -> Integers:
    """The ranks of the other values by their distance to each of some values: equal ranks for equal distances."""
    out = np.empty((rows.size, columns.size), dtype=_numbers_below(columns.size))
    for block in slices(0, rows.size, _rows_at_once(columns.size)):
        out[block], _, _ = _rank_distances(value_space, rows[block], columns)
    return out


def _rows_at_once(n_columns: int) -> int:
    return min(ROWS_AT_ONCE, max(ROWS_OF_A_THREAD, DISTANCES_AT_ONCE // max(n_columns, 1)))


def _numbers_below(n: int) -> type[np.integer]:
    """The smaller of two types that holds the numbers below n."""
    return np.uint16 if n <= SMALL else np.int32


def _rank_distances(value_space: NominalSpace, rows: Codes, columns: Codes) -> tuple[Integers, Floats, Longs]:
    """Ranks of the distances of some rows, the distinct distances themselves, and how many each row has."""
    distances = value_space.distances_from(rows)
    ranks = np.empty((rows.size, columns.size), dtype=_numbers_below(columns.size))
    found = np.empty(ranks.shape)
    n_found = np.zeros(rows.size, dtype=np.int64)

    def rank(part: slice) -> None:
        n_found[part] = level_kernels.rank_distances(distances[part], columns, ranks[part], found[part])

    in_threads(rank, slices(0, rows.size, ROWS_OF_A_THREAD))
    return ranks, found, n_found


def candidate_concepts(value_space: NominalSpace, candidates: Candidates) -> tuple[str, ...]:
    """Concepts that the values of a column may become."""
    domain = value_space.domain
    if candidates == "observed":
        return tuple(dict.fromkeys(value_space.concepts))
    if candidates == "leaves":
        return tuple(domain.ids[n] for n in np.flatnonzero(np.diff(domain.child_offsets) == 0).tolist())
    return domain.ids
