"""Recodes a table in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonto.encoding.frame_adapter import FrameAdapter, longer_polars
from anonto.encoding.prepare import opener
from anonto.engine.memory.count import encode_column
from anonto.engine.memory.units import adapter_of
from anonto.masking.recoding import Recoding, fit_recoding

if TYPE_CHECKING:
    from anonto.masking.plan import Plan


def recode_table(table: Any, plan: Plan) -> tuple[FrameAdapter, Recoding]:
    """A table, or a file, with recoded cells in a table of the same library."""
    adapter = adapter_of(table, plan)
    plan.require_columns(adapter.names)
    counted, raw = {}, {}
    for name in plan.recoded:
        column, raw[name] = encode_column(adapter, name, None, tell_missing_apart=True)
        counted[name] = column.count_in(raw[name], None, adapter.series(name))
    recoding = fit_recoding(counted, plan, opener(plan.folder))
    sources, further = {}, {}
    for name, one in recoding.columns.items():
        if len(one.recoded.cells):
            places = one.places[raw[name]]
            sources[name] = np.where(places >= 0, len(adapter) + places, np.arange(len(adapter)))
            further[name] = one.recoded.cells
    if adapter.library == "polars":
        new = {name: longer_polars(adapter.native(name), further[name]).gather(own) for name, own in sources.items()}
        recoded = adapter.with_cells(adapter.names, new, None)
    else:
        recoded = adapter.with_rows(adapter.names, sources, further, None)
    return FrameAdapter(recoded, origin=adapter.origin), recoding
