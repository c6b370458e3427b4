"""Persons and sets on a cluster: records are written to a scratch folder, and masked records become rows again.

1. All rows of a person come together on one worker, which makes her record; facts about the rows go with the records.
2. The records are sorted by their first rows and written to files, which the engine masks like any other table.
3. The rows of masked records are counted by block of records, so that each worker knows the numbers of its rows, which
   their random order is keyed on.

The driver sees sums and counts, never a row.
"""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anonto.encoding.description import ColumnDescription
from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.series import as_text_series
from anonto.encoding.set_space import ELEMENT
from anonto.engine.spark.apply import PLACE, in_type
from anonto.engine.spark.count import as_polars
from anonto.engine.spark.numbered_frame import write_scratch
from anonto.engine.spark.released_frames import remember_rows
from anonto.engine.spark.rows import gather_batches, pack, pieces, quote_name
from anonto.engine.spark.session import jobs
from anonto.engine.spark.source import OnCluster
from anonto.engine.spark.table import (
    PACKED,
    as_function,
    collect_rows,
    n_parts_of,
    put_parts_in_order,
    sort_by_place,
    unpack,
    write_at_places,
)
from anonto.masking.masked_records import MaskedRecords
from anonto.masking.plan import ROWS_OF_PERSON, Plan
from anonto.masking.unit_rows import RowMaker, sources_of, sources_of_sets
from anonto.masking.units import FIRST, UnitFacts, Units, plan_of_records, require_columns
from anonto.random.streams import row_order
from anonto.runtime.threads import stay_alone

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

    from anonto.arrays import Ints, Longs
    from anonto.engine.spark.numbered_frame import NumberedFrame
    from anonto.engine.spark.rows import RowGroups
    from anonto.engine.spark.sink import MaskedFrame
    from anonto.engine.spark.table import SparkTable
    from anonto.io.table import Origin
    from anonto.random.streams import RowOrder, Seed

NUMBER, PERSON, FACTS = (f"{ELEMENT}{name}" for name in ("number", "person", "facts"))
"""Columns between tasks: the number of a row, its person as a text, and facts about the rows of a task."""
ROWS_OF_A_TASK = 1 << 17
"""About how many rows become records in one task."""
RECORDS_OF_A_BLOCK = 1 << 12


@dataclass(frozen=True, eq=False, repr=False)
class UnitsOnCluster:
    """The records of a table on a cluster."""

    rows: NumberedFrame
    """The table as it was given."""
    given: Plan
    """Its plan."""
    found: UnitFacts
    engine: OnCluster
    """Its records."""

    @property
    def plan(self) -> Plan:
        """The plan of the records."""
        return plan_of_records(self.given, self.found)

    @property
    def row_maker(self) -> RowMaker:
        """How the masked records become rows."""
        return RowMaker(_slim(self.given), tuple(self.rows.table.frame.columns), self.found.sets)


def make_records(rows: NumberedFrame, given: Plan, memory: int | None, seed: Seed) -> UnitsOnCluster:
    """Write the records of a table to a scratch folder; the seed draws the rows that are used, if not all are."""
    frame, plan = rows.table.frame, _slim(given)
    require_columns(given, frame.columns)
    needed = {*sources_of_sets(plan.sets), plan.person, plan.order}
    blank = [name for name in plan.identifiers(frame.columns) if name not in needed]
    names = [name for name in frame.columns if name not in blank]
    numbered = _numbered_rows(rows, names, plan.person)
    if plan.person is not None:
        numbered = numbered.repartition(max(1, -(-rows.table.n_stored // ROWS_OF_A_TASK)), quote_name(PERSON))
    schema = _schema_of_records(rows.table.schema, plan, blank)
    task = RecordsTask(plan, tuple(frame.columns), tuple(blank), tuple(schema.fieldNames()), seed)
    with rows.table.own_splits():
        unsorted = write_scratch(
            numbered.mapInArrow(as_function(task), schema), rows.read, "Making records of the rows of persons"
        )
    rows.table.require_unchanged()
    found = _collect_facts(unsorted, Units(FrameAdapter(_without_rows(rows, blank)), plan).found)
    found.require_records(plan)
    unused = [] if found.has_row_numbers(given) or not plan.repeats_rows else [ROWS_OF_PERSON]
    ordered = unsorted.table.frame.drop(FACTS, *unused).orderBy(quote_name(FIRST))
    records = write_scratch(ordered, rows.read, "Putting the records in order", dropped=[FIRST])
    return UnitsOnCluster(rows, given, found, OnCluster(records, memory))


def _slim(plan: Plan) -> Plan:
    """As much of a plan as the tasks need."""
    columns = {
        name: ColumnDescription(
            kind="set", role=one.role, from_columns=one.from_columns, separator=one.separator, na=one.na
        )
        if one.kind == "set"
        else ColumnDescription(role=one.role)
        for name, one in plan.columns.items()
    }
    return Plan(columns=MappingProxyType(columns), table=MappingProxyType(dict(plan.table)))


def _numbered_rows(rows: NumberedFrame, names: Sequence[str], person: str | None) -> Any:
    """Some columns of the rows, the numbers of these, and the person of each as a text."""
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    schema = rows.table.schema
    own = [StructField(name, schema[name].dataType) for name in names]
    further = [StructField(NUMBER, LongType()), StructField(PERSON, StringType())]
    task = NumberingTask(rows.table.row_groups, _count_before(rows), person)
    return rows.table.map_rows(task, names, StructType([*own, *further]))


def _count_before(rows: NumberedFrame) -> Longs:
    """How many rows are before each row group; a filter may have left out some of those in the files."""
    sizes = np.zeros(len(rows.table.row_groups), dtype=np.int64)
    task = CountGroupsTask(rows.table.row_groups)
    for groups, n_rows in rows.table.collect_results(task, [], "Counting the rows of a table"):
        np.add.at(sizes, groups, n_rows)
    return np.cumsum(sizes) - sizes


def _schema_of_records(schema: Any, plan: Plan, blank: Sequence[str]) -> Any:
    """The columns of the records, each set in the place of its first source, their order, and facts."""
    from pyspark.sql.types import BinaryType, BooleanType, LongType, StringType, StructField, StructType

    of_source = {source: name for name, one in plan.sets.items() for source in sources_of(name, one)}
    kinds: dict[str, Any] = {}
    for one in schema.fields:
        if one.name in of_source:
            kinds.setdefault(of_source[one.name], StringType())
        elif one.name != plan.order:
            kinds[one.name] = BooleanType() if one.name in blank else one.dataType
    kinds |= {ROWS_OF_PERSON: LongType()} if plan.repeats_rows else {}
    return StructType([StructField(*one) for one in (kinds | {FIRST: LongType(), FACTS: BinaryType()}).items()])


def _without_rows(rows: NumberedFrame, blank: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    frame = rows.table.frame
    types = rows.table.types([name for name in frame.columns if name not in blank])
    return pl.DataFrame(schema={name: types.get(name, pl.Boolean()) for name in frame.columns})


def _collect_facts(records: NumberedFrame, found: UnitFacts) -> UnitFacts:
    """The facts that tasks left with their records, added up."""
    frame = records.table.frame
    with jobs(records.table.session, "Counting the rows of persons"):
        packed = collect_rows(frame.where(frame[quote_name(FACTS)].isNotNull()).select(quote_name(FACTS)))
    for one in packed:
        found = found + pickle.loads(one[FACTS])  # noqa: S301 - our own tasks wrote it
    return found


# ------------------------------------------------------------------------------------------------ rows to records


@dataclass(frozen=True, slots=True, eq=False)
class CountGroupsTask:
    """Returns how many rows of each row group a task has."""

    row_groups: RowGroups

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From rows with their places in files."""
        stay_alone()
        found = [(piece.group, piece.rows.size) for piece in pieces(batches, self.row_groups)]
        if found:
            groups, n_rows = np.array(found, dtype=np.int64).T
            yield pack((groups, n_rows))


@dataclass(frozen=True, slots=True, eq=False)
class NumberingTask:
    """Returns the rows of a task with their numbers, and their persons as texts."""

    row_groups: RowGroups
    before: Longs
    """How many rows are before each row group."""
    person: str | None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From the cells of a task with their places in files."""
        import polars as pl
        import pyarrow as pa

        seen: Counter[int] = Counter()
        for piece in pieces(batches, self.row_groups):
            first, n_rows = int(self.before[piece.group]) + seen[piece.group], piece.rows.size
            seen[piece.group] += n_rows
            texts = pa.nulls(n_rows, pa.string())
            if self.person is not None:
                texts = in_type(as_text_series(as_polars(piece.cells, self.person)).cast(pl.String), pa.string())
            numbers = pa.array(np.arange(first, first + n_rows))
            cells = piece.cells.append_column(NUMBER, numbers).append_column(PERSON, texts)
            yield from cells.combine_chunks().to_batches()


@dataclass(frozen=True, slots=True, eq=False)
class RecordsTask:
    """Returns the records of the rows of a task, which has all rows of its persons."""

    plan: Plan
    names: tuple[str, ...]
    """The columns of the table."""
    blank: tuple[str, ...]
    """Those that are dropped without being looked at."""
    released: tuple[str, ...]
    """The columns of the result."""
    seed: Seed

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From rows with their numbers to records."""
        import pyarrow as pa

        stay_alone()
        n_rows = ROWS_OF_A_TASK if self.plan.person is None else sys.maxsize
        for gathered in gather_batches(batches, n_rows):
            table = pa.Table.from_batches(gathered)
            table = table.take(np.argsort(table.column(NUMBER).to_numpy(), kind="stable"))
            yield from self._records(table).combine_chunks().to_batches()

    def _records(self, table: Any) -> Any:
        import pyarrow as pa

        numbers, n_rows = table.column(NUMBER).to_numpy(), table.num_rows
        given = {
            name: pa.nulls(n_rows, pa.bool_()) if name in self.blank else table.column(name) for name in self.names
        }
        units = Units(FrameAdapter(pa.table(given)), self.plan)
        if self.plan.at_most is not None:
            units = units.with_at_most(self.plan.at_most, self.seed, numbers)
        records = units.part
        firsts = units.numbers_of(np.arange(n_rows))
        if self.plan.person is not None:
            firsts = firsts[records[FIRST].to_numpy()]
        columns: dict[str, Any] = {}
        for name in self.released[:-2]:
            if name in self.plan.sets:
                columns[name] = in_type(records[name], pa.string())
            elif name == ROWS_OF_PERSON and name not in given:
                columns[name] = in_type(records[name], pa.int64())
            else:
                columns[name] = given[name].take(pa.array(firsts))
        facts = [pickle.dumps(units.found, protocol=5), *[None] * (records.height - 1)]
        return pa.table({**columns, FIRST: pa.array(numbers[firsts]), FACTS: pa.array(facts, pa.binary())})


# ------------------------------------------------------------------------------------------------ records to rows


@dataclass(frozen=True, slots=True, eq=False)
class CountRowsTask:
    """Returns how many rows the records of each block become."""

    maker: RowMaker
    counted: tuple[str, ...]
    records_of_a_block: int

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From masked records with their numbers."""
        stay_alone()
        for gathered in gather_batches(batches):
            masked, places = _in_polars(gathered, self.counted)
            blocks, of_records = np.unique(places // self.records_of_a_block, return_inverse=True)
            yield pack((blocks, np.bincount(of_records, weights=self.maker.n_rows(masked)).astype(np.int64)))


@dataclass(frozen=True, slots=True, eq=False)
class RowsTask:
    """Returns the rows of whole blocks of masked records, with their places."""

    maker: RowMaker
    counted: tuple[str, ...]
    """The columns of the records that say how many rows they become."""
    records_of_a_block: int
    kinds: Mapping[str, Any]
    """For each column of the result its pyarrow type, if it is made from the records; None for the others."""
    begins: Longs
    """For each block the number of its first row."""
    pseudonyms: RowOrder | None
    order: RowOrder | None
    """Where the rows go; None to leave them in their order."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """From masked records in the order of their numbers, block by block."""
        import pyarrow as pa

        stay_alone()
        block, next_row = -1, 0
        for gathered in gather_batches(batches, self.records_of_a_block):
            masked, places = _in_polars(gathered, self.counted)
            if not places.size:
                continue
            numbers = self.maker.n_rows(masked)
            before = np.cumsum(numbers) - numbers
            blocks = places // self.records_of_a_block
            starts = np.flatnonzero(np.diff(blocks, prepend=-1))
            first_rows = self.begins[blocks[starts]]
            if blocks[0] == block:
                first_rows[0] = next_row
            runs = pairwise([*starts.tolist(), places.size])
            ends = [*before[starts[1:]].tolist(), int(numbers.sum())]
            sizes = np.diff(ends, prepend=0)
            to = np.concatenate(
                [self._places(int(row), int(row + size)) for row, size in zip(first_rows, sizes, strict=True)]
            )
            block, next_row = int(blocks[-1]), int(first_rows[-1] + sizes[-1])
            pseudonyms: Ints | Longs | None = None
            if self.pseudonyms is not None:
                own = [1 + self.pseudonyms.part(int(places[a]), int(places[b - 1]) + 1) for a, b in runs]
                pseudonyms = cast("Ints | Longs", np.concatenate(own))
            made = self.maker.to_rows(masked, pseudonyms)
            table, of_rows = pa.Table.from_batches(gathered), pa.array(np.repeat(np.arange(places.size), numbers))
            columns = {
                name: table.column(name).take(of_rows) if kind is None else in_type(made[name], kind)
                for name, kind in self.kinds.items()
            }
            yield from pa.table({**columns, PLACE: pa.array(to)}).combine_chunks().to_batches()

    def _places(self, first: int, last: int) -> Longs:
        return np.arange(first, last) if self.order is None else self.order.places(first, last)


def _in_polars(batches: Sequence[Any], names: Sequence[str]) -> tuple[pl.DataFrame, Longs]:
    """Some columns of masked records, and the numbers of these."""
    import polars as pl
    import pyarrow as pa

    table = pa.Table.from_batches(batches)
    places = table.column(PLACE).to_numpy()
    return pl.DataFrame([as_polars(table, name) for name in names] or {PLACE: places}), places


@dataclass(frozen=True, eq=False, repr=False)
class MaskedUnitsOnCluster(MaskedRecords):
    """Masked records on a cluster that leave as rows."""

    units: UnitsOnCluster
    masked: MaskedFrame
    """Its records."""
    identifiers: Sequence[str]
    """Columns that are dropped."""
    seed: Seed

    @property
    def n_rows(self) -> int:
        """Rows that leave."""
        return int(self._begins[-1])

    @cached_property
    def _begins(self) -> Longs:
        """The number of the first row of each block of records, followed by the number of rows."""
        n_records, names = self.masked.n_records, self._counted(self.identifiers)
        sizes = np.diff([*range(0, n_records, RECORDS_OF_A_BLOCK), n_records]).astype(np.int64)
        if names:
            sizes[:] = 0
            dropped = [name for name in self._table.frame.columns if name not in names]
            with jobs(self._table.session, "Counting the rows of masked records"), self._table.own_splits():
                records = self.masked.frame(dropped, None, numbered=True)
                task = CountRowsTask(self.units.row_maker, tuple(names), RECORDS_OF_A_BLOCK)
                for blocks, n_rows in unpack(records.mapInArrow(as_function(task), PACKED)):
                    np.add.at(sizes, blocks, n_rows)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def _counted(self, dropped: Sequence[str]) -> list[str]:
        """The columns of the records with the number of rows of a person, or with the cells of a set."""
        made = {*self.units.given.sets, ROWS_OF_PERSON}
        return [name for name in self._table.frame.columns if name in made and name not in dropped]

    def _frame(self, dropped: Sequence[str], order: RowOrder | None) -> Any:
        """The masked rows with their places."""
        import polars as pl
        from pyspark.sql import functions
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import LongType, StructField, StructType

        given, maker, names = self.units.given, self.units.row_maker, self._counted(dropped)
        has_pseudonyms = given.pseudonym is not None
        pseudonyms = row_order(self.seed, "pseudonyms", self.masked.n_records) if has_pseudonyms else None
        none = pl.DataFrame(schema=self._table.types(names))
        made = maker.to_rows(none, None if pseudonyms is None else 1 + pseudonyms.part(0, 0)).schema
        records = self.masked.frame(dropped, None, numbered=True)
        released = [name for name in maker.names if name in made or name in records.columns]
        kinds = {name: _arrow_type(made[name]) if name in made else None for name in released}
        fields = [
            StructField(name, records.schema[name].dataType if kind is None else from_arrow_type(kind))
            for name, kind in kinds.items()
        ]
        block = functions.expr(f"{quote_name(PLACE)} div {RECORDS_OF_A_BLOCK}")
        blocks = records.repartition(n_parts_of(self.n_rows), block).sortWithinPartitions(quote_name(PLACE))
        task = RowsTask(maker, tuple(names), RECORDS_OF_A_BLOCK, kinds, self._begins, pseudonyms, order)
        return blocks.mapInArrow(as_function(task), StructType([*fields, StructField(PLACE, LongType())]))

    # ------------------------------------------------------------------------------------------ what a release asks

    @property
    def kept(self) -> None:
        """None: only the cluster knows which rows stay."""

    @property
    def origin(self) -> Origin | None:
        """The masked source, for the private record."""
        return self.units.rows.origin

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """The masked rows as a DataFrame, which is computed when it is used."""
        del scales
        frame = sort_by_place(self._frame(dropped, None), self.n_rows)
        remember_rows(frame, None, self)
        return frame

    def write(
        self,
        place: str,
        path: str | os.PathLike[str],
        dropped: Sequence[str],
        order: RowOrder | None,
        scales: Mapping[str, Sequence[str]],
    ) -> None:
        """Write the masked rows to a folder, as Parquet files whose rows are in order when files are read by name."""
        del path, scales
        n_rows, session = self.n_rows, self._table.session
        of_rows = None if order is None else row_order(self.seed, "order of rows", n_rows)
        with jobs(session, "Masking the rows"), self._table.own_splits():
            write_at_places(self._frame(dropped, of_rows), place, n_rows)
            put_parts_in_order(session, place, None, n_rows)
            self._table.require_unchanged()

    @property
    def _table(self) -> SparkTable:
        """The records."""
        return self.masked.source.table


def _arrow_type(dtype: pl.DataType) -> Any:
    """The pyarrow type of a column that is made from sets."""
    import polars as pl
    import pyarrow as pa

    if isinstance(dtype, pl.List):
        return pa.list_(_arrow_type(cast("pl.DataType", dtype.inner)))
    return pa.string() if dtype == pl.String else pl.Series([], dtype=dtype).to_arrow().type
