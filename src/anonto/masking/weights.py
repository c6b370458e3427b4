"""The weights of a table's records, from the column that its plan names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import polars as pl

from anonto.encoding.weights import read_weights
from anonto.io.table import missing_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonto.arrays import Bools, Floats
    from anonto.masking.plan import Plan

    class _Columns(Protocol):
        @property
        def names(self) -> Sequence[str]: ...

        @property
        def series(self) -> Callable[[str], pl.Series]: ...


def weights_of(table: _Columns, plan: Plan, stays: Bools | None = None) -> Floats | None:
    """How many people each record stands for; None where the plan names no weight.

    Args:
        table: The records.
        plan: Their plan.
        stays: A mask of the records that are not dropped; without it all are.
    """
    name = plan.weight
    if name is None:
        return None
    if name not in table.names:
        raise missing_column(name, list(table.names))
    cells, description = table.series(name), plan.description(name)
    kept = cells if stays is None else cells.filter(pl.Series(stays))
    return read_weights(kept, name, description.na, description.decimal)
