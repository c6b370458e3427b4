"""Semantic rank swapping of several columns together: each cell goes to one of the k records most alike.

The distance of two records is the weighted mean of the distances of their columns. One row is the reference: the k rows
nearest to it are its interval, and each of its cells not yet exchanged takes a random partner among those of them whose
cell in that column is not yet exchanged either; if there is none it stays. The next reference is the farthest row that
still has a cell to exchange. The first is one whose summed distance to all rows is largest.

Columns may be nominal, each with its own ontology and measure, ordered or of numbers, in any mix. Partners are drawn
column by column, but in one neighbourhood, so relations between the columns are kept better than by exchanging each
alone. A row takes part with the cells it has: the distance is the mean over the columns that both rows have, 1 where
there is none, and a cell without a value stays where it is.

Reference: Rodriguez-Garcia, Batet, Sánchez, Information Fusion 45 (2019), Algorithm 3. Departures: a cell of the
reference that was already exchanged is left alone, as in Algorithm 1; ties, which the paper leaves open, are drawn at
random, row by row. Added: columns of other kinds than nominal, weights, missing cells.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from anonto.errors import ParameterError
from anonto.methods import joint_kernels as kernels
from anonto.methods.guarantee import MEASURED_ONLY, Guarantee, Setting
from anonto.methods.parameters import k_for, require_k_or_percent, within_table
from anonto.methods.reach import AnyCell, NearRecords
from anonto.methods.record_flows import RecordFlows, record_flows
from anonto.methods.record_tree import RecordSpace
from anonto.methods.record_tree_kernels import Asked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonto.methods.reach import CellReach
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

INTERVALS = ("all", "unswapped")

REGROW_SHARE = 0.7
"""The tree of live records is grown anew when this share of its records is left."""
NOT_WORTH_REGROWING = 64
"""So few records need no new tree."""
TRIES = 16
"""Random looks into an interval before its free cells are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwapJoint:
    """How near a partner must be, among whom, and what counts how much.

    ``k``: a partner is one of the k nearest records; or ``percent`` of the records instead. ``interval``: ``"all"``
    counts the k nearest among all records, as the paper does, so that cells whose k nearest are all exchanged stay
    untouched; ``"unswapped"`` among those that still have a cell to exchange. ``weights``: how much each column counts
    in the distance, one number for each column of the step, by default the same; a column of weight 0 is exchanged like
    the others, but does not count.
    """

    name: ClassVar[str] = "rank-swap-joint"
    together: ClassVar[Literal[True]] = True
    by_row: ClassVar[Literal[False]] = False
    moves_missing: ClassVar[bool] = False
    k: int | None = None
    percent: float | None = None
    interval: Literal["all", "unswapped"] = "all"
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        require_k_or_percent(self.k, self.percent)
        if self.interval not in INTERVALS:
            raise ParameterError("interval", '"all" or "unswapped"', self.interval)
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked(self.weights))

    def fit(self, records: Records, rng: np.random.Generator) -> RecordFlows:
        """Exchange the cells of all rows that have any."""
        weights = self._weights(len(records.attributes))
        has_any = (records.codes >= 0).any(axis=1)
        there, others = np.flatnonzero(has_any), np.flatnonzero(~has_any)
        codes, counts = records.codes[there], records.counts[there]
        n = int(counts.sum())
        if n < 2:
            alone = [int(counts[column >= 0].sum()) for column in codes.T]
            stays = np.arange(records.counts.size)
            return record_flows(records, stays, records.codes, records.counts, alone, _facts(n, n))
        k = within_table(k_for(self.k, self.percent, n), n)
        swap = _Swap(RecordSpace(records.attributes, weights, codes, counts), codes, counts)
        swap.run(k, self.interval, rng)
        return record_flows(
            records,
            np.concatenate([there[swap.rows.record_of], others]),
            np.concatenate([swap.released, records.codes[others]]),
            np.concatenate([np.ones(n, dtype=np.int64), records.counts[others]]),
            swap.untouched.tolist(),
            _facts(int(swap.state[kernels.TURN]), int(swap.state[kernels.ALONE])),
        )

    def reach(self, records: Records) -> CellReach:
        """The k nearest of each other; all where exchanged records do not count, as what is left is far at the end."""
        n_values = tuple(attribute.counts.size for attribute in records.attributes)
        counts = np.where((records.codes >= 0).any(axis=1), records.counts, 0)
        n = int(counts.sum())
        if self.interval != "all" or n < 2:
            return AnyCell(records.codes, n_values)
        k = min(k_for(self.k, self.percent, n), n - 1)
        space = RecordSpace(records.attributes, self._weights(len(n_values)), records.codes, counts)
        return NearRecords(space, records.codes, counts, n_values, k)

    def _weights(self, n_columns: int) -> NDArray[np.float64]:
        if self.weights is not None and len(self.weights) != n_columns:
            raise ParameterError("weights", f"{n_columns} numbers, one for each column of the step", list(self.weights))
        return np.ones(n_columns) if self.weights is None else np.array(self.weights, dtype=np.float64)

    def guarantee(self, setting: Setting) -> Guarantee:  # noqa: ARG002
        """None is proved."""
        return MEASURED_ONLY


def _checked(weights: object) -> tuple[float, ...]:
    """Finite numbers, none negative, not all zero."""
    if isinstance(weights, list | tuple):
        numbers = [one for one in weights if isinstance(one, int | float) and not isinstance(one, bool)]
        if len(numbers) == len(weights) and all(0 <= one <= sys.float_info.max for one in numbers) and any(numbers):
            return tuple(numbers)
    raise ParameterError("weights", "a list of numbers, none negative and not all zero, one for each column", weights)


def _facts(references: int, alone: int) -> dict[str, int]:
    return {"references": references, "references_without_partner": alone}


class _Swap:
    """Rows whose cells are exchanged."""

    def __init__(self, space: RecordSpace, codes: Codes, counts: Longs) -> None:
        self._space, self._codes, self._counts = space, codes, counts
        self.rows = _rows_of(codes, counts)
        self.released = codes[self.rows.record_of]
        self.untouched = np.zeros(codes.shape[1], dtype=np.int64)
        self.state = np.zeros(kernels.STATES, dtype=np.int64)

    def run(self, k: int, interval: str, rng: np.random.Generator) -> None:
        """Exchange until no cell is left."""
        space, rows, state = self._space, self.rows, self.state
        state[kernels.LIVE_ROWS], state[kernels.LIVE_RECORDS] = rows.record_of.size, self._counts.size
        state[kernels.REFERENCE] = self._first(rng)
        work = self._room(k)
        all_rows = space.tree(self._counts) if interval == "all" else None
        reaches = np.full(0 if all_rows is None else self._counts.size, -1, dtype=np.int64)
        status = kernels.REGROW
        while status != kernels.FINISHED:
            if status == kernels.REGROW:
                far = space.tree(rows.live)
                near = far if all_rows is None else all_rows
                left = int(state[kernels.LIVE_RECORDS])
                state[kernels.REGROW_AT] = int(REGROW_SHARE * left) if left > NOT_WORTH_REGROWING else -1
            else:
                space.look_up(int(rows.record_of[state[kernels.REFERENCE]]))
            status = kernels.exchange(
                k,
                TRIES,
                state,
                self._codes,
                space.points,
                space.metric,
                near,
                reaches,
                far,
                rows,
                work,
                self.released,
                self.untouched,
                rng,
            )

    def _first(self, rng: np.random.Generator) -> int:
        """A row of the records with the largest mean distance to all rows."""
        means = self._space.mean_distances()
        farthest = np.flatnonzero(means >= means.max() - 1e-12)
        ends = np.cumsum(self._counts[farthest])
        record = farthest[np.searchsorted(ends, rng.integers(0, ends[-1]), side="right")]
        return int(self.rows.firsts[record])

    def _room(self, k: int) -> kernels.Work:
        n_records, n_counting = self._space.points.codes.shape
        return kernels.Work(
            asked=Asked(np.empty(n_counting, dtype=np.int64), np.empty(n_counting)),
            interval=np.zeros(kernels.INTERVALS, dtype=np.int64),
            stack=np.empty(4 * n_records + 8, dtype=np.int64),
            heap=np.empty(2 * k + 4, dtype=np.int64),
            inside=np.empty(2 * n_records, dtype=np.int64),
            tied=np.empty(2 * n_records, dtype=np.int64),
            drawn=np.empty(k, dtype=np.int64),
        )


def _rows_of(codes: Codes, counts: Longs) -> kernels.Rows:
    record_of = np.repeat(np.arange(counts.size, dtype=np.int32), counts)
    free = codes[record_of] >= 0
    return kernels.Rows(
        firsts=np.cumsum(counts) - counts,
        record_of=record_of,
        rows=np.arange(record_of.size, dtype=np.int32),
        places=np.arange(record_of.size, dtype=np.int32),
        live=counts.copy(),
        free=free,
        n_free=free.sum(axis=1, dtype=np.int32),
        stamps=np.zeros(record_of.size, dtype=np.int32),
    )
