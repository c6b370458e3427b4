"""Equi-width swapping on a cluster: rows of a cell come together on one worker, and exchange their records there.

1. Each task tells of its rows in which cell of the grid they are, their numbers, and where they go.
2. The rows of a cell are brought together, and exchanged as `anonto.methods.cells` says.
3. What rows become, and the rows themselves, meet again where the rows go: at their places, or in their own order.

Only codes and numbers travel to the cells. The driver sees what became of values, and never a row.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.spark.apply import PLACE, in_type
from anonto.engine.spark.rows import quoted
from anonto.engine.spark.session import jobs
from anonto.engine.spark.table import as_function, brought_here, in_parts, n_parts_of
from anonto.errors import InternalError, TableChangedError
from anonto.masking.released import ColumnTally, StepTally
from anonto.methods.bins import strata
from anonto.methods.cells import facts_of_parts
from anonto.methods.equi_width_swap import exchanged_rows
from anonto.methods.flows import Moves
from anonto.methods.memory import BYTES_PER_MOVE
from anonto.methods.row_masking import RowMasker
from anonto.table.record_counts import CountedRecords, RecordCounter
from anonto.table.records import Records
from anonto.threads import stay_alone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.engine.room import Room
    from anonto.engine.spark.apply import MaskedPiece, RowMasking
    from anonto.engine.spark.table import SparkTable
    from anonto.masking.released import OutColumn
    from anonto.methods.cells import Grid
    from anonto.methods.equi_width_swap import EquiWidthSwap, ExchangedRows
    from anonto.rng import Key, RowOrder
    from anonto.table.attributes import Attribute

    Codes = NDArray[np.int32]
    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]

CELL, NUMBER, TO, KIND, RECODED = "cell", "number", "to", "kind", "recoded"
"""Columns on the way: the cell of a row, its number among the rows that stay, where it goes, whether it is the row
itself or what it becomes in one of the steps, and whether a missing cell of it gets another code."""
ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class CellStep:
    """A step as tasks carry it out."""

    method: EquiWidthSwap
    names: tuple[str, ...]
    maps: tuple[Codes, ...]
    """For each column the code of each raw code."""
    recoding: Mapping[str, Codes]
    """For columns whose missing cells get another code: for each raw code the place of the cell where it stays."""
    grid: Grid
    key: Key

    def codes(self, piece: MaskedPiece) -> list[Codes]:
        """For each column the codes of some rows."""
        return [own[piece.raw[name]] for name, own in zip(self.names, self.maps, strict=True)]

    def recoded(self, piece: MaskedPiece) -> Flags:
        """Which rows have a missing cell that gets another code."""
        found = np.zeros(piece.cells.num_rows, dtype=np.bool_)
        for name, staying in self.recoding.items():
            found |= staying[piece.raw[name]] != piece.raw[name]
        return found

    def cells(self, columns: Sequence[Codes], numbers: Longs) -> Longs:
        """What stands for the cell of each row; rows without any value need not come together."""
        codes = np.stack(columns, axis=1)
        return np.where((codes >= 0).any(axis=1), self.grid.identities(codes).view(np.int64), numbers)


def _code(place: int) -> str:
    return f"c{place}"


# ------------------------------------------------------------------------------------------------ tasks


@dataclass(frozen=True, slots=True, eq=False)
class KeyingTask:
    """Tells of the rows of a task in which cells they are."""

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
                recoded = self.step.recoded(piece)
                keyed = {CELL: self.step.cells(columns, numbers), NUMBER: numbers, TO: to, RECODED: recoded}
                keyed |= {_code(place): codes for place, codes in enumerate(columns)}
                yield pa.RecordBatch.from_pydict({name: pa.array(cells) for name, cells in keyed.items()})


@dataclass(frozen=True, slots=True, eq=False)
class ExchangingTask:
    """Exchanges the rows of the cells of a task: rows that come cell by cell, and in each in their order."""

    step: CellStep

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From rows to what they become."""
        import pyarrow as pa

        for rows, _, done in self.exchanged(batches):
            becomes = {TO: rows.column(TO).to_numpy()} | {
                _code(place): codes for place, codes in enumerate(done.released)
            }
            yield pa.RecordBatch.from_pydict({name: pa.array(cells) for name, cells in becomes.items()})

    def exchanged(self, batches: Iterable[Any]) -> Iterator[tuple[Any, list[Codes], ExchangedRows]]:
        """The rows of some whole cells, their codes, and what became of them."""
        stay_alone()
        step = self.step
        nothing = (None,) * len(step.names)
        for rows in whole_cells(batches):
            columns = [rows.column(_code(place)).to_numpy() for place in range(len(step.names))]
            done = exchanged_rows(step.method, step.names, nothing, step.grid, step.key, columns)  # type: ignore[arg-type]
            yield rows, columns, done


class CellsTally:
    """What became of the rows of some cells."""

    def __init__(self, n_columns: int) -> None:
        self.unchanged = 0
        self.untouched = [0] * n_columns
        self.facts: list[Mapping[str, Any]] = []
        self.patterns = RecordCounter(n_columns)
        """Which columns lack a value together, and how often."""
        self._pairs = [RecordCounter(2) for _ in range(n_columns)]

    def add(self, before: Sequence[Codes], done: ExchangedRows, recoded: Flags) -> None:
        """Take the rows of some cells; some have a missing cell that gets another code."""
        same = np.logical_and.reduce([own == new for own, new in zip(before, done.released, strict=True)])
        self.unchanged += int(np.count_nonzero(same & ~recoded))
        self.untouched = [sum(both) for both in zip(self.untouched, done.untouched, strict=True)]
        self.facts = [facts_of_parts([*self.facts, done.facts])]
        self.patterns.add(CountedRecords.of([np.minimum(own, 0) for own in before]))
        for pairs, own, new in zip(self._pairs, before, done.released, strict=True):
            there = own >= 0
            pairs.add(CountedRecords.of([own[there], new[there]]))

    def join(self, other: CellsTally) -> None:
        """Take what another task tallied."""
        self.unchanged += other.unchanged
        self.untouched = [sum(both) for both in zip(self.untouched, other.untouched, strict=True)]
        self.facts += other.facts
        self.patterns.add(other.patterns.counted())
        for pairs, others in zip(self._pairs, other._pairs, strict=True):
            pairs.add(others.counted())

    @property
    def n_moves(self) -> int:
        """Of how many pairs of values one became the other, at least."""
        return sum(pairs.n_known for pairs in self._pairs)

    def moves(self) -> list[Moves]:
        """For each column what became of its values."""
        found = [pairs.counted() for pairs in self._pairs]
        return [Moves(one.codes[:, 0].copy(), one.codes[:, 1].copy(), one.counts) for one in found]


@dataclass(frozen=True, slots=True, eq=False)
class TallyingTask:
    """Exchanges the rows of the cells of a task, and hands over only what became of them."""

    step: CellStep

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From rows to one binary."""
        import pyarrow as pa

        tally = CellsTally(len(self.step.names))
        for rows, before, done in ExchangingTask(self.step).exchanged(batches):
            tally.add(before, done, rows.column(RECODED).to_numpy())
        if tally.facts:
            content = pickle.dumps(tally, protocol=5)
            yield pa.RecordBatch.from_arrays([pa.array([content], pa.binary())], names=["content"])


def whole_cells(batches: Iterable[Any], rows_at_once: int = ROWS_AT_ONCE) -> Iterator[Any]:
    """Rows that come cell by cell, some whole cells at a time: a batch more than so many, or twice a larger cell."""
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
    """Puts what rows become into the rows: each comes right behind what it becomes, step by step."""

    steps: tuple[tuple[OutColumn, ...], ...]
    """For each step its columns."""
    released: tuple[str, ...]
    """The columns of the output."""
    numbered: bool = False
    """Whether where they go comes with the rows."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From rows and what they become to the masked rows."""
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
                yield from self._placed(rows.slice(0, whole), palettes).to_batches()
                waiting, n_waiting = rows.slice(whole).to_batches(), n_waiting - whole
        if n_waiting:
            yield from self._placed(pa.Table.from_batches(waiting), palettes).to_batches()

    def _placed(self, rows: Any, palettes: dict[str, Any]) -> Any:
        """The masked rows of some; the cells that may be released are made ready once."""
        import pyarrow as pa

        of_row = len(self.steps) + 1
        if rows.num_rows % of_row:
            raise TableChangedError
        to, kind = (rows.column(name).to_numpy().reshape(-1, of_row) for name in (TO, KIND))
        if (to != to[:, :1]).any() or (kind != np.arange(of_row)).any():
            raise TableChangedError
        of_step = [rows.take(pa.array(np.arange(number, rows.num_rows, of_row))) for number in range(of_row)]
        cells = {name: of_step[-1].column(f"cells{place}") for place, name in enumerate(self.released)}
        for columns, taken in zip(self.steps, of_step, strict=False):
            for place, column in enumerate(columns):
                if column.name in cells:
                    before = cells[column.name]
                    if column.name not in palettes:
                        palettes[column.name] = in_type(column.palette, before.type)
                    codes = taken.column(_code(place)).to_numpy()
                    cells[column.name] = _replaced(before, palettes[column.name], column.in_palette, codes)
        if self.numbered:
            cells[PLACE] = of_step[-1].column(TO)
        return pa.table(cells).combine_chunks()


def _replaced(before: Any, palette: Any, in_palette: Codes, codes: Codes) -> Any:
    """The cells of a palette that stand for codes; where there is none, the cells before."""
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

    attributes: tuple[Attribute, ...]
    step: CellStep
    tally: StepTally
    told: Mapping[str, Any]

    def apply(self, columns: Sequence[Codes], rows: Longs, key: Key) -> list[Codes | NDArray[np.float64]]:
        """Nothing: one row alone does not know what it becomes."""
        del columns, rows, key
        raise InternalError("Rows of cells are masked where they come together.")

    def facts(self) -> Mapping[str, Any]:
        """What the evidence says of the cells."""
        return self.told


@dataclass(slots=True, eq=False)
class CellsOnCluster:
    """A step in the making."""

    table: SparkTable
    masking: RowMasking
    """Of no step, with the columns of this one."""
    n_records: int
    method: EquiWidthSwap
    columns: tuple[OutColumn, ...]
    room: Room
    untouched: list[int] = field(default_factory=list)
    """When all is done: for each column the cells with a value that had no partner."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Of the columns."""
        return tuple(column.attribute for column in self.columns)

    def masker(self, key: Key, name: str) -> CellMasker:
        """Exchange all rows once to see what becomes of them."""
        del name
        grid = self.method.grid(self._records(np.empty((0, len(self.names)), np.int32), np.empty(0, np.int64)))
        recoding = {column.name: column.staying for column in self.columns if column.staying is not None}
        maps = tuple(column.own for column in self.columns)
        step = CellStep(self.method, self.names, maps, recoding, grid, key)
        with jobs(self.table.session, "Counting what becomes of the rows"), self.table.own_splits():
            frame = exchanging(self.table, self.masking, step, self.n_records, TallyingTask(step), "content binary")
            tally = CellsTally(len(self.names))
            for row in brought_here(frame):
                tally.join(pickle.loads(row["content"]))  # noqa: S301 - our own tasks wrote it
                self._require_few_moves(tally)
        patterns = tally.patterns.counted()
        strata(self._records(patterns.codes, patterns.counts), 2)
        if int(patterns.counts.sum()) != self.n_records:
            raise TableChangedError
        self.untouched = tally.untouched
        moved = {name: ColumnTally.of(moves) for name, moves in zip(self.names, tally.moves(), strict=True)}
        self._require_few_moves(tally)
        of_step = StepTally(unchanged_records=tally.unchanged, columns=moved)
        return CellMasker(self.attributes, step, of_step, facts_of_parts(tally.facts))

    def _records(self, codes: Codes, counts: Longs) -> Records:
        return Records(self.names, self.attributes, codes, counts)

    def _require_few_moves(self, tally: CellsTally) -> None:
        needed = BYTES_PER_MOVE * tally.n_moves
        if needed > self.room.of_step:
            what = "what becomes of their values"
            raise self.room.too_small(self.method.name, self.names, needed, what)


def exchanging(
    table: SparkTable,
    masking: RowMasking,
    step: CellStep,
    n_records: int,
    task: TallyingTask | ExchangingTask,
    schema: str,
    order: RowOrder | None = None,
) -> Any:
    """A DataFrame of what a task makes of the rows of each cell."""
    codes = ", ".join(f"{_code(place)} int" for place in range(len(step.names)))
    keyed = table.mapped(
        KeyingTask(masking, step, order),
        masking.looked_at,
        f"{CELL} long, {NUMBER} long, {TO} long, {RECODED} boolean, {codes}",
    )
    parted = keyed.repartition(n_parts_of(n_records), CELL).sortWithinPartitions(CELL, NUMBER)
    return parted.mapInArrow(as_function(task), schema)


def with_exchanged(
    table: SparkTable,
    masked: Any,
    released: Sequence[str],
    steps: Sequence[tuple[CellStep, RowMasking, tuple[OutColumn, ...]]],
    n_records: int,
    order: RowOrder | None,
    schema: Any,
    *,
    numbered: bool = False,
) -> Any:
    """Rows with what they become in some steps put into them, in the order of where they go.

    Args:
        table: Where the rows come from.
        masked: The rows as all other steps leave them, and where they go.
        released: The columns of the output.
        steps: Each with what is needed to tell the cells of the rows, and its columns.
        n_records: How many rows there are.
        order: How rows are shuffled; None where they go to their own numbers.
        schema: Of the rows that come out.
        numbered: Whether where they go comes with them.
    """
    from pyspark.sql import functions

    own = masked.toDF(*(f"cells{place}" for place in range(len(released))), TO)
    everything = own.withColumn(KIND, functions.lit(len(steps)))
    for number, (step, masking, _) in enumerate(steps):
        codes = ", ".join(f"{_code(place)} int" for place in range(len(step.names)))
        becomes = exchanging(table, masking, step, n_records, ExchangingTask(step), f"{TO} long, {codes}", order)
        everything = everything.unionByName(becomes.withColumn(KIND, functions.lit(number)), allowMissingColumns=True)
    parted = in_parts(everything, TO, n_records).sortWithinPartitions(quoted(TO), quoted(KIND))
    columns = tuple(tuple(column.slim() for column in one) for _, _, one in steps)
    return parted.mapInArrow(as_function(PlacingTask(columns, tuple(released), numbered)), schema)
