"""Equi-width swapping on a cluster: rows of a cell come together on one worker, and exchange their records there.

1. Each task reports for its rows the cell of the grid, their numbers and their destination.
2. The rows of a cell are brought together, and exchanged as `anonto.methods.grid_swap` says.
3. The rows and their outcomes are joined where the rows go: at their places, or in their own order.

Only codes and numbers are sent to the cells. The driver sees counts of moved values, never a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.record_counts import CountedRecords, RecordCounter
from anonto.encoding.records import Records
from anonto.engine.spark.apply import PLACE, in_type
from anonto.engine.spark.rows import pack, quote_name
from anonto.engine.spark.session import jobs
from anonto.engine.spark.table import PACKED, as_function, n_parts_of, partition_by_place, unpack
from anonto.errors import InternalError
from anonto.masking.fitted import changed_table
from anonto.masking.released import ColumnTally, StepTally
from anonto.methods.bins import strata
from anonto.methods.grid_swap import exchange_rows, facts_of_parts
from anonto.methods.memory import BYTES_PER_MOVE
from anonto.methods.row_masking import RowMasker
from anonto.methods.transitions import Moves
from anonto.runtime.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonto.arrays import Bools, Codes, Floats, Longs
    from anonto.encoding.value_space import ValueSpace
    from anonto.engine.spark.apply import MaskedPiece, RowMasking
    from anonto.engine.spark.table import SparkTable
    from anonto.masking.fitted import FittedStep
    from anonto.masking.released import ReleasedColumn
    from anonto.methods.grid_swap import CellMethod, ExchangedRows, Grid
    from anonto.random.streams import Key, RowOrder
    from anonto.runtime.memory_limit import MemoryLimit


CELL, NUMBER, TO, KIND, RECODED = "cell", "number", "to", "kind", "recoded"
"""Columns between tasks: the cell of a row, its number among the rows that stay, its destination, whether it is the row
itself or its outcome in one of the steps, and whether one of its missing cells gets another code."""
ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class CellStep:
    """A grid swap as tasks perform it."""

    method: CellMethod
    names: tuple[str, ...]
    maps: tuple[Codes, ...]
    """The code of each raw code, by column."""
    recoding: Mapping[str, Codes]
    """For columns whose missing cells get another code: for each raw code the place of the cell where it stays."""
    grid: Grid
    key: Key

    def codes(self, piece: MaskedPiece) -> list[Codes]:
        """The codes of some rows, by column."""
        return [own[piece.raw[name]] for name, own in zip(self.names, self.maps, strict=True)]

    def is_recoded(self, piece: MaskedPiece) -> Bools:
        """Mask of the rows with a missing cell that gets another code."""
        found = np.zeros(piece.cells.num_rows, dtype=np.bool_)
        for name, staying in self.recoding.items():
            found |= staying[piece.raw[name]] != piece.raw[name]
        return found

    def cells(self, columns: Sequence[Codes], numbers: Longs) -> Longs:
        """An identity of the cell of each row; rows without any value get one of their own."""
        codes = np.stack(columns, axis=1)
        return np.where((codes >= 0).any(axis=1), self.grid.identities(codes).view(np.int64), numbers)


def _code(place: int) -> str:
    return f"c{place}"


# ------------------------------------------------------------------------------------------------ tasks


@dataclass(frozen=True, slots=True, eq=False)
class KeyingTask:
    """Finds the cells of the rows of a task."""

    masking: RowMasking
    step: CellStep
    order: RowOrder | None
    """How rows are shuffled; None where they go to their own numbers."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task to the codes and the numbers of its rows."""
        import pyarrow as pa

        for _, parts in self.masking.groups(batches):
            for piece in parts:
                last = piece.first + piece.cells.num_rows
                numbers = np.arange(piece.first, last)
                to = numbers if self.order is None else self.order.places(piece.first, last)
                columns = self.step.codes(piece)
                recoded = self.step.is_recoded(piece)
                keyed = {CELL: self.step.cells(columns, numbers), NUMBER: numbers, TO: to, RECODED: recoded}
                keyed |= {_code(place): codes for place, codes in enumerate(columns)}
                yield pa.RecordBatch.from_pydict({name: pa.array(cells) for name, cells in keyed.items()})


@dataclass(frozen=True, slots=True, eq=False)
class ExchangingTask:
    """Exchanges the rows of whole cells, which arrive cell by cell and in order."""

    step: CellStep

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From rows to their outcomes."""
        import pyarrow as pa

        for rows, _, done in self.exchange_cells(batches):
            becomes = {TO: rows.column(TO).to_numpy()} | {
                _code(place): codes for place, codes in enumerate(done.released)
            }
            yield pa.RecordBatch.from_pydict({name: pa.array(cells) for name, cells in becomes.items()})

    def exchange_cells(self, batches: Iterable[Any]) -> Iterator[tuple[Any, list[Codes], ExchangedRows]]:
        """The rows of some whole cells, their codes, and their outcomes."""
        stay_alone()
        step = self.step
        for rows in whole_cells(batches):
            columns = [rows.column(_code(place)).to_numpy() for place in range(len(step.names))]
            done = exchange_rows(step.method, step.grid, step.key, columns)
            yield rows, columns, done


class CellsTally:
    """Tallies of the rows of some cells."""

    def __init__(self, n_columns: int) -> None:
        self.unchanged = 0
        self.untouched = [0] * n_columns
        self.facts: list[Mapping[str, Any]] = []
        self.patterns = RecordCounter(n_columns)
        """Sets of columns that lack a value together, with their counts."""
        self._pairs = [RecordCounter(2) for _ in range(n_columns)]

    def add(self, before: Sequence[Codes], done: ExchangedRows, recoded: Bools) -> None:
        """Add the rows of some cells; `is_recoded` flags those with a missing cell that gets another code."""
        same = np.logical_and.reduce([own == new for own, new in zip(before, done.released, strict=True)])
        self.unchanged += int(np.count_nonzero(same & ~recoded))
        self.untouched = [sum(both) for both in zip(self.untouched, done.untouched, strict=True)]
        self.facts = [facts_of_parts([*self.facts, done.facts])]
        self.patterns.add(CountedRecords.of([np.minimum(own, 0) for own in before]))
        for pairs, own, new in zip(self._pairs, before, done.released, strict=True):
            there = own >= 0
            pairs.add(CountedRecords.of([own[there], new[there]]))

    def join(self, other: CellsTally) -> None:
        """Add the tally of another task."""
        self.unchanged += other.unchanged
        self.untouched = [sum(both) for both in zip(self.untouched, other.untouched, strict=True)]
        self.facts += other.facts
        self.patterns.add(other.patterns.totals())
        for pairs, others in zip(self._pairs, other._pairs, strict=True):
            pairs.add(others.totals())

    @property
    def n_moves(self) -> int:
        """Lower bound on the number of pairs of values of which one became the other."""
        return sum(pairs.n_known for pairs in self._pairs)

    def moves(self) -> list[Moves]:
        """The moves between the values of each column."""
        found = [pairs.totals() for pairs in self._pairs]
        return [Moves(one.codes[:, 0].copy(), one.codes[:, 1].copy(), one.counts) for one in found]


@dataclass(frozen=True, slots=True, eq=False)
class TallyingTask:
    """Exchanges the rows of the cells of a task and returns only their tally."""

    step: CellStep

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From rows to the tally of a task."""
        tally = CellsTally(len(self.step.names))
        for rows, before, done in ExchangingTask(self.step).exchange_cells(batches):
            tally.add(before, done, rows.column(RECODED).to_numpy())
        if tally.facts:
            yield pack(tally)


def whole_cells(batches: Iterable[Any], rows_at_once: int = ROWS_AT_ONCE) -> Iterator[Any]:
    """Rows that arrive cell by cell, as tables of whole cells with at least `rows_at_once` rows, except the last."""
    import pyarrow as pa

    waiting: list[Any] = []
    n_waiting, enough = 0, rows_at_once
    for batch in batches:
        waiting.append(batch)
        n_waiting += batch.num_rows
        if n_waiting < enough:
            continue
        rows = pa.Table.from_batches(waiting)
        cells = rows.column(CELL).to_numpy()
        begins = int(np.searchsorted(cells, cells[-1]))
        if begins:
            yield rows.slice(0, begins)
        waiting, n_waiting = rows.slice(begins).to_batches(), rows.num_rows - begins
        enough = max(rows_at_once, 2 * n_waiting)
    if n_waiting:
        yield pa.Table.from_batches(waiting)


@dataclass(frozen=True, slots=True, eq=False)
class PlacingTask:
    """Puts the outcomes of rows into the rows; each row arrives right after its outcomes, step by step."""

    steps: tuple[tuple[ReleasedColumn, ...], ...]
    """The columns of each step."""
    released: tuple[str, ...]
    """The columns of the output."""
    numbered: bool = False
    """True to add the destinations of the rows."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From rows and their outcomes to the masked rows."""
        import pyarrow as pa

        stay_alone()
        palettes: dict[str, Any] = {}
        waiting: list[Any] = []
        n_waiting, of_row = 0, len(self.steps) + 1
        for batch in batches:
            waiting.append(batch)
            n_waiting += batch.num_rows
            if n_waiting >= ROWS_AT_ONCE:
                rows = pa.Table.from_batches(waiting)
                whole = n_waiting - n_waiting % of_row
                yield from self._place(rows.slice(0, whole), palettes).to_batches()
                waiting, n_waiting = rows.slice(whole).to_batches(), n_waiting - whole
        if n_waiting:
            yield from self._place(pa.Table.from_batches(waiting), palettes).to_batches()

    def _place(self, rows: Any, palettes: dict[str, Any]) -> Any:
        """The masked rows of a table; palettes are converted once and kept."""
        import pyarrow as pa

        of_row = len(self.steps) + 1
        if rows.num_rows % of_row:
            raise changed_table()
        to, kind = (rows.column(name).to_numpy().reshape(-1, of_row) for name in (TO, KIND))
        if (to != to[:, :1]).any() or (kind != np.arange(of_row)).any():
            raise changed_table()
        of_step = [rows.take(pa.array(np.arange(number, rows.num_rows, of_row))) for number in range(of_row)]
        cells = {name: of_step[-1].column(f"cells{place}") for place, name in enumerate(self.released)}
        for columns, taken in zip(self.steps, of_step, strict=False):
            for place, column in enumerate(columns):
                if column.name in cells:
                    before = cells[column.name]
                    if column.name not in palettes:
                        palettes[column.name] = in_type(column.palette, before.type)
                    codes = taken.column(_code(place)).to_numpy()
                    cells[column.name] = _replace_cells(before, palettes[column.name], column.in_palette, codes)
        if self.numbered:
            cells[PLACE] = of_step[-1].column(TO)
        return pa.table(cells).combine_chunks()


def _replace_cells(before: Any, palette: Any, in_palette: Codes, codes: Codes) -> Any:
    """The palette's cells for codes; where a code is −1, the cells before."""
    import pyarrow as pa
    import pyarrow.compute as pc

    stays = codes < 0
    if stays.all():
        return before
    after = palette.take(pa.array(in_palette[codes], mask=stays))
    return pc.if_else(pa.array(stays), before, after) if stays.any() else after


# ------------------------------------------------------------------------------------------------ on the driver


@dataclass(frozen=True, slots=True, eq=False)
class CellMasker(RowMasker):
    """A step whose rows exchange records in cells; see `anonto.methods.row_masking.RowMasker`."""

    value_spaces: tuple[ValueSpace, ...]
    step: CellStep
    tally: StepTally
    evidence: Mapping[str, Any]

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | Floats]:
        """Refused: the outcome of a row depends on the other rows of its cell."""
        del columns, rows, key
        raise InternalError("Rows of cells are masked where they come together.")

    def facts(self) -> Mapping[str, Any]:
        """Evidence about the cells."""
        return self.evidence


def cell_masker_of(step: FittedStep) -> CellMasker | None:
    """The masker of a step whose rows exchange records in cells; None for another step."""
    masker = None if step.row_part is None else step.row_part.masker
    return masker if isinstance(masker, CellMasker) else None


@dataclass(slots=True, eq=False)
class CellsOnCluster:
    """A grid swap of the rows of a cluster."""

    table: SparkTable
    masking: RowMasking
    """Masking without a step, with the columns of this one."""
    n_records: int
    method: CellMethod
    columns: tuple[ReleasedColumn, ...]
    value_spaces: tuple[ValueSpace, ...]
    limit: MemoryLimit
    untouched: list[int] = field(default_factory=list)
    """The cells of each column with a value that had no partner, once all rows are exchanged."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def masker(self, key: Key, name: str) -> CellMasker:
        """Exchange all rows once, to tally their outcomes."""
        del name
        grid = self.method.grid(self.names, self.value_spaces)
        recoding = {column.name: column.staying for column in self.columns if column.staying is not None}
        maps = tuple(column.own for column in self.columns)
        step = CellStep(self.method, self.names, maps, recoding, grid, key)
        with jobs(self.table.session, "Counting what becomes of the rows"), self.table.own_splits():
            frame = exchange_frame(self.table, self.masking, step, self.n_records, TallyingTask(step), PACKED)
            tally = CellsTally(len(self.names))
            for own in unpack(frame):
                tally.join(own)
                self._require_few_moves(tally)
        patterns = tally.patterns.totals()
        strata(Records(self.names, self.value_spaces, patterns.codes, patterns.counts), 2)
        if int(patterns.counts.sum()) != self.n_records:
            raise changed_table()
        self.untouched = tally.untouched
        moved = {name: ColumnTally.of(moves) for name, moves in zip(self.names, tally.moves(), strict=True)}
        self._require_few_moves(tally)
        of_step = StepTally(unchanged_records=tally.unchanged, columns=moved)
        return CellMasker(self.value_spaces, step, of_step, facts_of_parts(tally.facts))

    def _require_few_moves(self, tally: CellsTally) -> None:
        needed = BYTES_PER_MOVE * tally.n_moves
        if needed > self.limit.for_step:
            what = "what becomes of their values"
            raise self.limit.too_small(self.method.name, self.names, needed, what)


def exchange_frame(
    table: SparkTable,
    masking: RowMasking,
    step: CellStep,
    n_records: int,
    task: TallyingTask | ExchangingTask,
    schema: str,
    order: RowOrder | None = None,
) -> Any:
    """A DataFrame of the results of a task for the rows of each cell."""
    codes = ", ".join(f"{_code(place)} int" for place in range(len(step.names)))
    keyed = table.map_rows(
        KeyingTask(masking, step, order),
        masking.needed_columns,
        f"{CELL} long, {NUMBER} long, {TO} long, {RECODED} boolean, {codes}",
    )
    parted = keyed.repartition(n_parts_of(n_records), CELL).sortWithinPartitions(CELL, NUMBER)
    return parted.mapInArrow(as_function(task), schema)


def put_exchanged(
    table: SparkTable,
    masked: Any,
    released: Sequence[str],
    steps: Sequence[tuple[CellStep, RowMasking, tuple[ReleasedColumn, ...]]],
    n_records: int,
    order: RowOrder | None,
    schema: Any,
    *,
    numbered: bool = False,
) -> Any:
    """Rows with their outcomes in some steps, in the order of their destinations.

    Args:
        table: Where the rows come from.
        masked: The rows after all other steps, with their destinations.
        released: The columns of the output.
        steps: Each step with the masking that reads its rows, and its columns.
        n_records: How many rows there are.
        order: How rows are shuffled; None where they go to their own numbers.
        schema: Of the result.
        numbered: Whether to add the destinations.
    """
    from pyspark.sql import functions

    own = masked.toDF(*(f"cells{place}" for place in range(len(released))), TO)
    everything = own.withColumn(KIND, functions.lit(len(steps)))
    for number, (step, masking, _) in enumerate(steps):
        codes = ", ".join(f"{_code(place)} int" for place in range(len(step.names)))
        becomes = exchange_frame(table, masking, step, n_records, ExchangingTask(step), f"{TO} long, {codes}", order)
        everything = everything.unionByName(becomes.withColumn(KIND, functions.lit(number)), allowMissingColumns=True)
    parted = partition_by_place(everything, TO, n_records).sortWithinPartitions(quote_name(TO), quote_name(KIND))
    columns = tuple(one for _, _, one in steps)
    return parted.mapInArrow(as_function(PlacingTask(columns, tuple(released), numbered)), schema)
