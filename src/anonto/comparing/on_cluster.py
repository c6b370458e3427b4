"""An original and its release on a Spark cluster, for an assessment: brought here, or counted where they are."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anonto.clusters import Taken, forget, taken
from anonto.engine.released_frames import rows_of
from anonto.engine.spark import require_spark
from anonto.engine.spark_collect import collected
from anonto.engine.spark_compare import Comparing, compared_names, with_room_for
from anonto.engine.spark_rows import has_row_numbers
from anonto.engine.spark_run import driver_memory
from anonto.engine.spark_table import SparkTable, at_places
from anonto.errors import TooLargeToAssessError, counted
from anonto.table.prepare import opener

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    import polars as pl

    from anonto.engine.spark_compare import CountedComparison, Numbering
    from anonto.engine.spark_run import MaskedFrame
    from anonto.methods.guarantee import Setting
    from anonto.plan import Plan
    from anonto.rng import Seed

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
    import polars as pl

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


def counted_on_cluster(
    original: Any,
    masked: Any,
    plan: Plan,
    *,
    seed: Seed | None,
    n_persons: int,
    rng: np.random.Generator,
    numbered: Numbering,
    mask: Callable[..., Any],
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
        numbered: Called once for each masked column with its name and its distinct cells before and after; gives a
            number for each cell: two are the same if they have the same. A null has −1.
        mask: What makes a release anew: `anonto.mask`, which is built on this module.
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

        def anew() -> tuple[MaskedFrame, tuple[Setting, ...]]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                release = mask(before.table.frame, plan, seed=None if seed is None else seed.number)
            return release.rows, release.settings

        return Comparing(
            before=before.table,
            after=after.table,
            names=names,
            others=others,
            identifiers=dropped,
            steps=[step.columns for step in plan.steps],
            descriptions={name: plan.description(name) for name in present},
            open_once=opener(plan.folder),
            allowed=allowed,
        ).compared(n_persons, rng, numbered, seed, anew)


def _in_order(frame: Any) -> Any:
    """A DataFrame; of the table of a release one with its rows in their order, not as Spark happens to read files."""
    rows = rows_of(frame)
    if rows is None:
        return frame
    dropped = [name for name in rows.table.frame.columns if name not in frame.columns]
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
