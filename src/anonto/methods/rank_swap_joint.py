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
from anonto.methods.record_transitions import (
    PackedTransitions,
    RecordTransitions,
    record_transitions,
    record_transitions_of_packed,
)
from anonto.methods.support import AnyCell, NearCells
from anonto.methods.words import Words
from anonto.search.record_search_kernels import RecordQuery
from anonto.search.record_tree import RecordSpace
from anonto.search.record_tree_kernels import CountedTree, rows_of_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonto.arrays import Codes, Floats, Longs
    from anonto.encoding.records import Records
    from anonto.methods.memory import Budget
    from anonto.methods.support import CellSupport


WEIGHTS = number(
    "weights of the columns",
    "Numbers with commas between them, one for each column: how much each counts.",
    low=0,
    lists="only",
    must="a list of numbers, none negative and not all zero, one for each column",
)

REGROW_SHARE = 0.7
"""The tree of live records is rebuilt when this share of its records is left."""
NOT_WORTH_REGROWING = 64
"""Number of records below which the tree is not rebuilt."""
TRIES = 16
"""Random draws from an interval before its free cells are listed."""
BYTES_PER_RECORD, BYTES_PER_RECORD_AND_COLUMN = 200, 65
"""Bytes of a distinct record while cells are exchanged, with the trees over all records."""
BYTES_PER_RECORD_AFTERWARDS = 150
"""Bytes of a distinct record after the exchange, with its permutation."""
BYTES_PER_TRANSITION, BYTES_PER_TRANSITION_AND_COLUMN = 20, 4
"""Bytes of a transition, with the released record, while these are counted."""
BYTES_PER_MOVE = 16
"""Bytes of a pair of original and released value."""


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
    masks_elements: ClassVar[bool] = True
    words: ClassVar[Words] = Words(
        title="Swap with similar records",
        summary="exchanges the cells of several columns with those of the `k` records most alike in all of them",
        does=(
            "Exchanges each value with that of one of the k records that are most alike in all these columns together."
        ),
        columns="any kinds, together",
        keeps="Keeps how often every value occurs, and most of how the columns are related.",
        report=(
            "Each value was exchanged with that of a record, picked at random, among those most alike in all "
            "these columns together; each column had its own partners. Every value occurs exactly as often as "
            "before, and relations between the columns are kept as far as similar records allow. A "
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
            object.__setattr__(self, "weights", _check_weights(self.weights))

    @classmethod
    def sweep_grid(cls, n_records: int) -> dict[str, list[Any]]:
        """See `BaseMethod`."""
        return {"k": sizes_within((10, 30, 100, 300), n_records)}

    def fit(
        self, records: Records, rng: np.random.Generator, require: Callable[[int, str], None] | None = None
    ) -> RecordTransitions:
        """Exchange the cells of all rows that have any.

        Args:
            records: The distinct records.
            rng: For all draws.
            require: Called with the bytes needed, and for what, before they are allocated; raises if too many.
        """
        weights = self._weights(len(records.value_spaces))
        has_any = (records.codes >= 0).any(axis=1)
        there = np.flatnonzero(has_any)
        codes, counts = records.codes[there], records.counts[there]
        n = int(counts.sum())
        if n < 2:
            alone = [int(counts[column >= 0].sum()) for column in codes.T]
            stays = np.arange(records.counts.size)
            return record_transitions(records, stays, records.codes, records.counts, alone, _facts(n, n))
        k = within_table(k_for(self.k, self.percent, n), n)
        needed = _Needed(records, n, k, require)
        needed.while_exchanging()
        space = RecordSpace(records.value_spaces, weights, codes, counts)
        needed.while_exchanging(space.bytes_of_tables)
        swap = _Swap(space, codes, counts)
        swap.run(k, self.interval, rng)
        rows, untouched = swap.rows, swap.untouched.tolist()
        facts = _facts(int(swap.state[kernels.TURN]), int(swap.state[kernels.ALONE]))
        del space, swap  # Free the tables of distances before the transitions are built.
        offsets = kernels.sort_rows(rows.released, rows.firsts)
        n_transitions = int(offsets[-1])
        needed.for_transitions(n_transitions)
        ends = np.empty(n_transitions, dtype=np.int64)
        kernels.keep_different_rows(rows.released, rows.firsts, ends)
        packed = PackedTransitions(there, offsets, ends, rows.released[:n_transitions], rows.columns)
        return record_transitions_of_packed(records, packed, untouched, facts)

    def fit_within(self, records: Records, rng: np.random.Generator, budget: Budget) -> RecordTransitions:
        """Fit all rows at once, and refuse them as soon as they are known to take too much."""
        return self.fit(records, rng, budget.require)

    def bytes_per_row(self, n_columns: int) -> int:
        """Bytes of a row that is a distinct record, with as many values in each column as rows."""
        exchanging = BYTES_PER_RECORD + BYTES_PER_RECORD_AND_COLUMN * n_columns
        of_transition = BYTES_PER_TRANSITION + (BYTES_PER_TRANSITION_AND_COLUMN + BYTES_PER_MOVE + 4) * n_columns
        return 4 * n_columns + (n_columns + 8) // 8 + max(exchanging, BYTES_PER_RECORD_AFTERWARDS + of_transition)

    def support(self, records: Records) -> CellSupport:
        """The k nearest of each other; all where exchanged records do not count, as what is left is far at the end."""
        n_values = tuple(value_space.counts.size for value_space in records.value_spaces)
        counts = np.where((records.codes >= 0).any(axis=1), records.counts, 0)
        n = int(counts.sum())
        if self.interval != "all" or n < 2:
            return AnyCell(records.codes, n_values)
        k = min(k_for(self.k, self.percent, n), n - 1)
        space = RecordSpace(records.value_spaces, self._weights(len(n_values)), records.codes, counts)
        return NearCells(space, records.codes, counts, n_values, k)

    def _weights(self, n_columns: int) -> Floats:
        if self.weights is not None and len(self.weights) != n_columns:
            raise ParameterError("weights", f"{n_columns} numbers, one for each column of the step", list(self.weights))
        return np.ones(n_columns) if self.weights is None else np.array(self.weights, dtype=np.float64)

    def guarantee(self, setting: Setting) -> Guarantee:  # noqa: ARG002
        """No guarantee is proved."""
        return MEASURED_ONLY


def _check_weights(weights: object) -> tuple[float, ...]:
    """Finite numbers, none negative, not all zero."""
    if isinstance(weights, list | tuple):
        numbers = [one for one in weights if isinstance(one, int | float) and not isinstance(one, bool)]
        if len(numbers) == len(weights) and all(0 <= one <= sys.float_info.max for one in numbers) and any(numbers):
            return tuple(numbers)
    raise ParameterError("weights", WEIGHTS[KEY].must, weights)


def _facts(references: int, alone: int) -> dict[str, int]:
    return {"references": references, "references_without_partner": alone}


class _Needed:
    """Memory that a fit needs, checked before it is allocated."""

    def __init__(self, records: Records, n_rows: int, k: int, require: Callable[[int, str], None] | None) -> None:
        self._require, self._n_records, self._n_rows = require, records.counts.size, n_rows
        self._n_values = [value_space.counts.size for value_space in records.value_spaces]
        self._of_codes, self._n_columns = sum(_code_bytes(records.codes)), len(self._n_values)
        self._of_rows = n_rows * self._of_codes + n_rows * (self._n_columns + 1) // 8 + 8 * k

    def while_exchanging(self, of_tables: int = 0) -> None:
        """The rows, the distinct records with the trees over them, and the distances of values."""
        if self._require is not None:
            of_record = BYTES_PER_RECORD + BYTES_PER_RECORD_AND_COLUMN * self._n_columns
            needed = self._of_rows + of_record * self._n_records + of_tables
            self._require(needed, f"{self._n_rows:,} records of which {self._n_records:,} are distinct")

    def for_transitions(self, n_transitions: int) -> None:
        """The rows, what becomes of the distinct records, and what of the values of each column."""
        if self._require is not None:
            of_transition = BYTES_PER_TRANSITION + BYTES_PER_TRANSITION_AND_COLUMN * self._n_columns + self._of_codes
            of_moves = BYTES_PER_MOVE * sum(min(n_transitions, n_values**2) for n_values in self._n_values)
            needed = (
                self._of_rows + BYTES_PER_RECORD_AFTERWARDS * self._n_records + of_transition * n_transitions + of_moves
            )
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
        work = self._work(k)
        all_rows = space.tree(self._counts) if interval == "all" else None
        limits = np.full(0 if all_rows is None else self._counts.size, -1, dtype=np.int64)
        status = kernels.REGROW
        while status == kernels.REGROW:
            status = self._exchange_in_one_tree(k, all_rows, limits, work, rng)

    def _exchange_in_one_tree(
        self, k: int, all_rows: CountedTree | None, limits: Longs, work: kernels.Work, rng: np.random.Generator
    ) -> int:
        """Exchange until few of the live records are left; their tree is freed before the next is built."""
        space, rows, state = self._space, self.rows, self.state
        far = self._live(all_rows)
        near = far if all_rows is None else all_rows
        left = int(state[kernels.LIVE_RECORDS])
        state[kernels.REGROW_AT] = int(REGROW_SHARE * left) if left > NOT_WORTH_REGROWING else -1
        search = kernels.JointSearch(space.points, space.metric, near, limits, far)
        while True:
            status: int = kernels.exchange(k, state, self._codes, search, rows, work, self.untouched, rng)
            if status != kernels.LOOK_UP:
                return status
            space.look_up(int(np.searchsorted(rows.firsts, state[kernels.REFERENCE], side="right")) - 1)

    def _live(self, all_rows: CountedTree | None) -> CountedTree:
        """The live rows; while these are all, in the tree of all rows."""
        live = self.rows.live
        if all_rows is not None and self.state[kernels.TURN] == 0:
            return CountedTree(all_rows.tree, rows_of_nodes(all_rows.tree, live), live)
        return self._space.tree(live)

    def _first(self, rng: np.random.Generator) -> int:
        """A row of the records with the largest mean distance to all rows."""
        means = self._space.mean_distances()
        farthest = np.flatnonzero(means >= means.max() - 1e-12)
        ends = np.cumsum(self._counts[farthest])
        record = farthest[np.searchsorted(ends, rng.integers(0, ends[-1]), side="right")]
        return int(self.rows.firsts[record])

    def _work(self, k: int) -> kernels.Work:
        n_records, n_counting = self._space.points.codes.shape
        return kernels.Work(
            tries=TRIES,
            query=RecordQuery(np.empty(n_counting, dtype=np.int64), np.empty(n_counting)),
            interval=np.zeros(kernels.INTERVALS, dtype=np.int64),
            stack=np.empty(4 * n_records + 8, dtype=np.int64),
            heap=np.empty(2 * min(k, n_records) + 4, dtype=np.int64),
            inside=np.empty(2 * n_records, dtype=np.int64),
            tied=np.empty(2 * n_records, dtype=np.int64),
            drawn=np.empty(k, dtype=np.int64),
        )


def _rows_of(codes: Codes, counts: Longs) -> kernels.JointRows:
    firsts = np.concatenate([[0], np.cumsum(counts)])
    columns = np.concatenate([[0], np.cumsum(_code_bytes(codes))])
    n_rows, n_marks = int(firsts[-1]), int(firsts[-1]) * columns.size
    rows = kernels.JointRows(
        firsts=firsts,
        live=counts.copy(),
        marks=np.zeros(-(-n_marks // 8), dtype=np.uint8),
        released=np.empty((n_rows, int(columns[-1])), dtype=np.uint8),
        columns=columns,
    )
    kernels.lay_out(codes, rows)
    return rows


def _code_bytes(codes: Codes) -> list[int]:
    """The bytes that a code of each column takes, with 1 added to it."""
    return [max(1, -(-int(column.max(initial=-1) + 1).bit_length() // 8)) for column in codes.T]
