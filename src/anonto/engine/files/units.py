"""Persons and sets in tables that are larger than memory: a file of records, and masked records as rows again.

A person's rows may be anywhere in the table. So its rows are first scattered to ranges of hashes of their persons, and
then made records one range after the other, each of which fits into memory. Records are sorted by their first row and
written to a Parquet file, which the engine for files masks like any other. Masked records become rows batch by batch;
what puts rows into random order is keyed on the numbers of these rows.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.frame_adapter import FrameAdapter
from anonto.encoding.series import as_text_series
from anonto.encoding.set_space import ELEMENT
from anonto.engine.files.bins import files_of_cells
from anonto.engine.files.recode import recode_batches
from anonto.engine.files.sink import read_in_order, rows_in_file, shuffle
from anonto.engine.files.sorted_runs import PLACE, SortedRuns
from anonto.engine.files.source import OverFiles
from anonto.engine.files.workspace import workspace
from anonto.io.batches import ParquetBatches, open_batches
from anonto.io.parquet_files import sink_parquet
from anonto.io.writing import sink_in_parts
from anonto.masking.masked_records import MaskedRecords
from anonto.masking.plan import ROWS_OF_PERSON
from anonto.masking.unit_rows import RowMaker, sources_of_sets
from anonto.masking.units import FIRST, UnitFacts, Units, plan_of_records, require_columns
from anonto.random.streams import row_order
from anonto.runtime.memory_limit import MemoryLimit
from anonto.runtime.threads import n_threads

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl

    from anonto.arrays import Longs
    from anonto.engine.files.sink import MaskedTable
    from anonto.io.batches import TableBatches
    from anonto.io.table import Origin
    from anonto.masking.plan import Plan
    from anonto.masking.recoding import Recoding
    from anonto.random.streams import RowOrder, Seed

TIMES_AS_UNITS = 4
"""Memory of rows while they become records, by that of their cells."""
N_RANGES = 1 << 12
"""Ranges of hashes of persons."""
NUMBER = f"{ELEMENT}number"
"""Column of the numbers of rows."""


@dataclass(frozen=True, eq=False, repr=False)
class UnitsOverFiles:
    """The records of a table in files."""

    rows: TableBatches
    """The table as it was given."""
    given: Plan
    """Its plan."""
    found: UnitFacts
    engine: OverFiles
    """Its records."""
    recoding: Recoding | None = None
    """The recoding of its rows, if its plan recodes a column."""

    @property
    def plan(self) -> Plan:
        """The plan of the records."""
        return plan_of_records(self.given, self.found)

    @property
    def row_maker(self) -> RowMaker:
        """How the masked records become rows."""
        return RowMaker(self.given, list(self.rows.schema), self.found.sets)


@contextmanager
def open_units(
    table: str | os.PathLike[str], plan: Plan, memory: int, output: Path, seed: Seed
) -> Iterator[UnitsOverFiles]:
    """Make the records of a table file, or of several, with a temporary folder beside the output.

    The seed draws the rows that are used, if the plan does not use all.
    """
    limit = MemoryLimit(memory)
    with workspace(output) as folder:
        rows: TableBatches = open_batches(table, **plan.reading)
        require_columns(plan, list(rows.schema))
        recoded = recode_batches(rows, plan, limit, seed) if plan.recoded else None
        if recoded is not None:
            rows, plan = recoded, recoded.recoding.plan
        path = folder / "records.parquet"
        if plan.person is None:
            found = _records_of_rows(rows, plan, limit, path)
        else:
            found = _records_of_persons(rows, plan, limit, path, seed)
        records = ParquetBatches([path], rows.origin.name, made_from=rows.origin)
        with OverFiles.within(folder, records, limit) as engine:
            units = UnitsOverFiles(rows, plan, found, engine, None if recoded is None else recoded.recoding)
            units.plan.require_columns(engine.names)
            yield units


def _read_rows(rows: TableBatches, plan: Plan, limit: MemoryLimit) -> Iterator[pl.DataFrame]:
    """The table in batches, at least one; columns that are dropped without being looked at come without cells."""
    import polars as pl

    sources = sources_of_sets(plan.sets)
    blank = [name for name in plan.identifiers(rows.schema) if name not in (*sources, plan.person, plan.order)]
    names = [name for name in rows.schema if name not in blank]
    n_rows = limit.rows_at_once(TIMES_AS_UNITS * rows.bytes_per_row(), n_threads())
    is_empty = True
    for frame in rows.read(names, n_rows, limit.for_batch(n_threads())) if names else ():
        for batch in frame.iter_slices(n_rows):
            is_empty = False
            yield batch.with_columns(pl.lit(None, pl.Boolean).alias(name) for name in blank).select(list(rows.schema))
    if is_empty:
        yield pl.DataFrame(schema={**rows.schema, **dict.fromkeys(blank, pl.Boolean)})


def _records_of_rows(rows: TableBatches, plan: Plan, limit: MemoryLimit, path: Path) -> UnitFacts:
    """Write a file of records where each row is one."""
    facts: list[UnitFacts] = []

    def parts() -> Iterator[pl.DataFrame]:
        for batch in _read_rows(rows, plan, limit):
            units = Units(FrameAdapter(batch, origin=rows.origin), plan)
            facts[:] = [facts[0] + units.found if facts else units.found]
            yield units.part

    _write(parts, path)
    facts[0].require_records(plan)
    return facts[0]


def _records_of_persons(rows: TableBatches, plan: Plan, limit: MemoryLimit, path: Path, seed: Seed) -> UnitFacts:
    """Write a file of records where each person is one, in the order of their first rows."""
    most_bytes = limit.for_sorting / TIMES_AS_UNITS
    scattered, none = _scatter(rows, plan, limit, path.parent, most_bytes)
    units = Units(FrameAdapter(none, origin=rows.origin), plan)
    found, empty = units.found, units.part
    ordered = SortedRuns.of(path.parent, "record", rows.n_rows, most_bytes, rows.bytes_per_row())
    for part in _whole_persons(scattered, str(plan.person), limit):
        units, numbers = Units(FrameAdapter(part.drop(NUMBER), origin=rows.origin), plan), part[NUMBER].to_numpy()
        if plan.at_most is not None:
            units = units.with_at_most(plan.at_most, seed, numbers)
        found = found + units.found
        records = units.part
        ordered.add(records, units.numbers_of(numbers)[records[FIRST].to_numpy()])
    scattered.remove()
    found.require_records(plan)
    unused = [FIRST] if found.has_row_numbers(plan) or not plan.repeats_rows else [FIRST, ROWS_OF_PERSON]
    _write(lambda: (one.drop(unused) for one in chain([empty], ordered.buckets())), path)
    ordered.remove()
    return found


def _scatter(
    rows: TableBatches, plan: Plan, limit: MemoryLimit, folder: Path, most_bytes: float
) -> tuple[SortedRuns, pl.DataFrame]:
    """All rows with their numbers, scattered to ranges of hashes of their persons; and a frame without rows."""
    import polars as pl

    scattered = SortedRuns(folder, "row", N_RANGES, most_bytes, 1)
    first, none = 0, pl.DataFrame()
    for batch in _read_rows(rows, plan, limit):
        none = none if none.width else batch.clear()
        persons = as_text_series(batch[str(plan.person)]).cast(pl.String)
        numbers = pl.Series(NUMBER, np.arange(first, first + batch.height))
        scattered.add(batch.with_columns(numbers), (persons.hash() % N_RANGES).cast(pl.Int64).to_numpy())
        first += batch.height
    scattered.finish()
    rows.require_unchanged()
    return scattered, none


def _whole_persons(scattered: SortedRuns, person: str, limit: MemoryLimit) -> Iterator[pl.DataFrame]:
    """Rows in their order, all rows of some persons at a time."""
    n_rows = scattered.rows_of_buckets
    bytes_per_row = scattered.n_bytes / max(int(n_rows.sum()), 1)
    needed = int(TIMES_AS_UNITS * bytes_per_row * n_rows.max(initial=0))
    if needed > limit.for_data:
        raise limit.too_small("Masking", [person], needed, "the rows of one person")
    parts = files_of_cells(n_rows, max(1, int(scattered.most_bytes / max(bytes_per_row, 1.0))))
    begins = np.flatnonzero(np.diff(parts, prepend=-1, append=parts[-1] + 1))
    for begin, end in pairwise(begins.tolist()):
        part = scattered.read(slice(begin, end))
        if part is not None:
            yield part.drop(PLACE)


def _write(parts: Callable[[], Iterator[pl.DataFrame]], path: Path) -> None:
    path.touch(mode=0o600)
    sink_parquet(parts, path, path.name)


# ------------------------------------------------------------------------------------------------ masked rows


@dataclass(frozen=True, eq=False, repr=False)
class MaskedUnitsOverFiles(MaskedRecords):
    """Masked records in files that leave as rows."""

    units: UnitsOverFiles
    masked: MaskedTable
    """Its records."""
    identifiers: Sequence[str]
    """Columns that are dropped."""
    n_records: int
    seed: Seed

    @property
    def kept(self) -> Longs | None:
        """Refused: the rows of the input were not in memory."""
        raise rows_in_file(self.origin.name)

    @property
    def origin(self) -> Origin:
        """The masked file."""
        return self.masked.origin

    @cached_property
    def n_rows(self) -> int:
        """Rows that leave."""
        maker = self.units.row_maker
        counted = {*self.units.given.sets, ROWS_OF_PERSON} - {*self.identifiers}
        names = [name for name in self.masked.source.schema if name in counted]
        if self.units.given.person is None or not names:
            return self.n_records
        return sum(int(maker.n_rows(part).sum()) for part in read_in_order(self.masked, names))

    def table(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Any:
        """Refused: rows that did not fit into memory are written, and read from there."""
        return self.masked.table(dropped, scales)

    def write(
        self,
        place: Path,
        path: str | os.PathLike[str],
        dropped: Sequence[str],
        order: RowOrder | None,
        scales: Mapping[str, Sequence[str]],
    ) -> None:
        """Write the masked rows to a place; in random order, so that nothing shows which belong to one person."""
        masked, of_rows = self.masked, None if order is None else row_order(self.seed, "order of rows", self.n_rows)

        def parts() -> Iterator[pl.DataFrame]:
            rows = self._rows(dropped, scales)
            if of_rows is None:
                return rows
            at_once = masked.limit.for_sorting
            return shuffle(rows, lambda frame: frame, of_rows, at_once, masked.folder, masked.rows_at_once)

        sink_in_parts(parts, self.origin, place, Path(path).name)

    def _rows(self, dropped: Sequence[str], scales: Mapping[str, Sequence[str]]) -> Iterator[pl.DataFrame]:
        """The masked rows in batches, record by record; at least one batch."""
        given, maker = self.units.given, self.units.row_maker
        has_pseudonyms = given.pseudonym is not None
        order = row_order(self.seed, "pseudonyms", self.n_records) if has_pseudonyms else None
        first = 0
        for records in self.masked.parts(dropped, None, scales):
            for part in slices_of_rows(maker.n_rows(records), self.masked.rows_at_once):
                some = records[part]
                pseudonyms = None if order is None else 1 + order.part(first, first + some.height)
                first += some.height
                yield maker.to_rows(some, pseudonyms)


def slices_of_rows(n_rows: Longs, most_rows: int) -> list[slice]:
    """Slices of consecutive records that have about so many rows, or one record; at least one slice."""
    cuts = np.flatnonzero(np.diff((np.cumsum(n_rows) - 1) // most_rows)) + 1
    return [slice(begin, end) for begin, end in pairwise([0, *cuts.tolist(), n_rows.size])]
