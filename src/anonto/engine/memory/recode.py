"""Recodes a table in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.frame_adapter import FrameAdapter, longer_polars
from anonto.encoding.prepare import opener
from anonto.engine.memory.count import encode_column
from anonto.engine.memory.units import adapter_of
from anonto.engine.refusals import unknown_shifts
from anonto.masking.recoding import Recoding, fit_recoding

if TYPE_CHECKING:
    from collections.abc import Collection

    from anonto.masking.plan import Plan
    from anonto.random.streams import Seed


def recode_as_known(table: Any, plan: Plan, seed: Seed | None) -> tuple[FrameAdapter, Recoding]:
    """An original as an intruder recodes it who knows the plan.

    She does not know by how much dates were shifted; of a column that a step masks as well she is assumed to, because
    what the step could do with a date is only known of the shifted one.
    """
    both = [name for name, one in plan.columns.items() if one.recode and one.recode.shift and name in plan.masked]
    if both and seed is None:
        raise unknown_shifts(both)
    return recode_table(table, plan, seed, both)


def recode_table(
    table: Any, plan: Plan, seed: Seed | None, to_shift: Collection[str] | None = None
) -> tuple[FrameAdapter, Recoding]:
    """A table, or a file, with recoded cells in a table of the same library; for the last two see `fit_recoding`."""
    adapter = adapter_of(table, plan)
    plan.require_columns(adapter.names)
    counted, raw = {}, {}
    for name in plan.recoded:
        column, raw[name] = encode_column(adapter, name, None, tell_missing_apart=True)
        counted[name] = column.count_in(raw[name], None, adapter.series(name))
    recoding = fit_recoding(counted, plan, opener(plan.folder), seed, to_shift)
    sources, further = {}, {}
    for name, one in recoding.columns.items():
        cells, places = one.recoded.cells, one.places[raw[name]]
        if one.shift is not None:
            persons = None if one.person is None else adapter.series(one.person)
            cells, places = one.shift_rows(raw[name], persons, np.arange(len(adapter)))
        if len(cells):
            sources[name] = np.where(places >= 0, len(adapter) + places, np.arange(len(adapter)))
            further[name] = cells
    if adapter.library == "polars":
        new = {name: longer_polars(adapter.native(name), further[name]).gather(own) for name, own in sources.items()}
        recoded = adapter.with_cells(adapter.names, new, None)
    else:
        recoded = adapter.with_rows(adapter.names, sources, further, None)
    return FrameAdapter(recoded, origin=adapter.origin), recoding
