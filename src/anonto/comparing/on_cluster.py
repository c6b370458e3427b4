"""An original and its release on a Spark cluster, for an assessment: brought here, or counted where they are."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.comparing.tables import Tables, comparison_of
from anonto.engine.spark.collect import collected
from anonto.engine.spark.compare import Comparing, MadeAnew, compared_names, drawn_rows, with_room_for
from anonto.engine.spark.engine import driver_memory
from anonto.engine.spark.released_frames import rows_of
from anonto.engine.spark.rows import has_row_numbers
from anonto.engine.spark.session import require_spark
from anonto.engine.spark.sink import MaskedFrame
from anonto.engine.spark.source import Taken, forget, taken
from anonto.engine.spark.table import SparkTable, at_places
from anonto.errors import InternalError, TooLargeToAssessError, counted
from anonto.risk.alignment import shows_order
from anonto.rng import row_order
from anonto.run import mask
from anonto.table.columns import Column
from anonto.table.comparison import Amounts, BothCells, compared_column
from anonto.table.door import gathered
from anonto.table.prepare import opener

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from anonto.engine.spark.compare import CountedComparison
    from anonto.plan import Plan
    from anonto.private_record import PrivateRecord
    from anonto.risk.comparison import Comparison
    from anonto.rng import Seed
    from anonto.table.prepare import Opener

    Codes = NDArray[np.int32]

PERSONS_DRAWN = 100_000
"""Of larger tables as many persons, chosen at random, are brought here."""
BYTES_PER_CELL = 40
"""About what a cell takes on this machine while a table is brought together and compared."""


def unnamed_in_both(original: Any, masked: Any, plan: Plan) -> tuple[str, ...]:
    """Columns of two DataFrames that the plan does not name: they leave, and whoever knows them may use them."""
    named = {*plan.columns, *plan.masked, *plan.also_needed}
    return tuple(name for name in original.columns if name not in named and name in masked.columns)


def fit_here(tables: Sequence[Any], plan: Plan, memory: int | None, also: Sequence[str] = ()) -> bool:
    """Whether the cells of DataFrames that an assessment looks at can be brought together on this machine.

    Args:
        tables: The DataFrames.
        plan: What tells their columns.
        memory: What may be taken, in bytes; by default half of the machine.
        also: Columns that the plan does not name and that are looked at.
    """
    require_spark()
    named = {*plan.columns, *plan.masked, *plan.also_needed, *also}
    allowed = driver_memory() if memory is None else memory
    for table in tables:
        n_columns = sum(name in named and plan.description(name).role != "identifier" for name in table.columns)
        if BYTES_PER_CELL * _n_rows(table) * n_columns > allowed:
            return False
    return True


def is_stored(frame: Any) -> bool:
    """Whether a DataFrame is Parquet files as they are, and not the table of a release in memory."""
    require_spark()
    return rows_of(frame) is None and has_row_numbers(frame)


def require_rows_fit(table: Any, what: str, memory: int | None) -> None:
    """Refuse a DataFrame of which something is to be listed for each row that does not fit on this machine.

    Args:
        table: The DataFrame.
        what: What its rows are.
        memory: What may be taken, in bytes; by default half of the machine.
    """
    allowed, n_rows = driver_memory() if memory is None else memory, _n_rows(table)
    if BYTES_PER_CELL * n_rows > allowed:
        raise TooLargeToAssessError(n_rows, what, BYTES_PER_CELL * n_rows, allowed)


def _n_rows(table: Any) -> int:
    """The rows of the files of a DataFrame, or of itself if it is none."""
    return int(SparkTable.of(table).n_stored if has_row_numbers(table) else table.count())


def to_compare(table: Any, plan: Plan, memory: int | None = None, also: Sequence[str] = ()) -> pl.DataFrame:
    """Of a DataFrame the columns that an assessment looks at, as codes on this machine, in the order of the rows.

    Identifiers are there by name alone.

    Args:
        table: The DataFrame.
        plan: What tells its columns.
        memory: What may be taken, in bytes; by default half of the machine.
        also: Columns that the plan does not name and that are looked at.
    """
    named = dict.fromkeys([*plan.columns, *plan.masked, *plan.also_needed, *also])
    present = [name for name in table.columns if name in named]
    identifiers = [name for name in present if plan.description(name).role == "identifier"]
    source = taken(table, None)
    looked_at = [name for name in present if name not in identifiers]
    needed = BYTES_PER_CELL * source.table.n_stored * len(looked_at)
    allowed = driver_memory() if memory is None else memory
    if needed > allowed:
        what = f"records of {counted(len(looked_at), 'column')}"
        raise TooLargeToAssessError(source.table.n_stored, what, needed, allowed)
    found = collected(source.table, looked_at)
    return found.with_columns(pl.lit(None, pl.String).alias(name) for name in identifiers)


def compared_on_cluster(
    original: Any,
    masked: Any,
    plan: Plan,
    record: PrivateRecord | None,
    *,
    memory: int | None,
    rng: np.random.Generator,
    same_order: bool,
    stored: bool,
) -> Comparison:
    """Compare two DataFrames from what the cluster counts: distinct records, pairs of cells, and some persons.

    Args:
        original: The table that was masked.
        masked: Its release.
        plan: Its plan.
        record: Its private record: the release must be the one that it makes.
        memory: What may be taken on this machine, in bytes; by default half of it.
        rng: What persons are drawn with.
        same_order: Whether the rows are said to be in the order of the original.
        stored: Whether the release is as it was saved: its order is then the one that it leaves in.
    """
    _require_few_enough(original, plan, memory)
    open_once, seed = opener(plan.folder), None if record is None else record.seed
    found = counted_on_cluster(
        original, masked, plan, seed=seed, n_persons=PERSONS_DRAWN, rng=rng, open_once=open_once, memory=memory
    )
    distinct = {name: BothCells.of(*map(_as_enumeration, both)) for name, both in found.cells.items()}
    (originals, of_originals), (released, of_released) = found.originals, found.released
    n_persons, places = found.persons[0].shape[0], (of_originals.size, of_released.size)
    first = np.zeros(max(places, default=0), dtype=np.int64)
    # Where a record of one table stands in the other, it repeats the first record of that.
    before = np.concatenate([found.persons[0], originals, originals[first[: places[1]]]])
    after = np.concatenate([found.persons[1], released[first[: places[0]]], released])
    amounts = Amounts(
        np.concatenate([np.zeros(n_persons, np.int64), of_originals, np.zeros(places[1], np.int64)]),
        np.concatenate([np.zeros(n_persons + places[0], np.int64), of_released]),
        n_persons,
    )
    cells = {
        name: _cells_at(distinct[name], before[:, place], after[:, place]) for place, name in enumerate(found.names)
    }
    as_is = [cells[name].original.codes for name in found.names if name not in plan.masked]
    witnesses = [*np.ascontiguousarray(found.witnesses.T)]
    in_order = (
        record is not None
        or same_order
        or shows_order(as_is, amounts.original)
        or shows_order(witnesses, np.ones(n_persons, np.int64))
    )
    tables = Tables(
        cells=cells,
        amounts=amounts,
        others=found.others,
        identifiers=found.identifiers,
        rows=np.arange(before.shape[0]),
        n_before=found.n_before,
        n_after=found.n_records,
        names=masked.columns,
        in_order=in_order,
        kept_order=stored and in_order and not found.shuffled and found.n_records > 1,
        settings=found.settings,
        pairs={
            name: (_cells_at(distinct[name], one, other), Amounts(times, times, 0))
            for name, (one, other, times) in found.pairs.items()
        },
        unchanged=found.unchanged,
    )
    return comparison_of(tables, plan, open_once)


def _require_few_enough(original: Any, plan: Plan, memory: int | None) -> None:
    """Refuse steps that are attacked row by row where the rows do not fit, before a cluster counts anything."""
    for number, step in enumerate(plan.steps, start=1):
        step.method.require_for_counts(number, len(step.columns))
        if step.method.lists_rows:
            require_rows_fit(original, f"records, whose groups in step {number} are lists of them,", memory)


def _as_enumeration(cells: pl.Series) -> pl.Series:
    """Distinct texts, so that each takes little where it is repeated."""
    return cells.cast(pl.Enum(cells)) if cells.dtype == pl.String else cells


def _cells_at(distinct: BothCells, before: Codes, after: Codes) -> BothCells:
    """Cells by their places among the distinct ones of both tables; −1 for a null."""
    places = np.ascontiguousarray(before), np.ascontiguousarray(after)
    columns = [
        Column(own.values, np.append(own.codes, np.int32(-1))[at]).kept(np.ones(at.size, dtype=np.bool_))
        for own, at in zip((distinct.original, distinct.masked), places, strict=True)
    ]
    as_written = [gathered(own, at) for own, at in zip(distinct.written, places, strict=True)]
    return BothCells(columns[0], columns[1], (as_written[0], as_written[1]))


def counted_on_cluster(
    original: Any,
    masked: Any,
    plan: Plan,
    *,
    seed: Seed | None,
    n_persons: int,
    rng: np.random.Generator,
    open_once: Opener,
    memory: int | None = None,
) -> CountedComparison:
    """Compare two DataFrames row by row where they are: only counts and the records of some persons come here.

    Args:
        original: The table that was masked.
        masked: Its release: rows in the order of the original, or with a seed also in that of `save`.
        plan: The plan it was masked with.
        seed: Of the private record, if there is one: the release must be the one that it makes.
        n_persons: So many persons are drawn at random; all, if there are fewer.
        rng: What they are drawn with.
        open_once: Opens ontologies.
        memory: What may be taken on this machine, in bytes; by default half of it.
    """
    named = [*plan.columns, *plan.masked, *plan.also_needed]
    identifiers = [name for name in named if plan.description(name).role == "identifier"]
    present, dropped = compared_names(original.columns, masked.columns, plan.masked, named, identifiers)
    others = tuple(name for name in present if name not in plan.masked and plan.description(name).role == "other")
    names = tuple(name for name in present if name not in others)
    allowed = driver_memory() if memory is None else memory
    with _taken_for_now(original) as before, _taken_for_now(_in_order(masked)) as after:
        names, others = with_room_for(before.table, after.table, names, others, allowed)
        comparing = Comparing(
            before=before.table,
            after=after.table,
            names=names,
            others=others,
            identifiers=dropped,
            steps=[step.columns for step in plan.steps],
            descriptions={name: plan.description(name) for name in present},
            open_once=open_once,
            allowed=allowed,
        )
        counts = comparing.counted()
        release = None if seed is None else _made_anew(before.table.frame, plan, seed, counts.n_records)
        alike = {
            name: numbers_by_meaning(name, BothCells.of(*counts.cells(name)), plan, open_once)
            for name in names
            if name in plan.masked
        }
        return comparing.compared(counts, alike, drawn_rows(counts.n_records, n_persons, rng), release)


def _made_anew(original: Any, plan: Plan, seed: Seed, n_records: int) -> MadeAnew:
    """The release that a plan and a seed make of a DataFrame."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they came with the release
        release = mask(original, plan, seed=seed.number)
    rows = release.masked_rows
    if not isinstance(rows, MaskedFrame):
        raise InternalError("A DataFrame was masked elsewhere than on its cluster.")
    return MadeAnew(rows, release.settings, row_order(seed, "order of rows", n_records))


def numbers_by_meaning(name: str, cells: BothCells, plan: Plan, open_once: Opener) -> tuple[Codes, Codes]:
    """Numbers for distinct cells of both tables: by what they mean, and where that is nothing, as they are written."""
    column = compared_column(name, cells, plan.description(name), open_once)
    meanings, further = column.meanings(), np.int32(column.n_values)
    before, after = (
        np.where((codes < 0) & (as_written >= 0), further + as_written, meanings[codes])
        for codes, as_written in ((column.side(which)[0], column.written(which)) for which in ("original", "masked"))
    )
    return before, after


def _in_order(frame: Any) -> Any:
    """A DataFrame; of the table of a release one with its rows in their order, not as Spark happens to read files."""
    rows = rows_of(frame)
    if rows is None:
        return frame
    dropped = [name for name in rows.source.table.frame.columns if name not in frame.columns]
    return at_places(rows.frame(dropped, None, numbered=True), rows.n_records)


@contextmanager
def _taken_for_now(frame: Any) -> Iterator[Taken]:
    """A DataFrame whose rows have numbers; what was written down for it is gone afterwards."""
    source = taken(frame, None)
    try:
        yield source
    finally:
        if source.written_down is not None:
            forget(source.table.session, source.written_down)
