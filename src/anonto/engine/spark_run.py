"""A plan carried out on a cluster: rows are counted where they are, methods are fitted here, rows are masked there.

1. Where a policy can drop rows, the columns that have one are counted first.
2. The values of the columns that steps look at are counted by row group, and whole records where a method needs them.
3. Every step is fitted from these counts, with the same randomness as on one machine.
4. What the fit alone does not tell of the outcome is tallied by masking all rows once without writing them.
5. The masked table is a map over the rows: nothing is shuffled, unless its rows are to be. Only for equi-width swapping
   the rows of a cell come together: see `anonto.engine.spark_cells`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.engine.fitting import Fitting
from anonto.engine.memory import DEFAULT, LEAST, Room
from anonto.engine.released import NumberColumn, StepTally
from anonto.engine.spark_cells import CellMasker, CellsOnCluster, with_exchanged
from anonto.engine.spark_counts import CountingTask, StayingRows, counted, follow_each_other
from anonto.engine.spark_masking import (
    PLACE,
    MaskingTask,
    RowMasking,
    StepTask,
    TallyTask,
    of_columns,
    slim,
    slim_column,
    tallied,
)
from anonto.engine.two_pass import Surroundings, dropping, fit_step
from anonto.errors import InternalError
from anonto.table.record_counts import CountedRecords, RecordCounter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from anonto.engine.released import OutColumn
    from anonto.engine.spark_counts import Counted, CountsByGroup
    from anonto.engine.spark_table import SparkTable
    from anonto.engine.two_pass import FittedStep, FlowPart, StepLike
    from anonto.methods.equi_width_swap import EquiWidthSwap
    from anonto.rng import RowOrder, Seed
    from anonto.table.description import ColumnDescription
    from anonto.table.prepare import Opener

    Codes = NDArray[np.int32]
    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What the evidence says of the table that was masked."""

    schema: tuple[str, ...]
    """Its columns."""
    n_rows: int


@dataclass(frozen=True, slots=True, eq=False)
class MaskedFrame:
    """A table on a cluster with all that is needed to mask its rows."""

    table: SparkTable
    source: SourceFacts
    n_records: int
    steps: list[FittedStep]
    tallies: list[StepTally]
    real_k: list[int | None]
    columns: dict[str, OutColumn]
    partitions: Mapping[int, tuple[int, int]]
    """For each partition of Spark its first row group, and how many of its rows stay."""
    keeps_order: bool
    """Whether partitions have consecutive rows in their order."""
    masking: RowMasking = field(repr=False)
    """By all steps but those whose rows come together in cells."""

    @property
    def _cell_maskers(self) -> list[tuple[FittedStep, CellMasker]]:
        found = ((step, None if step.row_part is None else step.row_part.masker) for step in self.steps)
        return [(step, masker) for step, masker in found if isinstance(masker, CellMasker)]

    @property
    def is_placed(self) -> bool:
        """Whether rows come in the order of where they go, in parts that follow each other."""
        return bool(self._cell_maskers)

    def frame(self, dropped: Sequence[str], order: RowOrder | None, *, numbered: bool = False) -> Any:
        """The masked rows as a DataFrame; with an order their places come with them, or if wanted their numbers."""
        from pyspark.sql.types import LongType, StructField, StructType

        names = [name for name in self.table.frame.columns if name not in dropped]
        kinds = {name: kind for name, column in self.columns.items() if (kind := self._new_kind(column)) is not None}
        fields = [StructField(name, self._spark_type(name, kinds)) for name in names]
        place = StructField(PLACE, LongType())
        exchanged = self._cell_maskers
        elsewhere = {column.name for step, _ in exchanged for column in step.columns}
        columns = {
            name: slim_column(column)
            for name, column in self.columns.items()
            if name not in elsewhere or column.staying is not None
        }
        task = MaskingTask(self.masking, tuple(names), columns, kinds, order, numbered=numbered or bool(exchanged))
        looked_at = dict.fromkeys([*names, *self.masking.looked_at])
        with_place = StructType([*fields, place])
        placed = order is not None or task.numbered
        masked = self.table.mapped(task, [*looked_at], with_place if placed else StructType(fields))
        if not exchanged:
            return masked
        steps = [(masker.step, of_columns(self.masking, masker.step.names), step.columns) for step, masker in exchanged]
        schema = with_place if numbered else StructType(fields)
        return with_exchanged(self.table, masked, names, steps, self.n_records, order, schema, numbered=numbered)

    def _new_kind(self, column: OutColumn) -> Any:
        """The pyarrow type of a column whose new cells its own type cannot hold; None for the others."""
        import polars as pl

        if column.palette.dtype == self.masking.columns[column.name].cells.dtype:
            return None
        import pyarrow as pa

        return pa.string() if column.palette.dtype == pl.String else column.palette.to_arrow().type

    def _spark_type(self, name: str, kinds: Mapping[str, Any]) -> Any:
        from pyspark.sql.pandas.types import from_arrow_type

        kind = from_arrow_type(kinds[name]) if name in kinds else self.table.frame.schema[name].dataType
        return without_metadata(kind)


def without_metadata(kind: Any) -> Any:
    """A type of Spark without what is noted of the fields it is made of: Spark writes that into the files."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(kind, StructType):
        return StructType([StructField(one.name, without_metadata(one.dataType), one.nullable) for one in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(without_metadata(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(without_metadata(kind.keyType), without_metadata(kind.valueType), kind.valueContainsNull)
    return kind


@dataclass(slots=True, eq=False)
class OnCluster:
    """A run in the making."""

    table: SparkTable
    steps: Sequence[StepLike]
    descriptions: Mapping[str, ColumnDescription]
    looked_at: Sequence[str]
    """By a step or a policy."""
    seed: Seed
    open_once: Opener
    memory: int | None = None
    """What the fitting of a step may take on the driver, in bytes; None for half of its machine."""
    _staying: StayingRows | None = None
    _counted: Counted | None = None

    def masked(self) -> MaskedFrame:
        """Count, fit and tally; nothing is written yet."""
        self._staying = self._rows_that_stay()
        found = self._counted = self._count()
        fitting = Fitting(Room(driver_memory() if self.memory is None else self.memory))
        given = Surroundings(
            found.columns,
            self.descriptions,
            self.seed,
            self.open_once,
            self._count_records,
            fit_records=fitting.records,
            scatter=partial(self._cells, room=fitting.room),
            scatters_all=True,
            fit_columns=fitting.columns,
            require=fitting.require,
        )
        steps = [fit_step(number, step, given) for number, step in enumerate(self.steps)]
        masking = replace(
            self._no_masking(), steps=tuple(StepTask(slim(step), self._counts_of(step)) for step in steps)
        )
        tallies, real_k = self._tallied(steps, masking, found.n_kept)
        columns = {column.name: column for step in steps for column in step.columns}
        for tally in tallies:
            for name, of_column in tally.columns.items():
                column = columns[name]
                if isinstance(column, NumberColumn):
                    columns[name] = column.holding(of_column.further)
        partitions = {
            partition: (min(groups), int(found.kept_in[groups].sum())) for partition, groups in found.partitions.items()
        }
        source = SourceFacts(tuple(self.table.frame.columns), found.n_rows)
        return MaskedFrame(
            table=self.table,
            source=source,
            n_records=found.n_kept,
            steps=steps,
            tallies=tallies,
            real_k=real_k,
            columns=columns,
            partitions=partitions,
            keeps_order=follow_each_other(found.partitions),
            masking=replace(
                masking,
                steps=tuple(task for task, step in zip(masking.steps, steps, strict=True) if not _is_in_cells(step)),
            ),
        )

    def _no_masking(self) -> RowMasking:
        """What tasks must know to tell the rows that stay, and their numbers; of no step."""
        found = self._found
        return RowMasking(
            self.table.row_groups,
            self._staying,
            {name: column.bare() for name, column in found.columns.items()},
            found.rows_before,
            found.kept_before,
            found.kept_in,
            (),
        )

    def _cells(self, method: EquiWidthSwap, columns: Sequence[OutColumn], room: Room) -> CellsOnCluster:
        masking = of_columns(self._no_masking(), [one.name for one in columns])
        return CellsOnCluster(self.table, masking, self._found.n_kept, method, tuple(columns), room)

    # ------------------------------------------------------------------------------------------ counting

    def _rows_that_stay(self) -> StayingRows | None:
        """Look at the columns whose policies refuse cells or drop rows; None where all stay."""
        names = tuple(name for name in self.looked_at if _has_policy(self.descriptions[name]))
        return rows_that_stay(self.table, names, self.descriptions, self.open_once)

    def _count(self) -> Counted:
        names = dict.fromkeys(name for step in self.steps for name in (*step.columns, *step.also_needs))
        columns = tuple(name for name in self.looked_at if name in names)
        whole = (step for step in self.steps if step.method.together and not step.method.exchanged_in_cells)
        together = dict.fromkeys((*step.columns, *step.also_needs) for step in whole)
        task = CountingTask(self.table.row_groups, columns, tuple(together), self._staying)
        of_policies = () if self._staying is None else self._staying.columns
        read = [*dict.fromkeys([*columns, *of_policies])]
        return counted(self.table.gathered(task, read, "Counting the values"), task, self.table.types(columns))

    def _count_records(self, names: Sequence[str], maps: Sequence[Codes]) -> CountedRecords:
        found = self._found
        place = found.together.index(tuple(names))
        raw = found.records[place]
        codes = np.stack([own[raw[:, k]] for k, own in enumerate(maps)], axis=1).astype(np.int32)
        totals = found.records_by_group[place].totals(raw.shape[0])
        return CountedRecords.together([CountedRecords(codes, totals)])

    def _counts_of(self, step: FittedStep) -> tuple[CountsByGroup, ...]:
        """For each part with flows how many rows of each row group have each value or record."""
        return tuple(self._counts_of_part(part) for part in step.flow_parts)

    def _counts_of_part(self, part: FlowPart) -> CountsByGroup:
        found = self._found
        if part.index is None:
            name = part.seen[0]
            raw = np.arange(len(found.columns[name].texts), dtype=np.int32)
            return found.by_group[name].renumbered(part.groups({name: raw}))
        place = found.together.index(part.seen)
        records = found.records[place]
        groups = part.groups({name: records[:, k] for k, name in enumerate(part.seen)})
        return found.records_by_group[place].renumbered(groups)

    @property
    def _found(self) -> Counted:
        if self._counted is None:
            raise InternalError("Nothing was counted yet.")
        return self._counted

    # ------------------------------------------------------------------------------------------ what became of the rows

    def _tallied(
        self, steps: list[FittedStep], masking: RowMasking, n_records: int
    ) -> tuple[list[StepTally], list[int | None]]:
        """What became of the rows: from the flows, or from masking all rows where these do not tell it."""
        open_steps = [number for number, step in enumerate(steps) if _needs_rows(step)]
        tallies = [
            StepTally() if number in open_steps else self._tally(step, n_records) for number, step in enumerate(steps)
        ]
        alike = {number: RecordCounter(len(steps[number].columns)) for number in open_steps}
        if open_steps:
            partly = replace(masking, steps=tuple(masking.steps[number] for number in open_steps))
            contents = self.table.gathered(TallyTask(partly), partly.looked_at, "Counting what becomes of the rows")
            for found, noted in tallied(contents):
                for number, own, note in zip(open_steps, found, noted, strict=True):
                    _add(steps[number], tallies[number], alike[number], own, note)
        real_k = [
            None if not step.counts_equal else self._real_k(step, alike.get(number), n_records)
            for number, step in enumerate(steps)
        ]
        return tallies, real_k

    def _tally(self, step: FittedStep, n_records: int) -> StepTally:
        """Of a step that tells what becomes of the rows without masking them."""
        masker = None if step.row_part is None else step.row_part.masker
        if isinstance(masker, CellMasker):
            return masker.tally
        return StepTally(unchanged_records=self._unchanged(step, n_records))

    def _unchanged(self, step: FittedStep, n_records: int) -> int:
        """Records whose cells all stay as they are, from the flows of the only part of a step."""
        part = step.flow_parts[0]
        flows = part.flows
        if part.released is None:
            same = flows.sources == flows.targets
        else:
            found = self._found
            records = found.records[found.together.index(part.seen)]
            groups = part.groups({name: records[:, k] for k, name in enumerate(part.seen)})
            codes = np.empty((flows.sizes.size, len(part.columns)), dtype=np.int32)
            for k in range(len(part.columns)):
                codes[groups, k] = part.maps[k][records[:, k]]
            same = np.logical_and.reduce(
                [
                    one.meant(codes[flows.sources, k]) == one.meant(part.released[flows.targets, k])
                    for k, one in enumerate(part.columns)
                ]
            )
        return int(flows.amounts[same].sum()) + n_records - int(flows.sizes.sum())

    @staticmethod
    def _real_k(step: FittedStep, alike: RecordCounter | None, n_records: int) -> int:
        """How many records are released alike at least."""
        if alike is not None:
            return int(alike.counted().counts.min(initial=n_records))
        part = step.flow_parts[0]
        if part.released is None:
            raise InternalError("A method that makes records equal looks at whole records.")
        released = np.ascontiguousarray(part.released[part.flows.targets, : len(part.columns)])
        equal = CountedRecords.together([CountedRecords(released, part.flows.amounts)])
        return int(equal.counts.min(initial=n_records))


def rows_that_stay(
    table: SparkTable, names: Sequence[str], descriptions: Mapping[str, ColumnDescription], open_once: Opener
) -> StayingRows | None:
    """Count some columns and see what their policies refuse and drop; None where all rows stay."""
    if not names:
        return None
    task = CountingTask(table.row_groups, tuple(names))
    contents = table.gathered(task, names, "Counting the columns that can drop records")
    learnt = counted(contents, task, table.types(names)).columns
    found = dropping(learnt, descriptions, open_once)
    if found is None:
        return None
    return StayingRows(found, {name: learnt[name].bare() for name in found.by_column})


def _has_policy(description: ColumnDescription) -> bool:
    return description.missing != "keep" or (description.unmatched == "drop" and bool(description.ontologies))


def _is_in_cells(step: FittedStep) -> bool:
    """Whether the rows of a step come together in cells."""
    return step.row_part is not None and isinstance(step.row_part.masker, CellMasker)


def _needs_rows(step: FittedStep) -> bool:
    """Whether only masking tells what becomes of the rows."""
    if _is_in_cells(step):
        return False
    if step.row_part is not None or len(step.flow_parts) > 1 or (step.counts_equal and step.as_they_are):
        return True
    return any(column.staying is not None for column in step.columns)


def _add(
    step: FittedStep, tally: StepTally, alike: RecordCounter, found: Sequence[StepTally], noted: Longs | None
) -> None:
    for one in found:
        tally.add(one)
        if one.equal is not None:
            alike.add(one.equal)
    if noted is not None and step.row_part is not None:
        step.row_part.masker.note(noted)


def driver_memory() -> int:
    """What the fitting of a step may take on the driver: half of the machine."""
    try:
        return max(LEAST, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    except (AttributeError, OSError, ValueError):
        return DEFAULT
