"""Recodes tables on a cluster: values are counted there, recoded on the driver, and put in as tasks read the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anonto.encoding.prepare import opener
from anonto.engine.spark.count import CountingTask, merge_counts
from anonto.engine.spark.recoded_rows import RecodedRows
from anonto.masking.recoding import Recoding, fit_recoding

if TYPE_CHECKING:
    from anonto.engine.spark.numbered_frame import NumberedFrame
    from anonto.masking.plan import Plan
    from anonto.random.streams import Seed


def recode_frame(source: NumberedFrame, plan: Plan, seed: Seed) -> tuple[NumberedFrame, Recoding]:
    """A DataFrame whose rows have recoded cells as soon as a task reads them."""
    table, names = source.table, plan.recoded
    plan.require_columns(table.frame.columns)
    task = CountingTask(table.row_groups, names)
    contents = table.collect_results(task, names, "Counting the values of recoded columns")
    counted = merge_counts(contents, task, table.types(names))
    recoding = fit_recoding(counted.columns, plan, opener(plan.folder), seed)
    slim = {name: one.slim() for name, one in recoding.columns.items()}
    recoded = RecodedRows(slim, table.row_groups, counted.rows_before)
    return replace(source, table=replace(table, recoded=recoded)), recoding
