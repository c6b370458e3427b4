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

Step by step: `anonto.methods.plain.rank_swap_joint`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from anonto.errors import ParameterError
from anonto.methods import joint_kernels as kernels
from anonto.methods.guarantee import MEASURED_ONLY, Guarantee, Setting
from anonto.methods.method import RecordMethod
from anonto.methods.parameters import (
    INTERVAL,
    KEY,
    PERCENT,
    K,
    check_parameters,
    k_for,
    number,
    sizes_within,
    within_table,
)
from anonto.methods.reach import AnyCell, NearRecords
from anonto.methods.record_flows import PackedFlows, RecordFlows, record_flows, record_flows_of_packed
from anonto.methods.record_tree import RecordSpace
from anonto.methods.record_tree_kernels import Asked, Counted, rows_of_nodes
from anonto.methods.words import Words

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from anonto.methods.memory import Budget
    from anonto.methods.reach import CellReach
    from anonto.table.records import Records

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]

WEIGHTS = number(
    "weights of the columns",
    "Numbers with commas between them, one for each column: how much each counts.",
    low=0,
    lists="only",
    must="a list of numbers, none negative and not all zero, one for each column",
)

REGROW_SHARE = 0.7
"""The tree of live records is grown anew when this share of its records is left."""
NOT_WORTH_REGROWING = 64
"""So few records need no new tree."""
TRIES = 16
"""Random looks into an interval before its free cells are listed."""
BYTES_PER_RECORD, BYTES_PER_RECORD_AND_COLUMN = 200, 65
"""What a distinct record takes while cells are exchanged, with the trees over all records."""
BYTES_PER_RECORD_AFTERWARDS = 150
"""What it takes when they have been exchanged, with its permutation."""
BYTES_PER_FLOW, BYTES_PER_FLOW_AND_COLUMN = 20, 4
"""What a flow takes, with the released record, while these are counted."""
BYTES_PER_MOVE = 16
"""What a pair of values takes of which one became the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwapJoint(RecordMethod):
    """How near a partner must be, among whom, and what counts how much.

    ``k``: a partner is one of the k nearest records; or ``percent`` of the records instead. ``interval``: ``"all"``
    counts the k nearest among all records, as the paper does, so that cells whose k nearest are all exchanged stay
    untouched; ``"unswapped"`` among those that still have a cell to exchange. ``weights``: how much each column counts
    in the distance, one number for each column of the step, by default the same; a column of weight 0 is exchanged like
    the others, but does not count.
    """

    name: ClassVar[str] = "rank-swap-joint"
    words: ClassVar[Words] = Words(
        title="Swap with similar records",
        summary="exchanges the cells of several columns with those of the `k` records most alike in all of them",
        does=(
            "Exchanges each value with that of one of the k records that are most alike in all these columns together."
        ),
        columns="any kinds, together",
        keeps="Keeps how often every value occurs, and much of what the columns have to do with each other.",
        report=(
            "Each value was exchanged with that of a record, picked by chance, among those most alike in all "
            "these columns together; each column had its own partners. Every value occurs exactly as often as "
            "before, and what the columns have to do with each other is kept as far as similar records allow. A "
            "value stayed where it was when all records near enough had been exchanged already."
        ),
    )
    one_of: ClassVar[tuple[str, ...]] = ("k", "percent")
    k: int | None = field(default=None, metadata=K)
    percent: float | None = field(default=None, metadata=PERCENT)
    interval: Literal["all", "unswapped"] = field(default="all", metadata=INTERVAL)
    weights: tuple[float, ...] | None = field(default=None, metadata=WEIGHTS)

    def __post_init__(self) -> None:
        check_parameters(self, self.one_of, but=("weights",))
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked(self.weights))

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sizes_within((10, 30, 100, 300), n_records)}

    def fit(
        self, records: Records, rng: np.random.Generator, require: Callable[[int, str], None] | None = None
    ) -> RecordFlows:
        """Exchange the cells of all rows that have any.

        Args:
            records: The distinct records.
            rng: For all draws.
            require: Told how many bytes are needed, and for what, before they are taken; raises where it is too much.
        """
        weights = self._weights(len(records.attributes))
        has_any = (records.codes >= 0).any(axis=1)
        there = np.flatnonzero(has_any)
        codes, counts = records.codes[there], records.counts[there]
        n = int(counts.sum())
        if n < 2:
            alone = [int(counts[column >= 0].sum()) for column in codes.T]
            stays = np.arange(records.counts.size)
            return record_flows(records, stays, records.codes, records.counts, alone, _facts(n, n))
        k = within_table(k_for(self.k, self.percent, n), n)
        needed = _Needed(records, n, k, require)
        needed.while_exchanging()
        space = RecordSpace(records.attributes, weights, codes, counts)
        needed.while_exchanging(space.bytes_of_tables)
        swap = _Swap(space, codes, counts)
        swap.run(k, self.interval, rng)
        rows, untouched = swap.rows, swap.untouched.tolist()
        facts = _facts(int(swap.state[kernels.TURN]), int(swap.state[kernels.ALONE]))
        del space, swap  # The tables of distances are not held beside the flows.
        offsets = kernels.put_in_order(rows.released, rows.firsts)
        n_flows = int(offsets[-1])
        needed.for_flows(n_flows)
        ends = np.empty(n_flows, dtype=np.int64)
        kernels.close_up(rows.released, rows.firsts, ends)
        packed = PackedFlows(there, offsets, ends, rows.released[:n_flows], rows.columns)
        return record_flows_of_packed(records, packed, untouched, facts)

    def fit_within(self, records: Records, rng: np.random.Generator, budget: Budget) -> RecordFlows:
        """Fit all rows at once, and refuse them as soon as they are known to take too much."""
        return self.fit(records, rng, budget.require)

    def bytes_per_row(self, n_columns: int) -> int:
        """Of a row that is a record of its own, with as many values in each column as rows."""
        exchanging = BYTES_PER_RECORD + BYTES_PER_RECORD_AND_COLUMN * n_columns
        of_flow = BYTES_PER_FLOW + (BYTES_PER_FLOW_AND_COLUMN + BYTES_PER_MOVE + 4) * n_columns
        return 4 * n_columns + (n_columns + 8) // 8 + max(exchanging, BYTES_PER_RECORD_AFTERWARDS + of_flow)

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
    raise ParameterError("weights", WEIGHTS[KEY].must, weights)


def _facts(references: int, alone: int) -> dict[str, int]:
    return {"references": references, "references_without_partner": alone}


class _Needed:
    """What a fit takes, said before it is taken."""

    def __init__(self, records: Records, n_rows: int, k: int, require: Callable[[int, str], None] | None) -> None:
        self._require, self._n_records, self._n_rows = require, records.counts.size, n_rows
        self._n_values = [attribute.counts.size for attribute in records.attributes]
        self._of_codes, self._n_columns = sum(_code_bytes(records.codes)), len(self._n_values)
        self._of_rows = n_rows * self._of_codes + n_rows * (self._n_columns + 1) // 8 + 8 * k

    def while_exchanging(self, of_tables: int = 0) -> None:
        """The rows, the distinct records with the trees over them, and the distances of values."""
        if self._require is not None:
            of_record = BYTES_PER_RECORD + BYTES_PER_RECORD_AND_COLUMN * self._n_columns
            needed = self._of_rows + of_record * self._n_records + of_tables
            self._require(needed, f"{self._n_rows:,} records of which {self._n_records:,} are distinct")

    def for_flows(self, n_flows: int) -> None:
        """The rows, what becomes of the distinct records, and what of the values of each column."""
        if self._require is not None:
            of_flow = BYTES_PER_FLOW + BYTES_PER_FLOW_AND_COLUMN * self._n_columns + self._of_codes
            of_moves = BYTES_PER_MOVE * sum(min(n_flows, n_values**2) for n_values in self._n_values)
            needed = self._of_rows + BYTES_PER_RECORD_AFTERWARDS * self._n_records + of_flow * n_flows + of_moves
            self._require(needed, f"what becomes of {self._n_rows:,} records")


class _Swap:
    """Rows whose cells are exchanged."""

    def __init__(self, space: RecordSpace, codes: Codes, counts: Longs) -> None:
        self._space, self._codes, self._counts = space, codes, counts
        self.rows = _rows_of(codes, counts)
        self.untouched = np.zeros(codes.shape[1], dtype=np.int64)
        self.state = np.zeros(kernels.STATES, dtype=np.int64)

    def run(self, k: int, interval: str, rng: np.random.Generator) -> None:
        """Exchange until no cell is left."""
        state, space = self.state, self._space
        state[kernels.LIVE_ROWS], state[kernels.LIVE_RECORDS] = self.rows.firsts[-1], self._counts.size
        state[kernels.REFERENCE] = self._first(rng)
        work = self._room(k)
        all_rows = space.tree(self._counts) if interval == "all" else None
        reaches = np.full(0 if all_rows is None else self._counts.size, -1, dtype=np.int64)
        status = kernels.REGROW
        while status == kernels.REGROW:
            status = self._run_in_a_tree(k, all_rows, reaches, work, rng)

    def _run_in_a_tree(
        self, k: int, all_rows: Counted | None, reaches: Longs, work: kernels.Work, rng: np.random.Generator
    ) -> int:
        """Exchange until few of the now live records are left; their tree is let go before another is grown."""
        space, rows, state = self._space, self.rows, self.state
        far = self._live(all_rows)
        near = far if all_rows is None else all_rows
        left = int(state[kernels.LIVE_RECORDS])
        state[kernels.REGROW_AT] = int(REGROW_SHARE * left) if left > NOT_WORTH_REGROWING else -1
        while True:
            status: int = kernels.exchange(
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
                self.untouched,
                rng,
            )
            if status != kernels.LOOK_UP:
                return status
            space.look_up(int(np.searchsorted(rows.firsts, state[kernels.REFERENCE], side="right")) - 1)

    def _live(self, all_rows: Counted | None) -> Counted:
        """The live rows; while these are all, in the tree of all rows."""
        live = self.rows.live
        if all_rows is not None and self.state[kernels.TURN] == 0:
            return Counted(all_rows.tree, rows_of_nodes(all_rows.tree, live), live)
        return self._space.tree(live)

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
            heap=np.empty(2 * min(k, n_records) + 4, dtype=np.int64),
            inside=np.empty(2 * n_records, dtype=np.int64),
            tied=np.empty(2 * n_records, dtype=np.int64),
            drawn=np.empty(k, dtype=np.int64),
        )


def _rows_of(codes: Codes, counts: Longs) -> kernels.Rows:
    firsts = np.concatenate([[0], np.cumsum(counts)])
    columns = np.concatenate([[0], np.cumsum(_code_bytes(codes))])
    n_rows, n_marks = int(firsts[-1]), int(firsts[-1]) * columns.size
    rows = kernels.Rows(
        firsts=firsts,
        live=counts.copy(),
        marks=np.zeros(-(-n_marks // 8), dtype=np.uint8),
        released=np.empty((n_rows, int(columns[-1])), dtype=np.uint8),
        columns=columns,
    )
    kernels.lay_out(codes, rows)
    return rows


def _code_bytes(codes: Codes) -> list[int]:
    """For each column the bytes that a code takes, with 1 added to it."""
    return [max(1, -(-int(column.max(initial=-1) + 1).bit_length() // 8)) for column in codes.T]
