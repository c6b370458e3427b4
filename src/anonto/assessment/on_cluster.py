"""Compares tables on a Spark cluster: brought to this machine, or counted where they are."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonto.assessment.tables import Tables, comparison_of, match_columns
from anonto.attacks.alignment import shows_order
from anonto.encoding.columns import Column
from anonto.encoding.comparison import Amounts, BothCells, compare_column
from anonto.encoding.frame_adapter import gather_values
from anonto.encoding.prepare import opener
from anonto.engine.refusals import too_large_to_assess, weights_only_in_memory
from anonto.engine.run import mask
from anonto.engine.spark.collect import collect_columns
from anonto.engine.spark.compare import ClusterComparison, RemaskedRelease, choose_counted, draw_rows
from anonto.engine.spark.numbered_frame import NumberedFrame, number_rows, remove_scratch
from anonto.engine.spark.released_frames import rows_of
from anonto.engine.spark.rows import has_row_numbers
from anonto.engine.spark.session import require_spark
from anonto.engine.spark.sink import MaskedFrame
from anonto.engine.spark.source import driver_memory
from anonto.engine.spark.table import SparkTable, sort_by_place
from anonto.errors import InternalError
from anonto.random.streams import row_order
from anonto.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anonto.arrays import Codes
    from anonto.attacks.comparison import Comparison
    from anonto.encoding.prepare import Opener
    from anonto.engine.spark.compare import CountedComparison
    from anonto.masking.plan import Plan
    from anonto.masking.private_record import PrivateRecord
    from anonto.random.streams import Seed


PERSONS_DRAWN = 100_000
"""How many persons of a larger table are drawn at random and brought to this machine."""
BYTES_PER_CELL = 40
"""About how many bytes a cell takes on this machine while a table is collected and compared."""


def fit_here(tables: Sequence[Any], plan: Plan, memory: int | None, also: Sequence[str] = ()) -> bool:
    """Return whether the cells that an assessment compares fit into the memory of this machine.

    Args:
        tables: The DataFrames.
        plan: The plan that describes their columns.
        memory: Bytes that may be used; by default half of the machine.
        also: Columns that are compared though the plan does not name them.
    """
    require_spark()
    named = {*plan.named, *also}
    allowed = driver_memory() if memory is None else memory
    for table in tables:
        n_columns = sum(name in named and not plan.description(name).is_dropped for name in table.columns)
        if BYTES_PER_CELL * _n_rows(table) * n_columns > allowed:
            return False
    return True


def is_stored(frame: Any) -> bool:
    """Return whether a DataFrame is Parquet files as they are, and not the table of a release in memory."""
    require_spark()
    return rows_of(frame) is None and has_row_numbers(frame)


def require_rows_fit(table: Any, what: str, memory: int | None) -> None:
    """Refuse a DataFrame whose rows, as `what` describes them, do not fit into the memory of this machine."""
    allowed, n_rows = driver_memory() if memory is None else memory, _n_rows(table)
    if BYTES_PER_CELL * n_rows > allowed:
        raise too_large_to_assess(n_rows, what, BYTES_PER_CELL * n_rows, allowed)


def _n_rows(table: Any) -> int:
    """The rows of the files of a DataFrame, or of the DataFrame if it is not read from files."""
    return int(SparkTable.of(table).n_stored if has_row_numbers(table) else table.count())


def collect_to_compare(table: Any, plan: Plan, memory: int | None = None, also: Sequence[str] = ()) -> pl.DataFrame:
    """The columns of a DataFrame that an assessment uses, as codes on this machine, in row order.

    Identifiers come as empty columns. The arguments are those of `fit_here`.
    """
    named = {*plan.named, *also}
    present = [name for name in table.columns if name in named]
    identifiers = [name for name in plan.identifiers(present) if name != plan.weight]
    source = number_rows(table, None)
    looked_at = [name for name in present if name not in identifiers]
    needed = BYTES_PER_CELL * source.table.n_stored * len(looked_at)
    allowed = driver_memory() if memory is None else memory
    if needed > allowed:
        what = f"records of {count_of(len(looked_at), 'column')}"
        raise too_large_to_assess(source.table.n_stored, what, needed, allowed)
    found = collect_columns(source.table, looked_at)
    return found.with_columns(pl.lit(None, pl.String).alias(name) for name in identifiers)


def compare_on_cluster(
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
    """Compare two DataFrames from counts made on the cluster: of distinct records, of pairs of cells, and some persons.

    The arguments are those of `anonto.assessment.compare.compare` and of
    `anonto.assessment.in_memory.compare_in_memory`.
    """
    if plan.weight is not None:
        raise weights_only_in_memory("a table that is compared")
    _require_few_enough(original, plan, memory)
    open_once, seed = opener(plan.folder), None if record is None else record.seed
    found = count_on_cluster(
        original, masked, plan, seed=seed, n_persons=PERSONS_DRAWN, rng=rng, open_once=open_once, memory=memory
    )
    distinct = {name: BothCells.of(*map(_as_enumeration, both)) for name, both in found.cells.items()}
    (originals, of_originals), (released, of_released) = found.originals, found.released
    n_persons, places = found.persons[0].shape[0], (of_originals.size, of_released.size)
    first = np.zeros(max(places, default=0), dtype=np.int64)
    # A distinct record of one table gets the first record of the other as its counterpart, with amount 0.
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
    """Distinct texts as an enumeration, which takes little memory where texts repeat."""
    return cells.cast(pl.Enum(cells)) if cells.dtype == pl.String else cells


def _cells_at(distinct: BothCells, before: Codes, after: Codes) -> BothCells:
    """Cells at places among the distinct cells of both tables; −1 for a null."""
    places = np.ascontiguousarray(before), np.ascontiguousarray(after)
    columns = [
        Column(own.values, np.append(own.codes, np.int32(-1))[at]).keep_records(np.ones(at.size, dtype=np.bool_))
        for own, at in zip((distinct.original, distinct.masked), places, strict=True)
    ]
    as_written = [gather_values(own, at) for own, at in zip(distinct.written, places, strict=True)]
    return BothCells(columns[0], columns[1], (as_written[0], as_written[1]))


def count_on_cluster(
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
        masked: Its release: rows in the order of the original, or with a seed also in the order of `save`.
        plan: The plan it was masked with.
        seed: Of the private record, if it is known: the release must be the one that it makes.
        n_persons: How many persons are drawn at random, at most.
        rng: Draws them.
        open_once: Opens ontologies.
        memory: Bytes that may be used on this machine; by default half of it.
    """
    before_names, after_names = ([name for name in one.columns if name in plan.named] for one in (original, masked))
    present, dropped = match_columns(before_names, after_names, plan)
    others = tuple(name for name in present if name not in plan.masked and plan.description(name).role == "other")
    names = tuple(name for name in present if name not in others)
    allowed = driver_memory() if memory is None else memory
    with _number_for_now(original) as before, _number_for_now(_in_order(masked)) as after:
        names, others = choose_counted(before.table, after.table, names, others, allowed)
        comparing = ClusterComparison(
            before=before.table,
            after=after.table,
            names=names,
            others=others,
            identifiers=dropped,
            plan=plan,
            open_once=open_once,
            allowed=allowed,
        )
        counts = comparing.count()
        release = None if seed is None else _mask_again(before.table.frame, plan, seed, counts.n_records)
        alike = {
            name: numbers_by_meaning(name, BothCells.of(*counts.cells(name)), plan, open_once)
            for name in names
            if name in plan.masked
        }
        return comparing.compare(counts, alike, draw_rows(counts.n_records, n_persons, rng), release)


def _mask_again(original: Any, plan: Plan, seed: Seed, n_records: int) -> RemaskedRelease:
    """Mask a DataFrame again with the seed of its release."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they came with the release
        release = mask(original, plan, seed=seed.number)
    rows = release.masked_rows
    if not isinstance(rows, MaskedFrame):
        raise InternalError("A DataFrame was masked elsewhere than on its cluster.")
    return RemaskedRelease(rows, release.settings, row_order(seed, "order of rows", n_records))


def numbers_by_meaning(name: str, cells: BothCells, plan: Plan, open_once: Opener) -> tuple[Codes, Codes]:
    """Numbers for the distinct cells of both tables: the same for the same meaning, or the same text without one."""
    column = compare_column(name, cells, plan.description(name), open_once)
    meanings, further = column.meanings(), np.int32(column.n_values)
    before, after = (
        np.where((codes < 0) & (as_written >= 0), further + as_written, meanings[codes])
        for codes, as_written in (
            (column.side(which)[0], column.written_codes(which)) for which in ("original", "masked")
        )
    )
    return before, after


def _in_order(frame: Any) -> Any:
    """A DataFrame; if it is the table of a release, with its rows in their order and not as Spark reads the files."""
    rows = rows_of(frame)
    if rows is None:
        return frame
    dropped = [name for name in rows.source.table.frame.columns if name not in frame.columns]
    return sort_by_place(rows.frame(dropped, None, numbered=True), rows.n_records)


@contextmanager
def _number_for_now(frame: Any) -> Iterator[NumberedFrame]:
    """A DataFrame whose rows have numbers; its scratch folder is removed afterwards."""
    source = number_rows(frame, None)
    try:
        yield source
    finally:
        if source.scratch_folder is not None:
            remove_scratch(source.table.session, source.scratch_folder)
